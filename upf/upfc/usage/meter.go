package usage

// A Meter measures for one URR. It never touches upf-u's counters, which grow (but for a packet that was
// counted and did not leave: it is taken back, and off the next report if it was in one already): what is not
// reported yet is the distance from where they stood at the last report. The distance is taken
// modulo 2^64, so that a meter can move to the memory of another upf-u, whose counters begin anew,
// without anything lost or counted twice. Time is measured the same way.

import (
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Counts are octets and packets in both directions.
type Counts struct {
	UL        uint64
	DL        uint64
	ULPackets uint64
	DLPackets uint64
}

// FromSlot reads the counters of a slot in shared memory, by direction.
func FromSlot(dir [2]abi.UrrCounter) Counts {
	return Counts{
		UL: dir[abi.Ul].Bytes, DL: dir[abi.Dl].Bytes,
		ULPackets: dir[abi.Ul].Packets, DLPackets: dir[abi.Dl].Packets,
	}
}

// Late is what another upf-u counted for a URR of a session, by its index, after the session had been taken over.
type Late struct {
	Index  uint32
	UPSEID uint64
	URR    uint32
	Counts Counts
}

// Total is both directions' octets.
func (c Counts) Total() uint64 { return c.UL + c.DL }

// Packets are both directions'.
func (c Counts) Packets() uint64 { return c.ULPackets + c.DLPackets }

// Plus adds.
func (c Counts) Plus(d Counts) Counts {
	return Counts{UL: c.UL + d.UL, DL: c.DL + d.DL, ULPackets: c.ULPackets + d.ULPackets, DLPackets: c.DLPackets + d.DLPackets}
}

// back subtracts modulo 2^64.
func (c Counts) back(d Counts) Counts {
	return Counts{UL: c.UL - d.UL, DL: c.DL - d.DL, ULPackets: c.ULPackets - d.ULPackets, DLPackets: c.DLPackets - d.DLPackets}
}

// Minus is how far c is ahead of d; 0 for a counter that is behind, lest 2^64 octets be reported.
func (c Counts) Minus(d Counts) Counts {
	ahead := func(a, b uint64) uint64 {
		if int64(a-b) < 0 {
			return 0
		}
		return a - b
	}
	return Counts{UL: ahead(c.UL, d.UL), DL: ahead(c.DL, d.DL), ULPackets: ahead(c.ULPackets, d.ULPackets), DLPackets: ahead(c.DLPackets, d.DLPackets)}
}

// Reading is what upf-u's memory says of a slot at one moment. Times are Unix milliseconds.
type Reading struct {
	Counts
	At int64
	// Only of URRs that are timed:
	First, Last int64  // first and last packet since the URR was made; 0: none yet
	Active      uint32 // milliseconds with traffic, gaps up to the Inactivity Detection Time; it wraps
}

// Meter is the state of one URR. Times are Unix milliseconds.
type Meter struct {
	Slot     uint32
	Sequence uint32 // next UR-SEQN
	Since    int64  // begin of the running measurement
	From     Counts // the slot's counters then, modulo 2^64
	Reported Counts // before the running measurement
	Spent    Octets // of the volume quota, before the running measurement
	Granted  int64  // when the quota (or the inactivity timer) was given
	Period   int64  // when the next periodic report is due; 0: never
	Left     uint16 // how many reports Number of Reports still allows

	Started   bool   // traffic runs: its start was noted, its stop was not
	Exhausted bool   // a quota is used up, or was held too long: traffic is blocked until a new one
	Expired   bool   // the Quota Validity Time's end was reported
	Inactive  bool   // the User Plane Inactivity Timer's end was reported
	Mark      uint64 // the slot's packets when the stop of traffic or inactivity was noted

	// Of URRs that are timed:
	First     int64  // first packet of the running measurement; 0: none yet
	Seen      int64  // last packet in the memory of an earlier upf-u
	Clock     int64  // since when time is measured that is not in Used; 0: it stands
	Active    uint32 // the slot's active time up to which it is in Used
	Used      uint64 // milliseconds of the running measurement
	SpentTime uint64 // milliseconds of the time quota, before the running measurement

	Before *Split // what was measured before a Monitoring Time and is not reported yet
}

// Meters are a session's, by URR ID.
type Meters = rules.ByID[uint32, Meter]

// Octets are counted in both directions.
type Octets struct{ UL, DL uint64 }

func (o Octets) plus(c Counts) Octets { return Octets{o.UL + c.UL, o.DL + c.DL} }

// Total is both directions'.
func (o Octets) Total() uint64 { return o.UL + o.DL }

// Split is a measurement that ended at a Monitoring Time.
type Split struct {
	Start, End  int64
	First, Last int64
	Counts      Counts
	Used        uint64 // milliseconds
	// The thresholds go on counting from before the Monitoring Time, for no subsequent one was given.
	KeepVolume, KeepTime bool
}

// New starts a measurement on a slot.
func New(slot uint32, u *rules.URR, r Reading) Meter {
	r.First, r.Last, r.Active = 0, 0, 0 // upf-u begins them anew
	m := Meter{Slot: slot, Since: r.At, From: r.Counts, Left: u.Rest().Reports}
	if u.More != nil {
		m.Granted = r.At
	}
	if u.Wants(marking) {
		m.Mark = r.Packets()
	}
	m.schedulePeriod(u, r.At)
	m.startClock(u, r, true)
	return m
}

// marking are the triggers that look for the first packet after a pause.
const marking = rules.StartOfTraffic | rules.StopOfTraffic | rules.UserPlaneInactive

func (m *Meter) schedulePeriod(u *rules.URR, at int64) {
	m.Period = 0
	if u.Wants(rules.Periodic) && u.Period != 0 {
		m.Period = at + millis(u.Period)
	}
}

func millis(s rules.Seconds) int64 { return int64(s) * 1000 }

// fresh is what the running measurement has counted.
func (m *Meter) fresh(r Reading) Counts { return r.Minus(m.From) }

// Measured is everything since the URR was created.
func (m *Meter) Measured(slot Counts) Counts { return m.Reported.Plus(slot.Minus(m.From)) }

// Move attaches the meter to a slot of another upf-u: last is what the old slot said at the end, now
// are the new one's counters. Its times begin with 0.
func (m *Meter) Move(u *rules.URR, last Reading, slot uint32, now Counts) {
	m.observe(u, last)
	m.Used = m.used(u, last)
	m.Active = 0
	if u.Timed() {
		m.Seen = m.lastPacket(last)
	}
	if m.Clock != 0 {
		m.Clock = last.At
	}
	if u.Wants(marking) {
		m.Mark += now.Packets() - last.Packets()
	}
	m.From = now.back(m.fresh(last))
	m.Slot = slot
}

// Add takes in what was counted in another memory since the meter has moved here.
func (m *Meter) Add(late Counts) { m.From = m.From.back(late) }

// Apply takes over an update of the URR, or what was given with one (TS 29.244 7.5.4.4). A quota
// counts from the last usage report: what was used since then will be charged to the new one.
func (m *Meter) Apply(old, next *rules.URR, given rules.Granted, r Reading) {
	m.observe(old, r)
	m.Used = m.used(old, r)
	if given.Volume {
		m.Spent = Octets{}
	}
	if given.Time {
		m.SpentTime = 0
	}
	if given.Volume || given.Time {
		m.Exhausted = false
	}
	m.startClock(next, r, !old.Is(rules.ImmediateStart))
	if given.Volume || given.Time || given.Validity {
		m.Granted, m.Expired = r.At, false
	}
	if given.PlaneInactivityTimer {
		m.Granted, m.Inactive = r.At, false
	}
	if old.More == nil && next.More != nil {
		m.Granted = r.At
	}
	if next.Wants(marking) && !old.Wants(marking) {
		m.Mark, m.Started, m.Inactive = r.Packets(), false, false
	}
	if given.Reports {
		m.Left = next.Rest().Reports
	}
	if old.Period != next.Period || old.Wants(rules.Periodic) != next.Wants(rules.Periodic) {
		m.schedulePeriod(next, r.At)
	}
}

// ---- time ------------------------------------------------------------------------------------

// startClock begins, or goes on with, the measurement of time under a URR that is new or changed.
// TS 29.244 8.2.68: with ISTM time begins at once, else with the first packet.
func (m *Meter) startClock(u *rules.URR, r Reading, immediate bool) {
	more := u.Rest()
	goesOn := m.Clock != 0 || more.Inactivity == 0 && (m.Used > 0 || m.First != 0)
	m.Clock = 0
	if more.Inactivity != 0 {
		m.Active = m.active(u, r)
	}
	if u.MeasureTime && !u.Is(rules.Paused) && !m.Exhausted && (immediate && u.Is(rules.ImmediateStart) || goesOn) {
		m.Clock = r.At
	}
}

// active is the time with traffic up to now, the time since the last packet included.
func (m *Meter) active(u *rules.URR, r Reading) uint32 {
	if r.Last == 0 {
		return r.Active
	}
	return r.Active + uint32(min(max(r.At-r.Last, 0), millis(u.Rest().Inactivity)))
}

// used are the milliseconds of the running measurement.
func (m *Meter) used(u *rules.URR, r Reading) uint64 {
	if !u.MeasureTime || u.Is(rules.Paused) {
		return m.Used
	}
	inactivity := u.Rest().Inactivity
	if inactivity == 0 {
		if m.Clock == 0 {
			return m.Used
		}
		return m.Used + uint64(max(r.At-m.Clock, 0))
	}
	used := m.Used + uint64(max(int32(m.active(u, r)-m.Active), 0))
	if m.Clock != 0 { // immediate start, and no packet yet
		used += uint64(min(max(r.At-m.Clock, 0), millis(inactivity)))
	}
	return used
}

// observe notes what became known since the last look: the first packet, and that traffic runs.
func (m *Meter) observe(u *rules.URR, r Reading) {
	if r.Packets() != m.Mark {
		m.Inactive = false
	}
	if !u.Timed() || m.First != 0 || m.fresh(r).Packets() == 0 {
		return
	}
	m.First = r.At // its event is not older than a few milliseconds
	if r.First >= m.Since {
		m.First = r.First
	} else if m.fresh(r).Packets() == 1 && r.Last >= m.Since {
		m.First = r.Last
	}
	if !u.MeasureTime || u.Is(rules.Paused) || m.Exhausted {
		return
	}
	switch {
	case u.Rest().Inactivity == 0 && m.Clock == 0:
		m.Clock = m.First // TS 29.244 5.2.2.2: without ISTM, time begins with the first packet
	case u.Rest().Inactivity != 0 && m.Clock != 0:
		m.Used += uint64(min(max(m.First-m.Clock, 0), millis(u.Rest().Inactivity)))
		m.Clock = 0
	}
}

// lastPacket is when the last packet came; 0: none did.
func (m *Meter) lastPacket(r Reading) int64 { return max(r.Last, m.Seen) }

// idleSince is the same; nothing before the quota or timer was given counts.
func (m *Meter) idleSince(r Reading) int64 { return max(m.lastPacket(r), m.Granted) }

// Time is a Unix time in milliseconds as package time has it.
func Time(ms int64) time.Time { return time.UnixMilli(ms) }
