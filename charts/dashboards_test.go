package charts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func isDashboard(doc document) bool {
	return doc.object.GetKind() == "ConfigMap" && strings.Contains(doc.object.GetName(), "-dashboard-")
}

// dashboardsOf are the dashboards that the chart makes, by file name, and the labels of their ConfigMaps.
func dashboardsOf(t *testing.T, args ...string) (files map[string]string, labels []map[string]string) {
	t.Helper()
	rendered, err := template(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, doc := range split(t, rendered) {
		if !isDashboard(doc) {
			continue
		}
		data, _, err := unstructured.NestedStringMap(doc.object.Object, "data")
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range data {
			files[name] = content
		}
		labels = append(labels, doc.object.GetLabels())
	}
	return files, labels
}

// TestDashboards checks that every file is shipped as it is: nothing of it is taken for a template.
func TestDashboards(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(chart, "files/dashboards/*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	want := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want[filepath.Base(path)] = strings.TrimSuffix(string(content), "\n")
	}
	got, labels := dashboardsOf(t, "--set=monitoring.enabled=Always")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dashboards (-files +rendered):\n%s", diff)
	}
	for _, l := range labels {
		if l["grafana_dashboard"] != "1" {
			t.Errorf("labels %v have no grafana_dashboard, which Grafana's sidecar looks for", l)
		}
	}
}

func TestDashboardsAreMadeWhere(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want bool
	}{
		{"the cluster knows prometheus-operator", []string{"--api-versions=monitoring.coreos.com/v1/PodMonitor"}, true},
		{"nobody knows prometheus-operator", nil, false},
		{"they are wanted without it", []string{"--set=monitoring.dashboards.enabled=Always"}, true},
		{"monitoring is on without them", []string{"--set=monitoring.enabled=Always,monitoring.dashboards.enabled=Never"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if files, _ := dashboardsOf(t, tt.args...); (len(files) > 0) != tt.want {
				t.Errorf("%d dashboards, want some: %t", len(files), tt.want)
			}
		})
	}
}
