package n4

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

var lan = Settings{Access: "access", Core: "lan", Filters: map[string]Filters{
	"goose": {Precedence: 10, List: []n1.Filter{
		{ID: 0, Direction: n1.Bidirectional, Protocol: -1, Frame: n1.Frame{
			Remote: n1.MAC{1, 0x0c, 0xcd, 1, 0, 1}, Local: n1.MAC{2, 0, 0, 0, 0, 1}, CVLAN: 0x123, SVLAN: 0x456, CPriority: n1.PriorityOf(5, true), EtherType: 0x88b8,
		}},
		{ID: 1, Direction: n1.Uplink, Protocol: 17, Remote: netip.MustParsePrefix("192.0.2.0/24"), Frame: n1.Frame{EtherType: 0x0800}},
	}},
	"all": {Precedence: 20, List: []n1.Filter{{Direction: n1.Bidirectional, Protocol: -1, Frame: n1.Frame{CVLAN: 7}}, {Direction: n1.Downlink, Protocol: -1}}},
}}

func bridge() *record.Session {
	s := session(n1.Ethernet)
	for n, name := range []string{"goose", "all"} {
		s.Flows = append(s.Flows, Versioned(record.Flow{QFI: uint8(n) + 2, FiveQI: 69, Name: name}, lan))
	}
	return s
}

