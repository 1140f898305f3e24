package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// Runner has the sessions of one shard.
type Runner struct {
	w      World
	log    *slog.Logger
	shard  uint16
	lease  sessionstore.Lease
	sealer Sealer

	writer, writes uint64 // revisions of this life
	sessions       map[string]*session
	keys           map[uint64]string // of sessions in memory, by CP SEID
	numbers        numbers
	stopped        bool
	away           bool // the store did not answer when last asked
}

// session is one in memory.
type session struct {
	key    string
	state  procedure.State
	stored stored
	// loading: the store was asked for it. writing: the store was asked to keep it, and nothing happens before it has answered.
	loading, writing bool
	// busy: a procedure waits for an answer. asked numbers what was asked, so that the answer to something older is known for it.
	busy  bool
	asked uint64
	queue []procedure.Event
	// dueAt are names of times that were delivered and are not written as seen yet.
	due map[string]bool
}

// The bounds of a session's queue, of a write's repetitions.
const (
	mostQueued  = 16
	firstPause  = 20 * time.Millisecond
	longestWait = 500 * time.Millisecond
)

// Config of a runner.
type Config struct {
	World World
	Log   *slog.Logger
	// Shard is its number, from 1.
	Shard  uint16
	Lease  sessionstore.Lease
	Sealer Sealer
	// Writer is random, new with each runner.
	Writer uint64
}

// New makes a runner; Start begins.
func New(c Config) *Runner {
	return &Runner{
		w: c.World, log: c.Log, shard: c.Shard, lease: c.Lease, sealer: c.Sealer, writer: c.Writer,
		sessions: map[string]*session{}, keys: map[uint64]string{}, numbers: numbers{shard: c.Shard},
	}
}

// Sessions in memory.
func (r *Runner) Sessions() int { return len(r.sessions) }

// Deliver an event to the session of that key.
func (r *Runner) Deliver(key string, e procedure.Event) {
	if r.stopped {
		return
	}
	s := r.session(key)
	if r.away && procedure.Begins(e) && (s.loading || s.writing) {
		r.decline(e, "the session store does not answer")
		return
	}
	if len(s.queue) >= mostQueued {
		r.decline(e, "too much is under way for this session")
		return
	}
	s.queue = append(s.queue, e)
	r.pump(s)
}

// DeliverTo the session of that CP SEID, which is what an SM context reference and an N4 report name.
func (r *Runner) DeliverTo(cpSEID uint64, e procedure.Event) {
	if r.stopped {
		return
	}
	if key, ok := r.keys[cpSEID]; ok {
		r.Deliver(key, e)
		return
	}
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Find(ctx, sessionstore.Index{Kind: IndexSEID, Value: record.Ref(cpSEID)})
		return func() {
			switch {
			case r.stopped:
			case err == nil:
				r.Deliver(found.Key, e)
			case errors.Is(err, sessionstore.ErrNotFound): // confirmed, under the generation of our lease
				r.effects(nil, procedure.Handle(r.input(), procedure.State{}, e).Effects)
			default:
				r.decline(e, err.Error())
			}
		}
	})
}

// decline an event whose session nobody can look at now: nothing is said that is not known.
func (r *Runner) decline(e procedure.Event, why string) { r.effects(nil, procedure.Decline(e, why)) }

func (r *Runner) session(key string) *session {
	s, ok := r.sessions[key]
	if !ok {
		s = &session{key: key, due: map[string]bool{}}
		r.sessions[key] = s
		r.load(s)
	}
	return s
}

func (r *Runner) load(s *session) {
	s.loading = true
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, s.key)
		return func() { r.loaded(s, found, err) }
	})
}

func (r *Runner) loaded(s *session, found sessionstore.Record, err error) {
	if r.stopped {
		return
	}
	s.loading = false
	if err == nil {
		err = r.open(s, found)
	}
	switch {
	case err == nil, errors.Is(err, sessionstore.ErrNotFound):
		r.away = false
	default:
		r.away = r.away || errors.Is(err, sessionstore.ErrUnavailable)
		r.log.Error("a session cannot be read", "key", s.key, "err", err)
		for _, e := range s.queue {
			r.decline(e, err.Error())
		}
		r.drop(s)
		return
	}
	r.pump(s)
}

// open what the store had. A record with a procedure is one that its holder did not finish.
func (r *Runner) open(s *session, found sessionstore.Record) error {
	octets, err := r.sealer.Open(s.key, found.Value)
	if err != nil {
		return err
	}
	rec, err := record.Decode(octets)
	if err != nil {
		return err
	}
	if record.ShardOf(rec.CPSEID) != r.shard {
		return fmt.Errorf("%w: it is shard %d's", errOtherShard, record.ShardOf(rec.CPSEID))
	}
	s.stored = stored{revision: found.Revision, record: rec, octets: octets}
	s.state = procedure.State{Record: rec}
	s.busy = rec.Procedure != nil
	r.keys[rec.CPSEID] = s.key
	if s.busy {
		s.queue = append([]procedure.Event{procedure.Resumed{}}, s.queue...)
	}
	return nil
}

var errOtherShard = errors.New("the session is another shard's")

