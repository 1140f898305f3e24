package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/record"
)

// filling is how many sessions each unit has, by which units are selected (TS 23.501 6.3.3): what the store has for all shards, and what this one has
// added since.
type filling struct{ counted, since map[string]int64 }

// countEvery is how long what the other shards do is not seen.
const countEvery = 2 * time.Second

// changed: a session is, or may be, at other units.
func (l *filling) changed(was, is *record.Session) {
	if l.since == nil {
		l.since = map[string]int64{}
	}
	before, after := unitsOf(was), unitsOf(is)
	for _, node := range without(after, before) {
		l.since[node]++
	}
	for _, node := range without(before, after) {
		l.since[node]--
	}
}

// unitsOf a session, as they are in groups.
func unitsOf(s *record.Session) []string {
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(nodes(s), func(node string) bool { return node == "" })
}

// live is what is known of the units, with their sessions.
func (r *Runner) live() map[string]configuration.Live {
	out := maps.Clone(r.w.Live())
	if out == nil {
		out = map[string]configuration.Live{}
	}
	for _, list := range []map[string]int64{r.filling.counted, r.filling.since} {
		for node := range list {
			l := out[node]
			l.Sessions = uint64(max(r.filling.counted[node]+r.filling.since[node], 0))
			out[node] = l
		}
	}
	return out
}

// countSessions of all shards, now and every now and then.
func (r *Runner) countSessions() {
	if r.stopped {
		return
	}
	c := r.w.Configuration()
	if c == nil {
		r.w.After(countEvery, r.countSessions)
		return
	}
	var list []string
	for _, u := range c.Units() {
		list = append(list, u.NodeID)
	}
	before := maps.Clone(r.filling.since)
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		counted, err := map[string]int64{}, error(nil)
		for _, node := range list {
			for _, shard := range r.shards {
				n := 0
				if n, err = store.Count(ctx, UnitGroup(shard, node)); err != nil {
					break
				}
				counted[node] += int64(n)
			}
		}
		return func() {
			r.heard(err)
			if err == nil {
				r.filling.counted = counted
				for node, n := range before {
					r.filling.since[node] -= n
				}
				maps.DeleteFunc(r.filling.since, func(_ string, n int64) bool { return n == 0 })
			}
			r.w.After(countEvery, r.countSessions)
		}
	})
}
