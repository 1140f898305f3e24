package main

import (
	"encoding/binary"
	"io"
)

const (
	addresses = 12 // octets of destination and source
	tagLength = 4
	tpid      = 0x8100
	vlanID    = 0x0fff
	// frameLength is more than any frame has.
	frameLength = 1 << 16
)

// tagged is the frame with a tag, in room. Nil: it has a tag already, or is none.
func tagged(room, frame []byte, vlan uint16) []byte {
	if len(frame) < addresses+2 || binary.BigEndian.Uint16(frame[addresses:]) == tpid {
		return nil
	}
	room = append(room[:0], frame[:addresses]...)
	room = binary.BigEndian.AppendUint16(room, tpid)
	room = binary.BigEndian.AppendUint16(room, vlan)
	return append(room, frame[addresses:]...)
}

// untagged is the frame without its tag, in room. Nil: it is none of the VLAN.
func untagged(room, frame []byte, vlan uint16) []byte {
	if len(frame) < addresses+tagLength+2 || binary.BigEndian.Uint16(frame[addresses:]) != tpid ||
		binary.BigEndian.Uint16(frame[addresses+2:])&vlanID != vlan {
		return nil
	}
	room = append(room[:0], frame[:addresses]...)
	return append(room, frame[addresses+tagLength:]...)
}

// forward passes frames on until there are no more. One that cannot be written is lost, as on a cable.
func forward(to io.Writer, from io.Reader, vlan uint16, change func(room, frame []byte, vlan uint16) []byte) error {
	frame, room := make([]byte, frameLength), make([]byte, 0, frameLength+tagLength)
	for {
		n, err := from.Read(frame)
		if err != nil {
			return err
		}
		if out := change(room, frame[:n], vlan); out != nil {
			_, _ = to.Write(out)
		}
	}
}
