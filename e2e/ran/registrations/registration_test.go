package registrations

import (
	"strings"
	"testing"
)

func TestAUERegistersAndGetsASession(t *testing.T) {
	s := begin(t)
	x := s.attach(1).Status()
	if len(x.Sessions) != 1 || !x.Sessions[0].Up || !strings.HasPrefix(x.Sessions[0].Address, "10.45.") {
		t.Errorf("the UE has %+v", x.Sessions)
	}
	if n := len(s.upfu.Sessions()); n != 1 {
		t.Errorf("upf-u has %d sessions", n)
	}
}
