package runner

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// Runner has the UEs of one shard.
type Runner struct {
	w         World
	log       *slog.Logger
	shard     uint16
	lease     sessionstore.Lease
	sealer    Sealer
	shardName func(uint16) string
	keys      procedure.Keys

	writer, writes uint64         // revisions of this life
	writing        int            // changes that the store was asked for, until what follows from them is done
	ues            map[string]*ue // by key; those that nobody knows have none
	attached       map[uint64]*ue // UEs in memory by AMF UE NGAP ID
	temporaries    map[uint32]*ue // and by 5G-TMSI
	finding        map[sessionstore.Index][]queued
	left           map[string]bool // keys of UEs that have left memory while the store was asked for some: what it says of them may be old
	cache          cache
	made           uint64 // UEs in memory, in this life
	strangers      int
	mostStrangers  int
	came, tooMany  int // strangers since the last look, and those of them who were told to come later
	overload       procedure.Overload
	numbers        numbers
	starved        []*ue // wait for numbers
	stopped        bool
	farewell       *farewell // nil: it is not to leave
	silent         int       // how often in a row the store has not answered
	counts         Counts

	kept               kept
	keptRevision       sessionstore.Revision
	shardRead, resumed bool
	begun              bool
	lost               bool // the store may have lost writes of UEs that were not visited since
	held               []func()
	handling           map[handed]bool // messages that are not done with
	associations       map[association]bool
	noting             map[association][]func()
	losing             map[association]bool
	owners             map[association]owner     // whose they are, as far as UEs on them were seen
	warned             map[association]time.Time // of messages that are not as they should be
	announced          map[association]announcement
	said               map[association]*record.GNB // what this runner has had remembered of gNBs
	settingUp          map[association]int         // NG Setups that are not answered yet
	unsure             map[association][]func()    // NG Setups that wait for World.Sure, with what came behind them
	sends              sends
	statuses           statuses
	gave               map[string]time.Time // UEs that were given up, by key: nothing is done for them until then
}

// Counts of a runner, since it was made.
type Counts struct {
	// Declined events, whose UEs could not be looked at; of these, Full were one too many for their UE's queue, and Away would have begun something while
	// the store did not answer.
	Declined, Full, Away uint64
	// Conflicts are writes that the store refused; Repeated those whose outcome was not known.
	Conflicts, Repeated uint64
	// Evicted from memory; TakenOver are UEs that were kept, here or in another shard, when they came as strangers; GivenUp went to other shards.
	Evicted, TakenOver, GivenUp uint64
	// Stale answers, to what was asked before, and Skipped times, which were moved while they came.
	Stale, Skipped uint64
	// Abandoned requests, whose askers had given up before their turn came.
	Abandoned uint64
	// BegunAgain are UEs of which the store knew nothing when a holder before has died, or let go of the shard.
	BegunAgain uint64
	// Unreadable messages of gNBs, Repetitions that the holder before had done, NotSent of what was to be sent.
	Unreadable, Repetitions, NotSent uint64
}

// Config of a runner.
type Config struct {
	World World
	Log   *slog.Logger
	// Shard is its number, from 1; ShardName is what a shard is called in leases.
	Shard     uint16
	ShardName func(uint16) string
	Lease     sessionstore.Lease
	Sealer    Sealer
	// Keys does what has to do with keys: procedure.NAS.
	Keys procedure.Keys
	// Writer is random, new with each runner.
	Writer uint64
	// Cached UEs are kept in memory while nothing happens to them; 0 for 32,768.
	Cached int
	// Strangers, UEs that have not shown who they are, may be so many before more of them are told to come later; 0 for 4,096.
	Strangers int
}

const defaultStrangers = 4096

// New makes a runner; Start begins.
func New(c Config) *Runner {
	return &Runner{
		w: c.World, log: c.Log, shard: c.Shard, shardName: c.ShardName, lease: c.Lease, sealer: c.Sealer, keys: c.Keys, writer: c.Writer,
		ues: map[string]*ue{}, attached: map[uint64]*ue{}, temporaries: map[uint32]*ue{}, finding: map[sessionstore.Index][]queued{}, left: map[string]bool{},
		cache: cache{most: cmp.Or(c.Cached, defaultCached)}, mostStrangers: cmp.Or(c.Strangers, defaultStrangers),
		handling: map[handed]bool{}, associations: map[association]bool{}, noting: map[association][]func(){}, losing: map[association]bool{}, owners: map[association]owner{},
		warned: map[association]time.Time{}, announced: map[association]announcement{}, said: map[association]*record.GNB{}, settingUp: map[association]int{}, unsure: map[association][]func(){},
		sends: sends{next: c.Writer + 1}, gave: map[string]time.Time{},
		statuses: statuses{list: map[string]*listening{}},
	}
}

