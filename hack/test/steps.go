package main

import (
	"time"

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
	// rank is what it is worth where the time of the run is short, and room how long it may take on a slow machine, caches cold.
	rank rank
	room time.Duration
}

// all steps, in their order.
func all() []step {
	return []step{
		{needed: true, room: 2 * time.Minute, Step: runner.Step{Name: "packages", Command: []string{"hack/install-tools.sh"}, Why: "Debian packages"}},
		{tests: true, room: 4 * time.Minute, Step: runner.Step{Name: "upf-u: vectors, ASan and UBSan", Command: []string{"make", "-C", "upf", "test-u"}}},
		{tests: true, room: 18 * time.Minute, Step: runner.Step{Name: "Go unit tests, -race", Command: []string{"make", "unit"}, Why: "compiled, partly with the race detector, once: some minutes", Limit: 45 * time.Minute}},
		{needed: true, room: 10 * time.Minute, Step: runner.Step{Name: "kubernetes, helm, CNI plugins", Command: []string{"make", "tools"}, Why: "compiled from their Go modules, once: about 10 minutes on 2 cores"}},
		{room: 8 * time.Minute, Step: runner.Step{Name: "Prometheus, cert-manager, policies", Command: []string{"hack/tools/build.sh", "promtool", "monitoring", "certificates", "policies", "sriov"}, Why: "compiled from their Go modules, once: some minutes on 2 cores"}},
		{needed: true, room: 4 * time.Minute, Step: runner.Step{Name: "network functions", Command: []string{"make", "nf"}, Why: "free5GC's modules, once: 2-3 minutes on 2 cores"}},
		{needed: true, room: 3 * time.Minute, Step: runner.Step{Name: "UPF, operator, simulator", Command: []string{"make", "bin"}}},
		{needed: true, room: time.Minute, Step: runner.Step{Name: "container images", Command: []string{"make", "images"}}},
		{tests: true, room: 8 * time.Minute, Step: runner.Step{Name: "API server and binaries together", Command: []string{"make", "integration"}, Why: "operator against a real API server; upf-c with upf-u; network functions with each other"}},
		{room: 2 * time.Minute, Step: runner.Step{Name: "generated code", Command: []string{"hack/check-drift.sh"}}},
		{needed: true, room: 4 * time.Minute, Step: runner.Step{Name: "make up", Command: []string{"make", "up"}, Limit: 15 * time.Minute}},
		{needed: true, room: 2 * time.Minute, Step: runner.Step{Name: "make up, a second time", Command: []string{"make", "up"}, Limit: 5 * time.Minute}},
		// Operating waits for alerts most of the time: linters have the CPU that nobody else wants.
		{beside: true, tests: true, rank: telling, room: 27 * time.Minute, Step: runner.Step{Name: "lint", Command: []string{"chrt", "--idle", "0", "hack/lint.sh"}, Env: []string{"CORE5G_TOOLS=required"}, Limit: 45 * time.Minute}},
		{tests: true, rank: telling, room: 13 * time.Minute, Step: runner.Step{Name: "operate", Command: []string{"make", "e2e-operate"}, Why: "Prometheus beside the core, every panel of every dashboard, alerts fired and cleared"}},
		{tests: true, rank: shown, room: 18 * time.Minute, Step: runner.Step{Name: "upgrade and rollback", Command: []string{"make", "e2e-upgrade"}, Why: "builds the previous release, once: some minutes"}},
		{tests: true, room: 11 * time.Minute, Step: runner.Step{Name: "suites on the cluster", Command: []string{"make", "e2e"}, Why: "attach, slices, isolation, healing, uninstall"}},
		{tests: true, rank: shown, room: 22 * time.Minute, Step: runner.Step{Name: "on-prem, emulated", Command: []string{"make", "e2e-onprem", "STORIES=Install|Servers|Agent|KernelSCTP|OneUPF|UnitsH|NodesShow|Traffic|KilledUPF|TestEnd"}, Why: "a two-socket server with SR-IOV NICs in QEMU, as a node of the cluster: some minutes"}},
		// The enforcer slows a cluster's network down while pods come and go: nobody else shall wait for it.
		{rank: telling, room: 2 * time.Minute, Step: runner.Step{Name: "make up, a third time", Command: []string{"make", "up"}, Limit: 5 * time.Minute}},
		{tests: true, rank: telling, room: 7 * time.Minute, Step: runner.Step{Name: "security", Command: []string{"make", "e2e-security"}, Why: "cert-manager and an enforcer of policies beside the core, mutual TLS, renewal under traffic"}},
		{room: time.Minute, Step: runner.Step{Name: "make down leaves nothing", Command: []string{"hack/check-down.sh"}}},
		// These need no cluster, and are what is done without first where time is short.
		{tests: true, rank: shown, room: 3 * time.Minute, Step: runner.Step{Name: "upf-u: fuzz smoke, instructions a packet", Command: []string{"make", "-C", "upf", "-k", "test-u-fuzz", "test-u-instructions"}}},
		{rank: shown, room: 3 * time.Minute, Step: runner.Step{Name: "sessions outlive kills", Command: []string{"make", "e2e-state", "ON=processes", "CASE=kill_smf,kill_store", "RUNS=2"}, Why: "SMF and session store as processes, under set-ups"}},
		{tests: true, rank: shown, room: 9 * time.Minute, Step: runner.Step{Name: "a small release, twice", Command: []string{"make", "release-check"}, Why: "three images for both architectures, chart, plug-in and sums, and tests of these files alone"}},
		{tests: true, rank: spare, room: 4 * time.Minute, Step: runner.Step{Name: "images built twice", Command: []string{"make", "reproducible", "IMAGES=smf upf-u"}, Why: "free5GC's, and C: the same to the octet; of ours in Go the small release says so"}},
		{rank: spare, room: time.Minute, Step: runner.Step{Name: "the UPF's Debian package", Command: []string{"make", "package"}}},
	}
}
