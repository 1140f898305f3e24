package upgrade

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
)

// What a backup takes along, in which order and without what, stands in docs/upgrade.md, as a command that readers type. The restoration runs its jq program:
// there is no second one.

// documented is the command of docs/upgrade.md: what kubectl is asked for, and the program that makes the backup of its answer.
type documented struct{ resources, program string }

var backupCommand = regexp.MustCompile(`(?s)kubectl -n "\$ns" get ([a-z0-9,]+) -o json \|\s+jq '([^']+)' >backup\.json`)

func readDocumented(root string) (documented, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs/upgrade.md"))
	if err != nil {
		return documented{}, err
	}
	found := backupCommand.FindAllStringSubmatch(string(text), -1)
	if len(found) != 1 {
		return documented{}, errors.New("docs/upgrade.md has not one command that writes backup.json")
	}
	return documented{resources: found[0][1], program: found[0][2]}, nil
}

// of makes the backup of a list of objects, as kubectl prints it.
func (d documented) of(list string) (string, error) {
	query, err := gojq.Parse(d.program)
	if err != nil {
		return "", err
	}
	var input any
	if err := json.Unmarshal([]byte(list), &input); err != nil {
		return "", err
	}
	results := query.Run(input)
	out, ok := results.Next()
	if !ok {
		return "", errors.New("the program says nothing")
	}
	if err, is := out.(error); is {
		return "", err
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// TestBackup holds the documented program to what a restoration needs: Secrets come before the Core5G whose sealing keys are among them; of two
// that want the same the elder comes first; what Helm, the cluster and the webhook make again is left out; and nothing of what an API server has written goes along.
func TestBackup(t *testing.T) {
	d, err := readDocumented("../..")
	if err != nil {
		t.Fatal(err)
	}
	const list = `{"apiVersion": "v1", "kind": "List", "items": [
		{"kind": "Core5G", "metadata": {"name": "core5g", "namespace": "core5g", "uid": "1", "resourceVersion": "2", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
			"managedFields": [{}], "annotations": {"kept": "yes"}, "labels": {"core5g.dev/release": "core5g"}}, "spec": {"logLevel": "Info"}, "status": {"n2": {}}},
		{"kind": "Slice", "metadata": {"name": "a-younger", "creationTimestamp": "2026-01-03T00:00:00Z"}},
		{"kind": "Slice", "metadata": {"name": "z-elder", "creationTimestamp": "2026-01-02T00:00:00Z"}},
		{"kind": "UPFInstance", "metadata": {"name": "upf", "creationTimestamp": "2026-01-01T00:00:00Z"}},
		{"kind": "Subscriber", "metadata": {"name": "b", "creationTimestamp": "2026-01-02T00:00:01Z"}},
		{"kind": "Subscriber", "metadata": {"name": "c", "creationTimestamp": "2026-01-02T00:00:00Z"}},
		{"kind": "ConfigMap", "metadata": {"name": "core5g-addresses", "creationTimestamp": "2026-01-04T00:00:00Z", "ownerReferences": [{"name": "core5g"}]}, "data": {"n2": "10.96.0.7"}},
		{"kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}},
		{"kind": "ConfigMap", "metadata": {"name": "core5g-defaults", "labels": {"app.kubernetes.io/managed-by": "Helm"}}},
		{"kind": "Secret", "type": "helm.sh/release.v1", "metadata": {"name": "sh.helm.release.v1.core5g.v1"}},
		{"kind": "Secret", "type": "Opaque", "metadata": {"name": "core5g-operator-webhook", "labels": {"app.kubernetes.io/component": "webhook"}}},
		{"kind": "Secret", "type": "Opaque", "metadata": {"name": "core5g-session-store-keys", "creationTimestamp": "2026-01-05T00:00:00Z", "labels": {"app.kubernetes.io/component": "session-store"}}, "data": {"1": "a2V5"}}
	]}`
	said, err := d.of(list)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Kind  string
		Items []map[string]any
	}
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"kind": "Secret", "type": "Opaque", "metadata": map[string]any{"name": "core5g-session-store-keys", "labels": map[string]any{"app.kubernetes.io/component": "session-store"}}, "data": map[string]any{"1": "a2V5"}},
		{"kind": "ConfigMap", "metadata": map[string]any{"name": "core5g-addresses"}, "data": map[string]any{"n2": "10.96.0.7"}},
		{"kind": "Subscriber", "metadata": map[string]any{"name": "c"}},
		{"kind": "Subscriber", "metadata": map[string]any{"name": "b"}},
		{"kind": "UPFInstance", "metadata": map[string]any{"name": "upf"}},
		{"kind": "Slice", "metadata": map[string]any{"name": "z-elder"}},
		{"kind": "Slice", "metadata": map[string]any{"name": "a-younger"}},
		{"kind": "Core5G", "metadata": map[string]any{"name": "core5g", "namespace": "core5g", "annotations": map[string]any{"kept": "yes"}, "labels": map[string]any{"core5g.dev/release": "core5g"}},
			"spec": map[string]any{"logLevel": "Info"}},
	}
	if diff := cmp.Diff(want, got.Items); diff != "" || got.Kind != "List" {
		t.Errorf("a %s (-want +got):\n%s", got.Kind, diff)
	}
	// A kind that is asked for and not in the order would come first.
	for resource, kind := range map[string]string{"secrets": "Secret", "configmaps": "ConfigMap", "subscribers": "Subscriber", "upfinstances": "UPFInstance", "slices": "Slice", "core5gs": "Core5G"} {
		if !strings.Contains(","+d.resources+",", ","+resource+",") || !strings.Contains(d.program, `"`+kind+`"`) {
			t.Errorf("%s are not asked for (%s), or not in order", resource, d.resources)
		}
	}
	if n := strings.Count(d.resources, ",") + 1; n != 6 {
		t.Errorf("%d kinds are asked for (%s), 6 are in order", n, d.resources)
	}
}
