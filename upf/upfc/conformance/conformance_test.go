package conformance

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"core5g.dev/core5g/hack/conformance"
)

var (
	cmocka = regexp.MustCompile(`cmocka_unit_test\w*\(\s*(\w+)`)
	python = regexp.MustCompile(`(?m)^def (test_\w+)\(`)
)

// found in a file: vectors as test_forward/…, tests in Python as netns_test.py/…, fuzz targets as their file.
func found(path, text string) (names []string) {
	name := filepath.Base(path)
	var pattern *regexp.Regexp
	prefix := ""
	switch {
	case strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".c"):
		pattern, prefix = cmocka, strings.TrimSuffix(name, ".c")+"/"
	case strings.HasSuffix(name, "_test.py"):
		pattern, prefix = python, name+"/"
	case strings.HasPrefix(name, "fuzz_") && strings.HasSuffix(name, ".c"):
		return []string{name}
	default:
		return nil
	}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		names = append(names, prefix+m[1])
	}
	return names
}

func TestPage(t *testing.T) {
	conformance.Page{
		File: "../../../docs/upf/conformance.md", Tree: "../..", Find: found,
		Clause: regexp.MustCompile(`^(\d+\.\d+ )?\d+(\.\d+[A-Z]?)*$|^RFC \d+ REQ-\d+$`),
		Names:  regexp.MustCompile(`^(Test|Fuzz|Benchmark)\w+(/.+)?$|^test_\w+/\w+$|^\w+\.py/test_\w+$|^fuzz_\w+\.c$`),
		Beside: "–", Rows: 80, Tests: 100,
	}.Check(t)
}
