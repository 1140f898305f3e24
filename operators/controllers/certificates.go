package controllers

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"core5g.dev/core5g/images/nf/sbitls"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/certificates"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// What cert-manager writes on a Secret that it has made: for which Certificate, and whose signature it is.
const (
	annotationIssued = "cert-manager.io/certificate-name"
	annotationIssuer = "cert-manager.io/issuer-name"
)

// certifier keeps the certificates of functions in their Secrets: with the core's own authority, or by
// cert-manager. Reads come from a cache that may be behind; whatever is written says what it was made
// from, so that a late look never replaces a certificate twice.
type certifier struct {
	client.Client
	applier  *applying.Applier
	recorder record.EventRecorder
	now      func() time.Time
}

func newCertifier(c client.Client, applier *applying.Applier, recorder record.EventRecorder, now func() time.Time) *certifier {
	return &certifier{Client: c, applier: applier, recorder: recorder, now: now}
}

// certificatesState is what came of it.
type certificatesState struct {
	// reason and problem where a certificate is missing.
	reason, problem string
	// next is when to look again.
	next time.Time
	// end is when the first of the certificates ends.
	end time.Time
}

func (s *certificatesState) lack(reason, problem string) {
	if s.problem == "" {
		s.reason, s.problem = reason, problem
	}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// keep brings about the certificates that are asked for.
func (c *certifier) keep(ctx context.Context, core *api.Core5G, events client.Object, requests []specs.CertificateRequest) (certificatesState, error) {
	if issuer := specs.SBIIssuer(core); issuer != nil {
		return c.request(ctx, core, issuer, requests)
	}
	var state certificatesState
	authority, err := c.authority(ctx, authorityOfCore(core), &state)
	if err != nil || authority == nil {
		return state, err
	}
	for _, r := range requests {
		if err := c.issue(ctx, authority, events, r, &state); err != nil {
			return state, err
		}
	}
	return state, nil
}

// authorityOf is whose authority is meant, and where it is kept.
type authorityOf struct {
	client.Object
	owner  metav1.OwnerReference
	secret string
	labels map[string]string
	// user is a Secret with a certificate of it.
	user string
}

func authorityOfCore(core *api.Core5G) authorityOf {
	return authorityOf{
		core, *metav1.NewControllerRef(core, api.GroupVersion.WithKind("Core5G")), specs.AuthorityName(core.Name), specs.Labels(core.Name, "ca"),
		specs.CertificateName(specs.FunctionObjectName(core.Name, api.FunctionNRF)),
	}
}

// authority returns it, or nil with the state saying why there is none. It is made, and replaced, here alone, whoever asks.
func (c *certifier) authority(ctx context.Context, of authorityOf, state *certificatesState) (*certificates.Authority, error) {
	secret := &corev1.Secret{}
	name := of.secret
	err := c.Get(ctx, client.ObjectKey{Namespace: of.GetNamespace(), Name: name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if apierrors.IsNotFound(err) {
		// Where functions believe an earlier authority, its Secret was deleted to have a new one.
		used := &corev1.Secret{}
		err := c.Get(ctx, client.ObjectKey{Namespace: of.GetNamespace(), Name: of.user}, used)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		data, err := certificates.NewAuthority(of.GetNamespace()+"/"+of.GetName(), c.now(), used.Data[certificates.KeyAuthorities])
		if err != nil {
			return nil, err
		}
		fresh := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: of.GetNamespace(), Labels: of.labels,
				OwnerReferences: []metav1.OwnerReference{of.owner},
			},
			Type: corev1.SecretTypeTLS, Data: data,
		}
		if err := c.Create(ctx, fresh, client.FieldOwner(specs.FieldOwner)); err != nil {
			return nil, err
		}
		secret = fresh
	}
	if said := secretTaken(secret, of.owner); said != "" {
		state.lack(api.ReasonNameTaken, said)
		state.next = earlier(state.next, c.now().Add(cluster.TakenRetry))
		return nil, nil
	}
	if err := c.ownAgain(ctx, secret, of.owner); err != nil {
		return nil, err
	}
	authority, err := certificates.ReadAuthority(secret.Data)
	if err != nil {
		state.lack(api.ReasonMalformed, fmt.Sprintf("Secret %s: %v: delete it, and a new authority is made", name, err))
		return nil, nil
	}
	if authority.Ends(c.now()) {
		data, err := certificates.NewAuthority(of.GetNamespace()+"/"+of.GetName(), c.now(), authority.Bundle)
		if err != nil {
			return nil, err
		}
		if err := c.replace(ctx, secret, data, nil); err != nil {
			return nil, err
		}
		c.recorder.Eventf(of.Object, corev1.EventTypeNormal, "AuthorityReplaced", "Secret %s: the authority was about to end; the old one is believed until its certificates are gone", name)
		return certificates.ReadAuthority(data)
	}
	return authority, nil
}

// replace writes new content, and the change if there is one, unless somebody else has been at it.
func (c *certifier) replace(ctx context.Context, secret *corev1.Secret, data map[string][]byte, change func(*corev1.Secret)) error {
	changed := secret.DeepCopy()
	changed.Data = data
	if change != nil {
		change(changed)
	}
	return c.Patch(ctx, changed, client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{}), client.FieldOwner(specs.FieldOwner))
}

