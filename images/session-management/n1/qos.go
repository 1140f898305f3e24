package n1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Operation on a QoS rule (TS 24.501 9.11.4.13).
type Operation uint8

// The operations on QoS rules.
const (
	CreateRule     Operation = 1
	DeleteRule     Operation = 2
	AddFilters     Operation = 3
	ReplaceFilters Operation = 4
	DeleteFilters  Operation = 5
	ChangeRule     Operation = 6 // its precedence or flow, not its filters
)

// Operations on QoS flow descriptions (TS 24.501 9.11.4.12).
const (
	CreateFlow Operation = 1
	DeleteFlow Operation = 2
	ModifyFlow Operation = 3
)

// Direction of a packet filter.
type Direction uint8

// The directions of packet filters.
const (
	Downlink      Direction = 1
	Uplink        Direction = 2
	Bidirectional Direction = 3
)

// Filter matches packets of a flow. What is zero matches everything. Local is the UE's side.
type Filter struct {
	ID            uint8 // 0 to 15
	Direction     Direction
	Remote, Local netip.Prefix
	// Protocol is a number of IANA's, -1 for any.
	Protocol int
	// Ports are closed ranges; {0, 0} is any, which TS 24.501 cannot say of port 0 alone either.
	RemotePorts, LocalPorts PortRange
	// TOS and its mask: type of service or traffic class.
	TOS, TOSMask uint8
	// SPI of IPsec and flow label, 0 for any.
	SPI, FlowLabel uint32
	// Frame is what a filter of an Ethernet session looks for before the IP packet.
	Frame Frame
}

// OfFrames says whether a filter looks at frames, and not at packets alone.
func (f Filter) OfFrames() bool { return f.Frame != Frame{} }

// MAC is an address of IEEE 802; that of zeros is none's.
type MAC [6]byte

func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// Frame is what an Ethernet frame has (TS 23.501 5.7.6.3). Remote is the data network's side: destination of uplink frames, source of downlink ones.
type Frame struct {
	Remote, Local MAC
	// CVLAN and SVLAN are the IDs in the C-TAG and the S-TAG, 1 to 4094; 0 for any, and none.
	CVLAN, SVLAN uint16
	// CPriority and SPriority are PCP and DEI in the tags, as PriorityOf makes them; 0 for any.
	CPriority, SPriority Priority
	// EtherType behind the tags, 0 for any.
	EtherType uint16
}

// Priority of a tag: 1 above PCP, of three bits, and DEI.
type Priority uint8

// PriorityOf a PCP, 0 to 7, and a DEI.
func PriorityOf(pcp uint8, dei bool) Priority {
	p := Priority(pcp&7)<<1 + 1
	if dei {
		p++
	}
	return p
}

// PCP and DEI of a Priority that is not 0.
func (p Priority) PCP() (pcp uint8, dei bool) { return uint8(p-1) >> 1 & 7, (p-1)&1 != 0 }

// OfIP says whether a filter looks for anything in an IP packet.
func (f Filter) OfIP() bool {
	g := Any(f.ID)
	g.Direction, g.Frame = f.Direction, f.Frame
	return f != g
}

// PortRange is closed.
type PortRange struct{ First, Last uint16 }

// Rule is a QoS rule. Filters of DeleteFilters have only their ID.
type Rule struct {
	ID        uint8 // 0 where a UE leaves the choice to the network
	Operation Operation
	Default   bool
	Filters   []Filter
	// Precedence is 0 to 255, and QFI 0 to 63.
	Precedence, QFI uint8
	Segregation     bool
}

// Flow is a QoS flow description. Rates are in bit/s, 0 for not told.
type Flow struct {
	QFI       uint8
	Operation Operation
	FiveQI    uint8 // 0: not told
	// GFBR and MFBR are the guaranteed and the maximum flow bit rates.
	GFBRUplink, GFBRDownlink, MFBRUplink, MFBRDownlink uint64
	AveragingWindow                                    time.Duration
}

// Components of packet filters (TS 24.501 table 9.11.4.13.1).
const (
	matchAll         = 0x01
	remoteIPv4       = 0x10
	localIPv4        = 0x11
	remoteIPv6       = 0x21
	localIPv6        = 0x23
	protocolID       = 0x30
	singleLocalPort  = 0x40
	localPortRange   = 0x41
	singleRemotePort = 0x50
	remotePortRange  = 0x51
	securityIndex    = 0x60
	typeOfService    = 0x70
	flowLabel        = 0x80
	destinationMAC   = 0x81
	sourceMAC        = 0x82
	cTagVID          = 0x83
	sTagVID          = 0x84
	cTagPriority     = 0x85
	sTagPriority     = 0x86
	etherType        = 0x87
)

