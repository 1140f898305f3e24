package configuration

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"
)

// AlwaysOn says which PDU sessions are always-on (TS 23.501 5.6.13).
type AlwaysOn uint8

// The always-on policies.
const (
	// AlwaysOnNever refuses what a UE asks for.
	AlwaysOnNever AlwaysOn = iota
	// AlwaysOnRequested grants it.
	AlwaysOnRequested
	// AlwaysOnAlways has every session always-on, asked for or not.
	AlwaysOnAlways
)

// Grants says whether a session is to be always-on.
func (a AlwaysOn) Grants(requested bool) bool {
	return a == AlwaysOnAlways || a == AlwaysOnRequested && requested
}

// Charging says what the CHF hears of a session (TS 32.255 5.1).
type Charging uint8

// The charging modes.
const (
	ChargingNone Charging = iota
	// ChargingOffline reports usage, and lets packets pass whatever the CHF says.
	ChargingOffline
	// ChargingOnline has a quota, and stops where it ends.
	ChargingOnline
)

// ARP is an allocation and retention priority (TS 23.501 5.7.2.2).
type ARP struct {
	// Priority is 1, the highest, to 15.
	Priority                uint8
	MayPreempt, Preemptable bool
}

// DataNetwork is one data network of a slice: what a PDU session to it is made from.
type DataNetwork struct {
	// Slice is the name of the Slice object; SST and SD are its S-NSSAI, SD nil without one.
	Slice string
	SST   uint8
	SD    *[3]byte
	// DNN as the Slice writes it, without an operator identifier.
	DNN string

	// Types of PDU session that are allowed, the default first.
	Types []n1.SessionType
	// AMBR of a session, bit/s.
	AMBR record.AMBR
	// FiveQI and ARP of the default QoS flow.
	FiveQI uint8
	ARP    ARP
	// DNS and PCSCF servers of both IP versions, best first.
	DNS, PCSCF []netip.Addr
	// MTU of the PDU session, octets.
	MTU uint16

	// Access and Core are the network instances of N3 and of N6 (TS 29.244 8.2.4).
	Access, Core string

	AlwaysOn AlwaysOn
	// Flows beside the default QoS flow.
	Flows     []Flow
	Breakouts []Breakout
	// Units that serve the data network.
	Units []Serving
	// OwnAreas are TACs where only units that name them serve, whether or not there are any now: gNBs there reach no others.
	OwnAreas []uint32
	// Networks are the network instances of N6 that it belongs to at units that have several, by Node ID (TS 29.244 5.4). At a unit that is not there it belongs to the
	// one that all others share, unless Core was written.
	Networks map[string]string
	// Names of its networks at units that have their own, by Node ID: they follow from the units, and from Networks.
	Names map[string]n4.Names
	// Routed: packets to any address of the pools reach every unit, so that sessions can move from one to another.
	Routed bool
	// Policy: the PCF is asked; else the Slice's rules hold.
	Policy   bool
	Charging Charging
	// RatingGroup of the default flow, and of flows that have none of their own; 0 for 1.
	RatingGroup uint32
}

// Flow is a QoS flow that sessions get beside the default one.
type Flow struct {
	Name   string
	FiveQI uint8
	ARP    ARP
	// GBR and MBR, guaranteed and maximum flow bit rates, bit/s; zero for a flow without.
	GBR, MBR record.AMBR
	// Precedence is 1 to 254, the lowest first (TS 24.501 9.11.4.13).
	Precedence uint8
	// Filters tell the flow's packets; their IDs are 0 to 15 in order.
	Filters []n1.Filter
	// OnRequest: only sessions whose subscription names the flow have it; otherwise all sessions of the data network.
	OnRequest bool
	// RatingGroup of its packets, 0 for the data network's.
	RatingGroup uint32
	// Of flows that a session has and its Slice has not: Default, its packets are of the default flow; Closed, directions in which they
	// do not pass; Charge, where the PCF says it.
	Default bool
	Closed  uint8
	Charge  *record.Charge
}

