package agent_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// setup asks for an association in the name of node.
func setup(t *testing.T, s *fakesmf.SMF, node *ie.IE, recovery time.Time, more ...*ie.IE) *ie.IE {
	t.Helper()
	m := message.NewAssociationSetupRequest(s.NextSeq(), append([]*ie.IE{node, ie.NewRecoveryTimeStamp(recovery)}, more...)...)
	a, ok := s.Ask(m).(*message.AssociationSetupResponse)
	if !ok {
		t.Fatal("no Association Setup Response")
	}
	return a.Cause
}

func released(t *testing.T, s *fakesmf.SMF, node *ie.IE) *ie.IE {
	t.Helper()
	a, ok := s.Ask(message.NewAssociationReleaseRequest(s.NextSeq(), node)).(*message.AssociationReleaseResponse)
	if !ok {
		t.Fatal("no Association Release Response")
	}
	return a.Cause
}

func TestStrangersAreRefused(t *testing.T) {
	l := newLab(t, nil)
	s, stranger := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	later := s.Recovery.Add(time.Hour)

	const no = ie.CauseNoEstablishedPFCPAssociation
	fakesmf.WantCause(t, stranger.Delete(seid).Cause, no)
	fakesmf.WantCause(t, stranger.Delete(12345).Cause, no)
	fakesmf.WantCause(t, stranger.Modify(seid, fakesmf.Idle).Cause, no)
	// In the name of another, who is alive.
	fakesmf.WantCause(t, setup(t, stranger, s.Node(), later), no)
	fakesmf.WantCause(t, setup(t, stranger, s.Node(), s.Recovery), no)
	fakesmf.WantCause(t, released(t, stranger, s.Node()), no)
	e, ok := stranger.Ask(message.NewSessionEstablishmentRequest(0, 0, 0, stranger.NextSeq(), 0, append([]*ie.IE{s.Node(),
		ie.NewFSEID(7, net.IP(stranger.Addr.AsSlice()), nil)}, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)...)).(*message.SessionEstablishmentResponse)
	if !ok {
		t.Fatal("no Session Establishment Response")
	}
	fakesmf.WantCause(t, e.Cause, no)
	sets, ok := stranger.Ask(message.NewSessionSetDeletionRequest(stranger.NextSeq(), s.Node(), ie.NewFQCSID("10.0.0.7", 1))).(*message.SessionSetDeletionResponse)
	if !ok {
		t.Fatal("no Session Set Deletion Response")
	}
	fakesmf.WantCause(t, sets.Cause, no)
	p, ok := stranger.Ask(message.NewPFDManagementRequest(stranger.NextSeq(), s.Node())).(*message.PFDManagementResponse)
	if !ok {
		t.Fatal("no PFD Management Response")
	}
	fakesmf.WantCause(t, p.Cause, no)
	u, ok := stranger.Ask(message.NewAssociationUpdateRequest(stranger.NextSeq(), s.Node())).(*message.AssociationUpdateResponse)
	if !ok {
		t.Fatal("no Association Update Response")
	}
	fakesmf.WantCause(t, u.Cause, no)

	// With an association of its own it has its own sessions, and no other's.
	stranger.Associate()
	fakesmf.WantCause(t, stranger.Delete(seid).Cause, ie.CauseSessionContextNotFound)
	fakesmf.WantCause(t, stranger.Delete(12345).Cause, ie.CauseSessionContextNotFound)
	fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseRequestAccepted)
}

