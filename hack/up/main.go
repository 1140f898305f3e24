// Command up brings up the whole core from a clone and runs its main job: a simulated phone
// registers, gets a PDU session, and its packets cross the DPDK UPF. It ends with a report for
// people and the same in out/report.json.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/hack/repository"
	"core5g.dev/core5g/hack/runner"
)

// The phone of manifests/slice.yaml and what it talks to (manifests/samples/ran.yaml).
const (
	phone       = "imsi-208930000000001"
	slice       = "internet"
	dataNetwork = cluster.DataNetwork
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\nmake up: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := repository.Root()
	if err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	fmt.Printf("core5g: from this clone to a phone whose packets cross the UPF (%d cores; logs in out/logs/up)\n\n", runtime.NumCPU())

	plane, err := cluster.ControlPlane()
	if err != nil {
		return err
	}
	functions, without := "AMF, SMF, NRF, PCF, CHF", "WITHOUT="
	if plane == cluster.Core5G {
		functions, without = "NRF, PCF, CHF", "WITHOUT=amf smf"
	}
	layout, err := cluster.Layout()
	if err != nil {
		return err
	}
	if layout != cluster.Fused {
		without += " control-plane"
	}
	u := &up{plane: plane, layout: layout}
	steps := []runner.Step{
		{Name: "packages", Command: []string{"hack/install-tools.sh", "cluster", "upf", "database", "session-store"}, Why: "Debian packages: container runtime, DPDK, JDK, Redis"},
		{Name: "kubernetes, helm, CNI plugins", Command: []string{"make", "cluster-tools"}, Why: "compiled from their Go modules, once: about 10 minutes on 2 cores"},
		{Name: "network functions", Command: []string{"make", "nf", without}, Why: functions + " from free5GC's modules, once: 2-3 minutes on 2 cores"},
		{Name: "UPF, AMF, SMF, operator, simulator", Command: []string{"make", "bin", without}, Why: "upf-u in C, everything else in Go"},
		{Name: "container images", Command: []string{"make", "images", without}},
		{Name: "single-node Kubernetes", Command: []string{"hack/cluster.sh", "up"}, Limit: 5 * time.Minute},
		{Name: "load images", Func: u.loadImages},
		{Name: "helm install core5g", Func: u.install},
		{Name: "kubectl apply slice.yaml", Func: u.applySlice},
		{Name: "core ready", Func: u.waitReady, Limit: 6 * time.Minute},
		{Name: "phone registers, PDU session", Func: u.attach, Limit: 3 * time.Minute},
		{Name: "ping N3 - UPF - N6 and back", Func: u.ping},
		{Name: "throughput", Func: u.throughput},
	}
	r := &runner.Runner{Out: os.Stdout, LogDir: "out/logs/up", Total: len(steps)}
	start := time.Now()
	for _, step := range steps {
		if result := r.Run(ctx, step); result.Err != nil {
			if u.cluster != nil {
				u.diagnose(os.Stdout)
			}
			return fmt.Errorf("step %q: %w (its log: %s)", step.Name, result.Err, result.Log)
		}
	}
	return u.report(ctx, os.Stdout, r.Results, time.Since(start))
}

type up struct {
	plane   string
	layout  string
	cluster *cluster.Cluster
	ue      cluster.UEStatus
	pings   cluster.Ping
	upMbps  cluster.Throughput
	dnMbps  cluster.Throughput
}

// loadImages gives the cluster the images that it does not have yet in this form, and replaces the
// pods that run an older form under the same tag. A UPF is replaced too: on a developer's cluster
// a new build is the reason for running this.
func (u *up) loadImages(ctx context.Context, log io.Writer) error {
	var err error
	if u.cluster, err = cluster.Open(ctx); err != nil {
		return err
	}
	archives, err := filepath.Glob("out/images/*.tar")
	if err != nil {
		return err
	}
	loaded, err := openLoaded(ctx, u.cluster)
	if err != nil {
		return err
	}
	changed, err := loaded.changed(archives)
	if err != nil {
		return err
	}
	if len(changed) == 0 {
		fmt.Fprintln(log, "every image is loaded already")
		return nil
	}
	if err := command(ctx, log, "hack/cluster.sh", append([]string{"load-image"}, changed...)...); err != nil {
		return err
	}
	for _, archive := range changed {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar")
		out, err := u.cluster.Run(ctx, "delete", "pods", "-l", podsOf(name), "--wait=false", "--ignore-not-found")
		if err != nil {
			return err
		}
		fmt.Fprint(log, out)
	}
	return loaded.save()
}

