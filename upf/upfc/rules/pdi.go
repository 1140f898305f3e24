package rules

import (
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Source and Destination Interface values (TS 29.244 8.2.2, 8.2.24).
const (
	Access     uint8 = 0
	Core       uint8 = 1
	N6LAN      uint8 = 2 // treated as Core: there is one N6
	CPFunction uint8 = 3
	LIFunction uint8 = 4 // as a destination; 5G VN internal as a source
)

// Match is what a PDI and a Traffic Endpoint have in common: by what a packet's session is found.
type Match struct {
	FTEID           FTEID // local, on IPv4
	FTEID6          FTEID // and on IPv6; the same TEID where there are both
	Chosen          bool  // the F-TEIDs were allocated here (CH)
	NetworkInstance string
	UEAddress       netip.Addr   // IPv4
	UEPrefix        netip.Prefix // IPv6
	UEChosen        bool         // they were allocated here (CHV4, CHV6)
	QFIs            []uint8
	Routes          []netip.Prefix // framed routes: networks behind the UE
}

// hasFTEID says whether packets come by a tunnel.
func (m *Match) hasFTEID() bool { return m.FTEID.IsValid() || m.FTEID6.IsValid() }

// PDI is Packet Detection Information, TS 29.244 table 7.5.2.2-2.
type PDI struct {
	Match
	SourceInterface uint8
	Filters         []SDFFilter
	Application     string  // Application ID, whose filters PFD management provides
	Endpoints       []uint8 // Traffic Endpoints, which then stand for most of Match
	EthernetSession bool    // ETHI: all frames of the Ethernet PDU session
	Ethernet        []EthernetFilter
}

var unsupportedInPDI = []uint16{
	ie.IPMulticastAddressingInfo, ie.RedundantTransmissionParameters, dnsQueryFilter, mbsSessionIdentifier, localIngressTunnel,
}

// IE types that go-pfcp has no name for (TS 29.244 table 8.1.2-1).
const (
	dnsQueryFilter         = 294
	mbsSessionIdentifier   = 305
	localIngressTunnel     = 308
	ipAndPortReplacement   = 293
	mbsMulticastParameters = 301
	addMBSUnicast          = 302
)

func (p *planner) pdi(r *PDR, pdr pfcp.Elements, e *pfcp.Element, ref named) (PDI, error) {
	var pdi PDI
	group, err := e.GroupIn(&p.inner)
	if err != nil {
		return pdi, err
	}
	si := group.First(ie.SourceInterface)
	if si == nil {
		return pdi, pfcp.Missing(ie.SourceInterface, "PDI")
	}
	v, err := si.Uint8()
	if err != nil {
		return pdi, err
	}
	switch v &= 0x0f; v {
	case Access, Core:
		pdi.SourceInterface = v
	case N6LAN:
		pdi.SourceInterface = Core
	case CPFunction:
		return pdi, refuse(ref, ie.SourceInterface, "source interface CP-function: this UPF forwards no user packets for the CP function")
	default:
		return pdi, refuse(ref, ie.SourceInterface, "source interface %d is not supported", v)
	}
	for i := range group {
		if e := &group[i]; e.Type == ie.TrafficEndpointID {
			v, err := e.Uint8()
			if err != nil {
				return pdi, err
			}
			if !slices.Contains(pdi.Endpoints, v) {
				pdi.Endpoints = append(pdi.Endpoints, v)
			}
		}
	}
	if len(pdi.Endpoints) > 0 {
		// TS 29.244 table 7.5.2.2-2: the Traffic Endpoint holds these, the PDI does not.
		for _, t := range []uint16{ie.FTEID, ie.UEIPAddress} {
			if group.First(t) != nil {
				return pdi, refuse(ref, t, "a PDI with a Traffic Endpoint ID has its F-TEID and UE IP address there")
			}
		}
	}
	pools := pdr // UE IP Address Pool Identity stands beside the PDI
	if err := p.match(&pdi.Match, &r.PDI.Match, group, pools, wants{pdr: r.ID, core: pdi.SourceInterface == Core}, ref); err != nil {
		return pdi, err
	}
	for i := range group {
		e := &group[i]
		if e.Type != ie.SDFFilter {
			continue
		}
		f, err := parseSDFFilter(e.Value)
		if err != nil {
			return pdi, refuse(ref, ie.SDFFilter, "SDF filter: %v", err)
		}
		if f.HasID && !f.filters() {
			// TS 29.244 8.2.5: the ID stands for a filter that was given before, in another PDR.
			if f, err = p.filterByID(f.ID); err != nil {
				return pdi, refuse(ref, ie.SDFFilter, "%v", err)
			}
		} else if f.HasID {
			if p.filters == nil {
				p.filters = map[uint32]SDFFilter{}
			}
			p.filters[f.ID] = f
		}
		pdi.Filters = append(pdi.Filters, f)
	}
	if e := group.First(ie.ApplicationID); e != nil {
		pdi.Application = string(e.Value)
		if pdi.Application == "" {
			return pdi, refuse(ref, ie.ApplicationID, "empty Application ID")
		}
		if len(pdi.Filters) > 0 {
			return pdi, refuse(ref, ie.ApplicationID, "Application ID beside SDF filters: give the one or the other")
		}
		if p.policy.Application == nil || !p.policy.Application(pdi.Application) {
			return pdi, &pfcp.Reject{Cause: pfcp.CauseUnknownApplicationID, Offending: ie.ApplicationID, Rule: ref.ref(),
				Detail: "no PFDs were provided for application " + pdi.Application}
		}
	}
	if err := p.ethernetPDI(&pdi, group, ref); err != nil {
		return pdi, err
	}
	return pdi, unsupported(group, unsupportedInPDI, ref)
}

// match reads what a PDI and a Traffic Endpoint have in common. before is what was there, from which
// an F-TEID that was chosen stays; names are the IEs beside which pool identities stand.
func (p *planner) match(m, before *Match, group, names pfcp.Elements, who wants, ref named) error {
	if e := group.First(ie.NetworkInstance); e != nil {
		n, err := p.networkInstance(e, ref)
		if err != nil {
			return err
		}
		m.NetworkInstance = n
	}
	if e := group.First(ie.FTEID); e != nil {
		if err := p.fteid(m, before, who.core, e, ref); err != nil {
			return err
		}
	}
	if err := framedRoutes(m, group, ref); err != nil {
		return err
	}
	first := true
	for i := range group {
		e := &group[i]
		switch e.Type {
		case ie.UEIPAddress:
			if first {
				m.UEAddress, m.UEPrefix, m.UEChosen = netip.Addr{}, netip.Prefix{}, false
				first = false
			}
			if err := p.ueAddress(m, e, names, who, ref); err != nil {
				return err
			}
		case ie.QFI:
			v, err := e.Uint8()
			if err != nil {
				return err
			}
			if v &= 0x3f; !slices.Contains(m.QFIs, v) {
				m.QFIs = append(m.QFIs, v)
			}
		}
	}
	return nil
}

// matchesOf are the ways in which packets of a PDR are found: its PDI, or one for each of its
// Traffic Endpoints.
func (s *Set) matchesOf(r *PDR) []Match {
	if len(r.PDI.Endpoints) == 0 {
		return []Match{r.PDI.Match}
	}
	out := make([]Match, 0, len(r.PDI.Endpoints))
	for _, id := range r.PDI.Endpoints {
		e := s.Endpoints.Get(id)
		if e == nil {
			continue
		}
		m := e.Match
		if len(r.PDI.QFIs) > 0 {
			m.QFIs = r.PDI.QFIs
		}
		out = append(out, m)
	}
	return out
}

// Matches calls f for each of them.
func (s *Set) Matches(r *PDR, f func(m *Match)) {
	if len(r.PDI.Endpoints) == 0 {
		f(&r.PDI.Match)
		return
	}
	list := s.matchesOf(r)
	for i := range list {
		f(&list[i])
	}
}

// name reads a name, of which there are few.
func (p *planner) name(b []byte) string {
	if p.policy.Known == nil {
		return pfcp.Name(b)
	}
	p.text = pfcp.AppendName(p.text[:0], b)
	return p.policy.Known(p.text)
}

func (p *planner) networkInstance(e *pfcp.Element, ref named) (string, error) {
	n := p.name(e.Value)
	if p.policy.NetworkInstance != nil && !p.policy.NetworkInstance(n) {
		return "", refuse(ref, ie.NetworkInstance, "network instance %q is not configured", n)
	}
	return n, nil
}
