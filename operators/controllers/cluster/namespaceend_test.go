package cluster

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

func TestFinalizersEndWithTheirNamespace(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, ns := range []string{"ends", "stays"} {
		slice, upf := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16"), controllertest.UPF(t, ns)
		slice.Finalizers, upf.Finalizers = []string{api.Finalizer}, []string{"example.org/backup", api.Finalizer}
		objects = append(objects, slice, upf)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithObjects(endingNamespace("ends"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "stays"}}).Build()
	for namespace, want := range map[string]struct {
		count      int
		slice, upf []string
	}{
		"ends":  {2, nil, []string{"example.org/backup"}},
		"stays": {0, []string{api.Finalizer}, []string{"example.org/backup", api.Finalizer}},
	} {
		count, err := LetGo(t.Context(), c, namespace)
		if err != nil || count != want.count {
			t.Errorf("%s: %d, %v", namespace, count, err)
		}
		slice, upf := &api.Slice{}, &api.UPFInstance{}
		for o, name := range map[client.Object]string{slice: "internet", upf: "upf"} {
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(slice.Finalizers, want.slice) || !slices.Equal(upf.Finalizers, want.upf) {
			t.Errorf("%s: the Slice has %v, the UPFInstance %v", namespace, slice.Finalizers, upf.Finalizers)
		}
	}
}

func endingNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, DeletionTimestamp: &metav1.Time{Time: time.Now()}, Finalizers: []string{"kubernetes"}}}
}
