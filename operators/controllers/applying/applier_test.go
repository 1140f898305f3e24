package applying

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// ownCache shows a client what the operator's cache has: of Services, the operator's own.
func ownCache(c client.WithWatch) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := c.Get(ctx, key, o, opts...); err != nil {
				return err
			}
			if o.GetLabels()[api.LabelManagedBy] != specs.Labels("", "")[api.LabelManagedBy] {
				return apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, key.Name)
			}
			return nil
		},
	})
}

func TestObjectsOfOthersAreLeftAsTheyAre(t *testing.T) {
	core := &api.Core5G{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core5g", UID: "now"}}
	owner := func(kind, name, uid string) []metav1.OwnerReference {
		o := metav1.OwnerReference{APIVersion: api.GroupVersion.String(), Kind: kind, Name: name, Controller: ptr.To(true)}
		o.UID = core.UID
		if uid != "now" {
			o.UID = "another"
		}
		return []metav1.OwnerReference{o}
	}
	labels := specs.Labels("core5g", "nrf")
	for name, c := range map[string]struct {
		there *metav1.ObjectMeta
		// want is part of what is said; "" where the object is applied.
		want string
	}{
		"the name is free":                         {},
		"the core's own":                           {there: &metav1.ObjectMeta{Labels: labels, OwnerReferences: owner("Core5G", "core5g", "now")}},
		"left behind by an orphaning deletion":     {there: &metav1.ObjectMeta{Labels: labels}},
		"a user's":                                 {there: &metav1.ObjectMeta{}, want: "Service core5g-nrf exists and was not made by the operator"},
		"a user's with labels of his own":          {there: &metav1.ObjectMeta{Labels: map[string]string{api.LabelManagedBy: "Helm"}}, want: "was not made by the operator"},
		"another controller's":                     {there: &metav1.ObjectMeta{OwnerReferences: owner("Other", "thing", "")}, want: "belongs to Other thing"},
		"another controller's with our labels":     {there: &metav1.ObjectMeta{Labels: labels, OwnerReferences: owner("Other", "thing", "")}, want: "belongs to Other thing"},
		"that of an earlier core of the same name": {there: &metav1.ObjectMeta{Labels: labels, OwnerReferences: owner("Core5G", "core5g", "")}, want: "belongs to an earlier Core5G core5g"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme, err := cluster.Scheme()
			if err != nil {
				t.Fatal(err)
			}
			builder := fake.NewClientBuilder().WithScheme(scheme)
			if c.there != nil {
				there := &corev1.Service{ObjectMeta: *c.there, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "theirs"}}}
				there.Namespace, there.Name = "ns", "core5g-nrf"
				builder = builder.WithObjects(there)
			}
			live := builder.Build()
			a := New(ownCache(live), live)
			wanted := &corev1.Service{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core5g-nrf", Labels: labels,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(core, api.GroupVersion.WithKind("Core5G"))}},
				Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "ours"}},
			}
			err = a.Apply(t.Context(), wanted)
			after := &corev1.Service{}
			if err := live.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "core5g-nrf"}, after); err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if err != nil || after.Spec.Selector["app"] != "ours" || !cluster.Owns(core, after) {
					t.Errorf("error %v, and there is %+v", err, after)
				}
				return
			}
			var taken *cluster.TakenError
			if !errors.As(err, &taken) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			if after.Spec.Selector["app"] != "theirs" || cluster.Owns(core, after) {
				t.Errorf("it was touched: %+v", after)
			}
			if err := a.Remove(t.Context(), core, wanted.DeepCopy()); err != nil {
				t.Error(err)
			}
			if err := live.Get(t.Context(), client.ObjectKeyFromObject(after), after); err != nil {
				t.Errorf("it was deleted: %v", err)
			}
		})
	}
}
