package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// Redundancy makes this upf-c a member of a redundant unit: it serves the unit, or stands by.
type Redundancy struct {
	Unit        string         `yaml:"unit"`        // its name, alike in its members; empty: this UPF has no standby
	Member      string         `yaml:"member"`      // this member's name, another one for each pod that there ever is: its UID
	Listen      netip.AddrPort `yaml:"listen"`      // where the other member's stream comes
	Peer        string         `yaml:"peer"`        // where the other member listens
	Certificate string         `yaml:"certificate"` // files: of certificates that are for ServerName
	Key         string         `yaml:"key"`
	Authority   string         `yaml:"authority"`
	ServerName  string         `yaml:"serverName"` // that both members' certificates are for
	Lease       Lease          `yaml:"lease"`
}

// Lease is the Kubernetes Lease with the unit's record.
type Lease struct {
	Server    string `yaml:"server"` // of the API, with its scheme
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
	Token     string `yaml:"token"`     // file; empty: none is shown
	Authority string `yaml:"authority"` // file; empty: those of the machine
}

// Enabled says whether there is redundancy at all.
func (r *Redundancy) Enabled() bool { return r.Unit != "" }

func (r *Redundancy) check(state string) error {
	if !r.Enabled() {
		if *r != defaultRedundancy() {
			return errors.New("redundancy.unit: is missing: write the name of the unit, alike in its members, or leave redundancy out")
		}
		return nil
	}
	for _, f := range []struct{ key, value, example string }{
		{"member", r.Member, "a name that no other pod ever has, its UID, here or with -member"},
		{"peer", r.Peer, "where the other member listens, for example upf-0-b.core5g.svc:8806"},
		{"certificate", r.Certificate, "the file of the certificate"},
		{"key", r.Key, "the file of its key"},
		{"authority", r.Authority, "the file of the authority's certificate"},
		{"serverName", r.ServerName, "the DNS name that both members' certificates are for"},
		{"lease.namespace", r.Lease.Namespace, "the namespace of the Lease"},
		{"lease.name", r.Lease.Name, "the name of the Lease"},
	} {
		if f.value == "" {
			return fmt.Errorf("redundancy.%s: is missing: write %s", f.key, f.example)
		}
	}
	if !r.Listen.IsValid() || r.Listen.Port() == 0 {
		return fmt.Errorf("redundancy.listen: %s is no address and port: write for example 0.0.0.0:8806", r.Listen)
	}
	if _, _, err := net.SplitHostPort(r.Peer); err != nil {
		return fmt.Errorf("redundancy.peer: %q is no host and port: write for example upf-0-b.core5g.svc:8806", r.Peer)
	}
	if state == "" {
		return errors.New("state.file: is empty: a unit with redundancy takes over by it, write for example /run/upf/upf-c.state")
	}
	return nil
}

func defaultRedundancy() Redundancy {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	return Redundancy{
		Listen: netip.MustParseAddrPort("0.0.0.0:8806"),
		Lease:  Lease{Server: "https://kubernetes.default.svc", Token: account + "token", Authority: account + "ca.crt"},
	}
}
