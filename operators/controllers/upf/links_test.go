package upf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/upf/upfc/topology"
)

// readyUnit makes the unit's pod a running one, which can be asked.
func (rig *unitRig) readyUnit() types.UID {
	rig.t.Helper()
	t := rig.t
	rig.mustPass()
	pod := rig.pod()
	if pod == nil {
		t.Fatal("there is no pod")
	}
	uid := pod.UID
	pod.Spec.NodeName = "w1"
	pod.Annotations[workloads.AnnotationNetworkStatus] = `[{"interface":"n3"},{"interface":"n6"}]`
	if err := rig.live.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := rig.live.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return uid
}

// A unit whose N6 loses its link stays, and the UPFInstance says so until the link is back.
func TestALinkThatIsDownIsSaid(t *testing.T) {
	rig := newUnitRig(t)
	uid := rig.readyUnit()
	say := func(n6 topology.Link, err error) {
		rig.reconciler.Topology = func(context.Context, *corev1.Pod) (*topology.Topology, error) {
			return &topology.Topology{Ports: []topology.Port{{Interface: "n3", Device: "n3", Link: topology.LinkUp}, {Interface: "n6", Device: "n6", Link: n6}}}, err
		}
	}
	for _, step := range []struct {
		what   string
		link   topology.Link
		err    error
		status metav1.ConditionStatus
		words  string
		ready  bool
	}{
		{"both are up", topology.LinkUp, nil, metav1.ConditionTrue, "upf-0 have a link", true},
		{"N6 goes down", topology.LinkDown, nil, metav1.ConditionFalse, "no link on N6 of upf-0 (n6 on node", false},
		{"upf-c does not answer", "", errors.New("connection refused"), metav1.ConditionUnknown, "upf-0: connection refused", true},
		{"N6 is up again", topology.LinkUp, nil, metav1.ConditionTrue, "", true},
	} {
		say(step.link, step.err)
		result, err := rig.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "upf"}})
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter <= 0 || result.RequeueAfter > 10*time.Second {
			t.Errorf("%s: looked at again in %s, want within 10 s", step.what, result.RequeueAfter)
		}
		upf := rig.upf()
		c := meta.FindStatusCondition(upf.Status.Conditions, api.ConditionLinksUp)
		if c == nil || c.Status != step.status || !strings.Contains(c.Message, step.words) {
			t.Errorf("%s: LinksUp is %+v, want %s with %q", step.what, c, step.status, step.words)
		}
		ready := meta.FindStatusCondition(upf.Status.Conditions, api.ConditionReady)
		if ready == nil || (ready.Status == metav1.ConditionTrue) != step.ready || (!step.ready && ready.Reason != api.ReasonLinkDown) {
			t.Errorf("%s: Ready is %+v, want %t", step.what, ready, step.ready)
		}
	}
	if now := rig.pod(); now == nil || now.UID != uid || !now.DeletionTimestamp.IsZero() {
		t.Error("the unit was taken down")
	}
}

// One gateway of two that does not answer is said, and the UPFInstance stays Ready: packets go by the other one.
func TestAGatewayThatDoesNotAnswerIsSaid(t *testing.T) {
	rig := newUnitRig(t)
	rig.readyUnit()
	for _, step := range []struct {
		what   string
		states []topology.GatewayState
		status metav1.ConditionStatus
		reason string
		words  string
	}{
		{"nobody has been heard yet", []topology.GatewayState{topology.GatewayUnknown, topology.GatewayUnknown}, metav1.ConditionUnknown, api.ReasonNotReported, "172.30.6.1 on N6 (ims) of upf-0"},
		{"both answer", []topology.GatewayState{topology.GatewayAnswers, topology.GatewayAnswers}, metav1.ConditionTrue, api.ReasonReady, "172.30.6.2 on N6 (ims) of upf-0"},
		{"the second one ceases to", []topology.GatewayState{topology.GatewayAnswers, topology.GatewaySilent}, metav1.ConditionFalse, api.ReasonGatewaySilent, "no answer from gateway 172.30.6.2 on N6 (ims) of upf-0: packets go by the other"},
		{"it answers again", []topology.GatewayState{topology.GatewayAnswers, topology.GatewayAnswers}, metav1.ConditionTrue, api.ReasonReady, ""},
		{"there is one gateway", nil, "", "", ""},
	} {
		port := topology.Port{Interface: "n6", NetworkInstance: "ims", Device: "n6", Link: topology.LinkUp}
		for i, state := range step.states {
			port.Gateways = append(port.Gateways, topology.Gateway{Address: fmt.Sprintf("172.30.6.%d", 1+i), State: state})
		}
		rig.reconciler.Topology = func(context.Context, *corev1.Pod) (*topology.Topology, error) {
			return &topology.Topology{Ports: []topology.Port{{Interface: "n3", Device: "n3", Link: topology.LinkUp}, port}}, nil
		}
		if _, err := rig.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "upf"}}); err != nil {
			t.Fatal(err)
		}
		upf := rig.upf()
		c := meta.FindStatusCondition(upf.Status.Conditions, api.ConditionGatewaysAnswer)
		if step.status == "" {
			if c != nil {
				t.Errorf("%s: GatewaysAnswer is %+v, want none", step.what, c)
			}
		} else if c == nil || c.Status != step.status || c.Reason != step.reason || !strings.Contains(c.Message, step.words) {
			t.Errorf("%s: GatewaysAnswer is %+v, want %s (%s) with %q", step.what, c, step.status, step.reason, step.words)
		}
		if !meta.IsStatusConditionTrue(upf.Status.Conditions, api.ConditionReady) {
			t.Errorf("%s: Ready is %+v, want True", step.what, meta.FindStatusCondition(upf.Status.Conditions, api.ConditionReady))
		}
	}
}
