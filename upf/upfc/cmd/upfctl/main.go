// Command upfctl looks into a running UPF: its sessions with their rules, its counters, and the way
// of single packets. `upfctl help` lists the commands.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/upf/upfc/control"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := control.Run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "upfctl:", err)
		os.Exit(1)
	}
}
