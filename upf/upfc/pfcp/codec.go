package pfcp

import "github.com/wmnsk/go-pfcp/ie"

// What the other side of N4 needs of the codec: the SMF reads and writes the same messages.

// ErrVersion: a message of another version than PFCP's only one; its sequence number is known (TS 29.244 7.4.4.7).
var ErrVersion = errVersion

// ParseHeader reads a message's header and returns the octets of its IEs, which alias b. With ErrVersion the message
// has its type and sequence number.
func ParseHeader(b []byte) (*Message, []byte, error) { return parseHeader(b) }

// Marshal builds a message; seid is nil for a node-related one.
func Marshal(msgType uint8, seid *uint64, sequence uint32, ies []*ie.IE) ([]byte, error) {
	return marshal(msgType, seid, sequence, ies)
}

// IsRequest tells requests from answers by the message type (TS 29.244 table 7.3-1).
func IsRequest(msgType uint8) bool { return isRequest(msgType) }
