package udm

// Notifications: of deregistration (TS 29.503 5.3.2.3.2), to the AMF that served a UE until another registered, or that
// serves one whom nobody is to serve any more; of changes of data (5.2.2.5), to whoever asked for them. Whoever has one to send
// only puts it into the queue of whom it is for, the host of its URI; workers of that queue, which run while there are any, send
// them, so that one who does not answer holds up nobody else. A deregistration that finds no room stays
// with the registration, and is sent later, since a request waits behind it; a change of data waits for room. Who does not answer is asked again until
// the notification is old: who is gone needs none. Before each attempt it is asked whether the notification still holds: a UE
// may have come back to the AMF in the meantime, and a late notification would take it away again. What has come of it is said
// to who sent it, and only then does it count as told: a replica that dies before leaves it to another.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
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

	// Of an AMF with many UEs that is gone, no more wait than are worth it. Both are for each host.
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
	reasonWithdrawn           = "SUBSCRIPTION_WITHDRAWN"
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

// notification is one to send.
type notification struct {
	// what it is, for the log, with the keys and values of about.
	what  string
	about []any
	uri   string
	data  any
	// superseded says that it does not hold any more; done hears what has come of it, with the status of a refusal.
	superseded func(context.Context) bool
	done       func(result string, status int)
	results    *prometheus.CounterVec
	before     time.Time
}

// notifier is safe for concurrent use.
type notifier struct {
	client *http.Client
	log    *slog.Logger
	// deregistrations and changed count by result.
	deregistrations, changes *prometheus.CounterVec

	mu     sync.Mutex
	queues map[string]*notifications // by host, as long as there is something in them
	// most that wait in a queue; room is told when one has gone.
	most int
	room *sync.Cond
	// age is how long a notification is worth an attempt.
	age time.Duration
}

// notifications to one host.
type notifications struct {
	list    []notification
	workers int
}

// hostOf a callback URI: who answers for it.
func hostOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return uri
	}
	return u.Host
}

func newNotifier(transport http.RoundTripper, log *slog.Logger, reg prometheus.Registerer) *notifier {
	n := &notifier{
		client: &http.Client{Transport: transport, Timeout: attemptLimit}, log: log,
		deregistrations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_deregistration_notifications_total",
			Help: "Notifications to AMFs that another AMF serves the UE, or that nobody is to, by their result.",
		}, []string{"result"}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_data_change_notifications_total",
			Help: "Notifications to AMFs and SMFs that data of a subscriber have changed, by their result.",
		}, []string{"result"}),
	}
	n.queues, n.most, n.room, n.age = map[string]*notifications{}, notificationQueue, sync.NewCond(&n.mu), notificationAge
	reg.MustRegister(n.deregistrations, n.changes)
	for _, r := range []string{resultDelivered, resultRefused, resultUndeliverable, resultSuperseded, resultOverflow} {
		n.deregistrations.WithLabelValues(r) // 0 from the start, so that a rate sees the first
		n.changes.WithLabelValues(r)
	}
	return n
}

// doneLimit is for writing down what has come of a notification.
const doneLimit = 5 * time.Second

// deregister has the AMF before notified that another serves the UE.
func (n *notifier) deregister(registrations registrations, supi string, f farewell, done func(result string)) {
	n.send(n.ofAMF(amfKey{supi, f.Access}, f.URI, f.Reason, func(ctx context.Context) bool {
		ue, err := registrations.ue(ctx, supi)
		if err != nil {
			return false
		}
		now := ue.AMF[f.Access]
		return now != nil && string(now.callback) == f.URI || !slices.ContainsFunc(ue.Farewells, f.same) // it was told meanwhile
	}, func(result string, _ int) { done(result) }))
}

// withdraw has the AMF behind the callback URI notified that nobody is to serve the UE. It waits for room.
func (n *notifier) withdraw(key amfKey, uri string, superseded func(context.Context) bool, done func(result string, status int)) {
	n.sendWhenRoom(n.ofAMF(key, uri, reasonWithdrawn, superseded, done))
}

func (n *notifier) ofAMF(key amfKey, uri, reason string, superseded func(context.Context) bool, done func(string, int)) notification {
	access := map[string]string{access3GPP: "3GPP_ACCESS", accessNon3GPP: "NON_3GPP_ACCESS"}[key.access]
	return notification{
		what: "notification of deregistration", about: []any{"supi", key.supi, "access", access, "reason", reason},
		uri: uri, data: deregistrationData{reason, access}, superseded: superseded, done: done, results: n.deregistrations,
	}
}

// changed has a consumer of data notified. It waits for room.
func (n *notifier) changed(supi, uri string, data any, superseded func(context.Context) bool, done func(result string, status int)) {
	n.sendWhenRoom(notification{
		what: "notification of changed data", about: []any{"supi", supi}, uri: uri, data: data, superseded: superseded, done: done, results: n.changes,
	})
}

// send what a request waits behind: where there is no room, not now.
func (n *notifier) send(item notification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.full(item) {
		n.count(item, resultOverflow, nil)
		item.done(resultOverflow, 0)
		return
	}
	n.enqueue(item)
}

func (n *notifier) sendWhenRoom(item notification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.full(item) {
		n.room.Wait()
	}
	n.enqueue(item)
}

// full says whether there is no room for an item; the caller holds the lock.
func (n *notifier) full(item notification) bool {
	q := n.queues[hostOf(item.uri)]
	return q != nil && len(q.list) >= n.most
}

// enqueue an item; the caller holds the lock.
func (n *notifier) enqueue(item notification) {
	item.before = time.Now().Add(n.age)
	host := hostOf(item.uri)
	q := n.queues[host]
	if q == nil {
		q = &notifications{}
		n.queues[host] = q
	}
	q.list = append(q.list, item)
	if q.workers < notificationWorkers {
		q.workers++
		go n.work(host, q)
	}
}

// work sends until the queue is empty.
func (n *notifier) work(host string, q *notifications) {
	for {
		n.mu.Lock()
		if len(q.list) == 0 {
			q.list = nil
			if q.workers--; q.workers == 0 {
				delete(n.queues, host)
			}
			n.mu.Unlock()
			return
		}
		item := q.list[0]
		q.list = q.list[1:]
		n.room.Broadcast()
		n.mu.Unlock()
		result, status, err := n.deliver(item)
		item.done(result, status)
		n.count(item, result, err)
	}
}

// deliver tries until there is an answer or the notification is not needed any more.
func (n *notifier) deliver(item notification) (result string, status int, err error) {
	ctx, cancel := context.WithDeadline(context.Background(), item.before)
	defer cancel()
	var last error
	for wait := retryFirst; ; wait *= 2 {
		if item.superseded(ctx) {
			return resultSuperseded, 0, nil
		}
		status, err := n.post(ctx, item)
		switch {
		case err != nil:
			last = err
		case status < http.StatusMultipleChoices:
			return resultDelivered, status, nil
		case status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
			// 404 among them: an AMF does not know the UE any more (TS 29.503 6.2.5.2.3.1).
			return resultRefused, status, fmt.Errorf("the answer was %d", status)
		default:
			last = fmt.Errorf("the answer was %d", status)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return resultUndeliverable, 0, last
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
	item.results.WithLabelValues(result).Inc()
	level := slog.LevelInfo
	if result == resultUndeliverable || result == resultOverflow {
		level = slog.LevelWarn
	}
	about := append([]any{"result", result, "uri", item.uri}, item.about...)
	if err != nil {
		about = append(about, "error", err)
	}
	n.log.Log(context.Background(), level, item.what, about...)
}
