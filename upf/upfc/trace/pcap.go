package trace

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Capture files hold each packet twice, as it came and as it left. In the older format nothing tells
// the two apart but the headers; the newer one has an interface for each port, the direction, and the
// session as a comment. tcpdump and Wireshark read both.

const (
	linkEthernet = 1
	snapLength   = 65535
)

// CaptureWriter writes the frames of events; what has no frame only adds to the story.
type CaptureWriter interface{ Write(e *Event) error }

type pcap struct{ w io.Writer }

// NewPcap begins a capture file in the format of libpcap, with times in microseconds.
func NewPcap(w io.Writer) (CaptureWriter, error) {
	h := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	h = binary.LittleEndian.AppendUint16(h, 2)
	h = binary.LittleEndian.AppendUint16(h, 4)
	h = binary.LittleEndian.AppendUint64(h, 0) // times are UTC
	h = binary.LittleEndian.AppendUint32(h, snapLength)
	h = binary.LittleEndian.AppendUint32(h, linkEthernet)
	_, err := w.Write(h)
	return &pcap{w}, err
}

func (p *pcap) Write(e *Event) error {
	if len(e.Octets) == 0 {
		return nil
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(e.Time.Unix()))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Time.Nanosecond()/1000))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Octets)))
	b = binary.LittleEndian.AppendUint32(b, uint32(max(e.Length, len(e.Octets))))
	_, err := p.w.Write(append(b, e.Octets...))
	return err
}

type pcapng struct{ w io.Writer }

const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 6
	optionEnd      = 0
	optionComment  = 1
	optionName     = 2 // of an interface
	optionFlags    = 2 // of a packet: 1 received, 2 sent
	optionTSResol  = 9
)

// NewPcapng begins a capture file in the format of the PCAP Next Generation draft, with times in
// nanoseconds, an interface for each of upf-u's, and comments.
func NewPcapng(w io.Writer) (CaptureWriter, error) {
	h := binary.LittleEndian.AppendUint32(nil, 0x1a2b3c4d)
	h = binary.LittleEndian.AppendUint16(h, 1)
	h = binary.LittleEndian.AppendUint16(h, 0)
	h = binary.LittleEndian.AppendUint64(h, ^uint64(0)) // length of the section: not said
	out := block(blockSection, h)
	for _, name := range Interfaces {
		i := binary.LittleEndian.AppendUint16(nil, linkEthernet)
		i = binary.LittleEndian.AppendUint16(i, 0)
		i = binary.LittleEndian.AppendUint32(i, snapLength)
		i = option(i, optionName, []byte(name))
		i = option(i, optionTSResol, []byte{9})
		out = append(out, block(blockInterface, option(i, optionEnd, nil))...)
	}
	_, err := w.Write(out)
	return &pcapng{w}, err
}

func (p *pcapng) Write(e *Event) error {
	if len(e.Octets) == 0 {
		return nil
	}
	at := uint64(e.Time.UnixNano())
	b := binary.LittleEndian.AppendUint32(nil, uint32(max(slices.Index(Interfaces[:], e.Port), 0)))
	b = binary.LittleEndian.AppendUint32(b, uint32(at>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(at))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Octets)))
	b = binary.LittleEndian.AppendUint32(b, uint32(max(e.Length, len(e.Octets))))
	b = pad4(append(b, e.Octets...))
	comment := fmt.Sprintf("packet %x %s worker %d", e.Packet, e.Stage, e.Worker)
	if e.NetworkInstance != "" {
		comment += " network instance " + e.NetworkInstance
	}
	if e.SEID != "" {
		comment += fmt.Sprintf(" session %s UE %s", e.SEID, e.UE)
	}
	b = option(b, optionComment, []byte(comment))
	direction := uint32(1)
	if e.Stage == TX {
		direction = 2
	}
	b = option(b, optionFlags, binary.LittleEndian.AppendUint32(nil, direction))
	_, err := p.w.Write(block(blockPacket, option(b, optionEnd, nil)))
	return err
}

func block(kind uint32, body []byte) []byte {
	length := uint32(12 + len(body))
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, length)
	return binary.LittleEndian.AppendUint32(append(b, body...), length)
}

func option(b []byte, code uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return pad4(append(b, value...))
}

// pad4 pads to four octets; everything before it is a multiple of four long.
func pad4(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}
