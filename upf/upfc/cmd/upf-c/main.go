// Command upf-c is the control half of the UPF: it speaks PFCP with the SMFs and programs upf-u.
//
//	upf-c [-config /etc/core5g/upf-c.yaml] [-member NAME] [-check]
//	upf-c ctl …    what upfctl does; `upf-c ctl help` lists the commands
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"core5g.dev/core5g/images/nf/memorylimit"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/control"
	"core5g.dev/core5g/upf/upfc/metrics"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 1 && os.Args[1] == "ctl" {
		err = control.Run(ctx, os.Args[2:], os.Stdout)
	} else {
		err = serve(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "upf-c:", err)
		if errors.As(err, new(badConfiguration)) {
			os.Exit(exitConfiguration)
		}
		os.Exit(1)
	}
}

// exitConfiguration is the status for a file that cannot be used, as sysexits.h and upf-u have it: trying again does not heal that.
const exitConfiguration = 78

type badConfiguration struct{ error }

func serve(ctx context.Context) error {
	path := flag.String("config", "/etc/core5g/upf-c.yaml", "configuration file")
	name := flag.String("member", "", "this member's name in a redundant unit, in place of redundancy.member")
	check := flag.Bool("check", false, "check the configuration file and exit")
	flag.Parse()
	cfg, err := config.Read(*path, *name)
	if err != nil {
		return badConfiguration{err}
	}
	if *check {
		return nil
	}
	memorylimit.Respect(memorylimit.Files)
	memorylimit.Unhurried()
	log := logger(os.Stderr, cfg.Log)
	registry := metrics.NewRegistry()
	a := agent.New(cfg, log, metrics.NewRecorder(registry))
	metrics.Register(registry, a)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if cfg.Metrics.Listen != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
		mux.Handle("GET /topology", control.Topology(a))
		if err := listen(ctx, "tcp", cfg.Metrics.Listen, mux); err != nil {
			return fmt.Errorf("metrics.listen: %w", err)
		}
	}
	if cfg.Health.Listen != "" {
		if err := listen(ctx, "tcp", cfg.Health.Listen, health(a)); err != nil {
			return fmt.Errorf("health.listen: %w", err)
		}
	}
	if cfg.Control.Socket != "" {
		// A predecessor that was killed leaves its socket behind.
		if err := os.Remove(cfg.Control.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("control.socket: %w", err)
		}
		if err := listen(ctx, "unix", cfg.Control.Socket, control.Handler(a)); err != nil {
			return fmt.Errorf("control.socket: %w", err)
		}
	}
	if cfg.Redundancy.Enabled() {
		var m *member
		if m, err = newMember(cfg, log, a); err != nil {
			return err
		}
		tellReady(log) // it stands by, or serves
		err = m.run(ctx)
	} else {
		go func() {
			a.Addr() // waits until PFCP is served
			tellReady(log)
		}()
		err = a.Run(ctx)
	}
	log.Info("upf-c ends", "err", err)
	return err
}

func tellReady(log *slog.Logger) {
	if err := notify("READY=1"); err != nil {
		log.Warn("the service manager is not told of readiness", "err", err)
	}
}

// listen serves h until ctx ends.
func listen(ctx context.Context, network, addr string, h http.Handler) error {
	l, err := net.Listen(network, addr)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	go func() { _ = s.Serve(l) }()
	return nil
}

// health: alive as long as it answers, ready when PFCP is bound and upf-u connected.
func health(a *agent.Agent) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := a.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}
