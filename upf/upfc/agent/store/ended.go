package store

import "slices"

// ended are the deletions of late, the oldest of which makes way for the next one.
type ended struct {
	next  int
	cells []endedCell    // endedMax, or none yet
	of    map[uint64]int // by UP SEID
}

type endedCell struct {
	seid         uint64
	unit, length uint32 // length 0: free
	life         uint8
}

// PutEnded puts a deletion down; the place is for later changes of it.
func (st *Store[S]) PutEnded(seid uint64, blob []byte, life uint8) (place int, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	n := &st.ended
	if n.cells == nil {
		n.cells, n.of = make([]endedCell, endedMax), map[uint64]int{}
	}
	place = n.next
	st.dropEndedLocked(place)
	unit, err := st.blobs.put(blob)
	if err != nil {
		return 0, err
	}
	n.next = (place + 1) % endedMax
	n.cells[place] = endedCell{seid, unit, uint32(len(blob)), life}
	n.of[seid] = place
	st.blobs.kept.deletion(place, unit, uint32(len(blob)), life)
	st.mirrorDeletion(place, life, blob)
	return place, nil
}

// ReplaceEnded changes what PutEnded has put down.
func (st *Store[S]) ReplaceEnded(place int, seid uint64, blob []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	c := &st.ended.cells[place]
	if c.seid != seid {
		return // so many have been deleted since that it had to make way
	}
	unit, err := st.blobs.put(blob)
	if err != nil {
		return
	}
	st.blobs.kept.deletion(place, unit, uint32(len(blob)), c.life)
	st.mirrorDeletion(place, c.life, blob)
	st.blobs.drop(c.unit, int(c.length))
	c.unit, c.length = unit, uint32(len(blob))
}

// TakeBackEnded forgets a deletion that did not happen.
func (st *Store[S]) TakeBackEnded(place int, seid uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended.cells[place].seid == seid {
		st.dropEndedLocked(place)
	}
}

func (st *Store[S]) dropEndedLocked(place int) {
	c := &st.ended.cells[place]
	if c.length == 0 {
		return
	}
	st.blobs.kept.noDeletion(place)
	st.mirrorDeletion(place, 0, nil)
	st.blobs.drop(c.unit, int(c.length))
	delete(st.ended.of, c.seid)
	*c = endedCell{}
}

// EndedOf is a copy of what was put down of a session's deletion, nil: nothing.
func (st *Store[S]) EndedOf(seid uint64) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	place, ok := st.ended.of[seid]
	if !ok {
		return nil
	}
	c := st.ended.cells[place]
	return slices.Clone(st.blobs.cell(c.unit, int(c.length)))
}

// Present says whether a session is known.
func (st *Store[S]) Present(seid uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	index := uint32(seid) - 1
	return int(index) < len(st.entries) && st.entries[index].generation == uint32(seid>>32)
}
