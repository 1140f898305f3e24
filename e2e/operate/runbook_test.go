package operate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/e2e/grafana"
)

// Runbooks are followed as who is woken up would: the alert's link leads to its page, whose commands take the
// alert's labels for variables. What a command under Heal wants beyond these, the commands under Look must
// have shown, or a person must know from elsewhere.

// reading is what came of an alert's page.
type reading struct {
	alert grafana.Alert
	page  string // in docs/runbooks
	text  string
	shown string // by the commands under Look
}

// remedy is a block of commands under a page's heading Heal: the one that has command in it.
type remedy struct {
	page, command string
	// shown are variables that the reader takes from what Look has shown, known those from elsewhere.
	shown, known map[string]string
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// section is what stands below a heading of a page.
func section(page, heading string) string {
	_, text, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// variables are the alert's labels.
func variables(a grafana.Alert) string {
	text := fmt.Sprintf("ns=%q\n", a.Labels["namespace"])
	for _, label := range slices.Sorted(maps.Keys(a.Labels)) {
		text += fmt.Sprintf("%s=%q\n", label, a.Labels[label])
	}
	for _, label := range []string{"upfinstance", "name"} {
		if value := a.Labels[label]; value != "" {
			text += fmt.Sprintf("upf=%q\n", value)
		}
	}
	return text
}

// look follows the alert's link and runs the commands by which its page looks at the trouble.
func look(t *testing.T, ctx context.Context, a grafana.Alert) *reading {
	t.Helper()
	url := a.Annotations["runbook_url"]
	text, err := os.ReadFile(filepath.Join(k.Root, url))
	if err != nil {
		t.Fatalf("runbook_url of %s: %v", a.Labels["alertname"], err)
	}
	r := &reading{alert: a, page: filepath.Base(url), text: string(text)}
	blocks := shellBlock.FindAllStringSubmatch(section(r.text, "Look"), -1)
	if len(blocks) == 0 {
		t.Errorf("%s has no command below its heading Look", url)
	}
	for _, block := range blocks {
		out, err := k.Shell(ctx, variables(a)+block[1])
		if err != nil {
			t.Errorf("%s: %v\n%s%s", url, err, block[1], out)
		}
		r.shown += out
	}
	return r
}

// apply runs the commands. Their page is an alert's, or linked from there.
func (r remedy) apply(t *testing.T, ctx context.Context, seen map[string]*reading) {
	t.Helper()
	file := r.page + ".md"
	var from *reading
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if s := seen[name]; s.page == file || strings.Contains(s.text, "]("+file+")") && from == nil {
			from = s
		}
	}
	if from == nil {
		t.Fatalf("no page of %v leads to %s", slices.Sorted(maps.Keys(seen)), file)
	}
	text, err := os.ReadFile(filepath.Join(k.Root, "docs/runbooks", file))
	if err != nil {
		t.Fatal(err)
	}
	shown := ""
	for _, s := range seen {
		shown += s.shown
	}
	script := variables(from.alert)
	for _, name := range slices.Sorted(maps.Keys(r.shown)) {
		if !strings.Contains(shown, r.shown[name]) {
			t.Errorf("%s: no command under Look has shown %s, which the commands under Heal want as %s:\n%s", file, r.shown[name], name, shown)
		}
		script += fmt.Sprintf("%s=%q\n", name, r.shown[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.known)) {
		script += fmt.Sprintf("%s=%q\n", name, r.known[name])
	}
	for _, block := range shellBlock.FindAllStringSubmatch(section(string(text), "Heal"), -1) {
		if !strings.Contains(block[1], r.command) {
			continue
		}
		out, err := k.Shell(ctx, script+block[1])
		if err != nil {
			t.Errorf("%s: %v\n%s%s", file, err, block[1], out)
		}
		t.Logf("healed by %s: %s", file, r.command)
		return
	}
	t.Errorf("%s has no command %q under Heal", file, r.command)
}
