package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func rule(groups, resources, verbs string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ","), Verbs: strings.Split(verbs, ",")}
}

func TestSplitRules(t *testing.T) {
	tests := []struct {
		name                        string
		rules                       []rbacv1.PolicyRule
		wantNamespaced, wantCluster []rbacv1.PolicyRule
		wantErr                     string
	}{
		{name: "namespaced kinds go into a Role", rules: []rbacv1.PolicyRule{rule("apps", "deployments", "get,create")},
			wantNamespaced: []rbacv1.PolicyRule{rule("apps", "deployments", "get,create")}},
		{name: "a rule for both is divided", rules: []rbacv1.PolicyRule{rule("", "nodes,pods", "get")},
			wantNamespaced: []rbacv1.PolicyRule{rule("", "pods", "get")}, wantCluster: []rbacv1.PolicyRule{rule("", "nodes", "get")}},
		{name: "a URL has no namespace", rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
			wantCluster: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}},
		{name: "every resource", rules: []rbacv1.PolicyRule{rule("apps", "*", "get")}, wantErr: "grants a wildcard"},
		{name: "every verb", rules: []rbacv1.PolicyRule{rule("apps", "deployments", "*")}, wantErr: "grants every verb"},
		{name: "a name with two scopes", rules: []rbacv1.PolicyRule{rule(",metrics.k8s.io", "nodes", "get")}, wantErr: "write two rules"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			namespaced, cluster, err := splitRules(test.rules)
			if (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Fatalf("error %v, want one with %q", err, test.wantErr)
			}
			if diff := cmp.Diff(test.wantNamespaced, namespaced); diff != "" {
				t.Errorf("Role (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantCluster, cluster); diff != "" {
				t.Errorf("ClusterRole (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpecSchemaIsStrictAndPlain(t *testing.T) {
	const definition = `
spec:
  versions:
  - storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [tac]
            properties:
              tac: {type: string, maxLength: 6, default: "000001", x-kubernetes-validations: [{rule: "true"}]}
              port: {type: integer, format: int32, minimum: 1}
              memory: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}
              digits: {x-kubernetes-int-or-string: true, maxLength: 6}
              labels: {type: object, additionalProperties: {type: string}}
              list: {type: array, x-kubernetes-list-type: set, items: {type: object, properties: {a: {type: boolean}}}}
`
	const want = `
type: object
additionalProperties: false
required: [tac]
properties:
  tac: {type: string, maxLength: 6}
  port: {type: integer, minimum: 1}
  memory: {anyOf: [{type: integer}, {type: string}]}
  digits: {type: string, maxLength: 6}
  labels: {type: object, additionalProperties: {type: string}}
  list: {type: array, items: {type: object, additionalProperties: false, properties: {a: {type: boolean}}}}
`
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(definition), crd); err != nil {
		t.Fatal(err)
	}
	got, err := specSchema(crd)
	if err != nil {
		t.Fatal(err)
	}
	var wanted map[string]any
	if err := yaml.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}
