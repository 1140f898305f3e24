package config

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
)

// Pool is a block from which the UPF chooses UE IP addresses (TS 29.244 5.21): single addresses of
// an IPv4 block, /64 prefixes of an IPv6 one.
type Pool struct {
	Name string `yaml:"name"` // UE IP Address Pool Identity; may be empty
	// NetworkInstance whose sessions it serves; empty: all that have none of their own.
	NetworkInstance string       `yaml:"networkInstance"`
	Range           netip.Prefix `yaml:"range"`
}

const uePrefixBits = 64

// Size is how many UEs it has room for.
func (p *Pool) Size() uint64 {
	if p.Range.Addr().Is4() {
		n := uint64(1) << (32 - p.Range.Bits())
		if p.Range.Bits() < 31 {
			n -= 2 // the block's own address and its broadcast address are no UE's
		}
		return n
	}
	if p.Range.Bits() == 0 {
		return math.MaxUint64
	}
	return uint64(1) << (uePrefixBits - p.Range.Bits())
}

// At is the i-th address, as a /32, or prefix.
func (p *Pool) At(i uint64) netip.Prefix {
	if p.Range.Addr().Is4() {
		if p.Range.Bits() < 31 {
			i++
		}
		a := p.Range.Addr().As4()
		binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(a[:])+uint32(i))
		return netip.PrefixFrom(netip.AddrFrom4(a), 32)
	}
	a := p.Range.Addr().As16()
	binary.BigEndian.PutUint64(a[:8], binary.BigEndian.Uint64(a[:8])+i)
	return netip.PrefixFrom(netip.AddrFrom16(a), uePrefixBits)
}

func checkPools(pools []Pool) error {
	for i := range pools {
		r := pools[i].Range
		switch {
		case !r.IsValid():
			return fmt.Errorf("uePools[%d].range: is missing: write an IPv4 or IPv6 block, for example 10.45.0.0/16", i)
		case r != r.Masked():
			return fmt.Errorf("uePools[%d].range: %s has bits beyond its length: write %s", i, r, r.Masked())
		case r.Addr().Is6() && r.Bits() > uePrefixBits:
			return fmt.Errorf("uePools[%d].range: %s is smaller than the /64 of one UE: write a /64 or larger", i, r)
		}
		for j := range i {
			// In another network instance an address is another UE's; agent.ueKey tells them apart.
			if pools[j].NetworkInstance == pools[i].NetworkInstance && pools[j].Range.Overlaps(r) {
				return fmt.Errorf("uePools[%d].range: %s overlaps %s of uePools[%d]: write each address once", i, r, pools[j].Range, j)
			}
		}
	}
	return nil
}
