package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a PLMN has of its own goes before what all have, and what several have is there once.
func TestWhatPLMNsHave(t *testing.T) {
	s := Core5GSpec{
		PLMNs: []PLMN{
			{MCC: "208", MNC: "93"},
			{MCC: "001", MNC: "01", TACs: []TAC{"00000A", "000003"}},
			{MCC: "001", MNC: "02", SliceCatalogue: []SNSSAI{{SST: 1, SD: "ABCDEF"}, {SST: 3}}},
		},
		TACs:           []TAC{"000001", "00000a"},
		SliceCatalogue: []SNSSAI{{SST: 1, SD: "abcdef"}, {SST: 2}},
	}
	for i, want := range []struct {
		tacs      []TAC
		catalogue []SNSSAI
	}{{s.TACs, s.SliceCatalogue}, {s.PLMNs[1].TACs, s.SliceCatalogue}, {s.TACs, s.PLMNs[2].SliceCatalogue}} {
		if diff := cmp.Diff(want.tacs, s.TACsOf(s.PLMNs[i])); diff != "" {
			t.Errorf("tacs of PLMN %s:\n%s", s.PLMNs[i], diff)
		}
		if diff := cmp.Diff(want.catalogue, s.CatalogueOf(s.PLMNs[i])); diff != "" {
			t.Errorf("catalogue of PLMN %s:\n%s", s.PLMNs[i], diff)
		}
	}
	if diff := cmp.Diff([]TAC{"000001", "00000a", "000003"}, s.AllTACs()); diff != "" {
		t.Errorf("all tacs:\n%s", diff)
	}
	if diff := cmp.Diff([]SNSSAI{{SST: 1, SD: "abcdef"}, {SST: 2}, {SST: 3}}, s.Catalogue()); diff != "" {
		t.Errorf("the whole catalogue:\n%s", diff)
	}
	for i := range s.PLMNs {
		s.PLMNs[i].TACs, s.PLMNs[i].SliceCatalogue = []TAC{"000007"}, []SNSSAI{{SST: 7}}
	}
	if diff := cmp.Diff([]TAC{"000007"}, s.AllTACs()); diff != "" {
		t.Errorf("tacs that no PLMN has are there:\n%s", diff)
	}
}
