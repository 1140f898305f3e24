package n2

import (
	"encoding/hex"
	"strings"
	"testing"

	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
)

// The octets were put together by hand from X.691 and TS 38.413 9.4, without a codec.
func TestOctets(t *testing.T) {
	for name, tc := range map[string]struct {
		message Message
		// Blanks between fields.
		want string
	}{
		"a gNB of 24 bits with one slice": {
			message: &NGSetupRequest{
				Node: RANNode{Kind: GNB, PLMN: plmn2, ID: 1, Bits: 24}, DRX: DRX128, Name: "a",
				TAs: []SupportedTA{{TAC: 1, PLMNs: []PLMNSlices{{PLMN: plmn2, Slices: []SNSSAI{{SST: 1, SD: 0x010203, HasSD: true}}}}}},
			},
			// Initiating, 21, reject; no extension, four IEs. 27, reject: gNB, no option, PLMN, gNB ID of 2 more than 22 bits.
			// 82, ignore: no extension, 1 more than none, aligned. 102, reject: one less 1; no option, TAC; one PLMN less 1 in four
			// bits, no option; one slice less 1 in 16 bits, no option; SD is there, SST over octets, SD. 21, ignore: the third.
			want: "00 15 00 2f 00 0004" +
				" 001b 00 08 00 99f907 10 000001" +
				" 0052 40 03 0000 61" +
				" 0066 00 10 00 00 000001 00 99f907 0000 10 08 010203" +
				" 0015 40 01 40",
		},
		"a UE that comes": {
			message: &InitialUEMessage{
				RAN: 1, NAS: []byte{0x7e}, Location: UserLocation{Kind: LocationNR, Cell: nrCell(), TAI: tai()}, Establishment: ForSignalling, ContextRequest: true,
			},
			// 121: the second of four, no option; no option, PLMN, 36 bits of cell; no option in what is left of the octet; TAI.
			want: "00 0f 40 2c 00 0005" +
				" 0055 00 02 0001 0026 00 02 01 7e" +
				" 0079 00 0f 40 99f907 0000000100 99f907 000001" +
				" 005a 40 01 18 0070 40 01 00",
		},
		"NAS downlink": {
			message: &DownlinkNASTransport{UE: UEIDs{AMF: 1 << 32, RAN: 255}, NAS: []byte{1, 2, 3}},
			// Five octets less 1 in three bits; one less 1 in two.
			want: "00 04 40 1b 00 0003 000a 00 06 80 0100000000 0055 00 02 00ff 0026 00 04 03 010203",
		},
		"a context released": {
			message: &UEContextReleaseCommand{AMF: 1, RAN: at(RANUEID(2)), Cause: ngapcause.NormalRelease},
			// The first of three, no option, each ID with its length before it; the third of six groups, the first of four.
			want: "00 29 00 10 00 0002 0072 00 04 0001 0002 000f 40 01 40",
		},
		"a reset of one UE": {
			message: &NGReset{Cause: ngapcause.HardwareFailure, Connections: []UEConnection{{RAN: 7, HasRAN: true}}},
			// The fifth of six groups, the third of six; the second of three, and from an octet on a length without bounds.
			want: "00 14 00 10 00 0002 000f 40 01 84 0058 00 04 40 01 2007",
		},
		"overload is over": {message: &OverloadStop{}, want: "00 17 00 03 00 0000"},
		"paging": {
			message: &Paging{Identity: FiveGSTMSI{Set: 1, Pointer: 3, TMSI: 0xdeadbeef}, DRX: DRX64, TAIs: []TAI{tai()}},
			// The first of two, no option; set and pointer; TMSI from an octet on. One TAI less 1 in four bits.
			want: "00 18 40 1e 00 0003 0073 40 07 00 08 60 deadbeef 0032 40 01 20 0067 40 07 00 99f907 000001",
		},
		"an association removed": {
			message: &RANConfigurationUpdate{Remove: []AssociationPair{{RAN: ipv4("192.0.2.1"), AMF: at(ipv4("192.0.2.2"))}}},
			// One less 1 in five bits; there is no extension marker: the AMF's is there, no extensions. Each address: the first of
			// two, no longer than 160 bits, 31 more than 1 in eight bits, aligned.
			want: "00 23 00 14 00 0001 00a7 00 0d 04 0f80 c0000201 07c0 c0000202",
		},
		"a cause of an extension": {
			message: &NGSetupFailure{Cause: ngapcause.ReleasedByPreemption},
			// The first of six groups, extended: the second of the extensions.
			want: "40 15 00 09 00 0001 000f 40 02 1020",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Write(tc.message)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(tc.want, " ", ""); hex.EncodeToString(b) != want {
				t.Errorf("%x, want %s", b, want)
			}
			got, fault := Read(b)
			if fault != nil {
				t.Fatal(fault)
			}
			if diff := cmp.Diff(tc.message, got, equal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