// drop a session from memory.
func (r *Runner) drop(s *session) {
	delete(r.sessions, s.key)
	if s.state.Record != nil {
		delete(r.keys, s.state.Record.CPSEID)
	}
	if s.stored.record != nil {
		delete(r.keys, s.stored.record.CPSEID)
	}
}

// pump handles what waits, until something has to be waited for.
func (r *Runner) pump(s *session) {
	for !r.stopped && !s.loading && !s.writing {
		n := 0
		if s.busy { // answers come by answered; only a new holder goes on by itself
			for n < len(s.queue) && s.queue[n] != (procedure.Event)(procedure.Resumed{}) {
				n++
			}
		}
		if n >= len(s.queue) {
			break
		}
		e := s.queue[n]
		s.queue = append(s.queue[:n:n], s.queue[n+1:]...)
		r.handle(s, e)
	}
	if !s.loading && !s.writing && !s.busy && len(s.queue) == 0 && s.state.Record == nil {
		r.drop(s)
	}
}

func (r *Runner) input() procedure.Input {
	return procedure.Input{Now: r.w.Now(), Config: r.w.Configuration(), Live: r.w.Live(), Fresh: r.numbers.next, Random: r.w.Random}
}

func (r *Runner) handle(s *session, e procedure.Event) {
	if _, ok := e.(procedure.Create); ok && r.numbers.left() == 0 {
		r.decline(e, "no session numbers are left until the store answers")
		r.reserve()
		return
	}
	out := procedure.Handle(r.input(), s.state, e)
	r.reserve()
	if d, ok := e.(procedure.Due); ok && out.Refused == "" {
		if out.State.Record != nil && len(out.Due) == 0 { // seen, whatever it was
			out.Due = map[string]time.Time{d.Name: {}}
		}
		delete(s.due, d.Name)
	}
	if out.Refused != "" {
		r.log.Debug("an event was refused", "key", s.key, "event", fmt.Sprintf("%T", e), "why", out.Refused)
	}
	for _, ended := range out.Ended {
		r.w.Ended(ended)
	}
	r.keep(s, out)
}

// keep the record, then do the effects.
func (r *Runner) keep(s *session, out procedure.Output) {
	s.state, s.busy = out.State, out.Busy
	s.asked++
	if rec := s.state.Record; rec != nil {
		r.keys[rec.CPSEID] = s.key
	}
	if out.Lazy && len(out.Due) == 0 {
		r.effects(s, out.Effects)
		return
	}
	c, is, err := r.change(s.key, s.stored, out)
	if err != nil {
		r.log.Error("a record cannot be written: its session is left as the store has it", "err", err)
		r.drop(s)
		return
	}
	if c == nil {
		r.effects(s, out.Effects)
		return
	}
	s.writing = true
	r.write(s, c, is, out.Effects, firstPause)
}

// write until it is known what became of it.
func (r *Runner) write(s *session, c *sessionstore.Change, is stored, then []procedure.Effect, pause time.Duration) {
	lease := r.lease
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		err := store.Commit(ctx, lease, *c)
		return func() { r.written(s, c, is, then, pause, err) }
	})
}

func (r *Runner) written(s *session, c *sessionstore.Change, is stored, then []procedure.Effect, pause time.Duration, err error) {
	if r.stopped {
		return
	}
	switch {
	case err == nil:
		r.away = false
		if old := s.stored.record; old != nil && (is.record == nil || is.record.CPSEID != old.CPSEID) {
			delete(r.keys, old.CPSEID)
		}
		s.stored, s.writing = is, false
		r.effects(s, then)
		r.pump(s)
	case errors.Is(err, sessionstore.ErrFenced):
		r.stop(err)
	case errors.Is(err, sessionstore.ErrUnknown), errors.Is(err, sessionstore.ErrUnavailable):
		r.away = true
		r.w.After(pause, func() {
			if !r.stopped {
				r.write(s, c, is, then, min(2*pause, longestWait))
			}
		})
	default: // ErrConflict, ErrTaken, ErrTooLarge: it was not written, and never will be
		r.log.Error("the store refused a record: its session is read again", "key", s.key, "err", err)
		queue := s.queue
		r.effects(nil, procedure.Unanswered(s.state.Asker, then))
		r.drop(s)
		for _, e := range queue {
			r.Deliver(s.key, e)
		}
	}
}

// effects are done only by who holds the shard.
func (r *Runner) effects(s *session, list []procedure.Effect) {
	for _, e := range list {
		if r.stopped {
			return
		}
		if !r.w.May() {
			r.stop(errors.New("the lease has ended"))
			return
		}
		if s == nil || !procedure.Asks(e) {
			r.w.Do(e, func(procedure.Event) {})
			continue
		}
		asked := s.asked
		r.w.Do(e, func(answer procedure.Event) { r.answered(s, asked, answer) })
	}
}

func (r *Runner) answered(s *session, asked uint64, e procedure.Event) {
	if r.stopped || r.sessions[s.key] != s || s.asked != asked || !s.busy || e == nil {
		return
	}
	r.handle(s, e)
	r.pump(s)
}

func (r *Runner) stop(why error) {
	if r.stopped {
		return
	}
	r.stopped = true
	r.w.Stopped(why)
}

// Stop ends it: nothing is said any more.
func (r *Runner) Stop() { r.stopped = true }
