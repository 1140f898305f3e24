// Command amf runs free5GC's AMF and keeps it registered with the NRF.
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

	"github.com/free5gc/amf/pkg/factory"
	"github.com/free5gc/amf/pkg/service"
)

func main() { nf.Main("AMF", run) }

func run(configPath string, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	id, err := registration.InstanceID(factory.AmfDefaultNfInstanceIdEnvVar, "AMF", configPath)
	if err != nil {
		return err
	}
	// free5GC reads the id from this variable before it looks into the file.
	if err := os.Setenv(factory.AmfDefaultNfInstanceIdEnvVar, id); err != nil {
		return err
	}
	cfg, err := factory.ReadConfig(configPath)
	if err != nil {
		return err
	}
	factory.AmfConfig = cfg
	metrics := exposition.New(log)
	if m := cfg.Configuration.Metrics; m != nil && m.Enable {
		metrics.Behind(&m.Scheme, &m.BindingIPv4, &m.Port)
	}

	core, err := nf.Enter(log)
	if err != nil {
		return err
	}
	var app *service.AmfApp
	keeper, err := core.Join(ctx, cfg.Configuration.NrfUri, id, func(ctx context.Context) error {
		profile, err := app.Consumer().BuildNFInstance(app.Context())
		if err != nil {
			return err
		}
		_, _, err = app.Consumer().SendRegisterNFInstance(ctx, app.Context().NrfUri, id, &profile)
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
	metrics.Registered("AMF", keeper.Registered)
	metrics.Serve(ctx)
	core.Serve(ctx, sbiFront, "", "")
	go keeper.Run(ctx)
	app.Start()
	return nil
}
