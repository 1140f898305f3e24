package rules

// SDF filters (TS 29.244 8.2.5). A flow description is an IPFilterRule (RFC 6733 4.3.1) in the
// subset of TS 29.212 5.4.2: "permit out PROTO from REMOTE [PORTS] to LOCAL [PORTS]". It is read
// in the downlink direction, so the side behind "to" is the UE's; "assigned" is the UE's address.

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// SDFFilter is one SDF Filter IE.
type SDFFilter struct {
	HasID       bool   `cbor:"1,keyasint,omitempty"`
	ID          uint32 `cbor:"2,keyasint,omitempty"`
	Description string `cbor:"3,keyasint,omitempty"` // as received; empty when none
	Flow        *Flow  `cbor:"4,keyasint,omitempty"` // what Description says
	HasToS      bool   `cbor:"5,keyasint,omitempty"`
	ToS         uint8  `cbor:"6,keyasint,omitempty"`
	ToSMask     uint8  `cbor:"7,keyasint,omitempty"`
	HasSPI      bool   `cbor:"8,keyasint,omitempty"`
	SPI         uint32 `cbor:"9,keyasint,omitempty"`
}

// Flow is a parsed flow description.
type Flow struct {
	HasProtocol bool  `cbor:"1,keyasint,omitempty"`
	Protocol    uint8 `cbor:"2,keyasint,omitempty"`
	Remote      Side  `cbor:"3,keyasint"`
	Local       Side  `cbor:"4,keyasint"`
}

// Side is one end of a flow.
type Side struct {
	Assigned bool         `cbor:"1,keyasint,omitempty"` // the UE's address
	Prefix   netip.Prefix `cbor:"2,keyasint"`           // invalid: any
	Ports    []PortRange  `cbor:"3,keyasint,omitempty"` // empty: any
}

// PortRange includes both ends.
type PortRange struct {
	_    struct{} `cbor:",toarray"`
	Low  uint16
	High uint16
}

// MaxPortRanges bounds the ranges of one side.
const MaxPortRanges = 32

// ParseFlow reads a flow description.
func ParseFlow(s string) (*Flow, error) {
	w := strings.Fields(s)
	take := func(what string) (string, error) {
		if len(w) == 0 {
			return "", fmt.Errorf("ends where %s is expected", what)
		}
		t := w[0]
		w = w[1:]
		return t, nil
	}
	for _, literal := range []string{"permit", "out"} {
		t, err := take(strconv.Quote(literal))
		if err != nil {
			return nil, err
		}
		if t != literal {
			return nil, fmt.Errorf("%q where only %q is allowed (TS 29.212 5.4.2)", t, literal)
		}
	}
	f := &Flow{}
	proto, err := take("a protocol")
	if err != nil {
		return nil, err
	}
	if proto != "ip" {
		n, err := strconv.ParseUint(proto, 10, 8)
		if err != nil {
			return nil, fmt.Errorf("protocol %q is neither ip nor a number up to 255", proto)
		}
		f.HasProtocol, f.Protocol = true, uint8(n)
	}
	for _, end := range []struct {
		word string
		side *Side
	}{{"from", &f.Remote}, {"to", &f.Local}} {
		t, err := take(strconv.Quote(end.word))
		if err != nil {
			return nil, err
		}
		if t != end.word {
			return nil, fmt.Errorf("%q where %q is expected", t, end.word)
		}
		addr, err := take("an address")
		if err != nil {
			return nil, err
		}
		if err := end.side.address(addr); err != nil {
			return nil, err
		}
		if len(w) > 0 && w[0] != "to" {
			if err := end.side.ports(w[0]); err != nil {
				return nil, err
			}
			w = w[1:]
		}
	}
	if len(w) > 0 {
		return nil, fmt.Errorf("option %q is not supported", w[0])
	}
	return f, nil
}

func (e *Side) address(s string) error {
	switch s {
	case "any":
		return nil
	case "assigned":
		e.Assigned = true
		return nil
	}
	full := s
	if !strings.Contains(s, "/") {
		full += "/32"
	}
	p, err := netip.ParsePrefix(full)
	if err != nil || !p.Addr().Is4() {
		return fmt.Errorf("%q is not any, assigned or an IPv4 address or prefix", s)
	}
	if p.Bits() > 0 {
		e.Prefix = p.Masked()
	}
	return nil
}

func (e *Side) ports(s string) error {
	for _, r := range strings.Split(s, ",") {
		low, high, isRange := strings.Cut(r, "-")
		if !isRange {
			high = low
		}
		l, err := strconv.ParseUint(low, 10, 16)
		if err != nil {
			return fmt.Errorf("port %q is not a number up to 65535", low)
		}
		h, err := strconv.ParseUint(high, 10, 16)
		if err != nil {
			return fmt.Errorf("port %q is not a number up to 65535", high)
		}
		if l > h {
			return fmt.Errorf("port range %q runs backwards", r)
		}
		e.Ports = append(e.Ports, PortRange{Low: uint16(l), High: uint16(h)})
	}
	if len(e.Ports) > MaxPortRanges {
		return fmt.Errorf("more than %d port ranges", MaxPortRanges)
	}
	return nil
}

// SDF Filter IE flags.
const (
	sdfFD  = 0x01
	sdfTTC = 0x02
	sdfSPI = 0x04
	sdfFL  = 0x08
	sdfBID = 0x10
)

// parseSDFFilter reads the IE's value.
func parseSDFFilter(b []byte) (SDFFilter, error) {
	var f SDFFilter
	if len(b) < 2 {
		return f, fmt.Errorf("shorter than its flags")
	}
	flags, b := b[0], b[2:]
	take := func(n int, what string) ([]byte, error) {
		if len(b) < n {
			return nil, fmt.Errorf("ends within its %s", what)
		}
		t := b[:n]
		b = b[n:]
		return t, nil
	}
	if flags&sdfFD != 0 {
		l, err := take(2, "flow description's length")
		if err != nil {
			return f, err
		}
		d, err := take(int(binary.BigEndian.Uint16(l)), "flow description")
		if err != nil {
			return f, err
		}
		f.Description = string(d)
		if f.Flow, err = ParseFlow(f.Description); err != nil {
			return f, fmt.Errorf("flow description %q: %w", f.Description, err)
		}
	}
	if flags&sdfTTC != 0 {
		t, err := take(2, "ToS traffic class")
		if err != nil {
			return f, err
		}
		f.HasToS, f.ToS, f.ToSMask = true, t[0], t[1]
	}
	if flags&sdfSPI != 0 {
		t, err := take(4, "security parameter index")
		if err != nil {
			return f, err
		}
		f.HasSPI, f.SPI = true, binary.BigEndian.Uint32(t)
	}
	if flags&sdfFL != 0 {
		return f, fmt.Errorf("a flow label needs IPv6, which is not supported")
	}
	if flags&sdfBID != 0 {
		t, err := take(4, "filter ID")
		if err != nil {
			return f, err
		}
		f.HasID, f.ID = true, binary.BigEndian.Uint32(t)
	}
	if flags&(sdfFD|sdfTTC|sdfSPI|sdfBID) == 0 {
		return f, fmt.Errorf("says nothing")
	}
	return f, nil
}
