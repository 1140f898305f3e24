package sessions

import (
	"encoding/binary"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/reports"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

// pdnTypeIPv4v6 is the last PDN Type (TS 29.244 8.2.79) that is about IP.
const pdnTypeIPv4v6 = 3

// established answers the request that made a session: UP F-SEID, and what was chosen for it.
func (ss *Sessions) established(ies *pfcp.IEs, s *leases.Session, pdrs []uint16, endpoints []uint8) {
	up := ss.o.Config.PFCP.Advertise
	at := ies.Begin(ie.FSEID) // TS 29.244 8.2.37
	if up.Is6() {
		*ies = append(*ies, 0x01)
	} else {
		*ies = append(*ies, 0x02)
	}
	*ies = binary.BigEndian.AppendUint64(*ies, s.UPSEID)
	ies.Addr(up)
	ies.End(at)
	created(ies, s, pdrs, endpoints)
}

// created answers what was chosen here: F-TEIDs and UE addresses of PDRs and Traffic Endpoints.
func created(ies *pfcp.IEs, s *leases.Session, pdrs []uint16, endpoints []uint8) {
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
		ies.FTEID(f.TEID, m.FTEID.Addr, m.FTEID6.Addr)
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
		*ies = append(*ies, flags)
		ies.Addr(m.UEAddress)
		ies.Addr(m.UEPrefix.Addr())
		ies.End(at)
	}
}

// modified appends the IEs of the answer beside the cause.
func (ss *Sessions) modified(ies *pfcp.IEs, s *leases.Session, pdrs []uint16, endpoints []uint8, list []usage.Report, additional int) {
	created(ies, s, pdrs, endpoints)
	reports.AppendUsage(s, ies, list, additional, ie.UsageReportWithinSessionModificationResponse)
	ss.o.Reports.Count(list)
	for range list {
		ss.o.Recorder.Report("usage")
	}
}

// reportsPerAnswer is how many reports fit an answer, with some 120 octets each.
const reportsPerAnswer = 128

// deleted appends the IEs of the answer that ends a session. What does not fit follows in requests of our own.
func (ss *Sessions) deleted(ies *pfcp.IEs, s *leases.Session, list []usage.Report) {
	for range list {
		ss.o.Recorder.Report("usage")
	}
	rest := list[min(len(list), reportsPerAnswer):]
	ss.o.Reports.DeliverLast(s, rest)
	reports.AppendUsage(s, ies, list[:len(list)-len(rest)], len(rest), ie.UsageReportWithinSessionDeletionResponse)
}
