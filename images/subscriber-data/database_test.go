package subscriberdata

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// table is a database of subscribers in memory; away is what it says when it is not there.
type table struct {
	mu   sync.Mutex
	rows map[string]v1alpha1.SubscriberSpec
	away error
	tell []func(string)
}

func (d *table) OnChange(tell func(string)) { d.tell = append(d.tell, tell) }

func (d *table) Subscriber(_ context.Context, supi string) (*v1alpha1.Subscriber, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	spec, there := d.rows[supi]
	switch {
	case d.away != nil:
		return nil, d.away
	case !there:
		return nil, subscription.ErrUnknownSubscriber
	}
	return &v1alpha1.Subscriber{Spec: spec}, nil
}

func (d *table) Keys(_ context.Context, supi string) (map[string][]byte, error) {
	if _, err := d.Subscriber(context.Background(), supi); err != nil {
		return nil, err
	}
	return map[string][]byte{"k": []byte(testK), "opc": []byte(testOPc)}, nil
}

func (d *table) set(supi string, change func(*v1alpha1.SubscriberSpec)) {
	d.mu.Lock()
	s := d.rows[supi]
	change(&s)
	d.rows[supi] = s
	d.mu.Unlock()
	for _, tell := range d.tell {
		tell(supi)
	}
}

func startWithDatabase(t *testing.T, d *table) *testCore {
	c := startCore(t, defaultObjects()...)
	return startReplica(t, c.objects, func(p *Parts) {
		cluster := subscription.NewCluster(c.objects, c.objects, namespace, "core5g")
		p.Directory = subscription.NewDirectory(subscription.WithDatabase(cluster, d))
	})
}

func TestASubscriberOfTheDatabaseIsServedAsAnObjectIs(t *testing.T) {
	const supi = "imsi-208930000000099"
	d := &table{rows: map[string]v1alpha1.SubscriberSpec{}}
	c := startWithDatabase(t, d)
	if _, r := c.authenticate(supi, ""); r.status != http.StatusNotFound || r.cause(t) != "USER_NOT_FOUND" {
		t.Errorf("before: status %d: %s", r.status, r.body)
	}
	d.set(supi, func(s *v1alpha1.SubscriberSpec) {
		*s = v1alpha1.SubscriberSpec{SUPI: supi, GPSI: "msisdn-12345", Slices: []v1alpha1.SubscribedSlice{{Name: "internet"}}}
	})
	ch, r := c.authenticate(supi, "")
	if r.status != http.StatusCreated {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	if _, _, _, err := usimOf(t, testK, testOPc).Challenge(ch.rand, ch.autn, testSNN); err != nil {
		t.Errorf("the USIM says: %v", err)
	}
	if r := c.do("GET", "/nudm-sdm/v2/"+supi+"/am-data", ""); r.status != http.StatusOK || !strings.Contains(string(r.body), "msisdn-12345") {
		t.Errorf("am-data: status %d: %s", r.status, r.body)
	}
	d.set(supi, func(s *v1alpha1.SubscriberSpec) { s.Barred = true })
	if _, r := c.authenticate(supi, ""); r.status != http.StatusForbidden || r.cause(t) != "AUTHENTICATION_REJECTED" {
		t.Errorf("barred: status %d: %s", r.status, r.body)
	}
}

func TestTheObjectCountsWhereBothNameASUPI(t *testing.T) {
	d := &table{rows: map[string]v1alpha1.SubscriberSpec{supiOne: {SUPI: supiOne, Barred: true, Slices: []v1alpha1.SubscribedSlice{{Name: "internet"}}}}}
	c := startWithDatabase(t, d)
	if _, r := c.authenticate(supiOne, ""); r.status != http.StatusCreated {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	var s v1alpha1.Subscriber
	c.must(c.objects.Get(t.Context(), name("ue-208930000000001"), &s))
	c.must(c.objects.Delete(t.Context(), &s))
	if _, r := c.authenticate(supiOne, ""); r.status != http.StatusForbidden {
		t.Errorf("without the object: status %d: %s", r.status, r.body)
	}
}

func TestWhileTheDatabaseIsAwayObjectsAreServedAndTheRestIsRefused(t *testing.T) {
	d := &table{away: errors.Join(postgresql.ErrAway, errors.New("connection refused"))}
	c := startWithDatabase(t, d)
	if _, r := c.authenticate(supiOne, ""); r.status != http.StatusCreated {
		t.Errorf("an object: status %d: %s", r.status, r.body)
	}
	const other = "imsi-208930000000099"
	if _, r := c.authenticate(other, ""); r.status != http.StatusServiceUnavailable || r.cause(t) != "NF_FAILOVER" {
		t.Errorf("another: status %d: %s", r.status, r.body)
	}
	if r := c.do("GET", "/nudm-sdm/v2/"+other+"/am-data", ""); r.status != http.StatusServiceUnavailable || r.cause(t) != "NF_FAILOVER" {
		t.Errorf("its data: status %d: %s", r.status, r.body)
	}
}

func TestAChangeOfTheDatabaseIsTold(t *testing.T) {
	d := &table{rows: map[string]v1alpha1.SubscriberSpec{}}
	told := make(chan string, 8)
	cluster := subscription.NewCluster(nil, nil, namespace, "core5g")
	subscription.NewDirectory(subscription.WithDatabase(cluster, d)).OnChange(func(supi string) { told <- supi })
	d.set(supiOne, func(*v1alpha1.SubscriberSpec) {})
	if got := <-told; got != supiOne {
		t.Errorf("told of %q", got)
	}
}
