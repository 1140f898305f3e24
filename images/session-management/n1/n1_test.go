package n1

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/free5gc/nas"
	"github.com/free5gc/nas/nasMessage"
	"github.com/free5gc/nas/nasType"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func octets(t testing.TB, hexadecimal string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(hexadecimal), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var equal = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()}

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		want    Message
	}{
		"the least establishment request": {
			"2e 05 01 c1 ff ff",
			&EstablishmentRequest{Header: Header{5, 1, EstablishmentRequestType}},
		},
		"what a phone sends": {
			"2e 01 07 c1 ff ff 93 a1 28 01 03 55 04 00 b1 39 02 aa bb 7b 00 0a 80 00 0d 00 00 03 00 00 10 00",
			&EstablishmentRequest{
				Header: Header{1, 7, EstablishmentRequestType}, Type: IPv4v6, SSCMode: 1, AlwaysOn: true, MaxFilters: 32,
				ReflectiveQoS: true, MultiHomed: true, DNRequest: []byte{0xaa, 0xbb},
				Options: Options{{ID: OptionDNSv4}, {ID: OptionDNSv6}, {ID: OptionMTUv4}},
			},
		},
		"elements that nobody knows are passed over": {
			"2e 01 07 c1 ff ff 66 02 00 00 e5 72 00 03 01 02 03 91 35 01 09",
			&EstablishmentRequest{Header: Header{1, 7, EstablishmentRequestType}, Type: IPv4},
		},
		"of an element that comes twice the first counts": {
			"2e 01 07 c1 ff ff 91 92",
			&EstablishmentRequest{Header: Header{1, 7, EstablishmentRequestType}, Type: IPv4},
		},
		"an optional element that is cut is as if it were not there": {
			"2e 01 07 c1 ff ff 92 7b 00 20 80 00 0d 00",
			&EstablishmentRequest{Header: Header{1, 7, EstablishmentRequestType}, Type: IPv6},
		},
		"reserved values are read as TS 24.501 says": {
			"2e 01 07 c1 ff ff 97 a4",
			&EstablishmentRequest{Header: Header{1, 7, EstablishmentRequestType}, Type: IPv4v6, SSCMode: 1},
		},
		"a modification with a rule and a flow": {
			"2e 01 02 c9 59 1b 7a 00 16 00 00 13 21 31 0e 10 08 08 08 08 ff ff ff ff 30 11 50 01 bb ff 05" +
				" 79 00 0b 05 20 42 01 01 01 02 03 01 27 10",
			&ModificationRequest{
				Header: Header{1, 2, ModificationRequestType}, Cause: 27,
				Rules: []Rule{{Operation: CreateRule, Precedence: 0xff, QFI: 5, Filters: []Filter{{
					ID: 1, Direction: Bidirectional, Remote: netip.MustParsePrefix("8.8.8.8/32"), Protocol: 17, RemotePorts: PortRange{443, 443},
				}}}},
				Flows: []Flow{{QFI: 5, Operation: CreateFlow, FiveQI: 1, GFBRUplink: 10_000_000}},
			},
		},
		"a release request":             {"2e 01 02 d1", &ReleaseRequest{Header: Header{1, 2, ReleaseRequestType}}},
		"a release complete with cause": {"2e 01 00 d4 59 24", &ReleaseComplete{Header: Header{1, 0, ReleaseCompleteType}, Cause: CauseRegularDeactivation}},
		"a modification complete":       {"2e 01 00 cc", &ModificationComplete{Header: Header{1, 0, ModificationCompleteType}}},
		"a command that is refused":     {"2e 01 00 cd 53", &ModificationCommandReject{Header: Header{1, 0, ModificationCommandRejectType}, Cause: CauseSemanticErrorInQoS}},
		"a status":                      {"2e 01 05 d6 2f", &Status{Header: Header{1, 5, StatusType}, Cause: CausePTIMismatch}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(octets(t, c.message))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, equal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		cause   Cause
		ignored bool
	}{
		"nothing":                            {"", CauseProtocolErrorUnspecified, true},
		"a cut header":                       {"2e 01 01", CauseProtocolErrorUnspecified, true},
		"a 5GMM message":                     {"7e 00 41 01", CauseProtocolErrorUnspecified, true},
		"no PDU session":                     {"2e 00 01 c1 ff ff", CauseInvalidPDUSessionIdentity, true},
		"a reserved PDU session":             {"2e 10 01 c1 ff ff", CauseInvalidPDUSessionIdentity, true},
		"a request without a transaction":    {"2e 01 00 c1 ff ff", CauseInvalidPTI, false},
		"the reserved transaction":           {"2e 01 ff d1", CauseInvalidPTI, false},
		"a message of the network's":         {"2e 01 01 c2", CauseMessageTypeNotImplemented, false},
		"a message of nobody's":              {"2e 01 01 7f", CauseMessageTypeNotImplemented, false},
		"a request without its rate":         {"2e 01 01 c1 ff", CauseInvalidMandatoryInformation, false},
		"a status without a cause":           {"2e 01 01 d6", CauseInvalidMandatoryInformation, false},
		"a rejection without a cause":        {"2e 01 01 cd", CauseInvalidMandatoryInformation, false},
		"a rule that is cut":                 {"2e 01 01 c9 7a 00 03 01 00 09", CauseSyntacticalErrorInQoS, false},
		"a rule of no length":                {"2e 01 01 c9 7a 00 04 01 00 00 20", CauseSyntacticalErrorInQoS, false},
		"a rule with a reserved operation":   {"2e 01 01 c9 7a 00 04 01 00 01 e0", CauseSemanticErrorInQoS, false},
		"a deletion with a filter":           {"2e 01 01 c9 7a 00 05 01 00 02 41 00", CauseSyntacticalErrorInQoS, false},
		"a rule without a flow":              {"2e 01 01 c9 7a 00 08 01 00 05 21 31 01 01 ff", CauseSyntacticalErrorInQoS, false},
		"a filter that is cut":               {"2e 01 01 c9 7a 00 09 01 00 06 21 31 09 01 ff 01", CauseSyntacticalErrorInFilters, false},
		"an unknown component":               {"2e 01 01 c9 7a 00 09 01 00 06 21 31 01 99 ff 01", CauseSyntacticalErrorInFilters, false},
		"a filter that matches all and more": {"2e 01 01 c9 7a 00 0b 01 00 08 21 31 03 01 30 11 ff 01", CauseSemanticErrorInFilters, false},
		"ports the wrong way round":          {"2e 01 01 c9 7a 00 0d 01 00 0a 21 31 05 51 00 09 00 08 ff 01", CauseSemanticErrorInFilters, false},
		"a mask with holes":                  {"2e 01 01 c9 7a 00 11 01 00 0e 21 31 09 10 08 08 08 08 ff 00 ff 00 ff 01", CauseSemanticErrorInFilters, false},
		"a flow that is cut":                 {"2e 01 01 c9 79 00 02 01 20", CauseSyntacticalErrorInQoS, false},
		"a flow with a reserved operation":   {"2e 01 01 c9 79 00 03 01 80 00", CauseSemanticErrorInQoS, false},
		"a flow with a long 5QI":             {"2e 01 01 c9 79 00 07 01 20 41 01 02 00 09", CauseSyntacticalErrorInQoS, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Decode(octets(t, c.message))
			var fault *Fault
			if !errors.As(err, &fault) {
				t.Fatalf("read as %+v", m)
			}
			if fault.Cause != c.cause || fault.Ignore != c.ignored {
				t.Errorf("%v (ignored: %v), want cause %d, ignored: %v", fault, fault.Ignore, c.cause, c.ignored)
			}
		})
	}
}

