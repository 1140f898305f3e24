package record

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/n1"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var equal = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})}

func phone() *Session {
	return &Session{
		Version: Version, SUPI: "imsi-208930000000001", ID: 1, DNN: "internet", SST: 1, SD: &[3]byte{1, 2, 3}, PLMN: "20893",
		Slice: "internet", Phase: Active, Type: n1.IPv4, IPv4: netip.MustParseAddr("10.45.0.1"),
		AMBR: AMBR{100_000_000, 200_000_000}, Flows: []Flow{{QFI: 1, FiveQI: 9, Priority: 8}},
		Unit: Unit{"upf-0", netip.MustParseAddr("10.96.7.8")}, CPSEID: 7, UPSEID: 9,
		Uplink: Tunnel{TEID: 1, IPv4: netip.MustParseAddr("172.30.3.16")}, Downlink: Tunnel{TEID: 2, IPv4: netip.MustParseAddr("172.30.3.2")},
		AMF:   AMF{InstanceID: "4a1d5c0e-1111-4222-8333-444455556666", StatusURI: "https://core5g-amf:8000/namf-callback/v1/smContextStatus/x/1", TAC: 1},
		Since: 1_800_000_000_000,
	}
}

// full has everything that there can be, and as much of it.
func full() *Session {
	s := phone()
	s.Type, s.AlwaysOn = n1.IPv4v6, true
	s.IPv6, s.InterfaceID = netip.MustParsePrefix("2001:db8:1:2::/64"), [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
	s.DNN = strings.Repeat("a", 20)
	random := rand.NewChaCha8([32]byte{1}) // which nothing packs
	number := rand.New(random).Uint64N
	octets := func(n int) []byte {
		b := make([]byte, n)
		random.Read(b)
		return b
	}
	s.Flows = nil
	for n := range uint8(8) {
		s.Flows = append(s.Flows, Flow{
			QFI: n + 1, FiveQI: 1, Name: fmt.Sprint("voice-of-the-site-", n), Priority: 2, MayPreempt: true, Preemptable: true, GFBRUplink: 1e6 * uint64(n+1),
			GFBRDownlink: 1e6, MFBRUplink: 1e9, MFBRDownlink: 1e9, Refused: n == 0,
			Known: n == 0, Coming: n == 0, Directions: 3, Filters: uint32(number(1 << 32)),
			Default: n == 0, Closed: 3, Charge: Charge{RatingGroup: 1<<20 + uint32(n), Online: true, Offline: true},
		})
	}
	s.Uplink.IPv6, s.Downlink.IPv6 = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	s.AMF.Set, s.AMF.Cell = "set1.region02.amfset.5gc.mnc093.mcc208", 0xfffffffff
	s.Procedure = &Procedure{Kind: 2, Step: 3, PTI: 7, Attempts: 4, Began: 1_800_000_000_001, Message: octets(100), Cause: 36}
	s.Answered = &Answered{Digest: [8]byte(octets(8)), Answer: octets(100), At: 1_800_000_000_003}
	s.Policy = "https://core5g-pcf:8000/npcf-smpolicycontrol/v1/sm-policies/imsi-208930000000001-1"
	s.Charging = "https://core5g-chf:8000/nchf-convergedcharging/v3/chargingdata/4a1d5c0e-1111-4222-8333-444455556666"
	s.Told = &Told{Phase: Active, Downlink: s.Downlink, AMBR: s.AMBR, Flows: s.Flows, Buffering: true, Forwarding: s.Uplink, Unsure: true, Anew: true, All: true, EndMarkers: true}
	s.Command = &Command{Message: octets(150), PTI: 7, Attempts: 2, Began: 1_800_000_000_002, Release: true}
	s.Handover = &Handover{Target: s.Downlink, Forwarding: s.Downlink, Relay: s.Uplink, Direct: true, Taken: []byte{3}, Buffering: true, Arrived: true, Prepared: true, Forwarded: []byte{1}}
	s.Wanted = &Wanted{AMBR: s.AMBR, Flows: s.Flows, Gone: []byte{4}, Refused: []byte{3}, UE: true, Access: true, GivenBack: true}
	s.Decided = Decided{AMBR: s.AMBR, FiveQI: 5, Priority: 3, MayPreempt: true, Preemptable: true, Ruled: true, Closed: 3, Charge: Charge{7, true, true}}
	s.Behind, s.Silent, s.Doubtful, s.Rerouted, s.Offered, s.ToldAccess, s.Untold, s.Handed = true, true, []byte{0, 2}, true, true, 1_800_000_000_000, []byte{3}, true
	for n := range uint8(HistoryLength) {
		s.History = append(s.History, Past{Kind: n + 1, Result: 1, At: 1_800_000_000_000, Took: 1000})
	}
	branch := "upf-of-the-edge-0.core5g.svc"
	s.Branch = &Branch{
		NodeID: branch, CPSEID: 1<<63 + 1, UPSEID: 1<<63 + 2, Access: s.Uplink, Core: s.Uplink, Breakouts: []string{"edge-of-the-site", "cache-of-the-site"}, Prefixes: 1 << 31,
	}
	s.Left = &Left{NodeID: branch, CPSEID: 1<<63 + 3, UPSEID: 1<<63 + 4, Known: true, Uplink: s.Uplink}
	s.Rules = []Rule{{
		Name: "PccRuleId-1", FiveQI: 2, Priority: 3, MayPreempt: true, Preemptable: true, GFBRUplink: 1e6, GFBRDownlink: 1e6, MFBRUplink: 1e9, MFBRDownlink: 1e9,
		Precedence: 30, Filters: octets(20), Default: true, Closed: 3, Charge: Charge{RatingGroup: 7, Online: true, Offline: true}, Own: true,
	}}
	s.Control = &Control{Triggers: 1, Due: 2, Revalidate: 1_800_000_000, Anew: true, Failed: []Failure{{"PccRuleId-2", "RES_ALLO_FAIL", true}}, Rests: true, Unread: true}
	s.Usage = &Usage{Sequence: 7, Container: 8, Open: 2, At: 1_800_000_000_000, Numbered: 3, Rests: true}
	units := func() Units { return Units{number(1 << 40), number(1 << 40), 1 << 20, 1_800_000_000, 1_800_000_000} }
	for n := range uint32(8) {
		s.Usage.Groups = append(s.Usage.Groups, Group{
			URR: n + 3, RatingGroup: 1<<20 + n, Online: true, Has: true, Renew: true, Gone: true, Seen: 9, Used: units(), Sent: units(), Why: 1, SentWhy: 2, Free: true, Denied: true,
			Quota: &Quota{15, number(1 << 40), number(1 << 40), number(1 << 40), 3600, 1 << 30, 360, 60, 1_800_000_000, true},
		})
	}
	s.RAT, s.Subscription = "NR", 1<<31
	s.Static, s.Subscribed, s.Emergency = true, []string{"voice-of-the-site"}, true
	s.Ethernet = &Ethernet{More: true}
	for n := range byte(MostMACs) {
		s.Ethernet.MACs = append(s.Ethernet.MACs, n1.MAC{2, 0, 0, 0, n, 7 * n})
	}
	s.Routes = Prefixes{netip.MustParsePrefix("192.168.7.0/24"), netip.MustParsePrefix("2001:db8:7::/48")}
	return s
}

func TestRoundTrip(t *testing.T) {
	everything := full()
	everything.Handover.Buffering = false // nothing waits for a UE that has arrived
	for name, s := range map[string]*Session{"a phone": phone(), "everything that there is at once": everything} {
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got, equal); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if n := len(b) + sessionstore.SealOverhead; n > sessionstore.MaxRecord*9/10 { // what comes next has to have room, too
			t.Errorf("%s: %d octets sealed, of %d that a record may have", name, n, sessionstore.MaxRecord)
		} else {
			t.Logf("%s: %d octets sealed", name, n)
		}
	}
}

