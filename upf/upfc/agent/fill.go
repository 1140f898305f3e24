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
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
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
