package controllers

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// A change of the UPFInstance replaces one unit after the other, each drained first and out of the SMF.
func (e *environment) testRollingReplacement(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8, 8)
	e.create(t, controllertest.Core(t, ns))
	upf := placedUPF(t, ns, ns, 2)
	upf.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 60 * time.Second}}
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, upf, slice)
	pods := []*corev1.Pod{e.startUnit(t, ns, "upf-0"), e.startUnit(t, ns, "upf-1")}
	smf := e.smfOf(t, ns, slice)
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")
	e.wantCondition(t, slice, api.ConditionUserPlaneFollowed, metav1.ConditionTrue, "", "upf-0, upf-1")
	deployment := e.snapshot(t, ns)["Deployment core5g-smf-internet"]

	e.sessions.Store(ns+"/upf-0", int64(3))
	e.sessions.Store(ns+"/upf-1", int64(0))
	e.change(t, upf, "another MTU", func(u *api.UPFInstance) { u.Spec.N3.MTU = 1400 })
	// Unit 0 has sessions: it waits, gets no new ones, and unit 1 waits for it.
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionTrue, "Replacing", "upf-0")
	eventually(t, "unit 0 drains", func() error {
		e.get(t, upf, ns, "upf")
		if u := upf.Status.UnitStatuses[0]; u.State != api.UnitDraining || u.Drain == nil || ptr.Deref(u.Drain.Sessions, 0) != 3 {
			return fmt.Errorf("it is %+v", u)
		}
		return nil
	})
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")
	for i, name := range []string{"upf-0", "upf-1"} {
		now := &corev1.Pod{}
		e.get(t, now, ns, name)
		if now.UID != pods[i].UID || !now.DeletionTimestamp.IsZero() {
			t.Fatalf("%s was taken down", name)
		}
	}
	// Its sessions end: out of the SMF, then the pod.
	e.sessions.Store(ns+"/upf-0", int64(0))
	e.clock.add(time.Second)
	e.nudge(t, upf)
	fresh := e.wantReplaced(t, ns, pods[0])
	if fresh.Annotations[specs.AnnotationPlacedCell] != pods[0].Annotations[specs.AnnotationPlacedCell] {
		t.Errorf("unit 0 moved from cell %s to %s", pods[0].Annotations[specs.AnnotationPlacedCell], fresh.Annotations[specs.AnnotationPlacedCell])
	}
	now := &corev1.Pod{}
	e.get(t, now, ns, "upf-1")
	if now.UID != pods[1].UID || !now.DeletionTimestamp.IsZero() {
		t.Fatal("unit 1 was taken down while unit 0 was not ready")
	}
	e.startUnit(t, ns, "upf-0")
	e.wantReplaced(t, ns, pods[1])
	e.startUnit(t, ns, "upf-1")
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionFalse, api.ReasonUpToDate, "")
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")
	if got := e.snapshot(t, ns)["Deployment core5g-smf-internet"]; got != deployment {
		t.Error("the SMF was restarted")
	}
}

// smfOf plays a ready SMF of a Slice.
func (e *environment) smfOf(t *testing.T, ns string, slice *api.Slice) *fakeSMF {
	t.Helper()
	service := &corev1.Service{}
	eventually(t, "the SMF", func() error {
		e.makeAvailable(t, ns)
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-" + slice.Name}, service); err != nil {
			return err
		}
		e.get(t, slice, ns, slice.Name)
		if !conditions.Of(&slice.Status.Conditions, 0).Is(api.ConditionSMFReady) {
			return errors.New("it is not ready")
		}
		return nil
	})
	return e.smfs.at(fmt.Sprintf("http://%s:%d", service.Spec.ClusterIP, specs.PortSBI), nil).(*fakeSMF)
}

func (e *environment) wantUserPlane(t *testing.T, ns string, smf *fakeSMF, want string) {
	t.Helper()
	eventually(t, "the SMF has "+want, func() error {
		e.makeAvailable(t, ns)
		if got := smf.upfs(); fmt.Sprint(got) != want {
			return fmt.Errorf("it has %v", got)
		}
		return nil
	})
}

