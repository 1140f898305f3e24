package pfcp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
	"golang.org/x/sys/unix"
)

// Socket drives an Endpoint over UDP. The endpoint is one goroutine's, which runs what others put into its mailbox: the
// reader's datagrams, and calls. So callbacks run in that goroutine too, one after the other, and may call any method of
// the Socket; none of them waits. What keeps a callback busy keeps the shard's N4 waiting.
type Socket struct {
	conn     *net.UDPConn
	endpoint *Endpoint
	metrics  *Metrics

	mu        sync.Mutex
	mail      []func(*Endpoint)
	datagrams int // in the mailbox
	closed    bool
	wake      chan struct{} // holds one when there is mail
}

// datagramsMax is how many datagrams may wait; what comes behind them is repeated by its sender.
const datagramsMax = 8192

// Listen binds the socket. Config's Clock and Send are the Socket's own.
func Listen(addr netip.AddrPort, cfg Config) (*Socket, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			// The answers to a window of requests to each of many units; less is accepted.
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20)
		})
	}}
	network := "udp4"
	if addr.Addr().Is6() {
		network = "udp" // [::] takes both versions
	}
	pc, err := lc.ListenPacket(context.Background(), network, addr.String())
	if err != nil {
		return nil, err
	}
	s := &Socket{conn: pc.(*net.UDPConn), metrics: cfg.Metrics, wake: make(chan struct{}, 1)}
	cfg.Clock, cfg.Send = time.Now, s.send
	if s.endpoint, err = New(cfg); err != nil {
		return nil, errors.Join(err, s.conn.Close())
	}
	return s, nil
}

// Addr is where the socket listens.
func (s *Socket) Addr() netip.AddrPort { return s.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

func (s *Socket) send(to netip.AddrPort, b []byte) {
	if _, err := s.conn.WriteToUDPAddrPort(b, to); err != nil {
		s.metrics.dropped.WithLabelValues("send_failed").Inc()
	}
}

// Run serves until ctx ends, which closes the endpoint: nothing leaves any more, and every request has had its outcome
// when Run returns.
func (s *Socket) Run(ctx context.Context) error {
	var reader sync.WaitGroup
	reader.Go(s.read)
	defer reader.Wait()
	defer func() { _ = s.conn.Close() }()

	timer := time.NewTimer(0)
	defer timer.Stop()
	var list []func(*Endpoint)
	for {
		select {
		case <-ctx.Done():
			s.end()
			return nil
		case <-s.wake:
		case <-timer.C:
		}
		list = s.take(list)
		for i, f := range list {
			if ctx.Err() != nil {
				s.endpoint.Close() // what follows it finds it closed
			}
			f(s.endpoint)
			list[i] = nil
		}
		s.endpoint.Tick(time.Now())
		if at, ok := s.endpoint.NextDeadline(); ok {
			timer.Reset(time.Until(at))
		}
	}
}

// end closes the endpoint, and has what is in the mailbox find it closed.
func (s *Socket) end() {
	s.endpoint.Close()
	for {
		s.mu.Lock()
		list := s.mail
		s.mail = nil
		s.closed = len(list) == 0
		s.mu.Unlock()
		if len(list) == 0 {
			return
		}
		for _, f := range list {
			f(s.endpoint)
		}
		s.endpoint.Tick(time.Now())
	}
}

func (s *Socket) read() {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := s.conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil { // else an ICMP error of an earlier datagram
			s.Receive(from, buf[:n])
		}
	}
}

// Receive takes a datagram that another pod has received for this shard, and the address that it came from.
func (s *Socket) Receive(from netip.AddrPort, b []byte) {
	s.mu.Lock()
	full := s.datagrams >= datagramsMax
	if !full {
		s.datagrams++
	}
	s.mu.Unlock()
	if full {
		s.metrics.dropped.WithLabelValues("overload").Inc()
		return
	}
	b = append([]byte(nil), b...)
	s.post(func(e *Endpoint) {
		s.mu.Lock()
		s.datagrams--
		s.mu.Unlock()
		e.Receive(from, b)
	})
}

// post has f run with the endpoint; false: the endpoint is closed for good.
func (s *Socket) post(f func(*Endpoint)) bool {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	s.mail = append(s.mail, f)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return true
}

// take swaps the mailbox for an empty one.
func (s *Socket) take(empty []func(*Endpoint)) []func(*Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.mail
	s.mail = empty[:0]
	return list
}

// Do is Endpoint.Do. done is called in the Socket's goroutine, or in the caller's when the Socket has ended.
func (s *Socket) Do(r Request, done func(Outcome)) {
	if !s.post(func(e *Endpoint) { e.Do(r, done) }) {
		done(Outcome{Err: &NotSentError{Unit: r.Unit, Kind: r.Kind, Err: ErrClosed}})
	}
}

// Update is Endpoint.Update. done is called in the Socket's goroutine, or in the caller's when the Socket has ended.
func (s *Socket) Update(unit string, ies []*ie.IE, done func(wire.Elements, error)) {
	if !s.post(func(e *Endpoint) { e.Update(unit, ies, done) }) {
		done(nil, &NotSentError{Unit: unit, Kind: AssociationUpdate, Err: ErrClosed})
	}
}

// AddUnit is Endpoint.AddUnit.
func (s *Socket) AddUnit(u Unit) error {
	if err := u.check(); err != nil {
		return err
	}
	if !s.post(func(e *Endpoint) { _ = e.AddUnit(u) }) { // looked at already
		return ErrClosed
	}
	return nil
}

// RemoveUnit is Endpoint.RemoveUnit.
func (s *Socket) RemoveUnit(nodeID string, release bool) {
	s.post(func(e *Endpoint) { e.RemoveUnit(nodeID, release) })
}

// AnswerSessionReport is Endpoint.AnswerSessionReport, without a word about a report that is not known any more.
func (s *Socket) AnswerSessionReport(t Token, a SessionReportAnswer) {
	s.post(func(e *Endpoint) { _ = e.AnswerSessionReport(t, a) })
}

// AnswerNodeReport is Endpoint.AnswerNodeReport, without a word about a report that is not known any more.
func (s *Socket) AnswerNodeReport(t Token, cause uint8) {
	s.post(func(e *Endpoint) { _ = e.AnswerNodeReport(t, cause) })
}

// Silent is Endpoint.Silent.
func (s *Socket) Silent(t Token) { s.post(func(e *Endpoint) { e.Silent(t) }) }

// Units is Endpoint.Units; nil when the Socket has ended. Not for callbacks: it waits for the endpoint.
func (s *Socket) Units() []UnitStatus {
	out := make(chan []UnitStatus, 1)
	if !s.post(func(e *Endpoint) { out <- e.Units() }) {
		return nil
	}
	return <-out
}
