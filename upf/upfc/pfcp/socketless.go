package pfcp

import (
	"context"
	"net/netip"
)

// A Server without a socket: whoever has it hands it datagrams, and is handed those that leave. It is for a machine on
// which one thread runs at a time.

// lane are the requests of some sessions, in order.
type lane struct {
	waiting []*request
	busy    bool
}

// New makes a server that executes its requests with h on the machine's threads, until ctx ends.
func New(ctx context.Context, opt Options, h Handler, leave func(b []byte, to netip.AddrPort)) *Server {
	s := newServer(opt)
	s.leave = leave
	var all [lanes]lane
	room := max(1, opt.Requests/lanes)
	s.inLane = func(which uint32, r *request) bool {
		l := &all[which%lanes]
		if len(l.waiting) >= room {
			return false
		}
		l.waiting = append(l.waiting, r)
		if !l.busy {
			l.busy = true
			opt.Machine.Go(func() {
				for len(l.waiting) > 0 {
					r := l.waiting[0]
					l.waiting = l.waiting[1:]
					s.execute(ctx, h, r)
				}
				l.busy = false
			})
		}
		return true
	}
	s.beside = func(r *request) {
		opt.Machine.Go(func() {
			defer func() { <-s.running }()
			s.execute(ctx, h, r)
		})
	}
	return s
}

// Receive takes a datagram. What is to be executed for it, the machine's threads do; b is not kept.
func (s *Server) Receive(h Handler, from netip.AddrPort, b []byte) {
	s.receive(h, b, from, s.opt.Machine.Now())
}
