package upf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// wantedUnits is how many pods there should be.
func wantedUnits(upf *api.UPFInstance) int {
	if !upf.DeletionTimestamp.IsZero() || upf.Spec.AdministrativeState == api.StateLocked || upf.Spec.AdministrativeState == api.StateShuttingDown {
		return 0
	}
	return specs.PossibleUnits(upf)
}

// wantedUnits is wantedUnits of the UPFInstance. While no pod can be made, it is what is asked for: what is wrong may be the addresses of units that run.
func (s *scope) wantedUnits() int {
	wanted := wantedUnits(s.upf)
	if s.halted != nil && wanted > 0 {
		return specs.AskedUnits(s.upf)
	}
	return wanted
}

// findUnits lists the units that there should be and those that are still there, each with its N4 Service:
// a locked unit keeps it, so that SMFs find the same address when it is unlocked.
func (r *Reconciler) findUnits(ctx context.Context, s *scope) error {
	pods, err := r.pods(ctx, s.upf)
	if err != nil {
		return err
	}
	byNumber := map[int]map[specs.Member]*corev1.Pod{}
	numbers := map[int]bool{}
	for unit := range specs.PossibleUnits(s.upf) {
		numbers[unit] = true
	}
	for i := range pods {
		number, member, is := specs.UnitOfPod(s.upf, &pods[i])
		if !is {
			continue
		}
		if byNumber[number] == nil {
			byNumber[number] = map[specs.Member]*corev1.Pod{}
		}
		byNumber[number][member] = &pods[i]
		if cluster.Owns(s.upf, &pods[i]) {
			numbers[number] = true
		}
	}
	for _, number := range slices.Sorted(maps.Keys(numbers)) {
		u := newUnitScope(s.upf, number)
		if s.halted != nil {
			u.wanted = number < s.wantedUnits()
			u.keepAddresses(s.upf)
		}
		if err := r.findMembers(ctx, s, u, byNumber[number]); err != nil {
			return err
		}
		service := specs.N4Service(s.upf, number)
		if u.leftover != nil {
			specs.LeadToServing(service)
		}
		err := r.applier.ApplyService(ctx, s.kept, service)
		taken := (*cluster.TakenError)(nil)
		if err != nil && !errors.As(err, &taken) {
			return err
		}
		switch {
		case taken != nil:
			u.taken = taken.Error()
			s.again(cluster.TakenRetry)
		case s.upf.Spec.N4.ServiceType == corev1.ServiceTypeLoadBalancer:
			if err := r.findOutside(ctx, s, u); err != nil {
				return err
			}
		default:
			u.status.N4Address = service.Spec.ClusterIP
		}
		if u.standby != nil {
			u.standby.status.N4Address, u.standby.taken, u.standby.unreached = u.status.N4Address, u.taken, u.unreached
		}
		s.units = append(s.units, u)
	}
	return nil
}

// findOutside gives the unit the address that a load balancer has given its Service for other clusters. Until then it keeps the one that it has: a
// load balancer that is away for a moment restarts nothing.
func (r *Reconciler) findOutside(ctx context.Context, s *scope, u *unitScope) error {
	service := specs.N4OutsideService(s.upf, u.number)
	if u.leftover != nil {
		specs.LeadToServing(service)
	}
	err := r.applier.ApplyService(ctx, s.kept, service)
	if taken := (*cluster.TakenError)(nil); errors.As(err, &taken) {
		u.taken = taken.Error()
		s.again(cluster.TakenRetry)
		return nil
	}
	if err != nil {
		return err
	}
	if at := specs.BalancedAt(service); at != "" {
		u.status.N4Address = at
	}
	if u.status.N4Address == "" {
		u.unreached = fmt.Sprintf("no load balancer has given Service %s an address yet: see that the cluster has one (spec.n4.loadBalancerClass), or leave out spec.n4.serviceType", service.Name)
	}
	return nil
}

// admitOutside lets SMFs of other clusters through to the units, where the core's policies keep them out.
func (r *Reconciler) admitOutside(ctx context.Context, s *scope) error {
	policy := specs.OutsidePolicy(s.upf)
	if s.upf.Spec.N4.ServiceType != corev1.ServiceTypeLoadBalancer || s.core == nil || s.core.Spec.NetworkPolicy.Mode == api.NetworkPolicyDisabled {
		// Without policies of the core this one would shut out everybody else.
		return r.applier.Remove(ctx, s.upf, policy)
	}
	err := r.applier.Apply(ctx, policy)
	taken := (*cluster.TakenError)(nil)
	if !errors.As(err, &taken) {
		return err
	}
	s.again(cluster.TakenRetry)
	for _, u := range s.members() {
		u.taken = taken.Error()
	}
	return nil
}