// macs are the components of a filter's remote and local address: of one for both directions, the destination is the remote one (TS 24.501 9.11.4.13).
func macs(d Direction) (remote, local byte) {
	if d == Downlink {
		return sourceMAC, destinationMAC
	}
	return destinationMAC, sourceMAC
}

func (f Frame) encode(b []byte, d Direction) []byte {
	remote, local := macs(d)
	if f.Remote != (MAC{}) {
		b = append(append(b, remote), f.Remote[:]...)
	}
	if f.Local != (MAC{}) {
		b = append(append(b, local), f.Local[:]...)
	}
	for _, n := range []struct {
		kind  byte
		value uint16
	}{{cTagVID, f.CVLAN}, {sTagVID, f.SVLAN}} {
		if n.value != 0 {
			b = binary.BigEndian.AppendUint16(append(b, n.kind), n.value&0x0fff)
		}
	}
	for _, n := range []struct {
		kind  byte
		value Priority
	}{{cTagPriority, f.CPriority}, {sTagPriority, f.SPriority}} {
		if n.value != 0 {
			b = append(b, n.kind, byte(n.value-1)&0x0f)
		}
	}
	if f.EtherType != 0 {
		b = binary.BigEndian.AppendUint16(append(b, etherType), f.EtherType)
	}
	return b
}

// read takes over one component of a frame.
func (f *Frame) read(kind byte, v []byte, d Direction) error {
	remote, local := macs(d)
	switch kind {
	case remote:
		f.Remote = MAC(v)
	case local:
		f.Local = MAC(v)
	case cTagVID, sTagVID:
		n := binary.BigEndian.Uint16(v) & 0x0fff
		if n == 0 || n == 0x0fff {
			return fmt.Errorf("a packet filter has the VLAN ID %d, which is none", n)
		}
		if kind == cTagVID {
			f.CVLAN = n
		} else {
			f.SVLAN = n
		}
	case cTagPriority:
		f.CPriority = Priority(v[0]&0x0f) + 1
	case sTagPriority:
		f.SPriority = Priority(v[0]&0x0f) + 1
	case etherType:
		if f.EtherType = binary.BigEndian.Uint16(v); f.EtherType < 0x0600 {
			return fmt.Errorf("a packet filter has the ethertype %#04x, which is a length", f.EtherType)
		}
	}
	if kind == remote && f.Remote == (MAC{}) || kind == local && f.Local == (MAC{}) {
		return errors.New("a packet filter has the MAC address of zeros, which is none's")
	}
	return nil
}

// Any is the filter of a default QoS rule.
func Any(id uint8) Filter { return Filter{ID: id, Direction: Bidirectional, Protocol: -1} }

func (f Filter) encode(b []byte) []byte {
	b = append(b, byte(f.Direction)<<4|f.ID&0x0f, 0)
	at := len(b)
	for _, side := range []struct {
		prefix      netip.Prefix
		four, six   byte
		ports       PortRange
		one, range_ byte
	}{
		{f.Remote, remoteIPv4, remoteIPv6, f.RemotePorts, singleRemotePort, remotePortRange},
		{f.Local, localIPv4, localIPv6, f.LocalPorts, singleLocalPort, localPortRange},
	} {
		if p := side.prefix; p.IsValid() {
			if p.Addr().Is4() {
				b = append(append(b, side.four), p.Masked().Addr().AsSlice()...)
				b = binary.BigEndian.AppendUint32(b, ^uint32(0)<<(32-p.Bits()))
				if p.Bits() == 0 {
					copy(b[len(b)-4:], []byte{0, 0, 0, 0})
				}
			} else {
				b = append(append(b, side.six), p.Masked().Addr().AsSlice()...)
				b = append(b, byte(p.Bits()))
			}
		}
		if side.ports != (PortRange{}) {
			if side.ports.First == side.ports.Last {
				b = binary.BigEndian.AppendUint16(append(b, side.one), side.ports.First)
			} else {
				b = binary.BigEndian.AppendUint16(append(b, side.range_), side.ports.First)
				b = binary.BigEndian.AppendUint16(b, side.ports.Last)
			}
		}
	}
	if f.Protocol >= 0 {
		b = append(b, protocolID, byte(f.Protocol))
	}
	if f.SPI != 0 {
		b = binary.BigEndian.AppendUint32(append(b, securityIndex), f.SPI)
	}
	if f.TOSMask != 0 {
		b = append(b, typeOfService, f.TOS, f.TOSMask)
	}
	if f.FlowLabel != 0 {
		b = append(b, flowLabel, byte(f.FlowLabel>>16), byte(f.FlowLabel>>8), byte(f.FlowLabel))
	}
	b = f.Frame.encode(b, f.Direction)
	if len(b) == at {
		b = append(b, matchAll)
	}
	b[at-1] = byte(len(b) - at)
	return b
}