// Charge of a rating group, 0 for the data network's own, by the Slice's mode.
func (d *DataNetwork) Charge(ratingGroup uint32) record.Charge {
	if d.Charging == ChargingNone {
		return record.Charge{}
	}
	return record.Charge{RatingGroup: cmp.Or(ratingGroup, d.RatingGroup, 1), Online: d.Charging == ChargingOnline, Offline: d.Charging == ChargingOffline}
}

// With further flows, of one session.
func (d *DataNetwork) With(flows []Flow) *DataNetwork {
	out := *d
	out.Flows = slices.DeleteFunc(slices.Clone(d.Flows), func(f Flow) bool {
		return slices.ContainsFunc(flows, func(other Flow) bool { return other.Name == f.Name })
	})
	out.Flows = append(out.Flows, flows...)
	return &out
}

// Breakout sends packets to some networks out at a UPF nearer to the UE (uplink classifier, TS 23.501 5.6.4.2).
type Breakout struct {
	Name string
	// Prefixes of the networks that are reached there.
	Prefixes []netip.Prefix
	// Units that have a way there, by Node ID, and UPFInstance, which they are of.
	UPFInstance string
	Units       []string
	// TACs where it holds; none: everywhere.
	TACs []uint32
}

// Serving is what one unit is to a data network.
type Serving struct {
	NodeID string
	// Pools are the unit's part of the UE pools, which it chooses addresses from.
	Pools []netip.Prefix
	// Static is the unit's part of the networks that static addresses lie in: where routes to them lead.
	Static []netip.Prefix
	// TACs that the unit serves; none: all but OwnAreas. A unit that names the UE's comes before one that names none.
	TACs []uint32
}

// The limits of what a UE can be told.
const (
	mostFilters     = n1.MostFilters
	mostFlows       = 32 // of a data network; a UE has at most 64 QFIs
	leastPrecedence = 1
	mostPrecedence  = 254 // 255 is the default QoS rule's
	// MostRatingGroups of a session: each is counted in its record.
	MostRatingGroups = 4
)

// complete checks a data network, and fills in what follows from the rest.
func (d *DataNetwork) complete() error {
	fail := func(format string, arguments ...any) error {
		return fmt.Errorf("data network %q: %s", d.DNN, fmt.Sprintf(format, arguments...))
	}
	if d.DNN == "" || len(d.DNN) > 100 {
		return fail("a DNN has 1 to 100 characters: write one, for example internet")
	}
	if d.Core == "" {
		d.Core = NetworkInstance(d.Slice, d.DNN)
	}
	if d.Access == "" {
		d.Access = AccessInstance
	}
	if len(d.Types) == 0 {
		if d.Types = d.typesOfPools(); len(d.Types) == 0 {
			return fail("it allows no type of PDU session, and no unit has pools that would tell: write IPv4, IPv6, IPv4v6 or Ethernet")
		}
	}
	for i, t := range d.Types {
		if (t < n1.IPv4 || t > n1.IPv4v6) && t != n1.Ethernet || slices.Contains(d.Types[:i], t) {
			return fail("PDU session type %d is not IPv4, IPv6, IPv4v6 or Ethernet, or is there twice", t)
		}
	}
	if err := d.checkEthernet(); err != nil {
		return fail("%v", err)
	}
	if d.FiveQI == 0 || d.AMBR.Uplink == 0 || d.AMBR.Downlink == 0 {
		return fail("a 5QI or a direction of the AMBR is missing")
	}
	if err := d.ARP.check(); err != nil {
		return fail("%v", err)
	}
	if len(d.Flows) > mostFlows {
		return fail("%d flows: write at most %d", len(d.Flows), mostFlows)
	}
	for i := range d.Flows {
		f := &d.Flows[i]
		if err := f.complete(); err != nil {
			return fail("flow %q: %v", f.Name, err)
		}
		if !d.Ethernet() && slices.ContainsFunc(f.Filters, n1.Filter.OfFrames) {
			return fail("flow %q: a filter looks at frames, and sessions are of IP: leave ethernet out", f.Name)
		}
		for _, other := range d.Flows[:i] {
			if other.Name == f.Name {
				return fail("two flows are named %q: give each its own name", f.Name)
			}
			// TS 24.501 6.4.1.3: no two QoS rules of a session have one precedence.
			if other.Precedence == f.Precedence {
				return fail("flows %q and %q both have the precedence %d: give each its own", other.Name, f.Name, f.Precedence)
			}
		}
	}
	for i := range d.Breakouts {
		b := &d.Breakouts[i]
		for j, unit := range b.Units {
			b.Units[j] = fold(unit)
		}
		for _, other := range d.Breakouts[:i] {
			if other.Name == b.Name {
				return fail("two breakouts are named %q: give each its own name", b.Name)
			}
			if other.UPFInstance != b.UPFInstance && overlap(other.TACs, b.TACs) {
				return fail("breakouts %q and %q hold in one tracking area, and lead to two UPFInstances: name one in both, or divide their tacs", other.Name, b.Name)
			}
		}
	}
	groups := map[record.Charge]bool{d.Charge(0): true}
	for _, f := range d.Flows {
		groups[d.Charge(f.RatingGroup)] = true
	}
	if len(groups) > MostRatingGroups {
		return fail("%d rating groups: write at most %d", len(groups), MostRatingGroups)
	}
	networks := d.Networks
	d.Networks = nil
	for nodeID, name := range networks {
		if d.Networks == nil {
			d.Networks = map[string]string{}
		}
		d.Networks[fold(nodeID)] = name
	}
	for i := range d.Units {
		u := &d.Units[i]
		u.NodeID = fold(u.NodeID)
		if slices.ContainsFunc(d.Units[:i], func(o Serving) bool { return o.NodeID == u.NodeID }) {
			return fail("unit %q serves it twice: write it once", u.NodeID)
		}
		for _, p := range append(slices.Clone(u.Pools), u.Static...) {
			if !p.IsValid() || p != p.Masked() || p.Addr().Is6() && p.Bits() > 64 {
				return fail("unit %q: %s is no network of UE addresses: write a network address, and for IPv6 a prefix length of at most 64", u.NodeID, p)
			}
		}
	}
	return nil
}

