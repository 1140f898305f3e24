package cluster

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// What kubectl apply notes on a Secret is all that it holds.
func TestTheCacheHasNoKey(t *testing.T) {
	m := SecretMetadata()
	m.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: `{"stringData":{"k":"8baf473f2f8fd09487cccbd7097c6862"}}`}
	for name, labels := range map[string]map[string]string{
		"of a Subscriber": {"a": "b"}, "of the operator": {api.LabelManagedBy: specs.FieldOwner},
	} {
		m.Labels = labels
		kept, err := cut(m.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		if said := fmt.Sprintf("%+v", kept); strings.Contains(said, "8baf473f") {
			t.Errorf("the metadata of a Secret %s hold its key: %s", name, said)
		}
	}
	other := m.DeepCopy()
	other.Kind = "ConfigMap"
	if _, err := cut(other); err != nil || len(other.Annotations) == 0 {
		t.Errorf("an object of another kind has lost its annotations, %v", err)
	}
}
