package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/upf/abi"
)

// death is what happens to a core while UEs are attached and others register.
type death struct {
	name string
	// onLoss is what gNBs do when they have lost their AMF.
	onLoss gnb.LossMode
	// mayLose packets: the gNB is what decides, or is dead.
	mayLose bool
	// sessions: visitors have a PDU session, and wait for no timer of their own, neither for it nor for their registration.
	sessions bool
	// strike, and mend behind it.
	strike strike
}

var deaths = []death{
	{name: "kill_amf", onLoss: gnb.Keep, sessions: true, strike: kills(amfName)},
	{name: "drain_amf", onLoss: gnb.Keep, sessions: true, strike: drains(amfName)},
	{name: "kill_smf", onLoss: gnb.Keep, sessions: true, strike: kills(smfName)},
	{name: "drain_smf", onLoss: gnb.Keep, sessions: true, strike: drains(smfName)},
	{name: "kill_n2_release", onLoss: gnb.Release, mayLose: true, strike: (*bench).killTerminator},
	{name: "kill_n2_keep", onLoss: gnb.Keep, strike: (*bench).killTerminator},
	{name: "kill_n2_retain", onLoss: gnb.Retain, strike: (*bench).killTerminator},
	{name: "kill_gnb", onLoss: gnb.Keep, mayLose: true, strike: (*bench).killGNB},
}

// Of each run.
const (
	// slowest answer to a Service Request.
	slowest = 1500 * time.Millisecond
	// pulse is how often a packet comes for each UE that is attached.
	pulse = 100 * time.Millisecond
	// before and behind what happens, UEs register for so long.
	around = 2 * time.Second
	// visitors are UEs that register and leave, in their turn.
	visitors = 2000
	// timely is what a visitor takes that waits for no timer of its own (T3510, T3517 and T3580 are 15 and 16 s, TS 24.501 10.2, 10.3).
	timely = 5 * time.Second
)

var errShort = errors.New("falls short")

// run a death so often as is wanted. An error that is not errShort is of the bench.
func (d death) run(ctx context.Context, o options) error {
	c, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer c.close()
	b := &bench{core: c, o: o}
	if b.access, err = newAccess(ctx, o, d.onLoss); err != nil {
		return err
	}
	defer b.access.close()
	if err := b.attach(ctx); err != nil {
		return err
	}
	var all toll
	for range o.runs {
		t, err := b.once(ctx, d)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		if o.verbose {
			fmt.Fprintf(os.Stderr, "# %s: answered after %s, paged after %s, %d packets lost\n", d.name, t.answers[0], t.pagings[0], t.packets)
		}
		all.add(t)
	}
	return d.report(o, all)
}

// toll is what it has cost.
type toll struct {
	reregistered, lost, packets, refused, late, visits int
	answers, pagings                                   []time.Duration
}

func (t *toll) add(o toll) {
	t.reregistered, t.lost, t.packets = t.reregistered+o.reregistered, t.lost+o.lost, t.packets+o.packets
	t.refused, t.late, t.visits = t.refused+o.refused, t.late+o.late, t.visits+o.visits
	t.answers, t.pagings = append(t.answers, o.answers...), append(t.pagings, o.pagings...)
}

func (d death) report(o options, t toll) error {
	worst := processes.Percentile(t.answers, 100)
	fmt.Printf("case=%s on=processes runs=%d ues=%d reregistered=%d sessions_lost=%d packets_lost=%d answer_ms=%d answer_max_ms=%d paged_ms=%d paged_max_ms=%d registrations=%d rejected=%d late=%d\n",
		d.name, o.runs, o.ues, t.reregistered, t.lost, t.packets, processes.Percentile(t.answers, 50).Milliseconds(), worst.Milliseconds(),
		processes.Percentile(t.pagings, 50).Milliseconds(), processes.Percentile(t.pagings, 100).Milliseconds(), t.visits, t.refused, t.late)
	var errs []error
	short := func(is bool, format string, values ...any) {
		if is {
			errs = append(errs, fmt.Errorf("%s %w: "+format, append([]any{d.name, errShort}, values...)...))
		}
	}
	short(t.reregistered > 0, "%d UEs registered anew", t.reregistered)
	short(t.lost > 0, "%d sessions were lost", t.lost)
	short(t.packets > 0 && !d.mayLose, "%d packets were lost", t.packets)
	short(worst > slowest, "a Service Request was answered after %s, want %s at most", worst.Round(time.Millisecond), slowest)
	short(t.refused > 0, "%d UEs were rejected", t.refused)
	short(t.late > 0 && d.sessions, "%d UEs waited for timers of their own", t.late)
	return errors.Join(errs...)
}

