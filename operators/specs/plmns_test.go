package specs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// PLMNs with tracking areas and slices of their own, as free5GC's AMF is told them, and as Slices and emergency services are judged by.
func TestPLMNsThatDiffer(t *testing.T) {
	core := makeCore()
	core.Spec.PLMNs = append(core.Spec.PLMNs, api.PLMN{MCC: "001", MNC: "01", TACs: []api.TAC{"00000b"}, SliceCatalogue: []api.SNSSAI{{SST: 3}}})
	c := amfConfigOf(core, "core5g-amf").Configuration
	var tais, slices []string
	for _, tai := range c.SupportTAIList {
		tais = append(tais, tai.PLMN.MCC+tai.PLMN.MNC+" "+tai.TAC)
	}
	for _, p := range c.PLMNSupportList {
		for _, s := range p.SNSSAIList {
			slices = append(slices, p.PLMN.MCC+p.PLMN.MNC+" "+api.SNSSAI{SST: s.SST, SD: s.SD}.String())
		}
	}
	if diff := cmp.Diff([]string{"20893 000001", "00101 00000b"}, tais); diff != "" {
		t.Errorf("tracking areas:\n%s", diff)
	}
	if len(slices) < 2 || slices[0] != "20893 1-010203" || slices[len(slices)-1] != "00101 3" {
		t.Errorf("slices %q", slices)
	}

	core.Spec.ControlPlane = api.ControlPlaneCore5G
	slice := makeSlice("meters", "", "10.46.0.0/16")
	slice.Spec.SNSSAI = api.SNSSAI{SST: 3}
	if problem := AdvertisedProblem(slice, core); problem != nil {
		t.Errorf("a Slice of the second PLMN alone: %v", problem)
	}
	slice.Spec.SNSSAI.SST = 4
	if problem := AdvertisedProblem(slice, core); problem == nil || !strings.Contains(problem.Message, "add {sst: 4} to spec.sliceCatalogue, or to that of one of spec.plmns") {
		t.Errorf("a Slice of no PLMN: %v", problem)
	}
	core.Spec.AMF.Emergency = &api.EmergencyServices{SNSSAI: core.Spec.SliceCatalogue[0], DNN: "sos"}
	if problem := EmergencyProblem(core); problem == nil || !strings.Contains(problem.Message, "is not in spec.plmns[1].sliceCatalogue: add") {
		t.Errorf("emergency services that the second PLMN has not: %v", problem)
	}
	core.Spec.PLMNs[1].SliceCatalogue = append(core.Spec.PLMNs[1].SliceCatalogue, core.Spec.SliceCatalogue[0])
	if problem := EmergencyProblem(core); problem != nil {
		t.Errorf("emergency services that both have: %v", problem)
	}
}
