package link

import (
	"fmt"
	"net/netip"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
)

// apart says that upf-c.yaml and upf-u.yaml do not speak of the same UPF. Only who writes them can help.
type apart struct{ what string }

func (e *apart) Error() string { return e.what }

// checkEndpoints compares our GTP-U addresses with those that upf-u has. An address that one of both lacks
// is one at which sessions are accepted and get no packets, or are refused one by one.
func checkEndpoints(c *config.Config, h *abi.Hello) error {
	said := false
	for _, e := range h.Endpoint {
		said = said || e.PrefixLen != 0
	}
	if !said {
		return nil // a stand-in of tests
	}
	for _, in := range []struct {
		name   string
		ours   []config.Endpoint
		theirs []abi.Endpoint
	}{{"n3", c.N3.Endpoints, h.Endpoint[:2]}, {"n9", c.N9.Endpoints, h.Endpoint[2:]}} {
		var blocks []netip.Prefix
		covered := map[netip.Prefix]uint64{} // addresses
		for i, e := range in.theirs {
			if e.PrefixLen != 0 {
				blocks = append(blocks, netip.PrefixFrom(e.Addr.IP(i == 1), int(e.PrefixLen)))
			}
		}
		for _, e := range in.ours {
			found := false
			for _, b := range blocks {
				if b.Contains(e.Addr()) && e.Bits() >= b.Bits() {
					covered[b] += size(e.Prefix)
					found = true
				}
			}
			if !found {
				return &apart{fmt.Sprintf("upf-c.yaml has %s in %s.endpoints, upf-u.yaml has %s in interfaces.%s: write the same in both", e, in.name, list(blocks), in.name)}
			}
		}
		for _, b := range blocks {
			if covered[b] != size(b) {
				return &apart{fmt.Sprintf("upf-u.yaml has %s in interfaces.%s, upf-c.yaml has %s in %s.endpoints: write the same in both", b, in.name, list(in.ours), in.name)}
			}
		}
	}
	return nil
}

// size counts a block's addresses; upf-u takes none of 2^64.
func size(p netip.Prefix) uint64 { return 1 << (p.Addr().BitLen() - p.Bits()) }

func list[T any](all []T) string {
	if len(all) == 0 {
		return "none"
	}
	return fmt.Sprint(all)
}
