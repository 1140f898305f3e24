package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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
	cache          cache
	numbers        numbers
	starved        []*session // wait for numbers
	stopped        bool
	silent         int // how often in a row the store has not answered
	counts         Counts
	commandTime    time.Duration

	units        map[string]*unit
	unsure       unsure
	kept         kept
	keptRevision sessionstore.Revision
	keptWaiting  []func()
	keptWriting  bool
	shardRead    bool
	slices       map[string]*slice
	shards       []uint16
	filling      filling
	departures   departures
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
	queue []queued
	// due are times that were delivered and are not written as seen yet, times what was written of them in this life: a time that was moved
	// while it came is not one.
	due, times times
	// owed are times that the store is to have with the next change of the record. begun: this life has begun the session, and the store has no times of it but
	// those of this life.
	owed  map[string]time.Time
	begun bool
	// soon: the record is written in a moment, if it is not with what comes next. behind are the effects behind that write.
	soon   bool
	behind []procedure.Effect
	// ahead: the unit was asked before the record is written; answer is what it has said meanwhile.
	ahead  bool
	answer procedure.Event
	// loaded are told when it is, watchers when it is at rest.
	loaded, watchers []func(error)
	// elsewhere counts how often another shard was told to end what it has under this name.
	elsewhere    int
	older, newer *session // in the cache
}

// queued is an event that waits; of is the CP SEID that it named, 0 for none: the key may have another session when its turn has come. came is when
// it was delivered; zero: it does not matter.
type queued struct {
	procedure.Event
	of   uint64
	came time.Time
}

// is says whether the event is for the session as it is.
func (q queued) is(s *session) bool {
	return q.of == 0 || s.state.Record != nil && slices.Contains(s.state.Record.CPSEIDs(), q.of)
}

func (s *session) atRest() bool {
	return !s.loading && !s.writing && !s.busy && !s.soon && len(s.queue) == 0 && len(s.watchers) == 0
}

// The bounds of a session's queue, of a write's repetitions.
const (
	mostQueued  = 16
	firstPause  = 20 * time.Millisecond
	longestWait = 500 * time.Millisecond
	// mostSilent: a store that has not answered so often in a row is away.
	mostSilent = 3
)

// Counts of a runner, since it was made.
type Counts struct {
	// Declined events, whose sessions could not be looked at; of these, Full were one too many for their session's queue, and Away would
	// have begun something while the store did not answer.
	Declined, Full, Away uint64
	// Conflicts are writes that the store refused; Repeated those whose outcome was not known.
	Conflicts, Repeated uint64
	// Evicted from memory; Orphans that were deleted in units; Elsewhere are sessions that another shard had.
	Evicted, Orphans, Elsewhere uint64
	// Stale answers, to what was asked before, and Skipped times, which were moved while they came.
	Stale, Skipped uint64
	// Taken addresses, which units gave to sessions although they are others'.
	Taken uint64
	// Abandoned requests, whose askers had given up before their turn came.
	Abandoned uint64
}

// Config of a runner.
type Config struct {
	World World
	Log   *slog.Logger
	// Shard is its number, from 1, and Shards are those of all; nil: there is no other.
	Shard  uint16
	Shards []uint16
	Lease  sessionstore.Lease
	Sealer Sealer
	// Writer is random, new with each runner.
	Writer uint64
	// CommandTime is T3591 and T3592, 0 for those of TS 24.501.
	CommandTime time.Duration
	// Cached sessions are kept in memory while nothing happens to them; 0 for 32,768.
	Cached int
}

// New makes a runner; Start begins.
func New(c Config) *Runner {
	if len(c.Shards) == 0 {
		c.Shards = []uint16{c.Shard}
	}
	return &Runner{
		shards: c.Shards, w: c.World, log: c.Log, shard: c.Shard, lease: c.Lease, sealer: c.Sealer, writer: c.Writer,
		sessions: map[string]*session{}, keys: map[uint64]string{}, cache: cache{most: cmp.Or(c.Cached, defaultCached)},
		numbers: numbers{shard: c.Shard}, commandTime: c.CommandTime,
		units: map[string]*unit{}, unsure: unsure{}, kept: kept{Units: map[string]order{}, Slices: map[string]uint64{}}, slices: map[string]*slice{},
		departures: departures{leaving: map[string]bool{}, draining: map[string]bool{}},
	}
}

// Counts since New.
func (r *Runner) Counts() Counts { return r.counts }

// Away says that the store does not answer.
func (r *Runner) Away() bool { return r.silent >= mostSilent }

