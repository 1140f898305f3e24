package ue

import (
	"testing"

	"core5g.dev/core5g/e2e/ran/gtpu"
)

// A packet that was to wait for a tunnel which has come meanwhile, with what was held before sent already, does not wait: nobody would send it.
func TestAPacketThatMeetsItsTunnel(t *testing.T) {
	s := &session{}
	if got := s.hold([]byte("one")); got != nil || len(s.held) != 1 {
		t.Errorf("without a tunnel there are %d held, and %v", len(s.held), got)
	}
	up := &gtpu.Tunnel{}
	s.setTunnel(up)
	s.held = nil // SessionUp has sent it
	if got := s.hold([]byte("two")); got != up || len(s.held) != 0 {
		t.Errorf("with one there are %d held, and %v", len(s.held), got)
	}
}
