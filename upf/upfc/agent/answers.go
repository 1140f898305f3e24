package agent

import (
	"encoding/binary"
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

// pdnTypeIPv4v6 is the last PDN Type (TS 29.244 8.2.79) that is about IP.
const pdnTypeIPv4v6 = 3

// established answers the request that made a session: UP F-SEID, and what was chosen for it.
func (a *Agent) established(ies *pfcp.IEs, s *session, pdrs []uint16, endpoints []uint8) {
	up := a.cfg.PFCP.Advertise
	at := ies.Begin(ie.FSEID) // TS 29.244 8.2.37
	if up.Is6() {
		*ies = append(*ies, 0x01)
	} else {
		*ies = append(*ies, 0x02)
	}
	*ies = appendAddr(binary.BigEndian.AppendUint64(*ies, s.UPSEID), up)
	ies.End(at)
	created(ies, s, pdrs, endpoints)
}

// created answers what was chosen here: F-TEIDs and UE addresses of PDRs and Traffic Endpoints.
func created(ies *pfcp.IEs, s *session, pdrs []uint16, endpoints []uint8) {
	for _, id := range pdrs {
		at := ies.Begin(ie.CreatedPDR)
		ies.Uint16(ie.PDRID, id)
		chosen(ies, &s.Rules.PDRs.Get(id).PDI.Match)
		ies.End(at)
	}
	for _, id := range endpoints {
		at := ies.Begin(ie.CreatedTrafficEndpoint)
		ies.Octets(ie.TrafficEndpointID, id)
		chosen(ies, &s.Rules.Endpoints.Get(id).Match)
		ies.End(at)
	}
}

func chosen(ies *pfcp.IEs, m *rules.Match) {
	if m.Chosen {
		f := m.FTEID
		if !f.IsValid() {
			f = m.FTEID6
		}
		fteid(ies, f.TEID, m.FTEID.Addr, m.FTEID6.Addr)
	}
	if m.UEChosen {
		at := ies.Begin(ie.UEIPAddress) // TS 29.244 8.2.62
		flags := uint8(0)
		if m.UEAddress.IsValid() {
			flags |= 0x02
		}
		if m.UEPrefix.IsValid() {
			flags |= 0x01
		}
		*ies = appendAddr(appendAddr(append(*ies, flags), m.UEAddress), m.UEPrefix.Addr())
		ies.End(at)
	}
}

// fteid appends an F-TEID (TS 29.244 8.2.3).
func fteid(ies *pfcp.IEs, teid uint32, v4, v6 netip.Addr) {
	at := ies.Begin(ie.FTEID)
	flags := uint8(0)
	if v4.IsValid() {
		flags |= 0x01
	}
	if v6.IsValid() {
		flags |= 0x02
	}
	*ies = appendAddr(appendAddr(binary.BigEndian.AppendUint32(append(*ies, flags), teid), v4), v6)
	ies.End(at)
}

// appendAddr appends an address, if there is one.
func appendAddr(b pfcp.IEs, a netip.Addr) pfcp.IEs {
	switch {
	case a.Is4():
		v := a.As4()
		return append(b, v[:]...)
	case a.IsValid():
		v := a.As16()
		return append(b, v[:]...)
	}
	return b
}

// modified appends the IEs of the answer beside the cause.
func (a *Agent) modified(ies *pfcp.IEs, s *session, pdrs []uint16, endpoints []uint8, reports []usage.Report, additional int) {
	created(ies, s, pdrs, endpoints)
	s.usageReports(ies, reports, additional, ie.UsageReportWithinSessionModificationResponse)
	a.countReports(reports)
	for range reports {
		a.rec.Report("usage")
	}
}

// deleted appends the IEs of the answer that ends a session. What does not fit follows in requests of our own.
func (a *Agent) deleted(ies *pfcp.IEs, s *session, reports []usage.Report) {
	for range reports {
		a.rec.Report("usage")
	}
	rest := reports[min(len(reports), reportsPerAnswer):]
	a.deliverLast(s, rest)
	s.usageReports(ies, reports[:len(reports)-len(rest)], len(rest), ie.UsageReportWithinSessionDeletionResponse)
}
