package state

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

var byValue = cmp.Options{
	cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{}),
	cmpopts.IgnoreUnexported(rules.FTEID{}, rules.PortRange{}, usage.Counts{}),
}

func sample(t testing.TB) *Session {
	t.Helper()
	flow, err := rules.ParseFlow("permit out 17 from 10.0.0.0/8 53,100-200 to assigned")
	if err != nil {
		t.Fatal(err)
	}
	limit := uint64(1 << 40)
	set := rules.NewSet()
	set.PDRs[1] = &rules.PDR{ID: 1, Precedence: 255, RemoveGTPU: true, FAR: 1, QERs: []uint32{1}, URRs: []uint32{1}, PDI: rules.PDI{
		FTEID: rules.FTEID{Addr: netip.MustParseAddr("172.30.3.16"), TEID: 7}, Chosen: true, NetworkInstance: "internet",
		UEAddress: netip.MustParseAddr("10.45.0.1"), QFIs: []uint8{1}, Filters: []rules.SDFFilter{{Description: "x", Flow: flow, HasID: true, ID: 3}},
	}}
	set.PDRs[2] = &rules.PDR{ID: 2, PDI: rules.PDI{SourceInterface: rules.Core}, FAR: 1}
	set.FARs[1] = &rules.FAR{ID: 1, Action: rules.Forward, Tunnel: rules.FTEID{Addr: netip.MustParseAddr("172.30.3.100"), TEID: 8}}
	set.QERs[1] = &rules.QER{ID: 1, HasMBR: true, MBRUL: 1e12, MBRDL: 2, QFI: 9}
	set.URRs[1] = &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.Periodic, Period: time.Minute, Threshold: rules.Volume{Total: &limit}}
	return &Session{
		UPSEID: 1 << 40, CPSEID: 7, CPAddr: netip.MustParseAddr("10.0.0.9"), Node: "smf.core5g", Created: 5, Rules: set,
		QERSlots: map[uint32]uint32{1: 11},
		Meters:   map[uint32]usage.Meter{1: {Slot: 12, Attached: usage.Counts{UL: 1, DL: 2, ULPackets: 3, DLPackets: 4}, Sequence: 5, Since: 6, Started: true}},
		Outbox:   []usage.Report{{URR: 1, Sequence: 4, Trigger: usage.TriggerPeriodic, Start: 1, End: 2, Volume: true, Counts: usage.Counts{UL: 9}}},
	}
}

func TestSessionSurvives(t *testing.T) {
	want := sample(t)
	b, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeSession(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Logf("%d octets", len(b))
}

func TestMetaSurvives(t *testing.T) {
	want := Meta{Recovery: 1_800_000_000, Associations: []Association{{Node: "smf", From: netip.MustParseAddrPort("10.0.0.1:8805"), Recovery: 9, Created: 3}}}
	b, err := Encode(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got Meta
	if err := Decode(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBlobsThatAreRefused(t *testing.T) {
	good, err := Encode(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	unmetered := sample(t)
	unmetered.Meters = nil
	noMeter, err := Encode(unmetered)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		blob []byte
		want string
	}{
		"nothing":         {nil, "empty"},
		"another version": {append([]byte{Version + 1}, good[1:]...), "version"},
		"half a blob":     {good[:len(good)/2], "EOF"},
		"no session":      {[]byte{Version, 0xa0}, "without a session"},
		"no meter":        {noMeter, "no meter"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := DecodeSession(tt.blob); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzDecodeSession(f *testing.F) {
	good, err := Encode(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = DecodeSession(b) })
}

func BenchmarkEncode(b *testing.B) {
	s := sample(b)
	for b.Loop() {
		if _, err := Encode(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	blob, err := Encode(sample(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := DecodeSession(blob); err != nil {
			b.Fatal(err)
		}
	}
}
