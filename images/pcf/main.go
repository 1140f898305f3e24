// Command pcf runs free5GC's PCF, keeps it registered with the NRF, and stands in front of its SBI so
// that UEs outlive its restart (see smpolicies.go).
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"core5g.dev/core5g/images/nf"
	"core5g.dev/core5g/images/nf/exposition"
	"core5g.dev/core5g/images/nf/front"
	"core5g.dev/core5g/images/nf/registration"

	"github.com/free5gc/openapi/models"
	"github.com/free5gc/pcf/pkg/factory"
	"github.com/free5gc/pcf/pkg/service"
)

func main() { nf.Main("PCF", run) }

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
	metrics := exposition.New(log)
	if m := cfg.Configuration.Metrics; m != nil && m.Enable {
		metrics.Behind(&m.Scheme, &m.BindingIPv4, &m.Port)
	}

	core, err := nf.Enter(log)
	if err != nil {
		return err
	}
	var app *service.PcfApp
	keeper, err := core.Join(ctx, cfg.Configuration.NrfUri, id, func(ctx context.Context) error {
		_, _, err := app.Consumer().SendRegisterNFInstance(ctx)
		return err
	})
	if err != nil {
		return err
	}

	sbi := cfg.Configuration.Sbi
	port := sbi.Port
	place := front.NewPlace(sbi.Scheme, sbi.BindingIPv4, port)
	sbi.BindingIPv4, sbi.Port = place.PrivateHost, place.PrivatePort
	if app, err = service.NewApp(ctx, cfg, ""); err != nil {
		return err
	}
	self := app.Context()
	self.SBIPort = port
	self.InitNFService(cfg.Configuration.ServiceList, cfg.Info.Version)
	nameResources(self.PcfServiceUris, self.NfService)

	known := func(supi string) bool {
		_, ok := self.UePool.Load(supi)
		return ok
	}
	var certificate, key string
	if sbi.Tls != nil {
		certificate, key = sbi.Tls.Pem, sbi.Tls.Key
	}
	core.Serve(ctx, front.New(place, newAssociations(place.Private, known, log).handler()), certificate, key)
	metrics.Registered("PCF", keeper.Registered)
	metrics.Serve(ctx)
	go keeper.Run(ctx)
	app.Start()
	return nil
}

// nameResources by the roots of the services as they are registered: the PCF has made these names of the port behind the front, where nobody reaches it, and AMFs and
// SMFs call an association by the name that its Location says.
func nameResources(roots map[models.ServiceName]string, services map[models.ServiceName]models.NrfNfManagementNfService) {
	for name, s := range services {
		roots[name] = s.ApiPrefix + "/" + string(name) + "/" + s.Versions[0].ApiVersionInUri
	}
}
