package agent

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// A unit with a standby (package standby). Three things differ from one without: what is stored is mirrored, nothing is told of a
// change before it may be (Settle), and upf-u answers and forwards as far as it is granted.

// Redundancy is beside the agent of a redundant unit.
type Redundancy interface {
	store.Mirror
	// Settle waits until what has been changed so far may be told. False: it never may be.
	Settle(stop <-chan struct{}) bool
	// Standby is how things are.
	Standby() (epoch uint64, inSync bool, behind, octets, snapshots, struck uint64)
}

func (a *Agent) standbyStatus() *StandbyStatus {
	a.mu.Lock()
	r := a.redundancy
	a.mu.Unlock()
	if r == nil {
		return nil
	}
	s := &StandbyStatus{}
	s.Epoch, s.InSync, s.Behind, s.Octets, s.Snapshots, s.Struck = r.Standby()
	return s
}

// Stored are all sessions at rest, to be copied.
type Stored interface {
	Copy(to []store.Entry, first uint32, count int) (entries []store.Entry, next uint32)
	CopyEnded() []store.Entry
}

// BeRedundant is called before Run. Of a unit that was taken over, what counts is the state file, whatever upf-u may have.
func (a *Agent) BeRedundant(r Redundancy, takeover *Takeover) {
	a.mu.Lock() // for who looks at the agent before it runs
	a.redundancy = r
	a.mu.Unlock()
	a.takeover, a.grants = takeover, &grants{changed: make(chan struct{}, 1), serves: make(chan struct{})}
	a.store.SetMirror(r)
}

// Stored are the agent's sessions.
func (a *Agent) Stored() Stored { return a.store }

// Clear deletes all sessions of a upf-u whose unit another member serves: those that this one will take over may have their
// F-TEIDs and addresses.
func (a *Agent) Clear(conn *dataplane.Conn) error {
	if conn.Hello().Sessions == 0 {
		return nil
	}
	return a.deleteUnknown(conn)
}

// settled waits until what has been changed may be told.
func (a *Agent) settled(ctx context.Context) bool {
	return a.redundancy == nil || a.redundancy.Settle(ctx.Done())
}

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
func (a *Agent) Grant(epoch uint64, until time.Duration) {
	g := a.grants
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
func (a *Agent) Forward(epoch uint64, until time.Duration) error {
	g := a.grants
	conn := a.grantable()
	g.mu.Lock()
	g.forwards, g.given, g.epoch, g.until = true, true, epoch, until
	g.mu.Unlock()
	if conn == nil {
		return errors.New("upf-u is not connected")
	}
	return g.give(conn)
}

// Serves is closed when upf-u has been granted an epoch.
func (a *Agent) Serves() <-chan struct{} { return a.grants.serves }

// AddLate adds what the unit that has handed over counted after its sessions had been taken over, once they are.
func (a *Agent) AddLate(late []usage.Late) {
	if len(late) == 0 {
		return
	}
	if _, err := a.link(a.stopping, -1); err != nil {
		a.log.Error("usage of a hand-over is lost", "err", err)
		return
	}
	for _, l := range late {
		if err := a.addLate(l); err != nil {
			a.log.Error("usage of a hand-over is lost", "seid", hex(l.UPSEID), "urr", l.URR, "err", err)
		}
	}
}

func (a *Agent) addLate(l usage.Late) error {
	s := a.lock(l.Index)
	if s == nil {
		return nil // it was deleted since
	}
	defer s.unlock()
	m, is := s.Meters.Find(l.URR)
	if s.UPSEID != l.UPSEID || !is {
		return nil
	}
	u := s.Rules.URRs.Get(l.URR)
	m.Add(l.Counts)
	next := s.Session
	next.Meters = s.Meters.Clone()
	next.Meters.Put(l.URR, m)
	blob := state.AppendSession(nil, &next)
	conn := a.current()
	if conn == nil {
		return errors.New("upf-u is not connected")
	}
	t := dataplane.NewBatch()
	t.State(s.Index, blob)
	t.Arm(m.Arm(u, s.read(u, m.Slot), s.Index))
	if err := conn.Transact(t); err != nil {
		return err
	}
	s.become(&next, blob)
	a.schedule(s)
	a.postpone(l.Index)
	return nil
}

func (g *grants) wake() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// HoldLine returns when upf-u holds a connection. Those that come later hold it before they are granted anything.
func (a *Agent) HoldLine(line syscall.RawConn) error {
	g := a.grants
	conn := a.grantable()
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

// grantAhead has a upf-u that was filled ahead granted what there is to grant, before anything else.
func (a *Agent) grantAhead(conn *dataplane.Conn) {
	if a.filledAhead(conn) == nil {
		return
	}
	a.mu.Lock()
	a.ahead = conn
	a.mu.Unlock()
	a.grants.wake()
}

// grantable is the upf-u that may be granted something now; nil when there is none.
func (a *Agent) grantable() *dataplane.Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ahead != nil && !a.ahead.Lost() {
		return a.ahead
	}
	return a.usableLocked()
}

// keepGrants tells upf-u what it is granted.
func (a *Agent) keepGrants(ctx context.Context) {
	refused := false
	for ctx.Err() == nil {
		if conn := a.grantable(); conn != nil {
			err := a.grants.give(conn)
			var no *dataplane.Refused
			if errors.As(err, &no) && !refused {
				a.log.Error("upf-u takes no grant: upf-u.yaml of a redundant unit has redundancy: true", "err", err)
			}
			refused = no != nil
		}
		select {
		case <-ctx.Done():
		case <-a.grants.changed:
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
