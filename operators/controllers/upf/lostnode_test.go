package upf

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/fencing"
)

// on has a pod be on a node, which is made where it is not there.
func (r pairRig) on(pod *corev1.Pod, node string) {
	r.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	if err := r.live.Create(r.t.Context(), n); client.IgnoreAlreadyExists(err) != nil {
		r.t.Fatal(err)
	}
	pod = r.member(pod.Name)
	pod.Spec.NodeName = node
	if err := r.live.Update(r.t.Context(), pod); err != nil {
		r.t.Fatal(err)
	}
}

// node is as ready as it says, from now on.
func (r pairRig) node(name string, ready corev1.ConditionStatus, taints ...corev1.Taint) {
	r.t.Helper()
	n := &corev1.Node{}
	if err := r.live.Get(r.t.Context(), client.ObjectKey{Name: name}, n); err != nil {
		r.t.Fatal(err)
	}
	n.Spec.Taints = taints
	if err := r.live.Update(r.t.Context(), n); err != nil {
		r.t.Fatal(err)
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(r.clock)}}
	if err := r.live.Status().Update(r.t.Context(), n); err != nil {
		r.t.Fatal(err)
	}
}

func (r pairRig) later(d time.Duration) { r.unitRig.clock = r.unitRig.clock.Add(d) }

func (r pairRig) lostNodeAfter(d time.Duration) {
	r.t.Helper()
	r.change(func(upf *api.UPFInstance) {
		upf.Spec.Placement = &api.PlacementSpec{LostNodeAfter: &metav1.Duration{Duration: d}}
	})
}

func (r pairRig) wantLoss(words string) {
	r.t.Helper()
	c := meta.FindStatusCondition(r.upf().Status.Conditions, api.ConditionNodesReachable)
	switch {
	case words == "" && c != nil:
		r.t.Errorf("NodesReachable says %q", c.Message)
	case words != "" && (c == nil || c.Status != metav1.ConditionFalse || c.Reason != api.ReasonNodeLost || !strings.Contains(c.Message, words)):
		r.t.Errorf("NodesReachable is %+v, want one that says %q", c, words)
	}
}

// The standby has taken over from a pod whose node is lost: when the node has been waited for, the unit has another standby, and who serves is left alone.
func TestAStandbyIsMadeElsewhere(t *testing.T) {
	r := newPairRig(t)
	r.lostNodeAfter(2 * time.Minute)
	a, b := r.inSync()
	r.on(a, "w1")
	r.on(b, "w2")
	r.node("w2", corev1.ConditionTrue)
	r.node("w1", corev1.ConditionUnknown)
	r.serves(2, b, nil)
	r.mustPass()
	r.wantServing("upf-0-b")
	r.wantLoss("pod upf-0 is on node w1, not ready since 1970-01-12T13:46:40Z: the node is waited for until 1970-01-12T13:48:40Z")
	r.later(2*time.Minute - time.Second)
	r.mustPass()
	if pod := r.member("upf-0"); pod == nil || pod.UID != a.UID {
		t.Fatal("the node was not waited for")
	}
	r.later(time.Second)
	r.mustPass()
	if r.member("upf-0") != nil {
		t.Fatal("the pod of the lost node is still there")
	}
	r.wantLoss("this one may not take it over: it is made elsewhere")
	r.mustPass()
	fresh := r.runs("upf-0", false)
	if fresh.UID == a.UID || fresh.Spec.NodeName != "" {
		t.Errorf("the next standby is %s on %q", fresh.UID, fresh.Spec.NodeName)
	}
	r.mustPass()
	r.wantLoss("")
	if now := r.member("upf-0-b"); now == nil || now.UID != b.UID {
		t.Error("who serves was not left alone")
	}
	r.wantServing("upf-0-b")
	if got := r.record(); got.Epoch != 2 || got.Holder != fencing.Life(string(b.UID), "1") {
		t.Errorf("the record was changed: %+v", got)
	}
}

