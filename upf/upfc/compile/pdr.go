package compile

import (
	"math"
	"net/netip"
	"slices"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// pdr adds one entry for each way in which a packet of the rule can come: each of its Traffic
// Endpoints, each IP version of the F-TEID, each QFI; and for each of its predefined rules.
func (c *compiler) pdr(r *rules.PDR) error {
	p := abi.Pdr{
		Precedence: r.Precedence, PdrId: r.ID, SourceInterface: r.PDI.SourceInterface, Far: place(c.in.Rules.FARs, r.FAR),
		NQer: uint8(len(r.QERs)),
	}
	if r.Removes {
		p.Flags |= abi.PdrRemove
		p.Removal = r.Removal
	}
	for i, id := range r.QERs {
		p.Qer[i] = place(c.in.Rules.QERs, id)
	}
	for _, id := range r.URRs {
		if c.in.Rules.URRs.Get(id).Is(rules.Paused) {
			continue // TS 29.244 8.2.68 INAM: what passes meanwhile is not measured
		}
		p.Urr[p.NUrr] = place(c.in.Rules.URRs, id)
		p.NUrr++
	}
	switch {
	case r.Deactivated:
		return c.matches(p, r, &rules.Predefined{})
	case len(r.Predefined) == 0:
		return c.matches(p, r, nil)
	}
	for _, name := range r.Predefined {
		q, rule := p, c.predefined(name)
		if rule.Closed {
			q.Far = c.closed()
		}
		if err := c.matches(q, r, rule); err != nil {
			return err
		}
	}
	return nil
}

// predefined is never nil: what finds nothing keeps its F-TEIDs and UE IP addresses known.
func (c *compiler) predefined(name string) *rules.Predefined {
	if c.in.Predefined != nil {
		if rule := c.in.Predefined(name); rule != nil {
			return rule
		}
	}
	return &rules.Predefined{}
}

// closed is the FAR of predefined rules whose packets are dropped. Its ID is none that a CP function gives (TS 29.244 8.2.74).
func (c *compiler) closed() uint16 {
	if c.closedFAR == abi.None16 {
		c.closedFAR = uint16(len(c.out.FARs))
		c.out.FARs = append(c.out.FARs, abi.Far{FarId: 1 << 31, Action: abi.FarDrop, Bar: abi.None16})
	}
	return c.closedFAR
}

// matches are the entries of a PDR, by its own filters or those of a predefined rule.
func (c *compiler) matches(p abi.Pdr, r *rules.PDR, rule *rules.Predefined) error {
	var err error
	c.in.Rules.Matches(r, func(m *rules.Match) {
		if err == nil {
			err = c.match(p, r, m, rule)
		}
	})
	return err
}

func (c *compiler) match(p abi.Pdr, r *rules.PDR, m *rules.Match, rule *rules.Predefined) error {
	// A PDR that names no UE address still belongs to this one UE: uplink packets of another source
	// are spoofed, whatever the CP function left out.
	ue4, ue6 := m.UEAddress, m.UEPrefix
	if !ue4.IsValid() && !ue6.IsValid() {
		ue4, ue6 = c.ue4, c.ue6
	}
	if ue4.IsValid() {
		p.Flags |= abi.PdrUeIpv4
		p.UeAddrBe = abi.AddrBe(ue4)
	}
	if ue6.IsValid() {
		p.Flags |= abi.PdrUeIpv6
		p.UePrefix, p.UePrefixLen = abi.AddrOf(ue6.Addr()), uint8(ue6.Bits())
	}
	if len(r.PDI.Ethernet) > 0 {
		if err := c.ethernetFilters(&p, r); err != nil {
			return err
		}
	} else if err := c.filters(&p, r, rule, ue4, ue6); err != nil {
		return err
	}
	for _, f := range [2]rules.FTEID{m.FTEID, m.FTEID6} {
		if !f.IsValid() {
			continue
		}
		q := p
		q.Flags |= abi.PdrTeid
		q.N3Addr, q.Teid = abi.AddrOf(f.Addr), f.TEID
		if f.Addr.Is6() {
			q.Flags |= abi.PdrN3Ipv6
		}
		c.byQFI(q, m)
	}
	if !m.FTEID.IsValid() && !m.FTEID6.IsValid() {
		c.byQFI(p, m)
	}
	if len(c.out.PDRs) > abi.SessionPdrs {
		return tooBig(r, "more than %d PDRs in a session", abi.SessionPdrs)
	}
	return nil
}

func (c *compiler) byQFI(p abi.Pdr, m *rules.Match) {
	if len(m.QFIs) == 0 {
		c.out.PDRs = append(c.out.PDRs, p)
	}
	for _, qfi := range m.QFIs { // one of them must match
		p.Flags |= abi.PdrQfi
		p.Qfi = qfi
		c.out.PDRs = append(c.out.PDRs, p)
	}
}

// application is where an application of a PDR stands among those of the session, from 1 on; 0: there are too many.
func (c *compiler) application(r *rules.PDR, number uint64) uint8 {
	i := slices.IndexFunc(c.out.Applications, func(a abi.Application) bool { return a.Number == number })
	if i < 0 && len(c.out.Applications) == abi.SessionApplications {
		return 0
	}
	if i < 0 {
		i = len(c.out.Applications)
		c.out.Applications = append(c.out.Applications, abi.Application{Number: number})
	}
	a := &c.out.Applications[i]
	for _, id := range r.URRs {
		if u := c.in.Rules.URRs.Get(id); u != nil && u.Wants(rules.StartOfTraffic|rules.StopOfTraffic) {
			if quiet := uint32(min(int64(u.QuietTime())*1000, math.MaxUint32)); a.QuietMs == 0 || quiet < a.QuietMs {
				a.QuietMs = quiet
			}
		}
	}
	return uint8(i + 1)
}

// filters adds the SDF filters of a PDR, one list for each IP version that its UE has (both where
// none is known, as on an intermediate UPF).
func (c *compiler) filters(p *abi.Pdr, r *rules.PDR, rule *rules.Predefined, ue4 netip.Addr, ue6 netip.Prefix) error {
	if len(r.PDI.Filters) == 0 && r.PDI.Application == "" && rule == nil {
		return nil
	}
	p.Flags |= abi.PdrSdf
	first, first6 := len(c.out.SDFs), len(c.out.SDF6s)
	f := sdfWriter{out: c.out, ue4: ue4, ue6: ue6, v4: ue4.IsValid() || !ue6.IsValid(), v6: ue6.IsValid() || !ue4.IsValid()}
	if len(c.out.Routes) > 0 {
		// "assigned" is all that is the UE's, the networks behind it too; upf-u sees to it that a packet's address is of those.
		f.ue4, f.ue6 = netip.Addr{}, netip.Prefix{}
	}
	for i := range r.PDI.Filters {
		f.add(&r.PDI.Filters[i])
	}
	if rule != nil {
		for i := range rule.Flows {
			f.add(&rules.SDFFilter{Flow: &rule.Flows[i]})
		}
	}
	if r.PDI.Application != "" && c.in.Applications != nil {
		if a := c.in.Applications(r.PDI.Application); a != nil {
			for i := range a.Flows {
				f.add(&rules.SDFFilter{Flow: &a.Flows[i]})
			}
			if len(a.Domains) > 0 {
				if p.Application = c.application(r, a.Number); p.Application == 0 {
					return tooBig(r, "more than %d applications with domain names in a session", abi.SessionApplications)
				}
			}
		}
	}
	if len(c.out.SDFs) > abi.SessionSdfs || len(c.out.SDF6s) > abi.SessionSdfs {
		return tooBig(r, "more than %d SDF filters in a session", abi.SessionSdfs)
	}
	p.SdfFirst, p.SdfCount = uint16(first), uint16(len(c.out.SDFs)-first)
	p.Sdf6First, p.Sdf6Count = uint16(first6), uint16(len(c.out.SDF6s)-first6)
	return nil
}
