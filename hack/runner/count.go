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
	// Names of the failed and the skipped, with the skip's reason where it is known.
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
	Action, Package, Test, Output string
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
	output := map[string]string{}
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 1<<20), 16<<20)
	for scan.Scan() {
		line := strings.TrimRight(scan.Text(), "\r")
		if strings.HasPrefix(line, `{"`) {
			var e testEvent
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				c.addEvent(e, output)
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

func (c *Count) addEvent(e testEvent, output map[string]string) {
	name := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		// The reason of a skip is the line before "--- SKIP".
		if text := strings.TrimSpace(e.Output); text != "" && !strings.HasPrefix(text, "---") && !strings.HasPrefix(text, "===") {
			output[name] = text
		}
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
			c.FailedNames = append(c.FailedNames, strings.TrimSpace(name))
		}
	case "skip":
		if e.Test != "" {
			c.Skipped++
			if c.skipped == nil {
				c.skipped = map[string]string{}
			}
			c.skipped[name] = output[name]
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
