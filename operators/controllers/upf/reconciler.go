package upf

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

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

// Reconciler makes the pods of a UPFInstance, or looks after one that runs elsewhere (external.go), without a workload controller in between: a UPF unit is
// restarted only when somebody has asked for it, or when it is gone.
type Reconciler struct {
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

type scope struct {
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

func (s *scope) again(in time.Duration) {
	if s.requeue == 0 || in < s.requeue {
		s.requeue = max(in, time.Millisecond)
	}
}

// halt lets no pod be made in this pass, for the first reason that there is.
func (s *scope) halt(problem *specs.Problem) {
	if s.halted == nil {
		s.halted = problem
	}
}

// Reconcile brings one UPFInstance about.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
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
	s := &scope{upf: upf, conditions: conditions.Of(&upf.Status.Conditions, upf.Generation)}
	phases := []func(context.Context, *scope) error{
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

func (r *Reconciler) pods(ctx context.Context, upf *api.UPFInstance) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := r.List(ctx, &list, client.InNamespace(upf.Namespace), client.MatchingLabels(specs.UPFSelector(upf)))
	return list.Items, err
}

func (r *Reconciler) findCore(ctx context.Context, s *scope) error {
	core := &api.Core5G{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.upf.Namespace, Name: s.upf.Spec.CoreRef.NameOrDefault()}, core)
	if err == nil {
		s.core = core
	}
	return client.IgnoreNotFound(err)
}

func (r *Reconciler) applyAttachments(ctx context.Context, s *scope) error {
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

func (r *Reconciler) sum(_ context.Context, s *scope) error {
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
