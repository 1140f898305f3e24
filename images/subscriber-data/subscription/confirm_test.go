package subscription

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

// behind is a cluster whose cache has the Core5G alone, and an API server with these Subscribers, which counts what it is asked for and may fail.
func behind(t *testing.T, supis ...string) (d *Directory, asked *int, fail *error) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "core5g", Name: name} }
	core := &v1alpha1.Core5G{ObjectMeta: named("core5g"), Spec: v1alpha1.Core5GSpec{PLMNs: []v1alpha1.PLMN{{MCC: "208", MNC: "93"}}}}
	build := func() *fake.ClientBuilder {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(core).WithIndex(&v1alpha1.Subscriber{}, SUPIIndex, IndexSUPI)
	}
	api := build()
	for n, supi := range supis {
		api.WithObjects(&v1alpha1.Subscriber{ObjectMeta: named(fmt.Sprint("ue-", n)), Spec: v1alpha1.SubscriberSpec{SUPI: supi}})
	}
	asked, fail = new(int), new(error)
	api.WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
		*asked++
		if *fail != nil {
			return *fail
		}
		return c.List(ctx, list, o...)
	}})
	return NewDirectory(NewCluster(build().Build(), api.Build(), "core5g", "core5g")), asked, fail
}

// A Subscriber that has just been made is found by a replica that has not heard of it yet; nobody hears that there is none where that is not certain.
func TestACacheThatIsBehind(t *testing.T) {
	const made, other, foreign = "imsi-208930000000001", "imsi-208930000000002", "imsi-001010000000001"
	for name, c := range map[string]struct {
		supi  string
		fails error
		want  error
		asks  int
	}{
		"one that has just been made":          {supi: made, asks: 1},
		"one that there is not":                {supi: other, want: ErrUnknownSubscriber, asks: 1},
		"one of another network":               {supi: foreign, want: ErrUnknownSubscriber},
		"the API server is away":               {supi: other, fails: errors.New("connection refused"), want: ErrUnsure, asks: 1},
		"the API server has too much to do":    {supi: made, fails: apierrors.NewTooManyRequestsError("later"), want: ErrUnsure, asks: 1},
		"the API server cannot select by SUPI": {supi: other, fails: apierrors.NewBadRequest("field label not supported: spec.supi"), want: ErrUnknownSubscriber, asks: 1},
		"the functions may not ask it":         {supi: other, fails: apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("subscribers").GroupResource(), "", nil), want: ErrUnknownSubscriber, asks: 1},
	} {
		d, asked, fail := behind(t, made)
		*fail = c.fails
		s, err := d.Confirmed(t.Context(), c.supi)
		if !errors.Is(err, c.want) || err == nil && s.SUPI != c.supi || *asked != c.asks {
			t.Errorf("%s: %+v, error %v, want %v; the API server was asked %d times, want %d", name, s, err, c.want, *asked, c.asks)
		}
		*asked = 0
		// Without its Secret nobody is authenticated.
		if _, err := d.Credentials(t.Context(), c.supi); c.want != nil && !errors.Is(err, c.want) || c.want == nil && !errors.Is(err, ErrNotFound) || *asked != c.asks {
			t.Errorf("%s, keys: error %v, want %v; the API server was asked %d times, want %d", name, err, c.want, *asked, c.asks)
		}
		if _, err := d.Subscriber(t.Context(), c.supi); !errors.Is(err, ErrUnknownSubscriber) || *asked != c.asks {
			t.Errorf("%s: as the cache has it: error %v; the API server was asked %d times", name, err, *asked)
		}
	}
}

// However many come that nobody knows, the API server is asked now and then; the others hear that it is not known now, never that there is none.
func TestAFloodDoesNotReachTheAPIServer(t *testing.T) {
	d, asked, _ := behind(t)
	unsure := 0
	for n := range 2000 {
		_, err := d.Credentials(t.Context(), fmt.Sprintf("imsi-20893%010d", n))
		switch {
		case errors.Is(err, ErrUnsure):
			unsure++
		case !errors.Is(err, ErrUnknownSubscriber):
			t.Fatal(err)
		}
	}
	if *asked+unsure != 2000 || *asked < confirmationsAtOnce || unsure == 0 {
		t.Errorf("the API server was asked %d times, and %d were told to come later", *asked, unsure)
	}
}
