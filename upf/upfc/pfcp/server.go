package pfcp

// One UDP socket carries all of N4. The reader goroutine parses; heartbeats are answered right
// there, so that nothing which waits for upf-u can make a peer believe that this UPF died. Every
// other request runs in a goroutine of its own. Our own requests share the socket: their answers
// are matched by sequence number and message type, not by address, because a peer behind a Service
// may answer from another one.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
	"golang.org/x/sys/unix"
)

// Port is PFCP's (TS 29.244 6.4).
const Port = 8805

// Answer is what a Handler returns: the IEs of the response and the SEID of its header.
type Answer struct {
	SEID uint64 // of the CP function; unused in node-related messages
	IEs  []*ie.IE
}

// Handler executes requests. A nil answer sends none.
type Handler interface {
	// Heartbeat runs in the reader's goroutine and must not block.
	Heartbeat(m *Message) *Answer
	Handle(ctx context.Context, m *Message) *Answer
}

// Recorder counts what passes.
type Recorder interface {
	Message(direction string, msgType string, cause string)
	Latency(msgType string, d time.Duration)
}

// Options of a Server.
type Options struct {
	Interval time.Duration // T1
	Attempts int           // N1
	Log      *slog.Logger
	Recorder Recorder
}

// Server is one PFCP entity.
type Server struct {
	conn    *net.UDPConn
	opt     Options
	cache   *responseCache
	running chan struct{} // one token a request in execution

	mu      sync.Mutex
	next    uint32
	waiting map[uint32]*outgoing
}

type outgoing struct {
	want   uint8
	answer chan *Message
}

// maxRunning bounds requests in execution; a request beyond it is dropped and will be repeated.
const maxRunning = 4096

// Listen binds the socket.
func Listen(addr netip.AddrPort, opt Options) (*Server, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			// A burst of establishments must not overflow the socket; less is accepted.
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20)
		})
	}}
	pc, err := lc.ListenPacket(context.Background(), "udp4", addr.String())
	if err != nil {
		return nil, err
	}
	return &Server{
		conn: pc.(*net.UDPConn), opt: opt,
		cache:   newResponseCache(keepAnswers),
		running: make(chan struct{}, maxRunning),
		next:    rand.Uint32N(1 << 24),
		waiting: map[uint32]*outgoing{},
	}, nil
}

