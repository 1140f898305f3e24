package sessionmanagement

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"strings"

	"core5g.dev/core5g/images/nf/pod"
)

// Config is how the program was started.
type Config struct {
	pod.Member
	// Slice is that of a Slice with pods of its own, "" for the pods of all others.
	Slice string
	// Shards in the order of their numbers, from 1, the same for all pods.
	Shards []ShardService
	// SBIPort and N4Port are those of shard 0, which there is not: shard n listens on the n-th behind it.
	SBIPort, N4Port uint16
}

// ShardService is how others reach a shard, whoever holds it: by Name on the service based interface, by Address on N4, and by Outside
// from outside of the cluster; invalid: by Address from there, too.
type ShardService struct {
	Name             string
	Address, Outside netip.Addr
	// Waits: it is to be reached from there at an address that is not known yet.
	Waits bool
}

// The ports that Services have.
const (
	servicePort = 8000
	pfcpPort    = 8805
	mostShards  = 64
)

// ParseConfig reads the command line.
func ParseConfig(args []string, output io.Writer) (Config, error) {
	c := Config{SBIPort: servicePort, N4Port: pfcpPort}
	var list string
	f := flag.NewFlagSet("session-management", flag.ContinueOnError)
	f.SetOutput(output)
	c.Flags(f, "slices and UPF units")
	c.Peer(f, "AMF", "")
	c.Peer(f, "UDM", "no subscriptions")
	c.Peer(f, "PCF", "policy is the Slice's")
	c.Peer(f, "CHF", "usage is kept, and nothing is charged")
	f.StringVar(&c.Slice, "slice", "", "the one Slice to serve; without it, all that have no pods of their own")
	f.StringVar(&list, "shards", os.Getenv("SHARDS"), "Service and address of each shard, the first first: name=address, with commas; name=address/address where UPFs outside of the cluster reach it at another one (default $SHARDS)")
	f.Func("sbi-ports", "port before that of shard 1 (default 8000)", pod.Number(&c.SBIPort, "port", 1, math.MaxUint16))
	f.Func("n4-ports", "UDP port before that of shard 1 (default 8805)", pod.Number(&c.N4Port, "port", 1, math.MaxUint16))
	if err := pod.Parse(f, args); err != nil {
		return Config{}, err
	}
	if err := c.Check(); err != nil {
		return Config{}, err
	}
	var err error
	if c.Shards, err = parseShards(list); err != nil {
		return Config{}, err
	}
	if len(c.Shards) > mostShards {
		return Config{}, fmt.Errorf("-shards has %d: write at most %d", len(c.Shards), mostShards)
	}
	if int(c.SBIPort)+len(c.Shards) > math.MaxUint16 || int(c.N4Port)+len(c.Shards) > math.MaxUint16 {
		return Config{}, errors.New("-sbi-ports or -n4-ports: there is no room for all shards behind it")
	}
	return c, nil
}

func parseShards(list string) ([]ShardService, error) {
	var out []ShardService
	for text := range strings.SplitSeq(list, ",") {
		name, addresses, _ := strings.Cut(strings.TrimSpace(text), "=")
		address, outside, has := strings.Cut(addresses, "/")
		a, err := netip.ParseAddr(address)
		if err != nil || name == "" {
			return nil, fmt.Errorf("-shards: %q: write name=address for each shard, for example core5g-smf-shard-1=10.96.7.1", text)
		}
		service := ShardService{Name: name, Address: a.Unmap()}
		switch {
		case has && outside == "":
			service.Waits = true
		case has:
			if a, err = netip.ParseAddr(outside); err != nil {
				return nil, fmt.Errorf("-shards: %q: %q is no address: write that of the shard's load balancer, for example core5g-smf-shard-1=10.96.7.1/192.0.2.1", text, outside)
			}
			service.Outside = a.Unmap()
		}
		out = append(out, service)
	}
	return out, nil
}
