package n4

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

// Settings are of the Slice, not of the session.
type Settings struct {
	// NetworkInstance of the access side and of the data network.
	Access, Core string
	// Filters of the flows by name, and their precedence: 1 to 254, the lowest first. The default flow's is 255.
	Filters map[string]Filters
	// Pools are the blocks of UE addresses that the unit chooses from, which it is told with each request that asks it to:
	// so a unit need not know of Slices. None: it has pools of its own for the network instance.
	Pools []netip.Prefix
	// Breakouts by name: the networks that are reached at a branch.
	Breakouts map[string][]netip.Prefix
	// Units that have names of their own for these networks, by Node ID.
	Units map[string]Names
	// pools are the names of Pools at the unit that rules are for.
	pools map[netip.Prefix]string
}

// Names of networks at one unit.
type Names struct {
	// Access and Core are network instances; "" for those of all others.
	Access, Core string
	// Pools are names (UE IP Address Pool Identity) of blocks of UE addresses; "" for one that the unit finds by the network instance.
	// A block that is not there is its own name.
	Pools map[netip.Prefix]string
}

// at a unit.
func (s Settings) at(nodeID string) Settings {
	if names, has := s.Units[nodeID]; has {
		s.Access, s.Core, s.pools = cmp.Or(names.Access, s.Access), cmp.Or(names.Core, s.Core), names.Pools
	}
	return s
}

// Filters tell which packets are a flow's.
type Filters struct {
	Precedence uint32
	List       []n1.Filter
}

const (
	farUplink, farDownlink, farRelay uint32 = 1, 2, 3
	pdrRelay                         uint16 = 3
	barDownlink                      uint8  = 1
	qerAMBR                          uint32 = 1
	defaultPrecedence                uint32 = 255
)

// pdrRule, farRule and qerRule are as far as one can differ from another.
type pdrRule struct {
	id         uint16
	precedence uint32
	uplink     bool
	sdf        string // filters, a line each
	frames     string // or those of an Ethernet session, as n1 writes them
	version    uint32 // of the filters, as the record has it: those of before are not known any more
	unknown    string // the flow whose filters the Slice has no more: the rule can stay, and cannot be written
	qers       string // their IDs, in order
	urr        uint32 // 0: nothing is counted
	far        uint32
}

type farState uint8

const (
	toCore farState = iota
	toAccess
	buffering // without a word: the access network will have a tunnel in a moment
	notifying // and somebody shall be told
	dropping
)

type farRule struct {
	state  farState
	tunnel record.Tunnel
}

type qerRule struct {
	id             uint32
	qfi            uint8
	mbrUp, mbrDown uint64
	gbrUp, gbrDown uint64
	isFlow         bool
	closed         uint8 // directions
}

type ruleSet struct {
	pdrs []pdrRule
	far  farRule // FAR 2; FAR 1 never changes
	qers []qerRule
	urrs []*record.Group
	// frames: the session is of type Ethernet.
	frames bool
	// relay is where PDR 3 and FAR 3 send what the source of a handover forwards; zero: there are none.
	relay record.Tunnel
}

// NoDirection is that of a flow without rules; 0 leaves it to the Slice's filters.
const NoDirection uint8 = 4

// Versioned is a flow with the directions and the version of the filters that the Slice has for it.
func Versioned(f record.Flow, set Settings) record.Flow {
	filters, ok := set.Filters[f.Name]
	if !ok {
		return f
	}
	up, down := sdfOf(filters.List, n1.Uplink), sdfOf(filters.List, n1.Downlink)
	f.Directions = 0
	if down != "" {
		f.Directions |= uint8(n1.Downlink)
	}
	if up != "" {
		f.Directions |= uint8(n1.Uplink)
	}
	hash := fnv.New32a()
	_, _ = hash.Write(n1.AppendText(fmt.Appendf(nil, "%d\n", filters.Precedence), filters.List)) // a hash takes whatever it is given
	f.Filters = hash.Sum32()
	return f
}

