package rules

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// CSID names a set of sessions that stand and fall together (TS 23.007 16.1A): the node that gave
// the identifier, and the identifier.
type CSID struct {
	Node string // an address, or four octets in hexadecimal
	ID   uint16
}

// FQ-CSID Node-ID Types (TS 29.244 8.2.46).
const (
	csidIPv4  = 0
	csidIPv6  = 1
	csidOther = 2
)

// ParseFQCSID reads an FQ-CSID: one node, one or more identifiers.
func ParseFQCSID(b []byte) ([]CSID, error) {
	if len(b) < 1 {
		return nil, errShort
	}
	kind, n, b := b[0]>>4, int(b[0]&0x0f), b[1:]
	size := 4
	if kind == csidIPv6 {
		size = 16
	}
	if len(b) < size+2*n {
		return nil, errShort
	}
	node := ""
	switch kind {
	case csidIPv4, csidIPv6:
		a, _ := netip.AddrFromSlice(b[:size])
		node = a.String()
	case csidOther:
		node = hex.EncodeToString(b[:size])
	default:
		return nil, refusal("node type is not known")
	}
	if n == 0 {
		return nil, refusal("no identifier")
	}
	out := make([]CSID, n)
	for i := range out {
		out[i] = CSID{node, binary.BigEndian.Uint16(b[size+2*i:])}
	}
	return out, nil
}

// CSIDs are those of all FQ-CSIDs of a message, each once.
func CSIDs(message pfcp.Elements) ([]CSID, error) {
	var out []CSID
	for i := range message {
		e := &message[i]
		if e.Type != ie.FQCSID {
			continue
		}
		list, err := ParseFQCSID(e.Value)
		if err == errShort {
			return nil, &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "FQ-CSID is cut short"}
		}
		if err != nil {
			return nil, pfcp.Incorrect(e.Type, "FQ-CSID: %v", err)
		}
		for _, c := range list {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out, nil
}
