package charts_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRunbooks checks that each alert has a page that says what a page has to, and each page an alert.
func TestRunbooks(t *testing.T) {
	const folder = "../docs/runbooks"
	alerts := alertsOf(t)
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	for name, alert := range alerts {
		if got, want := alert.Annotations["runbook_url"], "docs/runbooks/"+name+".md"; got != want {
			t.Errorf("%s: runbook_url is %s, want %s", name, got, want)
		}
		for _, key := range []string{"summary", "description"} {
			if alert.Annotations[key] == "" {
				t.Errorf("%s has no %s", name, key)
			}
		}
		if !slices.Contains([]string{"critical", "warning"}, alert.Labels["severity"]) {
			t.Errorf("%s: severity %q, want critical or warning", name, alert.Labels["severity"])
		}
		if !bytes.Contains(index, []byte("("+name+".md)")) {
			t.Errorf("docs/runbooks/README.md does not link %s.md", name)
		}
		page, err := os.ReadFile(filepath.Join(folder, name+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.HasPrefix(page, []byte("# "+name+"\n")) {
			t.Errorf("%s.md does not begin with its name", name)
		}
		for _, heading := range []string{"## What it means", "## Look", "## Heal", "## When it clears"} {
			if !bytes.Contains(page, []byte("\n"+heading+"\n")) {
				t.Errorf("%s.md has no heading %q", name, heading)
			}
		}
		// What heals can be pasted, and is by e2e/operate.
		_, heal, _ := bytes.Cut(page, []byte("\n## Heal\n"))
		heal, _, _ = bytes.Cut(heal, []byte("\n## "))
		if bytes.Contains(heal, []byte("```console")) {
			t.Errorf("%s.md: commands under Heal are written as ```sh, with the alert's labels as variables", name)
		}
		if block.Find(heal) == nil && !bytes.Contains(heal, []byte("\nNothing")) {
			t.Errorf("%s.md has no command under Heal, and does not say that there is nothing to do", name)
		}
		blocks := block.FindAllSubmatch(page, -1)
		if len(blocks) == 0 {
			t.Errorf("%s.md has no commands", name)
		}
		for _, b := range blocks {
			check := exec.Command("bash", "-n")
			check.Stdin = bytes.NewReader(b[1])
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s.md: %v\n%s%s", name, err, b[1], out)
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		if _, known := alerts[name]; !known && name != "README" {
			t.Errorf("%s belongs to no alert", page)
		}
	}
}
