package gtpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// Port is the registered UDP port of GTP-U.
const Port = 2152

// Message types (TS 29.281 Table 6.1-1).
const (
	EchoRequest      uint8 = 1
	EchoResponse     uint8 = 2
	ErrorIndication  uint8 = 26
	SupportedHeaders uint8 = 31
	EndMarker        uint8 = 254
	GPDU             uint8 = 255
)

const (
	flagsBase = 0x30 // version 1, protocol type GTP
	flagE     = 0x04
	flagS     = 0x02
	flagPN    = 0x01

	extensionPSC = 0x85 // PDU Session Container

	// HeaderLen is the length of the header that this package puts before every uplink packet: 8
	// octets, 4 optional ones, and a PDU Session Container of 4.
	HeaderLen = 16
)

// Errors of Parse.
var (
	ErrTruncated = errors.New("GTP-U message truncated")
	ErrVersion   = errors.New("not GTP version 1")
	ErrExtension = errors.New("GTP-U extension header malformed or of a kind that must be understood")
)

// Packet is one GTP-U message, taken apart in place.
type Packet struct {
	Type     uint8
	TEID     uint32
	Sequence uint16
	HasSeq   bool
	HasPSC   bool
	PDUType  uint8 // 0 downlink, 1 uplink
	QFI      uint8
	RQI      bool   // reflective QoS (downlink)
	Payload  []byte // user packet, or the message's information elements
}

// PutUplink writes the header of an uplink G-PDU with a PDU Session Container into the HeaderLen
// octets before a user packet of n octets.
func PutUplink(b []byte, teid uint32, qfi uint8, n int) {
	_ = b[HeaderLen-1]
	b[0] = flagsBase | flagE
	b[1] = GPDU
	binary.BigEndian.PutUint16(b[2:], uint16(n+HeaderLen-8))
	binary.BigEndian.PutUint32(b[4:], teid)
	b[8], b[9], b[10] = 0, 0, 0
	b[11] = extensionPSC
	b[12] = 1    // extension length in units of 4 octets
	b[13] = 0x10 // TS 38.415 5.5.2.2: PDU type 1, uplink
	b[14] = qfi & 0x3F
	b[15] = 0
}

// Parse reads one message. It keeps to TS 29.281 5.2.1: an unknown extension header may be skipped
// when its type allows that for an endpoint receiver, else the message is refused.
func Parse(b []byte) (Packet, error) {
	var p Packet
	if len(b) < 8 {
		return p, ErrTruncated
	}
	if b[0]&0xF0 != flagsBase {
		return p, ErrVersion
	}
	p.Type = b[1]
	n := int(binary.BigEndian.Uint16(b[2:]))
	p.TEID = binary.BigEndian.Uint32(b[4:])
	if len(b) < 8+n {
		return p, ErrTruncated
	}
	rest := b[8 : 8+n]
	if b[0]&(flagE|flagS|flagPN) == 0 {
		p.Payload = rest
		return p, nil
	}
	if len(rest) < 4 {
		return p, ErrTruncated
	}
	if b[0]&flagS != 0 {
		p.Sequence, p.HasSeq = binary.BigEndian.Uint16(rest), true
	}
	next := rest[3]
	rest = rest[4:]
	if b[0]&flagE == 0 {
		next = 0
	}
	for next != 0 {
		if len(rest) < 4 {
			return p, ErrTruncated
		}
		size := int(rest[0]) * 4
		if size == 0 {
			return p, ErrExtension
		}
		if len(rest) < size {
			return p, ErrTruncated
		}
		switch {
		case next == extensionPSC:
			p.HasPSC = true
			p.PDUType = rest[1] >> 4
			p.QFI = rest[2] & 0x3F
			p.RQI = p.PDUType == 0 && rest[2]&0x40 != 0
		case next>>6 >= 2: // comprehension required by the endpoint
			return p, fmt.Errorf("%w: type %#02x", ErrExtension, next)
		}
		next = rest[size-1]
		rest = rest[size:]
	}
	p.Payload = rest
	return p, nil
}

// Information elements of path and tunnel management (TS 29.281 8).
const (
	ieRecovery = 14
	ieTEIDI    = 16
	ieAddress  = 133
)

// AppendEchoResponse answers an Echo Request (TS 29.281 7.2.2).
func AppendEchoResponse(b []byte, sequence uint16) []byte {
	b = append(b, flagsBase|flagS, EchoResponse, 0, 6, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, sequence)
	return append(b, 0, 0, ieRecovery, 0) // the restart counter is 0 (8.2)
}

// AppendEndMarker ends the stream of G-PDUs to a TEID (7.3.2).
func AppendEndMarker(b []byte, teid uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, flagsBase, EndMarker, 0, 0), teid)
}

// AppendErrorIndication tells the sender of a G-PDU that teid, at our address, is not there (7.3.1).
func AppendErrorIndication(b []byte, teid uint32, address netip.Addr) []byte {
	b = append(b, flagsBase|flagS, ErrorIndication, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0)
	b = append(b, ieTEIDI)
	b = binary.BigEndian.AppendUint32(b, teid)
	a := address.As4()
	return append(append(b, ieAddress, 0, 4), a[:]...)
}

// ParseErrorIndication reads which tunnel of the sender is gone.
func ParseErrorIndication(ies []byte) (teid uint32, address netip.Addr, err error) {
	for len(ies) > 0 {
		switch {
		case ies[0] == ieTEIDI && len(ies) >= 5:
			teid = binary.BigEndian.Uint32(ies[1:])
			ies = ies[5:]
		case ies[0] == ieRecovery && len(ies) >= 2:
			ies = ies[2:]
		case ies[0]&0x80 != 0 && len(ies) >= 3: // TLV
			n := int(binary.BigEndian.Uint16(ies[1:]))
			if len(ies) < 3+n {
				return 0, netip.Addr{}, ErrTruncated
			}
			if ies[0] == ieAddress {
				address, _ = netip.AddrFromSlice(ies[3 : 3+n])
			}
			ies = ies[3+n:]
		default:
			return 0, netip.Addr{}, ErrTruncated
		}
	}
	if !address.IsValid() {
		return 0, netip.Addr{}, fmt.Errorf("error indication without a GTP-U peer address")
	}
	return teid, address, nil
}
