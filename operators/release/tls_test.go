package release

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/operators/specs"
)

func TestApplySettlesTLS(t *testing.T) {
	type values = map[string]any
	began := func(mode, authority string) string {
		return `{"authority":"` + authority + `","mode":"` + mode + `"}`
	}
	tests := []struct {
		name string
		// said is spec.tls of the values, spec the rest of it.
		said, spec values
		// live is spec.tls of a core that is there, with the annotation; nil where there is none.
		live        values
		annotation  string
		certManager bool
		want        values
		wantBegan   string
	}{
		{name: "a new core gets mutual TLS", want: values{"mode": "Mutual", "authority": "Operator"}, wantBegan: began("Mutual", "Operator")},
		{name: "with cert-manager it has an issuer of its own", certManager: true,
			want: values{"mode": "Mutual", "authority": "CertManager"}, wantBegan: began("Mutual", "CertManager")},
		{name: "a new core as the values say", said: values{"mode": "Disabled"},
			want: values{"mode": "Disabled", "authority": "Operator"}, wantBegan: began("Disabled", "Operator")},
		{name: "an authority that the values say", certManager: true, said: values{"authority": "Operator"},
			want: values{"mode": "Mutual", "authority": "Operator"}, wantBegan: began("Mutual", "Operator")},
		{name: "what else is said stays", said: values{"duration": "24h"},
			want: values{"mode": "Mutual", "authority": "Operator", "duration": "24h"}, wantBegan: began("Mutual", "Operator")},
		{name: "other images have no certificate to show",
			spec: values{"functions": []any{values{"name": "smf", "image": "example.org/smf:v4"}}},
			want: values{"mode": "Server", "authority": "Operator"}, wantBegan: began("Server", "Operator")},
		{name: "the image of the database does not matter",
			spec: values{"functions": []any{values{"name": "database", "image": "example.org/mongo:7"}, values{"name": "amf"}}},
			want: values{"mode": "Mutual", "authority": "Operator"}, wantBegan: began("Mutual", "Operator")},
		{name: "a core of before stays in clear text", certManager: true, live: values{}},
		{name: "a core of before does what the values say", live: values{}, said: values{"mode": "Mutual"}, want: values{"mode": "Mutual"}},
		{name: "an upgrade changes nothing, though cert-manager has come", certManager: true, live: values{"mode": "Mutual", "authority": "Operator"},
			annotation: began("Mutual", "Operator"), want: values{"mode": "Mutual", "authority": "Operator"}, wantBegan: began("Mutual", "Operator")},
		{name: "nor though cert-manager has gone", live: values{"mode": "Mutual", "authority": "CertManager"},
			annotation: began("Mutual", "CertManager"), want: values{"mode": "Mutual", "authority": "CertManager"}, wantBegan: began("Mutual", "CertManager")},
		{name: "the values come first", live: values{"mode": "Mutual", "authority": "Operator"}, annotation: began("Mutual", "Operator"),
			said: values{"authority": "CertManager"}, want: values{"mode": "Mutual", "authority": "CertManager"}, wantBegan: began("Mutual", "Operator")},
		{name: "a value that is taken back leaves what the core began with", live: values{"mode": "Server", "authority": "CertManager"}, annotation: began("Mutual", "Operator"),
			want: values{"mode": "Mutual", "authority": "Operator"}, wantBegan: began("Mutual", "Operator")},
		{name: "an issuer of the site's", said: values{"issuerRef": values{"name": "site"}},
			want: values{"mode": "Mutual", "authority": "Operator", "issuerRef": values{"name": "site"}}, wantBegan: began("Mutual", "Operator")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var existing []client.Object
			if test.live != nil {
				live := makeObject("Core5G", "core5g")
				live.Object["spec"] = values{"tls": test.live}
				live.SetLabels(map[string]string{releaseLabel: "demo"})
				if test.annotation != "" {
					live.SetAnnotations(map[string]string{specs.AnnotationTLSBegan: test.annotation})
				}
				existing = append(existing, live)
			}
			mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: group, Version: version}})
			for _, kind := range teardownOrder {
				mapper.Add(kindOf(kind), meta.RESTScopeNamespace)
			}
			if test.certManager {
				mapper.Add(specs.IssuerKind, meta.RESTScopeNamespace)
			}
			c := builder(t, existing...).WithRESTMapper(mapper).Build()

			spec := values{"plmns": []any{}}
			for key, value := range test.spec {
				spec[key] = value
			}
			if test.said != nil {
				spec["tls"] = test.said
			}
			wanted := makeObject("Core5G", "core5g")
			wanted.Object["spec"] = spec
			text, err := yaml.Marshal(wanted.Object)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "core.yaml"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := (Apply{Directory: dir, Release: "demo", Namespace: namespace, Timeout: 10 * time.Second, Log: quiet}).Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			got := makeObject("Core5G", "core5g")
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(got), got); err != nil {
				t.Fatal(err)
			}
			tls, _, _ := unstructured.NestedMap(got.Object, "spec", "tls")
			if len(tls) == 0 {
				tls = nil
			}
			if diff := cmp.Diff(test.want, tls); diff != "" {
				t.Errorf("spec.tls (-want +got):\n%s", diff)
			}
			if got := got.GetAnnotations()[specs.AnnotationTLSBegan]; got != test.wantBegan {
				t.Errorf("annotation %q, want %q", got, test.wantBegan)
			}
		})
	}
}
