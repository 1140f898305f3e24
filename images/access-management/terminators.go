package accessmanagement

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"

	"core5g.dev/core5g/images/nf/sbitls"
)

// terminators are where N2 terminators listen for workers.
type terminators struct {
	list     []string // host:port
	identity *sbitls.Identity
	lookUp   func(ctx context.Context, host string) ([]string, error)

	mu    sync.Mutex
	hosts map[string]string // of which host an address was, which its certificate names
}

func newTerminators(c Config, identity *sbitls.Identity) *terminators {
	return &terminators{list: c.Terminators, identity: identity, lookUp: net.DefaultResolver.LookupHost, hosts: map[string]string{}}
}

// Addresses of all terminators, in order. A host that there is no address of has no terminator for the moment; one that nobody could look up is an error,
// since it may still be where it was.
func (t *terminators) Addresses(ctx context.Context) ([]string, error) {
	var out []string
	for _, entry := range t.list {
		host, port, err := net.SplitHostPort(entry)
		if err != nil {
			return nil, err
		}
		found, err := t.lookUp(ctx, host)
		var none *net.DNSError
		if errors.As(err, &none) && none.IsNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, address := range found {
			at := net.JoinHostPort(address, port)
			out = append(out, at)
			t.mu.Lock()
			t.hosts[at] = host
			t.mu.Unlock()
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Dial a terminator. It must show the certificate of the host that its address was found by.
func (t *terminators) Dial(ctx context.Context, address string) (net.Conn, error) {
	if t.identity == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	config := t.identity.Client()
	t.mu.Lock()
	config.ServerName = t.hosts[address]
	t.mu.Unlock()
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
}
