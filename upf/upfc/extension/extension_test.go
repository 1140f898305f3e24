package extension

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// travel is an IE on the other side.
func travel(t testing.TB, i *ie.IE) *pfcp.Element {
	t.Helper()
	b, err := i.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	l, err := pfcp.ParseElements(b)
	if err != nil {
		t.Fatal(err)
	}
	e := Find(l, i.Type)
	if e == nil {
		t.Fatalf("% x has no IE of type %#x", b, i.Type)
	}
	return e
}

func TestPagesTravel(t *testing.T) {
	for name, want := range map[string]Page{
		"the last, empty": {},
		"two sessions":    {Next: 1 << 40, Sessions: []Session{{1, 1<<63 | 1}, {1<<64 - 1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := travel(t, want.IE())
			got, err := ReadPage(e)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			octets := len(e.Value) + ieHead
			if n := PageFits(octets); n != len(want.Sessions) {
				t.Errorf("%d sessions fit %d octets, want %d", n, octets, len(want.Sessions))
			}
			if n := PageFits(octets - 1); n != max(0, len(want.Sessions)-1) {
				t.Errorf("%d sessions fit an octet less", n)
			}
		})
	}
	cursor, err := ReadListSessions(travel(t, NewListSessions(7<<32)))
	if err != nil || cursor != 7<<32 {
		t.Errorf("cursor %#x (%v), want %#x", cursor, err, uint64(7<<32))
	}
}

func TestMalformedIEsAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		octets int
		read   func(e *pfcp.Element) error
	}{
		"a cursor of seven octets":    {7, func(e *pfcp.Element) error { _, err := ReadListSessions(e); return err }},
		"a page without its cursor":   {7, func(e *pfcp.Element) error { _, err := ReadPage(e); return err }},
		"a page with half a session":  {16, func(e *pfcp.Element) error { _, err := ReadPage(e); return err }},
		"a state without flags":       {4, func(e *pfcp.Element) error { _, err := ReadState(e); return err }},
		"a state with an empty name":  {6, func(e *pfcp.Element) error { _, err := ReadState(e); return err }},
		"a page with an octet behind": {25, func(e *pfcp.Element) error { _, err := ReadPage(e); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.read(&pfcp.Element{Type: SessionList, Value: make([]byte, tt.octets)})
			var r *pfcp.Reject
			if !errors.As(err, &r) || r.Cause != ie.CauseInvalidLength || r.Offending != SessionList {
				t.Errorf("error %v, want Invalid length of the IE", err)
			}
		})
	}
}

func TestStatesTravel(t *testing.T) {
	for name, want := range map[string]State{
		"at work":                {},
		"done, there are others": {Done: true, Recovery: 0xe0000001, Nodes: []string{"smf-0.core5g", "10.0.0.9"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadState(travel(t, want.IE()))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzState(f *testing.F) {
	s := State{Done: true, Recovery: 7, Nodes: []string{"a", "10.0.0.9"}}
	f.Add(s.IE().Payload)
	f.Add([]byte{0, 1, 2, 3, 4})
	f.Add([]byte{1, 0, 0, 0, 0, 9, 'a'})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadState(&pfcp.Element{Type: Restoration, Value: b})
		if err == nil && !bytes.Equal(s.IE().Payload[1:], b[1:]) {
			t.Errorf("% x becomes %+v", b, s)
		}
	})
}

func TestIEsOfOthersAreNotOurs(t *testing.T) {
	b, err := ie.NewVendorSpecificIE(ListSessions, 10415, make([]byte, 8)).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	l, err := pfcp.ParseElements(b)
	if err != nil || len(l) != 1 {
		t.Fatalf("%d IEs (%v)", len(l), err)
	}
	if Find(l, ListSessions) != nil {
		t.Error("another enterprise's IE is taken for ours")
	}
}

func FuzzPage(f *testing.F) {
	p := Page{Next: 3, Sessions: []Session{{1, 2}}}
	f.Add(p.IE().Payload)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ReadPage(&pfcp.Element{Type: SessionList, Value: b})
		if err == nil && !bytes.Equal(p.IE().Payload, b) {
			t.Errorf("% x becomes %+v", b, p)
		}
	})
}
