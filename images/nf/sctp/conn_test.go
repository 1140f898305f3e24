package sctp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ngapPPID is 60 in network byte order, as the API wants it.
func ngapPPID() uint32 {
	var octets [4]byte
	binary.BigEndian.PutUint32(octets[:], 60)
	return binary.NativeEndian.Uint32(octets[:])
}

var loopback = []net.IPAddr{{IP: net.IPv4(127, 0, 0, 1)}}

const allEvents = SCTP_EVENT_DATA_IO | SCTP_EVENT_SHUTDOWN | SCTP_EVENT_ASSOCIATION

// onEachTransport runs a test over each transport that this machine has.
func onEachTransport(t *testing.T, test func(t *testing.T)) {
	t.Run("udp", func(t *testing.T) {
		t.Setenv(TransportEnv, "udp")
		test(t)
	})
	t.Run("kernel", func(t *testing.T) {
		if !kernelHasSCTP() {
			t.Skip("this kernel has no SCTP")
		}
		t.Setenv(TransportEnv, "kernel")
		test(t)
	})
}

// impatient gives an association up when a second packet of it is unanswered, which takes 0.3 s: a machine that pauses for as long
// ends it. Tests that are not of giving up leave it to the transport.
var impatient = &AssocInfo{AsocMaxRxt: 1}

func listen(t *testing.T, port int) *SCTPListener {
	t.Helper()
	return listenWith(t, port, nil)
}

func listenWith(t *testing.T, port int, patience *AssocInfo) *SCTPListener {
	t.Helper()
	cfg := &SocketConfig{
		InitMsg:   InitMsg{NumOstreams: 3, MaxInstreams: 5, MaxAttempts: 2, MaxInitTimeout: 2},
		RtoInfo:   &RtoInfo{SrtoInitial: 500, SrtoMax: 1500, StroMin: 100},
		AssocInfo: patience,
	}
	l, err := cfg.Listen("sctp", &SCTPAddr{IPAddrs: loopback, Port: port})
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func accept(t *testing.T, l *SCTPListener) *SCTPConn {
	t.Helper()
	c, err := l.AcceptSCTP(5000)
	if err != nil {
		t.Fatalf("accept: %v", err)
	}
	if err := c.SubscribeEvents(allEvents); err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func dial(t *testing.T, laddr *SCTPAddr, l *SCTPListener) *SCTPConn {
	t.Helper()
	return dialWith(t, laddr, l, nil)
}

func dialWith(t *testing.T, laddr *SCTPAddr, l *SCTPListener, patience *AssocInfo) *SCTPConn {
	t.Helper()
	c, err := (&SocketConfig{AssocInfo: patience}).Dial("sctp", laddr, l.Addr().(*SCTPAddr))
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	if err := c.SubscribeEvents(allEvents); err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func pair(t *testing.T) (client, server *SCTPConn) {
	t.Helper()
	return pairWith(t, nil)
}

func pairWith(t *testing.T, patience *AssocInfo) (client, server *SCTPConn) {
	t.Helper()
	l := listenWith(t, 0, patience)
	client = dialWith(t, nil, l, patience)
	return client, accept(t, l)
}

func receive(t *testing.T, c *SCTPConn) ([]byte, *SndRcvInfo) {
	t.Helper()
	if err := c.SetReadTimeout(syscall.Timeval{Sec: 10}); err != nil {
		t.Fatalf("set read timeout: %v", err)
	}
	buf := make([]byte, 262144)
	n, info, notification, err := c.SCTPRead(buf)
	if err != nil || notification != nil {
		t.Fatalf("read: notification %v, error %v", notification, err)
	}
	return buf[:n], info
}

// readEnd reads until the association has ended, and gives the states and types notified on the way.
func readEnd(t *testing.T, c *SCTPConn, within time.Duration) []string {
	t.Helper()
	if err := c.SetReadTimeout(syscall.Timeval{Sec: int64(within / time.Second)}); err != nil {
		t.Fatalf("set read timeout: %v", err)
	}
	var seen []string
	buf := make([]byte, 4096)
	for {
		_, _, notification, err := c.SCTPRead(buf)
		switch n := notification.(type) {
		case *SCTPShutdownEvent:
			seen = append(seen, "shutdown")
		case *SCTPAssocChangeEvent:
			seen = append(seen, fmt.Sprintf("state %d", n.State()))
		}
		if err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
			return seen
		}
		if err != nil {
			t.Fatalf("read: %v after %v", err, seen)
		}
	}
}

func TestMessageKeepsItsBoundaryStreamAndPPID(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		client, server := pair(t)
		for stream := range uint16(3) {
			sent := &SndRcvInfo{Stream: stream, PPID: ngapPPID()}
			if _, err := client.SCTPWrite([]byte{1, 2, byte(stream)}, sent); err != nil {
				t.Fatalf("write: %v", err)
			}
			data, info := receive(t, server)
			if !bytes.Equal(data, []byte{1, 2, byte(stream)}) {
				t.Errorf("got % x on stream %d", data, stream)
			}
			if info == nil || info.Stream != stream || info.PPID != ngapPPID() {
				t.Errorf("got info %+v, want stream %d, PPID %#x", info, stream, ngapPPID())
			}
		}
	})
}

