package state

import (
	"core5g.dev/core5g/upf/upfc/rules"
)

// How the rules are written. After adding a field to package rules, add its line here: number for
// unsigned integers, signed for durations, c.flags for booleans (up to eight in one call, one octet),
// c.name, c.addr, c.prefix, numbers and list for slices, pointer for what may be nil, and
// `if c.given(…)` before a part that most sessions do not have. TestEveryFieldIsStored says which one
// is missing.

func set(c *coder, s *rules.Set) {
	rulesOf(c, &s.PDRs, func(r *rules.PDR) uint16 { return r.ID }, pdr)
	rulesOf(c, &s.FARs, func(r *rules.FAR) uint32 { return r.ID }, far)
	rulesOf(c, &s.QERs, func(r *rules.QER) uint32 { return r.ID }, qer)
	rulesOf(c, &s.URRs, func(r *rules.URR) uint32 { return r.ID }, urr)
	rulesOf(c, &s.BARs, func(r *rules.BAR) uint8 { return r.ID }, bar)
	rulesOf(c, &s.Endpoints, func(e *rules.Endpoint) uint8 { return e.ID }, endpoint)
}

func fteid(c *coder, f *rules.FTEID) {
	c.addr(&f.Addr)
	if f.Addr.IsValid() {
		number(c, &f.TEID)
	}
}

func pdr(c *coder, r *rules.PDR) {
	number(c, &r.ID)
	number(c, &r.Precedence)
	pdi(c, &r.PDI)
	predefined := len(r.Predefined) > 0
	frames := r.PDI.EthernetSession || len(r.PDI.Ethernet) > 0 // version 8
	c.flags(&r.Removes, &predefined, &r.Deactivated, &frames)
	number(c, &r.Removal)
	number(c, &r.FAR)
	numbers(c, &r.QERs)
	numbers(c, &r.URRs)
	if frames {
		c.flags(&r.PDI.EthernetSession)
		list(c, &r.PDI.Ethernet, ethernetFilter)
		c.refuse(!r.PDI.EthernetSession && len(r.PDI.Ethernet) == 0)
	} else {
		r.PDI.EthernetSession, r.PDI.Ethernet = false, nil
	}
	if !predefined {
		r.Predefined = nil
		return
	}
	list(c, &r.Predefined, (*coder).name)
	c.refuse(len(r.Predefined) == 0)
}

func pdi(c *coder, p *rules.PDI) {
	number(c, &p.SourceInterface)
	match(c, &p.Match)
	list(c, &p.Filters, sdfFilter)
	c.name(&p.Application)
	numbers(c, &p.Endpoints)
}

func match(c *coder, m *rules.Match) {
	fteid(c, &m.FTEID)
	fteid(c, &m.FTEID6)
	framed := len(m.Routes) > 0
	c.flags(&m.Chosen, &m.UEChosen, &framed)
	c.name(&m.NetworkInstance)
	c.addr(&m.UEAddress)
	c.prefix(&m.UEPrefix)
	numbers(c, &m.QFIs)
	if !framed {
		m.Routes = nil
		return
	}
	list(c, &m.Routes, (*coder).prefix)
	c.refuse(len(m.Routes) == 0)
}

func endpoint(c *coder, e *rules.Endpoint) {
	number(c, &e.ID)
	match(c, &e.Match)
}

func bar(c *coder, r *rules.BAR) {
	number(c, &r.ID)
	signed(c, &r.Delay)
	signed(c, &r.Duration)
	number(c, &r.Packets)
}

func sdfFilter(c *coder, f *rules.SDFFilter) {
	c.flags(&f.HasID, &f.HasToS, &f.HasSPI, &f.HasFlowLabel)
	number(c, &f.ID)
	c.name(&f.Description)
	pointer(c, &f.Flow, flow)
	number(c, &f.ToS)
	number(c, &f.ToSMask)
	number(c, &f.SPI)
	number(c, &f.FlowLabel)
}

func ethernetFilter(c *coder, f *rules.EthernetFilter) {
	c.flags(&f.HasID, &f.Both, &f.HasType, &f.CTag.Has, &f.STag.Has)
	number(c, &f.ID)
	list(c, &f.MACs, func(c *coder, m *rules.MACs) {
		c.flags(&m.HasSource, &m.HasDestination)
		macRange(c, &m.Source)
		macRange(c, &m.Destination)
	})
	number(c, &f.Type)
	for _, t := range []*rules.Tag{&f.CTag, &f.STag} {
		number(c, &t.Value)
		number(c, &t.Mask)
	}
	list(c, &f.Filters, sdfFilter)
}

