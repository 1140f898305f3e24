package v1alpha1

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// The bounds of an interface's MTU stand in the types' markers and in upf-u: what the API server takes, upf-u takes.
func TestUPFTakesEveryMTU(t *testing.T) {
	source, err := os.ReadFile("../../../upf/upfu/process/config.c")
	if err != nil {
		t.Fatal(err)
	}
	bounds := regexp.MustCompile(`mtu_number = \{&mtu, (\d+), (\d+)\};`).FindSubmatch(source)
	if bounds == nil {
		t.Fatal("config.c has no bounds of the MTU where they are looked for")
	}
	least, _ := strconv.ParseFloat(string(bounds[1]), 64)
	most, _ := strconv.ParseFloat(string(bounds[2]), 64)
	raw, err := os.ReadFile("../../config/crd/core5g.dev_upfinstances.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	for _, plane := range []string{"n3", "n6"} {
		mtu := spec[plane].Properties["mtu"]
		if mtu.Minimum == nil || mtu.Maximum == nil || *mtu.Minimum < least || *mtu.Maximum > most {
			t.Errorf("spec.%s.mtu is not within the %g to %g that upf-u takes: %+v", plane, least, most, mtu)
		}
	}
}

// The operator leaves the number out of upf-u.yaml where it is the default: upf-u has the same by itself.
func TestDefaultSessionsAreThoseOfUPFU(t *testing.T) {
	source, err := os.ReadFile("../../../upf/upfu/process/config.c")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(source, fmt.Appendf(nil, ".sessions_max = %d,", DefaultSessions)) {
		t.Errorf("upf-u has another number of sessions than %d by itself", DefaultSessions)
	}
}
