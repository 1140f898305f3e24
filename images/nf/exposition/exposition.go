// Package exposition serves the metrics of one of free5GC's functions: those of the process, what this
// project counts beside it, and free5GC's own, where the function has a server of them.
//
// free5GC keeps its registry to itself. So its server goes to the loopback interface, and what it says is
// read there and passed on with the rest.
package exposition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// ListenEnv names the address to serve at. Where it is not set there is no server, and free5GC's own, if
// there is one, stays where its configuration says.
const ListenEnv = "METRICS_LISTEN"

// privateHost and privatePort are where free5GC's own server goes.
const (
	privateHost = "127.0.0.1"
	privatePort = 9091
	readTimeout = 3 * time.Second
)

// Exposition is a registry and its server.
type Exposition struct {
	*prometheus.Registry
	listen  string
	private string
	log     *slog.Logger
}

// New gives a registry that has what the Go runtime and the process say.
func New(log *slog.Logger) *Exposition {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Exposition{Registry: reg, listen: os.Getenv(ListenEnv), log: log}
}

// Registered tells whether the NRF has the function's profile, as the subscriber data functions do.
func (e *Exposition) Registered(nfType string, present func() bool) {
	e.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "core5g_nf_registered",
		Help:        "1 while the NRF holds the profile of the network function.",
		ConstLabels: prometheus.Labels{"nf_type": nfType},
	}, func() float64 {
		if present() {
			return 1
		}
		return 0
	}))
}

// Behind gives free5GC's own server its place on the loopback interface: scheme, binding address and port
// are those of its configuration.
func (e *Exposition) Behind(scheme, binding *string, port *int) {
	if e.listen == "" {
		return
	}
	*scheme, *binding, *port = "http", privateHost, privatePort
	e.private = "http://" + net.JoinHostPort(privateHost, strconv.Itoa(privatePort)) + "/metrics"
}

// Serve answers until ctx ends.
func (e *Exposition) Serve(ctx context.Context) {
	if e.listen == "" {
		return
	}
	server := &http.Server{Addr: e.listen, Handler: e.handler(), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		// A function without metrics is better than none.
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			e.log.Error("metrics are not served", "address", e.listen, "error", err)
		}
	}()
}

func (e *Exposition) handler() http.Handler {
	all := prometheus.Gatherers{e.Registry}
	if e.private != "" {
		all = append(all, remote{e.private, &http.Client{Timeout: readTimeout}})
	}
	mux := http.NewServeMux()
	// While free5GC's server is not there yet, the rest is served.
	mux.Handle("GET /metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	return mux
}

// remote gathers from a server of metrics.
type remote struct {
	url    string
	client *http.Client
}

func (r remote) Gather() ([]*dto.MetricFamily, error) {
	response, err := r.client.Get(r.url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.url, response.Status)
	}
	var parser expfmt.TextParser
	byName, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.url, err)
	}
	families := make([]*dto.MetricFamily, 0, len(byName))
	for _, f := range byName {
		families = append(families, f)
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, nil
}
