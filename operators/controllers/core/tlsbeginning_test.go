package core

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// TestWhatIsWrittenDownOfTLS: a core has a note of what it begins with, whoever has said it; one of before that says nothing is left as it is.
func TestWhatIsWrittenDownOfTLS(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change      func(*api.Core5G)
		certManager bool
		want        string
	}{
		"a new core":                    {func(*api.Core5G) {}, false, `{"mode":"Mutual","authority":"Operator"}`},
		"a new core, and cert-manager":  {func(*api.Core5G) {}, true, `{"mode":"Mutual","authority":"CertManager"}`},
		"a new core that says the mode": {func(c *api.Core5G) { c.Spec.TLS.Mode = api.TLSServer }, true, `{"mode":"Server","authority":"CertManager"}`},
		"a new core that says all": {func(c *api.Core5G) {
			c.Spec.TLS = api.TLSSpec{Mode: api.TLSMutual, Authority: api.TLSAuthorityOperator}
		}, true, `{"mode":"Mutual","authority":"Operator"}`},
		"an operator of before has looked at it": {func(c *api.Core5G) { c.Status.ObservedGeneration = 1 }, true, ""},
		"it has conditions":                      {func(c *api.Core5G) { c.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady}} }, true, ""},
		"one of before that says it": {func(c *api.Core5G) {
			c.Spec.TLS.Mode, c.Status.ObservedGeneration = api.TLSMutual, 7
		}, true, `{"mode":"Mutual","authority":"Operator"}`},
		"it is written down": {func(c *api.Core5G) { c.Annotations = map[string]string{specs.AnnotationTLSBegan: "{}"} }, true, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			core := controllertest.Core(t, "core5g")
			core.Spec.TLS = api.TLSSpec{}
			c.change(core)
			mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{api.GroupVersion})
			mapper.Add(api.GroupVersion.WithKind("Core5G"), meta.RESTScopeNamespace)
			if c.certManager {
				mapper.Add(specs.IssuerKind, meta.RESTScopeNamespace)
			}
			client := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(core).Build()
			if err := client.Get(t.Context(), types.NamespacedName{Namespace: core.Namespace, Name: core.Name}, core); err != nil {
				t.Fatal(err)
			}
			if err := (&Reconciler{Client: client}).beginTLS(t.Context(), core); err != nil {
				t.Fatal(err)
			}
			if got := core.Annotations[specs.AnnotationTLSBegan]; got != c.want {
				t.Errorf("written down is %q, want %q", got, c.want)
			}
		})
	}
}
