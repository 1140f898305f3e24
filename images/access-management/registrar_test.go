package accessmanagement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// The NRF hears of the slices of all PLMNs, of each once.
func TestOffersOfPLMNsThatDiffer(t *testing.T) {
	one, two, three := record.Slice{SST: 1}, record.Slice{SST: 2, SD: &[3]byte{1, 2, 3}}, record.Slice{SST: 3}
	settings := &procedure.Settings{Name: "AMF", PLMNs: []procedure.PLMN{
		{PLMN: "20893", TACs: []uint32{1}, Slices: []record.Slice{one, two}}, {PLMN: "00101", TACs: []uint32{11}, Slices: []record.Slice{three, two}},
	}}
	r := &registrar{settings: func() *procedure.Settings { return settings }}
	var got []string
	for _, s := range r.offers().Slices {
		got = append(got, s.SNSSAI.String())
	}
	if diff := cmp.Diff([]string{"1", "2-010203", "3"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
