// Command session-management is core5g's SMF: shards of PDU sessions, which outlive the pods that hold them.
//
//	session-management sessions [-slice NAME] …   and
//	session-management session SUPI/ID            ask the pod that they run in what sessions there are
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/nf/memorylimit"
	"core5g.dev/core5g/images/session-management"
	"core5g.dev/core5g/images/session-management/inspection"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if inspection.IsCommand(os.Args[1:]) {
		if err := inspection.RunCommand(ctx, os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "session-management:", err)
			stop()
			os.Exit(1)
		}
		return
	}
	config, err := sessionmanagement.ParseConfig(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "session-management:", err)
		os.Exit(2)
	}
	memorylimit.Respect(memorylimit.Files)
	log := config.Log()
	if err := sessionmanagement.Run(ctx, config, log); err != nil {
		log.Error("stopped", "err", err)
		stop()
		os.Exit(1)
	}
}
