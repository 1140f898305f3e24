package takeover

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Owners notes who answers for an address on a link: each MAC address, from its first frame to its last.
type Owners struct {
	address netip.Addr

	mutex sync.Mutex
	seen  map[[6]byte]*span
}

type span struct{ first, last time.Time }

// NewOwners watches an IPv4 address.
func NewOwners(address netip.Addr) *Owners {
	return &Owners{address: address, seen: map[[6]byte]*span{}}
}

// Reset forgets all that were seen.
func (o *Owners) Reset() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	clear(o.seen)
}

const (
	etherLen     = 14
	etherARP     = 0x0806
	etherIPv4    = 0x0800
	arpLen       = 28
	arpSenderMAC = 8
	arpSenderIP  = 14
	arpTargetIP  = 24
	ipv4SourceAt = 12
)

// Frame takes a frame that came by the link at the time now.
func (o *Owners) Frame(b []byte, now time.Time) {
	mac, is := o.owner(b)
	if !is {
		return
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if s := o.seen[mac]; s != nil {
		s.last = now
		return
	}
	o.seen[mac] = &span{now, now}
}

// owner is who sent the frame, if it is one from the address: ARP that says so, or IPv4.
func (o *Owners) owner(b []byte) (mac [6]byte, is bool) {
	if len(b) < etherLen {
		return mac, false
	}
	own, body := o.address.As4(), b[etherLen:]
	switch binary.BigEndian.Uint16(b[12:]) {
	case etherARP:
		is = len(body) >= arpLen && bytes.Equal(body[arpSenderIP:arpSenderIP+4], own[:])
		if is {
			return [6]byte(body[arpSenderMAC:]), true
		}
	case etherIPv4:
		is = len(body) >= ipv4Len && bytes.Equal(body[ipv4SourceAt:ipv4SourceAt+4], own[:])
	}
	return [6]byte(b[6:]), is
}

// Both is how long two have answered: from the first frame of the later one to the last frame of the earlier one.
func (o *Owners) Both() (both time.Duration, owners []string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for mac, a := range o.seen {
		owners = append(owners, net.HardwareAddr(mac[:]).String())
		for other, b := range o.seen {
			if mac != other && b.first.After(a.first) {
				both = max(both, a.last.Sub(b.first))
			}
		}
	}
	return both, owners
}

// arpRequest asks everybody on the link who has the address.
func arpRequest(own net.HardwareAddr, from, about netip.Addr) []byte {
	b := make([]byte, etherLen+arpLen)
	copy(b, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	copy(b[6:], own)
	binary.BigEndian.PutUint16(b[12:], etherARP)
	body := b[etherLen:]
	copy(body, []byte{0, 1, 8, 0, 6, 4, 0, 1}) // Ethernet, IPv4, request
	copy(body[arpSenderMAC:], own)
	copy(body[arpSenderIP:], from.AsSlice())
	copy(body[arpTargetIP:], about.AsSlice())
	return b
}
