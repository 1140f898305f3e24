// The race detector allocates, too.
//go:build !race

package n2

import "testing"

// What the six common messages take: a change that brings reflection or copies back is noticed here, whatever the machine.
func TestAllocations(t *testing.T) {
	for _, s := range common() {
		octets, err := Write(s.message)
		if err != nil {
			t.Fatal(err)
		}
		const mostReading, mostWriting = 12, 1
		if got := testing.AllocsPerRun(100, func() { _, _ = Read(octets) }); got > mostReading {
			t.Errorf("%s: %.0f allocations to read, want at most %d", s.name, got, mostReading)
		}
		room := make([]byte, 0, 1024)
		if got := testing.AllocsPerRun(100, func() { _, _ = Append(room, s.message) }); got > mostWriting {
			t.Errorf("%s: %.0f allocations to write, want at most %d", s.name, got, mostWriting)
		}
	}
}
