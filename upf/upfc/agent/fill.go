package agent

// When upf-u is back, it is brought to our account of the sessions (or we to its account, when we are the younger one)
// before anybody may use the connection (package link):
//
//	we know sessions, upf-u is another one   replay META and every session; usage continues from
//	                                         a copy of the dead one's memory
//	we know sessions, upf-u is the same      the same replay, after deleting what we do not know:
//	                                         a transaction may have been cut off half-way
//	we are new                               read back META and sessions with DUMP
//	we are new, upf-u has no META            it is new too, or was being filled when our predecessor died: take
//	                                         what that one left in its file (kept.go), then as above
//	we are new, and there is no such file    nothing survived: a new Recovery Time Stamp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
)

// gcPercentFilling is GOGC while sessions are read back or replayed: they leave garbage fast, and time
// counts more than some memory then.
const gcPercentFilling = 400

// takeUp is for a upf-u that there is: nobody uses it before it is filled.
func (a *Agent) takeUp(conn *dataplane.Conn) error {
	hello := conn.Hello()
	a.otherNetworks = a.sessions.Note(&hello)
	if a.filledAhead(conn) != nil {
		a.link.GrantAhead(conn)
	}
	started := a.world.Now()
	if err := a.fill(conn); err != nil {
		return err
	}
	a.log.Info("upf-u is connected", "bootID", conn.Hello().BootId, "sessions", a.store.Sessions(), "took", a.world.Now().Sub(started))
	return nil
}

// letGo is for a upf-u that is of no use any more.
func (a *Agent) letGo(conn *dataplane.Conn) {
	a.saveCounters(conn)
	a.world.Go(func() { a.detach(conn.Shm()) }) // the next upf-u is not that fast
}

func (a *Agent) detach(shm *dataplane.Shm) {
	if err := shm.Detach(); err != nil {
		a.log.Warn("the memory of the upf-u that is gone stays in use; where it is on hugepages, the next one may lack them", "err", err)
	}
}

// saveCounters leaves the last counters of a upf-u that is gone to a successor of ours.
func (a *Agent) saveCounters(conn *dataplane.Conn) {
	if a.cfg.State.File == "" {
		return
	}
	if err := conn.Shm().Save(store.CountersPath(a.cfg.State.File, conn.Hello().BootId)); err != nil {
		a.log.Warn("the last counters of the upf-u that is gone are not saved: when upf-c dies, too, usage that was not reported is lost", "err", err)
	}
}

// fill makes upf-u and us agree.
func (a *Agent) fill(conn *dataplane.Conn) error {
	h := conn.Hello()
	a.mu.Lock()
	known := !a.node.Recovery().IsZero()
	same := a.bootID == h.BootId
	if known {
		a.sessions.Resize(&h)
	}
	a.mu.Unlock()

	if !known {
		return a.begin(conn)
	}
	if err := a.deleteStrangers(conn); err != nil {
		return err
	}
	if !same {
		a.rec.Restart("upf-u")
	}
	if err := a.replay(conn, !same); err != nil {
		return err
	}
	a.mu.Lock()
	a.bootID = h.BootId
	a.mu.Unlock()
	return nil
}

// begin is the first meeting with a upf-u.
func (a *Agent) begin(conn *dataplane.Conn) error {
	if t := a.takeover; t != nil && t.Leave != nil {
		if err := t.Leave(); err != nil {
			return fmt.Errorf("what is held of the unit: %w", err)
		}
		t.Leave = nil
	}
	a.startAnew(conn.Hello())
	old, meta := a.openLeft()
	defer old.Close()
	if a.takeover != nil {
		if old == nil {
			return errors.New("the unit was taken over, and what was held of it cannot be read")
		}
		return a.restore(conn, old, meta)
	}
	return a.readBack(conn, old, meta)
}

// startAnew forgets what a first meeting that was cut short has brought.
func (a *Agent) startAnew(h abi.Hello) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions.Reset(&h)
	if a.cfg.State.File == "" {
		return
	}
	k, err := store.Create(a.cfg.State.File, h.SessionsMax, a.world.Now())
	if err != nil {
		a.log.Warn("what upf-c knows is in no file: sessions end when upf-u and upf-c both die", "file", a.cfg.State.File, "err", err)
		return
	}
	a.store.Keep(k)
}

