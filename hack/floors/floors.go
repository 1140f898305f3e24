// Package floors lets a package's test say on which floor each package below it stands, so that imports go down alone.
package floors

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Check the packages in the folders below the test's own, whose import path that is. floors are their names, from the lowest: one imports, of this package and those
// below it, what stands on lower floors alone. Every folder stands on one, but testdata and those for tests. What packages' own tests import does not count.
func Check(t *testing.T, path string, floors [][]string, tests ...string) {
	t.Helper()
	var below []string
	for _, floor := range floors {
		for _, name := range floor {
			for _, to := range imports(t, path, name) {
				if !slices.Contains(below, to) {
					t.Errorf("%s imports %q, which is not below it", name, to)
				}
			}
		}
		below = append(below, floor...)
	}
	there, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range there {
		if name := entry.Name(); entry.IsDir() && name != "testdata" && !slices.Contains(below, name) && !slices.Contains(tests, name) {
			t.Errorf("%s is on no floor", name)
		}
	}
}

// imports of a package: those that are below path, by their names there, and path itself, which has none.
func imports(t *testing.T, path, name string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(name, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no package %s: %v", name, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			of, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if to, is := strings.CutPrefix(of+"/", path+"/"); is {
				out = append(out, strings.TrimSuffix(to, "/"))
			}
		}
	}
	return out
}
