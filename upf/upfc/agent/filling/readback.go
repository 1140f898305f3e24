package filling

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
)

// openLeft opens the file that an earlier upf-c left; nil when there is none that is of use.
func (f *Filler) openLeft() (*store.Left, *state.Meta) {
	if f.o.Config.State.File == "" {
		return nil, nil
	}
	old, err := store.Open(f.o.Config.State.File, f.o.Machine.Now(), f.o.Config.Heartbeat.ReleaseAfter)
	var meta *state.Meta
	if err == nil {
		if meta, err = state.DecodeMeta(old.Meta()); err != nil {
			old.Close()
		}
	}
	if err != nil {
		if !errors.Is(err, store.ErrNothingLeft) {
			f.o.Log.Warn("what an earlier upf-c left is of no use", "file", f.o.Config.State.File, "err", err)
		}
		return nil, nil
	}
	return old, meta
}

// restore takes over what an earlier upf-c left, and fills a upf-u that lacks it.
func (f *Filler) restore(conn *dataplane.Conn, old *store.Left, meta *state.Meta) error {
	memory := f.memories(conn, old)
	f.store.GoOn(old, memory)
	var dropped atomic.Int64
	var next atomic.Int64
	f.divide(f.o.Machine.Threads(), func() {
		var s state.Session // its maps are used again and again
		for {
			first := int(next.Add(replayPiece)) - replayPiece
			if first >= len(old.Table) {
				return
			}
			for i, v := range old.Table[first:min(first+replayPiece, len(old.Table))] {
				w := store.Word(v)
				blob := old.Blob(w)
				if blob == nil {
					continue
				}
				if err := f.o.Sessions.Adopt(memory(w.Life()), uint32(first+i), blob, &s, w.Life()); err != nil {
					f.o.Log.Error("a session that an earlier upf-c left is given up", "index", first+i, "err", err)
					dropped.Add(1)
				}
			}
		}
	})
	if n := int(dropped.Load()); n > 0 {
		f.o.Recorder.SessionsDropped("unreadable", n)
	}
	f.o.Sessions.AdoptMeta(meta)
	f.o.Sessions.AdoptEnded(old, memory)
	f.commitKept()
	f.o.Recorder.Restart("upf-c")
	f.o.Recorder.Restart("upf-u")
	f.o.Log.Info("upf-u and upf-c both began anew, from what upf-c had left", "file", f.o.Config.State.File, "sessions", f.store.Sessions())
	if err := f.deleteStrangers(conn); err != nil {
		return err
	}
	if err := f.replay(conn, true); err != nil {
		return err
	}
	f.mu.Lock()
	f.bootID = conn.Hello().BootId
	f.mu.Unlock()
	return nil
}

// memories finds the counters of the upf-us that an earlier upf-c knew, by life.
func (f *Filler) memories(conn *dataplane.Conn, old *store.Left) func(life uint8) *dataplane.Shm {
	var mu sync.Mutex
	found := map[uint64]*dataplane.Shm{conn.Hello().BootId: conn.Shm()}
	return func(life uint8) *dataplane.Shm {
		mu.Lock()
		defer mu.Unlock()
		boot := old.Boot(life)
		if shm := found[boot]; shm != nil {
			return shm
		}
		shm, err := dataplane.OpenSaved(store.CountersPath(f.o.Config.State.File, boot), boot)
		if err != nil {
			f.o.Log.Warn("the last counters of the upf-u that is gone are lost: what was not reported is not", "err", err)
			shm = dataplane.NoShm()
		}
		found[boot] = shm
		return shm
	}
}

// commitKept gives our file its name: it has all that the one before it has.
func (f *Filler) commitKept() {
	f.o.Sessions.KeepMeta()
	if err := f.store.Commit(); err != nil {
		f.o.Log.Warn("what upf-c knows is in no file: sessions end when upf-u and upf-c both die", "file", f.o.Config.State.File, "err", err)
	}
}

// readBack makes the sessions that upf-u kept ours. old and left are what an earlier upf-c left, for a upf-u
// that has none.
func (f *Filler) readBack(conn *dataplane.Conn, old *store.Left, left *state.Meta) error {
	f.store.Begin(conn.Shm(), conn.Hello().BootId)
	var meta *state.Meta
	var mu sync.Mutex
	var drop []uint32
	take := func(s *state.Session, recType uint16, record []byte) error {
		index, blob, err := dataplane.Blob(record)
		if err != nil || recType != abi.RecSessionState {
			return err
		}
		if meta == nil && old != nil {
			return nil // it was being filled
		}
		err = errors.New("there is no META")
		if meta != nil {
			err = f.o.Sessions.Adopt(conn.Shm(), index, blob, s, 1)
		}
		if err != nil {
			f.o.Log.Error("a session that upf-u kept is given up", "index", index, "err", err)
			mu.Lock()
			drop = append(drop, index)
			mu.Unlock()
		}
		return nil
	}

	// Decoding takes longer than reading, so every CPU does it.
	bodies := make(chan []byte, 16)
	var failed error
	decode := func(s *state.Session, body []byte) {
		if err := dataplane.EachRecord(body, func(recType uint16, record []byte) error { return take(s, recType, record) }); err != nil {
			mu.Lock()
			failed = err
			mu.Unlock()
		}
	}
	threads := f.o.Machine.Threads()
	if threads == 1 {
		threads = 0 // who reads, decodes
	}
	var workers sync.WaitGroup
	var alone state.Session
	first := true
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercentFilling))
	err := conn.Dump(func(body []byte) error {
		if first { // META comes before the sessions
			first = false
			if err := dataplane.EachRecord(body, func(recType uint16, record []byte) error {
				if recType == abi.RecMeta {
					meta = f.readMeta(record)
				}
				return nil
			}); err != nil {
				return err
			}
			for range threads {
				workers.Go(func() {
					var s state.Session // its maps are used again and again
					for body := range bodies {
						decode(&s, body)
					}
				})
			}
		}
		if threads > 0 {
			bodies <- bytes.Clone(body)
		} else {
			decode(&alone, body)
		}
		return nil
	})
	close(bodies)
	workers.Wait()
	if err = cmp.Or(err, failed); err != nil {
		return fmt.Errorf("DUMP: %w", err)
	}

	switch {
	case meta != nil:
		f.o.Recorder.Restart("upf-c")
	case old != nil:
		return f.restore(conn, old, left)
	default:
		meta = &state.Meta{Recovery: f.o.Machine.Now().Unix()}
	}
	f.o.Sessions.AdoptMeta(meta)
	if old != nil {
		f.o.Sessions.AdoptEnded(old, f.memories(conn, old))
	}
	f.commitKept()
	store.DropCounters(f.o.Config.State.File)
	f.mu.Lock()
	f.bootID = conn.Hello().BootId
	f.mu.Unlock()
	if len(drop) > 0 {
		f.o.Recorder.SessionsDropped("unreadable", len(drop))
	}
	if err := f.o.Sessions.DeleteIndexes(conn, drop); err != nil {
		return err
	}
	// upf-u has them, unless the upf-c before was changing them.
	if err := f.o.Sessions.TellDomains(conn); err != nil {
		return err
	}
	return f.o.Sessions.WriteMeta(conn)
}

// readMeta is nil when META cannot be read.
func (f *Filler) readMeta(record []byte) *state.Meta {
	_, blob, err := dataplane.Blob(record)
	if err != nil || len(blob) == 0 {
		return nil
	}
	m, err := state.DecodeMeta(blob)
	if err != nil {
		f.o.Log.Error("what upf-u kept cannot be read: all sessions are lost", "err", err)
		return nil
	}
	return m
}
