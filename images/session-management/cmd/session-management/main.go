// Command session-management is core5g's SMF: shards of PDU sessions, which outlive the pods that hold them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/nf/memorylimit"
	"core5g.dev/core5g/images/session-management"
)

func main() {
	config, err := sessionmanagement.ParseConfig(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "session-management:", err)
		os.Exit(2)
	}
	memorylimit.Respect(memorylimit.Files)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: config.LogLevel}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := sessionmanagement.Run(ctx, config, log); err != nil {
		log.Error("stopped", "err", err)
		stop()
		os.Exit(1)
	}
}
