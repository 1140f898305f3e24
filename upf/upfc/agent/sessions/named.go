package sessions

// Sessions by CP F-SEID. A CP function whose instance died after it had sent an Establishment cannot tell whether
// there is a session, nor which SEID it has here, nor which F-TEID and UE address were chosen: its next instance
// sends the same request again, with a sequence number of its own, from an address of its own. The CP F-SEID says
// that it is the same session; it is answered from the one that was made. So a CP F-SEID has one session at most, of
// each CP function (Node ID).

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// lockNamed is Lock by CP F-SEID.
func (ss *Sessions) lockNamed(n store.CPName) *leases.Session {
	for _, index := range ss.store.WithName(n) {
		s := ss.o.Leases.Lock(index)
		if s == nil {
			continue
		}
		if s.Node == n.Node && s.CPSEID == n.SEID && s.CPAddr == n.Addr {
			return s
		}
		s.Unlock()
	}
	return nil
}

// underWay are the names of sessions that are being established: the second request of a name waits for the first.
type underWay struct {
	machine machine.Machine
	mu      sync.Mutex
	names   map[store.CPName]chan struct{} // nil until somebody waits for it
}

// begin makes a name the caller's, who calls end. Another's is waited for.
func (u *underWay) begin(n store.CPName) {
	for {
		u.mu.Lock()
		over, busy := u.names[n]
		if !busy {
			u.names[n] = nil
			u.mu.Unlock()
			return
		}
		if over == nil {
			over = make(chan struct{})
			u.names[n] = over
		}
		u.mu.Unlock()
		u.machine.Wait(-1, over)
	}
}

func (u *underWay) end(n store.CPName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if over := u.names[n]; over != nil {
		close(over)
	}
	delete(u.names, n)
}

// establishedBefore answers a request that names a session which there is: from that session when it was made by the
// same request; else it is refused, and nothing changes. One that is to restore the session makes it what the request says, with the
// F-TEIDs and addresses that it has all the time: its CP function does not know what of a change the UPF has, or has established it again
// before it knew that this UPF had begun anew. made is false when there is none.
func (ss *Sessions) establishedBefore(ctx context.Context, m *pfcp.Message, n store.CPName, ies *pfcp.IEs) (made bool, err error) {
	for {
		s := ss.lockNamed(n)
		if s == nil {
			return false, nil
		}
		switch conn := ss.o.Link.Current(); {
		case !restores(m) && s.Made.Digest == m.Digest():
			defer s.Unlock()
			ss.o.Log.Info("a request that established a session before is answered", "seid", pfcp.Hex(s.UPSEID), "cpSEID", pfcp.Hex(n.SEID), "node", n.Node, "from", m.From)
			ss.madeBefore(ies, s)
			return true, nil
		case !restores(m):
			defer s.Unlock()
			return true, pfcp.Incorrect(ie.FSEID, "CP F-SEID %#x of %s has session %#x, which another request established", n.SEID, n.Node, s.UPSEID)
		case conn != nil:
			defer s.Unlock()
			return true, ss.replace(conn, s, m, n, ies)
		}
		s.Unlock() // a replay needs it
		if _, err := ss.dataplane(ctx); err != nil {
			return true, err
		}
	}
}

// madeBefore appends the IEs of the answer to the request that made a session. What is gone since, nobody is told of.
func (ss *Sessions) madeBefore(ies *pfcp.IEs, s *leases.Session) {
	pdrs := slices.DeleteFunc(slices.Clone(s.Made.Chosen), func(id uint16) bool { return s.Rules.PDRs.Get(id) == nil })
	endpoints := slices.DeleteFunc(slices.Clone(s.Made.Created), func(id uint8) bool { return s.Rules.Endpoints.Get(id) == nil })
	ss.established(ies, s, pdrs, endpoints)
}

// replace all rules of a session in one step, by a request that restores it. The caller has locked the session.
func (ss *Sessions) replace(conn *dataplane.Conn, s *leases.Session, m *pfcp.Message, n store.CPName, ies *pfcp.IEs) error {
	c, wanted, err := ss.planRestored(s, m)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(wanted, func(index uint32) bool { return index != s.Index }) {
		return pfcp.Incorrect(ie.FTEID, "CP F-SEID %#x of %s has session %#x, and the F-TEID is of another", n.SEID, n.Node, s.UPSEID)
	}
	written := func(set *rules.Set) []byte { return state.AppendSession(nil, &state.Session{Rules: set}) }
	next := s.Session
	next.Last = state.Done{Sequence: m.Sequence, Digest: m.Digest(), At: ss.o.Machine.Now().Unix()}
	if sets, err := rules.CSIDs(m.Elements); err != nil {
		return err
	} else if len(sets) > 0 {
		next.CSIDs = sets
	}
	next.Made = state.Made{Digest: next.Last.Digest, Chosen: c.Chosen, Created: c.ChosenEndpoints}
	if bytes.Equal(written(c.Next), written(s.Rules)) {
		ss.madeBefore(ies, s)
		return nil
	}
	for id := range s.Rules.URRs.All() {
		if c.Next.URRs.Get(id) == nil {
			c.RemovedURRs = append(c.RemovedURRs, id)
		}
	}
	slices.Sort(c.RemovedURRs)
	reports, _, err := ss.commit(conn, s, next, c)
	if err != nil {
		return err
	}
	ss.KeepUEs(s.Index, s.Rules)
	if len(reports) > 0 { // the answer has no room for them (TS 29.244 7.5.3)
		ss.o.Reports.Owe(s, reports)
		ss.o.Reports.Deliver(s)
	}
	ss.o.Log.Info("a session is restored otherwise than it was", "seid", pfcp.Hex(s.UPSEID), "cpSEID", pfcp.Hex(n.SEID), "node", n.Node, "from", m.From)
	ss.established(ies, s, c.Chosen, c.ChosenEndpoints)
	return nil
}
