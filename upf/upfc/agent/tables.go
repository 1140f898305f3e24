package agent

import "math/bits"

// Table is how full one of the tables is whose size is configured.
type Table struct {
	Name  string `json:"name"`
	Used  uint64 `json:"used"`
	Limit uint64 `json:"limit"`
}

// Tables lists what can run out: sessions, and pairs of slots for the QERs and URRs of one.
func (a *Agent) Tables() []Table {
	a.store.mu.Lock()
	sessions := a.store.indexes.table("sessions")
	a.store.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	return []Table{sessions, a.pairs.table("slot_pairs")}
}

func (s *slots) table(name string) Table {
	t := Table{Name: name, Limit: uint64(s.limit)}
	for _, w := range s.used {
		t.Used += uint64(bits.OnesCount64(w))
	}
	return t
}
