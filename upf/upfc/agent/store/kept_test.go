package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/rules"
)

// plain is a session with nothing but a lease.
type plain struct{ Lease }

// keptSessions is how many sessions a test's file has room for.
const keptSessions = 256

// keptStore is a store that writes to path.
func keptStore(t *testing.T, path string) *Store[*plain] {
	t.Helper()
	k, err := Create(path, keptSessions, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	st := New(machine.Real().Random, func() *plain { return &plain{} })
	st.Resize(keptSessions)
	st.Keep(k)
	if err := st.Commit(); err != nil {
		t.Fatal(err)
	}
	return st
}

// whole makes a blob that can be told to be whole, and whose it is.
func whole(index uint32, length int) []byte {
	b := make([]byte, 8+length)
	for i := range b[8:] {
		b[8+i] = byte(rand.Uint32())
	}
	binary.LittleEndian.PutUint32(b[4:], index)
	binary.LittleEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
	return b
}

func isWhole(index uint32, b []byte) bool {
	return len(b) >= 8 && binary.LittleEndian.Uint32(b) == crc32.ChecksumIEEE(b[4:]) && binary.LittleEndian.Uint32(b[4:]) == index
}

// change makes, changes and ends sessions for ever.
func change(t *testing.T, path string) {
	st := keptStore(t, path)
	live := []*plain{}
	for {
		switch n := rand.IntN(10); {
		case len(live) < 20 || n == 0 && len(live) < keptSessions-1:
			s, ok := st.Register(0)
			if !ok {
				t.Fatal("no room")
			}
			s.Rules = rules.NewSet()
			st.Save(s, &s.Session, whole(s.Index, rand.IntN(700)))
			live = append(live, s)
		case n == 1:
			i := rand.IntN(len(live))
			s := live[i]
			if _, err := st.PutEnded(s.UPSEID, whole(s.Index, rand.IntN(300)), 1); err != nil {
				t.Fatal(err)
			}
			st.Forget(s)
			st.Free(s.Index)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		case n == 2:
			st.KeepMeta(whole(0, rand.IntN(5000)))
		default:
			s := live[rand.IntN(len(live))]
			st.Save(s, &s.Session, whole(s.Index, rand.IntN(700)))
		}
	}
}

// Whenever upf-c is killed, what it leaves is whole.
func TestKeptFileOfAKilledProcess(t *testing.T) {
	if path := os.Getenv("UPFC_TEST_KEPT"); path != "" {
		change(t, path)
	}
	path := filepath.Join(t.TempDir(), "state")
	most := 0
	for range 25 {
		_ = os.Remove(path)
		writer := exec.Command(os.Args[0], "-test.run=^TestKeptFileOfAKilledProcess$")
		writer.Env = append(os.Environ(), "UPFC_TEST_KEPT="+path)
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		written := false
		for deadline := time.Now().Add(time.Minute); !written && time.Now().Before(deadline); {
			l, err := Open(path, time.Now(), 0)
			written = err == nil && l.Meta() != nil
			l.Close()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(rand.IntN(10_000)) * time.Microsecond) // at any time
		_ = writer.Process.Kill()
		_ = writer.Wait()
		if !written {
			t.Fatal("the writer does not write")
		}
		l, err := Open(path, time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		sessions := 0
		for i, w := range l.Table {
			if w == 0 {
				continue
			}
			if sessions++; !isWhole(uint32(i), l.Blob(Word(w))) {
				t.Errorf("session %d is not whole", i)
			}
		}
		for i, w := range l.Ended {
			if b := l.Blob(Word(w)); w != 0 && (len(b) < 8 || !isWhole(binary.LittleEndian.Uint32(b[4:]), b)) {
				t.Errorf("deletion %d is not whole", i)
			}
		}
		if !isWhole(0, l.Meta()) {
			t.Error("META is not whole")
		}
		most = max(most, sessions)
		l.Close()
	}
	if most < 19 {
		t.Errorf("%d sessions at most: the test does not test", most)
	}
}

// The file has what the store has, and a deletion of late makes way for the next ones.
func TestKeptFileIsTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	st := keptStore(t, path)
	s, _ := st.Register(0)
	s.Rules = rules.NewSet()
	blob := whole(s.Index, 100)
	st.Save(s, &s.Session, blob)
	for seid := range uint64(endedMax + 10) {
		place, err := st.PutEnded(seid, whole(uint32(seid), 50), 3)
		if err != nil {
			t.Fatal(err)
		}
		st.ReplaceEnded(place, seid, whole(uint32(seid), 60))
	}
	place, err := st.PutEnded(1<<40, whole(7, 10), 3)
	if err != nil {
		t.Fatal(err)
	}
	st.TakeBackEnded(place, 1<<40)
	if st.EndedOf(9) != nil || st.EndedOf(1<<40) != nil || !isWhole(11, st.EndedOf(11)) || len(st.EndedOf(11)) != 68 {
		t.Error("the deletions that are known are not the last ones")
	}
	l, err := Open(path, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if w := Word(l.Table[s.Index]); !bytes.Equal(l.Blob(w), blob) || w.Life() != 0 {
		t.Error("the session is another one")
	}
	n := 0
	for _, v := range l.Ended {
		if w := Word(v); v != 0 {
			if n++; w.Life() != 3 || len(l.Blob(w)) != 68 {
				t.Errorf("a deletion of life %d with %d octets", w.Life(), len(l.Blob(w)))
			}
		}
	}
	if n != endedMax-1 {
		t.Errorf("%d deletions, want %d", n, endedMax-1)
	}
	st.Forget(s)
	if l.Table[s.Index] != 0 {
		t.Error("a session that has ended is in the file")
	}
}

func TestKeptFilesThatAreOfNoUse(t *testing.T) {
	good := filepath.Join(t.TempDir(), "good")
	keptStore(t, good)
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(change func(h *keptHeader)) []byte {
		c := bytes.Clone(b)
		h, _, _ := keptTables(c, keptSessions)
		change(h)
		return c
	}
	for name, tt := range map[string]struct {
		octets []byte
		after  time.Duration
		want   string // of the error; empty: it is good
	}{
		"what was just written":          {b, 0, ""},
		"one that is empty":              {nil, 0, "no state"},
		"another's":                      {damaged(func(h *keptHeader) { h.magic++ }), 0, "not upf-c's"},
		"another layout":                 {damaged(func(h *keptHeader) { h.layout++ }), 0, "another version"},
		"blobs of another version":       {damaged(func(h *keptHeader) { h.version++ }), 0, "version"},
		"of another start":               {damaged(func(h *keptHeader) { h.machine[0]++ }), 0, "last start"},
		"too many sessions for its size": {damaged(func(h *keptHeader) { h.sessions = 1 << 30 }), 0, "cut short"},
		"one that was left":              {b, time.Minute, ""},
		"one that was left for too long": {b, time.Hour, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state")
			if err := os.WriteFile(path, tt.octets, 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := Open(path, time.Now().Add(tt.after), 5*time.Minute)
			if tt.want == "" && err == nil {
				l.Close()
				return
			}
			if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), time.Now(), 0); !errors.Is(err, ErrNothingLeft) {
		t.Errorf("error %v of a file that is not there", err)
	}
	// Words that name what is not in the file.
	l, err := Open(good, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, w := range []Word{0, wordOf(0, 0, 1), wordOf(1<<31, 10, 1), wordOf(0, 1<<24-1, 1)} {
		if l.Blob(w) != nil {
			t.Errorf("Word %#x names something", uint64(w))
		}
	}
}

// Room is the same, whichever way a file system has.
func TestReserve(t *testing.T) {
	for name, way := range map[string]func(*os.File, int64, int64) error{"at once": reserve, "by writing": reserveByWriting} {
		f, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, part := range [][2]int64{{0, keptAlign}, {keptAlign, slabChunk}, {keptAlign + slabChunk, 100_000}} {
			if err := way(f, part[0], part[1]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			st, err := f.Stat()
			if err != nil || st.Size() != part[0]+part[1] {
				t.Errorf("%s: the file has %d octets (%v), want %d", name, st.Size(), err, part[0]+part[1])
			}
		}
		if err := way(f, 0, -1); name == "at once" && err == nil {
			t.Error("room of less than nothing is had")
		}
	}
}

// Where the file has no room, sessions are in memory alone, and it is said.
func TestKeptFileWithoutRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	st := keptStore(t, path)
	_ = st.blobs.kept.f.Close() // nothing more can be had of it
	s, _ := st.Register(0)
	s.Rules = rules.NewSet()
	blob := whole(s.Index, 100)
	st.Save(s, &s.Session, blob)
	if st.NoRoom() == nil || st.NoRoom() != nil {
		t.Error("it is not said, or not once")
	}
	e := st.entries[s.Index]
	if !bytes.Equal(st.blobs.cell(e.blob, int(e.length)), blob) {
		t.Error("the session is lost")
	}
	if st.blobs.kept.table[s.Index] != 0 {
		t.Error("the file names a session that is not in it")
	}
}
