package specs

import (
	"strings"
	"testing"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestTLSThatACoreBeginsWith(t *testing.T) {
	core := makeCore()
	for name, c := range map[string]struct {
		image       api.FunctionSpec
		certManager bool
		want        TLSBeginning
		said        api.TLSSpec
	}{
		"a mode that is said":       {certManager: true, said: api.TLSSpec{Mode: api.TLSServer}, want: TLSBeginning{api.TLSServer, api.TLSAuthorityCertManager}},
		"an authority that is said": {certManager: true, said: api.TLSSpec{Authority: api.TLSAuthorityOperator}, want: TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}},

		"all images are core5g's":          {image: api.FunctionSpec{Name: api.FunctionCHF}, want: TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}},
		"cert-manager is there":            {image: api.FunctionSpec{Name: api.FunctionCHF}, certManager: true, want: TLSBeginning{api.TLSMutual, api.TLSAuthorityCertManager}},
		"an image without certificates":    {image: api.FunctionSpec{Name: api.FunctionAMF, Image: "free5gc/amf:v4"}, want: TLSBeginning{api.TLSServer, api.TLSAuthorityOperator}},
		"an image of what nobody calls":    {image: api.FunctionSpec{Name: api.FunctionUPFU, Image: "mine/upf"}, want: TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}},
		"an image of the session store":    {image: api.FunctionSpec{Name: api.FunctionSessionStore, Image: "redis:8"}, want: TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}},
		"an image, and cert-manager signs": {image: api.FunctionSpec{Name: api.FunctionPCF, Image: "free5gc/pcf:v4"}, certManager: true, want: TLSBeginning{api.TLSServer, api.TLSAuthorityCertManager}},
	} {
		t.Run(name, func(t *testing.T) {
			core.Spec.Functions, core.Spec.TLS = []api.FunctionSpec{c.image}, c.said
			if got := BeginTLS(core, c.certManager); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTLSIsWhatTheSpecSaysElseWhatTheCoreBeganWith(t *testing.T) {
	for name, c := range map[string]struct {
		spec       api.TLSSpec
		annotation string
		want       TLSBeginning
		wrong      bool
	}{
		"nothing, as of before":      {api.TLSSpec{}, "", TLSBeginning{api.TLSDisabled, api.TLSAuthorityOperator}, false},
		"what it began with":         {api.TLSSpec{}, `{"mode":"Mutual","authority":"CertManager"}`, TLSBeginning{api.TLSMutual, api.TLSAuthorityCertManager}, false},
		"the spec's mode":            {api.TLSSpec{Mode: api.TLSDisabled}, `{"mode":"Mutual","authority":"CertManager"}`, TLSBeginning{api.TLSDisabled, api.TLSAuthorityCertManager}, false},
		"the spec's authority":       {api.TLSSpec{Authority: api.TLSAuthorityOperator}, `{"mode":"Mutual","authority":"CertManager"}`, TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}, false},
		"a note that is no JSON":     {api.TLSSpec{Mode: api.TLSMutual}, "Mutual", TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}, true},
		"a note of a mode of no TLS": {api.TLSSpec{Mode: api.TLSMutual}, `{"mode":"Some","authority":"Operator"}`, TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}, true},
		"a note without authority":   {api.TLSSpec{Mode: api.TLSMutual}, `{"mode":"Mutual"}`, TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}, true},
	} {
		t.Run(name, func(t *testing.T) {
			core := makeCore()
			core.Spec.TLS = c.spec
			core.Annotations = map[string]string{AnnotationTLSBegan: c.annotation}
			if got := tlsOf(core); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if SBIOverTLS(core) != (c.want.Mode != api.TLSDisabled) {
				t.Error("SBIOverTLS says otherwise")
			}
			if _, err := TLSBegan(core); (err != nil) != c.wrong || err != nil && !strings.Contains(err.Error(), AnnotationTLSBegan) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestFunctionsWaitForWhatTheSBISpeaks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.Core5G)
		want   string
	}{
		"a new core":             {func(*api.Core5G) {}, "has just been made"},
		"one that has been seen": {func(c *api.Core5G) { c.Status.ObservedGeneration = 1 }, ""},
		"its spec says one half": {func(c *api.Core5G) { c.Spec.TLS.Mode = api.TLSMutual }, "has just been made"},
		"its spec says it": {func(c *api.Core5G) {
			c.Spec.TLS = api.TLSSpec{Mode: api.TLSMutual, Authority: api.TLSAuthorityOperator}
		}, ""},
		"nobody has to sign": {func(c *api.Core5G) { c.Spec.TLS.Mode = api.TLSDisabled }, ""},
		"the site's issuer": {func(c *api.Core5G) {
			c.Spec.TLS = api.TLSSpec{Mode: api.TLSServer, IssuerRef: &api.IssuerReference{Name: "site"}}
		}, ""},
		"it is written down": {func(c *api.Core5G) {
			c.Annotations = map[string]string{AnnotationTLSBegan: `{"mode":"Mutual","authority":"Operator"}`}
		}, ""},
		"what is written is wrong": {func(c *api.Core5G) { c.Annotations = map[string]string{AnnotationTLSBegan: "x"} }, "write spec.tls.mode and authority"},
		"and the spec says it": {func(c *api.Core5G) {
			c.Annotations, c.Spec.TLS.Mode = map[string]string{AnnotationTLSBegan: "x"}, api.TLSServer
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			core := makeCore()
			core.Spec.TLS = api.TLSSpec{}
			c.change(core)
			if got := TLSProblem(core); (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Message, c.want) {
				t.Errorf("got %v, want %q", got, c.want)
			}
		})
	}
}
