package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
)

// The objects of manifests/ and of the chart's defaults.
const (
	firstSlice  = "internet"
	secondSlice = "second"
	firstPhone  = "imsi-208930000000001"
	secondPhone = "imsi-208930000000002"
	dataNetwork = cluster.DataNetwork
	upfInstance = "upf"
	sliceFile   = "manifests/slice.yaml"
	secondFile  = "manifests/slice-second.yaml"
	ranFile     = "manifests/samples/ran.yaml"

	// Generous: two polling cores may be all that the machine has.
	patience = 2 * time.Minute
)

var (
	k *cluster.Cluster
	// core is what the stories are told with: CONTROL_PLANE and LAYOUT, and for a while what a story changes it to.
	core = cluster.Serving{Plane: cluster.Core5G, Layout: cluster.Distributed}
)

// ownPlane says that AMF and SMF are core5g's own, of several pods each or of one, and one SMF for all Slices.
func ownPlane() bool { return core.Plane == cluster.Core5G }

// componentOf names the pods that are a component in the core's layout; "" where it does without.
func componentOf(component string) string { return cluster.ComponentOf(core.Layout, component) }

func TestMain(m *testing.M) { scene.Main(m, "CORE5G_E2E", run) }

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if core.Plane, err = cluster.ControlPlane(); err != nil {
		return 0, err
	}
	if core.Layout, err = cluster.Layout(); err != nil {
		return 0, err
	}
	if k, err = cluster.Open(ctx); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// story begins a test: a context with a limit, and a clear skip without a cluster.
func story(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	if k == nil {
		t.Skip("needs a cluster: CORE5G_E2E=1 (make e2e)")
	}
	return scene.Begin(t, limit, explain)
}

// explain prints what a person would look at first. Not by t.Log: what the test itself has said stays
// recognisable, for the summary of hack/test repeats it.
func explain(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	scene.Show(t, ctx, k, 40,
		[]string{"get", "pods", "-o", "wide"},
		[]string{"get", "core5gs,slices,upfinstances,subscribers"},
		[]string{"get", "events", "--sort-by", ".lastTimestamp"},
		[]string{"exec", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "status"},
	)
}

var check = scene.Check

// only returns the one pod that is a component, of a slice where slice is not empty.
func only(t *testing.T, ctx context.Context, component, slice string) cluster.Object {
	t.Helper()
	var found cluster.Object
	check(t, cluster.Eventually(ctx, patience, func() error {
		selector := "app.kubernetes.io/component=" + componentOf(component)
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

// pods that are a component, of a slice where slice is not empty, as soon as all of them are ready.
func pods(t *testing.T, ctx context.Context, component, slice string) []cluster.Object {
	t.Helper()
	var found []cluster.Object
	check(t, cluster.Eventually(ctx, patience, func() error {
		selector := "app.kubernetes.io/component=" + componentOf(component)
		if slice != "" {
			selector += ",core5g.dev/slice=" + slice
		}
		var err error
		if found, err = k.Pods(ctx, selector); err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no pod with %s", selector)
		}
		for _, pod := range found {
			if !pod.Ready() {
				return fmt.Errorf("pod %s is not ready", pod.Metadata.Name)
			}
		}
		return nil
	}))
	slices.SortFunc(found, func(a, b cluster.Object) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	return found
}

// smfOf identifies the runs of the pods that serve a slice's sessions: free5GC's SMF for it, or core5g's own for all.
func smfOf(t *testing.T, ctx context.Context, slice string) string {
	t.Helper()
	if ownPlane() {
		slice = ""
	}
	var runs []string
	for _, pod := range pods(t, ctx, "smf", slice) {
		runs = append(runs, incarnation(pod))
	}
	return strings.Join(runs, "; ")
}

// amfOf identifies what serves UEs: with core5g's own AMF all its workers and where gNBs end.
func amfOf(t *testing.T, ctx context.Context) string {
	t.Helper()
	components := []string{"amf"}
	if ownPlane() && core.Layout == cluster.Distributed {
		components = append(components, "amf-n2")
	}
	var runs []string
	for _, component := range components {
		for _, pod := range pods(t, ctx, component, "") {
			runs = append(runs, incarnation(pod))
		}
	}
	return strings.Join(runs, "; ")
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

func startTraffic(ctx context.Context, supi string) *cluster.Traffic {
	return k.StartTraffic(ctx, supi, dataNetwork, upfInstance+"-0")
}

// lossless stops the traffic and fails the test when a packet was lost.
func lossless(t *testing.T, tr *cluster.Traffic) {
	t.Helper()
	check(t, tr.Lossless())
	t.Logf("%d packets sent, all came back", tr.Sent)
}
