package n1

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFiltersAsOctets(t *testing.T) {
	for sentence, list := range map[string][]Filter{
		"none": nil,
		"any":  {Any(3)},
		"everything that a filter can say": {
			{ID: 1, Direction: Uplink, Remote: netip.MustParsePrefix("192.0.2.0/24"), Local: netip.MustParsePrefix("10.0.0.1/32"), Protocol: 17,
				RemotePorts: PortRange{5060, 5061}, LocalPorts: PortRange{7, 7}, TOS: 0x28, TOSMask: 0xfc, SPI: 9},
			{ID: 2, Direction: Downlink, Remote: netip.MustParsePrefix("2001:db8::/32"), Protocol: -1, FlowLabel: 0xabcde},
		},
	} {
		got, err := DecodeFilters(EncodeFilters(list))
		if diff := cmp.Diff(list, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", sentence, err, diff)
		}
	}
	if list, err := DecodeFilters([]byte{0x31, 9, 0x10}); err == nil {
		t.Errorf("filters that are cut: %v", list)
	}
}
