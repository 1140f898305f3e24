package worker

import (
	"context"
	"time"

	"core5g.dev/core5g/images/access-management/runner"
)

// How many UEs a shard has is what the session store says, which has all of them: those that nobody uses are not in memory.

// countEvery is how often the store is asked.
const countEvery = 5 * time.Second

// census of a shard.
type census struct {
	registered, connected int
	slices                map[string]int // by S-NSSAI
}

// takeCensus again and again, until the shard is given up. Where the store does not answer, the one of before stands.
func (s *Shard) takeCensus() {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		if c, err := s.census(); err == nil {
			s.pod.measures.counted(s, c)
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *Shard) census() (c census, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, storeTime)
	defer cancel()
	count := func(group string) int {
		n := 0
		if err == nil {
			n, err = s.pod.Store.Count(ctx, group)
		}
		return n
	}
	c = census{registered: count(runner.UEGroup(s.number)), connected: count(runner.ConnectedGroup(s.number)), slices: map[string]int{}}
	for _, name := range s.pod.slices() {
		c.slices[name] = count(runner.SliceGroup(s.number, name))
	}
	return c, err
}

// slices of the configuration, each once.
func (p *Pod) slices() (out []string) {
	seen := map[string]bool{}
	settings := p.settings.Load()
	if settings == nil {
		return nil
	}
	for _, plmn := range settings.PLMNs {
		for _, s := range plmn.Slices {
			if name := s.String(); !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// counted is the last census of a shard that is held.
func (m *measures) counted(s *Shard, c census) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.closed.Load() {
		m.census[s.lease.Shard] = c
	}
}
