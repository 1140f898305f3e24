package nf

import (
	"context"
	"log/slog"
	"net/http"
	"os"

	"core5g.dev/core5g/images/nf/front"
	"core5g.dev/core5g/images/nf/registration"
	"core5g.dev/core5g/images/nf/sbitls"
)

// Core is the core as one of its network functions sees it.
type Core struct {
	// Identity is what the function shows of itself; nil in a core without TLS.
	Identity *sbitls.Identity
	// Transport is what the function calls others of the core with, Cleartext what it calls http URIs with. In a core
	// without TLS they are the same.
	Transport, Cleartext http.RoundTripper

	log *slog.Logger
}

// Enter reads who the function is, and has free5GC's library call others so.
func Enter(log *slog.Logger) (*Core, error) {
	identity, err := sbitls.FromEnvironment(func(err error) { log.Error("SBI certificates", "error", err) })
	if err != nil {
		return nil, err
	}
	cleartext := sbitls.Unprotected()
	c := &Core{Identity: identity, Transport: cleartext, Cleartext: cleartext, log: log}
	if identity != nil {
		c.Transport = identity.Transport()
	}
	return c, Call(c.Transport, c.Cleartext)
}

// Join makes the keeper of the function's registration with the NRF, and withdraws what an earlier life of the
// function has left there; it waits for the NRF.
func (c *Core) Join(ctx context.Context, nrf, instanceID string, register func(context.Context) error) (*registration.Keeper, error) {
	keeper := registration.New(nrf, instanceID, c.Transport, c.log, register)
	return keeper, keeper.Withdraw(ctx)
}

// Terminate ends TLS before a function of free5GC, which would read its certificate once and ask nobody for
// theirs. It moves the function to the loopback interface, by its configuration's bindingIPv4; call it before
// the function is made. The function speaks TLS there too, with the certificate that it read when it
// started: nobody looks at that one. In a core without TLS there is no front: nil.
func (c *Core) Terminate(binding *string, port int) (*front.Front, error) {
	if c.Identity == nil {
		return nil, nil
	}
	place, err := front.Beside("https", *binding, port)
	if err != nil {
		return nil, err
	}
	*binding = place.PrivateHost
	return front.New(place, front.Proxy(place.Private, nil, nil)), nil
}

// Serve runs the front of the function, if there is one, until ctx ends: with the function's identity, else with
// the files of a certificate and its key, which are needed where the configuration's scheme is https. A function whose
// front has stopped is one that nobody can reach, so that the process ends.
func (c *Core) Serve(ctx context.Context, f *front.Front, certificate, key string) {
	if f == nil {
		return
	}
	if c.Identity != nil {
		f.TLS = c.Identity.Server()
	}
	go func() {
		if err := f.Run(ctx, certificate, key); err != nil {
			c.log.Error("the SBI front has stopped", "error", err)
			os.Exit(1)
		}
	}()
}
