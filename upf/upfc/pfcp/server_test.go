package pfcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// recorder counts retransmissions.
type recorder struct{ in, out atomic.Int32 }

func (*recorder) Message(string, string, string) {}
func (*recorder) Latency(string, time.Duration)  {}

func (r *recorder) Retransmission(direction, _ string) {
	if direction == "in" {
		r.in.Add(1)
	} else {
		r.out.Add(1)
	}
}

// handler counts executions and waits where told.
type handler struct {
	calls atomic.Int32
	gate  chan struct{} // nil: do not wait
	panic bool
}

func (*handler) Heartbeat(m *Message) *Answer {
	a := m.Answer()
	a.Add(ie.NewRecoveryTimeStamp(time.Unix(1_700_000_000, 0)))
	return a
}

func (h *handler) Congested(m *Message) *Answer {
	a := m.Answer()
	a.Cause(ie.CausePFCPEntityInCongestion)
	return a
}

func (h *handler) Handle(_ context.Context, m *Message) *Answer {
	h.calls.Add(1)
	if h.panic {
		panic("on purpose")
	}
	if h.gate != nil {
		<-h.gate
	}
	a := m.Answer()
	a.SEID = 9
	a.Cause(ie.CauseRequestAccepted)
	return a
}

func serve(t *testing.T, h Handler) (*Server, *net.UDPConn) {
	t.Helper()
	return serveAt(t, h, 50*time.Millisecond)
}

// serveAt repeats its own requests at an interval.
func serveAt(t *testing.T, h Handler, interval time.Duration) (*Server, *net.UDPConn) {
	t.Helper()
	s, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"), Options{
		Interval: interval, Attempts: 3, Requests: 256, Answers: 1 << 20, Recorder: &recorder{},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Serve(ctx, h); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return s, c
}

