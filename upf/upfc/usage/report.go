package usage

import (
	"slices"

	"core5g.dev/core5g/upf/upfc/rules"
)

// Usage Report Trigger bits (TS 29.244 8.2.41), octet 5 lowest.
const (
	TriggerPeriodic        uint32 = 1 << 0
	TriggerVolumeThreshold uint32 = 1 << 1
	TriggerTimeThreshold   uint32 = 1 << 2
	TriggerQuotaHolding    uint32 = 1 << 3
	TriggerStart           uint32 = 1 << 4
	TriggerStop            uint32 = 1 << 5
	TriggerImmediate       uint32 = 1 << 7
	TriggerVolumeQuota     uint32 = 1 << 8
	TriggerTimeQuota       uint32 = 1 << 9
	TriggerLinked          uint32 = 1 << 10
	TriggerMAC             uint32 = 1 << 14
	TriggerTermination     uint32 = 1 << 11
	TriggerMonitoringTime  uint32 = 1 << 12
	TriggerQuotaValidity   uint32 = 1 << 19
	TriggerInactive        uint32 = 1 << 21

	triggerQuotas = TriggerVolumeQuota | TriggerTimeQuota | TriggerQuotaHolding | TriggerQuotaValidity
)

// Usage Information (TS 29.244 8.2.89).
const (
	BeforeMonitoring uint8 = 0x01
	AfterMonitoring  uint8 = 0x02
)

// Report is one Usage Report, kept until the CP function has acknowledged it. Times are Unix
// milliseconds.
type Report struct {
	URR      uint32
	Sequence uint32 // UR-SEQN
	Trigger  uint32
	Start    int64
	End      int64
	Volume   bool // the URR measures volume
	Packets  bool // and packets
	Duration bool // and time
	Counts   Counts
	Seconds  uint32 // Duration Measurement
	First    int64  // Time of First Packet, 0: not known, or there was none
	Last     int64
	Info     uint8 // Usage Information, of the two parts of a measurement that was split
	HasQuery bool
	Query    uint32 // Query URR Reference
	// MAC addresses that came to the session, and that left it (MACAR).
	Detected, Removed []rules.Station
	// Flow is what of an application has started or stopped; nil: the traffic as a whole.
	Flow *rules.DetectedFlow
}

// event makes a report that covers no usage.
func (m *Meter) event(u *rules.URR, trigger uint32, at int64) Report {
	r := Report{URR: u.ID, Sequence: m.Sequence, Trigger: trigger, Start: at, End: at, Volume: u.MeasureVolume, Packets: u.Is(rules.CountPackets)}
	m.Sequence++
	return r
}

// end ends the running measurement: what it returns will be in no other.
func (m *Meter) end(u *rules.URR, r Reading, at int64) Split {
	m.observe(u, r)
	s := Split{Start: m.Since, End: at, First: m.First, Counts: m.fresh(r), Used: m.used(u, r)}
	if last := m.lastPacket(r); u.Timed() && last >= m.Since && s.Counts.Packets() > 0 {
		s.Last = max(last, s.First)
	}
	m.Reported = m.Reported.Plus(s.Counts)
	m.Spent = m.Spent.plus(s.Counts)
	m.From = m.From.Plus(s.Counts)
	m.Since, m.First = at, 0
	// Durations are whole seconds; what is left over counts in the next one.
	whole := s.Used / 1000 * 1000
	m.SpentTime += whole
	m.Used, s.Used = s.Used-whole, whole
	if u.Rest().Inactivity != 0 {
		m.Active = m.active(u, r)
	}
	if m.Clock != 0 {
		m.Clock = r.At
	}
	return s
}

func (m *Meter) report(u *rules.URR, trigger uint32, s Split) Report {
	r := Report{
		URR: u.ID, Sequence: m.Sequence, Trigger: trigger, Start: s.Start, End: s.End,
		Volume: u.MeasureVolume, Packets: u.Is(rules.CountPackets), Duration: u.MeasureTime,
		Counts: s.Counts, Seconds: uint32(s.Used / 1000), First: s.First, Last: s.Last,
	}
	m.Sequence++
	return r
}

