package controllers

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/fencing"
)

// testStandby has what only a real API server has: UIDs, server-side apply of roles, conflicts of Leases.
func (e *environment) testStandby(t *testing.T) {
	ns := e.namespace(t)
	e.create(t, controllertest.Core(t, ns))
	upf := controllertest.UPF(t, ns)
	upf.Spec.Redundancy = &api.RedundancySpec{Standbys: 1}
	e.create(t, upf)
	pods := map[string]*corev1.Pod{}
	for _, name := range []string{"upf-0", "upf-0-b"} {
		pods[name] = e.unitPod(t, ns, name)
	}
	e.makeReady(t, ns, "upf-0")
	serves := func(epoch uint64, holder, standby *corev1.Pod) {
		t.Helper()
		eventually(t, "the Lease is written", func() error {
			lease := &coordinationv1.Lease{}
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, lease); err != nil {
				return err
			}
			record := fencing.Record{Epoch: epoch, Holder: fencing.Life(string(holder.UID), "1")}
			if standby != nil {
				record.Standby = fencing.Life(string(standby.UID), "1")
			}
			specs.SetUnitRecord(lease, record)
			lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
			return e.client.Update(t.Context(), lease)
		})
	}
	serves(1, pods["upf-0"], pods["upf-0-b"])
	e.wantCondition(t, upf, api.ConditionStandbyInSync, metav1.ConditionTrue, api.ReasonReady, "upf-0 in upf-0, by upf-0-b")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "1 units forward packets")

	role := &rbacv1.Role{}
	e.get(t, role, ns, "upf-standby")
	if diff := cmp.Diff([]rbacv1.PolicyRule{{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "patch"}, ResourceNames: []string{"upf-0"},
	}}, role.Rules); diff != "" {
		t.Errorf("members may (-want +got):\n%s", diff)
	}
	e.get(t, &rbacv1.RoleBinding{}, ns, "upf-standby")
	e.get(t, &corev1.ServiceAccount{}, ns, "upf-standby")
	e.get(t, &networkingv1.NetworkPolicy{}, ns, "upf-standby")
	for _, service := range []string{"upf-0-sync-a", "upf-0-sync-b"} {
		e.get(t, &corev1.Service{}, ns, service)
	}
	if secret := e.secret(t, ns, "upf-standby-tls"); len(secret.Data["tls.crt"]) == 0 || len(secret.Data["ca.crt"]) == 0 {
		t.Error("members have no certificate")
	}

	// upf-0 is gone with its node; upf-0-b takes over, and another upf-0 stands by.
	if err := e.client.Delete(t.Context(), pods["upf-0"], client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	serves(2, pods["upf-0-b"], nil)
	e.makeReady(t, ns, "upf-0-b")
	next := e.wantReplaced(t, ns, pods["upf-0"])
	e.wantCondition(t, upf, api.ConditionStandbyInSync, metav1.ConditionFalse, api.ReasonStandbyNotInSync, "no standby has all sessions of upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "1 units forward packets")
	eventually(t, "N4 leads to who serves", func() error {
		pod := &corev1.Pod{}
		e.get(t, pod, ns, "upf-0-b")
		if pod.Labels[api.LabelServing] == "" {
			return errors.New("upf-0-b has no label")
		}
		return nil
	})
	serves(2, pods["upf-0-b"], next)
	e.wantCondition(t, upf, api.ConditionStandbyInSync, metav1.ConditionTrue, "", "upf-0 in upf-0-b, by upf-0")

	// Nobody is left who could go on: whoever comes next may have the unit.
	for _, name := range []string{"upf-0", "upf-0-b"} {
		pod := &corev1.Pod{}
		e.get(t, pod, ns, name)
		if err := e.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the unit is free", func() error {
		lease := &coordinationv1.Lease{}
		e.get(t, lease, ns, "upf-0")
		record, err := specs.UnitRecord(lease)
		if err == nil && (record.Holder != "" || record.Epoch != 2) {
			err = fmt.Errorf("the record is %+v", record)
		}
		return err
	})
}
