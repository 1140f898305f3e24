package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"core5g.dev/core5g/upf/abi"
)

var errLost = errors.New("a session was lost")

func percentile(list []time.Duration, percent int) int64 {
	slices.Sort(list)
	if len(list) == 0 {
		return 0
	}
	return list[min(len(list)-1, len(list)*percent/100)].Microseconds()
}

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
	before, octets := r.cpu()
	began := time.Now()
	ues, err := establishAll(ctx, r, 1000, sessions, atATime)
	if err != nil {
		return err
	}
	took := time.Since(began)
	after, more := r.cpu()
	var first []time.Duration
	for _, u := range ues {
		first = append(first, u.first)
	}
	fmt.Printf("case=%s sessions=%d per_second=%.0f p50_us=%d p99_us=%d cpu_us=%d octets_per_session=%d\n", name, sessions, float64(sessions)/took.Seconds(),
		percentile(first, 50), percentile(first, 99), (after-before).Microseconds()/int64(sessions), (more-octets)/int64(sessions))
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

// resident memory with many sessions.
func resident(ctx context.Context, r *rig, o options) error {
	return measure(ctx, r, "memory", 5*o.sessions, 32)
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

// under set-ups, so many a second, something is killed.
func under(ctx context.Context, r *rig, o options, name string, kill func(run int) error) error {
	var answers []time.Duration
	sessions := 0
	for run := range o.runs {
		ctx, cancel := context.WithCancel(ctx)
		var mu sync.Mutex
		var done []*ue
		var failed error
		var wg sync.WaitGroup
		ticker := time.NewTicker(time.Second / time.Duration(o.rate))
		stop := make(chan struct{})
		next := 100_000 * (run + 1)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-ticker.C:
				}
				u := r.amf.newUE(next)
				next++
				wg.Go(func() {
					err := r.amf.establish(ctx, u)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						failed = errors.Join(failed, err)
						return
					}
					done = append(done, u)
				})
			}
		})
		time.Sleep(2 * time.Second) // of load
		mu.Lock()
		first := done[0]
		mu.Unlock()
		if err := kill(run); err != nil {
			cancel()
			return err
		}
		began := time.Now()
		if err := r.amf.alive(ctx, first); err != nil {
			failed = errors.Join(failed, err)
		}
		answers = append(answers, time.Since(began))
		time.Sleep(2 * time.Second) // of load behind it
		close(stop)
		ticker.Stop()
		wg.Wait()
		sessions += len(done)
		err := errors.Join(failed, r.check(ctx, done))
		cancel()
		if err != nil {
			fmt.Printf("case=%s runs=%d sessions=%d sessions_lost=yes\n", name, run+1, sessions)
			return errors.Join(errLost, err)
		}
	}
	fmt.Printf("case=%s runs=%d sessions=%d sessions_lost=0 answer_ms=%d answer_max_ms=%d\n", name, o.runs, sessions, percentile(answers, 50)/1000, percentile(answers, 100)/1000)
	return nil
}

// killSMF: the pod that holds the shard. It is started again when another has answered in its place.
func killSMF(ctx context.Context, r *rig, o options) error {
	dead := -1
	return under(ctx, r, o, "kill_smf", func(int) error {
		if dead >= 0 {
			if err := r.start(dead); err != nil {
				return err
			}
			if err := await(ctx, "the pod that was killed before", func() error { return r.ready(dead) }); err != nil {
				return err
			}
		}
		var err error
		if dead, err = r.holder(); err != nil {
			return err
		}
		r.kill(dead)
		return nil
	})
}

func killStore(ctx context.Context, r *rig, o options) error {
	return under(ctx, r, o, "kill_store", func(int) error {
		_ = r.store.Process.Kill()
		_ = r.store.Wait()
		return r.startStore(ctx)
	})
}
