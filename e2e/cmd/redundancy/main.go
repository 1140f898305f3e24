// Command redundancy measures on a cluster what it costs that a UPF's standby takes its unit over (`make e2e-redundancy`).
//
//	redundancy [-case kill,switch,upgrade,cut_units,cut_api] [-sessions N] [-rate PACKETS] [-runs N] [-cpu REQUEST] [-upf-c-cpu LIMIT] [-keep]
//
// It needs the core of `make up`. It turns redundancy of UPFInstance upf on, with so little CPU asked for that both pods of the unit
// find room on a small machine, fills the unit with sessions of a CP function of its own, sends packets through one of them, and
// prints a line a case and run. It exits with 1 where one falls short: `want` in judge.go.
//
//	redundancy probe …
//
// is that CP function, in a pod: package takeover.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"core5g.dev/core5g/e2e/takeover"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var err error
	if len(os.Args) > 1 && os.Args[1] == "probe" {
		err = probe(ctx, os.Args[2:])
	} else {
		err = run(ctx, os.Args[1:])
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "redundancy:", err)
		os.Exit(1)
	}
}

func probe(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("redundancy probe", flag.ContinueOnError)
	var c takeover.Config
	listen := f.String("listen", ":8080", "where it is told what to do")
	f.StringVar(&c.Interface, "interface", "n3", "on N3")
	for name, at := range map[string]*netip.Addr{"n4": &c.N4, "n3": &c.N3, "own": &c.Own, "ue": &c.UE, "to": &c.To} {
		f.TextVar(at, name, netip.IPv4Unspecified(), "address")
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	p, err := takeover.NewProbe(ctx, c)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: *listen, Handler: p, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 2)
	go func() { failed <- takeover.Watch(ctx, p.Owners(), c.Interface, c.Own) }()
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return errors.Join(err, p.Close())
	case <-ctx.Done():
		return errors.Join(server.Close(), p.Close())
	}
}

// options of a run.
type options struct {
	cases          []string
	sessions, rate int
	runs           int
	cpu, upfc      string
	keep           bool
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("redundancy", flag.ContinueOnError)
	var o options
	names := f.String("case", strings.Join(caseNames(), ","), "which cases, with commas")
	f.IntVar(&o.sessions, "sessions", 10000, "sessions of the unit")
	f.IntVar(&o.rate, "rate", 2000, "packets a second")
	f.IntVar(&o.runs, "runs", 1, "how often each case")
	f.StringVar(&o.cpu, "cpu", "200m", "what upf-u asks for, sharing the CPUs; empty: a CPU of its own, as without this command")
	f.StringVar(&o.upfc, "upf-c-cpu", "", "what CPU upf-c may have, with -cpu; empty: as much as is left")
	f.BoolVar(&o.keep, "keep", false, "leave the UPFInstance with redundancy, and the pods of this command")
	if err := f.Parse(args); err != nil {
		return err
	}
	o.cases = strings.Split(*names, ",")
	s, err := open(ctx, o)
	if err != nil {
		return err
	}
	if !o.keep {
		defer s.restore()
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	var failed error
	for _, name := range o.cases {
		for range o.runs {
			failed = errors.Join(failed, s.try(ctx, name))
		}
	}
	return failed
}
