package pod

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/nf/memorylimit"
	"core5g.dev/core5g/images/nf/parallelism"
	"core5g.dev/core5g/images/nf/timerslack"
)

// logging is a *C, the configuration of a program.
type logging[C any] interface {
	*C
	Log() *slog.Logger
}

// Main is the main function of a program of that name: it reads the command line, and ends the process when run has ended. run serves until its context ends,
// which SIGTERM does.
func Main[C any, P logging[C]](name string, parse func([]string, io.Writer) (C, error), run func(context.Context, C, *slog.Logger) error) {
	timerslack.Widen()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go parallelism.Follow(ctx)
	status := start[C, P](ctx, name, os.Args[1:], os.Stderr, parse, run)
	stop()
	os.Exit(status)
}

// Command carries out what a person asked for in the place of the program of that name, and ends the process.
func Command(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// start the program, and say what status it ends with: 2 for a command line that cannot be used.
func start[C any, P logging[C]](ctx context.Context, name string, args []string, output io.Writer,
	parse func([]string, io.Writer) (C, error), run func(context.Context, C, *slog.Logger) error,
) int {
	config, err := parse(args, output)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintf(output, "%s: %v\n", name, err)
		return 2
	}
	memorylimit.Respect(memorylimit.Files)
	memorylimit.Unhurried()
	log := P(&config).Log()
	if err := run(ctx, config, log); err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		log.Error("stopped", "err", err)
		return 1
	}
	return 0
}
