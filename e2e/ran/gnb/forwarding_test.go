package gnb

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNewPathWaitsForTheOldOne(t *testing.T) {
	var got []byte
	delivered := make(chan struct{}, 10)
	o := &inOrder{limit: time.Hour, holding: true, deliver: func(p []byte, _ uint8) { got = append(got, p...); delivered <- struct{}{} }}
	o.fresh([]byte{3}, 1)
	o.forwarded([]byte{1}, 1)
	o.fresh([]byte{4}, 1)
	o.forwarded([]byte{2}, 1)
	o.end()
	o.fresh([]byte{5}, 1)
	if diff := cmp.Diff([]byte{1, 2, 3, 4, 5}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if held, dropped := o.waitedFor(); held != 2 || dropped != 0 {
		t.Errorf("%d held, %d dropped", held, dropped)
	}
}

func TestNewPathDoesNotWaitForEver(t *testing.T) {
	delivered := make(chan byte, 10)
	o := &inOrder{limit: time.Millisecond, holding: true, deliver: func(p []byte, _ uint8) { delivered <- p[0] }}
	o.fresh([]byte{1}, 1)
	select {
	case n := <-delivered:
		if n != 1 {
			t.Errorf("packet %d", n)
		}
	case <-time.After(time.Minute):
		t.Fatal("the packet was held for ever")
	}
}

func TestHeldPacketsAreBounded(t *testing.T) {
	count := 0
	o := &inOrder{limit: time.Hour, holding: true, deliver: func([]byte, uint8) { count++ }}
	for range maxHeldBack + 3 {
		o.fresh([]byte{1}, 1)
	}
	o.end()
	if held, dropped := o.waitedFor(); count != maxHeldBack || held != maxHeldBack || dropped != 3 {
		t.Errorf("%d delivered, %d held, %d dropped", count, held, dropped)
	}
}