// heard notes whether the store has answered.
func (r *Runner) heard(err error) {
	switch {
	case r.stopped:
	case errors.Is(err, sessionstore.ErrFenced):
		r.stop(err)
	case err == nil || lasting(err):
		r.silent = 0
	default:
		r.silent++
	}
}

// lasting errors are answers of the store: asked again it says the same.
func lasting(err error) bool {
	for _, e := range []error{
		sessionstore.ErrNotFound, sessionstore.ErrFenced, sessionstore.ErrConflict, sessionstore.ErrTaken, sessionstore.ErrTooLarge,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Sessions in memory.
func (r *Runner) Sessions() int { return len(r.sessions) }

// Deliver an event to the session of that key.
func (r *Runner) Deliver(key string, e procedure.Event) {
	r.deliver(key, queued{Event: e, came: r.w.Now()})
}

func (r *Runner) deliver(key string, q queued) {
	if r.stopped {
		return
	}
	if r.Away() && procedure.Begins(q.Event) {
		r.storeAway(q.Event)
		return
	}
	s := r.session(key)
	if len(s.queue) >= mostQueued {
		r.counts.Full++
		r.decline(q.Event, "too much is under way for this session")
		return
	}
	s.queue = append(s.queue, q)
	r.pump(s)
}

// DeliverTo the session of that CP SEID, which is what an SM context reference and an N4 report name.
func (r *Runner) DeliverTo(cpSEID uint64, e procedure.Event) {
	if r.stopped {
		return
	}
	q := queued{e, cpSEID, r.w.Now()}
	if key, ok := r.keys[cpSEID]; ok {
		r.deliver(key, q)
		return
	}
	if record.ShardOf(cpSEID) != r.shard { // whoever sorts by shard has sorted wrongly
		r.decline(e, errOtherShard.Error())
		return
	}
	if r.Away() && procedure.Begins(e) {
		r.storeAway(e)
		return
	}
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Find(ctx, sessionstore.Index{Kind: IndexSEID, Value: record.Ref(cpSEID)})
		return func() {
			r.heard(err)
			switch {
			case r.stopped:
			case err == nil:
				r.deliver(found.Key, q)
			case errors.Is(err, sessionstore.ErrNotFound): // confirmed, under the generation of our lease
				r.effects(nil, procedure.Handle(r.input(), procedure.State{}, e).Effects)
			default:
				r.decline(e, err.Error())
			}
		}
	})
}

// decline an event whose session nobody can look at now: nothing is said that is not known.
func (r *Runner) decline(e procedure.Event, why string) {
	r.counts.Declined++
	r.effects(nil, procedure.Decline(e, why))
}

// storeAway: the store does not answer, so that nothing new begins.
func (r *Runner) storeAway(e procedure.Event) {
	r.counts.Away++
	r.decline(e, "the session store does not answer")
}

func (r *Runner) session(key string) *session {
	s, ok := r.sessions[key]
	if !ok {
		s = &session{key: key}
		r.sessions[key] = s
		r.load(s)
		r.evict()
	}
	r.cache.use(s)
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
	r.heard(err)
	if r.stopped {
		return
	}
	s.loading = false
	if err == nil {
		err = r.open(s, found)
	}
	switch {
	case err == nil, errors.Is(err, sessionstore.ErrNotFound):
		r.tell(&s.loaded, nil)
		r.pump(s)
	case errors.Is(err, errOtherShard):
		r.elsewhere(s, err)
	default:
		r.unreadable(s, err)
	}
}

// unreadable now, or for good.
func (r *Runner) unreadable(s *session, err error) {
	r.log.Error("a session cannot be read", "key", s.key, "err", err)
	for _, q := range s.queue {
		r.decline(q.Event, err.Error())
	}
	r.drop(s, err)
}

// loadedThen calls f when the session is loaded, or cannot be.
func (r *Runner) loadedThen(s *session, f func(error)) {
	if s.loading {
		s.loaded = append(s.loaded, f)
		return
	}
	f(nil)
}

func (r *Runner) tell(list *[]func(error), err error) {
	told := *list
	*list = nil
	for _, f := range told {
		f(err)
	}
}

