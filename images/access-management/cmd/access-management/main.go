// Command access-management is a worker of core5g's AMF: shards of UEs, which outlive the pods that hold them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	accessmanagement "core5g.dev/core5g/images/access-management"
	"core5g.dev/core5g/images/nf/memorylimit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := accessmanagement.ParseConfig(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "access-management:", err)
		os.Exit(2)
	}
	memorylimit.Respect(memorylimit.Files)
	log := config.Log()
	if err := accessmanagement.Run(ctx, config, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("stopped", "err", err)
		stop()
		os.Exit(1)
	}
}
