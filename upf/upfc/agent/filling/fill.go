package filling

// When upf-u is back, it is brought to our account of the sessions (or we to its account, when we are the younger one)
// before anybody may use the connection (package link):
//
//	we know sessions, upf-u is another one   replay META and every session; usage continues from
//	                                         a copy of the dead one's memory
//	we know sessions, upf-u is the same      the same replay, after deleting what we do not know:
//	                                         a transaction may have been cut off half-way
//	we are new                               read back META and sessions with DUMP
//	we are new, upf-u has no META            it is new too, or was being filled when our predecessor died: take
//	                                         what that one left in its file (store/kept.go), then as above
//	we are new, and there is no such file    nothing survived: a new Recovery Time Stamp

import (
	"errors"
	"fmt"
	"sync"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
)

// gcPercentFilling is GOGC while sessions are read back or replayed: they leave garbage fast, and time
// counts more than some memory then.
const gcPercentFilling = 400

// TakeUp is for a upf-u that there is: nobody uses it before it is filled.
func (f *Filler) TakeUp(conn *dataplane.Conn) error {
	hello := conn.Hello()
	f.otherNetworks = f.o.Sessions.Note(&hello)
	if f.filledAhead(conn) != nil {
		f.o.Link.GrantAhead(conn)
	}
	started := f.o.Machine.Now()
	if err := f.fill(conn); err != nil {
		return err
	}
	f.o.Log.Info("upf-u is connected", "bootID", conn.Hello().BootId, "sessions", f.store.Sessions(), "took", f.o.Machine.Now().Sub(started))
	return nil
}

// LetGo is for a upf-u that is of no use any more.
func (f *Filler) LetGo(conn *dataplane.Conn) {
	f.saveCounters(conn)
	f.o.Machine.Go(func() { f.detach(conn.Shm()) }) // the next upf-u is not that fast
}

func (f *Filler) detach(shm *dataplane.Shm) {
	if err := shm.Detach(); err != nil {
		f.o.Log.Warn("the memory of the upf-u that is gone stays in use; where it is on hugepages, the next one may lack them", "err", err)
	}
}

// saveCounters leaves the last counters of a upf-u that is gone to a successor of ours.
func (f *Filler) saveCounters(conn *dataplane.Conn) {
	if f.o.Config.State.File == "" {
		return
	}
	if err := conn.Shm().Save(store.CountersPath(f.o.Config.State.File, conn.Hello().BootId)); err != nil {
		f.o.Log.Warn("the last counters of the upf-u that is gone are not saved: when upf-c dies, too, usage that was not reported is lost", "err", err)
	}
}

// fill makes upf-u and us agree.
func (f *Filler) fill(conn *dataplane.Conn) error {
	h := conn.Hello()
	f.mu.Lock()
	known := !f.o.Node.Recovery().IsZero()
	same := f.bootID == h.BootId
	if known {
		f.o.Sessions.Resize(&h)
	}
	f.mu.Unlock()

	if !known {
		return f.begin(conn)
	}
	if err := f.deleteStrangers(conn); err != nil {
		return err
	}
	if !same {
		f.o.Recorder.Restart("upf-u")
	}
	if err := f.replay(conn, !same); err != nil {
		return err
	}
	f.mu.Lock()
	f.bootID = h.BootId
	f.mu.Unlock()
	return nil
}

// begin is the first meeting with a upf-u.
func (f *Filler) begin(conn *dataplane.Conn) error {
	if t := f.takeover; t != nil && t.Leave != nil {
		if err := t.Leave(); err != nil {
			return fmt.Errorf("what is held of the unit: %w", err)
		}
		t.Leave = nil
	}
	f.startAnew(conn.Hello())
	old, meta := f.openLeft()
	defer old.Close()
	if f.takeover != nil {
		if old == nil {
			return errors.New("the unit was taken over, and what was held of it cannot be read")
		}
		return f.restore(conn, old, meta)
	}
	return f.readBack(conn, old, meta)
}

// startAnew forgets what a first meeting that was cut short has brought.
func (f *Filler) startAnew(h abi.Hello) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.o.Sessions.Reset(&h)
	if f.o.Config.State.File == "" {
		return
	}
	k, err := store.Create(f.o.Config.State.File, h.SessionsMax, f.o.Machine.Now())
	if err != nil {
		f.o.Log.Warn("what upf-c knows is in no file: sessions end when upf-u and upf-c both die", "file", f.o.Config.State.File, "err", err)
		return
	}
	f.store.Keep(k)
}

// divide has n threads do a piece of work, and waits for them.
func (f *Filler) divide(n int, work func()) {
	if f.o.Machine.Threads() == 1 {
		work()
		return
	}
	var workers sync.WaitGroup
	for range n {
		workers.Go(work)
	}
	workers.Wait()
}
