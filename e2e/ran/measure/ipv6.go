package measure

import (
	"encoding/binary"
	"net/netip"
)

const icmpv6 = 58

// IPv6 puts an IPv6 header before a payload.
func IPv6(src, dst netip.Addr, next uint8, payload []byte) []byte {
	b := make([]byte, 40+len(payload))
	b[0], b[6], b[7] = 0x60, next, 64
	binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
	s, d := src.As16(), dst.As16()
	copy(b[8:], s[:])
	copy(b[24:], d[:])
	copy(b[40:], payload)
	return b
}

// pseudo is a message behind the pseudo-header that its checksum is taken over (RFC 8200 8.1).
func pseudo(src, dst netip.Addr, next uint8, message []byte) []byte {
	s, d := src.As16(), dst.As16()
	b := append(append(make([]byte, 0, 40+len(message)), s[:]...), d[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(message)))
	return append(append(b, 0, 0, 0, next), message...)
}

// ICMPv6 fills in the checksum of a message whose own is zero (RFC 4443 2.3).
func ICMPv6(src, dst netip.Addr, message []byte) []byte {
	binary.BigEndian.PutUint16(message[2:], Checksum(pseudo(src, dst, icmpv6, message)))
	return message
}

// ICMPv6Valid says whether a message's checksum is right.
func ICMPv6Valid(src, dst netip.Addr, message []byte) bool {
	return len(message) >= 4 && Checksum(pseudo(src, dst, icmpv6, message)) == 0
}

// Packet is the echo request as a whole IP packet, of the version that the addresses have.
func (e Echo) Packet(src, dst netip.Addr) []byte {
	if dst.Is4() {
		const icmp = 1
		return IPv4(src, dst, icmp, e.Marshal())
	}
	return IPv6(src, dst, icmpv6, ICMPv6(src, dst, e.message6()))
}

// message6 is the echo request of ICMPv6, without its checksum (RFC 4443 4.1).
func (e Echo) message6() []byte {
	const echoRequest = 128
	m := e.Marshal()
	m[0], m[2], m[3] = echoRequest, 0, 0
	return m
}
