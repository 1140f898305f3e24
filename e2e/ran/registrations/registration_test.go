package registrations

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
)

func TestAUERegistersAndGetsASession(t *testing.T) {
	s := begin(t)
	x := s.attach(1).Status()
	if len(x.Sessions) != 1 || !x.Sessions[0].Up || !strings.HasPrefix(x.Sessions[0].Address, "10.45.") {
		t.Errorf("the UE has %+v", x.Sessions)
	}
	if n := len(s.upfu.Sessions()); n != 1 {
		t.Errorf("upf-u has %d sessions", n)
	}
}

// A slice of the same SST without SD is another slice, with another pool.
func TestASliceWithoutSD(t *testing.T) {
	s := begin(t)
	p := s.switchOn(1, func(c *ue.Config) {
		c.Requested = []uenas.SNSSAI{bare}
		c.Sessions = []ue.SessionConfig{{PSI: 1, Slice: bare, DNN: "internet"}}
	})
	if x := p.ready(); len(x.Sessions) != 1 || !strings.HasPrefix(x.Sessions[0].Address, "10.46.") {
		t.Errorf("the UE has %+v", x.Sessions)
	}
	if rec := s.kept(1); len(rec.Allowed) != 1 || rec.Allowed[0].SST != bare.SST || rec.Allowed[0].SD != nil || rec.Sessions[0].Slice.SD != nil {
		t.Errorf("the AMF has %+v, and the session %+v", rec.Allowed, rec.Sessions[0])
	}
	p.must(p.Idle(s.ctx))
	s.until("the UPF to keep packets", func() bool { return s.buffers() == 1 })
	s.packet()
	p.paged()
}

// A UE calls for help: there is a session in a slice that it has not subscribed to, and the UDM knows nothing of it.
func TestASessionForEmergencyServices(t *testing.T) {
	s := begin(t)
	p := s.attach(1)
	p.must(p.Establish(s.ctx, ue.SessionConfig{PSI: 5, Slice: emergencies, Emergency: true}))
	s.until("the session", func() bool { return len(s.upfu.Sessions()) == 2 })
	s.until("the AMF to know it", func() bool {
		rec := s.kept(1)
		x := rec.Session(5)
		return x != nil && x.Emergency && x.Slice.SST == emergencies.SST && x.DNN == "sos" && x.Context != "" && x.Up
	})
	p.must(p.Deregister(s.ctx, false))
	s.until("nothing of the UE", func() bool { return s.kept(1) == nil && len(s.upfu.Sessions()) == 0 })
}

// idle lets a UE go idle, and its session wait in the UPF.
func (p *phone) idle() {
	p.s.t.Helper()
	p.must(p.Idle(p.s.ctx))
	p.s.until("the UPF to keep packets, and the AMF to know", func() bool {
		rec := p.s.kept(p.n)
		return p.s.buffers() == 1 && rec != nil && rec.N2 == nil && !rec.Sessions[0].Silent
	})
}

func TestAUEGoesIdleIsPagedAndLeaves(t *testing.T) { begin(t).comesAndGoes() }

func (s *story) comesAndGoes() {
	t := s.t
	t.Helper()
	p := s.attach(1)
	p.idle()
	if rec := s.kept(1); rec.N2 != nil {
		t.Errorf("the AMF takes the UE for connected at %+v", rec.N2)
	}
	was := p.Status().GUTI
	s.packet()
	x := p.paged()
	if x.Counters.ServiceRequests != 1 || !x.Sessions[0].Up {
		t.Errorf("the UE is %+v", x)
	}
	p.wait("another 5G-GUTI", func(x ue.Status) bool { return x.GUTI != was })
	s.until("the AMF to know that the UE has it", func() bool { return s.kept(1).OldTMSI == 0 })
	p.idle()
	p.must(p.ServiceRequest(s.ctx))
	p.must(p.Deregister(s.ctx, false))
	s.until("nothing of the UE", func() bool { return s.kept(1) == nil && len(s.upfu.Sessions()) == 0 })
	p.must(p.Register(s.ctx))
	p.ready()
	if x := p.Status(); x.Counters.Registrations != 2 || x.Counters.Rejects+x.Counters.MACFailures+x.Counters.NASDropped != 0 {
		t.Errorf("the UE has counted %+v", x.Counters)
	}
	p.must(p.Deregister(s.ctx, true))
	s.until("nothing of the UE that was switched off", func() bool { return s.kept(1) == nil && len(s.upfu.Sessions()) == 0 })
}

// An SMF that cannot give an idle UE its user plane now, since its shard moves, is asked again: the UE waits, and need not come again.
func TestAServiceRequestWhileTheSMFMoves(t *testing.T) {
	s := begin(t)
	p := s.attach(1)
	p.idle()
	was := p.Status().Counters
	var asked atomic.Int32
	moves := func(out http.ResponseWriter, r *http.Request) bool {
		if !says(r, "\"ACTIVATING\"") || asked.Add(1) > 1 {
			return false
		}
		out.Header().Set("Retry-After", "1")
		out.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	s.refuse.Store(&moves)
	p.must(p.ServiceRequest(s.ctx))
	s.until("the UPF to send to the access network", s.connected)
	if is := p.Status().Counters; asked.Load() != 2 || is.ServiceRequests != was.ServiceRequests+1 || is.Rejects != was.Rejects {
		t.Errorf("the SMF was asked %d times, the UE has heard %+v, %+v before", asked.Load(), is, was)
	}
}

// One packet comes for an idle UE, and the AMF has no time for it. The UPF, which says once that packets wait, does so again, since its report is not acknowledged.
func TestAnAMFThatIsLateStillPages(t *testing.T) {
	for sentence, c := range map[string]struct {
		status int
		cause  string
		times  int32
	}{
		"it has not done it in time":                       {http.StatusGatewayTimeout, "TIMED_OUT_REQUEST", 1},
		"it is busy with the UE, each time the SMF asks":   {http.StatusConflict, "TEMPORARY_REJECT_REGISTRATION_ONGOING", 5},
		"it has too much to do, for longer than SMFs wait": {http.StatusServiceUnavailable, "NF_CONGESTION", 8},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := begin(t)
			p := s.attach(1)
			p.idle()
			var came atomic.Int32
			refuse := func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/n1-n2-messages") || came.Add(1) > c.times {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = fmt.Fprintf(w, `{"error":{"status":%d,"cause":%q}}`, c.status, c.cause)
				return true
			}
			s.holder(1).refuse.Store(&refuse)
			s.packet()
			p.paged()
			if n := came.Load(); n != c.times+1 {
				t.Errorf("the SMF has asked %d times, want %d", n, c.times+1)
			}
		})
	}
}

func TestASubscriptionIsWithdrawn(t *testing.T) { begin(t).withdraws() }

// withdraws the subscription of a UE, which is barred: it is deregistered at once, and told why.
func (s *story) withdraws() {
	s.t.Helper()
	p := s.attach(1)
	s.subscribers(func(text string) string {
		return strings.Replace(text, "supi: "+supi(1)+",", "supi: "+supi(1)+", barred: true,", 1)
	})
	p.wait("deregistration", func(x ue.Status) bool { return x.State != "registered" })
	s.until("nothing of the UE", func() bool { return s.kept(1) == nil && len(s.upfu.Sessions()) == 0 })
	s.subscribers(func(text string) string { return strings.Replace(text, ", barred: true", "", 1) })
	s.until("the UE to be served again", func() bool { return p.Register(s.ctx) == nil })
	p.ready()
}
