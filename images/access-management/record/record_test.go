package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"core5g.dev/core5g/images/nf/sessionstore"

	"github.com/google/go-cmp/cmp"
)

func security() *Security {
	return &Security{
		Key: bytes.Repeat([]byte{7}, 32), Identifier: 2, Ciphering: 2, Integrity: 2, Uplink: 20, Reserved: 32, Heard: 17,
		Hop: bytes.Repeat([]byte{9}, 32), Chaining: 3, ABBA: []byte{0, 1},
	}
}

// phone is what most UEs are: two PDU sessions, idle or not.
func phone() *UE {
	context := func(shard int) string {
		return fmt.Sprintf("https://core5g-session-management-%d.core5g.svc.cluster.local:8000/nsmf-pdusession/v1/sm-contexts/%d0000000012ab", shard, shard)
	}
	sd := &[3]byte{1, 2, 3}
	return &UE{
		Version: Version, SUPI: "imsi-208930000000001", PEI: "imeisv-4370816125816151", GPSI: "msisdn-0900000000", Shard: 3, Phase: Registered,
		TMSI: TMSI(3, 77), Security: security(), Ability: []byte{0xf0, 0x70, 0xf0, 0x70},
		N2:    &Attachment{Terminator: "core5g-n2-0", Association: 7, GNB: GNBName("20893", 1, 24), RAN: 5, AMF: AttachmentID(3, 9), Set: true},
		Place: Place{PLMN: "20893", TAC: 1, Cell: 0x10, At: 1_800_000_000}, Area: Area{PLMN: "20893", TACs: []uint32{1, 2, 3}},
		Emergency: true, Allowed: []Slice{{SST: 1}, {SST: 1, SD: sd}}, Asked: []Slice{{SST: 1}}, Uplink: 1e9, Downlink: 2e9, Periodic: 3240,
		Sessions: []Session{
			{ID: 1, Slice: Slice{SST: 1}, DNN: "internet", SMF: "4a1d5c0e-1111-4222-8333-444455556666", Set: "set1.smfset.5gc.mnc093.mcc208", Context: context(1), Up: true},
			{Emergency: true, Moved: true, Lent: true, ID: 2, Slice: Slice{SST: 1, SD: sd}, DNN: "ims", SMF: "4a1d5c0e-1111-4222-8333-444455556667", Set: "set1.smfset.5gc.mnc093.mcc208", Context: context(2), Up: true},
		},
		Policy:   "https://core5g-pcf:8000/npcf-am-policy-control/v1/policies/imsi-208930000000001-1",
		Notified: "https://core5g-udm:8000/nudm-sdm/v2/imsi-208930000000001/sdm-subscriptions/12", Recorded: true,
		Since: 1_800_000_000_000, Names: 0x12345678,
	}
}

