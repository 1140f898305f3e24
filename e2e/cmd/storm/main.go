// Command storm is load that a core should not have: see package storm. In a pod, until it is killed:
//
//	storm gtpu -upf 172.30.3.16 -rate 5000
//	storm pfcp -upf 10.244.0.9 -n3 172.30.3.16 -sessions 50000 -at-once 256 -nonsense 20
//	storm pfcp -upf 10.244.0.9 -crowd 500
//
// From outside, through kubectl, until all UEs have a PDU session:
//
//	storm ues -n 200
//
// and the phone, off and on until its first ping is answered:
//
//	storm start -n 20
//
// and both, with the core in one layout after the other:
//
//	storm compare -layouts Distributed,Fused,Free5GC -rounds 2 -starts 20 -ues 200
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/storm"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("say what: storm gtpu, storm pfcp, storm ues, storm start, or storm compare")
	}
	f := flag.NewFlagSet("storm "+args[0], flag.ContinueOnError)
	if args[0] == "ues" {
		n := f.Int("n", 100, "UEs that register at once")
		limit := f.Duration("limit", 10*time.Minute, "how long to wait for the last of them")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		k, err := cluster.Open(ctx)
		if err != nil {
			return err
		}
		return storm.Register(ctx, k, *n, *limit, os.Stdout)
	}
	if args[0] == "start" {
		n := f.Int("n", 20, "how often the phone starts")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		k, err := cluster.Open(ctx)
		if err != nil {
			return err
		}
		return storm.Start(ctx, k, *n, os.Stdout)
	}
	if args[0] == "compare" {
		layouts := f.String("layouts", "Distributed,Fused,Free5GC", "which, in that order; AMF and SMF of Free5GC are free5GC's")
		c := storm.Comparison{}
		f.IntVar(&c.Rounds, "rounds", 2, "how often each, in turns")
		f.IntVar(&c.Starts, "starts", 20, "how often the phone starts in each; 0: not at all")
		f.IntVar(&c.UEs, "ues", 200, "UEs that register at once in each; 0: none")
		f.DurationVar(&c.Limit, "limit", 10*time.Minute, "how long to wait for the last of them")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		c.Layouts = strings.Split(*layouts, ",")
		k, err := cluster.Open(ctx)
		if err != nil {
			return err
		}
		return storm.Compare(ctx, k, c, os.Stdout)
	}
	upf := address(f, "upf", "address of the UPF: on N3 for gtpu, on N4 for pfcp")
	switch args[0] {
	case "gtpu":
		rate := f.Int("rate", 5000, "packets a second")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		return storm.Tunnels(ctx, *upf, *rate)
	case "pfcp":
		n3 := address(f, "n3", "address of the UPF on N3, for the F-TEIDs")
		sessions := f.Int("sessions", 0, "sessions to establish at first")
		atOnce := f.Int("at-once", storm.DefaultAtOnce, "of them under way at a time, 1 to 1024")
		nonsense := f.Int("nonsense", 0, "requests a second for a session that is not there")
		crowd := f.Int("crowd", 0, "requests at once, each second, for a session that is not there, instead of the others")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		if *atOnce < 1 || *atOnce > 1024 {
			return fmt.Errorf("-at-once %d is none of 1 to 1024", *atOnce)
		}
		return pfcp(ctx, netip.AddrPortFrom(*upf, storm.Port), *n3, *sessions, *atOnce, *nonsense, *crowd)
	default:
		return fmt.Errorf("%q is none of gtpu, pfcp, ues, start and compare", args[0])
	}
}

func address(f *flag.FlagSet, name, usage string) *netip.Addr {
	var a netip.Addr
	f.TextVar(&a, name, netip.IPv4Unspecified(), usage)
	return &a
}

func pfcp(ctx context.Context, upf netip.AddrPort, n3 netip.Addr, sessions, atOnce, nonsense, crowd int) error {
	smf, err := storm.Associate(ctx, netip.AddrPortFrom(netip.IPv4Unspecified(), storm.Port), upf, n3)
	if err != nil {
		return err
	}
	defer smf.Close()
	fmt.Println("associated as", smf.Node())
	if crowd > 0 {
		return smf.Crowd(ctx, crowd)
	}
	smf.AtOnce = atOnce
	if err := smf.Fill(ctx, sessions); err != nil {
		return err
	}
	fmt.Println(sessions, "sessions are established")
	return smf.Nonsense(ctx, nonsense)
}
