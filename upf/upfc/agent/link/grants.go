package link

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"core5g.dev/core5g/upf/upfc/dataplane"
)

// A redundant unit's upf-u answers and forwards as far as it is granted (package fencing).

// BeRedundant has upf-u granted what it may do. It is called before Keep.
func (l *Link) BeRedundant() {
	l.grants = &grants{changed: make(chan struct{}, 1), serves: make(chan struct{})}
}

// IsRedundant says whether upf-u is granted what it may do.
func (l *Link) IsRedundant() bool { return l.grants != nil }

// grants are what upf-u is to be granted.
type grants struct {
	changed chan struct{}

	mu    sync.Mutex
	given bool // there is one
	epoch uint64
	until time.Duration
	// forwards: it answers no more, and is granted nothing else any more.
	forwards bool
	serves   chan struct{} // closed when upf-u was granted an epoch first
	once     sync.Once
	line     syscall.RawConn // that upf-u is to hold

	hand sync.Mutex      // held while upf-u is told
	has  *dataplane.Conn // that holds the line
}

// Grant has upf-u answer and forward in an epoch until a time of CLOCK_BOOTTIME (dataplane.GrantAlways: without an end; 0: it is silent). It
// does not wait; a upf-u that comes later is granted what was granted last.
func (l *Link) Grant(epoch uint64, until time.Duration) {
	g := l.grants
	if g == nil {
		return // upf-u is silent as long as nobody says otherwise
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forwards {
		return
	}
	g.given, g.epoch, g.until = true, epoch, until
	g.wake()
}

// Forward has upf-u do no more than forward, until a time of CLOCK_BOOTTIME (0: it is silent), and returns when it does no more. It is granted
// nothing else in this life.
func (l *Link) Forward(epoch uint64, until time.Duration) error {
	g := l.grants
	conn := l.grantable()
	g.mu.Lock()
	g.forwards, g.given, g.epoch, g.until = true, true, epoch, until
	g.mu.Unlock()
	if conn == nil {
		return errors.New("upf-u is not connected")
	}
	return g.give(conn)
}

// Serves is closed when upf-u has been granted an epoch.
func (l *Link) Serves() <-chan struct{} { return l.grants.serves }

func (g *grants) wake() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// HoldLine returns when upf-u holds a connection. Those that come later hold it before they are granted anything.
func (l *Link) HoldLine(line syscall.RawConn) error {
	g := l.grants
	conn := l.grantable()
	if conn == nil {
		return errors.New("upf-u is not connected")
	}
	g.hand.Lock()
	defer g.hand.Unlock()
	g.mu.Lock()
	g.line = line
	g.mu.Unlock()
	g.has = nil
	if err := conn.Line(line); err != nil {
		return err
	}
	g.has = conn
	return nil
}

// GrantAhead has a upf-u that was filled ahead granted what there is to grant, before anything else.
func (l *Link) GrantAhead(conn *dataplane.Conn) {
	l.mu.Lock()
	l.ahead = conn
	l.mu.Unlock()
	l.grants.wake()
}

// grantable is the upf-u that may be granted something now; nil when there is none.
func (l *Link) grantable() *dataplane.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ahead != nil && !l.ahead.Lost() {
		return l.ahead
	}
	return l.usableLocked()
}

// KeepGrants tells upf-u what it is granted, until ctx ends.
func (l *Link) KeepGrants(ctx context.Context) {
	refused := false
	for ctx.Err() == nil {
		if conn := l.grantable(); conn != nil {
			err := l.grants.give(conn)
			var no *dataplane.Refused
			if errors.As(err, &no) && !refused {
				l.o.Log.Error("upf-u takes no grant: upf-u.yaml of a redundant unit has redundancy: true", "err", err)
			}
			refused = no != nil
		}
		select {
		case <-ctx.Done():
		case <-l.grants.changed:
		}
	}
}

func (g *grants) give(conn *dataplane.Conn) error {
	g.hand.Lock()
	defer g.hand.Unlock()
	g.mu.Lock()
	given, epoch, until, line, forwards := g.given, g.epoch, g.until, g.line, g.forwards
	g.mu.Unlock()
	if !given {
		return nil
	}
	if line != nil && g.has != conn {
		if err := conn.Line(line); errors.Is(err, dataplane.ErrLost) {
			return err
		} // else it is closed, and nobody listens at its other end
		g.has = conn
	}
	t := dataplane.NewBatch()
	if forwards {
		t.Forward(epoch, until)
	} else {
		t.Grant(epoch, until)
	}
	err := conn.Transact(t)
	if err == nil && epoch != 0 {
		g.once.Do(func() { close(g.serves) })
	}
	return err
}
