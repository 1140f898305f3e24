package runner

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Count is what a test run says of itself.
type Count struct {
	Passed, Failed, Skipped int
	// Names of the failed and the skipped, with the reason where it is known: a skip's after a colon, what a
	// failed test said on lines of its own.
	FailedNames, SkippedNames []string

	// passed and skipped tests by their name, so that one that was skipped in one step and passed in
	// another counts as passed only.
	passed  map[string]bool
	skipped map[string]string
}

// Settle takes out of the skipped what has passed in another step, and names each of the rest once.
func (c *Count) Settle() {
	for _, name := range slices.Sorted(maps.Keys(c.skipped)) {
		if c.passed[name] || c.passedBelow(name) {
			c.Skipped--
			continue
		}
		c.SkippedNames = append(c.SkippedNames, name+": "+c.skipped[name])
	}
	c.skipped = nil
}

// passedBelow is true for a test that was skipped whole in one step and whose parts passed in another.
func (c *Count) passedBelow(name string) bool {
	for passed := range c.passed {
		if strings.HasPrefix(passed, name+"/") {
			return true
		}
	}
	return false
}

// Add sums two counts.
func (c *Count) Add(o Count) {
	c.Passed += o.Passed
	c.Failed += o.Failed
	c.Skipped += o.Skipped
	c.FailedNames = append(c.FailedNames, o.FailedNames...)
	c.SkippedNames = append(c.SkippedNames, o.SkippedNames...)
	for name := range o.passed {
		if c.passed == nil {
			c.passed = map[string]bool{}
		}
		c.passed[name] = true
	}
	for name, why := range o.skipped {
		if c.skipped == nil {
			c.skipped = map[string]string{}
		}
		if _, twice := c.skipped[name]; twice {
			c.Skipped--
		}
		c.skipped[name] = why
	}
}

func (c Count) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.Passed, c.Failed, c.Skipped)
}

// Sum is 0 when nothing was counted.
func (c Count) Sum() int { return c.Passed + c.Failed + c.Skipped }

var (
	plainLine   = regexp.MustCompile(`^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$`)
	cmockaOK    = regexp.MustCompile(`^\[  PASSED  \] (\d+) test`)
	cmockaBad   = regexp.MustCompile(`^\[  FAILED  \] [^:]+: (\d+) test`)
	cmockaSkip  = regexp.MustCompile(`^\[  SKIPPED \] [^:]+: (\d+) test`)
	skippedName = regexp.MustCompile(`^SKIP:? (.+)$`)
)

// testEvent is a line of `go test -json`.
type testEvent struct {
	Action, Package, Test, Output, ImportPath string
}

// CountFile reads a step's log: `go test -json` events, cmocka's summaries and plain closing lines
// ("N passed, N failed, N skipped") may stand side by side in it.
func CountFile(path string) (Count, error) {
	file, err := os.Open(path)
	if err != nil {
		return Count{}, err
	}
	defer file.Close()
	return count(file)
}

func count(r io.Reader) (Count, error) {
	var c Count
	said := map[string]*testOutput{}
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 1<<20), 16<<20)
	for scan.Scan() {
		line := strings.TrimRight(scan.Text(), "\r")
		if strings.HasPrefix(line, `{"`) {
			var e testEvent
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				c.addEvent(e, said)
				continue
			}
		}
		if m := plainLine.FindStringSubmatch(line); m != nil {
			c.Passed += atoi(m[1])
			c.Failed += atoi(m[2])
			c.Skipped += atoi(m[3])
		} else if m := cmockaOK.FindStringSubmatch(line); m != nil {
			c.Passed += atoi(m[1])
		} else if m := cmockaBad.FindStringSubmatch(line); m != nil {
			c.Failed += atoi(m[1])
		} else if m := cmockaSkip.FindStringSubmatch(line); m != nil {
			c.Skipped += atoi(m[1])
		} else if m := skippedName.FindStringSubmatch(line); m != nil {
			c.SkippedNames = append(c.SkippedNames, m[1])
		}
	}
	return c, scan.Err()
}

// testOutput is what a test printed, as far as it explains how it ended.
type testOutput struct {
	last string
	// logged are the lines of t.Error, t.Fatal and t.Log, and of a panic; t.Output leaves none.
	logged []string
	within bool
}

const (
	loggedFirst, loggedLast = 6, 6
	loggedWidth             = 400
	failureIndent           = "\n       "
)

var (
	loggedLine = regexp.MustCompile(`^\s*(?:[\w.-]+\.go:\d+: |panic: |fatal error: |[\w./-]+\.go:\d+:\d+: )`)
	moreOfIt   = regexp.MustCompile(`^\s{8}`)
)

func (o *testOutput) add(line string) {
	text := strings.TrimSpace(line)
	if text == "" || strings.HasPrefix(text, "---") || strings.HasPrefix(text, "===") {
		o.within = false
		return
	}
	o.last = text
	o.within = loggedLine.MatchString(line) || o.within && moreOfIt.MatchString(line)
	if o.within {
		o.logged = append(o.logged, clip(text, loggedWidth))
	}
}

// failure is the name of a failed test and, below it, the first and the last that it logged.
func (o *testOutput) failure(name string) string {
	lines := o.logged
	if len(lines) > loggedFirst+loggedLast {
		lines = slices.Concat(lines[:loggedFirst], []string{"…"}, lines[len(lines)-loggedLast:])
	}
	return strings.Join(append([]string{name}, lines...), failureIndent)
}

func (c *Count) addEvent(e testEvent, said map[string]*testOutput) {
	name := strings.TrimSpace(e.Package + " " + e.Test)
	if said[name] == nil {
		said[name] = &testOutput{}
	}
	switch e.Action {
	case "output":
		said[name].add(e.Output)
	case "build-output":
		// A package of tests is built under the name "p [p.test]".
		pkg, _, _ := strings.Cut(e.ImportPath, " ")
		if said[pkg] == nil {
			said[pkg] = &testOutput{}
		}
		said[pkg].add(e.Output)
	case "pass":
		if e.Test != "" {
			c.Passed++
			if c.passed == nil {
				c.passed = map[string]bool{}
			}
			c.passed[name] = true
		}
	case "fail":
		// A package that fails without a failed test did not build, or died.
		if e.Test != "" || !c.failedIn(e.Package) {
			c.Failed++
			c.FailedNames = append(c.FailedNames, said[name].failure(name))
		}
	case "skip":
		if e.Test != "" {
			c.Skipped++
			if c.skipped == nil {
				c.skipped = map[string]string{}
			}
			// The reason of a skip is the line before "--- SKIP".
			c.skipped[name] = said[name].last
		}
	}
}

func (c *Count) failedIn(pkg string) bool {
	for _, name := range c.FailedNames {
		if strings.HasPrefix(name, pkg+" ") {
			return true
		}
	}
	return false
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // the expression admits digits only; absent is 0
	return n
}
