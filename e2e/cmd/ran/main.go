// Command ran is the simulated radio access network (`ran run`), its client (`ran ctl`), the data
// network behind the UPF (`ran dn`), and a plain ping with a JSON answer (`ran ping`).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/free5gc/nas/logger"
	"github.com/sirupsen/logrus"

	"core5g.dev/core5g/e2e/ran/config"
	"core5g.dev/core5g/e2e/ran/control"
	"core5g.dev/core5g/e2e/ran/dn"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/sim"
)

const usage = `usage: ran run  -c CONFIG.yaml [-log-level info]   the gNB and its UEs
       ran dn   -c DN.yaml [-log-level info]       the data network behind the UPF
       ran ctl  COMMAND ...                        use a running "ran run" (ran ctl help)
       ran ping -to ADDRESS [-count N] [-interval 50ms] [-device NAME]
`

// usageError says that the command line was not understood, and why if there is more to say.
type usageError struct{ why string }

func (e usageError) Error() string { return e.why }

func main() {
	err := run(os.Args[1:])
	var misused usageError
	switch {
	case err == nil:
	case errors.As(err, &misused):
		if misused.why != "" {
			fmt.Fprintln(os.Stderr, "ran:", misused.why)
		}
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	case control.IsFailure(err):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "ran:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return usageError{}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch args[0] {
	case "run":
		return runRAN(ctx, args[1:])
	case "dn":
		return runDN(ctx, args[1:])
	case "ping":
		return runPing(ctx, args[1:])
	case "ctl":
		if len(args) > 1 && (args[1] == "help" || strings.HasPrefix(args[1], "-h")) {
			fmt.Print(control.Usage)
			return nil
		}
		err := control.Ctl(args[1:], os.Stdin, os.Stdout)
		if err != nil && !control.IsFailure(err) {
			return fmt.Errorf("ran ctl: %w (ran ctl help lists the commands)", err)
		}
		return err
	}
	return usageError{fmt.Sprintf("%q is not a command", args[0])}
}

// daemonFlags reads -c and -log-level.
func daemonFlags(name string, args []string) (file string, log *slog.Logger, err error) {
	f := flag.NewFlagSet("ran "+name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&file, "c", "", "")
	level := slog.LevelInfo
	f.TextVar(&level, "log-level", slog.LevelInfo, "")
	if err := f.Parse(args); err != nil {
		return "", nil, usageError{err.Error()}
	}
	if file == "" {
		return "", nil, usageError{"-c is missing"}
	}
	// free5GC's NAS library logs through a global of its own.
	logger.SetLogLevel(logrus.ErrorLevel)
	return file, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), nil
}

func runRAN(ctx context.Context, args []string) error {
	file, log, err := daemonFlags("run", args)
	if err != nil {
		return err
	}
	cfg, err := config.Load(file)
	if err != nil {
		return err
	}
	s, err := sim.New(ctx, cfg, n2.DialSCTP, log)
	if err != nil {
		return err
	}
	for address, handler := range map[string]http.Handler{cfg.Control: control.Handler(s), cfg.Health: control.Health(s)} {
		l, err := control.Listen(address)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(l) }()
		defer server.Close()
	}
	return s.Run(ctx)
}

func runDN(ctx context.Context, args []string) error {
	file, log, err := daemonFlags("dn", args)
	if err != nil {
		return err
	}
	cfg, err := dn.Load(file)
	if err != nil {
		return err
	}
	return dn.Run(ctx, cfg, log)
}

// runPing pings from this host, for the data network's side.
func runPing(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("ran ping", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	var cfg measure.PingConfig
	f.TextVar(&cfg.To, "to", netip.Addr{}, "")
	f.IntVar(&cfg.Count, "count", 4, "")
	f.DurationVar(&cfg.Interval, "interval", 200*time.Millisecond, "")
	f.DurationVar(&cfg.Timeout, "reply-timeout", 2*time.Second, "")
	f.IntVar(&cfg.Size, "size", 56, "")
	device := f.String("device", "", "")
	if err := f.Parse(args); err != nil || !cfg.To.IsValid() {
		return usageError{}
	}
	id := measure.NewID()
	s, err := measure.OpenHost(id, cfg.To, *device)
	if err != nil {
		return err
	}
	defer s.Close()
	res, err := measure.Run(ctx, cfg, id, s)
	if err != nil {
		return err
	}
	res.Via = "host"
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(res)
}
