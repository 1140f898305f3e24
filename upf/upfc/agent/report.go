package agent

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
	reportsPerAnswer  = 128 // with some 120 octets each
	outboxMax         = 64  // reports of one session that wait; beyond it usage stays in the meters
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

// schedule sets the session's next wake-up. The caller has locked it.
func (a *Agent) schedule(s *leases.Session) {
	var next time.Time
	now := a.world.Now()
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
	a.wheel.Set(s.Index, next)
}

// measure reports what is due. told: upf-u said that an armed volume was reached, and has to be armed
// anew.
func (a *Agent) measure(index uint32, told bool) {
	select {
	case <-a.serving:
	default:
		return // resume comes back to it
	}
	s := a.leases.Lock(index)
	if s == nil {
		return
	}
	defer s.Unlock()
	conn := a.link.Current()
	if conn == nil {
		a.postpone(index)
		return
	}
	defer a.schedule(s)
	if !told && !s.Look().Due() { // woken to try again what was not acknowledged
		a.deliver(s)
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
			a.log.Error("usage not stored", "seid", pfcp.Hex(s.UPSEID), "err", err)
		}
		s.Become(&next, blob)
		a.countReports(reports)
		if errors.Is(err, dataplane.ErrLost) {
			a.postpone(index) // the replay stores it
			return
		}
		a.deliver(s)
		if len(s.Outbox) >= outboxMax || conn.Lost() || !s.Look().Due() {
			return
		}
	}
}

// lockToReport locks the session that upf-u has told something of; nil: it is gone, for which drop is called, or the CP function is behind, and
// the job comes again.
func (a *Agent) lockToReport(j job, drop func(index uint32)) *leases.Session {
	if !a.isServing() {
		return nil
	}
	s := a.leases.Lock(j.index)
	if s == nil {
		drop(j.index)
		return nil
	}
	if len(s.Outbox) < outboxMax {
		return s
	}
	s.Unlock()
	a.world.Go(func() {
		if a.world.Wait(retryAfter, a.stopping.Done()) {
			a.measurers.Add(j, false)
		}
	})
	return nil
}

// putReports makes next the session's state, and sends the reports that come of it. The caller has locked the session.
func (a *Agent) putReports(s *leases.Session, next *state.Session, reports []usage.Report) {
	next.Outbox = append(slices.Clone(s.Outbox), reports...)
	a.put(s, next)
	a.countReports(reports)
	a.deliver(s)
	a.schedule(s)
}

func (a *Agent) countReports(reports []usage.Report) {
	for i := range reports {
		a.rec.UsageReport(reports[i].Trigger)
	}
}

// isServing waits for PFCP to be served; false when that will not be any more.
func (a *Agent) isServing() bool {
	a.world.Wait(-1, a.serving, a.stopping.Done())
	return a.stopping.Err() == nil
}

// postpone notes that a session is to be measured when upf-u is back: what is armed in upf-u and
// what we have reported must not drift apart.
func (a *Agent) postpone(index uint32) {
	a.mu.Lock()
	a.postponed[index] = true
	back := a.link.Current() != nil // it came back meanwhile, and catchUp may have run
	a.mu.Unlock()
	if back {
		a.world.Go(a.catchUp)
	}
}

// catchUp measures what was postponed.
func (a *Agent) catchUp() {
	select {
	case <-a.serving:
	default:
		return // resume does it
	}
	a.mu.Lock()
	late := a.postponed
	a.postponed = map[uint32]bool{}
	a.mu.Unlock()
	for _, index := range slices.Sorted(maps.Keys(late)) {
		a.measurers.Add(job{index: index}, false)
	}
}

// reportJob is one of those who report to a CP function.
func (a *Agent) reportJob(j job, _ bool) {
	switch {
	case j.last != nil:
		a.reportLast(j.last)
	case j.tunnel.IsValid():
		a.reportErrorIndication(j.index, j.tunnel)
	default:
		a.deliverAll(j.index)
	}
}

// measureJob is one of those who look at sessions.
func (a *Agent) measureJob(j job, told bool) {
	switch {
	case j.tunnel.IsValid():
		a.errorIndication(j)
	case j.about == aboutStations:
		a.takeStations(j.index)
	case j.about == aboutFlows:
		a.takeFlows(j.index)
	default:
		a.measure(j.index, told)
	}
}

// put makes next the session's state, here and in upf-u, where the rules stay as they are. The caller
// has locked it.
func (a *Agent) put(s *leases.Session, next *state.Session) {
	blob := state.AppendSession(nil, next)
	s.Become(next, blob)
	conn := a.link.Current()
	if conn == nil {
		return // a replay brings it
	}
	t := dataplane.NewBatch()
	t.State(s.Index, blob)
	if err := conn.Transact(t); err != nil && !errors.Is(err, dataplane.ErrLost) {
		a.log.Error("session not stored", "seid", pfcp.Hex(s.UPSEID), "err", err)
	}
}
