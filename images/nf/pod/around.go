package pod

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"core5g.dev/core5g/images/nf/discovery"
	"core5g.dev/core5g/images/nf/nrf"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbimemory"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/metered"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/nf/ts29571"

	"github.com/prometheus/client_golang/prometheus"
)

// Around is what a function has around it. In a pod of its own these are sockets, certificates, an NRF (Alone); together with others in one program, memory.
type Around struct {
	Log *slog.Logger
	// Registry of the function's metrics.
	Registry prometheus.Registerer
	// Answers has others told how the function is, as Health.Answers does.
	Answers func(alive, ready func() error)
	// Shows something beside the metrics, as Health.Shows does; nil: nobody looks.
	Shows func(pattern string, handler http.HandlerFunc)
	// Identity on the service based interface; nil: it is without TLS.
	Identity *sbitls.Identity
	// Together is the program that the function shares with others; nil: it has a pod of its own.
	Together *Together
}

// Together is a program of several functions.
type Together struct {
	Network   *sbimemory.Network
	Directory *sbimemory.Directory
	// Scheme of the functions' API roots: what they keep of each other is good for pods of their own, too.
	Scheme string
}

// Alone is what a function in a pod of its own has around it. run does what is to be done until ctx ends.
func (c *Config) Alone(ctx context.Context, run func(func() error), log *slog.Logger) (*Around, error) {
	identity, err := sbitls.FromEnvironment(func(err error) { log.Error("SBI certificates", "err", err) })
	if err != nil {
		return nil, err
	}
	health, registry, err := c.Observed(ctx, run)
	if err != nil {
		return nil, err
	}
	return &Around{Log: log, Registry: registry, Answers: health.Answers, Shows: health.Shows, Identity: identity}, nil
}

// Scheme of the function's own API roots.
func (a *Around) Scheme() string {
	if a.Together != nil {
		return a.Together.Scheme
	}
	return sbitls.Scheme(a.Identity)
}

// Outgoing is how other functions are called.
func (a *Around) Outgoing() http.RoundTripper {
	return a.beside(sbitls.Outgoing(a.Identity))
}

// Served is an interface that is there, and answers as soon as it is served with a handler, until its context ends.
type Served func(ctx context.Context, handler http.Handler) error

// Calls is Outgoing for a function that nobody waits for while it calls: a peer that is slow is not taken for one that is gone so soon.
func (a *Around) Calls() http.RoundTripper {
	var outside http.RoundTripper = sbitls.Unprotected()
	if a.Identity != nil {
		outside = sbitls.ByScheme{HTTPS: a.Identity.Transport(), HTTP: outside}
	}
	return a.beside(outside)
}

func (a *Around) beside(outside http.RoundTripper) http.RoundTripper {
	if a.Together != nil {
		outside = a.Together.Network.Transport(outside)
	}
	return sbitls.Spoken{Scheme: a.Scheme(), By: outside}
}

// Listen at an address, for those who know the function by its API roots.
func (a *Around) Listen(address string, roots ...string) (Served, error) {
	if a.Together != nil {
		door, err := a.Together.Network.Open(roots...)
		if err != nil {
			return nil, err
		}
		return door.Serve, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, handler http.Handler) error {
		return sbi.Serve(ctx, sbitls.Listen(listener, a.Identity), handler)
	}, nil
}

// Finder of other functions: from the NRF, or as the command line says; those of the same program are found there. run has it follow the NRF.
func (a *Around) Finder(ctx context.Context, run func(func() error), o discovery.Options) sbi.Finder {
	o.Log, o.Registry, o.Transport = a.Log, a.Registry, a.Outgoing()
	cache := discovery.New(o)
	run(func() error {
		cache.Run(ctx)
		return nil
	})
	if a.Together != nil {
		return a.Together.Directory.Finder(cache)
	}
	return cache
}

// Registrar keeps functions known to those who look for them.
type Registrar interface {
	// Keep a function known until ctx ends.
	Keep(ctx context.Context, f nrf.Function) error
	// Changed: what functions offer is another.
	Changed()
}

// Registrar with the NRF at the base URI, or within the program. Where there is neither, nobody is told.
func (a *Around) Registrar(uri string, plmns func(context.Context) ([]ts29571.PLMN, error)) Registrar {
	switch {
	case a.Together != nil:
		return a.Together.Directory
	case uri == "":
		return unknown{}
	}
	r := nrf.NewRegistrar(uri, nil, plmns, a.Log, a.Registry)
	r.CallWith(a.Outgoing())
	return r
}

// unknown is the Registrar of a core whose functions find each other by their command lines.
type unknown struct{}

func (unknown) Keep(ctx context.Context, _ nrf.Function) error {
	<-ctx.Done()
	return nil
}
func (unknown) Changed() {}

// Store that the environment names, and what seals records. further is put before the function's own keys.
func (a *Around) Store(ctx context.Context, further string) (sessionstore.Store, mounted.Sealing, error) {
	opened, err := mounted.Await(ctx, further, a.Log)
	if err != nil {
		return nil, mounted.Sealing{}, err
	}
	store, err := metered.New(opened, a.Registry, time.Now)
	if err != nil {
		return nil, mounted.Sealing{}, fmt.Errorf("the session store: %w", err)
	}
	return store, mounted.Sealing{Store: opened}, nil
}
