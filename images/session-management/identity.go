package sessionmanagement

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"core5g.dev/core5g/images/session-management/shard"

	"github.com/google/uuid"
)

// instanceNamespace makes NF instance identifiers stable: they follow from the name of the shard's Service.
var instanceNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("session-management.core5g.dev"))

// identities of the shards, the same at every pod. scheme is that of the service based interface.
func (c *Config) identities(ctx context.Context, scheme string) ([]shard.Identity, error) {
	var out []shard.Identity
	for n := 1; n <= c.Shards; n++ {
		host := fmt.Sprintf(c.Service, n)
		id := shard.Identity{
			Number: uint16(n), Name: fmt.Sprintf("smf-%d", n), InstanceID: uuid.NewSHA1(instanceNamespace, []byte(c.Namespace+"/"+host)).String(),
			URI: fmt.Sprintf("%s://%s:%d", scheme, host, servicePort), NodeID: host, N4: netip.AddrPortFrom(c.listen(), c.N4Port+uint16(n)),
		}
		if len(c.N4Addresses) > 0 {
			id.Address = c.N4Addresses[n-1]
		} else {
			list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			if err != nil || len(list) == 0 {
				return nil, fmt.Errorf("the address of Service %s, where UPFs send reports of shard %d: %w", host, n, err)
			}
			id.Address = list[0].Unmap()
		}
		out = append(out, id)
	}
	return out, nil
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
