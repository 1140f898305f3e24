package ue

// QoS flows as the UE knows them: the rules and descriptions that the network has given it (TS 24.501 6.2.5), and
// the way of an uplink packet through them: the rule of lowest precedence value with a filter that matches names the
// QoS flow (TS 23.501 5.7.1.5). The UE's goroutine owns the rules; packets read an immutable sorted copy.

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"

	"core5g.dev/core5g/images/session-management/n1"
)

// qos is what the network has authorized for a session.
type qos struct {
	rules map[uint8]n1.Rule
	flows map[uint8]n1.Flow
	ambr  n1.AMBR
}

func newQoS() qos { return qos{rules: map[uint8]n1.Rule{}, flows: map[uint8]n1.Flow{}} }

func (q qos) clone() qos {
	return qos{rules: maps.Clone(q.rules), flows: maps.Clone(q.flows), ambr: q.ambr}
}

// faulty is a refusal of what the network asks of the UE's rules.
func faulty(cause n1.Cause, format string, args ...any) *n1.Fault {
	return &n1.Fault{Cause: cause, Reason: fmt.Sprintf(format, args...)}
}

// apply does the operations on a copy and returns it (TS 24.501 6.3.2.4, 6.4.1.3).
func (q qos) apply(rules []n1.Rule, flows []n1.Flow) (qos, *n1.Fault) {
	out := q.clone()
	for _, f := range flows {
		if fault := out.applyFlow(f); fault != nil {
			return q, fault
		}
	}
	for _, r := range rules {
		if fault := out.applyRule(r); fault != nil {
			return q, fault
		}
	}
	return out, nil
}

func (q *qos) applyFlow(f n1.Flow) *n1.Fault {
	old, known := q.flows[f.QFI]
	switch {
	case f.Operation == n1.DeleteFlow:
		delete(q.flows, f.QFI)
	case f.Operation == n1.ModifyFlow && !known:
		return faulty(n1.CauseSemanticErrorInQoS, "QoS flow %d is modified and has no description", f.QFI)
	case f.Operation == n1.ModifyFlow:
		q.flows[f.QFI] = merged(old, f)
	default:
		q.flows[f.QFI] = f
	}
	return nil
}

// merged takes the parameters that a modification names.
func merged(old, change n1.Flow) n1.Flow {
	if change.FiveQI != 0 {
		old.FiveQI = change.FiveQI
	}
	for _, r := range []struct{ to, from *uint64 }{
		{&old.GFBRUplink, &change.GFBRUplink}, {&old.GFBRDownlink, &change.GFBRDownlink},
		{&old.MFBRUplink, &change.MFBRUplink}, {&old.MFBRDownlink, &change.MFBRDownlink},
	} {
		if *r.from != 0 {
			*r.to = *r.from
		}
	}
	if change.AveragingWindow != 0 {
		old.AveragingWindow = change.AveragingWindow
	}
	return old
}

func (q *qos) applyRule(r n1.Rule) *n1.Fault {
	old, known := q.rules[r.ID]
	if r.Operation == n1.DeleteRule {
		if known && old.Default {
			return faulty(n1.CauseSemanticErrorInQoS, "the default QoS rule %d is deleted", r.ID)
		}
		delete(q.rules, r.ID) // one that is not there is gone already (6.3.2.4 a)
		return nil
	}
	next := r
	if r.Operation != n1.CreateRule {
		if !known {
			return faulty(n1.CauseSemanticErrorInQoS, "QoS rule %d is modified and not there", r.ID)
		}
		var fault *n1.Fault
		if next, fault = changed(old, r); fault != nil {
			return fault
		}
	}
	next.Operation = n1.CreateRule
	for id, other := range q.rules {
		if id == r.ID || other.Precedence != next.Precedence {
			continue
		}
		if other.Default {
			return faulty(n1.CauseSemanticErrorInQoS, "QoS rule %d has the precedence %d of the default rule", r.ID, next.Precedence)
		}
		delete(q.rules, id) // the newer one stands
	}
	q.rules[r.ID] = next
	return nil
}

