package takeover

import (
	"bytes"
	"encoding/binary"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Owners notes who answers for an address on a link, and who forwards as that address: each MAC address, from its first frame to its last.
type Owners struct {
	address netip.Addr

	mutex              sync.Mutex
	answered, forwards spans
}

type span struct{ first, last time.Time }

// spans by MAC address.
type spans map[[6]byte]*span

func (s spans) note(mac [6]byte, now time.Time) {
	if at := s[mac]; at != nil {
		at.last = now
		return
	}
	s[mac] = &span{now, now}
}

// both is from the first frame of the later one to the last frame of the earlier one.
func (s spans) both() (both time.Duration) {
	for mac, a := range s {
		for other, b := range s {
			if mac != other && b.first.After(a.first) {
				both = max(both, a.last.Sub(b.first))
			}
		}
	}
	return both
}

// NewOwners watches an IPv4 address.
func NewOwners(address netip.Addr) *Owners {
	return &Owners{address: address, answered: spans{}, forwards: spans{}}
}

// Reset forgets all that were seen.
func (o *Owners) Reset() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	clear(o.answered)
	clear(o.forwards)
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
	if len(b) < etherLen {
		return
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	own, body := o.address.As4(), b[etherLen:]
	switch binary.BigEndian.Uint16(b[12:]) {
	case etherARP: // that says who has the address
		if len(body) >= arpLen && bytes.Equal(body[arpSenderIP:arpSenderIP+4], own[:]) {
			o.answered.note([6]byte(body[arpSenderMAC:]), now)
		}
	case etherIPv4:
		if len(body) >= ipv4Len && bytes.Equal(body[ipv4SourceAt:ipv4SourceAt+4], own[:]) {
			o.forwards.note([6]byte(b[6:]), now)
		}
	}
}

// Both is how long two have answered, and how long two have forwarded: packets that were under way to the earlier one are no answer.
func (o *Owners) Both() (answered, forwarded time.Duration, owners []string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	all := maps.Clone(o.forwards)
	maps.Copy(all, o.answered)
	for mac := range all {
		owners = append(owners, net.HardwareAddr(mac[:]).String())
	}
	return o.answered.both(), o.forwards.both(), owners
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
