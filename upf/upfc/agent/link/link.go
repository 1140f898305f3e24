package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/machine"
)

// redial is how often an absent upf-u is looked for; its restart is noticed within this time.
const redial = 20 * time.Millisecond

// redialApart is the same for a upf-u of another configuration.
const redialApart = time.Second

// Owner is whose connection it is. All functions are called by who keeps it, without a lock of the link's.
type Owner struct {
	Config  *config.Config
	Log     *slog.Logger
	Machine machine.Machine
	// Dial connects to upf-u.
	Dial func(ctx context.Context) (*dataplane.Conn, error)
	// Fill makes upf-u and its owner agree. Where it fails, the connection is of no use.
	Fill func(conn *dataplane.Conn) error
	// Back is called in a thread of its own when a connection can be used, Over when it cannot any more.
	Back func()
	Over func(conn *dataplane.Conn)
}

// Link is the connection to upf-u, which comes and goes.
type Link struct {
	o      Owner
	grants *grants // of a redundant unit

	mu      sync.Mutex
	conn    *dataplane.Conn // nil while upf-u is away or being filled
	ahead   *dataplane.Conn // being filled, and may be granted an epoch already
	changed chan struct{}   // closed when conn changes
	err     error           // why conn is nil
}

// New makes one that is not there yet; Keep begins with it.
func New(o Owner) *Link { return &Link{o: o, changed: make(chan struct{})} }

// Keep looks for upf-u, and has it filled, whenever it is not there, until ctx ends.
func (l *Link) Keep(ctx context.Context) {
	reported := false
	for ctx.Err() == nil {
		again := redial
		conn, err := l.o.Dial(ctx)
		if err == nil {
			hello := conn.Hello()
			if err = checkEndpoints(l.o.Config, &hello); err != nil {
				conn.Abandon()
				again = redialApart
			}
		}
		if err == nil {
			if err = l.o.Fill(conn); err == nil {
				reported = false
				l.publish(conn)
				l.o.Machine.Go(l.o.Back)
				l.o.Machine.Wait(-1, conn.Done(), ctx.Done())
				if ctx.Err() == nil {
					l.o.Log.Warn("upf-u is gone", "err", conn.Err())
				}
				l.publish(nil)
			}
			conn.Abandon()
			l.o.Over(conn)
		}
		l.mu.Lock()
		l.err, l.ahead = err, nil
		l.mu.Unlock()
		if err != nil && !reported && ctx.Err() == nil {
			reported = true // once, not fifty times a second
			if again == redialApart {
				l.o.Log.Error("upf-u is not used", "socket", l.o.Config.Dataplane.Socket, "err", err)
			} else {
				l.o.Log.Warn("waiting for upf-u", "socket", l.o.Config.Dataplane.Socket, "err", err)
			}
		}
		l.o.Machine.Wait(again, ctx.Done())
	}
}

func (l *Link) publish(conn *dataplane.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.ahead = conn, nil
	close(l.changed)
	l.changed = make(chan struct{})
	if l.grants != nil {
		l.grants.wake()
	}
}

// Current is the connection now; nil while there is none.
func (l *Link) Current() *dataplane.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usableLocked()
}

func (l *Link) usableLocked() *dataplane.Conn {
	if l.conn != nil && !l.conn.Lost() {
		return l.conn
	}
	return nil
}

// Wait waits for the connection, at most for the given time (negative: as long as ctx lives).
func (l *Link) Wait(ctx context.Context, wait time.Duration) (*dataplane.Conn, error) {
	if conn := l.Current(); conn != nil {
		return conn, nil
	}
	until := l.o.Machine.Now().Add(wait)
	for {
		l.mu.Lock()
		conn, changed := l.usableLocked(), l.changed
		l.mu.Unlock()
		if conn != nil {
			return conn, nil
		}
		left := time.Duration(-1)
		if wait >= 0 {
			left = max(0, until.Sub(l.o.Machine.Now()))
		}
		if l.o.Machine.Wait(left, changed, ctx.Done()) {
			return nil, errors.New("upf-u is not connected")
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// Ready says why upf-u is not connected; nil: it is.
func (l *Link) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.usableLocked() != nil {
		return nil
	}
	err := errors.New("upf-u is not connected at " + l.o.Config.Dataplane.Socket)
	if l.err != nil {
		err = fmt.Errorf("%w: %w", err, l.err)
	}
	return err
}
