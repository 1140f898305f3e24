package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

func (e *environment) testWithoutMultus(t *testing.T) {
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	e.create(t, upf)
	e.wantCondition(t, upf, api.ConditionN3Attached, metav1.ConditionFalse, api.ReasonNoMultus, "install Multus")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionFalse, api.ReasonNoMultus, "install Multus")
	pod := &corev1.Pod{}
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod); !apierrors.IsNotFound(err) {
		t.Errorf("a pod was made without its interfaces: %v", err)
	}
	e.installAttachmentKind(t)
	eventually(t, "the pod is made once the kind exists", func() error {
		// A change of annotations stands for the periodic look, which is half a minute away.
		e.nudge(t, upf)
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod)
	})
	nad := &unstructured.Unstructured{}
	nad.SetGroupVersionKind(specs.AttachmentKind)
	e.get(t, nad, ns, "upf-n3")
	if config, _, _ := unstructured.NestedString(nad.Object, "spec", "config"); !strings.Contains(config, `"bridge":"c5g-n3"`) {
		t.Errorf("n3 is attached by %s", config)
	}
}

// runningUPF makes a UPFInstance with a unit that is Ready.
func (e *environment) runningUPF(t *testing.T, ns string) (*api.UPFInstance, *corev1.Pod) {
	t.Helper()
	upf := controllertest.UPF(t, ns)
	e.create(t, upf)
	pod := &corev1.Pod{}
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod)
	})
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "1 units forward packets")
	e.get(t, pod, ns, "upf-0")
	return upf, pod
}

func (e *environment) wantReplaced(t *testing.T, ns string, old *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	eventually(t, "the pod is replaced", func() error {
		e.stopPods(t, ns)
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(old), pod); err != nil {
			return err
		}
		if pod.UID == old.UID {
			return errors.New("it is the same")
		}
		return nil
	})
	return pod
}

func (e *environment) testUnitUpdates(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	e.create(t, core)
	upf, pod := e.runningUPF(t, ns)
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionFalse, api.ReasonUpToDate, "")

	// Something that only the operator turns into a change of the pod.
	eventually(t, "another image", func() error {
		e.get(t, core, ns, "core5g")
		core.Spec.Images.Tag = "v2"
		return e.client.Update(t.Context(), core)
	})
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionTrue, "", "kubectl annotate")
	same := &corev1.Pod{}
	e.get(t, same, ns, "upf-0")
	if same.UID != pod.UID || !same.DeletionTimestamp.IsZero() {
		t.Fatal("the unit was restarted without being asked for")
	}
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")

	// The user lets it through, as the condition says.
	var message string
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionUpdatePending {
			message = c.Message
		}
	}
	_, hash, _ := strings.Cut(message, api.AnnotationApplyUpdate+"=")
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, api.AnnotationApplyUpdate, hash)
	if err := e.client.Patch(t.Context(), upf, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	updated := e.wantReplaced(t, ns, pod)
	if got := updated.Spec.Containers[0].Image; got != "core5g/upf-u:v2" {
		t.Errorf("the new unit runs %s", got)
	}
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionFalse, api.ReasonUpToDate, "")

	// The user changes the UPFInstance.
	eventually(t, "another block", func() error {
		e.get(t, upf, ns, "upf")
		upf.Spec.N3.Endpoints = "172.30.3.32/28"
		return e.client.Update(t.Context(), upf)
	})
	changed := e.wantReplaced(t, ns, updated)
	config := &corev1.ConfigMap{}
	e.get(t, config, ns, changed.Spec.Volumes[0].ConfigMap.Name)
	if !strings.Contains(config.Data["upf-u.yaml"], "172.30.3.32/28") {
		t.Error("the new unit does not read the new block")
	}

	// More units than there are addresses for say so, and the one that runs is left alone.
	eventually(t, "scale", func() error {
		e.get(t, upf, ns, "upf")
		two := int32(2)
		upf.Spec.Units = &two
		return e.client.Update(t.Context(), upf)
	})
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, api.ReasonAddressesMissing, "spec.n6.unitAddresses")
	e.wantCondition(t, upf, api.ConditionEndpointsAllocated, metav1.ConditionFalse, api.ReasonAddressesMissing, "spec.n6.unitAddresses")
	e.get(t, same, ns, "upf-0")
	if same.UID != changed.UID || !same.DeletionTimestamp.IsZero() {
		t.Fatal("the unit was restarted for a number that cannot be")
	}

	// A pod that somebody deletes comes back.
	if err := e.client.Delete(t.Context(), changed, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	e.wantReplaced(t, ns, changed)
}

