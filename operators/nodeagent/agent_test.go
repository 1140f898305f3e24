package nodeagent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

type fixedKubelet struct{ status api.KubeletStatus }

func (k *fixedKubelet) Policies(context.Context) (api.KubeletStatus, error) { return k.status, nil }

type fixedResources struct{ resources Resources }

func (r *fixedResources) Resources(context.Context) (Resources, error) { return r.resources, nil }

type memory struct {
	before []metav1.Condition
	saved  []api.DataplaneNodeStatus
	err    error
}

func (m *memory) Load(context.Context, string) ([]metav1.Condition, error) { return m.before, nil }

func (m *memory) Save(_ context.Context, _ string, s *api.DataplaneNodeStatus) error {
	if m.err != nil {
		return m.err
	}
	m.saved = append(m.saved, *s.DeepCopy())
	return nil
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestTheAgentWritesWhatIsNew(t *testing.T) {
	now := noon
	o := server(t)
	kubelet, resources, store, sys := &fixedKubelet{o.Kubelet}, &fixedResources{o.Resources}, &memory{}, twoSockets()
	a := &Agent{Node: "w1", Sysfs: sys.fs(), Kubelet: kubelet, Resources: resources, Store: store, Now: func() time.Time { return now }, Log: quiet()}
	if !a.LastStep().IsZero() {
		t.Error("a step has ended before the first")
	}
	step := func(what string, wantWrites int) {
		t.Helper()
		if err := a.Step(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if len(store.saved) != wantWrites {
			t.Fatalf("%s: %d writes, want %d", what, len(store.saved), wantWrites)
		}
		if !a.LastStep().Equal(now) {
			t.Errorf("%s: the last step was at %s", what, a.LastStep())
		}
	}
	step("the first look", 1)
	for range 12 {
		now = now.Add(Interval)
		step("nothing is new", 1)
	}
	now = now.Add(Interval)
	step("the heartbeat", 2)
	if age := store.saved[1].ObservedAt.Sub(store.saved[0].ObservedAt.Time); age > time.Minute {
		t.Errorf("the status was %s old", age)
	}
	now = now.Add(Interval)
	resources.resources.Held = nil
	step("a unit has gone", 3)
	if got := store.saved[2].Cells[0].ExclusiveCPUs.Free; got != 6 {
		t.Errorf("%d CPUs are free, want 6", got)
	}
	now = now.Add(Interval)
	sys.without("bus/pci/drivers/vfio-pci")
	step("vfio is unloaded", 4)
	if meta.IsStatusConditionTrue(store.saved[3].Conditions, api.ConditionReady) {
		t.Error("the node is ready without vfio")
	}
	now = now.Add(Interval)
	kubelet.status.TopologyManagerPolicy = "none"
	store.err = errors.New("the API server is away")
	if err := a.Step(t.Context()); err == nil {
		t.Error("a write that failed is not told")
	}
	store.err = nil
	now = now.Add(Interval)
	step("what could not be written is written then", 5)
}

func TestAChangeIsWrittenWithinTenSeconds(t *testing.T) {
	if worst := Interval + lookTimeout + writeTimeout; worst > 10*time.Second {
		t.Errorf("a change just after a look is written up to %s later", worst)
	}
	if worst := Heartbeat + Interval + lookTimeout + writeTimeout; worst > time.Minute {
		t.Errorf("a status is up to %s old", worst)
	}
}

func TestANewAgentKeepsTheTimesOfItsPredecessor(t *testing.T) {
	o := server(t)
	store := &memory{before: Status(o, nil, noon).Conditions}
	a := &Agent{Node: "w1", Sysfs: twoSockets().fs(), Kubelet: &fixedKubelet{o.Kubelet}, Resources: &fixedResources{o.Resources}, Store: store,
		Now: func() time.Time { return noon.Add(time.Hour) }, Log: quiet()}
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := meta.FindStatusCondition(store.saved[0].Conditions, api.ConditionReady).LastTransitionTime; !got.Time.Equal(noon) {
		t.Errorf("Ready has changed at %s, want %s", got, noon)
	}
}

// cluster is an API server in memory. Like a real one, and unlike the fake client by itself, it makes no
// object of a status.
func cluster(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&api.DataplaneNode{}).WithReturnManagedFields().
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), &api.DataplaneNode{}); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, options...)
			},
		}).Build()
}

func TestTheStatusIsAppliedServerSide(t *testing.T) {
	c := cluster(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: "node-uid"}})
	store := APIServer{Client: c}
	if before, err := store.Load(t.Context(), "w1"); err != nil || before != nil {
		t.Errorf("a new node has conditions %v, %v", before, err)
	}
	for _, change := range []func(*Observation){
		func(*Observation) {},
		func(o *Observation) { o.Hardware.Cells = o.Hardware.Cells[:1] },
	} {
		o := server(t)
		change(&o)
		want := Status(o, nil, noon)
		if err := store.Save(t.Context(), "w1", &want); err != nil {
			t.Fatal(err)
		}
		var got api.DataplaneNode
		if err := c.Get(t.Context(), client.ObjectKey{Name: "w1"}, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Status.Cells) != len(want.Cells) || !got.Status.ObservedAt.Equal(want.ObservedAt) || len(got.Status.Conditions) != len(want.Conditions) {
			t.Errorf("the status is %+v", got.Status)
		}
		if owner := got.OwnerReferences; len(owner) != 1 || owner[0].Kind != "Node" || owner[0].UID != "node-uid" {
			t.Errorf("the owners are %+v, want the Node", owner)
		}
		applied := false
		for _, f := range got.ManagedFields {
			applied = applied || f.Operation == metav1.ManagedFieldsOperationApply
			if f.Manager != FieldOwner {
				t.Errorf("fields are managed by %s", f.Manager)
			}
		}
		if !applied {
			t.Error("nothing was applied server-side")
		}
	}
	before, err := store.Load(t.Context(), "w1")
	if err != nil || len(before) == 0 {
		t.Errorf("conditions %v, %v", before, err)
	}
}

func TestANodeThatIsNoNode(t *testing.T) {
	want := Status(server(t), nil, noon)
	err := APIServer{Client: cluster(t)}.Save(t.Context(), "w9", &want)
	if err == nil || !strings.Contains(err.Error(), "its Node") {
		t.Errorf("error %v, want one that misses the Node", err)
	}
}
