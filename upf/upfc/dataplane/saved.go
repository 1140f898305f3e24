package dataplane

import (
	"bytes"
	"fmt"
	"os"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
)

// The last counters of a upf-u that has died are in no other memory than upf-c's copy (Detach). Save puts
// them into a file as well, so that a upf-c that dies before the next upf-u has been filled leaves them to
// its successor.

// savedPage is the least that is written; what is zero is a hole in the file.
const savedPage = 4096

// Save writes what upf-c reads of the slots' counters and times to a file, in the layout of the segment. A file
// that is there is replaced whole.
func (s *Shm) Save(path string) error {
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	size := uint64(len(s.mem))
	err = f.Truncate(int64(size))
	for _, part := range [][2]uint64{
		{0, uint64(unsafe.Sizeof(s.head))},
		{s.head.PairsOffset, s.head.PairsOffset + uint64(s.head.Pairs)*uint64(unsafe.Sizeof(abi.SlotPair{}))},
		{s.head.TimesOffset, s.head.TimesOffset + uint64(s.head.Pairs)*abi.LineSlots*uint64(unsafe.Sizeof(abi.UrrTimes{}))},
	} {
		if err == nil {
			err = saveUsed(f, s.mem, part[0], min(part[1], size))
		}
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = os.Remove(path + ".new")
	}
	return err
}

// saveUsed writes the pages of [from, to) that are not zero, those that follow each other at once.
func saveUsed(f *os.File, mem []byte, from, to uint64) error {
	var zero [savedPage]byte
	var first uint64
	pending := false
	flush := func(end uint64) error {
		if !pending {
			return nil
		}
		pending = false
		_, err := f.WriteAt(mem[first:end], int64(first))
		return err
	}
	for from -= from % savedPage; from < to; from += savedPage {
		page := mem[from:min(from+savedPage, uint64(len(mem)))]
		if bytes.Equal(page, zero[:len(page)]) {
			if err := flush(from); err != nil {
				return err
			}
		} else if !pending {
			first, pending = from, true
		}
	}
	return flush(min(from, uint64(len(mem))))
}

// OpenSaved maps what Save has written of the upf-u with this boot id.
func OpenSaved(path string, bootID uint64) (*Shm, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s, err := mapShm(int(f.Fd()), uint64(st.Size()))
	if err != nil {
		return nil, err
	}
	if s.head.BootId != bootID {
		return nil, fmt.Errorf("the counters in %s are another upf-u's", path)
	}
	return s, nil
}

// NoShm stands for memory that is gone: every slot reads 0.
func NoShm() *Shm { return &Shm{} }

// Same says whether two are the memory of one life of upf-u.
func (s *Shm) Same(other *Shm) bool { return s.head.BootId == other.head.BootId }

// Gone says whether it is NoShm.
func (s *Shm) Gone() bool { return s.head.Pairs == 0 }
