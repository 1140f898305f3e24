package reports

import (
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Usage reports on our own initiative. A report is cut (its octets are then in no other), put into
// the session's outbox and stored in upf-u with the session before it is sent, and leaves the
// outbox when the CP function acknowledges it. So none is lost when upf-c dies, and one that is
// repeated afterwards bears the same UR-SEQN.

const (
	reportsPerMessage = 16
	outboxMax         = 64 // reports of one session that wait; beyond it usage stays in the meters
	retryAfter        = 10 * time.Second
	farAway           = 24 * time.Hour
	measuring         = 128 // sessions at once
)

// job is about a session; two that are equal are one.
type job struct {
	index  uint32
	tunnel rules.FTEID // of an Error Indication; else it is about the session's usage
	last   *lastReports
	about  about
}

// about is what of a session's the job is about that upf-u has told of.
type about uint8

const (
	aboutUsage    about = iota
	aboutStations       // MAC addresses have come to the session or left it
	aboutFlows          // flows of applications have begun or ended
)

// Schedule sets the session's next wake-up. The caller has locked it.
func (r *Reports) Schedule(s *leases.Session) {
	var next time.Time
	now := r.o.Machine.Now()
	later := now.Add(retryAfter)
	if d := s.Deadline(now); d != 0 {
		next = usage.Time(d)
		if far := now.Add(farAway); next.After(far) {
			next = far // SMFs give times that mean never
		}
		if len(s.Outbox) >= outboxMax && next.Before(later) {
			next = later
		}
	}
	if len(s.Outbox) > 0 && !s.Sending && (next.IsZero() || next.After(later)) {
		next = later // somebody has to try again
	}
	r.wheel.Set(s.Index, next)
}

// measure reports what is due. told: upf-u said that an armed volume was reached, and has to be armed
// anew.
func (r *Reports) measure(index uint32, told bool) {
	select {
	case <-r.serving:
	default:
		return // CatchUp comes back to it
	}
	s := r.o.Leases.Lock(index)
	if s == nil {
		return
	}
	defer s.Unlock()
	conn := r.o.Link.Current()
	if conn == nil {
		r.postpone(index)
		return
	}
	defer r.Schedule(s)
	if !told && !s.Look().Due() { // woken to try again what was not acknowledged
		r.Deliver(s)
		return
	}
	for range 4 { // what becomes due while it is armed may not be told of any more
		acct := s.Account()
		reports := acct.Measure(len(s.Outbox) < outboxMax)
		next := s.Session
		next.Rules, next.Meters = acct.Rules, acct.Meters
		next.Outbox = append(slices.Clone(s.Outbox), reports...)
		blob := state.AppendSession(nil, &next)
		t := dataplane.NewBatch()
		t.State(s.Index, blob)
		for id, m := range next.Meters.All() {
			u := next.Rules.URRs.Get(id)
			r := s.Read(u, m.Slot)
			arm, was := m.Arm(u, r, s.Index), s.Meters.Get(id)
			if arm.Total&arm.Ul&arm.Dl != math.MaxUint64 || arm != was.Arm(s.Rules.URRs.Get(id), r, s.Index) {
				t.Arm(arm) // upf-u says each thing once an arming
			}
		}
		err := conn.Transact(t)
		if err != nil && !errors.Is(err, dataplane.ErrLost) {
			r.o.Log.Error("usage not stored", "seid", pfcp.Hex(s.UPSEID), "err", err)
		}
		s.Become(&next, blob)
		r.Count(reports)
		if errors.Is(err, dataplane.ErrLost) {
			r.postpone(index) // the replay stores it
			return
		}
		r.Deliver(s)
		if len(s.Outbox) >= outboxMax || conn.Lost() || !s.Look().Due() {
			return
		}
	}
}

// lockToReport locks the session that upf-u has told something of; nil: it is gone, for which drop is called, or the CP function is behind, and
// the job comes again.
func (r *Reports) lockToReport(j job, drop func(index uint32)) *leases.Session {
	if !r.isServing() {
		return nil
	}
	s := r.o.Leases.Lock(j.index)
	if s == nil {
		drop(j.index)
		return nil
	}
	if len(s.Outbox) < outboxMax {
		return s
	}
	s.Unlock()
	r.o.Machine.Go(func() {
		if r.o.Machine.Wait(retryAfter, r.stopping.Done()) {
			r.measurers.Add(j, false)
		}
	})
	return nil
}

// putReports makes next the session's state, and sends the reports that come of it. The caller has locked the session.
func (r *Reports) putReports(s *leases.Session, next *state.Session, reports []usage.Report) {
	next.Outbox = append(slices.Clone(s.Outbox), reports...)
	r.put(s, next)
	r.Count(reports)
	r.Deliver(s)
	r.Schedule(s)
}

func (r *Reports) Count(reports []usage.Report) {
	for i := range reports {
		r.o.Recorder.UsageReport(reports[i].Trigger)
	}
}

// isServing waits for PFCP to be served; false when that will not be any more.
func (r *Reports) isServing() bool {
	r.o.Machine.Wait(-1, r.serving, r.stopping.Done())
	return r.stopping.Err() == nil
}

// postpone notes that a session is to be measured when upf-u is back: what is armed in upf-u and
// what we have reported must not drift apart.
func (r *Reports) postpone(index uint32) {
	r.mu.Lock()
	r.postponed[index] = true
	back := r.o.Link.Current() != nil // it came back meanwhile, and catchUp may have run
	r.mu.Unlock()
	if back {
		r.o.Machine.Go(r.CatchUp)
	}
}

// Adopt takes up a session that was kept, s, before anybody locks it: what CatchUp would have to decode it for again. Its meters are attached
// to shm.
func (r *Reports) Adopt(index uint32, s *state.Session, shm *dataplane.Shm) {
	acct := usage.Session{Rules: s.Rules, Meters: s.Meters, Read: func(u *rules.URR, slot uint32) usage.Reading {
		return leases.Reading(shm, u, slot, r.o.Machine.Now())
	}}
	if at := acct.Deadline(); at != 0 {
		r.wheel.Set(index, usage.Time(at))
	}
	if len(s.Outbox) > 0 || acct.Due() {
		r.postpone(index)
	}
}

// Forget is for a session that is gone.
func (r *Reports) Forget(index uint32) { r.wheel.Set(index, time.Time{}) }

// Reset is for sessions that are all gone.
func (r *Reports) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.postponed = map[uint32]bool{}
}