// attach all UEs, some at a time. Each has a session.
func (b *bench) attach(ctx context.Context) error {
	for n := range b.o.ues {
		paged := n == 1 // which comes for nothing else: it does not ask again for what it has lost
		b.phones = append(b.phones, b.access.made(b.next, true, !paged, 0))
		b.next++
	}
	next := make(chan *phone)
	var wg sync.WaitGroup
	errs := make([]error, atATime)
	for n := range atATime {
		wg.Go(func() {
			for p := range next {
				b.access.on(p)
				errs[n] = errors.Join(errs[n], p.Wait(ctx, ready))
			}
		})
	}
	for _, p := range b.phones {
		next <- p
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

func ready(s ue.Status) bool { return s.State == "registered" && s.Ready }

// once is one run: UEs register, one idle UE asks for service, another one is paged, and all are as they were.
func (b *bench) once(ctx context.Context, d death) (t toll, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	asks, paged := b.phones[0], b.phones[1]
	for _, p := range []*phone{asks, paged} {
		// One that is idle may have begun something by itself: what is asked for here waits for that.
		if err := p.ServiceRequest(ctx); err != nil {
			return t, fmt.Errorf("%s: %w", p.SUPI(), err)
		}
		if err := p.Idle(ctx); err != nil {
			return t, fmt.Errorf("%s: %w", p.SUPI(), err)
		}
	}
	var at waitingPDR
	if err := processes.Await(ctx, "the UPF to keep packets", func() error {
		var ok [2]bool
		waiting := b.waiting()
		_, ok[0] = waiting[address(asks.Status())]
		if at, ok[1] = waiting[address(paged.Status())]; !ok[0] || !ok[1] {
			return errors.New("it does not for UEs that are idle")
		}
		return nil
	}); err != nil {
		return t, err
	}
	before := make([]ue.Status, len(b.phones))
	for n, p := range b.phones {
		before[n] = p.Status()
	}
	visits := b.visitAt(ctx, b.o.rate, d)
	packets := b.pulses(ctx)
	wait(ctx, around)
	mend, err := d.strike(b, ctx)
	if err != nil {
		return t, err
	}
	struck := time.Now()
	var wg sync.WaitGroup
	var answer, paging time.Duration
	var errs [2]error
	wg.Go(func() {
		errs[0] = processes.Await(ctx, "service", func() error { return asks.ServiceRequest(ctx) })
		answer = time.Since(struck)
	})
	wg.Go(func() {
		errs[1] = b.page(ctx, paged, at)
		paging = time.Since(struck)
	})
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		fmt.Println("#", err)
		t.lost++
	}
	t.answers, t.pagings = []time.Duration{answer}, []time.Duration{paging}
	if err := mend(ctx); err != nil {
		return t, err
	}
	wait(ctx, around)
	t.visits, t.refused, t.late = visits()
	err = processes.Await(ctx, "all UEs", func() error {
		for _, p := range b.phones {
			if s := p.Status(); !ready(s) {
				return fmt.Errorf("%s is %s, %s: %s", s.SUPI, s.State, s.CM, s.LastError)
			}
		}
		return nil
	})
	if err != nil {
		fmt.Println("#", err)
	}
	t.packets = packets()
	held := b.downlinks()
	for n, p := range b.phones {
		s := p.Status()
		_, there := held[address(before[n])]
		switch {
		case s.Counters.Registrations > before[n].Counters.Registrations:
			t.reregistered++
		case s.Address != before[n].Address || !there || !s.Ready:
			t.lost++
		}
	}
	return t, nil
}

// wait is load, which lasts.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// page an idle UE by a packet to its session at the UPF.
func (b *bench) page(ctx context.Context, p *phone, at waitingPDR) error {
	if err := b.upfu.DownlinkData(at.session, at.pdr, 1); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, processes.Patience)
	defer cancel()
	if err := p.Wait(ctx, func(s ue.Status) bool { return s.CM == "connected" && s.Sessions[0].Up }); err != nil {
		is := p.Status()
		return fmt.Errorf("%s is not paged: %w: it is %s, %s, %q under way, its session %s, up %t, %d pagings heard; %s", p.SUPI(), err, is.State, is.CM, is.Procedure, is.Sessions[0].State, is.Sessions[0].Up,
			is.Counters.Pagings, is.LastError)
	}
	return nil
}

