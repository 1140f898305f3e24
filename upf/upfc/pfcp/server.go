package pfcp

// One UDP socket carries all of N4. The reader goroutine takes many datagrams with one system call;
// heartbeats are answered right there, so that nothing which waits for upf-u can make a peer believe
// that this UPF died. Session requests are executed by lanes, goroutines that stay: those of one
// session always by the same one, in order. Other requests run in goroutines of their own. The writer
// sends what has become ready, again many with one call. Our own requests share the socket: their
// answers are matched by sequence number and message type, not by address, because a peer behind a
// Service may answer from another one.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/upfc/machine"
)

// Port is PFCP's (TS 29.244 6.4).
const Port = 8805

// Handler executes requests. A nil answer sends none. Message.Answer begins one. Of the message nothing is kept but its
// answer, which is the server's again once it is returned.
type Handler interface {
	// Heartbeat runs in the reader's goroutine and must not block.
	Heartbeat(m *Message) *Answer
	Handle(ctx context.Context, m *Message) *Answer
	// Congested refuses a session request because too many wait (TS 29.244 8.2.1, cause 74). It runs
	// in the reader's goroutine.
	Congested(m *Message) *Answer
}

// Recorder counts what passes.
type Recorder interface {
	Message(direction string, msgType string, cause string)
	Retransmission(direction string, msgType string)
	Latency(msgType string, d time.Duration)
}

// Options of a Server.
type Options struct {
	Interval time.Duration // T1
	Attempts int           // N1
	Requests int           // of sessions, that may be under way or wait
	Answers  int           // octets of answers that are kept for repetitions
	Log      *slog.Logger
	Recorder Recorder
	Machine  machine.Machine // nil: the real one
}

// Server is one PFCP entity.
type Server struct {
	conn    *net.UDPConn    // nil: it has no socket (New)
	socket  syscall.RawConn // the same
	v6      bool            // it speaks IPv6
	opt     Options
	cache   *responseCache
	running chan struct{} // one token a request in execution that is not a session's
	out     outbox
	// How a datagram leaves, and where requests are executed: a session's in its lane, unless that is full.
	leave  func(b []byte, to netip.AddrPort)
	inLane func(lane uint32, r *request) bool
	beside func(r *request)

	mu      sync.Mutex
	next    uint32
	waiting map[uint32]*outgoing
}

type outgoing struct {
	want   uint8
	answer *Message // once done is closed
	done   chan struct{}
}

const (
	maxRunning = 256 // requests in execution that are not a session's; one more is dropped
	lanes      = 128
)

// Listen binds the socket.
func Listen(addr netip.AddrPort, opt Options) (*Server, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			// A burst of establishments must not overflow the socket; less is accepted.
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20)
			// When a datagram came, which may be long before it is read.
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
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
	s := newServer(opt)
	s.conn = pc.(*net.UDPConn)
	s.leave, s.v6 = s.out.put, network == "udp"
	if s.socket, err = s.conn.SyscallConn(); err != nil {
		_ = s.conn.Close()
		return nil, err
	}
	return s, nil
}

func newServer(opt Options) *Server {
	if opt.Machine == nil {
		opt.Machine = machine.Real()
	}
	s := &Server{
		opt:     opt,
		cache:   newResponseCache(keepAnswers, opt.Answers),
		out:     outbox{wake: make(chan struct{}, 1)},
		running: make(chan struct{}, maxRunning),
		next:    uint32(opt.Machine.Random() & 0xffffff),
		waiting: map[uint32]*outgoing{},
	}
	s.cache.clock = opt.Machine.Now
	return s
}

