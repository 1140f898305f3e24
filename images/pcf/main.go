// Command pcf runs free5GC's PCF and keeps it registered with the NRF.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/registration"

	"github.com/free5gc/pcf/pkg/factory"
	"github.com/free5gc/pcf/pkg/service"
)

func main() {
	config := flag.String("c", "./config/pcfcfg.yaml", "configuration `file`, in free5GC's format")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("nf", "pcf")
	if err := run(*config, log); err != nil {
		log.Error("cannot run", "error", err)
		os.Exit(1)
	}
}

func run(configPath string, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	id, err := registration.InstanceID(factory.PcfDefaultNfInstanceIdEnvVar, "PCF", configPath)
	if err != nil {
		return err
	}
	// free5GC reads the id from this variable before it looks into the file.
	if err := os.Setenv(factory.PcfDefaultNfInstanceIdEnvVar, id); err != nil {
		return err
	}
	cfg, err := factory.ReadConfig(configPath)
	if err != nil {
		return err
	}
	factory.PcfConfig = cfg

	var app *service.PcfApp
	keeper := registration.New(cfg.Configuration.NrfUri, id, log, func(ctx context.Context) error {
		_, _, err := app.Consumer().SendRegisterNFInstance(ctx)
		return err
	})
	if err := keeper.Withdraw(ctx); err != nil {
		return err
	}
	if app, err = service.NewApp(ctx, cfg, ""); err != nil {
		return err
	}
	go keeper.Run(ctx)
	app.Start()
	return nil
}
