package link

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// samples: one frame of each kind, every member set.
var samples = []Frame{
	&Hello{Version: 1, Worker: "amf-0", Shards: 4, Resumes: true}, &Holds{Shard: 2, Epoch: 1 << 40}, &LetsGo{Shard: 2, Epoch: 3},
	&Send{Number: 7, Shard: 2, Epoch: 3, Association: 9, UE: 1 << 39, Message: []byte{0, 21}}, &Done{Number: 8},
	&Remember{Shard: 1, Epoch: 2, Association: 9, Node: []byte{1}}, &Share{Number: 8}, &HangUp{Shard: 1, Epoch: 2, Association: 9}, &Keep{Number: 8, UE: 1 << 39},
	&Welcome{Version: 1, Terminator: "n2-0/5"}, &Opened{Association: 9, Peer: "10.0.0.1:38412", Node: []byte{1}, Listed: true, Last: true, Here: "192.0.2.1:38412", Ago: 70},
	&Ended{Association: 9, Why: "shut down"}, &Node{Association: 9, Node: []byte{2}},
	&Deliver{Number: 8, Association: 9, Shard: 2, Again: true, Shared: true, Message: []byte{0, 15}, Of: 5, At: 1 << 40, Keeps: true, UE: 1 << 39}, &NotSent{Number: 7, Shard: 2, Fenced: true, Why: "no"},
}

func TestFramesComeBackAsTheyWent(t *testing.T) {
	if len(samples) != len(kinds) {
		t.Fatalf("%d samples of %d kinds", len(samples), len(kinds))
	}
	var b []byte
	for _, f := range samples {
		var err error
		if b, err = Append(b, f); err != nil {
			t.Fatal(err)
		}
		b, _ = Append(b, nil)
	}
	r := bytes.NewReader(b)
	for _, want := range samples {
		for _, want := range []Frame{want, nil} {
			got, err := Read(r)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
	}
	if _, err := Read(r); err != io.EOF {
		t.Errorf("behind the last: %v", err)
	}
}

func TestMalformedFrames(t *testing.T) {
	for name, b := range map[string]string{
		"of no kind":     "\x00\x00\x00\x01\x63",
		"too long":       "\x7f\x00\x00\x00",
		"no map":         "\x00\x00\x00\x02\x05\x01",
		"a key twice":    "\x00\x00\x00\x06\x05\xa2\x00\x01\x00\x02",
		"without an end": "\x00\x00\x00\x02\x05\xbf",
	} {
		t.Run(name, func(t *testing.T) {
			if f, err := Read(strings.NewReader(b)); !errors.Is(err, ErrMalformed) {
				t.Errorf("%v, %v", f, err)
			}
		})
	}
	if _, err := Append(nil, &Send{Message: make([]byte, MostOctets)}); err == nil {
		t.Error("a frame that nobody reads is written")
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range samples {
		b, _ := Append(nil, s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := Read(bytes.NewReader(b))
		if err != nil || frame == nil {
			return
		}
		again, err := Append(nil, frame)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Read(bytes.NewReader(again)); err != nil || !cmp.Equal(frame, back) {
			t.Errorf("%v is read as %v, %v", frame, back, err)
		}
	})
}

// pipe is two ends of a TCP connection.
func pipe(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if a, err = net.Dial("tcp4", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

// hasty is a connection that gives up soon.
func hasty(c net.Conn) *Conn {
	out := NewConn(c)
	out.pingEvery, out.silentFor = 100*time.Millisecond, 600*time.Millisecond
	return out
}

func TestAConnectionKeepsTheOrderAndEndsOnce(t *testing.T) {
	a, b := pipe(t)
	here, there := NewConn(a), NewConn(b)
	var got []uint64
	enough := errors.New("enough")
	ended := make(chan error, 1)
	go func() { ended <- here.Run(func(Frame) error { return nil }) }()
	const most = 10_000
	go func() {
		for n := range uint64(most) {
			_ = here.Post(&Done{Number: n})
		}
	}()
	err := there.Run(func(f Frame) error {
		got = append(got, f.(*Done).Number)
		if len(got) == most {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("Run: %v", err)
	}
	for n, is := range got {
		if is != uint64(n) {
			t.Fatalf("frame %d is %d", n, is)
		}
	}
	if err := <-ended; err == nil {
		t.Error("the peer's end is not told")
	}
	if err := here.Post(&Done{}); err == nil {
		t.Error("a frame is taken after the end")
	}
}

func TestASilentPeerIsDead(t *testing.T) {
	a, _ := pipe(t) // nobody writes at the other end
	var timeout net.Error
	if err := hasty(a).Run(func(Frame) error { return nil }); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("Run: %v", err)
	}
}

func TestPingsKeepAnIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		here, there := NewConn(a), NewConn(b)
		ended := make(chan error, 2)
		for _, c := range []*Conn{here, there} {
			go func() { ended <- c.Run(func(Frame) error { return nil }) }()
		}
		time.Sleep(10 * SilentFor) // of the test's own clock
		select {
		case err := <-ended:
			t.Fatalf("it ended by itself: %v", err)
		default:
		}
		here.Close()
		if err := errors.Join(<-ended, <-ended); !errors.Is(err, ErrClosed) {
			t.Errorf("Close: %v", err)
		}
	})
}

func TestAPeerThatDoesNotReadIsGivenUp(t *testing.T) {
	a, b := pipe(t)
	c := hasty(a)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(func(Frame) error { return nil }) }()
	go func() { // it writes, and reads nothing
		for _, err := b.Write([]byte{0, 0, 0, 0}); err == nil; _, err = b.Write([]byte{0, 0, 0, 0}) {
			time.Sleep(c.pingEvery)
		}
	}()
	big := &Deliver{Message: make([]byte, MostOctets/2)}
	var err error
	for err == nil {
		err = c.Post(big)
	}
	if got := <-ended; !errors.Is(got, err) && !errors.Is(got, ErrSlow) {
		t.Errorf("Post: %v, Run: %v", err, got)
	}
}

// lingering is a connection whose end takes its time.
type lingering struct {
	net.Conn
	closing, letGo chan struct{}
}

func (l lingering) Close() error {
	close(l.closing)
	<-l.letGo
	return l.Conn.Close()
}

func TestNobodyWaitsForAConnectionThatEnds(t *testing.T) {
	a, _ := pipe(t)
	l := lingering{a, make(chan struct{}), make(chan struct{})}
	defer close(l.letGo)
	c, told := NewConn(l), make(chan error)
	go func() {
		c.Close()
		told <- c.Post(&Done{})
	}()
	<-l.closing
	select {
	case err := <-told:
		if !errors.Is(err, ErrClosed) {
			t.Errorf("Post: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}
