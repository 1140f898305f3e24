package upf

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/controllers/metrics"
	"core5g.dev/core5g/operators/specs"
)

// unitRig is one UPFInstance with a cache that the test holds back and a clock that it moves.
type unitRig struct {
	t          *testing.T
	reconciler *Reconciler
	live       client.Client
	clock      time.Time
	// stale, if set, is what the cache still shows of the UPFInstance.
	stale *api.UPFInstance
	// conflicts is how many writes of its status are still to be refused.
	conflicts int
}

func newUnitRig(t *testing.T) *unitRig {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(specs.AttachmentKind, meta.RESTScopeNamespace)
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	rig := &unitRig{t: t, clock: time.Unix(1_000_000, 0)}
	rig.live = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).
		WithStatusSubresource(&api.UPFInstance{}, &corev1.Pod{}, &api.Slice{}).WithObjects(controllertest.UPF(t, "ns")).Build()
	cached := interceptor.NewClient(rig.live.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if upf, ok := o.(*api.UPFInstance); ok && rig.stale != nil {
				rig.stale.DeepCopyInto(upf)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if rig.conflicts > 0 {
				rig.conflicts--
				return apierrors.NewConflict(api.GroupVersion.WithResource("upfinstances").GroupResource(), o.GetName(), nil)
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	rig.reconciler = &Reconciler{
		Client: cached, Live: rig.live, Platform: specs.Platform{Registry: "core5g", Tag: "dev"},
		Recorder: record.NewFakeRecorder(1000), Now: func() time.Time { return rig.clock }, applier: applying.New(cached, rig.live),
		Sessions: func(context.Context, *corev1.Pod) (int64, error) { return 0, nil }, Rejections: metrics.NewRejections(), Topology: controllertest.TopologyOfPod,
	}
	rig.reconciler.certifier = certifying.New(cached, rig.reconciler.applier, rig.reconciler.Recorder, rig.reconciler.Now)
	return rig
}

func (r *unitRig) pass() error {
	_, err := r.reconciler.Reconcile(r.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "upf"}})
	return err
}

func (r *unitRig) mustPass() {
	r.t.Helper()
	if err := r.pass(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *unitRig) upf() *api.UPFInstance {
	r.t.Helper()
	upf := &api.UPFInstance{}
	if err := r.live.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: "upf"}, upf); err != nil {
		r.t.Fatal(err)
	}
	return upf
}

func (r *unitRig) pod() *corev1.Pod {
	r.t.Helper()
	pod := &corev1.Pod{}
	err := r.live.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: "upf-0"}, pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return pod
}

// refuse plays a kubelet that takes no pod.
func (r *unitRig) refuse() {
	r.t.Helper()
	pod := r.pod()
	if pod == nil {
		r.t.Fatal("no pod was made")
	}
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "TopologyAffinityError"
	if err := r.live.Status().Update(r.t.Context(), pod); err != nil {
		r.t.Fatal(err)
	}
}

func (r *unitRig) wantRejected(rejections int32) {
	r.t.Helper()
	if r.pod() != nil {
		r.t.Error("the refused pod was left, or the next one was made at once")
	}
	units := r.upf().Status.UnitStatuses
	if len(units) != 1 || units[0].Rejections != rejections || units[0].RetryAfter == nil {
		r.t.Errorf("units %+v, want one with %d rejections and a time of the next", units, rejections)
	}
}

// Writes of the status conflict whenever the cache is a moment behind. The back-off outlives that.
func TestRefusedPodIsCountedThoughTheStatusConflicts(t *testing.T) {
	rig := newUnitRig(t)
	rig.mustPass()
	rig.refuse()
	rig.conflicts = 2
	for range 2 {
		if err := rig.pass(); !apierrors.IsConflict(err) {
			t.Fatalf("got %v, want the conflict", err)
		}
	}
	rig.mustPass()
	rig.wantRejected(1)
	rig.mustPass()
	rig.wantRejected(1)

	rig.clock = rig.clock.Add(BackoffFirst)
	rig.mustPass()
	rig.refuse()
	rig.mustPass()
	rig.wantRejected(2)
}

// The end of the refused pod may be in the cache before the status that says to wait.
func TestNoPodIsMadeOnAnOldStatus(t *testing.T) {
	rig := newUnitRig(t)
	rig.mustPass()
	rig.refuse()
	before := rig.upf()
	rig.mustPass()
	rig.stale = before
	_ = rig.pass() // its own write of the status conflicts; what counts is that nothing is made
	rig.wantRejected(1)
	rig.stale = nil
	rig.mustPass()
	rig.wantRejected(1)
}
