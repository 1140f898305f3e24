package controllers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

// subscriberCalls counts what is asked about Subscribers by namespace: "GET secrets" for one Secret with what it
// holds, "PATCH subscribers", "POST events".
type subscriberCalls struct {
	mu sync.Mutex
	n  map[string]map[string]int
	// whole are lists and watches of Secrets with what they hold.
	whole []string
}

func (c *subscriberCalls) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		at := slices.Index(parts, "secrets")
		c.mu.Lock()
		if r.Method == http.MethodGet && at == len(parts)-1 && at >= 0 && !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
			c.whole = append(c.whole, r.URL.String())
		}
		if at := slices.Index(parts, "namespaces"); at >= 0 && at+2 < len(parts) {
			if c.n == nil {
				c.n = map[string]map[string]int{}
			}
			if c.n[parts[at+1]] == nil {
				c.n[parts[at+1]] = map[string]int{}
			}
			c.n[parts[at+1]][r.Method+" "+parts[at+2]]++
		}
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// take returns the counts of a namespace and begins anew.
func (c *subscriberCalls) take(namespace string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.n[namespace]
	delete(c.n, namespace)
	return out
}

// makeSubscribers creates Subscribers and their Secrets, from a number on.
func (e *environment) makeSubscribers(t *testing.T, ns string, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		name := fmt.Sprintf("ue-%05d", i)
		e.create(t,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, StringData: map[string]string{"k": controllertest.Key, "opc": controllertest.Key}},
			&api.Subscriber{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: api.SubscriberSpec{
				SUPI: fmt.Sprintf("imsi-20893%010d", i), Authentication: api.Authentication{SecretRef: api.SecretReference{Name: name}},
				Slices: []api.SubscribedSlice{{Name: "internet"}},
			}},
		)
	}
}

// wantSubscribers waits until so many are Ready, and no other.
func (e *environment) wantSubscribers(t *testing.T, ns string, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d Subscribers are Ready", want), func() error {
		var list api.SubscriberList
		if err := e.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			return err
		}
		ready := 0
		for i := range list.Items {
			if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, api.ConditionReady) {
				ready++
			}
		}
		if ready != want {
			return fmt.Errorf("%d of %d are", ready, len(list.Items))
		}
		return nil
	})
}

// testManySubscribers bounds what a Subscriber costs the API server: its Secret is read once and its status
// written once, and nothing is said in Events.
func (e *environment) testManySubscribers(t *testing.T) {
	const n = 60
	ns := e.namespace(t)
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, controllertest.Core(t, ns), slice)
	e.serve(t, ns, slice)
	e.makeSubscribers(t, ns, 0, 1)
	e.wantSubscribers(t, ns, 1)
	e.about.take(ns)
	e.makeSubscribers(t, ns, 1, n)
	e.wantSubscribers(t, ns, n+1)
	calls := e.about.take(ns)
	// Now and then the two watches bring things in an order that costs a second look.
	for _, what := range []string{"GET secrets", "PATCH subscribers"} {
		if got := calls[what]; got < n || got > n+n/4 {
			t.Errorf("%d %s for %d Subscribers", got, what, n)
		}
	}

	// A change of the Slice leads to all of them, and back where it changes nothing for them.
	eventually(t, "a data network more", func() error {
		e.get(t, slice, ns, "internet")
		slice.Spec.DataNetworks = append(slice.Spec.DataNetworks, api.DataNetwork{DNN: "ims", UEPools: []api.CIDR{"10.46.0.0/16"}})
		return e.client.Update(t.Context(), slice)
	})
	subscriber := &api.Subscriber{}
	eventually(t, "a Subscriber of the other data network", func() error {
		e.get(t, subscriber, ns, "ue-00000")
		subscriber.Spec.Slices[0].DNNs = []api.DNN{"ims"}
		return e.client.Update(t.Context(), subscriber)
	})
	e.wantCondition(t, subscriber, api.ConditionReady, metav1.ConditionTrue, "", "")
	calls = e.about.take(ns)
	if calls["GET secrets"] > 0 || calls["PATCH subscribers"] > n/4 {
		t.Errorf("a Slice's change cost %v", calls)
	}

	// A key that is changed is looked at, and only that.
	secret := &corev1.Secret{}
	e.get(t, secret, ns, "ue-00000")
	e.edit(t, secret, func() { secret.Data["op"] = []byte(controllertest.Key) })
	e.wantCondition(t, subscriber, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonMalformed, "has both keys")
	e.wantSubscribers(t, ns, n)
	if calls = e.about.take(ns); calls["GET secrets"] != 1 || calls["PATCH subscribers"] > 2 {
		t.Errorf("a changed key cost %v", calls)
	}

	var events corev1.EventList
	if err := e.client.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		if events.Items[i].InvolvedObject.Kind == "Subscriber" {
			t.Fatalf("an Event of a Subscriber: %s", events.Items[i].Message)
		}
	}
	e.about.mu.Lock()
	defer e.about.mu.Unlock()
	if len(e.about.whole) > 0 {
		t.Errorf("Secrets are read as a whole: %v", e.about.whole)
	}
}
