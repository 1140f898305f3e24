package terminator

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"

	"github.com/free5gc/sctp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

const limit = 2 * time.Minute

// listen for gNBs and for workers.
func listen(t *testing.T) (gnbs *sctp.SCTPListener, workers net.Listener) {
	t.Helper()
	gnbs, err := (&sctp.SocketConfig{}).Listen("sctp", &sctp.SCTPAddr{IPAddrs: []net.IPAddr{{IP: net.IPv4(127, 0, 0, 1)}}})
	if err != nil {
		t.Fatal(err)
	}
	if workers, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return gnbs, workers
}

// A gNB and two workers, with real sockets: a message, its answer, and a worker that dies with a message in its hands.
func TestMessagesGoFromTheGNBToWorkersAndBack(t *testing.T) {
	t.Setenv(sctp.TransportEnv, "udp")
	n2Listener, workers := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	registry := prometheus.NewRegistry()
	ended := make(chan error, 1)
	server := &Server{
		N2: n2Listener, Workers: workers, Config: Config{Name: "t", Shards: shards, Set: amfSet}, Log: slog.New(slog.DiscardHandler), Metrics: registry,
	}
	go func() { ended <- server.Run(ctx) }()
	one, two := joinAs(t, workers, "one"), joinAs(t, workers, "two")
	one.post(&link.Holds{Shard: 2, Epoch: 1})

	gnb, err := (&sctp.SocketConfig{}).Dial("sctp", nil, n2Listener.Addr().(*sctp.SCTPAddr))
	if err != nil {
		t.Fatal(err)
	}
	if err := gnb.SubscribeEvents(sctp.SCTP_EVENT_DATA_IO); err != nil {
		t.Fatal(err)
	}
	opened := await[*link.Opened](t, one)
	await[*link.Opened](t, two)
	s := newStage(t)
	say := func(stream uint16) {
		if _, err := gnb.SCTPWrite(s.uplink(2, 1), &sctp.SndRcvInfo{Stream: stream, PPID: ngapPPID}); err != nil {
			t.Fatal(err)
		}
	}
	say(3)
	first := await[*link.Deliver](t, one)
	if m, fault := n2.Read(first.Message); fault != nil || m.Kind() != (&n2.UplinkNASTransport{}).Kind() {
		t.Errorf("what came is %v, %v", m, fault)
	}
	one.post(&link.Send{Shard: 2, Epoch: 1, Association: opened.Association, UE: 3, Message: []byte("answer")})
	b := make([]byte, 100)
	n, info, _, err := gnb.SCTPRead(b)
	if err != nil || string(b[:n]) != "answer" || info.Stream != 4 || info.PPID != ngapPPID {
		t.Errorf("the gNB reads %q, %+v, %v", b[:n], info, err)
	}
	one.post(&link.Done{Number: first.Number})
	one.post(&link.Send{Number: 9, Shard: link.NoShard}) // an echo: that has been heard
	await[*link.NotSent](t, one)
	say(3)
	second := await[*link.Deliver](t, one)
	one.conn.Close()
	two.post(&link.Holds{Shard: 2, Epoch: 2})
	if again := await[*link.Deliver](t, two); again.Number != second.Number || !again.Again {
		t.Errorf("the next holder gets %+v", again)
	}
	if server.beat.Load() == nil || server.Alive() != nil {
		t.Errorf("while it serves: %v", server.Alive())
	}
	if n := testutil.CollectAndCount(registry, "core5g_amf_n2_messages_total", "core5g_amf_n2_associations"); n < 4 {
		t.Errorf("%d metrics", n)
	}
	if err := gnb.Close(); err != nil {
		t.Fatal(err)
	}
	if gone := await[*link.Ended](t, two); gone.Association != opened.Association {
		t.Errorf("association %d has ended", gone.Association)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error("Run:", err)
	}
}

// slowConn is a gNB that takes its time to let its association end.
type slowConn struct {
	conn
	closing, letGo chan struct{}
}

func (c slowConn) Close() error {
	close(c.closing)
	<-c.letGo
	return nil
}

func TestAGNBThatIsSlowToEndHoldsUpNobody(t *testing.T) {
	c := slowConn{closing: make(chan struct{}), letGo: make(chan struct{})}
	a := &n2Conn{conn: c}
	a.goOn = sync.NewCond(&a.mu)
	r := &run{Server: &Server{}, associations: map[uint64]*n2Conn{1: a}}
	shut := make(chan struct{})
	go func() {
		r.do(func() { (*world)(r).Shut(1) })
		close(shut)
	}()
	<-c.closing
	select {
	case <-shut:
	case <-time.After(limit):
		t.Error("others wait for the gNB")
	}
	close(c.letGo)
	r.running.Wait()
}

// crowded is a listener that says these errors, one after the other.
type crowded struct {
	net.Listener
	errs []error
}

func (c *crowded) Accept() (net.Conn, error) {
	err := c.errs[0]
	c.errs = c.errs[1:]
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: err}
}

