package shards

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/loopback"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
)

// Whether a pod that did not answer has died is found out behind the call: who has asked for it has somebody to answer.
func TestUnreached(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lives := listener.Addr().String()
	defer func() { _ = listener.Close() }()
	refuses := fmt.Sprintf("127.0.0.1:%d", loopback.Port(t))

	store := memory.New(time.Now)
	if _, err := store.Acquire(t.Context(), "0", "b", time.Minute); err != nil {
		t.Fatal(err)
	}
	k, err := New(Options{Holder: "a", Set: "smf", Shards: []string{"0"}, Gained: func(sessionstore.Lease) {}, Lost: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	for k.Holder("0") != "b" {
		list, _ := k.Step()
		for _, r := range list {
			k.Answered(r, k.Do(t.Context(), store, r))
		}
	}
	dead := func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, c := range k.claims {
			if c.name == "0" {
				return c.dead != 0
			}
		}
		return false
	}
	k.Probe("b", lives)
	if dead() {
		t.Error("one that listens is taken for dead")
	}
	k.mu.Lock() // whoever asks does not need the answer
	k.Unreached("b", refuses, io.EOF)
	k.mu.Unlock()
	for end := time.Now().Add(time.Minute); !dead(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("one whose host refuses connections is not taken for dead")
		}
	}
}