// Units come and go without a restart of the SMF; what a restarted SMF has forgotten is put in again.
func (e *environment) testScale(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8, 8)
	e.create(t, controllertest.Core(t, ns))
	upf := placedUPF(t, ns, ns, 1)
	upf.Spec.MaxUnits = ptr.To[int32](2)
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, upf, slice)
	first := e.startUnit(t, ns, "upf-0")
	smf := e.smfOf(t, ns, slice)
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17]")
	deployment := e.snapshot(t, ns)["Deployment core5g-smf-internet"]

	e.change(t, upf, "scale up", func(u *api.UPFInstance) { u.Spec.Units = ptr.To[int32](2) })
	e.startUnit(t, ns, "upf-1")
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	eventually(t, "the Slice names both", func() error {
		e.get(t, slice, ns, "internet")
		if n := len(slice.Status.UPF.Units); n != 2 {
			return fmt.Errorf("it names %d", n)
		}
		return nil
	})
	if a, b := slice.Status.UPF.Units[0], slice.Status.UPF.Units[1]; a.N3Endpoint != "172.30.3.16" || b.N3Endpoint != "172.30.3.24" || a.N4Address == b.N4Address {
		t.Errorf("units %+v and %+v", a, b)
	}

	process := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "smf-pod", Labels: map[string]string{
			api.LabelManagedBy: "core5g-operator", api.LabelComponent: string(api.FunctionSMF), api.LabelSlice: "internet",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "smf", Image: "x"}}},
	}
	e.create(t, process)
	restart := func() {
		t.Helper()
		count := int32(1)
		if s := process.Status.ContainerStatuses; len(s) > 0 {
			count = s[0].RestartCount + 1
		}
		e.editStatus(t, process, func() {
			process.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "smf", RestartCount: count}}
		})
	}
	// The SMF restarts with the file that it was started with.
	smf.mu.Lock()
	delete(smf.topology.UPNodes, "upf-1")
	smf.mu.Unlock()
	restart()
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")

	// An SMF that does not answer is said, and does not keep a unit from its end.
	smf.mu.Lock()
	smf.fails = errors.New("connection refused")
	smf.mu.Unlock()
	restart()
	e.wantCondition(t, slice, api.ConditionUserPlaneFollowed, metav1.ConditionFalse, api.ReasonFailed, "connection refused")
	e.change(t, upf, "scale down", func(u *api.UPFInstance) { u.Spec.Units = ptr.To[int32](1) })
	eventually(t, "unit 1 waits for the SMF", func() error {
		e.get(t, upf, ns, "upf")
		if len(upf.Status.UnitStatuses) != 2 || !strings.Contains(upf.Status.UnitStatuses[1].Message, "waits for the SMF of Slice internet") {
			return fmt.Errorf("units %+v", upf.Status.UnitStatuses)
		}
		return nil
	})
	e.clock.add(smfReleaseTimeout)
	eventually(t, "unit 1 goes all the same, with its Service", func() error {
		e.stopPods(t, ns)
		for name, o := range map[string]client.Object{"upf-1": &corev1.Pod{}, "upf-1-n4": &corev1.Service{}} {
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
	smf.mu.Lock()
	smf.fails = nil
	smf.mu.Unlock()
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17]")
	now := &corev1.Pod{}
	e.get(t, now, ns, "upf-0")
	if now.UID != first.UID || e.snapshot(t, ns)["Deployment core5g-smf-internet"] != deployment {
		t.Error("unit 0 or the SMF was restarted")
	}
}

// OnApproval waits for the annotation even after a change by the user.
func (e *environment) testOnApproval(t *testing.T) {
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	upf.Spec.UpdateStrategy = &api.UpdateStrategySpec{Type: api.UpdateOnApproval}
	e.create(t, upf)
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	pod := &corev1.Pod{}
	e.get(t, pod, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	e.change(t, upf, "another MTU", func(u *api.UPFInstance) { u.Spec.N3.MTU = 1400 })
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionTrue, api.ReasonRestartRequired, "kubectl annotate")
	now := &corev1.Pod{}
	e.get(t, now, ns, "upf-0")
	if now.UID != pod.UID || !now.DeletionTimestamp.IsZero() {
		t.Fatal("the unit was restarted without approval")
	}
	var hash string
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionUpdatePending {
			_, hash, _ = strings.Cut(c.Message, api.AnnotationApplyUpdate+"=")
		}
	}
	e.change(t, upf, "approve", func(u *api.UPFInstance) {
		u.Annotations = map[string]string{api.AnnotationApplyUpdate: hash}
	})
	e.wantReplaced(t, ns, pod)
}

