package kubectlplugin

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"

	"core5g.dev/core5g/images/signalling"
)

// A capture in pcapng (draft-ietf-opsawg-pcapng), of the link type WIRESHARK_UPPER_PDU: each packet says by whose dissector it is to be read, so that NGAP and
// PFCP need no frames around them that nobody has seen. What has no octets, requests of the service based interface and notes, is text. Each packet has its
// line of the ladder as a comment.

const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 6
	byteOrder      = 0x1a2b3c4d
	upperPDU       = 252

	optionEnd        = 0
	optionComment    = 1
	optionName       = 2
	optionResolution = 9
	nanoseconds      = 9
)

// Tags of exported PDUs (Wireshark's epan/exported_pdu.h).
const (
	tagEnd       = 0
	tagDissector = 12
	tagIPv4To    = 21 // 20 is where it comes from
	tagIPv6To    = 23 // and 22
	tagPortType  = 24
	tagPortFrom  = 25
	tagPortTo    = 26
	portUDP      = 3
)

// pcapHead begins a capture.
func pcapHead(out io.Writer) error {
	section := binary.LittleEndian.AppendUint32(nil, byteOrder)
	section = binary.LittleEndian.AppendUint16(section, 1)
	section = binary.LittleEndian.AppendUint16(section, 0)
	section = binary.LittleEndian.AppendUint64(section, ^uint64(0)) // its length is not said
	if err := pcapBlock(out, blockSection, section); err != nil {
		return err
	}
	link := binary.LittleEndian.AppendUint16(nil, upperPDU)
	link = binary.LittleEndian.AppendUint16(link, 0)
	link = binary.LittleEndian.AppendUint32(link, 0)
	link = pcapOption(link, optionName, []byte("core5g"))
	link = pcapOption(link, optionResolution, []byte{nanoseconds})
	link = pcapOption(link, optionEnd, nil)
	return pcapBlock(out, blockInterface, link)
}

// pcapEntry writes one, with its line of the ladder.
func pcapEntry(out io.Writer, e signalling.Entry, line string) error {
	dissector, octets := dissectorOf(e), e.Octets
	if dissector == "" || len(octets) == 0 {
		dissector, octets = "data-text-lines", []byte(line+"\n")
	}
	packet := pdu(e, dissector, octets)
	at := uint64(e.At.UnixNano())
	b := binary.LittleEndian.AppendUint32(nil, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(at>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(at))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(packet)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(packet)))
	b = padded(append(b, packet...))
	b = pcapOption(b, optionComment, []byte(line))
	b = pcapOption(b, optionEnd, nil)
	return pcapBlock(out, blockPacket, b)
}

func dissectorOf(e signalling.Entry) string {
	return map[string]string{signalling.NGAP: "ngap", signalling.PFCP: "pfcp", signalling.NAS: "nas-5gs"}[e.Protocol]
}

// pdu with the tags before it. These are big-endian.
func pdu(e signalling.Entry, dissector string, octets []byte) []byte {
	b := tag(nil, tagDissector, []byte(dissector))
	if peer, err := netip.ParseAddrPort(e.Peer); err == nil && e.Protocol == signalling.PFCP {
		kind, port := uint16(tagIPv4To), uint16(tagPortTo)
		if !peer.Addr().Is4() {
			kind = tagIPv6To
		}
		if e.From == signalling.UPF {
			kind, port = kind-1, tagPortFrom
		}
		b = tag(b, kind, peer.Addr().AsSlice())
		b = tag(b, tagPortType, binary.BigEndian.AppendUint32(nil, portUDP))
		b = tag(b, port, binary.BigEndian.AppendUint32(nil, uint32(peer.Port())))
	}
	return append(tag(b, tagEnd, nil), octets...)
}

func tag(b []byte, kind uint16, value []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, kind)
	b = binary.BigEndian.AppendUint16(b, uint16((len(value)+3)&^3))
	return padded(append(b, value...))
}

func pcapOption(b []byte, kind uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, kind)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return padded(append(b, value...))
}

// padded to a multiple of four octets.
func padded(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func pcapBlock(out io.Writer, kind uint32, body []byte) error {
	length := uint32(len(body) + 12)
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, length)
	b = append(b, body...)
	b = binary.LittleEndian.AppendUint32(b, length)
	if _, err := out.Write(b); err != nil {
		return fmt.Errorf("the capture: %w", err)
	}
	return nil
}
