package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/upf/abi"
)

// errSlow is for what took longer than it may.
var errSlow = errors.New("too slow")

// The longest that the next answer may take.
const (
	slowestTakeover = 1500 * time.Millisecond
	slowestStore    = 5 * time.Second
	// slowestRestoration is from the moment at which the unit is back.
	slowestRestoration = 3 * time.Second
)

// outcome of a kill.
type outcome struct {
	sessions int
	answer   time.Duration
	err      error
}

// report a case: what was lost, and whether it was within its time.
func report(name string, runs []outcome, limit time.Duration) error {
	var answers []time.Duration
	var failed error
	sessions := 0
	for _, r := range runs {
		sessions, failed = sessions+r.sessions, errors.Join(failed, r.err)
		answers = append(answers, r.answer)
	}
	lost := "0"
	if failed != nil {
		lost = "yes"
	}
	p50, most := processes.Percentile(answers, 50).Milliseconds(), processes.Percentile(answers, 100).Milliseconds()
	fmt.Printf("case=%s on=processes runs=%d sessions=%d sessions_lost=%s answer_ms=%d answer_max_ms=%d\n", name, len(runs), sessions, lost, p50, most)
	if failed != nil {
		return errors.Join(errLost, failed)
	}
	if most > limit.Milliseconds() {
		return fmt.Errorf("%w: an answer after %d ms, want %d ms at most", errSlow, most, limit.Milliseconds())
	}
	return nil
}

// under set-ups, so many a second, something is killed.
func under(ctx context.Context, r *rig, o options, name string, limit time.Duration, kill func(run int) error) error {
	var runs []outcome
	for run := range o.runs {
		x, err := r.killUnderLoad(ctx, 100_000*(run+1), o.rate, func() error { return kill(run) })
		if err != nil {
			return err
		}
		runs = append(runs, x)
		if x.err != nil {
			break
		}
	}
	return report(name, runs, limit)
}

// killUnderLoad once; first is the number of the first UE. An error is of the rig, not of what it looks at.
func (r *rig) killUnderLoad(ctx context.Context, first, rate int, kill func() error) (x outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	load := r.setUpAt(ctx, first, rate)
	time.Sleep(2 * time.Second) // of load
	done, failed := load.sofar()
	if len(done) == 0 {
		load.end()
		return x, errors.Join(errors.New("no session was set up in two seconds"), failed)
	}
	if err := kill(); err != nil {
		load.end()
		return x, err
	}
	began := time.Now()
	alive := r.amf.alive(ctx, done[0])
	x.answer = time.Since(began)
	time.Sleep(2 * time.Second) // of load behind it
	done, failed = load.end()
	x.sessions, x.err = len(done), errors.Join(alive, failed, r.check(ctx, done))
	return x, nil
}

// setUps are made at a rate, each by itself.
type setUps struct {
	stop chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex
	done   []*ue
	failed error
}

func (r *rig) setUpAt(ctx context.Context, first, rate int) *setUps {
	l := &setUps{stop: make(chan struct{})}
	l.wg.Go(func() {
		ticker := time.NewTicker(time.Second / time.Duration(rate))
		defer ticker.Stop()
		for n := first; ; n++ {
			select {
			case <-l.stop:
				return
			case <-ticker.C:
			}
			u := r.amf.newUE(n)
			l.wg.Go(func() {
				err := r.amf.establish(ctx, u)
				l.mu.Lock()
				defer l.mu.Unlock()
				if err != nil {
					l.failed = errors.Join(l.failed, err)
					return
				}
				l.done = append(l.done, u)
			})
		}
	})
	return l
}

func (l *setUps) sofar() ([]*ue, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*ue(nil), l.done...), l.failed
}

func (l *setUps) end() ([]*ue, error) {
	close(l.stop)
	l.wg.Wait()
	return l.sofar()
}

// away are pods that have ended, to be started again.
type away struct{ pods []int }

// back starts what is away, so that a kill finds all that there were.
func (a *away) back(ctx context.Context, r *rig) error {
	for _, n := range a.pods {
		if err := r.start(n); err != nil {
			return err
		}
		if err := processes.Await(ctx, "the pod that ended before", func() error { return r.ready(n) }); err != nil {
			return err
		}
	}
	a.pods = nil
	return nil
}