func TestTheLastStreamIsOneOfThePeers(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		client, server := pair(t)
		for _, c := range [][2]*SCTPConn{{client, server}, {server, client}} {
			n, err := c[0].OutboundStreams()
			if err != nil || n < 2 {
				t.Fatalf("%d streams, %v", n, err)
			}
			if _, err := c[0].SCTPWrite([]byte{1}, &SndRcvInfo{Stream: n - 1, PPID: ngapPPID()}); err != nil {
				t.Fatalf("write on stream %d: %v", n-1, err)
			}
			if _, info := receive(t, c[1]); info == nil || info.Stream != n-1 {
				t.Errorf("it came on %+v, want stream %d", info, n-1)
			}
		}
	})
}

func TestDefaultSentParamAppliesToWrite(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		client, server := pair(t)
		info, err := server.GetDefaultSentParam()
		if err != nil {
			t.Fatalf("get: %v", err)
		}
		info.PPID = ngapPPID()
		if err := server.SetDefaultSentParam(info); err != nil {
			t.Fatalf("set: %v", err)
		}
		if _, err := server.Write([]byte("NG Setup")); err != nil {
			t.Fatalf("write: %v", err)
		}
		data, got := receive(t, client)
		if string(data) != "NG Setup" || got == nil || got.PPID != ngapPPID() || got.Stream != 0 {
			t.Errorf("got %q with %+v", data, got)
		}
	})
}

func TestBigMessagesArriveWhole(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		client, server := pair(t)
		for _, c := range []*SCTPConn{client, server} {
			_ = c.SetWriteBuffer(1 << 20)
			_ = c.SetReadBuffer(1 << 20)
		}
		for _, size := range []int{1, 1199, 1200, 1201, 65536, 65537, 100000, 200000} {
			want := make([]byte, size)
			for i := range want {
				want[i] = byte(i * 7 / 3)
			}
			if _, err := client.SCTPWrite(want, &SndRcvInfo{PPID: ngapPPID()}); err != nil {
				t.Fatalf("write %d octets: %v", size, err)
			}
			if got, _ := receive(t, server); !bytes.Equal(got, want) {
				t.Errorf("%d octets: got %d, or other ones", size, len(got))
			}
		}
	})
}

func TestReadPastItsTimeoutGivesEAGAINItself(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		client, server := pair(t)
		if err := server.SetReadTimeout(syscall.Timeval{Usec: 50_000}); err != nil {
			t.Fatalf("set: %v", err)
		}
		if _, _, _, err := server.SCTPRead(make([]byte, 10)); err != syscall.EAGAIN {
			t.Errorf("got %v, want EAGAIN", err)
		}
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatalf("write: %v", err)
		}
		if data, _ := receive(t, server); string(data) != "x" {
			t.Errorf("got %q after the timeout", data)
		}
	})
}

func TestCloseWakesReaderWithEBADF(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		_, server := pair(t)
		result := make(chan error)
		go func() {
			_, _, _, err := server.SCTPRead(make([]byte, 10))
			result <- err
		}()
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-result; err != syscall.EBADF {
			t.Errorf("reader got %v, want EBADF", err)
		}
		if err := server.Close(); err != syscall.EBADF {
			t.Errorf("second close gave %v, want EBADF", err)
		}
		if _, err := server.Write([]byte("x")); err != syscall.EBADF {
			t.Errorf("write gave %v, want EBADF", err)
		}
	})
}

