package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/topology"
)

// A unit that the kubelet has put elsewhere is replaced, and its cell is left alone for a while.
func (e *environment) testMisaligned(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8, 8)
	upf := placedUPF(t, ns, ns, 1)
	first := ""
	e.topologies.Store(ns+"/upf-0", func(pod *corev1.Pod) (*topology.Topology, error) {
		spot, _ := specs.PodSpot(pod)
		if first == "" {
			first = string(pod.UID)
		}
		if string(pod.UID) == first {
			return controllertest.InCell(spot.Cell, 1-spot.Cell), nil
		}
		return controllertest.InCell(spot.Cell, spot.Cell), nil
	})
	e.create(t, upf)
	pod := e.startUnit(t, ns, "upf-0")
	fresh := e.wantReplaced(t, ns, pod)
	if a, b := pod.Annotations[specs.AnnotationPlacedCell], fresh.Annotations[specs.AnnotationPlacedCell]; a == b {
		t.Errorf("both pods were for cell %s", a)
	}
	e.get(t, upf, ns, "upf")
	if b := upf.Status.CellBackoffs; len(b) != 1 || b[0].Reason != api.ReasonMisaligned || fmt.Sprint(b[0].Cell) != pod.Annotations[specs.AnnotationPlacedCell] {
		t.Errorf("back-offs %+v", b)
	}
	e.startUnit(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionNUMAAligned, metav1.ConditionTrue, "", "and memory on numa"+fresh.Annotations[specs.AnnotationPlacedCell])
	if top := upf.Status.UnitStatuses[0].Topology; top == nil || top.Alignment != api.UnitAligned {
		t.Errorf("topology %+v", top)
	}
	if n := len(upf.Status.CellBackoffs); n != 1 {
		t.Errorf("%d back-offs, want that of the cell that misplaced it", n)
	}
}

// Where nobody can do better, misaligned units are made ever more seldom.
func (e *environment) testMisalignedEverywhere(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8)
	upf := placedUPF(t, ns, ns, 1)
	e.topologies.Store(ns+"/upf-0", func(*corev1.Pod) (*topology.Topology, error) { return controllertest.InCell(0, 1), nil })
	count := e.watchPods(t, ns)
	e.create(t, upf)
	for i, wait := range []time.Duration{backoffFirst, 2 * backoffFirst} {
		pod := e.startUnit(t, ns, "upf-0")
		count()
		eventually(t, "the pod goes", func() error {
			e.stopPods(t, ns)
			if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %v", err)
			}
			return nil
		})
		e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, api.ReasonNoNUMAFit, "(NUMAMisaligned), tried again at")
		if b := upf.Status.CellBackoffs; len(b) != 1 || b[0].Rejections != int32(i+1) || (b[0].RetryAfter.Sub(e.clock.now())-wait).Abs() > time.Second {
			t.Errorf("after pod %d: back-offs %+v at %s", i, b, e.clock.now())
		}
		for range 3 {
			e.nudge(t, upf)
		}
		if n := count(); n != i+1 {
			t.Errorf("%d pod objects, want %d", n, i+1)
		}
		e.clock.add(wait + time.Millisecond)
		e.nudge(t, upf)
	}
}

// Preferred keeps a misaligned unit and says so, as allowRemoteNIC does for its NICs; a unit that does not say
// where it is is asked again.
func (e *environment) testMisalignedIsFlagged(t *testing.T) {
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8, 8)
	upf := placedUPF(t, ns, ns, 1)
	upf.Spec.Placement.Enforcement = api.EnforcementPreferred
	e.topologies.Store(ns+"/upf-0", func(*corev1.Pod) (*topology.Topology, error) { return nil, errors.New("connection refused") })
	e.create(t, upf)
	pod := e.startUnit(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionNUMAAligned, metav1.ConditionUnknown, api.ReasonNotReported, "upf-0: connection refused")
	e.topologies.Store(ns+"/upf-0", func(*corev1.Pod) (*topology.Topology, error) { return controllertest.InCell(0, 1), nil })
	e.nudge(t, upf)
	e.wantCondition(t, upf, api.ConditionNUMAAligned, metav1.ConditionFalse, api.ReasonMisaligned, "upf-0: not on numa0: n6 (0000:01:10.0) on numa1")
	now := &corev1.Pod{}
	e.get(t, now, ns, "upf-0")
	if now.UID != pod.UID || !now.DeletionTimestamp.IsZero() {
		t.Error("the pod was taken down")
	}
	// upf-u starts anew: what the former said is forgotten.
	e.topologies.Store(ns+"/upf-0", func(*corev1.Pod) (*topology.Topology, error) { return controllertest.InCell(0, 0), nil })
	e.editStatus(t, now, func() {
		now.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "upf-u", ContainerID: "containerd://2", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	e.wantCondition(t, upf, api.ConditionNUMAAligned, metav1.ConditionTrue, "", "upf-0: CPUs 2,3")
	if id := upf.Status.UnitStatuses[0].Topology.ContainerID; id != "containerd://2" {
		t.Errorf("reported by %q", id)
	}
}

// With virtual functions a unit needs no capability where its node gives it the devices, else it is root with
// one.
func (e *environment) testVFIO(t *testing.T) {
	ns := e.namespace(t)
	report := e.dataplaneNode(t, ns+"-w1", ns, 8, 8)
	for i := range report.Status.Cells {
		report.Status.Cells[i].Interfaces = append(report.Status.Cells[i].Interfaces, api.NodeInterface{
			Name: "n6", ResourceName: fmt.Sprintf("core5g.dev/n6_socket%d", i), VFs: api.VFCount{Total: 4, Free: 4},
		})
	}
	report.Status.VFIOAccess = api.VFIOAccessNonRoot
	e.report(t, report)
	upf := placedUPF(t, ns, ns, 1)
	upf.Spec.Driver = api.DriverVFIO
	upf.Spec.N3.VLAN = ptr.To[int32](30)
	upf.Spec.N6.Attachment = api.AttachmentSpec{Type: api.AttachmentHostDevice, ResourceName: "core5g.dev/n6_socket{cell}"}
	e.create(t, upf)
	pod := e.startUnit(t, ns, "upf-0")
	security := pod.Spec.Containers[0].SecurityContext
	if len(security.Capabilities.Add) != 0 || security.RunAsUser != nil {
		t.Errorf("on a node that gives devices to the pod's user: %+v", security)
	}
	config := &corev1.ConfigMap{}
	e.get(t, config, ns, pod.Spec.Volumes[0].ConfigMap.Name)
	for _, want := range []string{"driver: vfio", "resource: core5g.dev/n3_socket{cell}", "resource: core5g.dev/n6_socket{cell}", "vlan: 30"} {
		if !strings.Contains(config.Data["upf-u.yaml"], want) {
			t.Errorf("upf-u.yaml has no %q:\n%s", want, config.Data["upf-u.yaml"])
		}
	}
	report.Status.VFIOAccess = ""
	e.report(t, report)
	if err := e.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	e.wantReplaced(t, ns, pod)
	fresh := e.unitPod(t, ns, "upf-0")
	security = fresh.Spec.Containers[0].SecurityContext
	if ptr.Deref(security.RunAsUser, -1) != 0 || len(security.Capabilities.Add) != 1 || security.Capabilities.Add[0] != "IPC_LOCK" {
		t.Errorf("on a node that tells nothing: %+v", security)
	}
	if fresh.Annotations[specs.AnnotationTemplateHash] != pod.Annotations[specs.AnnotationTemplateHash] {
		t.Error("who may open the devices is no part of the template")
	}
}
