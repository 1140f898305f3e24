package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"
)

// Config is upf-c.yaml after decoding, defaulting and validation.
type Config struct {
	NodeID           string           `yaml:"nodeID"`
	PFCP             PFCP             `yaml:"pfcp"`
	Heartbeat        Heartbeat        `yaml:"heartbeat"`
	Dataplane        Dataplane        `yaml:"dataplane"`
	State            State            `yaml:"state"`
	N3               N3               `yaml:"n3"`
	N9               N3               `yaml:"n9"` // empty: N9 comes by N3
	GTPU             GTPU             `yaml:"gtpu"`
	NetworkInstances []string         `yaml:"networkInstances"`
	UEPools          []Pool           `yaml:"uePools"`
	NamedPools       bool             `yaml:"namedPools"` // CP functions name the block that UE addresses are chosen from
	PredefinedRules  []PredefinedRule `yaml:"predefinedRules"`
	Redundancy       Redundancy       `yaml:"redundancy"`
	Limits           Limits           `yaml:"limits"`
	Metrics          Listen           `yaml:"metrics"`
	Health           Listen           `yaml:"health"`
	Control          Control          `yaml:"control"`
	Log              Log              `yaml:"log"`
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
	// RestorationWait bounds, from our Recovery Time Stamp on, how long nothing is chosen for new sessions while CP
	// functions restore those that they had.
	RestorationWait time.Duration `yaml:"restorationWait"`
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
//
// A member that is not empty stands in place of redundancy.member: files are alike for all pods that a unit ever has, and their names are not.
func Read(path, member string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := parseFor(text, member)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads one YAML document, fills in defaults and checks every value.
func Parse(text []byte) (*Config, error) { return parseFor(text, "") }

func parseFor(text []byte, member string) (*Config, error) {
	c := &Config{
		PFCP: PFCP{
			Listen:        netip.MustParseAddrPort("0.0.0.0:8805"),
			Retransmit:    Retransmit{Interval: time.Second, Attempts: 3},
			DataplaneWait: 2 * time.Second, RestorationWait: 30 * time.Second,
		},
		Heartbeat:  Heartbeat{Interval: 10 * time.Second, Retries: 3, ReleaseAfter: 5 * time.Minute},
		Dataplane:  Dataplane{Socket: "/run/upf/upf.sock"},
		State:      State{File: "/run/upf/upf-c.state"},
		GTPU:       GTPU{Echo: Echo{Interval: time.Minute, Timeout: 3 * time.Second, Attempts: 5}},
		Redundancy: defaultRedundancy(),
		Limits:     defaultLimits(),
		Metrics:    Listen{":9090"},
		Health:     Listen{":8081"},
		Control:    Control{Socket: "/run/upf/upf-c.sock"},
		Log:        Log{Format: "json"},
	}
	d, err := parse(text, c)
	if err != nil {
		return nil, err
	}
	if member != "" {
		c.Redundancy.Member = member
	}
	return c, d.at(c.complete())
}

func (c *Config) complete() error {
	if c.NodeID == "" {
		return errors.New("nodeID: is missing: write the FQDN or address under which the SMFs know this UPF")
	}
	nodeAddr, nodeErr := netip.ParseAddr(c.NodeID)
	if nodeErr == nil && (nodeAddr.Zone() != "" || nodeAddr.Is4In6()) || nodeErr != nil && !isFQDN(c.NodeID) {
		return fmt.Errorf("nodeID: %q is neither an address nor an FQDN: write for example upf-0.core5g.svc or 10.96.12.7", c.NodeID)
	}
	if a := c.PFCP.Listen.Addr(); !a.IsValid() || a.Zone() != "" || a.Is4In6() {
		return fmt.Errorf("pfcp.listen: %s is neither an IPv4 nor an IPv6 address and a port: write for example 0.0.0.0:8805", c.PFCP.Listen)
	}
	if !c.PFCP.Advertise.IsValid() {
		switch {
		case nodeErr == nil:
			c.PFCP.Advertise = nodeAddr
		case !c.PFCP.Listen.Addr().IsUnspecified():
			c.PFCP.Advertise = c.PFCP.Listen.Addr()
		default:
			return errors.New("pfcp.advertise: is missing, and neither nodeID nor pfcp.listen is one address: write the address that SMFs reach this UPF at")
		}
	}
	if a := c.PFCP.Advertise; a.Is4In6() || a.Is6() && !c.PFCP.Listen.Addr().Is6() {
		return fmt.Errorf("pfcp.advertise: %s is not of the IP version of pfcp.listen, %s: write an address of that version, or [::]:8805 as pfcp.listen", a, c.PFCP.Listen)
	}
	for i, p := range c.PFCP.ControlPlaneSubnets {
		if p != p.Masked() {
			return fmt.Errorf("pfcp.controlPlaneSubnets[%d]: %s has bits beyond its length: write %s", i, p, p.Masked())
		}
		if p.Addr().Is4In6() {
			return fmt.Errorf("pfcp.controlPlaneSubnets[%d]: %s: write the IPv4 subnet itself", i, p)
		}
	}
	if c.PFCP.Retransmit.Interval <= 0 {
		return fmt.Errorf("pfcp.retransmit.interval: %s is not above 0: write for example 1s", c.PFCP.Retransmit.Interval)
	}
	if c.PFCP.Retransmit.Attempts < 1 {
		return fmt.Errorf("pfcp.retransmit.attempts: %d is below 1: write for example 3", c.PFCP.Retransmit.Attempts)
	}
	if c.PFCP.DataplaneWait < 0 {
		return fmt.Errorf("pfcp.dataplaneWait: %s is negative: write for example 2s, or 0s", c.PFCP.DataplaneWait)
	}
	if c.PFCP.RestorationWait < 0 {
		return fmt.Errorf("pfcp.restorationWait: %s is negative: write for example 30s, or 0s for none", c.PFCP.RestorationWait)
	}
	if c.Heartbeat.Interval < 0 {
		return fmt.Errorf("heartbeat.interval: %s is negative: write for example 10s, or 0s for none", c.Heartbeat.Interval)
	}
	if c.Heartbeat.Retries < 1 {
		return fmt.Errorf("heartbeat.retries: %d is below 1: write for example 3", c.Heartbeat.Retries)
	}
	if c.Heartbeat.ReleaseAfter < 0 {
		return fmt.Errorf("heartbeat.releaseAfter: %s is negative: write for example 5m, or 0s for never", c.Heartbeat.ReleaseAfter)
	}
	if c.Dataplane.Socket == "" {
		return errors.New("dataplane.socket: is empty: write the path that upf-u.yaml has as socket, for example /run/upf/upf.sock")
	}
	if len(c.N3.Endpoints) == 0 {
		return errors.New("n3.endpoints: is missing: write the addresses of the GTP-U endpoint, as upf-u has them, for example [172.30.3.16/28]")
	}
	if err := c.checkEndpoints(); err != nil {
		return err
	}
	if err := checkPools(c.UEPools); err != nil {
		return err
	}
	if _, err := c.Predefined(); err != nil {
		return err
	}
	if err := c.Limits.check(); err != nil {
		return err
	}
	if err := c.Redundancy.check(c.State.File); err != nil {
		return err
	}
	if e := c.GTPU.Echo; e.Interval < 0 || e.Interval != 0 && (e.Timeout <= 0 || e.Attempts < 1) {
		return fmt.Errorf("gtpu.echo: interval %s, timeout %s and attempts %d are not all above 0: write for example {interval: 1m, timeout: 3s, attempts: 5}, or interval: 0s, and none are sent", e.Interval, e.Timeout, e.Attempts)
	} else if e.Interval != 0 && e.Interval < time.Duration(e.Attempts)*e.Timeout {
		return fmt.Errorf("gtpu.echo.interval: %s is less than %d attempts of %s each: write %s at least, or 0s, and none are sent", e.Interval, e.Attempts, e.Timeout, time.Duration(e.Attempts)*e.Timeout)
	}
	if c.Log.Format != "json" && c.Log.Format != "text" {
		return fmt.Errorf("log.format: %q is neither json nor text: write one of them", c.Log.Format)
	}
	return nil
}

// checkEndpoints refuses an address that is given twice.
func (c *Config) checkEndpoints() error {
	type endpoint struct {
		netip.Prefix
		key string
	}
	var all []endpoint
	for _, n := range []struct {
		key  string
		list []Endpoint
	}{{"n3", c.N3.Endpoints}, {"n9", c.N9.Endpoints}} {
		for i, e := range n.list {
			if e.Prefix != e.Masked() {
				return fmt.Errorf("%s.endpoints[%d]: %s has bits beyond its length: write %s", n.key, i, e, e.Masked())
			}
			mine := endpoint{e.Prefix, fmt.Sprintf("%s.endpoints[%d]", n.key, i)}
			for _, other := range all {
				if !other.Overlaps(mine.Prefix) {
					continue
				}
				if n.key == "n9" && other.key[:2] == "n3" {
					return fmt.Errorf("%s: %s overlaps %s of %s: leave n9 out where N9 comes by N3", mine.key, mine, other, other.key)
				}
				return fmt.Errorf("%s: %s overlaps %s of %s: write each address once", mine.key, mine, other, other.key)
			}
			all = append(all, mine)
		}
	}
	for i, p := range c.UEPools {
		for _, e := range all {
			if p.Range.IsValid() && e.Overlaps(p.Range) {
				return fmt.Errorf("uePools[%d].range: %s overlaps %s of %s: write addresses that only UEs have", i, p.Range, e, e.key)
			}
		}
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
	e.Prefix = p
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