// decode what the store had.
func (r *Runner) decode(found sessionstore.Record) (*record.Session, error) {
	octets, err := r.sealer.Open(found.Key, found.Value)
	if err != nil {
		return nil, err
	}
	return record.Decode(octets)
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
		return &otherShardError{record.ShardOf(rec.CPSEID)}
	}
	s.stored = stored{revision: found.Revision, record: rec, octets: octets}
	s.state = procedure.State{Record: rec}
	if rec.Phase == record.Idle && !rec.Offered { // an access network may have been asked, which is not written by itself: owe
		asked := *rec
		asked.Offered = true
		s.state.Record = &asked
	}
	s.busy = rec.Procedure != nil
	r.name(s, rec)
	r.mark(s)
	r.departFromUnknown(rec)
	if s.busy || rec.Told != nil {
		s.queue = append([]queued{{Event: procedure.Resumed{}}}, s.queue...)
	}
	return nil
}

// name the session by its CP SEIDs.
func (r *Runner) name(s *session, rec *record.Session) {
	if rec != nil {
		for _, id := range rec.CPSEIDs() {
			r.keys[id] = s.key
		}
	}
}

func (r *Runner) unname(rec *record.Session) {
	if rec != nil {
		for _, id := range rec.CPSEIDs() {
			delete(r.keys, id)
		}
	}
}

// mark what is not known of the session's unit.
func (r *Runner) mark(s *session) {
	if rec := s.state.Record; rec != nil && rec.Told != nil && !s.busy {
		r.unsure[s.key] = rec.Unit.NodeID
		if rec.Branch != nil { // who has not answered is more often who hears more
			r.unsure[s.key] = rec.Branch.NodeID
		}
		return
	}
	delete(r.unsure, s.key)
}

// drop a session from memory; why is for those who wait for it.
func (r *Runner) drop(s *session, why error) {
	delete(r.sessions, s.key)
	r.cache.remove(s)
	r.unname(s.state.Record)
	r.unname(s.stored.record)
	r.tell(&s.loaded, why)
	r.tell(&s.watchers, why)
}

// pump handles what waits, until something has to be waited for.
func (r *Runner) pump(s *session) {
	for !r.stopped && !s.loading && !s.writing && r.sessions[s.key] == s {
		n := 0
		if s.busy { // answers come by answered; only a new holder goes on by itself
			s.queue = slices.DeleteFunc(s.queue, func(q queued) bool { return r.saidAgain(s, q.Event) })
			for n < len(s.queue) && s.queue[n].Event != (procedure.Event)(procedure.Resumed{}) {
				n++
			}
		}
		if n >= len(s.queue) {
			break
		}
		if r.starves(s.queue[n].Event) {
			r.starved = append(r.starved, s)
			r.reserve()
			return
		}
		q := s.queue[n]
		s.queue = append(s.queue[:n:n], s.queue[n+1:]...)
		if from := procedure.From(q.Event); from != 0 && !r.w.Waiting(from) {
			r.counts.Abandoned++
			continue
		}
		if !q.is(s) { // it has ended, and the store has said so
			r.effects(nil, procedure.Handle(r.input(), procedure.State{}, q.Event).Effects)
			continue
		}
		r.handle(s, q.Event, q.came)
	}
	if r.stopped || s.loading || s.writing || s.busy || s.soon || len(s.queue) > 0 || r.sessions[s.key] != s {
		return
	}
	if s.state.Record == nil {
		r.drop(s, nil)
		return
	}
	r.tell(&s.watchers, nil)
}

// saidAgain answers what the procedure under way has answered before, to who has not heard that.
func (r *Runner) saidAgain(s *session, e procedure.Event) bool {
	answer := procedure.SaidAgain(s.state, e)
	r.effects(nil, answer)
	return answer != nil
}

func (r *Runner) input() procedure.Input {
	return procedure.Input{Now: r.w.Now(), Config: r.w.Configuration(), Live: r.live(), Fresh: r.numbers.next, Random: r.w.Random, CommandTime: r.commandTime}
}

func (r *Runner) handle(s *session, e procedure.Event, came time.Time) {
	if _, ok := e.(procedure.Create); ok && r.numbers.left() == 0 {
		r.decline(e, "no session numbers are left until the store answers")
		r.reserve()
		return
	}
	if d, ok := e.(procedure.Due); ok && r.moved(s, d.Name) {
		r.counts.Skipped++
		s.due.drop(d.Name)
		return
	}
	in := r.input()
	in.Came = came
	out := procedure.Handle(in, s.state, e)
	r.reserve()
	if d, ok := e.(procedure.Due); ok && out.Refused == "" {
		if out.State.Record != nil && len(out.Due) == 0 { // seen, whatever it was
			out.Due = map[string]time.Time{d.Name: {}}
		}
		s.due.drop(d.Name)
	}
	if out.Refused != "" {
		r.log.Debug("an event was refused", "key", s.key, "event", fmt.Sprintf("%T", e), "why", out.Refused)
	}
	for _, ended := range out.Ended {
		r.w.Ended(ended)
	}
	r.w.Handled(Handled{Session: out.State.Record, Was: s.state.Record, Event: e, Output: &out})
	r.keep(s, e, out)
}