func (c *certifier) issue(ctx context.Context, authority *certificates.Authority, events client.Object, r specs.CertificateRequest, state *certificatesState) error {
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Secret}, secret)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	missing := apierrors.IsNotFound(err)
	if said := secretTaken(secret, r.Owner); said != "" {
		state.lack(api.ReasonNameTaken, said)
		state.next = earlier(state.next, c.now().Add(cluster.TakenRetry))
		return nil
	}
	if err := c.ownAgain(ctx, secret, r.Owner); err != nil {
		return err
	}
	taken, err := c.takeOver(ctx, secret, r.Owner)
	if err != nil {
		return err
	}
	data, next, err := authority.Renew(secret.Data, certificates.Certificate{DNSNames: r.DNSNames, Duration: r.Duration, RenewBefore: r.RenewBefore}, c.now())
	if err != nil {
		return err
	}
	switch {
	case missing:
		fresh := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: r.Secret, Namespace: r.Namespace, Labels: r.Labels, OwnerReferences: []metav1.OwnerReference{r.Owner}},
			Type:       corev1.SecretTypeTLS, Data: data,
		}
		if err := c.Create(ctx, fresh, client.FieldOwner(specs.FieldOwner)); err != nil {
			return err
		}
	case taken != nil || !certificates.Same(secret.Data, data):
		if err := c.replace(ctx, secret, data, taken); err != nil {
			return err
		}
		if string(secret.Data[certificates.KeyCertificate]) != string(data[certificates.KeyCertificate]) {
			c.recorder.Eventf(events, corev1.EventTypeNormal, "CertificateRenewed", "Secret %s: a new certificate for %s", r.Secret, r.DNSNames[0])
		}
	}
	state.next = earlier(state.next, next)
	if end, ok := certificates.End(data); ok {
		state.end = earlier(state.end, end)
	}
	return nil
}

// takeOver makes a Secret of cert-manager's the operator's: two who renew one certificate never end. The change
// of the Secret comes with its new content.
func (c *certifier) takeOver(ctx context.Context, secret *corev1.Secret, owner metav1.OwnerReference) (func(*corev1.Secret), error) {
	if secret.Annotations[annotationIssued] == "" {
		return nil, nil
	}
	return func(changed *corev1.Secret) {
		maps.DeleteFunc(changed.Annotations, func(name, _ string) bool { return strings.HasPrefix(name, specs.CertificateKind.Group+"/") })
		ownedByNobodyElse(changed, owner)
	}, c.dismiss(ctx, specs.CertificateKind, secret.Namespace, secret.Name, owner.UID)
}

// disown marks a Secret that the operator has made as nobody's of cert-manager's issuers: cert-manager would leave
// it as it is, because its certificate is valid and for the right names.
func (c *certifier) disown(ctx context.Context, secret *corev1.Secret) error {
	if secret.UID == "" || secret.Annotations[annotationIssuer] != "" {
		return nil
	}
	return c.replace(ctx, secret, secret.Data, func(changed *corev1.Secret) {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, annotationIssuer, specs.FieldOwner)
	})
}

