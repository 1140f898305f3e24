package subscription

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
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
