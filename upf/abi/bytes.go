package abi

import (
	"fmt"
	"net/netip"
	"unsafe"
)

// Bytes views values of a struct of this package as the octets that travel.
func Bytes[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// Words views a struct of this package that has only 64-bit counters as these.
func Words[T any](v *T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(v)), unsafe.Sizeof(*v)/8)
}

// Read copies one T from the beginning of b. T must be a struct of this package.
func Read[T any](b []byte) (T, error) {
	var v T
	if len(b) < int(unsafe.Sizeof(v)) {
		return v, fmt.Errorf("%T needs %d octets, got %d", v, unsafe.Sizeof(v), len(b))
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)), b)
	return v, nil
}

// AddrBe is an IPv4 address as the fields named _be hold it: the octets in network order,
// whatever the host's order. Anything but IPv4 is 0.
func AddrBe(a netip.Addr) uint32 {
	if !a.Is4() {
		return 0
	}
	o := a.As4()
	return *(*uint32)(unsafe.Pointer(&o))
}

// AddrOf is an address as the fields of type upf_addr hold it: IPv4 in the first four octets.
func AddrOf(a netip.Addr) (out Addr) {
	copy(out[:], a.Unmap().AsSlice())
	return out
}

// IP undoes AddrOf; a flag beside the field says which version it is.
func (a Addr) IP(v6 bool) netip.Addr {
	if v6 {
		return netip.AddrFrom16(a)
	}
	return netip.AddrFrom4([4]byte(a[:4]))
}

// AddrFromBe undoes AddrBe.
func AddrFromBe(v uint32) netip.Addr {
	return netip.AddrFrom4(*(*[4]byte)(unsafe.Pointer(&v)))
}
