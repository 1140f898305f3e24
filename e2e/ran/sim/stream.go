package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"core5g.dev/core5g/e2e/ran/measure"
)

// Stream sends numbered datagrams between a UE and the data network's server, and says what was lost, doubled or out of
// order. The UE's end is inside the process: neither the TUN device nor the kernel's queues take part.
func (s *Simulation) Stream(ctx context.Context, supi string, psi uint8, to netip.AddrPort, c measure.StreamConfig) (measure.StreamResult, error) {
	res := measure.StreamResult{To: to.String(), Direction: c.Direction}
	if err := c.Check(); err != nil {
		return res, err
	}
	p, err := s.path(supi, psi, to.Addr())
	if err != nil {
		return res, err
	}
	own := netip.AddrPortFrom(p.address, uint16(32768+rand.IntN(28000)))
	res.From = own.String()
	x := &streamEnd{own: own, to: to, id: rand.Uint64(), answers: make(chan []byte, 16)}
	x.send = func(payload []byte) error { return p.ue.SendUplink(p.session.ID, measure.UDP(own, to, payload)) }
	remove, err := p.ue.Tap(p.session.ID, x.take)
	if err != nil {
		return res, err
	}
	defer remove()
	if c.Direction == "up" {
		return res, x.up(ctx, c, &res)
	}
	return res, x.down(ctx, c, &res)
}

// streamEnd is the UE's end of a stream.
type streamEnd struct {
	own, to netip.AddrPort
	id      uint64
	send    func(payload []byte) error
	answers chan []byte

	mu    sync.Mutex
	order measure.Order
}

// take sees every downlink packet of the session; true: it was the stream's.
func (x *streamEnd) take(packet []byte) bool {
	from, port, payload, ok := measure.Datagram(packet)
	if !ok || from != x.to || port != x.own.Port() {
		return false
	}
	if id, n, ok := measure.ReadStreamDatagram(payload); ok {
		if id == x.id {
			x.mu.Lock()
			x.order.Take(n)
			x.mu.Unlock()
		}
		return true
	}
	select {
	case x.answers <- append([]byte(nil), payload...):
	default:
	}
	return true
}

func (x *streamEnd) seen() (order measure.Order, idle time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.order, x.order.Idle()
}

// Waits of a stream: until the first datagram, asking again meanwhile; and after the last one, for stragglers.
const (
	streamBegins = 10 * time.Second
	streamAsks   = 500 * time.Millisecond
	streamEnds   = 2 * time.Second
)

func (x *streamEnd) down(ctx context.Context, c measure.StreamConfig, res *measure.StreamResult) error {
	request := measure.StreamRequest(x.id, c, false)
	if err := x.send(request); err != nil {
		return err
	}
	began, asked := time.Now(), time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		order, idle := x.seen()
		switch {
		case order.Received == 0 && time.Since(began) > streamBegins:
			return fmt.Errorf("no datagram of the stream came within %s: is `ran dn` at %s?", streamBegins, x.to)
		case order.Received == 0 && time.Since(asked) > streamAsks:
			asked = time.Now()
			if err := x.send(request); err != nil {
				return err
			}
		case order.Received > 0 && idle > streamEnds, order.Received == uint64(c.Count) && idle > streamAsks:
			res.Finish(order, uint64(c.Count), time.Since(began)-idle)
			return nil
		}
		select {
		case <-ctx.Done():
			res.Finish(order, uint64(c.Count), time.Since(began))
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (x *streamEnd) up(ctx context.Context, c measure.StreamConfig, res *measure.StreamResult) error {
	began := time.Now()
	err := measure.Pace(ctx, c.Count, c.Rate, func(n uint64) error {
		if x.send(measure.StreamDatagram(x.id, n, c.Size)) != nil {
			res.NotSent++
		}
		return nil
	})
	took := time.Since(began)
	if err != nil {
		return err
	}
	// What is on its way comes within streamAsks; a report that is lost is asked for again.
	for end := time.Now().Add(streamBegins); time.Now().Before(end); {
		timer := time.NewTimer(streamAsks)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		if err := x.send(measure.StreamRequest(x.id, c, true)); err != nil {
			return err
		}
		select {
		case b := <-x.answers:
			var order measure.Order
			if err := json.Unmarshal(b, &order); err != nil {
				return fmt.Errorf("the server's report: %w", err)
			}
			res.Finish(order, uint64(c.Count), took)
			return nil
		case <-time.After(streamAsks):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("the server's report did not come")
}