// Addr is where the server listens; not valid when it has no socket.
func (s *Server) Addr() netip.AddrPort {
	if s.conn == nil {
		return netip.AddrPort{}
	}
	return s.conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

// Serve receives until ctx ends. It returns after the last request that was being executed.
func (s *Server) Serve(ctx context.Context, h Handler) error {
	var requests, writer sync.WaitGroup
	defer func() { _ = s.conn.Close() }()
	writing, stopWriting := context.WithCancel(context.Background())
	writer.Go(func() { s.write(writing) })
	defer writer.Wait()
	defer stopWriting()
	queues := make([]chan *request, lanes)
	for i := range queues {
		queues[i] = make(chan *request, max(1, s.opt.Requests/lanes))
		requests.Go(func() {
			for r := range queues[i] {
				s.execute(ctx, h, r)
			}
		})
	}
	defer requests.Wait()
	defer func() {
		for _, q := range queues {
			close(q)
		}
	}()
	s.inLane = func(lane uint32, r *request) bool {
		select {
		case queues[lane%lanes] <- r:
			return true
		default:
			return false
		}
	}
	s.beside = func(r *request) {
		requests.Go(func() {
			defer func() { <-s.running }()
			s.execute(ctx, h, r)
		})
	}

	// A blocked read ends, answers to what is being executed still leave.
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	in := newBurst(1 << 16)
	for {
		n, err := in.receive(s.socket)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			continue // an ICMP error of an earlier send
		}
		now := time.Now()
		for i := range n {
			s.receive(h, in.octets(i), in.from(i), in.arrived(i, now))
		}
	}
}

// request is one that is to be executed, with all that it needs for that.
type request struct {
	m       Message
	payload []byte
	name    uint64 // in the response cache
	list    Elements
	answer  Answer
	head    [headerMax]byte
}

// requests are used again, for the room that they have.
var requests = sync.Pool{New: func() any { return &request{} }}

// free is the end of a request.
func (r *request) free() {
	clear(r.list)
	r.answer.Reset()
	if cap(r.payload)+cap(r.answer.IEs) <= 16*1024 {
		*r = request{payload: r.payload[:0], list: r.list[:0], answer: r.answer}
		requests.Put(r)
	}
}

// parse reads the IEs of a request, which has its octets.
func (r *request) parse() (err error) {
	if len(r.payload) == 0 {
		return nil
	}
	if r.m.Elements, err = parseElements(r.list[:0], r.payload); err == nil {
		r.list = r.m.Elements
	}
	return err
}

func (s *Server) receive(h Handler, b []byte, from netip.AddrPort, now time.Time) {
	r := requests.Get().(*request)
	if !s.take(h, r, b, from, now) {
		r.free()
	}
}

// take is receive with room for a request; true when somebody executes it.
func (s *Server) take(h Handler, r *request, b []byte, from netip.AddrPort, now time.Time) (executes bool) {
	m := &r.m
	payload, err := m.parseHeader(b)
	if errors.Is(err, errVersion) {
		s.opt.Recorder.Message("in", "other", "")
		if m.Type != message.MsgTypeVersionNotSupportedResponse {
			if out, err := marshal(message.MsgTypeVersionNotSupportedResponse, nil, m.Sequence, nil); err == nil {
				s.send(out, from, message.MsgTypeVersionNotSupportedResponse, "")
			}
		}
		return false
	}
	if err != nil {
		s.opt.Recorder.Message("in", "malformed", "")
		s.opt.Log.Debug("PFCP datagram dropped", "from", from, "err", err)
		return false
	}
	s.opt.Recorder.Message("in", TypeName(m.Type), "")
	m.From, m.Received = from, now
	if !isRequest(m.Type) {
		kept := *m // by who has asked
		if kept.Elements, err = ParseElements(append([]byte(nil), payload...)); err != nil {
			s.opt.Log.Debug("PFCP answer dropped", "from", from, "err", err)
			return false
		}
		s.answered(&kept)
		return false
	}
	m.answer = &r.answer
	r.name = s.cache.name(from, b)
	switch what, answer := s.cache.begin(r.name, now); what {
	case isRunning, isOnItsWay:
		s.opt.Recorder.Retransmission("in", TypeName(m.Type))
		return false
	case isAnswered:
		s.opt.Recorder.Retransmission("in", TypeName(m.Type))
		s.send(answer, from, m.Type+1, "")
		return false
	}
	r.payload = append(r.payload[:0], payload...) // b is the reader's
	if m.Type == message.MsgTypeHeartbeatRequest {
		var a *Answer
		if err := r.parse(); err == nil {
			a = s.guard(m, func() *Answer { return h.Heartbeat(m) })
		}
		s.finish(r, a, now)
		return false
	}
	if m.HasSEID {
		lane := uint32(m.SEID)
		if m.SEID == 0 {
			lane = m.Sequence
		}
		if s.inLane(lane, r) {
			return true
		}
		s.cache.finish(r.name, nil, nil, now) // a repetition may find room
		a := h.Congested(m)
		if head := s.build(r, a); head != nil {
			s.send(append(head[:len(head):len(head)], a.IEs...), m.From, m.Type+1, a.cause)
		}
		return false
	}
	select {
	case s.running <- struct{}{}:
	default:
		s.cache.finish(r.name, nil, nil, now)
		return false
	}
	s.beside(r)
	return true
}

