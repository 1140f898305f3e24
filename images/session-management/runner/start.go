package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// lookEvery is how often the store is asked what is due. Times of a session are of seconds.
const lookEvery = 500 * time.Millisecond

// most is how much of a list is taken at a time.
const most = 256

// Start takes up what the holder before has left: procedures under way first.
func (r *Runner) Start() {
	r.readShard()
	r.resume()
	r.look()
	r.w.After(settleEvery, r.settleAll)
	r.w.After(policiesAfter, r.askPolicies)
	r.countSessions()
}

// policiesAfter is when a new holder asks what PCFs have decided, and policiesWindow of how many sessions at a time: what was under way comes first,
// and a PCF is not to be stormed by it.
const (
	policiesAfter  = 5 * time.Second
	policiesWindow = 2
)

// askPolicies of all sessions that have one. A PCF that told the holder before of a decision, and had no answer because that died, or nobody had
// the shard, may not say it again.
func (r *Runner) askPolicies() {
	c := r.w.Configuration()
	if r.stopped {
		return
	}
	if c == nil || !r.shardRead {
		r.w.After(policiesAfter, r.askPolicies)
		return
	}
	names := maps.Clone(r.kept.Slices)
	for _, s := range c.Slices() {
		names[s.Name] = 0
	}
	r.askPoliciesOf(sorted(names))
}

func (r *Runner) askPoliciesOf(names []string) {
	if len(names) == 0 || r.stopped {
		return
	}
	r.walkBy(policiesWindow, SliceGroup(r.shard, names[0]), func(rec *record.Session) procedure.Event {
		if rec.Policy == "" {
			return nil
		}
		return procedure.PolicyUnsure{}
	}, func() { r.askPoliciesOf(names[1:]) })
}

// resume procedures whose outcome others may know and the record does not. Loading such a record resumes it.
func (r *Runner) resume() {
	if r.stopped {
		return
	}
	shard := r.lease.Shard
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		keys, err := store.Intents(ctx, shard, 1<<20)
		return func() {
			r.heard(err)
			if err != nil {
				r.w.After(longestWait, r.resume)
				return
			}
			for _, key := range keys {
				if !r.stopped {
					r.pump(r.session(key))
				}
			}
		}
	})
}

// look for what is due, and what will be before the next look.
func (r *Runner) look() {
	if r.stopped {
		return
	}
	now, shard := r.w.Now(), r.lease.Shard
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		list, err := store.Due(ctx, shard, now.Add(lookEvery), most)
		return func() {
			r.heard(err)
			if r.stopped {
				return
			}
			for _, d := range list {
				if wait := d.At.Sub(r.w.Now()); wait > 0 {
					r.w.After(wait, func() { r.due(d) })
					continue
				}
				r.due(d)
			}
			wait := lookEvery
			if len(list) == most { // there is more
				wait = firstPause
			}
			r.w.After(wait, r.look)
		}
	})
}

func (r *Runner) due(d sessionstore.Due) {
	if r.stopped {
		return
	}
	s := r.session(d.Key)
	if _, delivered := s.due.at(d.Name); delivered {
		return
	}
	s.due.set(d.Name, d.At)
	s.queue = append(s.queue, queued{Event: procedure.Due{Name: d.Name}})
	r.pump(s)
}

// moved says that a time that was delivered is not the one that was written last.
func (r *Runner) moved(s *session, name string) bool {
	written, known := s.times.at(name)
	delivered, _ := s.due.at(name)
	return known && written != delivered
}

// never is a time that was taken away.
var never = time.Time{}.UnixMilli()

// hasNone of the times that are to go, as is known: nothing need be said of them.
func (s *session) hasNone(due map[string]time.Time) bool {
	for name, at := range due {
		if was, known := s.times.at(name); at.IsZero() && (known && was != never || !known && !s.begun) {
			return false
		}
	}
	return true
}

// isAsStored says whether a record is what the store has, but for whether an access network was asked.
func (s *session) isAsStored(is stored) bool {
	if s.stored.record == nil || is.record == nil || is.record.Offered == s.stored.record.Offered {
		return slices.Equal(s.stored.octets, is.octets)
	}
	as := *is.record
	as.Offered = s.stored.record.Offered
	octets, err := as.Encode()
	return err == nil && slices.Equal(s.stored.octets, octets)
}

// owe the store these times. They come from memory until it has them.
func (r *Runner) owe(s *session, due map[string]time.Time) {
	for name, at := range due {
		if at.IsZero() {
			continue
		}
		if s.owed == nil {
			s.owed = map[string]time.Time{}
		}
		s.owed[name] = at
		r.w.After(at.Sub(r.w.Now()), func() {
			if owed, is := s.owed[name]; is && owed.Equal(at) && r.sessions[s.key] == s {
				r.due(sessionstore.Due{Key: s.key, Name: name, At: at})
			}
		})
	}
}

// oweAll is owe, and the times that go go with the next change, too.
func (r *Runner) oweAll(s *session, due map[string]time.Time) {
	r.owe(s, due)
	for name, at := range due {
		if at.IsZero() {
			if s.owed == nil {
				s.owed = map[string]time.Time{}
			}
			s.owed[name] = at
		}
	}
}

// withOwed are the times of a change with those that were owed and not said anew since.
func withOwed(due, owed map[string]time.Time) map[string]time.Time {
	if len(owed) == 0 {
		return due
	}
	out := maps.Clone(owed)
	maps.Copy(out, due)
	return out
}

// times by name, in ms: a session has one to three for as long as it is in memory, and a map of them takes ten times the room.
type times []named

type named struct {
	name string
	at   int64
}

func (t times) at(name string) (ms int64, ok bool) {
	for _, x := range t {
		if x.name == name {
			return x.at, true
		}
	}
	return 0, false
}

func (t *times) set(name string, at time.Time) {
	t.drop(name)
	next := make(times, len(*t), len(*t)+1) // not a word of room more
	copy(next, *t)
	*t = append(next, named{name, at.UnixMilli()})
}

func (t *times) drop(name string) {
	*t = slices.DeleteFunc(*t, func(x named) bool { return x.name == name })
	if len(*t) == 0 {
		*t = nil
	}
}
