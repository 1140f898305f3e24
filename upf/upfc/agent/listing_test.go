package agent_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/extension"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// page asks for a page of the list of s's sessions.
func page(t *testing.T, s *fakesmf.SMF, cursor uint64) extension.Page {
	t.Helper()
	a, ok := s.Ask(message.NewAssociationUpdateRequest(s.NextSeq(), s.Node(), extension.NewListSessions(cursor))).(*message.AssociationUpdateResponse)
	if !ok {
		t.Fatal("no Association Update Response")
	}
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	b := make([]byte, a.MarshalLen())
	if err := a.MarshalTo(b); err != nil {
		t.Fatal(err)
	}
	m, err := pfcp.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	e := extension.Find(m.Elements, extension.SessionList)
	if e == nil {
		t.Fatal("no Session List")
	}
	p, err := extension.ReadPage(e)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// list are all pages; between is called between two of them.
func list(t *testing.T, s *fakesmf.SMF, between func()) map[extension.Session]int {
	t.Helper()
	found := map[extension.Session]int{}
	for cursor := uint64(0); ; between() {
		p := page(t, s, cursor)
		for _, session := range p.Sessions {
			found[session]++
		}
		if p.Next == 0 {
			return found
		}
		if p.Next <= cursor {
			t.Fatalf("the cursor %d is followed by %d", cursor, p.Next)
		}
		cursor = p.Next
	}
}

func TestSessionsAreListed(t *testing.T) {
	l := newLab(t, nil)
	s, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	if p := listRefused(t, s); p != ie.CauseNoEstablishedPFCPAssociation {
		t.Errorf("cause %d for a stranger, want No established PFCP Association", p)
	}
	s.Associate()
	other.Associate()
	if got := list(t, s, func() {}); len(got) != 0 {
		t.Errorf("%d sessions of a CP function that has none", len(got))
	}

	var biggest atomic.Int64
	s.Capture.Store(ptr(func(b []byte) {
		biggest.Store(max(biggest.Load(), int64(len(b))))
	}))
	ue := func(n int) []*ie.IE {
		return fakesmf.UE{TEID: uint32(n), N3: "172.30.3.16", Addr: fmt.Sprintf("10.45.%d.%d", n/250, 1+n%250)}.Session()
	}
	want, others, passing := map[extension.Session]int{}, map[extension.Session]int{}, map[uint64]uint64{}
	n := 0
	establish := func(s *fakesmf.SMF) extension.Session {
		n++
		return extension.Session{CP: uint64(n), UP: s.Established(uint64(n), ue(n)...)}
	}
	for range 250 {
		switch rand.IntN(5) {
		case 0:
			others[establish(other)] = 1
		case 1:
			p := establish(s)
			passing[p.CP] = p.UP
		default:
			want[establish(s)] = 1
		}
	}
	got := list(t, s, func() { // some go and others come, in their places too
		for cp, up := range passing {
			fakesmf.WantCause(t, s.Delete(up).Cause, ie.CauseRequestAccepted)
			delete(passing, cp)
			p := establish(s)
			passing[p.CP] = p.UP
			break
		}
	})
	for session, times := range got {
		if want[session] == 0 && times == 1 && others[session] == 0 {
			delete(got, session) // of those that came and went
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions that were there all the time (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(others, list(t, other, func() {})); diff != "" {
		t.Errorf("the other CP function's (-want +got):\n%s", diff)
	}
	if b := biggest.Load(); b < 1100 || b > 1232 {
		t.Errorf("the biggest answer has %d octets: it should use a datagram over IPv6's least MTU (1232), and fit it", b)
	}
	if p := page(t, s, 1<<63); p.Next != 0 || len(p.Sessions) != 0 {
		t.Errorf("beyond the end there is %+v", p)
	}
}

func ptr[T any](v T) *T { return &v }

// listRefused is the cause with which a list is refused.
func listRefused(t *testing.T, s *fakesmf.SMF) uint8 {
	t.Helper()
	a, ok := s.Ask(message.NewAssociationUpdateRequest(s.NextSeq(), s.Node(), extension.NewListSessions(0))).(*message.AssociationUpdateResponse)
	if !ok {
		t.Fatal("no Association Update Response")
	}
	c, err := a.Cause.Cause()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A cursor that is cut short is refused, and the association goes on.
func TestListThatIsRefused(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	a, ok := s.Ask(message.NewAssociationUpdateRequest(s.NextSeq(), s.Node(), ie.NewVendorSpecificIE(extension.ListSessions, extension.Enterprise, []byte{1}))).(*message.AssociationUpdateResponse)
	if !ok {
		t.Fatal("no Association Update Response")
	}
	fakesmf.WantCause(t, a.Cause, ie.CauseInvalidLength)
	s.Established(1, fakesmf.Phone.Session()...)
}
