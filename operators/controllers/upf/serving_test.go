package upf

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	api "core5g.dev/core5g/operators/api/v1alpha1"
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
