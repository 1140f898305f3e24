package workloads

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LostNode is what is known of a node that is not there.
type LostNode struct {
	Name string
	// Since when, where that is known.
	Since time.Time
	// OutOfService is set where somebody has said so.
	OutOfService bool
}

// Advice is what who knows more can do.
func (l *LostNode) Advice() string {
	return fmt.Sprintf("when the machine is off for sure: kubectl taint nodes %s %s=nodeshutdown:NoExecute", l.Name, corev1.TaintNodeOutOfService)
}

// LossOf a node; nil for one that is there.
func LossOf(node *corev1.Node) *LostNode {
	out := &LostNode{Name: node.Name}
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; t.Key == corev1.TaintNodeOutOfService {
			out.OutOfService = true
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			out.Since = c.LastTransitionTime.Time
			return out
		}
	}
	if out.OutOfService {
		return out
	}
	return nil
}

// KeepsData says whether a pod has a volume that outlives it.
func KeepsData(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.HostPath != nil })
}

// LossOfPod is that of its node; nil where that is there, or nobody knows of it.
func LossOfPod(ctx context.Context, c client.Reader, pod *corev1.Pod) (*LostNode, error) {
	if pod.Spec.NodeName == "" {
		return nil, nil
	}
	node := &corev1.Node{}
	if err := c.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return LossOf(node), nil
}

// lostPodProblem says what becomes of a function's pod whose node is lost.
func lostPodProblem(pod *corev1.Pod, lost *LostNode) string {
	said := fmt.Sprintf("pod %s is on node %s", pod.Name, lost.Name)
	if !lost.Since.IsZero() {
		said += ", not ready since " + lost.Since.UTC().Format(time.RFC3339)
	}
	switch after := staysFor(pod); {
	case lost.OutOfService:
		return said + ", which is out of service: another one is made elsewhere"
	case KeepsData(pod):
		return said + ": it has a volume, and is waited for; " + lost.Advice()
	case !pod.DeletionTimestamp.IsZero():
		return said + ": another one is made elsewhere"
	case after == nil:
		return said + ", which it tolerates: it is waited for; " + lost.Advice()
	default:
		return fmt.Sprintf("%s: another one is made elsewhere after %s", said, *after)
	}
}

// staysFor is how long a pod stays on a node of which nothing is heard; nil: for ever.
func staysFor(pod *corev1.Pod) *time.Duration {
	taint := &corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
	var least *time.Duration
	tolerated := false
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		if !t.ToleratesTaint(taint) {
			continue
		}
		tolerated = true
		if t.TolerationSeconds != nil {
			if d := time.Duration(*t.TolerationSeconds) * time.Second; least == nil || d < *least {
				least = &d
			}
		}
	}
	if !tolerated {
		return ptr.To(time.Duration(0))
	}
	return least
}
