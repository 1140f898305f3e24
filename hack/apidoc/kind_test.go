package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestFields(t *testing.T) {
	const field = "properties:\n  f: "
	tests := []struct {
		name, schema string
		want         []row
	}{
		{"a field that must be given", "required: [f]\n" + field + `{type: string, description: "f is\na word."}`,
			[]row{{path: "f", kind: "string", says: "f is a word.", required: true}}},
		{"one with a default need not", "required: [f]\n" + field + `{type: string, default: a}`,
			[]row{{path: "f", kind: "string", byDefault: "`a`"}}},
		{"an enumeration, escaped within its cell", field + `{type: string, enum: [A, B], description: "A | B"}`,
			[]row{{path: "f", kind: "string", says: `A \| B. One of ` + "`A`, `B`."}}},
		{"bounds", field + `{type: integer, minimum: 1, maximum: 64}`, []row{{path: "f", kind: "integer", says: "1 to 64."}}},
		{"a quantity", field + `{anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true, pattern: "^x$"}`,
			[]row{{path: "f", kind: "quantity"}}},
		{"digits in quotes", field + `{x-kubernetes-int-or-string: true, maxLength: 6}`, []row{{path: "f", kind: "string"}}},
		{"a list of objects, each field with its path", field + `{type: array, maxItems: 3, items: {type: object, required: [a], properties: {a: {type: boolean}}}}`,
			[]row{{path: "f[]", kind: "list of object", says: "At most 3 entries."}, {path: "f[].a", kind: "boolean", required: true}}},
		{"a map", field + `{type: object, additionalProperties: {type: string, pattern: "^[0-9]+$"}}`,
			[]row{{path: "f", kind: "map of string", says: "Matches `^[0-9]+$`."}}},
		{"Kubernetes' own fields are not repeated", "properties:\n  conditions: " + `{type: array, items: {type: object, properties: {type: {type: string}}}}`,
			[]row{{path: "conditions[]", kind: "list of object", says: opaque["conditions"] + "."}}},
		{"rules, literal and computed", field + `{type: string, x-kubernetes-validations: [{rule: a, message: "f must be a"}, {rule: b, messageExpression: "'\"' + self + '\" is no b'"}]}`,
			[]row{{path: "f", kind: "string", says: `f must be a; "…" is no b.`}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			schema := &apiextensionsv1.JSONSchemaProps{}
			if err := yaml.UnmarshalStrict([]byte(test.schema), schema); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, fields("", schema), cmp.AllowUnexported(row{})); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryFieldIsThere walks the definitions by itself: what it meets stands in the reference.
func TestEveryFieldIsThere(t *testing.T) {
	crds, err := definitions("../../operators/config/crd")
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		var b strings.Builder
		if err := writeKind(&b, crd); err != nil {
			t.Fatal(err)
		}
		count := 0
		var walk func(schema *apiextensionsv1.JSONSchemaProps)
		walk = func(schema *apiextensionsv1.JSONSchemaProps) {
			for name, property := range schema.Properties {
				count++
				if !strings.Contains(b.String(), name+"`") && !strings.Contains(b.String(), name+"[]`") {
					t.Errorf("%s: field %s is not in the reference", crd.Spec.Names.Kind, name)
				}
				if _, closed := opaque[name]; closed {
					continue
				}
				walk(&property)
				if property.Items != nil && property.Items.Schema != nil {
					walk(property.Items.Schema)
				}
			}
		}
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, part := range []string{"spec", "status"} {
			sub := schema.Properties[part]
			walk(&sub)
		}
		if rows := strings.Count(b.String(), "\n| ") - 2*strings.Count(b.String(), "\n### ") + strings.Count(b.String(), "\n### "); rows != count {
			t.Errorf("%s: %d rows for %d fields", crd.Spec.Names.Kind, rows, count)
		}
	}
}
