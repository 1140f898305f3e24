package dataplane

import (
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/abi"
)

// SlotCount is what upf-u's memory says of a URR slot, as it stands there.
type SlotCount struct {
	Dir   [2]abi.UrrCounter
	Times abi.UrrTimes
}

// Slots is how many URR slots there are.
func (s *Shm) Slots() uint32 { return s.head.Pairs * abi.LineSlots }

// Count is a snapshot of a slot; zero for one that does not exist.
func (s *Shm) Count(slot uint32) (c SlotCount) {
	defer runtime.KeepAlive(s)
	if slot/abi.LineSlots >= s.head.Pairs {
		return c
	}
	c.Dir = s.URR(slot)
	load(unsafe.Pointer(&c.Times), unsafe.Add(s.times, uintptr(slot)*unsafe.Sizeof(c.Times)), unsafe.Sizeof(c.Times))
	return c
}

// Milliseconds is upf-u's clock now, of which SlotCount.Times are.
func (s *Shm) Milliseconds() uint32 { return Milliseconds(&s.head, s.clock()) }

// Rate measures the clock of Now from a moment on.
type Rate struct {
	at  time.Time
	tsc uint64
}

// StartRate begins to measure.
func StartRate() Rate { return Rate{time.Now(), rdtsc()} }

// Hz is the rate since then.
func (r Rate) Hz() uint64 {
	d := time.Since(r.at)
	return uint64(float64(rdtsc()-r.tsc) / max(d.Seconds(), 1e-6))
}

// SaveMirrored writes the counters of a upf-u on another machine, as Save there would have written them, so that OpenSaved reads them here. ms is
// what that upf-u's clock would say now, hz the rate of ours.
func SaveMirrored(path string, bootID uint64, counts map[uint32]SlotCount, slots, ms uint32, hz uint64) error {
	const (
		workersAt = unsafe.Sizeof(abi.Shm{})
		linksAt   = workersAt + unsafe.Sizeof(abi.WorkerStats{})
		pairsAt   = (linksAt + abi.Ports*unsafe.Sizeof(abi.LinkState{}) + savedPage - 1) &^ (savedPage - 1)
	)
	pairs := uint64(slots / abi.LineSlots)
	timesAt := uint64(pairsAt) + pairs*uint64(unsafe.Sizeof(abi.SlotPair{}))
	size := timesAt + uint64(slots)*uint64(unsafe.Sizeof(abi.UrrTimes{}))
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	head := abi.Shm{
		Magic: abi.AbiMagic, Version: abi.AbiVersion, BootId: bootID, Pairs: uint32(pairs),
		WorkersOffset: uint64(workersAt), GroupsOffset: uint64(workersAt), LinksOffset: uint64(linksAt), PairsOffset: uint64(pairsAt), TimesOffset: timesAt,
		TscHz: hz, Tsc0: rdtsc() - uint64(ms)*(hz/1000),
	}
	if err = f.Truncate(int64(size)); err == nil {
		err = fillMirrored(f, head, counts, size)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = os.Remove(path + ".new")
	}
	return err
}

// fillMirrored writes through a mapping: a system call for each slot would take longer than upf-u is to be silent.
func fillMirrored(f *os.File, head abi.Shm, counts map[uint32]SlotCount, size uint64) error {
	mem, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	copy(mem, abi.Bytes([]abi.Shm{head}))
	for slot, c := range counts {
		if slot/abi.LineSlots >= head.Pairs {
			continue
		}
		pair := (*abi.SlotPair)(unsafe.Pointer(&mem[head.PairsOffset+uint64(slot/abi.LineSlots)*uint64(unsafe.Sizeof(abi.SlotPair{}))]))
		for d := range c.Dir {
			pair.Dir[d].Urr[slot%abi.LineSlots] = c.Dir[d]
		}
		if c.Times.FirstMs != 0 {
			*(*abi.UrrTimes)(unsafe.Pointer(&mem[head.TimesOffset+uint64(slot)*uint64(unsafe.Sizeof(c.Times))])) = c.Times
		}
	}
	return unix.Munmap(mem)
}