// adopt has a Secret of cert-manager's go with its owner: cert-manager itself leaves the Secret of a deleted
// Certificate behind.
func (c *certifier) adopt(ctx context.Context, secret *corev1.Secret, owner metav1.OwnerReference) error {
	if len(secret.OwnerReferences) > 0 {
		return nil
	}
	return c.replace(ctx, secret, secret.Data, func(changed *corev1.Secret) { ownedByNobodyElse(changed, owner) })
}

// ownAgain has a Secret that was left behind, or put back from a backup, go with its owner.
func (c *certifier) ownAgain(ctx context.Context, secret *corev1.Secret, owner metav1.OwnerReference) error {
	if secret.UID == "" || !cluster.Orphan(secret) {
		return nil
	}
	owned := secret.DeepCopy()
	ownedByNobodyElse(owned, owner)
	if err := c.Patch(ctx, owned, client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{}), client.FieldOwner(specs.FieldOwner)); err != nil {
		return err
	}
	*secret = *owned
	return nil
}

func ownedByNobodyElse(secret *corev1.Secret, owner metav1.OwnerReference) {
	if len(secret.OwnerReferences) == 0 {
		secret.OwnerReferences = []metav1.OwnerReference{owner}
	}
}

// dismiss deletes an object of cert-manager's that has the owner, if there are such objects at all.
func (c *certifier) dismiss(ctx context.Context, kind schema.GroupVersionKind, namespace, name string, owner types.UID) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	by := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: owner}}
	if err := c.applier.Remove(ctx, by, o); err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	return nil
}

// keepIssuer makes cert-manager's authority for this core; the state says what is missing.
func (c *certifier) keepIssuer(ctx context.Context, core *api.Core5G, state *certificatesState) error {
	for _, o := range specs.Issuer(core) {
		err := c.applier.Apply(ctx, o)
		if meta.IsNoMatchError(err) {
			c.lackCertManager(core, state)
			return nil
		}
		if err != nil {
			return err
		}
		if o.GetKind() != specs.CertificateKind.Kind {
			continue
		}
		secret := &corev1.Secret{}
		err = c.Get(ctx, client.ObjectKeyFromObject(o), secret)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if _, ok := certificates.End(secret.Data); ok {
			if err := c.adopt(ctx, secret, o.GetOwnerReferences()[0]); err != nil {
				return err
			}
			continue
		}
		state.lack(api.ReasonProgressing, fmt.Sprintf("Certificate %s, the authority of the SBI, is not issued yet%s: "+
			"look whether cert-manager runs, or write spec.tls.authority Operator", o.GetName(), readyMessage(o)))
		state.next = earlier(state.next, c.now().Add(5*time.Second))
	}
	return nil
}

// forsakeIssuer removes what keepIssuer has made, once nobody asks for it and nobody has a certificate of it.
func (c *certifier) forsakeIssuer(ctx context.Context, core *api.Core5G) error {
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: core.Namespace, Name: specs.IssuerAuthorityName(core.Name)}, secret)
	if err != nil || (!cluster.Owns(core, secret) && secret.Annotations[annotationIssued] != secret.Name) {
		return client.IgnoreNotFound(err)
	}
	for _, o := range specs.Issuer(core) {
		if err := c.dismiss(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName(), core.UID); err != nil {
			return err
		}
	}
	return client.IgnoreNotFound(c.Delete(ctx, secret))
}

func (c *certifier) lackCertManager(core *api.Core5G, state *certificatesState) {
	asked, instead := "spec.tls.authority is CertManager", "write authority Operator"
	if ref := core.Spec.TLS.IssuerRef; ref != nil {
		asked, instead = "spec.tls.issuerRef names issuer "+ref.Name, "leave issuerRef out"
	}
	state.lack(api.ReasonNoCertManager, fmt.Sprintf("%s, but the cluster knows no kind Certificate of cert-manager: "+
		"install cert-manager, or %s and the operator makes the certificates itself", asked, instead))
	state.next = c.now().Add(30 * time.Second)
}

