package operate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/grafana"
	"core5g.dev/core5g/e2e/scene"
)

const (
	// Of manifests/ and of the chart's defaults.
	firstSlice, secondSlice = "internet", "second"
	firstPhone, secondPhone = "imsi-208930000000001", "imsi-208930000000002"
	dataNetwork             = cluster.DataNetwork
	upfInstance             = "upf"

	// patience is for what the core does on a machine where two polling cores may be all that there is;
	// alertLimit is what is promised of alerts.
	patience   = 3 * time.Minute
	alertLimit = 2 * time.Minute
	// growLimit is for what grows as fast as the machine lets it.
	growLimit = 6 * time.Minute

	// quick are values of the chart for a suite that cannot wait for minutes. A worker counts as saturated as
	// soon as it has something to do: how much the simulated phone can send depends on the machine.
	quick = `monitoring.interval="5s",monitoring.alerts.for="15s",monitoring.alerts.window="1m",` +
		`monitoring.alerts.workerBusyRatio=0.05,monitoring.alerts.nodeAgentSilenceSeconds=75`
)

var (
	k    *cluster.Cluster
	prom *grafana.Prometheus
	// began is when the release got the suite's values: pictures show what came after.
	began time.Time
)

func TestMain(m *testing.M) { scene.Main(m, "CORE5G_E2E", run) }

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var err error
	if k, err = cluster.Open(ctx); err != nil {
		return 0, err
	}
	stop, err := openPrometheus()
	if err != nil {
		return 0, err
	}
	defer stop()
	revision, err := k.Revision(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := k.HelmRun(ctx, "upgrade", cluster.Release, "charts/core5g", "--reuse-values", "--set-json", quick, "--wait", "--timeout", "2m"); err != nil {
		return 0, err
	}
	began = time.Now()
	code := m.Run()
	if os.Getenv("CORE5G_KEEP") == "" {
		if err := restore(revision); err != nil {
			return code, err
		}
	}
	return code, nil
}

// restore takes back what the suite made and set.
func restore(revision string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if err := k.Delete(ctx, "manifests/slice-second.yaml"); err != nil {
		return err
	}
	_, err := k.HelmRun(ctx, "rollback", cluster.Release, revision, "--wait", "--timeout", "2m")
	return err
}

// openPrometheus reaches Prometheus the way any user of the cluster can, through the API server.
func openPrometheus() (stop func(), err error) {
	cmd := exec.Command(k.Kubectl, "--kubeconfig", k.Kubeconfig, "proxy", "--port=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), "Starting to serve on ")
	if err != nil || !found {
		stop()
		return nil, fmt.Errorf("kubectl proxy: %q, %w", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	prom = &grafana.Prometheus{
		URL:    "http://" + address + "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy",
		Client: &http.Client{Timeout: 30 * time.Second},
	}
	return stop, nil
}

// story begins a test: a context with a limit, and a clear skip without a cluster.
func story(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	if k == nil {
		t.Skip("needs a cluster with Prometheus: CORE5G_E2E=1 (make e2e-operate)")
	}
	return scene.Begin(t, limit, explain)
}

// explain prints what a person would look at first.
func explain(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	scene.Show(t, ctx, k, 30,
		[]string{"get", "pods", "-o", "wide"},
		[]string{"get", "core5gs,slices,upfinstances,subscribers"},
		[]string{"get", "events", "--sort-by", ".lastTimestamp"},
		[]string{"exec", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "status"},
	)
	if alerts, err := prom.Alerts(ctx); err == nil {
		for _, a := range alerts {
			fmt.Fprintf(t.Output(), "alert %s %v\n", a.State, a.Labels)
		}
	}
}

var check = scene.Check

// artefact is a file below out/operate.
func artefact(t *testing.T, name string) *os.File {
	t.Helper()
	dir := filepath.Join(k.Root, "out/operate")
	check(t, os.MkdirAll(dir, 0o755))
	file, err := os.Create(filepath.Join(dir, name))
	check(t, err)
	return file
}