func macRange(c *coder, r *rules.MACRange) {
	mac(c, &r.Low)
	mac(c, &r.High)
}

func mac(c *coder, m *rules.MAC) {
	if !c.reading {
		c.b = append(c.b, m[:]...)
	} else if b := c.take(len(m)); b != nil {
		*m = rules.MAC(b)
	}
}

func station(c *coder, s *rules.Station) {
	mac(c, &s.MAC)
	c.flags(&s.HasCTag, &s.HasSTag)
	number(c, &s.CVID)
	number(c, &s.SVID)
}

func flow(c *coder, f *rules.Flow) {
	c.flags(&f.HasProtocol)
	number(c, &f.Protocol)
	side(c, &f.Remote)
	side(c, &f.Local)
}

func side(c *coder, s *rules.Side) {
	c.flags(&s.Assigned)
	c.prefix(&s.Prefix)
	list(c, &s.Ports, portRange)
}

func portRange(c *coder, r *rules.PortRange) {
	number(c, &r.Low)
	number(c, &r.High)
}

func far(c *coder, r *rules.FAR) {
	number(c, &r.ID)
	number(c, &r.Action)
	forwarding(c, &r.Forwarding)
	c.name(&r.NetworkInstance)
	c.flags(&r.HasBAR, &r.HasEndpoint)
	number(c, &r.BAR)
	number(c, &r.Endpoint)
	c.name(&r.Redirect)
	list(c, &r.Duplicates, forwarding)
}

func forwarding(c *coder, f *rules.Forwarding) {
	number(c, &f.Destination)
	number(c, &f.Outer.Kind)
	c.addr(&f.Outer.Addr)
	number(c, &f.Outer.TEID)
	number(c, &f.Outer.Port)
	c.flags(&f.HasToS)
	number(c, &f.ToS)
	number(c, &f.ToSMask)
}

func qer(c *coder, r *rules.QER) {
	number(c, &r.ID)
	c.flags(&r.ULClosed, &r.DLClosed, &r.HasMBR, &r.HasGBR, &r.RQI, &r.HasPPI, &r.HasToS)
	number(c, &r.CorrelationID)
	number(c, &r.MBRUL)
	number(c, &r.MBRDL)
	number(c, &r.GBRUL)
	number(c, &r.GBRDL)
	number(c, &r.QFI)
	number(c, &r.PPI)
	number(c, &r.ToS)
	number(c, &r.ToSMask)
	number(c, &r.Window)
}

func urr(c *coder, r *rules.URR) {
	number(c, &r.ID)
	c.flags(&r.MeasureVolume, &r.MeasureTime)
	number(c, &r.Triggers)
	number(c, &r.Info)
	number(c, &r.Period)
	volume(c, &r.Threshold)
	number(c, &r.TimeThreshold)
	pointer(c, &r.More, urrMore)
}

func urrMore(c *coder, m *rules.URRMore) {
	c.flags(&m.HasTimeQuota, &m.HasQuotaFAR, &m.HasReports, &m.HasNextTimeQuota)
	volume(c, &m.Quota)
	number(c, &m.TimeQuota)
	number(c, &m.QuotaFAR)
	number(c, &m.HoldingTime)
	number(c, &m.ValidityTime)
	number(c, &m.Inactivity)
	number(c, &m.PlaneInactivity)
	numbers(c, &m.Linked)
	number(c, &m.Reports)
	signed(c, &m.Monitoring)
	if c.since(8) {
		number(c, &m.Stations)
	} else {
		m.Stations = 0
	}
	volume(c, &m.NextThreshold)
	volume(c, &m.NextQuota)
	number(c, &m.NextTimeQuota)
	number(c, &m.NextTime)
}

func volume(c *coder, v *rules.Volume) {
	if !c.given(*v != rules.Volume{}) {
		*v = rules.Volume{}
		return
	}
	number(c, &v.Has)
	number(c, &v.Total)
	number(c, &v.UL)
	number(c, &v.DL)
	c.refuse(*v == rules.Volume{})
}
