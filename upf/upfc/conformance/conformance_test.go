package conformance

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	root = "../../.." // of the repository
	page = root + "/docs/upf/conformance.md"
)

var (
	goTest  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	cmocka  = regexp.MustCompile(`cmocka_unit_test\w*\(\s*(\w+)`)
	python  = regexp.MustCompile(`(?m)^def (test_\w+)\(`)
	quoted  = regexp.MustCompile("`([^`]+)`")
	clause  = regexp.MustCompile(`^\d+(\.\d+[A-Z]?)*$`)
	isATest = regexp.MustCompile(`^(Test|Fuzz|Benchmark)\w+$|^test_\w+/\w+$|^\w+\.py/test_\w+$|^fuzz_\w+\.c$`)
)

// testsInTree are the names of all tests, as the page writes them.
func testsInTree(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "upf"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := d.Name()
		var pattern *regexp.Regexp
		prefix := ""
		switch {
		case strings.HasSuffix(name, "_test.go"):
			pattern = goTest
		case strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".c"):
			pattern, prefix = cmocka, strings.TrimSuffix(name, ".c")+"/"
		case strings.HasSuffix(name, "_test.py"):
			pattern, prefix = python, name+"/"
		case strings.HasPrefix(name, "fuzz_") && strings.HasSuffix(name, ".c"):
			found[name] = true
			return nil
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
			found[prefix+m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 100 {
		t.Fatalf("%d tests found in the tree: the search does not work", len(found))
	}
	return found
}

// rows are the page's table rows: clause, subject, state, why or how it is shown.
func rows(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) == 4 && cells[0] != "Clause" && !strings.HasPrefix(cells[0], "---") {
			out = append(out, cells)
		}
	}
	if len(out) < 80 {
		t.Fatalf("%d rows found in the page: the search does not work", len(out))
	}
	return out
}

func TestThePageNamesTestsThatExist(t *testing.T) {
	tests := testsInTree(t)
	for _, row := range rows(t) {
		named := 0
		for _, q := range quoted.FindAllStringSubmatch(row[3], -1) {
			if !isATest.MatchString(q[1]) {
				continue
			}
			if named++; !tests[q[1]] {
				t.Errorf("clause %s names the test %s, which is not in the tree", row[0], q[1])
			}
		}
		switch row[2] {
		case "done", "part":
			if named == 0 {
				t.Errorf("clause %s is %s, and no test shows it", row[0], row[2])
			}
		case "no", "–":
			if len(row[3]) < 3 {
				t.Errorf("clause %s is not done, and nothing says why", row[0])
			}
		default:
			t.Errorf("clause %s has the state %q: done, part, no or – are meant", row[0], row[2])
		}
	}
}

func TestThePageHasEveryClauseOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range rows(t) {
		name, spec := row[0], ""
		if s, c, ok := strings.Cut(name, " "); ok { // "29.281 4.1": a clause of another specification
			spec, name = s, c
		}
		if !clause.MatchString(name) {
			t.Errorf("%q is no clause", row[0])
		}
		if key := spec + " " + name; seen[key] {
			t.Errorf("clause %s stands there twice", row[0])
		} else {
			seen[key] = true
		}
	}
}
