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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// rule is one rule of a PrometheusRule.
type rule struct {
	Record      string            `json:"record,omitempty"`
	Alert       string            `json:"alert,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type ruleGroup struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

type ruleFile struct {
	Groups []ruleGroup `json:"groups"`
}

// rulesOf are the groups of all PrometheusRules that the chart makes.
func rulesOf(t *testing.T, args ...string) ruleFile {
	t.Helper()
	rendered, err := template(t, append([]string{"--set=monitoring.enabled=Always"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var all ruleFile
	for _, doc := range split(t, rendered) {
		if doc.object.GetKind() != "PrometheusRule" {
			continue
		}
		spec, _, err := unstructured.NestedMap(doc.object.Object, "spec")
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var part ruleFile
		if err := yaml.UnmarshalStrict(text, &part); err != nil {
			t.Fatal(err)
		}
		all.Groups = append(all.Groups, part.Groups...)
	}
	if len(all.Groups) == 0 {
		t.Fatal("the chart makes no rules")
	}
	return all
}

// alertsOf are the alerts by name.
func alertsOf(t *testing.T) map[string]rule {
	t.Helper()
	alerts := map[string]rule{}
	for _, group := range rulesOf(t).Groups {
		for _, r := range group.Rules {
			if r.Alert == "" {
				continue
			}
			if _, twice := alerts[r.Alert]; twice {
				t.Errorf("alert %s is there twice", r.Alert)
			}
			alerts[r.Alert] = r
		}
	}
	return alerts
}

// promtool finds the program like helm does its own.
func promtool(t *testing.T) string {
	t.Helper()
	for _, path := range []string{os.Getenv("PROMTOOL"), "../out/bin/promtool"} {
		if path == "" {
			continue
		}
		if abs, err := filepath.Abs(path); err == nil {
			if _, err := os.Stat(abs); err == nil {
				return abs
			}
		}
	}
	if os.Getenv("CORE5G_TOOLS") == "required" {
		t.Fatal("no promtool: run `hack/tools/build.sh promtool`")
	}
	t.Skip("no promtool: run `hack/tools/build.sh promtool`, or set PROMTOOL")
	return ""
}

// TestPlaceholders checks that every value of monitoring.alerts is used, and nothing is left to be put in.
func TestPlaceholders(t *testing.T) {
	placeholder := regexp.MustCompile(`<[a-z][a-zA-Z0-9.]*>`)
	source, err := os.ReadFile(filepath.Join(chart, "files/monitoring/alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Monitoring struct {
			Alerts map[string]any `json:"alerts"`
		} `json:"monitoring"`
	}
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	for name := range values.Monitoring.Alerts {
		if !bytes.Contains(source, []byte("<alerts."+name+">")) {
			t.Errorf("monitoring.alerts.%s is used by no alert", name)
		}
	}
	for _, group := range rulesOf(t).Groups {
		for _, r := range group.Rules {
			rendered, err := yaml.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if left := placeholder.FindAll(rendered, -1); left != nil {
				t.Errorf("%s%s: nothing was put in for %s", r.Alert, r.Record, bytes.Join(left, []byte(", ")))
			}
			// Prometheus puts in the labels of the expression, not those that the rule adds.
			for label := range r.Labels {
				for name, text := range r.Annotations {
					if strings.Contains(text, "$labels."+label+" ") {
						t.Errorf("%s: %s speaks of label %s, which is added afterwards and is empty there", r.Alert, name, label)
					}
				}
			}
			if !strings.Contains(r.Expr, `namespace="core5g"`) {
				t.Errorf("%s%s looks at other releases' namespaces too", r.Alert, r.Record)
			}
		}
	}
}

// TestRules lets promtool parse the rules, and play the tests of testdata/alerts.
func TestRules(t *testing.T) {
	tool := promtool(t)
	rules := rulesOf(t)
	dir := t.TempDir()
	write := func(name string) {
		text, err := yaml.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(t *testing.T, args ...string) {
		cmd := exec.Command(tool, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	write("whole.yaml")
	run(t, "check", "rules", "--lint=all", "--lint-fatal", "whole.yaml")
	// promtool compares every annotation: the tests write the summaries only.
	for g := range rules.Groups {
		for i := range rules.Groups[g].Rules {
			delete(rules.Groups[g].Rules[i].Annotations, "description")
			delete(rules.Groups[g].Rules[i].Annotations, "runbook_url")
		}
	}
	write("rules.yaml")
	for _, name := range ruleTests(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644); err != nil {
				t.Fatal(err)
			}
			run(t, "test", "rules", filepath.Base(name))
		})
	}
}

func ruleTests(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(chart, "testdata", "alerts", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tests of rules: %v", err)
	}
	return paths
}

// TestAlertsAreTested checks that each alert is seen to fire, and seen not to.
func TestAlertsAreTested(t *testing.T) {
	type seen struct{ fires, rests bool }
	tested := map[string]*seen{}
	for _, path := range ruleTests(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Tests []struct {
				Alerts []struct {
					Name string           `json:"alertname"`
					Want []map[string]any `json:"exp_alerts"`
				} `json:"alert_rule_test"`
			} `json:"tests"`
		}
		if err := yaml.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, test := range file.Tests {
			for _, a := range test.Alerts {
				if tested[a.Name] == nil {
					tested[a.Name] = &seen{}
				}
				if len(a.Want) > 0 {
					tested[a.Name].fires = true
				} else {
					tested[a.Name].rests = true
				}
			}
		}
	}
	alerts := alertsOf(t)
	for name := range alerts {
		if s := tested[name]; s == nil || !s.fires || !s.rests {
			t.Errorf("testdata/alerts/%s.yaml must show %[1]s firing and not firing", name)
		}
	}
	for name := range tested {
		if _, known := alerts[name]; !known {
			t.Errorf("testdata/alerts tests %s, which is no alert", name)
		}
	}
}

// TestMonitoringFollowsTheCluster checks that the kinds are asked for, and that the core does not need them.
func TestMonitoringFollowsTheCluster(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want int
	}{
		{"a cluster without the kinds", nil, 0},
		{"a cluster with the kinds", []string{"--api-versions=monitoring.coreos.com/v1/PodMonitor"}, 3},
		{"a cluster with the kinds where nobody wants them", []string{"--api-versions=monitoring.coreos.com/v1/PodMonitor", "--set=monitoring.enabled=Never"}, 0},
		{"a cluster that will have them", []string{"--set=monitoring.enabled=Always"}, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rendered, err := template(t, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for _, doc := range split(t, rendered) {
				if doc.object.GroupVersionKind().Group == "monitoring.coreos.com" {
					got++
				}
			}
			if got != test.want {
				t.Errorf("%d objects of prometheus-operator, want %d", got, test.want)
			}
		})
	}
}

// TestNotesOfMonitoring reads what `helm install` prints at its end. Helm renders notes only before
// a cluster, so they are put into a manifest of a copy of the chart.
func TestNotesOfMonitoring(t *testing.T) {
	copied := filepath.Join(t.TempDir(), chart)
	if err := os.CopyFS(copied, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(copied, "templates", "NOTES.txt")
	text, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	manifest := "{{ define \"notes\" }}" + string(text) + "{{ end }}\nkind: Notes\ntext: |\n{{ include \"notes\" . | indent 2 }}\n"
	if err := os.WriteFile(filepath.Join(copied, "templates", "notes.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	const none, paths = "This cluster does not know prometheus-operator's kinds", "Alerts name their runbooks as docs/runbooks/<alert>.md"
	for _, test := range []struct {
		name string
		set  string
		want []string
	}{
		{"no kinds in the cluster", "monitoring.enabled=Auto", []string{none}},
		{"nobody wants them", "monitoring.enabled=Never", nil},
		{"alerts whose runbooks are paths", "monitoring.enabled=Always", []string{paths}},
		{"alerts whose runbooks are links", "monitoring.enabled=Always,monitoring.runbooks=https://docs.example.org/core5g", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := exec.Command(helm(t), "template", "core5g", copied, "--show-only=templates/notes.yaml", "--set="+test.set).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, says := range []string{none, paths} {
				if got, want := bytes.Contains(out, []byte(says)), slices.Contains(test.want, says); got != want {
					t.Errorf("the notes say %q: %v, want %v\n%s", says, got, want, out)
				}
			}
		})
	}
}
