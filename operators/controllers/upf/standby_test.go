package upf

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/fencing"
)

// pairRig is a UPFInstance whose unit has a standby; the test plays kubelet and upf-c.
type pairRig struct{ *unitRig }

func newPairRig(t *testing.T) pairRig {
	t.Helper()
	r := pairRig{newUnitRig(t)}
	r.change(func(upf *api.UPFInstance) { upf.Spec.Redundancy = &api.RedundancySpec{Standbys: 1} })
	return r
}

func (r pairRig) change(do func(*api.UPFInstance)) {
	r.t.Helper()
	upf := r.upf()
	do(upf)
	if err := r.live.Update(r.t.Context(), upf); err != nil {
		r.t.Fatal(err)
	}
}

// member is nil where the pod is not there.
func (r pairRig) member(name string) *corev1.Pod {
	r.t.Helper()
	pod := &corev1.Pod{}
	err := r.live.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return pod
}

// runs has a pod run, ready or not. The first time it gets a UID, as an API server would have given it.
func (r pairRig) runs(name string, ready bool) *corev1.Pod {
	r.t.Helper()
	pod := r.member(name)
	if pod == nil {
		r.t.Fatalf("there is no pod %s", name)
	}
	if pod.UID == "" {
		pod.UID = types.UID(name + "-" + pod.Annotations[specs.AnnotationTemplateHash] + r.clock.Format("150405"))
		if err := r.live.Update(r.t.Context(), pod); err != nil {
			r.t.Fatal(err)
		}
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	if err := r.live.Status().Update(r.t.Context(), pod); err != nil {
		r.t.Fatal(err)
	}
	return pod
}

func (r pairRig) lease() *coordinationv1.Lease {
	r.t.Helper()
	lease := &coordinationv1.Lease{}
	if err := r.live.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: "upf-0"}, lease); err != nil {
		r.t.Fatal(err)
	}
	return lease
}

func (r pairRig) record() fencing.Record {
	r.t.Helper()
	record, err := specs.UnitRecord(r.lease())
	if err != nil {
		r.t.Fatal(err)
	}
	return record
}

// serves writes what upf-c would; standby may be nil.
func (r pairRig) serves(epoch uint64, pod, standby *corev1.Pod) {
	r.t.Helper()
	record := fencing.Record{Epoch: epoch, Holder: fencing.Life(string(pod.UID), "1")}
	if standby != nil {
		record.Standby = fencing.Life(string(standby.UID), "1")
	}
	lease := r.lease()
	specs.SetUnitRecord(lease, record)
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(r.clock))
	if err := r.live.Update(r.t.Context(), lease); err != nil {
		r.t.Fatal(err)
	}
}

func (r pairRig) gone(pods ...string) {
	r.t.Helper()
	for _, name := range pods {
		if pod := r.member(name); pod != nil {
			if err := r.live.Delete(r.t.Context(), pod); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// inSync brings both members up: a serves, b stands by.
func (r pairRig) inSync() (a, b *corev1.Pod) {
	r.t.Helper()
	r.mustPass()
	a, b = r.runs("upf-0", true), r.runs("upf-0-b", false)
	r.serves(1, a, b)
	r.mustPass()
	r.mustPass()
	return a, b
}

func (r pairRig) unit() api.UnitStatus {
	r.t.Helper()
	units := r.upf().Status.UnitStatuses
	if len(units) != 1 {
		r.t.Fatalf("units %+v", units)
	}
	return units[0]
}

func (r pairRig) wantCondition(status metav1.ConditionStatus, words string) {
	r.t.Helper()
	c := meta.FindStatusCondition(r.upf().Status.Conditions, api.ConditionStandbyInSync)
	if c == nil || c.Status != status || !strings.Contains(c.Message, words) {
		r.t.Errorf("StandbyInSync is %+v, want %s with %q", c, status, words)
	}
}

// serving are the pods that the unit's N4 Service leads to.
func (r pairRig) serving() (out []string) {
	r.t.Helper()
	service := &corev1.Service{}
	if err := r.live.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: "upf-0-n4"}, service); err != nil {
		r.t.Fatal(err)
	}
	var pods corev1.PodList
	if err := r.live.List(r.t.Context(), &pods, client.InNamespace("ns"), client.MatchingLabels(service.Spec.Selector)); err != nil {
		r.t.Fatal(err)
	}
	for i := range pods.Items {
		out = append(out, pods.Items[i].Name)
	}
	slices.Sort(out)
	return out
}

func (r pairRig) wantServing(want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.serving()); diff != "" {
		r.t.Errorf("N4 leads to (-want +got):\n%s", diff)
	}
}