// CatchUp measures what was postponed.
func (r *Reports) CatchUp() {
	select {
	case <-r.serving:
	default:
		return // it is called again
	}
	r.mu.Lock()
	late := r.postponed
	r.postponed = map[uint32]bool{}
	r.mu.Unlock()
	for _, index := range slices.Sorted(maps.Keys(late)) {
		r.measurers.Add(job{index: index}, false)
	}
}

// reportJob is one of those who report to a CP function.
func (r *Reports) reportJob(j job, _ bool) {
	switch {
	case j.last != nil:
		r.reportLast(j.last)
	case j.tunnel.IsValid():
		r.reportErrorIndication(j.index, j.tunnel)
	default:
		r.deliverAll(j.index)
	}
}

// measureJob is one of those who look at sessions.
func (r *Reports) measureJob(j job, told bool) {
	switch {
	case j.tunnel.IsValid():
		r.errorIndication(j)
	case j.about == aboutStations:
		r.takeStations(j.index)
	case j.about == aboutFlows:
		r.takeFlows(j.index)
	default:
		r.measure(j.index, told)
	}
}

// Owe puts reports into a session's outbox, and stores it. The caller has locked it, and has them delivered.
func (r *Reports) Owe(s *leases.Session, reports []usage.Report) {
	next := s.Session
	next.Outbox = append(slices.Clone(s.Outbox), reports...)
	r.put(s, &next)
}

// put makes next the session's state, here and in upf-u, where the rules stay as they are. The caller
// has locked it.
func (r *Reports) put(s *leases.Session, next *state.Session) {
	blob := state.AppendSession(nil, next)
	s.Become(next, blob)
	conn := r.o.Link.Current()
	if conn == nil {
		return // a replay brings it
	}
	t := dataplane.NewBatch()
	t.State(s.Index, blob)
	if err := conn.Transact(t); err != nil && !errors.Is(err, dataplane.ErrLost) {
		r.o.Log.Error("session not stored", "seid", pfcp.Hex(s.UPSEID), "err", err)
	}
}