// cut ends the running measurement and begins the next one (TS 29.244 5.2.2.3.1). It appends one report,
// or two when a Monitoring Time lies between.
func (m *Meter) cut(out []Report, u *rules.URR, trigger uint32, r Reading) []Report {
	now := m.end(u, r, r.At)
	info := uint8(0)
	if m.Before != nil {
		out = append(out, m.beforeMonitoring(u))
		info = AfterMonitoring
	}
	last := m.report(u, trigger, now)
	last.Info |= info
	if u.Rest().HasReports && m.Left > 0 && trigger&(TriggerImmediate|TriggerTermination) == 0 {
		m.Left--
	}
	return append(out, last)
}

func (m *Meter) beforeMonitoring(u *rules.URR) Report {
	r := m.report(u, TriggerMonitoringTime, *m.Before)
	r.Info |= BeforeMonitoring
	m.Before = nil
	return r
}

// split ends the running measurement at the Monitoring Time; it will be reported with what comes
// after (TS 29.244 5.2.2.3.1). The URR goes on with its subsequent limits.
func (m *Meter) split(u *rules.URR, r Reading) (next *rules.URR, out []Report) {
	if m.Before != nil { // of an earlier Monitoring Time
		out = append(out, m.beforeMonitoring(u))
	}
	more := u.Rest()
	s := m.end(u, r, min(max(more.Monitoring*1000, m.Since), r.At))
	s.KeepVolume, s.KeepTime = more.NextThreshold.Has == 0, more.NextTime == 0
	m.Before = &s
	next = u.AfterMonitoring()
	if more.NextQuota.Has != 0 {
		m.Spent = Octets{}
	}
	if more.HasNextTimeQuota {
		m.SpentTime = 0
	}
	if more.NextQuota.Has != 0 || more.HasNextTimeQuota {
		m.Exhausted, m.Granted = false, r.At
		m.startClock(next, r, false)
	}
	return next, out
}

// Stations reports MAC addresses that came to an Ethernet PDU session or left it, to those URRs that are to hear of them (TS 29.244 5.13.5).
func (s *Session) Stations(detected, removed []rules.Station, to func(urr uint32) bool) []Report {
	var out []Report
	for i := range s.Meters {
		id, m, u := s.at(i)
		if !u.Wants(rules.MACReporting) || !to(id) || m.silent(u) || u.Is(rules.Paused) {
			continue
		}
		r := m.event(u, TriggerMAC, s.Read(u, m.Slot).At)
		r.Volume, r.Packets = false, false
		r.Detected, r.Removed = detected, removed
		out = append(out, r)
	}
	return out
}

// Flows reports that flows of applications have begun and ended, to those URRs of the applications' PDRs that want to hear it (TS 29.244 5.4.11).
func (s *Session) Flows(begun, ended []rules.DetectedFlow) []Report {
	var out []Report
	for i := range s.Meters {
		id, m, u := s.at(i)
		if !u.Wants(rules.StartOfTraffic|rules.StopOfTraffic) || m.silent(u) || u.Is(rules.Paused) {
			continue
		}
		at := s.Read(u, m.Slot).At
		report := func(list []rules.DetectedFlow, wanted, trigger uint32) {
			for _, f := range list {
				if u.Wants(wanted) && s.measures(id, f.Application) {
					r := m.event(u, trigger, at)
					r.Flow = &f
					out = append(out, r)
				}
			}
		}
		report(begun, rules.StartOfTraffic, TriggerStart)
		report(ended, rules.StopOfTraffic, TriggerStop)
	}
	return out
}

// measures says whether a URR is one of an application's.
func (s *Session) measures(urr uint32, application string) bool {
	for _, r := range s.Rules.PDRs.All() {
		if r.PDI.Application == application && slices.Contains(r.URRs, urr) {
			return true
		}
	}
	return false
}

// Session is what the reports of one PFCP session come from. Nothing that it is given is changed in
// place: what changes is replaced.
type Session struct {
	Rules  *rules.Set
	Meters Meters // by URR ID
	Read   func(u *rules.URR, slot uint32) Reading
	// ByFlow says that a URR hears of the start and stop of single flows, by Flows, and not of all together; nil: none does.
	ByFlow func(urr uint32) bool
}

// Begin copies what Measure, Query and Apply replace.
func Begin(set *rules.Set, meters Meters, read func(u *rules.URR, slot uint32) Reading) *Session {
	return &Session{Rules: set, Meters: meters.Clone(), Read: read}
}

// at is the meter at a place, with its ID and URR.
func (s *Session) at(i int) (id uint32, m *Meter, u *rules.URR) {
	x := &s.Meters[i]
	return x.ID, &x.Value, s.Rules.URRs.Get(x.ID)
}

