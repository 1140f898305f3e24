// Command test runs everything that CI runs: unit and vector tests first, then lint and generated
// code, then the suites on a cluster. A step that fails does not hide the ones after it, except
// where these need what it would have built. The last line counts it all.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"core5g.dev/core5g/hack/repository"
	"core5g.dev/core5g/hack/runner"
)

// step is a runner.Step and what depends on it.
type step struct {
	runner.Step
	// needed ends the run when it fails: everything after it would fail for the same reason.
	needed bool
	// tests has a result that is counted from its log; other steps count as one.
	tests bool
	// beside the step that follows it: it is waited for behind that.
	beside bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := repository.Root()
	if err == nil {
		err = os.Chdir(root)
	}
	if err == nil {
		err = os.Setenv("CORE5G_COUNTED", "1") // make has tests print events
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	steps := []step{
		{needed: true, Step: runner.Step{Name: "packages", Command: []string{"hack/install-tools.sh"}, Why: "Debian packages"}},
		{tests: true, Step: runner.Step{Name: "upf-u: vectors, ASan and UBSan", Command: []string{"make", "-C", "upf", "test-u"}}},
		{tests: true, Step: runner.Step{Name: "upf-u: fuzz smoke, instructions a packet", Command: []string{"make", "-C", "upf", "-k", "test-u-fuzz", "test-u-instructions"}}},
		{tests: true, Step: runner.Step{Name: "Go unit tests, -race", Command: []string{"make", "unit"}, Why: "compiled with the race detector, once: some minutes"}},
		{needed: true, Step: runner.Step{Name: "kubernetes, helm, CNI plugins", Command: []string{"make", "tools"}, Why: "compiled from their Go modules, once: about 10 minutes on 2 cores"}},
		{Step: runner.Step{Name: "Prometheus, cert-manager, policies", Command: []string{"hack/tools/build.sh", "promtool", "monitoring", "certificates", "policies", "sriov"}, Why: "compiled from their Go modules, once: some minutes on 2 cores"}},
		{needed: true, Step: runner.Step{Name: "network functions", Command: []string{"make", "nf"}, Why: "free5GC's modules, once: 2-3 minutes on 2 cores"}},
		{needed: true, Step: runner.Step{Name: "UPF, operator, simulator", Command: []string{"make", "bin"}}},
		{needed: true, Step: runner.Step{Name: "container images", Command: []string{"make", "images"}}},
		{Step: runner.Step{Name: "the UPF's Debian package", Command: []string{"make", "package"}}},
		{tests: true, Step: runner.Step{Name: "images built twice", Command: []string{"make", "reproducible", "IMAGES=smf upf-u"}, Why: "free5GC's, and C: the same to the octet; of ours in Go the small release says so"}},
		{tests: true, Step: runner.Step{Name: "a small release, twice", Command: []string{"make", "release-check"}, Why: "three images for both architectures, chart, plug-in and sums, and tests of these files alone"}},
		{tests: true, Step: runner.Step{Name: "API server and binaries together", Command: []string{"make", "integration"}, Why: "operator against a real API server; upf-c with upf-u; network functions with each other"}},
		{Step: runner.Step{Name: "sessions outlive kills", Command: []string{"make", "e2e-state", "ON=processes", "CASE=kill_smf,kill_store", "RUNS=2"}, Why: "SMF and session store as processes, under set-ups"}},
		{Step: runner.Step{Name: "generated code", Command: []string{"hack/check-drift.sh"}}},
		{needed: true, Step: runner.Step{Name: "make up", Command: []string{"make", "up"}, Limit: 15 * time.Minute}},
		{needed: true, Step: runner.Step{Name: "make up, a second time", Command: []string{"make", "up"}, Limit: 5 * time.Minute}},
		// Operating waits for alerts most of the time: linters have the CPU that nobody else wants.
		{beside: true, tests: true, Step: runner.Step{Name: "lint", Command: []string{"chrt", "--idle", "0", "hack/lint.sh"}, Env: []string{"CORE5G_TOOLS=required"}, Limit: 45 * time.Minute}},
		{tests: true, Step: runner.Step{Name: "operate", Command: []string{"make", "e2e-operate"}, Why: "Prometheus beside the core, every panel of every dashboard, alerts fired and cleared"}},
		{tests: true, Step: runner.Step{Name: "upgrade and rollback", Command: []string{"make", "e2e-upgrade"}, Why: "builds the previous release, once: some minutes"}},
		{tests: true, Step: runner.Step{Name: "suites on the cluster", Command: []string{"make", "e2e"}, Why: "attach, slices, isolation, healing, uninstall"}},
		{tests: true, Step: runner.Step{Name: "on-prem, emulated", Command: []string{"make", "e2e-onprem", "STORIES=Install|Servers|Agent|KernelSCTP|OneUPF|UnitsH|NodesShow|Traffic|KilledUPF|TestEnd"}, Why: "a two-socket server with SR-IOV NICs in QEMU, as a node of the cluster: some minutes"}},
		// The enforcer slows a cluster's network down while pods come and go: nobody else shall wait for it.
		{Step: runner.Step{Name: "make up, a third time", Command: []string{"make", "up"}, Limit: 5 * time.Minute}},
		{tests: true, Step: runner.Step{Name: "security", Command: []string{"make", "e2e-security"}, Why: "cert-manager and an enforcer of policies beside the core, mutual TLS, renewal under traffic"}},
		{Step: runner.Step{Name: "make down leaves nothing", Command: []string{"hack/check-down.sh"}}},
	}
	r := &runner.Runner{Out: os.Stdout, LogDir: "out/logs/test", Total: len(steps)}
	start := time.Now()
	var total runner.Count
	behind := func() {}
	for i, s := range steps {
		if s.beside {
			end := r.Beside(ctx, s.Step)
			behind = func() { total.Add(counted(s, end())) }
			continue
		}
		result := r.Run(ctx, s.Step)
		total.Add(counted(s, result))
		behind()
		behind = func() {}
		if result.Err != nil && s.needed {
			for _, rest := range steps[i+1:] {
				total.Skipped++
				total.SkippedNames = append(total.SkippedNames, rest.Name+`: needs "`+s.Name+`"`)
			}
			break
		}
	}
	total.Settle()
	fmt.Println()
	for _, name := range total.SkippedNames {
		fmt.Println("SKIP", name)
	}
	for _, name := range total.FailedNames {
		fmt.Println("FAIL", name)
	}
	fmt.Printf("took %s; logs in out/logs/test\n", time.Since(start).Round(time.Second))
	fmt.Println(total)
	if err := os.WriteFile("out/test-summary", []byte(total.String()+"\n"), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if total.Failed > 0 {
		os.Exit(1)
	}
}

func counted(s step, result runner.Result) runner.Count {
	var c runner.Count
	if s.tests {
		var err error
		if c, err = runner.CountFile(result.Log); err != nil {
			return runner.Count{Failed: 1, FailedNames: []string{s.Name + ": " + err.Error()}}
		}
		// A test step that counted nothing has tested nothing.
		if c.Sum() == 0 && result.Err == nil {
			return runner.Count{Failed: 1, FailedNames: []string{s.Name + ": ran no test"}}
		}
		if result.Err != nil && c.Failed == 0 {
			c.Failed, c.FailedNames = 1, append(c.FailedNames, result.Failure())
		}
		return c
	}
	if result.Err != nil {
		return runner.Count{Failed: 1, FailedNames: []string{result.Failure()}}
	}
	return runner.Count{Passed: 1}
}
