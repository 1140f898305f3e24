package store

import (
	"net/netip"

	"core5g.dev/core5g/upf/upfc/state"
)

// CPName is what a CP function calls a session.
type CPName struct {
	Node string
	SEID uint64
	Addr netip.Addr
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

// WithName are the sessions that may have a name.
func (st *Store[S]) WithName(n CPName) []uint32 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.named.find(namedHash(n.Node, n.SEID))
}
