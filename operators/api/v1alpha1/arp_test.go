package v1alpha1

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// The default of an ARP's priority level stands in a marker, and in DefaultPriorityLevel for whoever reads objects of files: both say the same.
func TestDefaultPriorityLevel(t *testing.T) {
	definitions, err := filepath.Glob("../../config/crd/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	var look func(path string, schema apiextensions.JSONSchemaProps)
	look = func(path string, schema apiextensions.JSONSchemaProps) {
		if level, is := schema.Properties["priorityLevel"]; is {
			seen++
			if level.Default == nil || string(level.Default.Raw) != fmt.Sprint(DefaultPriorityLevel) {
				t.Errorf("%s.priorityLevel has the default %s, want %d", path, level.Default, DefaultPriorityLevel)
			}
		}
		for name, property := range schema.Properties {
			look(path+"."+name, property)
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			look(path, *schema.Items.Schema)
		}
	}
	for _, definition := range definitions {
		raw, err := os.ReadFile(definition)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensions.CustomResourceDefinition
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			look(crd.Spec.Names.Kind, *version.Schema.OpenAPIV3Schema)
		}
	}
	if seen == 0 {
		t.Error("no definition has a priority level")
	}
}
