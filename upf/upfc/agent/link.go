package agent

// The link to upf-u. While it is away, session requests wait a bounded time; when it is back, it is
// brought to our account of the sessions (or we to its account, when we are the younger one) before
// anybody may use the connection:
//
//	we know sessions, upf-u is another one   replay META and every session; usage continues from
//	                                         the dead one's memory, which is still mapped
//	we know sessions, upf-u is the same      the same replay, after deleting what we do not know:
//	                                         a transaction may have been cut off half-way
//	we are new                               read back META and sessions with DUMP
//	we are new, upf-u is empty               nothing survived: a new Recovery Time Stamp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
)

// redial is how often an absent upf-u is looked for; its restart is noticed within this time.
const redial = 20 * time.Millisecond

// window is how many replay transactions are under way at once.
const window = 8

func (a *Agent) keepLink(ctx context.Context) {
	reported := false
	for ctx.Err() == nil {
		conn, err := dataplane.Dial(ctx, a.cfg.Dataplane.Socket, (*events)(a), a.log)
		if err == nil {
			started := time.Now()
			if err = a.fill(conn); err == nil {
				reported = false
				a.log.Info("upf-u is connected", "bootID", conn.Hello().BootId, "sessions", a.count(), "took", time.Since(started))
				a.publish(conn)
				go a.catchUp()
				select {
				case <-conn.Done():
					a.log.Warn("upf-u is gone", "err", conn.Err())
				case <-ctx.Done():
				}
				a.publish(nil)
			}
			conn.Abandon()
		}
		if err != nil && !reported && ctx.Err() == nil {
			reported = true // once, not fifty times a second
			a.log.Warn("waiting for upf-u", "socket", a.cfg.Dataplane.Socket, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(redial):
		}
	}
}

func (a *Agent) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.sessions)
}

func (a *Agent) publish(conn *dataplane.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn = conn
	close(a.changed)
	a.changed = make(chan struct{})
}

// current is the connection now; nil while there is none.
func (a *Agent) current() *dataplane.Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usableLocked()
}

func (a *Agent) usableLocked() *dataplane.Conn {
	if a.conn != nil && !a.conn.Lost() {
		return a.conn
	}
	return nil
}

