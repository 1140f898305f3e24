package controllers

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

func TestSecretProblemNamesKeysAndNeverTheirValues(t *testing.T) {
	const good = "8baf473f2f8fd09487cccbd7097c6862"
	for name, c := range map[string]struct {
		data map[string]string
		want string
	}{
		"k and opc":                {map[string]string{"k": good, "opc": good}, ""},
		"k and op":                 {map[string]string{"k": good, "op": good}, ""},
		"a line end is no problem": {map[string]string{"k": good + "\n", "opc": good}, ""},
		"upper case is no problem": {map[string]string{"k": strings.ToUpper(good), "opc": good}, ""},
		"nothing":                  {nil, `no key "k"`},
		"opc and op":               {map[string]string{"k": good, "opc": good, "op": good}, `both keys "opc" and "op"`},
		"an empty op is none":      {map[string]string{"k": good, "opc": good, "op": ""}, ""},
		"no opc":                   {map[string]string{"k": good}, `no key "opc"`},
		"k too short":              {map[string]string{"k": good[2:], "opc": good}, `key "k"`},
		"op no hexadecimal":        {map[string]string{"k": good, "op": "z" + good[1:]}, `key "op"`},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{}}
			for k, v := range c.data {
				secret.Data[k] = []byte(v)
			}
			got := secretProblem(secret)
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) || strings.Contains(got, good[4:12]) {
				t.Errorf("got %q, want …%s…", got, c.want)
			}
		})
	}
}

// What kubectl apply notes on a Secret is all that it holds.
func TestTheCacheHasNoKey(t *testing.T) {
	m := secretMetadata()
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