// changed is a rule after one of the operations on it; filters go by their identifiers.
func changed(rule n1.Rule, r n1.Rule) (n1.Rule, *n1.Fault) {
	rule.Filters = slices.Clone(rule.Filters)
	has := func(id uint8) int {
		return slices.IndexFunc(rule.Filters, func(f n1.Filter) bool { return f.ID == id })
	}
	switch r.Operation {
	case n1.AddFilters:
		for _, f := range r.Filters {
			if i := has(f.ID); i >= 0 {
				rule.Filters[i] = f
			} else {
				rule.Filters = append(rule.Filters, f)
			}
		}
	case n1.ReplaceFilters:
		rule.Filters = slices.Clone(r.Filters)
	case n1.DeleteFilters:
		for _, f := range r.Filters {
			if i := has(f.ID); i >= 0 {
				rule.Filters = slices.Delete(rule.Filters, i, i+1)
			}
		}
		if len(rule.Filters) == 0 {
			return rule, faulty(n1.CauseSemanticErrorInQoS, "QoS rule %d is left without a filter", rule.ID)
		}
	}
	if r.Precedence != 0 || r.QFI != 0 { // both or neither, but for the reserved QFI 0
		rule.Precedence, rule.QFI, rule.Segregation = r.Precedence, r.QFI, r.Segregation
	}
	return rule, nil
}

// classifier is an immutable list of rules, lowest precedence value first. forced, if not 0, is the QoS flow of
// every packet, whatever the rules say.
type classifier struct {
	rules  []n1.Rule
	forced uint8
	frames bool
}

// mark names the QoS flow of an uplink packet. Without rules, or for what is no IP packet, it is the tunnel's first;
// false when there are rules and none matches: such a packet is dropped.
func (c *classifier) mark(packet []byte, first uint8) (uint8, bool) {
	if c.forced != 0 {
		return c.forced, true
	}
	read := readFields
	if c.frames {
		read = readFrame
	}
	p, ok := read(packet)
	if !ok || len(c.rules) == 0 {
		return first, true
	}
	for i := range c.rules {
		for j := range c.rules[i].Filters {
			if p.matches(&c.rules[i].Filters[j]) {
				return c.rules[i].QFI, true
			}
		}
	}
	return 0, false
}

func (q qos) classifier() *classifier {
	c := &classifier{}
	for _, r := range q.rules {
		c.rules = append(c.rules, r)
	}
	slices.SortFunc(c.rules, func(a, b n1.Rule) int { return int(a.Precedence) - int(b.Precedence) })
	return c
}

// fields of an uplink packet that filters look at. Local is the UE's side.
type fields struct {
	local, remote         netip.Addr
	protocol, tos         uint8
	hasPorts              bool
	localPort, remotePort uint16
	spi, flowLabel        uint32
	frame                 n1.Frame // of an Ethernet session; the rest is that of the IP packet in it, if there is one
}

const frameHeader = 14

// readFrame reads a whole Ethernet frame with up to two tags; false when it is none.
func readFrame(b []byte) (fields, bool) {
	const serviceTag, customerTag, ipv4, ipv6 = 0x88a8, 0x8100, 0x0800, 0x86dd
	if len(b) < frameHeader {
		return fields{}, false
	}
	var f n1.Frame
	copy(f.Remote[:], b)
	copy(f.Local[:], b[6:])
	b = b[12:]
	for _, t := range []struct {
		kind     uint16
		id       *uint16
		priority *n1.Priority
	}{{serviceTag, &f.SVLAN, &f.SPriority}, {customerTag, &f.CVLAN, &f.CPriority}} {
		if binary.BigEndian.Uint16(b) != t.kind || len(b) < 6 {
			continue
		}
		word := binary.BigEndian.Uint16(b[2:])
		*t.id, *t.priority = word&0x0fff, n1.PriorityOf(uint8(word>>13), word&0x1000 != 0)
		b = b[4:]
	}
	f.EtherType = binary.BigEndian.Uint16(b)
	var p fields
	if f.EtherType == ipv4 || f.EtherType == ipv6 {
		p, _ = readFields(b[2:])
	}
	p.frame = f
	return p, true
}

