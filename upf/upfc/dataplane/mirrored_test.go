package dataplane

import (
	"path/filepath"
	"testing"
	"time"

	"core5g.dev/core5g/upf/abi"
)

func TestMirroredCountersAreReadAsSavedOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counters")
	counts := map[uint32]SlotCount{
		0:   {Dir: [2]abi.UrrCounter{{Bytes: 1, Packets: 2}, {Bytes: 3, Packets: 4}}},
		901: {Dir: [2]abi.UrrCounter{{Bytes: 1 << 40, Packets: 9}}, Times: abi.UrrTimes{FirstMs: 4000, LastMs: 9000, ActiveMs: 17}},
	}
	rate := StartRate()
	time.Sleep(20 * time.Millisecond) // the clock's rate is what is measured
	if err := SaveMirrored(path, 77, counts, 1000, 10_000, rate.Hz()); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSaved(path, 78); err == nil {
		t.Error("the counters are taken for another upf-u's")
	}
	s, err := OpenSaved(path, 77)
	if err != nil {
		t.Fatal(err)
	}
	for slot := range s.Slots() {
		if got, want := s.Count(slot), counts[slot]; got != want {
			t.Errorf("slot %d is %+v, want %+v", slot, got, want)
		}
	}
	got := s.Times(901)
	if late := got.Last; !got.Any || late < 1000 || late > 6000 || got.First-late != 5000 || got.Active != 17 {
		t.Errorf("times are %+v, want the last packet 1 s ago, the first one 5 s before it", got)
	}
}
