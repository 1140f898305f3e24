package agent_test

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

// floors are the packages below this one, from the lowest: what stands on one imports of those below it alone.
var floors = [][]string{
	{"addresses", "applications", "link", "node", "pace", "peers", "store"},
	{"leases"},
	{"reports"},
	{"sessions"},
	{"filling"},
}

// Nothing below the agent imports what is above or beside it: who reports knows nothing of requests, and neither of who fills a upf-u.
func TestImportsGoDown(t *testing.T) {
	var below []string
	for _, floor := range floors {
		for _, room := range floor {
			for _, to := range importsOf(t, room) {
				if !slices.Contains(below, to) {
					t.Errorf("%s imports %s, which is not below it", room, to)
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
		if entry.IsDir() && entry.Name() != "testdata" && !slices.Contains(below, entry.Name()) {
			t.Errorf("%s is on no floor", entry.Name())
		}
	}
}

// importsOf a package below this one, without its tests: those that are below it, too, or this one.
func importsOf(t *testing.T, room string) (out []string) {
	t.Helper()
	const agent = "core5g.dev/core5g/upf/upfc/agent"
	files, err := filepath.Glob(filepath.Join(room, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no package %s: %v", room, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if path == agent || strings.HasPrefix(path, agent+"/") {
				out = append(out, strings.TrimPrefix(strings.TrimPrefix(path, agent), "/"))
			}
		}
	}
	return out
}
