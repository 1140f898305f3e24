package metrics

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// There may be very many Subscribers, and a scrape comes every few seconds: so they are counted as they change, and a
// scrape reads sums.

// subscriberCounts counts Subscribers by namespace and the status of Ready. It hears of changes from the cache.
type subscriberCounts struct {
	mu   sync.Mutex
	of   map[types.UID]readySubscribers
	sums map[readySubscribers]int
}

type readySubscribers struct{ namespace, ready string }

func newSubscriberCounts() *subscriberCounts {
	return &subscriberCounts{of: map[types.UID]readySubscribers{}, sums: map[readySubscribers]int{}}
}

// follow has the cache tell of changes.
func (c *subscriberCounts) follow(ctx context.Context, from cache.Cache) error {
	informer, err := from.GetInformer(ctx, &api.Subscriber{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(c)
	return err
}

// OnAdd implements cache.ResourceEventHandler.
func (c *subscriberCounts) OnAdd(o any, _ bool) {
	if s, ok := o.(*api.Subscriber); ok {
		c.count(s, true)
	}
}

// OnUpdate implements cache.ResourceEventHandler. A Subscriber that was deleted and made again between two looks is
// told as an update.
func (c *subscriberCounts) OnUpdate(before, after any) {
	c.OnDelete(before)
	c.OnAdd(after, false)
}

// OnDelete implements cache.ResourceEventHandler.
func (c *subscriberCounts) OnDelete(o any) {
	if unknown, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	if s, ok := o.(*api.Subscriber); ok {
		c.count(s, false)
	}
}

// count counts a Subscriber as it is, or no more.
func (c *subscriberCounts) count(s *api.Subscriber, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// What was counted is taken away, whatever is said of it now.
	if was, counted := c.of[s.UID]; counted {
		if c.sums[was]--; c.sums[was] == 0 {
			delete(c.sums, was)
		}
		delete(c.of, s.UID)
	}
	if !there {
		return
	}
	is := readySubscribers{s.Namespace, string(metav1.ConditionUnknown)}
	for i := range s.Status.Conditions {
		if s.Status.Conditions[i].Type == api.ConditionReady {
			is.ready = string(s.Status.Conditions[i].Status)
		}
	}
	c.of[s.UID] = is
	c.sums[is]++
}

func (c *subscriberCounts) collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, n := range c.sums {
		ch <- prometheus.MustNewConstMetric(subscribersDesc, prometheus.GaugeValue, float64(n), k.namespace, k.ready)
	}
}
