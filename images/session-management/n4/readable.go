package n4

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// Rules are those of a session as people read them: what Establishment would ask a unit for.
type Rules struct {
	PDRs []PDR `json:"pdrs"`
	FARs []FAR `json:"fars"`
	QERs []QER `json:"qers"`
	URRs []URR `json:"urrs,omitempty"`
}

// PDR as in TS 29.244 5.2.1. Texts that the session has no value for say what the unit chooses.
type PDR struct {
	ID              uint16   `json:"id"`
	Precedence      uint32   `json:"precedence"`
	SourceInterface string   `json:"sourceInterface"`
	NetworkInstance string   `json:"networkInstance"`
	FTEID           string   `json:"fteid,omitempty"`
	UEIPAddress     string   `json:"ueIPAddress,omitempty"`
	FramedRoutes    []string `json:"framedRoutes,omitempty"`
	QFI             uint8    `json:"qfi,omitempty"`
	SDFFilters      []string `json:"sdfFilters,omitempty"`
	// EthernetFilters of a session of type Ethernet, and EthernetSession: its rule takes all frames that are the session's (ETHI).
	EthernetFilters    []string `json:"ethernetFilters,omitempty"`
	EthernetSession    bool     `json:"ethernetSession,omitempty"`
	OuterHeaderRemoval bool     `json:"outerHeaderRemoval,omitempty"`
	FAR                uint32   `json:"far"`
	QERs               []uint32 `json:"qers,omitempty"`
	URR                uint32   `json:"urr,omitempty"`
	// MACs: addresses that frames come from are reported (MACAR).
	MACs bool `json:"reportsMACs,omitempty"`
	// Unknown is the flow whose filters the Slice has no more: the unit has them, and nobody else knows them.
	Unknown string `json:"unknownFiltersOf,omitempty"`
}

// FAR as in TS 29.244 5.2.1. ApplyAction is forward, buffer, buffer and notify, or drop.
type FAR struct {
	ID                   uint32 `json:"id"`
	ApplyAction          string `json:"applyAction"`
	DestinationInterface string `json:"destinationInterface"`
	NetworkInstance      string `json:"networkInstance"`
	OuterHeaderCreation  string `json:"outerHeaderCreation,omitempty"`
	BAR                  uint8  `json:"bar,omitempty"`
}

// QER as in TS 29.244 5.2.1; rates in bit/s, 0 where there is no bound.
type QER struct {
	ID          uint32 `json:"id"`
	QFI         uint8  `json:"qfi,omitempty"`
	MBRUplink   uint64 `json:"mbrUplink,omitempty"`
	MBRDownlink uint64 `json:"mbrDownlink,omitempty"`
	GBRUplink   uint64 `json:"gbrUplink,omitempty"`
	GBRDownlink uint64 `json:"gbrDownlink,omitempty"`
	// ClosedUplink and ClosedDownlink: its gate is closed, and packets are dropped.
	ClosedUplink   bool `json:"closedUplink,omitempty"`
	ClosedDownlink bool `json:"closedDownlink,omitempty"`
}

// URR as in TS 29.244 5.2.1, of a rating group. Volumes in octets of both directions, times in seconds; a quota is what is left of it.
type URR struct {
	ID          uint32 `json:"id"`
	RatingGroup uint32 `json:"ratingGroup"`
	Online      bool   `json:"online,omitempty"`
	// Blocked: packets are dropped for want of a quota.
	Blocked     bool   `json:"blocked,omitempty"`
	VolumeQuota uint64 `json:"volumeQuota,omitempty"`
	TimeQuota   uint32 `json:"timeQuota,omitempty"`
}

// The words of the interfaces (TS 29.244 8.2.2, 8.2.24).
const (
	accessSide, coreSide = "access", "core"
	unitChooses          = "the unit chooses"
)

