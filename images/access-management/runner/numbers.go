package runner

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// numbers are blocks of the shard's counts, reserved ahead: of AMF UE NGAP IDs, and of 5G-TMSIs.
//
// The counts wrap: after 2^32 attachments, of which none is left by then, and after 2^24 5G-TMSIs. One that a UE still has is refused by the index of the
// store, and the UE that was to have it too gets another when it asks again.
type numbers struct {
	attachments, temporaries sequence
	// offset of the first AMF UE NGAP ID, and the permutation of 5G-TMSIs, which are not to be guessed (TS 33.501 6.12.3): both of the shard's own record.
	offset uint32
	order  permutation
}

// sequence of numbers.
type sequence struct {
	blocks [][2]uint64 // first, and behind the last
	asked  bool
	// skip so many first: a store that has lost writes gives numbers that it gave before.
	skip uint64
}

const (
	blockSize = 1024
	// lostNumbers are more than a shard gives in the seconds that a store may lose.
	lostNumbers = 1 << 14
	// enough numbers for one event: of its UE's and a stranger's attachment, and of a handover's target.
	enough = 4
)

// skipOf an epoch, which is in ms: a store that loses writes again before some seconds have gone has lost what was skipped, too, so that who comes next, 32 ms later or
// up to 8 s, skips otherwise.
func skipOf(epoch uint64) uint64 { return lostNumbers * (1 + epoch>>5&255) }

func (s *sequence) left() (sum uint64) {
	for _, b := range s.blocks {
		sum += b[1] - b[0]
	}
	return sum
}

func (s *sequence) next() uint64 {
	number := s.blocks[0][0]
	s.blocks[0][0]++
	if s.blocks[0][0] == s.blocks[0][1] {
		s.blocks = s.blocks[1:]
	}
	return number
}

func (n *numbers) ready() bool {
	return n.attachments.left() >= enough && n.temporaries.left() >= enough
}

// attachment is an AMF UE NGAP ID.
func (r *Runner) attachment() uint64 {
	return record.AttachmentID(r.shard, uint64(uint32(r.numbers.attachments.next())+r.numbers.offset))
}

// temporary is a 5G-TMSI, none that a UE in memory has.
func (r *Runner) temporary() uint32 {
	for {
		tmsi := record.TMSI(r.shard, r.numbers.order.of(uint32(r.numbers.temporaries.next())))
		if r.temporaries[tmsi] == nil || r.numbers.temporaries.left() == 0 {
			return tmsi
		}
	}
}

// permutation of 24 bits: a Feistel network of AES over two halves.
type permutation struct{ block cipher.Block }

const (
	permutationKey    = 16
	permutationRounds = 8
	half              = 12
	halfMask          = 1<<half - 1
)

func newPermutation(key []byte) (permutation, error) {
	block, err := aes.NewCipher(key)
	return permutation{block}, err
}

func (p permutation) of(n uint32) uint32 {
	left, right := n>>half&halfMask, n&halfMask
	for round := range permutationRounds {
		var b [aes.BlockSize]byte
		b[0] = byte(round)
		binary.BigEndian.PutUint32(b[4:], right)
		p.block.Encrypt(b[:], b[:])
		left, right = right, left^binary.BigEndian.Uint32(b[:])&halfMask
	}
	return left<<half | right
}

// reserve the next blocks, each when half of one is left.
func (r *Runner) reserve() {
	if r.stopped || !r.shardRead {
		return
	}
	r.reserveOf(&r.numbers.attachments, "attachment/"+r.lease.Shard)
	r.reserveOf(&r.numbers.temporaries, "temporary/"+r.lease.Shard)
}

func (r *Runner) reserveOf(s *sequence, name string) {
	if s.asked || s.left() > blockSize/2 {
		return
	}
	s.asked = true
	lease, size := r.lease, s.skip+blockSize
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		first, err := store.Reserve(ctx, lease, name, size)
		return func() {
			r.heard(err)
			switch {
			case r.stopped:
			case err != nil:
				r.w.After(longestWait, func() { s.asked = false; r.reserve() })
			default:
				s.blocks = append(s.blocks, [2]uint64{first + s.skip, first + size})
				s.asked, s.skip = false, 0
				r.begin()
			}
		}
	})
}
