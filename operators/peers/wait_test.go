package peers

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/loopback"
)

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestWaitReturnsWhenThePeerListens(t *testing.T) {
	address := fmt.Sprintf("127.0.0.1:%d", loopback.Port(t))

	out := &lockedBuffer{}
	done := make(chan error, 1)
	go func() { done <- Wait(t.Context(), []string{"tcp://" + address}, out) }()
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(out.String(), "waiting for "+address) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not say what it waits for: %q", out)
		}
		time.Sleep(5 * time.Millisecond)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), address+" listens") {
		t.Errorf("it does not say that the peer listens: %q", out)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Wait(ctx, []string{"tcp://127.0.0.1:1"}, &lockedBuffer{})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("error %v does not name the peer", err)
	}
}

func TestWaitRefusesWhatItCannotRead(t *testing.T) {
	for _, target := range []string{"", "core5g-nrf:8000", "udp://a:1", "tcp://a", "tcp://:8000", "tcp://a:1/x"} {
		if err := Wait(t.Context(), []string{target}, &lockedBuffer{}); err == nil || !strings.Contains(err.Error(), "write tcp://host:port") {
			t.Errorf("%q: error %v", target, err)
		}
	}
	if err := Wait(t.Context(), nil, &lockedBuffer{}); err == nil {
		t.Error("no target is no error")
	}
}
