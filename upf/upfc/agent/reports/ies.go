package reports

import (
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Report Type (TS 29.244 8.2.21).
const (
	reportsDownlinkData = 0x01 // DLDR
	reportsUsage        = 0x02 // USAR
	reportsError        = 0x04 // ERIR
	reportsInactivity   = 0x08 // UPIR
)

// reportIEs are the IEs of a Session Report Request (TS 29.244 7.5.8).
func reportIEs(s *leases.Session, reports []usage.Report) (ies pfcp.IEs) {
	what := uint8(0)
	for i := range reports {
		if reports[i].URR == rules.InactivityURR {
			what |= reportsInactivity
		} else {
			what |= reportsUsage
		}
	}
	ies.Octets(ie.ReportType, what)
	AppendUsage(s, &ies, reports, 0, ie.UsageReportWithinSessionReportRequest)
	return ies
}

// AppendUsage appends the IEs of a message that carries reports, while more of them follow.
func AppendUsage(s *leases.Session, ies *pfcp.IEs, reports []usage.Report, more int, ieType uint16) {
	for i := range reports {
		if reports[i].URR != rules.InactivityURR {
			reports[i].Append(ies, ieType, application(s, reports[i].URR))
		}
	}
	if more > 0 {
		usage.AppendAdditional(ies, more)
	}
}

// application is the Application ID that a URR's PDRs detect; empty when none does, or several.
func application(s *leases.Session, urr uint32) string {
	found := ""
	for _, r := range s.Rules.PDRs.All() {
		if id := r.PDI.Application; id != "" && id != found && slices.Contains(r.URRs, urr) {
			if found != "" {
				return ""
			}
			found = id
		}
	}
	return found
}

func remoteFTEID(ies *pfcp.IEs, f rules.FTEID) {
	if f.Addr.Is6() {
		ies.FTEID(f.TEID, netip.Addr{}, f.Addr)
	} else {
		ies.FTEID(f.TEID, f.Addr, netip.Addr{})
	}
}
