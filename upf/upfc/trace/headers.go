package trace

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
)

// Headers is a frame's headers in one line, outermost first, as far as its octets go. It never
// fails: what it cannot read it calls by its number or says where the frame was cut.
func Headers(frame []byte) string {
	if len(frame) < 14 {
		return "cut Ethernet header"
	}
	kind, rest := binary.BigEndian.Uint16(frame[12:]), frame[14:]
	var vlan string
	for (kind == 0x8100 || kind == 0x88a8) && len(rest) >= 4 {
		vlan += fmt.Sprintf("VLAN %d ", binary.BigEndian.Uint16(rest)&0xfff)
		kind, rest = binary.BigEndian.Uint16(rest[2:]), rest[4:]
	}
	switch kind {
	case 0x0800, 0x86dd:
		return vlan + packet(rest)
	case 0x0806:
		return vlan + arp(rest)
	}
	return fmt.Sprintf("%sEtherType 0x%04x", vlan, kind)
}

func arp(b []byte) string {
	if len(b) < 28 {
		return "cut ARP"
	}
	from, to := netip.AddrFrom4([4]byte(b[14:18])), netip.AddrFrom4([4]byte(b[24:28]))
	switch op := binary.BigEndian.Uint16(b[6:]); op {
	case 1:
		return fmt.Sprintf("ARP who has %s tell %s", to, from)
	case 2:
		return fmt.Sprintf("ARP %s is at %02x:%02x:%02x:%02x:%02x:%02x", from, b[8], b[9], b[10], b[11], b[12], b[13])
	default:
		return fmt.Sprintf("ARP operation %d", op)
	}
}

// packet reads an IPv4 or IPv6 packet.
func packet(b []byte) string {
	if len(b) == 0 {
		return "no IP packet"
	}
	switch b[0] >> 4 {
	case 4:
		header := int(b[0]&15) * 4
		if header < 20 || len(b) < header {
			return "cut IPv4 header"
		}
		ends := fmt.Sprintf("%s > %s", netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])))
		total := int(binary.BigEndian.Uint16(b[2:]))
		if total >= header && total < len(b) {
			b = b[:total]
		}
		tail := fmt.Sprintf("ttl %d len %d", b[8], total)
		if tos := b[1]; tos != 0 {
			tail += fmt.Sprintf(" tos 0x%02x", tos)
		}
		if at := binary.BigEndian.Uint16(b[6:]); at&0x3fff != 0 {
			tail += fmt.Sprintf(" fragment at %d", int(at&0x1fff)*8)
			if at&0x1fff != 0 {
				return fmt.Sprintf("%s protocol %d %s", ends, b[9], tail)
			}
		}
		return transport(ends, b[9], b[header:], tail)
	case 6:
		if len(b) < 40 {
			return "cut IPv6 header"
		}
		ends := fmt.Sprintf("%s > %s", netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40])))
		tail := fmt.Sprintf("hop limit %d len %d", b[7], 40+int(binary.BigEndian.Uint16(b[4:])))
		return transportV6(ends, b[6], b[40:], tail)
	}
	return fmt.Sprintf("IP version %d", b[0]>>4)
}

// transportV6 goes past the extension headers (RFC 8200 4.1).
func transportV6(ends string, next byte, b []byte, tail string) string {
	for {
		switch next {
		case 0, 43, 60: // hop-by-hop, routing, destination options
			if len(b) < 8 || len(b) < 8+int(b[1])*8 {
				return ends + " cut extension header " + tail
			}
			next, b = b[0], b[8+int(b[1])*8:]
		case 44:
			if len(b) < 8 {
				return ends + " cut fragment header " + tail
			}
			at := binary.BigEndian.Uint16(b[2:]) &^ 7
			tail += fmt.Sprintf(" fragment at %d", at)
			if at != 0 {
				return fmt.Sprintf("%s protocol %d %s", ends, b[0], tail)
			}
			next, b = b[0], b[8:]
		default:
			return transport(ends, next, b, tail)
		}
	}
}

