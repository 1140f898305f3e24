// Command bench-core measures a core's control plane as it is shipped, each function a process: N2 terminators, AMF workers, SMF, subscriber data, upf-c over a
// stand-in for upf-u, and a session store, with mutual TLS between them, and simulated gNBs and UEs beside. It needs root, or user namespaces.
//
//	bench-core [-case registration,session,service_request,paging,handover,path_switch,storm,memory] [-layout Distributed,Fused] [-rounds N] [-ues N] [-storm N] [-idle N] [-workers N] [-pods N]
//
// Cases go on from each other: those UEs register one after the other, then get a session each, and so on; a storm has UEs of its own, all at once. A line for
// each (e2e/figures): from what a UE or gNB asks to what it is answered, in milliseconds (p50_ms, p99_ms), and what functions take for a UE in milliseconds of
// CPU: all together (cpu_ms), and each. Of a storm, p50_ms and p99_ms are from its beginning to a UE's session. memory is what is resident for each of many UEs
// that have registered and are idle, in octets, of each function, and what the session store has of each (stored_by_…). Layouts take turns, so often as there are rounds, each time with a core of their own. It exits with 1 where a UE is rejected, registers twice, or is not answered.
//
//	bench-core -case kill_amf,drain_amf,kill_smf,drain_smf,kill_n2_release,kill_n2_keep,kill_n2_retain,kill_gnb [-ues N] [-rate N] [-runs N]
//
// So many UEs are attached and others register, so many a second, while a worker or an SMF of two dies or is drained, one of two terminators dies, whose gNBs release their UEs,
// keep them until they are back, or ask for them to be retained, or a gNB dies. A line for each: UEs that registered anew, sessions that are not there any more or
// other ones, packets of ten a second for each UE that came to nobody, how long the Service Request of an idle UE took that was sent at that moment, and the paging
// of another one. Who registers has a session too where an AMF or SMF is what dies, and is late where a timer of the UE's own had to go by. It exits with 1 where a
// case falls short (state.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"core5g.dev/core5g/e2e/figures"
)

type options struct {
	cases    string
	layouts  string
	rounds   int
	binaries string
	ues      int
	storm    int
	idle     int
	workers  int
	pods     int
	runs     int
	rate     int
	verbose  bool
	pids     bool
	// terminators of N2: two where one of them dies.
	terminators int
	// layout of the core that there is.
	layout string
}

// state says that cases are of deaths.
func (o *options) state() bool { return o.terminators > 1 }

func main() {
	var o options
	flag.StringVar(&o.cases, "case", strings.Join(names(), ","), "which cases, with commas")
	flag.StringVar(&o.layouts, "layout", strings.Join(layouts(), ","), "how functions share processes, with commas; of deaths there is Distributed alone")
	flag.IntVar(&o.rounds, "rounds", 1, "how often the layouts take turns")
	flag.StringVar(&o.binaries, "bin", "out/bin", "directory of the functions' programs")
	flag.IntVar(&o.ues, "ues", 200, "UEs that come one after the other, or are attached while something dies")
	flag.IntVar(&o.storm, "storm", 1000, "UEs that come at once")
	flag.IntVar(&o.idle, "idle", 10_000, "UEs that are idle in memory")
	flag.IntVar(&o.workers, "workers", 1, "AMF workers")
	flag.IntVar(&o.pods, "pods", 1, "pods of the SMF")
	flag.IntVar(&o.runs, "runs", 3, "how often something dies")
	flag.IntVar(&o.rate, "rate", 50, "registrations a second under which it does")
	flag.BoolVar(&o.verbose, "v", false, "show what the functions say")
	flag.BoolVar(&o.pids, "pids", false, "say which process is which function's, for a profiler")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	status, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-core:", err)
		status = 1
	}
	os.Exit(status)
}

func run(ctx context.Context, o options) (status int, err error) {
	wanted, err := o.check()
	if err != nil {
		return 2, err
	}
	if done, status, err := isolate(ctx, o); done || err != nil {
		return status, err
	}
	if o.state() {
		return runDeaths(ctx, o, wanted)
	}
	for range o.rounds {
		for layout := range strings.SplitSeq(o.layouts, ",") {
			o.layout = layout
			if err := runCases(ctx, o, wanted); err != nil {
				return 1, fmt.Errorf("layout %s: %w", layout, err)
			}
		}
	}
	return 0, nil
}

// runCases on a core of their own.
func runCases(ctx context.Context, o options, wanted []string) error {
	c, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer c.close()
	b := &bench{core: c, o: o}
	defer func() {
		if b.access != nil {
			b.access.close()
		}
	}()
	for _, x := range cases {
		if slices.Contains(wanted, x.name) {
			if err := x.run(ctx, b); err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
		}
	}
	return nil
}

func runDeaths(ctx context.Context, o options, wanted []string) (status int, err error) {
	o.layout = figures.Distributed // whose pods die one by one
	var short error
	for _, d := range deaths {
		if !slices.Contains(wanted, d.name) {
			continue
		}
		switch err := d.run(ctx, o); {
		case errors.Is(err, errShort):
			short = errors.Join(short, err)
		case err != nil:
			return 1, err
		}
	}
	return 0, short
}

// check the command line; which cases are wanted.
func (o *options) check() ([]string, error) {
	wanted := strings.Split(o.cases, ",")
	dying := slices.ContainsFunc(wanted, func(name string) bool { return slices.Contains(deathNames(), name) })
	known := names()
	if o.terminators = 1; dying {
		known, o.terminators, o.workers, o.pods = deathNames(), 2, max(o.workers, 2), max(o.pods, 2)
	}
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no case %q: write some of %s, or of %s", name, strings.Join(names(), ","), strings.Join(deathNames(), ","))
		}
	}
	for layout := range strings.SplitSeq(o.layouts, ",") {
		if !slices.Contains(layouts(), layout) {
			return nil, fmt.Errorf("-layout %q: write %s", layout, strings.Join(layouts(), ", "))
		}
	}
	for flag, n := range map[string]int{"ues": o.ues, "storm": o.storm, "idle": o.idle, "runs": o.runs, "rate": o.rate, "rounds": o.rounds} {
		if n < 1 {
			return nil, fmt.Errorf("-%s %d: write 1 or more", flag, n)
		}
	}
	for flag, n := range map[string]int{"workers": o.workers, "pods": o.pods} {
		if n < 1 || n > mostPods {
			return nil, fmt.Errorf("-%s %d: write 1 to %d", flag, n, mostPods)
		}
	}
	return wanted, nil
}
