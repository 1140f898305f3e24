package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// Pods of functions, which Deployments have, Kubernetes itself makes elsewhere when their node is lost: it marks them as deleted when they tolerate
// that no longer (specs.LeavesLostNode), and makes others. But the object of such a pod stays until its kubelet says that the pod has ended, and so does its
// address in the functions' Services, which have addresses of pods that are not ready: with a node that does not come back, every second
// connection would lead nowhere for ever. So the operator deletes the object by force when the pod would have ended.
//
// Should the pod run on, cut off, it does no harm: what a function must not do twice it does by a lease in the session store, and its kubelet ends it when it is
// back. A pod that has a volume is left: its data may be written by one alone, and only a person knows.

// clearLostNodes removes what Kubernetes has given up on nodes that are lost.
func (r *Reconciler) clearLostNodes(ctx context.Context, s *scope) error {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(s.core.Namespace), client.MatchingLabels{api.LabelInstance: s.core.Name, api.LabelManagedBy: specs.FieldOwner}); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp.IsZero() || !ofDeployment(pod) || workloads.KeepsData(pod) {
			continue
		}
		lost, err := workloads.LossOfPod(ctx, r.Client, pod)
		if err != nil {
			return err
		}
		if lost == nil {
			continue
		}
		// A deletion's time is that at which the pod has ended, if its kubelet has heard of it.
		if left := pod.DeletionTimestamp.Sub(r.Now()); left > 0 {
			s.again(left)
			continue
		}
		err = r.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: ptr.To(pod.UID)})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil && r.Recorder != nil {
			r.Recorder.Eventf(s.core, corev1.EventTypeNormal, "LostPodRemoved", "pod %s was given up with node %s", pod.Name, lost.Name)
		}
	}
	return nil
}

func ofDeployment(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "ReplicaSet"
}
