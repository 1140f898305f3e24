package usage

import (
	"math"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

func reached(v rules.Volume, c Octets) bool {
	return v.Has&rules.HasTotal != 0 && c.Total() >= v.Total || v.Has&rules.HasUL != 0 && c.UL >= v.UL || v.Has&rules.HasDL != 0 && c.DL >= v.DL
}

// thresholdBase are the octets and milliseconds before the running measurement that the thresholds
// count.
func (m *Meter) thresholdBase() (o Octets, ms uint64) {
	if b := m.Before; b != nil {
		if b.KeepVolume {
			o = o.plus(b.Counts)
		}
		if b.KeepTime {
			ms = b.Used
		}
	}
	return o, ms
}

// silent: Number of Reports are sent, so that nothing is reported until more are allowed.
func (m *Meter) silent(u *rules.URR) bool { return u.Rest().HasReports && m.Left == 0 }

// due says which triggers have come true: reports that carry usage, and events (start and stop of
// traffic) that do not. What is said once is noted as said.
func (m *Meter) due(u *rules.URR, r Reading) (reports, events uint32) {
	m.observe(u, r)
	if u.Is(rules.Paused) {
		return 0, 0
	}
	more, fresh, used := u.Rest(), m.fresh(r), m.used(u, r)
	base, baseTime := m.thresholdBase()

	if p := millis(u.Period); p != 0 && m.Period != 0 && r.At >= m.Period {
		reports |= TriggerPeriodic
		m.Period += ((r.At-m.Period)/p + 1) * p
	}
	if u.Wants(rules.VolumeThreshold) && reached(u.Threshold, base.plus(fresh)) {
		reports |= TriggerVolumeThreshold
	}
	if u.Wants(rules.TimeThreshold) && u.TimeThreshold != 0 && baseTime+used >= uint64(millis(u.TimeThreshold)) {
		reports |= TriggerTimeThreshold
	}

	// Quotas block whether or not their end is to be reported.
	if !m.Exhausted {
		if reached(more.Quota, m.Spent.plus(fresh)) {
			reports, m.Exhausted = reports|TriggerVolumeQuota, true
		}
		if more.HasTimeQuota && m.SpentTime+used >= uint64(millis(more.TimeQuota)) {
			reports, m.Exhausted = reports|TriggerTimeQuota, true
		}
		if more.HoldingTime != 0 && r.At-m.idleSince(r) >= millis(more.HoldingTime) {
			reports, m.Exhausted = reports|TriggerQuotaHolding, true
		}
		if m.Exhausted { // nothing passes, so no time is used either
			m.Used, m.Clock = used, 0
			if more.Inactivity != 0 {
				m.Active = m.active(u, r)
			}
		}
		if !u.Wants(rules.VolumeQuota) {
			reports &^= TriggerVolumeQuota
		}
		if !u.Wants(rules.TimeQuota) {
			reports &^= TriggerTimeQuota
		}
		if !u.Wants(rules.QuotaHoldingTime) {
			reports &^= TriggerQuotaHolding
		}
	}
	if u.Wants(rules.QuotaValidityTime) && more.ValidityTime != 0 && !m.Expired && r.At-m.Granted >= millis(more.ValidityTime) {
		reports, m.Expired = reports|TriggerQuotaValidity, true
	}

	switch {
	case !u.Wants(rules.StartOfTraffic | rules.StopOfTraffic):
	case !m.Started && r.Packets() != m.Mark:
		m.Started = true
		if u.Wants(rules.StartOfTraffic) {
			events |= TriggerStart
		}
	case m.Started && u.Wants(rules.StopOfTraffic) && r.At-m.lastPacket(r) >= millis(u.QuietTime()):
		m.Started, m.Mark = false, r.Packets()
		events |= TriggerStop
	}
	if u.Wants(rules.UserPlaneInactive) && !m.Inactive && more.PlaneInactivity != 0 && r.At-m.idleSince(r) >= millis(more.PlaneInactivity) {
		m.Inactive, m.Mark = true, r.Packets()
		reports |= TriggerInactive
	}
	if m.silent(u) {
		return 0, 0
	}
	return reports, events
}

// watching says whether the next packet has to be told of.
func (m *Meter) watching(u *rules.URR, r Reading) bool {
	if u.Is(rules.Paused) {
		return false
	}
	return u.Wants(rules.StartOfTraffic|rules.StopOfTraffic) && !m.Started ||
		m.Inactive || u.Timed() && m.First == 0 || m.timeStands(u, r)
}

// timeStands: time is limited, and it does not run because nothing is sent.
func (m *Meter) timeStands(u *rules.URR, r Reading) bool {
	d := u.Rest().Inactivity
	return d != 0 && m.timeLimited(u) && m.Clock == 0 && r.At-r.Last >= millis(d)
}

func (m *Meter) timeLimited(u *rules.URR) bool {
	return u.MeasureTime && (u.Wants(rules.TimeThreshold) && u.TimeThreshold != 0 || u.Rest().HasTimeQuota && !m.Exhausted)
}

// Deadline is when time alone can make a report due; 0 is never.
func (m *Meter) Deadline(u *rules.URR, r Reading) int64 {
	if u.Is(rules.Paused) {
		return 0
	}
	var next int64
	by := func(at int64) {
		if next == 0 || at < next {
			next = at
		}
	}
	more := u.Rest()
	if m.timeLimited(u) && (u.Rest().Inactivity != 0 && !m.timeStands(u, r) || m.Clock != 0) {
		used := int64(m.used(u, r))
		_, base := m.thresholdBase()
		if u.Wants(rules.TimeThreshold) && !m.silent(u) {
			by(r.At + max(millis(u.TimeThreshold)-used-int64(base), 0))
		}
		if more.HasTimeQuota && !m.Exhausted {
			by(r.At + max(millis(more.TimeQuota)-used-int64(m.SpentTime), 0))
		}
	}
	if more.HoldingTime != 0 && !m.Exhausted {
		by(m.idleSince(r) + millis(more.HoldingTime))
	}
	if more.Monitoring != 0 {
		by(more.Monitoring * 1000)
	}
	if m.silent(u) {
		return next
	}
	if m.Period != 0 && u.Period != 0 {
		by(m.Period)
	}
	if u.Wants(rules.QuotaValidityTime) && more.ValidityTime != 0 && !m.Expired {
		by(m.Granted + millis(more.ValidityTime))
	}
	if u.Wants(rules.StopOfTraffic) && m.Started {
		by(m.lastPacket(r) + millis(u.QuietTime()))
	}
	if u.Wants(rules.UserPlaneInactive) && more.PlaneInactivity != 0 && !m.Inactive {
		by(m.idleSince(r) + millis(more.PlaneInactivity))
	}
	return next
}

// Arm says at which of the slot's counters upf-u is to speak up, and at which to stop the traffic.
func (m *Meter) Arm(u *rules.URR, r Reading, session uint32) abi.UrrArm {
	const never = math.MaxUint64
	more := u.Rest()
	a := abi.UrrArm{Slot: m.Slot, Session: session, Total: never, Ul: never, Dl: never, QuotaTotal: never, QuotaUl: never, QuotaDl: never,
		InactivityMs: uint32(min(millis(more.Inactivity), math.MaxUint32))}
	if u.Is(rules.Paused) {
		return a
	}
	fresh := m.fresh(r)
	// at is the counter's value when it will have measured limit, of which done is measured already.
	at := func(counter, limit, done uint64) uint64 {
		if done >= limit {
			return 0
		}
		if v := counter + (limit - done); v >= counter {
			return v
		}
		return never
	}
	limits := func(v rules.Volume, done Octets, total, ul, dl *uint64) {
		if v.Has&rules.HasTotal != 0 {
			*total = at(r.Total(), v.Total, done.Total())
		}
		if v.Has&rules.HasUL != 0 {
			*ul = at(r.UL, v.UL, done.UL)
		}
		if v.Has&rules.HasDL != 0 {
			*dl = at(r.DL, v.DL, done.DL)
		}
	}
	if u.Wants(rules.VolumeThreshold) && !m.silent(u) {
		base, _ := m.thresholdBase()
		limits(u.Threshold, base.plus(fresh), &a.Total, &a.Ul, &a.Dl)
	}
	if m.watching(u, r) {
		a.Total = min(a.Total, r.Total()+1)
	}
	limits(more.Quota, m.Spent.plus(fresh), &a.QuotaTotal, &a.QuotaUl, &a.QuotaDl)
	if m.Exhausted {
		a.QuotaTotal = 0
	}
	return a
}
