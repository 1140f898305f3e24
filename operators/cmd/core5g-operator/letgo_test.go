package main

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/apiservertest"
	"core5g.dev/core5g/operators/controllers/cluster"
)

// An operator that is told to stop while its namespace is being deleted takes its finalizers off before it ends, and in
// a namespace that stays it does not.
func TestEnvtestOperatorLetsItsNamespaceEnd(t *testing.T) {
	_, config := apiservertest.Start(t, nil)
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for namespace, ends := range map[string]bool{"ends": true, "stays": false} {
		t.Run(namespace, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", namespace)
			slice := &api.Slice{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "internet", Finalizers: []string{api.Finalizer}},
				Spec: api.SliceSpec{
					SNSSAI:       api.SNSSAI{SST: 1, SD: "010203"},
					DataNetworks: []api.DataNetwork{{DNN: "internet", UEPools: []api.CIDR{"10.45.0.0/16"}}},
				},
			}
			there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
			for _, o := range []client.Object{there, slice} {
				if err := c.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			if ends {
				if err := c.Delete(t.Context(), there); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			wait := letGo(ctx, config, scheme)
			stop()
			wait()
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(slice), slice); err != nil {
				t.Fatal(err)
			}
			if left := len(slice.Finalizers) > 0; left == ends {
				t.Errorf("finalizers %v", slice.Finalizers)
			}
		})
	}
}