func TestPeersCloseIsAShutdown(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		client, server := pair(t)
		if _, err := client.Write([]byte("last words")); err != nil {
			t.Fatalf("write: %v", err)
		}
		if err := client.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		if data, _ := receive(t, server); string(data) != "last words" {
			t.Errorf("got %q", data)
		}
		seen := readEnd(t, server, time.Minute)
		if len(seen) == 0 || seen[0] != "shutdown" {
			t.Errorf("saw %v, want a shutdown event first", seen)
		}
	})
}

func TestAbortIsALostAssociation(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		client, server := pair(t)
		if err := client.Abort(); err != nil {
			t.Fatalf("abort: %v", err)
		}
		want := fmt.Sprintf("state %d", SCTP_COMM_LOST)
		if seen := readEnd(t, server, time.Minute); len(seen) != 1 || seen[0] != want {
			t.Errorf("saw %v, want %q", seen, want)
		}
		if _, err := server.Write([]byte("x")); err == nil {
			t.Error("a write to an ended association succeeded")
		}
	})
}

func TestManyAssociationsOnOneListener(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		l := listen(t, 0)
		const associations, messages = 40, 25
		go func() {
			for {
				c, err := l.AcceptSCTP(-1)
				if err != nil {
					return
				}
				go func() {
					defer func() { _ = c.Close() }()
					buf := make([]byte, 1000)
					for {
						n, err := c.Read(buf)
						if err != nil {
							return
						}
						if _, err := c.Write(buf[:n]); err != nil {
							return
						}
					}
				}()
			}
		}()
		var wg sync.WaitGroup
		for i := range associations {
			wg.Go(func() {
				c, err := DialSCTP("sctp", nil, l.Addr().(*SCTPAddr))
				if err != nil {
					t.Errorf("dial %d: %v", i, err)
					return
				}
				defer func() { _ = c.Close() }()
				buf := make([]byte, 1000)
				for m := range messages {
					want := fmt.Sprintf("association %d message %d", i, m)
					if _, err := c.Write([]byte(want)); err != nil {
						t.Errorf("write: %v", err)
						return
					}
					n, err := c.Read(buf)
					if err != nil || string(buf[:n]) != want {
						t.Errorf("got %q, %v, want %q", buf[:n], err, want)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestDialToNobodyIsRefusedAtOnce(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		l := listen(t, 0)
		addr := l.Addr().(*SCTPAddr)
		if err := l.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		start := time.Now()
		if _, err := DialSCTP("sctp", nil, addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v, want connection refused", err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestClosedListenerLetsAcceptGo(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		l := listen(t, 0)
		if _, err := l.AcceptSCTP(10); err != syscall.EAGAIN {
			t.Errorf("accept gave %v after its timeout, want EAGAIN", err)
		}
		result := make(chan error)
		go func() {
			_, err := l.AcceptSCTP(-1)
			result <- err
		}()
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-result; !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept gave %v, want closed", err)
		}
		if !l.IsStopped() {
			t.Error("the listener does not say that it stopped")
		}
	})
}

func TestAssociationOutlivesItsListener(t *testing.T) {
	onEachTransport(t, func(t *testing.T) {
		l := listen(t, 0)
		client := dial(t, nil, l)
		server := accept(t, l)
		if err := l.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		if _, err := client.Write([]byte("still here")); err != nil {
			t.Fatalf("write: %v", err)
		}
		if data, _ := receive(t, server); string(data) != "still here" {
			t.Errorf("got %q", data)
		}
	})
}

func TestWrongTransportIsRefused(t *testing.T) {
	t.Setenv(TransportEnv, "tcp")
	if _, err := ListenSCTP("sctp", &SCTPAddr{IPAddrs: loopback}); err == nil {
		t.Error("listening over tcp succeeded")
	}
	if _, err := ListenSCTP("tcp", nil); err == nil {
		t.Error("network tcp was taken")
	}
}

func TestAddressReadsWhatItPrints(t *testing.T) {
	for _, want := range []string{"127.0.0.1:38412", "10.0.0.1/10.0.1.1:38412", "[::1]:38412", ":38412"} {
		a, err := ResolveSCTPAddr("sctp", want)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if got := a.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
