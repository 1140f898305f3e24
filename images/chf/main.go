// Command chf runs free5GC's CHF and keeps it registered with the NRF.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/nf"
	"core5g.dev/core5g/images/nf/exposition"
	"core5g.dev/core5g/images/nf/registration"

	"github.com/free5gc/chf/pkg/factory"
	"github.com/free5gc/chf/pkg/service"
)

// instanceIDEnv is named as the other functions name theirs; free5GC's CHF has none of its own.
const instanceIDEnv = "CHF_NF_INSTANCE_ID"

func main() { nf.Main("CHF", run) }

func run(configPath string, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	id, err := registration.InstanceID(instanceIDEnv, "CHF", configPath)
	if err != nil {
		return err
	}
	cfg, err := factory.ReadConfig(configPath)
	if err != nil {
		return err
	}
	factory.ChfConfig = cfg
	if err := secureDiameter(cfg.Configuration); err != nil {
		return err
	}

	core, err := nf.Enter(log)
	if err != nil {
		return err
	}
	var app *service.ChfApp
	keeper, err := core.Join(ctx, cfg.Configuration.NrfUri, id, func(ctx context.Context) error {
		_, _, err := app.Consumer().RegisterNFInstance(ctx)
		return err
	})
	if err != nil {
		return err
	}
	sbiFront, err := core.Terminate(&cfg.Configuration.Sbi.BindingIPv4, cfg.Configuration.Sbi.Port)
	if err != nil {
		return err
	}
	if app, err = service.NewApp(ctx, cfg, ""); err != nil {
		return err
	}
	app.Context().NfId = id
	metrics := exposition.New(log)
	metrics.Registered("CHF", keeper.Registered)
	metrics.Serve(ctx)
	core.Serve(ctx, sbiFront, "", "")
	go keeper.Run(ctx)
	app.Start()
	return nil
}
