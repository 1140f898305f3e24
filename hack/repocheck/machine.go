package main

import (
	"fmt"
	"regexp"
	"strings"
)

// machineNames are traces of the machine that a file was written on, in the order that they are
// reported. Paths inside containers and of Debian are no traces.
var machineNames = []struct {
	what string
	re   *regexp.Regexp
}{
	{"a home folder", regexp.MustCompile(`(?:^|[^A-Za-z0-9_.~/-])/(?:root|home/[a-z][a-z0-9_-]*)/[A-Za-z0-9._-]`)},
	{"a work folder", regexp.MustCompile(`(?:^|[^A-Za-z0-9_.~/$}-])/work(?:space)?/[A-Za-z0-9._-]`)},
	{"an address of a package mirror", regexp.MustCompile(`(?i)\bGOPROXY=https?://`)},
	{"a host of a private network", regexp.MustCompile(`(?i)https?://[a-z0-9.-]+\.(?:internal|corp|lan|intranet)\b`)},
	{"a private key", regexp.MustCompile(`-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----`)},
}

// machinePaths looks for machineNames in every text file but this program's own.
func machinePaths(t tree) (looked int, wrong []string) {
	for _, f := range t.files {
		if !f.text() || strings.HasPrefix(f.path, "hack/repocheck/") {
			continue
		}
		looked++
		if complaint := machineName(f); complaint != "" {
			wrong = append(wrong, complaint)
		}
	}
	return looked, wrong
}

// machineName returns the first trace in a file.
func machineName(f file) string {
	for i, line := range f.lines() {
		for _, name := range machineNames {
			if name.re.MatchString(line) {
				return fmt.Sprintf("%s:%d: names %s: %s", f.path, i+1, name.what, strings.TrimSpace(line))
			}
		}
	}
	return ""
}
