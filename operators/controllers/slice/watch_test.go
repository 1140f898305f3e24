package slice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// Of many Slices a change wakes those that it concerns.
func TestChangesWakeTheSlicesThatTheyConcern(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	const many = 40
	var objects []client.Object
	for i := range many {
		s := controllertest.Slice(t, "ns", fmt.Sprintf("s%02d", i), fmt.Sprintf("0102%02d", i), fmt.Sprintf("10.%d.0.0/16", 100+i))
		s.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+i), 0))
		s.Spec.UPFSelector = &api.UPFSelector{Name: fmt.Sprintf("upf%d", i%4)}
		s.Status.Conditions = []metav1.Condition{{Type: api.ConditionPoolsValid, Status: metav1.ConditionTrue}, {Type: api.ConditionAdvertised, Status: metav1.ConditionTrue}}
		switch i {
		case 5:
			s.Spec.UPFSelector = &api.UPFSelector{MatchLabels: map[string]string{"site": "north"}}
		case 6:
			s.Status.UPF = &api.SliceUPFStatus{Name: "upf9"}
		case 7:
			s.Status.Conditions[0].Status = metav1.ConditionFalse
		case 8:
			s.Spec.CoreRef.Name = "second"
		}
		objects = append(objects, s)
	}
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
	woken := func(o client.Object, concerns func(client.Object, *api.Slice) bool) (out []string) {
		for _, request := range r.slicesWith(t.Context(), o, func(s *api.Slice) bool { return concerns(o, s) }) {
			out = append(out, request.Name)
		}
		return out
	}
	upf := func(name string, labels map[string]string) *api.UPFInstance {
		u := controllertest.UPF(t, "ns")
		u.Name, u.Labels = name, labels
		return u
	}
	changed := func(name, sd, pool string, created int64) *api.Slice {
		s := controllertest.Slice(t, "ns", name, sd, pool)
		s.CreationTimestamp = metav1.NewTime(time.Unix(created, 0))
		return s
	}
	for name, c := range map[string]struct {
		got, want []string
	}{
		"a UPFInstance that a selector names":        {woken(upf("upf9", nil), onUPF), []string{"s06"}},
		"one that labels choose":                     {woken(upf("x", map[string]string{"site": "north"}), onUPF), []string{"s05"}},
		"one of nobody":                              {woken(upf("x", nil), onUPF), nil},
		"a core":                                     {woken(&api.Core5G{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "second"}}, ofCore), []string{"s08"}},
		"a Slice beside all, and the one that waits": {woken(changed("new", "aaaaaa", "10.9.0.0/16", 1), besideSlice), []string{"s07"}},
		"an older Slice with a pool of another":      {woken(changed("old", "aaaaaa", "10.103.0.0/16", 1), besideSlice), []string{"s03", "s07"}},
		"an older one with an S-NSSAI of another":    {woken(changed("old", "010204", "10.9.0.0/16", 1), besideSlice), []string{"s04", "s07"}},
		"a younger one takes nothing away":           {woken(changed("young", "010204", "10.103.0.0/16", 9999), besideSlice), []string{"s07"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s wakes %v, want %v", name, c.got, c.want)
		}
	}
	if got := len(woken(upf("upf1", nil), onUPF)); got != many/4-1 {
		t.Errorf("%d Slices of upf1 are woken", got)
	}
}

func TestWhatOfAUPFInstanceWakesItsSlices(t *testing.T) {
	base := controllertest.UPF(t, "ns")
	base.Status.UnitStatuses = []api.UnitStatus{{Name: "upf-0", N4Address: "10.96.0.1"}}
	base.Status.Endpoints = []api.EndpointAllocation{{Slice: "a", Address: "172.30.3.16"}}
	base.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}, {Type: api.ConditionLinksUp, Status: metav1.ConditionTrue}}
	for name, change := range map[string]func(*api.UPFInstance){
		"yes: its specification": func(u *api.UPFInstance) { u.Generation++ },
		"yes: its labels":        func(u *api.UPFInstance) { u.Labels = map[string]string{"a": "b"} },
		"yes: its deletion":      func(u *api.UPFInstance) { u.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
		"yes: an endpoint":       func(u *api.UPFInstance) { u.Status.Endpoints[0].Address = "172.30.3.17" },
		"yes: an N4 address":     func(u *api.UPFInstance) { u.Status.UnitStatuses[0].N4Address = "10.96.0.2" },
		"yes: a unit more": func(u *api.UPFInstance) {
			u.Status.UnitStatuses = append(u.Status.UnitStatuses, api.UnitStatus{Name: "upf-1"})
		},
		"yes: a drain":            func(u *api.UPFInstance) { u.Status.UnitStatuses[0].Drain = &api.UnitDrain{} },
		"yes: what is not Ready":  func(u *api.UPFInstance) { u.Status.Conditions[0].Status = metav1.ConditionFalse },
		"no: where a unit is":     func(u *api.UPFInstance) { u.Status.UnitStatuses[0].Node = "w2" },
		"no: a unit's state":      func(u *api.UPFInstance) { u.Status.UnitStatuses[0].State = api.UnitRunning },
		"no: a link":              func(u *api.UPFInstance) { u.Status.Conditions[1].Message = "again" },
		"no: a place that failed": func(u *api.UPFInstance) { u.Status.CellBackoffs = []api.CellBackoff{{Node: "w1"}} },
	} {
		after := base.DeepCopy()
		change(after)
		if got, want := upfMatters().Update(event.UpdateEvent{ObjectOld: base, ObjectNew: after}), strings.HasPrefix(name, "yes"); got != want {
			t.Errorf("%s: passed is %v", name, got)
		}
	}
}

// A Deployment whose new generation is seen serves again without any other change of its status.
func TestSlicesHearWhenTheirSMFServes(t *testing.T) {
	smf := func(generation, seen int64, available int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: generation, Labels: map[string]string{api.LabelSessionManagement: specs.SharedSMF}},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: seen, AvailableReplicas: available},
		}
	}
	for name, c := range map[string]struct {
		was, is *appsv1.Deployment
		want    bool
	}{
		"it is changed":                     {smf(1, 1, 2), smf(2, 1, 2), true},
		"the change is seen":                {smf(2, 1, 2), smf(2, 2, 2), true},
		"its first pod serves":              {smf(2, 2, 0), smf(2, 2, 1), true},
		"its second does, too":              {smf(2, 2, 1), smf(2, 2, 2), false},
		"its last pod ends":                 {smf(2, 2, 1), smf(2, 2, 0), true},
		"pods of a change that is not seen": {smf(2, 1, 0), smf(2, 1, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sharedSMF().Update(event.UpdateEvent{ObjectOld: c.was, ObjectNew: c.is}); got != c.want {
				t.Errorf("Slices hear of it: %v, want %v", got, c.want)
			}
		})
	}
}