// visitAt has other UEs register, have a session or not, and leave, so many a second, until it is ended: how many did, and how many of them were rejected, or late, which is
// said with the reasons, and when the first and the last of each began.
func (b *bench) visitAt(ctx context.Context, rate int, d death) (end func() (visits, rejected, late int)) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var mu sync.Mutex
	began := time.Now()
	visits, rejected, late := 0, map[string][]time.Duration{}, map[string][]time.Duration{}
	wg.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for ctx.Err() == nil {
			p := b.access.guest(b.o.ues+b.visits%visitors, d.sessions, 1)
			b.visits++
			since := time.Since(began)
			wg.Go(func() {
				defer p.off()
				waits := time.Now()
				once, done := context.WithTimeout(context.WithoutCancel(ctx), answerLimit)
				defer done()
				b.access.gnbs[1].Add(p.UE)
				// Where N2 is away, the UE tries again when the cell serves; its own timers repeat what nobody has answered.
				why := errors.New("rejected") // and tried again by itself
				for once.Err() == nil {
					err := p.Register(once)
					if err == nil {
						break
					}
					if !errors.Is(err, context.DeadlineExceeded) {
						why = err
					}
					wait(once, 100*time.Millisecond)
				}
				if d.sessions && p.Wait(once, ready) != nil {
					why = errors.New("no session")
				}
				took := time.Since(waits)
				s := p.Status()
				c := s.Counters
				_ = p.Deregister(once, true)
				b.access.gnbs[1].Remove(p.UE)
				mu.Lock()
				defer mu.Unlock()
				visits++
				if c.Rejects > 0 || once.Err() != nil {
					reason := fmt.Sprintf("%d rejects, in time %t, %v", c.Rejects, once.Err() == nil, why)
					rejected[reason] = append(rejected[reason], since)
				}
				if took > timely {
					reason := fmt.Sprintf("%s, %s", took.Round(time.Second), s.LastError)
					late[reason] = append(late[reason], since)
				}
			})
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return func() (int, int, int) {
		cancel()
		wg.Wait()
		return visits, said("rejected", rejected), said("late", late)
	}
}

// said of how many UEs that is, and why.
func said(what string, by map[string][]time.Duration) (count int) {
	for reason, times := range by {
		fmt.Printf("# %d UEs that came from %s to %s are %s: %s\n", len(times), slices.Min(times).Round(time.Millisecond), slices.Max(times).Round(time.Millisecond), what, reason)
		count += len(times)
	}
	return count
}

// downlink is where the UPF sends a UE's packets.
type downlink struct {
	teid    uint32
	forward bool
	keep    bool
}

// downlinks of all sessions, by the UE's address in network byte order.
func (b *bench) downlinks() map[uint32]downlink {
	out := map[uint32]downlink{}
	for _, s := range b.upfu.Sessions() {
		var ue uint32
		for _, p := range s.PDRs {
			ue = max(ue, p.UeAddrBe)
		}
		for _, f := range s.FARs {
			if f.DestinationInterface == abi.IfAccess {
				out[ue] = downlink{f.Teid, f.Action&abi.FarForw != 0, f.Action&abi.FarBuff != 0}
			}
		}
	}
	return out
}

