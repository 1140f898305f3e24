package n2

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var equal = cmpopts.EquateComparable(netip.Addr{})

func TestRoundTrip(t *testing.T) {
	seen := map[InfoType]bool{}
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			kind := s.transfer.InfoType()
			seen[kind] = true
			b, err := s.transfer.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(kind, b)
			if err != nil {
				t.Fatalf("%x: %v", b, err)
			}
			if diff := cmp.Diff(s.transfer, got, equal); diff != "" {
				t.Errorf("%x (-want +got):\n%s", b, diff)
			}
			// One octet less is noticed, but where nothing is left that must be.
			if _, err := Decode(kind, b[:len(b)-1]); err == nil && len(b) > 1 {
				t.Errorf("%x without its end was read", b)
			}
			if _, err := Decode(kind, nil); err == nil {
				t.Error("nothing was read as a transfer")
			}
		})
	}
	for _, kind := range kinds() {
		if !seen[kind] {
			t.Errorf("no sample of %s", kind)
		}
		if made, _, _ := known(kind); made.InfoType() != kind {
			t.Errorf("%s makes %T, which is %s", kind, made, made.InfoType())
		}
	}
}

// kinds are those that can be decoded.
func kinds() []InfoType {
	var out []InfoType
	for _, kind := range []InfoType{
		InfoSetupRequest, InfoSetupResponse, InfoSetupUnsuccessful, InfoReleaseCommand, InfoReleaseResponse, InfoModifyRequest,
		InfoModifyResponse, InfoModifyUnsuccessful, InfoNotify, InfoNotifyReleased, InfoModifyIndication, InfoModifyConfirm,
		InfoModifyIndicationUnsuccessful, InfoPathSwitchRequest, InfoPathSwitchSetupFailed, InfoPathSwitchAcknowledge,
		InfoPathSwitchUnsuccessful, InfoHandoverRequired, InfoHandoverCommand, InfoHandoverPreparationUnsuccessful,
		InfoHandoverAcknowledge, InfoHandoverResourceAllocationUnsuccessful, InfoSecondaryRATUsage,
	} {
		if t, _, _ := known(kind); t != nil {
			out = append(out, kind)
		}
	}
	return out
}

