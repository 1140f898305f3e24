package rules

// SDF filters (TS 29.244 8.2.5). A flow description is an IPFilterRule (RFC 6733 4.3.1) in the
// subset of TS 29.212 5.4.2 and TS 29.214 5.3.8: "permit out PROTO from REMOTE [PORTS] to LOCAL
// [PORTS]", or "permit in PROTO from LOCAL [PORTS] to REMOTE [PORTS]", which says the same. Either
// is one filter for both directions: LOCAL is the UE's side, and "assigned" the UE's address.

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// SDFFilter is one SDF Filter IE.
type SDFFilter struct {
	HasID        bool
	ID           uint32
	Description  string // as received; empty when none
	Flow         *Flow  // what Description says
	HasToS       bool
	ToS          uint8
	ToSMask      uint8
	HasSPI       bool
	SPI          uint32
	HasFlowLabel bool // then only IPv6 can match
	FlowLabel    uint32
}

// filters says whether it is more than an ID.
func (f *SDFFilter) filters() bool { return f.Flow != nil || f.HasToS || f.HasSPI || f.HasFlowLabel }

// Flow is a parsed flow description.
type Flow struct {
	HasProtocol bool
	Protocol    uint8
	Remote      Side
	Local       Side
}

// Side is one end of a flow.
type Side struct {
	Assigned bool         // the UE's address
	Prefix   netip.Prefix // invalid: any
	Ports    []PortRange  // empty: any
}

// PortRange includes both ends.
type PortRange struct{ Low, High uint16 }

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
	action, err := take(`"permit"`)
	if err != nil {
		return nil, err
	}
	if action != "permit" {
		return nil, fmt.Errorf("%q where only \"permit\" is allowed (TS 29.212 5.4.2)", action)
	}
	direction, err := take(`"out" or "in"`)
	if err != nil {
		return nil, err
	}
	f := &Flow{}
	from, to := &f.Remote, &f.Local
	switch direction {
	case "out":
	case "in":
		from, to = to, from
	default:
		return nil, fmt.Errorf("%q where \"out\" or \"in\" is expected", direction)
	}
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
	}{{"from", from}, {"to", to}} {
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
		return nil, fmt.Errorf("option %q is not allowed (TS 29.212 5.4.2)", w[0])
	}
	if f.Remote.Prefix.IsValid() && f.Local.Prefix.IsValid() && f.Remote.Prefix.Addr().Is4() != f.Local.Prefix.Addr().Is4() {
		return nil, fmt.Errorf("an IPv4 and an IPv6 address in one flow")
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
	if strings.HasPrefix(s, "!") {
		return fmt.Errorf("%q: addresses are not inverted (TS 29.212 5.4.2)", s)
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		var a netip.Addr
		if a, err = netip.ParseAddr(s); err == nil {
			p = netip.PrefixFrom(a, a.BitLen()) // loses a zone, so that is looked for below
		}
	}
	if err != nil || strings.Contains(s, "%") || p.Addr().Is4In6() {
		return fmt.Errorf("%q is not any, assigned or an IP address or prefix", s)
	}
	// A prefix of no bits is any address of its version.
	e.Prefix = p.Masked()
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
		t, err := take(3, "flow label")
		if err != nil {
			return f, err
		}
		f.HasFlowLabel, f.FlowLabel = true, uint32(t[0]&0x0f)<<16|uint32(t[1])<<8|uint32(t[2])
	}
	if flags&sdfBID != 0 {
		t, err := take(4, "filter ID")
		if err != nil {
			return f, err
		}
		f.HasID, f.ID = true, binary.BigEndian.Uint32(t)
	}
	if flags&(sdfFD|sdfTTC|sdfSPI|sdfFL|sdfBID) == 0 {
		return f, fmt.Errorf("says nothing")
	}
	return f, nil
}
