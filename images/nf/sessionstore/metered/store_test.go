package metered

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/conformance"
	"core5g.dev/core5g/images/nf/sessionstore/memory"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

type world struct {
	now   time.Time
	inner *memory.Store
	*Store
	registry *prometheus.Registry
}

func newWorld(t *testing.T) *world {
	w := &world{now: time.UnixMilli(1_800_000_000_000), registry: prometheus.NewPedanticRegistry()}
	clock := func() time.Time { return w.now }
	w.inner = memory.New(clock)
	var err error
	if w.Store, err = New(w.inner, w.registry, clock); err != nil {
		t.Fatal(err)
	}
	return w
}

// wants compares the samples of the named metrics, a line each.
func (w *world) wants(t *testing.T, names, want string) {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range families {
		if slices.Contains(strings.Fields(names), f.GetName()) {
			if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got strings.Builder
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "#") {
			got.WriteString(line)
		}
	}
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got.String())); diff != "" {
		t.Errorf("%s (-want +got):\n%s", names, diff)
	}
}

// What it counts changes nothing of what the store does.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T) *conformance.Subject {
		w := newWorld(t)
		return &conformance.Subject{
			Store: w.Store, Pass: func(d time.Duration) { w.now = w.now.Add(d) }, Short: time.Second, Forget: w.inner.Forget,
		}
	})
}

func change(key string, was, is uint64, value string) sessionstore.Change {
	c := sessionstore.Change{Key: key, Is: sessionstore.Revision{Writer: 1, Count: is}, Value: []byte(value)}
	if was != 0 {
		c.Was = sessionstore.Revision{Writer: 1, Count: was}
	}
	return c
}

func TestOperationsAreCountedByResult(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	l, err := w.Acquire(ctx, "0", "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Acquire(ctx, "0", "b", time.Minute)
	_ = w.Commit(ctx, l, change("one", 0, 1, strings.Repeat("x", 300)))
	_ = w.Commit(ctx, l, change("one", 7, 8, "x"))
	_ = w.Commit(ctx, l, change("one", 1, 2, strings.Repeat("x", sessionstore.MaxRecord+1)))
	w.inner.Fault = func(string) memory.Fault { w.now = w.now.Add(2 * time.Second); return memory.LostAnswer }
	_ = w.Commit(ctx, l, change("two", 0, 3, "x"))
	w.inner.Fault, w.inner.Away = nil, func() bool { return true }
	_ = w.Commit(ctx, l, change("three", 0, 4, "x"))
	_, _ = w.Read(ctx, "one")
	w.inner.Away = nil
	_, _ = w.Read(ctx, "one")
	_, _ = w.Find(ctx, sessionstore.Index{Kind: "supi", Value: "imsi-1"})
	w.wants(t, "core5g_session_store_operations_total", `
core5g_session_store_operations_total{operation="acquire",result="held"} 1
core5g_session_store_operations_total{operation="acquire",result="ok"} 1
core5g_session_store_operations_total{operation="commit",result="conflict"} 1
core5g_session_store_operations_total{operation="commit",result="ok"} 1
core5g_session_store_operations_total{operation="commit",result="too_large"} 1
core5g_session_store_operations_total{operation="commit",result="unavailable"} 1
core5g_session_store_operations_total{operation="commit",result="unknown"} 1
core5g_session_store_operations_total{operation="find",result="not_found"} 1
core5g_session_store_operations_total{operation="read",result="ok"} 1
core5g_session_store_operations_total{operation="read",result="unavailable"} 1
`)
	w.wants(t, "core5g_session_store_record_bytes", sizes("read")+sizes("written"))
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "core5g_session_store_operation_seconds" && m.GetLabel()[1].GetValue() == "unknown" {
				if got := m.GetHistogram().GetSampleSum(); got != 2 {
					t.Errorf("the commit of 2 s took %v s", got)
				}
				return
			}
		}
	}
	t.Error("no histogram of commits whose outcome is unknown")
}

// sizes is one record of 300 octets.
func sizes(direction string) string {
	var out strings.Builder
	for _, le := range []string{"128", "256", "512", "768", "1024", "1280", "1536", "1792", "2048", "+Inf"} {
		n := "1"
		if le == "128" || le == "256" {
			n = "0"
		}
		out.WriteString(`core5g_session_store_record_bytes_bucket{direction="` + direction + `",le="` + le + `"} ` + n + "\n")
	}
	out.WriteString(`core5g_session_store_record_bytes_sum{direction="` + direction + `"} 300` + "\n")
	out.WriteString(`core5g_session_store_record_bytes_count{direction="` + direction + `"} 1` + "\n")
	return out.String()
}

func TestLeasesAreThereWhileTheyAreHeld(t *testing.T) {
	ctx := context.Background()
	held := `core5g_session_store_lease_epoch{shard="0"} 1.8e+12` + "\n" +
		`core5g_session_store_lease_remaining_seconds{shard="0"} 60` + "\n"
	for name, lose := range map[string]func(w *world, l sessionstore.Lease){
		"a lease that is given up":           func(w *world, l sessionstore.Lease) { _ = w.Release(ctx, l) },
		"a lease that ended":                 func(w *world, _ sessionstore.Lease) { w.now = w.now.Add(time.Minute) },
		"a lease that a commit finds fenced": func(w *world, l sessionstore.Lease) { w.inner.Forget(); _ = w.Commit(ctx, l, change("k", 0, 1, "x")) },
		"a lease that a renewal finds fenced": func(w *world, l sessionstore.Lease) {
			w.inner.Forget()
			_, _ = w.Renew(ctx, l, time.Minute)
		},
		"a lease that a reservation finds fenced": func(w *world, l sessionstore.Lease) {
			w.inner.Forget()
			_, _ = w.Reserve(ctx, l, "block", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l, err := w.Acquire(ctx, "0", "a", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			w.wants(t, "core5g_session_store_lease_epoch core5g_session_store_lease_remaining_seconds", held)
			w.now = w.now.Add(10 * time.Second)
			if l, err = w.Renew(ctx, l, time.Minute); err != nil {
				t.Fatal(err)
			}
			w.wants(t, "core5g_session_store_lease_epoch core5g_session_store_lease_remaining_seconds", held)
			lose(w, l)
			w.wants(t, "core5g_session_store_lease_epoch core5g_session_store_lease_remaining_seconds", "")
		})
	}
}

// A pod whose old lease is found fenced does not lose sight of the one that it has taken since.
func TestAnOldLeaseHidesNoNewOne(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	old, _ := w.Acquire(ctx, "0", "a", time.Minute)
	if _, err := w.Acquire(ctx, "0", "a", time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(ctx, old, change("k", 0, 1, "x")); !errors.Is(err, sessionstore.ErrFenced) {
		t.Fatalf("Commit under the old lease: %v", err)
	}
	w.wants(t, "core5g_session_store_lease_epoch", `core5g_session_store_lease_epoch{shard="0"} 1.800000000001e+12`+"\n")
}

func (w *world) changes(t *testing.T) float64 {
	var m dto.Metric
	if err := w.generations.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func TestGenerationsAreCounted(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	count := func() float64 { return w.changes(t) }
	if _, err := w.Generation(ctx); err != nil || count() != 0 {
		t.Errorf("the first generation: %v, %v changes", err, count())
	}
	w.inner.Forget()
	for range 2 { // a lease tells it, and it is told once
		if _, err := w.Acquire(ctx, "0", "a", time.Minute); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Generation(ctx); err != nil || count() != 1 {
			t.Errorf("another generation: %v, %v changes", err, count())
		}
	}
}
