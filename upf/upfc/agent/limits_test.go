package agent_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

func TestLimitOfSessions(t *testing.T) {
	l := newLab(t, func(c *config.Config) { c.Limits.Sessions = 2 })
	s := fakesmf.New(t, l.addr)
	s.Associate()
	ue := func(n int) fakesmf.UE {
		return fakesmf.UE{TEID: uint32(n), N3: "172.30.3.16", Addr: fmt.Sprintf("10.45.0.%d", n)}
	}
	first := s.Established(1, ue(1).Session()...)
	s.Established(2, ue(2).Session()...)
	fakesmf.WantCause(t, s.Establish(3, ue(3).Session()...).Cause, ie.CauseNoResourcesAvailable)
	fakesmf.WantCause(t, s.Delete(first).Cause, ie.CauseRequestAccepted)
	s.Established(3, ue(3).Session()...)
}

func TestLimitOfAssociations(t *testing.T) {
	l := newLab(t, func(c *config.Config) { c.Limits.Associations = 1 })
	one, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	one.Associate()
	a, ok := other.Ask(message.NewAssociationSetupRequest(other.NextSeq(), other.Node(), ie.NewRecoveryTimeStamp(other.Recovery))).(*message.AssociationSetupResponse)
	if !ok {
		t.Fatal("no Association Setup Response")
	}
	fakesmf.WantCause(t, a.Cause, ie.CauseNoResourcesAvailable)
	one.Associate() // again: it has its place
}

// Requests of one session wait for each other; more of them than may wait are refused, and what was
// refused is executed when it is repeated later.
func TestLimitOfRequests(t *testing.T) {
	// One waits behind each that runs; and the data plane may be away for as long as a busy machine takes.
	l := newLab(t, func(c *config.Config) { c.Limits.Requests, c.PFCP.DataplaneWait = 128, time.Minute })
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(1, fakesmf.Phone.Session()...)
	l.upfu.Silence(true)
	request := func() message.Message {
		return message.NewSessionModificationRequest(0, 0, seid, s.NextSeq(), 0, fakesmf.Phone.GNB(7, "172.30.3.100"))
	}
	refused := map[uint32]message.Message{}
	asked := map[uint32]message.Message{}
	for len(refused) == 0 {
		r := request()
		asked[r.Sequence()] = r
		s.Write(r)
		if len(asked) < 3 {
			continue
		}
		a, ok := s.Answer().(*message.SessionModificationResponse)
		if !ok {
			t.Fatal("no Session Modification Response")
		}
		fakesmf.WantCause(t, a.Cause, ie.CausePFCPEntityInCongestion)
		refused[a.Sequence()] = asked[a.Sequence()]
	}
	l.upfu.Silence(false)
	l.upfu.Disconnect() // what was under way is asked again on the next connection
	for range len(asked) - len(refused) {
		a, ok := s.Answer().(*message.SessionModificationResponse)
		if !ok {
			t.Fatal("no Session Modification Response")
		}
		fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	}
	for _, r := range refused {
		a, ok := s.Ask(r).(*message.SessionModificationResponse)
		if !ok {
			t.Fatal("no Session Modification Response")
		}
		fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	}
}
