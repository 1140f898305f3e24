package sessions

import (
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/session-management/n1"
)

func TestPing(t *testing.T) {
	p := flowing(t)
	s := begin(t, p)
	six, both := internet(2), internet(3)
	six.Type, both.Type = n1.IPv6, n1.IPv4v6
	four := ue.SessionConfig{PSI: 4, Slice: slice1, DNN: "only4", Type: n1.IPv4v6}
	alone := ue.SessionConfig{PSI: 5, Slice: slice1, DNN: "only6", Type: n1.IPv4v6}
	u := s.attach(1, internet(1), six, both, four, alone)
	u.pings4(1)
	u.pings6(2)
	u.pings4(3)
	u.pings6(3)
	u.pings4(4)
	u.pings6(5)
	if x := u.session(4); x.Type != "IPv4" || !strings.Contains(x.Cause, "#50") {
		t.Errorf("where there is IPv4 alone: %+v", x)
	}
	if x := u.session(5); x.Type != "IPv6" || !strings.Contains(x.Cause, "#51") {
		t.Errorf("where there is IPv6 alone: %+v", x)
	}
}

func TestIdleAndBack(t *testing.T) {
	s := begin(t, flowing(t))
	u := s.attach(1, internet(1))
	u.pings4(1)
	u.must(u.Idle(s.ctx))
	s.amf.WaitTrace("session 1 DEACTIVATED: 200", 1)
	u.must(u.ServiceRequest(s.ctx))
	u.pings4(1)
}

// Packets for an idle UE wait, page it, and come, all of them, in their order.
func TestPaging(t *testing.T) {
	p := flowing(t)
	s := begin(t, p)
	u := s.attach(1, internet(1))
	u.pings4(1)
	x := p.stream(u, 1)
	for range 3 {
		n := s.count("session 1 DEACTIVATED: 200")
		u.must(u.Idle(s.ctx))
		s.until("the SMF's word", func() bool { return s.count("session 1 DEACTIVATED: 200") > n })
		for range 20 {
			x.send()
		}
		u.wait("the paging", func(st ue.Status) bool { return st.CM == "connected" })
		x.whole()
	}
}

// A UE that does not hear its paging is paged again, by packets that come when those before have waited too long.
func TestPagingAgain(t *testing.T) {
	p := flowing(t)
	p.limits = ", buffer_duration_s: 2"
	s := begin(t, p)
	u := s.attach(1, internet(1))
	u.pings4(1)
	x := p.stream(u, 1)
	u.must(u.Behave(s.ctx, ue.Behaviour{IgnorePaging: true}))
	u.must(u.Idle(s.ctx))
	s.amf.WaitTrace("session 1 DEACTIVATED: 200", 1)
	x.send()
	s.amf.WaitTrace("session 1: failure notified: 204", 1)
	u.must(u.Behave(s.ctx, ue.Behaviour{}))
	s.until("a second paging", func() bool {
		x.send()
		time.Sleep(50 * time.Millisecond) // packets come and come
		return u.Status().CM == "connected"
	})
	u.wait("the tunnel", func(ue.Status) bool { return u.session(1).Up })
	before := x.missing()
	x.during(func() { time.Sleep(50 * time.Millisecond) })
	s.until("all packets since", func() bool { return x.missing() <= before })
}

// A gNB dies and comes back with no memory, and its AMF tells nobody: the first packet is answered with an Error Indication, and
// the next ones page the UE.
func TestGNBDies(t *testing.T) {
	p := flowing(t)
	s := begin(t, p)
	s.amf.Set(fakeamf.Knobs{SilentLoss: true})
	u := s.attach(1, internet(1))
	u.pings4(1)
	x := p.stream(u, 1)
	s.gnbs[0].Remove(u.UE) // it is in the cell, and does not say so
	u.must(s.gnbs[0].Die(false))
	u.wait("the loss", func(st ue.Status) bool { return st.CM == "idle" })
	u.must(s.gnbs[0].Revive())
	s.amf.WaitTrace("NG Setup Request", 3)
	s.until("the cell", func() bool { return s.gnbs[0].Status().State == "connected" })
	u.must(u.Behave(s.ctx, ue.Behaviour{}))
	s.gnbs[0].Add(u.UE)
	x.send()
	s.until("the paging", func() bool {
		x.send()
		time.Sleep(50 * time.Millisecond)
		return s.count("session 1: transfer PDU_RES_SETUP_REQ") > 0
	})
	u.wait("the UE", func(st ue.Status) bool { return st.CM == "connected" })
	before := x.missing()
	x.during(func() { time.Sleep(50 * time.Millisecond) })
	s.until("packets", func() bool { return x.missing() <= before })
}

func TestHandovers(t *testing.T) {
	for name, move := range map[string]func(*story, *phone, int) (gnb.HandoverResult, error){
		"Xn": func(s *story, u *phone, to int) (gnb.HandoverResult, error) {
			return u.Connection().HandOverXn(s.ctx, s.gnbs[to], gnb.HandoverOptions{})
		},
		"N2 with direct forwarding": func(s *story, u *phone, to int) (gnb.HandoverResult, error) {
			return u.Connection().HandOverN2(s.ctx, uint32(to+1), gnb.HandoverOptions{})
		},
		indirect: func(s *story, u *phone, to int) (gnb.HandoverResult, error) {
			return u.Connection().HandOverN2(s.ctx, uint32(to+1), gnb.HandoverOptions{Indirect: true})
		},
		"N2 without forwarding: the UPF keeps the packets": func(s *story, u *phone, to int) (gnb.HandoverResult, error) {
			return u.Connection().HandOverN2(s.ctx, uint32(to+1), gnb.HandoverOptions{NoForwarding: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := flowing(t)
			s := begin(t, p)
			u := s.attach(1, internet(1))
			u.pings4(1)
			x := p.stream(u, 1)
			x.during(func() {
				for n := range 4 {
					time.Sleep(20 * time.Millisecond)
					res, err := move(s, u, 1-n%2)
					if err != nil {
						t.Errorf("handover %d: %v", n, err)
						return
					}
					if name == indirect && res.Forwarding != "indirect" {
						t.Errorf("handover %d: %+v", n, res)
					}
				}
				time.Sleep(20 * time.Millisecond)
			})
			x.whole()
			u.pings4(1)
		})
	}
}

// indirect forwarding is offered, and used.
const indirect = "N2 with indirect forwarding"

// A handover that is given up leaves the UE where it is.
func TestHandoverCancelled(t *testing.T) {
	p := flowing(t)
	s := begin(t, p)
	u := s.attach(1, internet(1))
	u.pings4(1)
	x := p.stream(u, 1)
	x.during(func() {
		for _, when := range []string{gnb.CancelRequired, gnb.CancelCommand} {
			res, err := u.Connection().HandOverN2(s.ctx, 2, gnb.HandoverOptions{Cancel: when})
			if err != nil || !res.Cancelled {
				t.Errorf("cancelled %s: %+v, %v", when, res, err)
			}
		}
		s.amf.WaitTrace("session 1 CANCELLED: 200", 2)
	})
	x.whole()
	s.gnbs[1].Behave(gnb.Behaviour{RefuseHandover: true})
	x.during(func() {
		if _, err := u.Connection().HandOverN2(s.ctx, 2, gnb.HandoverOptions{}); err == nil {
			t.Error("a handover that the target refused")
		}
	})
	x.whole()
}
