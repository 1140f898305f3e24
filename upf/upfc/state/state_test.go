package state

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

// exactly compares every field, unexported ones of other packages too.
var exactly = cmp.Exporter(func(reflect.Type) bool { return true })

// filler gives every field of a value another value that is not its zero.
type filler struct{ next uint64 }

func (f *filler) number() uint64 { f.next++; return f.next }

func (f *filler) fill(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[netip.Addr]():
		v.Set(reflect.ValueOf(f.addr()))
		return
	case reflect.TypeFor[netip.Prefix]():
		v.Set(reflect.ValueOf(netip.PrefixFrom(f.addr(), 7)))
		return
	case reflect.TypeFor[netip.AddrPort]():
		v.Set(reflect.ValueOf(netip.AddrPortFrom(f.addr(), uint16(f.number()))))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(f.number()%200 + 1)
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.number())
	case reflect.Int64:
		v.SetInt(-int64(f.number()))
	case reflect.String:
		v.SetString(fmt.Sprintf("name-%d", f.number()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "_" {
				f.fill(v.Field(i))
			}
		}
		if strings.HasPrefix(v.Type().Name(), "WithID[") && v.Field(1).Kind() == reflect.Pointer { // a rule is kept under its own ID
			v.Field(0).Set(v.Field(1).Elem().FieldByName("ID"))
		}
	default:
		panic(fmt.Sprintf("the test cannot fill a %s yet", v.Type()))
	}
}

// addr is IPv4 and IPv6 in turn.
func (f *filler) addr() netip.Addr {
	n := byte(f.number())
	if n%2 == 0 {
		return netip.AddrFrom4([4]byte{10, n, 0, 1})
	}
	return netip.AddrFrom16([16]byte{0x20, 1, n, 15: 1})
}

func full() *Session {
	s := &Session{}
	(&filler{}).fill(reflect.ValueOf(s).Elem())
	// Each QER and URR has its slot and meter.
	s.QERSlots, s.Meters = nil, nil
	for id := range s.Rules.QERs.All() {
		s.QERSlots.Put(id, 1000+id)
	}
	for id := range s.Rules.URRs.All() {
		var m usage.Meter
		(&filler{next: uint64(id)}).fill(reflect.ValueOf(&m).Elem())
		s.Meters.Put(id, m)
	}
	return s
}

// A field that was added to rules, usage or state and forgotten in this package shows here.
func TestEveryFieldIsStored(t *testing.T) {
	want := full()
	b := AppendSession(nil, want)
	got := &Session{}
	if err := DecodeSession(b, got, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, exactly); diff != "" {
		t.Errorf("a field is not stored: add it in rules.go, usage.go or state.go of this package (-want +got):\n%s", diff)
	}
	again := AppendSession(nil, got)
	if !bytes.Equal(b, again) {
		t.Error("the same session is written in two ways")
	}
}

func TestMetaSurvives(t *testing.T) {
	want := &Meta{}
	(&filler{}).fill(reflect.ValueOf(want).Elem())
	b := EncodeMeta(want)
	got, err := DecodeMeta(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, exactly); diff != "" {
		t.Errorf("a field is not stored (-want +got):\n%s", diff)
	}
	for n := range len(b) {
		if _, err := DecodeMeta(b[:n]); err == nil {
			t.Errorf("%d of %d octets are taken for the whole", n, len(b))
		}
	}
	if _, err := DecodeMeta(append(b, 0)); err == nil {
		t.Error("an octet too many is taken")
	}
}

