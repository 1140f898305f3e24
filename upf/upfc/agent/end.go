package agent

import (
	"fmt"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// forget makes a session unknown. Its index stays taken until freeSlots. The caller has locked it.
func (a *Agent) forget(s *leases.Session) {
	a.traffic.count(s, true)
	a.reports.Forget(s.Index)
	a.trim(s, s.Rules, &rules.Set{})
	a.store.Forget(s)
}

// freeSlots gives back what the session had in upf-u, once upf-u has deleted it.
func (a *Agent) freeSlots(s *leases.Session) {
	a.givePairs(&s.Session)
	a.returnBlock(s.Index, &s.Session)
	a.store.Free(s.Index)
}

// drop ends a session without a request.
func (a *Agent) drop(seid uint64, reason string) {
	s := a.leases.LockSEID(seid)
	if s == nil {
		return
	}
	defer s.Unlock()
	a.end(s)
	a.rec.SessionsDropped(reason, 1)
	a.log.Warn("session dropped", "seid", pfcp.Hex(s.UPSEID), "cpSEID", pfcp.Hex(s.CPSEID), "node", s.Node, "ue", s.Rules.UEAddress(), "reason", reason)
}

// end ends a session in upf-u and here. The caller has locked it.
func (a *Agent) end(s *leases.Session) {
	if conn := a.link.Current(); conn != nil {
		if err := deleteIn(conn, s.Index); err != nil {
			conn.Abandon() // what upf-u has is not known any more: it is filled anew, without this one
		}
	}
	a.forget(s)
	a.freeSlots(s)
}

// deleteIn removes one session from upf-u.
func deleteIn(conn *dataplane.Conn, index uint32) error {
	t := dataplane.NewBatch()
	t.DeleteSession(index)
	return conn.Transact(t)
}

// deletesPerTransaction bounds how many commands a transaction has for each worker.
const deletesPerTransaction = 256

func (a *Agent) deleteIndexes(conn *dataplane.Conn, indexes []uint32) error {
	for len(indexes) > 0 {
		n := min(len(indexes), deletesPerTransaction)
		t := dataplane.NewBatch()
		for _, i := range indexes[:n] {
			t.DeleteSession(i)
		}
		if err := conn.Transact(t); err != nil {
			return fmt.Errorf("deleting sessions: %w", err)
		}
		indexes = indexes[n:]
	}
	return nil
}
