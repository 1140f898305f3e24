package n2

import (
	"runtime"
	"testing"
)

// A message takes room for what it has, not for what it says it has.
func TestRoom(t *testing.T) {
	setup := func(change func([]rawIE) []rawIE) []byte {
		h, ies := taken(t, setupRequest())
		return together(h, change(ies))
	}
	reset := func(value []byte) []byte {
		h, ies := taken(t, &NGReset{})
		ies[1].value = value
		return together(h, ies)
	}
	for name, tc := range map[string]struct {
		octets  []byte
		wantKiB uint64
	}{
		"65535 IEs, it says":                      {octets("00 15 00 03 00ffff"), 8},
		"256 areas, it says":                      {setup(as(ieSupportedTA, "ff 00")), 32},
		"1024 slices, it says":                    {setup(as(ieSupportedTA, "00 00 000001 00 99f907 03ff 00")), 16},
		"65535 extensions, it says":               {setup(as(ieSupportedTA, "00 40 000001 00 99f907 0000 00 01 ffff")), 16},
		"64 KiB in fragments, it says":            {setup(as(ieRANNodeName, "80 c4")), 16},
		"65536 connections in fragments, it says": {reset(octets("40 c4")), 16},
		"65536 connections without names":         {reset(append(append(octets("40 c4"), make([]byte, 32768)...), 0)), 8192},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = Read(tc.octets)
			runtime.ReadMemStats(&after)
			if got := (after.TotalAlloc - before.TotalAlloc) >> 10; got > tc.wantKiB {
				t.Errorf("%d KiB, want at most %d", got, tc.wantKiB)
			}
		})
	}
	if m, fault := Read(reset(append(append(octets("40 c4"), make([]byte, 32768)...), 0))); fault != nil || len(m.(*NGReset).Connections) != mostConnections {
		t.Errorf("all connections that there can be: %v", fault)
	}
}
