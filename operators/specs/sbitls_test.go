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
	}{
		"all images are core5g's":          {api.FunctionSpec{Name: api.FunctionCHF}, false, TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}},
		"cert-manager is there":            {api.FunctionSpec{Name: api.FunctionCHF}, true, TLSBeginning{api.TLSMutual, api.TLSAuthorityCertManager}},
		"an image without certificates":    {api.FunctionSpec{Name: api.FunctionAMF, Image: "free5gc/amf:v4"}, false, TLSBeginning{api.TLSServer, api.TLSAuthorityOperator}},
		"an image of what nobody calls":    {api.FunctionSpec{Name: api.FunctionUPFU, Image: "mine/upf"}, false, TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}},
		"an image of the session store":    {api.FunctionSpec{Name: api.FunctionSessionStore, Image: "redis:8"}, false, TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}},
		"an image, and cert-manager signs": {api.FunctionSpec{Name: api.FunctionPCF, Image: "free5gc/pcf:v4"}, true, TLSBeginning{api.TLSServer, api.TLSAuthorityCertManager}},
	} {
		t.Run(name, func(t *testing.T) {
			core.Spec.Functions = []api.FunctionSpec{c.image}
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
		"its spec says it":       {func(c *api.Core5G) { c.Spec.TLS.Mode = api.TLSMutual }, ""},
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