// The bounds of a UE's queue, of a write's repetitions.
const (
	mostQueued  = 16
	firstPause  = 20 * time.Millisecond
	longestWait = 500 * time.Millisecond
	// mostSilent: a store that has not answered so often in a row is away.
	mostSilent = 3
)

var (
	errLeaseEnded = errors.New("the lease has ended")
	errFull       = errors.New("too much is under way for this UE")
	errAway       = errors.New("the session store does not answer")
	errGiven      = errors.New("the UE is being taken over by another shard")
)

// Counts since New.
func (r *Runner) Counts() Counts { return r.counts }

// Away says that the store does not answer.
func (r *Runner) Away() bool { return r.silent >= mostSilent }

// UEs in memory, and those of them that have not shown who they are.
func (r *Runner) UEs() (all, strangers int) { return r.cache.size, r.strangers }

// Reduction is the share of UEs that gNBs are asked to refuse, in percent.
func (r *Runner) Reduction() uint8 { return r.overload.Reduction }

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

func (r *Runner) stop(why error) {
	if r.stopped {
		return
	}
	r.stopped = true
	r.w.Stopped(why)
}

// leaveLook is how often a runner that is to leave looks at who is still there, and settleTime how long it waits for what is being written.
const (
	leaveLook  = 20 * time.Millisecond
	settleTime = time.Second
)

// farewell of a runner that is to leave.
type farewell struct {
	// until then UEs are waited for of which the store knows nothing.
	until time.Time
	left  func()
	// closed: messages of gNBs, and UEs that nobody knows, are for the next holder.
	closed bool
}

// Leave calls left, once, within that time, or so: when no UE is here of which the store knows nothing, and terminators have all that follows from what was written.
// Whoever holds the shard next goes on from there, and with messages that came meanwhile. It does nothing any more then. What has stopped has been left.
func (r *Runner) Leave(within time.Duration, left func()) {
	if r.stopped {
		return
	}
	r.farewell = &farewell{until: r.w.Now().Add(within - settleTime), left: left}
	r.waitForStrangers()
}

func (r *Runner) waitForStrangers() {
	f := r.farewell
	switch {
	case r.stopped:
	case r.hasUnwritten() && r.w.Now().Before(f.until):
		r.w.After(leaveLook, r.waitForStrangers)
	default:
		f.closed = true
		r.w.After(settleTime, r.leave)
		r.leaveWritten()
	}
}

// hasUnwritten says whether a UE is here of which the store knows nothing.
func (r *Runner) hasUnwritten() bool {
	for u := r.cache.oldest; u != nil; u = u.newer {
		if u.key == "" || !u.stored.exists() && !u.atRest() {
			return true
		}
	}
	return false
}

// closed: it is about to leave, and begins nothing that comes to the next holder, too.
func (r *Runner) closed() bool { return r.farewell != nil && r.farewell.closed }

// leaveWritten leaves a shard of which nothing is being written.
func (r *Runner) leaveWritten() {
	if r.closed() && r.writing == 0 {
		r.leave()
	}
}

func (r *Runner) leave() {
	if !r.stopped {
		r.stopped = true
		r.w.Taken(r.farewell.left)
	}
}

// Stop ends it: nothing is said any more.
func (r *Runner) Stop() { r.stopped = true }

// may says whether something may leave; the runner stops where it may not.
func (r *Runner) may() bool {
	if !r.stopped && !r.w.May() {
		r.stop(errLeaseEnded)
	}
	return !r.stopped
}

// Deliver an event to the UE of that SUPI. One that another shard has gets it there.
func (r *Runner) Deliver(supi string, e procedure.Event) { r.DeliverThen(supi, e, nil) }

// DeliverThen calls done when what came of the event is in the store, or, with an error, when nothing ever will; never, where the runner has stopped before.
func (r *Runner) DeliverThen(supi string, e procedure.Event, done func(error)) {
	q := queued{Event: e}
	if done != nil {
		var lost error
		q.lost, q.done, q.kept = func(why error) { lost = why }, func() { done(lost) }, true
	}
	if !r.stopped && !r.declines(q) {
		r.deliver(r.ue(record.Key(supi)), q)
	}
}

// DeliverTo the UE of that 5G-TMSI, of this shard.
func (r *Runner) DeliverTo(tmsi uint32, e procedure.Event) {
	q := queued{Event: e}
	if !r.stopped && !r.declines(q) {
		r.deliverTemporary(tmsi, q)
	}
}

