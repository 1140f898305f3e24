package dataplane

import (
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
)

// rdtsc reads the clock by which upf-u stamps packets: both processes run on the same CPUs.
func rdtsc() uint64

// Times says when a URR's packets came, in milliseconds before now.
type Times struct {
	Any         bool   // there was a packet
	First, Last uint32 // ago
	Active      uint32 // milliseconds with traffic; it wraps
}

// Times is a snapshot of a slot's times.
func (s *Shm) Times(slot uint32) Times {
	defer runtime.KeepAlive(s)
	if slot/abi.LineSlots >= s.head.Pairs {
		return Times{}
	}
	t := (*abi.UrrTimes)(unsafe.Add(s.times, uintptr(slot)*unsafe.Sizeof(abi.UrrTimes{})))
	first, last := atomic.LoadUint32(&t.FirstMs), atomic.LoadUint32(&t.LastMs)
	if first == 0 {
		return Times{}
	}
	now := Milliseconds(&s.head, s.clock())
	ago := func(ms uint32) uint32 { return uint32(max(int32(now-ms), 0)) } // it wraps after 49 days
	return Times{Any: true, First: ago(first), Last: ago(last), Active: atomic.LoadUint32(&t.ActiveMs)}
}

// Milliseconds is upf-u's shm_ms(): what struct upf_urr_times holds for a moment; never 0.
func Milliseconds(h *abi.Shm, tsc uint64) uint32 {
	if h.TscHz < 1000 {
		return 1
	}
	ms, _ := bits.Mul64(tsc-h.Tsc0, math.MaxUint64/(h.TscHz/1000))
	return uint32(ms) + 1
}

// Now is the clock's reading.
func Now() uint64 { return rdtsc() }
