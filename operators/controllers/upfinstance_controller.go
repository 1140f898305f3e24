package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"core5g.dev/core5g/images/associations"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/topology"
)

const (
	// unitStopTimeout bounds how long the end of a UPFInstance waits for its pods.
	unitStopTimeout = 2 * time.Minute
	// multusRetry is how often a missing NetworkAttachmentDefinition kind is looked for again.
	multusRetry = 30 * time.Second
	// successorsRetry is how often pods of the SMF are compared again with the subnets that leave them out.
	successorsRetry = 30 * time.Second
	// staleRetry gives the cache time to catch up with the API server.
	staleRetry = 50 * time.Millisecond
)

// UPFReconciler makes the pods of a UPFInstance, or looks after one that runs elsewhere (external.go), without a workload controller in between: a UPF unit is
// restarted only when somebody has asked for it, or when it is gone.
type UPFReconciler struct {
	client.Client
	Platform specs.Platform
	Recorder record.EventRecorder
	Now      func() time.Time

	// Live reads past the cache.
	Live client.Reader
	// Sessions counts the PFCP sessions of a unit.
	Sessions func(ctx context.Context, pod *corev1.Pod) (int64, error)
	// Topology asks a unit where its CPUs, ports and memory are.
	Topology func(ctx context.Context, pod *corev1.Pod) (*topology.Topology, error)
	// Associations asks a pod of the SMF for its associations with UPFs, and how many sessions some have, by Node ID.
	Associations func(ctx context.Context, pod *corev1.Pod, units []string) (*associations.Report, error)
	// Rejections counts pods that were refused or failed, by place and reason.
	Rejections *prometheus.CounterVec

	applier   *applying.Applier
	certifier *certifying.Certifier
	// asking asks units beside the passes.
	asking *asking.Questions
	// began is when this operator looked at a UPFInstance first.
	began time.Time
	begin sync.Once
}

type upfScope struct {
	upf        *api.UPFInstance
	core       *api.Core5G
	conditions conditions.List
	// kept is what was given to Slices, and what N4 Services are to have again.
	kept *applying.Allocations
	// halted is why no pod can be made; what runs goes on running then.
	halted *specs.Problem
	// unguarded is why nothing keeps evictions from the units.
	unguarded string
	// unlinked is why no member of a unit with redundancy can be made.
	unlinked string
	units    []*unitScope
	requeue  time.Duration
}

func (s *upfScope) again(in time.Duration) {
	if s.requeue == 0 || in < s.requeue {
		s.requeue = max(in, time.Millisecond)
	}
}

// halt lets no pod be made in this pass, for the first reason that there is.
func (s *upfScope) halt(problem *specs.Problem) {
	if s.halted == nil {
		s.halted = problem
	}
}

// Reconcile brings one UPFInstance about.
func (r *UPFReconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	r.begin.Do(func() { r.began = r.Now() })
	upf := &api.UPFInstance{}
	if err := r.Get(ctx, req.NamespacedName, upf); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !upf.DeletionTimestamp.IsZero() {
		return r.delete(ctx, upf)
	}
	if controllerutil.AddFinalizer(upf, api.Finalizer) {
		if cluster.NamespaceEnds(ctx, r.Live, upf.Namespace) {
			return ctrl.Result{}, nil
		}
		if err := r.Update(ctx, upf); err != nil {
			return ctrl.Result{}, err
		}
	}
	base := upf.DeepCopy()
	s := &upfScope{upf: upf, conditions: conditions.Of(&upf.Status.Conditions, upf.Generation)}
	phases := []func(context.Context, *upfScope) error{
		r.findCore,
		r.allocateEndpoints,
		r.applyAttachments,
		r.linkMembers,
		r.findUnits,
		r.admitOutside,
		r.leaveLostNodes,
		r.placeUnits,
		r.keepUnits,
		r.removeSurplus,
		r.keepAllocations,
		r.applyBudget,
		r.observeUnits,
		r.knowSuccessors,
		r.sum,
	}
	if upf.Spec.External != nil {
		phases = r.externalPhases()
	}
	for _, phase := range phases {
		if err = phase(ctx, s); err != nil {
			break
		}
	}
	upf.Status.ObservedGeneration = upf.Generation
	if upf.Spec.External == nil {
		upf.Status.Selector = labels.SelectorFromSet(specs.UPFSelector(upf)).String()
	}
	if patchErr := conditions.PatchStatus(ctx, r.Client, base, upf, base.Status, upf.Status); err == nil {
		err = patchErr
	}
	if err == nil && upf.Spec.External == nil {
		err = r.discard(ctx, s)
	}
	if errors.Is(err, errStale) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{RequeueAfter: s.requeue}, err
}

