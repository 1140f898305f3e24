package dataplane

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/abi"
)

const detachPairs = 16384

// memory is that of a upf-u, of `flags`; the writer's mapping comes along.
func memory(t *testing.T, name string, flags int) (*Shm, []byte) {
	t.Helper()
	const workers = 128
	size := func(v uintptr) uint64 { return uint64(v) }
	groups := workers + size(unsafe.Sizeof(abi.WorkerStats{}))
	links := groups + abi.Groups*size(unsafe.Sizeof(abi.DropStats{}))
	pairs := (links + abi.Ports*size(unsafe.Sizeof(abi.LinkState{})) + 4095) &^ 4095
	times := pairs + detachPairs*size(unsafe.Sizeof(abi.SlotPair{}))
	end := (times + detachPairs*abi.LineSlots*size(unsafe.Sizeof(abi.UrrTimes{})) + 2<<20 - 1) &^ (2<<20 - 1)
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|flags)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, int64(end)); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(fd, 0, int(end), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if errors.Is(err, unix.ENOMEM) {
		t.Skip("this machine has no free hugepages")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	copy(mem, abi.Bytes([]abi.Shm{{
		Magic: abi.AbiMagic, Version: abi.AbiVersion, TscHz: 1e9, Workers: 1, WorkersOffset: workers, Pairs: detachPairs,
		PairsOffset: pairs, TimesOffset: times, GroupsOffset: groups, LinksOffset: links,
	}}))
	count := func(slot uint64, octets uint64) {
		pair := abi.SlotPair{}
		pair.Dir[abi.Dl].Urr[0].Bytes = octets
		copy(mem[pairs+slot/abi.LineSlots*size(unsafe.Sizeof(pair)):], abi.Bytes([]abi.SlotPair{pair}))
	}
	count(0, 7)
	count(2*(detachPairs-1), 9)
	copy(mem[times:], abi.Bytes([]abi.UrrTimes{{FirstMs: 1, LastMs: 2, ActiveMs: 5}}))
	copy(mem[groups+3*size(unsafe.Sizeof(abi.DropStats{})):], abi.Bytes([]abi.DropStats{{Reason: [abi.DropsMax]uint64{abi.DropGateClosed: 4}}}))
	shm, err := mapShm(fd, end)
	if err != nil {
		t.Fatal(err)
	}
	return shm, mem
}

// mapped counts the mappings of a memory.
func mapped(t *testing.T, name string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(maps, []byte("memfd:"+name+" "))
}

func TestDetachKeepsWhatWasCountedAndLetsGoOfThePages(t *testing.T) {
	for name, flags := range map[string]int{"on pages": 0, "on hugepages": unix.MFD_HUGETLB} {
		t.Run(name, func(t *testing.T) {
			file := "detach-" + strings.ReplaceAll(name, " ", "-")
			shm, mem := memory(t, file, flags)
			if n := mapped(t, file); n != 2 {
				t.Fatalf("%d mappings, want the writer's and the reader's", n)
			}
			stop := make(chan struct{})
			var readers sync.WaitGroup
			for range 2 {
				readers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if got := shm.URR(2 * (detachPairs - 1))[abi.Dl].Bytes; got != 9 {
							t.Errorf("a reader saw %d octets, want 9", got)
							return
						}
					}
				})
			}
			if err := shm.Detach(); err != nil {
				t.Error(err)
			}
			close(stop)
			readers.Wait()
			if n := mapped(t, file); n != 1 {
				t.Errorf("%d mappings, want the writer's alone", n)
			}
			clear(mem) // nobody reads it any more
			if a, b := shm.URR(0)[abi.Dl].Bytes, shm.URR(2 * (detachPairs - 1))[abi.Dl].Bytes; a != 7 || b != 9 {
				t.Errorf("slots have %d and %d octets, want 7 and 9", a, b)
			}
			if got := shm.URR(2)[abi.Dl].Bytes; got != 0 {
				t.Errorf("a slot that nobody used has %d octets", got)
			}
			if got := shm.Times(0); !got.Any || got.Active != 5 {
				t.Errorf("times %+v", got)
			}
			if got := shm.GroupDrops()[3].Reason[abi.DropGateClosed]; got != 4 {
				t.Errorf("%d drops of group 3, want 4", got)
			}
			if err := shm.Detach(); err != nil {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}
