package dataplane

import (
	"bytes"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/abi"
)

// page is the least that is copied.
const page = 4096

// Detach lets go of upf-u's memory and keeps what it held, where it was: on hugepages it is charged to the
// container that the next upf-u starts in, which could not have them before the last mapping goes. The copy
// takes the place of the mapping in one step, so that whoever reads meanwhile finds one or the other.
func (s *Shm) Detach() error {
	if s.ours {
		return nil
	}
	size := uintptr(len(s.mem))
	at, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("room for a copy: %w", err)
	}
	// What is zero takes no memory.
	_ = unix.Madvise(unsafe.Slice((*byte)(at), size), unix.MADV_NOHUGEPAGE)
	copyUsed(at, s.mem, 0, s.head.PairsOffset+uint64(s.head.Pairs)*uint64(unsafe.Sizeof(abi.SlotPair{})))
	copyUsed(at, s.mem, s.head.TimesOffset, s.head.TimesOffset+uint64(s.head.Pairs)*abi.LineSlots*uint64(unsafe.Sizeof(abi.UrrTimes{})))
	if err = unix.Mprotect(unsafe.Slice((*byte)(at), size), unix.PROT_READ); err == nil {
		_, _, errno := unix.Syscall6(unix.SYS_MREMAP, uintptr(at), size, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, uintptr(unsafe.Pointer(&s.mem[0])), 0)
		if errno == 0 {
			return nil
		}
		err = errno
	}
	_ = unix.MunmapPtr(at, size)
	return fmt.Errorf("putting the copy in its place: %w", err)
}

// copyUsed copies the pages of [from, to) that are not zero. The writer is gone, or nobody counts on its
// latest words.
func copyUsed(at unsafe.Pointer, mem []byte, from, to uint64) {
	var zero [page]byte
	for from -= from % page; from < to; from += page {
		source := mem[from:min(from+page, uint64(len(mem)))]
		if !bytes.Equal(source, zero[:len(source)]) {
			copy(unsafe.Slice((*byte)(unsafe.Add(at, from)), len(source)), source)
		}
	}
}