// delete drains the units as any others that are to stop, before the NetworkAttachmentDefinitions go with the
// object: Multus needs them to take the interfaces down. It makes nothing, so that it can be done in a namespace
// that ends, and it ends in any case. Its clocks begin with what is done, not with the deletion: the operator
// may have been away.
func (r *UPFReconciler) delete(ctx context.Context, upf *api.UPFInstance) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(upf, api.Finalizer) {
		return ctrl.Result{}, nil
	}
	if cluster.NamespaceEnds(ctx, r.Live, upf.Namespace) {
		controllerutil.RemoveFinalizer(upf, api.Finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, upf))
	}
	if upf.Spec.External != nil {
		return r.deleteExternal(ctx, upf)
	}
	pods, err := r.pods(ctx, upf)
	if err != nil {
		return ctrl.Result{}, err
	}
	base := upf.DeepCopy()
	s := &upfScope{upf: upf, conditions: conditions.Of(&upf.Status.Conditions, upf.Generation)}
	stuck := ""
	for i := range pods {
		pod := &pods[i]
		if !cluster.Owns(upf, pod) {
			continue
		}
		number, _, is := specs.UnitOfPod(upf, pod)
		if !is {
			number = -1
		}
		u := newUnitScope(upf, number)
		u.status.Name = pod.Name
		u.see(pod)
		if pod.DeletionTimestamp.IsZero() {
			if err := r.stop(ctx, s, u, "the UPFInstance is deleted"); err != nil {
				return ctrl.Result{}, err
			}
			s.units = append(s.units, u)
			continue
		}
		left := pod.DeletionTimestamp.Add(unitStopTimeout).Sub(r.Now())
		if left <= 0 {
			stuck = pod.Name
			continue
		}
		s.again(min(left, 5*time.Second))
		u.note(api.UnitTerminating, "the pod is stopping")
		s.units = append(s.units, u)
	}
	if len(s.units) > 0 {
		s.observeEnd()
		if err := conditions.PatchStatus(ctx, r.Client, base, upf, base.Status, upf.Status); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: s.requeue}, r.discard(ctx, s)
	}
	if stuck != "" {
		r.Recorder.Eventf(upf, corev1.EventTypeWarning, "UnitNotStopped",
			"pod %s did not stop within %s; the UPFInstance ends without it", stuck, unitStopTimeout)
	}
	if err := r.applier.ForgetAllocations(ctx, specs.UPFAllocations(upf)); err != nil {
		return ctrl.Result{}, err
	}
	controllerutil.RemoveFinalizer(upf, api.Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, upf))
}

// observeEnd says what the end of the UPFInstance waits for.
func (s *upfScope) observeEnd() {
	status := &s.upf.Status
	status.Units, status.ReadyUnits, status.UnitStatuses = int32(len(s.units)), 0, nil
	message := "the UPFInstance is deleted"
	for _, u := range s.units {
		status.UnitStatuses = append(status.UnitStatuses, u.status)
		message += "; " + u.status.Name + ": " + u.status.Message
	}
	slices.SortFunc(status.UnitStatuses, func(a, b api.UnitStatus) int { return strings.Compare(a.Name, b.Name) })
	status.Places = places(status.UnitStatuses)
	status.ObservedGeneration = s.upf.Generation
	s.conditions.No(api.ConditionUnitsReady, api.ReasonDeleting, message)
	s.conditions.No(api.ConditionReady, api.ReasonDeleting, message)
}

func (r *UPFReconciler) pods(ctx context.Context, upf *api.UPFInstance) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := r.List(ctx, &list, client.InNamespace(upf.Namespace), client.MatchingLabels(specs.UPFSelector(upf)))
	return list.Items, err
}

func (r *UPFReconciler) findCore(ctx context.Context, s *upfScope) error {
	core := &api.Core5G{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.upf.Namespace, Name: s.upf.Spec.CoreRef.NameOrDefault()}, core)
	if err == nil {
		s.core = core
	}
	return client.IgnoreNotFound(err)
}

