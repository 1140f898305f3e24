package charts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// The front page counts alerts, so that a reader knows what to expect; the rules are what is counted.
func TestREADMECountsTheAlerts(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`(\d+) alerts`).FindSubmatch(readme)
	if said == nil {
		t.Fatal("README.md does not say how many alerts there are")
	}
	rules, err := os.ReadFile("core5g/files/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := len(regexp.MustCompile(`(?m)^\s*- alert:`).FindAll(rules, -1))
	if n, _ := strconv.Atoi(string(said[1])); n != alerts {
		t.Errorf("README.md says %d alerts, files/monitoring/alerts.yaml has %d", n, alerts)
	}
	pages, err := filepath.Glob("../docs/runbooks/Core5G*.md")
	if err != nil || len(pages) != alerts {
		t.Errorf("%d alerts, %d runbooks, %v", alerts, len(pages), err)
	}
}
