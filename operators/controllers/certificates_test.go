package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/certificates"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

func (e *environment) patch(t *testing.T, o client.Object, text string) {
	t.Helper()
	if err := e.client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatal(err)
	}
}

func (e *environment) secret(t *testing.T, ns, name string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	eventually(t, "Secret "+name, func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, secret)
	})
	return secret
}

func (e *environment) secureCore(t *testing.T, ns string) *api.Core5G {
	core := controllertest.Core(t, ns)
	core.Spec.TLS = api.TLSSpec{Mode: api.TLSMutual, Authority: api.TLSAuthorityOperator}
	e.create(t, core)
	return core
}

func (e *environment) testCertificates(t *testing.T) {
	ns := e.namespace(t)
	core := e.secureCore(t, ns)
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionTrue, api.ReasonReady, "the first ends at")
	for _, r := range specs.CoreCertificates(core) {
		s := e.secret(t, ns, r.Secret)
		if s.Type != corev1.SecretTypeTLS || len(s.Data[certificates.KeyAuthorities]) == 0 || !cluster.Owns(core, s) {
			t.Errorf("Secret %s: type %s, keys %d, owned %v", s.Name, s.Type, len(s.Data), cluster.Owns(core, s))
		}
	}
	nrf := &appsv1.Deployment{}
	eventually(t, "the NRF mounts its certificate", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-nrf"}, nrf); err != nil {
			return err
		}
		for _, v := range nrf.Spec.Template.Spec.Volumes {
			if v.Secret != nil && v.Secret.SecretName == "core5g-nrf-tls" {
				return nil
			}
		}
		return errors.New("no volume of core5g-nrf-tls")
	})
	// Who deletes a certificate gets another, at once and without a new pod.
	before := e.secret(t, ns, "core5g-nrf-tls")
	if err := e.client.Delete(t.Context(), before.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another certificate", func() error {
		after := &corev1.Secret{}
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(before), after); err != nil {
			return err
		}
		if after.UID == before.UID || string(after.Data[certificates.KeyCertificate]) == string(before.Data[certificates.KeyCertificate]) {
			return errors.New("it is the old one")
		}
		return nil
	})
	again := &appsv1.Deployment{}
	e.get(t, again, ns, "core5g-nrf")
	if again.Generation != nrf.Generation {
		t.Error("a new certificate changed the Deployment of the NRF")
	}
	// A Slice's SMF has its own.
	e.installAttachmentKind(t)
	upf, slice := controllertest.UPF(t, ns), controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, upf, slice)
	e.wantCondition(t, upf, api.ConditionEndpointsAllocated, metav1.ConditionTrue, "", "")
	smf := e.secret(t, ns, "core5g-smf-internet-tls")
	if !cluster.Owns(slice, smf) {
		t.Error("the SMF's certificate does not go with its Slice")
	}
	// Without TLS nothing is left of it.
	e.patch(t, core, `{"spec":{"tls":{"mode":"Disabled"}}}`)
	eventually(t, "no certificates any more", func() error {
		var list corev1.SecretList
		if err := e.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, s := range list.Items {
			if s.Type == corev1.SecretTypeTLS {
				return fmt.Errorf("there is %s", s.Name)
			}
		}
		return nil
	})
	eventually(t, "no condition CertificatesReady any more", func() error {
		e.get(t, core, ns, "core5g")
		for _, c := range core.Status.Conditions {
			if c.Type == api.ConditionCertificatesReady {
				return errors.New("it stays")
			}
		}
		return nil
	})
}

