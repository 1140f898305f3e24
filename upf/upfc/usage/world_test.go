package usage

import (
	"math"
	"testing"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

const t0 = int64(1_800_000_000_000) // Unix milliseconds

// world is a clock and the slots of a upf-u that counts, stops at quotas and raises events as the
// real one does.
type world struct {
	now   int64
	slots map[uint32]*slot
}

type slot struct {
	Counts
	first, last int64
	active      uint32
	arm         abi.UrrArm
	armed       bool
	fired       bool // an armed value was reached, and said so
}

func newWorld() *world { return &world{now: t0, slots: map[uint32]*slot{}} }

func (w *world) slot(n uint32) *slot {
	if w.slots[n] == nil {
		w.slots[n] = &slot{}
	}
	return w.slots[n]
}

func (w *world) read(u *rules.URR, n uint32) Reading {
	s := w.slot(n)
	r := Reading{Counts: s.Counts, At: w.now}
	if u.Timed() {
		r.First, r.Last, r.Active = s.first, s.last, s.active
	}
	return r
}

func (s *slot) reached() (thresholds, quota bool) {
	c, a := s.Counts, s.arm
	return s.armed && (c.Total() >= a.Total || c.UL >= a.Ul || c.DL >= a.Dl), s.armed && (c.Total() >= a.QuotaTotal || c.UL >= a.QuotaUl || c.DL >= a.QuotaDl)
}

// forward is one packet; it returns whether it passed and whether upf-u has something to say.
func (w *world) forward(n uint32, ul bool, octets uint64) (passed, event bool) {
	s := w.slot(n)
	if _, over := s.reached(); over {
		return false, !s.fired
	}
	if ul {
		s.UL, s.ULPackets = s.UL+octets, s.ULPackets+1
	} else {
		s.DL, s.DLPackets = s.DL+octets, s.DLPackets+1
	}
	if s.first == 0 {
		s.first = w.now
	} else {
		gap := w.now - s.last
		if i := int64(s.arm.InactivityMs); i != 0 {
			gap = min(gap, i)
		}
		s.active += uint32(gap)
	}
	s.last = w.now
	threshold, quota := s.reached()
	event = (threshold || quota) && !s.fired
	s.fired = s.fired || event
	return true, event
}

// lab is one session in a world.
type lab struct {
	t testing.TB
	*world
	set    *rules.Set
	meters Meters
	got    []Report
}

func newLab(t testing.TB, urrs ...*rules.URR) *lab {
	l := &lab{t: t, world: newWorld(), set: rules.NewSet()}
	for i, u := range urrs {
		l.set.URRs.Put(u.ID, u)
		n := uint32(i + 10)
		s := l.slot(n)
		s.Counts = Counts{UL: 1000, DL: 500, ULPackets: 10, DLPackets: 5} // a former owner's
		l.meters.Put(u.ID, New(n, u, l.read(u, n)))
	}
	l.arm()
	return l
}

func (l *lab) session() *Session { return Begin(l.set, l.meters, l.read) }

// store takes over what a session has become, and arms.
func (l *lab) store(s *Session, reports []Report) []Report {
	l.set, l.meters = s.Rules, s.Meters
	l.got = append(l.got, reports...)
	l.arm()
	return reports
}

func (l *lab) arm() {
	for id, m := range l.meters.All() {
		s := l.slot(m.Slot)
		u := l.set.URRs.Get(id)
		s.arm, s.armed, s.fired = m.Arm(u, l.read(u, m.Slot), 1), true, false
	}
}

// measure reports as the agent does: until nothing is due any more.
func (l *lab) measure() []Report {
	var out []Report
	for i := 0; ; i++ {
		s := l.session()
		out = append(out, l.store(s, s.Measure(true))...)
		if !l.session().Due() {
			return out
		}
		if i > 3 {
			l.t.Fatal("reports without end")
		}
	}
}

func (l *lab) query(ids ...uint32) []Report {
	s := l.session()
	return l.store(s, s.Report(TriggerImmediate, ids...))
}

// pass forwards one packet of a URR and measures when upf-u says so.
func (l *lab) pass(id uint32, ul bool, octets uint64) (bool, []Report) {
	if l.set.URRs.Get(id).Is(rules.Paused) {
		return true, nil // upf-u does not know the URR
	}
	passed, event := l.forward(l.meters.Get(id).Slot, ul, octets)
	if event {
		return passed, l.measure()
	}
	return passed, nil
}

// sleep lets time pass; what becomes due by time alone is measured when it does.
func (l *lab) sleep(ms int64) []Report {
	var out []Report
	for end, rounds := l.now+ms, 0; ; rounds++ {
		d := l.session().Deadline()
		if d == 0 || d > end {
			l.now = end
			return out
		}
		l.now = max(l.now, d)
		out = append(out, l.measure()...)
		if rounds > 10_000 {
			l.t.Fatal("a deadline that does not move")
		}
	}
}

func (l *lab) update(u *rules.URR, given rules.Granted) {
	given.URR = u.ID
	next := l.set.Clone()
	c := *u // as Plan does: rules are replaced
	next.URRs.Put(u.ID, &c)
	s := l.session()
	s.Update(next, []rules.Granted{given})
	l.store(s, nil)
}

const never = uint64(math.MaxUint64)

func total(n uint64) rules.Volume { return rules.Volume{Has: rules.HasTotal, Total: n} }

// restartUPFU is upf-u killed and started again: its memory begins anew.
func (l *lab) restartUPFU() {
	old := &world{now: l.now, slots: l.slots}
	l.slots = map[uint32]*slot{}
	for id, m := range l.meters.All() {
		u := l.set.URRs.Get(id)
		m.Move(u, old.read(u, m.Slot), m.Slot, l.read(u, m.Slot).Counts)
		l.meters.Put(id, m)
	}
	l.arm()
}