func TestAServerOutlivesALackOfRoom(t *testing.T) {
	full := os.NewSyscallError("accept4", syscall.EMFILE)
	var log bytes.Buffer
	accept := func(errs ...error) error {
		return (&run{Server: &Server{Workers: &crowded{errs: errs}, Log: slog.New(slog.NewTextHandler(&log, nil))}}).acceptWorkers()
	}
	if err := accept(full, full, net.ErrClosed); err != nil || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("without room: %v, and says\n%s", err, log.String())
	}
	if err := accept(syscall.EINVAL); err == nil {
		t.Error("a listener that is of no use is not told")
	}
}

// A terminator that goes waits for gNBs to let go of it, and serves those meanwhile, but none that come now.
func TestATerminatorLingers(t *testing.T) {
	t.Setenv(sctp.TransportEnv, "udp")
	for name, lets := range map[string]bool{"until the gNB has let go of it": true, "not for ever": false} {
		t.Run(name, func(t *testing.T) {
			n2Listener, workers := listen(t)
			linger := time.Second
			if lets {
				linger = limit
			}
			server := &Server{
				N2: n2Listener, Workers: workers, Config: Config{Name: "t", Shards: shards, Set: amfSet}, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Linger: linger,
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- server.Run(ctx) }()
			dial := func() *sctp.SCTPConn {
				conn, err := (&sctp.SocketConfig{}).Dial("sctp", nil, n2Listener.Addr().(*sctp.SCTPAddr))
				if err != nil {
					t.Fatal(err)
				}
				return conn
			}
			one := joinAs(t, workers, "one")
			one.post(&link.Holds{Shard: 2, Epoch: 1})
			gnb := dial()
			await[*link.Opened](t, one)
			cancel()
			if lets {
				for deadline := time.Now().Add(limit); ; { // it may not have heard yet that it goes
					late := dial()
					if err := late.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
						t.Fatal(err)
					}
					_, _, _, err := late.SCTPRead(make([]byte, 64))
					_ = late.Close()
					if errors.Is(err, io.EOF) {
						break
					}
					if time.Now().After(deadline) {
						t.Fatal("a gNB that comes now is served")
					}
				}
				if _, err := gnb.SCTPWrite(newStage(t).uplink(2, 1), &sctp.SndRcvInfo{Stream: 1, PPID: ngapPPID}); err != nil {
					t.Fatal(err)
				}
				await[*link.Deliver](t, one)
				_ = gnb.Close()
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(limit / 2):
				t.Fatal("it does not end")
			}
		})
	}
}

// A connection that was accepted while the server ended would have kept it for as long as its peer liked.
func TestWhoComesAtTheEndIsNotServed(t *testing.T) {
	r := &run{Server: &Server{Log: slog.New(slog.DiscardHandler)}, ending: true, workers: map[uint64]*link.Conn{}, t: New(Config{})}
	here, there := net.Pipe()
	defer func() { _ = there.Close() }()
	if err := there.SetReadDeadline(time.Now().Add(limit)); err != nil { // before: of a pipe that is closed it is refused
		t.Fatal(err)
	}
	r.running.Go(func() { r.serveWorker(here) })
	if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a worker hears %v", err)
	}
	r.running.Wait()
	if len(r.workers) != 0 {
		t.Errorf("%d workers are served", len(r.workers))
	}
}

func TestAServerThatIsStuckSaysSo(t *testing.T) {
	s := &Server{}
	for _, x := range []struct {
		what string
		ago  time.Duration
		want string
	}{
		{"just now", 0, ""}, {"when the next Tick is due", tickEvery, ""}, {"long ago", time.Minute, "nothing was done since "},
	} {
		at := time.Now().Add(-x.ago)
		s.beat.Store(&at)
		if err := s.Alive(); (err == nil) != (x.want == "") || err != nil && !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("something was done %s: %v, want %q", x.what, err, x.want)
		}
	}
	s.beat.Store(nil)
	if err := s.Alive(); err != nil {
		t.Errorf("it is not at work: %v", err)
	}
}

// member is a worker of the test's.
type member struct {
	t      *testing.T
	conn   *link.Conn
	frames chan link.Frame
}

func joinAs(t *testing.T, workers net.Listener, name string) *member {
	c, err := net.Dial("tcp4", workers.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	m := &member{t: t, conn: link.NewConn(c), frames: make(chan link.Frame, 100)}
	t.Cleanup(m.conn.Close)
	go func() {
		_ = m.conn.Run(func(f link.Frame) error {
			select {
			case m.frames <- f:
				return nil
			default:
				return errors.New("too much for a test")
			}
		})
	}()
	m.post(&link.Hello{Version: link.Version, Worker: name, Shards: shards})
	await[*link.Welcome](t, m)
	if last := await[*link.Opened](t, m); !last.Last {
		t.Errorf("there is an association: %+v", last)
	}
	return m
}

func (m *member) post(f link.Frame) {
	m.t.Helper()
	if err := m.conn.Post(f); err != nil {
		m.t.Fatal(err)
	}
}

// await the next frame, which must be of this kind.
func await[F link.Frame](t *testing.T, m *member) F {
	t.Helper()
	select {
	case f := <-m.frames:
		is, ok := f.(F)
		if !ok {
			t.Fatalf("a frame %T %+v", f, f)
		}
		return is
	case <-time.After(limit):
		panic("no frame came")
	}
}
