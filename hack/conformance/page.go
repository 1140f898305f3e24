// Package conformance holds pages that say clause by clause what core5g does against the tests that they name.
//
// A page has tables of four cells: clause, subject, state, and what shows it or why it is not so. A test is named in
// backquotes: `TestX` and `FuzzX` are Go's, `TestX/a sentence` is a case of one. Pages have other kinds too; see Find.
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

// Page is a page, and where its tests are. Paths are from the caller's folder on.
type Page struct {
	File string
	// Tree is the folder with the tests, More are others that the page names tests of.
	Tree string
	More []string
	// Clause is how the first cell is written.
	Clause *regexp.Regexp
	// Repeats: a clause may stand there more than once, for another subject each time.
	Repeats bool
	// Names is what is a test among all that is quoted in the last cell; nil: everything is.
	Names *regexp.Regexp
	// Reasons: what is done in part, or not, says so in words. On other pages a test of the refusal is reason enough for
	// what is not done, and what is done in part names a test.
	Reasons bool
	// Beside is a state that there is beside done, part and no, and that needs a reason, "" for none.
	Beside string
	// Rows and Tests are the fewest that must be found: less, and the search does not work.
	Rows, Tests int
	// Find gives the tests in a file of the tree that are not Go's, as the page names them; nil: there are none.
	Find func(path, text string) []string
}

var (
	goTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	goName = regexp.MustCompile("^(?:Test|Fuzz|Benchmark)[A-Z0-9_]")
	quoted = regexp.MustCompile("`([^`]+)`")

	tableLine = regexp.MustCompile(`(?m)^\|.*$`)
)

// row of a page.
type row struct{ clause, subject, state, shown string }

// tests of a tree: by their names, and the text of those in Go, which has the sentences of cases.
type tests struct {
	names map[string]bool
	text  string
}

// has says whether that is a test, or a case of one in Go.
func (x tests) has(name string) bool {
	test, sentence, isCase := strings.Cut(name, "/")
	return x.names[name] || isCase && goName.MatchString(test) && x.names[test] && strings.Contains(x.text, `"`+sentence+`"`)
}

// Check that page and tests agree.
func (p Page) Check(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(p.File)
	if err != nil {
		t.Fatal(err)
	}
	there, err := p.tests()
	if err != nil {
		t.Fatal(err)
	}
	if len(there.names) < p.Tests {
		t.Fatalf("%d tests found in the tree: the search does not work", len(there.names))
	}
	for _, fault := range p.faults(string(b), there) {
		t.Error(fault)
	}
}

func (p Page) tests() (tests, error) {
	names := map[string]bool{}
	var inGo strings.Builder
	for _, tree := range append([]string{p.Tree}, p.More...) {
		if err := p.gather(tree, names, &inGo); err != nil {
			return tests{}, err
		}
	}
	return tests{names, inGo.String()}, nil
}

// gather the names of a folder's tests, and the text of those in Go.
func (p Page) gather(tree string, names map[string]bool, inGo *strings.Builder) error {
	return filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		isGo := strings.HasSuffix(path, "_test.go")
		if err != nil || d.IsDir() || !isGo && p.Find == nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if isGo {
			inGo.Write(b)
			for _, m := range goTest.FindAllSubmatch(b, -1) {
				names[string(m[1])] = true
			}
			return nil
		}
		for _, name := range p.Find(path, string(b)) {
			names[name] = true
		}
		return nil
	})
}

// faults of a page, one a line.
func (p Page) faults(text string, there tests) []string {
	list, out := read(text)
	if len(list) < p.Rows {
		out = append(out, "too few rows found in the page: the search does not work")
	}
	for _, m := range quoted.FindAllStringSubmatch(tableLine.ReplaceAllString(text, ""), -1) {
		if name := m[1]; goName.MatchString(name) && !there.has(name) && !slices.Contains([]string{"TestX", "FuzzX"}, strings.SplitN(name, "/", 2)[0]) {
			out = append(out, "the page names "+name+", which is not in the tree")
		}
	}
	seen := map[row]bool{}
	for _, r := range list {
		key := row{clause: r.clause}
		if p.Repeats {
			key.subject = r.subject
		}
		if !p.Clause.MatchString(r.clause) || seen[key] {
			out = append(out, r.clause+" is no clause, or stands there twice")
		}
		seen[key] = true
		out = append(out, p.row(r, there)...)
	}
	return out
}

// row by itself.
func (p Page) row(r row, there tests) []string {
	var out []string
	named := 0
	for _, m := range quoted.FindAllStringSubmatch(r.shown, -1) {
		if p.Names != nil && !p.Names.MatchString(m[1]) {
			continue
		}
		if named++; !there.has(m[1]) {
			out = append(out, "clause "+r.clause+" names "+m[1]+", which is not in the tree")
		}
	}
	words := strings.Trim(quoted.ReplaceAllString(r.shown, ""), "`., ")
	switch {
	case r.state == "done" || r.state == "part":
		if named == 0 && (r.state == "done" || !p.Reasons) {
			out = append(out, "clause "+r.clause+" is "+r.state+", and no test shows it")
		}
		if p.Reasons && r.state == "part" && words == "" {
			out = append(out, "clause "+r.clause+" is part, and nothing says what is missing")
		}
	case r.state == "no" || p.Beside != "" && r.state == p.Beside:
		if words == "" && (p.Reasons || named == 0) {
			out = append(out, "clause "+r.clause+" is not done, and nothing says why")
		}
	default:
		out = append(out, "clause "+r.clause+" has the state "+r.state+": done, part or no are meant")
	}
	return out
}

// read the rows of a page, and what cannot be read of them.
func read(text string) (list []row, faults []string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for n := range cells {
			cells[n] = strings.TrimSpace(cells[n])
		}
		switch {
		case !strings.HasPrefix(line, "|") || strings.HasPrefix(cells[0], "---") || cells[0] == "Clause":
		case len(cells) != 4:
			faults = append(faults, "a row has not four cells: "+strings.TrimSpace(line))
		default:
			list = append(list, row{cells[0], cells[1], cells[2], cells[3]})
		}
	}
	return list, faults
}