// frameMatches says whether a frame is one that a filter names.
func frameMatches(f, is n1.Frame) bool {
	return (f.Remote == n1.MAC{} || f.Remote == is.Remote) && (f.Local == n1.MAC{} || f.Local == is.Local) &&
		(f.CVLAN == 0 || f.CVLAN == is.CVLAN) && (f.SVLAN == 0 || f.SVLAN == is.SVLAN) && (f.CPriority == 0 || f.CPriority == is.CPriority) &&
		(f.SPriority == 0 || f.SPriority == is.SPriority) && (f.EtherType == 0 || f.EtherType == is.EtherType)
}

// readFields reads a whole IP packet; false when it is none.
func readFields(b []byte) (fields, bool) {
	var p fields
	var upper []byte
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		ihl := int(b[0]&0xF) * 4
		if ihl < 20 || len(b) < ihl {
			return p, false
		}
		p.local, p.remote = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		p.tos, p.protocol = b[1], b[9]
		if binary.BigEndian.Uint16(b[6:])&0x1FFF == 0 { // only the first fragment has the ports
			upper = b[ihl:]
		}
	case len(b) >= 40 && b[0]>>4 == 6:
		p.local, p.remote = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		word := binary.BigEndian.Uint32(b)
		p.tos, p.flowLabel = uint8(word>>20), word&0xFFFFF
		p.protocol, upper = b[6], b[40:]
		p.protocol, upper = behindExtensions(p.protocol, upper)
	default:
		return p, false
	}
	const tcp, udp, sctp, esp, ah = 6, 17, 132, 50, 51
	switch {
	case (p.protocol == tcp || p.protocol == udp || p.protocol == sctp) && len(upper) >= 4:
		p.hasPorts, p.localPort, p.remotePort = true, binary.BigEndian.Uint16(upper), binary.BigEndian.Uint16(upper[2:])
	case p.protocol == esp && len(upper) >= 4:
		p.spi = binary.BigEndian.Uint32(upper)
	case p.protocol == ah && len(upper) >= 8:
		p.spi = binary.BigEndian.Uint32(upper[4:])
	}
	return p, true
}

// behindExtensions passes over IPv6 extension headers (RFC 8200 4).
func behindExtensions(next uint8, b []byte) (uint8, []byte) {
	const hopByHop, routing, fragment, destination = 0, 43, 44, 60
	for {
		switch next {
		case hopByHop, routing, destination:
			if len(b) < 2 || len(b) < 8+8*int(b[1]) {
				return next, nil
			}
			next, b = b[0], b[8+8*int(b[1]):]
		case fragment:
			if len(b) < 8 {
				return next, nil
			}
			later := binary.BigEndian.Uint16(b[2:])&^7 != 0
			next, b = b[0], b[8:]
			if later {
				return next, nil
			}
		default:
			return next, b
		}
	}
}

func (p *fields) matches(f *n1.Filter) bool {
	within := func(r n1.PortRange, port uint16) bool {
		return r == (n1.PortRange{}) || p.hasPorts && port >= r.First && port <= r.Last
	}
	return f.Direction&n1.Uplink != 0 && frameMatches(f.Frame, p.frame) &&
		(!f.Remote.IsValid() || f.Remote.Contains(p.remote)) &&
		(!f.Local.IsValid() || f.Local.Contains(p.local)) &&
		(f.Protocol < 0 || f.Protocol == int(p.protocol)) &&
		within(f.LocalPorts, p.localPort) && within(f.RemotePorts, p.remotePort) &&
		p.tos&f.TOSMask == f.TOS&f.TOSMask &&
		(f.SPI == 0 || f.SPI == p.spi) && (f.FlowLabel == 0 || f.FlowLabel == p.flowLabel)
}

// flowCounts are packets by QFI.
type flowCounts [64]atomic.Uint64

// FlowStatus is one QoS flow of a session. Rates are in bit/s.
type FlowStatus struct {
	QFI             uint8        `json:"qfi"`
	FiveQI          uint8        `json:"5qi,omitempty"`
	GFBRUplink      uint64       `json:"gfbr_uplink,omitempty"`
	GFBRDownlink    uint64       `json:"gfbr_downlink,omitempty"`
	MFBRUplink      uint64       `json:"mfbr_uplink,omitempty"`
	MFBRDownlink    uint64       `json:"mfbr_downlink,omitempty"`
	Rules           []RuleStatus `json:"rules,omitempty"`
	UplinkPackets   uint64       `json:"uplink_packets"`
	DownlinkPackets uint64       `json:"downlink_packets"`
}

