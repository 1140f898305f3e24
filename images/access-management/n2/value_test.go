package n2

import (
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
)

func TestPLMN(t *testing.T) {
	for name, tc := range map[string]struct {
		mcc, mnc string
		want     PLMN
		wantText string
	}{
		"an MNC of two digits":       {"999", "70", PLMN{0x99, 0xf9, 0x07}, "999-70"},
		"an MNC of three digits":     {"310", "410", PLMN{0x13, 0x00, 0x14}, "310-410"},
		"an MNC with a leading zero": {"001", "01", PLMN{0x00, 0xf1, 0x10}, "001-01"},
		"as two digits, but three":   {"001", "001", PLMN{0x00, 0x11, 0x00}, "001-001"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := MakePLMN(tc.mcc, tc.mnc)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want || got.String() != tc.wantText || !got.Valid() {
				t.Errorf("%x, %s", got, got)
			}
		})
	}
	for name, digits := range map[string][2]string{
		"an MCC of two": {"99", "70"}, "an MNC of one": {"999", "7"}, "an MNC of four": {"999", "7000"}, "a letter": {"9a9", "70"}, "nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := MakePLMN(digits[0], digits[1]); err == nil {
				t.Errorf("%s was made", got)
			}
		})
	}
	if (PLMN{0xaa, 0xaa, 0xaa}).Valid() {
		t.Error("letters are digits")
	}
}

// TS 38.413 9.3.1.6: the same number in another length is another gNB.
func TestNodes(t *testing.T) {
	seen := map[string]RANNode{}
	for _, node := range nodes() {
		c := coder{writing: true}
		codeRANNode(&c, &node)
		if c.err != nil {
			t.Fatal(c.err)
		}
		if other, ok := seen[string(c.b)]; ok {
			t.Errorf("%+v and %+v are written alike", node, other)
		}
		seen[string(c.b)] = node
		var got RANNode
		r := coder{b: c.b}
		codeRANNode(&r, &got)
		if diff := cmp.Diff(node, got); r.err != nil || r.strange || diff != "" {
			t.Errorf("%x: %v (-want +got):\n%s", c.b, r.err, diff)
		}
	}
}

func TestSNSSAIWithoutSD(t *testing.T) {
	// TS 23.003 28.4.2: an SD of all ones is none.
	r := coder{b: octets("40 20 ffffff")}
	var got SNSSAI
	codeSNSSAI(&r, &got)
	if want := (SNSSAI{SST: 1}); r.err != nil || got != want {
		t.Errorf("%+v, want %+v: %v", got, want, r.err)
	}
}