// killSMF: the pod that holds the shard. It is started again when another has answered in its place.
func killSMF(ctx context.Context, r *rig, o options) error {
	var gone away
	return under(ctx, r, o, "kill_smf", slowestTakeover, func(int) error {
		if err := gone.back(ctx, r); err != nil {
			return err
		}
		n, err := r.holder(ctx)
		if err != nil {
			return err
		}
		r.kill(n)
		gone.pods = append(gone.pods, n)
		return nil
	})
}

// moveShard: the pod that holds the shard is told to end, as in a rollout.
func moveShard(ctx context.Context, r *rig, o options) error {
	var gone away
	return under(ctx, r, o, "move_shard", slowestTakeover, func(int) error {
		if err := gone.back(ctx, r); err != nil {
			return err
		}
		n, err := r.holder(ctx)
		if err != nil {
			return err
		}
		gone.pods = append(gone.pods, n)
		defer func() { r.pods[n] = nil }()
		return r.pods[n].Signal(syscall.SIGTERM)
	})
}

func killStore(ctx context.Context, r *rig, o options) error {
	return under(ctx, r, o, "kill_store", slowestStore, func(int) error {
		r.killStore()
		return r.startStore(ctx)
	})
}

// killPrimary: that of three servers with Sentinels.
func killPrimary(ctx context.Context, r *rig, o options) error {
	return under(ctx, r, o, "kill_primary", slowestStore, func(int) error {
		if err := r.replicas.whole(ctx); err != nil {
			return err
		}
		return r.replicas.killPrimary()
	})
}

// killBoth: the store, and the pod that holds the shard.
func killBoth(ctx context.Context, r *rig, o options) error {
	var gone away
	return under(ctx, r, o, "kill_both", slowestStore, func(int) error {
		if err := gone.back(ctx, r); err != nil {
			return err
		}
		n, err := r.holder(ctx)
		if err != nil {
			return err
		}
		r.killStore()
		r.kill(n)
		gone.pods = append(gone.pods, n)
		return r.startStore(ctx)
	})
}

// killUPF: both halves of the unit, with all that they know. The answer is the last session that is there again, as it was.
func killUPF(ctx context.Context, r *rig, o options) error {
	if _, err := establishAll(ctx, r, 1000, o.sessions, 32); err != nil {
		return err
	}
	var runs []outcome
	for range o.runs {
		before, signalled := r.tunnels(), r.amf.transfers.Load()
		if len(before) != o.sessions {
			return fmt.Errorf("the unit has %d sessions, and %d were set up", len(before), o.sessions)
		}
		r.endUPF()
		if err := r.startUPF(ctx); err != nil {
			return err
		}
		began := time.Now()
		x := outcome{sessions: len(before)}
		x.err = processes.Await(ctx, "the sessions", func() error {
			if n := r.upfu.Len(); n < len(before) { // to look at each of them takes the CPU that some are made with
				return fmt.Errorf("%d sessions are missing", len(before)-n)
			}
			return same(before, r.tunnels())
		})
		x.answer = time.Since(began)
		if n := r.amf.transfers.Load() - signalled; n > 0 {
			x.err = errors.Join(x.err, fmt.Errorf("%d UEs were signalled", n))
		}
		if runs = append(runs, x); x.err != nil {
			break
		}
	}
	return report("kill_upf", runs, slowestRestoration)
}

// tunnel of a session in the unit: what gNB and UE know of it.
type tunnel struct {
	uplink  uint32
	address uint32 // network byte order, as the unit has it
}

// tunnels in the unit by the gNB's TEID.
func (r *rig) tunnels() map[uint32]tunnel {
	out := map[uint32]tunnel{}
	for _, s := range r.upfu.Sessions() {
		var t tunnel
		for _, p := range s.PDRs {
			if p.SourceInterface == abi.IfAccess {
				t.uplink, t.address = p.Teid, p.UeAddrBe
			}
		}
		for _, f := range s.FARs {
			if f.DestinationInterface == abi.IfAccess && uint32(f.Action) == abi.FarForw {
				out[f.Teid] = t
			}
		}
	}
	return out
}

func same(before, after map[uint32]tunnel) error {
	missing, changed := 0, 0
	for teid, was := range before {
		switch now, ok := after[teid]; {
		case !ok:
			missing++
		case now != was:
			changed++
		}
	}
	if missing+changed > 0 {
		return fmt.Errorf("%d sessions are missing, %d are other ones", missing, changed)
	}
	return nil
}