// Addr is where the server listens.
func (s *Server) Addr() netip.AddrPort { return s.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

// Serve receives until ctx ends. It returns after the last request that was being executed.
func (s *Server) Serve(ctx context.Context, h Handler) error {
	var requests sync.WaitGroup
	defer requests.Wait()
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	buf := make([]byte, 1<<16)
	for {
		n, from, err := s.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			continue // an ICMP error of an earlier send
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		s.receive(ctx, h, buf[:n], from, &requests)
	}
}

func (s *Server) receive(ctx context.Context, h Handler, b []byte, from netip.AddrPort, requests *sync.WaitGroup) {
	now := time.Now()
	m, payload, err := parseHeader(b)
	if errors.Is(err, errVersion) {
		s.opt.Recorder.Message("in", "other", "")
		if out, err := marshal(message.MsgTypeVersionNotSupportedResponse, nil, m.Sequence, nil); err == nil && m.Type != message.MsgTypeVersionNotSupportedResponse {
			s.send(out, from, message.MsgTypeVersionNotSupportedResponse, nil)
		}
		return
	}
	if err != nil {
		s.opt.Recorder.Message("in", "malformed", "")
		s.opt.Log.Debug("PFCP datagram dropped", "from", from, "err", err)
		return
	}
	s.opt.Recorder.Message("in", TypeName(m.Type), "")
	m.From, m.Received = from, now
	if !isRequest(m.Type) {
		if m.Elements, err = ParseElements(append([]byte(nil), payload...)); err != nil {
			s.opt.Log.Debug("PFCP answer dropped", "from", from, "err", err)
			return
		}
		s.answered(m)
		return
	}
	if m.Type == message.MsgTypeHeartbeatRequest {
		if m.Elements, err = ParseElements(payload); err == nil {
			a := s.guard(m, func() *Answer { return h.Heartbeat(m) })
			s.sendAnswer(m, a, s.build(m, a))
		}
		return
	}

	what, entry, answer := s.cache.begin(cacheKey{from, m.Sequence, m.Type}, b, now)
	switch what {
	case isRunning:
		return
	case isAnswered:
		s.send(answer, from, m.Type+1, nil)
		return
	}
	select {
	case s.running <- struct{}{}:
	default:
		s.cache.finish(entry, nil)
		return
	}
	requests.Add(1)
	request := entry.request // b is the reader's
	go func() {
		defer requests.Done()
		defer func() { <-s.running }()
		a := s.guard(m, func() *Answer {
			_, payload, err := parseHeader(request)
			if err != nil {
				return nil
			}
			var r *Reject
			m.Elements, err = ParseElements(payload)
			if errors.As(err, &r) {
				return &Answer{IEs: r.IEs()}
			}
			return h.Handle(ctx, m)
		})
		b := s.build(m, a)
		s.cache.finish(entry, b) // first, so that a repetition from now on finds it
		s.sendAnswer(m, a, b)
		s.opt.Recorder.Latency(TypeName(m.Type), time.Since(now))
	}()
}

// guard turns a panic into an answer: one peer's message must not end the sessions of all.
func (s *Server) guard(m *Message, f func() *Answer) (a *Answer) {
	defer func() {
		if p := recover(); p != nil {
			s.opt.Log.Error("request handler panicked", "message", TypeName(m.Type), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			a = &Answer{IEs: []*ie.IE{ie.NewCause(ie.CauseSystemFailure)}}
		}
	}()
	return f()
}

// build makes the octets of the answer to m; nil when there is to be none.
func (s *Server) build(m *Message, a *Answer) []byte {
	if a == nil {
		return nil
	}
	var seid *uint64
	if m.Type >= message.MsgTypeSessionEstablishmentRequest {
		seid = &a.SEID
	}
	b, err := marshal(m.Type+1, seid, m.Sequence, a.IEs)
	if err != nil {
		s.opt.Log.Error("answer cannot be built", "message", TypeName(m.Type+1), "err", err)
		a.IEs = []*ie.IE{ie.NewCause(ie.CauseSystemFailure)}
		if b, err = marshal(m.Type+1, seid, m.Sequence, a.IEs); err != nil {
			return nil
		}
	}
	return b
}

func (s *Server) sendAnswer(m *Message, a *Answer, b []byte) {
	if b != nil {
		s.send(b, m.From, m.Type+1, a.IEs)
	}
}

func (s *Server) send(b []byte, to netip.AddrPort, msgType uint8, ies []*ie.IE) {
	cause := ""
	for _, i := range ies {
		if i.Type == ie.Cause && len(i.Payload) > 0 {
			cause = CauseName(i.Payload[0])
		}
	}
	s.opt.Recorder.Message("out", TypeName(msgType), cause)
	if _, err := s.conn.WriteToUDPAddrPort(b, to); err != nil {
		s.opt.Log.Warn("PFCP datagram not sent", "to", to, "message", TypeName(msgType), "err", err)
	}
}

// ErrNoAnswer says that a request of ours was repeated N1 times in vain.
var ErrNoAnswer = errors.New("no answer")

// Request sends a request and waits for its answer, repeating it N1 times every T1 (TS 29.244 6.4).
// seid is nil for a node-related message.
func (s *Server) Request(ctx context.Context, to netip.AddrPort, msgType uint8, seid *uint64, ies ...*ie.IE) (*Message, error) {
	o := &outgoing{want: msgType + 1, answer: make(chan *Message, 1)}
	s.mu.Lock()
	seq := s.next
	for s.waiting[seq] != nil {
		seq = (seq + 1) & 0xffffff
	}
	s.next = (seq + 1) & 0xffffff
	s.waiting[seq] = o
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, seq)
		s.mu.Unlock()
	}()

	b, err := marshal(msgType, seid, seq, ies)
	if err != nil {
		return nil, err
	}
	for range s.opt.Attempts {
		s.send(b, to, msgType, nil)
		select {
		case m := <-o.answer:
			return m, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(s.opt.Interval):
		}
	}
	return nil, fmt.Errorf("%s to %s: %w", TypeName(msgType), to, ErrNoAnswer)
}

func (s *Server) answered(m *Message) {
	s.mu.Lock()
	o := s.waiting[m.Sequence]
	s.mu.Unlock()
	if o == nil || o.want != m.Type {
		return // an answer that came twice or too late
	}
	select {
	case o.answer <- m:
	default:
	}
}
