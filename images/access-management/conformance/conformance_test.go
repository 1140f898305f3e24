package conformance

import (
	"regexp"
	"testing"

	"core5g.dev/core5g/hack/conformance"
)

func TestPage(t *testing.T) {
	conformance.Page{
		File: "../../../docs/amf-conformance.md", Tree: "..",
		Clause: regexp.MustCompile(`^\d+\.\d+ (\d+(\.\d+)*|Annex [A-Z])$`), Repeats: true,
		Names: regexp.MustCompile(`^(Test|Fuzz)`), Reasons: true, Rows: 25, Tests: 15,
	}.Check(t)
}
