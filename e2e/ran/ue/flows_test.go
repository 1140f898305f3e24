package ue

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/images/session-management/n1"
)

func rule(id, precedence, qfi uint8, filters ...n1.Filter) n1.Rule {
	return n1.Rule{ID: id, Operation: n1.CreateRule, Precedence: precedence, QFI: qfi, Filters: filters}
}

func operation(r n1.Rule, o n1.Operation) n1.Rule {
	r.Operation = o
	return r
}

func filter(change func(*n1.Filter)) n1.Filter {
	f := n1.Any(1)
	change(&f)
	return f
}

var anything = n1.Rule{ID: 1, Operation: n1.CreateRule, Default: true, Precedence: 255, QFI: 1, Filters: []n1.Filter{n1.Any(1)}}

// Frames by what they have before the IP packet, and in it (TS 23.501 5.7.6.3).
func TestMarkFrames(t *testing.T) {
	of := func(rest ...byte) []byte {
		return append([]byte{1, 0x0c, 0xcd, 1, 0, 1, 2, 0, 0, 0, 0, 1}, rest...)
	}
	ip := measure.IPv4(netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), 17, []byte{0x13, 0x88, 0x1F, 0x90, 0, 8, 0, 0})
	tagged := of(0x88, 0xa8, 0x00, 9, 0x81, 0x00, 0xb0, 7, 0x08, 0x00)
	plain := of(0x08, 0x00)
	with := func(frame n1.Frame, change ...func(*n1.Filter)) n1.Filter {
		return filter(func(f *n1.Filter) {
			f.Frame = frame
			for _, c := range change {
				c(f)
			}
		})
	}
	port := func(f *n1.Filter) { f.RemotePorts = n1.PortRange{First: 8080, Last: 8080} }
	for name, tt := range map[string]struct {
		filter n1.Filter
		frame  []byte
		want   bool
	}{
		"any":                             {n1.Any(1), of(0x88, 0xb8), true},
		"where it goes":                   {with(n1.Frame{Remote: n1.MAC{1, 0x0c, 0xcd, 1, 0, 1}}), plain, true},
		"elsewhere":                       {with(n1.Frame{Remote: n1.MAC{1, 0x0c, 0xcd, 1, 0, 2}}), plain, false},
		"whose it is":                     {with(n1.Frame{Local: n1.MAC{2, 0, 0, 0, 0, 1}}), plain, true},
		"another's":                       {with(n1.Frame{Local: n1.MAC{2, 0, 0, 0, 0, 2}}), plain, false},
		"both tags, with PCP and DEI":     {with(n1.Frame{CVLAN: 7, SVLAN: 9, CPriority: n1.PriorityOf(5, true), SPriority: n1.PriorityOf(0, false), EtherType: 0x0800}), tagged, true},
		"another PCP":                     {with(n1.Frame{CPriority: n1.PriorityOf(4, true)}), tagged, false},
		"a tag that is not there":         {with(n1.Frame{CVLAN: 7}), plain, false},
		"a priority that is not there":    {with(n1.Frame{CPriority: n1.PriorityOf(0, false)}), plain, false},
		"a type":                          {with(n1.Frame{EtherType: 0x88b8}), of(0x88, 0xb8), true},
		"another type":                    {with(n1.Frame{EtherType: 0x88b8}), plain, false},
		"a port in the packet":            {with(n1.Frame{CVLAN: 7}, port), append(slices.Clone(tagged), ip...), true},
		"a port of what is no packet":     {with(n1.Frame{}, port), append(of(0x88, 0xb8), ip...), false},
		"one that is cut is the tunnel's": {n1.Any(1), of(), false},
		"a tag that is cut is a type":     {with(n1.Frame{EtherType: 0x8100}), of(0x81, 0x00), true},
		"the downlink is no uplink":       {with(n1.Frame{}, func(f *n1.Filter) { f.Direction = n1.Downlink }), plain, false},
	} {
		c := classifier{rules: []n1.Rule{rule(2, 10, 5, tt.filter)}, frames: true}
		qfi, ok := c.mark(tt.frame, 1)
		if got := ok && qfi == 5; got != tt.want {
			t.Errorf("%s: flow %d, %v", name, qfi, ok)
		}
	}
}

