package sessions

import (
	"fmt"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// forget makes a session unknown. Its index stays taken until freeSlots. The caller has locked it.
func (ss *Sessions) forget(s *leases.Session) {
	ss.traffic.count(s, true)
	ss.o.Reports.Forget(s.Index)
	ss.trim(s, s.Rules, &rules.Set{})
	ss.store.Forget(s)
}

// freeSlots gives back what the session had in upf-u, once upf-u has deleted it.
func (ss *Sessions) freeSlots(s *leases.Session) {
	ss.givePairs(&s.Session)
	ss.returnBlock(s.Index, &s.Session)
	ss.store.Free(s.Index)
}

// Drop ends a session without a request.
func (ss *Sessions) Drop(seid uint64, reason string) {
	s := ss.o.Leases.LockSEID(seid)
	if s == nil {
		return
	}
	defer s.Unlock()
	ss.end(s)
	ss.o.Recorder.SessionsDropped(reason, 1)
	ss.o.Log.Warn("session dropped", "seid", pfcp.Hex(s.UPSEID), "cpSEID", pfcp.Hex(s.CPSEID), "node", s.Node, "ue", s.Rules.UEAddress(), "reason", reason)
}

// end ends a session in upf-u and here. The caller has locked it.
func (ss *Sessions) end(s *leases.Session) {
	if conn := ss.o.Link.Current(); conn != nil {
		if err := deleteIn(conn, s.Index); err != nil {
			conn.Abandon() // what upf-u has is not known any more: it is filled anew, without this one
		}
	}
	ss.forget(s)
	ss.freeSlots(s)
}

// deleteIn removes one session from upf-u.
func deleteIn(conn *dataplane.Conn, index uint32) error {
	t := dataplane.NewBatch()
	t.DeleteSession(index)
	return conn.Transact(t)
}

// deletesPerTransaction bounds how many commands a transaction has for each worker.
const deletesPerTransaction = 256

func (ss *Sessions) DeleteIndexes(conn *dataplane.Conn, indexes []uint32) error {
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
