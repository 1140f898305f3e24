// Command nrf runs free5GC's NRF.
//
// On SIGTERM it simply ends. free5GC's own way out waits for every function to deregister and then
// drops all profiles, which empties the database under the NRF that takes over.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/nf"

	"github.com/free5gc/nrf/pkg/factory"
	"github.com/free5gc/nrf/pkg/service"
)

func main() { nf.Main("NRF", run) }

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
	core, err := nf.Enter(log)
	if err != nil {
		return err
	}
	sbiFront, err := core.Terminate(&cfg.Configuration.Sbi.BindingIPv4, cfg.Configuration.Sbi.Port)
	if err != nil {
		return err
	}
	core.Serve(context.Background(), sbiFront, "", "")
	app, err := service.NewApp(context.Background(), cfg, "")
	if err != nil {
		return err
	}
	app.Start()
	return nil
}
