package controllers

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

// Deletion waits for sessions as long as spec.drain says, and no longer.
func (e *environment) testDrainedDeletion(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	upf.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 600 * time.Second}}
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, controllertest.Core(t, ns), upf, slice)
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	e.sessions.Store(ns+"/upf-0", int64(1))
	if err := e.client.Delete(t.Context(), upf); err != nil {
		t.Fatal(err)
	}
	// It is asked for its sessions again after a pass that has left it alone.
	eventually(t, "the unit is asked twice", func() error {
		e.nudge(t, upf)
		asked, found := e.asked.Load(ns + "/upf-0")
		if !found || asked.(*atomic.Int64).Load() < 2 {
			return errors.New("it was not")
		}
		return nil
	})
	pod := &corev1.Pod{}
	e.get(t, pod, ns, "upf-0")
	if !pod.DeletionTimestamp.IsZero() {
		t.Fatal("the pod was stopped with a session on it")
	}
	// Deleted some time after the clock was held, by the API server's own.
	e.clock.add(660 * time.Second)
	eventually(t, "the object goes", func() error {
		e.stopPods(t, ns)
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(upf), upf); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
}

// ShuttingDown lets the sessions of the only unit end, without new ones, and then takes it away.
func (e *environment) testShuttingDown(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	e.create(t, controllertest.Core(t, ns))
	upf := controllertest.UPF(t, ns)
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, upf, slice)
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	e.sessions.Store(ns+"/upf-0", int64(2))
	e.change(t, upf, "shutting down", func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateShuttingDown })
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, "ShuttingDown", "write Unlocked to keep them")
	eventually(t, "the unit tells its sessions", func() error {
		e.get(t, upf, ns, "upf")
		if u := upf.Status.UnitStatuses[0]; u.State != api.UnitDraining || !strings.Contains(u.Message, "2 PDU sessions") {
			return fmt.Errorf("it is %+v", u)
		}
		return nil
	})
	pod := &corev1.Pod{}
	if e.get(t, pod, ns, "upf-0"); !pod.DeletionTimestamp.IsZero() {
		t.Fatal("the pod was stopped with sessions on it")
	}
	// Taken back.
	e.change(t, upf, "unlocked", func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateUnlocked })
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionTrue, "", "")
	e.change(t, upf, "shutting down again", func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateShuttingDown })
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, "ShuttingDown", "write Unlocked to keep them")
	e.sessions.Store(ns+"/upf-0", int64(0))
	e.clock.add(time.Second)
	e.nudge(t, upf)
	eventually(t, "the unit is gone", func() error {
		e.stopPods(t, ns)
		e.get(t, upf, ns, "upf")
		if u := upf.Status.UnitStatuses[0]; u.State != api.UnitStopped || e.podCount(t, ns) != 0 {
			return fmt.Errorf("it is %+v", u)
		}
		return nil
	})
}
