package dataplane

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/abi"
)

func TestSavedCountersAreReadAgain(t *testing.T) {
	const pairs = 1 << 16
	const workersAt = unsafe.Sizeof(abi.Shm{})
	const groupsAt = workersAt + unsafe.Sizeof(abi.WorkerStats{})
	const linksAt = groupsAt + abi.Groups*unsafe.Sizeof(abi.DropStats{})
	const pairsAt = (linksAt+abi.Ports*unsafe.Sizeof(abi.LinkState{})+63)&^63 + 8 // within a page
	const timesAt = pairsAt + pairs*unsafe.Sizeof(abi.SlotPair{})
	const size = timesAt + pairs*abi.LineSlots*unsafe.Sizeof(abi.UrrTimes{})
	fd, err := unix.MemfdCreate("saved", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "saved")
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		t.Fatal(err)
	}
	head := abi.Shm{Magic: abi.AbiMagic, Version: abi.AbiVersion, BootId: 7, TscHz: 1e9, Workers: 1, Pairs: pairs,
		WorkersOffset: uint64(workersAt), GroupsOffset: uint64(groupsAt), LinksOffset: uint64(linksAt), PairsOffset: uint64(pairsAt), TimesOffset: uint64(timesAt)}
	if _, err := f.WriteAt(abi.Bytes([]abi.Shm{head}), 0); err != nil {
		t.Fatal(err)
	}
	s, err := mapShm(fd, uint64(size))
	if err != nil {
		t.Fatal(err)
	}
	used := []uint32{0, 1, 5, 70_000, 2*pairs - 1}
	for _, slot := range used {
		at := pairsAt + uintptr(slot/2)*unsafe.Sizeof(abi.SlotPair{}) + unsafe.Offsetof(abi.SlotLine{}.Urr) + uintptr(slot%2)*unsafe.Sizeof(abi.UrrCounter{})
		if _, err := f.WriteAt(abi.Bytes([]uint64{uint64(slot) + 1}), int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "counters")
	for range 2 { // the second replaces the first
		if err := s.Save(path); err != nil {
			t.Fatal(err)
		}
	}
	again, err := OpenSaved(path, 7)
	if err != nil {
		t.Fatal(err)
	}
	for slot := range uint32(2 * pairs) {
		if want, got := s.URR(slot), again.URR(slot); want != got {
			t.Fatalf("slot %d is %v, want %v", slot, got, want)
		}
	}
	if got := again.URR(70_000)[abi.Ul].Bytes; got != 70_001 {
		t.Errorf("slot 70000 has %d octets, want 70001", got)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	if st.Blocks*512 > 16*savedPage {
		t.Errorf("the file takes %d octets for %d slots", st.Blocks*512, len(used))
	}
	if _, err := OpenSaved(path, 8); err == nil {
		t.Error("the counters of another upf-u are taken")
	}
	if s := NoShm(); !s.Gone() || s.URR(0) != [2]abi.UrrCounter{} || s.Times(3).Any {
		t.Error("memory that is gone has counters")
	}
	if again.Gone() {
		t.Error("what is there is gone")
	}
}
