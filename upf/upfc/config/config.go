package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Config is upf-c.yaml after decoding, defaulting and validation.
type Config struct {
	NodeID           string    `yaml:"nodeID"`
	PFCP             PFCP      `yaml:"pfcp"`
	Heartbeat        Heartbeat `yaml:"heartbeat"`
	Dataplane        Dataplane `yaml:"dataplane"`
	State            State     `yaml:"state"`
	N3               N3        `yaml:"n3"`
	N9               N3        `yaml:"n9"` // empty: N9 comes by N3
	GTPU             GTPU      `yaml:"gtpu"`
	NetworkInstances []string  `yaml:"networkInstances"`
	UEPools          []Pool    `yaml:"uePools"`
	Limits           Limits    `yaml:"limits"`
	Metrics          Listen    `yaml:"metrics"`
	Health           Listen    `yaml:"health"`
	Control          Control   `yaml:"control"`
	Log              Log       `yaml:"log"`
}

// PFCP says where N4 is served and how our own requests are repeated.
type PFCP struct {
	Listen    netip.AddrPort `yaml:"listen"`
	Advertise netip.Addr     `yaml:"advertise"` // in UP F-SEID: a Service's ClusterIP, or our own
	// ControlPlaneSubnets are where CP functions are: nobody else is associated with, and a successor from
	// another address of theirs takes its predecessor's association over. Empty: anywhere.
	ControlPlaneSubnets []netip.Prefix `yaml:"controlPlaneSubnets"`
	// Peers are CP functions with which we set up the association ourselves: addresses or FQDNs, with
	// a port where it is not PFCP's.
	Peers      []Peer     `yaml:"peers"`
	Retransmit Retransmit `yaml:"retransmit"`
	// DataplaneWait bounds how long a session request waits for an absent upf-u.
	DataplaneWait time.Duration `yaml:"dataplaneWait"`
}

// Retransmit holds T1 and N1 of TS 29.244 6.4.
type Retransmit struct {
	Interval time.Duration `yaml:"interval"`
	Attempts int           `yaml:"attempts"`
}

// Heartbeat says how the CP functions are watched.
type Heartbeat struct {
	Interval     time.Duration `yaml:"interval"`     // 0: no heartbeats of our own
	Retries      int           `yaml:"retries"`      // failed heartbeats until the path counts as failed
	ReleaseAfter time.Duration `yaml:"releaseAfter"` // of a failed path; 0: never
}

// Dataplane is where upf-u listens.
type Dataplane struct {
	Socket string `yaml:"socket"`
}

// State is where sessions survive both halves of the UPF.
type State struct {
	File string `yaml:"file"` // on a file system in memory; empty: none
}

// N3 lists the GTP-U addresses that upf-u owns, as addresses or prefixes.
type N3 struct {
	Endpoints []Endpoint `yaml:"endpoints"`
}

// GTPU says how the GTP-U peers are watched.
type GTPU struct {
	Echo Echo `yaml:"echo"`
}

// Echo holds the times of Echo Requests (TS 29.281 7.2.1).
type Echo struct {
	Interval time.Duration `yaml:"interval"` // between two to the same peer; 0: none are sent
	Timeout  time.Duration `yaml:"timeout"`  // T3-RESPONSE
	Attempts int           `yaml:"attempts"` // N3-REQUESTS
}

// Endpoint is a block of addresses.
type Endpoint struct{ netip.Prefix }

// Listen is a TCP address.
type Listen struct {
	Listen string `yaml:"listen"`
}

// Control is the Unix socket of `upf-c ctl`.
type Control struct {
	Socket string `yaml:"socket"`
}

// Log chooses what is logged and how.
type Log struct {
	Level  slog.Level `yaml:"level"`
	Format string     `yaml:"format"`
}

