package accessmanagement

import (
	"context"
	"log/slog"
	"net/http"

	"core5g.dev/core5g/images/nf/discovery"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// newFinder knows where AUSF, UDM, PCF and SMF are: from the NRF, or from the command line.
func newFinder(ctx context.Context, group *errgroup.Group, c Config, transport http.RoundTripper, registry prometheus.Registerer, log *slog.Logger) *discovery.Cache {
	cache := discovery.New(discovery.Options{
		NRF: c.NRF, Fixed: c.Fixed(), Type: "AMF", InstanceID: c.instance(), Transport: transport, Log: log, Registry: registry,
	})
	group.Go(func() error {
		cache.Run(ctx)
		return nil
	})
	return cache
}