// keep the record, then do the effects.
func (r *Runner) keep(s *session, e procedure.Event, out procedure.Output) {
	before := s.state
	r.filling.changed(before.Record, out.State.Record)
	s.state, s.busy = out.State, out.Busy
	s.asked++
	s.ahead, s.answer = false, nil
	r.mark(s)
	if rec := s.state.Record; rec != nil {
		r.name(s, rec)
	}
	if out.Lazy && len(out.Due) == 0 {
		r.effects(s, out.Effects)
		return
	}
	is, err := encoded(s.key, out.State.Record)
	if err != nil {
		r.refused(s, out.Effects, err)
		return
	}
	mayWait := out.Owed && s.isAsStored(is) && s.hasNone(out.Due)
	for name, at := range out.Due {
		s.times.set(name, at)
	}
	if mayWait {
		r.owe(s, out.Due)
		r.effects(s, out.Effects)
		return
	}
	switch {
	case out.Again && s.stored.record != nil:
		r.oweAll(s, out.Due)
		r.effects(s, out.Effects)
	case out.Soon && s.stored.record != nil:
		r.oweAll(s, out.Due)
		s.behind = append(s.behind, out.Effects...)
		r.writeSoon(s)
	default:
		if out.Ahead && r.lists(out.State.Record.Unit.NodeID) {
			out.Effects = r.askAhead(s, out.Effects)
		}
		r.commit(s, is, out.Due, &write{effects: out.Effects, before: before, event: e})
	}
}

// lists says whether a unit has listed what it has, so that what a holder that dies has left there is found (sweep).
func (r *Runner) lists(nodeID string) bool {
	u := r.units[nodeID]
	return u != nil && u.lists
}

// askAhead asks the unit, and returns the other effects. What it answers waits for the write.
func (r *Runner) askAhead(s *session, list []procedure.Effect) (rest []procedure.Effect) {
	var asks []procedure.Effect
	for _, e := range list {
		if _, ofUnit := e.(procedure.AskUnit); ofUnit {
			asks = append(asks, e)
		} else {
			rest = append(rest, e)
		}
	}
	s.ahead = true
	r.effects(s, asks)
	return rest
}

// soonFor is how long the end of an establishment waits to be written with the access network's tunnel.
const soonFor = 3 * time.Millisecond

// writeSoon what is not as the store has it, unless it is with something else.
func (r *Runner) writeSoon(s *session) {
	s.soon = true
	r.w.After(soonFor, func() {
		if r.stopped || r.sessions[s.key] != s || !s.soon || s.writing || s.busy {
			return
		}
		is, err := encoded(s.key, s.state.Record)
		if err != nil {
			r.refused(s, s.behind, err)
			return
		}
		r.commit(s, is, nil, &write{before: s.state})
	})
}

// commit the record with these times, and what is owed; then the effects.
func (r *Runner) commit(s *session, is stored, due map[string]time.Time, x *write) {
	x.effects, s.behind, s.soon = append(s.behind, x.effects...), nil, false
	if x.change, x.is = r.change(s.key, s.stored, is, due); x.change == nil {
		r.effects(s, x.effects)
		return
	}
	s.begun = s.begun || s.stored.record == nil
	x.change.Due, s.owed = withOwed(x.change.Due, s.owed), nil
	s.writing = true
	r.write(s, x, firstPause)
}

// write of a session's record, and the effects behind it. before is what the session was, and event what has changed it.
type write struct {
	change  *sessionstore.Change
	is      stored
	effects []procedure.Effect
	before  procedure.State
	event   procedure.Event
}

// write until it is known what became of it.
func (r *Runner) write(s *session, x *write, pause time.Duration) {
	lease := r.lease
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		err := store.Commit(ctx, lease, *x.change)
		return func() { r.written(s, x, pause, err) }
	})
}

