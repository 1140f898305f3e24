package record

import (
	"errors"
	"fmt"
	"net/netip"
)

// Prefixes are IP networks, kept short: a record has room for few. Each is an octet, its length in bits, of IPv6 behind
// lengthIPv6, and as many octets of the address as the length needs: 16 networks of 64 bits are 144 octets.
type Prefixes []netip.Prefix

const lengthIPv6 = 64

var errPrefixes = errors.New("networks that cannot be read")

// MarshalBinary refuses what is no network, or has bits behind its length.
func (p Prefixes) MarshalBinary() ([]byte, error) {
	out := []byte{}
	for _, n := range p {
		if !n.IsValid() || n != n.Masked() || n.Addr().Is4In6() {
			return nil, fmt.Errorf("%s is no network", n)
		}
		length := n.Bits()
		if n.Addr().Is6() {
			length += lengthIPv6
		}
		out = append(out, byte(length))
		out = append(out, n.Addr().AsSlice()[:(n.Bits()+7)/8]...)
	}
	return out, nil
}

// UnmarshalBinary reads what MarshalBinary has written.
func (p *Prefixes) UnmarshalBinary(b []byte) error {
	var out Prefixes
	for len(b) > 0 {
		length, address := int(b[0]), make([]byte, 4)
		if length >= lengthIPv6 {
			length, address = length-lengthIPv6, make([]byte, 16)
		}
		if length > 8*len(address) || len(b) < 1+(length+7)/8 {
			return errPrefixes
		}
		copy(address, b[1:1+(length+7)/8])
		at, _ := netip.AddrFromSlice(address) // it has 4 or 16 octets
		n := netip.PrefixFrom(at, length)
		if n != n.Masked() || at.Is4In6() {
			return errPrefixes
		}
		out, b = append(out, n), b[1+(length+7)/8:]
	}
	*p = out
	return nil
}
