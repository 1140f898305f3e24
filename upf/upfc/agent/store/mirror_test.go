package store

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/rules"
)

// copied is a mirror that has all that it was told.
type copied struct {
	sessions, deletions map[uint32]Entry
	meta                []byte
	lives               map[uint8]uint64
}

func (c *copied) Reset() {
	*c = copied{sessions: map[uint32]Entry{}, deletions: map[uint32]Entry{}, lives: map[uint8]uint64{}}
}

func (c *copied) Life(life uint8, bootID uint64, _ *dataplane.Shm) { c.lives[life] = bootID }
func (c *copied) Meta(blob []byte)                                 { c.meta = append([]byte(nil), blob...) }
func (c *copied) Session(index uint32, life uint8, blob []byte)    { put(c.sessions, index, life, blob) }
func (c *copied) Deletion(place int, life uint8, blob []byte) {
	put(c.deletions, uint32(place), life, blob)
}

func put(to map[uint32]Entry, index uint32, life uint8, blob []byte) {
	if blob == nil {
		delete(to, index)
		return
	}
	to[index] = Entry{index, life, append([]byte(nil), blob...)}
}

// What a mirror was told is what the store has, and what it leaves is read as what the store would have left.
func TestMirror(t *testing.T) {
	m := &copied{}
	st := New(rand.Uint64, func() *plain { return &plain{} })
	st.SetMirror(m)
	st.Reset(1000)
	st.Begin(dataplane.NoShm(), 77)
	rng := rand.New(rand.NewPCG(1, 2))
	var live []uint32
	for range 3000 {
		switch n := rng.IntN(10); {
		case n < 5 && len(live) < 900:
			s, ok := st.Register(0)
			if !ok {
				t.Fatal("no index")
			}
			before := s.Session
			s.Node, s.Rules = "smf", rules.NewSet()
			st.Save(s, &before, make([]byte, 1+rng.IntN(3000)))
			live = append(live, s.Index)
			s.Mu.Unlock()
			st.Unlease(s)
		case n < 7 && len(live) > 0:
			i := rng.IntN(len(live))
			s := st.Lease(live[i], 0)
			s.Rules = rules.NewSet()
			st.Forget(s)
			st.Unlease(s)
			st.Free(live[i])
			live = append(live[:i], live[i+1:]...)
		case n < 9:
			if _, err := st.PutEnded(rng.Uint64(), []byte{byte(n), 1}, 1); err != nil {
				t.Fatal(err)
			}
		default:
			st.KeepMeta([]byte{byte(rng.IntN(256))})
		}
	}
	have := map[uint32]Entry{}
	next := uint32(0)
	for {
		var some []Entry
		some, next = st.Copy(nil, next, 7)
		for _, e := range some {
			have[e.Index] = e
		}
		if next == 0 {
			break
		}
	}
	if diff := cmp.Diff(have, m.sessions); diff != "" || len(have) == 0 {
		t.Fatalf("%d sessions, mirrored otherwise (-store +mirror):\n%s", len(have), diff)
	}
	ended := map[uint32]Entry{}
	for _, e := range st.CopyEnded() {
		ended[e.Index] = e
	}
	if diff := cmp.Diff(ended, m.deletions); diff != "" || len(ended) == 0 {
		t.Fatalf("%d deletions, mirrored otherwise (-store +mirror):\n%s", len(ended), diff)
	}

	path := filepath.Join(t.TempDir(), "state")
	e := &Estate{Sessions: 1000, Entries: m.sessions, Deletions: m.deletions, Meta: m.meta, Life: 1, Boots: [256]uint64{1: 77}}
	if err := e.Leave(path, time.Now()); err != nil {
		t.Fatal(err)
	}
	left, err := Open(path, time.Now(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	read := func(words []uint64) map[uint32]Entry {
		out := map[uint32]Entry{}
		for i, w := range words {
			if b := left.Blob(Word(w)); b != nil {
				out[uint32(i)] = Entry{uint32(i), Word(w).Life(), append([]byte(nil), b...)}
			}
		}
		return out
	}
	if diff := cmp.Diff(m.sessions, read(left.Table)); diff != "" {
		t.Errorf("sessions in the file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(m.deletions, read(left.Ended)); diff != "" {
		t.Errorf("deletions in the file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(m.meta, left.Meta()); diff != "" || left.Boot(1) != 77 || left.header.life != 1 {
		t.Errorf("META, boot %d or life %d in the file (-want +got):\n%s", left.Boot(1), left.header.life, diff)
	}
	if diff := cmp.Diff(map[uint8]uint64{1: 77}, maps.Clone(m.lives)); diff != "" {
		t.Errorf("lives (-want +got):\n%s", diff)
	}
}