func (r *Runner) written(s *session, x *write, pause time.Duration, err error) {
	r.heard(err)
	switch {
	case r.stopped:
	case err == nil:
		r.unname(s.stored.record)
		r.name(s, x.is.record)
		s.stored, s.writing = x.is, false
		r.effects(s, x.effects)
		if answer := s.answer; answer != nil {
			s.answer = nil
			r.take(s, answer)
		}
		r.pump(s)
	case addressTaken(err): // the session is what it was, and the procedure says what becomes of it without that address
		r.counts.Taken++
		r.log.Warn("an address is another session's", "key", s.key, "err", err)
		r.filling.changed(s.state.Record, x.before.Record)
		s.state, s.writing = x.before, false
		r.handle(s, procedure.AddressTaken{Event: x.event}, r.w.Now())
		r.pump(s)
	case lasting(err): // ErrConflict, ErrTaken, ErrTooLarge: it was not written, and never will be
		r.refused(s, x.effects, err)
	default: // nobody knows
		r.counts.Repeated++
		r.w.After(pause, func() {
			if !r.stopped {
				r.write(s, x, min(2*pause, longestWait))
			}
		})
	}
}

// refused: the record of the session stays as the store has it, and who would have heard of the new one hears that nothing was done.
func (r *Runner) refused(s *session, then []procedure.Effect, err error) {
	r.counts.Conflicts++
	if s.ahead {
		r.leftover(s)
	}
	r.filling.changed(s.state.Record, s.stored.record)
	r.log.Error("a record was not written: its session is left as the store has it", "key", s.key, "err", err)
	r.effects(nil, procedure.Unanswered(s.state.Asker, then))
	queue, watchers := s.queue, s.watchers
	s.queue, s.watchers = nil, nil
	r.drop(s, err)
	if r.stopped {
		return
	}
	if !errors.Is(err, sessionstore.ErrConflict) && !errors.Is(err, sessionstore.ErrTaken) { // it would be refused again
		for _, q := range queue {
			r.decline(q.Event, err.Error())
		}
		r.tell(&watchers, err)
		return
	}
	again := r.session(s.key) // whatever the store has it in the midst of is resumed
	again.queue, again.watchers = append(again.queue, queue...), append(again.watchers, watchers...)
}

// effects are done only by who holds the shard.
func (r *Runner) effects(s *session, list []procedure.Effect) {
	for _, e := range list {
		if r.stopped {
			return
		}
		if reply, ok := e.(procedure.Reply); ok && reply.To == 0 {
			continue // nobody waits
		}
		if !r.w.May() {
			r.stop(errLeaseEnded)
			return
		}
		if s == nil || !procedure.Asks(e) {
			r.w.Do(e, func(answer procedure.Event) { r.unheard(e, answer) })
			continue
		}
		asked := s.asked
		r.w.Do(e, func(answer procedure.Event) { r.answered(s, asked, answer) })
	}
}

func (r *Runner) answered(s *session, asked uint64, e procedure.Event) {
	if r.stopped || e == nil {
		return
	}
	if r.sessions[s.key] != s || s.asked != asked || !s.busy || s.writing && !s.ahead {
		r.counts.Stale++
		return
	}
	if s.writing {
		s.answer = e
		return
	}
	r.take(s, e)
	r.pump(s)
}

// take an answer to what was asked last.
func (r *Runner) take(s *session, e procedure.Event) {
	if r.stopped {
		return
	}
	if u, ok := e.(procedure.Unit); ok && u.Outcome != procedure.Done && u.Outcome != procedure.Refused {
		r.leftover(s)
	}
	r.handle(s, e, r.w.Now())
}

// unheard: a unit that has not answered what no session waits for may have what it was to delete. What an AMF has taken by the way need not be said again.
func (r *Runner) unheard(e procedure.Effect, answer procedure.Event) {
	if told, is := e.(procedure.AskTransfer); is && told.Told(answer) {
		r.DeliverTo(record.ParseRef(told.Ref), procedure.AccessTold{QFIs: told.Tells})
		return
	}
	asked, is := e.(procedure.AskUnit)
	if u, ok := answer.(procedure.Unit); is && ok && !r.stopped && u.Outcome != procedure.Done && u.Outcome != procedure.Refused {
		r.leftoverAt(asked.Unit.NodeID)
	}
}

var errLeaseEnded = errors.New("the lease has ended")

func (r *Runner) stop(why error) {
	if r.stopped {
		return
	}
	r.stopped = true
	r.w.Stopped(why)
}

// Stop ends it: nothing is said any more.
func (r *Runner) Stop() { r.stopped = true }

// leftover: the session's unit may have something that nobody will know of.
func (r *Runner) leftover(s *session) {
	for _, node := range nodes(s.state.Record) {
		r.leftoverAt(node)
	}
}

func (r *Runner) leftoverAt(node string) {
	if u := r.units[node]; u != nil && !u.leftovers {
		u.leftovers = true
		r.sweepIn(node, firstSweep)
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
