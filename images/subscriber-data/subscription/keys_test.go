package subscription

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: name}, Data: data}
}

// A cache of keys holds those of subscribers, and of other Secrets that they are there.
func TestAKeyCacheHoldsNoOtherSecrets(t *testing.T) {
	for sentence, c := range map[string]struct{ in, want map[string][]byte }{
		"a subscriber's":  {map[string][]byte{"k": {1}, "opc": {2}, "note": {3}}, map[string][]byte{"k": {1}, "opc": {2}}},
		"one with OP":     {map[string][]byte{"k": {1}, "op": {2}}, map[string][]byte{"k": {1}, "op": {2}}},
		"a certificate":   {map[string][]byte{"tls.key": {1}}, nil},
		"a home network":  {map[string][]byte{"privateKey": {1}}, nil},
		"one of nothing":  {nil, nil},
		"one with a slip": {map[string][]byte{"K": {1}, "opc": {2}}, nil},
	} {
		s := secret("x", c.in)
		s.Labels, s.ResourceVersion = map[string]string{"a": "b"}, "7"
		got, err := keysAlone(s)
		want := secret("x", c.want)
		want.ResourceVersion = "7"
		if diff := cmp.Diff(client.Object(want), got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", sentence, err, diff)
		}
	}
}

// A watched key is read without the API server; what is not watched is read from it, once for each version.
func TestWatchedKeysAskNobody(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	asked, away := 0, false
	api := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(secret("ue", map[string][]byte{"k": []byte("00")}), secret("home", map[string][]byte{"privateKey": []byte("11")}), secret("new", map[string][]byte{"k": []byte("22")})).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if asked++; away {
					return errors.New("connection refused")
				}
				return c.Get(ctx, key, o, opts...)
			},
		}).Build()
	watched := fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret("ue", map[string][]byte{"k": []byte("00")}), secret("home", nil)).Build()
	known := false
	c := NewCluster(api, api, "core5g", "core5g")
	c.Watch(watched, func() bool { return known })
	read := func(name, key, want string, questions int) {
		t.Helper()
		asked = 0
		data, err := c.Secret(t.Context(), name)
		if err != nil || string(data[key]) != want || asked != questions {
			t.Errorf("%s: %q, %v, after %d questions, want %q after %d", name, data[key], err, asked, want, questions)
		}
	}
	read("ue", "k", "00", 1) // the cache is not filled yet
	known = true
	read("ue", "k", "00", 0)
	read("home", "privateKey", "11", 1)
	read("home", "privateKey", "11", 0)
	read("new", "k", "22", 1) // the cache has not heard of it yet
	away = true
	read("ue", "k", "00", 0)
	read("home", "privateKey", "11", 0)
	away = false

	// A change of the home network's key is seen by its version.
	var home corev1.Secret
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "core5g", Name: "home"}, &home); err != nil {
		t.Fatal(err)
	}
	home.Data["privateKey"] = []byte("33")
	if err := api.Update(t.Context(), &home); err != nil {
		t.Fatal(err)
	}
	var seen corev1.Secret
	if err := watched.Get(t.Context(), client.ObjectKey{Namespace: "core5g", Name: "home"}, &seen); err != nil {
		t.Fatal(err)
	}
	if err := watched.Update(t.Context(), &seen); err != nil {
		t.Fatal(err)
	}
	read("home", "privateKey", "33", 1)
	read("home", "privateKey", "33", 0)
}

func TestChangesAreTold(t *testing.T) {
	of := func(generation int64, labels map[string]string) *v1alpha1.Subscriber {
		return &v1alpha1.Subscriber{ObjectMeta: metav1.ObjectMeta{Generation: generation, Labels: labels}, Spec: v1alpha1.SubscriberSpec{SUPI: "imsi-1"}}
	}
	slice := func(generation int64) *v1alpha1.Slice {
		return &v1alpha1.Slice{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
	}
	var told []string
	c := NewCluster(nil, nil, "core5g", "core5g")
	NewDirectory(c).OnChange(func(supi string) { told = append(told, supi) })
	var subscribers, slices controllertest.FakeInformer
	if err := errors.Join(c.Follow(&subscribers), c.FollowShared(&slices)); err != nil {
		t.Fatal(err)
	}
	for sentence, s := range map[string]struct {
		happens func()
		want    []string
	}{
		"a Subscriber":               {func() { subscribers.Add(of(1, nil)) }, []string{"imsi-1"}},
		"a change of it":             {func() { subscribers.Update(of(1, nil), of(2, nil)) }, []string{"imsi-1"}},
		"a change of its status":     {func() { subscribers.Update(of(1, nil), of(1, map[string]string{"a": "b"})) }, nil},
		"its deletion":               {func() { subscribers.Delete(of(2, nil)) }, []string{"imsi-1"}},
		"a Slice":                    {func() { slices.Add(slice(1)) }, []string{""}},
		"a change of a Slice":        {func() { slices.Update(slice(1), slice(2)) }, []string{""}},
		"a change of its status too": {func() { slices.Update(slice(2), slice(2)) }, nil},
		"the deletion of a Slice":    {func() { slices.Delete(slice(2)) }, []string{""}},
	} {
		told = nil
		if s.happens(); !cmp.Equal(told, s.want) {
			t.Errorf("%s: told %q, want %q", sentence, told, s.want)
		}
	}
}
