package agent

import (
	"errors"

	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// AddLate adds what the unit that has handed over counted after its sessions had been taken over, once they are.
func (a *Agent) AddLate(late []usage.Late) {
	if len(late) == 0 {
		return
	}
	if _, err := a.link.Wait(a.stopping, -1); err != nil {
		a.log.Error("usage of a hand-over is lost", "err", err)
		return
	}
	for _, l := range late {
		if err := a.addLate(l); err != nil {
			a.log.Error("usage of a hand-over is lost", "seid", pfcp.Hex(l.UPSEID), "urr", l.URR, "err", err)
		}
	}
}

func (a *Agent) addLate(l usage.Late) error {
	s := a.leases.Lock(l.Index)
	if s == nil {
		return nil // it was deleted since
	}
	defer s.Unlock()
	m, is := s.Meters.Find(l.URR)
	if s.UPSEID != l.UPSEID || !is {
		return nil
	}
	u := s.Rules.URRs.Get(l.URR)
	m.Add(l.Counts)
	next := s.Session
	next.Meters = s.Meters.Clone()
	next.Meters.Put(l.URR, m)
	blob := state.AppendSession(nil, &next)
	conn := a.link.Current()
	if conn == nil {
		return errors.New("upf-u is not connected")
	}
	t := dataplane.NewBatch()
	t.State(s.Index, blob)
	t.Arm(m.Arm(u, s.Read(u, m.Slot), s.Index))
	if err := conn.Transact(t); err != nil {
		return err
	}
	s.Become(&next, blob)
	a.schedule(s)
	a.postpone(l.Index)
	return nil
}
