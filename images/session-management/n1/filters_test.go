package n1

import (
	"bytes"
	"net/netip"
	"testing"

	"core5g.dev/core5g/images/session-management/digesttest"

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
		"everything that one of Ethernet can say": {
			{ID: 1, Direction: Uplink, Protocol: -1, Frame: Frame{Remote: MAC{1, 0x0c, 0xcd, 1, 0, 1}, Local: MAC{2, 0, 0, 0, 0, 1}, CVLAN: 7, SVLAN: 4094,
				CPriority: PriorityOf(7, true), SPriority: PriorityOf(0, false), EtherType: 0x88b8}},
			{ID: 2, Direction: Downlink, Protocol: -1, Frame: Frame{Remote: MAC{1, 0x0c, 0xcd, 1, 0, 1}}},
			{ID: 3, Direction: Bidirectional, Remote: netip.MustParsePrefix("192.0.2.0/24"), Protocol: 17, Frame: Frame{Local: MAC{2, 0, 0, 0, 0, 1}, EtherType: 0x0800}},
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

// The octets of TS 24.501 table 9.11.4.13.1: of a filter for both directions the destination is the remote side, as of one for uplink frames.
func TestFramesAsOctets(t *testing.T) {
	frame := Frame{Remote: MAC{1, 2, 3, 4, 5, 6}, Local: MAC{2, 2, 3, 4, 5, 6}, CVLAN: 0x123, SVLAN: 0x456, CPriority: PriorityOf(5, true), SPriority: PriorityOf(2, false), EtherType: 0x88b8}
	rest := []byte{0x83, 0x01, 0x23, 0x84, 0x04, 0x56, 0x85, 0x0b, 0x86, 0x04, 0x87, 0x88, 0xb8}
	for d, macs := range map[Direction][]byte{
		Uplink:        {0x81, 1, 2, 3, 4, 5, 6, 0x82, 2, 2, 3, 4, 5, 6},
		Downlink:      {0x82, 1, 2, 3, 4, 5, 6, 0x81, 2, 2, 3, 4, 5, 6},
		Bidirectional: {0x81, 1, 2, 3, 4, 5, 6, 0x82, 2, 2, 3, 4, 5, 6},
	} {
		want := append([]byte{byte(d)<<4 | 4, byte(len(macs) + len(rest))}, append(macs, rest...)...)
		if got := EncodeFilters([]Filter{{ID: 4, Direction: d, Protocol: -1, Frame: frame}}); !bytes.Equal(got, want) {
			t.Errorf("direction %d:\n got %x\nwant %x", d, got, want)
		}
	}
	if pcp, dei := PriorityOf(5, true).PCP(); pcp != 5 || !dei {
		t.Errorf("a priority of 5 with DEI is %d, %v", pcp, dei)
	}
	for sentence, b := range map[string][]byte{
		"a VLAN ID of 0":         {0x34, 3, 0x83, 0, 0},
		"a VLAN ID of 4095":      {0x34, 3, 0x84, 0x0f, 0xff},
		"a length for a type":    {0x34, 3, 0x87, 0x05, 0xff},
		"a MAC address of zeros": {0x34, 7, 0x81, 0, 0, 0, 0, 0, 0},
		"a component twice":      {0x34, 6, 0x83, 0, 1, 0x83, 0, 1},
		"one that is cut":        {0x34, 3, 0x82, 1, 2},
	} {
		if list, err := DecodeFilters(b); err == nil {
			t.Errorf("%s: %v", sentence, list)
		}
	}
}

// What digests in records are made of is what it was from the beginning: sessions of which a filter has another one are told it anew.
func TestFiltersAsText(t *testing.T) {
	f := Filter{ID: 1, Direction: Uplink, Remote: netip.MustParsePrefix("192.0.2.0/24"), Protocol: 17, RemotePorts: PortRange{5060, 5061}, SPI: 9}
	framed := Any(2)
	framed.Frame = Frame{Remote: MAC{1, 0x0c, 0xcd, 1, 0, 1}, CVLAN: 7, SPriority: PriorityOf(1, true), EtherType: 0x88b8}
	for sentence, c := range map[string]struct {
		list        []Filter
		want, named string
	}{
		"none": {nil, "[]", "[]"},
		"one of packets": {[]Filter{f}, "[{1 2 192.0.2.0/24 invalid Prefix 17 {5060 5061} {0 0} 0 0 9 0}]",
			"[{ID:1 Direction:2 Remote:192.0.2.0/24 Local:invalid Prefix Protocol:17 RemotePorts:{First:5060 Last:5061} LocalPorts:{First:0 Last:0} TOS:0 TOSMask:0 SPI:9 FlowLabel:0}]"},
		"one of frames behind it": {[]Filter{Any(1), framed},
			"[{1 3 invalid Prefix invalid Prefix -1 {0 0} {0 0} 0 0 0 0} {2 3 invalid Prefix invalid Prefix -1 {0 0} {0 0} 0 0 0 0}{01:0c:cd:01:00:01 00:00:00:00:00:00 7 0 0 4 35000}]",
			"[{ID:1 Direction:3 Remote:invalid Prefix Local:invalid Prefix Protocol:-1 RemotePorts:{First:0 Last:0} LocalPorts:{First:0 Last:0} TOS:0 TOSMask:0 SPI:0 FlowLabel:0} " +
				"{ID:2 Direction:3 Remote:invalid Prefix Local:invalid Prefix Protocol:-1 RemotePorts:{First:0 Last:0} LocalPorts:{First:0 Last:0} TOS:0 TOSMask:0 SPI:0 FlowLabel:0}" +
				"{Remote:01:0c:cd:01:00:01 Local:00:00:00:00:00:00 CVLAN:7 SVLAN:0 CPriority:0 SPriority:4 EtherType:35000}]"},
	} {
		if got := string(AppendText(nil, c.list)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", sentence, got, c.want)
		}
		if got := string(AppendTextNamed(nil, c.list)); got != c.named {
			t.Errorf("%s, named:\n got %s\nwant %s", sentence, got, c.named)
		}
	}
	digesttest.Fields(t, func(f Filter) string { return string(AppendText(nil, []Filter{f})) })
	digesttest.Fields(t, func(f Filter) string { return string(AppendTextNamed(nil, []Filter{f})) })
}
