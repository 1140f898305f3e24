package core

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// lostPod is a pod of a Deployment of the core's on node w1, which Kubernetes gave up a while ago.
func lostPod(now time.Time) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "core5g", Name: "core-nrf-1", UID: "nrf", Labels: specs.Labels("core", string(api.FunctionNRF)),
			DeletionTimestamp: ptr.To(metav1.NewTime(now.Add(-time.Second))), Finalizers: []string{"test/kept"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "core-nrf", UID: "set", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "w1"},
	}
}

func nodeThatIs(ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Spec: corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(time.Unix(1000, 0))}}},
	}
}

func TestPodsOfALostNodeLeaveTheServices(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(2000, 0)
	volume := func(v corev1.VolumeSource) func(*corev1.Pod, *corev1.Node) {
		return func(p *corev1.Pod, _ *corev1.Node) { p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: v}} }
	}
	for name, c := range map[string]struct {
		change  func(*corev1.Pod, *corev1.Node)
		gone    bool
		requeue time.Duration
	}{
		"its time is over":                  {nil, true, 0},
		"its node only says that it is ill": {func(_ *corev1.Pod, n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, true, 0},
		"its time is not over": {func(p *corev1.Pod, _ *corev1.Node) {
			p.DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(7 * time.Second)))
		}, false, 7 * time.Second},
		"its node is there, and ends it":       {func(_ *corev1.Pod, n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue }, false, 0},
		"it has a claim":                       {volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "x"}}), false, 0},
		"it has a directory of its node":       {volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}), false, 0},
		"its scratch goes with it":             {volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), true, 0},
		"it is a unit's, by whose Lease it is": {func(p *corev1.Pod, _ *corev1.Node) { p.OwnerReferences[0].Kind = "UPFInstance" }, false, 0},
		"it is another core's":                 {func(p *corev1.Pod, _ *corev1.Node) { p.Labels = specs.Labels("other", string(api.FunctionNRF)) }, false, 0},
		"it is somebody else's":                {func(p *corev1.Pod, _ *corev1.Node) { delete(p.Labels, api.LabelManagedBy) }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pod, node := lostPod(now), nodeThatIs(corev1.ConditionUnknown)
			if c.change != nil {
				c.change(pod, node)
			}
			var deleted []string
			cl := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod, node).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(_ context.Context, _ client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					var asked client.DeleteOptions
					asked.ApplyOptions(opts)
					if ptr.Deref(asked.GracePeriodSeconds, -1) != 0 || asked.Preconditions == nil || *asked.Preconditions.UID != pod.UID {
						t.Errorf("deleted with %+v: want no grace, and this very pod", asked)
					}
					deleted = append(deleted, o.GetName())
					return nil
				},
			}).Build()
			s := &scope{core: &api.Core5G{ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "core"}}}
			if err := (&Reconciler{Client: cl, Now: func() time.Time { return now }}).clearLostNodes(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if (len(deleted) == 1) != c.gone || s.requeue != c.requeue {
				t.Errorf("deleted %q, looked at again after %s; want gone %v, %s", deleted, s.requeue, c.gone, c.requeue)
			}
		})
	}
}

func TestWhatIsSaidOfAPodOnALostNode(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*corev1.Pod, *corev1.Node)
		want   string
	}{
		"it leaves by itself": {nil, "pod core-nrf-1 is on node w1, not ready since 1970-01-01T00:16:40Z: another one is made elsewhere after 30s"},
		"it is given up":      {func(p *corev1.Pod, _ *corev1.Node) { p.DeletionTimestamp = ptr.To(metav1.Now()) }, ": another one is made elsewhere"},
		"it stays for ever": {func(p *corev1.Pod, _ *corev1.Node) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		},
			"which it tolerates: it is waited for; when the machine is off for sure: kubectl taint nodes w1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"},
		"it has a claim": {func(p *corev1.Pod, _ *corev1.Node) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}}
		}, "it has a volume, and is waited for; when the machine is off for sure: kubectl taint nodes w1"},
		"somebody knows":    {func(_ *corev1.Pod, n *corev1.Node) { n.Spec.Taints = []corev1.Taint{controllertest.OutOfService} }, "out of service: another one is made elsewhere"},
		"the node is there": {func(_ *corev1.Pod, n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue }, "core-nrf is starting"},
	} {
		t.Run(name, func(t *testing.T) {
			pod, node := lostPod(time.Unix(2000, 0)), nodeThatIs(corev1.ConditionUnknown)
			pod.DeletionTimestamp = nil
			for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
					Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](30),
				})
			}
			if c.change != nil {
				c.change(pod, node)
			}
			d := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "core-nrf"},
				Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}},
			}
			cl := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod, node).Build()
			got, err := workloads.DeploymentProblem(t.Context(), cl, d)
			if err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
			if c.change != nil {
				return
			}
			// What keeps the one in its place from running says more.
			fresh := lostPod(time.Unix(2000, 0))
			fresh.Name, fresh.DeletionTimestamp, fresh.Spec.NodeName = "core-nrf-2", nil, ""
			fresh.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "Insufficient cpu"}}
			if err := cl.Create(t.Context(), fresh); err != nil {
				t.Fatal(err)
			}
			if got, err := workloads.DeploymentProblem(t.Context(), cl, d); err != nil || !strings.Contains(got, "Insufficient cpu") {
				t.Errorf("%q, %v, want what the scheduler says of core-nrf-2", got, err)
			}
		})
	}
}
