package reports

import (
	"errors"

	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// AddLate adds what the unit that has handed over counted after its sessions had been taken over, once they are.
func (r *Reports) AddLate(late []usage.Late) {
	if len(late) == 0 {
		return
	}
	if _, err := r.o.Link.Wait(r.stopping, -1); err != nil {
		r.o.Log.Error("usage of a hand-over is lost", "err", err)
		return
	}
	for _, l := range late {
		if err := r.addLate(l); err != nil {
			r.o.Log.Error("usage of a hand-over is lost", "seid", pfcp.Hex(l.UPSEID), "urr", l.URR, "err", err)
		}
	}
}

func (r *Reports) addLate(l usage.Late) error {
	s := r.o.Leases.Lock(l.Index)
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
	conn := r.o.Link.Current()
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
	r.Schedule(s)
	r.postpone(l.Index)
	return nil
}