// podsOf selects the pods that run an image.
func podsOf(image string) string {
	switch image {
	case "upf-u", "upf-c":
		return "app.kubernetes.io/component=upf"
	case "ran":
		return "app.kubernetes.io/component in (ran,dn)"
	case "smf", "amf": // core5g's own have their component, and another image
		return "app.kubernetes.io/component=" + image + ",!core5g.dev/session-management,!core5g.dev/access-management"
	case "session-management":
		return "app.kubernetes.io/component=smf,core5g.dev/session-management"
	case "access-management":
		return "app.kubernetes.io/component in (amf,amf-n2)"
	default:
		return "app.kubernetes.io/component=" + image
	}
}

func (u *up) install(ctx context.Context, log io.Writer) error {
	args := []string{"upgrade", "--install", cluster.Release, "charts/core5g", "--create-namespace", "--wait", "--timeout", "3m",
		"--set", "core.spec.n2.transport=" + cluster.N2Transport(), "--set", "core.spec.controlPlane=" + u.plane, "--set", "core.spec.layout=" + u.layout}
	if u.plane == cluster.Core5G {
		args = append(args, "--set", fmt.Sprintf("core.spec.amf.workers=%d", cluster.AMFWorkers))
	}
	if pods := cluster.PodNetwork(); pods != "" {
		args = append(args, "--set", "upf.spec.n4.controlPlaneSubnets={"+pods+"}")
	}
	// Where images had to be pushed, they are pulled from there.
	if registry := os.Getenv("CORE5G_REGISTRY"); registry != "" {
		args = append(args, "--set", "images.registry="+registry)
	}
	out, err := u.cluster.HelmRun(ctx, args...)
	fmt.Fprint(log, out)
	return err
}

func (u *up) applySlice(ctx context.Context, _ io.Writer) error {
	return u.cluster.Apply(ctx, "manifests/slice.yaml", "manifests/samples/ran.yaml")
}

func (u *up) waitReady(ctx context.Context, log io.Writer) error {
	for _, object := range []string{"upfinstance/upf", "core5g/core5g", "slice/" + slice} {
		if err := u.cluster.WaitCondition(ctx, object, "Ready", 5*time.Minute); err != nil {
			return err
		}
		fmt.Fprintln(log, object, "is ready")
	}
	for _, deploy := range []string{"deploy/dn", "deploy/ran"} {
		if _, err := u.cluster.Run(ctx, "rollout", "status", deploy, "--timeout=90s"); err != nil {
			return err
		}
	}
	return nil
}

func (u *up) attach(ctx context.Context, _ io.Writer) (err error) {
	u.ue, err = u.cluster.WaitAttached(ctx, phone, 2*time.Minute)
	return err
}

// ping waits for the first answer, so that the figures are those of a path in use and not of its
// start, and then allows no loss.
func (u *up) ping(ctx context.Context, log io.Writer) error {
	err := cluster.Eventually(ctx, time.Minute, func() error {
		p, err := u.cluster.Ping(ctx, phone, dataNetwork, 1, 100*time.Millisecond)
		if err == nil && p.Received == 0 {
			err = fmt.Errorf("no answer from %s", dataNetwork)
		}
		return err
	})
	if err != nil {
		return err
	}
	if u.pings, err = u.cluster.Ping(ctx, phone, dataNetwork, 50, 20*time.Millisecond); err != nil {
		return err
	}
	fmt.Fprintf(log, "%+v\n", u.pings)
	if u.pings.Received != u.pings.Sent {
		return fmt.Errorf("%d of %d echo requests were answered", u.pings.Received, u.pings.Sent)
	}
	return nil
}

func (u *up) throughput(ctx context.Context, log io.Writer) (err error) {
	if u.upMbps, err = u.cluster.Throughput(ctx, phone, dataNetwork, "up", 2); err != nil {
		return err
	}
	if u.dnMbps, err = u.cluster.Throughput(ctx, phone, dataNetwork, "down", 2); err != nil {
		return err
	}
	fmt.Fprintf(log, "up %+v down %+v\n", u.upMbps, u.dnMbps)
	return nil
}

// diagnose prints what a person would look at first.
func (u *up) diagnose(out io.Writer) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, args := range [][]string{
		{"get", "pods", "-o", "wide"},
		{"get", "core5gs,slices,upfinstances,subscribers"},
		{"get", "events", "--field-selector", "type=Warning", "--sort-by", ".lastTimestamp"},
	} {
		text, err := u.cluster.Run(ctx, args...)
		if err != nil {
			text = err.Error() + "\n"
		}
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if len(lines) > 25 {
			lines = lines[len(lines)-25:]
		}
		fmt.Fprintf(out, "\n$ kubectl -n %s %s\n%s\n", cluster.Namespace, strings.Join(args, " "), strings.Join(lines, "\n"))
	}
}