func (s *Server) execute(ctx context.Context, h Handler, r *request) {
	m := &r.m
	s.finish(r, s.handle(ctx, h, r), m.Received)
	s.opt.Recorder.Latency(TypeName(m.Type), s.opt.Machine.Now().Sub(m.Received))
	r.free()
}

func (s *Server) handle(ctx context.Context, h Handler, r *request) (a *Answer) {
	m := &r.m
	defer s.survive(m, &a)
	if err := r.parse(); err != nil {
		if refused := (*Reject)(nil); errors.As(err, &refused) {
			a := m.Answer()
			a.Refuse(refused)
			return a
		}
	}
	return h.Handle(ctx, m)
}

// guard is f, which survives a panic.
func (s *Server) guard(m *Message, f func() *Answer) (a *Answer) {
	defer s.survive(m, &a)
	return f()
}

// survive turns a panic into an answer: one peer's message must not end the sessions of all.
func (s *Server) survive(m *Message, a **Answer) {
	if p := recover(); p != nil {
		s.opt.Log.Error("request handler panicked", "message", TypeName(m.Type), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		failed := &Answer{}
		failed.Cause(ie.CauseSystemFailure)
		*a = failed
	}
}

// finish keeps the answer to a request that came at a time, and sends it.
func (s *Server) finish(r *request, a *Answer, came time.Time) {
	head := s.build(r, a)
	if head == nil {
		s.cache.finish(r.name, nil, nil, came)
		return
	}
	// Kept first, so that a repetition from now on finds it.
	s.send(s.cache.finish(r.name, head, a.IEs, came), r.m.From, r.m.Type+1, a.cause)
}

// build makes the header of the answer; nil when there is to be none.
func (s *Server) build(r *request, a *Answer) []byte {
	if a == nil {
		return nil
	}
	var seid *uint64
	if r.m.Type >= message.MsgTypeSessionEstablishmentRequest {
		seid = &a.SEID
	}
	head, err := header(&r.head, r.m.Type+1, seid, r.m.Sequence, len(a.IEs))
	if err = cmp.Or(a.err, err); err != nil {
		s.opt.Log.Error("answer cannot be built", "message", TypeName(r.m.Type+1), "err", err)
		a.IEs = a.IEs[:0]
		a.Cause(ie.CauseSystemFailure)
		head, _ = header(&r.head, r.m.Type+1, seid, r.m.Sequence, len(a.IEs))
	}
	return head
}

// send has octets sent, which nobody changes any more.
func (s *Server) send(b []byte, to netip.AddrPort, msgType uint8, cause string) {
	s.opt.Recorder.Message("out", TypeName(msgType), cause)
	s.leave(b, to)
}

// outbox is what waits for the writer.
type outbox struct {
	mu   sync.Mutex
	list []datagram
	wake chan struct{} // holds one when list is not empty
}

type datagram struct {
	b  []byte
	to netip.AddrPort
}

func (o *outbox) put(b []byte, to netip.AddrPort) {
	o.mu.Lock()
	o.list = append(o.list, datagram{b, to})
	first := len(o.list) == 1
	o.mu.Unlock()
	if first {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
}

// take swaps the list for an empty one.
func (o *outbox) take(empty []datagram) []datagram {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.list
	o.list = empty[:0]
	return list
}

// write sends what is in the outbox until ctx ends and nothing is left.
func (s *Server) write(ctx context.Context) {
	var list []datagram
	out := newBurst(0)
	for {
		if list = s.out.take(list); len(list) == 0 {
			select {
			case <-s.out.wake:
				runtime.Gosched() // more of them become ready at the same time
			case <-ctx.Done():
				if list = s.out.take(list); len(list) == 0 {
					return
				}
			}
		}
		for rest := list; len(rest) > 0; {
			n := min(len(rest), datagrams)
			for i, d := range rest[:n] {
				out.put(i, d.b)
				out.to(i, d.to, s.v6)
			}
			for sent := 0; sent < n; {
				k, err := out.send(s.socket, sent, n-sent)
				if err != nil {
					s.opt.Log.Warn("PFCP datagram not sent", "to", rest[sent].to, "err", err)
					k = 1 // the first one is at fault
				}
				sent += k
			}
			rest = rest[n:]
		}
		clear(list)
	}
}

// ErrNoAnswer says that a request of ours was repeated N1 times in vain.
var ErrNoAnswer = errors.New("no answer")

// Destination is where the next copy of a request goes, and the last one: peers move.
type Destination struct {
	At func(last bool) netip.AddrPort
	// Moved is closed when the peer has moved since it was asked for; nil: it does not.
	Moved func() <-chan struct{}
}

// To is always the same.
func To(to netip.AddrPort) Destination {
	return Destination{At: func(bool) netip.AddrPort { return to }, Moved: func() <-chan struct{} { return nil }}
}

// Request sends a request and waits for its answer, repeating it N1 times every T1 (TS 29.244 6.4), and
// at once when the peer moves. seid is nil for a node-related message.
func (s *Server) Request(ctx context.Context, to Destination, msgType uint8, seid *uint64, ies ...*ie.IE) (*Message, error) {
	var b IEs
	if err := b.Add(ies...); err != nil {
		return nil, err
	}
	return s.RequestIEs(ctx, to, msgType, seid, b)
}

// RequestIEs is Request with IEs that have been written.
func (s *Server) RequestIEs(ctx context.Context, to Destination, msgType uint8, seid *uint64, ies IEs) (*Message, error) {
	o := &outgoing{want: msgType + 1, done: make(chan struct{})}
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

	var room [headerMax]byte
	head, err := header(&room, msgType, seid, seq, len(ies))
	if err != nil {
		return nil, err
	}
	b := append(head[:len(head):len(head)], ies...)
	copies := 0
	for attempt := range s.opt.Attempts {
		last := attempt > 0 && attempt == s.opt.Attempts-1
		for moved := true; moved; {
			if ctx.Err() != nil { // what led to the request may not have been stored any more
				return nil, ctx.Err()
			}
			if copies++; copies > 1 {
				s.opt.Recorder.Retransmission("out", TypeName(msgType))
			}
			moves := to.Moved()
			s.send(b, to.At(last), msgType, "")
			if moved = !s.opt.Machine.Wait(s.opt.Interval, o.done, ctx.Done(), moves); moved {
				select {
				case <-o.done:
					return o.answer, nil
				default:
					last = false // it is known where the peer is
				}
			}
		}
	}
	return nil, fmt.Errorf("%s to %s: %w", TypeName(msgType), to.At(false), ErrNoAnswer)
}

func (s *Server) answered(m *Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.waiting[m.Sequence]
	if o == nil || o.want != m.Type || o.answer != nil {
		return // an answer that came twice or too late
	}
	o.answer = m
	close(o.done)
}
