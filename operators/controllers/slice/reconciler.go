package slice

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"core5g.dev/core5g/images/nf/sbitls"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// Reconciler makes the SMF of a Slice, where it has one of its own (controlPlane Free5GC, or sessionManagement Dedicated), and says whether the
// Slice is served; it makes nothing that another Slice or the core uses.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live     client.Reader
	Platform specs.Platform
	Recorder record.EventRecorder
	Now      func() time.Time
	// Release tells a UPF that the association of an SMF is over.
	Release func(ctx context.Context, upfAddress, smfNodeID string) error
	// UserPlane returns the user-plane API of the SMF at a base URL.
	UserPlane  func(baseURL string, identity *sbitls.Identity) UserPlane
	Identities *certifying.Identities

	applier   *applying.Applier
	certifier *certifying.Certifier
	// asking asks SMFs and UPFs beside the passes.
	asking *asking.Questions
}

type scope struct {
	slice      *api.Slice
	conditions conditions.List
	// core and upf are nil when they do not exist.
	core   *api.Core5G
	others []api.Slice
	upf    *api.UPFInstance
	// upfs are all of the namespace, once they were looked for: Reconciler.upfs.
	upfs []api.UPFInstance
	// started is set where an SMF was, though the selector means another UPFInstance than it has.
	started bool
	// held is why the Slice stays with a UPFInstance that its selector does not mean.
	held string
	// recorded is the UPFInstance that the written status names.
	recorded string
	// usable is false when no SMF may be started.
	usable bool
	// kept is what Services of the Slice's SMF are to have again.
	kept *applying.Allocations
	// units of the UPFInstance, where it has several: all, and without those that the SMF is to forget.
	units, live []specs.SliceUnit
	// smfAddress and smfService are the ClusterIP of the SMF's Service and its name.
	smfAddress, smfService string
	requeue                time.Duration
}

func (s *scope) again(in time.Duration) {
	if s.requeue == 0 || in < s.requeue {
		s.requeue = max(in, time.Millisecond)
	}
}

// Reconcile brings one Slice about.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	slice := &api.Slice{}
	if err := r.Get(ctx, req.NamespacedName, slice); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !slice.DeletionTimestamp.IsZero() {
		return r.delete(ctx, slice)
	}
	if controllerutil.AddFinalizer(slice, api.Finalizer) {
		if cluster.NamespaceEnds(ctx, r.Live, slice.Namespace) {
			return ctrl.Result{}, nil
		}
		if err := r.Update(ctx, slice); err != nil {
			return ctrl.Result{}, err
		}
	}
	base := slice.DeepCopy()
	s := &scope{slice: slice, usable: true, conditions: conditions.Of(&slice.Status.Conditions, slice.Generation), recorded: specs.NameOfUPF(slice.Status.UPF)}
	for _, phase := range []func(context.Context, *scope) error{
		r.findCore,
		r.checkAdvertised,
		r.findUPF,
		r.checkPools,
		r.checkFurther,
		r.findAllocations,
		r.applySMF,
		r.keepAllocations,
		r.leavePrevious,
		r.followUnits,
		r.sum,
	} {
		if err = phase(ctx, s); err != nil {
			break
		}
	}
	slice.Status.ObservedGeneration = slice.Generation
	if patchErr := conditions.PatchStatus(ctx, r.Client, base, slice, base.Status, slice.Status); err == nil {
		err = patchErr
	}
	return ctrl.Result{RequeueAfter: s.requeue}, err
}

func (r *Reconciler) findCore(ctx context.Context, s *scope) error {
	s.slice.Status.SNSSAI = s.slice.Spec.SNSSAI.String()
	s.slice.Status.Summary = specs.SummaryOf(s.slice)
	core := &api.Core5G{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.slice.Namespace, Name: s.slice.Spec.CoreRef.NameOrDefault()}, core)
	if err == nil {
		s.core = core
	}
	return client.IgnoreNotFound(err)
}

