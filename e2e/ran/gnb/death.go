package gnb

// A gNB that dies: its UEs lose the radio, its N3 falls silent, and nobody is told. What the AMF sees of it is up to
// SCTP: an association that is aborted, or one that never says anything again.

import (
	"context"
	"errors"

	"core5g.dev/core5g/e2e/ran/n2"
)

// Errors of Die and Revive.
var (
	ErrDead  = errors.New("the gNB is dead")
	ErrAlive = errors.New("the gNB is not dead")
)

// aborter is a Conn that can end without SCTP's shutdown.
type aborter interface{ Abort() error }

// muter is an N3 that can fall silent.
type muter interface{ Mute(on bool) }

// Die ends the gNB without a word. With silent, the association stays open and nothing is read from it or sent on it:
// SCTP itself goes on acknowledging as long as the process (SCTP over UDP) or the kernel does. Else it is aborted.
func (g *GNB) Die(silent bool) error {
	g.mu.Lock()
	if g.dead != nil {
		g.mu.Unlock()
		return ErrDead
	}
	var conns []n2.Conn
	for conn := range g.ways {
		conns = append(conns, conn)
	}
	g.forgetWays()
	g.n2, g.dead, g.status.State = nil, make(chan struct{}), "dead"
	gone := make([]*Connection, 0, len(g.connections))
	for _, c := range g.connections {
		gone = append(gone, c)
	}
	clear(g.connections)
	g.mu.Unlock()
	if m, ok := g.n3.(muter); ok {
		m.Mute(true)
	}
	for _, ue := range g.allUEs() {
		ue.CellDown(g)
	}
	for _, c := range gone {
		c.end("the gNB is gone")
	}
	if silent {
		g.mu.Lock()
		g.corpses = conns
		g.mu.Unlock()
		return nil
	}
	var errs []error
	for _, conn := range conns {
		errs = append(errs, abort(conn))
	}
	return errors.Join(errs...)
}

// abort ends an association without shutdown where its transport can.
func abort(conn interface{ Close() error }) error {
	if a, ok := conn.(aborter); ok {
		return a.Abort()
	}
	return conn.Close()
}

// Revive starts a dead gNB anew: it remembers nothing.
func (g *GNB) Revive() error {
	g.mu.Lock()
	if g.dead == nil {
		g.mu.Unlock()
		return ErrAlive
	}
	close(g.dead)
	corpses := g.corpses
	g.dead, g.corpses, g.status.State = nil, nil, "connecting"
	g.mu.Unlock()
	for _, corpse := range corpses {
		_ = abort(corpse) // its reader returns, and the gNB begins anew
	}
	if m, ok := g.n3.(muter); ok {
		m.Mute(false)
	}
	return nil
}

// death is closed when a dead gNB is revived; nil while it lives.
func (g *GNB) death() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead
}

// live waits until the gNB is not dead.
func (g *GNB) live(ctx context.Context) {
	for d := g.death(); d != nil; d = g.death() {
		select {
		case <-d:
		case <-ctx.Done():
			return
		}
	}
}
