package suite

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// The objects of manifests/ and of the chart's defaults.
const (
	firstSlice  = "internet"
	secondSlice = "second"
	firstPhone  = "imsi-208930000000001"
	secondPhone = "imsi-208930000000002"
	dataNetwork = "172.30.6.1"
	upfInstance = "upf"
	sliceFile   = "manifests/slice.yaml"
	secondFile  = "manifests/slice-second.yaml"
	ranFile     = "manifests/samples/ran.yaml"

	// Generous: two polling cores may be all that the machine has.
	patience = 2 * time.Minute
)

var k *cluster.Cluster

func TestMain(m *testing.M) {
	if os.Getenv("CORE5G_E2E") == "" {
		os.Exit(m.Run()) // every test skips itself by name
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	var err error
	k, err = cluster.Open(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// story begins a test: a context with a limit, and a clear skip without a cluster.
func story(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	if k == nil {
		t.Skip("needs a cluster: CORE5G_E2E=1 (make e2e)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if t.Failed() {
			explain(t)
		}
	})
	return ctx
}

// explain prints what a person would look at first. Not by t.Log: what the test itself has said stays
// recognisable, for the summary of hack/test repeats it.
func explain(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, args := range [][]string{
		{"get", "pods", "-o", "wide"},
		{"get", "core5gs,slices,upfinstances,subscribers"},
		{"get", "events", "--sort-by", ".lastTimestamp"},
		{"exec", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "status"},
	} {
		out, err := k.Run(ctx, args...)
		if err != nil {
			out = err.Error()
		}
		lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
		if len(lines) > 40 {
			lines = lines[len(lines)-40:]
		}
		fmt.Fprintf(t.Output(), "kubectl %s\n%s\n", strings.Join(args, " "), strings.Join(lines, "\n"))
	}
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// only returns the one pod of a component, of a slice where slice is not empty.
func only(t *testing.T, ctx context.Context, component, slice string) cluster.Object {
	t.Helper()
	var found cluster.Object
	check(t, cluster.Eventually(ctx, patience, func() error {
		selector := "app.kubernetes.io/component=" + component
		if slice != "" {
			selector += ",core5g.dev/slice=" + slice
		}
		pods, err := k.Pods(ctx, selector)
		if err != nil {
			return err
		}
		if len(pods) != 1 {
			return fmt.Errorf("%d pods with %s, want 1", len(pods), selector)
		}
		found = pods[0]
		return nil
	}))
	return found
}

// incarnation identifies a pod and the run of each of its containers: it changes with a new pod
// and with a restarted container.
func incarnation(pod cluster.Object) string {
	var b strings.Builder
	b.WriteString(pod.Metadata.UID)
	for _, c := range pod.Status.ContainerStatuses {
		fmt.Fprintf(&b, " %s=%s", c.Name, c.ContainerID)
	}
	return b.String()
}

// attached makes sure that a phone has a PDU session and that its packets come back.
func attached(t *testing.T, ctx context.Context, supi string) cluster.UEStatus {
	t.Helper()
	ue, err := k.WaitAttached(ctx, supi, patience)
	check(t, err)
	check(t, pingsAgain(ctx, supi, patience))
	return ue
}

func pingsAgain(ctx context.Context, supi string, limit time.Duration) error {
	return cluster.Eventually(ctx, limit, func() error {
		p, err := k.Ping(ctx, supi, dataNetwork, 3, 100*time.Millisecond)
		if err == nil && p.Received == 0 {
			err = fmt.Errorf("%s: no answer from %s", supi, dataNetwork)
		}
		return err
	})
}

// traffic pings through a phone's PDU session until it is stopped.
type traffic struct {
	stop chan struct{}
	done sync.WaitGroup
	sum  cluster.Ping
	err  error
	// lost are the rounds that lost packets; drops is what the UPF had dropped before.
	lost  []string
	drops map[string]float64
}

func startTraffic(ctx context.Context, supi string) *traffic {
	tr := &traffic{stop: make(chan struct{})}
	tr.drops, _ = readUPFMetrics(ctx)
	tr.done.Add(1)
	go func() {
		defer tr.done.Done()
		for {
			began := time.Now()
			p, err := k.Ping(ctx, supi, dataNetwork, 50, 20*time.Millisecond)
			if err != nil {
				tr.err = fmt.Errorf("traffic that began at %s: %w", began.Format(time.TimeOnly), err)
				return
			}
			if p.Received != p.Sent {
				tr.lost = append(tr.lost, fmt.Sprintf("%d of %d between %s and %s",
					p.Sent-p.Received, p.Sent, began.Format(time.TimeOnly), time.Now().Format(time.TimeOnly)))
			}
			tr.sum.Sent += p.Sent
			tr.sum.Received += p.Received
			select {
			case <-tr.stop:
				return
			default:
			}
		}
	}()
	return tr
}

// lossless stops the traffic and fails the test when a packet was lost.
func (tr *traffic) lossless(t *testing.T) {
	t.Helper()
	close(tr.stop)
	tr.done.Wait()
	if tr.err != nil {
		t.Fatal(tr.err)
	}
	if tr.sum.Sent == 0 || tr.sum.Received != tr.sum.Sent {
		t.Fatalf("%d of %d packets came back, want all; lost %s; %s",
			tr.sum.Received, tr.sum.Sent, strings.Join(tr.lost, ", "), tr.dropped())
	}
	t.Logf("%d packets sent, all came back", tr.sum.Sent)
}

// dropped says which of the UPF's drops have grown since the traffic began.
func (tr *traffic) dropped() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	now, err := readUPFMetrics(ctx)
	if err != nil {
		return err.Error()
	}
	var grown []string
	for name, n := range now {
		if strings.HasPrefix(name, "upf_dropped_packets_total{") && n > tr.drops[name] {
			grown = append(grown, fmt.Sprintf("%s grew by %.0f", name, n-tr.drops[name]))
		}
	}
	if grown == nil {
		return "the UPF dropped none"
	}
	slices.Sort(grown)
	return strings.Join(grown, ", ")
}