// Measure makes the reports that are due. When there is no room for more reports to wait, only the
// end of a quota is reported.
func (s *Session) Measure(room bool) []Report {
	var out []Report
	cut := make(marks, len(s.Meters))
	for i := range s.Meters {
		id, m, u := s.at(i)
		r := s.Read(u, m.Slot)
		if at := u.Rest().Monitoring; at != 0 && r.At >= at*1000 {
			next, flushed := m.split(u, r)
			out = append(out, flushed...)
			s.Rules = s.Rules.Clone()
			s.Rules.URRs.Put(id, next)
			u = next
		}
		before := *m
		due, events := m.due(u, r)
		if !room {
			before.Exhausted, before.Expired = m.Exhausted, m.Expired
			due, events, *m = due&triggerQuotas, 0, before
		}
		for _, e := range []uint32{TriggerStart, TriggerStop} {
			if events&e != 0 && (s.ByFlow == nil || !s.ByFlow(id)) {
				out = append(out, m.event(u, e, r.At))
			}
		}
		if due != 0 {
			out = m.cut(out, u, due, r)
			cut[i] = true
		}
	}
	return append(out, s.linked(cut)...)
}

// Linked reports the URRs that are linked to those that go. These are still to be reported.
func (s *Session) Linked(gone []uint32) []Report {
	if len(gone) == 0 {
		return nil
	}
	cut := make(marks, len(s.Meters))
	for _, id := range gone {
		if i, ok := s.Meters.Place(id); ok {
			cut[i] = true
		}
	}
	return s.linked(cut)
}

// Report makes reports on demand: immediate ones, or the last ones of URRs that go.
func (s *Session) Report(trigger uint32, ids ...uint32) []Report {
	if len(ids) == 0 {
		return nil
	}
	var out []Report
	cut := make(marks, len(s.Meters))
	for _, id := range ids {
		i, ok := s.Meters.Place(id)
		if !ok || cut[i] || id == rules.InactivityURR {
			continue
		}
		if out == nil {
			out = make([]Report, 0, len(ids))
		}
		_, m, u := s.at(i)
		out = m.cut(out, u, trigger, s.Read(u, m.Slot))
		cut[i] = true
	}
	return append(out, s.linked(cut)...)
}

// marks are of meters, by their places.
type marks []bool

// linked reports the URRs that are linked to what was reported (TS 29.244 5.2.2.4), and so on.
func (s *Session) linked(cut marks) []Report {
	var out []Report
	isCut := func(id uint32) bool {
		i, ok := s.Meters.Place(id)
		return ok && cut[i]
	}
	for more := slices.Contains(cut, true); more; {
		more = false
		for i := range s.Meters {
			_, m, u := s.at(i)
			if cut[i] || !u.Wants(rules.LinkedUsage) || !slices.ContainsFunc(u.Rest().Linked, isCut) || m.silent(u) {
				continue
			}
			out = m.cut(out, u, TriggerLinked, s.Read(u, m.Slot))
			cut[i], more = true, true
		}
	}
	return out
}

// Update takes over what a message changed: next are its rules, given what it gave anew. Meters of
// URRs that are new are there already.
func (s *Session) Update(next *rules.Set, given []rules.Granted) {
	s.Meters.DeleteFunc(func(id uint32, _ Meter) bool { return !next.URRs.Has(id) })
	for i := range s.Meters {
		id, m, old := s.at(i)
		u := next.URRs.Get(id)
		if old == nil || old == u {
			continue
		}
		g := rules.Granted{URR: id}
		for _, x := range given {
			if x.URR == id {
				g = x
			}
		}
		m.Apply(old, u, g, s.Read(old, m.Slot))
	}
	s.Rules = next
}

// Deadline is when the session has to be measured next, in Unix milliseconds; 0 is never.
func (s *Session) Deadline() int64 {
	var next int64
	for i := range s.Meters {
		_, m, u := s.at(i)
		if d := m.Deadline(u, s.Read(u, m.Slot)); d != 0 && (next == 0 || d < next) {
			next = d
		}
	}
	return next
}

// Due says whether Measure would report anything, or note what upf-u tells of once.
func (s *Session) Due() bool {
	for i := range s.Meters {
		_, m, u := s.at(i)
		r := s.Read(u, m.Slot)
		if at := u.Rest().Monitoring; at != 0 && r.At >= at*1000 {
			return true
		}
		now := *m
		if reports, events := now.due(u, r); reports|events != 0 || now != *m {
			return true
		}
	}
	return false
}
