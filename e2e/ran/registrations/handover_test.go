package registrations

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"

	"core5g.dev/core5g/e2e/ran/gnb"
	amfrecord "core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/upf/abi"
)

// sendsTo says whether the packets of all sessions go to a gNB.
func (s *story) sendsTo(n int) bool {
	address := s.n3s[n].Address().As4()
	for _, x := range s.upfu.Sessions() {
		there := false
		for _, f := range x.FARs {
			there = there || f.DestinationInterface == abi.IfAccess && uint32(f.Action) == abi.FarForw && bytes.Contains(f.PeerAddr[:], address[:])
		}
		if !there {
			return false
		}
	}
	return true
}

// A UE goes to and fro between gNBs of two tracking areas, in each of the ways: its packets go where it is, and the gNB that it has left lets go of it.
func TestAUEIsHandedOver(t *testing.T) {
	for name, move := range map[string]func(*phone, int) (gnb.HandoverResult, error){
		"by Xn": func(p *phone, to int) (gnb.HandoverResult, error) {
			return p.Connection().HandOverXn(p.s.ctx, p.s.gnbs[to], gnb.HandoverOptions{})
		},
		"by N2, packets are forwarded": func(p *phone, to int) (gnb.HandoverResult, error) {
			return p.Connection().HandOverN2(p.s.ctx, uint32(to+1), gnb.HandoverOptions{})
		},
		"by N2, packets are forwarded by the UPF": func(p *phone, to int) (gnb.HandoverResult, error) {
			return p.Connection().HandOverN2(p.s.ctx, uint32(to+1), gnb.HandoverOptions{Indirect: true})
		},
		"by N2, packets wait in the UPF": func(p *phone, to int) (gnb.HandoverResult, error) {
			return p.Connection().HandOverN2(p.s.ctx, uint32(to+1), gnb.HandoverOptions{NoForwarding: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			p := s.attach(1)
			was := p.Status()
			for n := range 4 {
				to := 1 - n%2
				res, err := move(p, to)
				if err != nil {
					t.Fatalf("handover %d: %v, %+v", n, err, res)
				}
				s.until("the UPF to send there", func() bool { return s.sendsTo(to) })
				s.until("the AMF to have it there alone", func() bool {
					rec := s.kept(1)
					return rec.N2 != nil && rec.N2.GNB == amfrecord.GNBName("20893", uint32(to+1), 24) && len(rec.Left) == 0 && rec.Handover == nil && !rec.Sessions[0].Arriving
				})
			}
			p.same(was)
		})
	}
}

// The UE has arrived by a handover, the SMF does not take that, and the worker dies. The next one says so until the SMF has taken it: the UE notices nothing.
func TestAWorkerDiesBeforeTheSMFHasHeardOfAnArrival(t *testing.T) {
	s := begin(t)
	p := s.attach(1)
	was := p.Status()
	s.startWorker()
	var away atomic.Bool
	var came atomic.Int32
	away.Store(true)
	refuse := func(out http.ResponseWriter, r *http.Request) bool {
		if !says(r, "COMPLETED") || !away.Load() {
			return false
		}
		came.Add(1)
		out.WriteHeader(http.StatusInternalServerError)
		return true
	}
	s.refuse.Store(&refuse)
	if res, err := p.Connection().HandOverN2(s.ctx, 2, gnb.HandoverOptions{NoForwarding: true}); err != nil {
		t.Fatalf("%v, %+v", err, res)
	}
	s.until("the SMF to be told", func() bool { return came.Load() > 0 })
	if !s.kept(1).Sessions[0].Arriving {
		t.Error("what the SMF has not heard is in no record")
	}
	s.holder(1).kill()
	told := came.Load()
	s.until("the SMF to be told by the next worker", func() bool { return came.Load() > told })
	away.Store(false)
	s.until("the UPF to send there", func() bool { return s.sendsTo(1) })
	s.until("the AMF to know that the SMF knows", func() bool { return !s.kept(1).Sessions[0].Arriving })
	p.same(was)
}
