package pfcp

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/wmnsk/go-pfcp/ie"
)

// Name reads a network instance or FQDN, which peers send either label-encoded (RFC 1035 3.1) or
// as plain text. It is label-encoded when labels fill it exactly.
func Name(b []byte) string { return string(AppendName(nil, b)) }

// AppendName appends it to a text.
func AppendName(text, b []byte) []byte {
	begin := len(text)
	for rest := b; len(rest) > 0; {
		n := int(rest[0])
		if n == 0 && len(rest) == 1 && len(text) > begin {
			return text // closed by the root label
		}
		if n == 0 || n > 63 || n >= len(rest) || !printable(rest[1:1+n]) {
			return append(text[:begin], b...)
		}
		if len(text) > begin {
			text = append(text, '.')
		}
		text, rest = append(text, rest[1:1+n]...), rest[1+n:]
	}
	return text
}

func printable(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// FSEID reads an F-SEID IE (TS 29.244 8.2.37): flags, SEID, addresses.
func (e *Element) FSEID() (seid uint64, v4, v6 netip.Addr, err error) {
	b := e.Value
	short := func() error {
		return &Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "F-SEID is cut short"}
	}
	if len(b) < 9 {
		return 0, v4, v6, short()
	}
	flags := b[0]
	seid, b = binary.BigEndian.Uint64(b[1:]), b[9:]
	if flags&0x02 != 0 {
		if len(b) < 4 {
			return seid, v4, v6, short()
		}
		v4, b = netip.AddrFrom4([4]byte(b)), b[4:]
	}
	if flags&0x01 != 0 {
		if len(b) < 16 {
			return seid, v4, v6, short()
		}
		v6 = netip.AddrFrom16([16]byte(b))
	}
	return seid, v4, v6, nil
}

// NodeID reads a Node ID IE (TS 29.244 8.2.38) as text: an address or an FQDN.
func (e *Element) NodeID() (string, error) {
	kind, err := e.Uint8()
	if err != nil {
		return "", err
	}
	switch kind & 0x0f {
	case ie.NodeIDIPv4Address, ie.NodeIDIPv6Address:
		a, ok := netip.AddrFromSlice(e.Value[1:])
		if !ok {
			return "", &Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "Node ID is no address"}
		}
		return a.String(), nil
	case ie.NodeIDFQDN:
		n := strings.ToLower(strings.TrimSuffix(Name(e.Value[1:]), "."))
		if n == "" || len(n) > 255 || !printable([]byte(n)) {
			return "", Incorrect(e.Type, "Node ID is no FQDN")
		}
		return n, nil
	}
	return "", Incorrect(e.Type, "Node ID type %d is not known", kind&0x0f)
}