// TS 38.413 9.3.1.75: seconds since 1900, in 32 bits, which are full in 2036.
func TestTime(t *testing.T) {
	for name, tc := range map[string]struct {
		octets string
		want   time.Time
	}{
		"the last second of the era":  {"ffffffff", time.Date(2036, 2, 7, 6, 28, 15, 0, time.UTC)},
		"the first of the next":       {"00000000", time.Date(2036, 2, 7, 6, 28, 16, 0, time.UTC)},
		"the first with the high bit": {"80000000", time.Date(1968, 1, 20, 3, 14, 8, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			var got time.Time
			r := coder{b: octets(tc.octets)}
			codeTime(&r, &got)
			if !got.Equal(tc.want) {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// Values that later releases have, and that are values still.
func TestLaterValues(t *testing.T) {
	for name, tc := range map[string]struct {
		message Message
		change  func([]rawIE) []rawIE
		want    Message
	}{
		// The radio network's, extended: normally small 40, which is 85 in all.
		"a cause": {&HandoverCancel{UE: ue1}, as(ieCause, "1500"), &HandoverCancel{UE: ue1, Cause: ngapcause.Make(ngapcause.RadioNetwork, 85)}},
		"an establishment cause": {
			&InitialUEMessage{RAN: 1, NAS: []byte{1}, Location: nrLocation()}, as(ieRRCEstablishmentCause, "82"),
			&InitialUEMessage{RAN: 1, NAS: []byte{1}, Location: nrLocation(), Establishment: 12},
		},
		// Each extended: of six octets, and of one.
		"a bit rate": {
			&PDUSessionResourceSetupRequest{UE: ue1, Sessions: setups(), AMBR: &AggregateBitRate{}}, as(ieUEAggregateMaximumBitRate, "20 06 03a352944001 80 01 05"),
			&PDUSessionResourceSetupRequest{UE: ue1, Sessions: setups(), AMBR: &AggregateBitRate{Uplink: 5, Downlink: mostBitRate + 1}},
		},
		// Extended: 17 bits, the last of which is set; the others as they are, from the next bit on.
		"algorithms in more than 16 bits": {
			&UEContextModificationRequest{UE: ue1, Security: &SecurityCapabilities{}}, as(ieUESecurityCapabilities, "20 11 e000 b0 000000000000"),
			&UEContextModificationRequest{UE: ue1, Security: &SecurityCapabilities{NREncryption: 0xe000, NRIntegrity: 0xc000}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, ies := taken(t, tc.message)
			got, fault := Read(together(h, tc.change(ies)))
			if fault != nil {
				t.Fatal(fault)
			}
			if diff := cmp.Diff(tc.want, got, equal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCannotBeWritten(t *testing.T) {
	setup := func(change func(*NGSetupRequest)) Message {
		out := setupRequest()
		change(out)
		return out
	}
	for name, tc := range map[string]struct {
		message Message
		want    string
	}{
		"no node":                           {setup(func(m *NGSetupRequest) { m.Node = RANNode{} }), "NGSetupRequest: GlobalRANNodeID: nothing that can be written"},
		"a gNB ID of 21 bits":               {setup(func(m *NGSetupRequest) { m.Node.Bits = 21 }), "NGSetupRequest: GlobalRANNodeID: 21 is outside of 22 to 32"},
		"a gNB ID that does not fit":        {setup(func(m *NGSetupRequest) { m.Node.ID = 1 << 22 }), "NGSetupRequest: GlobalRANNodeID: gNB ID 4194304 does not fit into 22 bits"},
		"an ng-eNB of other bits":           {setup(func(m *NGSetupRequest) { m.Node = RANNode{Kind: MacroNgENB, PLMN: plmn2, Bits: 21} }), "NGSetupRequest: GlobalRANNodeID: an ID of 21 bits, there are 20"},
		"a PLMN of letters":                 {setup(func(m *NGSetupRequest) { m.Node.PLMN = PLMN{0xaa, 0xaa, 0xaa} }), "NGSetupRequest: GlobalRANNodeID: aaa-aaa is no PLMN"},
		"a name with an underscore":         {setup(func(m *NGSetupRequest) { m.Name = "g_b" }), `NGSetupRequest: RANNodeName: "g_b" has characters that it may not have`},
		"a name that is too long":           {setup(func(m *NGSetupRequest) { m.Name = strings.Repeat("a", 151) }), "NGSetupRequest: RANNodeName: 151 is outside of 1 to 150"},
		"no tracking area":                  {setup(func(m *NGSetupRequest) { m.TAs = nil }), "NGSetupRequest: SupportedTAList: 0 entries, there are 1 to 256"},
		"257 tracking areas":                {setup(func(m *NGSetupRequest) { m.TAs = make([]SupportedTA, 257) }), "NGSetupRequest: SupportedTAList: 257 entries, there are 1 to 256"},
		"no DRX":                            {setup(func(m *NGSetupRequest) { m.DRX = DRXNotSaid }), "NGSetupRequest: DefaultPagingDRX: 0 is none of 1 to 4"},
		"a TAC of 25 bits":                  {setup(func(m *NGSetupRequest) { m.TAs[0].TAC = 1 << 24 }), "NGSetupRequest: SupportedTAList: 16777216 is outside of 0 to 16777215"},
		"an SD that is not there":           {&DownlinkNASTransport{Allowed: []SNSSAI{{SD: 1}}}, "DownlinkNASTransport: AllowedNSSAI: SD 000001, and HasSD is not set"},
		"nine allowed slices":               {&DownlinkNASTransport{Allowed: make([]SNSSAI, 9)}, "DownlinkNASTransport: AllowedNSSAI: 9 entries, there are 1 to 8"},
		"an AMF UE NGAP ID of 41 bits":      {&UplinkNASTransport{UE: UEIDs{AMF: 1 << 40}}, "UplinkNASTransport: AMF-UE-NGAP-ID: 1099511627776 is outside of 0 to 1099511627775"},
		"no location":                       {&UplinkNASTransport{}, "UplinkNASTransport: UserLocationInformation: nothing that can be written"},
		"a location of another radio":       {&UplinkNASTransport{Location: UserLocation{Kind: LocationNR, Cell: eutraCell()}}, "UplinkNASTransport: UserLocationInformation: a cell of another radio"},
		"sessions without a bit rate":       {&InitialContextSetupRequest{Sessions: setups()}, "InitialContextSetupRequest: UEAggregateMaximumBitRate: there has to be one"},
		"no allowed slice":                  {&InitialContextSetupRequest{GUAMI: guami()}, "InitialContextSetupRequest: AllowedNSSAI: 0 entries, there are 1 to 8"},
		"an AMF set of 11 bits":             {&InitialContextSetupRequest{GUAMI: GUAMI{PLMN: plmn2, Set: 1024}}, "InitialContextSetupRequest: GUAMI: 1024 does not fit into 10 bits"},
		"NAS in a handover's sessions":      {&HandoverRequest{Sessions: setups()}, "HandoverRequest: PDUSessionResourceSetupListHOReq: session 1 has NAS, which a handover does not carry"},
		"an NCC of 8":                       {&HandoverRequest{Next: SecurityContext{NCC: 8}}, "HandoverRequest: SecurityContext: 8 is outside of 0 to 7"},
		"a bit rate for no session":         {&InitialContextSetupRequest{AMBR: &AggregateBitRate{}, GUAMI: guami(), Allowed: someSlices()}, "InitialContextSetupRequest: UEAggregateMaximumBitRate: it is there, and its condition does not hold"},
		"NAS parameters of this system":     {&HandoverCommand{NAS: []byte{1}}, "HandoverCommand: NASSecurityParametersFromNGRAN: it is there, and its condition does not hold"},
		"an area given up for another":      {&LocationReportingControl{Request: LocationRequest{Cancel: 1}}, "LocationReportingControl: LocationReportingRequestType: area 1 is given up, and the event is another"},
		"to EPS without NAS parameters":     {&HandoverCommand{Type: FiveGSToEPS}, "HandoverCommand: NASSecurityParametersFromNGRAN: there have to be some"},
		"a TAC of EPS of 17 bits":           {&HandoverRequired{Target: HandoverTarget{Node: nodes()[5], TAI: TAI{PLMN: plmn2, TAC: 1 << 16}, EPS: true}}, "HandoverRequired: TargetID: TAC 65536, a TAC of EPS has 16 bits"},
		"no session that is released":       {&PathSwitchRequestFailure{}, "PathSwitchRequestFailure: PDUSessionResourceReleasedListPSFail: 0 entries, there are 1 to 256"},
		"a container of nothing":            {&UplinkRANStatusTransfer{}, "UplinkRANStatusTransfer: RANStatusTransfer-TransparentContainer: a value has an octet at least"},
		"an association without a weight":   {&AMFConfigurationUpdate{Add: []Association{{Address: ipv4("192.0.2.1")}}}, "AMFConfigurationUpdate: AMF-TNLAssociationToAddList: an association that is added has a weight"},
		"an association without an address": {&AMFConfigurationUpdate{Remove: make([]Address, 1)}, "AMFConfigurationUpdate: AMF-TNLAssociationToRemoveList: no address: there is an IPv4 address, an IPv6 address, or both"},
		"an IPv6 address as IPv4":           {&AMFConfigurationUpdate{Remove: []Address{{IPv4: ipv6("2001:db8::1").IPv6}}}, "AMFConfigurationUpdate: AMF-TNLAssociationToRemoveList: 2001:db8::1 is no IPv4 address"},
		"a zone":                            {&AMFConfigurationUpdate{Remove: []Address{ipv6("fe80::1%eth0")}}, "AMFConfigurationUpdate: AMF-TNLAssociationToRemoveList: fe80::1%eth0 is no IPv6 address that others can use"},
		"a reduction of 100":                {&OverloadStart{Reduction: 100}, "OverloadStart: AMFTrafficLoadReductionIndication: 100 is outside of 1 to 99"},
		"a name that is no UTF-8":           {&AMFConfigurationUpdate{Extended: &ExtendedName{UTF8: "\xff"}}, "AMFConfigurationUpdate: Extended-AMFName: a name in UTF-8 of 1 to 150 characters"},
		"a cause of no group":               {&HandoverCancel{Cause: ngapcause.Make(9, 0)}, "HandoverCancel: Cause: 9 is outside of 0 to 5"},
		"a cause of choice extensions":      {&HandoverCancel{Cause: ngapcause.Make(5, 0)}, "HandoverCancel: Cause: nothing that can be written"},
		"a message that is too long":        {&RerouteNASRequest{Message: make([]byte, MaxOctets)}, "RerouteNASRequest: longer than 131072 octets"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Write(tc.message)
			if err == nil {
				t.Fatalf("%x was written", b)
			}
			if err.Error() != tc.want {
				t.Errorf("%q, want %q", err, tc.want)
			}
			if kept, _ := Append([]byte("before"), tc.message); string(kept) != "before" {
				t.Errorf("%q is left of what was there", kept)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	alone, err := Write(uplink())
	if err != nil {
		t.Fatal(err)
	}
	b, err := Append([]byte("before"), uplink())
	if err != nil || string(b) != "before"+string(alone) {
		t.Errorf("%x, %v", b, err)
	}
}

// A message may be written to several at the same time, as a page is; the race detector looks on.
func TestWrittenAtOnce(t *testing.T) {
	for _, s := range samples() {
		var done sync.WaitGroup
		for range 2 {
			done.Go(func() {
				if _, err := Write(s.message); err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
			})
		}
		done.Wait()
	}
}

// TS 38.412 7: UE-associated signalling has streams of its own.
func TestUEAssociated(t *testing.T) {
	ofInterface := map[Procedure]bool{
		ProcedureAMFConfigurationUpdate: true, ProcedureAMFStatusIndication: true, ProcedureDownlinkRANConfigurationTransfer: true, ProcedureErrorIndication: true,
		ProcedureNGReset: true, ProcedureNGSetup: true, ProcedureOverloadStart: true, ProcedureOverloadStop: true, ProcedurePaging: true,
		ProcedureRANConfigurationUpdate: true, ProcedureUplinkRANConfigurationTransfer: true,
	}
	for _, s := range samples() {
		kind := s.message.Kind()
		want := !ofInterface[kind.Procedure]
		amf, ran := Names(s.message)
		if kind.Procedure == ProcedureErrorIndication {
			want = amf != nil || ran != nil
		}
		if UEAssociated(s.message) != want {
			t.Errorf("%s: UE-associated is %t", s.name, !want)
		}
		// What is of a UE names it.
		if want && amf == nil && ran == nil {
			t.Errorf("%s: no UE", s.name)
		}
		b, err := Write(s.message)
		if err != nil {
			t.Fatal(err)
		}
		h, err := Peek(b)
		if err != nil || h.Kind != kind || h.UEAssociated() != want {
			t.Errorf("%s: %+v, %v", s.name, h, err)
		}
		if diff := cmp.Diff([]any{amf, ran}, []any{h.AMF, h.RAN}); want && diff != "" {
			t.Errorf("%s: names (-of the message +of its octets):\n%s", s.name, diff)
		}
	}
}

// TS 38.413 8: who sends what.
func TestDirections(t *testing.T) {
	for name, tc := range map[string]struct {
		message          Message
		wantRAN, wantAMF bool
	}{
		"a request of the NG-RAN node":   {&NGSetupRequest{}, true, false},
		"its answer":                     {&NGSetupResponse{}, false, true},
		"its failure":                    {&NGSetupFailure{}, false, true},
		"a request of the AMF":           {&InitialContextSetupRequest{}, false, true},
		"the answer":                     {&InitialContextSetupResponse{}, true, false},
		"NAS up":                         {&UplinkNASTransport{}, true, false},
		"NAS down":                       {&DownlinkNASTransport{}, false, true},
		"a reset":                        {&NGReset{}, true, true},
		"its acknowledgement":            {&NGResetAcknowledge{}, true, true},
		"an error":                       {&ErrorIndication{}, true, true},
		"a source's handover":            {&HandoverRequired{}, true, false},
		"a target's":                     {&HandoverRequest{}, false, true},
		"what a target says to that":     {&HandoverFailure{}, true, false},
		"endpoints that have moved":      {&PDUSessionResourceModifyIndication{}, true, false},
		"the AMF's word to that":         {&PDUSessionResourceModifyConfirm{}, false, true},
		"an AMF's configuration":         {&AMFConfigurationUpdate{}, false, true},
		"what an NG-RAN node says of it": {&AMFConfigurationUpdateFailure{}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			if kind := tc.message.Kind(); kind.FromRAN() != tc.wantRAN || kind.FromAMF() != tc.wantAMF {
				t.Errorf("%s from RAN %t, from AMF %t", kind, kind.FromRAN(), kind.FromAMF())
			}
		})
	}
	if unknown := (Kind{Procedure: 255}); unknown.FromRAN() || unknown.FromAMF() || unknown.UEAssociated() {
		t.Error("somebody sends what is not known")
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		ngapcause.NormalRelease.String():                     "NAS: normal release",
		ngapcause.InsufficientCapabilities.String():          "radio network: insufficient UE capabilities",
		ngapcause.MiscUnspecified.String():                   "miscellaneous: unspecified",
		ngapcause.Make(ngapcause.RadioNetwork, 200).String(): "radio network: 200",
		ngapcause.Make(7, 1).String():                        "group 7: 1",
		ProcedureNGSetup.String():                            "NG Setup",
		Procedure(50).String():                               "procedure 50",
		(&NGSetupFailure{}).Kind().String():                  "NGSetupFailure",
		Kind{Procedure: 50, Outcome: Successful}.String():    "procedure 50, outcome 1",
		ieNASPDU.String():                                    "NAS-PDU",
		none.String():                                        "IE 4000",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
