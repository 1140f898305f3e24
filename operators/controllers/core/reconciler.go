package core

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessmanagement "core5g.dev/core5g/images/access-management/configuration/cluster"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/subscriberdatabase"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// Reconciler makes database, session store, NRF, PCF, CHF, AMF, core5g's own SMF and the subscriber data functions of a Core5G.
type Reconciler struct {
	client.Client
	Platform      specs.Platform
	Recorder      record.EventRecorder
	Registrations *Registrations
	Now           func() time.Time
	// CheckSubscriberDatabase asks a database of subscribers whether it can be used; nil is the real one.
	CheckSubscriberDatabase func(context.Context, *subscriberdatabase.Access) error
	// CheckStore asks a session store whether records last there; nil is the real one.
	CheckStore func(context.Context, *mounted.Access) error
	// StoreSynced asks a server of an embedded store of three whether it has everything.
	StoreSynced func(ctx context.Context, address, password string) (bool, error)

	applier   *applying.Applier
	certifier *certifying.Certifier
	// seen are the Core5Gs that this operator has looked at: what one of them was given is given up when it is gone.
	seen sync.Map
	// accounts has an accountsKept of each Core5G, by its name.
	accounts sync.Map
}

// scope is what one pass over one Core5G knows.
type scope struct {
	core       *api.Core5G
	conditions conditions.List
	database   specs.Database
	slices     []api.Slice
	// kept is what Services of the core are to have again.
	kept *applying.Allocations
	// halted is set when the configuration cannot be made; what runs goes on running.
	halted bool
	// functions that were applied, in the order of creation.
	functions []specs.FunctionObjects
	// leaving says what is still there of the AMF that another takes the place of, or of the layout; then it is switching.
	leaving   string
	switching bool
	requeue   time.Duration
	// store is the embedded session store, where there is one, and storeNext when a store is looked at again.
	store     *api.FunctionStatus
	storeNext time.Duration
	// storeLacks says what one of its servers waits for while the others serve.
	storeLacks string
	// databaseNext is when the database of subscribers is asked again.
	databaseNext time.Duration
}

// conditionOf names the condition of each function.
var conditionOf = map[api.FunctionName]string{
	api.FunctionDatabase:          api.ConditionDatabaseReady,
	api.FunctionNRF:               api.ConditionNRFReady,
	api.FunctionPCF:               api.ConditionPCFReady,
	api.FunctionCHF:               api.ConditionCHFReady,
	api.FunctionSubscriberData:    api.ConditionSubscriberDataReady,
	api.FunctionAMF:               api.ConditionAMFReady,
	api.FunctionAccessManagement:  api.ConditionAMFReady,
	api.FunctionN2Terminator:      api.ConditionAMFReady,
	api.FunctionSessionManagement: api.ConditionSMFReady,
}

