package store

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/upfc/dataplane"
)

// Mirror is told of all that is stored, in its order, under the store's lock: it does not block, and keeps nothing of what it
// is given.
type Mirror interface {
	Reset()
	// Life: from now on this number means that upf-u's memory.
	Life(life uint8, bootID uint64, shm *dataplane.Shm)
	// Session and Deletion: what is stored under an index or place now; no blob: nothing any more.
	Session(index uint32, life uint8, blob []byte)
	Deletion(place int, life uint8, blob []byte)
	Meta(blob []byte)
}

// SetMirror has a mirror told of what is stored from now on. The store is empty.
func (st *Store[S]) SetMirror(m Mirror) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.mirror = m
}

func (st *Store[S]) mirrorSession(index uint32, life uint8, blob []byte) {
	if st.mirror != nil {
		st.mirror.Session(index, life, blob)
	}
}

func (st *Store[S]) mirrorDeletion(place int, life uint8, blob []byte) {
	if st.mirror != nil {
		st.mirror.Deletion(place, life, blob)
	}
}

// Entry is what is stored under an index or place.
type Entry struct {
	Index uint32
	Life  uint8
	Blob  []byte
}

// Copy appends what is stored under so many indexes from first on; next is where to go on, 0: that was the last one.
func (st *Store[S]) Copy(to []Entry, first uint32, count int) (entries []Entry, next uint32) {
	st.mu.Lock()
	defer st.mu.Unlock()
	end := min(uint64(first)+uint64(count), uint64(len(st.entries)))
	for i := uint64(first); i < end; i++ {
		if e := &st.entries[i]; e.generation != 0 && e.length != 0 {
			to = append(to, Entry{uint32(i), e.life, slices.Clone(st.blobs.cell(e.blob, int(e.length)))})
		}
	}
	if end < uint64(len(st.entries)) {
		next = uint32(end)
	}
	return to, next
}

// CopyEnded are the deletions of late.
func (st *Store[S]) CopyEnded() (entries []Entry) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for place := range st.ended.cells {
		if c := &st.ended.cells[place]; c.length != 0 {
			entries = append(entries, Entry{uint32(place), c.life, slices.Clone(st.blobs.cell(c.unit, int(c.length)))})
		}
	}
	return entries
}

// Estate is what a upf-c leaves that has died.
type Estate struct {
	Sessions  uint32 // how many there may be
	Entries   map[uint32]Entry
	Deletions map[uint32]Entry
	Meta      []byte
	Life      uint8 // the last one
	Boots     [256]uint64
}

// Leave writes the file that a upf-c would have left, which had these.
func (e *Estate) Leave(path string, now time.Time) (err error) {
	k, err := Create(path, e.Sessions, now)
	if err != nil {
		return err
	}
	blobs := slab{kept: k}
	defer func() {
		for _, c := range blobs.chunks {
			_ = unix.Munmap(c)
		}
		k.close()
	}()
	put := func(blob []byte) (uint32, uint32) {
		unit, failed := blobs.put(blob)
		if err == nil {
			err = failed
		}
		return unit, uint32(len(blob))
	}
	for index, s := range e.Entries {
		unit, length := put(s.Blob)
		k.session(index, unit, length, s.Life)
	}
	for place, d := range e.Deletions {
		if place < endedMax {
			unit, length := put(d.Blob)
			k.deletion(int(place), unit, length, d.Life)
		}
	}
	k.meta(put(e.Meta))
	for life, boot := range e.Boots {
		k.begin(uint8(life), boot)
	}
	k.begin(e.Life, e.Boots[e.Life])
	if err == nil && len(k.outside) > 0 {
		err = fmt.Errorf("there is no room for %d sessions: %w", len(e.Entries), k.full)
	}
	if err != nil {
		return err
	}
	return k.commit()
}
