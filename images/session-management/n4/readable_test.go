package n4

import (
	"net/netip"
	"slices"
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
)

func readableSession() (*record.Session, Settings) {
	s := &record.Session{
		Phase: record.Active, Type: n1.IPv4v6, IPv4: netip.MustParseAddr("10.45.0.1"), IPv6: netip.MustParsePrefix("2001:db8:45::/64"),
		AMBR:   record.AMBR{Uplink: 1e6, Downlink: 2e6},
		Flows:  []record.Flow{{QFI: 1, FiveQI: 9}, {QFI: 2, FiveQI: 1, Name: "voice", GFBRUplink: 1e4, GFBRDownlink: 1e4, MFBRUplink: 2e4, MFBRDownlink: 2e4}, {QFI: 3, Refused: true}},
		Uplink: record.Tunnel{TEID: 0x10, IPv4: netip.MustParseAddr("172.30.3.16")}, Downlink: record.Tunnel{TEID: 0x100, IPv6: netip.MustParseAddr("2001:db8::1")},
		Handover: &record.Handover{Forwarding: record.Tunnel{TEID: 9, IPv4: netip.MustParseAddr("172.30.3.9")}},
	}
	return s, Settings{Access: "access", Core: "internet", Filters: map[string]Filters{"voice": {Precedence: 10, List: []n1.Filter{
		{Direction: n1.Bidirectional, Protocol: 17, Remote: netip.MustParsePrefix("192.0.2.1/32"), RemotePorts: n1.PortRange{First: 5060, Last: 5060}},
	}}}}
}

func TestReadable(t *testing.T) {
	s, set := readableSession()
	const filter = "permit out 17 from 192.0.2.1 5060 to assigned"
	ue := "10.45.0.1 2001:db8:45::/64"
	want := Rules{
		PDRs: []PDR{
			{ID: 1, Precedence: 255, SourceInterface: "access", NetworkInstance: "access", FTEID: "TEID 0x10 172.30.3.16", UEIPAddress: ue, OuterHeaderRemoval: true, FAR: 1, QERs: []uint32{1, 2}},
			{ID: 2, Precedence: 255, SourceInterface: "core", NetworkInstance: "internet", UEIPAddress: ue, FAR: 2, QERs: []uint32{1, 2}},
			{ID: 5, Precedence: 10, SourceInterface: "access", NetworkInstance: "access", FTEID: "TEID 0x10 172.30.3.16", UEIPAddress: ue, SDFFilters: []string{filter}, OuterHeaderRemoval: true, FAR: 1, QERs: []uint32{3}},
			{ID: 6, Precedence: 10, SourceInterface: "core", NetworkInstance: "internet", UEIPAddress: ue, SDFFilters: []string{filter}, FAR: 2, QERs: []uint32{3}},
			{ID: 3, Precedence: 255, SourceInterface: "access", NetworkInstance: "access", FTEID: "the unit chooses", OuterHeaderRemoval: true, FAR: 3},
		},
		FARs: []FAR{
			{ID: 1, ApplyAction: "forward", DestinationInterface: "core", NetworkInstance: "internet"},
			{ID: 2, ApplyAction: "forward", DestinationInterface: "access", NetworkInstance: "access", OuterHeaderCreation: "TEID 0x100 2001:db8::1"},
			{ID: 3, ApplyAction: "forward", DestinationInterface: "access", NetworkInstance: "access", OuterHeaderCreation: "TEID 0x9 172.30.3.9"},
		},
		QERs: []QER{
			{ID: 1, MBRUplink: 1e6, MBRDownlink: 2e6}, {ID: 2, QFI: 1},
			{ID: 3, QFI: 2, MBRUplink: 2e4, MBRDownlink: 2e4, GBRUplink: 1e4, GBRDownlink: 1e4},
		},
	}
	if diff := cmp.Diff(want, Readable(s, set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for phase, action := range map[record.Phase]string{record.Idle: "buffer and notify", record.Releasing: "drop"} {
		s.Phase = phase
		if got := Readable(s, set).FARs[1]; got.ApplyAction != action || got.OuterHeaderCreation != "" {
			t.Errorf("phase %d: %+v, want %s", phase, got, action)
		}
	}
}

// What people read is what a unit is asked for.
func TestReadableIsWhatIsEstablished(t *testing.T) {
	s, set := readableSession()
	list, err := Establishment(s, set)
	if err != nil {
		t.Fatal(err)
	}
	asked, read := map[string][]uint32{}, map[string][]uint32{}
	for _, x := range list {
		switch x.Type {
		case ie.CreatePDR:
			id, _ := x.PDRID()
			asked["PDR"] = append(asked["PDR"], uint32(id))
		case ie.CreateFAR:
			id, _ := x.FARID()
			asked["FAR"] = append(asked["FAR"], id)
		case ie.CreateQER:
			id, _ := x.QERID()
			asked["QER"] = append(asked["QER"], id)
		}
	}
	r := Readable(s, set)
	for _, p := range r.PDRs {
		read["PDR"] = append(read["PDR"], uint32(p.ID))
	}
	for _, f := range r.FARs {
		read["FAR"] = append(read["FAR"], f.ID)
	}
	for _, q := range r.QERs {
		read["QER"] = append(read["QER"], q.ID)
	}
	for kind := range asked {
		slices.Sort(asked[kind])
		slices.Sort(read[kind])
	}
	if diff := cmp.Diff(asked, read); diff != "" || len(asked) != 3 {
		t.Errorf("(-asked +read):\n%s", diff)
	}
}