// Readable are the rules that follow from a session's record.
func Readable(s *record.Session, set Settings) Rules {
	set = set.at(s.Unit.NodeID)
	r := rulesOf(s, set)
	out := Rules{
		FARs: []FAR{{ID: farUplink, ApplyAction: "forward", DestinationInterface: coreSide, NetworkInstance: set.Core}, r.far.readable(set)},
	}
	for _, p := range r.pdrs {
		out.PDRs = append(out.PDRs, p.readable(s, set))
	}
	for _, q := range r.qers {
		out.QERs = append(out.QERs, QER{
			ID: q.id, QFI: q.qfi, MBRUplink: q.mbrUp, MBRDownlink: q.mbrDown, GBRUplink: q.gbrUp, GBRDownlink: q.gbrDown,
			ClosedUplink: gate(q.closed, n1.Uplink) != 0, ClosedDownlink: gate(q.closed, n1.Downlink) != 0,
		})
	}
	for _, g := range r.urrs {
		out.URRs = append(out.URRs, readableURR(g))
	}
	if r.relay != (record.Tunnel{}) {
		out.PDRs = append(out.PDRs, PDR{
			ID: pdrRelay, Precedence: defaultPrecedence, SourceInterface: accessSide, NetworkInstance: set.Access,
			FTEID: cmp.Or(TunnelText(s.Handover.Relay), unitChooses), OuterHeaderRemoval: true, FAR: farRelay,
		})
		out.FARs = append(out.FARs, FAR{
			ID: farRelay, ApplyAction: "forward", DestinationInterface: accessSide, NetworkInstance: set.Access, OuterHeaderCreation: TunnelText(r.relay),
		})
	}
	return out
}

// ReadableBranch are the rules of the session at its branch, which there must be.
func ReadableBranch(s *record.Session, set Settings) (out Rules) {
	set = set.at(s.Branch.NodeID)
	for _, r := range branchRules(s, set) {
		switch r.kind {
		case ie.CreatePDR:
			out.PDRs = append(out.PDRs, r.readablePDR(s))
		case ie.CreateFAR:
			out.FARs = append(out.FARs, r.readableFAR(s, set))
		case ie.CreateQER:
			q := QER{ID: r.id}
			if r.id == qerAMBR {
				q.MBRUplink, q.MBRDownlink = s.AMBR.Uplink, s.AMBR.Downlink
			} else {
				q.QFI = s.Flows[0].QFI
			}
			out.QERs = append(out.QERs, q)
		}
	}
	return out
}

func (r rule) readablePDR(s *record.Session) PDR {
	out := PDR{ID: uint16(r.id)}
	for _, e := range r.ies {
		switch e.Type {
		case ie.Precedence:
			out.Precedence, _ = e.Precedence() // these are all our own
		case ie.OuterHeaderRemoval:
			out.OuterHeaderRemoval = true
		case ie.FARID:
			out.FAR, _ = e.FARID()
		case ie.QERID:
			id, _ := e.QERID()
			out.QERs = append(out.QERs, id)
		case ie.PDI:
			out.matches(e.ChildIEs, s)
		}
	}
	return out
}

// matches is what packets have that are the rule's.
func (p *PDR) matches(pdi []*ie.IE, s *record.Session) {
	p.SourceInterface = accessSide
	for _, e := range pdi {
		switch e.Type {
		case ie.SourceInterface:
			if side, _ := e.SourceInterface(); side == ie.SrcInterfaceCore {
				p.SourceInterface = coreSide
			}
		case ie.NetworkInstance:
			p.NetworkInstance, _ = e.NetworkInstance()
		case ie.UEIPAddress:
			p.UEIPAddress = cmp.Or(AddressesText(s), unitChooses)
		case ie.FramedRoute, ie.FramedIPv6Route:
			p.FramedRoutes = RoutesText(s)
		case ie.QFI:
			p.QFI, _ = e.QFI()
		case ie.SDFFilter:
			if f, err := e.SDFFilter(); err == nil {
				p.SDFFilters = append(p.SDFFilters, f.FlowDescription)
			}
		}
	}
	for _, e := range pdi {
		switch {
		case e.Type != ie.FTEID:
		case p.ID == pdrRelay:
			p.FTEID = cmp.Or(TunnelText(s.Handover.Relay), unitChooses)
		case p.SourceInterface == coreSide:
			p.FTEID = cmp.Or(TunnelText(s.Branch.Core), unitChooses)
		default:
			p.FTEID = cmp.Or(TunnelText(s.Branch.Access), unitChooses)
		}
	}
}

