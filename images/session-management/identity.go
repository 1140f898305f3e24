package sessionmanagement

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/session-management/shard"

	"github.com/google/uuid"
)

// instanceNamespace makes NF instance identifiers stable: they follow from the name of the shard's Service.
var instanceNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("session-management.core5g.dev"))

// identities of the shards, the same at every pod. scheme is that of the service based interface.
func (c *Config) identities(scheme string) []shard.Identity {
	var out []shard.Identity
	for i, service := range c.Shards {
		n := uint16(i + 1)
		out = append(out, shard.Identity{
			Number: n, Name: fmt.Sprintf("%s/%d", c.set(), n), InstanceID: uuid.NewSHA1(instanceNamespace, []byte(c.Namespace+"/"+service.Name)).String(),
			URI: fmt.Sprintf("%s://%s:%d", scheme, service.Name, servicePort), NodeID: service.Address.String(), Address: service.Address,
			N4: netip.AddrPortFrom(c.listen(), c.N4Port+n),
		})
	}
	return out
}

// set of pods that share the shards.
func (c *Config) set() string {
	if c.Slice != "" {
		return "smf-of-" + c.Slice
	}
	return "smf"
}

// prefix of all keys of the set in the session store: shards of every set are numbered from 1.
func (c *Config) prefix() string {
	prefix := os.Getenv(mounted.PrefixEnv)
	if c.Slice != "" {
		prefix += "of-" + c.Slice + ":"
	}
	return prefix
}

// listen on all addresses in a pod, and on the own one where that is a loopback address: several fit on one machine.
func (c *Config) listen() netip.Addr {
	if c.Address.IsLoopback() {
		return c.Address
	}
	if c.Address.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// holder is the pod's name in leases, by which others reach it.
func (c *Config) holder() string { return c.Pod + "/" + c.Address.String() }

// rootAt is the API root of a shard at the pod that has that name in leases.
func (c *Config) rootAt(scheme, holder string, id shard.Identity) string {
	_, address, _ := strings.Cut(holder, "/")
	return fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(address, fmt.Sprint(int(c.SBIPort)+int(id.Number))))
}