// declines what would begin something while the store does not answer.
func (r *Runner) declines(q queued) bool {
	if !r.Away() || !procedure.Begins(q.Event) {
		return false
	}
	r.counts.Away++
	r.decline(q, errAway)
	return true
}

func (r *Runner) deliverAttached(id uint64, q queued) {
	switch u := r.attached[id]; {
	case u != nil:
		r.deliver(u, q)
	case record.ShardOfAttachment(id) != r.shard:
		r.unknown(q)
	default:
		r.find(attachmentIndex(id), q)
	}
}

func (r *Runner) deliverTemporary(tmsi uint32, q queued) {
	switch u := r.temporaries[tmsi]; {
	case u != nil:
		r.deliver(u, q)
	case record.ShardOfTMSI(tmsi) != r.shard:
		r.unknown(q)
	default:
		r.find(temporaryIndex(tmsi), q)
	}
}

// find a UE that is not in memory. What comes for it meanwhile waits, so that it stays in order.
func (r *Runner) find(i sessionstore.Index, q queued) {
	if waiting, is := r.finding[i]; is {
		if len(waiting) >= mostQueued {
			r.counts.Full++
			r.decline(q, errFull)
			return
		}
		r.finding[i] = append(waiting, q)
		return
	}
	r.finding[i] = []queued{q}
	r.ask(i)
}

func (r *Runner) ask(i sessionstore.Index) {
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Find(ctx, i)
		return func() {
			r.heard(err)
			if !r.stopped {
				r.found(i, found, err)
			}
		}
	})
}

func (r *Runner) found(i sessionstore.Index, found sessionstore.Record, err error) {
	list := r.finding[i]
	delete(r.finding, i)
	defer func() {
		if len(r.finding) == 0 {
			clear(r.left)
		}
	}()
	switch {
	case err == nil:
		u := r.ues[found.Key]
		switch {
		case u == nil && r.left[found.Key]: // it was in memory meanwhile, and may have been written
			u = r.ue(found.Key)
		case u == nil:
			u = r.remember(found.Key)
			r.loaded(u, found, nil)
		}
		for _, q := range list {
			if r.ues[found.Key] != u { // what was before has ended it, or it is another shard's
				u = r.ue(found.Key)
			}
			r.deliver(u, q)
		}
	case errors.Is(err, sessionstore.ErrNotFound): // confirmed, under the generation of our lease
		for _, q := range list {
			if m, is := q.Event.(procedure.FromAccess); is && r.attached[m.At.AMF] != nil { // what stood before it in the list has made it
				r.deliver(r.attached[m.At.AMF], q)
				continue
			}
			r.unknown(q)
		}
	default: // whoever asks again is told so; what nobody says again waits
		for _, q := range list {
			if procedure.Begins(q.Event) {
				r.decline(q, err)
				continue
			}
			r.finding[i] = append(r.finding[i], q)
		}
		if len(r.finding[i]) > 0 {
			r.w.After(longestWait, func() {
				if !r.stopped {
					r.ask(i)
				}
			})
		}
	}
}

// unknown: there is no such UE. A first message makes one.
func (r *Runner) unknown(q queued) {
	if q.op != nil {
		q.op(nil, sessionstore.ErrNotFound)
		return
	}
	if _, first := q.Event.(procedure.Initial); first {
		r.stranger(q)
		return
	}
	r.effects(nil, procedure.Handle(r.input(), procedure.State{}, q.Event).Effects)
	r.finish(q)
}

// decline an event whose UE nobody can look at now: nothing is said that is not known.
func (r *Runner) decline(q queued, why error) {
	if q.op != nil {
		q.op(nil, why)
		return
	}
	r.counts.Declined++
	q.isLost(why)
	if _, first := q.Event.(procedure.Initial); !first || r.numbers.attachments.left() > 0 {
		r.effects(nil, procedure.Decline(r.input(), q.Event, why.Error()))
	}
	r.finish(q)
}

// finish an event: what came of it is in the store, or nothing ever will.
func (r *Runner) finish(q queued) {
	if q.done != nil && !r.stopped {
		q.done()
	}
}

func (r *Runner) input() procedure.Input {
	return procedure.Input{
		Now: r.w.Now(), Settings: r.w.Settings(), Shard: r.shard, Keys: r.keys,
		GNB:  func(a record.Attachment) *record.GNB { return r.w.GNB(a.Terminator, a.Association) },
		Find: r.w.Find, Beside: r.w.Beside, Attachment: r.attachment, Temporary: r.temporary,
	}
}
