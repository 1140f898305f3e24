package compile

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/nat"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Input is all that the outcome depends on.
type Input struct {
	Rules    *rules.Set
	QERSlots rules.ByID[uint32, uint32] // by QER ID
	GBRSlots rules.ByID[uint32, uint32] // by QER ID, of those with a GBR
	Meters   usage.Meters               // by URR ID: whose slots they are
	// Applications gives what PFD management provided for an Application ID. One that is not known any more, nil, matches nothing.
	Applications func(id string) *rules.ApplicationPFDs
	// Predefined gives a predefined rule of the configuration. One that it does not have any more, nil, finds nothing.
	Predefined func(name string) *rules.Predefined
	Local      Local
	// Network is that of N6 for a network instance; false: there is none. nil: there is one, for all.
	Network func(name string) (uint16, bool)
	// Bridge says whether a network of N6 is one, which is no place for a session of IP; those that there are not are none
	// either. nil: there is one network, of IP.
	Bridge func(network uint16) bool
}

// Local are the UPF's own GTP-U addresses: the outer source where a session has no local F-TEID of
// the IP version and on the interface.
type Local struct{ N3, N9 Addresses } // N9 is empty where it comes by N3

// Addresses are one of each IP version, or none.
type Addresses struct{ V4, V6 netip.Addr }

// Of is the address of one IP version.
func (a Addresses) Of(v6 bool) netip.Addr {
	if v6 {
		return a.V6
	}
	return a.V4
}

// Session is what a SESSION_PUT carries.
type Session struct {
	PDRs  []abi.Pdr
	FARs  []abi.Far
	QERs  []abi.Qer
	URRs  []abi.Urr
	BARs  []abi.Bar
	SDFs  []abi.Sdf
	SDF6s []abi.Sdf6
	// Routes are the framed routes.
	Routes []abi.Route
	// Applications are those that are known by domain names.
	Applications []abi.Application
	Text         string // redirect URLs
	// EthernetFilters are those of the PDRs of an Ethernet PDU session.
	EthernetFilters []abi.EthernetFilter
	Ethernet        bool
	// Network is that of N6 in which the UE's addresses are.
	Network uint16
	// NAT is the block of NAT44 there, which whoever sends it puts in; invalid: none.
	NAT nat.Block
}

// Size is the length of its arrays in octets.
func (s *Session) Size() int {
	return len(abi.Bytes(s.PDRs)) + len(abi.Bytes(s.FARs)) + len(abi.Bytes(s.QERs)) +
		len(abi.Bytes(s.URRs)) + len(abi.Bytes(s.BARs)) + len(abi.Bytes(s.SDFs)) + len(abi.Bytes(s.SDF6s)) +
		len(abi.Bytes(s.Routes)) + len(abi.Bytes(s.EthernetFilters)) + len(abi.Bytes(s.Applications)) + len(s.Text)
}

// place is where a rule is in its array, which has them in the order of their IDs; UPF_NONE16 when it is not there.
func place[K cmp.Ordered, V any](list rules.ByID[K, V], id K) uint16 {
	i, ok := list.Place(id)
	if !ok {
		return abi.None16
	}
	return uint16(i)
}

// compiler is one run of Compile.
type compiler struct {
	in  *Input
	out *Session
	// closedFAR is the one of closed predefined rules; None16 while there is none.
	closedFAR uint16
	ue4       netip.Addr
	ue6       netip.Prefix
}

// Compile makes it what comes of a session, in the room that it has. It refuses, with a *pfcp.Reject, only what is too big for upf-u, or for whose
// network instance there is no N6.
func (s *Session) Compile(in *Input) error {
	s.empty()
	r := in.Rules
	s.PDRs, s.FARs = slices.Grow(s.PDRs, len(r.PDRs)), slices.Grow(s.FARs, len(r.FARs))
	s.QERs, s.URRs = slices.Grow(s.QERs, len(r.QERs)), slices.Grow(s.URRs, len(r.URRs))
	c := &compiler{in: in, ue4: r.UEAddress(), ue6: r.UEPrefix(), closedFAR: abi.None16, out: s}
	return c.compile()
}

// empty leaves the room of its arrays.
func (s *Session) empty() {
	*s = Session{
		PDRs: s.PDRs[:0], FARs: s.FARs[:0], QERs: s.QERs[:0], URRs: s.URRs[:0], BARs: s.BARs[:0], SDFs: s.SDFs[:0], SDF6s: s.SDF6s[:0],
		Routes: s.Routes[:0], Applications: s.Applications[:0], EthernetFilters: s.EthernetFilters[:0],
	}
}

func (c *compiler) compile() error {
	in, r := c.in, c.in.Rules
	network, ok := r.Network(in.Network)
	if !ok {
		return noNetwork(nil)
	}
	if network, ok = ipNetwork(in, network); !ok {
		return noNetwork(nil)
	}
	c.out.Network, c.out.Ethernet = network, r.Ethernet
	for _, p := range r.Routes() {
		c.out.Routes = append(c.out.Routes, route(p))
	}
	for _, b := range r.BARs.All() {
		c.out.BARs = append(c.out.BARs, bar(b))
	}
	if err := c.allFARs(); err != nil {
		return err
	}
	for _, q := range r.QERs.All() {
		c.out.QERs = append(c.out.QERs, c.qer(q))
	}
	for _, u := range r.URRs.All() {
		c.out.URRs = append(c.out.URRs, c.urr(u))
	}
	// TS 29.244 8.2.11: the lowest precedence value is tried first.
	var space [16]*rules.PDR
	order := space[:0]
	for _, p := range r.PDRs.All() {
		order = append(order, p)
	}
	slices.SortStableFunc(order, func(a, b *rules.PDR) int { return cmp.Compare(a.Precedence, b.Precedence) })
	for _, p := range order {
		if err := c.pdr(p); err != nil {
			return err
		}
	}
	if len(c.out.FARs) > abi.SessionFars {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "too many FARs and duplicates in a session"}
	}
	return nil
}

// ipNetwork is the network of a session: of one of IP that names none it is the first that is of IP.
func ipNetwork(in *Input, network uint16) (uint16, bool) {
	if in.Bridge == nil || in.Rules.Ethernet || !in.Bridge(network) {
		return network, true
	}
	for n := range uint16(abi.Networks) {
		if !in.Bridge(n) {
			return n, true
		}
	}
	return 0, false
}

func route(p netip.Prefix) abi.Route {
	to := abi.Route{Addr: abi.AddrOf(p.Addr()), Len: uint8(p.Bits())}
	if p.Addr().Is6() {
		to.Ip6 = 1
	}
	return to
}

// noNetwork refuses what was planned with another upf-u, which had one.
func noNetwork(rule *pfcp.RuleRef) error {
	return &pfcp.Reject{Cause: ie.CauseRuleCreationModificationFailure, Offending: ie.NetworkInstance, Rule: rule,
		Detail: "upf-u has no N6 for the network instance"}
}

func tooBig(r *rules.PDR, format string, args ...any) error {
	return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable,
		Rule: &pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: uint32(r.ID)}, Detail: fmt.Sprintf(format, args...)}
}
