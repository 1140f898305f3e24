package udm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

// few are subscribers that are there.
type few map[string]bool

func (f few) Subscriber(_ context.Context, supi string) (subscription.Subscriber, error) {
	if !f[supi] {
		return subscription.Subscriber{}, subscription.ErrUnknownSubscriber
	}
	return subscription.Subscriber{SUPI: supi, Slices: []subscription.SubscribedSlice{{Slice: subscription.Slice{SNSSAI: subscription.SNSSAI{SST: 1}}}}}, nil
}

func (f few) Confirmed(ctx context.Context, supi string) (subscription.Subscriber, error) {
	return f.Subscriber(ctx, supi)
}

func (few) Slices(context.Context) ([]subscription.Slice, error) { return nil, nil }

// newUDM on a store of its own. Whoever it tells is in told.
func newUDM(t *testing.T, directory Directory) (u *UDM, told func() []string) {
	t.Helper()
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var uris []string
	u = New(directory, records.New(memory.New(time.Now), sealer, "a"), answering(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(r.URL.Host, "away") {
			return nil, io.ErrUnexpectedEOF
		}
		uris = append(uris, r.URL.String())
		return &http.Response{StatusCode: http.StatusNoContent, Body: io.NopCloser(strings.NewReader(""))}, nil
	}), slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	return u, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return uris
	}
}

func registered(callback string) *amfRegistration {
	return &amfRegistration{
		Body: map[string]any{
			"amfInstanceId": "a", "deregCallbackUri": callback, "guami": map[string]any{"plmnId": map[string]any{"mcc": "208", "mnc": "93"}, "amfId": "cafe00"},
		},
		SNSSAIs: []subscription.SNSSAI{{SST: 1}},
	}
}

// unreadable is a directory that does not answer.
type unreadable struct{ few }

func (unreadable) Subscriber(_ context.Context, supi string) (subscription.Subscriber, error) {
	return subscription.Subscriber{}, fmt.Errorf("%s: the database is away", supi)
}

// What is the same for all subscribers is said once a minute, not for each of them, each second.
func TestADirectoryThatIsAwayIsSaidOnce(t *testing.T) {
	u, _ := newUDM(t, unreadable{})
	var text bytes.Buffer
	u.log = slog.New(slog.NewTextHandler(&text, nil))
	for n := range 20 {
		supi := fmt.Sprint("imsi-", 100+n)
		err := u.checkOne(supi)
		if err == nil {
			t.Fatal("it answers")
		}
		u.complain(slog.LevelError, "nobody is told", supi, err)
	}
	u.complain(slog.LevelError, "nobody is told", "", errors.New("something else"))
	if got := strings.Count(text.String(), "nobody is told"); got != 2 {
		t.Errorf("it is said %d times:\n%s", got, text.String())
	}
}

