package sessions

import "core5g.dev/core5g/upf/upfc/agent/store"

// Table is how full one of the tables is whose size is configured.
type Table = store.Table

// Tables lists what can run out: sessions, pairs of slots for the QERs and URRs of one, and NAT44 blocks of network instances.
func (ss *Sessions) Tables() []Table {
	sessions, blocks := ss.store.Table(), ss.nat.tables()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return append([]Table{sessions, ss.pairs.Table("slot_pairs")}, blocks...)
}

// Full is how full the fullest of the tables is.
func (ss *Sessions) Full() (full float64) {
	for n, t := range ss.Tables() {
		if most := uint64(ss.o.Config.Limits.Sessions); n == 0 && most != 0 {
			t.Limit = min(t.Limit, most)
		}
		if t.Limit > 0 {
			full = max(full, float64(t.Used)/float64(t.Limit))
		}
	}
	return full
}
