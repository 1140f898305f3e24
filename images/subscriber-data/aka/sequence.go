package aka

// Sequence numbers from the clock.
//
// The problem: every challenge needs an SQN that this USIM has not seen, across restarts and whichever replica makes it.
// SEQ, the upper 43 bits of SQN, is the time (TS 33.102 Annex C.1.1.3, "entirely time-based"): a global
// counter GLC of tenths of a second, the same for all subscribers, plus a per-subscriber offset DIF that a
// resynchronisation sets. IND, the lower 5 bits, follows from SEQ and cycles through the USIM's array of 32.
//
// Vectors that are asked for within the same tick run ahead of the clock by one each. What has been issued must not be issued
// again. Two ways lead there:
//
// Kept: what was issued last (Sequence) is committed to the session store before the challenge leaves, with the context that
// the challenge needs anyway. Replicas cannot issue a number twice, since of two commits one fails, and none is below
// another; the store's own loss costs no more than what ran ahead of the clock.
//
// Without a store, there is one process, and it remembers in memory. A restart forgets, and the clock may be set back. So the
// generator reserves ticks in blocks, outside the process, and issues a tick only when it is reserved, or when the clock has
// reached it; a new process begins behind all that was reserved. That is one write for ten minutes, or for so many challenges
// of one subscriber, made before the last block is used up. Where ticks cannot be reserved, because there is nowhere to write
// to or it does not answer, challenges that would run ahead of the clock wait for it. What a restart loses then is DIF, and
// what that costs is one more resynchronisation for the few USIMs that had one.

import (
	"context"
	"errors"
	"sync"
	"time"
)

// IndexBits is the length of IND, and Tick the unit of the clock behind SEQ.
const (
	IndexBits = 5
	Tick      = 100 * time.Millisecond
)

const (
	// block is how many ticks are reserved at a time: ten minutes of the clock.
	block = 6000
	// reserveLimit is how long a reservation may take, and reservePause the time after one that failed.
	reserveLimit = 5 * time.Second
	reservePause = time.Second
	// waitLimit is how long a challenge waits for the clock: less than the AMF does for an answer.
	waitLimit = 2 * time.Second
)

const (
	seqMax = 1<<43 - 1
	// seqDelta is the largest step forward that a USIM has to accept (Δ of TS 33.102 Annex C.2.1).
	seqDelta = 1 << 28
)

// ErrSequenceExhausted means that a USIM's sequence number has come to its end; it needs replacement.
var ErrSequenceExhausted = errors.New("the sequence number of the USIM is exhausted")

// ErrTooMany means that a subscriber was challenged more often than the clock ticks, for too long.
var ErrTooMany = errors.New("more challenges of the subscriber than sequence numbers: they could not be reserved ahead of the clock")

// Reserve keeps, where a restart finds it, that ticks up to the given one may be in use.
type Reserve func(ctx context.Context, tick uint64) error

// Sequences issues sequence numbers. Its zero value is not usable; see NewSequences and KeptSequences.
type Sequences struct {
	now     func() time.Time
	reserve Reserve
	// kept: who asks keeps each Sequence before it is used, so that nothing is to be reserved.
	kept bool
	// wait returns after a time, or with an error when ctx ends before.
	wait func(ctx context.Context, d time.Duration) error

	mu       sync.Mutex
	floor    uint64 // the first tick that no process before has reserved
	reserved uint64 // the last tick that may be issued though the clock has not reached it
	// underWay is closed when the reservation that is under way has ended; pause is when the next may begin.
	underWay chan struct{}
	pause    time.Time
}

// Sequence is what is remembered of a subscriber.
type Sequence struct {
	Last uint64 `json:"last"`          // SEQ issued last
	DIF  int64  `json:"dif,omitempty"` // SEQ = GLC + DIF
}

// NewSequences returns a generator on the given clock. reserved is the last tick that was reserved before; reserve may
// be nil, and nothing runs ahead of the clock then.
func NewSequences(now func() time.Time, reserved uint64, reserve Reserve) *Sequences {
	return &Sequences{
		now: now, reserve: reserve, wait: wait,
		floor: reserved + 1, reserved: reserved,
	}
}

