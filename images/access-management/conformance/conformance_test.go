package conformance

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"core5g.dev/core5g/hack/conformance"
)

var (
	story  = regexp.MustCompile(`(?m)^# (.+)$`)
	vector = regexp.MustCompile(`cmocka_unit_test\w*\(\s*(\w+)`)
)

// found in a file: stories of session management, as smf-conformance.md names them, and vectors of the user plane.
func found(path, text string) (names []string) {
	name := filepath.Base(path)
	var pattern *regexp.Regexp
	switch {
	case filepath.Dir(path) == filepath.Clean("../../session-management/procedure/testdata") && strings.HasSuffix(name, ".txt"):
		pattern = story
	case strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".c"):
		pattern = vector
	default:
		return nil
	}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		names = append(names, strings.TrimSuffix(name, filepath.Ext(name))+"/"+m[1])
	}
	return names
}

func TestPage(t *testing.T) {
	conformance.Page{
		File: "../../../docs/amf-conformance.md", Tree: "..", Find: found,
		More:   []string{"../../session-management", "../../subscriber-data", "../../../operators/admission", "../../../operators/controllers/core", "../../../e2e/ran/registrations", "../../../upf/upfu/test"},
		Clause: regexp.MustCompile(`^\d+\.\d+ (\d+(\.\d+)*|Annex [A-Z])$`), Repeats: true,
		Names:   regexp.MustCompile(`^(Test|Fuzz)|^test_\w+/|^(establishment|establishment-refused|handover|paging|path-failure)/`),
		Reasons: true, Rows: 25, Tests: 15,
	}.Check(t)
}
