package subscription

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

func TestSecretSurvivesAnAPIServerThatIsAway(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var failure error
	reader := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "ue"}, Data: map[string][]byte{"k": []byte("00")},
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if failure != nil {
					return failure
				}
				return c.Get(ctx, key, o, opts...)
			},
		}).Build()
	secrets := schema.GroupResource{Resource: "secrets"}
	steps := []struct {
		name    string
		failure error
		want    bool
	}{
		{"away before it was ever read", errors.New("connection refused"), false},
		{"there", nil, true},
		{"away", errors.New("connection refused"), true},
		{"overloaded", apierrors.NewTooManyRequestsError("later"), true},
		{"no longer allowed to read it", apierrors.NewForbidden(secrets, "ue", nil), false},
		{"away after that", errors.New("connection refused"), false},
		{"there again", nil, true},
		{"deleted", apierrors.NewNotFound(secrets, "ue"), false},
		{"away after the deletion", errors.New("connection refused"), false},
	}
	c := NewCluster(reader, reader, "core5g", "core5g")
	for _, step := range steps {
		failure = step.failure
		data, err := c.Secret(t.Context(), "ue")
		if got := err == nil && string(data["k"]) == "00"; got != step.want {
			t.Errorf("%s: got the Secret: %v, want %v (error %v)", step.name, got, step.want, err)
		}
		if step.name == "deleted" && !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: error %v, want %v", step.name, err, ErrNotFound)
		}
	}
}

// What was read of a Secret serves while the API server is away, and no longer than its Subscriber is there.
func TestASecretIsForgottenWithItsSubscriber(t *testing.T) {
	of := func(secret string) *v1alpha1.Subscriber {
		return &v1alpha1.Subscriber{Spec: v1alpha1.SubscriberSpec{Authentication: v1alpha1.Authentication{SecretRef: v1alpha1.SecretReference{Name: secret}}}}
	}
	for name, c := range map[string]struct {
		happens func(*controllertest.FakeInformer)
		want    bool
	}{
		"nothing":                    {func(*controllertest.FakeInformer) {}, true},
		"a change of something else": {func(i *controllertest.FakeInformer) { i.Update(of("ue"), of("ue")) }, true},
		"another is deleted":         {func(i *controllertest.FakeInformer) { i.Delete(of("another")) }, true},
		"it is deleted":              {func(i *controllertest.FakeInformer) { i.Delete(of("ue")) }, false},
		"another Secret":             {func(i *controllertest.FakeInformer) { i.Update(of("ue"), of("another")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := corev1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			away := false
			reader := fake.NewClientBuilder().WithScheme(scheme).
				WithObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "ue"}, Data: map[string][]byte{"k": []byte("00")}}).
				WithInterceptorFuncs(interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
						if away {
							return errors.New("connection refused")
						}
						return c.Get(ctx, key, o, opts...)
					},
				}).Build()
			cluster, informer := NewCluster(reader, reader, "core5g", "core5g"), &controllertest.FakeInformer{}
			if err := cluster.Follow(informer); err != nil {
				t.Fatal(err)
			}
			if _, err := cluster.Secret(t.Context(), "ue"); err != nil {
				t.Fatal(err)
			}
			c.happens(informer)
			away = true
			if _, err := cluster.Secret(t.Context(), "ue"); (err == nil) != c.want {
				t.Errorf("got it: %v, want %v", err == nil, c.want)
			}
		})
	}
}

func TestTheCacheKeepsWhatIsServed(t *testing.T) {
	s := &v1alpha1.Subscriber{
		ObjectMeta: metav1.ObjectMeta{
			Name: "ue", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}"},
		},
		Spec:   v1alpha1.SubscriberSpec{SUPI: "imsi-208930000000001"},
		Status: v1alpha1.SubscriberStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{{Type: "Ready"}}},
	}
	if _, err := served(s); err != nil {
		t.Fatal(err)
	}
	want := &v1alpha1.Subscriber{
		ObjectMeta: metav1.ObjectMeta{Name: "ue"},
		Spec:       v1alpha1.SubscriberSpec{SUPI: "imsi-208930000000001"},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	slice := &v1alpha1.Slice{Status: v1alpha1.SliceStatus{SMF: "core5g-smf"}}
	if _, err := served(slice); err != nil || slice.Status.SMF == "" {
		t.Errorf("a Slice has no status any more, %v", err)
	}
}

// An API server whose node is gone refuses nothing: the copy serves before the UE gives up.
func TestSecretSurvivesAnAPIServerThatIsSilent(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	silent := false
	reader := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "ue"}, Data: map[string][]byte{"k": []byte("00")},
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if silent {
					<-ctx.Done()
					return ctx.Err()
				}
				return c.Get(ctx, key, o, opts...)
			},
		}).Build()
	c := NewCluster(reader, reader, "core5g", "core5g")
	if _, err := c.Secret(t.Context(), "ue"); err != nil {
		t.Fatal(err)
	}
	silent = true
	c.patience = time.Millisecond
	if data, err := c.Secret(t.Context(), "ue"); err != nil || string(data["k"]) != "00" {
		t.Errorf("got %q, %v", data["k"], err)
	}
	if _, err := c.Secret(t.Context(), "another"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a Secret that was never read: %v", err)
	}
}
