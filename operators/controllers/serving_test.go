package controllers

import (
	"errors"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// led are the members that N4 leads to.
func (r pairRig) led() (out []string) {
	r.t.Helper()
	for _, name := range []string{"upf-0", "upf-0-b"} {
		if pod := r.member(name); pod != nil && pod.Labels[api.LabelServing] != "" {
			out = append(out, name)
		}
	}
	return out
}

func TestWhereN4LeadsByTheLease(t *testing.T) {
	r := newPairRig(t)
	a, b := r.inSync()
	leads := func(why string, want ...string) {
		t.Helper()
		s := &ServingReconciler{Client: r.live}
		if _, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "upf-0"}}); err != nil {
			t.Fatal(err)
		}
		if got := r.led(); !slices.Equal(got, want) {
			t.Errorf("%s: N4 leads to %v, want %v", why, got, want)
		}
	}
	leads("a serves", "upf-0")
	r.serves(2, b, nil)
	leads("b has taken over", "upf-0-b")
	r.serves(3, a, b)
	leads("and a again", "upf-0")
	stranger := a.DeepCopy()
	stranger.UID = "of-before"
	r.serves(4, stranger, nil)
	leads("who serves is not there", "upf-0")
	lease := r.lease()
	specs.SetUnitRecord(lease, fencing.Record{Epoch: 5})
	if err := r.live.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	leads("nobody serves", "upf-0")

	r.serves(6, b, nil)
	foreign := r.member("upf-0-b")
	foreign.OwnerReferences[0].UID = "another"
	if err := r.live.Update(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	leads("a pod of the name is somebody else's", "upf-0")
	lease = r.lease()
	delete(lease.Annotations, fencing.RecordAnnotation)
	if err := r.live.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	leads("the Lease says nothing", "upf-0")
	if err := r.live.Delete(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	leads("there is no Lease", "upf-0")
}

func TestWhichLeaseAPodIsOf(t *testing.T) {
	owner := []metav1.OwnerReference{{Kind: "UPFInstance", Name: "upf", UID: "1", Controller: ptr.To(true)}}
	pod := func(labels map[string]string, owner []metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "upf-3-b", Labels: labels, OwnerReferences: owner}}
	}
	member := map[string]string{api.LabelUnit: "3", api.LabelMember: "b"}
	got := leaseOf(t.Context(), pod(member, owner))
	if len(got) != 1 || got[0].String() != "ns/upf-3" {
		t.Errorf("%v", got)
	}
	for name, p := range map[string]*corev1.Pod{
		"no unit's": pod(map[string]string{api.LabelMember: "b"}, owner), "without redundancy": pod(map[string]string{api.LabelUnit: "3"}, owner), "nobody's": pod(member, nil),
	} {
		if got := leaseOf(t.Context(), p); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

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