func encodeRules(rules []Rule) []byte {
	var out []byte
	for _, r := range rules {
		b := []byte{byte(r.Operation)<<5 | byte(len(r.Filters))&0x0f}
		if r.Default {
			b[0] |= 0x10
		}
		for _, f := range r.Filters {
			if r.Operation == DeleteFilters {
				b = append(b, f.ID&0x0f)
			} else {
				b = f.encode(b)
			}
		}
		if r.Operation != DeleteRule {
			flow := r.QFI & 0x3f
			if r.Segregation {
				flow |= 0x40
			}
			b = append(b, r.Precedence, flow)
		}
		out = binary.BigEndian.AppendUint16(append(out, r.ID), uint16(len(b)))
		out = append(out, b...)
	}
	return out
}

// decodeRules reads the rules of a UE's request; a cause of 0 is none (TS 24.501 6.4.2.5).
func decodeRules(b []byte) (rules []Rule, cause Cause, reason string) {
	for len(b) > 0 {
		if len(b) < 4 || len(b)-3 < int(binary.BigEndian.Uint16(b[1:])) || binary.BigEndian.Uint16(b[1:]) == 0 {
			return nil, CauseSyntacticalErrorInQoS, "a QoS rule is cut"
		}
		end := 3 + int(binary.BigEndian.Uint16(b[1:]))
		r := Rule{ID: b[0], Operation: Operation(b[3] >> 5), Default: b[3]&0x10 != 0}
		count, rest := int(b[3]&0x0f), b[4:end]
		b = b[end:]
		if r.Operation < CreateRule || r.Operation > ChangeRule {
			return nil, CauseSemanticErrorInQoS, fmt.Sprintf("QoS rule %d has the reserved operation %d", r.ID, r.Operation)
		}
		if none := r.Operation == DeleteRule || r.Operation == ChangeRule; none != (count == 0) && (none || r.Operation != CreateRule) {
			return nil, CauseSyntacticalErrorInQoS, fmt.Sprintf("QoS rule %d has %d filters for operation %d", r.ID, count, r.Operation)
		}
		var used [16]bool
		for range count {
			var f Filter
			if f, rest, cause, reason = decodeFilter(rest, r.Operation == DeleteFilters); cause != 0 {
				return nil, cause, reason
			}
			if used[f.ID] && r.Operation == DeleteFilters {
				return nil, CauseSyntacticalErrorInFilters, "a packet filter is named twice"
			}
			used[f.ID] = true
			r.Filters = append(r.Filters, f)
		}
		if len(rest) > 0 {
			r.Precedence = rest[0]
		}
		if len(rest) > 1 {
			r.QFI, r.Segregation = rest[1]&0x3f, rest[1]&0x40 != 0
		}
		if r.Operation == CreateRule && len(rest) < 2 || r.Operation == DeleteRule && len(rest) > 0 || len(rest) > 2 {
			return nil, CauseSyntacticalErrorInQoS, fmt.Sprintf("QoS rule %d has no precedence or flow, or octets behind them", r.ID)
		}
		rules = append(rules, r)
	}
	return rules, 0, ""
}

var componentLengths = map[byte]int{
	matchAll: 0, remoteIPv4: 8, localIPv4: 8, remoteIPv6: 17, localIPv6: 17, protocolID: 1, singleLocalPort: 2,
	localPortRange: 4, singleRemotePort: 2, remotePortRange: 4, securityIndex: 4, typeOfService: 2, flowLabel: 3,
	destinationMAC: 6, sourceMAC: 6, cTagVID: 2, sTagVID: 2, cTagPriority: 1, sTagPriority: 1, etherType: 2,
}