func (e *environment) testCertificateRenewal(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	core.Spec.TLS = api.TLSSpec{Mode: api.TLSMutual, Authority: api.TLSAuthorityOperator, Duration: &metav1.Duration{Duration: 2 * time.Hour}, RenewBefore: &metav1.Duration{Duration: time.Hour}}
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionTrue, api.ReasonReady, "")
	before, authority := e.secret(t, ns, "core5g-amf-tls"), e.secret(t, ns, "core5g-ca")
	e.clock.hold(t)
	e.clock.add(61 * time.Minute)
	eventually(t, "a renewed certificate", func() error {
		e.nudge(t, core)
		e.patch(t, core, fmt.Sprintf(`{"spec":{"logLevel":%q}}`, []string{"Info", "Debug"}[time.Now().Nanosecond()/1e6%2]))
		if string(e.secret(t, ns, "core5g-amf-tls").Data[certificates.KeyCertificate]) == string(before.Data[certificates.KeyCertificate]) {
			return errors.New("it is the old one")
		}
		return nil
	})
	if string(e.secret(t, ns, "core5g-ca").Data[certificates.KeyCertificate]) != string(authority.Data[certificates.KeyCertificate]) {
		t.Error("the authority changed too")
	}
	// A new authority is believed at once and signs later.
	old := e.secret(t, ns, "core5g-amf-tls")
	if err := e.client.Delete(t.Context(), authority); err != nil {
		t.Fatal(err)
	}
	eventually(t, "two authorities are believed, and the certificate stays", func() error {
		s := e.secret(t, ns, "core5g-amf-tls")
		if n := strings.Count(string(s.Data[certificates.KeyAuthorities]), "BEGIN CERTIFICATE"); n != 2 {
			return fmt.Errorf("%d authorities", n)
		}
		if string(s.Data[certificates.KeyCertificate]) != string(old.Data[certificates.KeyCertificate]) {
			t.Fatal("the certificate changed before everybody believed the new authority")
		}
		return nil
	})
}