// openLeft opens the file that an earlier upf-c left; nil when there is none that is of use.
func (a *Agent) openLeft() (*store.Left, *state.Meta) {
	if a.cfg.State.File == "" {
		return nil, nil
	}
	old, err := store.Open(a.cfg.State.File, a.world.Now(), a.cfg.Heartbeat.ReleaseAfter)
	var meta *state.Meta
	if err == nil {
		if meta, err = state.DecodeMeta(old.Meta()); err != nil {
			old.Close()
		}
	}
	if err != nil {
		if !errors.Is(err, store.ErrNothingLeft) {
			a.log.Warn("what an earlier upf-c left is of no use", "file", a.cfg.State.File, "err", err)
		}
		return nil, nil
	}
	return old, meta
}

// restore takes over what an earlier upf-c left, and fills a upf-u that lacks it.
func (a *Agent) restore(conn *dataplane.Conn, old *store.Left, meta *state.Meta) error {
	memory := a.memories(conn, old)
	a.store.GoOn(old, memory)
	var dropped atomic.Int64
	var next atomic.Int64
	a.divide(a.world.Threads(), func() {
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
				if err := a.sessions.Adopt(memory(w.Life()), uint32(first+i), blob, &s, w.Life()); err != nil {
					a.log.Error("a session that an earlier upf-c left is given up", "index", first+i, "err", err)
					dropped.Add(1)
				}
			}
		}
	})
	if n := int(dropped.Load()); n > 0 {
		a.rec.SessionsDropped("unreadable", n)
	}
	a.sessions.AdoptMeta(meta)
	a.sessions.AdoptEnded(old, memory)
	a.commitKept()
	a.rec.Restart("upf-c")
	a.rec.Restart("upf-u")
	a.log.Info("upf-u and upf-c both began anew, from what upf-c had left", "file", a.cfg.State.File, "sessions", a.store.Sessions())
	if err := a.deleteStrangers(conn); err != nil {
		return err
	}
	if err := a.replay(conn, true); err != nil {
		return err
	}
	a.mu.Lock()
	a.bootID = conn.Hello().BootId
	a.mu.Unlock()
	return nil
}

// divide has n threads do a piece of work, and waits for them.
func (a *Agent) divide(n int, work func()) {
	if a.world.Threads() == 1 {
		work()
		return
	}
	var workers sync.WaitGroup
	for range n {
		workers.Go(work)
	}
	workers.Wait()
}

// memories finds the counters of the upf-us that an earlier upf-c knew, by life.
func (a *Agent) memories(conn *dataplane.Conn, old *store.Left) func(life uint8) *dataplane.Shm {
	var mu sync.Mutex
	found := map[uint64]*dataplane.Shm{conn.Hello().BootId: conn.Shm()}
	return func(life uint8) *dataplane.Shm {
		mu.Lock()
		defer mu.Unlock()
		boot := old.Boot(life)
		if shm := found[boot]; shm != nil {
			return shm
		}
		shm, err := dataplane.OpenSaved(store.CountersPath(a.cfg.State.File, boot), boot)
		if err != nil {
			a.log.Warn("the last counters of the upf-u that is gone are lost: what was not reported is not", "err", err)
			shm = dataplane.NoShm()
		}
		found[boot] = shm
		return shm
	}
}

// commitKept gives our file its name: it has all that the one before it has.
func (a *Agent) commitKept() {
	a.sessions.KeepMeta()
	if err := a.store.Commit(); err != nil {
		a.log.Warn("what upf-c knows is in no file: sessions end when upf-u and upf-c both die", "file", a.cfg.State.File, "err", err)
	}
}

// keepAlive says in the file that upf-c lives, complains when something has found no room there, and lets upf-u answer what it has no
// session for once nobody restores any.
func (a *Agent) keepAlive(ctx context.Context) {
	for a.world.Wait(time.Second, ctx.Done()) {
		a.store.Stamp(a.world.Now())
		if a.sessions.IsSilent() && !a.node.Silent() {
			a.sessions.PersistMeta()
		}
		if err := a.store.NoRoom(); err != nil {
			a.log.Warn("some sessions end when upf-u and upf-c both die: there is no room in the file", "file", a.cfg.State.File, "err", err)
		}
	}
}

