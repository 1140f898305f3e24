package certifying

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/certificates"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// KeepIssuer makes cert-manager's authority for this core; the state says what is missing.
func (c *Certifier) KeepIssuer(ctx context.Context, core *api.Core5G, state *State) error {
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
		state.Next = Earlier(state.Next, c.now().Add(5*time.Second))
	}
	return nil
}

// ForsakeIssuer removes what keepIssuer has made, once nobody asks for it and nobody has a certificate of it.
func (c *Certifier) ForsakeIssuer(ctx context.Context, core *api.Core5G) error {
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: core.Namespace, Name: specs.IssuerAuthorityName(core.Name)}, secret)
	if err != nil || (!cluster.Owns(core, secret) && secret.Annotations[AnnotationIssued] != secret.Name) {
		return client.IgnoreNotFound(err)
	}
	for _, o := range specs.Issuer(core) {
		if err := c.dismiss(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName(), core.UID); err != nil {
			return err
		}
	}
	return client.IgnoreNotFound(c.Delete(ctx, secret))
}

func (c *Certifier) lackCertManager(core *api.Core5G, state *State) {
	asked, instead := "spec.tls.authority is CertManager", "write authority Operator"
	if ref := core.Spec.TLS.IssuerRef; ref != nil {
		asked, instead = "spec.tls.issuerRef names issuer "+ref.Name, "leave issuerRef out"
	}
	state.lack(api.ReasonNoCertManager, fmt.Sprintf("%s, but the cluster knows no kind Certificate of cert-manager: "+
		"install cert-manager, or %s and the operator makes the certificates itself", asked, instead))
	state.Next = c.now().Add(30 * time.Second)
}

// request has cert-manager make the certificates.
func (c *Certifier) request(ctx context.Context, core *api.Core5G, issuer *api.IssuerReference, requests []specs.CertificateRequest) (State, error) {
	var state State
	for _, r := range requests {
		secret := &corev1.Secret{}
		err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Secret}, secret)
		if client.IgnoreNotFound(err) != nil {
			return state, err
		}
		// cert-manager would write its certificate into any Secret.
		if said := secretTaken(secret, r.Owner); said != "" {
			state.lack(api.ReasonNameTaken, said)
			state.Next = Earlier(state.Next, c.now().Add(cluster.TakenRetry))
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
		case !ok || secret.Annotations[AnnotationIssuer] != issuer.Name:
			if err := c.disown(ctx, secret); err != nil {
				return state, err
			}
			// Functions that restart now would not believe each other.
			state.lack(api.ReasonProgressing, fmt.Sprintf("Certificate %s is not issued by %s yet%s", r.Secret, issuer.Name, readyMessage(certificate)))
			state.Next = Earlier(state.Next, c.now().Add(5*time.Second))
		case len(secret.Data[certificates.KeyAuthorities]) == 0:
			state.lack(api.ReasonNotSupported, fmt.Sprintf("Secret %s has no key %s: issuer %s does not say which authority it signs with, so peers could not be checked; name an issuer of kind CA or Vault",
				r.Secret, certificates.KeyAuthorities, issuer.Name))
		default:
			if err := c.adopt(ctx, secret, r.Owner); err != nil {
				return state, err
			}
			state.End = Earlier(state.End, end)
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

// takeOver makes a Secret of cert-manager's the operator's: two who renew one certificate never end. The change
// of the Secret comes with its new content.
func (c *Certifier) takeOver(ctx context.Context, secret *corev1.Secret, owner metav1.OwnerReference) (func(*corev1.Secret), error) {
	if secret.Annotations[AnnotationIssued] == "" {
		return nil, nil
	}
	return func(changed *corev1.Secret) {
		maps.DeleteFunc(changed.Annotations, func(name, _ string) bool { return strings.HasPrefix(name, specs.CertificateKind.Group+"/") })
		ownedByNobodyElse(changed, owner)
	}, c.dismiss(ctx, specs.CertificateKind, secret.Namespace, secret.Name, owner.UID)
}

// disown marks a Secret that the operator has made as nobody's of cert-manager's issuers: cert-manager would leave
// it as it is, because its certificate is valid and for the right names.
func (c *Certifier) disown(ctx context.Context, secret *corev1.Secret) error {
	if secret.UID == "" || secret.Annotations[AnnotationIssuer] != "" {
		return nil
	}
	return c.replace(ctx, secret, secret.Data, func(changed *corev1.Secret) {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, AnnotationIssuer, specs.FieldOwner)
	})
}

// adopt has a Secret of cert-manager's go with its owner: cert-manager itself leaves the Secret of a deleted
// Certificate behind.
func (c *Certifier) adopt(ctx context.Context, secret *corev1.Secret, owner metav1.OwnerReference) error {
	if len(secret.OwnerReferences) > 0 {
		return nil
	}
	return c.replace(ctx, secret, secret.Data, func(changed *corev1.Secret) { ownedByNobodyElse(changed, owner) })
}

// dismiss deletes an object of cert-manager's that has the owner, if there are such objects at all.
func (c *Certifier) dismiss(ctx context.Context, kind schema.GroupVersionKind, namespace, name string, owner types.UID) error {
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