// Ethernet says whether sessions of the data network are of type Ethernet: then all are.
func (d *DataNetwork) Ethernet() bool { return slices.Contains(d.Types, n1.Ethernet) }

// checkEthernet: nobody gives addresses there, and nothing that goes by them is to be had (TS 23.501 5.6.10.2).
func (d *DataNetwork) checkEthernet() error {
	if !d.Ethernet() {
		return nil
	}
	switch {
	case len(d.Types) > 1:
		return errors.New("its PDU sessions are of type Ethernet, and of others: write a data network of its own for Ethernet")
	case len(d.DNS)+len(d.PCSCF) > 0:
		return errors.New("its PDU sessions are of type Ethernet, and UEs are told DNS or P-CSCF servers: leave these out")
	case len(d.Breakouts) > 0:
		return errors.New("its PDU sessions are of type Ethernet, and it has breakouts, which go by IP addresses: leave them out")
	case d.Routed || slices.ContainsFunc(d.Units, func(u Serving) bool { return len(u.Pools)+len(u.Static) > 0 }):
		return errors.New("its PDU sessions are of type Ethernet, and it has pools of IP addresses: leave them and poolRouting out")
	}
	return nil
}

// overlap of tracking areas; none are all.
func overlap(a, b []uint32) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(tac uint32) bool { return slices.Contains(b, tac) })
}

// typesOfPools are the types that there are addresses for, where nobody has said which are allowed.
func (d *DataNetwork) typesOfPools() []n1.SessionType {
	var pools []netip.Prefix
	for _, u := range d.Units {
		pools = append(pools, u.Pools...)
	}
	return TypesOf(pools)
}

// TypesOf UE pools: the PDU session types that they have addresses for, IPv4 first.
func TypesOf(pools []netip.Prefix) []n1.SessionType {
	v4 := slices.ContainsFunc(pools, func(p netip.Prefix) bool { return p.Addr().Is4() })
	v6 := slices.ContainsFunc(pools, func(p netip.Prefix) bool { return p.Addr().Is6() })
	switch {
	case v4 && v6:
		return []n1.SessionType{n1.IPv4, n1.IPv6, n1.IPv4v6}
	case v6:
		return []n1.SessionType{n1.IPv6}
	case v4:
		return []n1.SessionType{n1.IPv4}
	}
	return nil
}

