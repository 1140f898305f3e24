package controllers

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

// floors are the rooms below this package, from the lowest: what stands on one imports of those below it alone.
var floors = [][]string{
	{"asking", "cluster", "conditions", "metrics", "workloads"},
	{"applying"},
	{"certifying"},
	{"core", "slice", "subscriber", "upf"},
}

// notOfTheOperator are rooms for tests.
var notOfTheOperator = []string{"controllertest", "managertest"}

// No kind's controller imports another's, and nothing below imports a kind's.
func TestImportsGoDown(t *testing.T) {
	var rooms []string
	for _, floor := range floors {
		for _, room := range floor {
			for _, to := range importsOf(t, room) {
				if !slices.Contains(rooms, to) {
					t.Errorf("%s imports %s, which is not below it", room, to)
				}
			}
		}
		rooms = append(rooms, floor...)
	}
	there, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range there {
		if entry.IsDir() && entry.Name() != "testdata" && !slices.Contains(rooms, entry.Name()) && !slices.Contains(notOfTheOperator, entry.Name()) {
			t.Errorf("%s is on no floor", entry.Name())
		}
	}
}

// importsOf a room, without its tests, those that are rooms as well, or this package.
func importsOf(t *testing.T, room string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(room, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no room %s: %v", room, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if to, is := strings.CutPrefix(path, "core5g.dev/core5g/operators/controllers"); is {
				out = append(out, strings.TrimPrefix(to, "/"))
			}
		}
	}
	return out
}
