package sessions

import (
	"testing"

	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/record"
)

// A command that the UE does not answer is sent five times (TS 24.501 6.3.2.6, 6.3.3.5). One that it answers late is carried out; of one that
// it never answers the session's end is kept, and a change is not.
func TestCommandsWithoutAnAnswer(t *testing.T) {
	const modification, release = "session 1: transfer N1 0xcb", "session 1: transfer N1 0xd3"
	smaller := func(l []configuration.Slice) { l[0].DataNetworks[0].AMBR = record.AMBR{Uplink: 5e6, Downlink: 7e6} }
	toNetwork := func(l []configuration.Slice) { l[0].Name = "another" } // sessions of the Slice that is gone end
	for name, tt := range map[string]struct {
		ignore  map[string]int
		change  func([]configuration.Slice)
		command string
		times   int
		then    func(*story, *shown, *phone)
	}{
		"a modification is heard the third time": {map[string]int{"modification-command": 2}, smaller, modification, 3, func(s *story, p *shown, u *phone) {
			s.amf.WaitTrace("PDU Session Modification Complete", 1)
			u.wait("the AMBR", func(ue.Status) bool { return u.session(1).AMBRUplink == 5e6 })
		}},
		"a modification is never heard": {map[string]int{"modification-command": -1}, smaller, modification, 5, func(s *story, p *shown, u *phone) {
			u.wait("the gNB, back at what was", func(st ue.Status) bool {
				return st.Radio != nil && len(st.Radio.Sessions) == 1 && st.Radio.Sessions[0].AMBRUplink == u.session(1).AMBRUplink && u.session(1).AMBRUplink != 5e6
			})
			if n := len(p.upfu.Sessions()); n != 1 || !u.session(1).Up {
				s.t.Errorf("%d sessions in the UPF, the UE has %+v", n, u.session(1))
			}
		}},
		"a release is heard the third time": {map[string]int{"release-command": 2}, toNetwork, release, 3, func(s *story, p *shown, u *phone) {
			s.amf.WaitTrace("PDU Session Release Complete", 1)
			s.ended(p) // the UE has asked for another one by then
		}},
		"a release is never heard": {map[string]int{"release-command": -1}, toNetwork, release, 5, func(s *story, p *shown, u *phone) {
			s.ended(p)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &shown{}
			s := begin(t, p)
			u := s.attach(1, internet(1))
			s.amf.WaitTrace("session 1 up", 1)
			u.must(u.Behave(s.ctx, ue.Behaviour{Ignore: tt.ignore}))
			s.configure(tt.change)
			s.until("the command", func() bool { return s.count(tt.command) >= tt.times })
			tt.then(s, p, u)
			if n := s.count(tt.command); n != tt.times {
				t.Errorf("the command was sent %d times, want %d", n, tt.times)
			}
		})
	}
}