// testFleet asks a real API server for some UPFInstances on nodes of two sockets, and counts what the controllers
// ask of it. With CORE5G_FLEET it is a benchmark of as many, on 64 nodes.
func (e *environment) testFleet(t *testing.T) {
	instances, nodes := 16, 8
	if asked := os.Getenv("CORE5G_FLEET"); asked != "" {
		var err error
		if instances, err = strconv.Atoi(asked); err != nil {
			t.Fatalf("CORE5G_FLEET is %q: write how many UPFInstances to make", asked)
		}
		nodes = 64
	}
	for _, policy := range []api.PlacementPolicy{api.PlacementAny, api.PlacementSingleNUMA} {
		ns := e.namespace(t)
		for i := range nodes {
			report := e.dataplaneNode(t, fmt.Sprintf("%s-w%d", ns, i), ns, 32, 32)
			for c := range report.Status.Cells {
				report.Status.Cells[c].Hugepages[0].Free = resource.MustParse("64Gi")
			}
			e.report(t, report)
		}
		begin := time.Now()
		e.calls.take()
		for i := range instances {
			upf := controllertest.UPF(t, ns)
			upf.Name = fmt.Sprintf("upf%04d", i)
			controllertest.OwnAddresses(upf, i)
			upf.Spec.CPUs = ptr.To[int32](1)
			if policy != api.PlacementAny {
				upf.Spec.NodeSelector = map[string]string{"pool": ns}
				upf.Spec.Placement = &api.PlacementSpec{Policy: policy}
			}
			e.create(t, upf)
		}
		created := time.Since(begin)
		limit := time.Now().Add(10 * time.Minute)
		ready := map[string]bool{}
		for len(ready) < instances {
			if time.Now().After(limit) {
				t.Fatalf("%d of %d units run after %s", len(ready), instances, time.Since(begin))
			}
			var pods corev1.PodList
			if err := e.client.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
				t.Fatal(err)
			}
			for i := range pods.Items {
				if pod := &pods.Items[i]; !ready[pod.Name] && !specs.Gated(pod) {
					e.startUnit(t, ns, pod.Name)
					ready[pod.Name] = true
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		for left := -1; left != 0; time.Sleep(100 * time.Millisecond) {
			var list api.UPFInstanceList
			if err := e.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
				t.Fatal(err)
			}
			left = 0
			for i := range list.Items {
				if !conditions.Of(&list.Items[i].Status.Conditions, 0).Is(api.ConditionReady) {
					left++
				}
			}
			if time.Now().After(limit) {
				t.Fatalf("%d are not Ready after %s", left, time.Since(begin))
			}
		}
		settled := time.Since(begin)
		calls, sum := e.calls.take(), 0
		var table strings.Builder
		for _, k := range slices.Sorted(maps.Keys(calls)) {
			sum += calls[k]
			fmt.Fprintf(&table, "| %s | %d |\n", k, calls[k])
		}
		t.Logf("%s: %d UPFInstances made in %s, all Ready after %s, %d calls (%.1f each)\n%s", policy, instances,
			created.Round(time.Second), settled.Round(time.Second), sum, float64(sum)/float64(instances), &table)
		// Beside the writes: Events, and reads of what is in no cache, on a busy machine for some more than once.
		if most := (controllertest.CallsPerInstance + 18) * instances; sum > most {
			t.Errorf("%s: %d calls, at most %d are allowed", policy, sum, most)
		}
	}
}
