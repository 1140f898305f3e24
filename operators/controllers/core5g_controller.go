package controllers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	accessmanagement "core5g.dev/core5g/images/access-management/configuration/cluster"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/subscriberdatabase"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// CoreReconciler makes database, session store, NRF, PCF, CHF, AMF, core5g's own SMF and the subscriber data functions of a Core5G.
type CoreReconciler struct {
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

// coreScope is what one pass over one Core5G knows.
type coreScope struct {
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
func (r *CoreReconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
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
	s := &coreScope{core: core, conditions: conditions.Of(&core.Status.Conditions, core.Generation)}
	for _, phase := range []func(context.Context, *coreScope) error{
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

func (r *CoreReconciler) findSlices(ctx context.Context, s *coreScope) error {
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

func (r *CoreReconciler) findAllocations(ctx context.Context, s *coreScope) (err error) {
	s.kept, err = r.applier.AllocationsOf(ctx, s.core, r.Recorder, specs.CoreAllocations(s.core))
	return err
}

func (r *CoreReconciler) keepAllocations(ctx context.Context, s *coreScope) error {
	return r.applier.Keep(ctx, s.kept)
}

// findDatabase resolves the database, and with it judges what of the configuration everything is made by.
func (r *CoreReconciler) findDatabase(ctx context.Context, s *coreScope) error {
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
func (r *CoreReconciler) judgeConfiguration(_ context.Context, s *coreScope) error {
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

func (s *coreScope) halt(reason, message string) {
	s.halted = true
	s.conditions.No(api.ConditionConfigurationValid, reason, message)
}

// taken turns a name that somebody else has into a condition; other errors stay errors.
func (s *coreScope) taken(err error) error {
	var taken *cluster.TakenError
	if !errors.As(err, &taken) {
		return err
	}
	s.halt(api.ReasonNameTaken, taken.Error())
	s.requeue = cluster.TakenRetry
	return nil
}

func (r *CoreReconciler) applyFunctions(ctx context.Context, s *coreScope) error {
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
func (r *CoreReconciler) applyNetworkPolicies(ctx context.Context, s *coreScope) error {
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
func (r *CoreReconciler) removeUnwanted(ctx context.Context, s *coreScope) error {
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

func (r *CoreReconciler) observeFunctions(ctx context.Context, s *coreScope) error {
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
func (s *coreScope) withheld() []string {
	switch {
	case s.switching:
		return conditionsOfFused
	case s.leaving != "":
		return []string{api.ConditionAMFReady}
	}
	return nil
}

func (r *CoreReconciler) observeN2(ctx context.Context, s *coreScope) error {
	for _, f := range s.functions {
		if !servesUEs(f.Function) && f.Function != api.FunctionControlPlane {
			continue
		}
		for _, service := range f.Services {
			if service.Name == specs.N2ServiceName(s.core.Name) {
				s.core.Status.N2 = &api.N2Status{Address: n2Address(service), Transport: s.core.Spec.N2.Transport}
				if err := r.observeN2Network(ctx, s, service.Spec.Selector); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// observeN2Network reads from the pods that gNBs connect to what Multus has really attached, where the core has them on a network of N2's own.
func (r *CoreReconciler) observeN2Network(ctx context.Context, s *coreScope, selector map[string]string) error {
	definition := s.core.Spec.N2.NetworkAttachmentDefinition
	if definition == "" {
		return nil
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(s.core.Namespace), client.MatchingLabels(selector)); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil || pod.Status.PodIP == "" {
			continue
		}
		at := slices.IndexFunc(workloads.AttachedTo(pod), func(a workloads.NetworkStatus) bool { return a.Interface == specs.InterfaceN2 && len(a.IPs) > 0 })
		if at < 0 {
			s.conditions.No(api.ConditionAMFReady, api.ReasonProgressing, fmt.Sprintf("Multus has not reported an address on interface %s of pod %s, by NetworkAttachmentDefinition %s "+
				"of spec.n2: look whether Multus and the definition are there, or leave n2.networkAttachmentDefinition out", specs.InterfaceN2, pod.Name, definition))
			continue
		}
		for _, ip := range workloads.AttachedTo(pod)[at].IPs {
			s.core.Status.N2.Addresses = append(s.core.Status.N2.Addresses, net.JoinHostPort(ip, strconv.Itoa(int(s.core.Spec.N2.Port))))
		}
	}
	slices.Sort(s.core.Status.N2.Addresses)
	return nil
}

// n2Address is where a gNB reaches the Service: the load balancer's address, the nodes' port, or the
// ClusterIP.
func n2Address(s *corev1.Service) string {
	port := strconv.Itoa(int(s.Spec.Ports[0].Port))
	for _, in := range s.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			return net.JoinHostPort(in.IP, port)
		}
		if in.Hostname != "" {
			return net.JoinHostPort(in.Hostname, port)
		}
	}
	if p := s.Spec.Ports[0].NodePort; p != 0 {
		return fmt.Sprintf("<any node>:%d", p)
	}
	return net.JoinHostPort(s.Spec.ClusterIP, port)
}

// checkRegistrations asks the NRF who is registered, as soon as it is there and then periodically.
func (r *CoreReconciler) checkRegistrations(ctx context.Context, s *coreScope) error {
	if s.halted || s.core.Fused() {
		return nil
	}
	if !s.conditions.Is(api.ConditionNRFReady) {
		s.conditions.Unknown(api.ConditionRegistered, api.ReasonProgressing, "the NRF is not ready")
		return nil
	}
	expected, err := r.expectedRegistrations(ctx, s)
	if err != nil {
		return err
	}
	report := r.Registrations.check(ctx, s.core, expected)
	s.requeue = report.next
	for _, e := range report.events {
		r.Recorder.Event(s.core, e.kind, e.reason, e.message)
	}
	switch {
	case report.asked:
		if meta.FindStatusCondition(s.core.Status.Conditions, api.ConditionRegistered) == nil {
			s.conditions.Unknown(api.ConditionRegistered, api.ReasonProgressing, "the NRF has not answered yet")
		}
	case report.problem == "":
		s.conditions.Yes(api.ConditionRegistered, api.ReasonReady, "every network function is registered with the NRF")
	case report.unknown:
		s.conditions.Unknown(api.ConditionRegistered, api.ReasonFailed, report.problem)
	default:
		s.conditions.No(api.ConditionRegistered, api.ReasonRegistrationMis, report.problem)
	}
	return nil
}

func (r *CoreReconciler) expectedRegistrations(ctx context.Context, s *coreScope) ([]expectedFunction, error) {
	var out []expectedFunction
	add := func(nfType, object string, labels map[string]string) error {
		e := expectedFunction{nfType: nfType, host: object, lasting: lasting(labels)}
		var pods corev1.PodList
		if err := r.List(ctx, &pods, client.InNamespace(s.core.Namespace), client.MatchingLabels(labels)); err != nil {
			return err
		}
		for i := range pods.Items {
			if workloads.PodReady(&pods.Items[i]) && pods.Items[i].DeletionTimestamp.IsZero() {
				e.pod = &pods.Items[i]
			}
		}
		out = append(out, e)
		return nil
	}
	for _, f := range s.functions {
		var err error
		switch f.Function {
		case api.FunctionAMF, api.FunctionPCF, api.FunctionCHF:
			err = add(strings.ToUpper(string(f.Function)), f.Deployment.Name, f.Deployment.Spec.Selector.MatchLabels)
		case api.FunctionAccessManagement:
			err = add("AMF", f.Deployment.Name, f.Deployment.Spec.Selector.MatchLabels)
		}
		if err != nil {
			return nil, err
		}
	}
	if s.core.OwnControlPlane() {
		return out, shardsOf(s, add)
	}
	for _, slice := range s.slices {
		object := specs.SMFObjectName(s.core.Name, slice.Name)
		labels := map[string]string{
			api.LabelInstance: s.core.Name, api.LabelComponent: string(api.FunctionSMF), api.LabelSlice: slice.Name,
		}
		if err := add("SMF", object, labels); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *CoreReconciler) sum(_ context.Context, s *coreScope) error {
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

// SetupWithManager watches the Core5G, what it owns, its Slices, and the Secrets that it names.
func (r *CoreReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.applier = applying.New(mgr.GetClient(), mgr.GetAPIReader())
	r.certifier = certifying.New(mgr.GetClient(), r.applier, r.Recorder, r.Now)
	r.Registrations.asking = asking.New()
	return ctrl.NewControllerManagedBy(mgr).
		For(&api.Core5G{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&networkingv1.NetworkPolicy{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.Slice{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			slice := o.(*api.Slice)
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: slice.Namespace, Name: slice.Spec.CoreRef.NameOrDefault()}}}
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.coresOfSecret)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(coreOfPod)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(applying.NamedBy(api.LabelInstance)), applying.AllocationsMoved(api.LabelInstance)).
		WatchesRawSource(source.Channel(r.Registrations.asking.Answered, &handler.EnqueueRequestForObject{})).
		Complete(r)
}

// coreOfPod leads from a pod of a function to its core, so that status says at once what a pod waits
// for.
func coreOfPod(_ context.Context, o client.Object) []reconcile.Request {
	core := o.GetLabels()[api.LabelInstance]
	component := o.GetLabels()[api.LabelComponent]
	if core == "" || !slices.Contains([]string{"amf", specs.ComponentN2, "nrf", "pcf", "chf", "database", "session-store", "subscriber-data", "smf", string(api.FunctionControlPlane)}, component) || o.GetLabels()[api.LabelSlice] != "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: core}}}
}

func (r *CoreReconciler) coresOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	if requests := coreOfCertificate(o); requests != nil {
		return requests
	}
	var cores api.Core5GList
	if err := r.List(ctx, &cores, client.InNamespace(o.GetNamespace())); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range cores.Items {
		core := &cores.Items[i]
		ref := core.Spec.Database.URISecretRef
		store := specs.NeedsSessionStore(core) &&
			(o.GetName() == specs.SessionStoreSecretName(core) || o.GetName() == specs.SessionStoreKeysName(core.Name))
		if store || o.GetName() == specs.SubscriberDatabaseSecretName(core) || ref != nil && ref.Name == o.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&cores.Items[i])})
		}
	}
	return out
}