// pulses look at where a packet for each UE would go, until they are ended: those that nobody keeps, and no gNB has a UE for, are lost.
func (b *bench) pulses(ctx context.Context) (end func() (lost int)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan int)
	go func() {
		lost := 0
		tick := time.NewTicker(pulse)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- lost
				return
			case <-tick.C:
			}
			before := b.tunnels()
			held := b.downlinks()
			for n, after := range b.tunnels() {
				if after != before[n] {
					continue // it changes while one looks
				}
				at, there := held[addressOf(after.ue)]
				if !there || !at.keep && (!at.forward || at.teid != after.teid) {
					lost++
				}
			}
		}
	}()
	return func() int {
		cancel()
		return <-done
	}
}

// tunnel of a UE at its gNB; TEID 0 while it is idle.
type tunnel struct {
	ue   string
	teid uint32
}

func (b *bench) tunnels() []tunnel {
	out := make([]tunnel, len(b.phones))
	for n, p := range b.phones {
		out[n].ue, out[n].teid = p.Downlink()
	}
	return out
}

// ---- what happens -------------------------------------------------------------------------------

// victim of the pods of a function: one after the other, of those that live.
func (b *bench) victim(name string) (*pod, error) {
	count := map[string]int{amfName: b.o.workers, smfName: b.o.pods}[name]
	for range count {
		b.strikes++
		if p := b.pods[fmt.Sprint(name, "-", b.strikes%count)]; p.Ended() == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no %s lives", name)
}

// terminatorOf a gNB.
func (b *bench) terminatorOf(g *gnb.GNB) (*pod, error) {
	at, _, _ := net.SplitHostPort(g.Status().AMF)
	for _, p := range b.pods {
		if p.address == at && p.Ended() == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no terminator lives at %q", at)
}

// again starts a pod that has ended.
func (b *bench) again(p *pod) func(context.Context) error {
	return func(ctx context.Context) error { return b.startAll(ctx, []function{p.function}) }
}

type strike = func(*bench, context.Context) (mend func(context.Context) error, err error)

// kills a pod of the function without a word.
func kills(name string) strike {
	return func(b *bench, _ context.Context) (func(context.Context) error, error) {
		p, err := b.victim(name)
		if err != nil {
			return nil, err
		}
		p.Kill()
		return b.again(p), nil
	}
}

// drains a pod of the function, which ends by itself.
func drains(name string) strike {
	return func(b *bench, _ context.Context) (func(context.Context) error, error) {
		p, err := b.victim(name)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			if err := processes.Await(ctx, "the end of "+p.pod, func() error {
				if p.Ended() == nil {
					return errors.New("it lives")
				}
				return nil
			}); err != nil {
				return err
			}
			return b.again(p)(ctx)
		}, p.Signal(os.Interrupt)
	}
}

// killTerminator of the gNB whose UEs are looked at. It comes to another one.
func (b *bench) killTerminator(context.Context) (func(context.Context) error, error) {
	p, err := b.terminatorOf(b.access.gnbs[0])
	if err != nil {
		return nil, err
	}
	p.Kill()
	return func(ctx context.Context) error {
		return errors.Join(b.access.connected(ctx), b.again(p)(ctx))
	}, nil
}

// killGNB without a word, with its UEs' radio. The two that are looked at are in the other cell then.
func (b *bench) killGNB(ctx context.Context) (func(context.Context) error, error) {
	dead := b.access.gnbs[0]
	if err := dead.Die(false); err != nil {
		return nil, err
	}
	lives := b.access.gnbs[1]
	err := errors.Join(move(ctx, b.phones[0], (*ue.UE).Camp, dead, lives), move(ctx, b.phones[1], (*ue.UE).Reselect, dead, lives))
	return func(ctx context.Context) error {
		if err := errors.Join(dead.Revive(), b.access.connected(ctx)); err != nil {
			return err
		}
		return errors.Join(move(ctx, b.phones[0], (*ue.UE).Camp, lives, dead), move(ctx, b.phones[1], (*ue.UE).Camp, lives, dead))
	}, err
}

// move a UE to another cell.
func move(ctx context.Context, p *phone, how func(*ue.UE, context.Context, *gnb.GNB) error, from, to *gnb.GNB) error {
	from.Remove(p.UE)
	if err := how(p.UE, ctx, to); err != nil {
		return fmt.Errorf("%s: %w", p.SUPI(), err)
	}
	to.Add(p.UE)
	return nil
}
