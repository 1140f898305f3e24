package sessions

import (
	"strings"
	"testing"

	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/session-management/n1"
)

func TestAttach(t *testing.T) {
	p := &shown{}
	s := begin(t, p)
	u := s.attach(1, internet(1))
	s.amf.WaitTrace("session 1: SM context created", 1)
	s.amf.WaitTrace("session 1 up", 1)
	x := u.session(1)
	if x.Type != "IPv4" || !strings.HasPrefix(x.Address, "10.45.") || x.MTU != 1400 || x.QFI != 1 || x.AMBRDownlink != 1e9 || x.Peer == "" {
		t.Errorf("the UE has %+v", x)
	}
	if n := len(p.upfu.Sessions()); n != 1 {
		t.Errorf("upf-u has %d sessions", n)
	}
}

// What a UE asks for and does not get, it hears of, with the cause.
func TestRefusals(t *testing.T) {
	s := begin(t, &shown{})
	u := s.attach(1, internet(1))
	for name, tt := range map[string]struct {
		want  ue.SessionConfig
		heard string
	}{
		"a DNN that there is not":            {ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "nothing"}, "5GSM cause #70"},
		"IPv6 where there is IPv4 alone":     {ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "only4", Type: n1.IPv6}, "5GSM cause #50"},
		"IPv4 where there is IPv6 alone":     {ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "only6", Type: n1.IPv4}, "5GSM cause #51"},
		"a data network that no unit serves": {ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "nowhere"}, "5GSM cause #26"},
		"Ethernet":                           {ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "internet", Type: n1.Ethernet}, "5GSM cause #28"},
		"IPv4 where there is Ethernet alone": {ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "lan"}, "5GSM cause #61"},
		"Ethernet where there is IPv4 alone": {ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "only4", Type: n1.Ethernet}, "5GSM cause #50"},
		"Ethernet of a UPF without a bridge": {ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "lan", Type: n1.Ethernet}, "5GSM cause #26"},
		"a DNN that only another Slice has":  {ue.SessionConfig{PSI: 2, Slice: slice2, DNN: "only4"}, "5GSM cause #70"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := u.Establish(s.ctx, tt.want); err == nil || !strings.Contains(err.Error(), tt.heard) {
				t.Errorf("the UE heard %v, want %s", err, tt.heard)
			}
		})
	}
	if x := u.session(1); x.State != "active" || !x.Up {
		t.Errorf("the session that there was: %+v", x)
	}
}