func rulesOf(s *record.Session, set Settings) ruleSet {
	r := ruleSet{}
	switch {
	case s.Branch == nil || s.Branch.Core.TEID == 0:
		r = accessSideOf(s)
	case s.Phase == record.Releasing:
		r.far.state = dropping
	default: // whatever becomes of the access network: packets wait there
		r.far = farRule{state: toAccess, tunnel: s.Branch.Core}
	}
	r.qers = []qerRule{{id: qerAMBR, mbrUp: s.AMBR.Uplink, mbrDown: s.AMBR.Downlink}}
	r.urrs = urrsOf(s.Usage)
	r.frames = s.Type == n1.Ethernet
	for n, f := range s.Flows {
		if f.Refused {
			continue
		}
		q := qerRule{id: qerAMBR + uint32(f.QFI), qfi: f.QFI, isFlow: true, closed: f.Closed}
		if f.Default {
			q.qfi = s.Flows[0].QFI
		}
		qers := fmt.Sprint(q.id)
		if f.GFBRUplink != 0 || f.GFBRDownlink != 0 {
			q.gbrUp, q.gbrDown, q.mbrUp, q.mbrDown = f.GFBRUplink, f.GFBRDownlink, f.MFBRUplink, f.MFBRDownlink
		} else { // TS 23.501 5.7.1.8: flows with a guaranteed rate do not count
			qers = fmt.Sprint(qerAMBR) + " " + qers
		}
		r.qers = append(r.qers, q)
		urr := r.urrOf(f.Charge)
		up := pdrRule{id: 1, precedence: defaultPrecedence, uplink: true, qers: qers, urr: urr, far: farUplink}
		down := pdrRule{id: 2, precedence: defaultPrecedence, qers: qers, urr: urr, far: farDownlink}
		if n != 0 {
			filters := set.Filters[f.Name]
			up.id, down.id = 2*uint16(f.QFI)+1, 2*uint16(f.QFI)+2
			r.addFlow(up, f, n1.Uplink, filters)
			if !f.Coming {
				r.addFlow(down, f, n1.Downlink, filters)
			}
			continue
		}
		r.pdrs = append(r.pdrs, up, down)
	}
	return r
}

// accessSideOf the session: where the unit on N3 sends downlink packets, and what it forwards for a handover.
func accessSideOf(s *record.Session) (r ruleSet) {
	switch {
	case s.Phase == record.Releasing:
		r.far.state = dropping
	case s.Phase == record.Idle:
		r.far.state = notifying
	case s.Downlink == record.Tunnel{}, s.Handover != nil && s.Handover.Buffering:
		r.far.state = buffering
	default:
		r.far = farRule{state: toAccess, tunnel: s.Downlink}
	}
	if h := s.Handover; h != nil && !h.Direct && s.Phase == record.Active {
		r.relay = h.Forwarding
	}
	return r
}

// addFlow adds the PDR of a flow in one direction, where it has filters in it.
func (r *ruleSet) addFlow(p pdrRule, f record.Flow, direction n1.Direction, filters Filters) {
	p.precedence, p.version = filters.Precedence, f.Filters
	if r.frames {
		p.frames = framesOf(filters.List, direction)
	} else {
		p.sdf = sdfOf(filters.List, direction)
	}
	known := p.sdf+p.frames != ""
	there := known // a flow of which the Slice knows nothing, and that has no rules, gets none
	if f.Directions != 0 {
		there = n1.Direction(f.Directions)&direction != 0
	}
	if !known {
		p.unknown = f.Name
	}
	if there {
		r.pdrs = append(r.pdrs, p)
	}
}

// sdfOf writes the filters of a direction, one a line. An SDF filter names the data network's side first, whatever the
// direction (TS 29.244 8.2.5, TS 29.212 5.4.2).
func sdfOf(filters []n1.Filter, direction n1.Direction) string {
	var lines []string
	for _, f := range filters {
		if f.Direction&direction != 0 {
			lines = append(lines, SDF(f))
		}
	}
	return strings.Join(lines, "\n")
}

// SDF is the flow description of a filter: addresses, protocol and ports.
func SDF(f n1.Filter) string {
	protocol := "ip"
	if f.Protocol >= 0 {
		protocol = strconv.Itoa(f.Protocol)
	}
	side := func(p netip.Prefix, any string, ports n1.PortRange) string {
		out := any
		if p.IsValid() {
			out = p.Masked().String()
			if p.IsSingleIP() {
				out = p.Addr().String()
			}
		}
		switch {
		case ports == n1.PortRange{}:
		case ports.First == ports.Last:
			out += fmt.Sprintf(" %d", ports.First)
		default:
			out += fmt.Sprintf(" %d-%d", ports.First, ports.Last)
		}
		return out
	}
	return fmt.Sprintf("permit out %s from %s to %s", protocol, side(f.Remote, "any", f.RemotePorts), side(netip.Prefix{}, "assigned", f.LocalPorts))
}

func (r ruleSet) pdr(id uint16) (pdrRule, bool) {
	n := slices.IndexFunc(r.pdrs, func(p pdrRule) bool { return p.id == id })
	if n < 0 {
		return pdrRule{}, false
	}
	return r.pdrs[n], true
}

func (r ruleSet) qer(id uint32) (qerRule, bool) {
	n := slices.IndexFunc(r.qers, func(q qerRule) bool { return q.id == id })
	if n < 0 {
		return qerRule{}, false
	}
	return r.qers[n], true
}