func TestSuccessorFromAnotherAddress(t *testing.T) {
	anywhere := func(*config.Config) {}
	from := func(subnet string) func(c *config.Config) {
		return func(c *config.Config) { c.PFCP.ControlPlaneSubnets = []netip.Prefix{netip.MustParsePrefix(subnet)} }
	}
	for name, tt := range map[string]struct {
		edit    func(*config.Config)
		before  func(s *fakesmf.SMF) // what becomes of the predecessor
		release bool
		want    uint8
	}{
		"its predecessor is alive":             {anywhere, func(*fakesmf.SMF) {}, false, ie.CauseNoEstablishedPFCPAssociation},
		"its predecessor is gone":              {anywhere, func(s *fakesmf.SMF) { s.Mute.Store(true) }, false, ie.CauseRequestAccepted},
		"it has taken the Node ID's address":   {anywhere, func(s *fakesmf.SMF) { next := s.Recovery.Add(time.Minute); s.Successor.Store(&next) }, false, ie.CauseRequestAccepted},
		"it is known as a CP function":         {from("127.77.0.0/16"), func(*fakesmf.SMF) {}, false, ie.CauseRequestAccepted},
		"it is none":                           {from("127.78.0.0/16"), func(s *fakesmf.SMF) { s.Mute.Store(true) }, false, ie.CauseNoEstablishedPFCPAssociation},
		"a release of who is gone":             {anywhere, func(s *fakesmf.SMF) { s.Mute.Store(true) }, true, ie.CauseRequestAccepted},
		"a release of who is alive":            {anywhere, func(*fakesmf.SMF) {}, true, ie.CauseNoEstablishedPFCPAssociation},
		"a release by a CP function of others": {from("127.77.0.0/16"), func(*fakesmf.SMF) {}, true, ie.CauseRequestAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			s, successor := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
			s.Associate()
			seid := s.Established(7, fakesmf.Phone.Session()...)
			l.edit = tt.edit
			l.restartAgent() // the association is of before the configuration, too
			s.To, successor.To = l.addr, l.addr
			successor.Recovery = s.Recovery.Add(time.Minute)
			tt.before(s)
			if tt.release {
				fakesmf.WantCause(t, released(t, successor, s.Node()), tt.want)
			} else {
				fakesmf.WantCause(t, setup(t, successor, s.Node(), successor.Recovery, ie.NewPFCPSessionRetentionInformation(nil)), tt.want)
			}
			want := 1
			if tt.want == ie.CauseRequestAccepted { // it is newer, so the sessions go
				want = 0
			}
			if n := len(l.upfu.Sessions()); n != want {
				t.Errorf("%d sessions, want %d", n, want)
			}
			if want == 1 && !s.Mute.Load() && !l.limits() {
				fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseRequestAccepted)
			}
		})
	}
}

func (l *lab) limits() bool { return len(l.config().PFCP.ControlPlaneSubnets) > 0 }

// TS 29.244 5.22: where CP functions are known by their addresses, one may go on with another's session.
func TestSessionsOfASetOfCPFunctions(t *testing.T) {
	l := newLab(t, func(c *config.Config) {
		c.PFCP.ControlPlaneSubnets = []netip.Prefix{netip.MustParsePrefix("127.77.0.0/16")}
	})
	s, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	fakesmf.WantCause(t, other.Modify(seid, fakesmf.Idle).Cause, ie.CauseNoEstablishedPFCPAssociation)
	other.Associate()
	m := other.Modify(seid, ie.NewFSEID(8, net.IP(other.Addr.AsSlice()), nil), fakesmf.Idle)
	fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
	index, _ := l.only()
	if err := l.upfu.DownlinkData(index, 2, 0); err != nil {
		t.Fatal(err)
	}
	if r := other.Report(); r.SEID() != 8 {
		t.Errorf("report for SEID %d, want 8", r.SEID())
	}
	fakesmf.WantCause(t, other.Delete(seid).Cause, ie.CauseRequestAccepted)
}

// One of pfcp.peers is asked at a Service's address; its own requests come from its own.
func TestPeerWhoseRequestsComeFromItsOwnAddress(t *testing.T) {
	service := fakesmf.New(t, netip.AddrPort{})
	l := newLab(t, func(c *config.Config) {
		c.PFCP.Peers = []config.Peer{{Host: service.Addr.String(), Port: 8805}}
	})
	pod, stranger := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	if _, ok := service.Other().(*message.AssociationSetupRequest); !ok {
		t.Fatal("no Association Setup Request")
	}
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.agent.Status().Associations) == 1 }); err != nil {
		t.Fatal(err)
	}
	establish := func(s *fakesmf.SMF, ue fakesmf.UE) *message.SessionEstablishmentResponse {
		t.Helper()
		a, ok := s.Ask(message.NewSessionEstablishmentRequest(0, 0, 0, s.NextSeq(), 0, append([]*ie.IE{service.Node(),
			ie.NewFSEID(7, net.IP(s.Addr.AsSlice()), nil)}, ue.Session()...)...)).(*message.SessionEstablishmentResponse)
		if !ok {
			t.Fatal("no Session Establishment Response")
		}
		return a
	}
	a := establish(pod, fakesmf.Phone)
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	f, err := a.UPFSEID.FSEID()
	if err != nil {
		t.Fatal(err)
	}
	l.restartAgent()
	pod.To, stranger.To = l.addr, l.addr
	fakesmf.WantCause(t, establish(stranger, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}).Cause, ie.CauseNoEstablishedPFCPAssociation)
	fakesmf.WantCause(t, pod.Modify(f.SEID, fakesmf.Idle).Cause, ie.CauseRequestAccepted)
}
