package main

import (
	_ "embed"
	"encoding/json"
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// valuesSchema is the hand-written part; core.spec and upf.spec are filled in.
//
//go:embed values.json
var valuesSchema []byte

// specSchema turns the schema of a kind's spec into a strict JSON schema: what a structural schema
// says with Kubernetes' own words is left to the API server, and keys that the API does not know, which
// an API server would drop in silence, are refused.
func specSchema(crd *apiextensionsv1.CustomResourceDefinition) (map[string]any, error) {
	for _, version := range crd.Spec.Versions {
		if !version.Storage || version.Schema == nil {
			continue
		}
		spec, ok := version.Schema.OpenAPIV3Schema.Properties["spec"]
		if !ok {
			return nil, errors.New("no spec")
		}
		encoded, err := json.Marshal(spec)
		if err != nil {
			return nil, err
		}
		var schema map[string]any
		if err := json.Unmarshal(encoded, &schema); err != nil {
			return nil, err
		}
		return strict(schema), nil
	}
	return nil, errors.New("no stored version")
}

// kubernetesOnly are words of structural schemas that a JSON schema validator would not know.
var kubernetesOnly = []string{
	"x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
	"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
	// Formats name Go types; defaults are the API server's business.
	"format", "default",
}

func strict(schema map[string]any) map[string]any {
	if schema["x-kubernetes-int-or-string"] == true {
		// controller-gen writes the union of a quantity beside it, without a type. Where there is none, only strings
		// are right, and a rule of the definition answers numbers.
		if schema["anyOf"] == nil {
			schema["type"] = "string"
		}
		delete(schema, "x-kubernetes-int-or-string")
	}
	for _, word := range kubernetesOnly {
		delete(schema, word)
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		for name, property := range properties {
			properties[name] = strict(property.(map[string]any))
		}
		if _, open := schema["additionalProperties"]; !open {
			schema["additionalProperties"] = false
		}
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if sub, ok := schema[word].(map[string]any); ok {
			schema[word] = strict(sub)
		}
	}
	return schema
}
