package upf

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// A node that says nothing may be off, or cut off, and its pods forward on. So silence is never a reason to make a unit elsewhere: two would
// have its addresses. A pod of a lost node is given up, its object deleted by force and another one made in its place, for one of two reasons.
//
//   - Somebody has said that the machine is off: the taint node.kubernetes.io/out-of-service, as for a node that was not shut down in order.
//   - The unit's Lease, which is read past the cache, names another pod as its holder, and not this one as the standby that may take over, when the
//     node has been lost for placement.lostNodeAfter. Then upf-u of this pod is silent, by its own clock, and stays so: to serve again its upf-c would have to
//     change the Lease, and its token for that is bound to the pod's object and ends with it.
//
// The holder itself is never given up for the second reason: where it names a standby, that takes over, and then it is no holder any more; where it
// names none it needs no grant, and nobody knows. An empty Lease may be claimed by any pod, and is no reason either.

// unitLoss is that of the node of a unit's pod.
type unitLoss struct {
	*workloads.LostNode
	// outlook is what becomes of the pod; abandoned is set where it is given up now.
	outlook   string
	abandoned bool
}

// lostNodeAfter is how long a node is waited for; 0 is without end.
func lostNodeAfter(upf *api.UPFInstance) time.Duration {
	if p := upf.Spec.Placement; p != nil && p.LostNodeAfter != nil {
		return p.LostNodeAfter.Duration
	}
	return 0
}

// leaveLostNodes gives up pods of lost nodes, where that is safe.
func (r *Reconciler) leaveLostNodes(ctx context.Context, s *scope) error {
	for _, u := range s.members() {
		if u.pod == nil || u.pod.Spec.NodeName == "" || !cluster.Owns(s.upf, u.pod) || finished(u.pod) {
			continue
		}
		node := &corev1.Node{}
		if err := r.Get(ctx, client.ObjectKey{Name: u.pod.Spec.NodeName}, node); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			continue // Kubernetes itself takes the pods of a node that was deleted
		}
		lost := workloads.LossOf(node)
		if lost == nil {
			continue
		}
		u.lost = &unitLoss{LostNode: lost}
		if err := r.judgeLoss(ctx, s, u); err != nil {
			return err
		}
	}
	return nil
}

// judgeLoss says what becomes of a pod on a lost node.
func (r *Reconciler) judgeLoss(ctx context.Context, s *scope, u *unitScope) error {
	lost, bound := u.lost, lostNodeAfter(s.upf)
	advice := lost.Advice()
	if lost.OutOfService {
		lost.abandoned, lost.outlook = true, "its taint says that it is out of service: the pod is made elsewhere"
		return nil
	}
	if bound == 0 {
		lost.outlook = "the pod stays until the node is back (placement.lostNodeAfter is not written); " + advice
		return nil
	}
	if until := lost.Since.Add(bound); r.Now().Before(until) {
		s.again(until.Sub(r.Now()))
		lost.outlook = fmt.Sprintf("the node is waited for until %s", until.UTC().Format(time.RFC3339))
		return nil
	}
	why, err := r.mayServe(ctx, s, u)
	if err != nil {
		return err
	}
	if why == "" {
		lost.abandoned, lost.outlook = true, "another pod has the unit by its Lease, and this one may not take it over: it is made elsewhere"
		return nil
	}
	lost.outlook = why + "; " + advice
	return nil
}

// mayServe says why a pod of which nothing is heard may forward, or come to it; "" where it may not.
func (r *Reconciler) mayServe(ctx context.Context, s *scope, u *unitScope) (string, error) {
	if !specs.Redundant(s.upf) || !specs.IsMember(u.pod) {
		return "nobody knows whether the pod forwards on", nil
	}
	fresh := specs.UnitLease(s.upf, u.number, 0)
	lease := &coordinationv1.Lease{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(fresh), lease); err != nil {
		return "the unit has no Lease that says who serves it", client.IgnoreNotFound(err)
	}
	if err := cluster.Belongs("Lease", lease, metav1.GetControllerOf(fresh)); err != nil {
		return err.Error(), nil
	}
	record, err := specs.UnitRecord(lease)
	switch {
	case err != nil:
		return err.Error(), nil
	case record.Holder == "":
		return fmt.Sprintf("nobody has the unit by Lease %s, and whoever comes first may take it", lease.Name), nil
	case isLife(u.pod, record.Holder) && record.Standby != "":
		return fmt.Sprintf("the pod has the unit by Lease %s, and its standby has not taken over", lease.Name), nil
	case isLife(u.pod, record.Holder):
		return fmt.Sprintf("the pod has the unit by Lease %s, and no standby: nobody knows whether it forwards on", lease.Name), nil
	case isLife(u.pod, record.Standby):
		return fmt.Sprintf("the pod may take the unit over by Lease %s, as long as who has it does not strike it out", lease.Name), nil
	}
	return "", nil
}

// abandon gives the pod up; it reports whether it is to be.
func (u *unitScope) abandon() bool {
	if u.lost == nil || !u.lost.abandoned {
		return false
	}
	u.status.Drain = nil
	u.doom(api.UnitTerminating, fmt.Sprintf("node %s is lost: %s", u.lost.Name, u.lost.outlook))
	return true
}

// observeLostNodes says which pods are on nodes that are lost, and what becomes of them.
func (s *scope) observeLostNodes() {
	var lost []string
	for _, u := range s.members() {
		if l := u.lost; l != nil {
			since := ""
			if !l.Since.IsZero() {
				since = ", not ready since " + l.Since.UTC().Format(time.RFC3339)
			}
			lost = append(lost, fmt.Sprintf("pod %s is on node %s%s: %s", u.pod.Name, l.Name, since, l.outlook))
		}
	}
	if len(lost) == 0 {
		meta.RemoveStatusCondition(&s.upf.Status.Conditions, api.ConditionNodesReachable)
		return
	}
	s.conditions.No(api.ConditionNodesReachable, api.ReasonNodeLost, strings.Join(lost, "; "))
}