// allocateEndpoints gives out and takes back N3 addresses. A Slice that is being deleted keeps its
// address until it is gone, and one whose selector means another UPFInstance until its status names this one no
// more: its SMF may still use it. What is written down as given is, even if the Slice has yet to come.
func (r *UPFReconciler) allocateEndpoints(ctx context.Context, s *upfScope) (err error) {
	if s.kept, err = r.applier.AllocationsOf(ctx, s.upf, r.Recorder, specs.UPFAllocations(s.upf)); err != nil {
		return err
	}
	var all api.SliceList
	if err := r.List(ctx, &all, client.InNamespace(s.upf.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	var upfs api.UPFInstanceList
	if err := r.List(ctx, &upfs, client.InNamespace(s.upf.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	before := s.upf.Status.Endpoints
	given, absent := s.given(all.Items)
	s.upf.Status.Endpoints = given
	var wanted []api.Slice
	for i := range all.Items {
		selects := specs.Selects(&all.Items[i], s.upf, upfs.Items)
		if !selects && !specs.Uses(&all.Items[i], s.upf.Name) {
			continue
		}
		fresh := specs.EndpointOf(s.upf, all.Items[i].Name) == ""
		if fresh && (!selects || !all.Items[i].DeletionTimestamp.IsZero() || s.upf.Spec.AdministrativeState == api.StateShuttingDown) {
			continue
		}
		wanted = append(wanted, all.Items[i])
	}
	mistake := specs.AddressProblem(s.upf, upfs.Items)
	if mistake == nil {
		mistake = specs.NetworksProblem(s.upf)
	}
	if mistake == nil {
		mistake = specs.MemoryProblem(s.upf, s.core)
	}
	var stay []api.EndpointAllocation
	if mistake != nil {
		s.halt(mistake)
		stay, wanted = staying(before, wanted)
		if !s.conditions.Is(api.ConditionPlaced) {
			s.conditions.No(api.ConditionPlaced, mistake.Reason, mistake.Message)
		}
	}
	allocated, left := specs.AllocateEndpoints(s.upf, wanted, slices.Concat(absent, stay)...)
	allocated = slices.SortedFunc(slices.Values(slices.Concat(allocated, stay)), func(a, b api.EndpointAllocation) int { return strings.Compare(a.Slice, b.Slice) })
	s.upf.Status.Endpoints = allocated
	s.keepEndpoints(slices.Concat(allocated, absent))
	if err := r.keepAllocations(ctx, s); err != nil { // before anybody is told
		return err
	}
	for _, problem := range []*specs.Problem{mistake, specs.EndpointsProblem(s.upf, left), specs.UnitsProblem(s.upf)} {
		if problem != nil {
			s.conditions.No(api.ConditionEndpointsAllocated, problem.Reason, problem.Message)
			return nil
		}
	}
	message := fmt.Sprintf("%d N3 endpoints of %s are given out", len(allocated), s.upf.Spec.N3.Endpoints)
	if len(absent) > 0 {
		message += fmt.Sprintf(", and %d kept for Slices that are not there (%s, in ConfigMap %s)", len(absent), absent[0].Slice, s.kept.Record.Name)
	}
	s.conditions.Yes(api.ConditionEndpointsAllocated, api.ReasonReady, message)
	return nil
}

// staying are endpoints that Slices keep, because the pods that have them do; the other Slices are left.
func staying(had []api.EndpointAllocation, wanted []api.Slice) (stay []api.EndpointAllocation, others []api.Slice) {
	for i := range wanted {
		at := slices.IndexFunc(had, func(e api.EndpointAllocation) bool { return e.Slice == wanted[i].Name })
		if at < 0 {
			others = append(others, wanted[i])
			continue
		}
		stay = append(stay, had[at])
	}
	return stay, others
}

// given are the N3 endpoints of Slices, by what is written down and else by the status; absent those of Slices that have not come yet.
func (s *upfScope) given(all []api.Slice) (given, absent []api.EndpointAllocation) {
	of := func(slice string) func(api.EndpointAllocation) bool {
		return func(e api.EndpointAllocation) bool { return e.Slice == slice }
	}
	for _, e := range specs.AllocatedEndpoints(s.kept.Entries) {
		switch {
		case slices.ContainsFunc(all, func(slice api.Slice) bool { return slice.Name == e.Slice }):
			given = append(given, e)
		case !slices.ContainsFunc(s.upf.Status.Endpoints, of(e.Slice)):
			absent = append(absent, e)
		}
	}
	for _, e := range s.upf.Status.Endpoints {
		if !slices.ContainsFunc(given, of(e.Slice)) {
			given = append(given, e)
		}
	}
	return given, absent
}

// keepEndpoints has these written down, and no others.
func (s *upfScope) keepEndpoints(endpoints []api.EndpointAllocation) {
	for key := range specs.AllocationsOfEndpoints(specs.AllocatedEndpoints(s.kept.Entries)) {
		delete(s.kept.Entries, key)
	}
	maps.Copy(s.kept.Entries, specs.AllocationsOfEndpoints(endpoints))
}

func (r *UPFReconciler) keepAllocations(ctx context.Context, s *upfScope) error {
	return s.taken(r.applier.Keep(ctx, s.kept))
}

// taken turns the name of the ConfigMap that somebody else has into a condition; other errors stay errors.
func (s *upfScope) taken(err error) error {
	taken, is := cluster.AsTaken(err)
	if !is {
		return err
	}
	s.halt(&specs.Problem{Reason: api.ReasonNameTaken, Message: taken.Error()})
	s.again(cluster.TakenRetry)
	s.conditions.No(api.ConditionPlaced, api.ReasonNameTaken, taken.Error())
	return nil
}

func (r *UPFReconciler) applyAttachments(ctx context.Context, s *upfScope) error {
	_, err := r.RESTMapper().RESTMapping(specs.AttachmentKind.GroupKind(), specs.AttachmentKind.Version)
	if meta.IsNoMatchError(err) {
		message := "the cluster has no kind NetworkAttachmentDefinition, so no pod can have N3 and N6 interfaces: install Multus"
		s.halt(&specs.Problem{Reason: api.ReasonNoMultus, Message: message})
		s.again(multusRetry)
		s.conditions.No(api.ConditionN3Attached, api.ReasonNoMultus, message)
		s.conditions.No(api.ConditionN6Attached, api.ReasonNoMultus, message)
		s.conditions.No(api.ConditionPlaced, api.ReasonNoMultus, message)
		return nil
	}
	if err != nil {
		return err
	}
	for _, a := range specs.Attachments(s.upf) {
		err := r.applier.Apply(ctx, a)
		if taken := (*cluster.TakenError)(nil); errors.As(err, &taken) {
			s.halt(&specs.Problem{Reason: api.ReasonNameTaken, Message: taken.Error()})
			s.again(cluster.TakenRetry)
			s.conditions.No(api.ConditionPlaced, api.ReasonNameTaken, taken.Error())
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wantedUnits is how many pods there should be.
func wantedUnits(upf *api.UPFInstance) int {
	if !upf.DeletionTimestamp.IsZero() || upf.Spec.AdministrativeState == api.StateLocked || upf.Spec.AdministrativeState == api.StateShuttingDown {
		return 0
	}
	return specs.PossibleUnits(upf)
}

// wantedUnits is wantedUnits of the UPFInstance. While no pod can be made, it is what is asked for: what is wrong may be the addresses of units that run.
func (s *upfScope) wantedUnits() int {
	wanted := wantedUnits(s.upf)
	if s.halted != nil && wanted > 0 {
		return specs.AskedUnits(s.upf)
	}
	return wanted
}

// findUnits lists the units that there should be and those that are still there, each with its N4 Service:
// a locked unit keeps it, so that SMFs find the same address when it is unlocked.
func (r *UPFReconciler) findUnits(ctx context.Context, s *upfScope) error {
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
func (r *UPFReconciler) findOutside(ctx context.Context, s *upfScope, u *unitScope) error {
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
func (r *UPFReconciler) admitOutside(ctx context.Context, s *upfScope) error {
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
func (r *UPFReconciler) applyBudget(ctx context.Context, s *upfScope) error {
	err := r.applier.Apply(ctx, specs.DisruptionBudget(s.upf, s.wantedUnits()))
	if taken := (*cluster.TakenError)(nil); errors.As(err, &taken) {
		s.unguarded = taken.Error()
		s.again(cluster.TakenRetry)
		return nil
	}
	return err
}

func (r *UPFReconciler) keepUnits(ctx context.Context, s *upfScope) error {
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
func (r *UPFReconciler) removeSurplus(ctx context.Context, s *upfScope) error {
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
func (r *UPFReconciler) knowSuccessors(ctx context.Context, s *upfScope) error {
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

func (r *UPFReconciler) sum(_ context.Context, s *upfScope) error {
	kinds := []string{
		api.ConditionPlaced, api.ConditionN3Attached, api.ConditionN6Attached,
		api.ConditionUnitsReady, api.ConditionEndpointsAllocated,
	}
	if meta.IsStatusConditionFalse(s.upf.Status.Conditions, api.ConditionLinksUp) { // who does not know is no reason
		kinds = append(kinds, api.ConditionLinksUp)
	}
	if s.conditions.Sum(kinds, fmt.Sprintf("%d units forward packets", s.upf.Status.ReadyUnits)) {
		conditions.Announce(r.Recorder, s.upf, s.upf.Status.Conditions)
	}
	return nil
}

// SetupWithManager watches UPFInstances, what they own, their Slices and their core, and what may give a
// place to a unit that has none: DataplaneNodes, Nodes and the end of other units.
func (r *UPFReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.applier = applying.New(mgr.GetClient(), mgr.GetAPIReader())
	r.certifier = certifying.New(r.Client, r.applier, r.Recorder, r.Now)
	r.asking = asking.New()
	return ctrl.NewControllerManagedBy(mgr).
		For(&api.UPFInstance{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{},
		))).
		Owns(&corev1.Pod{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&coordinationv1.Lease{}, builder.WithPredicates(unitMoved())).
		Owns(&networkingv1.NetworkPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.Slice{}, handler.EnqueueRequestsFromMapFunc(r.upfsOfSlice), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, sliceMoved()))).
		Watches(&api.Core5G{}, handler.EnqueueRequestsFromMapFunc(r.upfsOfCore), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.UPFInstance{}, handler.EnqueueRequestsFromMapFunc(r.overlappingUPFs), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.DataplaneNode{}, handler.EnqueueRequestsFromMapFunc(r.waitingUPFs)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.upfsOfNode), builder.WithPredicates(nodeChanged())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.waitingUPFs), builder.WithPredicates(unitEnded())).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(applying.NamedBy(api.LabelUPF)), applying.AllocationsMoved(api.LabelUPF)).
		WatchesRawSource(source.Channel(r.asking.Answered, &handler.EnqueueRequestForObject{})).
		Complete(r)
}

// unitEnded passes the end of pods of units.
func unitEnded() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(e event.DeleteEvent) bool { return e.Object.GetLabels()[api.LabelUPF] != "" },
	}
}

// nodeChanged passes what decides whether units may be on a node, and leaves out the kubelet's heartbeats.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, is := e.ObjectNew.(*corev1.Node)
		if !ok || !is {
			return true
		}
		return before.Spec.Unschedulable != after.Spec.Unschedulable ||
			!reflect.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
			!maps.Equal(before.Labels, after.Labels) ||
			nodeReady(before) != nodeReady(after)
	}}
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// waitingUPFs are those with a unit that has no place.
func (r *UPFReconciler) waitingUPFs(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.upfsWith(ctx, func(u *api.UnitStatus) bool { return u.State == api.UnitUnplaced })
}

// upfsOfNode are those with a unit on the node, and those that wait.
func (r *UPFReconciler) upfsOfNode(ctx context.Context, node client.Object) []reconcile.Request {
	return r.upfsWith(ctx, func(u *api.UnitStatus) bool {
		return u.State == api.UnitUnplaced || u.Node == node.GetName() || u.Standby != nil && u.Standby.Node == node.GetName()
	})
}

func (r *UPFReconciler) upfsWith(ctx context.Context, is func(*api.UnitStatus) bool) []reconcile.Request {
	var list api.UPFInstanceList
	if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		units := list.Items[i].Status.UnitStatuses
		for j := range units {
			if is(&units[j]) {
				out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
				break
			}
		}
	}
	return out
}

// overlappingUPFs are those that want addresses of this one, or wait for some that they can have.
func (r *UPFReconciler) overlappingUPFs(ctx context.Context, o client.Object) []reconcile.Request {
	changed, ok := o.(*api.UPFInstance)
	var list api.UPFInstanceList
	if !ok || r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		other := &list.Items[i]
		allocated := meta.FindStatusCondition(other.Status.Conditions, api.ConditionEndpointsAllocated)
		waits := allocated != nil && allocated.Reason == api.ReasonAddressOverlap
		if waits || specs.AddressProblem(other, []api.UPFInstance{*changed}) != nil {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
		}
	}
	return out
}

// sliceMoved passes changes of which UPFInstances a Slice uses.
func sliceMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*api.Slice)
		after, is := e.ObjectNew.(*api.Slice)
		return !ok || !is || specs.NameOfUPF(before.Status.UPF) != specs.NameOfUPF(after.Status.UPF) || specs.NameOfUPF(before.Status.PreviousUPF) != specs.NameOfUPF(after.Status.PreviousUPF)
	}}
}

// upfsOfSlice are those that the Slice may mean, that it uses, and that have an endpoint for it.
func (r *UPFReconciler) upfsOfSlice(ctx context.Context, o client.Object) []reconcile.Request {
	slice, ok := o.(*api.Slice)
	var list api.UPFInstanceList
	if !ok || r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		upf := &list.Items[i]
		if specs.MayMean(slice, upf) || specs.Uses(slice, upf.Name) || specs.EndpointOf(upf, slice.Name) != "" {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(upf)})
		}
	}
	return out
}

func (r *UPFReconciler) upfsOfCore(ctx context.Context, o client.Object) []reconcile.Request {
	var list api.UPFInstanceList
	if err := r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.CoreRef.NameOrDefault() == o.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}
