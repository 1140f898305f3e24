package agent_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// upf-c dies between upf-u's answer and its own. The CP function repeats the request, and is told what
// it would have been told; nothing happens twice.
func TestRepetitionThatAnEarlierUPFCExecuted(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()

	establishment := message.NewSessionEstablishmentRequest(0, 0, 0, s.NextSeq(), 0,
		append([]*ie.IE{s.Node(), ie.NewFSEID(7, net.IP(s.Addr.AsSlice()), nil)}, fakesmf.Phone.Session()...)...)
	established := func() uint64 {
		t.Helper()
		a, ok := s.Ask(establishment).(*message.SessionEstablishmentResponse)
		if !ok {
			t.Fatal("no Session Establishment Response")
		}
		fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
		f, err := a.UPFSEID.FSEID()
		if err != nil {
			t.Fatal(err)
		}
		return f.SEID
	}
	seid := established()
	l.restartAgent()
	s.To = l.addr
	if again := established(); again != seid {
		t.Errorf("the repeated establishment is answered with SEID %#x, want %#x", again, seid)
	}
	index, session := l.only()

	if err := l.upfu.Count(session.URRs[0].Slot, abi.Ul, 700, 1); err != nil {
		t.Fatal(err)
	}
	modification := message.NewSessionModificationRequest(0, 0, seid, s.NextSeq(), 0,
		fakesmf.Phone.GNB(0x100, "172.30.3.100"), ie.NewQueryURR(ie.NewURRID(1)))
	modified := func() {
		t.Helper()
		a, ok := s.Ask(modification).(*message.SessionModificationResponse)
		if !ok {
			t.Fatal("no Session Modification Response")
		}
		fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
		if total, _, _ := fakesmf.Volumes(t, a.UsageReport[0]); total != 700 {
			t.Errorf("%d octets are reported, want 700", total)
		}
		if seqn, err := a.UsageReport[0].URSEQN(); err != nil || seqn != 0 {
			t.Errorf("UR-SEQN %d (%v), want 0", seqn, err)
		}
	}
	modified()
	l.restartAgent()
	s.To = l.addr
	datagrams := l.upfu.Datagrams()
	modified()
	if n := l.upfu.Datagrams(); n != datagrams {
		t.Errorf("%d transactions for the repetition, want none", n-datagrams)
	}
	if now, _ := l.only(); now != index {
		t.Errorf("the session has index %d, had %d", now, index)
	}
	// The same sequence number with another content is another request.
	other := message.NewSessionModificationRequest(0, 0, seid, modification.Sequence(), 0, ie.NewQueryURR(ie.NewURRID(1)))
	a, ok := s.Ask(other).(*message.SessionModificationResponse)
	if !ok {
		t.Fatal("no Session Modification Response")
	}
	if seqn, err := a.UsageReport[0].URSEQN(); err != nil || seqn != 1 {
		t.Errorf("UR-SEQN %d (%v), want 1: another request was taken for the repetition", seqn, err)
	}
}

// Requests that travel to upf-u together do not fail together.
func TestOneOfManyIsRefused(t *testing.T) {
	l := newLab(t, nil)
	s, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	s.Associate()
	other.Associate()
	other.Established(1, fakesmf.Phone.Session()...)
	const n = 40
	good := map[uint32]bool{}
	for i := range n {
		ue := fakesmf.UE{TEID: uint32(100 + i), N3: "172.30.3.16", Addr: fmt.Sprintf("10.45.1.%d", i+1)}
		switch i % 4 {
		case 1:
			ue.TEID = fakesmf.Phone.TEID
		case 2:
			ue.Addr = fakesmf.Phone.Addr
		}
		m := message.NewSessionEstablishmentRequest(0, 0, 0, s.NextSeq(), 0,
			append([]*ie.IE{s.Node(), ie.NewFSEID(uint64(i+1), net.IP(s.Addr.AsSlice()), nil)}, ue.Session()...)...)
		good[m.Sequence()] = i%4 == 0 || i%4 == 3
		s.Write(m)
	}
	for range n {
		a, ok := s.Answer().(*message.SessionEstablishmentResponse)
		if !ok {
			t.Fatal("no Session Establishment Response")
		}
		if good[a.Sequence()] {
			fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
			continue
		}
		fakesmf.WantCause(t, a.Cause, ie.CauseRuleCreationModificationFailure)
		if a.FailedRuleID == nil {
			t.Error("the refusal names no rule")
		}
	}
	if got := len(l.upfu.Sessions()); got != 1+n/2 {
		t.Errorf("upf-u has %d sessions, want %d", got, 1+n/2)
	}
}
