package filling

import (
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/sessions"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/usage"
)

// attach moves the meters to a connection's memory. In a new upf-u the slots begin anew, and what
// was measured is carried over from the old one's memory. One that was filled ahead has counted for the session
// since it was granted an epoch.
func attach(s *leases.Session, shm *dataplane.Shm, newBoot bool, ahead *Ahead) {
	if newBoot && s.Shm != shm && len(s.Meters) > 0 {
		meters := s.Meters
		if s.Shared {
			meters = s.Meters.Clone()
		}
		for id, m := range meters.All() {
			u := s.Rules.URRs.Get(id)
			now := usage.FromSlot(shm.URR(m.Slot))
			if ahead != nil && !s.Shm.Same(shm) {
				now = ahead.before(m.Slot)
			}
			m.Move(u, s.Read(u, m.Slot), m.Slot, now)
			if s.Shm.Gone() { // nobody knows whether packets came since
				m.Mark = now.Packets()
			}
			meters.Put(id, m)
		}
		s.Meters = meters
	}
	s.Shm = shm
}

// arms are the volumes at which upf-u is to speak up.
func arms(s *leases.Session) []abi.UrrArm {
	out := make([]abi.UrrArm, 0, len(s.Meters))
	for id, m := range s.Meters.All() {
		u := s.Rules.URRs.Get(id)
		out = append(out, m.Arm(u, s.Read(u, m.Slot), s.Index))
	}
	return out
}

// rest is what upf-u lacks of a session that it may have from ahead.
func rest(s *leases.Session, of *sessions.Sessions, ahead *Ahead) (*sessions.Put, error) {
	if !ahead.has(s.Index) {
		return of.Encode(s)
	}
	return of.EncodeState(s), nil
}
