// Command smf runs free5GC's SMF, keeps it registered with the NRF, and stands in front of its SBI to
// give SM contexts the URIs of TS 29.502 (see smcontexts.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"core5g.dev/core5g/images/nf"
	"core5g.dev/core5g/images/nf/exposition"
	"core5g.dev/core5g/images/nf/front"
	"core5g.dev/core5g/images/nf/registration"

	"github.com/free5gc/smf/pkg/factory"
	"github.com/free5gc/smf/pkg/service"
	"github.com/free5gc/smf/pkg/utils"
)

const (
	// instanceIDEnv is named as the other functions name theirs; free5GC's SMF has none of its own.
	instanceIDEnv = "SMF_NF_INSTANCE_ID"
	// terminationLimit bounds the way out: free5GC's SMF does not listen to SIGTERM while it waits for
	// the NRF.
	terminationLimit = drainLimit + 3*time.Second
	// associated is AssociatedSetUpSuccess, a constant of a package that cannot be imported.
	associated = 2
)

func main() {
	routing := flag.String("u", "", "UE routing `file`, in free5GC's format; needed only with ulcl")
	nf.Main("SMF", func(config string, log *slog.Logger) error { return run(config, *routing, log) })
}

func run(configPath, routingPath string, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() {
		time.AfterFunc(terminationLimit, func() {
			log.Warn("not terminated in time")
			os.Exit(1)
		})
	})

	id, err := registration.InstanceID(instanceIDEnv, "SMF", configPath)
	if err != nil {
		return err
	}
	cfg, err := factory.ReadConfig(configPath)
	if err != nil {
		return err
	}
	factory.SmfConfig = cfg
	if routingPath != "" {
		if factory.UERoutingConfig, err = factory.ReadUERoutingConfig(routingPath); err != nil {
			return err
		}
	} else if cfg.Configuration.ULCL {
		return errors.New("ulcl: true needs a UE routing file (-u)")
	}

	core, err := nf.Enter(log)
	if err != nil {
		return err
	}
	if err := nf.Call(repaired(core.Transport), repaired(core.Cleartext)); err != nil {
		return err
	}
	var app *service.SmfApp
	keeper, err := core.Join(ctx, cfg.Configuration.NrfUri, id, func(ctx context.Context) error {
		return app.Consumer().RegisterNFInstance(ctx)
	})
	if err != nil {
		return err
	}

	sbi := cfg.Configuration.Sbi
	port := sbi.Port
	place := front.NewPlace(cfg.GetSbiScheme(), sbi.BindingIPv4, port)
	sbi.BindingIPv4, sbi.Port = place.PrivateHost, place.PrivatePort
	pfcpStart, pfcpTerminate := utils.InitPFCPFunc()
	// The SMF and its front live until the drain is over, not just until the signal.
	life, end := context.WithCancel(context.Background())
	defer end()
	if app, err = service.NewApp(life, cfg, "", pfcpStart, pfcpTerminate); err != nil {
		return err
	}
	context.AfterFunc(ctx, func() {
		drain(app, log)
		// free5GC's own way out would take the profile of the successor out of the NRF.
		os.Exit(0)
	})
	self := app.Context()
	self.NfInstanceID = id
	self.SBIPort = port
	services := *self.NfProfile.NFServices
	for i := range services {
		services[i].ServiceInstanceId = id + string(services[i].ServiceName)
		services[i].ApiPrefix = fmt.Sprintf("%s://%s", self.URIScheme, net.JoinHostPort(self.RegisterIPv4, strconv.Itoa(port)))
	}

	others := newPeers(cfg.Configuration.NrfUri, cfg.GetSbiScheme(), core.Transport)
	upi := self.UserPlaneInformation
	anyAssociated := func() bool {
		upi.Mu.RLock()
		defer upi.Mu.RUnlock()
		for _, node := range upi.UPFs {
			if int(node.UPF.UPFStatus) == associated {
				return true
			}
		}
		return false
	}
	metrics := exposition.New(log)
	metrics.Registered("SMF", keeper.Registered)
	metrics.Serve(life)
	sbiFront := front.New(place, handler(place.Private, services[0].ApiPrefix, func(ctx context.Context) string {
		if !anyAssociated() {
			return "UPF: none is associated"
		}
		return others.missing(ctx)
	}))
	var certificate, key string
	if sbi.Tls != nil {
		certificate, key = sbi.Tls.Pem, sbi.Tls.Key
	}
	core.Serve(life, sbiFront, certificate, key)
	go keeper.Run(ctx)
	app.Start()
	return nil
}
