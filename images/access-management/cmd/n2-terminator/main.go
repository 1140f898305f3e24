// Command n2-terminator is the end of N2 that gNBs see: it has their SCTP associations, and hands what comes by them to AMF workers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/access-management/terminator/program"
	"core5g.dev/core5g/images/nf/memorylimit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := program.ParseConfig(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "n2-terminator:", err)
		os.Exit(2)
	}
	memorylimit.Respect(memorylimit.Files)
	log := config.Log()
	if err := program.Run(ctx, config, log); err != nil {
		log.Error("stopped", "err", err)
		stop()
		os.Exit(1)
	}
}