func TestMark(t *testing.T) {
	four := func(protocol uint8, payload ...byte) []byte {
		return measure.IPv4(netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("172.30.6.1"), protocol, payload)
	}
	six := func(next uint8, payload ...byte) []byte {
		return measure.IPv6(netip.MustParseAddr("fd00:45::1"), netip.MustParseAddr("fd00:6::1"), next, payload)
	}
	udp := []byte{0x13, 0x88, 0x1F, 0x90, 0, 8, 0, 0} // from 5000 to 8080
	tos := four(17, udp...)
	tos[1] = 0xB8
	later := four(17, udp...)
	later[7] = 1
	labelled := six(17, udp...)
	labelled[1], labelled[3] = 0x0A, 7
	tests := map[string]struct {
		filter n1.Filter
		packet []byte
		want   bool
	}{
		"the remote address":                {filter(func(f *n1.Filter) { f.Remote = netip.MustParsePrefix("172.30.6.0/24") }), four(17, udp...), true},
		"another remote address":            {filter(func(f *n1.Filter) { f.Remote = netip.MustParsePrefix("172.30.7.0/24") }), four(17, udp...), false},
		"the local address":                 {filter(func(f *n1.Filter) { f.Local = netip.MustParsePrefix("10.45.0.1/32") }), four(17, udp...), true},
		"the remote port":                   {filter(func(f *n1.Filter) { f.RemotePorts = n1.PortRange{First: 8080, Last: 8080} }), four(17, udp...), true},
		"a range of local ports":            {filter(func(f *n1.Filter) { f.LocalPorts = n1.PortRange{First: 4000, Last: 5000} }), four(17, udp...), true},
		"a port of what has none":           {filter(func(f *n1.Filter) { f.LocalPorts = n1.PortRange{First: 1, Last: 65535} }), four(1, udp...), false},
		"a port of a later fragment":        {filter(func(f *n1.Filter) { f.LocalPorts = n1.PortRange{First: 5000, Last: 5000} }), later, false},
		"a protocol":                        {filter(func(f *n1.Filter) { f.Protocol = 17 }), four(17, udp...), true},
		"another protocol":                  {filter(func(f *n1.Filter) { f.Protocol = 6 }), four(17, udp...), false},
		"the type of service, under a mask": {filter(func(f *n1.Filter) { f.TOS, f.TOSMask = 0xB8, 0xFC }), tos, true},
		"another type of service":           {filter(func(f *n1.Filter) { f.TOS, f.TOSMask = 0x28, 0xFC }), tos, false},
		"a filter of the downlink only":     {filter(func(f *n1.Filter) { f.Direction = n1.Downlink }), four(17, udp...), false},
		"a filter of the uplink only":       {filter(func(f *n1.Filter) { f.Direction = n1.Uplink }), four(17, udp...), true},
		"the SPI of ESP":                    {filter(func(f *n1.Filter) { f.SPI = 0x01020304 }), four(50, 1, 2, 3, 4), true},
		"IPv6: the remote prefix":           {filter(func(f *n1.Filter) { f.Remote = netip.MustParsePrefix("fd00:6::/64") }), six(17, udp...), true},
		"IPv6: a port behind extension headers": {
			filter(func(f *n1.Filter) { f.RemotePorts = n1.PortRange{First: 8080, Last: 8080} }),
			six(60, append([]byte{17, 0, 1, 4, 0, 0, 0, 0}, udp...)...), true,
		},
		"IPv6: the flow label":                  {filter(func(f *n1.Filter) { f.FlowLabel = 0xA0007 }), labelled, true},
		"a filter of IPv4 and a packet of IPv6": {filter(func(f *n1.Filter) { f.Remote = netip.MustParsePrefix("172.30.6.0/24") }), six(17, udp...), false},
		"a cut extension header has no ports":   {filter(func(f *n1.Filter) { f.RemotePorts = n1.PortRange{First: 1, Last: 65535} }), six(60, 17), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q, fault := newQoS().apply([]n1.Rule{anything, rule(2, 10, 5, tt.filter)}, nil)
			if fault != nil {
				t.Fatal(fault)
			}
			want := uint8(1)
			if tt.want {
				want = 5
			}
			if got, ok := q.classifier().mark(tt.packet, 9); !ok || got != want {
				t.Errorf("flow %d, %v, want %d", got, ok, want)
			}
		})
	}
	q, _ := newQoS().apply([]n1.Rule{rule(2, 10, 5, filter(func(f *n1.Filter) { f.Protocol = 6 }))}, nil)
	c := q.classifier()
	if _, ok := c.mark(four(17, udp...), 9); ok {
		t.Error("a packet that no rule matches has a flow")
	}
	if got, ok := c.mark([]byte("no IP"), 9); !ok || got != 9 {
		t.Errorf("what is no IP packet: flow %d, %v, want the tunnel's first", got, ok)
	}
	c.forced = 7
	if got, _ := c.mark(four(17, udp...), 9); got != 7 {
		t.Errorf("flow %d, want the configured one", got)
	}
}

