package peers

// GTP-U path management. Every peer into whose tunnels sessions send is asked with an Echo Request
// once an interval (TS 29.281 7.2.1); upf-u sends it and tells of the answer. A request is repeated
// after T3-RESPONSE, N3-REQUESTS times in all; then the path has failed and the CP functions whose
// sessions use it are told, as they are when the peer answers again (TS 29.244 6.2.9). The sessions
// stay: it is the CP function that decides.

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
)

// paths is what is known of the peers.
type paths struct {
	mu       sync.Mutex
	of       map[netip.Addr]*path
	sequence uint16
}

type path struct {
	next     time.Time // when to send, to repeat, or to give up
	sent     int       // how often the request under way was sent; 0: none is
	sequence uint16    // of it
	failed   bool
	since    time.Time // of failed, or of the first answer
	answered time.Time // zero: never
}

func newPaths() *paths { return &paths{of: map[netip.Addr]*path{}} }

// echo is an Echo Request to be sent.
type echo struct {
	peer     netip.Addr
	sequence uint16
	// repeated: the peer may be another one by now, at the same address: upf-u asks for its link-layer address anew.
	repeated bool
}

// turn looks at all paths. Peers that nobody uses any more are forgotten.
func (p *paths) turn(now time.Time, used map[netip.Addr]int, c config.Echo) (send []echo, failed []netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for peer := range p.of {
		if used[peer] == 0 {
			delete(p.of, peer)
		}
	}
	for _, peer := range slices.SortedFunc(maps.Keys(used), netip.Addr.Compare) {
		t := p.of[peer]
		if t == nil {
			t = &path{next: now}
			p.of[peer] = t
		}
		if now.Before(t.next) {
			continue
		}
		if t.sent >= c.Attempts {
			t.sent, t.next = 0, now.Add(max(c.Interval-time.Duration(c.Attempts)*c.Timeout, c.Timeout))
			if !t.failed {
				t.failed, t.since = true, now
				failed = append(failed, peer)
			}
			continue
		}
		if t.sent == 0 {
			p.sequence++
			t.sequence = p.sequence
		}
		t.sent++
		t.next = now.Add(c.Timeout)
		send = append(send, echo{peer, t.sequence, t.sent > 1})
	}
	return send, failed
}

// answered notes an Echo Response; true when the path had failed.
func (p *paths) answered(now time.Time, peer netip.Addr, sequence uint16, c config.Echo) (recovered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.of[peer]
	if t == nil || t.sent == 0 || t.sequence != sequence {
		return false // not ours, or too late
	}
	t.sent, t.next = 0, now.Add(c.Interval)
	recovered = t.failed
	if t.failed || t.answered.IsZero() {
		t.since = now
	}
	t.failed, t.answered = false, now
	return recovered
}

// askAnew forgets the requests that are under way.
func (p *paths) askAnew(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.of {
		if t.sent > 0 {
			t.sent, t.next = 0, now
		}
	}
}

// info completes what is told of a peer.
func (p *paths) info(i *Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.of[i.Address]
	switch {
	case t == nil:
		return
	case t.failed:
		i.Path = "down"
	case !t.answered.IsZero():
		i.Path = "up"
	}
	i.Since, i.LastAnswer = t.since, t.answered
}

// Keep asks the peers until ctx ends.
func (p *Peers) Keep(ctx context.Context) {
	c := p.o.Echo
	if c.Interval == 0 {
		return
	}
	every := max(min(c.Timeout/4, time.Second), 10*time.Millisecond)
	refused := false
	var before *dataplane.Conn
	for p.o.Machine.Wait(every, ctx.Done()) {
		conn := p.o.Conn()
		if conn == nil {
			continue // nobody is asked, so nobody fails
		}
		if conn != before { // what the last upf-u asked, nobody hears the answer to
			p.paths.askAnew(p.o.Machine.Now())
			before = conn
		}
		send, failed := p.paths.turn(p.o.Machine.Now(), p.o.Tunnels(), c)
		if err := p.sendEchoes(conn, send); err != nil && !errors.Is(err, dataplane.ErrLost) && !refused {
			refused = true
			p.o.Log.Error("Echo Requests cannot be sent", "err", err)
		}
		for _, peer := range failed {
			p.o.Log.Warn("GTP-U path failed", "peer", peer)
		}
		p.o.Report(true, failed)
	}
}

func (p *Peers) sendEchoes(conn *dataplane.Conn, send []echo) error {
	if len(send) == 0 {
		return nil
	}
	own, core := &p.o.Own, p.o.CorePeers()
	for len(send) > 0 {
		n := min(len(send), 256)
		t := dataplane.NewBatch()
		for _, e := range send[:n] {
			r := abi.Echo{PeerAddr: abi.AddrOf(e.peer), Sequence: e.sequence, Ohc: abi.OhcGtpu4}
			from, fromN9 := own.N3.V4, own.N9.V4
			if e.repeated {
				r.Repeated = 1
			}
			if e.peer.Is6() {
				from, fromN9, r.Ohc = own.N3.V6, own.N9.V6, abi.OhcGtpu6
			}
			if core[e.peer] && fromN9.IsValid() {
				from = fromN9
			}
			if from.IsValid() { // else no packet can reach the peer either, and the path fails
				r.LocalAddr = abi.AddrOf(from)
				t.Echo(r)
			}
		}
		if t.Records() == 0 {
			send = send[n:]
			continue
		}
		if err := conn.Transact(t); err != nil {
			return err
		}
		send = send[n:]
	}
	return nil
}

// Answered notes that a peer answered an Echo Request.
func (p *Peers) Answered(peer netip.Addr, sequence uint16) {
	if p.paths.answered(p.o.Machine.Now(), peer, sequence, p.o.Echo) {
		p.o.Log.Info("GTP-U path works again", "peer", peer)
		p.o.Machine.Go(func() { p.o.Report(false, []netip.Addr{peer}) })
	}
}
