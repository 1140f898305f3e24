package link

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Frames go through memory as by a network, in both directions at once, and the end of one side is the other's.
func TestFramesThroughMemory(t *testing.T) {
	m := NewMemory()
	defer func() { _ = m.Close() }()
	at, err := m.Addresses(t.Context())
	if err != nil || len(at) != 1 {
		t.Fatalf("terminators at %v, %v", at, err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := m.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	a, err := m.Dial(t.Context(), at[0])
	if err != nil {
		t.Fatal(err)
	}
	here, there := NewConn(a), NewConn(<-accepted)
	const most = 2000
	got, ended := make(chan []Frame, 2), make(chan error, 2)
	for _, c := range []*Conn{here, there} {
		go func() {
			var all []Frame
			ended <- c.Run(func(f Frame) error {
				if all = append(all, f); len(all) == most {
					got <- all
				}
				return nil
			})
		}()
	}
	var want []Frame
	for n := range uint64(most) {
		f := &Deliver{Number: n, Message: make([]byte, 300)}
		want = append(want, f)
		if err := errors.Join(here.Post(f), there.Post(f)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		select {
		case all := <-got:
			if diff := cmp.Diff(want, all, cmp.Comparer(bytes.Equal)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		case <-time.After(time.Minute):
			t.Fatal("frames are missing")
		}
	}
	here.Close()
	if err := errors.Join(<-ended, <-ended); err == nil {
		t.Error("the other end is not told")
	}
}

func TestATerminatorInMemoryThatEnds(t *testing.T) {
	m := NewMemory()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Dial(ctx, memory); !errors.Is(err, context.Canceled) {
		t.Errorf("a worker that ends while nobody accepts: %v", err)
	}
	_, _ = m.Close(), m.Close()
	if _, err := m.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	if _, err := m.Dial(t.Context(), memory); !errors.Is(err, ErrNoTerminator) {
		t.Errorf("Dial: %v", err)
	}
}
