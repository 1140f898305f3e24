package gnb

// The user plane of a handover. The source's tunnel stays where it is and hands what still comes by it to the target,
// through a tunnel of its own (TS 38.300 9.2.3.2); the End Marker of the UPF follows the last of these packets. The
// target lets forwarded packets pass and holds those of the new path back until the End Marker, so that the UE gets all
// of them in order.

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/e2e/ran/gtpu"
)

// Forwarder is an N3 that can hand downlink packets on; gtpu.Endpoint is one.
type Forwarder interface {
	Forward(peer netip.AddrPort, teid uint32, qfi uint8, packet []byte) error
	EndMarker(peer netip.AddrPort, teid uint32) error
}

// ErrNoForwarding is the answer of a gNB whose N3 cannot forward.
var ErrNoForwarding = errors.New("the gNB's N3 cannot forward packets; hand over without forwarding")

// maxHeldBack bounds the packets of the new path that wait: a second of 20,000.
const maxHeldBack = 20000

// inOrder is the downlink of a session at the target.
type inOrder struct {
	deliver func(packet []byte, qfi uint8)
	limit   time.Duration

	mu      sync.Mutex
	holding bool
	held    []heldPacket
	timer   *time.Timer

	waited, dropped uint64 // of the new path
}

type heldPacket struct {
	packet []byte
	qfi    uint8
}

// fresh takes a packet of the new path.
func (o *inOrder) fresh(packet []byte, qfi uint8) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.holding:
		o.deliver(packet, qfi)
		return
	case len(o.held) == maxHeldBack:
		o.dropped++
		return
	}
	o.waited++
	o.held = append(o.held, heldPacket{append([]byte(nil), packet...), qfi})
	if o.timer == nil {
		o.timer = time.AfterFunc(o.limit, o.end)
	}
}

// forwarded takes a packet that the source has handed on.
func (o *inOrder) forwarded(packet []byte, qfi uint8) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deliver(packet, qfi)
}

// end says that nothing more is forwarded.
func (o *inOrder) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
	for _, h := range o.held {
		o.deliver(h.packet, h.qfi)
	}
	o.holding, o.held = false, nil
}

// waitedFor is how many packets were held back, and how many of these were too many.
func (o *inOrder) waitedFor() (held, dropped uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waited, o.dropped
}

// forwarding is what the source does with a session's downlink from a handover on.
type forwarding struct {
	packets, lost atomic.Uint64
	ended         chan struct{} // closed by the End Marker
	once          sync.Once
}

// forward turns a session's downlink away from the UE: to peer's teid, or, with an invalid peer, to nowhere.
func (c *Connection) forward(psi uint8, peer netip.AddrPort, teid uint32) (*forwarding, error) {
	f := &forwarding{ended: make(chan struct{})}
	way, able := c.gnb.n3.(Forwarder)
	if peer.IsValid() && !able {
		return nil, ErrNoForwarding
	}
	c.mu.Lock()
	r := c.resources[psi]
	if r == nil {
		c.mu.Unlock()
		return nil, ErrNoResource
	}
	old := r.tunnel
	t := old.Successor()
	t.Onward = true
	t.Lost = nil // the UE's uplink goes by the target
	t.Deliver = func(packet []byte, qfi uint8) {
		if !peer.IsValid() || way.Forward(peer, teid, qfi, packet) != nil {
			f.lost.Add(1)
			return
		}
		f.packets.Add(1)
	}
	t.Ended = func() {
		f.once.Do(func() {
			if peer.IsValid() {
				_ = way.EndMarker(peer, teid)
			}
			close(f.ended)
		})
	}
	next := *r
	next.tunnel, next.way = t, f
	c.resources[psi] = &next
	c.mu.Unlock()
	c.gnb.n3.Replace(old, t)
	return f, nil
}

// forwardingTunnel is the target's end of the way from the source.
func (c *Connection) forwardingTunnel(o *inOrder, stands uint32) *gtpu.Tunnel {
	t := &gtpu.Tunnel{Deliver: o.forwarded, Stands: stands}
	t.Ended = func() {
		o.end()
		c.gnb.n3.Remove(t)
	}
	c.gnb.n3.Open(t)
	c.mu.Lock()
	c.forwards = append(c.forwards, t)
	c.mu.Unlock()
	return t
}
