package controllers

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestMetricsSayWhatConditionsSay(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	ready := func(s metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: api.ConditionReady, Status: s, Reason: reason}}
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&api.Core5G{ObjectMeta: meta("core5g"), Status: api.Core5GStatus{Conditions: ready(metav1.ConditionTrue, "Ready")}},
		&api.Slice{ObjectMeta: meta("a"), Status: api.SliceStatus{Conditions: ready(metav1.ConditionFalse, "PoolOverlap")}},
		&api.UPFInstance{ObjectMeta: meta("upf"), Status: api.UPFInstanceStatus{
			Conditions:   ready(metav1.ConditionUnknown, "Progressing"),
			Endpoints:    []api.EndpointAllocation{{Slice: "a", Address: "172.30.3.16"}},
			UnitStatuses: []api.UnitStatus{{Name: "upf-0", Rejections: 3, State: api.UnitReady, Node: "w1", Cell: ptr.To[int32](1)}, {Name: "upf-1", State: api.UnitUnplaced}},
			CellBackoffs: []api.CellBackoff{{Node: "w2", Cell: 0, Rejections: 2}},
		}},
		&api.Subscriber{ObjectMeta: meta("s1"), Status: api.SubscriberStatus{Conditions: ready(metav1.ConditionTrue, "Ready")}},
		&api.Subscriber{ObjectMeta: meta("s2"), Status: api.SubscriberStatus{Conditions: ready(metav1.ConditionTrue, "Ready")}},
		&api.Subscriber{ObjectMeta: meta("s3")},
	).Build()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&stateCollector{reader: c})
	want := `
# HELP core5g_condition 1 where the condition of the object is True, 0 where it is False, -1 where it is Unknown. Subscribers are counted in core5g_subscribers.
# TYPE core5g_condition gauge
core5g_condition{kind="Core5G",name="core5g",namespace="ns",reason="Ready",type="Ready"} 1
core5g_condition{kind="Slice",name="a",namespace="ns",reason="PoolOverlap",type="Ready"} 0
core5g_condition{kind="UPFInstance",name="upf",namespace="ns",reason="Progressing",type="Ready"} -1
# HELP core5g_subscribers Number of Subscribers by the status of Ready.
# TYPE core5g_subscribers gauge
core5g_subscribers{namespace="ns",ready="True"} 2
core5g_subscribers{namespace="ns",ready="Unknown"} 1
# HELP core5g_upf_endpoints Number of N3 endpoints that a UPFInstance has given to Slices.
# TYPE core5g_upf_endpoints gauge
core5g_upf_endpoints{namespace="ns",upfinstance="upf"} 1
# HELP core5g_upf_cell_rejections Number of units in a row that a place has refused and for which it is in a back-off.
# TYPE core5g_upf_cell_rejections gauge
core5g_upf_cell_rejections{namespace="ns",node="w2",numa_cell="0",upfinstance="upf"} 2
# HELP core5g_upf_unit 1 for each unit of a UPFInstance, with its place and state; numa_cell is empty where the kubelet chooses.
# TYPE core5g_upf_unit gauge
core5g_upf_unit{namespace="ns",node="w1",numa_cell="1",state="Ready",unit="upf-0",upfinstance="upf"} 1
core5g_upf_unit{namespace="ns",node="",numa_cell="",state="Unplaced",unit="upf-1",upfinstance="upf"} 1
# HELP core5g_upf_unit_rejections Number of pods in a row that were refused or failed.
# TYPE core5g_upf_unit_rejections gauge
core5g_upf_unit_rejections{namespace="ns",unit="upf-0",upfinstance="upf"} 3
core5g_upf_unit_rejections{namespace="ns",unit="upf-1",upfinstance="upf"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
