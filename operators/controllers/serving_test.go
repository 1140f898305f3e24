package controllers

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/controllers/managertest"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/fencing"
)

// A replica that does not act has N4 lead to who serves: the one that acts may have died with the node of the unit.
func TestIntegrationAReplicaThatDoesNotActLeadsN4(t *testing.T) {
	_, restConfig := startAPIServer(t)
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	direct, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	e := &environment{client: direct}
	ns := e.namespace(t)
	const election = "core5g-operator"
	e.create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: election}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("one that acts"), LeaseDurationSeconds: ptr.To(int32(3600)), RenewTime: ptr.To(metav1.NowMicro()), AcquireTime: ptr.To(metav1.NowMicro()),
	}})
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: scheme, Cache: cluster.CacheOptions(ns), NewClient: cluster.NewClient, Metrics: server.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: election, LeaderElectionNamespace: ns,
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(mgr, Options{Platform: specs.Platform{Registry: "core5g", Tag: "dev"}, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	managertest.Run(t, mgr)

	upf := controllertest.UPF(t, ns)
	upf.Spec.Redundancy = &api.RedundancySpec{Standbys: 1}
	e.create(t, upf)
	owner := *metav1.NewControllerRef(upf, api.GroupVersion.WithKind("UPFInstance"))
	lease := specs.UnitLease(upf, 0, 1)
	lease.OwnerReferences = []metav1.OwnerReference{owner}
	e.create(t, lease)
	pods := map[specs.Member]*corev1.Pod{}
	for _, m := range specs.Members {
		labels := map[string]string{api.LabelMember: string(m)}
		for name, value := range lease.Labels {
			labels[name] = value
		}
		pods[m] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: specs.MemberName("upf", 0, m), Labels: labels, OwnerReferences: []metav1.OwnerReference{owner}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "upf-c", Image: "core5g/upf-c:dev"}}},
		}
		e.create(t, pods[m])
	}
	for _, m := range []specs.Member{specs.MemberA, specs.MemberB, specs.MemberA} {
		e.edit(t, lease, func() {
			specs.SetUnitRecord(lease, fencing.Record{Epoch: 2, Holder: fencing.Life(string(pods[m].UID), "1")})
		})
		leads := func() error {
			serves, other := &corev1.Pod{}, &corev1.Pod{}
			e.get(t, serves, ns, pods[m].Name)
			e.get(t, other, ns, pods[m.Other()].Name)
			if serves.Labels[api.LabelServing] == "" || other.Labels[api.LabelServing] != "" {
				return errors.New("N4 leads elsewhere")
			}
			return nil
		}
		eventually(t, "N4 leads to member "+string(m), leads)
		// Whoever has not seen the Lease yet may undo it.
		wrong := &corev1.Pod{}
		e.get(t, wrong, ns, pods[m].Name)
		e.edit(t, wrong, func() { delete(wrong.Labels, api.LabelServing) })
		eventually(t, "N4 leads there again", leads)
	}
	elected := &coordinationv1.Lease{}
	e.get(t, elected, ns, election)
	if *elected.Spec.HolderIdentity != "one that acts" {
		t.Error("this replica acts: nothing is proved")
	}
}
