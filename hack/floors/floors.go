// Package floors lets a package's test say on which floor each package below it stands, so that imports go down alone.
package floors

import (
	"fmt"
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
	wrong, err := look(".", path, floors, tests)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range wrong {
		t.Error(what)
	}
}

// look at the packages below a folder.
func look(dir, path string, floors [][]string, tests []string) (wrong []string, err error) {
	var below []string
	for _, floor := range floors {
		for _, name := range floor {
			all, err := imports(filepath.Join(dir, name), path)
			if err != nil {
				return nil, err
			}
			for _, to := range all {
				if !slices.Contains(below, to) {
					wrong = append(wrong, fmt.Sprintf("%s imports %q, which is not below it", name, to))
				}
			}
		}
		below = append(below, floor...)
	}
	there, err := os.ReadDir(dir)
	for _, entry := range there {
		if name := entry.Name(); entry.IsDir() && name != "testdata" && !slices.Contains(below, name) && !slices.Contains(tests, name) {
			wrong = append(wrong, name+" is on no floor")
		}
	}
	return wrong, err
}

// imports of the package in a folder: those that are below path, by their names there, and path itself, which has none.
func imports(dir, path string) (out []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no package is in %s", dir)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range parsed.Imports {
			of, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			if to, is := strings.CutPrefix(of+"/", path+"/"); is {
				out = append(out, strings.TrimSuffix(to, "/"))
			}
		}
	}
	return out, nil
}