func send(t *testing.T, c *net.UDPConn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

func deletion(t *testing.T, seq uint32) []byte {
	t.Helper()
	seid := uint64(5)
	b, err := marshal(message.MsgTypeSessionDeletionRequest, &seid, seq, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// limit is far above what anything takes here: only a failure waits for its end.
const limit = time.Minute

func receive(t *testing.T, c *net.UDPConn, d time.Duration) *Message {
	t.Helper()
	buf := make([]byte, 2048)
	if err := c.SetReadDeadline(time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(buf)
	if err != nil {
		return nil
	}
	m, err := Parse(buf[:n])
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRequestIsExecutedOnce(t *testing.T) {
	h := &handler{gate: make(chan struct{})}
	s, c := serve(t, h)
	for range 3 { // two copies arrive while the first runs
		send(t, c, deletion(t, 1))
	}
	if m := receive(t, c, 50*time.Millisecond); m != nil {
		t.Fatalf("answered before it was executed: %+v", m)
	}
	close(h.gate)
	if m := receive(t, c, limit); m == nil || m.SEID != 9 || m.Sequence != 1 {
		t.Fatalf("answer %+v", m)
	}
	for range 3 { // TS 29.244 6.4: every copy gets the same answer, one right behind it too
		send(t, c, deletion(t, 1))
		if m := receive(t, c, limit); m == nil || m.Sequence != 1 || m.SEID != 9 {
			t.Fatalf("answer to a copy that came after the answer: %+v", m)
		}
	}
	if n := h.calls.Load(); n != 1 {
		t.Errorf("executed %d times", n)
	}
	if n := s.opt.Recorder.(*recorder).in.Load(); n != 5 {
		t.Errorf("%d retransmissions counted, want 5", n)
	}
	// Another request under the same sequence number is another request.
	seid := uint64(6)
	b, err := marshal(message.MsgTypeSessionDeletionRequest, &seid, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, b)
	if m := receive(t, c, limit); m == nil || h.calls.Load() != 2 {
		t.Errorf("a new request under an old sequence number: answer %+v, executed %d times", m, h.calls.Load())
	}
}

func TestHeartbeatIsAnsweredWhileRequestsWait(t *testing.T) {
	h := &handler{gate: make(chan struct{})}
	_, c := serve(t, h)
	defer close(h.gate)
	send(t, c, deletion(t, 1))
	b, err := marshal(message.MsgTypeHeartbeatRequest, nil, 2, []*ie.IE{ie.NewRecoveryTimeStamp(time.Now())})
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, b)
	if m := receive(t, c, limit); m == nil || m.Type != message.MsgTypeHeartbeatResponse {
		t.Errorf("answer %+v, want a Heartbeat Response", m)
	}
}

func TestMalformedDatagrams(t *testing.T) {
	h := &handler{}
	_, c := serve(t, h)
	for _, b := range [][]byte{{}, {0x20}, {0x21, 54, 0, 4, 0, 0, 0, 0}, {0x20, 50, 0xff, 0xff, 0, 0, 0, 0}, {0x20, 50, 0, 0, 0, 0, 0, 0}} {
		send(t, c, b)
	}
	send(t, c, []byte{0x40, 50, 0, 4, 0, 0, 7, 0}) // version 2
	if m := receive(t, c, limit); m == nil || m.Type != message.MsgTypeVersionNotSupportedResponse || m.Sequence != 7 {
		t.Fatalf("answer %+v, want Version Not Supported under sequence number 7", m)
	}
	truncated := deletion(t, 3)
	truncated = append(truncated, 0, 19, 0, 9, 1) // an IE longer than the message
	truncated[3] += 5
	send(t, c, truncated)
	m := receive(t, c, limit)
	if m == nil {
		t.Fatal("no answer to an IE that is cut short")
	}
	if v, err := m.Elements.First(ie.Cause).Uint8(); err != nil || v != ie.CauseInvalidLength {
		t.Errorf("cause %d (%v), want invalid length", v, err)
	}
	if h.calls.Load() != 0 {
		t.Error("a malformed message was executed")
	}
}

func TestPanicIsAnsweredAndSurvived(t *testing.T) {
	h := &handler{panic: true}
	_, c := serve(t, h)
	send(t, c, deletion(t, 1))
	m := receive(t, c, limit)
	if m == nil {
		t.Fatal("no answer")
	}
	if v, err := m.Elements.First(ie.Cause).Uint8(); err != nil || v != ie.CauseSystemFailure {
		t.Errorf("cause %d (%v), want system failure", v, err)
	}
}

func TestOwnRequestIsSentThreeTimesThenGivenUp(t *testing.T) {
	s, _ := serve(t, &handler{})
	peer, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	to := peer.LocalAddr().(*net.UDPAddr).AddrPort()
	var seqs []uint32
	var reader sync.WaitGroup
	reader.Go(func() {
		for len(seqs) < 3 {
			m := receive(t, peer, limit)
			if m == nil {
				return
			}
			seqs = append(seqs, m.Sequence)
		}
	})
	_, err = s.Request(context.Background(), To(to), message.MsgTypeHeartbeatRequest, nil, ie.NewRecoveryTimeStamp(time.Now()))
	reader.Wait()
	if err == nil || len(seqs) != 3 || seqs[0] != seqs[1] || seqs[1] != seqs[2] {
		t.Errorf("error %v, sent under %v; want three copies under one sequence number, then an error", err, seqs)
	}
	if n := s.opt.Recorder.(*recorder).out.Load(); n != 2 {
		t.Errorf("%d retransmissions counted, want 2", n)
	}

	// The answer to the second copy is taken. A busy machine takes its time to give it.
	s, _ = serveAt(t, &handler{}, time.Second)
	reader.Go(func() {
		receive(t, peer, limit)
		m := receive(t, peer, limit)
		if m == nil {
			return
		}
		b, err := marshal(message.MsgTypeHeartbeatResponse, nil, m.Sequence, []*ie.IE{ie.NewRecoveryTimeStamp(time.Now())})
		if err == nil {
			_, err = peer.WriteToUDPAddrPort(b, s.Addr())
		}
		if err != nil {
			t.Error(err)
		}
	})
	m, err := s.Request(context.Background(), To(to), message.MsgTypeHeartbeatRequest, nil, ie.NewRecoveryTimeStamp(time.Now()))
	reader.Wait()
	if err != nil || m.Type != message.MsgTypeHeartbeatResponse {
		t.Errorf("answer %+v, %v", m, err)
	}
}

// What led to a request may not be stored any more when its context has ended: nothing is sent.
func TestRequestOfAnEndedContextIsNotSent(t *testing.T) {
	s, _ := serve(t, &handler{})
	peer, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	to := To(peer.LocalAddr().(*net.UDPAddr).AddrPort())
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := s.Request(ended, to, message.MsgTypeSessionReportRequest, new(uint64)); !errors.Is(err, context.Canceled) {
		t.Errorf("the request ends with %v", err)
	}
	if _, err := s.Request(context.Background(), to, message.MsgTypeHeartbeatRequest, nil, ie.NewRecoveryTimeStamp(time.Now())); err == nil {
		t.Error("nobody answers, and there is an answer")
	}
	if m := receive(t, peer, 30*time.Second); m != nil && m.Type != message.MsgTypeHeartbeatRequest { // in the order in which they were sent
		t.Errorf("first there comes message type %d", m.Type)
	}
}

func TestMessageAboveTheMTU(t *testing.T) {
	h := &handler{}
	_, c := serve(t, h)
	seid := uint64(5)
	var ies []*ie.IE
	for range 1000 {
		ies = append(ies, ie.New(0x7000, make([]byte, 50))) // optional IEs of an unknown type
	}
	b, err := marshal(message.MsgTypeSessionModificationRequest, &seid, 1, ies)
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, b)
	if m := receive(t, c, limit); m == nil {
		t.Errorf("no answer to a message of %d octets", len(b))
	}
}

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"internet": "internet", "\x08internet": "internet", "\x03ims\x06mnc093": "ims.mnc093", "\x03ims\x00": "ims",
		"5gdata": "5gdata", "": "", "\x00": "\x00", "\x09internet": "\x09internet",
	} {
		if got := Name([]byte(in)); got != want {
			t.Errorf("Name(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{0x21, 54, 0, 12, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 1, 0})
	f.Add([]byte{0x20, 5, 0, 13, 0, 0, 1, 0, 0, 60, 0, 5, 0, 127, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			return
		}
		for i := range m.Elements {
			_, _ = m.Elements[i].Group()
			_, _ = m.Elements[i].NodeID()
		}
	})
}

// A request and its repetition that both wait in the socket, because this side was slow, get one answer: the
// kernel knows when they came.
func TestRepetitionThatWaitedGetsNoSecondAnswer(t *testing.T) {
	s, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"), Options{
		Interval: time.Second, Attempts: 3, Requests: 256, Answers: 1 << 20, Recorder: &recorder{},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heartbeat, err := marshal(message.MsgTypeHeartbeatRequest, nil, 2, []*ie.IE{ie.NewRecoveryTimeStamp(time.Unix(1, 0))})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		send(t, c, deletion(t, 1))
		send(t, c, heartbeat)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = s.Serve(ctx, &handler{}) })
	defer done.Wait()
	defer cancel()
	answers := map[uint32]int{}
	for wait := limit; ; {
		m := receive(t, c, wait)
		if m == nil {
			break
		}
		if answers[m.Sequence]++; answers[1] > 0 && answers[2] > 0 {
			wait = 200 * time.Millisecond // for one too many
		}
	}
	if answers[1] != 1 || answers[2] != 1 {
		t.Errorf("answers by sequence number: %v, want one each", answers)
	}
}
