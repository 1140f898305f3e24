package metrics

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestSubscribersAreCountedAsTheyChange(t *testing.T) {
	subscriber := func(uid string, ready metav1.ConditionStatus) *api.Subscriber {
		s := &api.Subscriber{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)}}
		if ready != "" {
			s.Status.Conditions = []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue}, {Type: api.ConditionReady, Status: ready}}
		}
		return s
	}
	c := newSubscriberCounts()
	for _, step := range []struct {
		what string
		do   func()
		want map[string]int
	}{
		{"three come", func() {
			c.OnAdd(subscriber("a", metav1.ConditionTrue), true)
			c.OnAdd(subscriber("b", metav1.ConditionFalse), true)
			c.OnAdd(subscriber("c", ""), false)
		}, map[string]int{"True": 1, "False": 1, "Unknown": 1}},
		{"one becomes Ready", func() { c.OnUpdate(subscriber("c", ""), subscriber("c", metav1.ConditionTrue)) }, map[string]int{"True": 2, "False": 1}},
		{"one is told twice", func() { c.OnAdd(subscriber("a", metav1.ConditionTrue), false) }, map[string]int{"True": 2, "False": 1}},
		{"one was made anew unseen", func() { c.OnUpdate(subscriber("b", metav1.ConditionFalse), subscriber("d", "")) }, map[string]int{"True": 2, "Unknown": 1}},
		{"one goes", func() { c.OnDelete(subscriber("a", metav1.ConditionFalse)) }, map[string]int{"True": 1, "Unknown": 1}},
		{"one has gone unseen", func() { c.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: subscriber("c", "")}) }, map[string]int{"Unknown": 1}},
		{"the last goes", func() { c.OnDelete(subscriber("d", "")) }, map[string]int{}},
	} {
		step.do()
		got := map[string]int{}
		for k, n := range c.sums {
			got[k.ready] = n
			if k.namespace != "ns" {
				t.Error(fmt.Errorf("counted in namespace %q", k.namespace))
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	if len(c.of) != 0 {
		t.Errorf("%d are remembered that are gone", len(c.of))
	}
}
