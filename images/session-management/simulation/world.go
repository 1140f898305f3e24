package simulation

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
)

const slice, dnn, nodeID = "internet", "internet", "upf-0"

// world is everything.
type world struct {
	*clock
	log    *slog.Logger
	store  *memory.Store
	sealer *sessionstore.Sealer
	config *configuration.Snapshot
	unit   *unit
	pods   []*pod
	ues    []*ue

	// faults: the world is unkind.
	faults    bool
	storeAway time.Time

	tokens  procedure.Token
	waiting map[procedure.Token]waiting
	orphans int

	ended map[string]int
	story []string
	wrong error
}

func newWorld(seed uint64, ues int) (*world, error) {
	w := &world{clock: newClock(seed), log: slog.New(slog.DiscardHandler), unit: newUnit(), faults: true, ended: map[string]int{}}
	w.store = memory.New(func() time.Time { return w.now })
	w.store.Fault = w.storeFault
	w.store.Away = func() bool { return w.now.Before(w.storeAway) }
	var err error
	if w.sealer, err = sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)}); err != nil {
		return nil, err
	}
	pool := netip.MustParsePrefix("10.45.0.0/16")
	w.config, err = configuration.New([]configuration.Slice{{Name: slice, SST: 1, DataNetworks: []configuration.DataNetwork{{
		DNN: dnn, Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9, ARP: configuration.ARP{Priority: 8}, MTU: 1400,
		Units: []configuration.Serving{{NodeID: nodeID, Pools: []netip.Prefix{pool}}},
	}}}}, []configuration.Unit{{NodeID: nodeID, Address: netip.MustParseAddrPort("10.96.7.8:8805")}})
	if err != nil {
		return nil, err
	}
	for n := range 2 {
		p := &pod{w: w, name: fmt.Sprint("pod-", n)}
		w.pods = append(w.pods, p)
		p.start()
	}
	for n := range ues {
		u := &ue{w: w, supi: fmt.Sprintf("imsi-20893%010d", n+1)}
		w.ues = append(w.ues, u)
		u.live()
	}
	w.misfortune()
	return w, nil
}

func (w *world) note(format string, arguments ...any) {
	w.story = append(w.story, w.now.Format("05.000000 ")+fmt.Sprintf(format, arguments...))
	if most := 400; len(w.story) > 2*most {
		w.story = append(w.story[:0], w.story[most:]...)
	}
}

func (w *world) fail(format string, arguments ...any) {
	if w.wrong == nil {
		w.wrong = fmt.Errorf(format, arguments...)
		w.note("WRONG: %v", w.wrong)
	}
}

func (w *world) storeFault(string) memory.Fault {
	if !w.faults || !w.chance(50) {
		return memory.None
	}
	return memory.Fault(1 + w.rand.IntN(3))
}

// misfortune strikes every other second.
func (w *world) misfortune() {
	if !w.faults {
		return
	}
	w.soon(200*time.Millisecond, 4*time.Second, w.misfortune)
	p := w.pods[w.rand.IntN(len(w.pods))]
	switch w.rand.IntN(6) {
	case 0, 1:
		for _, holder := range w.pods { // more often who holds the shard
			if holder.runner != nil && w.chance(2) {
				p = holder
			}
		}
		if p.alive {
			p.kill()
		}
	case 2:
		w.note("%s stands still", p.name)
		p.frozen = w.now.Add(time.Duration(w.rand.Int64N(int64(6 * time.Second))))
	case 3:
		w.note("the store is away")
		w.storeAway = w.now.Add(time.Duration(w.rand.Int64N(int64(4 * time.Second))))
	case 4:
		w.note("the unit restarts")
		w.unit.forget()
		for _, p := range w.pods {
			if p.runner != nil {
				w.unitMet(p)
			}
		}
	}
}

// unitMet: who holds the shard has seen the unit's new Recovery Time Stamp.
func (w *world) unitMet(p *pod) {
	life, stamp := p.life, w.unit.stamp
	w.soon(time.Millisecond, 300*time.Millisecond, func() {
		p.in(life, func() {
			if p.runner != nil {
				p.runner.UnitMet(nodeID, stamp, true)
			}
		})
	})
}

// holder of the shard, whichever pod was asked: any passes on what is for it.
func (w *world) holder() *pod {
	for _, p := range w.pods {
		if p.alive && p.runner != nil && !w.now.Before(p.frozen) {
			return p
		}
	}
	return nil
}

var errNobody = errors.New("no pod holds the shard")

// toSMF brings an event to the holder after a while; lost is called where that is not possible.
func (w *world) toSMF(deliver func(*runner.Runner), lost func(error)) {
	w.soon(50*time.Microsecond, 5*time.Millisecond, func() {
		if w.faults && w.chance(60) {
			return // the request is lost on its way
		}
		p := w.holder()
		if p == nil {
			lost(errNobody)
			return
		}
		deliver(p.runner)
	})
}

// do what the SMF wants done.
func (w *world) do(e procedure.Effect, done func(procedure.Event)) {
	back := func(answer procedure.Event) {
		w.soon(50*time.Microsecond, 5*time.Millisecond, func() { done(answer) })
	}
	w.soon(50*time.Microsecond, 5*time.Millisecond, func() {
		lost := w.faults && w.chance(60)
		switch e := e.(type) {
		case procedure.Reply:
			if !lost {
				w.replied(e)
			}
		case procedure.AskSubscription:
			back(procedure.Subscription{Failed: lost})
		case procedure.AskUnit:
			answer := w.unit.do(e)
			w.note("unit: operation %d, session %x: outcome %d cause %d", e.Operation, e.CPSEID, answer.Outcome, answer.Cause)
			back(answer)
		case procedure.AskTransfer:
			w.ueOf(e.SUPI).transferred(e, back)
		case procedure.AskStatus:
			w.status(e)
			back(procedure.Notified{Outcome: procedure.Done})
		}
	})
}

func (w *world) ueOf(supi string) *ue {
	for _, u := range w.ues {
		if u.supi == supi {
			return u
		}
	}
	panic("a session of nobody: " + supi)
}

// run for a time with faults, and then until all has come to rest.
func (w *world) run(unkind, kind time.Duration) error {
	end := w.now.Add(unkind)
	for w.step(end) && w.wrong == nil {
		w.check()
	}
	w.faults, w.storeAway = false, time.Time{}
	for _, p := range w.pods {
		p.frozen = time.Time{}
	}
	end = w.now.Add(kind)
	for w.step(end) && w.wrong == nil {
		w.check()
	}
	if w.wrong == nil {
		w.agree()
	}
	return w.wrong
}