func decodeFilter(b []byte, onlyID bool) (f Filter, rest []byte, cause Cause, reason string) {
	cut := func() (Filter, []byte, Cause, string) {
		return Filter{}, nil, CauseSyntacticalErrorInFilters, "a packet filter is cut"
	}
	if len(b) < 1 {
		return cut()
	}
	f = Filter{ID: b[0] & 0x0f, Direction: Direction(b[0] >> 4 & 3), Protocol: -1}
	if onlyID {
		return Filter{ID: f.ID}, b[1:], 0, ""
	}
	if len(b) < 2 || len(b)-2 < int(b[1]) {
		return cut()
	}
	content, rest := b[2:2+int(b[1])], b[2+int(b[1]):]
	if len(content) == 0 || f.Direction == 0 {
		return Filter{}, nil, CauseSyntacticalErrorInFilters, "a packet filter is empty, or has no direction"
	}
	var seen [256]bool
	for len(content) > 0 {
		kind := content[0]
		n, known := componentLengths[kind]
		if !known || len(content)-1 < n {
			return Filter{}, nil, CauseSyntacticalErrorInFilters, fmt.Sprintf("a packet filter has the component %#02x, which is not known or cut", kind)
		}
		v := content[1 : 1+n]
		content = content[1+n:]
		if seen[kind] || kind == matchAll && (len(content) > 0 || n+1 < int(b[1])) {
			return Filter{}, nil, CauseSemanticErrorInFilters, fmt.Sprintf("a packet filter has the component %#02x twice, or beside others", kind)
		}
		seen[kind] = true
		var err error
		switch kind {
		case remoteIPv4:
			f.Remote, err = prefix4(v)
		case localIPv4:
			f.Local, err = prefix4(v)
		case remoteIPv6:
			f.Remote, err = prefix6(v)
		case localIPv6:
			f.Local, err = prefix6(v)
		case protocolID:
			f.Protocol = int(v[0])
		case singleLocalPort:
			f.LocalPorts = PortRange{binary.BigEndian.Uint16(v), binary.BigEndian.Uint16(v)}
		case localPortRange:
			f.LocalPorts, err = ports(v)
		case singleRemotePort:
			f.RemotePorts = PortRange{binary.BigEndian.Uint16(v), binary.BigEndian.Uint16(v)}
		case remotePortRange:
			f.RemotePorts, err = ports(v)
		case securityIndex:
			f.SPI = binary.BigEndian.Uint32(v)
		case typeOfService:
			f.TOS, f.TOSMask = v[0]&v[1], v[1]
		case flowLabel:
			f.FlowLabel = (uint32(v[0])<<16 | uint32(v[1])<<8 | uint32(v[2])) & 0xfffff
		default:
			err = f.Frame.read(kind, v, f.Direction)
		}
		if err != nil {
			return Filter{}, nil, CauseSemanticErrorInFilters, err.Error()
		}
	}
	for _, twins := range [][2]byte{{remoteIPv4, remoteIPv6}, {localIPv4, localIPv6}, {singleLocalPort, localPortRange}, {singleRemotePort, remotePortRange}} {
		if seen[twins[0]] && seen[twins[1]] {
			return Filter{}, nil, CauseSemanticErrorInFilters, fmt.Sprintf("a packet filter has both components %#02x and %#02x", twins[0], twins[1])
		}
	}
	return f, rest, 0, ""
}

func prefix4(v []byte) (netip.Prefix, error) {
	mask := binary.BigEndian.Uint32(v[4:])
	bits := 0
	for mask<<bits != 0 && bits < 32 {
		bits++
	}
	if mask != 0 && mask != ^uint32(0)<<(32-bits) {
		return netip.Prefix{}, fmt.Errorf("the mask %#08x of a packet filter has holes", mask)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte(v)), bits).Masked(), nil
}

func prefix6(v []byte) (netip.Prefix, error) {
	if v[16] > 128 {
		return netip.Prefix{}, fmt.Errorf("a packet filter has an IPv6 prefix of %d bits", v[16])
	}
	return netip.PrefixFrom(netip.AddrFrom16([16]byte(v)), int(v[16])).Masked(), nil
}

func ports(v []byte) (PortRange, error) {
	r := PortRange{binary.BigEndian.Uint16(v), binary.BigEndian.Uint16(v[2:])}
	if r.First > r.Last {
		return r, fmt.Errorf("a packet filter has the ports %d to %d", r.First, r.Last)
	}
	return r, nil
}

// ---- flows -----------------------------------------------------------------------------------------------

// Parameters of QoS flow descriptions (TS 24.501 table 9.11.4.12.1).
const (
	parameterFiveQI       = 1
	parameterGFBRUplink   = 2
	parameterGFBRDownlink = 3
	parameterMFBRUplink   = 4
	parameterMFBRDownlink = 5
	parameterWindow       = 6
)