// Read reads and checks the file at path.
func Read(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads one YAML document, fills in defaults and checks every value.
func Parse(text []byte) (*Config, error) {
	c := &Config{
		PFCP: PFCP{
			Listen:        netip.MustParseAddrPort("0.0.0.0:8805"),
			Retransmit:    Retransmit{Interval: time.Second, Attempts: 3},
			DataplaneWait: 2 * time.Second,
		},
		Heartbeat: Heartbeat{Interval: 10 * time.Second, Retries: 3, ReleaseAfter: 5 * time.Minute},
		Dataplane: Dataplane{Socket: "/run/upf/upf.sock"},
		State:     State{File: "/run/upf/upf-c.state"},
		GTPU:      GTPU{Echo: Echo{Interval: time.Minute, Timeout: 3 * time.Second, Attempts: 5}},
		Limits:    defaultLimits(),
		Metrics:   Listen{":9090"},
		Health:    Listen{":8081"},
		Control:   Control{Socket: "/run/upf/upf-c.sock"},
		Log:       Log{Format: "json"},
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	return c, c.complete()
}

func (c *Config) complete() error {
	if c.NodeID == "" {
		return errors.New("nodeID: required: the FQDN or address under which the SMFs know this UPF")
	}
	nodeAddr, nodeErr := netip.ParseAddr(c.NodeID)
	if nodeErr == nil && (nodeAddr.Zone() != "" || nodeAddr.Is4In6()) || nodeErr != nil && !isFQDN(c.NodeID) {
		return fmt.Errorf("nodeID: %q is neither an address nor an FQDN", c.NodeID)
	}
	if a := c.PFCP.Listen.Addr(); !a.IsValid() || a.Zone() != "" || a.Is4In6() {
		return fmt.Errorf("pfcp.listen: %s is neither an IPv4 nor an IPv6 address and a port", c.PFCP.Listen)
	}
	if !c.PFCP.Advertise.IsValid() {
		switch {
		case nodeErr == nil:
			c.PFCP.Advertise = nodeAddr
		case !c.PFCP.Listen.Addr().IsUnspecified():
			c.PFCP.Advertise = c.PFCP.Listen.Addr()
		default:
			return errors.New("pfcp.advertise: required when neither nodeID nor pfcp.listen is one address")
		}
	}
	if a := c.PFCP.Advertise; a.Is4In6() || a.Is6() && !c.PFCP.Listen.Addr().Is6() {
		return fmt.Errorf("pfcp.advertise: %s is not of the IP version of pfcp.listen, %s", a, c.PFCP.Listen)
	}
	for i, p := range c.PFCP.ControlPlaneSubnets {
		if p != p.Masked() {
			return fmt.Errorf("pfcp.controlPlaneSubnets[%d]: %s has bits beyond its length; %s is meant", i, p, p.Masked())
		}
		if p.Addr().Is4In6() {
			return fmt.Errorf("pfcp.controlPlaneSubnets[%d]: %s: write the IPv4 subnet itself", i, p)
		}
	}
	if c.PFCP.Retransmit.Interval <= 0 {
		return errors.New("pfcp.retransmit.interval: must be above 0")
	}
	if c.PFCP.Retransmit.Attempts < 1 {
		return errors.New("pfcp.retransmit.attempts: must be at least 1")
	}
	if c.PFCP.DataplaneWait < 0 {
		return errors.New("pfcp.dataplaneWait: must not be negative")
	}
	if c.Heartbeat.Interval < 0 {
		return errors.New("heartbeat.interval: must not be negative")
	}
	if c.Heartbeat.Retries < 1 {
		return errors.New("heartbeat.retries: must be at least 1")
	}
	if c.Heartbeat.ReleaseAfter < 0 {
		return errors.New("heartbeat.releaseAfter: must not be negative")
	}
	if c.Dataplane.Socket == "" {
		return errors.New("dataplane.socket: required")
	}
	if len(c.N3.Endpoints) == 0 {
		return errors.New("n3.endpoints: required: the addresses of the GTP-U endpoint, as upf-u has them")
	}
	for _, n9 := range c.N9.Endpoints {
		for _, n3 := range c.N3.Endpoints {
			if n9.Overlaps(n3.Prefix) {
				return fmt.Errorf("n9.endpoints: %s overlaps %s of n3.endpoints: leave n9 out where N9 comes by N3", n9, n3)
			}
		}
	}
	if err := checkPools(c.UEPools); err != nil {
		return err
	}
	if err := c.Limits.check(); err != nil {
		return err
	}
	if e := c.GTPU.Echo; e.Interval < 0 || e.Interval != 0 && (e.Timeout <= 0 || e.Attempts < 1) {
		return errors.New("gtpu.echo: interval, timeout and attempts must be above 0 (interval 0: none are sent)")
	} else if e.Interval != 0 && e.Interval < time.Duration(e.Attempts)*e.Timeout {
		return errors.New("gtpu.echo.interval: must be at least attempts times timeout; 0 sends none")
	}
	if c.Log.Format != "json" && c.Log.Format != "text" {
		return fmt.Errorf("log.format: %q is neither json nor text", c.Log.Format)
	}
	return nil
}

// UnmarshalText reads an address, which stands for itself, or a prefix.
func (e *Endpoint) UnmarshalText(text []byte) error {
	s := string(text)
	p, err := netip.ParsePrefix(s)
	if a, aErr := netip.ParseAddr(s); aErr == nil {
		p, err = netip.PrefixFrom(a, a.BitLen()), nil
	}
	if err != nil {
		return fmt.Errorf("endpoints: %q is neither an address nor a prefix", text)
	}
	if p.Addr().Is4In6() || strings.Contains(s, "%") {
		return fmt.Errorf("endpoints: %s is neither an IPv4 nor an IPv6 address", text)
	}
	e.Prefix = p.Masked()
	return nil
}

// First are the first addresses of each IP version; invalid where there is none.
func (n *N3) First() (v4, v6 netip.Addr) {
	for _, e := range n.Endpoints {
		if a := e.Addr(); a.Is4() && !v4.IsValid() {
			v4 = a
		} else if a.Is6() && !v6.IsValid() {
			v6 = a
		}
	}
	return v4, v6
}

// Owns says whether a is one of the endpoint's addresses.
func (n *N3) Owns(a netip.Addr) bool {
	for _, e := range n.Endpoints {
		if e.Contains(a) {
			return true
		}
	}
	return false
}

func isFQDN(s string) bool {
	if len(s) > 253 {
		return false
	}
	for _, label := range strings.Split(strings.TrimSuffix(s, "."), ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-') {
				return false
			}
		}
	}
	return true
}
