package runner

import "core5g.dev/core5g/images/access-management/record"

// A UE that is idle and at rest says nothing for minutes to hours, and nearly all are. Of such a one memory keeps what the store has, as octets, and what this life
// of it knows beside (COUNTs, the radio capability): it is packed. Whatever happens to it next unpacks it.

// pack a UE that may be.
func (u *ue) pack() {
	rec := u.state.Record
	if u.dead || rec == nil || u.taken != nil || !u.stored.exists() || len(attachments(rec)) > 0 || !u.atRest() {
		return
	}
	u.packed, u.tmsis = true, [2]uint32{rec.TMSI, rec.OldTMSI}
	u.state.Record, u.stored.record = nil, nil
	u.queue, u.late = nil, nil // empty, with room
	if len(u.due) == 0 {
		u.due = nil
	}
}

// unpack a UE. One that cannot be is forgotten, and what waits for it waits for what the store says: false.
func (r *Runner) unpack(u *ue) bool {
	if !u.packed {
		return true
	}
	rec, err := record.Decode(u.stored.octets)
	if err != nil {
		r.log.Error("what memory has of a UE cannot be read: the store is asked", "err", err)
		queue, watchers := u.queue, u.watchers
		u.queue, u.watchers = nil, nil
		r.forget(u, err)
		again := r.ue(u.key)
		again.queue, again.watchers = append(again.queue, queue...), append(again.watchers, watchers...)
		return false
	}
	u.packed = false
	u.state.Record, u.stored.record = rec, rec
	return true
}

// temporaries by which it is found.
func (u *ue) temporaries() []uint32 {
	if u.packed {
		return without(u.tmsis[:], []uint32{0})
	}
	return temporaries(u.state.Record)
}