func (a ARP) check() error {
	if a.Priority < 1 || a.Priority > 15 {
		return fmt.Errorf("the ARP's priority level is %d: write 1 to 15", a.Priority)
	}
	return nil
}

func (f *Flow) complete() error {
	switch {
	case f.Name == "":
		return errors.New("it has no name: write one")
	case f.FiveQI == 0:
		return errors.New("it has no 5QI: write one of TS 23.501 table 5.7.4-1")
	case f.Precedence < leastPrecedence || f.Precedence > mostPrecedence:
		return fmt.Errorf("precedence %d: write %d to %d", f.Precedence, leastPrecedence, mostPrecedence)
	case len(f.Filters) == 0 || len(f.Filters) > mostFilters:
		return fmt.Errorf("%d filters: write 1 to %d", len(f.Filters), mostFilters)
	case f.GBR.Uplink > f.MBR.Uplink || f.GBR.Downlink > f.MBR.Downlink:
		return errors.New("the guaranteed bit rate is above the maximum: write an mbr that is not below the gbr")
	}
	for i := range f.Filters {
		filter := &f.Filters[i]
		filter.ID = uint8(i)
		if filter.Direction < n1.Downlink || filter.Direction > n1.Bidirectional {
			return fmt.Errorf("filter %d has no direction: write Uplink, Downlink or Bidirectional", i)
		}
		if filter.Protocol < -1 || filter.Protocol > 255 {
			return fmt.Errorf("filter %d: protocol %d: write a number from 0 to 255", i, filter.Protocol)
		}
		for _, r := range []n1.PortRange{filter.RemotePorts, filter.LocalPorts} {
			if r.First > r.Last {
				return fmt.Errorf("filter %d: ports %d to %d: write the lower one first", i, r.First, r.Last)
			}
		}
	}
	return f.ARP.check()
}

// AccessInstance is the network instance of N3.
const AccessInstance = "access"

// NetworkInstance of a data network on its units: two Slices with one DNN are two networks with pools of their own.
func NetworkInstance(slice, dnn string) string { return slice + "/" + fold(dnn) }

// HasIPv4 and HasIPv6 say which addresses sessions of a type have.
func HasIPv4(t n1.SessionType) bool { return t == n1.IPv4 || t == n1.IPv4v6 }

// HasIPv6 says whether sessions of a type have an IPv6 prefix.
func HasIPv6(t n1.SessionType) bool { return t == n1.IPv6 || t == n1.IPv4v6 }

// networkAt is the network instance of N6 that addresses at a unit are of; "" is the one that all data networks share that name none.
func (d *DataNetwork) networkAt(nodeID string) string {
	if name := d.Networks[nodeID]; name != "" {
		return name
	}
	if d.Core == NetworkInstance(d.Slice, d.DNN) {
		return ""
	}
	return d.Core
}

// SettingsAt a unit are Settings with the unit's part of the pools, for sessions whose addresses it is to choose.
func (d *DataNetwork) SettingsAt(nodeID string) n4.Settings {
	s := d.Settings()
	if at := d.At(nodeID); at != nil {
		s.Pools = at.Pools
	}
	return s
}

// Settings for the rules of a session.
func (d *DataNetwork) Settings() n4.Settings {
	s := n4.Settings{Access: d.Access, Core: d.Core, Filters: map[string]n4.Filters{}, Units: d.Names}
	for _, b := range d.Breakouts {
		if s.Breakouts == nil {
			s.Breakouts = map[string][]netip.Prefix{}
		}
		s.Breakouts[b.Name] = b.Prefixes
	}
	for i := range d.Flows {
		s.Filters[d.Flows[i].Name] = n4.Filters{Precedence: uint32(d.Flows[i].Precedence), List: d.Flows[i].Filters}
	}
	return s
}

// Configuration is what UEs may ask for (TS 24.008 10.5.6.3).
func (d *DataNetwork) Configuration() n1.Configuration {
	if d.Ethernet() {
		return n1.Configuration{EthernetMTU: d.MTU}
	}
	return n1.Configuration{DNS: d.DNS, PCSCF: d.PCSCF, MTU: d.MTU}
}

