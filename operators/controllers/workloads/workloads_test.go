package workloads

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestPodProblem(t *testing.T) {
	now := metav1.Now()
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	for name, c := range map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"a ready pod has none": {corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Ready: true}}}}, ""},
		"it is being deleted":  {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, "is stopping"},
		"the kubelet refused it": {corev1.Pod{Status: corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", Message: "no hugepages"}}, "UnexpectedAdmissionError: no hugepages"},
		"no node fits": {corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes: Insufficient cpu"}}}}, "Insufficient cpu"},
		"it waits for a peer": {corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "wait", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}}, "waits for its peers"},
		"the image is missing": {corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "amf", State: waiting("ImagePullBackOff", "not found")}}}}, "container amf: ImagePullBackOff: not found"},
		"it crashes, and the last exit is named": {corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "amf", State: waiting("CrashLoopBackOff", "back-off"),
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}},
		}}}}, "code 2, Error"},
		"one container is not ready": {corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "upf-u", Ready: true}, {Name: "upf-c"}}}}, "container upf-c is not ready yet"},
	} {
		t.Run(name, func(t *testing.T) {
			c.pod.Name = "p"
			got := PodProblem(&c.pod)
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want …%s…", got, c.want)
			}
		})
	}
}

func TestAvailable(t *testing.T) {
	for name, c := range map[string]struct {
		status appsv1.DeploymentStatus
		want   bool
	}{
		"running what was asked":       {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 1, AvailableReplicas: 1}, true},
		"the old one still runs":       {appsv1.DeploymentStatus{ObservedGeneration: 2, AvailableReplicas: 1}, false},
		"the change was not seen yet":  {appsv1.DeploymentStatus{ObservedGeneration: 1, UpdatedReplicas: 1, AvailableReplicas: 1}, false},
		"the new one is not ready yet": {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}, Status: c.status}
			if got := Available(d); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