func transport(ends string, protocol byte, b []byte, tail string) string {
	port := func(at int) uint16 { return binary.BigEndian.Uint16(b[at:]) }
	switch protocol {
	case 1, 58:
		name := "ICMP"
		if protocol == 58 {
			name = "ICMPv6"
		}
		if len(b) < 2 {
			return fmt.Sprintf("%s cut %s %s", ends, name, tail)
		}
		what := fmt.Sprintf("type %d code %d", b[0], b[1])
		switch {
		case protocol == 1 && (b[0] == 8 || b[0] == 0) && len(b) >= 8, protocol == 58 && (b[0] == 128 || b[0] == 129) && len(b) >= 8:
			kind := "echo request"
			if b[0] == 0 || b[0] == 129 {
				kind = "echo reply"
			}
			what = fmt.Sprintf("%s id %d seq %d", kind, port(4), port(6))
		case protocol == 58 && b[0] >= 133 && b[0] <= 137:
			what = [...]string{"router solicitation", "router advertisement", "neighbour solicitation", "neighbour advertisement", "redirect"}[b[0]-133]
		}
		return fmt.Sprintf("%s %s %s %s", ends, name, what, tail)
	case 6:
		if len(b) < 20 {
			return ends + " cut TCP " + tail
		}
		var flags []string
		for i, name := range []string{"FIN", "SYN", "RST", "PSH", "ACK", "URG"} {
			if b[13]&(1<<i) != 0 {
				flags = append(flags, name)
			}
		}
		return fmt.Sprintf("%s TCP %d > %d %s seq %d ack %d %s", ends, port(0), port(2), strings.Join(flags, ","),
			binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), tail)
	case 17:
		if len(b) < 8 {
			return ends + " cut UDP " + tail
		}
		if port(2) == 2152 || port(0) == 2152 {
			return ends + " " + gtpu(b[8:])
		}
		return fmt.Sprintf("%s UDP %d > %d %s", ends, port(0), port(2), tail)
	case 132:
		if len(b) >= 4 {
			return fmt.Sprintf("%s SCTP %d > %d %s", ends, port(0), port(2), tail)
		}
	case 50:
		if len(b) >= 4 {
			return fmt.Sprintf("%s ESP SPI 0x%x %s", ends, binary.BigEndian.Uint32(b), tail)
		}
	}
	return fmt.Sprintf("%s protocol %d %s", ends, protocol, tail)
}

var gtpuTypes = map[byte]string{
	1: "Echo Request", 2: "Echo Response", 26: "Error Indication",
	31: "Supported Extension Headers Notification", 254: "End Marker",
}

// gtpu reads a GTP-U message (TS 29.281 5) and, in a G-PDU, what it carries.
func gtpu(b []byte) string {
	if len(b) < 8 || b[0]>>5 != 1 {
		return "cut GTP-U header"
	}
	head := fmt.Sprintf("GTP-U TEID 0x%08x", binary.BigEndian.Uint32(b[4:]))
	kind, flags, rest := b[1], b[0]&7, b[8:]
	if flags != 0 {
		if len(rest) < 4 {
			return head + " cut"
		}
		if flags&2 != 0 {
			head += fmt.Sprintf(" seq %d", binary.BigEndian.Uint16(rest))
		}
		next := rest[3]
		if flags&4 == 0 {
			next = 0
		}
		rest = rest[4:]
		for next != 0 {
			if len(rest) < 4 || rest[0] == 0 || len(rest) < int(rest[0])*4 {
				return head + " cut extension header"
			}
			if next == 0x85 { // TS 38.415 5.5.2
				head += fmt.Sprintf(" QFI %d", rest[2]&0x3f)
			} else {
				head += fmt.Sprintf(" extension 0x%02x", next)
			}
			next, rest = rest[int(rest[0])*4-1], rest[int(rest[0])*4:]
		}
	}
	if kind != 255 {
		name := gtpuTypes[kind]
		if name == "" {
			name = fmt.Sprintf("message %d", kind)
		}
		return head + " " + name
	}
	return head + " | " + packet(rest)
}
