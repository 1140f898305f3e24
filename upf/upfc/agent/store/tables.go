package store

import "math/bits"

// Table is how full one of the tables is whose size is configured.
type Table struct {
	Name  string `json:"name"`
	Used  uint64 `json:"used"`
	Limit uint64 `json:"limit"`
}

// Table is how full it is.
func (s *Slots) Table(name string) Table {
	t := Table{Name: name, Limit: uint64(s.limit)}
	for _, w := range s.used {
		t.Used += uint64(bits.OnesCount64(w))
	}
	return t
}

// Table is how full the table of sessions is.
func (st *Store[S]) Table() Table {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.indexes.Table("sessions")
}
