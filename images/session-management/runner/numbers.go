package runner

import (
	"context"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// numbers are blocks of the shard's count of sessions, reserved ahead.
type numbers struct {
	shard  uint16
	blocks [][2]uint64 // first, and behind the last
	asked  bool
	// away: the store has not answered when it was asked last.
	away bool
	// floor: a store that has lost writes gives numbers that it gave before. Those below it are not used.
	floor uint64
}

const (
	blockSize = 1024
	// perEpoch numbers lie between the floors of two epochs that follow each other; epochs are at least as far apart as their milliseconds, so
	// that a shard would have to make 64,000 sessions a second to reach the next floor. 2^42 ms are until the year 2109.
	perEpoch = 64
)

// floorOf an epoch: no shard has numbered so far before it began.
func floorOf(epoch uint64) uint64 { return epoch * perEpoch & (1<<48 - 1) }

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

// take a block; false: it lies below the floor.
func (n *numbers) take(first, size uint64) bool {
	first, end := max(first, n.floor), first+size
	if first >= end {
		return false
	}
	n.blocks = append(n.blocks, [2]uint64{first, end})
	return true
}

// reserve the next block when half of one is left.
func (r *Runner) reserve() {
	if r.numbers.asked || r.stopped || !r.shardRead || r.numbers.left() > blockSize/2 {
		return
	}
	r.numbers.asked = true
	r.reserveBlock(blockSize)
}

func (r *Runner) reserveBlock(size uint64) {
	lease := r.lease
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		first, err := store.Reserve(ctx, lease, "session/"+lease.Shard, size)
		return func() {
			r.heard(err)
			switch {
			case r.stopped:
			case err != nil:
				r.numbers.away = true
				r.w.After(longestWait, func() { r.numbers.asked = false; r.reserve() })
				r.feed()
			case !r.numbers.take(first, size): // the store has lost count: over what was given before
				r.reserveBlock(r.numbers.floor - first)
			default:
				r.numbers.asked, r.numbers.away = false, false
				if r.kept.Generation != r.lease.Generation { // from here on the store counts from above the floor
					r.kept.Generation = r.lease.Generation
					r.keepShard(func() {})
				}
				r.reserve()
				r.feed()
			}
		}
	})
}

// starves: a session that is asked for waits for its number. Where the store does not answer, who asks is told to come again.
func (r *Runner) starves(e procedure.Event) bool {
	_, ok := e.(procedure.Create)
	return ok && r.numbers.left() == 0 && !r.numbers.away
}

// feed those that have waited for a number.
func (r *Runner) feed() {
	starved := r.starved
	r.starved = nil
	for _, s := range starved {
		r.pump(s)
	}
}
