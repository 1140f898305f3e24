package store

import (
	"encoding/binary"
	"math/bits"

	"golang.org/x/sys/unix"
)

// slab keeps the sessions' blobs outside of the Go heap: 400,000 of them would make every garbage
// collection longer and its heap twice as big. A blob lies in cells of its size class: multiples of
// 16 octets up to 1 KiB, powers of two beyond. Free cells of a class form a list through themselves.
// Memory that was used once stays: sessions come back. A cell is not written to while a blob lies in it.
type slab struct {
	kept   *File // where its memory comes from
	chunks [][]byte
	next   uint32              // first unit that was never used
	free   [slabClasses]uint32 // by class: 1 + unit of the first free cell, 0: none
	used   uint64              // octets in cells
}

const (
	slabUnit    = 16
	slabChunk   = 1 << 20 // octets
	slabFine    = 1024 / slabUnit
	slabClasses = slabFine + 10 // up to 1 MiB
)

// slabClass is the class of a blob and its cells' size in units.
func slabClass(length int) (class int, units uint32) {
	n := uint32(max(1, (length+slabUnit-1)/slabUnit))
	if n <= slabFine {
		return int(n) - 1, n
	}
	doublings := bits.Len32((n - 1) / slabFine)
	return slabFine + doublings - 1, slabFine << doublings
}

// close gives all memory back.
func (s *slab) close() {
	for _, c := range s.chunks {
		_ = unix.Munmap(c)
	}
	s.kept.close()
}

func (s *slab) cell(unit uint32, length int) []byte {
	at := uint64(unit) * slabUnit
	return s.chunks[at/slabChunk][at%slabChunk:][:length:length]
}

// put stores a blob; it returns the unit of its cell. An error is the kernel's, out of memory.
func (s *slab) put(blob []byte) (uint32, error) {
	class, units := slabClass(len(blob))
	var unit uint32
	if s.free[class] != 0 {
		unit = s.free[class] - 1
		s.free[class] = binary.LittleEndian.Uint32(s.cell(unit, 4))
	} else {
		const perChunk = slabChunk / slabUnit
		if s.next%perChunk != 0 && s.next%perChunk+units > perChunk {
			s.give(s.next, perChunk-s.next%perChunk) // what is left of the chunk serves smaller ones
			s.next += perChunk - s.next%perChunk
		}
		if s.next/perChunk == uint32(len(s.chunks)) {
			chunk, err := s.kept.chunk(uint32(len(s.chunks)))
			if err != nil {
				return 0, err
			}
			s.chunks = append(s.chunks, chunk)
		}
		unit = s.next
		s.next += units
	}
	s.used += uint64(units) * slabUnit
	copy(s.cell(unit, len(blob)), blob)
	return unit, nil
}

// give makes free cells of units in a row.
func (s *slab) give(unit, units uint32) {
	for units > 0 {
		n := min(units, slabFine)
		s.freeCell(unit, int(n)-1)
		unit, units = unit+n, units-n
	}
}

func (s *slab) freeCell(unit uint32, class int) {
	binary.LittleEndian.PutUint32(s.cell(unit, 4), s.free[class])
	s.free[class] = unit + 1
}

// drop frees a blob's cell.
func (s *slab) drop(unit uint32, length int) {
	class, units := slabClass(length)
	s.used -= uint64(units) * slabUnit
	s.freeCell(unit, class)
}