// full has everything that there can be.
func full() *UE {
	u := phone()
	u.DNNs = []string{"internet", "ims"}
	u.OldTMSI, u.DRX, u.RFSP = TMSI(3, 76), 2, 4
	u.Coming = security()
	for n := range uint64(MostLeft) {
		u.Left = append(u.Left, Attachment{
			Terminator: "core5g-n2-1", Association: 8 + n, GNB: GNBName("20893", 2, 24), RAN: 6, AMF: AttachmentID(3, 8+n), Set: true, Setting: true, Releasing: true,
			Secured: true, Since: 900, Lost: true, Until: 1_800_000_000_005, Interface: 1<<63 | 7, Came: 1_800_000_000_004, Again: true,
		})
	}
	u.N2.Until, u.N2.Interface, u.N2.Came = 1_800_000_000_006, 1<<63|5, 1_800_000_000_003
	u.N2.Setting, u.N2.Again, u.N2.Releasing, u.N2.Secured, u.N2.Lost, u.N2.Since = true, true, true, true, true, 1000
	u.Place.CellPLMN = "20894"
	u.Rejected = []Rejected{{Slice{SST: 2}, 1}}
	u.Sessions[1].Held = &Held{Failure: "https://core5g-session-management-1:8000/nsmf-callback/v1/sm-contexts/1000000001/transfer-failure", N1: make([]byte, 40), Priority: 8, FiveQI: 9, N2: true}
	u.Sessions[1].Silent, u.Sessions[1].Arriving = true, true
	u.Procedure = &Procedure{Kind: 2, Step: 3, Attempts: 4, Began: 1_800_000_000_001, Message: make([]byte, 120), Cause: 36, Flags: 3, Sessions: 6, Failed: 2}
	u.Command = &Command{Message: make([]byte, 100), Attempts: 2, Began: 1_800_000_000_002}
	u.Paging = &Paging{Attempts: 2, Began: 1_800_000_000_003, Priority: 1}
	u.Handover = &Handover{Target: u.Left[0], Step: 2, Cause: [2]uint8{1, 2}, Asked: 6, Taken: 2, Began: 1_800_000_000_004, Place: u.Place, Forwards: true}
	u.Behind, u.Untold, u.Prove, u.Unreached, u.Going = true, true, true, true, true
	for n := range MostWatches {
		w := Watch{
			Name: fmt.Sprintf("%012x", n), URI: "https://" + strings.Repeat("u", 120), Correlation: strings.Repeat("c", 64), Expiry: 1_800_000_000,
		}
		for k := range uint8(MostWatched) {
			w.Events = append(w.Events, Watched{Kind: k + 1, Left: 1 << 20, In: true, Coarse: true, Traffic: true})
		}
		w.Events[0].Area = Area{PLMN: "20893", TACs: []uint32{1 << 20, 1<<20 + 1, 1<<20 + 2, 1<<20 + 3, 1<<20 + 4, 1<<20 + 5, 1<<20 + 6, 1<<20 + 7}}
		u.Watches = append(u.Watches, w)
	}
	for n := range uint8(MostEnding) {
		u.Ending = append(u.Ending, Ended{Session: u.Sessions[0], Since: 1_800_000_000_000, Next: 1_800_000_005_000})
		u.Ending[n].Session.ID = n + 3
	}
	u.Remnant, u.Lent = true, true
	u.Recording = 1_800_000_000_007
	u.Known, u.Catalogue, u.Listed = true, 1<<31, true
	u.Decided = Decided{RFSP: 4, Uplink: 1e9, Downlink: 2e9}
	for n := range uint8(HistoryLength) {
		u.History = append(u.History, Past{Kind: n + 1, Result: 1, At: 1_800_000_000_000, Took: 1000})
	}
	return u
}

// crowded has as many PDU sessions as there can be.
func crowded() *UE {
	u := full()
	u.Sessions = nil
	for n := range uint8(MostSessions) {
		u.Add(Session{
			ID: n + 1, Slice: Slice{SST: n}, DNN: fmt.Sprintf("enterprise-%d", n), SMF: fmt.Sprintf("%08x-1111-4222-8333-%012x", uint32(n)*2654435761, n),
			Set:     "set1.smfset.5gc.mnc093.mcc208",
			Context: fmt.Sprintf("https://core5g-session-management-%d.core5g.svc.cluster.local:8000/nsmf-pdusession/v1/sm-contexts/%d0000000012ab", n%4, n), Up: true,
		})
	}
	return u
}

