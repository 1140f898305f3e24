package dataplane

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/abi"
)

// Shm is upf-u's memory, read-only here. upf-u writes while we read, so every word is loaded
// atomically; a word never tears, words of one struct may be of different moments. It outlives upf-u: its
// last counters are read here when it has died (Detach).
type Shm struct {
	mem     []byte
	head    abi.Shm
	workers unsafe.Pointer
	pairs   unsafe.Pointer
	times   unsafe.Pointer
	groups  unsafe.Pointer
	links   unsafe.Pointer
	clock   func() uint64 // by which upf-u stamps packets
	ours    bool          // it is no mapping
}

func mapShm(fd int, size uint64) (*Shm, error) {
	if size < uint64(unsafe.Sizeof(abi.Shm{})) || size > 1<<40 {
		return nil, fmt.Errorf("shared memory of %d octets", size)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	if uint64(st.Size) < size { // reading beyond the file would be a SIGBUS
		return nil, fmt.Errorf("shared memory is %d octets, HELLO says %d", st.Size, size)
	}
	mem, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping shared memory: %w", err)
	}
	s, err := shmIn(mem)
	if err != nil {
		_ = unix.Munmap(mem)
		return nil, err
	}
	// Metrics, sessions and a replay may all hold it; the last one to let go unmaps it.
	runtime.AddCleanup(s, func(mem []byte) { _ = unix.Munmap(mem) }, mem)
	return s, nil
}

// shmIn reads where the tables are in upf-u's memory.
func shmIn(mem []byte) (*Shm, error) {
	s := &Shm{mem: mem, clock: rdtsc}
	s.head, _ = abi.Read[abi.Shm](mem)
	if err := s.check(); err != nil {
		return nil, err
	}
	s.workers = unsafe.Pointer(&mem[s.head.WorkersOffset])
	s.pairs = unsafe.Pointer(&mem[s.head.PairsOffset])
	s.times = unsafe.Pointer(&mem[s.head.TimesOffset])
	s.groups = unsafe.Pointer(&mem[s.head.GroupsOffset])
	s.links = unsafe.Pointer(&mem[s.head.LinksOffset])
	return s, nil
}

func (s *Shm) check() error {
	h, size := s.head, uint64(len(s.mem))
	if h.Magic != abi.AbiMagic || h.Version != abi.AbiVersion {
		return fmt.Errorf("shared memory has magic %#x version %d", h.Magic, h.Version)
	}
	within := func(offset, count, each uint64) bool {
		return offset%8 == 0 && offset < size && count*each <= size-offset
	}
	if h.Workers > abi.WorkersMax || !within(h.WorkersOffset, uint64(h.Workers), uint64(unsafe.Sizeof(abi.WorkerStats{}))) ||
		!within(h.GroupsOffset, uint64(h.Workers)*abi.Groups, uint64(unsafe.Sizeof(abi.DropStats{}))) ||
		!within(h.LinksOffset, abi.Ports, uint64(unsafe.Sizeof(abi.LinkState{}))) ||
		!within(h.PairsOffset, uint64(h.Pairs), uint64(unsafe.Sizeof(abi.SlotPair{}))) ||
		h.GatewaysOffset != 0 && !within(h.GatewaysOffset, abi.Ports*abi.Gateways, uint64(unsafe.Sizeof(abi.GatewayState{}))) ||
		h.TopologyOffset != 0 && !within(h.TopologyOffset, 1, uint64(unsafe.Sizeof(abi.Topology{}))) ||
		!within(h.TimesOffset, uint64(h.Pairs)*abi.LineSlots, uint64(unsafe.Sizeof(abi.UrrTimes{}))) {
		return fmt.Errorf("shared memory's tables do not lie within its %d octets", size)
	}
	return nil
}

// TSCHz is the rate of the clock in which cycles are counted.
func (s *Shm) TSCHz() uint64 { return s.head.TscHz }

// Sessions is how many upf-u holds.
func (s *Shm) Sessions() uint64 {
	defer runtime.KeepAlive(s)
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&s.mem[unsafe.Offsetof(abi.Shm{}.Sessions)])))
}

// RulesOctets is how much memory the compiled rules take in upf-u.
func (s *Shm) RulesOctets() uint64 {
	defer runtime.KeepAlive(s)
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&s.mem[unsafe.Offsetof(abi.Shm{}.RulesOctets)])))
}

// Workers is a snapshot of each worker's statistics.
func (s *Shm) Workers() []abi.WorkerStats {
	defer runtime.KeepAlive(s)
	out := make([]abi.WorkerStats, s.head.Workers)
	for i := range out {
		load(unsafe.Pointer(&out[i]), unsafe.Add(s.workers, uintptr(i)*unsafe.Sizeof(out[i])), unsafe.Sizeof(out[i]))
	}
	return out
}

// GroupDrops is a snapshot of what was dropped by group of sessions, over all workers.
func (s *Shm) GroupDrops() (out [abi.Groups]abi.DropStats) {
	defer runtime.KeepAlive(s)
	var one abi.DropStats
	for w := range uintptr(s.head.Workers) {
		for g := range uintptr(abi.Groups) {
			load(unsafe.Pointer(&one), unsafe.Add(s.groups, (w*abi.Groups+g)*unsafe.Sizeof(one)), unsafe.Sizeof(one))
			for r, n := range one.Reason {
				out[g].Reason[r] += n
			}
		}
	}
	return out
}

// Missed is how many frames each interface lost before a worker could take them.
func (s *Shm) Missed() (missed [abi.Ports]uint64) {
	defer runtime.KeepAlive(s)
	var links [abi.Ports]abi.LinkState
	load(unsafe.Pointer(&links), s.links, unsafe.Sizeof(links))
	for i := range links {
		missed[i] = links[i].Missed
	}
	return missed
}

// URR is a snapshot of one slot's counters by direction; zero for a slot that does not exist.
func (s *Shm) URR(slot uint32) (dir [2]abi.UrrCounter) {
	defer runtime.KeepAlive(s)
	if slot/abi.LineSlots >= s.head.Pairs {
		return dir
	}
	pair := (*abi.SlotPair)(unsafe.Add(s.pairs, uintptr(slot/abi.LineSlots)*unsafe.Sizeof(abi.SlotPair{})))
	for d := range dir {
		from := &pair.Dir[d].Urr[slot%abi.LineSlots]
		load(unsafe.Pointer(&dir[d]), unsafe.Pointer(from), unsafe.Sizeof(dir[d]))
	}
	return dir
}

// load copies size octets, a multiple of 8, word by word.
func load(to, from unsafe.Pointer, size uintptr) {
	for at := uintptr(0); at < size; at += 8 {
		*(*uint64)(unsafe.Add(to, at)) = atomic.LoadUint64((*uint64)(unsafe.Add(from, at)))
	}
}
