package v1alpha1

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// A default stands in a marker, and in a constant for whoever reads objects of files: both say the same.
func TestDefaults(t *testing.T) {
	of := map[string]any{ // by how paths of properties end
		".ambr.uplink": DefaultUplink, ".ambr.downlink": DefaultDownlink, ".arp.priorityLevel": DefaultPriorityLevel,
		".dataNetworks.fiveQI": DefaultFiveQI, ".dataNetworks.mtu": DefaultMTU, ".authentication.amf": DefaultAMF,
		"UPFInstance.spec.sessions": DefaultSessions,
	}
	definitions, err := filepath.Glob("../../config/crd/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var look func(path string, schema apiextensions.JSONSchemaProps)
	look = func(path string, schema apiextensions.JSONSchemaProps) {
		for end, constant := range of {
			if !strings.HasSuffix(path, end) {
				continue
			}
			seen[end] = true
			want, err := json.Marshal(constant)
			if err != nil {
				t.Fatal(err)
			}
			if schema.Default == nil || string(schema.Default.Raw) != string(want) {
				t.Errorf("%s has the default %s, want %s", path, schema.Default, want)
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
	for end := range of {
		if !seen[end] {
			t.Errorf("no definition has a property that ends with %s", end)
		}
	}
}
