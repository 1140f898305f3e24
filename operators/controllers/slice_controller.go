package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

const (
	// smfStopTimeout bounds how long the end of a Slice waits for its SMF.
	smfStopTimeout = time.Minute
	// releaseRetry is how soon a UPF that did not release sessions is asked again.
	releaseRetry = 2 * time.Second
)

// SliceReconciler makes the SMF of a Slice, where it has one of its own (controlPlane Free5GC, or sessionManagement Dedicated), and says whether the
// Slice is served; it makes nothing that another Slice or the core uses.
type SliceReconciler struct {
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

type sliceScope struct {
	slice      *api.Slice
	conditions conditions.List
	// core and upf are nil when they do not exist.
	core   *api.Core5G
	others []api.Slice
	upf    *api.UPFInstance
	// upfs are all of the namespace, once they were looked for: SliceReconciler.upfs.
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

func (s *sliceScope) again(in time.Duration) {
	if s.requeue == 0 || in < s.requeue {
		s.requeue = max(in, time.Millisecond)
	}
}

// Reconcile brings one Slice about.
func (r *SliceReconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
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
	s := &sliceScope{slice: slice, usable: true, conditions: conditions.Of(&slice.Status.Conditions, slice.Generation), recorded: specs.NameOfUPF(slice.Status.UPF)}
	for _, phase := range []func(context.Context, *sliceScope) error{
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

// delete stops free5GC's SMF first, so that it leaves the NRF while that is still there for it, and then has the
// UPF drop the SMF's PDU sessions; with the object its N3 endpoint becomes free. It ends in any case, a while after
// it has begun: the operator may have been away when the Slice was deleted.
func (r *SliceReconciler) delete(ctx context.Context, slice *api.Slice) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(slice, api.Finalizer) {
		return ctrl.Result{}, nil
	}
	if cluster.NamespaceEnds(ctx, r.Live, slice.Namespace) {
		controllerutil.RemoveFinalizer(slice, api.Finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, slice))
	}
	began := r.Now()
	if c := meta.FindStatusCondition(slice.Status.Conditions, api.ConditionReleased); c != nil {
		began = c.LastTransitionTime.Time
	}
	left := began.Add(smfStopTimeout).Sub(r.Now())
	for _, step := range []struct {
		reason string
		do     func(context.Context, *api.Slice) (problem string, err error)
	}{
		{"SMFNotStopped", r.stopSMF},
		{"SessionsNotReleased", r.releaseSessions},
	} {
		problem, err := step.do(ctx, slice)
		if err != nil {
			return ctrl.Result{}, err
		}
		if problem != "" && left > 0 {
			return ctrl.Result{RequeueAfter: min(left, 2*time.Second)}, r.noteEnd(ctx, slice, step.reason, problem, began)
		}
		if problem != "" {
			r.Recorder.Eventf(slice, corev1.EventTypeWarning, step.reason, "%s within %s; the Slice ends without it", problem, smfStopTimeout)
		}
	}
	if err := r.applier.ForgetAllocations(ctx, specs.SliceAllocations(slice)); err != nil {
		return ctrl.Result{}, err
	}
	controllerutil.RemoveFinalizer(slice, api.Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, slice))
}

// noteEnd writes what the end of the Slice waits for, and since when.
func (r *SliceReconciler) noteEnd(ctx context.Context, slice *api.Slice, reason, problem string, began time.Time) error {
	base := slice.DeepCopy()
	slice.Status.ObservedGeneration = slice.Generation
	meta.SetStatusCondition(&slice.Status.Conditions, metav1.Condition{
		Type: api.ConditionReleased, Status: metav1.ConditionFalse, Reason: reason, Message: problem,
		ObservedGeneration: slice.Generation, LastTransitionTime: metav1.NewTime(began),
	})
	conditions.Of(&slice.Status.Conditions, slice.Generation).No(api.ConditionReady, api.ReasonDeleting, "the Slice is deleted: "+problem)
	return conditions.PatchStatus(ctx, r.Client, base, slice, base.Status, slice.Status)
}

func (r *SliceReconciler) stopSMF(ctx context.Context, slice *api.Slice) (string, error) {
	deployment := &appsv1.Deployment{}
	deployment.Namespace, deployment.Name = slice.Namespace, specs.SMFObjectName(slice.Spec.CoreRef.NameOrDefault(), slice.Name)
	if err := r.applier.Remove(ctx, slice, deployment); err != nil {
		return "", err
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(slice.Namespace), client.MatchingLabels{
		api.LabelComponent: string(api.FunctionSMF), api.LabelSlice: slice.Name,
	}); err != nil {
		return "", err
	}
	for i := range pods.Items {
		if pods.Items[i].Labels[api.LabelSessionManagement] == "" { // which core5g's own have
			return fmt.Sprintf("pod %s did not stop", pods.Items[i].Name), nil
		}
	}
	return "", nil
}

// releaseSessions speaks to the UPF in the SMF's place. A UPF that is not there holds no sessions.
func (r *SliceReconciler) releaseSessions(ctx context.Context, slice *api.Slice) (string, error) {
	for _, used := range []*api.SliceUPFStatus{slice.Status.PreviousUPF, slice.Status.UPF} {
		if problem, err := r.releaseFrom(ctx, slice, used); problem != "" || err != nil {
			return problem, err
		}
	}
	return "", nil
}

func (r *SliceReconciler) releaseFrom(ctx context.Context, slice *api.Slice, used *api.SliceUPFStatus) (string, error) {
	if used == nil || used.N4Address == "" {
		return "", nil
	}
	upf := &api.UPFInstance{}
	err := r.Get(ctx, client.ObjectKey{Namespace: slice.Namespace, Name: used.Name}, upf)
	if apierrors.IsNotFound(err) || (err == nil && upf.Status.Units == 0) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	service := &corev1.Service{}
	name := specs.SMFObjectName(slice.Spec.CoreRef.NameOrDefault(), slice.Name)
	err = r.Get(ctx, client.ObjectKey{Namespace: slice.Namespace, Name: name}, service)
	if apierrors.IsNotFound(err) {
		return "", nil // there never was an SMF
	}
	if err != nil {
		return "", err
	}
	addresses := []string{used.N4Address}
	if len(used.Units) > 0 {
		addresses = nil
		for _, u := range used.Units {
			addresses = append(addresses, u.N4Address)
		}
	}
	node := service.Spec.ClusterIP
	answer := asking.Ask(ctx, r.asking, slice, "release of "+used.Name, fmt.Sprint(slice.Generation, node, addresses), asking.Every[struct{}](releaseRetry), func(ctx context.Context) (struct{}, error) {
		failures := make([]error, len(addresses))
		var all sync.WaitGroup
		for i, address := range addresses {
			all.Go(func() { failures[i] = r.Release(ctx, address, node) })
		}
		all.Wait()
		return struct{}{}, errors.Join(failures...)
	})
	switch {
	case !answer.Known:
		return fmt.Sprintf("UPFInstance %s is asked to release the sessions of the SMF and did not answer", upf.Name), nil
	case answer.Err != nil:
		return fmt.Sprintf("UPFInstance %s did not release the sessions of the SMF: %v", upf.Name, answer.Err), nil
	}
	return "", nil
}

func (r *SliceReconciler) findCore(ctx context.Context, s *sliceScope) error {
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
func (r *SliceReconciler) checkAdvertised(ctx context.Context, s *sliceScope) error {
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

// findUPF resolves the selector and takes over what the UPFInstance has allocated.
func (r *SliceReconciler) findUPF(ctx context.Context, s *sliceScope) error {
	upf, problem, err := selectUPF(ctx, r.Client, s.slice)
	if err != nil {
		return err
	}
	if upf, problem, err = r.holdUPF(ctx, s, upf, problem); err != nil {
		return err
	}
	if problem != "" {
		s.usable = false
		s.slice.Status.UPF = nil
		s.conditions.No(api.ConditionUPFReady, api.ReasonNotFound, problem)
		return nil
	}
	s.upf = upf
	status := &api.SliceUPFStatus{Name: upf.Name, N3Endpoint: specs.EndpointOf(upf, s.slice.Name)}
	if len(upf.Status.UnitStatuses) > 0 {
		status.N4Address = upf.Status.UnitStatuses[0].N4Address
	}
	if old := s.slice.Status.UPF; old != nil && old.Name == upf.Name {
		status.Units = old.Units // followUnits says what the SMF has
	} else if old != nil && s.started {
		s.slice.Status.PreviousUPF = old
		r.Recorder.Eventf(s.slice, corev1.EventTypeNormal, "UserPlaneMoved", "from UPFInstance %s to %s: the SMF is restarted, its PDU sessions end", old.Name, upf.Name)
	}
	s.slice.Status.UPF = status
	s.findUnits()
	ready := conditions.Of(&upf.Status.Conditions, upf.Generation)
	switch {
	case s.held != "":
		s.conditions.No(api.ConditionUPFReady, api.ReasonHeld, s.held)
	case status.N3Endpoint == "" && !s.core.OwnControlPlane(): // whose SMF has the UPF choose F-TEIDs
		s.usable = false
		s.conditions.No(api.ConditionUPFReady, endpointProblem(upf), fmt.Sprintf("UPFInstance %s has given this Slice no N3 endpoint: %s", upf.Name, endpointMessage(upf)))
	case status.N4Address == "":
		s.usable = false
		s.conditions.No(api.ConditionUPFReady, api.ReasonProgressing, fmt.Sprintf("UPFInstance %s has no N4 address yet", upf.Name))
	case !ready.Is(api.ConditionReady):
		s.conditions.No(api.ConditionUPFReady, api.ReasonProgressing, fmt.Sprintf("UPFInstance %s: %s", upf.Name, messageOf(upf)))
	case s.core.OwnControlPlane():
		s.conditions.Yes(api.ConditionUPFReady, api.ReasonReady, fmt.Sprintf("UPFInstance %s is ready", upf.Name))
	default:
		s.conditions.Yes(api.ConditionUPFReady, api.ReasonReady, fmt.Sprintf("UPFInstance %s is ready; N3 endpoint %s", upf.Name, status.N3Endpoint))
	}
	return nil
}

// holdUPF keeps a Slice whose SMF is free5GC's, and runs, on its UPFInstance while the selector means none, or one that cannot serve
// it yet, or while it has not left an earlier one: its sessions outlive a mistake.
func (r *SliceReconciler) holdUPF(ctx context.Context, s *sliceScope, upf *api.UPFInstance, problem string) (*api.UPFInstance, string, error) {
	used := s.slice.Status.UPF
	if s.core.OwnControlPlane() {
		return upf, problem, nil // its SMF leaves sessions where they are
	}
	if used == nil || (upf != nil && upf.Name == used.Name) {
		return upf, problem, nil
	}
	old := &api.UPFInstance{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.slice.Namespace, Name: used.Name}, old)
	if client.IgnoreNotFound(err) != nil {
		return nil, "", err
	}
	if err != nil || specs.EndpointOf(old, s.slice.Name) == "" {
		return upf, problem, nil
	}
	err = r.Get(ctx, client.ObjectKey{Namespace: s.slice.Namespace, Name: specs.SMFObjectName(s.slice.Spec.CoreRef.NameOrDefault(), s.slice.Name)}, &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		return nil, "", err
	}
	if s.started = err == nil || s.slice.Status.SMF != ""; !s.started {
		return upf, problem, nil
	}
	why, advice := problem, ": correct spec.upfSelector, or delete the Slice to give them up"
	if why == "" {
		ready := conditions.Of(&upf.Status.Conditions, upf.Generation)
		switch {
		case s.slice.Status.PreviousUPF != nil:
			why, advice = fmt.Sprintf("the Slice goes to UPFInstance %s when it has left UPFInstance %s", upf.Name, s.slice.Status.PreviousUPF.Name), ""
		case specs.EndpointOf(upf, s.slice.Name) == "":
			why = fmt.Sprintf("UPFInstance %s has given this Slice no N3 endpoint: %s", upf.Name, endpointMessage(upf))
		case !ready.Is(api.ConditionReady):
			why = fmt.Sprintf("UPFInstance %s is not ready: %s", upf.Name, messageOf(upf))
		default:
			return upf, "", nil
		}
	}
	s.held = fmt.Sprintf("%s. The SMF runs on with UPFInstance %s and N3 endpoint %s, which stay its own%s", why, used.Name, specs.EndpointOf(old, s.slice.Name), advice)
	return old, "", nil
}

// leavePrevious releases the sessions on the UPFInstance that the Slice had before, once the SMF that made them is
// gone; then its endpoint there is free.
func (r *SliceReconciler) leavePrevious(ctx context.Context, s *sliceScope) error {
	previous := s.slice.Status.PreviousUPF
	if previous == nil || !s.conditions.Is(api.ConditionSMFReady) {
		return nil
	}
	problem, err := r.releaseFrom(ctx, s.slice, previous)
	if err != nil {
		return err
	}
	if problem != "" {
		// The Slice does not need it any more.
		s.again(followRetry)
		if c := meta.FindStatusCondition(s.slice.Status.Conditions, api.ConditionUPFReady); c != nil {
			s.conditions.Set(c.Type, c.Status, c.Reason, fmt.Sprintf("%s; %s: its N3 endpoint %s is kept until it does", c.Message, problem, previous.N3Endpoint))
		}
		return nil
	}
	s.slice.Status.PreviousUPF = nil
	return nil
}

func endpointProblem(upf *api.UPFInstance) string {
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionEndpointsAllocated && c.Reason == api.ReasonExhausted {
			return api.ReasonExhausted
		}
	}
	return api.ReasonProgressing
}

func endpointMessage(upf *api.UPFInstance) string {
	if !upf.DeletionTimestamp.IsZero() {
		return "it is being deleted"
	}
	if upf.Spec.AdministrativeState == api.StateShuttingDown {
		return "it is shutting down and takes no new Slice"
	}
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionEndpointsAllocated && c.Reason == api.ReasonExhausted {
			return c.Message
		}
	}
	return "it will in a moment"
}

