package npcf

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/session-management/n1"
)

// Flow is FlowInformation (TS 29.512 5.6.2.14).
type Flow struct {
	// ID that the PCF and the SMF call it by, "" for none.
	ID string
	// Filter; its ID is 0: the SMF gives them to UEs.
	Filter n1.Filter
	// Signalled: the UE is told the filter.
	Signalled bool
}

type flowJSON struct {
	Description string `json:"flowDescription"`
	ID          string `json:"packFiltId"`
	Usage       *bool  `json:"packetFilterUsage"`
	TOS         string `json:"tosTrafficClass"`
	SPI         string `json:"spi"`
	FlowLabel   string `json:"flowLabel"`
	Direction   string `json:"flowDirection"`
	Ethernet    any    `json:"ethFlowDescription"`
}

func (f flowJSON) read() (Flow, error) {
	if f.Ethernet != nil {
		return Flow{}, errors.New("ethFlowDescription: flows by frames are the Slice's")
	}
	filter := n1.Filter{Direction: n1.Bidirectional, Protocol: -1}
	if f.Description != "" {
		var err error
		if filter, err = ParseDescription(f.Description); err != nil {
			return Flow{}, fmt.Errorf("flowDescription %.100q: %w", f.Description, err)
		}
	}
	// Where nothing is said, a filter is for both directions: the one that "out" names is the description's (TS 29.214 5.3.8).
	switch f.Direction {
	case "DOWNLINK":
		filter.Direction = n1.Downlink
	case "UPLINK":
		filter.Direction = n1.Uplink
	case "", "BIDIRECTIONAL", "UNSPECIFIED":
		filter.Direction = n1.Bidirectional
	default:
		return Flow{}, fmt.Errorf("flowDirection %.32q: write DOWNLINK, UPLINK or BIDIRECTIONAL", f.Direction)
	}
	if f.TOS != "" {
		n, err := parseHex(f.TOS, 4)
		if err != nil {
			return Flow{}, fmt.Errorf("tosTrafficClass: %w", err)
		}
		filter.TOS, filter.TOSMask = uint8(n>>8), uint8(n)
	}
	var err error
	if f.SPI != "" {
		if filter.SPI, err = parseHex(f.SPI, 8); err != nil {
			return Flow{}, fmt.Errorf("spi: %w", err)
		}
	}
	if f.FlowLabel != "" {
		if filter.FlowLabel, err = parseHex(f.FlowLabel, 6); err != nil || filter.FlowLabel > 0xfffff {
			return Flow{}, errors.New("flowLabel: write six hexadecimal digits, at most 0fffff")
		}
	}
	return Flow{ID: f.ID, Filter: filter, Signalled: f.Usage == nil || *f.Usage}, nil
}

func parseHex(text string, digits int) (uint32, error) {
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil || len(text) != digits {
		return 0, fmt.Errorf("%.16q: write %d hexadecimal digits", text, digits)
	}
	return uint32(n), nil
}

// ParseDescription reads an IPFilterRule as 5GC uses it (TS 29.212 5.4.2, RFC 6733 4.3.1): permit, out or in, a
// protocol, from and to, each any, assigned, an address or a prefix, with one port or range of ports. With "out" the
// data network's side is behind "from", with "in" behind "to".
func ParseDescription(text string) (n1.Filter, error) {
	f := n1.Filter{Direction: n1.Bidirectional, Protocol: -1}
	words := strings.Fields(text)
	if len(words) < 7 || words[0] != "permit" || words[3] != "from" {
		return f, errors.New("write permit out ip from <address> [port] to <address> [port]")
	}
	in := words[1] == "in"
	if !in && words[1] != "out" {
		return f, errors.New("write permit out or permit in")
	}
	if words[2] != "ip" {
		n, err := strconv.ParseUint(words[2], 10, 8)
		if err != nil {
			return f, fmt.Errorf("protocol %.16q: write ip or a number from 0 to 255", words[2])
		}
		f.Protocol = int(n)
	}
	from, words, err := readSide(words[4:])
	if err != nil {
		return f, err
	}
	if len(words) < 2 || words[0] != "to" {
		return f, errors.New("there is no to <address>")
	}
	to, words, err := readSide(words[1:])
	if err != nil {
		return f, err
	}
	if len(words) > 0 {
		return f, fmt.Errorf("%.32q is not understood: there are no options", words[0])
	}
	if in {
		from, to = to, from
	}
	if from.prefix.IsValid() && to.prefix.IsValid() && from.prefix.Addr().Is4() != to.prefix.Addr().Is4() {
		return f, errors.New("one address is IPv4, the other IPv6")
	}
	f.Remote, f.RemotePorts, f.Local, f.LocalPorts = from.prefix, from.ports, to.prefix, to.ports
	return f, nil
}

type side struct {
	prefix netip.Prefix
	ports  n1.PortRange
}

func readSide(words []string) (s side, rest []string, err error) {
	switch w := words[0]; {
	case w == "any" || w == "assigned":
	case strings.Contains(w, "/"):
		if s.prefix, err = netip.ParsePrefix(w); err != nil {
			return s, nil, fmt.Errorf("%.64q is no prefix", w)
		}
		s.prefix = s.prefix.Masked()
	default:
		a, err := netip.ParseAddr(w)
		if err != nil || a.Zone() != "" {
			return s, nil, fmt.Errorf("%.64q is no address: write any, assigned, an address or a prefix", w)
		}
		s.prefix = netip.PrefixFrom(a, a.BitLen())
	}
	if rest = words[1:]; len(rest) == 0 || rest[0] == "to" || rest[0][0] < '0' || rest[0][0] > '9' {
		return s, rest, nil
	}
	first, last, isRange := strings.Cut(rest[0], "-")
	if !isRange {
		last = first
	}
	a, err1 := strconv.ParseUint(first, 10, 16)
	b, err2 := strconv.ParseUint(last, 10, 16)
	if err1 != nil || err2 != nil || a > b {
		return s, nil, fmt.Errorf("ports %.32q: write one port, or a range as 1000-2000", rest[0])
	}
	s.ports = n1.PortRange{First: uint16(a), Last: uint16(b)}
	return s, rest[1:], nil
}