// DefaultFlow is the default QoS flow as a record keeps it.
func (d *DataNetwork) DefaultFlow(qfi uint8) record.Flow {
	return record.Flow{
		QFI: qfi, FiveQI: d.FiveQI, Priority: d.ARP.Priority, MayPreempt: d.ARP.MayPreempt, Preemptable: d.ARP.Preemptable, Charge: d.Charge(0),
	}
}

// Flow with a name; nil: there is none (any more).
func (d *DataNetwork) Flow(name string) *Flow {
	for i := range d.Flows {
		if d.Flows[i].Name == name {
			return &d.Flows[i]
		}
	}
	return nil
}

// FlowsOf a session of a type: those that all have and those that its subscription names, in the order of the Slice. A
// flow whose filters are all of the other IP version is none of the session's.
func (d *DataNetwork) FlowsOf(t n1.SessionType, subscribed []string) []*Flow {
	var out []*Flow
	for i := range d.Flows {
		if f := &d.Flows[i]; (!f.OnRequest || slices.Contains(subscribed, f.Name)) && len(f.filters(t)) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// filters that packets of a session of the type can match.
func (f *Flow) filters(t n1.SessionType) []n1.Filter {
	return slices.DeleteFunc(slices.Clone(f.Filters), func(filter n1.Filter) bool {
		remote := filter.Remote
		if t == n1.Ethernet {
			return false
		}
		return filter.OfFrames() || remote.IsValid() && (remote.Addr().Is4() && !HasIPv4(t) || remote.Addr().Is6() && !HasIPv6(t))
	})
}

// Record is the flow as a record keeps it.
func (d *DataNetwork) Record(f *Flow, qfi uint8) record.Flow {
	charge := d.Charge(f.RatingGroup)
	if f.Charge != nil {
		charge = *f.Charge
	}
	return record.Flow{
		QFI: qfi, FiveQI: f.FiveQI, Name: f.Name,
		Priority: f.ARP.Priority, MayPreempt: f.ARP.MayPreempt, Preemptable: f.ARP.Preemptable,
		GFBRUplink: f.GBR.Uplink, GFBRDownlink: f.GBR.Downlink, MFBRUplink: f.MBR.Uplink, MFBRDownlink: f.MBR.Downlink,
		Default: f.Default, Closed: f.Closed, Charge: charge,
	}
}

// Rule is the QoS rule by which a UE with a session of the type finds the flow's uplink packets, for CreateRule.
func (f *Flow) Rule(id, qfi uint8, t n1.SessionType) n1.Rule {
	return n1.Rule{ID: id, Operation: n1.CreateRule, Filters: f.filters(t), Precedence: f.Precedence, QFI: qfi}
}

// Description of the QoS flow for a UE, for CreateFlow.
func (f *Flow) Description(qfi uint8) n1.Flow {
	return n1.Flow{
		QFI: qfi, Operation: n1.CreateFlow, FiveQI: f.FiveQI,
		GFBRUplink: f.GBR.Uplink, GFBRDownlink: f.GBR.Downlink, MFBRUplink: f.MBR.Uplink, MFBRDownlink: f.MBR.Downlink,
	}
}

// BreakoutsAt a tracking area.
func (d *DataNetwork) BreakoutsAt(tac uint32) []*Breakout {
	var out []*Breakout
	for i := range d.Breakouts {
		if b := &d.Breakouts[i]; len(b.TACs) == 0 || slices.Contains(b.TACs, tac) {
			out = append(out, b)
		}
	}
	return out
}

// At is what a unit is to the data network; nil: it does not serve it (any more).
func (d *DataNetwork) At(nodeID string) *Serving {
	for i := range d.Units {
		if d.Units[i].NodeID == fold(nodeID) {
			return &d.Units[i]
		}
	}
	return nil
}

// Has says whether an address or prefix of a UE lies in the pools, from which units choose.
func (d *DataNetwork) Has(p netip.Prefix) bool {
	return slices.ContainsFunc(d.Units, func(u Serving) bool { return covers(u.Pools, p) })
}

func covers(networks []netip.Prefix, p netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Bits() <= p.Bits() && n.Contains(p.Addr()) })
}
