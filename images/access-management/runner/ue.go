package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// ue is one in memory.
type ue struct {
	key    string // "" while nobody knows who it is
	number uint64 // of those in memory, one after the other
	state  procedure.State
	stored stored
	// loading: the store was asked for it. writing: the store was asked to keep it, and nothing happens before it has answered. wanted: it is asked for until
	// it is there. dead: it is in memory no more.
	loading, writing, wanted, dead bool
	// opened: it was read, and not taken up yet.
	opened bool
	// packed: there is no record in memory, but stored.octets, and these 5G-TMSIs (packed.go).
	packed bool
	tmsis  [2]uint32
	// taken is what it has taken over, until that is its own.
	taken *procedure.Named
	// naming is the last question who else it is: earlier ones are not asked on.
	naming procedure.Number
	// fresh: nothing of this life of it was written yet, and its times are in memory.
	fresh bool
	// ahead: its record is to be written when what was asked for it has been answered. owed are the times that were said of it since the last write.
	ahead bool
	owed  map[string]time.Time
	// behindLoss: what is ahead has come of the loss of an access network, and is written in a while.
	behindLoss bool
	// life numbers those of the UEs that were here one after the other, asked counts what waits for an answer.
	life, asked int
	// undone are told when nothing that was asked for the UE waits for an answer any more: who is asked has it by then, whoever lives.
	undone []func()
	// first is told when the store knows of a UE that came as a stranger, or it is one no more: until then its terminator keeps its first message.
	first func()
	// together are messages of which nothing has come but another record, which is not written yet; soon: it will be in a moment.
	together []queued
	soon     bool
	// late are events that wait until something else has happened to the UE.
	queue, late []queued
	// due are times that were delivered and are not written as seen yet, times what was said of them in this life: a time that was moved while it came is
	// not one.
	due   map[string]time.Time
	times times
	// loaded are told when it is, watchers when nothing waits any more.
	loaded, watchers []func(error)
	older, newer     *ue // in the cache
	in               bool
}

// queued is an event that waits.
type queued struct {
	procedure.Event
	// done is called when what came of the event is in the store; nil: nobody wants to know.
	done func()
	// keep has its terminator keep a first message for the next holder, with that AMF UE NGAP ID, until done is called; nil: it cannot.
	keep func(id uint64)
	// kept: done is called when that is there, whatever is asked because of it: who asks may wait for who tells.
	kept bool
	// lost is told before, and why, where nothing comes of it; nil: nobody wants to know.
	lost func(error)
	// octets of the message that the event was; nil: it was none.
	octets []byte
	// answer: the runner has asked for it.
	answer bool
	// op is done in the event's place, when nothing is being written; or it hears why the UE cannot be looked at. u is the one in whose queue it is by then: that of
	// before may have been forgotten.
	op func(u *ue, err error)
}

// handedOver by a terminator, which hands it over to the next holder as well, unless it is done with.
func (q *queued) handedOver() bool { return q.octets != nil && q.done != nil }

func (q *queued) isLost(why error) {
	if q.lost != nil {
		q.lost(why)
	}
}

// togetherFor is how long a message of which nothing has come but another record waits to be written with what comes next. A UE that asks for a PDU session as soon as it
// is registered says so within less, and so does its gNB that it has a context. Nothing is written while something is asked for it: the COUNT of a message that has led to a
// question would be, so that the message, coming again, were none. Whether that is answered is looked at every answerLook.
const (
	togetherFor = 3 * time.Millisecond
	answerLook  = 50 * time.Millisecond
)

// lossFor is how long what has come of the loss of an access network waits to be written with what comes next. Most UEs that have lost theirs come again as soon as they
// have another, and all of them at once.
const lossFor = 2 * time.Second

// atRest says whether the UE may be forgotten: the store has all of it, and nobody waits for it.
func (u *ue) atRest() bool {
	if u.state.Wanted() || u.loading || u.writing || u.opened || u.fresh || u.ahead || u.asked > 0 || len(u.queue)+len(u.late)+len(u.watchers)+len(u.loaded) > 0 {
		return false
	}
	rec := u.state.Record
	return rec == nil || rec.Procedure == nil && rec.Handover == nil && rec.Command == nil
}

// ue of that key; it is loaded where it is not in memory.
func (r *Runner) ue(key string) *ue {
	u, ok := r.ues[key]
	if !ok {
		u = r.remember(key)
		r.load(u)
	}
	r.cache.use(u)
	return u
}

