package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"core5g.dev/core5g/e2e/figures"
	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/upf/abi"
)

// bench is a core under measurement, with the UEs that it has by now.
type bench struct {
	*core
	o      options
	access *access
	phones []*phone
	next   int // number of the next UE
	visits int // of visitors, by now
	// strikes by which pods died.
	strikes int
}

var cases = []struct {
	name string
	run  func(context.Context, *bench) error
}{
	{"registration", func(ctx context.Context, b *bench) error { return b.registered(ctx) }},
	{"session", func(ctx context.Context, b *bench) error { return b.withSessions(ctx) }},
	{"service_request", serviceRequest}, {"paging", paging}, {"handover", handover}, {"path_switch", pathSwitch}, {"storm", storm}, {"memory", memory},
}

func names() []string {
	var out []string
	for _, x := range cases {
		out = append(out, x.name)
	}
	return out
}

func deathNames() []string {
	var out []string
	for _, d := range deaths {
		out = append(out, d.name)
	}
	return out
}

// warming is the number of UEs of which none is measured, so that connections are there and code is in caches.
const warming = 20

// subscribers are as many as UEs may come.
func (o *options) subscribers() int {
	n := warming + o.ues + o.storm
	if strings.Contains(o.cases, "memory") {
		n += o.idle
	}
	if o.state() {
		n += visitors
	}
	return n
}

// answerLimit of one procedure.
const answerLimit = 30 * time.Second

// radio is there, with its gNBs and UEs that the core knows by now.
func (b *bench) radio(ctx context.Context) error {
	if b.access != nil {
		return nil
	}
	var err error
	if b.access, err = newAccess(ctx, b.o, gnb.Keep); err != nil {
		return err
	}
	for range warming {
		p := b.switchOn()
		err := errors.Join(p.Register(ctx), p.Establish(ctx, session))
		if err != nil {
			return fmt.Errorf("%s: %w", p.SUPI(), err)
		}
	}
	return nil
}

// switchOn the next UE.
func (b *bench) switchOn() *phone {
	p := b.access.ue(b.next, false)
	b.next++
	b.access.on(p)
	return p
}

// oneByOne measures what each of the UEs does, one after the other.
func (b *bench) oneByOne(ctx context.Context, name string, do func(context.Context, *phone) (time.Duration, error)) error {
	before, err := b.usage()
	if err != nil {
		return err
	}
	began := time.Now()
	var times []time.Duration
	for _, p := range b.phones {
		once, cancel := context.WithTimeout(ctx, answerLimit)
		took, err := do(once, p)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", p.SUPI(), err)
		}
		times = append(times, took)
	}
	return errors.Join(b.print(name, times, time.Since(began), before), b.content())
}

func (b *bench) print(name string, times []time.Duration, took time.Duration, before map[string]processes.Usage) error {
	after, err := b.usage()
	if err != nil {
		return err
	}
	f := figures.Line{
		Layout: b.o.layout, Case: name, UEs: len(times), P50: processes.Percentile(times, 50), P99: processes.Percentile(times, 99), Took: took,
		CPU: map[string]time.Duration{},
	}
	for name, u := range after {
		f.CPU[name] = u.Since(before[name]).CPU
	}
	fmt.Println(f)
	return nil
}

// timed is how long something takes.
func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

// content says whether the UEs were served as they should: none was rejected, and none registered twice.
func (b *bench) content() error {
	var errs []error
	for _, p := range b.phones {
		if c := p.Status().Counters; c.Registrations > 1 || c.Rejects+c.MACFailures+c.NASDropped > 0 {
			errs = append(errs, fmt.Errorf("%s has registered %d times, and was rejected %d times (%s); %d messages were not protected, %d out of place", p.SUPI(), c.Registrations, c.Rejects,
				p.Status().LastError, c.MACFailures, c.NASDropped))
		}
	}
	if len(errs) > 3 {
		errs = append(errs[:3], fmt.Errorf("and %d more", len(errs)-3))
	}
	return errors.Join(errs...)
}

// registered UEs there are, and no sessions.
func (b *bench) registered(ctx context.Context) error {
	if len(b.phones) > 0 {
		return nil
	}
	if err := b.radio(ctx); err != nil {
		return err
	}
	for range b.o.ues {
		b.phones = append(b.phones, b.switchOn())
	}
	return b.oneByOne(ctx, "registration", func(ctx context.Context, p *phone) (time.Duration, error) {
		return timed(func() error { return p.Register(ctx) })
	})
}

// withSessions there are UEs, one each.
func (b *bench) withSessions(ctx context.Context) error {
	if err := b.registered(ctx); err != nil {
		return err
	}
	if len(b.phones[0].Status().Sessions) > 0 {
		return nil
	}
	return b.oneByOne(ctx, "session", func(ctx context.Context, p *phone) (time.Duration, error) {
		return timed(func() error { return p.Establish(ctx, session) })
	})
}

