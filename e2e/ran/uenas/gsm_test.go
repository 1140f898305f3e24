package uenas

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"core5g.dev/core5g/images/session-management/n1"
)

var compared = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmpopts.EquateEmpty(),
}

// What the network's codec writes is what the UE reads.
func TestDecodeSessionMessage(t *testing.T) {
	rules := []n1.Rule{
		{ID: 1, Operation: n1.CreateRule, Default: true, Filters: []n1.Filter{n1.Any(1)}, Precedence: 255, QFI: 1},
		{ID: 2, Operation: n1.CreateRule, Precedence: 9, QFI: 5, Filters: []n1.Filter{{ID: 3, Direction: n1.Uplink, Protocol: 17, Remote: netip.MustParsePrefix("2001:db8::/48"), LocalPorts: n1.PortRange{First: 10, Last: 20}}}},
	}
	flows := []n1.Flow{{QFI: 5, Operation: n1.CreateFlow, FiveQI: 1, GFBRUplink: 64000, MFBRDownlink: 3_000_000}}
	options := n1.Options{{ID: n1.OptionDNSv4, Content: []byte{8, 8, 8, 8}}}
	yes := true
	id := [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
	tests := map[string]struct {
		message []byte
		want    *SessionMessage
	}{
		"an accept with everything": {
			(&n1.EstablishmentAccept{
				SessionID: 5, PTI: 9, Type: n1.IPv4v6, SSCMode: 1, Rules: rules, Flows: flows, AMBR: n1.AMBR{Uplink: 100e6, Downlink: 2e9}, Cause: n1.CauseIPv6Only,
				IPv4: netip.MustParseAddr("10.45.0.1"), InterfaceID: id, SST: 1, SD: &[3]byte{1, 2, 3}, AlwaysOn: &yes, DNN: "internet.example", Options: options,
			}).Encode(),
			&SessionMessage{
				Header: n1.Header{SessionID: 5, PTI: 9, Type: n1.EstablishmentAcceptType}, SessionType: n1.IPv4v6, SSCMode: 1, Cause: n1.CauseIPv6Only,
				IPv4: netip.MustParseAddr("10.45.0.1"), InterfaceID: &id, HasAddress: true, AMBR: &n1.AMBR{Uplink: 100e6, Downlink: 2e9}, AlwaysOn: &yes,
				Rules: rules, Flows: flows, Options: options, DNN: "internet.example",
			},
		},
		"a command": {
			(&n1.ModificationCommand{SessionID: 5, AMBR: &n1.AMBR{Uplink: 1000, Downlink: 4000}, Rules: rules[1:], Flows: flows, Options: options}).Encode(),
			&SessionMessage{
				Header: n1.Header{SessionID: 5, Type: n1.ModificationCommandType}, AMBR: &n1.AMBR{Uplink: 1000, Downlink: 4000}, Rules: rules[1:], Flows: flows, Options: options,
			},
		},
		"a reject with a back-off timer": {
			(&n1.EstablishmentReject{SessionID: 5, PTI: 9, Cause: n1.CauseInsufficientResources, BackOff: 3 * time.Minute}).Encode(),
			&SessionMessage{Header: n1.Header{SessionID: 5, PTI: 9, Type: n1.EstablishmentRejectType}, Cause: n1.CauseInsufficientResources, BackOff: 3 * time.Minute},
		},
		"a release that never ends its back-off": {
			[]byte{0x2e, 5, 0, 0xd3, 39, 0x37, 1, 0xE0},
			&SessionMessage{Header: n1.Header{SessionID: 5, Type: n1.ReleaseCommandType}, Cause: n1.CauseReactivationRequested, BackOff: Never},
		},
		"a status": {
			(&n1.Status{Header: n1.Header{SessionID: 5, PTI: 9}, Cause: n1.CausePTIMismatch}).Encode(),
			&SessionMessage{Header: n1.Header{SessionID: 5, PTI: 9, Type: n1.StatusType}, Cause: n1.CausePTIMismatch},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeSessionMessage(tt.message)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, compared...); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "a 5GMM message": {0x7e, 0, 0, 0x41}, "what a UE sends": {0x2e, 5, 9, 0xc1}, "an accept that is cut": {0x2e, 5, 9, 0xc2, 0x11, 0, 9}, "a reject without cause": {0x2e, 5, 9, 0xc3},
	} {
		if m, err := DecodeSessionMessage(b); err == nil {
			t.Errorf("%s reads as %+v", name, m)
		}
	}
	faulty, err := DecodeSessionMessage([]byte{0x2e, 5, 0, 0xcb, 0x7a, 0, 4, 1, 0, 1, 0xe0})
	if err != nil || faulty.QoSFault == nil || faulty.QoSFault.Cause != n1.CauseSemanticErrorInQoS || len(faulty.Rules) != 0 {
		t.Errorf("a rule with a reserved operation reads as %+v, %v", faulty, err)
	}
}

// What the UE writes is what the network's codec reads.
func TestSessionRequests(t *testing.T) {
	read := func(b []byte) n1.Message {
		t.Helper()
		m, err := n1.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	option := func(ids ...uint16) (o n1.Options) {
		for _, id := range ids {
			o = append(o, n1.Option{ID: id})
		}
		return o
	}
	rules := []n1.Rule{{Operation: n1.CreateRule, Precedence: 9, QFI: 5, Filters: []n1.Filter{n1.Any(1)}}, {ID: 3, Operation: n1.DeleteRule}}
	flows := []n1.Flow{{QFI: 5, Operation: n1.CreateFlow, FiveQI: 1}}
	tests := map[string]struct{ got, want n1.Message }{
		"IPv4": {read(SessionEstablishment(5, 7, SessionRequest{})), &n1.EstablishmentRequest{
			Header: n1.Header{SessionID: 5, PTI: 7, Type: n1.EstablishmentRequestType}, Type: n1.IPv4, SSCMode: 1, Options: option(0x0A, 0x0D, 0x10),
		}},
		"IPv6, always-on, with P-CSCF and more filters": {
			read(SessionEstablishment(5, 7, SessionRequest{Type: n1.IPv6, AlwaysOn: true, PCSCF: true, MaxFilters: 1024})), &n1.EstablishmentRequest{
				Header: n1.Header{SessionID: 5, PTI: 7, Type: n1.EstablishmentRequestType}, Type: n1.IPv6, SSCMode: 1, AlwaysOn: true, MaxFilters: 1024, Options: option(3, 1),
			},
		},
		"a modification": {read(SessionModification(5, 7, ModificationRequest{Rules: rules, Flows: flows, AlwaysOn: true})), &n1.ModificationRequest{
			Header: n1.Header{SessionID: 5, PTI: 7, Type: n1.ModificationRequestType}, AlwaysOn: true, Rules: rules, Flows: flows,
		}},
		"a refusal": {read(SessionModificationReject(5, 0, n1.CauseSemanticErrorInQoS)), &n1.ModificationCommandReject{
			Header: n1.Header{SessionID: 5, Type: n1.ModificationCommandRejectType}, Cause: n1.CauseSemanticErrorInQoS,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.got, compared...); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzDecodeSessionMessage(f *testing.F) {
	f.Add((&n1.EstablishmentAccept{SessionID: 5, PTI: 9, Type: n1.IPv6, SSCMode: 1, SST: 1, DNN: "internet", Rules: []n1.Rule{{ID: 1, Operation: n1.CreateRule, Default: true, Filters: []n1.Filter{n1.Any(1)}}}}).Encode())
	f.Add((&n1.ModificationCommand{SessionID: 5, Flows: []n1.Flow{{QFI: 1, Operation: n1.CreateFlow, FiveQI: 9}}}).Encode())
	f.Add([]byte{0x2e, 5, 0, 0xd3, 39, 0x37, 1, 0xE0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := DecodeSessionMessage(b); err == nil && m.Type == n1.EstablishmentAcceptType && m.AMBR == nil {
			t.Error("an accept without the session AMBR that it must have")
		}
	})
}
