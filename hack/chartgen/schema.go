package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// valuesSchema is the hand-written part; core.spec and upf.spec are filled in.
//
//go:embed values.json
var valuesSchema []byte

// upfValuesSchema is that of core5g-upf.
//
//go:embed upf.json
var upfValuesSchema []byte

type definitions = map[string]*apiextensionsv1.CustomResourceDefinition

// coreSchema is that of chart core5g's values.
func coreSchema(crds definitions) (map[string]any, error) {
	schema, err := decoded("values.json", valuesSchema)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct{ kind, value string }{{"Core5G", "core"}, {"UPFInstance", "upf"}} {
		if err := putSpec(property(schema, part.value), crds, part.kind); err != nil {
			return nil, err
		}
	}
	return schema, nil
}

// operatorSchema is coreSchema without what an operator alone does not have.
func operatorSchema(definitions) (map[string]any, error) {
	schema, err := decoded("values.json", valuesSchema)
	if err != nil {
		return nil, err
	}
	schema["title"] = "Values of the core5g-operator chart"
	properties := schema["properties"].(map[string]any)
	for _, section := range instanceSections {
		delete(properties, section)
	}
	delete(property(schema, "operator")["properties"].(map[string]any), createsOperator)
	schema["required"] = slices.DeleteFunc(schema["required"].([]any), func(name any) bool { return slices.Contains(instanceSections, name.(string)) })
	return schema, nil
}

// upfSchema is that of chart core5g-upf's values.
func upfSchema(crds definitions) (map[string]any, error) {
	schema, err := decoded("upf.json", upfValuesSchema)
	if err != nil {
		return nil, err
	}
	return schema, putSpec(schema, crds, "UPFInstance")
}

func decoded(name string, text []byte) (map[string]any, error) {
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return schema, nil
}

// putSpec gives an object of values the property spec of a kind.
func putSpec(into map[string]any, crds definitions, kind string) error {
	crd := crds[kind]
	if crd == nil {
		return fmt.Errorf("no definition of kind %s", kind)
	}
	spec, err := specSchema(crd)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	into["properties"].(map[string]any)["spec"] = spec
	return nil
}

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
