package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

const group = "core5g.dev/"

// kind judges objects of one kind as the API server would.
type kind struct {
	// served are its versions, as an apiVersion names them.
	served     []string
	structural *structuralschema.Structural
	schema     schemavalidation.SchemaValidator
	rules      *cel.Validator
}

// examples checks every object of core5g.dev in the manifests and in the yaml blocks of the documents
// against its definition: no field that the definition does not know, its schema, its rules. Other yaml
// blocks must parse.
func examples(t tree) (looked int, wrong []string) {
	kinds := map[string]*kind{}
	for _, f := range t.files {
		if !strings.HasPrefix(f.path, "operators/config/crd/") || !strings.HasSuffix(f.path, ".yaml") {
			continue
		}
		name, k, err := kindOf(f.content)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", f.path, err))
			continue
		}
		kinds[name] = k
	}
	judge := func(where string, text []byte) {
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text)+1)
		for {
			var raw json.RawMessage
			if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", where, err))
				return
			}
			looked++
			object := map[string]any{}
			if err := utiljson.Unmarshal(raw, &object); err != nil {
				continue // a list, or nothing
			}
			if version, _ := object["apiVersion"].(string); !strings.HasPrefix(version, group) {
				continue
			}
			name, _ := object["kind"].(string)
			k := kinds[name]
			if k == nil {
				wrong = append(wrong, fmt.Sprintf("%s: there is no kind %s", where, name))
				continue
			}
			if version, _ := object["apiVersion"].(string); !slices.Contains(k.served, version) {
				wrong = append(wrong, fmt.Sprintf("%s: %s is no version of %s: write one of %s", where, version, name, strings.Join(k.served, ", ")))
				continue
			}
			for _, complaint := range k.judge(object) {
				wrong = append(wrong, fmt.Sprintf("%s: %s: %s", where, name, complaint))
			}
		}
	}
	for _, f := range t.files {
		if strings.HasPrefix(f.path, "manifests/") && strings.HasSuffix(f.path, ".yaml") {
			judge(f.path, f.content)
		}
	}
	for _, f := range t.documents() {
		for _, b := range blocksOf(f) {
			if b.language == "yaml" {
				judge(fmt.Sprintf("%s:%d", f.path, b.line), []byte(b.text))
			}
		}
	}
	return looked, wrong
}

func kindOf(definition []byte) (string, *kind, error) {
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &v1); err != nil {
		return "", nil, err
	}
	var served []string
	for _, version := range v1.Spec.Versions {
		if version.Served {
			served = append(served, v1.Spec.Group+"/"+version.Name)
		}
	}
	for _, version := range v1.Spec.Versions {
		if !version.Storage || version.Schema == nil {
			continue
		}
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
			return "", nil, err
		}
		structural, err := structuralschema.NewStructural(&props)
		if err != nil {
			return "", nil, err
		}
		schema, _, err := schemavalidation.NewSchemaValidator(&props)
		if err != nil {
			return "", nil, err
		}
		return v1.Spec.Names.Kind, &kind{served, structural, schema, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
	}
	return "", nil, errors.New("no stored version with a schema")
}

func (k *kind) judge(object map[string]any) []string {
	var complaints []string
	unknown := pruning.PruneWithOptions(object, k.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, field := range unknown {
		complaints = append(complaints, "unknown field "+field)
	}
	structuraldefaulting.Default(object, k.structural)
	for _, err := range schemavalidation.ValidateCustomResource(nil, object, k.schema) {
		complaints = append(complaints, err.Error())
	}
	errs, _ := k.rules.Validate(context.Background(), nil, k.structural, object, nil, celconfig.RuntimeCELCostBudget)
	for _, err := range errs {
		complaints = append(complaints, err.Error())
	}
	return complaints
}