// KeptSequences is a generator for who commits each Sequence, where every process finds it, before it uses the number.
// reserved is the last tick that processes have reserved which did not.
func KeptSequences(now func() time.Time, reserved uint64) *Sequences {
	return &Sequences{now: now, kept: true, floor: reserved + 1}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Prepare reserves the first block, so that challenges need not wait for it, and a clock that is set back finds it. It
// returns an error where that fails; the generator can be used all the same.
func (s *Sequences) Prepare(ctx context.Context) error {
	if s.reserve == nil {
		return nil
	}
	s.mu.Lock()
	upTo := s.glc() + block
	s.mu.Unlock()
	if err := s.reserve(ctx, upTo); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved = max(s.reserved, upTo)
	return nil
}

// Next returns a sequence number greater than all that were issued to the subscriber, of whom that is remembered, and what is
// to be remembered.
func (s *Sequences) Next(ctx context.Context, was Sequence) (SQN, Sequence, error) {
	giveUp := s.now().Add(waitLimit)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		seq, err := s.upcoming(was)
		if err != nil {
			return 0, was, err
		}
		issued := SQN(seq<<IndexBits | seq&(1<<IndexBits-1))
		if s.kept {
			return issued, Sequence{seq, was.DIF}, nil
		}
		tick := uint64(int64(seq) - was.DIF)
		if tick+block/2 > s.reserved {
			s.extend(tick + block)
		}
		clock := s.clock()
		if tick <= s.reserved || tick <= clock {
			return issued, Sequence{seq, was.DIF}, nil
		}
		if err := s.await(ctx, time.Duration(tick-clock)*Tick, giveUp); err != nil {
			return 0, was, err
		}
	}
}

// extend begins to reserve ticks, unless that is under way or has just failed. It is called with the lock held.
func (s *Sequences) extend(upTo uint64) {
	if s.reserve == nil || s.underWay != nil || s.now().Before(s.pause) {
		return
	}
	done := make(chan struct{})
	s.underWay = done
	go func() {
		// Not the caller's context: others wait for it too.
		ctx, cancel := context.WithTimeout(context.Background(), reserveLimit)
		defer cancel()
		err := s.reserve(ctx, upTo)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.reserved = max(s.reserved, upTo)
		} else {
			s.pause = s.now().Add(reservePause)
		}
		s.underWay = nil
		close(done)
	}()
}

// await returns when the tick may have become usable: after a reservation, or when the clock is there. It is called
// with the lock held, and holds it again when it returns.
func (s *Sequences) await(ctx context.Context, until time.Duration, giveUp time.Time) error {
	done := s.underWay
	if done == nil && s.now().Add(until).After(giveUp) {
		return ErrTooMany
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	if done == nil {
		return s.wait(ctx, until)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-done:
		return nil
	}
}

// Resynchronise takes the SQN_MS of a verified AUTS (TS 33.102 6.3.5 and Annex C.2.2): afterwards Next
// returns what that USIM accepts. fresh says that the AUTS answers a challenge of ours that is still
// open. Only then may the sequence number step back to the USIM's; an old AUTS can at most move it
// forward.
func (s *Sequences) Resynchronise(was Sequence, sqnMS SQN, fresh bool) (Sequence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.upcoming(was)
	if err != nil {
		return was, err
	}
	seqMS := uint64(sqnMS) >> IndexBits
	if seqMS >= seqMax {
		return was, ErrSequenceExhausted
	}
	switch {
	case next <= seqMS:
		// The USIM is ahead of us.
	case next-seqMS > seqDelta && fresh:
		// Further ahead of the USIM than it accepts in one step.
	default:
		// What comes next is in the range that the USIM accepts: nothing to correct.
		return was, nil
	}
	return Sequence{Last: seqMS, DIF: int64(seqMS+1) - int64(s.glc())}, nil
}

// Needless says that nothing need be remembered: who has no offset and no lead over the clock gets the same without.
func (s *Sequences) Needless(q Sequence) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return q.DIF == 0 && q.Last < s.glc()
}

// upcoming is the SEQ that Next would issue.
func (s *Sequences) upcoming(was Sequence) (uint64, error) {
	seq := int64(s.glc()) + was.DIF
	if seq < 1 {
		seq = 1
	}
	if uint64(seq) <= was.Last {
		seq = int64(was.Last) + 1
	}
	if seq > seqMax {
		return 0, ErrSequenceExhausted
	}
	return uint64(seq), nil
}

// glc is the clock, which stands still until it has passed what processes before reserved.
func (s *Sequences) glc() uint64 { return max(s.clock(), s.floor) }

func (s *Sequences) clock() uint64 { return TickAt(s.now()) }

// TickAt is the tick of a time, and TimeOf the time when a tick begins.
func TickAt(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) / uint64(Tick) }

// TimeOf is the inverse of TickAt.
func TimeOf(tick uint64) time.Time { return time.Unix(0, 0).Add(time.Duration(tick) * Tick) }
