package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

// Modify is what a UE asks to be changed of a session.
type Modify struct {
	AlwaysOn    bool   `json:"alwaysOn,omitempty"`
	Flows       []Flow `json:"flows,omitempty"`       // wanted
	DeleteRules []int  `json:"deleteRules,omitempty"` // QoS rule identifiers
	DeleteFlows []int  `json:"deleteFlows,omitempty"` // QoS flow identifiers
}

// Flow is a QoS flow with its own filters.
type Flow struct {
	QFI    int `json:"qfi,omitempty"` // of a flow that there is; 0: the network chooses
	FiveQI int `json:"fiveQI,omitempty"`
	// Rates in bit/s.
	GFBRUplink   uint64   `json:"gfbrUplink,omitempty"`
	GFBRDownlink uint64   `json:"gfbrDownlink,omitempty"`
	MFBRUplink   uint64   `json:"mfbrUplink,omitempty"`
	MFBRDownlink uint64   `json:"mfbrDownlink,omitempty"`
	Precedence   int      `json:"precedence,omitempty"` // default 100
	Filters      []Filter `json:"filters,omitempty"`
}

// Filter is a packet filter; what is left out matches everything. Local is the UE's side.
type Filter struct {
	Direction   string `json:"direction,omitempty"` // up, down, both (default)
	Remote      string `json:"remote,omitempty"`    // a prefix
	Local       string `json:"local,omitempty"`
	Protocol    *int   `json:"protocol,omitempty"`    // IANA's number
	RemotePorts string `json:"remotePorts,omitempty"` // 5000 or 5000-5010
	LocalPorts  string `json:"localPorts,omitempty"`
	TOS         string `json:"tos,omitempty"` // value/mask, such as 0xb8/0xfc
	SPI         uint32 `json:"spi,omitempty"`
	FlowLabel   uint32 `json:"flowLabel,omitempty"`
}

// Check turns it into the UE's form.
func (m *Modify) Check(key string, say func(key, format string, args ...any)) uenas.ModificationRequest {
	out := uenas.ModificationRequest{AlwaysOn: m.AlwaysOn}
	for i, id := range m.DeleteRules {
		if id < 1 || id > 255 {
			say(fmt.Sprintf("%s.deleteRules[%d]", key, i), "%d is not a QoS rule identifier; write 1 to 255", id)
		}
		out.Rules = append(out.Rules, n1.Rule{ID: uint8(id), Operation: n1.DeleteRule})
	}
	for i, q := range m.DeleteFlows {
		if q < 1 || q > 63 {
			say(fmt.Sprintf("%s.deleteFlows[%d]", key, i), "%d is not a QoS flow identifier; write 1 to 63", q)
		}
		out.Flows = append(out.Flows, n1.Flow{QFI: uint8(q), Operation: n1.DeleteFlow})
	}
	for i := range m.Flows {
		m.Flows[i].check(fmt.Sprintf("%s.flows[%d]", key, i), say, &out)
	}
	if len(out.Rules)+len(out.Flows) == 0 && !out.AlwaysOn {
		say(key, "it asks for nothing; write alwaysOn, flows, deleteRules or deleteFlows")
	}
	return out
}

func (f *Flow) check(key string, say func(key, format string, args ...any), out *uenas.ModificationRequest) {
	if f.QFI < 0 || f.QFI > 63 {
		say(key+".qfi", "%d is not a QoS flow identifier; write 1 to 63, or leave it out", f.QFI)
	}
	if f.FiveQI < 0 || f.FiveQI > 255 {
		say(key+".fiveQI", "%d is not a 5QI; write 1 to 255", f.FiveQI)
	}
	if f.Precedence == 0 {
		f.Precedence = 100
	}
	if f.Precedence < 1 || f.Precedence > 254 {
		say(key+".precedence", "%d is not a precedence; write 1 to 254 (255 is the default rule's)", f.Precedence)
	}
	rule := n1.Rule{Operation: n1.CreateRule, Precedence: uint8(f.Precedence), QFI: uint8(f.QFI)}
	if len(f.Filters) > 15 {
		say(key+".filters", "%d filters; a rule has 15 at most", len(f.Filters))
	}
	for i, x := range f.Filters {
		filter := x.check(fmt.Sprintf("%s.filters[%d]", key, i), say)
		filter.ID = uint8(i + 1)
		rule.Filters = append(rule.Filters, filter)
	}
	if len(rule.Filters) > 0 {
		out.Rules = append(out.Rules, rule)
	}
	if f.FiveQI != 0 || f.GFBRUplink+f.GFBRDownlink+f.MFBRUplink+f.MFBRDownlink != 0 {
		out.Flows = append(out.Flows, n1.Flow{
			QFI: uint8(f.QFI), Operation: n1.CreateFlow, FiveQI: uint8(f.FiveQI),
			GFBRUplink: f.GFBRUplink, GFBRDownlink: f.GFBRDownlink, MFBRUplink: f.MFBRUplink, MFBRDownlink: f.MFBRDownlink,
		})
	}
}

func (x Filter) check(key string, say func(key, format string, args ...any)) n1.Filter {
	directions := map[string]n1.Direction{"": n1.Bidirectional, "both": n1.Bidirectional, "up": n1.Uplink, "down": n1.Downlink}
	f := n1.Filter{Protocol: -1, SPI: x.SPI, FlowLabel: x.FlowLabel}
	var known bool
	if f.Direction, known = directions[x.Direction]; !known {
		say(key+".direction", "%q is not one of up, down, both", x.Direction)
	}
	prefix := func(name, text string) (p netip.Prefix) {
		if text == "" {
			return p
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			say(key+"."+name, "%q is not a prefix; write for example 172.30.6.1/32", text)
		}
		return p
	}
	f.Remote, f.Local = prefix("remote", x.Remote), prefix("local", x.Local)
	if x.Protocol != nil {
		if f.Protocol = *x.Protocol; f.Protocol < 0 || f.Protocol > 255 {
			say(key+".protocol", "%d is not a protocol number; write for example 17 for UDP", f.Protocol)
		}
	}
	ports := func(name, text string) (r n1.PortRange) {
		if text == "" {
			return r
		}
		first, last, ranged := strings.Cut(text, "-")
		if !ranged {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 16)
		b, errB := strconv.ParseUint(last, 10, 16)
		if errA != nil || errB != nil || a > b || a == 0 {
			say(key+"."+name, "%q is neither a port nor a range of ports; write for example 5000-5010", text)
		}
		return n1.PortRange{First: uint16(a), Last: uint16(b)}
	}
	f.RemotePorts, f.LocalPorts = ports("remotePorts", x.RemotePorts), ports("localPorts", x.LocalPorts)
	if x.TOS != "" {
		value, mask, _ := strings.Cut(x.TOS, "/")
		v, errV := strconv.ParseUint(value, 0, 8)
		m, errM := strconv.ParseUint(mask, 0, 8)
		if errV != nil || errM != nil || m == 0 {
			say(key+".tos", "%q is not value/mask; write for example 0xb8/0xfc", x.TOS)
		}
		f.TOS, f.TOSMask = uint8(v&m), uint8(m)
	}
	return f
}
