package sessions

import (
	"errors"
	"slices"
	"syscall"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/compile"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// commit carries a planned change out: slots, one transaction, and only then our own account. next is
// the session's state as the request changes it, but for its rules. When it fails, nothing has
// changed. It returns the usage reports that the answer is to carry, and how many follow in requests
// of our own. The caller has locked s.
func (ss *Sessions) commit(conn *dataplane.Conn, s *leases.Session, next state.Session, c *rules.Change) (reports []usage.Report, additional int, err error) {
	next.Rules = c.Next
	next.QERSlots, next.GBRSlots, next.Meters = s.QERSlots.CloneFor(len(c.Next.QERs)), s.GBRSlots.Clone(), s.Meters.CloneFor(len(c.Next.URRs))
	now := ss.o.Machine.Now()

	undo, complete := ss.takeSlots(conn, &s.Session, &next, c.RemovedURRs, now)
	noBlock := func() {}
	defer func() {
		if err != nil {
			undo()
			noBlock()
			ss.trim(s, s.Rules, s.Rules)
		}
	}()
	if !complete {
		return nil, 0, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "upf-u has no free slot for a QER or URR"}
	}
	if noBlock, err = ss.takeBlock(s, &next); err != nil {
		return nil, 0, err
	}

	// What is reported is reported of the old rules; a quota that comes along counts from there.
	var removed *usage.Session
	if len(s.Meters) > 0 {
		acct := s.Account()
		reports = acct.Report(usage.TriggerImmediate, c.Query...)
		reports = append(reports, acct.Linked(c.RemovedURRs)...)
		if len(c.RemovedURRs) > 0 {
			removed = usage.Begin(s.Rules, nil, s.Read)
		}
		for _, id := range c.RemovedURRs {
			removed.Meters.Put(id, acct.Meters.Get(id))
			acct.Meters.Delete(id)
		}
		acct.Update(c.Next, c.Granted)
		for id, m := range acct.Meters.All() {
			next.Meters.Put(id, m)
		}
	}
	for i := range reports {
		reports[i].HasQuery, reports[i].Query = c.HasQueryReference, c.QueryReference
	}
	if len(reports) > reportsPerAnswer { // they follow in requests of our own
		next.Outbox = append(slices.Clone(next.Outbox), reports[reportsPerAnswer:]...)
		reports = reports[:reportsPerAnswer]
	}

	next.Last.Chosen, next.Last.Created = c.Chosen, c.ChosenEndpoints
	next.Last.Reports = append(slices.Clone(reports), ss.lastReports(s, c.RemovedURRs)...)
	p, err := ss.encode(s.Index, &next)
	if err != nil {
		return nil, 0, err
	}
	defer ss.done(p)
	if ss.groups.unsaved() { // its name is there before its number is
		ss.PersistMeta()
	}
	t := dataplane.NewBatch()
	if c.DropBuffered { // before the new rules could let it go
		t.DropBuffered(s.Index)
	}
	p.rules = c.Rules
	p.Add(t)
	for i := range next.Meters {
		id, m := next.Meters[i].ID, &next.Meters[i].Value
		u := c.Next.URRs.Get(id)
		r := leases.Reading(s.Shm, u, m.Slot, now)
		arm := m.Arm(u, r, s.Index)
		if before, ok := s.Meters.Find(id); !ok || before.Slot != m.Slot || before.Arm(s.Rules.URRs.Get(id), r, s.Index) != arm {
			t.Arm(arm)
		}
	}
	for i := range c.EndMarkers {
		t.EndMarker(s.Index, compile.EndMarker(s.Rules, &c.EndMarkers[i], rules.Access, ss.own))
	}
	if err := conn.Transact(t); err != nil {
		var r *dataplane.Refused
		if errors.As(err, &r) && (r.Refusal == abi.RefusedFteid || r.Refusal == abi.RefusedUeIp) {
			return nil, 0, &taken{r, s.Index, c.Next, s.Node}
		}
		return nil, 0, ss.refusal(err)
	}

	// From here on the change has happened.
	old := s.Session
	s.Become(&next, p.Blob)
	ss.trim(s, old.Rules, next.Rules)
	if old.NAT != next.NAT {
		ss.returnBlock(s.Index, &old)
	}
	if removed != nil {
		reports = append(reports, removed.Report(usage.TriggerTermination, c.RemovedURRs...)...)
	}
	if len(reports) > reportsPerAnswer {
		ss.o.Reports.Owe(s, reports[reportsPerAnswer:])
		reports = reports[:reportsPerAnswer]
	}
	ss.giveSlots(&old, &next)
	ss.o.Reports.Schedule(s)
	if additional = len(s.Outbox) - len(old.Outbox); additional > 0 {
		ss.o.Reports.Deliver(s)
	}
	return reports, additional, nil
}

// lastReports are those of URRs that are removed, as far as they are known before the rules are out of
// force: what a repetition of the request is told when upf-c dies before it answers.
func (ss *Sessions) lastReports(s *leases.Session, removed []uint32) []usage.Report {
	if len(removed) == 0 {
		return nil
	}
	acct := usage.Begin(s.Rules, s.Meters, s.Read)
	return acct.Report(usage.TriggerTermination, removed...)
}

// refusal says in PFCP's terms why upf-u did not take a transaction.
func (ss *Sessions) refusal(err error) error {
	var r *dataplane.Refused
	if !errors.As(err, &r) {
		return err
	}
	ss.o.Log.Warn("transaction refused", "err", err)
	switch r.Errno {
	case syscall.ENOSPC, syscall.ENOMEM, syscall.EMSGSIZE:
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: err.Error()}
	case syscall.ENOBUFS: // a worker does not come to a quiescent state
		return &pfcp.Reject{Cause: ie.CauseSystemFailure, Detail: err.Error()}
	default:
		return &pfcp.Reject{Cause: ie.CauseRuleCreationModificationFailure, Detail: err.Error()}
	}
}
