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
	c.flags(&r.RemoveGTPU)
	number(c, &r.FAR)
	numbers(c, &r.QERs)
	numbers(c, &r.URRs)
}

func pdi(c *coder, p *rules.PDI) {
	number(c, &p.SourceInterface)
	fteid(c, &p.FTEID)
	c.flags(&p.Chosen)
	c.name(&p.NetworkInstance)
	c.addr(&p.UEAddress)
	numbers(c, &p.QFIs)
	list(c, &p.Filters, sdfFilter)
}

func sdfFilter(c *coder, f *rules.SDFFilter) {
	c.flags(&f.HasID, &f.HasToS, &f.HasSPI)
	number(c, &f.ID)
	c.name(&f.Description)
	pointer(c, &f.Flow, flow)
	number(c, &f.ToS)
	number(c, &f.ToSMask)
	number(c, &f.SPI)
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
	number(c, &r.Destination)
	c.name(&r.NetworkInstance)
	fteid(c, &r.Tunnel)
	c.flags(&r.HasToS)
	number(c, &r.ToS)
	number(c, &r.ToSMask)
}

func qer(c *coder, r *rules.QER) {
	number(c, &r.ID)
	c.flags(&r.ULClosed, &r.DLClosed, &r.HasMBR, &r.HasGBR)
	number(c, &r.MBRUL)
	number(c, &r.MBRDL)
	number(c, &r.GBRUL)
	number(c, &r.GBRDL)
	number(c, &r.QFI)
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
