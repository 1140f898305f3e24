package state

import "core5g.dev/core5g/upf/upfc/usage"

// How meters and reports are written; see rules.go on adding a field.

func counts(c *coder, v *usage.Counts) {
	if !c.given(*v != usage.Counts{}) {
		*v = usage.Counts{}
		return
	}
	number(c, &v.UL)
	number(c, &v.DL)
	number(c, &v.ULPackets)
	number(c, &v.DLPackets)
	c.refuse(*v == usage.Counts{})
}

func meter(c *coder, m *usage.Meter) {
	number(c, &m.Slot)
	counts(c, &m.Attached)
	counts(c, &m.Carried)
	counts(c, &m.Reported)
	number(c, &m.Sequence)
	signed(c, &m.Since)
	c.flags(&m.Started, &m.Exhausted)
	counts(c, &m.Granted)
}

func report(c *coder, r *usage.Report) {
	number(c, &r.URR)
	number(c, &r.Sequence)
	number(c, &r.Trigger)
	signed(c, &r.Start)
	signed(c, &r.End)
	c.flags(&r.Volume, &r.Packets, &r.Duration)
	counts(c, &r.Counts)
}