// Who serves is read from the Lease: N4 leads there, and the status says it; the other one is the standby.
func TestAUnitIsTakenOver(t *testing.T) {
	r := newPairRig(t)
	r.mustPass()
	r.mustPass()
	r.wantCondition(metav1.ConditionFalse, "upf-0")
	if got := r.record(); got != (fencing.Record{}) {
		t.Errorf("the first record is %+v", got)
	}

	a, b := r.inSync()
	r.wantServing("upf-0")
	r.wantCondition(metav1.ConditionTrue, "upf-0 in upf-0, by upf-0-b")
	if u := r.unit(); u.State != api.UnitReady || u.Pod != "upf-0" || u.Standby == nil || u.Standby.Pod != "upf-0-b" || u.Standby.State != api.UnitStandingBy || u.Epoch != 1 {
		t.Errorf("unit %+v, standby %+v", u, u.Standby)
	}

	// Both processes of a die, and it comes back as it was.
	r.serves(2, b, nil)
	r.runs("upf-0", false)
	r.runs("upf-0-b", true)
	r.mustPass()
	r.mustPass()
	r.wantServing("upf-0-b")
	r.wantCondition(metav1.ConditionFalse, "pod upf-0 has not all sessions of the unit yet; if that lasts: kubectl logs -c upf-c upf-0, and upf-0-b")
	if u := r.unit(); u.Name != "upf-0" || u.State != api.UnitReady || u.Pod != "upf-0-b" || u.Standby.Pod != "upf-0" || u.Standby.State != api.UnitRunning || u.Epoch != 2 {
		t.Errorf("unit %+v, standby %+v", u, u.Standby)
	}

	r.serves(2, b, a)
	r.mustPass()
	r.wantCondition(metav1.ConditionTrue, "upf-0 in upf-0-b, by upf-0")
	if r.upf().Status.ReadyUnits != 1 {
		t.Errorf("%d units are ready", r.upf().Status.ReadyUnits)
	}
}

// A change goes to the standby, which takes over, and then to the other pod: no session ends.
func TestAnUpdateGoesByTheStandby(t *testing.T) {
	r := newPairRig(t)
	a, b := r.inSync()
	r.change(func(upf *api.UPFInstance) { upf.Spec.CPUs = ptr.To[int32](2) })

	r.mustPass()
	if r.member("upf-0").UID != a.UID || r.member("upf-0-b") != nil {
		t.Fatal("the standby is not the first one that is replaced")
	}
	r.serves(1, a, nil)
	r.mustPass()
	r.clock = r.clock.Add(time.Second)
	second := r.runs("upf-0-b", false)
	if second.UID == b.UID {
		t.Fatal("the standby is the same")
	}
	for range 3 {
		r.mustPass()
		if r.member("upf-0") == nil {
			t.Fatal("the unit is replaced before its standby has its sessions")
		}
	}
	r.serves(1, a, second)
	r.mustPass()
	if r.member("upf-0") != nil {
		t.Fatal("the unit is not replaced, though its standby has its sessions")
	}
	r.serves(2, second, nil)
	r.runs("upf-0-b", true)
	r.mustPass()
	r.clock = r.clock.Add(time.Second)
	third := r.runs("upf-0", false)
	r.serves(2, second, third)
	r.mustPass()
	r.mustPass()
	if r.member("upf-0-b").UID != second.UID || r.member("upf-0").UID != third.UID {
		t.Error("a pod is replaced that has the present template")
	}
	if c := meta.FindStatusCondition(r.upf().Status.Conditions, api.ConditionUpdatePending); c == nil || c.Status != metav1.ConditionFalse {
		t.Errorf("UpdatePending is %+v", c)
	}
}