// octets of a list of elements.
func octets(t *testing.T, list ...*ie.IE) (out []byte) {
	t.Helper()
	for _, e := range list {
		b, err := e.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

// TS 29.244 5.13: the PDN type, no address anywhere, downlink frames by ETHI, filters of frames in the direction of the PDR, MAC addresses reported.
func TestEthernetRules(t *testing.T) {
	ies, err := Establishment(bridge(), lan)
	if err != nil {
		t.Fatal(err)
	}
	if pdn, err := ies[0].PDNType(); err != nil || pdn != 5 {
		t.Errorf("PDN Type %d, %v", pdn, err)
	}
	filter := func(source, destination byte) []byte {
		macs := []byte{3, source, 0, 0, 0, 0, 0, destination, 0, 0, 0, 0, 0}
		for at, first := range map[int]byte{1: source, 7: destination} {
			copy(macs[at:], map[byte][]byte{1: {1, 0x0c, 0xcd, 1, 0, 1}, 2: {2, 0, 0, 0, 0, 1}}[first])
		}
		return octets(t, ie.NewEthernetPacketFilter(ie.New(ie.MACAddress, macs), ie.New(ie.Ethertype, []byte{0x88, 0xb8}),
			ie.New(ie.CTAG, []byte{7, 0x1d, 0x23}), ie.New(ie.STAG, []byte{4, 0x40, 0x56})))
	}
	up := append(filter(2, 1), octets(t, ie.NewEthernetPacketFilter(ie.New(ie.Ethertype, []byte{8, 0}), ie.NewSDFFilter("permit out 17 from 192.0.2.0/24 to assigned", "", "", "", 0)))...)
	want := map[uint16][]byte{1: nil, 2: nil, 5: up, 6: filter(1, 2), 7: octets(t, ie.NewEthernetPacketFilter(ie.New(ie.CTAG, []byte{4, 0, 7}))), 8: nil}
	for _, e := range ies {
		switch e.Type {
		case ie.CreateURR:
			if w := octets(t, ie.NewCreateURR(ie.NewURRID(urrMACs), ie.New(ie.MeasurementMethod, []byte{4}), ie.New(ie.ReportingTriggers, []byte{0, 8}), ie.New(ie.EthernetInactivityTimer, []byte{0, 0, 1, 44}))); !bytes.Equal(octets(t, e), w) {
				t.Errorf("URR %x, want %x", octets(t, e), w)
			}
		case ie.CreatePDR:
			id, _ := e.PDRID()
			pdi, _ := e.PDI()
			var filters []byte
			whole := false
			for _, p := range pdi {
				switch p.Type {
				case ie.EthernetPacketFilter:
					filters = append(filters, octets(t, p)...)
				case ie.EthernetPDUSessionInformation:
					whole = bytes.Equal(p.Payload, []byte{1})
				case ie.UEIPAddress, ie.SDFFilter:
					t.Errorf("PDR %d has element %d", id, p.Type)
				}
			}
			reports := slices.ContainsFunc(e.ChildIEs, func(c *ie.IE) bool { n, err := c.URRID(); return c.Type == ie.URRID && err == nil && n == urrMACs })
			w, is := want[id]
			if downlink := id%2 == 0; !is || !bytes.Equal(filters, w) || whole != downlink || reports == downlink {
				t.Errorf("PDR %d: filters %x, want %x; ETHI %v, reports %v", id, filters, w, whole, reports)
			}
			delete(want, id)
		}
	}
	if len(want) > 0 {
		t.Errorf("no PDRs %v", want)
	}
}

// A modification tells what differs, and nothing of MAC addresses.
func TestEthernetModification(t *testing.T) {
	before, changed := bridge(), lan
	before.UPSEID, before.Uplink = 9, record.Tunnel{TEID: 1, IPv4: netip.MustParseAddr("172.30.3.16")}
	after := before.Clone()
	changed.Filters = map[string]Filters{"goose": {Precedence: 10, List: []n1.Filter{{Direction: n1.Uplink, Protocol: -1, Frame: n1.Frame{CVLAN: 9}}}}, "all": lan.Filters["all"]}
	after.Flows[1] = Versioned(after.Flows[1], changed)
	ies, err := Modification(before, after, changed, false, false)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []uint16
	for _, e := range ies {
		kinds = append(kinds, e.Type)
	}
	if diff := cmp.Diff([]uint16{ie.RemovePDR, ie.UpdatePDR}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, all := range []bool{false, true} {
		same, err := Modification(before, before, lan, false, all)
		if err != nil || !all && len(same) > 0 || slices.ContainsFunc(same, func(e *ie.IE) bool { return e.Type == ie.CreateURR || e.Type == ie.UpdateURR }) {
			t.Errorf("nothing differs (all %v): %d elements, %v", all, len(same), err)
		}
	}
}

// Whatever a unit says of addresses, the session has none; and no branch.
func TestEthernetHasNoAddress(t *testing.T) {
	s := bridge()
	err := Established(s, &message.SessionEstablishmentResponse{
		Cause: ie.NewCause(ie.CauseRequestAccepted), UPFSEID: ie.NewFSEID(9, []byte{10, 0, 0, 1}, nil),
		CreatedPDR: []*ie.IE{ie.NewCreatedPDR(ie.NewPDRID(1), ie.NewFTEID(1, 0x10, []byte{172, 30, 3, 16}, nil, 0), ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0))},
	})
	if err != nil || s.IPv4.IsValid() || s.Uplink.TEID != 0x10 {
		t.Errorf("%v, address %s, tunnel %+v", err, s.IPv4, s.Uplink)
	}
	s.Branch = &record.Branch{NodeID: "edge-0"}
	if ies, err := BranchEstablishment(s, lan); err == nil {
		t.Errorf("a branch: %v", ies)
	}
}

func TestEthernetForPeople(t *testing.T) {
	s := bridge()
	s.Ethernet = &record.Ethernet{MACs: record.MACs{{2, 0, 0, 0, 0, 1}}}
	var got []string
	for _, p := range Readable(s, lan).PDRs {
		if p.UEIPAddress != "" || p.EthernetSession == p.MACs {
			t.Errorf("%+v", p)
		}
		got = append(got, p.EthernetFilters...)
	}
	const goose = "VLAN 291, VLAN PCP 5 DEI true, service VLAN 1110, EtherType 0x88b8"
	if diff := cmp.Diff([]string{
		"remote MAC 01:0c:cd:01:00:01, local MAC 02:00:00:00:00:01, " + goose, "EtherType 0x0800, permit out 17 from 192.0.2.0/24 to assigned",
		"remote MAC 01:0c:cd:01:00:01, local MAC 02:00:00:00:00:01, " + goose, "VLAN 7",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if macs := MACsText(s); !slices.Equal(macs, []string{"02:00:00:00:00:01"}) {
		t.Errorf("MAC addresses %v", macs)
	}
}

// What records have of filters of IP is what it was before there were frames: else each session would be told anew after an upgrade.
func TestVersionOfFilters(t *testing.T) {
	f := n1.Filter{ID: 1, Direction: n1.Bidirectional, Protocol: 17, Remote: netip.MustParsePrefix("192.0.2.0/24"), RemotePorts: n1.PortRange{First: 5060, Last: 5061}, SPI: 7}
	v := Versioned(record.Flow{Name: "a"}, Settings{Filters: map[string]Filters{"a": {Precedence: 10, List: []n1.Filter{f, n1.Any(2)}}}})
	if v.Filters != 1379862409 || v.Directions != 3 {
		t.Errorf("digest %d, directions %d", v.Filters, v.Directions)
	}
}
