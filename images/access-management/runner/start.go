package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"

	"github.com/fxamacker/cbor/v2"
)

// lookEvery is how often the store is asked what is due. Times of a UE are of seconds.
const lookEvery = 500 * time.Millisecond

// most is how much of a list is taken at a time.
const most = 256

// kept is the shard's own record.
type kept struct {
	// Generation of the store in which all UEs are known to be as they were left.
	Generation string `cbor:"0,keyasint"`
	// Permutation is the key of that of 5G-TMSIs, Offset the first AMF UE NGAP ID.
	Permutation []byte `cbor:"1,keyasint"`
	Offset      uint32 `cbor:"2,keyasint"`
}

// Start takes up what the holder before has left: procedures under way first.
func (r *Runner) Start() {
	r.readShard()
}

// begin what had to wait: numbers are there, and what the holder before was in the midst of is in memory.
func (r *Runner) begin() {
	if r.stopped || !r.numbers.ready() {
		return
	}
	starved := r.starved
	r.starved = nil
	for _, u := range starved {
		r.pump(u)
	}
	if r.begun || !r.resumed {
		return
	}
	r.begun = true
	held := r.held
	r.held = nil
	for _, f := range held {
		if !r.stopped {
			f()
		}
	}
	r.announceOn()
}

func shardKey(shard string) string { return "shard/" + shard }

// readShard reads the shard's own record. Nothing is numbered before.
func (r *Runner) readShard() {
	if r.stopped {
		return
	}
	key := shardKey(r.lease.Shard)
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, key)
		return func() {
			r.heard(err)
			if r.stopped {
				return
			}
			if err != nil && !errors.Is(err, sessionstore.ErrNotFound) {
				r.w.After(longestWait, r.readShard)
				return
			}
			if err == nil {
				r.keptRevision = found.Revision
				if r.kept, err = r.openShard(key, found.Value); err != nil {
					r.log.Error("the shard's own record cannot be read: its numbers begin anew", "err", err)
				}
			}
			r.number()
		}
	})
}

func (r *Runner) openShard(key string, value []byte) (k kept, err error) {
	octets, err := r.sealer.Open(key, value)
	if err != nil {
		return k, err
	}
	if err := cbor.Unmarshal(octets, &k); err != nil {
		return kept{}, fmt.Errorf("the shard's record: %w", err)
	}
	return k, nil
}

// number as the shard's own record says; a shard's first holder says how.
func (r *Runner) number() {
	if len(r.kept.Permutation) != permutationKey {
		var offset [4]byte
		r.w.Random(offset[:])
		r.kept = kept{Generation: r.lease.Generation, Permutation: make([]byte, permutationKey)}
		r.w.Random(r.kept.Permutation)
		for _, b := range offset {
			r.kept.Offset = r.kept.Offset<<8 | uint32(b)
		}
		r.keepShard(r.numbered)
		return
	}
	r.numbered()
}

func (r *Runner) numbered() {
	order, err := newPermutation(r.kept.Permutation)
	if err != nil {
		r.log.Error("5G-TMSIs cannot be permuted", "err", err)
		return
	}
	r.numbers.order, r.numbers.offset, r.shardRead = order, r.kept.Offset, true
	if r.kept.Generation != r.lease.Generation {
		r.lost = true
		r.numbers.attachments.skip, r.numbers.temporaries.skip = skipOf(r.lease.Epoch), skipOf(r.lease.Epoch)
		r.proveAll()
	}
	r.reserve()
	r.resume()
	r.readNotes("")
	r.readStatuses("")
	r.look()
}

// proveAll: the store has lost writes. No UE's COUNTs are trusted before it was authenticated anew; those that are loaded meanwhile hear it as they are.
func (r *Runner) proveAll() {
	r.walk(UEGroup(r.shard), func(*record.UE) []procedure.Event { return []procedure.Event{procedure.Resumed{Lost: true}} }, func() {
		r.lost = false
		r.kept.Generation = r.lease.Generation
		r.keepShard(func() {})
	})
}

// Configured: the Settings are others than before, and every gNB, every UE, and who has subscribed to the AMF's status hear so.
func (r *Runner) Configured() {
	r.once(func() {
		r.announce()
		r.walk(UEGroup(r.shard), func(*record.UE) []procedure.Event { return []procedure.Event{procedure.SettingsChanged{}} }, func() {})
		r.tellStatuses()
	})
}

func (r *Runner) keepShard(then func()) {
	octets, err := cbor.Marshal(r.kept)
	if err != nil {
		r.log.Error("the shard's own record cannot be written", "err", err)
		return
	}
	key := shardKey(r.lease.Shard)
	c := sessionstore.Change{Key: key, Was: r.keptRevision, Is: r.revision(), Value: r.sealer.Seal(key, octets)}
	r.commit(c, func(err error) {
		if err != nil {
			r.log.Error("the store refuses the shard's own record", "err", err)
			return
		}
		r.keptRevision = c.Is
		then()
	})
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
			if r.stopped {
				return
			}
			if err != nil {
				r.w.After(longestWait, r.resume)
				return
			}
			left := len(keys) + 1
			loaded := func(error) {
				if left--; left == 0 {
					r.resumed = true
					r.begin()
				}
			}
			for _, key := range keys {
				u := r.ue(key)
				u.wanted = true
				r.loadedThen(u, loaded)
			}
			loaded(nil)
		}
	})
}

// look for what is due, and what will be before the next look.
func (r *Runner) look() {
	if r.stopped {
		return
	}
	now, shard := r.w.Now(), r.lease.Shard
	r.sends.forget(now)
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
	if u := r.ue(d.Key); !u.fresh { // those of a UE that is not written are in memory
		r.timed(u, d.Name, d.At)
	}
}

// timed delivers a time, once.
func (r *Runner) timed(u *ue, name string, at time.Time) {
	if _, delivered := u.due[name]; delivered {
		return
	}
	if u.due == nil {
		u.due = map[string]time.Time{}
	}
	u.due[name] = at
	u.queue = append(u.queue, queued{Event: procedure.Due{Name: name}})
	r.pump(u)
}

// moved says that a time that was delivered is not the one that was said last.
func (r *Runner) moved(u *ue, name string) bool {
	said, known := u.times.of(name)
	return known && said.UnixMilli() != u.due[name].UnixMilli()
}

func sortedAssociations(m map[association]bool) []association {
	var out []association
	for a := range m {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b association) int {
		return cmp.Or(cmp.Compare(a.terminator, b.terminator), cmp.Compare(a.number, b.number))
	})
	return out
}