// A session that is read over another one is the same as one that is read into nothing.
func TestReadingOverAnotherSession(t *testing.T) {
	used := &Session{}
	neverChanged := nec()
	neverChanged.Last = Done{}
	for _, want := range []*Session{full(), nec(), full(), neverChanged} {
		if err := DecodeSession(AppendSession(nil, want), used, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, used, exactly, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// What the versions before this one left is read, without what they did not have.
func TestBlobsOfTheVersionsBefore(t *testing.T) {
	for version := Oldest; version < Version; version++ {
		b, err := os.ReadFile(fmt.Sprintf("testdata/v%d-session.blob", version))
		if err != nil {
			t.Fatal(err)
		}
		want, got := nec(), full()
		if version < 5 {
			want.Made = Made{}
		}
		if err := DecodeSession(b, got, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, exactly, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
	b, err := os.ReadFile("testdata/v4-meta.blob")
	if err != nil {
		t.Fatal(err)
	}
	meta, err := DecodeMeta(b)
	if err != nil {
		t.Fatal(err)
	}
	wantMeta := &Meta{Recovery: 1_790_000_000, Associations: []Association{{
		Node: "smf.core5g", From: netip.MustParseAddrPort("10.0.0.9:8805"), Recovery: 7, Created: 1_790_000_000,
	}}}
	if diff := cmp.Diff(wantMeta, meta, exactly); diff != "" {
		t.Errorf("META (-want +got):\n%s", diff)
	}
	if b, err = os.ReadFile("testdata/v6-meta.blob"); err != nil {
		t.Fatal(err)
	}
	if meta, err = DecodeMeta(b); err != nil {
		t.Fatal(err)
	}
	wantMeta.PFDs = []PFD{{Node: "smf.core5g", Application: "video", Flows: []string{"permit out ip from 10.9.0.1 to assigned"}}}
	if diff := cmp.Diff(wantMeta, meta, exactly); diff != "" {
		t.Errorf("META of version 6 (-want +got):\n%s", diff)
	}
}

func TestTruncatedBlobsAreRefused(t *testing.T) {
	for name, s := range map[string]*Session{"full": full(), "usual": nec()} {
		b := AppendSession(nil, s)
		for n := range len(b) {
			if err := DecodeSession(b[:n], &Session{}, nil); err == nil {
				t.Errorf("%s: %d of %d octets are taken for the whole", name, n, len(b))
			}
		}
		if err := DecodeSession(append(b, 0), &Session{}, nil); err == nil {
			t.Errorf("%s: an octet too many is taken", name)
		}
	}
}

func TestBlobsThatAreRefused(t *testing.T) {
	good := AppendSession(nil, nec())
	changed := func(f func(*Session)) []byte {
		s := nec()
		f(s)
		return AppendSession(nil, s)
	}
	for name, tt := range map[string]struct {
		blob []byte
		want string
	}{
		"nothing":           {nil, "empty"},
		"a later version":   {append([]byte{Version + 1}, good[1:]...), "version"},
		"too old a version": {append([]byte{Oldest - 1}, good[1:]...), "version"},
		"half a blob":       {good[:len(good)/2], "short"},
		"no session":        {changed(func(s *Session) { s.UPSEID = 0 }), "without a session"},
		"no meter":          {changed(func(s *Session) { s.Meters = nil }), "no meter"},
		"no slot":           {changed(func(s *Session) { s.QERSlots = nil }), "no slot"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := DecodeSession(tt.blob, &Session{}, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPack(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing": {}, "one zero": {0}, "one octet": {7}, "eight zeros": make([]byte, 8), "eight octets": []byte("12345678"),
		"mixed": {0, 1, 0, 0, 2, 0, 0, 0, 3}, "many zeros": make([]byte, 1000),
	} {
		t.Run(name, func(t *testing.T) {
			p := pack([]byte("x"), b)
			got, err := unpack([]byte("y"), p[1:])
			if err != nil || !bytes.Equal(got[1:], b) || got[0] != 'y' {
				t.Fatalf("% x becomes % x (%v)", b, got, err)
			}
			for n := 1; n < len(p); n++ {
				if _, err := unpack(nil, p[1:n]); err == nil {
					t.Errorf("%d of %d octets are taken for the whole", n-1, len(p)-1)
				}
			}
		})
	}
	for name, b := range map[string][]byte{
		"a zero that should be left out": {1, 1, 0}, "a bit beyond the end": {1, 2, 7}, "an octet too many": {1, 0, 0},
		"a length that is too long": {0x80, 0x80, 0x80, 0x10, 0}, "a length with a needless octet": {0x81, 0, 0},
	} {
		if got, err := unpack(nil, b); err == nil {
			t.Errorf("%s: % x is taken as % x", name, b, got)
		}
	}
}

// What the coder refuses beyond truncation: every value has one encoding.
func TestOneEncodingAValue(t *testing.T) {
	for name, tt := range map[string]struct {
		b    []byte
		read func(*coder)
		want error
	}{
		"a number with a needless octet": {[]byte{0x81, 0}, func(c *coder) { var v uint32; number(c, &v) }, errNumber},
		"a number too big for its field": {[]byte{0x80, 2}, func(c *coder) { var v uint8; number(c, &v) }, errNumber},
		"a number beyond 64 bits": {bytes.Repeat([]byte{0xff}, 11), func(c *coder) { var v uint64; number(c, &v) },
			errNumber},
		"a flag that is not known":    {[]byte{2}, func(c *coder) { var v bool; c.flags(&v) }, errFlags},
		"an address of five octets":   {[]byte{5, 1, 2, 3, 4, 5}, func(c *coder) { var v netip.Addr; c.addr(&v) }, errAddress},
		"a prefix longer than itself": {[]byte{4, 1, 2, 3, 4, 33}, func(c *coder) { var v netip.Prefix; c.prefix(&v) }, errAddress},
		"keys that descend": {[]byte{2, 2, 0, 1, 0}, func(c *coder) { var v Slots; dict(c, &v, number[uint32]) },
			errOrder},
		"a key twice":                 {[]byte{2, 1, 0, 1, 0}, func(c *coder) { var v Slots; dict(c, &v, number[uint32]) }, errOrder},
		"a name that was not written": {[]byte{2}, func(c *coder) { var v string; c.name(&v) }, errReference},
		"a name written twice": {[]byte{1, 1, 'a', 1, 1, 'a'}, func(c *coder) { var v string; c.name(&v); c.name(&v) },
			errReference},
		"a list longer than the blob": {[]byte{0xff, 0xff, 3}, func(c *coder) { var v []uint32; numbers(c, &v) }, errShort},
	} {
		t.Run(name, func(t *testing.T) {
			c := coder{b: tt.b, reading: true}
			tt.read(&c)
			if c.err != tt.want {
				t.Errorf("error %v, want %v", c.err, tt.want)
			}
		})
	}
}

func FuzzDecodeSession(f *testing.F) {
	f.Add(AppendSession(nil, full()))
	f.Add(AppendSession(nil, nec()))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Session{}
		if err := DecodeSession(b, s, nil); err != nil {
			return
		}
		if again := AppendSession(nil, s); b[0] == Version && !bytes.Equal(b, again) {
			t.Errorf("read % x, written % x", b, again)
		}
	})
}

// nec is NEC's session: 2 PDR, 2 FAR, 2 QER, 2 URR.
func nec() *Session {
	const gbit = 1_000_000_000
	set := rules.NewSet()
	ue := netip.MustParseAddr("10.45.0.1")
	ids := []uint32{1, 2}
	set.PDRs.Put(1, &rules.PDR{ID: 1, Precedence: 255, Removes: true, FAR: 1, QERs: ids, URRs: ids, PDI: rules.PDI{
		Match: rules.Match{FTEID: rules.FTEID{Addr: netip.MustParseAddr("172.30.3.16"), TEID: 1 << 20}, NetworkInstance: "internet", UEAddress: ue}}})
	set.PDRs.Put(2, &rules.PDR{ID: 2, Precedence: 255, FAR: 2, QERs: ids, URRs: ids, PDI: rules.PDI{
		SourceInterface: rules.Core, Match: rules.Match{NetworkInstance: "internet", UEAddress: ue}}})
	set.FARs.Put(1, &rules.FAR{ID: 1, Action: rules.Forward, Forwarding: rules.Forwarding{Destination: rules.Core}, NetworkInstance: "internet"})
	set.FARs.Put(2, &rules.FAR{ID: 2, Action: rules.Forward, Forwarding: rules.Forwarding{
		Outer: rules.Outer{Kind: abi.OhcGtpu4, Addr: netip.MustParseAddr("172.30.3.100"), TEID: 1 << 20}}})
	for _, id := range ids {
		set.QERs.Put(id, &rules.QER{ID: id, HasMBR: true, MBRUL: gbit, MBRDL: 2 * gbit, QFI: 9})
		set.URRs.Put(id, &rules.URR{ID: id, MeasureVolume: true, Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Has: rules.HasTotal, Total: 1 << 40}})
	}
	at := int64(1_790_000_000)
	return &Session{
		UPSEID: 1 << 63, CPSEID: 7, CPAddr: netip.MustParseAddr("10.0.0.9"), Node: "smf.core5g", Created: at, Rules: set,
		QERSlots: Slots{{ID: 1, Value: 1 << 18}, {ID: 2, Value: 1<<18 + 1}},
		Meters:   usage.Meters{{ID: 1, Value: usage.Meter{Slot: 1 << 18, Since: at * 1e3}}, {ID: 2, Value: usage.Meter{Slot: 1<<18 + 1, Since: at * 1e3}}},
		Last:     Done{At: at, Sequence: 1 << 20, Digest: 1 << 60},
		Made:     Made{Digest: 1 << 60},
	}
}

func TestSize(t *testing.T) {
	if n := len(AppendSession(nil, nec())); n > 320 {
		t.Errorf("NEC's session takes %d octets, want at most 320", n)
	} else {
		t.Logf("%d octets", n)
	}
}

func BenchmarkAppendSession(b *testing.B) {
	s, buf := nec(), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendSession(buf[:0], s)
	}
}

func BenchmarkDecodeSession(b *testing.B) {
	blob, known := AppendSession(nil, nec()), NewStrings()
	b.ReportAllocs()
	for b.Loop() {
		if err := DecodeSession(blob, &Session{}, known); err != nil {
			b.Fatal(err)
		}
	}
}
