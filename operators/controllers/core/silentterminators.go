package core

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// A node that is lost has its pods in the N2 Service for most of a minute: so long does Kubernetes wait for it, and so long a gNB that connects anew may be led to an N2 terminator
// that is dead, again and again. So the operator asks the terminators itself, and of one that says nothing while another one of the core answers it writes what Kubernetes
// would write at last: that the pod is not ready. The Service leads to the others then.
//
// That is safe. The last one that answers is never taken out, nor any by an operator that reaches none. Should the pod be well and only not reached from here, its kubelet writes
// again that it is ready. Every replica does so, whether or not it acts: the one that acts may have died with the node.

const (
	// silenceEvery is how often terminators are asked, and silenceLimit how long an answer is waited for.
	silenceEvery, silenceLimit = time.Second, time.Second
	// silences in a row take a pod for dead.
	silences = 3
	// ReasonSilent is that of the pod's condition.
	ReasonSilent = "NoAnswer"
)

// SilentTerminators takes N2 terminators out of their Service that do not answer.
type SilentTerminators struct {
	client.Client
	// Reach a pod, until ctx ends.
	Reach func(ctx context.Context, pod *corev1.Pod) error
	Now   func() time.Time

	// silent is how often in a row a pod has not answered.
	silent map[types.UID]int
}

var (
	_ manager.Runnable               = (*SilentTerminators)(nil)
	_ manager.LeaderElectionRunnable = (*SilentTerminators)(nil)
)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*SilentTerminators) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s *SilentTerminators) Start(ctx context.Context) error {
	ticker := time.NewTicker(silenceEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := s.look(ctx); err != nil && ctx.Err() == nil {
				ctrl.Log.Error(err, "N2 terminators that may be silent")
			}
		}
	}
}

// look asks all of them, once.
func (s *SilentTerminators) look(ctx context.Context) error {
	var pods corev1.PodList
	if err := s.List(ctx, &pods, client.MatchingLabels{api.LabelManagedBy: specs.FieldOwner, api.LabelComponent: specs.ComponentN2}); err != nil {
		return err
	}
	cores := map[types.NamespacedName][]*corev1.Pod{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp.IsZero() && pod.Status.PodIP != "" && workloads.PodReady(pod) {
			core := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[api.LabelInstance]}
			cores[core] = append(cores[core], pod)
		}
	}
	before := s.silent
	s.silent = map[types.UID]int{}
	for _, all := range cores {
		if len(all) < 2 {
			continue
		}
		said := s.ask(ctx, all)
		answers := 0
		for _, err := range said {
			if err == nil {
				answers++
			}
		}
		for n, pod := range all {
			if said[n] == nil {
				continue
			}
			s.silent[pod.UID] = before[pod.UID] + 1
			if s.silent[pod.UID] < silences || answers == 0 {
				continue
			}
			if err := s.takeOut(ctx, pod, said[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *SilentTerminators) ask(ctx context.Context, pods []*corev1.Pod) []error {
	ctx, cancel := context.WithTimeout(ctx, silenceLimit)
	defer cancel()
	said := make([]error, len(pods))
	var all sync.WaitGroup
	for n, pod := range pods {
		all.Go(func() { said[n] = s.Reach(ctx, pod) })
	}
	all.Wait()
	return said
}

// takeOut writes that a pod is not ready.
func (s *SilentTerminators) takeOut(ctx context.Context, pod *corev1.Pod, why error) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(s.Now()), Reason: ReasonSilent,
		Message: "it does not answer the operator, and another N2 terminator does: " + why.Error(),
	}}}})
	if err != nil {
		return err
	}
	ctrl.Log.Info("an N2 terminator does not answer: gNBs are led to others", "namespace", pod.Namespace, "pod", pod.Name, "node", pod.Spec.NodeName, "error", why.Error())
	return client.IgnoreNotFound(s.Status().Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, patch)))
}

// ReachMetrics of a pod, where the core's NetworkPolicies let the operator in.
func ReachMetrics(ctx context.Context, pod *corev1.Pod) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(specs.PortMetrics)))
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return connection.Close()
}