// With Switch nobody has to let a new template through, and no unit is replaced that cannot be handed over.
func TestANewTemplateIsSwitchedTo(t *testing.T) {
	r := newPairRig(t)
	a, b := r.inSync()
	r.mustPass()
	r.reconciler.Platform.Tag = "next"
	for range 3 {
		r.mustPass()
	}
	if r.member("upf-0").UID != a.UID || r.member("upf-0-b").UID != b.UID {
		t.Fatal("a new template is let through without Switch")
	}
	r.change(func(upf *api.UPFInstance) { upf.Spec.UpdateStrategy = &api.UpdateStrategySpec{Type: api.UpdateSwitch} })
	r.mustPass()
	if r.member("upf-0").UID != a.UID || r.member("upf-0-b") != nil {
		t.Fatal("the standby is not the first one that is replaced")
	}
	r.serves(1, a, nil)
	r.mustPass()
	r.clock = r.clock.Add(time.Second)
	second := r.runs("upf-0-b", false)
	second.Status.Phase = corev1.PodPending
	second.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(r.clock),
	}}
	if err := r.live.Status().Update(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	r.mustPass()
	r.clock = r.clock.Add(10 * schedulingPatience)
	if r.mustPass(); r.member("upf-0") == nil {
		t.Fatal("the unit is replaced, though there is no standby to hand it over to")
	}
	second = r.runs("upf-0-b", false)
	r.serves(1, a, second)
	if r.mustPass(); r.member("upf-0") != nil {
		t.Fatal("the unit is not handed over, though its standby has its sessions")
	}
	r.serves(2, second, nil)
	r.runs("upf-0-b", true)
	r.mustPass()
	r.clock = r.clock.Add(time.Second)
	third := r.runs("upf-0", false)
	r.serves(2, second, third)
	r.mustPass()
	if r.member("upf-0-b").UID != second.UID || r.member("upf-0").UID != third.UID {
		t.Error("a pod is replaced that has the present template")
	}
	for _, pod := range []*corev1.Pod{second, third} {
		if got := pod.Spec.Containers[0].Image; !strings.HasSuffix(got, ":next") {
			t.Errorf("%s has image %s", pod.Name, got)
		}
	}
}

// The room that a standby needs may be its own unit's: an update that asks for less must not wait for it for ever.
func TestAnUpdateDoesNotWaitForAStandbyThatNoNodeHasRoomFor(t *testing.T) {
	r := newPairRig(t)
	r.mustPass()
	a := r.runs("upf-0", true)
	r.serves(1, a, nil)
	noRoom := func() {
		b := r.member("upf-0-b")
		b.Status.Phase = corev1.PodPending
		b.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(r.clock),
		}}
		if err := r.live.Status().Update(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	noRoom()
	r.mustPass()
	r.change(func(upf *api.UPFInstance) { upf.Spec.Memory = ptr.To(resource.MustParse("200Mi")) })
	r.mustPass() // the standby first
	r.mustPass()
	noRoom()
	r.mustPass()
	r.clock = r.clock.Add(schedulingPatience - time.Second)
	if r.mustPass(); r.member("upf-0") == nil {
		t.Fatal("the unit is replaced, though there may be room for its standby in a moment")
	}
	r.clock = r.clock.Add(time.Second)
	if r.mustPass(); r.member("upf-0") != nil {
		t.Error("the unit waits for a standby that no node has room for")
	}
}

