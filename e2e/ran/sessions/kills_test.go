package sessions

import (
	"strconv"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/ue"
)

// holder of the shard.
func (s *story) holder() *pod {
	for _, p := range s.living() {
		if p.Held(shardName) != nil {
			return p
		}
	}
	return nil
}

// The pod that has a session's shard is killed at some moment of its establishment, and the other one goes on: the UE gets its
// session, and one that it had before stays.
func TestSMFDiesDuringEstablishment(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond, 8 * time.Millisecond} {
		t.Run(strconv.Itoa(int(after/time.Millisecond))+" ms after the request", func(t *testing.T) {
			p := &shown{}
			s := begin(t, p)
			s.startPod()
			u := s.switchOn(1, func(c *ue.Config) { c.Timers.T3580 = 8 * time.Second }, internet(1))
			u.ready()
			s.amf.WaitTrace("session 1 up", 1)
			address := u.session(1).Address
			established := make(chan error, 1)
			go func() { established <- u.Establish(s.ctx, internet(2)) }()
			s.amf.WaitTrace("PDU Session Establishment Request", 2)
			time.Sleep(after) // where it is then, is what differs
			s.holder().kill()
			s.until("the other pod", s.ready)
			if err := <-established; err != nil {
				u.must(u.Establish(s.ctx, internet(2))) // as a user would
			}
			u.wait("the new session", func(ue.Status) bool { x := u.session(2); return x.State == "active" && x.Up })
			if !testing.Short() { // what an answer to a dead pod has left in the UPF is looked for in the whole set
				s.until("no session too many", func() bool { return len(p.upfu.Sessions()) == 2 })
			}
			if x := u.session(1); x.Address != address || !x.Up {
				t.Errorf("the session that there was: %+v", x)
			}
			u.must(u.Idle(s.ctx))
			u.must(u.ServiceRequest(s.ctx))
			u.wait("both sessions", func(ue.Status) bool { return u.session(1).Up && u.session(2).Up })
		})
	}
}

// Packets flow while the SMF is killed, and while upf-c is; and flow again after upf-u is, at the same addresses and tunnels.
func TestKillsWithPackets(t *testing.T) {
	p := flowing(t)
	s := begin(t, p)
	s.startPod()
	u := s.attach(1, internet(1))
	u.pings4(1)
	// Else it is set up again at the gNB, by another tunnel: this AMF, unlike core5g's, brings an accept twice.
	s.amf.WaitTrace("session 1 up", 1)
	s.until("the SMF has heard of the tunnel", func() bool { return s.amf.Asking() == 0 })
	x := p.stream(u, 1)
	before := u.session(1)
	x.during(func() {
		s.holder().kill()
		s.until("the other pod", s.ready)
	})
	x.whole()
	x.during(func() {
		p.killC()
		p.startUPFC()
	})
	x.whole()
	p.killUPFU()
	p.startUPFU()
	u.pings4(1)
	after := u.session(1)
	if after.Address != before.Address || after.TEIDUL != before.TEIDUL || after.TEIDDL != before.TEIDDL {
		t.Errorf("the session was %+v, and is %+v", before, after)
	}
	u.must(u.Idle(s.ctx))
	u.must(u.ServiceRequest(s.ctx))
	u.pings4(1)
}
