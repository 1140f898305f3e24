package aka

// Sequence numbers without storage.
//
// The problem: every challenge needs an SQN that this USIM has not seen, across restarts, and nothing is
// stored. So SEQ, the upper 43 bits of SQN, is the time (TS 33.102 Annex C.1.1.3, "entirely
// time-based"): a global counter GLC of tenths of a second, the same for all subscribers, plus a
// per-subscriber offset DIF that a resynchronisation sets. Vectors that are asked for within the same
// tick run ahead of the clock by one each, so that they stay distinct; a restart forgets that lead, and
// would need to happen within it to repeat a number. IND, the lower 5 bits, follows from SEQ and cycles
// through the USIM's array of 32.
//
// What a restart loses is DIF, and what that costs is one more resynchronisation for the few USIMs that
// had one: their next challenge is answered with AUTS again, which restores it. Nothing else can happen,
// because the USIM alone decides which SQN is fresh.

import (
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
	seqMax = 1<<43 - 1
	// seqDelta is the largest step forward that a USIM has to accept (Δ of TS 33.102 Annex C.2.1).
	seqDelta = 1 << 28
)

// ErrSequenceExhausted means that a USIM's sequence number has come to its end; it needs replacement.
var ErrSequenceExhausted = errors.New("the sequence number of the USIM is exhausted")

// Sequences issues sequence numbers. Its zero value is not usable; see NewSequences.
type Sequences struct {
	now func() time.Time

	mu      sync.Mutex
	state   map[string]sequence
	sweepAt int
}

type sequence struct {
	last uint64 // SEQ issued last
	dif  int64  // DIF: SEQ = GLC + DIF
}

// NewSequences returns a generator on the given clock.
func NewSequences(now func() time.Time) *Sequences {
	return &Sequences{now: now, state: make(map[string]sequence), sweepAt: 1024}
}

// Next returns a sequence number for the SUPI, greater than all that were returned before.
func (s *Sequences) Next(supi string) (SQN, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state[supi]
	seq, err := s.upcoming(st)
	if err != nil {
		return 0, err
	}
	st.last = seq
	s.store(supi, st)
	return SQN(seq<<IndexBits | seq&(1<<IndexBits-1)), nil
}

// Resynchronise takes the SQN_MS of a verified AUTS (TS 33.102 6.3.5 and Annex C.2.2): afterwards Next
// returns what that USIM accepts. fresh says that the AUTS answers a challenge of ours that is still
// open. Only then may the sequence number step back to the USIM's; an old AUTS can at most move it
// forward.
func (s *Sequences) Resynchronise(supi string, sqnMS SQN, fresh bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state[supi]
	next, err := s.upcoming(st)
	if err != nil {
		return err
	}
	seqMS := uint64(sqnMS) >> IndexBits
	if seqMS >= seqMax {
		return ErrSequenceExhausted
	}
	switch {
	case next <= seqMS:
		// The USIM is ahead of us.
	case next-seqMS > seqDelta && fresh:
		// Further ahead of the USIM than it accepts in one step.
	default:
		// What comes next is in the range that the USIM accepts: nothing to correct.
		return nil
	}
	st.dif = int64(seqMS+1) - int64(s.glc())
	st.last = seqMS
	s.store(supi, st)
	return nil
}

// upcoming is the SEQ that Next would issue.
func (s *Sequences) upcoming(st sequence) (uint64, error) {
	seq := int64(s.glc()) + st.dif
	if seq < 1 {
		seq = 1
	}
	if uint64(seq) <= st.last {
		seq = int64(st.last) + 1
	}
	if seq > seqMax {
		return 0, ErrSequenceExhausted
	}
	return uint64(seq), nil
}

func (s *Sequences) glc() uint64 {
	return uint64(s.now().UnixNano()) / uint64(Tick)
}

// store bounds the memory: who has no offset and no lead over the clock needs no entry.
func (s *Sequences) store(supi string, st sequence) {
	s.state[supi] = st
	if len(s.state) < s.sweepAt {
		return
	}
	glc := s.glc()
	for k, v := range s.state {
		if v.dif == 0 && v.last < glc {
			delete(s.state, k)
		}
	}
	s.sweepAt = 2*len(s.state) + 1024
}
