package agent_test

import (
	"bytes"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// withCPFunctions says that the scripted SMFs are CP functions of one operator.
func withCPFunctions(c *config.Config) {
	c.PFCP.ControlPlaneSubnets = []netip.Prefix{netip.MustParsePrefix("127.77.0.0/16")}
}

// establishment is an instance's request in the name of node.
func establishment(instance, node *fakesmf.SMF, cpSEID uint64, session ...*ie.IE) message.Message {
	return message.NewSessionEstablishmentRequest(0, 0, 0, instance.NextSeq(), 0,
		append([]*ie.IE{node.Node(), ie.NewFSEID(cpSEID, net.IP(node.Addr.AsSlice()), nil)}, session...)...)
}

// answered is the cause of an answer to an establishment, and all of its IEs.
func answered(t *testing.T, s *fakesmf.SMF, m message.Message) (*message.SessionEstablishmentResponse, []byte) {
	t.Helper()
	a, ok := s.Ask(m).(*message.SessionEstablishmentResponse)
	if !ok {
		t.Fatal("no Session Establishment Response")
	}
	b := make([]byte, a.MarshalLen())
	if err := a.MarshalTo(b); err != nil {
		t.Fatal(err)
	}
	return a, b[16:]
}

// chooses is a session whose F-TEID and UE address the UPF chooses.
func chooses() []*ie.IE {
	uplink := ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewOuterHeaderRemoval(0, 0),
		ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x05, 0, nil, nil, 0), ie.New(ie.UEIPAddress, []byte{0x10})))
	return []*ie.IE{ie.NewPDNType(1), coreFAR(1), uplink, downlinkPDR(2, ie.New(ie.UEIPAddress, []byte{0x14}))}
}

// ready waits until upf-u is filled.
func (l *lab) ready() {
	l.t.Helper()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.agent.Ready() == nil }); err != nil {
		l.t.Fatal(err)
	}
}

// The next instance of a CP function asks again for what the one before it may have had: from another address, with
// another sequence number.
func TestEstablishmentThatAnotherInstanceRepeats(t *testing.T) {
	for name, meanwhile := range map[string]func(l *lab, first *fakesmf.SMF, seid uint64){
		"at once":          func(*lab, *fakesmf.SMF, uint64) {},
		"upf-c began anew": func(l *lab, _ *fakesmf.SMF, _ uint64) { l.restartAgent() },
		"upf-u began anew": func(l *lab, _ *fakesmf.SMF, _ uint64) { l.upfu.Kill(); l.saved(); l.startUPFU(); l.ready() },
		"both began anew": func(l *lab, _ *fakesmf.SMF, _ uint64) {
			l.upfu.Kill()
			l.saved()
			l.stop()
			l.startUPFU()
			l.startAgent()
		},
		"the session was modified": func(l *lab, first *fakesmf.SMF, seid uint64) {
			fakesmf.WantCause(l.t, first.Modify(seid, ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(0x01))).Cause, ie.CauseRequestAccepted)
		},
	} {
		for sort, session := range map[string][]*ie.IE{"given": fakesmf.Phone.Session(), "chosen": chooses()} {
			t.Run(sort+", "+name, func(t *testing.T) {
				l := newLab(t, func(c *config.Config) { withPools(c); withCPFunctions(c) })
				first, next := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
				first.Associate()
				made, want := answered(t, first, establishment(first, first, 7, session...))
				fakesmf.WantCause(t, made.Cause, ie.CauseRequestAccepted)
				f, err := made.UPFSEID.FSEID()
				if err != nil {
					t.Fatal(err)
				}
				index, _ := l.only()

				meanwhile(l, first, f.SEID)
				first.To, next.To = l.addr, l.addr
				for range 2 {
					_, again := answered(t, next, establishment(next, first, 7, session...))
					if !bytes.Equal(want, again) {
						t.Errorf("first answer\n% x, then\n% x", want, again)
					}
				}
				if now, _ := l.only(); now != index {
					t.Errorf("the session has index %d, had %d", now, index)
				}
			})
		}
	}
}

func TestAnotherSessionUnderTheSameCPFSEID(t *testing.T) {
	l := newLab(t, nil)
	s, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	s.Associate()
	other.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	_, before := l.only()
	second := fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}

	for name, session := range map[string][]*ie.IE{
		"with other rules":            second.Session(),
		"with the same F-TEID":        fakesmf.UE{TEID: fakesmf.Phone.TEID, N3: "172.30.3.16", Addr: "10.45.0.3"}.Session(),
		"with one IE more":            append(fakesmf.Phone.Session(), ie.NewCreateBAR(ie.NewBARID(3))),
		"whose rules nobody can read": {coreFAR(1), ie.NewCreatePDR()},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.Establish(7, session...)
			fakesmf.WantCause(t, a.Cause, ie.CauseMandatoryIEIncorrect)
			fakesmf.WantOffending(t, a.OffendingIE, ie.FSEID)
			_, after := l.only()
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the session has changed (-before +after):\n%s", diff)
			}
		})
	}

	// The name is the CP function's own, and free again when its session ends.
	other.Established(7, second.Session()...)
	fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseRequestAccepted)
	s.Established(7, fakesmf.UE{TEID: 3, N3: "172.30.3.16", Addr: "10.45.0.3"}.Session()...)
}

// A session that another CP function took over has another name, and its old one is free.
func TestNameOfASessionThatWasTakenOver(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	fakesmf.WantCause(t, s.Modify(seid, ie.NewFSEID(8, net.IP(s.Addr.AsSlice()), nil)).Cause, ie.CauseRequestAccepted)
	fakesmf.WantCause(t, s.Establish(8, fakesmf.UE{TEID: 3, N3: "172.30.3.16", Addr: "10.45.0.3"}.Session()...).Cause, ie.CauseMandatoryIEIncorrect)
	s.Established(7, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)
}

// Two instances ask at once: one session is made, both are told of it.
func TestEstablishmentThatIsRepeatedWhileItIsExecuted(t *testing.T) {
	l := newLab(t, func(c *config.Config) { withPools(c); withCPFunctions(c) })
	first, next := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	first.Associate()
	l.upfu.Hold(true)
	first.Write(establishment(first, first, 7, chooses()...))
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 1 }); err != nil {
		t.Fatalf("upf-u has not got the session: %v", err)
	}
	next.Write(establishment(next, first, 7, chooses()...))
	fakesmf.WantCause(t, first.Modify(100, fakesmf.Idle).Cause, ie.CauseSessionContextNotFound) // what came before it has been looked at
	if n := len(l.upfu.Sessions()); n != 1 {
		t.Errorf("%d sessions while the first request is executed, want 1", n)
	}
	l.upfu.Hold(false)
	var answers [2]*message.SessionEstablishmentResponse
	for i, s := range []*fakesmf.SMF{first, next} {
		a, ok := s.Answer().(*message.SessionEstablishmentResponse)
		if !ok {
			t.Fatal("no Session Establishment Response")
		}
		fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
		answers[i] = a
	}
	if diff := cmp.Diff(answers[0].UPFSEID.Payload, answers[1].UPFSEID.Payload); diff != "" {
		t.Errorf("two UP F-SEIDs (-first +next):\n%s", diff)
	}
	l.only()
}
