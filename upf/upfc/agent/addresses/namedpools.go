package addresses

import (
	"fmt"
	"net/netip"

	"core5g.dev/core5g/upf/upfc/config"
)

// A CP function that has the pools from elsewhere, as core5g's SMF has them from Slices, names the block that is meant as
// UE IP Address Pool Identity (TS 29.244 8.2.128) with each request: then a unit need not be told of a Slice that comes,
// and not be restarted for it. What is given out is one table whoever named the pool: two that overlap give no address
// twice in one network of N6.

// mostPools bounds how many blocks a place is kept for; of others the search begins anywhere.
const mostPools = 4096

// ChoosesUEs says whether UE addresses are chosen here at all.
func (c *Chooser) ChoosesUEs() bool { return len(c.cfg.UEPools) > 0 || c.cfg.NamedPools }

// chooseNamed allocates from the first block that is named and has room. named is false where none of the IP version is.
func (c *Chooser) chooseNamed(s *Choices, index uint32, network uint16, names []string, v6 bool) (u netip.Prefix, named bool, err error) {
	if !c.cfg.NamedPools {
		return u, false, nil
	}
	for _, name := range names {
		block, err := netip.ParsePrefix(name)
		if err != nil || block.Addr().Is6() != v6 {
			continue
		}
		if err := c.usable(block); err != nil {
			return u, true, err
		}
		named = true
		if u, ok := c.nextUELocked(&config.Pool{Range: block}, network); ok {
			c.takeUELocked(s, index, ueKey{u, network})
			return u, true, nil
		}
	}
	if named {
		err = fmt.Errorf("the pools of UE IP addresses %q are used up", names)
	}
	return u, named, err
}

// usable refuses a block that is none of UEs' addresses.
func (c *Chooser) usable(block netip.Prefix) error {
	if block != block.Masked() || block.Addr().Is4In6() || block.Addr().Is4() && block.Bits() < 8 || block.Addr().Is6() && (block.Bits() > 64 || block.Bits() < 8) {
		return fmt.Errorf("%s is no block that UE IP addresses come from: its own address, and for IPv6 at most 64 bits", block)
	}
	for _, n := range []config.N3{c.cfg.N3, c.cfg.N9} {
		for _, e := range n.Endpoints {
			if e.Overlaps(block) {
				return fmt.Errorf("%s has addresses of this UPF's own, %s", block, e.Prefix)
			}
		}
	}
	return nil
}
