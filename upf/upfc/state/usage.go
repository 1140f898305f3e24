package state

import (
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

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

func octets(c *coder, v *usage.Octets) {
	if !c.given(*v != usage.Octets{}) {
		*v = usage.Octets{}
		return
	}
	number(c, &v.UL)
	number(c, &v.DL)
	c.refuse(*v == usage.Octets{})
}

func meter(c *coder, m *usage.Meter) {
	number(c, &m.Slot)
	number(c, &m.Sequence)
	signed(c, &m.Since)
	counts(c, &m.From)
	counts(c, &m.Reported)
	signed(c, &m.Period)
	c.flags(&m.Started, &m.Exhausted, &m.Expired, &m.Inactive)
	more := m.Granted != 0 || m.Mark != 0 || m.Left != 0 || m.Before != nil || m.Spent != usage.Octets{} ||
		m.First != 0 || m.Seen != 0 || m.Clock != 0 || m.Active != 0 || m.Used != 0 || m.SpentTime != 0
	if !c.given(more) {
		return
	}
	octets(c, &m.Spent)
	signed(c, &m.Granted)
	number(c, &m.Left)
	number(c, &m.Mark)
	signed(c, &m.First)
	signed(c, &m.Seen)
	signed(c, &m.Clock)
	number(c, &m.Active)
	number(c, &m.Used)
	number(c, &m.SpentTime)
	pointer(c, &m.Before, split)
	c.refuse(m.Granted == 0 && m.Mark == 0 && m.Left == 0 && m.Before == nil && m.Spent == usage.Octets{} &&
		m.First == 0 && m.Seen == 0 && m.Clock == 0 && m.Active == 0 && m.Used == 0 && m.SpentTime == 0)
}

func split(c *coder, s *usage.Split) {
	signed(c, &s.Start)
	signed(c, &s.End)
	signed(c, &s.First)
	signed(c, &s.Last)
	counts(c, &s.Counts)
	number(c, &s.Used)
	c.flags(&s.KeepVolume, &s.KeepTime)
}

func report(c *coder, r *usage.Report) {
	number(c, &r.URR)
	number(c, &r.Sequence)
	number(c, &r.Trigger)
	signed(c, &r.Start)
	signed(c, &r.End)
	stations := len(r.Detected)+len(r.Removed) > 0 // version 8
	flow := r.Flow != nil                          // version 9
	c.flags(&r.Volume, &r.Packets, &r.Duration, &r.HasQuery, &stations, &flow)
	counts(c, &r.Counts)
	number(c, &r.Seconds)
	signed(c, &r.First)
	signed(c, &r.Last)
	number(c, &r.Info)
	number(c, &r.Query)
	if stations {
		list(c, &r.Detected, station)
		list(c, &r.Removed, station)
		c.refuse(len(r.Detected)+len(r.Removed) == 0)
	} else {
		r.Detected, r.Removed = nil, nil
	}
	if !flow {
		r.Flow = nil
		return
	}
	c.refuse(!c.since(9))
	if c.reading {
		r.Flow = &rules.DetectedFlow{}
	}
	detectedFlow(c, r.Flow)
}

func detectedFlow(c *coder, f *rules.DetectedFlow) {
	c.name(&f.Application)
	number(c, &f.Instance)
	c.addr(&f.Remote)
	c.addr(&f.Local)
	number(c, &f.Protocol)
	number(c, &f.RemotePort)
	number(c, &f.LocalPort)
}