// request has cert-manager make the certificates.
func (c *certifier) request(ctx context.Context, core *api.Core5G, issuer *api.IssuerReference, requests []specs.CertificateRequest) (certificatesState, error) {
	var state certificatesState
	for _, r := range requests {
		secret := &corev1.Secret{}
		err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Secret}, secret)
		if client.IgnoreNotFound(err) != nil {
			return state, err
		}
		// cert-manager would write its certificate into any Secret.
		if said := secretTaken(secret, r.Owner); said != "" {
			state.lack(api.ReasonNameTaken, said)
			state.next = earlier(state.next, c.now().Add(cluster.TakenRetry))
			continue
		}
		certificate := specs.Certificate(issuer, r)
		err = c.applier.Apply(ctx, certificate)
		if meta.IsNoMatchError(err) {
			c.lackCertManager(core, &state)
			return state, nil
		}
		if err != nil {
			return state, err
		}
		end, ok := certificates.End(secret.Data)
		switch {
		case !ok || secret.Annotations[annotationIssuer] != issuer.Name:
			if err := c.disown(ctx, secret); err != nil {
				return state, err
			}
			// Functions that restart now would not believe each other.
			state.lack(api.ReasonProgressing, fmt.Sprintf("Certificate %s is not issued by %s yet%s", r.Secret, issuer.Name, readyMessage(certificate)))
			state.next = earlier(state.next, c.now().Add(5*time.Second))
		case len(secret.Data[certificates.KeyAuthorities]) == 0:
			state.lack(api.ReasonNotSupported, fmt.Sprintf("Secret %s has no key %s: issuer %s does not say which authority it signs with, so peers could not be checked; name an issuer of kind CA or Vault",
				r.Secret, certificates.KeyAuthorities, issuer.Name))
		default:
			if err := c.adopt(ctx, secret, r.Owner); err != nil {
				return state, err
			}
			state.end = earlier(state.end, end)
		}
	}
	return state, nil
}

func readyMessage(certificate *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	for _, entry := range list {
		condition, ok := entry.(map[string]any)
		if message, is := condition["message"].(string); ok && is && condition["type"] == "Ready" {
			return ": " + message
		}
	}
	return ""
}

// forsake removes what keep has made, once nobody asks for it.
func (c *certifier) forsake(ctx context.Context, owner client.Object, requests []specs.CertificateRequest) error {
	for _, r := range requests {
		secret := &corev1.Secret{}
		err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Secret}, secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if secret.Annotations[annotationIssued] == r.Secret {
			if err := c.dismiss(ctx, specs.CertificateKind, r.Namespace, r.Secret, owner.GetUID()); err != nil {
				return err
			}
			// Nobody may own it yet; it has the labels that the Certificate gave it.
			if secret.Labels[api.LabelManagedBy] == r.Labels[api.LabelManagedBy] && secret.Labels[api.LabelInstance] == r.Labels[api.LabelInstance] {
				if err := client.IgnoreNotFound(c.Delete(ctx, secret)); err != nil {
					return err
				}
			}
			continue
		}
		if err := c.applier.Remove(ctx, owner, secret); err != nil {
			return err
		}
	}
	return nil
}

// identities are what the operator shows to NRFs and SMFs.
type identities struct {
	mu   sync.Mutex
	made map[string]madeIdentity
}

type madeIdentity struct {
	version  string
	identity *sbitls.Identity
}

// of returns the operator's identity in a core: nil where the SBI has no TLS.
func (i *identities) of(ctx context.Context, c client.Client, core *api.Core5G) (*sbitls.Identity, error) {
	if !specs.SBIOverTLS(core) {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: core.Namespace, Name: specs.OperatorCertificateName(core.Name)}
	secret := &corev1.Secret{}
	if err := c.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	version := string(secret.UID) + " " + secret.ResourceVersion
	if m := i.made[key.String()]; m.version == version {
		return m.identity, nil
	}
	identity, err := sbitls.New(secret.Data[certificates.KeyCertificate], secret.Data[certificates.KeyPrivate], secret.Data[certificates.KeyAuthorities])
	if err != nil {
		return nil, fmt.Errorf("Secret %s: %w", key.Name, err)
	}
	if i.made == nil {
		i.made = map[string]madeIdentity{}
	}
	i.made[key.String()] = madeIdentity{version, identity}
	return identity, nil
}