func (e *environment) testUnitRejected(t *testing.T) {
	// However slow the machine is, the back-off is over when the test says so.
	e.clock.hold(t)
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	e.create(t, upf)
	pod := &corev1.Pod{}
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod)
	})
	e.editStatus(t, pod, func() {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.Reason = "TopologyAffinityError"
		pod.Status.Message = "Resources cannot be allocated with Topology locality"
	})
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, "Rejected", "TopologyAffinityError")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionFalse, "", "TopologyAffinityError")
	if got := upf.Status.UnitStatuses[0]; got.Rejections != 1 || got.RetryAfter == nil {
		t.Errorf("unit: %+v", got)
	}
	// First the status, then the end of the pod.
	gone := func() error {
		now := &corev1.Pod{}
		err := e.client.Get(t.Context(), client.ObjectKeyFromObject(pod), now)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil && now.UID != pod.UID {
			t.Fatal("the next pod was made at once")
		}
		return fmt.Errorf("still there: %v", err)
	}
	eventually(t, "the refused pod goes", gone)
	var events corev1.EventList
	eventually(t, "the Event", func() error {
		if err := e.client.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, ev := range events.Items {
			if ev.Reason == "TopologyAffinityError" && ev.InvolvedObject.Name == "upf" {
				return nil
			}
		}
		return fmt.Errorf("not among %d", len(events.Items))
	})
	if err := gone(); err != nil {
		t.Error(err)
	}
	e.clock.add(backoffFirst)
	eventually(t, "the next pod", func() error {
		e.nudge(t, upf)
		return e.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
	})
}

func (e *environment) testLocked(t *testing.T) {
	ns := e.namespace(t)
	upf, pod := e.runningUPF(t, ns)
	address := upf.Status.UnitStatuses[0].N4Address
	set := func(state api.AdministrativeState) {
		eventually(t, string(state), func() error {
			e.get(t, upf, ns, "upf")
			upf.Spec.AdministrativeState = state
			return e.client.Update(t.Context(), upf)
		})
	}
	set(api.StateLocked)
	eventually(t, "the pod goes", func() error {
		e.stopPods(t, ns)
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, api.ReasonLocked, "write Unlocked")
	set(api.StateUnlocked)
	e.wantReplaced(t, ns, pod)
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	if got := upf.Status.UnitStatuses[0].N4Address; got != address {
		t.Errorf("the N4 address moved from %s to %s", address, got)
	}
}

func (e *environment) testUPFDeletion(t *testing.T) {
	ns := e.namespace(t)
	upf, pod := e.runningUPF(t, ns)
	if err := e.client.Delete(t.Context(), upf); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is asked to stop", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		if pod.DeletionTimestamp.IsZero() {
			return errors.New("it runs")
		}
		return nil
	})
	e.get(t, upf, ns, "upf") // the object waits for the pod
	e.stopPods(t, ns)
	eventually(t, "the object goes", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(upf), upf); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
}

func (e *environment) testAddressOverlap(t *testing.T) {
	ns := e.namespace(t)
	older, younger := controllertest.UPF(t, ns), controllertest.UPF(t, ns)
	older.Name, younger.Name = "a", "b"
	e.create(t, older)
	e.create(t, younger)
	e.wantCondition(t, younger, api.ConditionReady, metav1.ConditionFalse, api.ReasonAddressOverlap, "spec.n3.endpoints 172.30.3.16/28 overlaps 172.30.3.16/28 of UPFInstance a")
	e.wantCondition(t, older, api.ConditionEndpointsAllocated, metav1.ConditionTrue, "", "")
	var pods corev1.PodList
	if err := e.client.List(t.Context(), &pods, client.InNamespace(ns), client.MatchingLabels(specs.UPFSelector(younger))); err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods with addresses of another UPFInstance, %v", len(pods.Items), err)
	}
	eventually(t, "the older goes elsewhere", func() error {
		e.get(t, older, ns, "a")
		older.Spec.N3.Endpoints, older.Spec.N6.Address = "172.30.3.32/28", "172.30.6.3/24"
		return e.client.Update(t.Context(), older)
	})
	e.wantCondition(t, younger, api.ConditionEndpointsAllocated, metav1.ConditionTrue, "", "")
	eventually(t, "the younger has its unit", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "b-0"}, &corev1.Pod{})
	})
}

// No unit is made that could not hold its sessions, and what is left out follows them.
func (e *environment) testTooLittleMemory(t *testing.T) {
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	upf.Spec.Sessions, upf.Spec.Hugepages.Amount = 400000, ptr.To(resource.MustParse("256Mi"))
	e.create(t, upf)
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionFalse, api.ReasonTooLittleMemory, "spec.hugepages.amount 256Mi is too little for spec.sessions 400000 of UPFInstance upf: write 464Mi at least")
	pod := &corev1.Pod{}
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod); !apierrors.IsNotFound(err) {
		t.Errorf("a unit is made that has no room: %v", err)
	}
	eventually(t, "the amount is left out", func() error {
		e.get(t, upf, ns, "upf")
		upf.Spec.Hugepages.Amount = nil
		return e.client.Update(t.Context(), upf)
	})
	e.wantCondition(t, upf, api.ConditionEndpointsAllocated, metav1.ConditionTrue, "", "")
	eventually(t, "the unit", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod)
	})
	if amount := pod.Spec.Containers[0].Resources.Limits["hugepages-2Mi"]; amount.String() != "1008Mi" {
		t.Errorf("the unit has %s of hugepages", &amount)
	}
}
