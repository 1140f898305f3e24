package sctp

// What the UDP transport must know of an SCTP packet (RFC 9260 3) to hand it to the right association:
// ports, verification tag, checksum, and the chunks that open or end an association.

import (
	"encoding/binary"
	"hash/crc32"
)

type chunkType uint8

// RFC 9260 3.2, table 1.
const (
	chunkData             chunkType = 0
	chunkInit             chunkType = 1
	chunkInitAck          chunkType = 2
	chunkHeartbeat        chunkType = 4
	chunkAbort            chunkType = 6
	chunkShutdown         chunkType = 7
	chunkShutdownAck      chunkType = 8
	chunkError            chunkType = 9
	chunkCookieEcho       chunkType = 10
	chunkShutdownComplete chunkType = 14
)

const (
	commonHeaderLength = 12
	chunkHeaderLength  = 4
	// flagT: the verification tag is the receiver's own, reflected (RFC 9260 3.3.7, 3.3.13).
	flagT = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packet is an SCTP packet that parsePacket has found well-formed.
type packet struct {
	raw             []byte
	sourcePort      uint16
	destinationPort uint16
	verificationTag uint32
	first           chunkType
	firstFlags      uint8
	// initiateTag is that of INIT or INIT ACK, else 0.
	initiateTag uint32
	// inboundStreams is how many streams the sender of INIT or INIT ACK takes, else 0.
	inboundStreams uint16
	shutdown       bool // holds SHUTDOWN or SHUTDOWN ACK
	abort          bool // holds ABORT
}

// parsePacket checks lengths and checksum; a packet that fails is dropped (RFC 9260 6.8).
func parsePacket(raw []byte) (packet, bool) {
	if len(raw) < commonHeaderLength+chunkHeaderLength || checksum(raw) != binary.LittleEndian.Uint32(raw[8:]) {
		return packet{}, false
	}
	p := packet{
		raw:             raw,
		sourcePort:      binary.BigEndian.Uint16(raw),
		destinationPort: binary.BigEndian.Uint16(raw[2:]),
		verificationTag: binary.BigEndian.Uint32(raw[4:]),
		first:           chunkType(raw[commonHeaderLength]),
		firstFlags:      raw[commonHeaderLength+1],
	}
	if p.sourcePort == 0 || p.destinationPort == 0 {
		return packet{}, false
	}
	for chunks := raw[commonHeaderLength:]; len(chunks) > 0; {
		if len(chunks) < chunkHeaderLength {
			return packet{}, false
		}
		length := int(binary.BigEndian.Uint16(chunks[2:]))
		if length < chunkHeaderLength || length > len(chunks) {
			return packet{}, false
		}
		switch chunkType(chunks[0]) {
		case chunkInit, chunkInitAck:
			// RFC 9260 3.3.2: never bundled. A tag of 0 is not allowed.
			if len(chunks) != len(raw)-commonHeaderLength || length < 20 {
				return packet{}, false
			}
			p.inboundStreams = binary.BigEndian.Uint16(chunks[14:])
			if p.initiateTag = binary.BigEndian.Uint32(chunks[4:]); p.initiateTag == 0 {
				return packet{}, false
			}
		case chunkShutdown, chunkShutdownAck:
			p.shutdown = true
		case chunkAbort:
			p.abort = true
		}
		chunks = chunks[min((length+3)&^3, len(chunks)):]
	}
	return p, true
}

// Parameters of INIT and INIT ACK (RFC 9260 3.3.2.1) that say what an end with one address has no use for: other addresses of the peer, of which families it takes some, and
// for how long it would like its cookie to live. pion knows none of these, and their numbers have a receiver stop that does not know them (3.2.1): without them
// it takes what the Linux kernel and usrsctp send, which is Supported Address Types.
const (
	paramIPv4Address           = 5
	paramIPv6Address           = 6
	paramStateCookie           = 7
	paramCookiePreservative    = 9
	paramSupportedAddressTypes = 12
)

const parameterHeaderLength = 4

// withoutAddresses is a packet with INIT or INIT ACK without these parameters; its checksum is another's. What is not well-formed stays as it is.
func withoutAddresses(raw []byte) []byte {
	const fixed = commonHeaderLength + chunkHeaderLength + 16
	length := commonHeaderLength + int(binary.BigEndian.Uint16(raw[commonHeaderLength+2:]))
	out, end := append(make([]byte, 0, len(raw)), raw[:fixed]...), fixed
	for rest := raw[fixed:length]; len(rest) > 0; {
		if len(rest) < parameterHeaderLength {
			return raw
		}
		size := int(binary.BigEndian.Uint16(rest[2:]))
		if size < parameterHeaderLength || size > len(rest) {
			return raw
		}
		switch binary.BigEndian.Uint16(rest) {
		case paramIPv4Address, paramIPv6Address, paramCookiePreservative, paramSupportedAddressTypes:
		default:
			end = len(out) + size
			out = append(out, rest[:size]...)
			for len(out)%4 != 0 {
				out = append(out, 0)
			}
		}
		rest = rest[min((size+3)&^3, len(rest)):]
	}
	binary.BigEndian.PutUint16(out[commonHeaderLength+2:], uint16(end-commonHeaderLength))
	return out
}

// checksum is the CRC32c over the packet with its checksum field taken as 0 (RFC 9260 6.8, appendix A).
func checksum(raw []byte) uint32 {
	sum := crc32.Update(0, castagnoli, raw[:8])
	sum = crc32.Update(sum, castagnoli, []byte{0, 0, 0, 0})
	return crc32.Update(sum, castagnoli, raw[commonHeaderLength:])
}

// setPorts writes the ports into the packet and seals it again.
func setPorts(raw []byte, source, destination uint16) {
	binary.BigEndian.PutUint16(raw, source)
	binary.BigEndian.PutUint16(raw[2:], destination)
	binary.LittleEndian.PutUint32(raw[8:], checksum(raw))
}

// controlPacket builds a packet of one chunk, whose value is a multiple of four octets.
func controlPacket(source, destination uint16, tag uint32, chunk chunkType, flags uint8, value ...byte) []byte {
	raw := make([]byte, commonHeaderLength+chunkHeaderLength, commonHeaderLength+chunkHeaderLength+len(value))
	binary.BigEndian.PutUint32(raw[4:], tag)
	raw[commonHeaderLength] = byte(chunk)
	raw[commonHeaderLength+1] = flags
	binary.BigEndian.PutUint16(raw[commonHeaderLength+2:], uint16(chunkHeaderLength+len(value)))
	raw = append(raw, value...)
	setPorts(raw, source, destination)
	return raw
}

// answerOutOfTheBlue gives the answer to a packet that belongs to no association (RFC 9260 8.4), or nil.
// It is how a peer learns within a heartbeat that this end has restarted.
func answerOutOfTheBlue(p packet) []byte {
	switch p.first {
	case chunkAbort, chunkShutdownComplete, chunkInit, chunkError:
		return nil
	case chunkShutdownAck:
		return controlPacket(p.destinationPort, p.sourcePort, p.verificationTag, chunkShutdownComplete, flagT)
	}
	if p.abort {
		return nil
	}
	return controlPacket(p.destinationPort, p.sourcePort, p.verificationTag, chunkAbort, flagT)
}
