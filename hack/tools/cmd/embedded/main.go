package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

var began = time.Now()

// step says what has been done, and when.
func step(format string, args ...any) {
	fmt.Printf("  %5.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

const usage = `usage: embedded up|down|status|load|exec|node|join [flags] [argument …]

  up [archive …]      brings the cluster up with these images, or finds it up
  down                removes it
  status              says whether it is up, and what its daemons use
  load archive …      imports images
  exec command …      runs a command in the sandbox (ctr, nft, ip …), or in that of -node
  node off|cut|on name
                      kills all processes of a further node, pulls its cables out, or has it up again
  join directory      writes what another machine needs to be a node of the cluster

`

func main() {
	err := run()
	if exit := new(exitError); errors.As(err, exit) {
		os.Exit(int(*exit))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

// exitError is the exit status of a command in the sandbox.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func run() error {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		return exitError(2)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out := filepath.Dir(filepath.Dir(self))
	flags := flag.NewFlagSet("embedded "+os.Args[1], flag.ExitOnError)
	state := flags.String("state", filepath.Join(out, "cluster"), "directory of everything the cluster keeps")
	bin := flags.String("bin", filepath.Join(out, "bin"), "directory with kube and kubectl")
	cni := flags.String("cni", filepath.Join(out, "cni"), "directory with the CNI plug-ins")
	hostIP := flags.String("host-ip", "10.213.0.1", "the machine's address towards the node; the node has the next one")
	hugepages := flags.String("hugepages", "512", "hugepages of 2 MiB that the node shall have at least")
	instance := flags.String("instance", "", "name of a further cluster on this machine; it needs a state directory and addresses of its own")
	nodes := flags.Int("nodes", 0, "how many nodes the cluster shall have; 0: those it has, or one")
	number := flags.Int("number", 1, "init: number of the node")
	node := flags.String("node", "", "join, exec: the node's name")
	nodeAddress := flags.String("node-address", "", "join: the node's IPv4 address, which the sandbox reaches")
	pods := flags.String("pods", "10.244.1.0/24", "join: addresses of the node's pods; the sandbox needs a route")
	cells := flags.Int("cells", 2, "join: NUMA cells of the machine")
	force := flags.Bool("force", false, "down: also end a cluster whose state directory is gone")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(os.Args[2:]); err != nil {
		return err
	}
	s, err := newSettings(*state, *bin, *cni, *hostIP, *hugepages, *instance)
	if err != nil {
		return err
	}
	if *nodes < 0 || *nodes > mostNodes {
		return fmt.Errorf("-nodes %d: want up to %d", *nodes, mostNodes)
	}
	s.nodes = *nodes
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	switch os.Args[1] {
	case "init":
		s.become(*number)
		return s.runInit()
	case "up":
		return s.up(ctx, flags.Args())
	case "down":
		return s.down(ctx, *force)
	case "status":
		return s.status(ctx)
	case "load":
		return s.load(ctx, flags.Args())
	case "join":
		j := joiner{name: *node, cells: *cells}
		j.address, _ = netip.ParseAddr(*nodeAddress)
		j.pods, _ = netip.ParsePrefix(*pods)
		if err := j.validate(); err != nil {
			return err
		}
		if flags.NArg() != 1 {
			return errors.New("join: want one directory to write to")
		}
		return s.join(j, flags.Arg(0))
	case "node":
		return s.node(ctx, flags.Args())
	case "exec":
		if *node != "" {
			if s, err = s.named(*node); err != nil {
				return err
			}
		}
		return s.exec(flags.Args())
	}
	fmt.Fprint(os.Stderr, usage)
	return exitError(2)
}