// allIdle are the UEs, and the UPF keeps what comes for them.
func (b *bench) allIdle(ctx context.Context) error {
	if err := b.withSessions(ctx); err != nil {
		return err
	}
	for _, p := range b.phones {
		if err := p.Idle(ctx); err != nil && !errors.Is(err, ue.ErrIdle) {
			return fmt.Errorf("%s: %w", p.SUPI(), err)
		}
	}
	return processes.Await(ctx, "the UPF to keep packets", func() error {
		if n := len(b.waiting()); n < len(b.phones) {
			return fmt.Errorf("it does for %d sessions of %d", n, len(b.phones))
		}
		return nil
	})
}

// serviceRequest of idle UEs, until their sessions have tunnels again.
func serviceRequest(ctx context.Context, b *bench) error {
	if err := b.allIdle(ctx); err != nil {
		return err
	}
	return b.oneByOne(ctx, "service_request", func(ctx context.Context, p *phone) (time.Duration, error) {
		return timed(func() error { return p.ServiceRequest(ctx) })
	})
}

// waitingPDR is what a packet to an idle UE matches.
type waitingPDR struct {
	session uint32
	pdr     uint16
}

// waiting PDRs of sessions whose UEs are idle, by the UE's address in network byte order.
func (b *bench) waiting() map[uint32]waitingPDR {
	out := map[uint32]waitingPDR{}
	for index, s := range b.upfu.Sessions() {
		for _, p := range s.PDRs {
			if s.FARs[p.Far].Action&abi.FarNocp != 0 {
				out[p.UeAddrBe] = waitingPDR{index, p.PdrId}
			}
		}
	}
	return out
}

// paging: from a packet at the UPF until the session has its tunnel again.
func paging(ctx context.Context, b *bench) error {
	if err := b.allIdle(ctx); err != nil {
		return err
	}
	waiting := b.waiting()
	return b.oneByOne(ctx, "paging", func(ctx context.Context, p *phone) (time.Duration, error) {
		at, ok := waiting[address(p.Status())]
		if !ok {
			return 0, errors.New("the UPF keeps no packets for it")
		}
		return timed(func() error {
			if err := b.upfu.DownlinkData(at.session, at.pdr, 1); err != nil {
				return err
			}
			return p.Wait(ctx, func(s ue.Status) bool { return s.CM == "connected" && s.Sessions[0].Up })
		})
	})
}

// handover by N2, to the other gNB.
func handover(ctx context.Context, b *bench) error {
	return b.moves(ctx, "handover", func(ctx context.Context, c *gnb.Connection, target *gnb.GNB) (gnb.HandoverResult, error) {
		return c.HandOverN2(ctx, target.Status().ID, gnb.HandoverOptions{NoForwarding: true})
	})
}

// pathSwitch after a handover by Xn, to the other gNB.
func pathSwitch(ctx context.Context, b *bench) error {
	return b.moves(ctx, "path_switch", func(ctx context.Context, c *gnb.Connection, target *gnb.GNB) (gnb.HandoverResult, error) {
		return c.HandOverXn(ctx, target, gnb.HandoverOptions{NoForwarding: true})
	})
}

// moves of all UEs. The source waits for End Markers behind it, which nobody sends, and that is not measured.
func (b *bench) moves(ctx context.Context, name string, move func(context.Context, *gnb.Connection, *gnb.GNB) (gnb.HandoverResult, error)) error {
	if err := b.withSessions(ctx); err != nil {
		return err
	}
	for _, p := range b.phones {
		if err := p.ServiceRequest(ctx); err != nil { // answered at once, where the UE is connected
			return fmt.Errorf("%s: %w", p.SUPI(), err)
		}
	}
	return b.oneByOne(ctx, name, func(ctx context.Context, p *phone) (time.Duration, error) {
		c := p.Connection()
		if c == nil {
			return 0, errors.New("it is idle")
		}
		target := b.access.gnbs[0]
		if c.Status().GNB == target.Status().Name {
			target = b.access.gnbs[1]
		}
		moved, err := move(ctx, c, target)
		return time.Duration(moved.Completed * float64(time.Millisecond)), err
	})
}

// storm: all UEs come at once, and want a session.
func storm(ctx context.Context, b *bench) error {
	if err := b.radio(ctx); err != nil {
		return err
	}
	s := &bench{core: b.core, o: b.o, access: b.access}
	for range b.o.storm {
		s.phones = append(s.phones, b.access.ue(b.next, true))
		b.next++
	}
	before, err := b.usage()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	began := time.Now()
	times, errs := make([]time.Duration, len(s.phones)), make([]error, len(s.phones))
	var wg sync.WaitGroup
	for n, p := range s.phones {
		b.access.on(p)
		wg.Go(func() {
			errs[n] = p.Wait(ctx, func(s ue.Status) bool { return s.State == "registered" && s.Ready })
			times[n] = time.Since(began)
		})
	}
	wg.Wait()
	took := time.Since(began)
	failed := s.content()
	for n, err := range errs {
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w: %s", s.phones[n].SUPI(), err, s.phones[n].Status().LastError))
			break // the others wait for the same
		}
	}
	return errors.Join(s.print("storm", times, took, before), failed)
}

// address of a UE's session, as the UPF has it; 0: it has none.
func address(s ue.Status) uint32 { return addressOf(s.Address) }

func addressOf(text string) uint32 {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return 0
	}
	return abi.AddrBe(a)
}
