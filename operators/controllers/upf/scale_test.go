package upf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/controllers/metrics"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// fleet is many nodes and UPFInstances on a fake API server that counts what is asked of it. Reads come
// from a cache in the operator and are not counted, but those past it.
type fleet struct {
	t          testing.TB
	client     client.Client
	reconciler *Reconciler
	calls      map[string]int
}

func newFleet(t testing.TB, nodes, instances int, spec func(*api.UPFInstance)) *fleet {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(specs.AttachmentKind, meta.RESTScopeNamespace)
	for gvk := range scheme.AllKnownTypes() {
		scope := meta.RESTScopeNamespace
		if gvk.Kind == "Node" || gvk.Kind == "DataplaneNode" {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(gvk, scope)
	}
	var objects []client.Object
	for i := range nodes {
		name := fmt.Sprintf("w%03d", i)
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		}})
		report := &api.DataplaneNode{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: api.DataplaneNodeStatus{
			Conditions: []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}},
		}}
		for id := range int32(2) {
			report.Status.Cells = append(report.Status.Cells, api.NUMACell{
				ID: id, ExclusiveCPUs: api.CPUCount{Total: 32, Free: 32},
				Hugepages: []api.HugepagePool{{Size: "2Mi", Total: resource.MustParse("64Gi"), Free: resource.MustParse("64Gi")}},
			})
		}
		objects = append(objects, report)
	}
	for i := range instances {
		upf := &api.UPFInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("upf%04d", i), UID: types.UID(fmt.Sprint("uid-", i))}}
		controllertest.OwnAddresses(upf, i)
		spec(upf)
		objects = append(objects, upf)
	}
	f := &fleet{t: t, calls: map[string]int{}}
	f.client = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).
		WithStatusSubresource(&api.UPFInstance{}, &corev1.Pod{}).WithObjects(objects...).Build()
	kind := func(o client.Object) string { return strings.TrimPrefix(fmt.Sprintf("%T", o), "*") }
	counted := interceptor.NewClient(f.client.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			f.calls["create "+kind(o)]++
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			f.calls["update "+kind(o)]++
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			f.calls["patch "+o.GetObjectKind().GroupVersionKind().Kind]++
			return c.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			f.calls["delete "+kind(o)]++
			return c.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			f.calls["patch status"]++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	live := interceptor.NewClient(f.client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			f.calls["get past the cache"]++
			return c.Get(ctx, key, o, opts...)
		},
	})
	f.reconciler = &Reconciler{
		Client: counted, Live: live, Platform: specs.Platform{Registry: "core5g", Tag: "dev"},
		Recorder: &record.FakeRecorder{}, Now: time.Now, applier: applying.New(counted, live),
		Sessions: func(context.Context, *corev1.Pod) (int64, error) { return 0, nil }, Rejections: metrics.NewRejections(), Topology: controllertest.TopologyOfPod,
	}
	return f
}

// settle reconciles every UPFInstance, and plays scheduler and kubelet, until nothing is asked for any more.
func (f *fleet) settle() (passes int) {
	f.t.Helper()
	for range 20 {
		before := f.total()
		var list api.UPFInstanceList
		if err := f.client.List(f.t.Context(), &list); err != nil {
			f.t.Fatal(err)
		}
		for i := range list.Items {
			if _, err := f.reconciler.Reconcile(f.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])}); err != nil && !apierrors.IsConflict(err) && !errors.Is(err, errStale) {
				f.t.Fatal(err)
			}
		}
		passes++
		if f.total() == before {
			return passes
		}
		f.startPods()
	}
	f.t.Fatalf("not settled after %d passes: %v", passes, f.calls)
	return passes
}

