package controllers

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/controllers/core"
)

func (e *environment) testSilentTerminator(t *testing.T) {
	ns := e.namespace(t)
	pods := []*corev1.Pod{controllertest.TerminatorPod(ns, "core5g", "n2-a"), controllertest.TerminatorPod(ns, "core5g", "n2-b")}
	for _, pod := range pods {
		status := pod.Status
		e.create(t, pod)
		e.editStatus(t, pod, func() { pod.Status = status })
	}
	e.unreached.Store(ns+"/n2-a", true)
	ready := func(name string) *corev1.PodCondition {
		pod := &corev1.Pod{}
		e.get(t, pod, ns, name)
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
				return c
			}
		}
		t.Fatalf("pod %s has no condition Ready", name)
		return nil
	}
	eventually(t, "the one that is silent is taken out", func() error {
		if c := ready("n2-a"); c.Status != corev1.ConditionFalse || c.Reason != core.ReasonSilent {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
	if c := ready("n2-b"); c.Status != corev1.ConditionTrue {
		t.Errorf("the other one is %+v", c)
	}
}
