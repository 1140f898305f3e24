package specs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestWhoSignsTheSBI(t *testing.T) {
	site := &api.IssuerReference{Name: "site", Kind: "ClusterIssuer"}
	for name, tt := range map[string]struct {
		tls     api.TLSSpec
		want    *api.IssuerReference
		wantOwn bool
	}{
		"the operator unless said":          {tls: api.TLSSpec{Mode: api.TLSMutual}},
		"the operator":                      {tls: api.TLSSpec{Mode: api.TLSMutual, Authority: api.TLSAuthorityOperator}},
		"cert-manager, for this core alone": {tls: api.TLSSpec{Mode: api.TLSMutual, Authority: api.TLSAuthorityCertManager}, want: &api.IssuerReference{Name: "core5g-sbi"}, wantOwn: true},
		"the site's issuer":                 {tls: api.TLSSpec{Mode: api.TLSServer, IssuerRef: site}, want: site},
		"a named issuer comes first":        {tls: api.TLSSpec{Mode: api.TLSMutual, IssuerRef: site, Authority: api.TLSAuthorityCertManager}, want: site},
		"nobody, and no issuer is made":     {tls: api.TLSSpec{Mode: api.TLSDisabled, Authority: api.TLSAuthorityCertManager}, want: &api.IssuerReference{Name: "core5g-sbi"}},
	} {
		t.Run(name, func(t *testing.T) {
			core := makeCore()
			core.Spec.TLS = tt.tls
			if diff := cmp.Diff(tt.want, SBIIssuer(core)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := OwnIssuer(core); got != tt.wantOwn {
				t.Errorf("an issuer of its own: %v", got)
			}
		})
	}
}

// cert-manager's webhook refuses a longer one (RFC 5280 appendix A.1).
func TestAuthorityNameFitsACertificate(t *testing.T) {
	core := makeCore()
	core.Namespace = strings.Repeat("n", 63)
	for _, o := range Issuer(core) {
		if name, _, _ := unstructured.NestedString(o.Object, "spec", "commonName"); len(name) > commonNameLength {
			t.Errorf("%s: %d characters", o.GetName(), len(name))
		}
	}
}