func (f *fleet) startPods() {
	f.t.Helper()
	var pods corev1.PodList
	if err := f.client.List(f.t.Context(), &pods); err != nil {
		f.t.Fatal(err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if specs.Gated(pod) || workloads.PodReady(pod) {
			continue
		}
		spot, _ := specs.PodSpot(pod)
		pod.Spec.NodeName = spot.Node
		pod.Annotations[workloads.AnnotationNetworkStatus] = `[{"interface":"n3"},{"interface":"n6"}]`
		if err := f.client.Update(f.t.Context(), pod); err != nil {
			f.t.Fatal(err)
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if err := f.client.Status().Update(f.t.Context(), pod); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fleet) total() (n int) {
	for _, c := range f.calls {
		n += c
	}
	return n
}

func (f *fleet) table() string {
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(f.calls)) {
		fmt.Fprintf(&out, "%-32s %d\n", k, f.calls[k])
	}
	return out.String()
}

func perSocket(units int32) func(*api.UPFInstance) {
	return func(upf *api.UPFInstance) {
		upf.Spec.Units = &units
		upf.Spec.CPUs = ptr.To[int32](2)
		if units > 1 {
			upf.Spec.N6.UnitAddresses = ptr.To[api.CIDR]("172.31.1.0/24")
			upf.Spec.N3.Endpoints = "172.30.0.0/20"
		}
		upf.Spec.Placement = &api.PlacementSpec{Policy: api.PlacementPerSocket, Enforcement: api.EnforcementRequired}
	}
}

// From 1 to 64 nodes of two sockets: one unit a socket, up to the 64 that an instance may have, and one
// that has no place is said and costs nothing.
func TestPerSocketFillsEverySocket(t *testing.T) {
	for _, nodes := range []int{1, 2, 7, 31, 64} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			fits := min(2*nodes, 64)
			asked := min(fits+1, 64)
			f := newFleet(t, nodes, 1, perSocket(int32(asked)))
			f.settle()
			var pods corev1.PodList
			if err := f.client.List(t.Context(), &pods); err != nil {
				t.Fatal(err)
			}
			cells := map[string]string{}
			for i := range pods.Items {
				spot, known := specs.PodSpot(&pods.Items[i])
				if !known || cells[spot.String()] != "" {
					t.Errorf("%s is on %s, which %s has", pods.Items[i].Name, spot, cells[spot.String()])
				}
				cells[spot.String()] = pods.Items[i].Name
			}
			if len(pods.Items) != fits || f.calls["create v1.Pod"] != fits {
				t.Errorf("%d pods, %d were made, want %d", len(pods.Items), f.calls["create v1.Pod"], fits)
			}
			upf := &api.UPFInstance{}
			if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "upf0000"}, upf); err != nil {
				t.Fatal(err)
			}
			placed := meta.FindStatusCondition(upf.Status.Conditions, api.ConditionPlaced)
			if want := asked == fits; (placed.Status == metav1.ConditionTrue) != want || (!want && placed.Reason != api.ReasonNoNUMAFit) {
				t.Errorf("Placed is %s/%s %q", placed.Status, placed.Reason, placed.Message)
			}
		})
	}
}

// TestIntegrationFleetCallsAreBounded settles a fleet and then looks at it once more: the second look is free. The
// API server of this test does not scale; testFleet asks a real one, for a thousand where it is told to.
func TestIntegrationFleetCallsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("a fleet takes a while")
	}
	const instances = 24
	for name, spec := range map[string]func(*api.UPFInstance){
		"Any":       func(*api.UPFInstance) {},
		"PerSocket": perSocket(1),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 32, instances, spec)
			begin := time.Now()
			passes := f.settle()
			t.Logf("%d UPFInstances on 32 nodes, %s: %d calls (%.1f each), %d passes, %s\n%s", instances, name,
				f.total(), float64(f.total())/float64(instances), passes, time.Since(begin).Round(time.Millisecond), f.table())
			if most := controllertest.CallsPerInstance * instances; f.total() > most {
				t.Errorf("%d calls, at most %d are allowed", f.total(), most)
			}
			if f.calls["create v1.Pod"] != instances || f.calls["delete v1.Pod"] > 0 {
				t.Errorf("%d pods made, %d deleted", f.calls["create v1.Pod"], f.calls["delete v1.Pod"])
			}
			f.calls = map[string]int{}
			if f.settle(); f.total() != 0 {
				t.Errorf("the second look costs\n%s", f.table())
			}
		})
	}
}