func TestRoundTrip(t *testing.T) {
	for name, u := range map[string]*UE{"a phone with two PDU sessions": phone(), "everything": full(), "as many PDU sessions as there can be": crowded()} {
		b, err := u.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(u, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if n := len(b) + sessionstore.SealOverhead; n > sessionstore.MaxRecord {
			t.Errorf("%s: %d octets sealed, a record may have %d", name, n, sessionstore.MaxRecord)
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
		if v.Kind() != reflect.Struct {
			return
		}
		for n := range v.NumField() {
			look(path+"."+v.Type().Field(n).Name, v.Field(n))
		}
	}
	look("UE", reflect.ValueOf(full()))
	look("Sessions[1]", reflect.ValueOf(full().Sessions[1]))
}

// What is changed in a clone is not in the original.
func TestClone(t *testing.T) {
	u := full()
	c := u.Clone()
	if diff := cmp.Diff(u, c); diff != "" {
		t.Errorf("(-original +clone):\n%s", diff)
	}
	c.Sessions[1].Held.Failure, c.Sessions[0].Up, c.Allowed[0].SST = "", false, 9
	c.Security.Uplink, c.Coming.Uplink, c.N2.RAN, c.Left[0].RAN, c.Procedure.Step = 99, 99, 99, 99, 99
	c.Command.Attempts, c.Paging.Attempts, c.Handover.Step, c.History[0].Kind, c.Rejected[0].Cause = 99, 99, 99, 99, 9
	if diff := cmp.Diff(full(), u); diff != "" {
		t.Errorf("the original has changed (-want +got):\n%s", diff)
	}
}

var update = flag.Bool("update", false, "write the record of this version anew")

// A record as every version wrote it is read for as long as Oldest says.
func TestEarlierVersions(t *testing.T) {
	name := func(version int) string { return fmt.Sprintf("testdata/version-%d.hex", version) }
	if *update {
		b, err := full().Encode()
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
		if diff := cmp.Diff(full(), got); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
}

// What the UE has left is read as a program wrote it that knew of one attachment alone, and is where that looks for it.
func TestOneLeft(t *testing.T) {
	type before struct {
		Version uint8       `cbor:"0,keyasint"`
		SUPI    string      `cbor:"1,keyasint"`
		Shard   uint16      `cbor:"4,keyasint"`
		Phase   Phase       `cbor:"5,keyasint"`
		Left    *Attachment `cbor:"13,keyasint,omitempty"`
	}
	left := full().Left
	for name, want := range map[string][]Attachment{"none": nil, "one": left[:1], "three": left[:3]} {
		u := &UE{SUPI: "imsi-1", Shard: 3, Phase: Registered, Left: want}
		octets, err := u.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var was before
		if err := decoding.Unmarshal(octets, &was); err != nil {
			t.Fatal(err)
		}
		if has := was.Left != nil; has != (len(want) > 0) || has && *was.Left != want[0] {
			t.Errorf("%s: a program before reads %+v", name, was.Left)
		}
		if octets, err = encoding.Marshal(was); err != nil {
			t.Fatal(err)
		}
		is, err := Decode(octets)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[:min(1, len(want))], is.Left); diff != "" {
			t.Errorf("%s, behind a program before (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*UE)
		version bool
		want    bool
	}{
		"of the next version":           {change: func(u *UE) { u.Version = Version + 1 }, want: true},
		"of the version after the next": {change: func(u *UE) { u.Version = Version + 2 }, version: true},
		"of no version":                 {change: func(u *UE) { u.Version = 0 }, version: true},
		"of no UE":                      {change: func(u *UE) { u.SUPI = "" }},
		"of no shard":                   {change: func(u *UE) { u.Shard = 0 }},
		"of no phase":                   {change: func(u *UE) { u.Phase = 9 }},
		"without its key":               {change: func(u *UE) { u.Security.Key = []byte{1} }},
	} {
		u := phone()
		c.change(u)
		b, err := encoding.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Decode(b)
		if (err == nil) != c.want || errors.Is(err, ErrVersion) != c.version {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A UE that is idle takes less, and the same each time it is written; one with which something goes on costs no deflation.
func TestRecordsAtRest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*UE)
		rests  bool
	}{
		"idle":                                   {func(u *UE) { u.N2 = nil }, true},
		"connected":                              {func(*UE) {}, false},
		"paged":                                  {func(u *UE) { u.N2, u.Paging = nil, &Paging{Attempts: 1} }, false},
		"it has left, and its gNB does not know": {func(u *UE) { u.Left, u.N2 = []Attachment{*u.N2}, nil }, false},
		"in the midst of a procedure":            {func(u *UE) { u.N2, u.Procedure = nil, &Procedure{Kind: 1} }, false},
	} {
		u := phone()
		c.change(u)
		whole, err := encoding.Marshal(&written{UE: *u})
		if err != nil {
			t.Fatal(err)
		}
		var first []byte
		for n := range 3 {
			b, err := u.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				first = b
			}
			if !bytes.Equal(b, first) {
				t.Errorf("%s: it is written in two ways", name)
			}
			if rests := b[0] == marker; rests != c.rests || rests && len(b) > len(whole)*4/5 {
				t.Errorf("%s: it is deflated: %t, %d octets of %d", name, rests, len(b), len(whole))
			}
			got, err := Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(u, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

func BenchmarkRecords(b *testing.B) {
	connected, idle := phone(), phone()
	idle.N2 = nil
	for name, u := range map[string]*UE{"connected": connected, "idle": idle} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := u.Encode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What grows beyond all bounds is not read to its end.
func TestInflated(t *testing.T) {
	b, err := packing.Pack(nil, make([]byte, expanded+1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(b); err == nil {
		t.Error("a record that grows to 64 KiB was read")
	}
	if _, err := Decode([]byte{marker, 0xff}); err == nil {
		t.Error("octets that cannot be inflated were read")
	}
}

// A field of a newer program is passed over.
func TestNewerField(t *testing.T) {
	u := &UE{Version: Version, SUPI: "imsi-208930000000001", Shard: 1, Phase: Registered}
	b, err := u.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if b[0]>>5 != 5 || b[0]&0x1f >= 23 {
		t.Fatalf("the record begins with %#02x: no short map", b[0])
	}
	newer := append([]byte{b[0] + 1}, b[1:]...)
	got, err := Decode(append(newer, 0x18, 99, 0x63, 'n', 'e', 'w'))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(u, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNumbersCarryTheShard(t *testing.T) {
	for _, shard := range []uint16{1, 2, 128, MostShards} {
		for _, n := range []uint64{0, 1, 1<<24 - 1, 1 << 24, 1<<32 - 1, 1 << 32} {
			id := AttachmentID(shard, n)
			if id>>40 != 0 || ShardOfAttachment(id) != shard {
				t.Errorf("the AMF UE NGAP ID %#x of shard %d is shard %d's", id, shard, ShardOfAttachment(id))
			}
			if tmsi := TMSI(shard, uint32(n)); ShardOfTMSI(tmsi) != shard {
				t.Errorf("the 5G-TMSI %#x of shard %d is shard %d's", tmsi, shard, ShardOfTMSI(tmsi))
			}
		}
	}
	if got := ShardOfAttachment(1<<40 | 1<<32); got != 0 {
		t.Errorf("41 bits are shard %d's", got)
	}
}

func gnb() *GNB {
	sd := &[3]byte{1, 2, 3}
	return &GNB{
		Version: Version, PLMN: "20893", ID: 0x3fffff, Bits: 22, Name: "roof", DRX: 128, Terminator: "core5g-n2-0", Association: 7, Retains: true, Told: 0xfedcba98, Lead: 3, Doubtful: true,
		Areas: []Tracking{
			{TAC: 2, Broadcast: []Broadcast{{PLMN: "20893", Slices: []Slice{{SST: 1}}}}},
			{TAC: 1, Broadcast: []Broadcast{{PLMN: "20893", Slices: []Slice{{SST: 1}, {SST: 1, SD: sd}}}, {PLMN: "00101", Slices: []Slice{{SST: 2}}}}},
		},
	}
}

func TestBehind(t *testing.T) {
	said := Attachment{Terminator: "n2-0", Association: 4, Since: 7, Came: 1000}
	for name, c := range map[string]struct {
		came Attachment
		want bool
	}{
		"before it, by the same":                        {Attachment{Terminator: "n2-0", Association: 4, Since: 6, Came: 2000}, false},
		"behind it, by the same":                        {Attachment{Terminator: "n2-0", Association: 4, Since: 8, Came: 900}, true},
		"behind it, by the same terminator":             {Attachment{Terminator: "n2-0", Association: 5, Since: 8}, true},
		"before it, by another terminator":              {Attachment{Terminator: "n2-1", Association: 4, Since: 9, Came: 900}, false},
		"behind it, by another terminator":              {Attachment{Terminator: "n2-1", Association: 4, Since: 2, Came: 1100}, true},
		"by one that does not say when":                 {Attachment{Terminator: "n2-1", Association: 4, Since: 9}, false},
		"before it, by another one, and has moved here": {Attachment{Terminator: "n2-0", Association: 4, Came: 900}, false},
		"behind it, by another one, and has moved here": {Attachment{Terminator: "n2-0", Association: 4, Came: 1100}, true},
	} {
		if got := c.came.Behind(&said); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (&Attachment{Terminator: "n2-1", Came: 1100}).Behind(&Attachment{Terminator: "n2-0"}) {
		t.Error("it is behind what came nobody knows when")
	}
}

func TestGNB(t *testing.T) {
	b, err := gnb().Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeGNB(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gnb(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	type answers struct {
		Key    string
		TACs   []uint32
		Here   int
		Guest  []Slice
		Absent []Slice
	}
	want := answers{Key: "20893-003fffff/22", TACs: []uint32{1, 2}, Here: 2, Guest: []Slice{{SST: 2}}}
	is := answers{Key: got.Key(), TACs: got.TACs("20893"), Here: len(got.Slices("20893", 1)), Guest: got.Slices("00101", 1), Absent: got.Slices("00101", 2)}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(*GNB){
		"a PLMN of four digits": func(g *GNB) { g.PLMN = "2089" },
		"an ID of 21 bits":      func(g *GNB) { g.Bits = 21 },
		"no tracking area":      func(g *GNB) { g.Areas = nil },
	} {
		g := gnb()
		change(g)
		b, err := g.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeGNB(b); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, u := range []*UE{phone(), full(), crowded()} {
		b, err := u.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	b, err := gnb().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, err := DecodeGNB(b); err == nil {
			again, err := g.Encode()
			if err != nil {
				t.Fatalf("%+v was read and cannot be written: %v", g, err)
			}
			if _, err := DecodeGNB(again); err != nil {
				t.Fatalf("%+v was read and written, and cannot be read again: %v", g, err)
			}
		}
		u, err := Decode(b)
		if err != nil {
			return
		}
		again, err := u.Encode()
		if err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", u, err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("%+v was read and written, and cannot be read again: %v", u, err)
		}
	})
}