// An AMF that a replica had to tell, and has died over, is told by another: once it is certain, and once.
func TestWhoWasAbandonedIsTold(t *testing.T) {
	u, told := newUDM(t, few{"imsi-1": true})
	ctx := t.Context()
	now := time.Now().UTC()
	err := u.registrations.change(ctx, "imsi-1", true, func(ue *servedUE) error {
		ue.AMF[access3GPP] = registered("http://new/")
		ue.Farewells = []farewell{
			{URI: "http://abandoned/", Access: access3GPP, Reason: reasonAreaChange, Since: now.Add(-time.Minute)},
			{URI: "http://under-way/", Access: access3GPP, Reason: reasonAreaChange, Since: now},
			{URI: "http://new/", Access: access3GPP, Reason: reasonAreaChange, Since: now.Add(-time.Minute)}, // the UE has come back to it
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	left := func() []string {
		ue, err := u.registrations.ue(ctx, "imsi-1")
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range ue.Farewells {
			out = append(out, f.URI)
		}
		return out
	}
	for range 2 {
		if err := u.sendAbandoned(ctx, now.Add(-abandonedAfter)); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); len(left()) != 1; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("left: %q", left())
			}
		}
	}
	if diff := cmp.Diff([]string{"http://abandoned/"}, told()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"http://under-way/"}, left()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// Who could not be told is told again when everything is looked at; who has answered is not.
func TestWhoCouldNotBeToldIsToldAgain(t *testing.T) {
	there := few{"imsi-1": true, "imsi-2": true}
	u, told := newUDM(t, there)
	u.Withdraws, u.notifier.age = true, 50*time.Millisecond
	ctx := t.Context()
	if err := u.registrations.change(ctx, "imsi-1", true, func(ue *servedUE) error {
		ue.AMF[access3GPP] = registered("http://away/withdrawn")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(sdmSubscription{Callback: "http://away/changed", Resources: map[string]string{"am-data": "imsi-2/am-data"}})
	if err != nil {
		t.Fatal(err)
	}
	id, err := u.subscriptions.Add(ctx, "imsi-2", raw)
	if err != nil {
		t.Fatal(err)
	}
	delete(there, "imsi-1")
	look := func(results string, deregistrations, changes float64) {
		t.Helper()
		u.Changed("")
		is := func() (float64, float64) {
			return testutil.ToFloat64(u.notifier.deregistrations.WithLabelValues(results)), testutil.ToFloat64(u.notifier.changes.WithLabelValues(results))
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			a, b := is()
			u.changes.Lock()
			busy := u.checking || len(u.underWay) > 0
			u.changes.Unlock()
			if a == deregistrations && b == changes && !busy {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %v, %v", results, a, b)
			}
		}
	}
	look(resultUndeliverable, 1, 1)
	look(resultUndeliverable, 2, 2)
	// They are there again.
	if err := u.registrations.change(ctx, "imsi-1", false, func(ue *servedUE) error {
		ue.AMF[access3GPP].Body["deregCallbackUri"] = "http://amf/withdrawn"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := u.subscriptions.Replace(ctx, id, func(was records.Subscription) ([]byte, error) {
		return bytes.Replace(was.Body, []byte("away"), []byte("amf"), 1), nil
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		look(resultDelivered, 1, 1)
	}
	got := told()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"http://amf/changed", "http://amf/withdrawn"}, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// asked are subscribers whose look-ups are seen.
type asked struct {
	few
	seen func(supi string)
}

func (a asked) Subscriber(ctx context.Context, supi string) (subscription.Subscriber, error) {
	a.seen(supi)
	return a.few.Subscriber(ctx, supi)
}

// A subscriber that changes while all are looked at does not wait for them.
func TestAChangeDoesNotWaitForAll(t *testing.T) {
	there := few{"imsi-1": true, "imsi-2": true, "imsi-3": true, "imsi-9": true}
	var u *UDM
	var order []string
	u, _ = newUDM(t, asked{there, func(supi string) {
		order = append(order, supi)
		if len(order) == 1 {
			u.Changed("imsi-9")
		}
	}})
	for supi := range there {
		err := u.registrations.change(t.Context(), supi, true, func(ue *servedUE) error {
			ue.AMF[access3GPP] = registered("http://amf/")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	u.checking = true // by this goroutine
	if err := u.checkAll(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"imsi-1", "imsi-9", "imsi-2", "imsi-3", "imsi-9"}, order); diff != "" {
		t.Errorf("looked at (-want +got):\n%s", diff)
	}
}

// What is kept of a subscriber that is gone goes with the second look, and nothing of the others.
func TestWhatNobodyEndsIsDropped(t *testing.T) {
	there := few{"imsi-1": true, "imsi-2": true}
	u, _ := newUDM(t, there)
	ctx := t.Context()
	for supi := range there {
		err := u.registrations.change(ctx, supi, true, func(ue *servedUE) error {
			ue.AMF[access3GPP] = registered("http://amf/")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.registrations.enter(ctx, supi, 5, pduSession{PDUSessionID: 5}); err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(sdmSubscription{})
		if _, err := u.subscriptions.Add(ctx, supi, raw); err != nil {
			t.Fatal(err)
		}
	}
	counts := func() map[string]int {
		out := map[string]int{}
		for _, group := range []string{groupUEs, groupSessions, "sdm", groupOfSlice(subscription.SNSSAI{SST: 1})} {
			n, err := u.registrations.records.Count(ctx, group)
			if err != nil {
				t.Fatal(err)
			}
			out[group] = n
		}
		return out
	}
	delete(there, "imsi-2")
	for look, want := range []int{2, 1, 1} {
		if err := u.tidy(ctx); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]int{groupUEs: want, groupSessions: want, "sdm": want, "ues-of:1": want}, counts()); diff != "" {
			t.Errorf("look %d (-want +got):\n%s", look+1, diff)
		}
	}
}

// An AMF's registration has more than is kept: it is refused, and said.
func TestARegistrationThatIsTooLarge(t *testing.T) {
	u, _ := newUDM(t, few{"imsi-1": true})
	large := registered("http://amf/")
	large.Body["backupAmfInfo"] = strings.Repeat("x", records.MaxValue)
	if _, _, err := u.register(t.Context(), amfKey{"imsi-1", access3GPP}, large, reasonAreaChange); !errors.Is(err, records.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if r, err := u.registrations.of(t.Context(), amfKey{"imsi-1", access3GPP}); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
