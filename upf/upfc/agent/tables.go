package agent

import "core5g.dev/core5g/upf/upfc/agent/store"

// Table is how full one of the tables is whose size is configured.
type Table = store.Table

// Tables lists what can run out: sessions, pairs of slots for the QERs and URRs of one, and NAT44 blocks of network instances.
func (a *Agent) Tables() []Table {
	sessions, blocks := a.store.Table(), a.nat.tables()
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Table{sessions, a.pairs.Table("slot_pairs")}, blocks...)
}

// tablesFull is how full the fullest of the tables is.
func (a *Agent) tablesFull() (full float64) {
	for n, t := range a.Tables() {
		if most := uint64(a.cfg.Limits.Sessions); n == 0 && most != 0 {
			t.Limit = min(t.Limit, most)
		}
		if t.Limit > 0 {
			full = max(full, float64(t.Used)/float64(t.Limit))
		}
	}
	return full
}
