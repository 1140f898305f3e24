package specs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/upf/upfc/standby"
)

func makeSessions(n int32) *api.UPFInstance {
	upf := makeUPF()
	upf.Spec.Sessions = n
	return upf
}

// The pod is as large as the field says: what UPF-U is told, and the memory of both containers and of the volume between them.
func TestSessionsOfAUnit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.UPFInstance)
		want   string
	}{
		"nothing is written":    {func(u *api.UPFInstance) { u.Spec.Sessions = 0 }, "limits -, memory 512; hugepages 512Mi, upf-u 256Mi, upf-c 128Mi, volume 64Mi"},
		"the default":           {func(u *api.UPFInstance) { u.Spec.Sessions = 65536 }, "limits -, memory 512; hugepages 512Mi, upf-u 256Mi, upf-c 128Mi, volume 64Mi"},
		"fewer":                 {func(u *api.UPFInstance) { u.Spec.Sessions = 4096 }, "limits 4096, memory 512; hugepages 512Mi, upf-u 256Mi, upf-c 128Mi, volume 64Mi"},
		"one more":              {func(u *api.UPFInstance) { u.Spec.Sessions = 65537 }, "limits 65537, memory 528; hugepages 528Mi, upf-u 272Mi, upf-c 144Mi, volume 80Mi"},
		"400,000":               {func(*api.UPFInstance) {}, "limits 400000, memory 1008; hugepages 1008Mi, upf-u 368Mi, upf-c 544Mi, volume 400Mi"},
		"with a standby":        {func(u *api.UPFInstance) { u.Spec.Redundancy = &api.RedundancySpec{Standbys: 1} }, "limits 400000, memory 1008; hugepages 1008Mi, upf-u 368Mi, upf-c 912Mi, volume 400Mi"},
		"in pages of 1 GiB":     {func(u *api.UPFInstance) { u.Spec.Hugepages.Size = "1Gi" }, "limits 400000, memory 1024; hugepages 1Gi, upf-u 368Mi, upf-c 544Mi, volume 400Mi"},
		"with 16 workers":       {func(u *api.UPFInstance) { u.Spec.Workers = 16 }, "limits 400000, memory 1008; hugepages 1008Mi, upf-u 384Mi, upf-c 544Mi, volume 400Mi"},
		"with a second network": {func(u *api.UPFInstance) { u.Spec.NetworkInstances = []api.NetworkInstance{{Name: "ims"}} }, "limits 400000, memory 1040; hugepages 1040Mi, upf-u 368Mi, upf-c 544Mi, volume 400Mi"},
		"as somebody wrote": {func(u *api.UPFInstance) {
			u.Spec.Hugepages.Amount, u.Spec.Memory = ptr.To(resource.MustParse("2Gi")), ptr.To(resource.MustParse("1Gi"))
		}, "limits 400000, memory 2048; hugepages 2Gi, upf-u 1Gi, upf-c 544Mi, volume 400Mi"},
		"as many as there can be": {func(u *api.UPFInstance) { u.Spec.Sessions = 1 << 20 }, "limits 1048576, memory 1952; hugepages 1952Mi, upf-u 560Mi, upf-c 1328Mi, volume 1Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			upf := makeSessions(400000)
			c.change(upf)
			if p := MemoryProblem(upf, makeCore()); p != nil {
				t.Errorf("it is too little: %s", p.Message)
			}
			for _, member := range Members {
				if diff := cmp.Diff(c.want, sizeOf(t, UPFMember(upf, makeCore(), platform, 0, member, "10.96.1.3"))); diff != "" {
					t.Errorf("member %s (-want +got):\n%s", member, diff)
				}
			}
			if amount := hugepageAmount(upf); UnitDemand(upf).Hugepages != amount.Value() {
				t.Errorf("a place is looked for with %d octets of hugepages, and the pod has %s", UnitDemand(upf).Hugepages, &amount)
			}
		})
	}
}

// sizeOf a unit, requests and limits being the same.
func sizeOf(t *testing.T, u Unit) string {
	t.Helper()
	var c struct {
		Memory int64
		Limits *struct {
			SessionsMax int32 `json:"sessions_max"`
		}
	}
	if err := yaml.Unmarshal([]byte(u.Config.Data["upf-u.yaml"]), &c); err != nil {
		t.Fatal(err)
	}
	limits := "-"
	if c.Limits != nil {
		limits = fmt.Sprint(c.Limits.SessionsMax)
	}
	said := []string{}
	for i := range u.Pod.Spec.Containers {
		r := &u.Pod.Spec.Containers[i].Resources
		if diff := cmp.Diff(r.Limits, r.Requests); diff != "" {
			t.Errorf("limits and requests of %s differ:\n%s", u.Pod.Spec.Containers[i].Name, diff)
		}
		for name, quantity := range r.Limits {
			if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
				said = append(said, "hugepages "+quantity.String())
			}
		}
		said = append(said, u.Pod.Spec.Containers[i].Name+" "+r.Limits.Memory().String())
	}
	for _, v := range u.Pod.Spec.Volumes {
		if v.EmptyDir != nil {
			said = append(said, "volume "+v.EmptyDir.SizeLimit.String())
		}
	}
	return fmt.Sprintf("limits %s, memory %d; %s", limits, c.Memory, strings.Join(said, ", "))
}

