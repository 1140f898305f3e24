package udm

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// Who does not answer has as many workers wait as it may, and holds up nobody else.
func TestAConsumerThatIsGoneHoldsUpNobody(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	n := newNotifier(answering(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == "gone:8000" { // for ever: no worker becomes free
			<-over
			return nil, http.ErrServerClosed
		}
		return &http.Response{StatusCode: http.StatusNoContent, Body: io.NopCloser(strings.NewReader(""))}, nil
	}), slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	holds := func(context.Context) bool { return false }
	for range 4 * notificationWorkers {
		n.changed("imsi-1", "http://gone:8000/callback", nil, holds, func(string, int) {})
	}
	told := make(chan string, 1)
	n.changed("imsi-2", "http://smf:8000/callback", nil, holds, func(result string, _ int) { told <- result })
	select {
	case result := <-told:
		if result != resultDelivered {
			t.Errorf("who answers: %q", result)
		}
	case <-time.After(time.Minute):
		t.Error("who answers waits behind who is gone")
	}
}

// A change of data that finds no room waits for it, and is told; a deregistration does not, since a request waits behind it.
func TestNothingCountsAsToldForWantOfRoom(t *testing.T) {
	open := make(chan struct{})
	n := newNotifier(answering(func(*http.Request) (*http.Response, error) {
		<-open
		return &http.Response{StatusCode: http.StatusNoContent, Body: io.NopCloser(strings.NewReader(""))}, nil
	}), slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	n.most = 2
	holds, done := func(context.Context) bool { return false }, func(string, int) {}
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("in vain: ", what)
			}
		}
	}
	waiting := func() int {
		n.mu.Lock()
		defer n.mu.Unlock()
		q := n.queues["smf"]
		if q == nil {
			return 0
		}
		return len(q.list)
	}
	for range notificationWorkers { // each has one that nobody answers
		n.changed("imsi-1", "http://smf/1", nil, holds, done)
		until("a worker has it", func() bool { return waiting() == 0 })
	}
	const more = 5
	queued := make(chan struct{}, more)
	for range more {
		go func() {
			n.changed("imsi-2", "http://smf/2", nil, holds, done)
			queued <- struct{}{}
		}()
	}
	<-queued
	<-queued // there is room for two
	until("the queue is full", func() bool { return waiting() == n.most })
	overflow := ""
	n.deregister(registrations{}, "imsi-3", farewell{URI: "http://smf/3", Access: access3GPP, Reason: reasonAreaChange}, func(result string) { overflow = result })
	if overflow != resultOverflow {
		t.Errorf("a deregistration without room: %q", overflow)
	}
	close(open)
	for range more - 2 {
		<-queued
	}
	delivered := n.changes.WithLabelValues(resultDelivered)
	until("all are told", func() bool { return testutil.ToFloat64(delivered) == notificationWorkers+more })
	for name, c := range map[string]struct {
		counter prometheus.Counter
		want    float64
	}{
		"changes": {n.changes.WithLabelValues(resultOverflow), 0}, "deregistrations": {n.deregistrations.WithLabelValues(resultOverflow), 1},
	} {
		if got := testutil.ToFloat64(c.counter); got != c.want {
			t.Errorf("%s without room: %v, want %v", name, got, c.want)
		}
	}
}
