package controllers

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

// testVersionOfFields writes objects by the version that is served beside the stored one: their fields become ones of the stored version, and stay whose they are.
func (e *environment) testVersionOfFields(t *testing.T) {
	ns := e.namespace(t)
	subscriber := controllertest.Parse[api.Subscriber](t, ns, `
metadata: {name: phone}
spec:
  supi: imsi-208930000000001
  barred: true
  authentication: {secretRef: {name: keys}}
  slices: [{name: internet}]
`)
	for _, o := range []client.Object{controllertest.Core(t, ns), controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16"), controllertest.UPF(t, ns), subscriber} {
		gvk, err := e.client.GroupVersionKindFor(o)
		if err != nil {
			t.Fatal(err)
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(content, "status")
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		applied := &unstructured.Unstructured{Object: content}
		apply := func(version, as string, change func(*unstructured.Unstructured)) {
			t.Helper()
			u := applied.DeepCopy()
			u.SetGroupVersionKind(schema.GroupVersionKind{Group: gvk.Group, Version: version, Kind: gvk.Kind})
			change(u)
			if err := e.client.Patch(t.Context(), u, client.Apply, client.FieldOwner(as)); err != nil {
				t.Fatalf("%s by %s: %v", gvk.Kind, version, err)
			}
		}
		apply("v1beta1", "user", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"a": "b"}) })
		// As kubectl annotates.
		other := &unstructured.Unstructured{}
		other.SetGroupVersionKind(schema.GroupVersionKind{Group: gvk.Group, Version: "v1beta1", Kind: gvk.Kind})
		other.SetNamespace(ns)
		other.SetName(o.GetName())
		if err := e.client.Patch(t.Context(), other, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"looked-at":"now"}}}`)), client.FieldOwner("kubectl")); err != nil {
			t.Fatal(err)
		}
		eventually(t, "fields of "+gvk.Kind+" are of the stored version", func() error {
			e.get(t, o, ns, o.GetName())
			if cluster.OfAnotherVersion(o.GetManagedFields()) {
				return fmt.Errorf("they are %v", o.GetManagedFields())
			}
			return nil
		})
		for _, whose := range []string{"user", "kubectl"} {
			if !slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == whose && f.FieldsV1 != nil }) {
				t.Errorf("%s: %s has no fields any more: %v", gvk.Kind, whose, o.GetManagedFields())
			}
		}
		// Who leaves a field out takes it away, and nobody else's.
		apply(api.GroupVersion.Version, "user", func(*unstructured.Unstructured) {})
		e.get(t, o, ns, o.GetName())
		if o.GetLabels()["a"] != "" || o.GetAnnotations()["looked-at"] != "now" {
			t.Errorf("%s: labels %v, want none of its user's; annotations %v, want the other one's", gvk.Kind, o.GetLabels(), o.GetAnnotations())
		}
	}
}