// Names of pods that are gone for ever would keep their successors standing by.
func TestAUnitWhosePodsAreGoneIsFreed(t *testing.T) {
	for name, c := range map[string]struct {
		gone       []string
		noStandby  bool
		after      time.Duration
		wantHolder bool
	}{
		"both pods are gone":                          {gone: []string{"upf-0", "upf-0-b"}},
		"the unit's pod is gone, and nobody stood by": {gone: []string{"upf-0"}, noStandby: true},
		"the standby is about to take over":           {gone: []string{"upf-0"}, wantHolder: true},
		"the standby does not take over":              {gone: []string{"upf-0"}, after: takeoverPatience},
		"the standby is gone":                         {gone: []string{"upf-0-b"}, wantHolder: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPairRig(t)
			a, b := r.inSync()
			if c.noStandby {
				b = nil
			}
			r.serves(7, a, b)
			r.gone(c.gone...)
			r.clock = r.clock.Add(c.after)
			r.mustPass()
			if got := r.record(); (got.Holder != "") != c.wantHolder || got.Epoch != 7 {
				t.Errorf("the record is %+v", got)
			}
			for _, pod := range c.gone {
				if r.member(pod) == nil {
					t.Errorf("pod %s is not made again", pod)
				}
			}
		})
	}
}

// A pod that heeds no Lease answers for the unit's addresses as long as it runs: nobody is made beside it.
func TestRedundancyComesAndGoesWithoutTwoThatAnswer(t *testing.T) {
	r := newPairRig(t)
	r.change(func(upf *api.UPFInstance) { upf.Spec.Redundancy = nil })
	r.mustPass()
	plain := r.runs("upf-0", true)
	r.change(func(upf *api.UPFInstance) {
		upf.Spec.Redundancy = &api.RedundancySpec{Standbys: 1}
		upf.Spec.UpdateStrategy = &api.UpdateStrategySpec{Type: api.UpdateOnApproval}
	})
	for range 3 {
		r.mustPass()
	}
	if r.member("upf-0-b") != nil || r.member("upf-0").UID != plain.UID {
		t.Fatal("a standby is made beside a pod that heeds no Lease")
	}
	r.wantServing("upf-0")
	r.wantCondition(metav1.ConditionFalse, "is made when pod upf-0 is gone")

	r.change(func(upf *api.UPFInstance) { upf.Spec.UpdateStrategy = nil })
	r.mustPass()
	if r.member("upf-0") != nil {
		t.Fatal("the unit is not replaced")
	}
	a, b := r.inSync()
	r.serves(2, b, a)
	r.runs("upf-0", false)
	r.runs("upf-0-b", true)
	r.mustPass()

	// And back: the one that a plain unit does not have goes first.
	r.change(func(upf *api.UPFInstance) { upf.Spec.Redundancy = nil })
	r.mustPass()
	if r.member("upf-0-b") != nil || r.member("upf-0") == nil || !specs.IsMember(r.member("upf-0")) {
		t.Fatal("a plain pod is made beside a member")
	}
	r.mustPass()
	r.mustPass()
	if pod := r.member("upf-0"); pod == nil || specs.IsMember(pod) {
		t.Error("there is no plain pod in the end")
	}
	if c := meta.FindStatusCondition(r.upf().Status.Conditions, api.ConditionStandbyInSync); c != nil {
		t.Errorf("a unit without a standby has %+v", c)
	}
	if u := r.unit(); u.Standby != nil || u.Pod != "" || u.Epoch != 0 {
		t.Errorf("a unit without a standby says %+v", u)
	}
}

// The standby goes with its unit.
func TestALockedUnitHasNoStandby(t *testing.T) {
	r := newPairRig(t)
	r.inSync()
	r.change(func(upf *api.UPFInstance) { upf.Spec.AdministrativeState = api.StateLocked })
	r.mustPass()
	r.mustPass()
	if r.member("upf-0") != nil || r.member("upf-0-b") != nil {
		t.Error("a pod of a locked UPFInstance is there")
	}
	if c := meta.FindStatusCondition(r.upf().Status.Conditions, api.ConditionStandbyInSync); c != nil {
		t.Errorf("nobody stands by, and nobody has to: %+v", c)
	}
}
