// Command chf runs free5GC's CHF and keeps it registered with the NRF.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/registration"
	"core5g.dev/core5g/images/registration/exposition"
	"core5g.dev/core5g/images/registration/front"
	"core5g.dev/core5g/images/registration/memorylimit"
	"core5g.dev/core5g/images/registration/sbitls"

	"github.com/free5gc/chf/pkg/factory"
	"github.com/free5gc/chf/pkg/service"
)

func main() {
	config := flag.String("c", "./config/chfcfg.yaml", "configuration `file`, in free5GC's format")
	flag.Parse()
	memorylimit.Respect(memorylimit.Files)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("nf", "chf")
	if err := run(*config, log); err != nil {
		log.Error("cannot run", "error", err)
		os.Exit(1)
	}
}

// instanceIDEnv is named as the other functions name theirs; free5GC's CHF has none of its own.
const instanceIDEnv = "CHF_NF_INSTANCE_ID"

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

	var app *service.ChfApp
	keeper := registration.New(cfg.Configuration.NrfUri, id, log, func(ctx context.Context) error {
		_, _, err := app.Consumer().RegisterNFInstance(ctx)
		return err
	})
	identity, err := sbitls.FromEnvironment(func(err error) { log.Error("SBI certificates", "error", err) })
	if err != nil {
		return err
	}
	if identity != nil {
		callAs(identity)
		keeper.Secure(identity.Transport())
	}
	if err := keeper.Withdraw(ctx); err != nil {
		return err
	}
	var sbiFront *front.Front
	if identity != nil {
		if sbiFront, err = front.Terminate(identity, &cfg.Configuration.Sbi.BindingIPv4, cfg.Configuration.Sbi.Port); err != nil {
			return err
		}
	}
	if app, err = service.NewApp(ctx, cfg, ""); err != nil {
		return err
	}
	app.Context().NfId = id
	metrics := exposition.New(log)
	metrics.Registered("CHF", keeper.Registered)
	metrics.Serve(ctx)
	if sbiFront != nil {
		go func() {
			if err := sbiFront.Run(ctx, "", ""); err != nil {
				log.Error("the SBI front has stopped", "error", err)
				os.Exit(1)
			}
		}()
	}
	go keeper.Run(ctx)
	app.Start()
	return nil
}