// The octets were put together by hand from X.691 and TS 38.413 9.4.5, without the codec.
func TestOctets(t *testing.T) {
	for name, tc := range map[string]struct {
		transfer Transfer
		// Blanks between fields.
		want string
	}{
		"a setup request of one flow": {
			transfer: &SetupRequest{
				AMBR: &record.AMBR{Uplink: 100_000_000, Downlink: 200_000_000}, Uplink: ipv4(1, "172.30.3.16"), Type: n1.IPv4,
				Flows: []QoSFlow{{Flow: record.Flow{QFI: 1, FiveQI: 9, Priority: 8}}},
			},
			// No extension; four IEs. 130, reject, 10 octets: extension and option bits, each rate with an extension bit and the
			// number of its octets less one in three bits. 139, reject, 10 octets: no option, 32 bits of address less the one
			// that there must be, the address, the TEID. 134: IPv4. 136: one flow, QFI 1, a 5QI that is not dynamic, 9,
			// ARP 8, no pre-emption either way.
			want: "00 0004" +
				" 0082 00 0a 0c 0bebc200 30 05f5e100" +
				" 008b 00 0a 01f0 ac1e0310 00000001" +
				" 0086 00 01 00" +
				" 0088 00 07 00 01 00 00 09 1c 00",
		},
		"a setup response of one flow": {
			transfer: &SetupResponse{Downlink: FlowTunnel{ipv4(1, "172.30.3.2"), []AssociatedFlow{{QFI: 1}}}},
			want:     "00 03e0 ac1e0302 00000001 00 01",
		},
		"radio resources not available": {transfer: &SetupUnsuccessful{ngapcause.RadioResourcesNotAvailable}, want: "00b0"},
		"normal release":                {transfer: &ReleaseCommand{ngapcause.NormalRelease}, want: "10"},
		"an empty release response":     {transfer: &ReleaseResponse{}, want: "00"},
		// Extension of the enumeration: its second value.
		"release due to pre-emption": {transfer: &ReleaseCommand{ngapcause.ReleasedByPreemption}, want: "0408"},
		"radio connection lost":      {transfer: &NotifyReleased{ngapcause.RadioConnectionLost}, want: "0150"},
		"a release response with a second radio's hour": {
			// Extension 144, to be ignored, of 15 octets: one report of the session, NR, one volume.
			transfer: &ReleaseResponse{Usage: &SecondaryRATUsage{Session: &RadioUsage{Radio: NR, Volumes: []Volume{
				{Start: time.Unix(0, 0).UTC(), End: time.Unix(3600, 0).UTC(), Uplink: 1, Downlink: 256},
			}}}},
			want: "40 0000 0090 40 0f 4000 83aa7e80 83aa8c90 00 01 20 0100",
		},
		"a modification of the session's bit rate": {
			transfer: &ModifyRequest{AMBR: &record.AMBR{Uplink: 1, Downlink: 2}}, want: "00 0001 0082 00 04 0002 0001",
		},
		"a modification of the security, to be ignored by who does not know it": {
			transfer: &ModifyRequest{Security: &Security{Integrity: NotNeeded, Confidentiality: Required}}, want: "00 0001 008a 40 02 0800",
		},
		"a modified flow":                   {transfer: &ModifyResponse{Flows: []uint8{5}}, want: "100014"},
		"an endpoint indicated":             {transfer: &ModifyIndication{Downlink: FlowTunnel{ipv4(1, "172.30.3.2"), []AssociatedFlow{{QFI: 1}}}}, want: "00 0f80 ac1e0302 00000001 0001"},
		"an endpoint confirmed":             {transfer: &ModifyConfirm{Flows: []uint8{1}, Uplink: ipv4(1, "172.30.3.16")}, want: "0000203e ac1e0310 00000001"},
		"a flow whose rates are kept again": {transfer: &Notify{Flows: []FlowNotice{{QFI: 1, Fulfilled: true}}}, want: "400020"},
		"a path switch":                     {transfer: &PathSwitchRequest{Downlink: ipv4(1, "172.30.3.3"), Flows: []uint8{1}}, want: "001f ac1e0303 00000001 0002"},
		"a path switch acknowledged with another endpoint and policy": {
			transfer: &PathSwitchAcknowledge{
				Uplink: pointer(ipv4(1, "172.30.3.16")), Security: &Security{Integrity: Required, Confidentiality: NotNeeded, Rate: Rate64kbps},
			},
			want: "601f ac1e0310 00000001 4100",
		},
		"a path switch acknowledged with a rate of the downlink": {
			// Extension 151 of the indication.
			transfer: &PathSwitchAcknowledge{
				Security: &Security{Integrity: Required, Confidentiality: NotNeeded, Rate: Rate64kbps, RateDownlink: RateMaximum},
			},
			want: "26 10 0000 0097 40 01 40",
		},
		"a path switch acknowledged without a word": {transfer: &PathSwitchAcknowledge{}, want: "00"},
		"a direct path": {transfer: &HandoverRequired{DirectPath: true}, want: "40"},
		"a handover that forwards nothing, taken": {
			transfer: &HandoverAcknowledge{Downlink: ipv4(1, "172.30.3.3"), Flows: []ForwardedFlow{{QFI: 1}}}, want: "0007c0 ac1e0303 00000001 0001",
		},
		"a handover that forwards nothing": {transfer: &HandoverCommand{}, want: "00"},
		"a handover that forwards":         {transfer: &HandoverCommand{Forwarding: pointer(ipv4(2, "172.30.3.3"))}, want: "400f80 ac1e0303 00000002"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := tc.transfer.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(tc.want, " ", ""); hex.EncodeToString(b) != want {
				t.Errorf("%x, want %s", b, want)
			}
			got, err := Decode(tc.transfer.InfoType(), b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.transfer, got, equal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What later releases add is passed over.
func TestPassedOver(t *testing.T) {
	for name, tc := range map[string]struct {
		b    string
		want Transfer
	}{
		"an IE of a request": {
			"00 0004 008b 00 0a 01f0 ac1e0310 00000001 00a6 40 03 02abcd 0086 00 01 00 0088 00 07 00 01 00 00 09 1c 00",
			&SetupRequest{Uplink: ipv4(1, "172.30.3.16"), Type: n1.IPv4, Flows: flows()[:1]},
		},
		"an IE of another request": {
			"00 0002 0086 00 01 00 0082 00 04 0002 0001",
			&ModifyRequest{AMBR: &record.AMBR{Uplink: 1, Downlink: 2}},
		},
		"an extension of a response": {
			"08 03e0 ac1e0302 00000001 0001 0000 00b9 40 01 00",
			&SetupResponse{Downlink: FlowTunnel{ipv4(1, "172.30.3.2"), []AssociatedFlow{{QFI: 1}}}},
		},
		"fields behind the last one of a response": {
			"80 03e0 ac1e0302 00000001 0001 0080 01 00",
			&SetupResponse{Downlink: FlowTunnel{ipv4(1, "172.30.3.2"), []AssociatedFlow{{QFI: 1}}}},
		},
		"a direction of a flow": {
			"00 03e0 ac1e0302 00000001 010180",
			&SetupResponse{Downlink: FlowTunnel{ipv4(1, "172.30.3.2"), []AssociatedFlow{{QFI: 1}}}},
		},
		"an extension of a security indication": {
			"26 00 0000 00ff 40 01 40",
			&PathSwitchAcknowledge{Security: &Security{Integrity: Required, Confidentiality: Required, Rate: Rate64kbps}},
		},
		"what ails a gNB":            {"40 0000 0000", &SetupUnsuccessful{ngapcause.RadioUnspecified}},
		"a cause of a later release": {"04f8", &ReleaseCommand{ngapcause.Make(ngapcause.RadioNetwork, 45+31)}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(strings.ReplaceAll(tc.b, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(tc.want.InfoType(), b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, equal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCannotBeWritten(t *testing.T) {
	setup := func(change func(*SetupRequest)) Transfer {
		out := &SetupRequest{AMBR: &record.AMBR{}, Uplink: ipv4(1, "172.30.3.16"), Type: n1.IPv4, Flows: []QoSFlow{{Flow: record.Flow{QFI: 1, FiveQI: 9, Priority: 8}}}}
		change(out)
		return out
	}
	for name, tc := range map[string]struct {
		transfer Transfer
		wantIE   string
	}{
		"no address":          {setup(func(s *SetupRequest) { s.Uplink = record.Tunnel{TEID: 1} }), uplinkTunnel},
		"an address of none":  {setup(func(s *SetupRequest) { s.Uplink = ipv4(1, "0.0.0.0") }), uplinkTunnel},
		"IPv6 as IPv4":        {setup(func(s *SetupRequest) { s.Uplink = ipv4(1, "2001:db8::1") }), uplinkTunnel},
		"IPv4 as IPv6":        {setup(func(s *SetupRequest) { s.Uplink = ipv6(1, "::ffff:172.30.3.1") }), uplinkTunnel},
		"no flow":             {setup(func(s *SetupRequest) { s.Flows = nil }), flowsToSetUp},
		"65 flows":            {setup(func(s *SetupRequest) { s.Flows = make([]QoSFlow, 65) }), flowsToSetUp},
		"no session type":     {setup(func(s *SetupRequest) { s.Type = 0 }), "PDU Session Type"},
		"QFI 64":              {setup(func(s *SetupRequest) { s.Flows[0].QFI = 64 }), flowsToSetUp + ", QoS Flow Identifier"},
		"no 5QI":              {setup(func(s *SetupRequest) { s.Flows[0].FiveQI = 0 }), flowsToSetUp + ", 5QI"},
		"no ARP":              {setup(func(s *SetupRequest) { s.Flows[0].Priority = 0 }), flowsToSetUp + ", ARP Priority Level"},
		"ARP 16":              {setup(func(s *SetupRequest) { s.Flows[0].Priority = 16 }), flowsToSetUp + ", ARP Priority Level"},
		"too high a bit rate": {setup(func(s *SetupRequest) { s.AMBR = &record.AMBR{Uplink: maxBitRate + 1} }), sessionAMBR},
		"far too high a guaranteed bit rate": {
			setup(func(s *SetupRequest) { s.Flows[0].GFBRDownlink = 1 << 63 }), flowsToSetUp + ", GBR QoS Information",
		},
		"notification without a bit rate": {setup(func(s *SetupRequest) { s.Flows[0].Notify = true }), flowsToSetUp},
		"a dynamic 5QI without a priority": {
			setup(func(s *SetupRequest) { s.Flows[0].Dynamic = &Dynamic{} }), flowsToSetUp + ", Priority Level",
		},
		"no AMBR":                       {setup(func(s *SetupRequest) { s.AMBR = nil }), sessionAMBR},
		"network instance 257":          {setup(func(s *SetupRequest) { s.NetworkInstance = 257 }), networkInstance},
		"integrity without a data rate": {setup(func(s *SetupRequest) { s.Security = &Security{} }), securityName},
		"a rate of the downlink that there is not": {
			&PathSwitchAcknowledge{Security: &Security{Integrity: NotNeeded, RateDownlink: 3}}, rateDownlinkName,
		},
		"a policy that there is not":      {&ModifyRequest{Security: &Security{Integrity: 3, Rate: RateMaximum}}, securityName},
		"a flow in a third direction":     {&SetupResponse{Downlink: FlowTunnel{ipv4(1, "172.30.3.2"), []AssociatedFlow{{1, 3}}}}, flowTunnelName},
		"an endpoint without flows":       {&SetupResponse{Downlink: FlowTunnel{Tunnel: ipv4(1, "172.30.3.2")}}, flowTunnelName},
		"a modification of five tunnels":  {&ModifyRequest{Uplink: make([]TunnelPair, 5)}, uplinkModifyList},
		"a confirmation of nothing":       {&ModifyConfirm{Uplink: ipv4(1, "172.30.3.16")}, flowsConfirmed},
		"a path switch without flows":     {&PathSwitchRequest{Downlink: ipv4(1, "172.30.3.3")}, flowsAccepted},
		"a handover taken without flows":  {&HandoverAcknowledge{Downlink: ipv4(1, "172.30.3.3")}, flowsWithForward},
		"bearer 0":                        {&HandoverCommand{Bearers: []ForwardedBearer{{}}}, forwardedBearers + ", DRB ID"},
		"a forwarding endpoint of nobody": {&HandoverCommand{Forwarding: &record.Tunnel{}}, forwardingTunnel},
		"a multicast endpoint":            {&HandoverCommand{Forwarding: pointer(ipv6(1, "ff02::1"))}, forwardingTunnel},
		"a zoned endpoint":                {&HandoverCommand{Forwarding: pointer(ipv6(1, "fe80::1%eth0"))}, forwardingTunnel},
		"three volumes":                   {&SecondaryRATUsage{Session: &RadioUsage{Volumes: make([]Volume, 3)}}, usageName},
		"a volume of before 1968":         {&SecondaryRATUsage{Session: &RadioUsage{Volumes: make([]Volume, 1)}}, usageName + ", time stamp"},
		"four additional endpoints": {
			setup(func(s *SetupRequest) { s.AdditionalUplink = make([]record.Tunnel, 4) }), additionalUplink,
		},
		"a group of causes that there is not": {&ReleaseCommand{ngapcause.Make(5, 0)}, "Cause"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := tc.transfer.Encode()
			var fault *Fault
			if !errors.As(err, &fault) {
				t.Fatalf("%x, %v", b, err)
			}
			if fault.IE != tc.wantIE || fault.Type != tc.transfer.InfoType() {
				t.Errorf("%v: at %q, want %q", err, fault.IE, tc.wantIE)
			}
		})
	}
}

func TestCannotBeRead(t *testing.T) {
	for name, tc := range map[string]struct {
		kind InfoType
		b    string
		want string
	}{
		"no such type":              {"PDU_RES_NONE", "00", `"PDU_RES_NONE" (TS 38.413 9.3.4): no N2 SM information that is known (TS 29.502 6.1.6.3.12)`},
		"a setup request of no IEs": {InfoSetupRequest, "000000", "PDU Session Resource Setup Request Transfer (TS 38.413 9.3.4.1): UL NG-U UP TNL Information: missing, it is mandatory"},
		"a cause of a group that is not known": {
			InfoReleaseCommand, "28 0000 00 01 00", "PDU Session Resource Release Command Transfer (TS 38.413 9.3.4.12): Cause: no group of TS 38.413 9.3.1.2",
		},
		"an endpoint that is no GTP tunnel": {
			InfoSetupResponse, "01 0000 00 01 00 0001",
			"PDU Session Resource Setup Response Transfer (TS 38.413 9.3.4.2): DL QoS Flow per TNL Information: no GTP tunnel (TS 38.413 9.3.2.2)",
		},
		"an address of 8 bits": {
			InfoSetupResponse, "00 00e0 ac 00000001 00 01",
			"PDU Session Resource Setup Response Transfer (TS 38.413 9.3.4.2): DL QoS Flow per TNL Information: a Transport Layer Address of 8 bits, there are 32, 128 and 160 (TS 38.413 9.3.2.4)",
		},
		"an endpoint at 0.0.0.0": {
			InfoSetupResponse, "00 03e0 00000000 00000001 00 01",
			"PDU Session Resource Setup Response Transfer (TS 38.413 9.3.4.2): DL QoS Flow per TNL Information: 0.0.0.0 is no host's address",
		},
		"QFI 64, by the extension": {
			InfoSetupResponse, "00 03e0 ac1e0302 00000001 00 40 01 40",
			"PDU Session Resource Setup Response Transfer (TS 38.413 9.3.4.2): DL QoS Flow per TNL Information, QoS Flow Identifier: 64 is outside of 0 to 63",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(strings.ReplaceAll(tc.b, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(tc.kind, b)
			if err == nil {
				t.Fatalf("read: %+v", got)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCauses(t *testing.T) {
	for want, c := range map[string]Cause{
		"radio network: unspecified":                         0,
		"radio network: user inactivity":                     ngapcause.UserInactivity,
		"radio network: xn handover triggered":               ngapcause.XnHandoverTriggered,
		"radio network: slice(s) not supported":              ngapcause.SliceNotSupported,
		"radio network: release due to pre-emption":          ngapcause.ReleasedByPreemption,
		"radio network: insufficient ue capabilities":        ngapcause.Make(ngapcause.RadioNetwork, 51),
		"radio network: 52":                                  ngapcause.Make(ngapcause.RadioNetwork, 52),
		"transport: unspecified":                             ngapcause.TransportUnspecified,
		"nas: deregister":                                    ngapcause.Deregister,
		"protocol: semantic error":                           ngapcause.SemanticError,
		"protocol: unspecified":                              ngapcause.ProtocolUnspecified,
		"miscellaneous: hardware failure":                    ngapcause.HardwareFailure,
		"miscellaneous: unspecified":                         ngapcause.MiscUnspecified,
		"group 9: 1":                                         ngapcause.Make(9, 1),
		"radio network: release due to 5gc generated reason": ngapcause.ReleasedBy5GC,
	} {
		if got := strings.ToLower(c.String()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// Every cause that there is, and some of later releases, are read as they were written.
	for group := ngapcause.RadioNetwork; group <= ngapcause.Misc; group++ {
		for value := range uint16(200) {
			want := &ReleaseCommand{ngapcause.Make(group, value)}
			b, err := want.Encode()
			if err != nil {
				t.Fatalf("%s: %v", want.Cause, err)
			}
			got, err := Decode(InfoReleaseCommand, b)
			if err != nil {
				t.Fatalf("%s: %v", want.Cause, err)
			}
			if diff := cmp.Diff(Transfer(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", want.Cause, diff)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	all := kinds()
	for _, s := range samples() {
		b, err := s.transfer.Encode()
		if err != nil {
			f.Fatal(err)
		}
		for n, kind := range all {
			if kind == s.transfer.InfoType() {
				f.Add(uint8(n), b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, b []byte) {
		kind := all[int(n)%len(all)]
		got, err := Decode(kind, b)
		var fault *Fault
		if err != nil {
			if got != nil || !errors.As(err, &fault) || fault.Error() == "" {
				t.Fatalf("%v, %v", got, err)
			}
			return
		}
		again, err := got.Encode()
		if err != nil {
			// What a sender has to say, and nobody needs to hear.
			if errors.Is(err, errNoRate) || errors.Is(err, errNoAMBR) {
				return
			}
			t.Fatalf("%+v was read and cannot be written: %v", got, err)
		}
		twice, err := Decode(kind, again)
		if err != nil {
			t.Fatalf("%+v was read and written, and cannot be read again: %v", got, err)
		}
		if diff := cmp.Diff(got, twice, equal); diff != "" {
			t.Errorf("read, written and read (-first +then):\n%s", diff)
		}
	})
}