func encodeFlows(flows []Flow) []byte {
	var out []byte
	for _, f := range flows {
		var b []byte
		count := byte(0)
		add := func(id byte, content ...byte) {
			b = append(append(b, id, byte(len(content))), content...)
			count++
		}
		if f.FiveQI != 0 {
			add(parameterFiveQI, f.FiveQI)
		}
		for _, r := range []struct {
			id   byte
			rate uint64
		}{
			{parameterGFBRUplink, f.GFBRUplink}, {parameterGFBRDownlink, f.GFBRDownlink},
			{parameterMFBRUplink, f.MFBRUplink}, {parameterMFBRDownlink, f.MFBRDownlink},
		} {
			if r.rate != 0 {
				rate := encodeRate(r.rate)
				add(r.id, rate[:]...)
			}
		}
		if ms := f.AveragingWindow.Milliseconds(); ms > 0 {
			add(parameterWindow, binary.BigEndian.AppendUint16(nil, uint16(min(ms, 0xffff)))...)
		}
		if f.Operation != DeleteFlow {
			count |= 0x40 // E: all parameters are here
		}
		out = append(append(out, f.QFI&0x3f, byte(f.Operation)<<5, count), b...)
	}
	return out
}

// decodeFlows reads what a UE asks for; a cause of 0 is none (TS 24.501 6.4.2.5).
func decodeFlows(b []byte) (flows []Flow, cause Cause, reason string) {
	cut := func() ([]Flow, Cause, string) {
		return nil, CauseSyntacticalErrorInQoS, "a QoS flow description is cut"
	}
	for len(b) > 0 {
		if len(b) < 3 {
			return cut()
		}
		f := Flow{QFI: b[0] & 0x3f, Operation: Operation(b[1] >> 5)}
		count := int(b[2] & 0x3f)
		b = b[3:]
		if f.Operation < CreateFlow || f.Operation > ModifyFlow {
			return nil, CauseSemanticErrorInQoS, fmt.Sprintf("QoS flow %d has the reserved operation %d", f.QFI, f.Operation)
		}
		for range count {
			if len(b) < 2 || len(b)-2 < int(b[1]) {
				return cut()
			}
			id, v := b[0], b[2:2+int(b[1])]
			b = b[2+int(b[1]):]
			var rate *uint64
			switch id {
			case parameterFiveQI:
				if len(v) != 1 {
					return cut()
				}
				f.FiveQI = v[0]
			case parameterGFBRUplink:
				rate = &f.GFBRUplink
			case parameterGFBRDownlink:
				rate = &f.GFBRDownlink
			case parameterMFBRUplink:
				rate = &f.MFBRUplink
			case parameterMFBRDownlink:
				rate = &f.MFBRDownlink
			case parameterWindow:
				if len(v) != 2 {
					return cut()
				}
				f.AveragingWindow = time.Duration(binary.BigEndian.Uint16(v)) * time.Millisecond
			}
			if rate != nil {
				if len(v) != 3 {
					return cut()
				}
				*rate = decodeRate([3]byte(v))
			}
		}
		flows = append(flows, f)
	}
	return flows, 0, ""
}

// ---- bit rates -------------------------------------------------------------------------------------------

// largestUnit is 256 Pbit/s (TS 24.501 9.11.4.14): units are powers of four of 1, 1000, 1000², … kbit/s.
const largestUnit = 25

func unit(n byte) uint64 {
	rate := uint64(1000)
	for range (n - 1) / 5 {
		rate *= 1000
	}
	return rate << (2 * ((n - 1) % 5))
}

// encodeRate says bit/s as a unit and sixteen bits: the smallest unit in which it fits, rounded up, so that a UE is
// never told less than it has.
func encodeRate(bps uint64) [3]byte {
	for n := byte(1); ; n++ {
		u := unit(n)
		v := bps / u
		if bps%u != 0 {
			v++
		}
		if v <= 0xffff || n == largestUnit {
			return [3]byte{n, byte(v >> 8), byte(v)}
		}
	}
}

func decodeRate(b [3]byte) uint64 {
	n := max(b[0], 1) // TS 24.501 9.11.4.14: 0 is not used
	if n > largestUnit {
		n = largestUnit
	}
	v, u := uint64(b[1])<<8|uint64(b[2]), unit(n)
	if v != 0 && u > ^uint64(0)/v {
		return ^uint64(0)
	}
	return v * u
}