var allOfAFilter = []Filter{
	{ID: 0, Direction: Bidirectional, Protocol: -1},
	{
		ID: 1, Direction: Uplink, Remote: netip.MustParsePrefix("192.0.2.0/24"), Local: netip.MustParsePrefix("10.45.0.1/32"), Protocol: 6,
		RemotePorts: PortRange{80, 81}, LocalPorts: PortRange{1024, 65535}, TOS: 0xb8, TOSMask: 0xfc,
	},
	{
		ID: 15, Direction: Downlink, Remote: netip.MustParsePrefix("2001:db8::/32"), Local: netip.MustParsePrefix("2001:db8:1::7/128"),
		Protocol: 50, SPI: 0xdeadbeef, FlowLabel: 0xfffff,
	},
	{ID: 2, Direction: Downlink, Remote: netip.MustParsePrefix("0.0.0.0/0"), Protocol: 0, RemotePorts: PortRange{53, 53}, LocalPorts: PortRange{7, 7}},
}

// What is written is read as it was.
func TestQoSRoundTrip(t *testing.T) {
	rules := []Rule{
		{ID: 1, Operation: CreateRule, Default: true, Filters: allOfAFilter, Precedence: 255, QFI: 1},
		{ID: 2, Operation: DeleteRule},
		{ID: 3, Operation: DeleteFilters, Filters: []Filter{{ID: 1}, {ID: 4}}, Precedence: 7, QFI: 63, Segregation: true},
		{ID: 4, Operation: ChangeRule, Precedence: 1, QFI: 2},
		{ID: 5, Operation: ReplaceFilters, Filters: []Filter{Any(3)}, Precedence: 9, QFI: 3},
	}
	got, cause, reason := decodeRules(encodeRules(rules))
	if diff := cmp.Diff(rules, got, equal); cause != 0 || diff != "" {
		t.Errorf("rules: cause %d (%s), (-want +got):\n%s", cause, reason, diff)
	}
	flows := []Flow{
		{QFI: 1, Operation: CreateFlow, FiveQI: 9},
		{
			QFI: 63, Operation: ModifyFlow, FiveQI: 1, GFBRUplink: 64_000, GFBRDownlink: 128_000, MFBRUplink: 1_000_000_000,
			MFBRDownlink: 2_000_000, AveragingWindow: 2 * time.Second,
		},
		{QFI: 2, Operation: DeleteFlow},
	}
	gotFlows, cause, reason := decodeFlows(encodeFlows(flows))
	if diff := cmp.Diff(flows, gotFlows, equal); cause != 0 || diff != "" {
		t.Errorf("flows: cause %d (%s), (-want +got):\n%s", cause, reason, diff)
	}
}

