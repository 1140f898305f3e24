package agent

// Sessions by CP F-SEID. A CP function whose instance died after it had sent an Establishment cannot tell whether
// there is a session, nor which SEID it has here, nor which F-TEID and UE address were chosen: its next instance
// sends the same request again, with a sequence number of its own, from an address of its own. The CP F-SEID says
// that it is the same session; it is answered from the one that was made. So a CP F-SEID has one session at most, of
// each CP function (Node ID).

import (
	"bytes"
	"net/netip"
	"slices"
	"sync"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// cpName is what a CP function calls a session.
type cpName struct {
	node string
	seid uint64
	addr netip.Addr
}

// namedHash leaves the address out: what has the same hash is looked at anyway.
func namedHash(node string, seid uint64) uint32 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(node) {
		h = (h ^ uint64(node[i])) * 0x100000001b3
	}
	h ^= seid * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return uint32(h >> 32)
}

// named leads from CP F-SEIDs to sessions.
type named struct{ hashes }

func (n *named) add(s *state.Session, index uint32) {
	n.hashes.add(namedHash(s.Node, s.CPSEID), index)
}

func (n *named) remove(s *state.Session, index uint32) {
	n.hashes.remove(namedHash(s.Node, s.CPSEID), index)
}

// withName are the sessions that may have a name.
func (st *store) withName(n cpName) []uint32 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.named.find(namedHash(n.node, n.seid))
}

// lockNamed is lock by CP F-SEID.
func (a *Agent) lockNamed(n cpName) *session {
	for _, index := range a.store.withName(n) {
		s := a.lock(index)
		if s == nil {
			continue
		}
		if s.Node == n.node && s.CPSEID == n.seid && s.CPAddr == n.addr {
			return s
		}
		s.unlock()
	}
	return nil
}

// underWay are the names of sessions that are being established: the second request of a name waits for the first.
type underWay struct {
	machine machine.Machine
	mu      sync.Mutex
	names   map[cpName]chan struct{} // nil until somebody waits for it
}

// begin makes a name the caller's, who calls end. Another's is waited for.
func (u *underWay) begin(n cpName) {
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

func (u *underWay) end(n cpName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if over := u.names[n]; over != nil {
		close(over)
	}
	delete(u.names, n)
}

// isRestored says whether a request is to restore what the session has: it was established again before its CP function
// knew that this UPF had begun anew.
func (a *Agent) isRestored(s *session, m *pfcp.Message, n cpName) bool {
	if !restores(m) {
		return false
	}
	c, _, err := a.planRestored(m, n)
	if err != nil {
		return false
	}
	written := func(set *rules.Set) []byte { return state.AppendSession(nil, &state.Session{Rules: set}) }
	return bytes.Equal(written(c.Next), written(s.Rules))
}

// establishedBefore answers a request that names a session which there is: from that session when it was made by the
// same request, or is what is to be restored; else it is refused, and nothing changes. made is false when there is none.
func (a *Agent) establishedBefore(m *pfcp.Message, n cpName) (ies []*ie.IE, made bool, err error) {
	s := a.lockNamed(n)
	if s == nil {
		return nil, false, nil
	}
	defer s.unlock()
	if s.Made.Digest != m.Digest() && !a.isRestored(s, m, n) {
		return nil, true, pfcp.Incorrect(ie.FSEID, "CP F-SEID %#x of %s has session %#x, which another request established", n.seid, n.node, s.UPSEID)
	}
	a.log.Info("a request that established a session before is answered", "seid", hex(s.UPSEID), "cpSEID", hex(n.seid), "node", n.node, "from", m.From)
	// What is gone since, nobody is told of.
	pdrs := slices.DeleteFunc(slices.Clone(s.Made.Chosen), func(id uint16) bool { return s.Rules.PDRs[id] == nil })
	endpoints := slices.DeleteFunc(slices.Clone(s.Made.Created), func(id uint8) bool { return s.Rules.Endpoints[id] == nil })
	return append([]*ie.IE{a.upFSEID(s)}, created(s, pdrs, endpoints)...), true, nil
}
