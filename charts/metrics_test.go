package charts_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documented are the metrics that a page describes, the first column of its tables.
func documented(t *testing.T, pages ...string) map[string]bool {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9_:]+)` \\|")
	names := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range row.FindAllStringSubmatch(string(text), -1) {
			names[match[1]] = true
		}
	}
	return names
}

// ownMetrics are the names of metrics in the code of this project.
func ownMetrics(t *testing.T) map[string]bool {
	t.Helper()
	literal := regexp.MustCompile(`"(core5g_[a-z0-9_]+)"`)
	names := map[string]bool{}
	for _, root := range []string{"../operators", "../images"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range literal.FindAllStringSubmatch(string(text), -1) {
				names[match[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestMetricsAreDocumented compares docs/metrics.md with the code and with the recording rules.
func TestMetricsAreDocumented(t *testing.T) {
	page := documented(t, "metrics.md")
	code := ownMetrics(t)
	if len(code) < 10 {
		t.Fatalf("only %d metrics in the code", len(code))
	}
	records := map[string]bool{}
	for _, group := range rulesOf(t).Groups {
		for _, r := range group.Rules {
			if r.Record != "" {
				records[r.Record] = true
			}
		}
	}
	for name := range code {
		if !page[name] {
			t.Errorf("docs/metrics.md lacks %s", name)
		}
	}
	for name := range records {
		if !page[name] {
			t.Errorf("docs/metrics.md lacks the recording rule %s", name)
		}
	}
	for name := range page {
		if !code[name] && !records[name] && !strings.HasPrefix(name, "free5gc_") {
			t.Errorf("docs/metrics.md has %s, which is neither in the code nor in the rules", name)
		}
	}
}

// TestRulesLookAtMetricsThatExist checks every name in an expression against the documents, which in turn are
// checked against the code.
func TestRulesLookAtMetricsThatExist(t *testing.T) {
	known := documented(t, "metrics.md", "upf/metrics.md")
	for _, other := range []string{"up", "controller_runtime_reconcile_errors_total"} {
		known[other] = true
	}
	// A selector always has a matcher here: see TestPlaceholders.
	selector := regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{`)
	for _, group := range rulesOf(t).Groups {
		for _, r := range group.Rules {
			found := selector.FindAllStringSubmatch(r.Expr, -1)
			if len(found) == 0 {
				t.Errorf("%s%s looks at nothing", r.Alert, r.Record)
			}
			for _, match := range found {
				name := match[1]
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					if base := strings.TrimSuffix(name, suffix); known[base] {
						name = base
					}
				}
				if !known[name] {
					t.Errorf("%s%s looks at %s, which no page of docs describes", r.Alert, r.Record, name)
				}
			}
		}
	}
	if len(known) < 50 {
		t.Errorf("only %d metrics are described", len(known))
	}
}