func (r *Runner) next() uint64 {
	r.made++
	return r.made
}

func (r *Runner) remember(key string) *ue {
	u := &ue{key: key, number: r.next(), loading: true}
	r.ues[key] = u
	r.cache.use(u)
	r.evict()
	return u
}

// stranger is a UE of which nothing is known.
func (r *Runner) stranger(q queued) {
	if r.closed() {
		return
	}
	u := &ue{number: r.next(), fresh: true, queue: []queued{q}}
	if i, first := q.Event.(procedure.Initial); first {
		r.came++
		if r.strangers >= r.mostStrangers {
			r.tooMany++
			i.Storm = true
			u.queue[0].Event = i
		}
	}
	r.strangers++
	r.cache.use(u)
	r.evict()
	r.pump(u)
}

func (r *Runner) load(u *ue) {
	u.loading = true
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, u.key)
		return func() {
			r.heard(err)
			if !r.stopped {
				r.loaded(u, found, err)
			}
		}
	})
}

func (r *Runner) loaded(u *ue, found sessionstore.Record, err error) {
	u.loading = false
	if err == nil {
		err = r.open(u, found)
	}
	var other *otherShardError
	switch {
	case err == nil, errors.Is(err, sessionstore.ErrNotFound):
		if err != nil {
			r.untime(u, found)
		}
		r.tell(&u.loaded, nil)
		r.pump(u)
	case errors.As(err, &other):
		r.untime(u, found)
		r.elsewhere(u, other)
	case errors.Is(err, sessionstore.ErrUnreadable), errors.Is(err, record.ErrVersion), errors.Is(err, errNoRecord):
		r.log.Error("a UE cannot be read", "err", err)
		r.postpone(u, found)
		queue := u.queue
		r.forget(u, err)
		for _, q := range queue {
			r.decline(q, err)
		}
	default:
		r.notLoaded(u, err)
	}
}

// unreadFor is how long the times of a UE wait that cannot be read: a program, or a key, that can read it may be there by then.
const unreadFor = time.Hour

// postpone what is due of a UE that cannot be read. It would be the first of the shard with each look, in the way of what is due of others.
func (r *Runner) postpone(u *ue, found sessionstore.Record) {
	if len(u.due) == 0 {
		return
	}
	c := sessionstore.Change{Key: u.key, Was: found.Revision, Is: r.unowned(), Value: found.Value, Due: map[string]time.Time{}}
	for name := range u.due {
		c.Due[name] = r.w.Now().Add(unreadFor)
	}
	r.commit(c, func(error) {}) // where it was written meanwhile, the next look tries again
}

// notLoaded: the store does not answer. Whoever asks again is told so; what nobody says again waits.
func (r *Runner) notLoaded(u *ue, err error) {
	queue := u.queue
	u.queue = nil
	for _, q := range queue {
		if q.op == nil && procedure.Begins(q.Event) {
			r.decline(q, err)
			continue
		}
		u.queue = append(u.queue, q)
	}
	if len(u.queue)+len(u.loaded) == 0 && !u.wanted {
		r.forget(u, err)
		return
	}
	u.loading = true
	r.w.After(longestWait, func() {
		if !r.stopped && !u.dead {
			r.load(u)
		}
	})
}

