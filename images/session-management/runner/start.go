package runner

import (
	"context"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// numbers are blocks of the shard's count of sessions, reserved ahead.
type numbers struct {
	shard  uint16
	blocks [][2]uint64 // first, and behind the last
	asked  bool
}

const blockSize = 1024

func (n *numbers) left() uint64 {
	var sum uint64
	for _, b := range n.blocks {
		sum += b[1] - b[0]
	}
	return sum
}

func (n *numbers) next() uint64 {
	if len(n.blocks) == 0 {
		return 0 // handle looks before
	}
	number := n.blocks[0][0]
	n.blocks[0][0]++
	if n.blocks[0][0] == n.blocks[0][1] {
		n.blocks = n.blocks[1:]
	}
	return record.SEID(n.shard, number+1) // 0 names no session
}

// reserve the next block when half of one is left.
func (r *Runner) reserve() {
	if r.numbers.asked || r.stopped || r.numbers.left() > blockSize/2 {
		return
	}
	r.numbers.asked = true
	lease := r.lease
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		first, err := store.Reserve(ctx, lease, "session/"+lease.Shard, blockSize)
		return func() {
			r.numbers.asked = false
			if err == nil {
				r.numbers.blocks = append(r.numbers.blocks, [2]uint64{first, first + blockSize})
				return
			}
			if !r.stopped {
				r.w.After(longestWait, r.reserve)
			}
		}
	})
}

// lookEvery is how often the store is asked what is due. Times of a session are of seconds.
const lookEvery = 500 * time.Millisecond

// most is how much of a list is taken at a time.
const most = 256

// Start takes up what the holder before has left: procedures under way first.
func (r *Runner) Start() {
	r.reserve()
	r.resume()
	r.look()
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

// look for what is due.
func (r *Runner) look() {
	if r.stopped {
		return
	}
	now, shard := r.w.Now(), r.lease.Shard
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		list, err := store.Due(ctx, shard, now, most)
		return func() {
			if r.stopped {
				return
			}
			if err == nil {
				for _, d := range list {
					s := r.session(d.Key)
					if !s.due[d.Name] {
						s.due[d.Name] = true
						s.queue = append(s.queue, procedure.Due{Name: d.Name})
						r.pump(s)
					}
				}
			}
			r.w.After(lookEvery, r.look)
		}
	})
}

// EachOf delivers an event to every session of a group, as many at a time as the store lists.
func (r *Runner) EachOf(group string, e procedure.Event, done func(error)) {
	r.eachOf(group, "", e, done)
}

func (r *Runner) eachOf(group, cursor string, e procedure.Event, done func(error)) {
	if r.stopped {
		return
	}
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		keys, next, err := store.Members(ctx, group, cursor, most)
		return func() {
			if err != nil {
				done(err)
				return
			}
			for _, key := range keys {
				r.Deliver(key, e)
			}
			if next == "" {
				done(nil)
				return
			}
			r.eachOf(group, next, e, done)
		}
	})
}
