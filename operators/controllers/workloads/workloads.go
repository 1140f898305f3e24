// Package workloads says how Deployments, pods and their nodes are, in words for a condition.
package workloads

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Available reports whether the Deployment runs what was last asked of it.
func Available(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation &&
		d.Status.UpdatedReplicas >= ptr.Deref(d.Spec.Replicas, 1) &&
		d.Status.AvailableReplicas >= ptr.Deref(d.Spec.Replicas, 1)
}

// ShareReady begins what is said of a Deployment of several pods.
func ShareReady(d *appsv1.Deployment) string {
	if want := ptr.Deref(d.Spec.Replicas, 1); want > 1 {
		return fmt.Sprintf("%d of %d pods of %s are ready: ", d.Status.ReadyReplicas, want, d.Name)
	}
	return ""
}

// PodProblem says in one sentence what keeps a pod from being ready: what the scheduler, the kubelet or
// a container says. A pod without a problem gives "".
func PodProblem(pod *corev1.Pod) string {
	if !pod.DeletionTimestamp.IsZero() {
		return fmt.Sprintf("pod %s is stopping", pod.Name)
	}
	if pod.Status.Phase == corev1.PodFailed {
		return fmt.Sprintf("pod %s failed: %s: %s", pod.Name, pod.Status.Reason, pod.Status.Message)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s is not scheduled: %s", pod.Name, c.Message)
		}
	}
	for _, s := range pod.Status.InitContainerStatuses {
		if s.State.Running != nil {
			return fmt.Sprintf("pod %s waits for its peers (container %s)", pod.Name, s.Name)
		}
		if p := ContainerProblem(pod.Name, s); p != "" {
			return p
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if p := ContainerProblem(pod.Name, s); p != "" {
			return p
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if !s.Ready {
			return fmt.Sprintf("pod %s: container %s is not ready yet", pod.Name, s.Name)
		}
	}
	return ""
}

// ContainerProblem says why a container does not run; "" where it does.
func ContainerProblem(pod string, s corev1.ContainerStatus) string {
	if w := s.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
		message := w.Message
		if t := s.LastTerminationState.Terminated; t != nil {
			message = fmt.Sprintf("%s (last exit: code %d, %s)", message, t.ExitCode, t.Reason)
		}
		return fmt.Sprintf("pod %s: container %s: %s: %s", pod, s.Name, w.Reason, message)
	}
	if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
		return fmt.Sprintf("pod %s: container %s ended with code %d: %s", pod, s.Name, t.ExitCode, t.Reason)
	}
	return ""
}

// PodReady reports the pod's Ready condition.
func PodReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// DeploymentProblem says why a Deployment is not available, or "". Its pods are told by the labels of its template, which may be more than it selects by.
func DeploymentProblem(ctx context.Context, c client.Client, d *appsv1.Deployment) (string, error) {
	if Available(d) {
		return "", nil
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Template.Labels)); err != nil {
		return "", err
	}
	onLost := ""
	for i := range pods.Items {
		pod := &pods.Items[i]
		lost, err := LossOfPod(ctx, c, pod)
		if err != nil {
			return "", err
		}
		if lost != nil { // what is made in its place says more
			onLost = lostPodProblem(pod, lost)
		} else if p := PodProblem(pod); p != "" {
			return p, nil
		}
	}
	if onLost != "" {
		return onLost, nil
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Message, nil
		}
	}
	return d.Name + " is starting", nil
}

// Restarts of all containers of a pod.
func Restarts(pod *corev1.Pod) int32 {
	var n int32
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}
