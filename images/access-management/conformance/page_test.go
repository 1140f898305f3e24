package conformance

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module = ".." // images/access-management
	page   = "../../../docs/amf-conformance.md"
)

var (
	goTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	quoted = regexp.MustCompile("`((?:Test|Fuzz)[^`]+)`")
	clause = regexp.MustCompile(`^\d+\.\d+ (\d+(\.\d+)*|Annex [A-Z])$`)
)

// tests are the module's by their names, and what is in their files.
func tests(t *testing.T) (names map[string]bool, text string) {
	t.Helper()
	names = map[string]bool{}
	var all strings.Builder
	err := filepath.WalkDir(module, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		all.Write(b)
		for _, m := range goTest.FindAllStringSubmatch(string(b), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 15 {
		t.Fatalf("%d tests found in the tree: the search does not work", len(names))
	}
	return names, all.String()
}

// Every test that the page names is there, a case by its sentence.
func TestNamedTestsAreThere(t *testing.T) {
	names, text := tests(t)
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range quoted.FindAllStringSubmatch(string(b), -1) {
		test, sentence, isCase := strings.Cut(m[1], "/")
		if test == "TestX" || test == "FuzzX" {
			continue
		}
		found++
		if !names[test] || isCase && !strings.Contains(text, `"`+sentence+`"`) {
			t.Errorf("%s is not in the tree", m[1])
		}
	}
	if found < 40 {
		t.Errorf("%d tests found in the page: the search does not work", found)
	}
}

// Every row has a clause, a subject, a state, and a test or a reason.
func TestRows(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "Clause" {
			continue
		}
		found++
		if len(cells) != 4 {
			t.Errorf("%q has %d cells", line, len(cells))
			continue
		}
		for n := range cells {
			cells[n] = strings.TrimSpace(cells[n])
		}
		if !clause.MatchString(cells[0]) {
			t.Errorf("%q is no clause", cells[0])
		}
		if !slices.Contains([]string{"done", "part", "no"}, cells[2]) {
			t.Errorf("%s: state %q, there are done, part and no", cells[0], cells[2])
		}
		if cells[2] == "done" && !quoted.MatchString(cells[3]) {
			t.Errorf("%s is done, and no test shows it", cells[0])
		}
		if cells[2] != "done" && strings.Trim(quoted.ReplaceAllString(cells[3], ""), "`., ") == "" {
			t.Errorf("%s: nothing says what is missing", cells[0])
		}
	}
	if found < 25 {
		t.Errorf("%d rows found in the page: the search does not work", found)
	}
}