// What is written and too small is refused, with what to write.
func TestMemoryProblem(t *testing.T) {
	amount := func(u *api.UPFInstance, text string) { u.Spec.Hugepages.Amount = ptr.To(resource.MustParse(text)) }
	limit := func(name api.FunctionName, text string) api.FunctionSpec {
		return api.FunctionSpec{Name: name, Resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}}}
	}
	for name, c := range map[string]struct {
		change    func(*api.UPFInstance)
		functions []api.FunctionSpec
		want      string
	}{
		"hugepages that hold no rules": {func(u *api.UPFInstance) { amount(u, "448Mi") }, nil,
			"spec.hugepages.amount 448Mi is too little for spec.sessions 400000 of UPFInstance upf: write 464Mi at least, or leave it out (null takes out what is there), and it is 1008Mi"},
		"hugepages that do": {func(u *api.UPFInstance) { amount(u, "464Mi") }, nil, ""},
		"hugepages that do not with NAT44": {func(u *api.UPFInstance) { amount(u, "464Mi"); u.Spec.N6.NAT44 = &api.NAT44{Mappings: 262144} }, nil,
			"spec.hugepages.amount 464Mi is too little for spec.sessions 400000 of UPFInstance upf: write 512Mi at least, or leave it out (null takes out what is there), and it is 1040Mi"},
		"memory": {func(u *api.UPFInstance) { u.Spec.Memory = ptr.To(resource.MustParse("128Mi")) }, nil,
			"spec.memory 128Mi is too little for spec.sessions 400000 of UPFInstance upf: write 192Mi at least, or leave it out (null takes out what is there), and it is 368Mi"},
		"the core's limit of UPF-U": {func(*api.UPFInstance) {}, []api.FunctionSpec{limit(api.FunctionUPFU, "128Mi")},
			"spec.functions[upf-u].resources.limits.memory of Core5G core5g 128Mi is too little for spec.sessions 400000 of UPFInstance upf: write 192Mi at least, or leave it out (null takes out what is there), and it is 368Mi"},
		"the core's limit of UPF-C": {func(*api.UPFInstance) {}, []api.FunctionSpec{limit(api.FunctionUPFC, "256Mi")},
			"spec.functions[upf-c].resources.limits.memory of Core5G core5g 256Mi is too little for spec.sessions 400000 of UPFInstance upf: write 464Mi at least, or leave it out (null takes out what is there), and it is 544Mi"},
		"the core's limit of a standby": {func(u *api.UPFInstance) { u.Spec.Redundancy = &api.RedundancySpec{Standbys: 1} }, []api.FunctionSpec{limit(api.FunctionUPFC, "544Mi")},
			"write 688Mi at least, or leave it out (null takes out what is there), and it is 912Mi"},
		"no limit of UPF-C": {func(*api.UPFInstance) {}, []api.FunctionSpec{{Name: api.FunctionUPFC, Resources: &corev1.ResourceRequirements{}}}, ""},
		"the core's limit of UPF-U, which plans do not take": {func(u *api.UPFInstance) { u.Spec.Placement = &api.PlacementSpec{Policy: api.PlacementSingleNUMA} },
			[]api.FunctionSpec{limit(api.FunctionUPFU, "128Mi")}, ""},
		"as little as there was before the field": {func(u *api.UPFInstance) { u.Spec.Sessions = 65536; amount(u, "64Mi") }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			upf, core := makeSessions(400000), makeCore()
			c.change(upf)
			core.Spec.Functions = c.functions
			got := MemoryProblem(upf, core)
			switch {
			case got == nil && c.want != "", got != nil && (c.want == "" || !strings.Contains(got.Message, c.want) || got.Reason != api.ReasonTooLittleMemory):
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
	if p := MemoryProblem(makeSessions(400000), nil); p != nil {
		t.Errorf("without a core: %+v", p)
	}
}

// Units are replaced for another number of sessions, and for nothing else of it: not because the field has come, nor because a default is written out
// that former definitions put into each object.
func TestHashesOfSessions(t *testing.T) {
	of := func(upf *api.UPFInstance) Unit { return UPFUnit(upf, makeCore(), platform, 0, "10.96.1.3") }
	former := makeUPF()
	former.Spec.Hugepages = api.HugepagesSpec{Size: "2Mi", Amount: ptr.To(resource.MustParse("512Mi"))}
	former.Spec.Memory = ptr.To(resource.MustParse("256Mi"))
	now := makeSessions(65536)
	now.Spec.Hugepages.Size = "2Mi"
	if a, b := of(former), of(now); a.SpecHash != b.SpecHash || a.TemplateHash != b.TemplateHash {
		t.Error("a unit restarts because its defaults are not written any more")
	}
	// What the operator before made of the same.
	if got := of(former).SpecHash; got != formerHash {
		t.Errorf("the hash is %s, and was %s", got, formerHash)
	}
	more := now.DeepCopy()
	more.Spec.Sessions = 65537
	if a, b := of(now), of(more); a.SpecHash == b.SpecHash || a.TemplateHash == b.TemplateHash {
		t.Error("another number of sessions replaces no unit")
	}
	less := now.DeepCopy()
	less.Spec.Sessions = 65535
	if a, b := of(now), of(less); a.SpecHash == b.SpecHash || a.TemplateHash == b.TemplateHash {
		t.Error("a smaller number of sessions replaces no unit")
	}
}

const formerHash = "0f447af59e35a699"

// A unit of any size may have a standby.
func TestMostSessions(t *testing.T) {
	raw, err := os.ReadFile("../config/crd/core5g.dev_upfinstances.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		rules := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["sessions"].XValidations
		if want := fmt.Sprintf("self <= %d", standby.MostSessions); len(rules) != 1 || !strings.HasSuffix(rules[0].Rule, want) {
			t.Errorf("version %s lets a unit have sessions by %+v, and its standby holds %d", v.Name, rules, standby.MostSessions)
		}
	}
}
