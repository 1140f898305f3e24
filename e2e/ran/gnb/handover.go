package gnb

// What both kinds of handover share: the target's preparation, and the UE's change of cell.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/e2e/ran/gtpu"
)

// HandoverOptions say how to hand over. The zero value forwards, and cancels nothing.
type HandoverOptions struct {
	// NoForwarding loses what still comes to the source.
	NoForwarding bool `json:"no_forwarding,omitempty"`
	// Indirect (N2) says that there is no direct path: the source tells the core so, which may offer tunnels of a UPF.
	Indirect bool `json:"indirect,omitempty"`
	// Leave are sessions that the target does not take.
	Leave Identities `json:"leave,omitempty"`
	// Cancel (N2) gives the handover up: "required", as soon as it is required; "command", when the command has come.
	Cancel string `json:"cancel,omitempty"`
}

// Check says what is wrong with it.
func (o HandoverOptions) Check() error {
	if !slices.Contains([]string{"", CancelRequired, CancelCommand}, o.Cancel) {
		return fmt.Errorf("cancel %q is neither %q nor %q", o.Cancel, CancelRequired, CancelCommand)
	}
	return nil
}

// When a handover is cancelled.
const (
	CancelRequired = "required"
	CancelCommand  = "command"
)

// HandoverResult is what came of a handover.
type HandoverResult struct {
	Kind       string     `json:"kind"` // xn, n2
	From       string     `json:"from"`
	To         string     `json:"to"`
	Sessions   Identities `json:"sessions"`       // taken by the target
	Left       Identities `json:"left,omitempty"` // not taken
	Forwarding string     `json:"forwarding"`     // none, direct, indirect
	Forwarded  uint64     `json:"forwarded"`      // packets that the source handed on
	NotSent    uint64     `json:"lost_at_source"` // packets that it had no way for
	Held       uint64     `json:"held_at_target"` // packets of the new path that waited for the End Marker
	Overflow   uint64     `json:"lost_at_target"` // of these, too many
	EndMarkers int        `json:"end_markers"`    // sessions whose old path the UPF ended
	Cancelled  bool       `json:"cancelled,omitempty"`
	Prepared   float64    `json:"prepared_ms,omitempty"` // N2: until the command
	Completed  float64    `json:"completed_ms"`          // until the path was switched, or the source released
}

func milliseconds(since time.Time) float64 {
	return math.Round(float64(time.Since(since))/float64(time.Microsecond)) / 1000
}

var errSameGNB = errors.New("the UE is at this gNB already")

// prepared is a session at the target.
type prepared struct {
	psi   uint8
	order *inOrder
	way   *gtpu.Tunnel // from the source; nil without forwarding
}

// newConnection makes a connection of a UE that comes by handover.
func (g *GNB) newConnection(ue UE, amfID int64) (*Connection, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n2 == nil {
		return nil, ErrNoN2
	}
	return g.addConnection(ue, amfID), nil
}

// addConnection is called with mu held.
func (g *GNB) addConnection(ue UE, amfID int64) *Connection {
	c := &Connection{
		gnb: g, ue: ue, ranID: g.nextRANID, amfID: amfID, resources: map[uint8]*resource{}, waiting: map[string]chan any{}, done: make(chan struct{}),
	}
	g.nextRANID = g.nextRANID%0xFFFFFFFF + 1
	g.connections[c.ranID] = c
	return c
}

// prepare opens a session's tunnels at the target. The UE is not told before it arrives.
func (c *Connection) prepare(psi uint8, r *resource, forward bool) (prepared, bool) {
	deliver := c.ue.Sink(psi)
	if deliver == nil {
		return prepared{}, false
	}
	p := prepared{psi: psi, order: &inOrder{deliver: c.byRadio(deliver), holding: forward, limit: c.gnb.cfg.HoldLimit}}
	r.tunnel.Deliver = p.order.fresh
	r.tunnel.Lost = func() { c.ue.SessionLost(c, psi) }
	c.gnb.n3.Open(r.tunnel)
	if forward {
		p.way = c.forwardingTunnel(p.order, r.tunnel.LocalTEID)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resources[psi] = r
	c.prepared = append(c.prepared, p)
	return p, true
}

// arrive takes the UE over from the source.
func (c *Connection) arrive(from *Connection) {
	from.gnb.Remove(c.ue)
	c.gnb.mu.Lock()
	c.gnb.ues[c.ue] = struct{}{}
	up := c.gnb.n2 != nil
	c.gnb.mu.Unlock()
	c.ue.Moved(from, c, c.gnb)
	if !up {
		c.ue.CellDown(c.gnb)
	}
	for _, psi := range c.sessions() {
		if r := c.resource(psi); r != nil {
			c.ue.SessionUp(c, psi, r.tunnel)
		}
	}
}

// leave ends the source's part after an Xn handover: nothing is said to the core or the UE.
func (c *Connection) leave() {
	c.gnb.forget(c)
	c.mu.Lock()
	ended := c.ended
	c.ended = true
	if !ended {
		close(c.done)
	}
	gone := make([]*gtpu.Tunnel, 0, len(c.resources)+len(c.forwards))
	for _, r := range c.resources {
		gone = append(gone, r.tunnel)
	}
	gone = append(gone, c.forwards...)
	clear(c.resources)
	c.mu.Unlock()
	for _, t := range gone {
		c.gnb.n3.Remove(t)
	}
}

// template is a session's resource as Xn tells it: all but the tunnel's own end.
func (r *resource) template() *resource {
	next := *r
	next.way = nil
	next.tunnel = &gtpu.Tunnel{PeerTEID: r.tunnel.PeerTEID, Peer: r.tunnel.Peer, QFI: r.tunnel.QFI}
	return &next
}

// n3Address is the gNB's own end of N3.
func (g *GNB) n3Address() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4(g.n3IP), gtpu.Port)
}

// settle waits until every session's old path has ended, ctx is over, or limit has passed, and counts.
func (r *HandoverResult) settle(ctx context.Context, ways []*forwarding, target *Connection, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	over := false
	for _, f := range ways {
		if !over {
			select {
			case <-f.ended:
			case <-timer.C:
				over = true
			case <-ctx.Done():
				over = true
			}
		}
		r.Forwarded += f.packets.Load()
		r.NotSent += f.lost.Load()
		select {
		case <-f.ended:
			r.EndMarkers++
		default:
		}
	}
	target.mu.Lock()
	prepared := slices.Clone(target.prepared)
	target.mu.Unlock()
	for _, p := range prepared {
		held, dropped := p.order.waitedFor()
		r.Held += held
		r.Overflow += dropped
	}
}
