package gather

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// below is a connection whose writes are noted, and wait until they are let go.
type below struct {
	net.Conn
	writes   chan []byte
	free     chan error
	deadline time.Time
}

func (b *below) Write(p []byte) (int, error) {
	b.writes <- bytes.Clone(p)
	if err := <-b.free; err != nil {
		return 0, err
	}
	return len(p), nil
}

func (b *below) Close() error { return nil }

func (b *below) SetReadDeadline(time.Time) error { return nil }

func (b *below) SetWriteDeadline(t time.Time) error {
	b.deadline = t
	return nil
}

func newBelow() *below { return &below{writes: make(chan []byte), free: make(chan error)} }

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("write %q: %d, %v", text, n, err)
	}
}

// full is a connection without room for more: what was written first is being sent.
func full(t *testing.T) (*below, net.Conn) {
	t.Helper()
	b := newBelow()
	c := Conn(b)
	write(t, c, "first")
	<-b.writes
	write(t, c, string(make([]byte, most)))
	return b, c
}

// What is written while something is sent leaves together, in its order, and what a failed write was is told to the next.
func TestWritesLeaveTogether(t *testing.T) {
	b := newBelow()
	c := Conn(b)
	write(t, c, "first")
	if got := <-b.writes; string(got) != "first" {
		t.Fatalf("sent %q", got)
	}
	for _, text := range []string{"one ", "two ", "three"} {
		write(t, c, text)
	}
	b.free <- nil
	if got := <-b.writes; string(got) != "one two three" {
		t.Errorf("sent %q, want what was written meanwhile, at once", got)
	}
	failure := errors.New("the peer has gone")
	b.free <- failure
	<-c.(*conn).ended
	if _, err := c.Write([]byte("more")); !errors.Is(err, failure) {
		t.Errorf("%v, want %v", err, failure)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Write([]byte("more")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, want %v", err, net.ErrClosed)
	}
}

// pair is a gathered connection and its peer.
func pair(t *testing.T) (c, peer net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if c, err = Dialer(new(net.Dialer).DialContext)(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if peer, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = peer.Close()
	})
	return c, peer
}

// All that is written before the end arrives, in its order, more than is kept too.
func TestAllArrives(t *testing.T) {
	c, peer := pair(t)
	var want []byte
	for range 2000 {
		b := make([]byte, rand.IntN(3000))
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		want = append(want, b...)
	}
	want = append(want, bytes.Repeat([]byte{7}, 2*most)...)
	go func() {
		rest := want
		for len(rest) > 2*most {
			n := min(1+rand.IntN(3000), len(rest)-2*most)
			_, _ = c.Write(rest[:n])
			rest = rest[n:]
		}
		_, _ = c.Write(rest) // in one piece
		_ = c.Close()
	}()
	got, err := io.ReadAll(peer)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d octets of %d arrive as they were written: %t, %v", len(got), len(want), bytes.Equal(got, want), err)
	}
}

// A peer that takes nothing has writes wait for room, until their deadline or the end, which nothing keeps for long.
func TestAPeerThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := full(t)
		const patience = time.Second
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := c.Write([]byte{1}); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != patience {
			t.Errorf("%v after %s, want %v after %s", err, time.Since(start), os.ErrDeadlineExceeded, patience)
		}
		if _, err := c.Write(nil); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v behind the deadline", err)
		}
		if err := c.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 2)
		go func() {
			_, err := c.Write([]byte{1})
			ended <- err
		}()
		synctest.Wait()
		if len(ended) > 0 {
			t.Error("a write does not wait for room")
		}
		closed := make(chan error, 2)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v, want %v", err, net.ErrClosed)
		}
		if want := start.Add(patience + leaving); len(closed) > 0 || !b.deadline.Equal(want) {
			t.Errorf("%d ends, and what is there may leave until %s, want none and %s", len(closed), b.deadline, want)
		}
		if err := c.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v, want %v", err, net.ErrClosed)
		}
		if err := c.Close(); err != nil { // the second time: at once
			t.Error(err)
		}
		b.free <- os.ErrDeadlineExceeded
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TLS says at its end that nothing is to be written any more. What was written before leaves.
func TestNothingMoreIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBelow()
		c := Conn(b)
		write(t, c, "last")
		now := time.Now()
		if err := c.SetWriteDeadline(now); err != nil {
			t.Fatal(err)
		}
		if want := now.Add(leaving); !b.deadline.Equal(want) {
			t.Errorf("what was written may leave until %s, want %s", b.deadline, want)
		}
		if _, err := c.Write([]byte{1}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v, want %v", err, os.ErrDeadlineExceeded)
		}
		if got := <-b.writes; string(got) != "last" {
			t.Errorf("sent %q", got)
		}
		b.free <- nil
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// There is room again as soon as something has left.
func TestRoomAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := full(t)
		ended := make(chan error, 1)
		go func() {
			_, err := c.Write([]byte("last"))
			ended <- err
		}()
		synctest.Wait()
		b.free <- nil
		if got := <-b.writes; len(got) != most {
			t.Errorf("%d octets are sent, want %d", len(got), most)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		go func() { _ = c.Close() }()
		b.free <- nil
		if got := <-b.writes; string(got) != "last" {
			t.Errorf("sent %q at the end", got)
		}
		b.free <- nil
	})
}

// counted counts the system calls of writes.
type counted struct {
	net.Conn
	writes *atomic.Int32
}

func (c counted) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

type countedListener struct {
	net.Listener
	writes *atomic.Int32
}

func (l countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return counted{c, l.writes}, err
}

// HTTP/2 needs one system call for most messages, headers and content.
func TestHTTP2LeavesTogether(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var requests, answers atomic.Int32
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})}
	go func() { _ = server.Serve(Listener(countedListener{l, &answers})) }()
	defer func() { _ = server.Close() }()
	client := &http.Transport{Protocols: protocols, DialContext: Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return counted{c, &requests}, err
	})}
	defer client.CloseIdleConnections()
	const exchanges = 300
	for range exchanges {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String(), bytes.NewReader(make([]byte, 800)))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || len(body) != 800 {
			t.Fatalf("%d octets, %v", len(body), err)
		}
		_ = response.Body.Close()
	}
	t.Log(requests.Load(), answers.Load())
	// 2.2 for a request, and 1.2 for an answer, where nothing is gathered.
	if r, a := requests.Load(), answers.Load(); r > exchanges*3/2 || a > exchanges*3/2 {
		t.Errorf("%d writes of requests and %d of answers, for %d of each", r, a, exchanges)
	}
}