// loadedThen calls f when the UE is loaded, or cannot be.
func (r *Runner) loadedThen(u *ue, f func(error)) {
	if u.loading {
		u.loaded = append(u.loaded, f)
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

var errNoRecord = errors.New("what the store has is no record of a UE")

type otherShardError struct{ shard uint16 }

func (e *otherShardError) Error() string {
	return fmt.Sprintf("the UE is another shard's: %d", e.shard)
}

func (r *Runner) decode(found sessionstore.Record) (stored, error) {
	octets, err := r.sealer.Open(found.Key, found.Value)
	if err != nil {
		return stored{}, err
	}
	rec, err := record.Decode(octets)
	switch {
	case errors.Is(err, record.ErrVersion):
		return stored{}, err
	case err != nil:
		return stored{}, fmt.Errorf("%w: %w", errNoRecord, err)
	}
	return stored{revision: found.Revision, record: rec, octets: octets}, nil
}

// open what the store had.
func (r *Runner) open(u *ue, found sessionstore.Record) error {
	has, err := r.decode(found)
	if err != nil {
		return err
	}
	if has.record.Shard != r.shard {
		return &otherShardError{has.record.Shard}
	}
	u.stored, u.state = has, procedure.State{Record: has.record}
	r.name(u)
	u.opened = true
	return nil
}

// takeUp a UE that was read: what the holder before did not finish is gone on with, while what this one has written, and let go of for want of room, has its times.
// Of associations that are gone it hears first; but before anything else that the
// store has lost writes: a gNB that is back already would be told something under a COUNT that was used.
func (r *Runner) takeUp(u *ue) {
	u.opened = false
	first := r.lostAt(u.state.Record)
	switch again := (queued{Event: procedure.Resumed{Lost: r.lost}}); {
	case r.lost:
		first = append([]queued{again}, first...)
	case unfinished(u.state.Record) && u.stored.revision.Writer != r.writer:
		first = append(first, again)
	}
	u.queue = append(first, u.queue...)
}

// name the UE in memory.
func (r *Runner) name(u *ue) {
	for _, a := range attachments(u.state.Record) {
		r.attached[a.AMF] = u
	}
	for _, t := range temporaries(u.state.Record) {
		r.temporaries[t] = u
	}
}

func (r *Runner) unname(u *ue) {
	for _, a := range attachments(u.state.Record) {
		if r.attached[a.AMF] == u {
			delete(r.attached, a.AMF)
		}
	}
	for _, t := range u.temporaries() {
		if r.temporaries[t] == u {
			delete(r.temporaries, t)
		}
	}
}

// forget a UE: it is in memory no more. why is for those who wait for it.
func (r *Runner) forget(u *ue, why error) {
	if u.dead {
		return
	}
	u.dead = true
	r.cache.remove(u)
	r.unname(u)
	if r.ues[u.key] == u {
		delete(r.ues, u.key)
		if len(r.finding) > 0 {
			r.left[u.key] = true
		}
	}
	if u.key == "" {
		r.strangers--
	}
	r.tell(&u.loaded, why)
	r.tell(&u.watchers, why)
	r.finishAll(u)
	r.finishEach(u.together)
	u.together = nil
	r.firstDone(u)
}

// keepFirst message of a stranger: of what a first message has begun the store knows nothing yet. Its terminator keeps it meanwhile, which is to be said before anything else is.
func (r *Runner) keepFirst(u *ue, q *queued) {
	if q.keep == nil || u.key != "" || u.state.Record == nil || u.state.Record.N2 == nil {
		return
	}
	q.keep(u.state.Record.N2.AMF)
	u.first, q.done = q.done, nil
}

// firstDone: the store knows of the UE, or it is none any more.
func (r *Runner) firstDone(u *ue) {
	if first := u.first; first != nil {
		u.first = nil
		first()
	}
}

// finishLater an event, when what was asked for its UE is answered, unless who tells it does not wait for that.
func (r *Runner) finishLater(u *ue, q queued) {
	if q.done == nil {
		return
	}
	if u.asked == 0 || u.dead || q.kept {
		r.finish(q)
		return
	}
	u.undone = append(u.undone, q.done)
}

func (r *Runner) finishEach(list []queued) {
	for _, q := range list {
		r.finish(q)
	}
}

func (r *Runner) finishAll(u *ue) {
	list := u.undone
	u.undone = nil
	for _, done := range list {
		if !r.stopped {
			done()
		}
	}
}

// waitedFor are those events that somebody still waits for, or that nobody ever did. Requests that wait for a UE's gNB are asked again and again meanwhile.
func (r *Runner) waitedFor(list []queued) []queued {
	var out []queued
	for _, q := range list {
		if from := procedure.From(q.Event); from != 0 && !r.w.Waiting(from) {
			r.counts.Abandoned++
			r.finish(q)
			continue
		}
		out = append(out, q)
	}
	return out
}

// deliver an event to a UE.
func (r *Runner) deliver(u *ue, q queued) {
	if q.op == nil && len(u.queue)+len(u.late) >= mostQueued {
		u.queue, u.late = r.waitedFor(u.queue), r.waitedFor(u.late)
	}
	if q.op == nil && len(u.queue)+len(u.late) >= mostQueued {
		r.counts.Full++
		r.decline(q, errFull)
		return
	}
	u.queue = append(u.queue, q)
	r.pump(u)
}

// pump handles what waits, until something has to be waited for.
func (r *Runner) pump(u *ue) {
	for !r.stopped && !u.dead && !u.loading && !u.writing && (u.opened || len(u.queue) > 0) {
		if !r.numbers.ready() {
			r.starved = append(r.starved, u)
			r.reserve()
			return
		}
		if !r.unpack(u) {
			return
		}
		switch {
		case r.given(u) && len(u.queue) == 0:
			r.forget(u, nil)
			return
		case r.given(u) && u.queue[0].op == nil:
			q := u.queue[0]
			u.queue = u.queue[1:]
			r.notOurs(u, q)
			continue
		case u.opened && !r.given(u):
			r.takeUp(u)
			continue
		}
		if u.ahead && u.queue[0].op != nil { // it looks at what the store has
			r.write(u, nil, nil, queued{})
			continue
		}
		q := u.queue[0]
		u.queue = u.queue[1:]
		if q.op != nil {
			q.op(u, nil)
			continue
		}
		if from := procedure.From(q.Event); from != 0 && !r.w.Waiting(from) {
			r.counts.Abandoned++
			r.finish(q)
			continue
		}
		r.handle(u, q)
	}
	if r.stopped || u.dead || u.loading || u.writing || len(u.queue) > 0 {
		return
	}
	if u.asked == 0 {
		r.finishAll(u)
	}
	if u.state.Record == nil && !u.packed && len(u.late) == 0 && u.asked == 0 {
		r.forget(u, nil)
		return
	}
	r.tell(&u.watchers, nil)
	u.pack()
}

func (r *Runner) handle(u *ue, q queued) {
	if _, first := q.Event.(procedure.Initial); first && u.key != "" && u.state.Record == nil { // it was here, and has ended
		r.stranger(q)
		return
	}
	d, timed := q.Event.(procedure.Due)
	if timed && r.moved(u, d.Name) {
		r.counts.Skipped++
		delete(u.due, d.Name)
		return
	}
	out := procedure.Handle(r.input(), u.state, q.Event)
	r.reserve()
	switch {
	case out.Stranger:
		r.stranger(q)
		return
	case out.Later:
		u.late = append(u.late, q)
		return
	}
	if len(u.late) > 0 {
		u.queue = append(u.late, u.queue...)
		u.late = nil
	}
	if timed {
		delete(u.due, d.Name)
	}
	if out.Refused != "" {
		r.log.Debug("an event was refused", "event", fmt.Sprintf("%T", q.Event), "why", out.Refused)
	}
	for _, ended := range out.Ended {
		r.w.Ended(ended)
	}
	r.w.Handled(Handled{SUPI: supiOf(u, out), UE: u.number, Event: q.Event, Output: &out, Octets: q.octets})
	r.keep(u, out, q)
}

func supiOf(u *ue, out procedure.Output) string {
	for _, rec := range []*record.UE{out.State.Record, u.state.Record} {
		if rec != nil && rec.SUPI != "" {
			return rec.SUPI
		}
	}
	return ""
}

// keep the record, then do the effects.
func (r *Runner) keep(u *ue, out procedure.Output, q queued) {
	before := u.state.Record
	r.unname(u)
	u.state = out.State
	r.name(u)
	if u.state.Record == nil { // what was asked for it is nobody's
		u.life, u.asked, u.times = u.life+1, 0, nil
	}
	r.times(u, out)
	if out.Lazy || u.key == "" {
		r.keepFirst(u, &q)
		r.effects(u, out.Effects)
		r.finishLater(u, q)
		return
	}
	if _, is := q.Event.(procedure.Named); !is && u.taken != nil && before != nil && before.SUPI == "" { // it was not to be the one that it has taken over
		r.effects(u, out.Effects)
		r.finish(q)
		r.letGo(u)
		return
	}
	u.taken = nil
	switch {
	case u.goesOn(out, q) || u.comesAgain(out, q) || r.staysLost(u, out, q):
		if r.isGone(q) {
			r.writeLater(u)
		}
		u.ahead = true
		u.owe(out.Due)
		r.effects(u, out.Effects)
		r.finishLater(u, q)
	case u.staysHere(out, q):
		u.ahead = true
		u.owe(out.Due)
		u.together = append(u.together, q)
		r.writeSoon(u)
	default:
		r.write(u, out.Due, out.Effects, q)
	}
}

// writeSoon what was put together, unless it is with something else.
func (r *Runner) writeSoon(u *ue) {
	if u.soon {
		return
	}
	u.soon = true
	r.writeIn(u, togetherFor)
}

func (r *Runner) writeIn(u *ue, wait time.Duration) {
	r.w.After(wait, func() {
		waits := !r.stopped && !u.dead && len(u.together) > 0
		if waits && u.asked > 0 {
			r.writeIn(u, answerLook)
			return
		}
		if u.soon = false; waits {
			r.write(u, nil, nil, queued{})
		}
	})
}

// writeLater what has come of the loss of an access network, unless it is with something else. What is asked for the UE by then is written with its answer.
func (r *Runner) writeLater(u *ue) {
	if u.behindLoss {
		return
	}
	u.behindLoss = true
	r.w.After(lossFor, func() {
		if r.stopped || u.dead || !u.behindLoss {
			return
		}
		if u.behindLoss = false; u.asked == 0 {
			r.write(u, nil, nil, queued{})
		}
	})
}

// writeLosses at once: then is called when what has come of losses is in the store.
func (r *Runner) writeLosses(then func()) {
	s := &settling{left: 1, then: then}
	for _, u := range r.cache.all(func(u *ue) bool { return u.behindLoss }) {
		s.more()
		u.queue = append(u.queue, queued{op: func(*ue, error) { s.less() }})
		r.pump(u)
	}
	s.less()
}

// write what is not as the store has it, then do the effects.
func (r *Runner) write(u *ue, due map[string]time.Time, then []procedure.Effect, q queued) {
	if u.owed != nil {
		u.owe(due)
		due = u.owed
	}
	c, is, err := r.change(u, due)
	together := u.together
	u.ahead, u.behindLoss, u.owed, u.together = false, false, nil, nil
	switch {
	case err != nil:
		r.refused(u, then, append(together, q), err)
	case c == nil:
		r.follow(u, then, together, q)
	default:
		u.writing = true
		r.associated(is.record, func() {
			r.commit(*c, func(err error) {
				if err != nil {
					r.refused(u, then, append(together, q), err)
					return
				}
				r.written(u, is, then, together, q)
			})
		})
	}
}

// follow a record that the store has: the effects, and then what it came of is done with.
func (r *Runner) follow(u *ue, then []procedure.Effect, together []queued, q queued) {
	r.effects(u, then)
	r.finishEach(together)
	r.finishLater(u, q)
}

// owe the store these times: they are written with the record.
func (u *ue) owe(due map[string]time.Time) {
	if u.owed == nil {
		u.owed = map[string]time.Time{}
	}
	maps.Copy(u.owed, due)
}

// goesOn says that an answer has only led to the next question of the procedure that the store has: what came of both is written together. A holder that takes up
// the record as the store has it asks for both, as it would if this one had died before the first was answered.
func (u *ue) goesOn(out procedure.Output, q queued) bool {
	return q.answer && u.sameProcedure() && len(out.Due) == 0 && len(out.Ended) == 0 && asksOnly(out, procedure.Repeats)
}

// sameProcedure: the store has the UE in the procedure in which it is.
func (u *ue) sameProcedure() bool {
	was, is := u.stored.record, u.state.Record
	return u.known() && was.Procedure != nil && is.Procedure != nil && was.Procedure.Kind == is.Procedure.Kind && was.Procedure.Began == is.Procedure.Began
}

// comesAgain says that an event has only led to questions that it leads the next holder to as well, to which it comes again if this one dies before it has written the
// record: a message that is not done with, or the loss of an access network. What came of the event is written with the answers.
func (u *ue) comesAgain(out procedure.Output, q queued) bool {
	_, loss := q.Event.(procedure.AccessLost)
	return (loss || q.handedOver()) && u.known() && (asksOnly(out, procedure.Idempotent) || q.handedOver() && u.sameProcedure() && asksOnly(out, procedure.Repeats))
}

// staysHere says that nothing has come of a message but another record, for which nobody waits: the message comes to the next holder again, which makes the same of it, if
// this one dies before the record is written.
func (u *ue) staysHere(out procedure.Output, q queued) bool {
	return q.handedOver() && u.known() && len(out.Effects) == 0
}

// staysLost says that nothing has come of an association that is gone, or of an answer behind that, but another record: it comes to the next holder again while the
// association is noted.
func (r *Runner) staysLost(u *ue, out procedure.Output, q queued) bool {
	return (r.isGone(q) || q.answer && u.behindLoss && !anyTime(out.Due)) && u.known() && len(out.Effects) == 0
}

// isGone says that an event is of an association that is gone, and noted.
func (r *Runner) isGone(q queued) bool {
	lost, is := q.Event.(procedure.AccessLost)
	a := associationOf(&lost.At)
	return is && r.associations[a] && r.gone(a)
}

// anyTime says that one is to be looked at, of those that were said.
func anyTime(due map[string]time.Time) bool {
	for _, at := range due {
		if !at.IsZero() {
			return true
		}
	}
	return false
}

// known: the store has a record of the UE, and is to have one.
func (u *ue) known() bool { return !u.fresh && u.stored.record != nil && u.state.Record != nil }

func asksOnly(out procedure.Output, what func(procedure.Effect) bool) bool {
	return len(out.Effects) > 0 && !slices.ContainsFunc(out.Effects, func(e procedure.Effect) bool { return !what(e) })
}

// times that were said. Those of a UE that is not written yet come from memory.
func (r *Runner) times(u *ue, out procedure.Output) {
	for name, at := range out.Due {
		u.times.set(name, at)
		if !u.fresh || at.IsZero() {
			continue
		}
		life := u.life
		r.w.After(at.Sub(r.w.Now()), func() {
			if !r.stopped && !u.dead && u.fresh && u.life == life {
				if said, _ := u.times.of(name); said.Equal(at) {
					r.timed(u, name, at)
				}
			}
		})
	}
}

func (r *Runner) written(u *ue, is stored, then []procedure.Effect, together []queued, q queued) {
	u.stored, u.writing, u.fresh = is, false, false
	u.state.Record = is.record // the same, once
	r.firstDone(u)
	r.follow(u, then, together, q)
	if !r.stopped {
		u.queue = append(r.lostAt(is.record), u.queue...)
		r.pump(u)
	}
}

// refused: the record of the UE stays as the store has it, and who would have heard of the new one hears that nothing was done.
func (r *Runner) refused(u *ue, then []procedure.Effect, list []queued, err error) {
	r.counts.Conflicts++
	r.log.Error("a record was not written: its UE is left as the store has it", "err", err)
	r.effects(nil, procedure.Unanswered(then))
	for _, q := range list {
		q.isLost(err)
		r.finish(q)
	}
	queue, watchers := append(u.queue, u.late...), u.watchers
	u.watchers = nil
	r.forget(u, err)
	if r.stopped {
		return
	}
	if !errors.Is(err, sessionstore.ErrConflict) && !errors.Is(err, sessionstore.ErrTaken) { // it would be refused again
		for _, q := range queue {
			r.decline(q, err)
		}
		r.tell(&watchers, err)
		return
	}
	again := r.ue(u.key) // whatever the store has it in the midst of is resumed
	again.queue, again.watchers = append(again.queue, queue...), append(again.watchers, watchers...)
	r.pump(again)
}

// effects are done only by who holds the shard.
func (r *Runner) effects(u *ue, list []procedure.Effect) {
	for _, e := range list {
		if reply, ok := e.(procedure.Reply); ok && reply.To == 0 {
			continue // nobody waits
		}
		if !r.may() {
			return
		}
		switch e := e.(type) {
		case procedure.Send:
			r.send(u, e)
		case procedure.Page:
			r.page(e)
		case procedure.AskNamed:
			u.asked++
			u.naming = e.Number
			r.askNamed(u, u.life, e, 0)
		case procedure.AskPause:
			u.asked++
			life := u.life
			r.w.After(e.For, func() { r.answered(u, life, procedure.Paused{Number: e.Number}) })
		default:
			if u == nil || !procedure.Asks(e) {
				r.w.Do(e, func(procedure.Event) {})
				continue
			}
			u.asked++
			life := u.life
			r.w.Do(e, func(answer procedure.Event) { r.answered(u, life, answer) })
		}
	}
}

// answered is called once for what was asked.
func (r *Runner) answered(u *ue, life int, e procedure.Event) {
	if r.stopped || e == nil {
		return
	}
	if u.dead || u.life != life {
		r.counts.Stale++
		return
	}
	u.asked--
	u.queue = append(u.queue, queued{Event: e, answer: true})
	r.pump(u)
}