// RuleStatus is one QoS rule.
type RuleStatus struct {
	ID         uint8          `json:"id"`
	Precedence uint8          `json:"precedence"`
	Default    bool           `json:"default,omitempty"`
	Filters    []FilterStatus `json:"filters"`
}

// FilterStatus is one packet filter; what is left out matches everything.
type FilterStatus struct {
	ID          uint8  `json:"id"`
	Direction   string `json:"direction"`
	Remote      string `json:"remote,omitempty"`
	Local       string `json:"local,omitempty"`
	Protocol    *int   `json:"protocol,omitempty"`
	RemotePorts string `json:"remote_ports,omitempty"`
	LocalPorts  string `json:"local_ports,omitempty"`
	TOS         string `json:"tos,omitempty"` // value/mask
	SPI         uint32 `json:"spi,omitempty"`
	FlowLabel   uint32 `json:"flow_label,omitempty"`
	// Of frames; PCP and DEI of the tags are left out.
	RemoteMAC   string `json:"remote_mac,omitempty"`
	LocalMAC    string `json:"local_mac,omitempty"`
	VLAN        uint16 `json:"vlan,omitempty"`
	ServiceVLAN uint16 `json:"service_vlan,omitempty"`
	EtherType   string `json:"ether_type,omitempty"`
}

func filterStatus(f n1.Filter) FilterStatus {
	out := FilterStatus{
		ID: f.ID, SPI: f.SPI, FlowLabel: f.FlowLabel,
		Direction: map[n1.Direction]string{n1.Downlink: "down", n1.Uplink: "up", n1.Bidirectional: "both"}[f.Direction],
	}
	if f.Remote.IsValid() {
		out.Remote = f.Remote.String()
	}
	if f.Local.IsValid() {
		out.Local = f.Local.String()
	}
	if f.Protocol >= 0 {
		protocol := f.Protocol
		out.Protocol = &protocol
	}
	ports := func(r n1.PortRange) string {
		switch {
		case r == (n1.PortRange{}):
			return ""
		case r.First == r.Last:
			return fmt.Sprint(r.First)
		}
		return fmt.Sprintf("%d-%d", r.First, r.Last)
	}
	out.RemotePorts, out.LocalPorts = ports(f.RemotePorts), ports(f.LocalPorts)
	if f.Frame.Remote != (n1.MAC{}) {
		out.RemoteMAC = f.Frame.Remote.String()
	}
	if f.Frame.Local != (n1.MAC{}) {
		out.LocalMAC = f.Frame.Local.String()
	}
	if out.VLAN, out.ServiceVLAN = f.Frame.CVLAN, f.Frame.SVLAN; f.Frame.EtherType != 0 {
		out.EtherType = fmt.Sprintf("%#04x", f.Frame.EtherType)
	}
	if f.TOSMask != 0 {
		out.TOS = fmt.Sprintf("%#02x/%#02x", f.TOS, f.TOSMask)
	}
	return out
}

// status lists the flows that have a rule or a description, by QFI.
func (q qos) status() []FlowStatus {
	byQFI := map[uint8]*FlowStatus{}
	at := func(qfi uint8) *FlowStatus {
		if byQFI[qfi] == nil {
			byQFI[qfi] = &FlowStatus{QFI: qfi}
		}
		return byQFI[qfi]
	}
	for _, f := range q.flows {
		s := at(f.QFI)
		s.FiveQI, s.GFBRUplink, s.GFBRDownlink, s.MFBRUplink, s.MFBRDownlink = f.FiveQI, f.GFBRUplink, f.GFBRDownlink, f.MFBRUplink, f.MFBRDownlink
	}
	for _, r := range q.classifier().rules {
		rule := RuleStatus{ID: r.ID, Precedence: r.Precedence, Default: r.Default, Filters: []FilterStatus{}}
		for _, f := range r.Filters {
			rule.Filters = append(rule.Filters, filterStatus(f))
		}
		s := at(r.QFI)
		s.Rules = append(s.Rules, rule)
	}
	var out []FlowStatus
	for _, qfi := range slices.Sorted(maps.Keys(byQFI)) {
		out = append(out, *byQFI[qfi])
	}
	return out
}
