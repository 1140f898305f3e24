package procedure

import (
	"encoding/binary"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// goose is what one substation tells another of, by groups (IEC 61850-8-1); behind is a device behind a UE.
var (
	goose  = n1.Frame{Remote: n1.MAC{1, 0x0c, 0xcd, 1, 0, 1}, CVLAN: 7, EtherType: 0x88b8}
	behind = n1.MAC{2, 0, 0, 0, 0, 1}
)

// lan has the first data network of Ethernet, with a flow of frames.
func lan(list []configuration.Slice) {
	d := &list[0].DataNetworks[0]
	d.Types, d.DNS, d.MTU = []n1.SessionType{n1.Ethernet}, nil, 1500
	d.Units = []configuration.Serving{{NodeID: unitID}}
	d.Flows = []configuration.Flow{
		{Name: "goose", FiveQI: 69, ARP: configuration.ARP{Priority: 2}, Precedence: 10, Filters: []n1.Filter{{Direction: n1.Bidirectional, Protocol: -1, Frame: goose}}},
		{Name: "vlan", FiveQI: 7, ARP: configuration.ARP{Priority: 9}, Precedence: 20, OnRequest: true, Filters: []n1.Filter{{Direction: n1.Bidirectional, Protocol: -1, Frame: n1.Frame{CVLAN: 9}}}},
	}
}

// bridged is a unit's answer, which has no address.
func bridged() Unit {
	return Unit{Outcome: Done, Established: &message.SessionEstablishmentResponse{
		Cause: ie.NewCause(ie.CauseRequestAccepted), UPFSEID: ie.NewFSEID(9, []byte{10, 0, 0, 1}, nil),
		CreatedPDR: []*ie.IE{ie.NewCreatedPDR(ie.NewPDRID(1), ie.NewFTEID(1, 0x10, []byte{172, 30, 3, 16}, nil, 0))},
	}}
}

// frameRule is a UE's request for a flow of its own, by filters.
func frameRule(pti uint8, fiveQI uint8, filters ...n1.Filter) Update {
	rule := append([]byte{0, 0, 0, 0x20 | byte(len(filters))}, n1.EncodeFilters(filters)...)
	rule = append(rule, 30, 9)
	binary.BigEndian.PutUint16(rule[1:], uint16(len(rule)-3))
	flow := []byte{9, 0x20, 0x41, 1, 1, fiveQI}
	b := append([]byte{0x2e, 1, pti, byte(n1.ModificationRequestType), 0x7a}, binary.BigEndian.AppendUint16(nil, uint16(len(rule)))...)
	b = append(append(b, rule...), 0x79, 0, byte(len(flow)))
	return Update{From: 4, N1: append(b, flow...)}
}

// TS 23.501 5.6.10.2: as any session, without an address, and with the devices behind it.
func TestEthernet(t *testing.T) {
	running := func(tr *teller) State {
		tr.configure(lan)
		return tr.lead(State{}, create(request(5, 0x95)), Subscription{Types: []n1.SessionType{n1.Ethernet}}, bridged(), Transferred{Outcome: Done}, tr.readyWith(1, 2), Unit{Outcome: Done})
	}
	tr := newTeller(t)
	ask := func(octets ...byte) act { return act{name: "the AMF asks", event: create(request(5, octets...))} }
	subscribed := act{name: "the subscription", event: Subscription{}}
	reported := func(detected, removed []n1.MAC) act {
		return act{name: "the unit reports", event: Report{From: 7, Usage: []Measured{{URR: 1 << 30, Detected: detected, Removed: removed}}}}
	}
	several := func(n int) (out []n1.MAC) {
		for i := range n {
			out = append(out, n1.MAC{2, 0, 0, 0, 1, byte(i)})
		}
		return out
	}
	tell(t, "ethernet", []story{
		{name: "with the MTU of its frames, and without DNS", with: lan, acts: []act{
			ask(0x95, 0x7b, 0, 10, 0x80, 0, 0x0d, 0, 0, 0x10, 0, 0, 0x20, 0), {name: "the subscription", event: Subscription{Types: []n1.SessionType{n1.Ethernet}}},
			{name: "the unit has it", event: bridged()}, {name: "the AMF has the accept", event: Transferred{Outcome: Done}},
			{name: "the gNB has a tunnel", event: tr.readyWith(1, 2)}, {name: "the unit knows", event: Unit{Outcome: Done}},
		}},
		{name: "the UE says no type", with: lan, acts: []act{ask(), subscribed}},
		{name: "a PCF decides", with: func(list []configuration.Slice) { lan(list); withPolicy(list) }, acts: []act{
			ask(0x95), subscribed, {name: "the policy", event: Policy{Outcome: Done, URI: "http://pcf/1", Flows: []string{"vlan"}}}, {name: "the unit has it", event: bridged()},
		}},
		{name: "static addresses and framed routes are of IP", with: lan, acts: []act{
			ask(0x95), {name: "the subscription", event: Subscription{IPv4: networks("192.0.2.7/32")[0].Addr(), Routes: networks("192.168.7.0/24")}}, {name: "the unit has it", event: bridged()},
		}},
		{name: "the unit refuses", with: lan, acts: []act{ask(0x95), subscribed, {name: "the unit", event: Unit{Outcome: Refused, Cause: ie.CauseServiceNotSupported}}}},
		{name: "IPv4 asked", with: lan, acts: []act{ask(0x91), subscribed}},
		{name: "IPv4v6 asked", with: lan, acts: []act{ask(0x93), subscribed}},
		{name: "Unstructured asked", with: lan, acts: []act{ask(0x94), subscribed}},
		{name: "IPv4 subscribed", with: lan, acts: []act{ask(0x95), {name: "the subscription", event: Subscription{Types: []n1.SessionType{n1.IPv4}}}}},
		{name: "Ethernet asked of IPv4", with: only(n1.IPv4), acts: []act{ask(0x95), subscribed}},
		{name: "Ethernet asked of IPv6", with: only(n1.IPv6), acts: []act{ask(0x95), subscribed}},
		{name: "Ethernet asked of IPv4v6", with: only(n1.IPv4v6), acts: []act{ask(0x95), subscribed}},
		{name: "devices come and go", from: running, acts: []act{
			reported([]n1.MAC{behind, goose.Remote}, nil), reported([]n1.MAC{behind}, nil), reported(nil, []n1.MAC{behind}), reported(several(record.MostMACs+1), nil),
		}},
		{name: "they go at the end", from: running, acts: []act{
			{name: "the network ends it", event: End{From: 3, Cause: n1.CauseRegularDeactivation}},
			{name: "the unit has deleted it, and says", event: Unit{Outcome: Done, Usage: []Measured{{URR: 1 << 30, Removed: []n1.MAC{behind}}}}},
		}},
		{name: "the UE asks for a flow of its own, in the Slice's", from: running, acts: []act{
			{name: "the UE asks", event: frameRule(7, 69, n1.Filter{Direction: n1.Uplink, Protocol: -1, Frame: n1.Frame{Remote: goose.Remote, Local: behind, CVLAN: 7, EtherType: 0x88b8}})},
		}},
		{name: "it asks for a flow of the Slice", from: func(tr *teller) State {
			st := running(tr)
			st.Record.Subscribed = []string{"vlan"}
			return st
		}, acts: []act{{name: "the UE asks", event: frameRule(7, 7, n1.Filter{Direction: n1.Bidirectional, Protocol: -1, Frame: n1.Frame{CVLAN: 9}})}}},
		{name: "it asks for what no flow of the Slice has", from: running, acts: []act{
			{name: "the UE asks", event: frameRule(7, 69, n1.Filter{Direction: n1.Uplink, Protocol: -1, Frame: n1.Frame{CVLAN: 8}})},
		}},
		{name: "a PCF is not asked for filters of frames", from: func(tr *teller) State {
			st := running(tr)
			st.Record.Policy = "http://pcf/1"
			return st
		}, acts: []act{{name: "the UE asks", event: frameRule(7, 69, n1.Filter{Direction: n1.Uplink, Protocol: -1, Frame: n1.Frame{CVLAN: 8}})}}},
		{name: "a session of IP has no frames", from: active, acts: []act{
			{name: "the UE asks", event: frameRule(7, 1, n1.Filter{Direction: n1.Uplink, Protocol: -1, Frame: n1.Frame{CVLAN: 8}})},
		}},
		{name: "the Slice has another filter", from: running, acts: []act{{
			name: "the Slice changes", event: SettingsChanged{}, first: func(list []configuration.Slice) { list[0].DataNetworks[0].Flows[0].Filters[0].Frame.CVLAN = 8 },
		}, {name: "the unit has it", event: Unit{Outcome: Done}}}},
		{name: "the UE is idle, and a frame waits", from: running, acts: []act{
			{name: "the AMF deactivates", event: Update{From: 3, Connection: Deactivated}}, {name: "the unit buffers", event: Unit{Outcome: Done}},
			{name: "a frame for the UE", event: Report{From: 5, Downlink: true, QFI: 1}},
		}},
		{name: "a handover by Xn", from: running, acts: []act{
			{name: "the path is switched", event: Update{From: 3, ToBeSwitched: true, N2Type: n2.InfoPathSwitchRequest, N2: makes(t, &n2.PathSwitchRequest{Downlink: otherGNB, Flows: []uint8{1, 2}})}},
			{name: "the unit knows", event: Unit{Outcome: Done}},
		}},
		{name: "a handover by N2", from: running, acts: []act{
			{name: "the source wants it", event: Update{From: 3, Handover: HandoverPreparing, N2Type: n2.InfoHandoverRequired, N2: makes(t, &n2.HandoverRequired{})}},
		}},
		{name: "the unit has lost the session, which is made again", from: running, acts: []act{{name: "the unit", event: UnitRestarted{NodeID: unitID}, later: time.Minute}}},
	})
}