// link waits for the connection, at most for the given time (negative: as long as ctx lives).
func (a *Agent) link(ctx context.Context, wait time.Duration) (*dataplane.Conn, error) {
	var expired <-chan time.Time
	if wait >= 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		expired = t.C
	}
	for {
		a.mu.Lock()
		conn, changed := a.usableLocked(), a.changed
		a.mu.Unlock()
		if conn != nil {
			return conn, nil
		}
		select {
		case <-changed:
		case <-expired:
			return nil, errors.New("upf-u is not connected")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// fill makes upf-u and us agree.
func (a *Agent) fill(conn *dataplane.Conn) error {
	h := conn.Hello()
	a.mu.Lock()
	known := !a.recovery.IsZero()
	same := a.bootID == h.BootId
	a.indexes.resize(h.SessionsMax)
	a.pairs.resize(h.QerSlots / abi.LineSlots)
	a.mu.Unlock()

	if !known {
		return a.readBack(conn)
	}
	if h.Sessions > 0 {
		if err := a.deleteUnknown(conn); err != nil {
			return err
		}
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

// readBack makes the sessions that upf-u kept ours.
func (a *Agent) readBack(conn *dataplane.Conn) error {
	type kept struct {
		index uint32
		blob  []byte
	}
	var meta []byte
	var sessions []kept
	err := conn.Dump(func(recType uint16, record []byte) error {
		index, blob, err := dataplane.Blob(record)
		if err != nil {
			return err
		}
		blob = append([]byte(nil), blob...)
		switch recType {
		case abi.RecMeta:
			meta = blob
		case abi.RecSessionState:
			sessions = append(sessions, kept{index, blob})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("DUMP: %w", err)
	}

	m := state.Meta{}
	restored := false
	if len(meta) > 0 {
		if read, err := state.DecodeMeta(meta); err != nil {
			a.log.Error("what upf-u kept cannot be read: all sessions are lost", "err", err)
		} else {
			m, restored = *read, true
		}
	}
	var drop []uint32
	if !restored {
		m = state.Meta{Recovery: time.Now().Unix()}
	} else {
		a.rec.Restart("upf-c")
	}
	a.mu.Lock()
	a.recovery = time.Unix(m.Recovery, 0)
	a.bootID = conn.Hello().BootId
	for _, as := range m.Associations {
		a.associations[as.Node] = &association{Association: as, over: make(chan struct{})}
	}
	a.adoptPFDs(m.PFDs)
	known := state.Strings{}
	for _, k := range sessions {
		s := &state.Session{}
		err := errors.New("there is no META")
		if restored {
			err = state.DecodeSession(k.blob, s, known)
		}
		if err == nil {
			err = a.adopt(k.index, s, conn.Shm())
		}
		if err != nil {
			a.log.Error("a session that upf-u kept is given up", "index", k.index, "err", err)
			drop = append(drop, k.index)
		}
	}
	a.mu.Unlock()
	if len(drop) > 0 {
		a.rec.SessionsDropped("unreadable", len(drop))
	}
	if err := a.deleteIndexes(conn, drop); err != nil {
		return err
	}
	return a.writeMeta(conn)
}

func (a *Agent) deleteUnknown(conn *dataplane.Conn) error {
	var present []uint32
	err := conn.Dump(func(recType uint16, record []byte) error {
		index, _, err := dataplane.Blob(record)
		if recType == abi.RecSessionState && err == nil {
			present = append(present, index)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("DUMP: %w", err)
	}
	var drop []uint32
	for _, index := range present {
		a.mu.Lock()
		s := a.byIndex[index]
		a.mu.Unlock()
		if s != nil {
			s.mu.Lock() // whoever was changing it has now seen the end of the old connection
			known := !s.gone
			s.mu.Unlock()
			if known {
				continue
			}
		}
		drop = append(drop, index)
	}
	return a.deleteIndexes(conn, drop)
}

func (a *Agent) deleteIndexes(conn *dataplane.Conn, indexes []uint32) error {
	for len(indexes) > 0 {
		n := min(len(indexes), 1024)
		t := dataplane.NewBatch()
		for _, i := range indexes[:n] {
			t.DeleteSession(i)
		}
		if err := conn.Transact(t); err != nil {
			return fmt.Errorf("deleting sessions: %w", err)
		}
		indexes = indexes[n:]
	}
	return nil
}

// writeMeta stores META.
func (a *Agent) writeMeta(conn *dataplane.Conn) error {
	a.mu.Lock()
	m := state.Meta{Recovery: a.recovery.Unix(), PFDs: a.pfdsToKeep()}
	for _, as := range a.associations {
		m.Associations = append(m.Associations, as.Association)
	}
	a.mu.Unlock()
	t := dataplane.NewBatch()
	t.Meta(state.EncodeMeta(&m))
	return conn.Transact(t)
}

// replay gives upf-u every session again, many in one transaction.
func (a *Agent) replay(conn *dataplane.Conn, newBoot bool) error {
	if err := a.writeMeta(conn); err != nil {
		return err
	}
	a.mu.Lock()
	all := a.list()
	a.mu.Unlock()

	type flight struct {
		sessions []*session
		wait     func() error
	}
	var flights []flight
	land := func(f flight) error {
		err := f.wait()
		var refused *dataplane.Refused
		if !errors.As(err, &refused) {
			return err
		}
		// Nothing of the transaction was applied. Find out which sessions upf-u cannot take.
		for _, s := range f.sessions {
			if err := a.replayOne(conn, s); err != nil {
				return err
			}
		}
		return nil
	}
	t, batch := dataplane.NewBatch(), []*session(nil)
	launch := func() error {
		if len(batch) == 0 {
			return nil
		}
		wait, err := conn.Start(t)
		if err != nil {
			return err
		}
		flights = append(flights, flight{batch, wait})
		t, batch = dataplane.NewBatch(), nil
		if len(flights) < window {
			return nil
		}
		f := flights[0]
		flights = flights[1:]
		return land(f)
	}
	for _, s := range all {
		s.mu.Lock()
		if s.gone {
			s.mu.Unlock()
			continue
		}
		s.attach(conn.Shm(), newBoot)
		put, err := s.encode(a)
		arms := s.arms()
		s.mu.Unlock()
		if err != nil {
			a.giveUp(s, err)
			continue
		}
		if t.Size()+put.size()+64*len(arms) > abi.MsgMax-1024 {
			if err := launch(); err != nil {
				return err
			}
		}
		put.add(t)
		for _, arm := range arms {
			t.Arm(arm)
		}
		batch = append(batch, s)
	}
	if err := launch(); err != nil {
		return err
	}
	for _, f := range flights {
		if err := land(f); err != nil {
			return err
		}
	}
	return nil
}

func (a *Agent) replayOne(conn *dataplane.Conn, s *session) error {
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return nil
	}
	t := dataplane.NewBatch()
	put, err := s.encode(a)
	if err == nil {
		put.add(t)
		for _, arm := range s.arms() {
			t.Arm(arm)
		}
	}
	s.mu.Unlock()
	if err == nil {
		err = conn.Transact(t)
	}
	var refused *dataplane.Refused
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	if err != nil {
		a.giveUp(s, err)
	}
	return nil
}

// giveUp forgets a session that upf-u cannot hold any more.
func (a *Agent) giveUp(s *session, why error) {
	a.log.Error("session lost in a replay", "seid", hex(s.UPSEID), "err", why)
	a.rec.SessionsDropped("replay", 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	a.forget(s)
	a.freeSlots(s)
}
