// Command subscriber-data serves AUSF, UDM, UDR and NSSF from Subscriber, Slice and Core5G objects.
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
	"core5g.dev/core5g/images/subscriber-data"
)

func main() {
	config, err := subscriberdata.ParseConfig(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "subscriber-data:", err)
		os.Exit(2)
	}
	memorylimit.Respect(memorylimit.Files)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: config.LogLevel}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := subscriberdata.Run(ctx, config, log); err != nil {
		log.Error("stopped", "error", err)
		stop()
		os.Exit(1)
	}
}