func (e *environment) testCertManager(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	core.Spec.TLS = api.TLSSpec{Mode: api.TLSMutual, IssuerRef: &api.IssuerReference{Name: "site"}}
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionFalse, api.ReasonNoCertManager, "install cert-manager, or leave issuerRef out")
	e.wantCondition(t, core, api.ConditionReady, metav1.ConditionFalse, api.ReasonNoCertManager, "")
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-nrf"}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("a function was made without its certificate: %v", err)
	}
	if _, err := envtest.InstallCRDs(e.env.Config, envtest.CRDInstallOptions{Paths: []string{"testdata/cert-manager"}}); err != nil {
		t.Fatal(err)
	}
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(specs.CertificateKind)
	eventually(t, "a Certificate for each function", func() error {
		e.patch(t, core, fmt.Sprintf(`{"spec":{"logLevel":%q}}`, []string{"Info", "Debug"}[time.Now().Nanosecond()/1e6%2]))
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-amf-tls"}, certificate)
	})
	if issuer, _, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name"); issuer != "site" {
		t.Errorf("the issuer is %q", issuer)
	}
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionFalse, api.ReasonProgressing, "is not issued by site yet")
	site := e.playCertManager(t, "site", specs.CoreCertificates(core)...)
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionTrue, api.ReasonReady, "")
	amf := e.secret(t, ns, "core5g-amf-tls")
	eventually(t, "the Secret goes with the core", func() error {
		if amf = e.secret(t, ns, "core5g-amf-tls"); !cluster.Owns(core, amf) {
			return fmt.Errorf("owners %v", amf.OwnerReferences)
		}
		return nil
	})
	// Taken over by the operator: from then on nobody else renews it, and who knows the former authority only is
	// not refused at once.
	e.patch(t, core, `{"spec":{"tls":{"issuerRef":null}}}`)
	eventually(t, "the operator's Secrets and no Certificates", func() error {
		now := e.secret(t, ns, "core5g-amf-tls")
		if now.UID != amf.UID || now.Annotations[certifying.AnnotationIssued] != "" || !cluster.Owns(core, now) {
			return fmt.Errorf("another Secret, or still cert-manager's: %v, owners %v", now.Annotations, now.OwnerReferences)
		}
		if n := strings.Count(string(now.Data[certificates.KeyAuthorities]), "BEGIN CERTIFICATE"); n != 2 {
			return fmt.Errorf("%d authorities are believed, want the former and the operator's", n)
		}
		return e.absent(t, ns, specs.CertificateKind, "core5g-amf-tls")
	})
	if !strings.Contains(string(e.secret(t, ns, "core5g-nrf-tls").Data[certificates.KeyAuthorities]), strings.TrimSpace(string(site.Bundle))) {
		t.Error("the former authority is not believed any more")
	}
	// An issuer for this core alone, which the operator asks for.
	e.patch(t, core, `{"spec":{"tls":{"authority":"CertManager"}}}`)
	for _, o := range specs.Issuer(core) {
		eventually(t, o.GetKind()+" "+o.GetName(), func() error {
			return e.client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		})
	}
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionFalse, api.ReasonProgressing, "Certificate core5g-sbi-ca, the authority of the SBI, is not issued yet")
	e.playCertManager(t, "core5g-sbi", specs.CertificateRequest{Namespace: ns, Secret: specs.IssuerAuthorityName(core.Name), Labels: specs.Labels(core.Name, "ca")})
	eventually(t, "Certificates of the Issuer", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-amf-tls"}, certificate); err != nil {
			return err
		}
		if issuer, _, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name"); issuer != "core5g-sbi" {
			return fmt.Errorf("the issuer is %q", issuer)
		}
		return nil
	})
	// The operator's own are not taken for the Issuer's, neither here nor by cert-manager.
	eventually(t, "a Secret that cert-manager makes anew", func() error {
		if issuer := e.secret(t, ns, "core5g-amf-tls").Annotations[certifying.AnnotationIssuer]; issuer == "" || issuer == "core5g-sbi" {
			return fmt.Errorf("annotation %s is %q", certifying.AnnotationIssuer, issuer)
		}
		return nil
	})
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionFalse, api.ReasonProgressing, "Certificate core5g-nrf-tls is not issued by core5g-sbi yet")
	for _, r := range specs.CoreCertificates(core) {
		e.patch(t, e.secret(t, ns, r.Secret), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:"core5g-sbi"}}}`, certifying.AnnotationIssued, r.Secret, certifying.AnnotationIssuer))
	}
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionTrue, api.ReasonReady, "")
	e.patch(t, core, `{"spec":{"tls":{"mode":"Disabled","authority":null}}}`)
	eventually(t, "nothing of cert-manager any more", func() error {
		err := errors.Join(
			e.absent(t, ns, specs.CertificateKind, "core5g-amf-tls"),
			e.absent(t, ns, specs.CertificateKind, specs.IssuerAuthorityName(core.Name)),
			e.absent(t, ns, specs.IssuerKind, specs.IssuerName(core.Name)),
		)
		var list corev1.SecretList
		if err := e.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, s := range list.Items {
			if s.Type == corev1.SecretTypeTLS {
				err = errors.Join(err, fmt.Errorf("there is Secret %s", s.Name))
			}
		}
		return err
	})
}

// playCertManager issues certificates as it would, with an authority of that name.
func (e *environment) playCertManager(t *testing.T, name string, requests ...specs.CertificateRequest) *certificates.Authority {
	t.Helper()
	data, err := certificates.NewAuthority(name, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := certificates.ReadAuthority(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		content, _, err := authority.Renew(nil, certificates.Certificate{DNSNames: r.DNSNames, Duration: time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		e.create(t, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Secret, Labels: r.Labels, Annotations: map[string]string{certifying.AnnotationIssued: r.Secret, certifying.AnnotationIssuer: name}},
			Type:       corev1.SecretTypeTLS, Data: content,
		})
	}
	return authority
}

// absent is nil where there is no such object.
func (e *environment) absent(t *testing.T, ns string, kind schema.GroupVersionKind, name string) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, o); !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s: %v", kind.Kind, name, err)
	}
	return nil
}