// keepCertificates comes before the functions: their pods mount them.
func (r *CoreReconciler) keepCertificates(ctx context.Context, s *coreScope) error {
	if s.core.Fused() { // nobody is called by a network; what there is stays for the other layout
		return nil
	}
	requests := specs.CoreCertificates(s.core)
	if !specs.SBIOverTLS(s.core) {
		meta.RemoveStatusCondition(&s.core.Status.Conditions, api.ConditionCertificatesReady)
		err := r.certifier.forsake(ctx, s.core, append(requests, specs.CertificateRequest{Namespace: s.core.Namespace, Secret: specs.AuthorityName(s.core.Name)}))
		if err != nil {
			return err
		}
		return r.certifier.forsakeIssuer(ctx, s.core)
	}
	var issuer certificatesState
	if specs.OwnIssuer(s.core) {
		if err := r.certifier.keepIssuer(ctx, s.core, &issuer); err != nil {
			return err
		}
	}
	state, err := r.certifier.keep(ctx, s.core, s.core, requests)
	if err != nil {
		return err
	}
	if issuer.problem != "" {
		state.reason, state.problem, state.next = issuer.reason, issuer.problem, earlier(state.next, issuer.next)
	}
	if !specs.OwnIssuer(s.core) && state.problem == "" {
		if err := r.certifier.forsakeIssuer(ctx, s.core); err != nil {
			return err
		}
	}
	if state.problem != "" {
		s.halted = true
		s.requeue = max(time.Second, state.next.Sub(r.certifier.now()))
		s.conditions.No(api.ConditionCertificatesReady, state.reason, state.problem)
		return nil
	}
	s.conditions.Yes(api.ConditionCertificatesReady, api.ReasonReady, fmt.Sprintf("every function has a certificate; the first ends at %s", state.end.UTC().Format(time.RFC3339)))
	return nil
}

// coreOfCertificate leads from a Secret with a certificate to its core, so that one that was deleted is
// made again at once, and one that cert-manager has made is noticed.
func coreOfCertificate(o client.Object) []reconcile.Request {
	labels := o.GetLabels()
	if labels[api.LabelManagedBy] != specs.Labels("", "")[api.LabelManagedBy] || labels[api.LabelInstance] == "" || labels[api.LabelSlice] != "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: labels[api.LabelInstance]}}}
}

// keepCertificate makes that of the Slice's SMF; the problem says why there is none.
func (r *SliceReconciler) keepCertificate(ctx context.Context, s *sliceScope) (problem string, err error) {
	request := specs.SMFCertificate(s.core, s.slice)
	if !specs.SBIOverTLS(s.core) {
		return "", r.certifier.forsake(ctx, s.slice, []specs.CertificateRequest{request})
	}
	state, err := r.certifier.keep(ctx, s.core, s.slice, []specs.CertificateRequest{request})
	if err != nil {
		return "", err
	}
	if !state.next.IsZero() {
		s.requeue = max(time.Second, state.next.Sub(r.certifier.now()))
	}
	return state.problem, nil
}

// slicesOfSecret leads from a certificate to its Slice, and from an authority to all.
func (r *SliceReconciler) slicesOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	labels := o.GetLabels()
	if labels[api.LabelManagedBy] != specs.Labels("", "")[api.LabelManagedBy] {
		return nil
	}
	if strings.HasSuffix(o.GetName(), "-ca") && labels[api.LabelComponent] == "ca" {
		return r.slicesWith(ctx, o, ofCoreNamed(labels[api.LabelInstance]))
	}
	return sliceOfPod(ctx, o)
}

// secretTaken returns why a Secret with a certificate is not to be written; "" where it may be. One that
// cert-manager has made for the operator's Certificate has nobody's reference at first.
func secretTaken(secret *corev1.Secret, owner metav1.OwnerReference) string {
	if secret.UID == "" || secret.Annotations[annotationIssued] == secret.Name {
		return ""
	}
	if err := cluster.Belongs("Secret", secret, &owner); err != nil {
		return err.Error()
	}
	return ""
}