// readBack makes the sessions that upf-u kept ours. old and left are what an earlier upf-c left, for a upf-u
// that has none.
func (a *Agent) readBack(conn *dataplane.Conn, old *store.Left, left *state.Meta) error {
	a.store.Begin(conn.Shm(), conn.Hello().BootId)
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
			err = a.sessions.Adopt(conn.Shm(), index, blob, s, 1)
		}
		if err != nil {
			a.log.Error("a session that upf-u kept is given up", "index", index, "err", err)
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
	threads := a.world.Threads()
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
					meta = a.readMeta(record)
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
		a.rec.Restart("upf-c")
	case old != nil:
		return a.restore(conn, old, left)
	default:
		meta = &state.Meta{Recovery: a.world.Now().Unix()}
	}
	a.sessions.AdoptMeta(meta)
	if old != nil {
		a.sessions.AdoptEnded(old, a.memories(conn, old))
	}
	a.commitKept()
	store.DropCounters(a.cfg.State.File)
	a.mu.Lock()
	a.bootID = conn.Hello().BootId
	a.mu.Unlock()
	if len(drop) > 0 {
		a.rec.SessionsDropped("unreadable", len(drop))
	}
	if err := a.sessions.DeleteIndexes(conn, drop); err != nil {
		return err
	}
	// upf-u has them, unless the upf-c before was changing them.
	if err := a.sessions.TellDomains(conn); err != nil {
		return err
	}
	return a.sessions.WriteMeta(conn)
}

// readMeta is nil when META cannot be read.
func (a *Agent) readMeta(record []byte) *state.Meta {
	_, blob, err := dataplane.Blob(record)
	if err != nil || len(blob) == 0 {
		return nil
	}
	m, err := state.DecodeMeta(blob)
	if err != nil {
		a.log.Error("what upf-u kept cannot be read: all sessions are lost", "err", err)
		return nil
	}
	return m
}

// deleteStrangers removes what upf-u has and we have not, which of one that was filled ahead is known.
func (a *Agent) deleteStrangers(conn *dataplane.Conn) error {
	if conn.Hello().Sessions == 0 {
		return nil
	}
	ahead := a.filledAhead(conn)
	if ahead == nil {
		return a.deleteUnknown(conn)
	}
	var drop []uint32
	for index := range ahead.filled {
		if s := a.store.Lease(index, 0); s != nil {
			s.Drop()
		} else {
			drop = append(drop, index)
		}
	}
	for _, index := range drop {
		delete(ahead.filled, index)
	}
	return a.sessions.DeleteIndexes(conn, drop)
}

// filledAhead is what upf-u has of before it was ours; nil: nothing that counts.
func (a *Agent) filledAhead(conn *dataplane.Conn) *Ahead {
	if a.takeover == nil || !a.takeover.Ahead.of(conn.Hello().BootId) {
		return nil
	}
	return a.takeover.Ahead
}

