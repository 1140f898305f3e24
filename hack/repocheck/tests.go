package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// longTests is how the Makefile chooses tests that `make unit` leaves out: words in their names, and folders.
	longTests   = regexp.MustCompile(`(?m)^INTEGRATION +:= ([A-Za-z|]+)\nINTEGRATION_IN +:= (.+)$`)
	topFunction = regexp.MustCompile(`^func (\w+)\(`)
)

// shortTests checks that what skips itself in a short run, which `make unit` is, has a name by which `make
// integration` runs it: no test shall run nowhere.
func shortTests(t tree) (looked int, wrong []string) {
	var words, folders []string
	for _, f := range t.files {
		if m := longTests.FindStringSubmatch(string(f.content)); f.path == "Makefile" && m != nil {
			words = strings.Split(m[1], "|")
			for folder := range strings.FieldsSeq(m[2]) {
				folders = append(folders, folder+"/")
			}
		}
	}
	if len(folders) == 0 {
		return 0, []string{"Makefile: no INTEGRATION and INTEGRATION_IN, by which tests are looked for that a short run leaves out"}
	}
	for _, f := range t.files {
		if !strings.HasSuffix(f.path, "_test.go") || !slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(f.path, folder) }) {
			continue
		}
		function := ""
		for i, line := range f.lines() {
			if m := topFunction.FindStringSubmatch(line); m != nil {
				function = m[1]
			}
			if !strings.Contains(line, "testing.Short()") || !strings.HasPrefix(function, "Test") || function == "TestMain" {
				continue
			}
			looked++
			if !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(function, word) }) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s runs nowhere: `make unit` is short, and `make integration` runs what has %s in its name",
					f.path, i+1, function, strings.Join(words, " or ")))
			}
		}
	}
	return looked, wrong
}