// Who may serve is waited for, however long that lasts, until somebody says that the machine is off.
func TestAPodThatMayServeIsNeverMadeTwice(t *testing.T) {
	for name, c := range map[string]struct {
		// record of a unit whose pods are a, on the node that is lost, and b.
		record func(a, b string) fencing.Record
		want   string
	}{
		"it has the unit, and a standby that has not taken over": {
			func(a, b string) fencing.Record { return fencing.Record{Epoch: 1, Holder: a, Standby: b} }, "its standby has not taken over; when the machine is off for sure: kubectl taint nodes w1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"},
		"it has the unit, and no standby, and needs no grant": {
			func(a, _ string) fencing.Record { return fencing.Record{Epoch: 1, Holder: a} }, "and no standby: nobody knows whether it forwards on"},
		"it may take the unit over": {
			func(a, b string) fencing.Record { return fencing.Record{Epoch: 2, Holder: b, Standby: a} }, "the pod may take the unit over by Lease upf-0"},
		"nobody has the unit": {
			func(string, string) fencing.Record { return fencing.Record{Epoch: 2} }, "whoever comes first may take it"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPairRig(t)
			r.lostNodeAfter(time.Minute)
			a, b := r.inSync()
			r.on(a, "w1")
			r.on(b, "w2")
			r.node("w2", corev1.ConditionTrue)
			r.node("w1", corev1.ConditionFalse)
			setRecord(t, r, c.record(fencing.Life(string(a.UID), "1"), fencing.Life(string(b.UID), "1")))
			r.later(5 * time.Hour)
			r.mustPass()
			r.mustPass()
			if pod := r.member("upf-0"); pod == nil || pod.UID != a.UID || !pod.DeletionTimestamp.IsZero() {
				t.Fatal("a pod that may serve was given up")
			}
			r.wantLoss(c.want)
			r.node("w1", corev1.ConditionFalse, controllertest.OutOfService)
			r.mustPass()
			if pod := r.member("upf-0"); pod != nil && pod.UID == a.UID {
				t.Error("the machine is off, and the pod is still there")
			}
			r.wantLoss("its taint says that it is out of service")
		})
	}
}

func setRecord(t *testing.T, r pairRig, record fencing.Record) {
	t.Helper()
	lease := r.lease()
	specs.SetUnitRecord(lease, record)
	if err := r.live.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
}

// Both nodes of a unit are switched off: its Lease is freed when both pods are given up, and not before, and the next ones begin in another epoch.
func TestBothNodesAreOutOfService(t *testing.T) {
	r := newPairRig(t)
	a, b := r.inSync()
	for name, pod := range map[string]*corev1.Pod{"w1": a, "w2": b} {
		r.on(pod, name)
		r.node(name, corev1.ConditionUnknown)
	}
	r.mustPass()
	r.wantLoss("stays until the node is back (placement.lostNodeAfter is not written)")
	r.node("w1", corev1.ConditionUnknown, controllertest.OutOfService)
	r.mustPass()
	if got := r.record(); got.Holder != fencing.Life(string(a.UID), "1") {
		t.Errorf("the unit was freed while its standby is there: %+v", got)
	}
	r.node("w2", corev1.ConditionUnknown, controllertest.OutOfService)
	for range 4 {
		if err := r.pass(); err != nil && !errors.Is(err, errStale) {
			t.Fatal(err)
		}
	}
	if got := r.record(); got.Holder != "" || got.Epoch != 1 {
		t.Errorf("the record is %+v, want a free unit of epoch 1", got)
	}
	for _, name := range []string{"upf-0", "upf-0-b"} {
		if pod := r.member(name); pod == nil || pod.UID == a.UID || pod.UID == b.UID || pod.Spec.NodeName != "" {
			t.Errorf("pod %s is %v", name, pod)
		}
	}
	r.wantLoss("")
}
