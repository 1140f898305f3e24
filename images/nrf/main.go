// Command nrf runs free5GC's NRF.
//
// On SIGTERM it simply ends. free5GC's own way out waits for every function to deregister and then
// drops all profiles, which empties the database under the NRF that takes over.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/registration/front"
	"core5g.dev/core5g/images/registration/sbitls"

	"github.com/free5gc/nrf/pkg/factory"
	"github.com/free5gc/nrf/pkg/service"
)

func main() {
	config := flag.String("c", "./config/nrfcfg.yaml", "configuration `file`, in free5GC's format")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("nf", "nrf")
	if err := run(*config, log); err != nil {
		log.Error("cannot run", "error", err)
		os.Exit(1)
	}
}

func run(configPath string, log *slog.Logger) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		log.Info("ending", "signal", (<-signals).String())
		os.Exit(0)
	}()

	cfg, err := factory.ReadConfig(configPath)
	if err != nil {
		return err
	}
	factory.NrfConfig = cfg
	identity, err := sbitls.FromEnvironment(func(err error) { log.Error("SBI certificates", "error", err) })
	if err != nil {
		return err
	}
	if identity != nil {
		callAs(identity)
		sbi := cfg.Configuration.Sbi
		sbiFront, err := front.Terminate(identity, &sbi.BindingIPv4, sbi.Port)
		if err != nil {
			return err
		}
		go func() {
			if err := sbiFront.Run(context.Background(), "", ""); err != nil {
				log.Error("the SBI front has stopped", "error", err)
				os.Exit(1)
			}
		}()
	}
	app, err := service.NewApp(context.Background(), cfg, "")
	if err != nil {
		return err
	}
	app.Start()
	return nil
}
