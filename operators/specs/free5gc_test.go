package specs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// What the core says of a function of free5GC goes over what the operator writes, makes its pod roll, and leaves all else as it is.
func TestConfigurationOfFree5GC(t *testing.T) {
	read := func(o FunctionObjects) (file map[string]any) {
		t.Helper()
		if err := yaml.Unmarshal([]byte(o.ConfigMap.Data["amfcfg.yaml"]), &file); err != nil {
			t.Fatal(err)
		}
		return file
	}
	core := makeCore()
	plain := AMF(core, platform)
	core.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionPCF, Configuration: &runtime.RawExtension{Raw: []byte(`{"configuration":{"locality":"north"}}`)}}}
	if diff := cmp.Diff(plain, AMF(core, platform)); diff != "" {
		t.Errorf("that of another function:\n%s", diff)
	}
	core.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionAMF, Configuration: &runtime.RawExtension{Raw: []byte(
		`{"configuration":{"t3512Value":1800,"networkName":{"short":"N"},"ngapIpList":["10.0.0.1"],"extra":{"a":[1]}},"logger":{"level":"debug"}}`)}}}
	more := AMF(core, platform)
	want := read(plain)
	inner := want["configuration"].(map[string]any)
	inner["t3512Value"], inner["ngapIpList"], inner["extra"] = 1800.0, []any{"10.0.0.1"}, map[string]any{"a": []any{1.0}}
	inner["networkName"].(map[string]any)["short"] = "N"
	want["logger"].(map[string]any)["level"] = "debug"
	if diff := cmp.Diff(want, read(more)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if plain.Deployment.Spec.Template.Annotations[AnnotationConfigHash] == more.Deployment.Spec.Template.Annotations[AnnotationConfigHash] {
		t.Error("the pod stays as it was")
	}

	slice := makeSlice("internet", "010203", "10.45.0.0/16")
	units := []SliceUnit{{Name: "upf-0", N4Address: "10.96.1.3", N3Endpoint: "172.30.3.16"}, {Name: "upf-1", N4Address: "10.96.1.4", N3Endpoint: "172.30.3.24"}}
	for name, up := range map[string]SliceUserPlane{
		"one unit":  {UPF: "upf", N4Address: "10.96.1.3", N3Endpoint: "172.30.3.16", SMFAddress: "10.96.1.2"},
		"two units": {UPF: "upf", Parts: 2, SMFAddress: "10.96.1.2", Units: units},
	} {
		hash := func(more ...api.FunctionSpec) string {
			core.Spec.Functions = more
			return SMF(core, slice, platform, up).Deployment.Spec.Template.Annotations[AnnotationConfigHash]
		}
		if hash() == hash(api.FunctionSpec{Name: api.FunctionSMF, Configuration: &runtime.RawExtension{Raw: []byte(`{"configuration":{"urrPeriod":10}}`)}}) {
			t.Errorf("the pod of an SMF of %s stays as it was", name)
		}
	}
}
