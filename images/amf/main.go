// Command amf runs free5GC's AMF and keeps it registered with the NRF.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"core5g.dev/core5g/images/registration"
	"core5g.dev/core5g/images/registration/exposition"
	"core5g.dev/core5g/images/registration/front"
	"core5g.dev/core5g/images/registration/memorylimit"
	"core5g.dev/core5g/images/registration/sbitls"

	"github.com/free5gc/amf/pkg/factory"
	"github.com/free5gc/amf/pkg/service"
)

func main() {
	config := flag.String("c", "./config/amfcfg.yaml", "configuration `file`, in free5GC's format")
	flag.Parse()
	memorylimit.Respect(memorylimit.Files)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("nf", "amf")
	if err := run(*config, log); err != nil {
		log.Error("cannot run", "error", err)
		os.Exit(1)
	}
}

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

	var app *service.AmfApp
	keeper := registration.New(cfg.Configuration.NrfUri, id, log, func(ctx context.Context) error {
		profile, err := app.Consumer().BuildNFInstance(app.Context())
		if err != nil {
			return err
		}
		_, _, err = app.Consumer().SendRegisterNFInstance(ctx, app.Context().NrfUri, id, &profile)
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
	ues := newUEMetrics()
	metrics.Registered("AMF", keeper.Registered)
	metrics.MustRegister(ues)
	admitted := newAdmission(dispatch, log)
	metrics.MustRegister(admitted)
	admitted.start(ctx)
	metrics.Serve(ctx)
	go ues.run(ctx, func() tally {
		now := newTally()
		contexts, _ := app.Processor().OAMRegisteredUEContextProcedure("")
		for _, c := range contexts {
			now.ue(reflect.ValueOf(c))
		}
		app.Context().AmfRanPool.Range(func(_, _ any) bool {
			now.gnbs++
			return true
		})
		return now
	})
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
