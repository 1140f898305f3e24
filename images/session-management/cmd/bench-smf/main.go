// Command bench-smf measures the SMF as it is shipped: its pods as processes, over mutual TLS, with a session store, upf-c over a
// stand-in for upf-u, and an AMF that speaks Namf and Nsmf beside it.
//
//	bench-smf [-case at_rest,load,memory,kill_smf,kill_store,kill_primary,kill_both,kill_upf,move_shard] [-sessions N] [-rate N] [-pods N] [-runs N]
//
// A line for each case: case=… and key=value. From Create SM Context to the N2 request in microseconds (p50_us, p99_us), CPU of the SMF a session
// that is set up whole (cpu_us), resident octets a session (octets_per_session). The cases kill_… kill without a word, and count sessions that were
// established and are not there any more (sessions_lost), in the SMF or in the UPF, and how long the next answer took (answer_ms, the median, and
// answer_max_ms). Its answer is, of kill_upf, the last session that is in the unit again, with the F-TEID and address that it had; move_shard ends the
// pod that holds the shard as a rollout does. It exits with 1 where a session is lost, or an answer took longer than it may (kills.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

type options struct {
	cases    string
	program  string
	sessions int
	rate     int
	pods     int
	runs     int
	verbose  bool
	// replicated: the session store is three servers with Sentinels.
	replicated bool
}

func main() {
	var o options
	flag.StringVar(&o.cases, "case", "at_rest,load,memory", "which cases, with commas")
	flag.StringVar(&o.program, "program", "out/bin/session-management", "the SMF")
	flag.IntVar(&o.sessions, "sessions", 2000, "sessions of a case")
	flag.IntVar(&o.rate, "rate", 100, "set-ups a second under which something is killed")
	flag.IntVar(&o.pods, "pods", 2, "pods of the SMF")
	flag.IntVar(&o.runs, "runs", 3, "how often something is killed")
	flag.BoolVar(&o.verbose, "v", false, "show what the SMF says")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-smf:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	cases := map[string]func(context.Context, *rig, options) error{
		"at_rest": atRest, "load": load, "memory": resident, "kill_smf": killSMF, "kill_store": killStore,
		"kill_primary": killPrimary, "kill_both": killBoth, "kill_upf": killUPF, "move_shard": moveShard,
	}
	var failed error
	for name := range strings.SplitSeq(o.cases, ",") {
		f, ok := cases[name]
		if !ok {
			return fmt.Errorf("there is no case %q", name)
		}
		o.replicated = name == "kill_primary"
		r, err := newRig(ctx, o)
		if err != nil {
			return err
		}
		err = f(ctx, r, o)
		r.close()
		if errors.Is(err, errLost) || errors.Is(err, errSlow) {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return failed
}
