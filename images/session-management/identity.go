package sessionmanagement

import (
	"fmt"
	"net/netip"

	"core5g.dev/core5g/images/nf/pod"
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
			URI: fmt.Sprintf("%s://%s:%d", scheme, service.Name, servicePort), NodeID: service.Address.String(), Address: service.Address, Outside: service.Outside, Waits: service.Waits,
			N4: netip.AddrPortFrom(c.Listen(), c.N4Port+n),
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

// keys of the set in the session store begin so: shards of every set are numbered from 1.
func (c *Config) keys() string {
	if c.Slice != "" {
		return "of-" + c.Slice + ":"
	}
	return ""
}

// rootAt is the API root of a shard at the pod that has that name in leases.
func (c *Config) rootAt(scheme, holder string, id shard.Identity) string {
	return pod.RootAt(scheme, holder, c.SBIPort+id.Number)
}