func TestRates(t *testing.T) {
	for bps, want := range map[uint64]struct {
		octets [3]byte
		read   uint64
	}{
		0:                 {[3]byte{1, 0, 0}, 0},
		1:                 {[3]byte{1, 0, 1}, 1000},
		1_000_000:         {[3]byte{1, 0x03, 0xe8}, 1_000_000},
		65_535_000:        {[3]byte{1, 0xff, 0xff}, 65_535_000},
		65_536_000:        {[3]byte{2, 0x40, 0x00}, 65_536_000},
		65_537_000:        {[3]byte{2, 0x40, 0x01}, 65_540_000}, // rounded up
		10_000_000_000:    {[3]byte{5, 0x98, 0x97}, 10_000_128_000},
		20_000_000_000:    {[3]byte{6, 0x4e, 0x20}, 20_000_000_000},
		1_000_000_000_000: {[3]byte{8, 0xf4, 0x24}, 1_000_000_000_000},
		^uint64(0):        {[3]byte{0, 0, 0}, 0},
	} {
		if bps == ^uint64(0) {
			if got := decodeRate(encodeRate(bps)); got < 18_000_000_000_000_000_000 {
				t.Errorf("the highest rate is read as %d", got)
			}
			continue
		}
		got := encodeRate(bps)
		if got != want.octets || decodeRate(got) != want.read {
			t.Errorf("%d bit/s = % x, read as %d, want % x, %d", bps, got, decodeRate(got), want.octets, want.read)
		}
	}
	if got := decodeRate([3]byte{255, 0xff, 0xff}); got != ^uint64(0) {
		t.Errorf("a rate beyond all units is read as %d", got)
	}
}

func TestTimers(t *testing.T) {
	for d, want := range map[time.Duration]byte{
		time.Second: 3<<5 | 1, 62 * time.Second: 3<<5 | 31, 63 * time.Second: 4<<5 | 3, 16 * time.Minute: 5<<5 | 16,
		31 * time.Hour: 1<<5 | 31, 1000 * time.Hour: 6<<5 | 4, 1 << 60: 6<<5 | 31,
	} {
		if got := encodeTimer(d); got != want {
			t.Errorf("%s = %#02x, want %#02x", d, got, want)
		}
	}
}