// Reconcile brings one Core5G about. Its deletion needs no order: owner references take everything.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	core := &api.Core5G{}
	if err := r.Get(ctx, req.NamespacedName, core); err != nil {
		if apierrors.IsNotFound(err) {
			r.Registrations.forget(req.NamespacedName)
			r.accounts.Delete(req.NamespacedName)
			if _, was := r.seen.LoadAndDelete(req.NamespacedName); was {
				core.Namespace, core.Name = req.Namespace, req.Name
				return ctrl.Result{}, r.applier.ForgetAllocations(ctx, specs.CoreAllocations(core))
			}
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.seen.Store(req.NamespacedName, true)
	if !core.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if err := r.beginTLS(ctx, core); err != nil {
		return ctrl.Result{}, err
	}
	base := core.DeepCopy()
	s := &scope{core: core, conditions: conditions.Of(&core.Status.Conditions, core.Generation)}
	for _, phase := range []func(context.Context, *scope) error{
		r.findSlices,
		r.findAllocations,
		r.findDatabase,
		r.judgeConfiguration,
		r.applyNetworkPolicies,
		r.keepAccounts,
		r.keepCertificates,
		r.keepSessionStore,
		r.checkSubscriberDatabase,
		r.leaveOtherLayout,
		r.applyFunctions,
		r.applySessionManagement,
		r.removeUnwanted,
		r.keepAllocations,
		r.clearLostNodes,
		r.observeFunctions,
		r.observeN2,
		r.checkRegistrations,
		r.sum,
	} {
		if err = s.taken(phase(ctx, s)); err != nil {
			break
		}
	}
	for _, next := range []time.Duration{s.storeNext, s.databaseNext} {
		if next > 0 && (s.requeue == 0 || next < s.requeue) {
			s.requeue = next
		}
	}
	core.Status.ObservedGeneration = core.Generation
	if patchErr := conditions.PatchStatus(ctx, r.Client, base, core, base.Status, core.Status); err == nil {
		err = patchErr
	}
	return ctrl.Result{RequeueAfter: s.requeue}, err
}

func (r *Reconciler) findSlices(ctx context.Context, s *scope) error {
	var all api.SliceList
	if err := r.List(ctx, &all, client.InNamespace(s.core.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for _, slice := range all.Items {
		if slice.Spec.CoreRef.NameOrDefault() == s.core.Name {
			s.slices = append(s.slices, slice)
		}
	}
	s.core.Status.Slices = int32(len(s.slices))
	return nil
}

func (r *Reconciler) findAllocations(ctx context.Context, s *scope) (err error) {
	s.kept, err = r.applier.AllocationsOf(ctx, s.core, r.Recorder, specs.CoreAllocations(s.core))
	return err
}

func (r *Reconciler) keepAllocations(ctx context.Context, s *scope) error {
	return r.applier.Keep(ctx, s.kept)
}

// findDatabase resolves the database, and with it judges what of the configuration everything is made by.
func (r *Reconciler) findDatabase(ctx context.Context, s *scope) error {
	spec := s.core.Spec.Database
	if s.core.Fused() { // which has none
		spec = api.DatabaseSpec{}
	}
	if problem := specs.TLSProblem(s.core); problem != nil {
		s.halt(problem.Reason, problem.Message)
		return nil
	}
	if spec.Type != api.DatabaseExternal {
		s.database = specs.EmbeddedDatabase(s.core)
		return nil
	}
	key := spec.URISecretRef.Key
	if key == "" {
		key = api.SecretKeyURI
	}
	secret := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.core.Namespace, Name: spec.URISecretRef.Name}, secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	uri := strings.TrimSpace(string(secret.Data[key]))
	switch {
	case err != nil:
		s.halt(api.ReasonNotFound, fmt.Sprintf("Secret %s, named by spec.database.uriSecretRef, does not exist: create it with key %q", spec.URISecretRef.Name, key))
	case uri == "":
		s.halt(api.ReasonMalformed, fmt.Sprintf("Secret %s has no key %q: put the mongodb:// URI there", spec.URISecretRef.Name, key))
	case !strings.HasPrefix(uri, "mongodb://") && !strings.HasPrefix(uri, "mongodb+srv://"):
		s.halt(api.ReasonMalformed, fmt.Sprintf("key %q of Secret %s is no URI of a MongoDB: it must begin with mongodb:// or mongodb+srv://", key, spec.URISecretRef.Name))
	default:
		s.database = specs.Database{URI: uri, External: true}
	}
	return nil
}

// judgeConfiguration by the word of the AMF, which follows the Core5G itself: what the schema cannot see. What it cannot use costs nobody else anything.
func (r *Reconciler) judgeConfiguration(_ context.Context, s *scope) error {
	if s.halted {
		return nil
	}
	if s.core.OwnControlPlane() {
		if err := accessmanagement.Problem(s.core); err != nil {
			s.conditions.No(api.ConditionConfigurationValid, api.ReasonMalformed,
				fmt.Sprintf("the AMF cannot use the Core5G as it is, and serves as before, or not at all where it is new: %v", err))
			return nil
		}
	}
	s.conditions.Yes(api.ConditionConfigurationValid, api.ReasonReady, "the configuration is complete")
	return nil
}

func (s *scope) halt(reason, message string) {
	s.halted = true
	s.conditions.No(api.ConditionConfigurationValid, reason, message)
}

// taken turns a name that somebody else has into a condition; other errors stay errors.
func (s *scope) taken(err error) error {
	taken, is := cluster.AsTaken(err)
	if !is {
		return err
	}
	s.halt(api.ReasonNameTaken, taken.Error())
	s.requeue = cluster.TakenRetry
	return nil
}

func (r *Reconciler) applyFunctions(ctx context.Context, s *scope) error {
	if s.halted {
		return nil
	}
	if s.core.Fused() {
		return r.applyFused(ctx, s)
	}
	if !s.switching {
		var err error
		if s.leaving, err = r.leaveOtherAMF(ctx, s.core); err != nil {
			return err
		}
	}
	for _, f := range specs.CoreFunctions(s.core, r.Platform, s.database) {
		if s.leaving != "" && servesUEs(f.Function) || s.switching && f.Function == api.FunctionSubscriberData {
			continue
		}
		if err := r.applier.ApplyFunction(ctx, s.kept, &f); err != nil {
			return err
		}
		s.functions = append(s.functions, f)
	}
	return nil
}

// applyNetworkPolicies comes before the pods, so that none is open for a moment.
func (r *Reconciler) applyNetworkPolicies(ctx context.Context, s *scope) error {
	for _, policy := range specs.NetworkPolicies(s.core) {
		r.Platform.AdmitOperator(policy)
		var err error
		if s.core.Spec.NetworkPolicy.Mode == api.NetworkPolicyDisabled {
			err = r.applier.Remove(ctx, s.core, policy)
		} else {
			err = r.applier.Apply(ctx, policy)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeUnwanted takes away what an earlier specification asked for.
func (r *Reconciler) removeUnwanted(ctx context.Context, s *scope) error {
	if s.halted {
		return nil
	}
	unwanted := append(unwantedSessionManagement(s.core), unwantedAMF(s.core)...)
	gone := func(o specs.FunctionObjects) {
		unwanted = append(unwanted, o.Deployment)
		for _, service := range o.Services {
			unwanted = append(unwanted, service)
		}
	}
	if s.database.External {
		gone(specs.DatabaseFunction(s.core, r.Platform))
	}
	for _, f := range s.functions {
		// A configuration moves between ConfigMap and Secret with the database's type.
		if f.Secret != nil {
			unwanted = append(unwanted, &corev1.ConfigMap{ObjectMeta: nameOf(f.Secret)})
		}
		if f.ConfigMap != nil && (f.Function == api.FunctionNRF || f.Function == api.FunctionPCF || f.Function == api.FunctionCHF) {
			unwanted = append(unwanted, &corev1.Secret{ObjectMeta: nameOf(f.ConfigMap)})
		}
	}
	for _, o := range unwanted {
		if err := r.applier.Remove(ctx, s.core, o); err != nil {
			return err
		}
		if _, is := o.(*corev1.Service); is {
			s.kept.ForgetService(o.GetName())
		}
	}
	return nil
}

func nameOf(o client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (r *Reconciler) observeFunctions(ctx context.Context, s *scope) error {
	if s.halted {
		return nil
	}
	if s.database.External {
		s.conditions.Yes(api.ConditionDatabaseReady, "External", "the database is a site's own; its functions say when they miss it")
	}
	for _, kind := range s.withheld() {
		s.conditions.No(kind, api.ReasonProgressing, s.leaving)
	}
	var statuses []api.FunctionStatus
	waiting := map[string][]string{}
	for _, f := range s.functions {
		message, err := workloads.DeploymentProblem(ctx, r.Client, f.Deployment)
		if err != nil {
			return err
		}
		status := api.FunctionStatus{
			Name: f.Function, Ready: metav1.ConditionTrue, Message: message,
			Image: f.Deployment.Spec.Template.Spec.Containers[0].Image,
		}
		if message != "" {
			status.Ready = metav1.ConditionFalse
		}
		for _, kind := range toldBy(f.Function) { // one may be of several functions
			if message != "" {
				waiting[kind] = append(waiting[kind], workloads.ShareReady(f.Deployment)+message)
			}
			if len(waiting[kind]) > 0 {
				s.conditions.No(kind, api.ReasonProgressing, strings.Join(waiting[kind], "; "))
			} else {
				s.conditions.Yes(kind, api.ReasonReady, f.Deployment.Name+" is ready")
			}
		}
		statuses = append(statuses, status)
	}
	if s.store != nil {
		statuses = append(statuses, *s.store)
	}
	s.core.Status.Functions = statuses
	return nil
}

// withheld are the conditions of functions that wait until what they take the place of is gone.
func (s *scope) withheld() []string {
	switch {
	case s.switching:
		return conditionsOfFused
	case s.leaving != "":
		return []string{api.ConditionAMFReady}
	}
	return nil
}

func (r *Reconciler) sum(_ context.Context, s *scope) error {
	kinds := []string{api.ConditionConfigurationValid}
	if specs.SBIOverTLS(s.core) && !s.core.Fused() {
		kinds = append(kinds, api.ConditionCertificatesReady)
	}
	if s.core.OwnControlPlane() {
		kinds = append(kinds, api.ConditionSMFReady)
	}
	if specs.NeedsSessionStore(s.core) {
		kinds = append(kinds, api.ConditionSessionStoreReady)
	}
	if specs.SubscriberDatabaseSecretName(s.core) != "" {
		kinds = append(kinds, api.ConditionSubscriberDatabaseReady)
	}
	kinds = append(kinds, api.ConditionSubscriberDataReady, api.ConditionAMFReady)
	if !s.core.Fused() {
		kinds = append(kinds, api.ConditionDatabaseReady, api.ConditionNRFReady, api.ConditionPCFReady, api.ConditionCHFReady, api.ConditionRegistered)
	}
	changed := s.conditions.Sum(kinds, "every network function of the core is ready")
	if changed {
		conditions.Announce(r.Recorder, s.core, s.core.Status.Conditions)
	}
	return nil
}

// again looks at the core once more after so long, at the latest.
func (s *scope) again(after time.Duration) {
	if s.requeue == 0 || after < s.requeue {
		s.requeue = after
	}
}
