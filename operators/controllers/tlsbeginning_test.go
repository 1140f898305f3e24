package controllers

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// testTLSBegins makes a core that does not say how the SBI is protected, as kubectl does, and then spoils what was written down. Who signs is said: another test
// may have installed the definitions of cert-manager.
func (e *environment) testTLSBegins(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	core.Spec.TLS = api.TLSSpec{Authority: api.TLSAuthorityOperator}
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionTrue, api.ReasonReady, "the first ends at")
	e.get(t, core, ns, core.Name)
	if began, err := specs.TLSBegan(core); err != nil || began.Mode != api.TLSMutual || core.Spec.TLS.Mode != "" {
		t.Errorf("it began with %+v, %v, and its spec says %q", began, err, core.Spec.TLS.Mode)
	}
	nrf := &appsv1.Deployment{}
	scheme := func(want corev1.URIScheme) func() error {
		return func() error {
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-nrf"}, nrf); err != nil {
				return err
			}
			mounts := false
			for _, v := range nrf.Spec.Template.Spec.Volumes {
				mounts = mounts || v.Secret != nil && v.Secret.SecretName == "core5g-nrf-tls"
			}
			if mounts != (want == corev1.URISchemeHTTPS) {
				return errors.New("the NRF does not speak " + string(want))
			}
			return nil
		}
	}
	eventually(t, "a certificate in the NRF", scheme(corev1.URISchemeHTTPS))

	// A spec that said it, and does no more, leaves the core as it is.
	e.edit(t, core, func() { core.Spec.TLS.Mode = api.TLSMutual })
	e.edit(t, core, func() { core.Spec.TLS.Mode = "" })
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionTrue, api.ReasonReady, "")
	if err := scheme(corev1.URISchemeHTTPS)(); err != nil {
		t.Error(err)
	}

	// A note that nobody can read is no reason to restart anything.
	e.edit(t, core, func() {
		core.Annotations[specs.AnnotationTLSBegan] = "Mutual"
		core.Spec.LogLevel = api.LogDebug // the annotation by itself is looked at with the next change
	})
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionFalse, api.ReasonMalformed, "write spec.tls.mode and authority, and remove it")
	if err := scheme(corev1.URISchemeHTTPS)(); err != nil {
		t.Error(err)
	}
	e.edit(t, core, func() { core.Spec.TLS.Mode = api.TLSDisabled })
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionTrue, api.ReasonReady, "")
	eventually(t, "what the spec says goes before", scheme(corev1.URISchemeHTTP))
}