// free5GC's library, which UEs of tests are made of, reads what we write.
func TestAcceptForOthers(t *testing.T) {
	on := true
	m := EstablishmentAccept{
		SessionID: 5, PTI: 9, Type: IPv4v6, SSCMode: 1, AMBR: AMBR{Uplink: 100_000_000, Downlink: 200_000_000},
		Rules: []Rule{{ID: 1, Operation: CreateRule, Default: true, Filters: []Filter{Any(1)}, Precedence: 255, QFI: 1}},
		Flows: []Flow{{QFI: 1, Operation: CreateFlow, FiveQI: 9}},
		IPv4:  netip.MustParseAddr("10.45.0.1"), InterfaceID: [8]byte{0, 0, 0, 0, 0, 0, 0, 7}, SST: 1, SD: &[3]byte{1, 2, 3},
		AlwaysOn: &on, DNN: "internet.example", Options: Options{{ID: OptionDNSv4, Content: []byte{9, 9, 9, 9}}},
	}
	b := m.Encode()
	var got nas.Message
	if err := got.GsmMessageDecode(&b); err != nil {
		t.Fatal(err)
	}
	a := got.PDUSessionEstablishmentAccept
	if a == nil || a.PDUSessionID.GetPDUSessionID() != 5 || a.GetPTI() != 9 || a.GetSSCMode() != 1 ||
		a.GetPDUSessionType() != nasMessage.PDUSessionTypeIPv4IPv6 {
		t.Fatalf("%+v", a)
	}
	if want := []byte{0, 0, 0, 0, 0, 0, 0, 7, 10, 45, 0, 1}; !bytes.Equal(a.PDUAddress.Octet[1:13], want) {
		t.Errorf("PDU address % x, want % x", a.PDUAddress.Octet, want)
	}
	var rules nasType.QoSRules
	if err := rules.UnmarshalBinary(a.AuthorizedQosRules.GetQosRule()); err != nil || len(rules) != 1 || !rules[0].DQR || rules[0].QFI != 1 {
		t.Errorf("rules %+v, %v", rules, err)
	}
	var flows nasType.QoSFlowDescs
	if err := flows.UnmarshalBinary(a.AuthorizedQosFlowDescriptions.GetQoSFlowDescriptions()); err != nil || len(flows) != 1 || flows[0].QFI != 1 {
		t.Errorf("flows %+v, %v", flows, err)
	}
	if a.SNSSAI.GetSST() != 1 || a.SNSSAI.GetSD() != [3]byte{1, 2, 3} || a.DNN.GetDNN() != "internet.example" {
		t.Errorf("slice %v, DNN %q", a.SNSSAI, a.DNN.GetDNN())
	}
	if a.AlwaysonPDUSessionIndication.GetAPSI() != 1 || a.ExtendedProtocolConfigurationOptions == nil {
		t.Error("no always-on indication, or no options")
	}
	for name, b := range map[string][]byte{
		"reject": (&EstablishmentReject{SessionID: 5, PTI: 9, Cause: CauseUnsupportedSSCMode, BackOff: time.Minute, AllowedSSCModes: []uint8{1}}).Encode(),
		"command": (&ModificationCommand{
			SessionID: 5, PTI: 9, AMBR: &AMBR{1e6, 2e6}, AlwaysOn: &on, Rules: m.Rules, Flows: m.Flows, Options: m.Options,
		}).Encode(),
		"mod reject":  (&ModificationReject{SessionID: 5, PTI: 9, Cause: CauseInsufficientResources, BackOff: time.Hour}).Encode(),
		"release":     (&ReleaseCommand{SessionID: 5, Cause: CauseReactivationRequested}).Encode(),
		"rel reject":  (&ReleaseReject{SessionID: 5, PTI: 9, Cause: CausePTIMismatch}).Encode(),
		"status":      (&Status{Header: Header{SessionID: 5, PTI: 9}, Cause: CauseSessionDoesNotExist}).Encode(),
		"ipv6 accept": (&EstablishmentAccept{SessionID: 1, PTI: 1, Type: IPv6, SSCMode: 1, SST: 1, Cause: CauseIPv6Only, Rules: m.Rules}).Encode(),
	} {
		var got nas.Message
		if err := got.GsmMessageDecode(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfiguration(t *testing.T) {
	config := Configuration{
		DNS:   []netip.Addr{netip.MustParseAddr("9.9.9.9"), netip.MustParseAddr("2620:fe::fe"), netip.MustParseAddr("1.1.1.1")},
		PCSCF: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, MTU: 1400,
	}
	v6 := netip.MustParseAddr("2620:fe::fe").AsSlice()
	for name, c := range map[string]struct {
		asked  Options
		v4, v6 bool
		want   Options
	}{
		"nothing asked, nothing told": {nil, true, true, nil},
		"DNS of both versions": {
			Options{{ID: OptionDNSv4}, {ID: OptionDNSv6}, {ID: OptionMTUv4}, {ID: OptionPCSCFv4}}, true, true,
			Options{
				{ID: OptionPCSCFv4, Content: []byte{192, 0, 2, 1}}, {ID: OptionDNSv4, Content: []byte{9, 9, 9, 9}},
				{ID: OptionDNSv4, Content: []byte{1, 1, 1, 1}}, {ID: OptionDNSv6, Content: v6}, {ID: OptionMTUv4, Content: []byte{0x05, 0x78}},
			},
		},
		"only what the session has": {
			Options{{ID: OptionDNSv4}, {ID: OptionDNSv6}, {ID: OptionMTUv4}}, false, true, Options{{ID: OptionDNSv6, Content: v6}},
		},
		"IPCP asks for servers": {
			Options{{ID: OptionIPCP, Content: []byte{1, 7, 0, 16, 129, 6, 0, 0, 0, 0, 131, 6, 0, 0, 0, 0}}}, true, false,
			Options{{ID: OptionIPCP, Content: []byte{3, 7, 0, 16, 129, 6, 9, 9, 9, 9, 131, 6, 1, 1, 1, 1}}},
		},
		"IPCP knows them already": {
			Options{{ID: OptionIPCP, Content: []byte{1, 8, 0, 10, 129, 6, 9, 9, 9, 9}}}, true, false,
			Options{{ID: OptionIPCP, Content: []byte{2, 8, 0, 10, 129, 6, 9, 9, 9, 9}}},
		},
		"IPCP asks for what is not told there": {
			Options{{ID: OptionIPCP, Content: []byte{1, 9, 0, 16, 3, 6, 0, 0, 0, 0, 129, 6, 0, 0, 0, 0}}}, true, false,
			Options{{ID: OptionIPCP, Content: []byte{4, 9, 0, 10, 3, 6, 0, 0, 0, 0}}},
		},
		"IPCP that is cut": {Options{{ID: OptionIPCP, Content: []byte{1, 9, 0, 16, 3, 6, 0}}}, true, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, config.Answer(c.asked, c.v4, c.v6), equal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, m := range []string{
		"2e 01 07 c1 ff ff 93 a1 28 01 03 55 04 00 b1 39 02 aa bb 7b 00 0a 80 00 0d 00 00 03 00 00 10 00",
		"2e 01 02 c9 59 1b 7a 00 16 00 00 13 21 31 0e 10 08 08 08 08 ff ff ff ff 30 11 50 01 bb ff 05 79 00 0b 05 20 42 01 01 01 02 03 01 27 10",
		"2e 01 07 c9 7a 00 2a 00 00 27 21 31 22 81 01 0c cd 01 00 01 82 02 00 00 00 00 01 83 00 07 84 00 08 85 0b 86 00 87 88 b8 10 08 c0 00 02 00 ff ff ff 00 1e 09",
		"2e 01 00 cd 53", "2e 01 00 d4 59 24", "2e 01 05 d6 2f",
	} {
		f.Add(octets(f, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		var fault *Fault
		if (m == nil) == (err == nil) || err != nil && !errors.As(err, &fault) {
			t.Fatalf("%+v, %v", m, err)
		}
		r, is := m.(*ModificationRequest)
		if !is {
			return
		}
		// What was read can be written, and is read again as the same.
		again, cause, reason := decodeRules(encodeRules(r.Rules))
		if cause != 0 {
			t.Fatalf("%+v cannot be read again: %s", r.Rules, reason)
		}
		if diff := cmp.Diff(r.Rules, again, equal); diff != "" {
			t.Errorf("(-first +again):\n%s", diff)
		}
	})
}