// full sets every field, so that none is forgotten above.
func TestFullIsFull(t *testing.T) {
	var look func(path string, v reflect.Value)
	look = func(path string, v reflect.Value) {
		if v.IsZero() {
			t.Errorf("%s is zero", path)
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || !strings.HasPrefix(v.Type().PkgPath(), "core5g.dev/") {
			return
		}
		for n := range v.NumField() {
			look(path+"."+v.Type().Field(n).Name, v.Field(n))
		}
	}
	look("Session", reflect.ValueOf(full()))
}

var update = flag.Bool("update", false, "write the record of this version anew")

// A record as every version wrote it is read for as long as Oldest says.
func TestEarlierVersions(t *testing.T) {
	name := func(version int) string { return fmt.Sprintf("testdata/version-%d.hex", version) }
	if *update {
		b, err := full().plain()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name(Version), []byte(hex.EncodeToString(b)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for version := Oldest; version <= Version; version++ {
		text, err := os.ReadFile(name(version))
		if err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if diff := cmp.Diff(full(), got, equal); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
}

// A record is packed where it would be too large, and only there: the version that knows nothing of that reads all others. One that was packed once is read
// for as long as that version is: its dictionary stays.
func TestPacked(t *testing.T) {
	filled := func(octets int) *Session {
		s := phone()
		s.Answered = &Answered{Answer: make([]byte, octets)}
		return s
	}
	b, err := filled(1000).plain()
	if err != nil {
		t.Fatal(err)
	}
	fits := 1000 + most - len(b)
	for octets, want := range map[int]bool{0: false, fits: false, fits + 1: true} {
		s := filled(octets)
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if isPacked(b) != want || len(b) > most {
			t.Errorf("with an answer of %d octets it has %d, packed: %t", octets, len(b), isPacked(b))
		}
		if got, err := Decode(b); err != nil {
			t.Errorf("with an answer of %d octets: %v", octets, err)
		} else if diff := cmp.Diff(s, got, equal); diff != "" {
			t.Errorf("with an answer of %d octets (-want +got):\n%s", octets, diff)
		}
	}
	const file = "testdata/packed-1.hex"
	if *update {
		b, err := full().Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(hex.EncodeToString(b)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = hex.DecodeString(strings.TrimSpace(string(text))); err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(b); err != nil {
		t.Error(err)
	} else if diff := cmp.Diff(full(), got, equal); diff != "" {
		t.Errorf("of %s (-want +got):\n%s", file, diff)
	}
}

func TestPackedOtherwise(t *testing.T) {
	b, err := full().Encode()
	if err != nil {
		t.Fatal(err)
	}
	deflated := func(b []byte) []byte {
		out, err := pack(b)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, b := range map[string][]byte{
		"by a newer program":              append([]byte{b[0], b[1], b[2], packedAs1 + 1}, b[4:]...),
		"with nothing in it":              {0x40},
		"and cut short":                   append([]byte{0x58, 100}, b[3:103]...),
		"of more than there can be":       deflated(make([]byte, mostUnpacked+1)),
		"of something that is no record":  deflated([]byte("a record")),
		"of another one, which is packed": deflated(b),
	} {
		if got, err := Decode(b); err == nil {
			t.Errorf("packed %s: %+v", name, got)
		}
	}
}

func TestVersions(t *testing.T) {
	b, err := phone().Encode()
	if err != nil {
		t.Fatal(err)
	}
	// The field of a newer program is passed over.
	newer := append([]byte{b[0] + 1}, b[1:]...)
	newer = append(newer, 0x18, 99, 0x63, 'n', 'e', 'w')
	if b[0]>>5 != 5 || b[0]&0x1f >= 23 {
		t.Fatalf("the record begins with %#02x: no short map", b[0])
	}
	got, err := Decode(newer)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(phone(), got, equal); diff != "" {
		t.Errorf("with a field of a newer program (-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(*Session){
		"of the version after the next": func(s *Session) { s.Version = Version + 2 },
		"of no version":                 func(s *Session) { s.Version = 0 },
	} {
		s := phone()
		change(s)
		b, err := encoding.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(b); !errors.Is(err, ErrVersion) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []*Session{phone(), full()} {
		b, err := s.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err != nil {
			return
		}
		again, err := s.Encode()
		if err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", s, err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("%+v was read and written, and cannot be read again: %v", s, err)
		}
	})
}
