package usage

import (
	"math"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Counts are octets and packets in both directions.
type Counts struct {
	_         struct{} `cbor:",toarray"`
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

// Total is both directions' octets.
func (c Counts) Total() uint64 { return c.UL + c.DL }

// Plus adds.
func (c Counts) Plus(d Counts) Counts {
	return Counts{UL: c.UL + d.UL, DL: c.DL + d.DL, ULPackets: c.ULPackets + d.ULPackets, DLPackets: c.DLPackets + d.DLPackets}
}

// Minus subtracts; what would be negative is 0, so that a counter that went back is not reported
// as 2^64 octets.
func (c Counts) Minus(d Counts) Counts {
	sub := func(a, b uint64) uint64 {
		if a < b {
			return 0
		}
		return a - b
	}
	return Counts{UL: sub(c.UL, d.UL), DL: sub(c.DL, d.DL), ULPackets: sub(c.ULPackets, d.ULPackets), DLPackets: sub(c.DLPackets, d.DLPackets)}
}

// Meter is the state of one URR. Slots are reused and start from 0 in a new upf-u, so what was
// measured is Carried + (the slot's counters - Attached).
type Meter struct {
	Slot     uint32 `cbor:"1,keyasint"`
	Attached Counts `cbor:"2,keyasint"`           // the slot's counters when the meter took it over
	Carried  Counts `cbor:"3,keyasint"`           // measured before that
	Reported Counts `cbor:"4,keyasint"`           // of the measured, what reports have covered
	Sequence uint32 `cbor:"5,keyasint"`           // next UR-SEQN
	Since    int64  `cbor:"6,keyasint"`           // Unix nanoseconds: begin of the running measurement
	Started  bool   `cbor:"7,keyasint,omitempty"` // the start of traffic was reported
	Granted  Counts `cbor:"8,keyasint"`           // measured when the volume quota was given
	// Exhausted: the volume quota is used up; traffic is blocked until a new one comes.
	Exhausted bool `cbor:"9,keyasint,omitempty"`
}

// New starts a measurement on a slot whose counters stand at now.
func New(slot uint32, now Counts, at time.Time) Meter {
	return Meter{Slot: slot, Attached: now, Since: at.UnixNano()}
}

// Measured is everything since the URR was created.
func (m *Meter) Measured(slot Counts) Counts { return m.Carried.Plus(slot.Minus(m.Attached)) }

// Unreported is what the next report would cover.
func (m *Meter) Unreported(slot Counts) Counts { return m.Measured(slot).Minus(m.Reported) }

// Move attaches the meter to a slot of another upf-u; last are the old slot's final counters.
func (m *Meter) Move(last Counts, slot uint32, now Counts) {
	m.Carried = m.Measured(last)
	m.Slot, m.Attached = slot, now
}

// Grant begins a new volume quota.
func (m *Meter) Grant(slot Counts) {
	m.Granted = m.Measured(slot)
	m.Exhausted = false
}

// Usage Report Trigger bits (TS 29.244 8.2.41), octet 5 lowest.
const (
	TriggerPeriodic        uint32 = 1 << 0
	TriggerVolumeThreshold uint32 = 1 << 1
	TriggerTimeThreshold   uint32 = 1 << 2
	TriggerStart           uint32 = 1 << 4
	TriggerImmediate       uint32 = 1 << 7
	TriggerVolumeQuota     uint32 = 1 << 8
	TriggerTermination     uint32 = 1 << 11
)

// Report is one Usage Report, kept until the CP function has acknowledged it.
type Report struct {
	URR      uint32 `cbor:"1,keyasint"`
	Sequence uint32 `cbor:"2,keyasint"` // UR-SEQN
	Trigger  uint32 `cbor:"3,keyasint"`
	Start    int64  `cbor:"4,keyasint"` // Unix nanoseconds
	End      int64  `cbor:"5,keyasint"`
	Volume   bool   `cbor:"6,keyasint,omitempty"` // the URR measures volume
	Packets  bool   `cbor:"7,keyasint,omitempty"` // and packets
	Duration bool   `cbor:"8,keyasint,omitempty"` // and time
	Counts   Counts `cbor:"9,keyasint"`
}

// Cut ends the running measurement and begins the next one (TS 29.244 5.2.2.3.1): what the report
// covers will not be in another. A start-of-traffic report covers nothing.
func (m *Meter) Cut(u *rules.URR, trigger uint32, slot Counts, at time.Time) Report {
	r := Report{
		URR: u.ID, Sequence: m.Sequence, Trigger: trigger, Start: m.Since, End: at.UnixNano(),
		Volume: u.MeasureVolume, Packets: u.CountPackets, Duration: u.MeasureTime,
	}
	m.Sequence++
	if trigger&TriggerStart != 0 {
		m.Started = true
	}
	if trigger == TriggerStart {
		r.Start, r.Duration = r.End, false
		return r
	}
	measured := m.Measured(slot)
	r.Counts = measured.Minus(m.Reported)
	m.Reported, m.Since = measured, at.UnixNano()
	return r
}

// Due says which triggers have come true.
func (m *Meter) Due(u *rules.URR, slot Counts, at time.Time) uint32 {
	var t uint32
	measured := m.Measured(slot)
	fresh := measured.Minus(m.Reported)
	elapsed := at.Sub(time.Unix(0, m.Since))
	if u.Triggers&rules.Periodic != 0 && u.Period > 0 && elapsed >= u.Period {
		t |= TriggerPeriodic
	}
	if u.Triggers&rules.TimeThreshold != 0 && u.TimeThreshold > 0 && elapsed >= u.TimeThreshold {
		t |= TriggerTimeThreshold
	}
	if u.Triggers&rules.VolumeThreshold != 0 && reached(u.Threshold, fresh) {
		t |= TriggerVolumeThreshold
	}
	if u.Triggers&rules.StartOfTraffic != 0 && !m.Started && measured.Total() > 0 {
		t |= TriggerStart
	}
	if u.Triggers&rules.VolumeQuota != 0 && !m.Exhausted && reached(u.Quota, measured.Minus(m.Granted)) {
		t |= TriggerVolumeQuota
	}
	return t
}

func reached(v rules.Volume, c Counts) bool {
	at := func(limit *uint64, n uint64) bool { return limit != nil && n >= *limit }
	return at(v.Total, c.Total()) || at(v.UL, c.UL) || at(v.DL, c.DL)
}

// Deadline is when time alone makes a report due; zero when never.
func (m *Meter) Deadline(u *rules.URR) time.Time {
	var d time.Duration
	if u.Triggers&rules.Periodic != 0 {
		d = u.Period
	}
	if u.Triggers&rules.TimeThreshold != 0 && u.TimeThreshold > 0 && (d == 0 || u.TimeThreshold < d) {
		d = u.TimeThreshold
	}
	if d == 0 {
		return time.Time{}
	}
	return time.Unix(0, m.Since).Add(d)
}

// Arm says at which of the slot's counters upf-u is to speak up: the nearest of threshold, quota
// and start of traffic.
func (m *Meter) Arm(u *rules.URR, session uint32) abi.UrrArm {
	a := abi.UrrArm{Slot: m.Slot, Session: session, Total: math.MaxUint64, Ul: math.MaxUint64, Dl: math.MaxUint64,
		QuotaTotal: math.MaxUint64, QuotaUl: math.MaxUint64, QuotaDl: math.MaxUint64}
	// nearest lowers one of a's fields to the slot's counter at which base+limit is measured.
	nearest := func(into *uint64, limit *uint64, base, carried, attached uint64) {
		if limit == nil {
			return
		}
		target := base + *limit
		if target < base {
			return // beyond 2^64: never
		}
		at := attached
		if target > carried {
			at += target - carried
		}
		*into = min(*into, at)
	}
	volume := func(v rules.Volume, base Counts) {
		nearest(&a.Total, v.Total, base.Total(), m.Carried.Total(), m.Attached.Total())
		nearest(&a.Ul, v.UL, base.UL, m.Carried.UL, m.Attached.UL)
		nearest(&a.Dl, v.DL, base.DL, m.Carried.DL, m.Attached.DL)
	}
	if u.Triggers&rules.VolumeThreshold != 0 {
		volume(u.Threshold, m.Reported)
	}
	if u.Triggers&rules.VolumeQuota != 0 && !m.Exhausted {
		volume(u.Quota, m.Granted)
	}
	if u.Triggers&rules.StartOfTraffic != 0 && !m.Started {
		one := uint64(1)
		volume(rules.Volume{Total: &one}, Counts{})
	}
	return a
}
