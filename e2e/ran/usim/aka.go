package usim

import (
	"errors"
	"fmt"
	"sync"

	"github.com/free5gc/util/milenage"
)

// ErrMACFailure: AUTN was not made with this subscriber's K (TS 33.501 6.1.3.3.1, 5GMM cause #20).
var ErrMACFailure = errors.New("MAC in AUTN does not match: K or OPc differ between UE and network")

// ErrSeparationBit: bit 0 of the AMF field in AUTN is 0, so the vector is not meant for 5G
// (TS 33.501 6.1.3.2, 5GMM cause #26).
var ErrSeparationBit = errors.New("AUTN has the AMF separation bit cleared: not a 5G vector")

// SyncFailure says that SQN was not fresh; AUTS carries SQN_MS back to the home network
// (TS 33.102 6.3.3, 5GMM cause #21).
type SyncFailure struct {
	AUTS [14]byte
}

func (*SyncFailure) Error() string { return "SQN in AUTN is not fresh: resynchronisation needed" }

// indexBits is the length of IND, the low part of SQN (TS 33.102 C.1.1.1 and C.3).
const indexBits = 5

const sqnMask = 1<<48 - 1

// USIM holds one subscription's long-term secret and its sequence numbers. Safe for concurrent use.
type USIM struct {
	k, opc Key128

	mu  sync.Mutex
	seq [1 << indexBits]uint64 // highest SEQ accepted for each IND (TS 33.102 C.2.2)
	max uint64                 // SQN_MS: the highest SQN accepted so far
}

// New makes a USIM that has accepted no SQN above sqn yet (0 for a fresh one).
func New(k, opc Key128, sqn uint64) *USIM {
	u := &USIM{k: k, opc: opc}
	u.SetSQN(sqn)
	return u
}

// SetSQN replaces the whole sequence number memory, as if every SQN up to sqn had been used.
func (u *USIM) SetSQN(sqn uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.max = sqn & sqnMask
	for i := range u.seq {
		u.seq[i] = u.max >> indexBits
	}
}

// Authenticate verifies (RAND, AUTN) and derives the keys for the serving network name snn. It
// returns ErrMACFailure, ErrSeparationBit or a *SyncFailure when the UE has to refuse.
func (u *USIM) Authenticate(rand, autn [16]byte, snn string) (*Vector, error) {
	sqnB, ak, ik, ck, res, err := milenage.GenerateKeysWithAUTN(u.opc[:], u.k[:], rand[:], autn[:])
	if err != nil {
		var mac *milenage.MACFailureError
		if errors.As(err, &mac) {
			return nil, ErrMACFailure
		}
		return nil, fmt.Errorf("milenage: %w", err)
	}
	if autn[6]&0x80 == 0 {
		return nil, ErrSeparationBit
	}
	sqn := getSQN(sqnB)

	u.mu.Lock()
	defer u.mu.Unlock()
	// TS 33.102 C.2.2: fresh when SEQ is above the one remembered for its IND. The optional upper
	// limit (delta) of C.2.1 is left out: with the time-based SQN of Annex C a first challenge is
	// always far above a new USIM's zero.
	ind := sqn & (1<<indexBits - 1)
	if sqn>>indexBits <= u.seq[ind] {
		auts, err := milenage.GenerateAUTS(u.opc[:], u.k[:], rand[:], putSQN(u.max))
		if err != nil {
			return nil, fmt.Errorf("milenage: %w", err)
		}
		f := &SyncFailure{}
		copy(f.AUTS[:], auts)
		return nil, f
	}
	u.seq[ind] = sqn >> indexBits
	u.max = max(u.max, sqn)

	sqnXorAK := make([]byte, 6)
	for i := range sqnXorAK {
		sqnXorAK[i] = sqnB[i] ^ ak[i]
	}
	return newVector(ck, ik, rand[:], res, sqnXorAK, snn), nil
}

func getSQN(b []byte) uint64 {
	var v uint64
	for _, o := range b {
		v = v<<8 | uint64(o)
	}
	return v
}

func putSQN(v uint64) []byte {
	return []byte{byte(v >> 40), byte(v >> 32), byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
}