func (r rule) readableFAR(s *record.Session, set Settings) FAR {
	switch r.id {
	case farUplink:
		return FAR{ID: r.id, ApplyAction: "forward", DestinationInterface: coreSide, NetworkInstance: set.Access, OuterHeaderCreation: TunnelText(s.Uplink)}
	case farBreakout:
		return FAR{ID: r.id, ApplyAction: "forward", DestinationInterface: coreSide, NetworkInstance: set.Core}
	case farRelay:
		return FAR{ID: r.id, ApplyAction: "forward", DestinationInterface: accessSide, NetworkInstance: set.Access, OuterHeaderCreation: TunnelText(accessSideOf(s).relay)}
	}
	return accessSideOf(s).far.readable(set)
}

func (p pdrRule) readable(s *record.Session, set Settings) PDR {
	out := PDR{ID: p.id, Precedence: p.precedence, SourceInterface: coreSide, NetworkInstance: set.Core, FAR: p.far, URR: p.urr, Unknown: p.unknown}
	if s.Type == n1.Ethernet {
		out.EthernetSession, out.MACs = !p.uplink, p.uplink
	} else {
		out.UEIPAddress = cmp.Or(AddressesText(s), unitChooses)
	}
	for _, f := range p.frameFilters() {
		out.EthernetFilters = append(out.EthernetFilters, FrameText(f))
	}
	if p.uplink {
		out.SourceInterface, out.NetworkInstance, out.OuterHeaderRemoval = accessSide, set.Access, true
		out.FTEID = cmp.Or(TunnelText(s.Uplink), unitChooses)
	} else {
		out.FramedRoutes = RoutesText(s)
	}
	if p.sdf != "" {
		out.SDFFilters = strings.Split(p.sdf, "\n")
	}
	for id := range strings.FieldsSeq(p.qers) {
		n, _ := strconv.ParseUint(id, 10, 32) // rulesOf has written it
		out.QERs = append(out.QERs, uint32(n))
	}
	return out
}

func (f farRule) readable(set Settings) FAR {
	out := FAR{ID: farDownlink, DestinationInterface: accessSide, NetworkInstance: set.Access}
	out.ApplyAction = map[farState]string{toAccess: "forward", buffering: "buffer", notifying: "buffer and notify", dropping: "drop"}[f.state]
	switch f.state {
	case toAccess:
		out.OuterHeaderCreation = TunnelText(f.tunnel)
	case buffering, notifying:
		out.BAR = barDownlink
	}
	return out
}

// TunnelText is an F-TEID: TEID and addresses, "" for none.
func TunnelText(t record.Tunnel) string {
	if t == (record.Tunnel{}) {
		return ""
	}
	out := fmt.Sprintf("TEID %#x", t.TEID)
	if t.IPv4.IsValid() {
		out += " " + t.IPv4.String()
	}
	if t.IPv6.IsValid() {
		out += " " + t.IPv6.String()
	}
	return out
}

// AddressesText are the UE's address and prefix, "" for none.
func AddressesText(s *record.Session) string {
	var out []string
	if s.IPv4.IsValid() {
		out = append(out, s.IPv4.String())
	}
	if s.IPv6.IsValid() {
		out = append(out, s.IPv6.String())
	}
	return strings.Join(out, " ")
}