// checkAdvertised compares the S-NSSAI with what the AMF has told gNBs and UEs.
func (r *Reconciler) checkAdvertised(ctx context.Context, s *scope) error {
	var all api.SliceList
	if err := r.List(ctx, &all, client.InNamespace(s.slice.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	s.others = all.Items
	advertised := specs.AdvertisedProblem(s.slice, s.core)
	if s.core == nil {
		s.usable = false
		s.conditions.Unknown(api.ConditionAdvertised, advertised.Reason, advertised.Message)
		return nil
	}
	if problem := specs.SNSSAIProblem(s.slice, s.others); problem != nil {
		s.usable = false
		s.conditions.No(api.ConditionAdvertised, problem.Reason, problem.Message)
		return nil
	}
	if advertised != nil {
		s.conditions.No(api.ConditionAdvertised, advertised.Reason, advertised.Message)
		return nil
	}
	s.conditions.Yes(api.ConditionAdvertised, api.ReasonInCatalogue, fmt.Sprintf("the AMF advertises S-NSSAI %s", s.slice.Spec.SNSSAI))
	return nil
}

func (r *Reconciler) checkPools(ctx context.Context, s *scope) error {
	var pools []string
	for _, dn := range s.slice.Spec.DataNetworks {
		for _, p := range dn.UEPools {
			pools = append(pools, string(p))
		}
	}
	upfs, err := r.upfs(ctx, s)
	if err != nil {
		return err
	}
	problem := specs.CheckPools(s.slice, s.others, s.upf, upfs)
	if problem == nil {
		problem = s.cutPools()
	}
	if problem == nil {
		problem = specs.ExternalPoolProblem(s.slice, upfs)
	}
	// Pools in force stay: sessions outlive a network that the cluster is given later.
	if problem == nil && !slices.Equal(pools, s.slice.Status.UEPools) {
		networks, err := cluster.Networks(ctx, r.Client, r.Live, s.slice.Namespace)
		if err != nil {
			return err
		}
		problem = specs.ClusterProblem(s.slice, networks)
	}
	if problem != nil {
		s.usable = false
		s.slice.Status.UEPools = nil
		s.conditions.No(api.ConditionPoolsValid, problem.Reason, problem.Message)
		return nil
	}
	s.slice.Status.UEPools = pools
	s.conditions.Yes(api.ConditionPoolsValid, api.ReasonReady, poolsWords(pools))
	return nil
}

func poolsWords(pools []string) string {
	if len(pools) == 0 {
		return "the data networks are of Ethernet, which has no UE pools"
	}
	return "UE pools " + strings.Join(pools, ", ") + " are this Slice's alone"
}

func (r *Reconciler) findAllocations(ctx context.Context, s *scope) (err error) {
	s.kept, err = r.applier.AllocationsOf(ctx, s.slice, r.Recorder, specs.SliceAllocations(s.slice))
	return err
}

func (r *Reconciler) keepAllocations(ctx context.Context, s *scope) error {
	return s.taken(r.applier.Keep(ctx, s.kept))
}

// applySMF starts the Slice's SMF once it can be told everything, or says whether the core's serves it. One that runs already is left alone when its
// Slice has become unusable for a reason outside of it: sessions outlive a mistake.
func (r *Reconciler) applySMF(ctx context.Context, s *scope) error {
	name := specs.SMFObjectName(s.slice.Spec.CoreRef.NameOrDefault(), s.slice.Name)
	if s.usable && s.recorded != s.slice.Status.UPF.Name {
		// What is written keeps the endpoint, whatever comes in between: first that, then who uses it.
		s.usable = false
		s.conditions.No(api.ConditionSMFReady, api.ReasonProgressing, name+" is started with UPFInstance "+s.slice.Status.UPF.Name+" next")
		return nil
	}
	if !s.usable {
		s.conditions.No(api.ConditionSMFReady, api.ReasonProgressing, name+" is not started: the other conditions say why")
		return nil
	}
	for _, problem := range []*specs.Problem{specs.TLSProblem(s.core), specs.ControlPlaneProblem(s.slice, s.core), specs.LayoutProblem(s.slice, s.core), specs.FlowProblem(s.slice), specs.DNSProblem(s.slice, s.core)} {
		if problem != nil {
			s.conditions.No(api.ConditionSMFReady, problem.Reason, problem.Message)
			return nil
		}
	}
	if s.core.OwnControlPlane() {
		return r.applyOwnSMF(ctx, s)
	}
	if err := r.removeOwnSMF(ctx, s); err != nil {
		return err
	}
	service := specs.SMFService(s.core, s.slice, r.Platform)
	if err := r.applier.ApplyService(ctx, s.kept, service); err != nil {
		return s.taken(err)
	}
	problem, err := r.keepCertificate(ctx, s)
	if err != nil {
		return err
	}
	if problem != "" {
		s.conditions.No(api.ConditionSMFReady, api.ReasonProgressing, problem)
		return nil
	}
	objects := specs.SMF(s.core, s.slice, r.Platform, specs.SliceUserPlane{
		UPF:        s.upf.Name,
		N4Address:  s.slice.Status.UPF.N4Address,
		N3Endpoint: s.slice.Status.UPF.N3Endpoint,
		Units:      s.units,
		Parts:      specs.Parts(s.upf),
		SMFAddress: service.Spec.ClusterIP,
	})
	s.smfAddress = service.Spec.ClusterIP
	s.smfService = service.Name
	if err := r.applier.ApplyFunction(ctx, s.kept, &objects); err != nil {
		return s.taken(err)
	}
	s.slice.Status.SMF = name
	problem, err = workloads.DeploymentProblem(ctx, r.Client, objects.Deployment)
	if err != nil {
		return err
	}
	if problem != "" {
		s.conditions.No(api.ConditionSMFReady, api.ReasonProgressing, problem)
		return nil
	}
	s.conditions.Yes(api.ConditionSMFReady, api.ReasonReady, name+" is ready")
	return nil
}

// taken turns a name that somebody else has into a condition; other errors stay errors.
func (s *scope) taken(err error) error {
	taken, is := cluster.AsTaken(err)
	if !is {
		return err
	}
	s.conditions.No(api.ConditionSMFReady, api.ReasonNameTaken, taken.Error())
	s.requeue = cluster.TakenRetry
	return nil
}

func (r *Reconciler) sum(_ context.Context, s *scope) error {
	kinds := []string{api.ConditionAdvertised, api.ConditionPoolsValid, api.ConditionUPFReady, api.ConditionSMFReady}
	if s.several() && !s.core.OwnControlPlane() {
		kinds = append(kinds, api.ConditionUserPlaneFollowed)
	}
	if f := meta.FindStatusCondition(s.slice.Status.Conditions, api.ConditionFurtherUPFsReady); f != nil && f.Reason == api.ReasonNotFound {
		kinds = append(kinds, f.Type)
	}
	if a := meta.FindStatusCondition(s.slice.Status.Conditions, api.ConditionAdvertised); a != nil && a.Reason == api.ReasonRestartRequired {
		kinds = append(kinds[1:], kinds[0]) // a restart of the AMF is the last thing to ask for
	}
	if s.conditions.Sum(kinds, "UEs can have PDU sessions in this slice") {
		conditions.Announce(r.Recorder, s.slice, s.slice.Status.Conditions)
	}
	return nil
}

// SetupWithManager watches Slices, what they own, and what may make another one usable: its core, UPFs
// and other Slices.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.applier = applying.New(mgr.GetClient(), mgr.GetAPIReader())
	r.asking = asking.New()
	r.certifier = certifying.New(mgr.GetClient(), r.applier, r.Recorder, r.Now)
	return ctrl.NewControllerManagedBy(mgr).
		For(&api.Slice{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Watches(&api.Core5G{}, r.toSlices(ofCore), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.Slice{}, r.toSlices(besideSlice), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.UPFInstance{}, r.toSlices(onUPF), builder.WithPredicates(upfMatters())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(sliceOfPod)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(applying.NamedBy(api.LabelSlice)), applying.AllocationsMoved(api.LabelSlice)).
		Watches(&appsv1.Deployment{}, r.toSlices(servedBy), builder.WithPredicates(sharedSMF())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.slicesOfSecret)).
		WatchesRawSource(source.Channel(r.asking.Answered, &handler.EnqueueRequestForObject{})).
		Complete(r)
}

func sliceOfPod(_ context.Context, o client.Object) []reconcile.Request {
	slice := o.GetLabels()[api.LabelSlice]
	if slice == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: slice}}}
}
