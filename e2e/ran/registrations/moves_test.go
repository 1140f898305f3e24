package registrations

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/ue"
)

// same fails where a UE has noticed something: it was rejected, has registered anew, or has another session.
func (p *phone) same(x ue.Status) {
	p.s.t.Helper()
	y := p.ready()
	if y.Counters.Registrations != x.Counters.Registrations || y.Counters.Rejects+y.Counters.MACFailures != 0 ||
		y.Sessions[0].Address != x.Sessions[0].Address {
		p.s.t.Errorf("the UE was %+v, and is %+v", x, y)
	}
}

// A worker that is drained gives its shards up while UEs come and go.
func TestAWorkerIsDrained(t *testing.T) {
	s := begin(t)
	phones := []*phone{s.attach(1), s.attach(2), s.attach(3)}
	s.startWorker()
	var were []ue.Status
	busy := make(chan error, len(phones))
	for _, p := range phones {
		were = append(were, p.Status())
		go func() {
			for range 10 {
				if err := p.Idle(s.ctx); err != nil {
					busy <- err
					return
				}
				if err := p.ServiceRequest(s.ctx); err != nil {
					busy <- err
					return
				}
			}
			busy <- nil
		}()
	}
	s.living()[0].drain()
	for range phones {
		if err := <-busy; err != nil {
			t.Error(err)
		}
	}
	for n, p := range phones {
		p.same(were[n])
	}
}

// A worker that is drained while a UE comes that nobody knows yet holds its shard until it does: the UE says nothing twice.
func TestAWorkerIsDrainedAroundAStranger(t *testing.T) {
	s := begin(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	var others atomic.Bool
	hold := func() {
		if others.Swap(true) {
			return
		}
		close(asked)
		select {
		case <-answer:
		case <-s.ctx.Done():
		}
	}
	s.beforeAUSF.Store(&hold)
	p := s.switchOn(1, func(c *ue.Config) { c.Timers.T3510 = patience })
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("nobody asks for a challenge")
	}
	was, next := s.living()[0], s.startWorker()
	drained := make(chan struct{})
	go func() {
		was.drain()
		close(drained)
	}()
	s.until("it gives up all shards but that of the UE", func() bool {
		n := 0
		for shard := range uint16(shardCount) {
			if next.Holds(shard + 1) {
				n++
			}
		}
		return n == shardCount-1
	})
	other := s.attach(2)
	select {
	case <-drained:
		t.Error("it has ended before it knew its UE")
	default:
	}
	close(answer)
	if x := p.ready(); x.Counters.Registrations != 1 || x.Counters.Rejects+x.Counters.Releases != 0 {
		t.Errorf("the UE is %+v", x)
	}
	<-drained
	for _, p := range []*phone{p, other} {
		p.same(p.Status())
		p.must(p.again())
	}
}

// The connection between a worker and a terminator breaks, and comes back: what was said meanwhile is said again.
func TestALinkIsCut(t *testing.T) {
	s := begin(t)
	p := s.attach(1)
	x := p.Status()
	w := s.living()[0]
	w.cutLinks(true)
	idle := make(chan error, 1)
	go func() { idle <- p.Idle(s.ctx) }() // it waits in the terminator
	w.cutLinks(false)
	p.must(<-idle)
	w.cutLinks(false)
	p.must(p.ServiceRequest(s.ctx))
	p.same(x)
}

// A terminator dies, with all associations: its gNBs come to the next one, and their UEs come back without registering anew.
func TestATerminatorDies(t *testing.T) {
	s := begin(t)
	phones := []*phone{s.attach(1), s.attach(2)}
	x := []ue.Status{phones[0].Status(), phones[1].Status()}
	s.terminators[0].kill()
	next := s.startTerminator()
	for n, p := range phones {
		s.until("the AMF to know that the connection is gone", func() bool {
			at := s.kept(n + 1).N2
			return at == nil || at.Terminator == next.name
		})
		s.until("the UE to be served again", func() bool { // its gNB lets go of it
			at := s.kept(n + 1).N2
			return p.ServiceRequest(s.ctx) == nil && at != nil && at.Terminator == next.name
		})
		p.same(x[n])
	}
	phones[0].idle()
	s.packet()
	phones[0].paged()
	phones[0].same(x[0])
}

