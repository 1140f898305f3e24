package specs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// cert-manager's part of the SBI's certificates: the issuer that signs them, which is the site's own
// (issuerRef) or one that is made for this core alone (authority CertManager): an Issuer that signs itself, the
// certificate of an authority from it, and the Issuer that signs with that.

// IssuerKind is cert-manager's, as CertificateKind.
var IssuerKind = schema.GroupVersionKind{Group: CertificateKind.Group, Version: CertificateKind.Version, Kind: "Issuer"}

// authorityDuration is that of the operator's own authority too.
const authorityDuration = "87600h"

// commonNameLength is the limit of an X.509 common name (RFC 5280 appendix A.1).
const commonNameLength = 64

// SBIIssuer names the issuer of cert-manager that signs the certificates of the core; nil where the operator does.
func SBIIssuer(core *api.Core5G) *api.IssuerReference {
	switch {
	case core.Spec.TLS.IssuerRef != nil:
		return core.Spec.TLS.IssuerRef
	case tlsOf(core).Authority == api.TLSAuthorityCertManager:
		return &api.IssuerReference{Name: IssuerName(core.Name)}
	}
	return nil
}

// OwnIssuer tells whether that issuer is one that the operator has made for the core.
func OwnIssuer(core *api.Core5G) bool {
	return SBIOverTLS(core) && core.Spec.TLS.IssuerRef == nil && tlsOf(core).Authority == api.TLSAuthorityCertManager
}

// IssuerName names the Issuer of a core.
func IssuerName(core string) string { return core + "-sbi" }

// IssuerAuthorityName names the authority's Certificate, and the Secret with its key.
func IssuerAuthorityName(core string) string { return IssuerName(core) + "-ca" }

// Issuer has cert-manager make an authority for the core and an Issuer that signs with it.
func Issuer(core *api.Core5G) []*unstructured.Unstructured {
	labels, owner := Labels(core.Name, "ca"), ownedBy(core, "Core5G")
	selfSigned, authority := core.Name+"-self-signed", IssuerAuthorityName(core.Name)
	name := core.Namespace + "/" + core.Name
	return []*unstructured.Unstructured{
		certManagerObject(IssuerKind, selfSigned, core.Namespace, labels, owner, map[string]any{"selfSigned": map[string]any{}}),
		certManagerObject(CertificateKind, authority, core.Namespace, labels, owner, map[string]any{
			"secretName":     authority,
			"secretTemplate": map[string]any{"labels": asAny(labels)},
			"commonName":     name[:min(len(name), commonNameLength)],
			"isCA":           true,
			"duration":       authorityDuration,
			// The key stays: what it has signed is believed after a renewal of the authority too.
			"privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Never"},
			"issuerRef":  issuerReference(&api.IssuerReference{Name: selfSigned}),
		}),
		certManagerObject(IssuerKind, IssuerName(core.Name), core.Namespace, labels, owner, map[string]any{"ca": map[string]any{"secretName": authority}}),
	}
}

func issuerReference(issuer *api.IssuerReference) map[string]any {
	kind, group := issuer.Kind, issuer.Group
	if kind == "" {
		kind = IssuerKind.Kind
	}
	if group == "" {
		group = IssuerKind.Group
	}
	return map[string]any{"name": issuer.Name, "kind": kind, "group": group}
}

func certManagerObject(kind schema.GroupVersionKind, name, namespace string, labels map[string]string, owner metav1.OwnerReference, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind)
	u.SetName(name)
	u.SetNamespace(namespace)
	u.SetLabels(labels)
	u.SetOwnerReferences([]metav1.OwnerReference{owner})
	return u
}

func asAny(labels map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range labels {
		out[k] = v
	}
	return out
}
