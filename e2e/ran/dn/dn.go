package dn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"core5g.dev/core5g/e2e/ran/config"
	"core5g.dev/core5g/e2e/ran/link"
	"core5g.dev/core5g/e2e/ran/measure"
)

// File is the YAML of `ran dn`.
type File struct {
	Interface  string  `json:"interface"`
	Address    string  `json:"address,omitempty"`  // with prefix length; "" leaves the interface's own
	Address6   string  `json:"address6,omitempty"` // of IPv6, beside it
	MTU        int     `json:"mtu,omitempty"`
	Routes     []Route `json:"routes,omitempty"`
	Throughput string  `json:"throughput,omitempty"` // default :5201
	HTTP       string  `json:"http,omitempty"`       // default :8080
	Stream     string  `json:"stream,omitempty"`     // UDP, default :5202
	Health     string  `json:"health,omitempty"`     // default :8081
}

// Route leads a UE pool to the UPF.
type Route struct {
	To  string `json:"to"`
	Via string `json:"via"`
}

type route struct {
	to  netip.Prefix
	via netip.Addr
}

// Config is the checked result.
type Config struct {
	Interface                string
	Address, Address6        netip.Prefix // invalid: not set
	MTU                      int
	routes                   []route
	Throughput, HTTP, Health string
	Stream                   string
}

// Load reads and checks a file.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// Parse checks YAML; file names it in errors.
func Parse(file string, b []byte) (*Config, error) {
	var f File
	if err := config.Strict(b, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s: %s", file, key, fmt.Sprintf(format, args...)))
	}
	c := &Config{Interface: f.Interface, MTU: f.MTU, Throughput: f.Throughput, HTTP: f.HTTP, Health: f.Health, Stream: f.Stream}
	def := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	def(&c.Throughput, fmt.Sprintf(":%d", measure.ThroughputPort))
	def(&c.HTTP, ":8080")
	def(&c.Stream, fmt.Sprintf(":%d", measure.StreamPort))
	def(&c.Health, ":8081")
	if f.Interface == "" {
		bad("interface", "it is missing; write the interface towards the UPF, such as n6")
	}
	if f.Address != "" {
		var err error
		if c.Address, err = netip.ParsePrefix(f.Address); err != nil || !c.Address.Addr().Is4() {
			bad("address", "%q is not an IPv4 address with a prefix length; write for example 172.30.6.1/24", f.Address)
		}
	}
	if f.Address6 != "" {
		var err error
		if c.Address6, err = netip.ParsePrefix(f.Address6); err != nil || !c.Address6.Addr().Is6() {
			bad("address6", "%q is not an IPv6 address with a prefix length; write for example fd00:6::1/64", f.Address6)
		}
	}
	if f.MTU != 0 && (f.MTU < 576 || f.MTU > 9216) {
		bad("mtu", "%d is out of range; write 576 to 9216", f.MTU)
	}
	for i, r := range f.Routes {
		to, err := netip.ParsePrefix(r.To)
		if err != nil {
			bad(fmt.Sprintf("routes[%d].to", i), "%q is not a prefix; write a UE pool such as 10.45.0.0/16 or fd00:45::/48", r.To)
		}
		via, err := netip.ParseAddr(r.Via)
		if err != nil || to.IsValid() && via.Is4() != to.Addr().Is4() {
			bad(fmt.Sprintf("routes[%d].via", i), "%q is not an address of the version of %q; write the UPF's on N6, such as 172.30.6.2 or fd00:6::2", r.Via, r.To)
		}
		c.routes = append(c.routes, route{to, via})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// prepare sets the interface up.
func prepare(ctx context.Context, c *Config) error {
	wait, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	l, err := link.Wait(wait, c.Interface)
	if err != nil {
		return err
	}
	if c.Address.IsValid() {
		if err := link.Address(l, c.Address); err != nil {
			return err
		}
	}
	if c.Address6.IsValid() {
		if err := link.Address(l, c.Address6); err != nil {
			return err
		}
	}
	if c.MTU != 0 {
		if err := link.MTU(l, c.MTU); err != nil {
			return err
		}
	}
	if err := link.DisableOffloads(c.Interface); err != nil {
		return err
	}
	for _, r := range c.routes {
		if err := link.Route(l, r.to, r.via); err != nil {
			return err
		}
	}
	return nil
}

// Run serves until ctx ends.
func Run(ctx context.Context, c *Config, log *slog.Logger) error {
	if err := prepare(ctx, c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var lc net.ListenConfig
	done := make(chan error, 4)
	listen := func(address string, serve func(net.Listener) error) error {
		l, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { l.Close() })
		go func() { done <- serve(l) }()
		return nil
	}
	if err := listen(c.Throughput, func(l net.Listener) error { return measure.ServeThroughput(l, log) }); err != nil {
		return err
	}
	if err := listen(c.HTTP, serveHTTP(http.HandlerFunc(tellAddress))); err != nil {
		return err
	}
	udp, err := lc.ListenPacket(ctx, "udp", c.Stream)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { udp.Close() })
	go func() { done <- measure.ServeStreams(ctx, udp.(*net.UDPConn), log) }()
	health := http.NewServeMux()
	ok := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	health.HandleFunc("GET /healthz", ok)
	health.HandleFunc("GET /readyz", ok)
	if err := listen(c.Health, serveHTTP(health)); err != nil {
		return err
	}
	log.Info("data network up", "interface", c.Interface, "throughput", c.Throughput, "http", c.HTTP)
	select {
	case <-ctx.Done():
		return nil
	case err := <-done:
		return err
	}
}

func serveHTTP(h http.Handler) func(net.Listener) error {
	return func(l net.Listener) error {
		s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
		err := s.Serve(l)
		if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}
}

// tellAddress answers with the client's address, as the data network sees it.
func tellAddress(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	fmt.Fprintln(w, host)
}