// deleteUnknown removes what upf-u has and we have not.
func (a *Agent) deleteUnknown(conn *dataplane.Conn) error {
	var present []uint32
	err := conn.Dump(func(body []byte) error {
		return dataplane.EachRecord(body, func(recType uint16, record []byte) error {
			index, _, err := dataplane.Blob(record)
			if recType == abi.RecSessionState && err == nil {
				present = append(present, index)
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("DUMP: %w", err)
	}
	var drop []uint32
	for _, index := range present {
		// Whoever was changing it has seen the end of the old connection when it is locked.
		if s := a.leases.Lock(index); s != nil {
			s.Unlock()
		} else {
			drop = append(drop, index)
		}
	}
	return a.sessions.DeleteIndexes(conn, drop)
}

// replay gives upf-u every session again, many in one transaction. While one is under way the next
// ones are built.
func (a *Agent) replay(conn *dataplane.Conn, newBoot bool) error {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercentFilling))
	a.store.Begin(conn.Shm(), conn.Hello().BootId)
	if err := a.sessions.TellDomains(conn); err != nil {
		return err
	}
	ahead := a.filledAhead(conn)
	all, over := iter.Pull(a.store.All(""))
	defer over()
	var mu sync.Mutex
	var failed error
	piece := func() (list []uint32) { // nil when there is no more, or no use
		mu.Lock()
		defer mu.Unlock()
		for failed == nil && len(list) < replayPiece {
			index, ok := all()
			if !ok {
				break
			}
			if list == nil {
				list = make([]uint32, 0, replayPiece)
			}
			list = append(list, index)
		}
		return list
	}
	a.divide(1+a.world.Threads(), func() {
		for list := piece(); list != nil; list = piece() {
			if err := a.replaySome(conn, list, newBoot, ahead); err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		}
	})
	if failed != nil {
		return failed
	}
	a.store.Settle()
	store.DropCounters(a.cfg.State.File)
	// Last: it tells upf-u that what it does not know now does not exist.
	if err := a.sessions.WriteMeta(conn); err != nil {
		return err
	}
	if a.takeover != nil {
		a.takeover.Ahead = nil
	}
	return nil
}

// replayPiece is how many sessions one worker takes at a time.
const replayPiece = 512

// replaySome gives upf-u some sessions: whole, or of those that it has from ahead what is missing.
func (a *Agent) replaySome(conn *dataplane.Conn, list []uint32, newBoot bool, ahead *Ahead) error {
	t, batch := dataplane.NewBatch(), make([]uint32, 0, len(list))
	var stations []abi.EvMac
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := conn.Transact(t)
		var refused *dataplane.Refused
		if errors.As(err, &refused) {
			// Nothing of the transaction was applied. Find out which sessions upf-u cannot take.
			for _, index := range batch {
				if err := a.replayOne(conn, index); err != nil {
					return err
				}
			}
			err = nil
		}
		if err == nil {
			err = tellStations(conn, stations)
		}
		t, batch, stations = dataplane.NewBatch(), batch[:0], stations[:0]
		return err
	}
	var used state.Session
	for _, index := range list {
		s := a.store.LeaseOver(index, &used).Locked()
		if s == nil {
			continue
		}
		if a.otherNetworks {
			a.sessions.KeepUEs(index, s.Rules)
		}
		attach(s, conn.Shm(), newBoot, ahead)
		renewed := a.sessions.RenewBlock(s)
		put, err := rest(s, a.sessions, ahead)
		if renewed {
			put, err = a.sessions.Encode(s)
		}
		if err != nil {
			s.Unlock()
			a.sessions.GiveUp(index, err)
			continue
		}
		s.Become(&s.Session, put.Blob)
		arms := arms(s)
		var has []abi.EvMac
		if newBoot {
			has = stationEvents(index, s.Stations)
			if len(s.Flows) > 0 {
				a.reports.FlowsGone(index)
			}
		}
		s.Unlock()
		a.store.Leftover(s, &used)
		if t.Size()+put.Size()+armSize*len(arms) > batchMax {
			if err := flush(); err != nil {
				return err
			}
		}
		put.Add(t)
		for _, arm := range arms {
			t.Arm(arm)
		}
		batch, stations = append(batch, index), append(stations, has...)
	}
	return flush()
}

// batchMax bounds what sessions and armings take of a transaction: there is room for the records that accompany them.
const batchMax = abi.MsgMax - 1024

const armSize = int(unsafe.Sizeof(abi.UrrArm{}))

func (a *Agent) replayOne(conn *dataplane.Conn, index uint32) error {
	s := a.leases.Lock(index)
	if s == nil {
		return nil
	}
	t := dataplane.NewBatch()
	put, err := a.sessions.Encode(s)
	if err == nil {
		put.Add(t)
		for _, arm := range arms(s) {
			t.Arm(arm)
		}
	}
	s.Unlock()
	if err == nil {
		err = conn.Transact(t)
	}
	var refused *dataplane.Refused
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	if err != nil {
		a.sessions.GiveUp(index, err)
	}
	return nil
}