func TestApply(t *testing.T) {
	one, two, three := n1.Filter{ID: 1, Direction: 3, Protocol: 6}, n1.Filter{ID: 2, Direction: 3, Protocol: 17}, n1.Filter{ID: 3, Direction: 3, Protocol: 1}
	base := []n1.Rule{anything, rule(2, 10, 5, one, two)}
	tests := map[string]struct {
		rules     []n1.Rule
		flows     []n1.Flow
		want      []n1.Rule // but for the default one
		wantFlows map[uint8]n1.Flow
		wantCause n1.Cause
		wantFault string
	}{
		"a rule more":                                {[]n1.Rule{rule(3, 20, 6, three)}, nil, []n1.Rule{rule(2, 10, 5, one, two), rule(3, 20, 6, three)}, nil, 0, ""},
		"a rule made anew":                           {[]n1.Rule{rule(2, 30, 7, three)}, nil, []n1.Rule{rule(2, 30, 7, three)}, nil, 0, ""},
		"a rule deleted":                             {[]n1.Rule{operation(rule(2, 0, 0), n1.DeleteRule)}, nil, nil, nil, 0, ""},
		"a rule that is not there is deleted":        {[]n1.Rule{operation(rule(9, 0, 0), n1.DeleteRule)}, nil, []n1.Rule{rule(2, 10, 5, one, two)}, nil, 0, ""},
		"a filter more":                              {[]n1.Rule{operation(rule(2, 10, 5, three), n1.AddFilters)}, nil, []n1.Rule{rule(2, 10, 5, one, two, three)}, nil, 0, ""},
		"other filters":                              {[]n1.Rule{operation(rule(2, 10, 5, three), n1.ReplaceFilters)}, nil, []n1.Rule{rule(2, 10, 5, three)}, nil, 0, ""},
		"a filter less":                              {[]n1.Rule{operation(rule(2, 0, 0, n1.Filter{ID: 1}), n1.DeleteFilters)}, nil, []n1.Rule{rule(2, 10, 5, two)}, nil, 0, ""},
		"another precedence and flow":                {[]n1.Rule{operation(rule(2, 11, 6), n1.ChangeRule)}, nil, []n1.Rule{rule(2, 11, 6, one, two)}, nil, 0, ""},
		"the precedence of another rule, which goes": {[]n1.Rule{rule(3, 10, 6, three)}, nil, []n1.Rule{rule(3, 10, 6, three)}, nil, 0, ""},
		"the precedence of the default rule":         {[]n1.Rule{rule(3, 255, 6, three)}, nil, nil, nil, n1.CauseSemanticErrorInQoS, "of the default rule"},
		"the default rule deleted":                   {[]n1.Rule{operation(rule(1, 0, 0), n1.DeleteRule)}, nil, nil, nil, n1.CauseSemanticErrorInQoS, "default QoS rule 1"},
		"a rule that is not there is changed":        {[]n1.Rule{operation(rule(9, 1, 1), n1.ChangeRule)}, nil, nil, nil, n1.CauseSemanticErrorInQoS, "not there"},
		"the last filter deleted":                    {[]n1.Rule{operation(rule(2, 0, 0, n1.Filter{ID: 1}, n1.Filter{ID: 2}), n1.DeleteFilters)}, nil, nil, nil, n1.CauseSemanticErrorInQoS, "without a filter"},
		"flows made, changed and deleted": {
			nil, []n1.Flow{{QFI: 5, Operation: n1.CreateFlow, FiveQI: 1, GFBRUplink: 64000}, {QFI: 5, Operation: n1.ModifyFlow, GFBRUplink: 128000}, {QFI: 1, Operation: n1.DeleteFlow}},
			[]n1.Rule{rule(2, 10, 5, one, two)}, map[uint8]n1.Flow{5: {QFI: 5, Operation: n1.CreateFlow, FiveQI: 1, GFBRUplink: 128000}}, 0, "",
		},
		"a flow that is not there is changed": {nil, []n1.Flow{{QFI: 7, Operation: n1.ModifyFlow}}, nil, nil, n1.CauseSemanticErrorInQoS, "no description"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q, fault := newQoS().apply(base, nil)
			if fault != nil {
				t.Fatal(fault)
			}
			got, fault := q.apply(tt.rules, tt.flows)
			if tt.wantFault != "" {
				if fault == nil || fault.Cause != tt.wantCause || !strings.Contains(fault.Reason, tt.wantFault) {
					t.Errorf("got %v, want cause %d, %q", fault, tt.wantCause, tt.wantFault)
				}
				if len(got.rules) != 2 {
					t.Errorf("what was refused has changed the rules: %+v", got.rules)
				}
				return
			}
			if fault != nil {
				t.Fatal(fault)
			}
			want := map[uint8]n1.Rule{1: anything}
			for _, r := range tt.want {
				want[r.ID] = r
			}
			same := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
			if diff := cmp.Diff(want, got.rules, same); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if tt.wantFlows != nil {
				if diff := cmp.Diff(tt.wantFlows, got.flows); diff != "" {
					t.Errorf("flows (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func FuzzMark(f *testing.F) {
	f.Add(measure.IPv4(netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("172.30.6.1"), 17, []byte{1, 2, 3, 4}))
	f.Add(measure.IPv6(netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2"), 0, []byte{43, 0, 0, 0, 0, 0, 0, 0, 17, 0}))
	q, _ := newQoS().apply([]n1.Rule{anything, rule(2, 10, 5, filter(func(f *n1.Filter) { f.RemotePorts = n1.PortRange{First: 1, Last: 9} }))}, nil)
	c := q.classifier()
	f.Fuzz(func(t *testing.T, p []byte) {
		if got, ok := c.mark(p, 9); !ok || got != 1 && got != 5 && got != 9 {
			t.Errorf("flow %d, %v", got, ok)
		}
	})
}
