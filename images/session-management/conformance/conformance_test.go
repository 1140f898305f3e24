package conformance

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"core5g.dev/core5g/hack/conformance"
)

var story = regexp.MustCompile(`(?m)^# (.+)$`)

// stories of a file with message charts, as its name and theirs.
func stories(path, text string) (names []string) {
	dir, file := filepath.Split(path)
	if filepath.Clean(dir) != filepath.Clean("../procedure/testdata") || filepath.Ext(file) != ".txt" {
		return nil
	}
	for _, m := range story.FindAllStringSubmatch(text, -1) {
		names = append(names, strings.TrimSuffix(file, ".txt")+"/"+m[1])
	}
	return names
}

func TestPage(t *testing.T) {
	conformance.Page{
		File: "../../../docs/smf-conformance.md", Tree: "..", Find: stories,
		Clause: regexp.MustCompile(`^(\d+\.\d+ )?\d+(\.\d+)*$`), Rows: 50, Tests: 200,
	}.Check(t)
}
