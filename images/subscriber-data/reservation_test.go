package subscriberdata

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

// A USIM that was challenged many times within a moment accepts the first challenge after a restart at once.
func TestChallengesGoOnAfterABurstAndARestart(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	u := usimOf(t, testK, testOPc)
	challenge := func(c *testCore) {
		t.Helper()
		ch, r := c.authenticate(supiOne, "")
		if r.status != http.StatusCreated {
			t.Fatalf("status %d: %s", r.status, r.body)
		}
		if _, _, _, err := u.Challenge(ch.rand, ch.autn, testSNN); err != nil {
			t.Fatalf("the USIM says: %v", err)
		}
	}
	for range 200 {
		challenge(c)
	}
	// Another process on the same objects; the clock, which the test moves, has not moved.
	challenge(startCoreOn(t, c.objects))
	challenge(startCoreOn(t, c.objects))

	var lease coordinationv1.Lease
	c.must(c.objects.Get(t.Context(), name("core5g-sequence-numbers"), &lease))
	if owners := lease.OwnerReferences; len(owners) != 1 || owners[0].Kind != "Core5G" || owners[0].Name != "core5g" {
		t.Errorf("owners %+v, want the Core5G", owners)
	}
	if ahead := lease.Spec.RenewTime.Sub(c.time()); ahead < 0 {
		t.Errorf("reserved until %s before now", -ahead)
	}
}

func TestSequencesWithoutTheAPIServer(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	tests := map[string]struct {
		read, write error
		wantLog     string
	}{
		"an account that may not":   {apierrors.NewForbidden(leases, "x", nil), nil, "challenges of one subscriber wait for the clock"},
		"one that does not take it": {nil, errors.New("connection refused"), "sequence numbers cannot be reserved, trying on"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := startCore(t, defaultObjects()...)
			broken := interceptor.NewClient(c.objects.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, ok := o.(*coordinationv1.Lease); ok && test.read != nil {
						return test.read
					}
					return inner.Get(ctx, key, o, opts...)
				},
				Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
					return test.write
				},
			})
			log := new(lockedBuffer)
			cluster := subscription.NewCluster(c.objects, c.objects, namespace, "core5g")
			s, err := openSequences(t.Context(), &reservation{api: broken, core: cluster.Core5G, namespace: namespace, name: "core5g-sequence-numbers"},
				false, c.time, slog.New(slog.NewTextHandler(log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), test.wantLog) {
				t.Errorf("nothing of %q in the log:\n%s", test.wantLog, log)
			}
			// What startCore has reserved is not behind the clock yet.
			c.advance(3600e9)
			if _, _, err := s.Next(t.Context(), aka.Sequence{}); err != nil {
				t.Errorf("a challenge that the clock allows: %v", err)
			}
		})
	}
}
