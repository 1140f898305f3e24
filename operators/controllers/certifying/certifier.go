package certifying

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/certificates"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// What cert-manager writes on a Secret that it has made: for which Certificate, and whose signature it is.
const (
	AnnotationIssued = "cert-manager.io/certificate-name"
	AnnotationIssuer = "cert-manager.io/issuer-name"
)

// Certifier keeps the certificates of functions in their Secrets: with the core's own authority, or by
// cert-manager. Reads come from a cache that may be behind; whatever is written says what it was made
// from, so that a late look never replaces a certificate twice.
type Certifier struct {
	client.Client
	applier  *applying.Applier
	recorder record.EventRecorder
	now      func() time.Time
}

// New certifies by a client, and applies what cert-manager is asked by.
func New(c client.Client, applier *applying.Applier, recorder record.EventRecorder, now func() time.Time) *Certifier {
	return &Certifier{Client: c, applier: applier, recorder: recorder, now: now}
}

// State is what came of it.
type State struct {
	// Reason and Problem where a certificate is missing.
	Reason, Problem string
	// Next is when to look again.
	Next time.Time
	// End is when the first of the certificates ends.
	End time.Time
}

func (s *State) lack(reason, problem string) {
	if s.Problem == "" {
		s.Reason, s.Problem = reason, problem
	}
}

// Earlier of two times; one that is zero is none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// Keep brings about the certificates that are asked for.
func (c *Certifier) Keep(ctx context.Context, core *api.Core5G, events client.Object, requests []specs.CertificateRequest) (State, error) {
	if issuer := specs.SBIIssuer(core); issuer != nil {
		return c.request(ctx, core, issuer, requests)
	}
	var state State
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
func (c *Certifier) authority(ctx context.Context, of authorityOf, state *State) (*certificates.Authority, error) {
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
		state.Next = Earlier(state.Next, c.now().Add(cluster.TakenRetry))
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
func (c *Certifier) replace(ctx context.Context, secret *corev1.Secret, data map[string][]byte, change func(*corev1.Secret)) error {
	changed := secret.DeepCopy()
	changed.Data = data
	if change != nil {
		change(changed)
	}
	return c.Patch(ctx, changed, client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{}), client.FieldOwner(specs.FieldOwner))
}

func (c *Certifier) issue(ctx context.Context, authority *certificates.Authority, events client.Object, r specs.CertificateRequest, state *State) error {
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Secret}, secret)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	missing := apierrors.IsNotFound(err)
	if said := secretTaken(secret, r.Owner); said != "" {
		state.lack(api.ReasonNameTaken, said)
		state.Next = Earlier(state.Next, c.now().Add(cluster.TakenRetry))
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
	state.Next = Earlier(state.Next, next)
	if end, ok := certificates.End(data); ok {
		state.End = Earlier(state.End, end)
	}
	return nil
}

// ownAgain has a Secret that was left behind, or put back from a backup, go with its owner.
func (c *Certifier) ownAgain(ctx context.Context, secret *corev1.Secret, owner metav1.OwnerReference) error {
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

// Forsake removes what keep has made, once nobody asks for it.
func (c *Certifier) Forsake(ctx context.Context, owner client.Object, requests []specs.CertificateRequest) error {
	for _, r := range requests {
		secret := &corev1.Secret{}
		err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Secret}, secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		if secret.Annotations[AnnotationIssued] == r.Secret {
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

// secretTaken returns why a Secret with a certificate is not to be written; "" where it may be. One that
// cert-manager has made for the operator's Certificate has nobody's reference at first.
func secretTaken(secret *corev1.Secret, owner metav1.OwnerReference) string {
	if secret.UID == "" || secret.Annotations[AnnotationIssued] == secret.Name {
		return ""
	}
	if err := cluster.Belongs("Secret", secret, &owner); err != nil {
		return err.Error()
	}
	return ""
}

// KeepStandby keeps the certificate of a UPFInstance's members. Its authority is the UPFInstance's own, whatever the core has.
func (c *Certifier) KeepStandby(ctx context.Context, upf *api.UPFInstance) (State, error) {
	var state State
	request := specs.StandbyCertificate(upf)
	authority, err := c.authority(ctx, authorityOf{upf, request.Owner, specs.StandbyAuthorityName(upf.Name), request.Labels, request.Secret}, &state)
	if err != nil || authority == nil {
		return state, err
	}
	return state, c.issue(ctx, authority, upf, request, &state)
}
