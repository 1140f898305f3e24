package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/upf/abi"
)

var errLost = errors.New("a session was lost")

// establishAll so many at a time. The numbers of the UEs begin with first.
func establishAll(ctx context.Context, r *rig, first, count, atATime int) ([]*ue, error) {
	ues := make([]*ue, count)
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range atATime {
		wg.Go(func() {
			for n := range next {
				ues[n] = r.amf.newUE(first + n)
				if err := r.amf.establish(ctx, ues[n]); err != nil {
					mu.Lock()
					failed = errors.Join(failed, fmt.Errorf("%s: %w", ues[n].supi, err))
					mu.Unlock()
				}
			}
		})
	}
	for n := range count {
		next <- n
	}
	close(next)
	wg.Wait()
	return ues, failed
}

func measure(ctx context.Context, r *rig, name string, sessions, atATime int) error {
	if _, err := establishAll(ctx, r, 1, 200, atATime); err != nil { // connections, caches, compiled regular expressions
		return err
	}
	before := r.usage()
	began := time.Now()
	ues, err := establishAll(ctx, r, 1000, sessions, atATime)
	if err != nil {
		return err
	}
	took := time.Since(began)
	used := r.usage().Since(before)
	var first []time.Duration
	for _, u := range ues {
		first = append(first, u.first)
	}
	fmt.Printf("case=%s sessions=%d per_second=%.0f p50_us=%d p99_us=%d cpu_us=%d octets_per_session=%d\n", name, sessions, float64(sessions)/took.Seconds(),
		processes.Percentile(first, 50).Microseconds(), processes.Percentile(first, 99).Microseconds(), used.CPU.Microseconds()/int64(sessions), used.Resident/int64(sessions))
	return r.check(ctx, ues)
}

// atRest: one session after the other.
func atRest(ctx context.Context, r *rig, o options) error {
	return measure(ctx, r, "at_rest", min(o.sessions, 500), 1)
}

// load: as many as there is time for.
func load(ctx context.Context, r *rig, o options) error {
	return measure(ctx, r, "load", o.sessions, 32)
}

// resident memory with many sessions, when the SMF is at rest, and at once, with its garbage.
func resident(ctx context.Context, r *rig, o options) error {
	if _, err := establishAll(ctx, r, 1, 200, 32); err != nil {
		return err
	}
	before, err := r.atRest(ctx)
	if err != nil {
		return err
	}
	ues, err := establishAll(ctx, r, 1000, 5*o.sessions, 32)
	if err != nil {
		return err
	}
	at := r.usage()
	after, err := r.atRest(ctx)
	if err != nil {
		return err
	}
	each := func(u processes.Usage) int64 { return u.Since(before).Resident / int64(len(ues)) }
	fmt.Printf("case=memory sessions=%d octets_per_session=%d at_once=%d\n", len(ues), each(after), each(at))
	return r.check(ctx, ues)
}

// atRest is what the SMF has used when it has given back what it does not need.
func (r *rig) atRest(ctx context.Context) (processes.Usage, error) {
	return processes.AtRest(ctx, func() (processes.Usage, error) { return r.usage(), nil })
}

// check that every session is in the UPF with its tunnel, and known to the SMF.
func (r *rig) check(ctx context.Context, ues []*ue) error {
	tunnels := map[uint32]bool{}
	for _, s := range r.upfu.Sessions() {
		for _, f := range s.FARs {
			if f.DestinationInterface == abi.IfAccess && uint32(f.Action) == abi.FarForw {
				tunnels[f.Teid] = true
			}
		}
	}
	lost := 0
	for _, u := range ues {
		if !tunnels[u.teid] {
			lost++
		}
	}
	for _, u := range ues[:min(len(ues), 500)] {
		if err := r.amf.alive(ctx, u); err != nil {
			lost++
			fmt.Printf("# %s: %v\n", u.supi, err)
		}
	}
	if lost > 0 {
		return fmt.Errorf("%w: %d", errLost, lost)
	}
	return nil
}