// applyBudget keeps evictions from the units.
func (r *Reconciler) applyBudget(ctx context.Context, s *scope) error {
	err := r.applier.Apply(ctx, specs.DisruptionBudget(s.upf, s.wantedUnits()))
	if taken := (*cluster.TakenError)(nil); errors.As(err, &taken) {
		s.unguarded = taken.Error()
		s.again(cluster.TakenRetry)
		return nil
	}
	return err
}

func (r *Reconciler) keepUnits(ctx context.Context, s *scope) error {
	for _, u := range s.members() {
		u.want = specs.UPFMember(s.upf, s.core, r.Platform, u.number, u.member, u.status.N4Address)
	}
	for _, u := range s.units {
		if err := r.keepStandby(ctx, s, u); err != nil {
			return err
		}
		if err := r.keepUnit(ctx, s, u); err != nil {
			return err
		}
	}
	return nil
}

// removeSurplus takes away N4 Services of units that are gone, and configurations that no pod reads.
func (r *Reconciler) removeSurplus(ctx context.Context, s *scope) error {
	read, fronted := map[string]bool{}, map[string]bool{}
	for _, u := range s.members() {
		if u.want.Config != nil {
			read[u.want.Config.Name] = true
		}
		for _, pod := range []*corev1.Pod{u.pod, u.leftover} {
			for _, name := range configurationsOf(pod) {
				read[name] = true
			}
		}
		fronted[specs.N4ServiceName(s.upf.Name, u.number)] = true
		if s.upf.Spec.N4.ServiceType == corev1.ServiceTypeLoadBalancer {
			fronted[specs.N4OutsideServiceName(s.upf.Name, u.number)] = true
		}
		if u.of != nil || s.halted != nil { // what runs may be of the time with redundancy
			for _, m := range specs.Members {
				fronted[specs.StandbyServiceName(s.upf.Name, u.number, m)] = true
			}
		}
	}
	of := []client.ListOption{client.InNamespace(s.upf.Namespace), client.MatchingLabels(specs.UPFSelector(s.upf)), client.UnsafeDisableDeepCopy}
	var configs corev1.ConfigMapList
	if err := r.List(ctx, &configs, of...); err != nil {
		return err
	}
	for i := range configs.Items {
		c := &configs.Items[i]
		restored := cluster.Orphan(c) && c.Labels[api.LabelComponent] != specs.ComponentAllocations
		if !read[c.Name] && (restored || cluster.Owns(s.upf, c)) {
			if err := client.IgnoreNotFound(r.Delete(ctx, c.DeepCopy())); err != nil {
				return err
			}
		}
	}
	var services corev1.ServiceList
	if err := r.List(ctx, &services, of...); err != nil {
		return err
	}
	for i := range services.Items {
		if c := &services.Items[i]; !fronted[c.Name] && cluster.Owns(s.upf, c) {
			if err := client.IgnoreNotFound(r.Delete(ctx, c.DeepCopy())); err != nil {
				return err
			}
			s.kept.ForgetService(c.Name)
		}
	}
	return nil
}

// configurationsOf a pod, which may be nil, are the ConfigMaps that it reads.
func configurationsOf(pod *corev1.Pod) (names []string) {
	if pod == nil {
		return nil
	}
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap != nil {
			names = append(names, v.ConfigMap.Name)
		}
	}
	return names
}

// knowSuccessors says what to write so that a shard's next holder is known to the units.
func (r *Reconciler) knowSuccessors(ctx context.Context, s *scope) error {
	if s.core == nil || !s.core.OwnControlPlane() {
		meta.RemoveStatusCondition(&s.upf.Status.Conditions, api.ConditionSuccessorsKnown)
		return nil
	}
	var pods corev1.PodList
	smf := client.MatchingLabels(specs.Labels(s.core.Name, string(api.FunctionSMF)))
	if err := r.List(ctx, &pods, client.InNamespace(s.upf.Namespace), smf, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	var addresses []netip.Addr
	for i := range pods.Items {
		if a, err := netip.ParseAddr(pods.Items[i].Status.PodIP); err == nil {
			addresses = append(addresses, a)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	if problem := specs.ControlPlaneSubnetsProblem(s.upf, s.core, addresses); problem != nil {
		s.again(successorsRetry)
		s.conditions.No(api.ConditionSuccessorsKnown, problem.Reason, problem.Message)
		return nil
	}
	s.conditions.Yes(api.ConditionSuccessorsKnown, api.ReasonReady, "pods of the SMF take each other's associations over at once")
	return nil
}
