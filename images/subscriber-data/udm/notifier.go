package udm

// Notifications of deregistration (TS 29.503 5.3.2.3.2): the AMF that served a UE until another registered is told to
// forget it. Requests only put a notification into the queue; workers, which run while there are any, send them. An
// AMF that does not answer is asked again until the notification is old: an AMF that is gone needs none. Before each
// attempt the registrations are looked at, because a UE may have come back to the AMF in the meantime, and a late
// notification would take it away again.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// notificationAge is how long a notification is worth an attempt, and attemptLimit how long one may take.
	notificationAge = 30 * time.Second
	attemptLimit    = 4 * time.Second
	// retryFirst is doubled after each attempt.
	retryFirst = 250 * time.Millisecond

	// Of an AMF with many UEs that is gone, no more wait than are worth it.
	notificationQueue   = 8192
	notificationWorkers = 16
)

// Results of a notification, as the metric counts them.
const (
	resultDelivered     = "delivered"
	resultRefused       = "refused"
	resultUndeliverable = "undeliverable"
	resultSuperseded    = "superseded"
	resultOverflow      = "overflow"
)

// Reasons of a deregistration (TS 29.503 6.2.6.3.3).
const (
	reasonInitialRegistration = "UE_INITIAL_REGISTRATION"
	reasonAreaChange          = "UE_REGISTRATION_AREA_CHANGE"
)

// reasonOf is why the AMF before is told. A registration over non-3GPP access does not say whether it is initial; it has
// no registration areas to move between.
func reasonOf(access string, initial bool) string {
	if initial || access == accessNon3GPP {
		return reasonInitialRegistration
	}
	return reasonAreaChange
}

// deregistrationData is DeregistrationData of TS 29.503 6.2.6.2.5.
type deregistrationData struct {
	DeregReason string `json:"deregReason"`
	AccessType  string `json:"accessType"`
}

type notification struct {
	key    amfKey
	uri    string
	data   deregistrationData
	before time.Time
}

// notifier is safe for concurrent use.
type notifier struct {
	client        *http.Client
	registrations registrations
	log           *slog.Logger
	results       *prometheus.CounterVec

	mu      sync.Mutex
	queue   []notification
	workers int
}

func newNotifier(transport http.RoundTripper, r registrations, log *slog.Logger, reg prometheus.Registerer) *notifier {
	n := &notifier{
		client: &http.Client{Transport: transport, Timeout: attemptLimit}, registrations: r, log: log,
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_deregistration_notifications_total",
			Help: "Notifications to AMFs that another AMF serves the UE, by their result.",
		}, []string{"result"}),
	}
	reg.MustRegister(n.results)
	for _, r := range []string{resultDelivered, resultRefused, resultUndeliverable, resultSuperseded, resultOverflow} {
		n.results.WithLabelValues(r) // 0 from the start, so that a rate sees the first
	}
	return n
}

// deregister has the AMF behind the callback URI notified.
func (n *notifier) deregister(key amfKey, uri, reason string) {
	access := map[string]string{access3GPP: "3GPP_ACCESS", accessNon3GPP: "NON_3GPP_ACCESS"}[key.access]
	item := notification{key, uri, deregistrationData{reason, access}, time.Now().Add(notificationAge)}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) >= notificationQueue {
		n.count(item, resultOverflow, nil)
		return
	}
	n.queue = append(n.queue, item)
	if n.workers < notificationWorkers {
		n.workers++
		go n.work()
	}
}

// work sends until the queue is empty.
func (n *notifier) work() {
	for {
		n.mu.Lock()
		if len(n.queue) == 0 {
			n.queue = nil
			n.workers--
			n.mu.Unlock()
			return
		}
		item := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		result, err := n.deliver(item)
		n.count(item, result, err)
	}
}

// deliver tries until the AMF has answered or the notification is not needed any more.
func (n *notifier) deliver(item notification) (string, error) {
	ctx, cancel := context.WithDeadline(context.Background(), item.before)
	defer cancel()
	var last error
	for wait := retryFirst; ; wait *= 2 {
		if now, ok := n.registrations.of(item.key); ok && string(now.callback) == item.uri {
			return resultSuperseded, nil
		}
		status, err := n.post(ctx, item)
		switch {
		case err != nil:
			last = err
		case status < http.StatusMultipleChoices:
			return resultDelivered, nil
		case status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
			// 404 among them: the AMF does not know the UE any more (TS 29.503 6.2.5.2.3.1).
			return resultRefused, fmt.Errorf("the AMF answered %d", status)
		default:
			last = fmt.Errorf("the AMF answered %d", status)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return resultUndeliverable, last
		case <-timer.C:
		}
	}
}

func (n *notifier) post(ctx context.Context, item notification) (int, error) {
	raw, err := json.Marshal(item.data)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, item.uri, bytes.NewReader(raw))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := n.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	// Read to its end, the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	return resp.StatusCode, nil
}

func (n *notifier) count(item notification, result string, err error) {
	n.results.WithLabelValues(result).Inc()
	level := slog.LevelInfo
	if result == resultUndeliverable || result == resultOverflow {
		level = slog.LevelWarn
	}
	about := []any{"result", result, "supi", item.key.supi, "access", item.data.AccessType, "reason", item.data.DeregReason, "uri", item.uri}
	if err != nil {
		about = append(about, "error", err)
	}
	n.log.Log(context.Background(), level, "notification of deregistration", about...)
}
