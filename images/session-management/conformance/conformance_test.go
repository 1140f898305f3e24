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
	module  = ".." // images/session-management
	page    = "../../../docs/smf-conformance.md"
	stories = module + "/procedure/testdata"
)

var (
	goTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	story  = regexp.MustCompile(`(?m)^# (.+)$`)
	quoted = regexp.MustCompile("`([^`]+)`")
	clause = regexp.MustCompile(`^(\d+\.\d+ )?\d+(\.\d+)*$`)
)

// named in the tree: tests by their names, stories as file/name.
func named(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range goTest.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(stories + "/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range story.FindAllStringSubmatch(string(text), -1) {
			found[strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+m[1]] = true
		}
	}
	if len(found) < 200 {
		t.Fatalf("%d tests and stories found in the tree: the search does not work", len(found))
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
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 4 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "Clause" {
			continue
		}
		for n := range cells {
			cells[n] = strings.TrimSpace(cells[n])
		}
		out = append(out, cells)
	}
	if len(out) < 50 {
		t.Fatalf("%d rows found in the page: the search does not work", len(out))
	}
	return out
}

func TestThePageNamesWhatExists(t *testing.T) {
	there, seen := named(t), map[string]bool{}
	for _, row := range rows(t) {
		if !clause.MatchString(row[0]) || seen[row[0]] {
			t.Errorf("%q is no clause, or stands there twice", row[0])
		}
		seen[row[0]] = true
		tests := 0
		for _, q := range quoted.FindAllStringSubmatch(row[3], -1) {
			if tests++; !there[q[1]] {
				t.Errorf("clause %s names %q, which is not in the tree", row[0], q[1])
			}
		}
		switch row[2] {
		case "done", "part":
			if tests == 0 {
				t.Errorf("clause %s is %s, and no test shows it", row[0], row[2])
			}
		case "no":
			if len(row[3]) < 3 {
				t.Errorf("clause %s is not done, and nothing says why", row[0])
			}
		default:
			t.Errorf("clause %s has the state %q: done, part or no are meant", row[0], row[2])
		}
	}
}