// A terminator dies, and the gNBs keep their UEs until they are back: these notice nothing, and downlink packets are on their way all the time.
func TestAGNBRetainsItsUEs(t *testing.T) {
	t.Parallel()
	s := beginOn(t, inMemory(), gnb.Retain, 2*time.Minute)
	s.startWorker()
	phones := []*phone{s.attach(1), s.attach(2)}
	var were []ue.Status
	for _, p := range phones {
		were = append(were, p.Status())
	}
	s.terminators[0].kill()
	for n := range phones {
		s.until("the AMF to know that the association is lost", func() bool { return s.kept(n + 1).N2.Lost })
	}
	if !s.connected() {
		t.Error("packets wait in the UPF")
	}
	next := s.startTerminator()
	for n, p := range phones {
		s.until("the UE to be where it was", func() bool {
			at := s.kept(n + 1).N2
			return at == nil || at.Terminator == next.name && !at.Lost
		})
		if s.kept(n+1).N2 == nil || !s.connected() {
			t.Errorf("UE %d is idle", n+1)
		}
		if x := p.Status(); x.CM != "connected" || x.Counters.ServiceRequests != were[n].Counters.ServiceRequests {
			t.Errorf("the UE was %+v, and is %+v", were[n], x)
		}
	}
	s.connects() // the AMF has its UEs back before the gNBs have their answers
	for n, p := range phones {
		p.must(p.Idle(s.ctx))
		p.must(p.ServiceRequest(s.ctx))
		p.same(were[n])
	}
}

// Requests come to a worker that does not hold the UE's shard, and are passed on.
func TestRequestsArePassedOn(t *testing.T) {
	s := begin(t)
	p := s.attach(1)
	p.idle()
	holder := s.holder(1)
	other := s.startWorker()
	s.mu.Lock()
	s.workers = []*amfWorker{other, holder} // who calls the AMF comes to the first
	s.mu.Unlock()
	s.client.CloseIdleConnections()
	s.packet()
	p.paged()
	if n := counted(t, other, "core5g_amf_passed_on_total"); n == 0 && s.holder(1) == holder {
		t.Error("nothing was passed on")
	}
	p.must(p.Deregister(s.ctx, false))
	s.until("nothing of the UE", func() bool { return s.kept(1) == nil && len(s.upfu.Sessions()) == 0 })
}

// A UE that is switched off and on comes to a shard of another worker than before. Whichever worker the SMF asks, and whatever that remembers, the first transfer
// arrives: none is told to come again.
func TestAUEComesToAnotherWorker(t *testing.T) {
	s := begin(t)
	s.startWorker()
	s.until("both workers to have shards, and to know who has the others", func() bool {
		return !slices.ContainsFunc(s.living(), func(w *amfWorker) bool {
			return !slices.ContainsFunc([]uint16{1, 2, 3, 4}, w.Holds) || w.Ready() != nil
		})
	})
	p := s.attach(1)
	holder, moves := s.holder(1), 0
	for round := 0; moves < 4; round++ {
		if round == 60 {
			t.Fatalf("in %d rounds it has come to another worker %d times", round, moves)
		}
		p.must(p.Deregister(s.ctx, false))
		s.until("nothing of the UE", func() bool { return s.kept(1) == nil })
		p.must(p.Register(s.ctx))
		p.ready()
		if is := s.holder(1); is != holder {
			holder, moves = is, moves+1
		}
	}
	for _, w := range s.living() {
		if n := counted(t, w, "core5g_sbi_requests_total", "status", "503"); n != 0 {
			t.Errorf("%s has told %v requests to come again", w.name, n)
		}
	}
}

// counted is the sum of a metric of a worker, of those with these labels, names and values in turn.
func counted(t *testing.T, w *amfWorker, name string, labels ...string) (sum float64) {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.Metric {
				if !labelled(m, labels) {
					continue
				}
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func labelled(m *dto.Metric, labels []string) bool {
	for pair := range slices.Chunk(labels, 2) {
		if !slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == pair[0] && l.GetValue() == pair[1] }) {
			return false
		}
	}
	return true
}