func messageOf(upf *api.UPFInstance) string {
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionReady {
			return c.Message
		}
	}
	return "its state is not known yet"
}

// selectUPF returns the UPFInstance that a Slice's selector means, or a sentence that says why there is
// none.
func selectUPF(ctx context.Context, c client.Client, slice *api.Slice) (*api.UPFInstance, string, error) {
	var all api.UPFInstanceList
	if err := c.List(ctx, &all, client.InNamespace(slice.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, "", err
	}
	upf, problem := specs.SelectUPF(slice, all.Items)
	return upf.DeepCopy(), problem, nil
}

// upfs are all of the Slice's namespace. They are the cache's: nobody changes them.
func (r *SliceReconciler) upfs(ctx context.Context, s *sliceScope) ([]api.UPFInstance, error) {
	if s.upfs == nil {
		var all api.UPFInstanceList
		if err := r.List(ctx, &all, client.InNamespace(s.slice.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		s.upfs = all.Items
	}
	return s.upfs, nil
}

func (r *SliceReconciler) checkPools(ctx context.Context, s *sliceScope) error {
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

// checkFurther says how UPFInstances are that data networks name beside that of the selector.
func (r *SliceReconciler) checkFurther(ctx context.Context, s *sliceScope) error {
	names := specs.FurtherUPFs(s.slice)
	if len(names) == 0 || s.core != nil && !s.core.OwnControlPlane() { // whose SMF knows none, as SMFReady says
		meta.RemoveStatusCondition(&s.slice.Status.Conditions, api.ConditionFurtherUPFsReady)
		return nil
	}
	upfs, err := r.upfs(ctx, s)
	if err != nil {
		return err
	}
	if problem := specs.FurtherUPFProblem(s.slice, upfs); problem != nil {
		s.conditions.No(api.ConditionFurtherUPFsReady, problem.Reason, problem.Message)
		return nil
	}
	for i := range upfs {
		upf := &upfs[i]
		if !slices.Contains(names, upf.Name) || conditions.Of(&upf.Status.Conditions, upf.Generation).Is(api.ConditionReady) {
			continue
		}
		s.conditions.No(api.ConditionFurtherUPFsReady, api.ReasonProgressing, fmt.Sprintf("UPFInstance %s: %s; meanwhile %s", upf.Name, messageOf(upf), specs.WithoutUPF(s.slice, upf.Name)))
		return nil
	}
	s.conditions.Yes(api.ConditionFurtherUPFsReady, api.ReasonReady, "ready: "+strings.Join(names, ", "))
	return nil
}

func poolsWords(pools []string) string {
	if len(pools) == 0 {
		return "the data networks are of Ethernet, which has no UE pools"
	}
	return "UE pools " + strings.Join(pools, ", ") + " are this Slice's alone"
}

func (r *SliceReconciler) findAllocations(ctx context.Context, s *sliceScope) (err error) {
	s.kept, err = r.applier.AllocationsOf(ctx, s.slice, r.Recorder, specs.SliceAllocations(s.slice))
	return err
}

func (r *SliceReconciler) keepAllocations(ctx context.Context, s *sliceScope) error {
	return s.taken(r.applier.Keep(ctx, s.kept))
}

// applySMF starts the Slice's SMF once it can be told everything, or says whether the core's serves it. One that runs already is left alone when its
// Slice has become unusable for a reason outside of it: sessions outlive a mistake.
func (r *SliceReconciler) applySMF(ctx context.Context, s *sliceScope) error {
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
func (s *sliceScope) taken(err error) error {
	var taken *cluster.TakenError
	if !errors.As(err, &taken) {
		return err
	}
	s.conditions.No(api.ConditionSMFReady, api.ReasonNameTaken, taken.Error())
	s.requeue = cluster.TakenRetry
	return nil
}

func (r *SliceReconciler) sum(_ context.Context, s *sliceScope) error {
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
func (r *SliceReconciler) SetupWithManager(mgr ctrl.Manager) error {
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
