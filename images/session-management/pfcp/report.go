package pfcp

import (
	"encoding/binary"
	"net/netip"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
)

// Bits of the Report Type (TS 29.244 8.2.21).
const (
	reportDLDR, reportUSAR, reportERIR, reportUPIR = 0x01, 0x02, 0x04, 0x08
)

// DownlinkData is a Downlink Data Report (TS 29.244 7.5.8.2): packets wait in the buffer.
type DownlinkData struct {
	// PDRs that they came by.
	PDRs []uint16
	// Services tell of the first packets what paging may depend on.
	Services []Service
}

// Service is a Downlink Data Service Information (TS 29.244 8.2.27).
type Service struct {
	HasPPI, HasQFI bool
	PPI            uint8 // Paging Policy Indication: the packet's DSCP
	QFI            uint8
}

// FTEID is a tunnel endpoint. Addresses are of one version or both.
type FTEID struct {
	TEID       uint32
	IPv4, IPv6 netip.Addr
}

// sessionReport reads a Session Report Request and hands it on.
func (e *Endpoint) sessionReport(m *wire.Message, r *received) error {
	u := e.unitAt(m.From)
	if u == nil {
		e.drop("stranger")
		return errNobody
	}
	if !m.HasSEID {
		return &wire.Reject{Cause: ie.CauseMandatoryIEMissing, Detail: "a session message without SEID"}
	}
	report, err := readSessionReport(m)
	if err != nil {
		return err
	}
	e.hear(u, m)
	if err := e.handOn(m, r); err != nil {
		return err
	}
	report.Token, report.Unit, report.From, report.CPSEID = r.token, u.NodeID, m.From, m.SEID
	e.tell(report)
	return nil
}

func readSessionReport(m *wire.Message) (SessionReport, error) {
	var out SessionReport
	name := wire.TypeName(m.Type)
	kind := m.Elements.First(ie.ReportType)
	if kind == nil {
		return out, wire.Missing(ie.ReportType, name)
	}
	bits, err := kind.Uint8()
	if err != nil {
		return out, err
	}
	// Table 7.5.8.1-1: a report that the type announces has to be there.
	for _, part := range []struct {
		bit   uint8
		group uint16
	}{{reportDLDR, ie.DownlinkDataReport}, {reportUSAR, ie.UsageReportWithinSessionReportRequest}, {reportERIR, ie.ErrorIndicationReport}} {
		if bits&part.bit != 0 && m.Elements.First(part.group) == nil {
			return out, &wire.Reject{Cause: ie.CauseConditionalIEMissing, Offending: part.group, Detail: name + " lacks what its Report Type announces"}
		}
	}
	out.Inactive = bits&reportUPIR != 0
	if bits&reportDLDR != 0 {
		for _, g := range m.Elements.All(ie.DownlinkDataReport) {
			d, err := downlinkData(&g)
			if err != nil {
				return out, err
			}
			out.DownlinkData = append(out.DownlinkData, d)
		}
	}
	if bits&reportERIR != 0 {
		for _, g := range m.Elements.All(ie.ErrorIndicationReport) {
			tunnels, err := errorIndication(&g)
			if err != nil {
				return out, err
			}
			out.GoneTunnels = append(out.GoneTunnels, tunnels...)
		}
	}
	if bits&reportUSAR != 0 {
		if out.Usage, out.MoreUsage, err = usageIn(m); err != nil {
			return out, err
		}
	}
	return out, nil
}

func downlinkData(g *wire.Element) (DownlinkData, error) {
	var d DownlinkData
	list, err := g.Group()
	if err != nil {
		return d, err
	}
	for _, p := range list.All(ie.PDRID) {
		id, err := p.Uint16()
		if err != nil {
			return d, err
		}
		d.PDRs = append(d.PDRs, id)
	}
	if len(d.PDRs) == 0 {
		return d, wire.Missing(ie.PDRID, "a Downlink Data Report")
	}
	for _, s := range list.All(ie.DownlinkDataServiceInformation) {
		service, err := serviceOf(&s)
		if err != nil {
			return d, err
		}
		d.Services = append(d.Services, service)
	}
	return d, nil
}

func serviceOf(s *wire.Element) (Service, error) {
	var out Service
	short := &wire.Reject{Cause: ie.CauseInvalidLength, Offending: s.Type, Detail: "Downlink Data Service Information is cut short"}
	if len(s.Value) < 1 {
		return out, short
	}
	flags, b := s.Value[0], s.Value[1:]
	out.HasPPI, out.HasQFI = flags&0x01 != 0, flags&0x02 != 0
	if out.HasPPI {
		if len(b) < 1 {
			return out, short
		}
		out.PPI, b = b[0]&0x3f, b[1:]
	}
	if out.HasQFI {
		if len(b) < 1 {
			return out, short
		}
		out.QFI = b[0] & 0x3f
	}
	return out, nil
}

func errorIndication(g *wire.Element) ([]FTEID, error) {
	list, err := g.Group()
	if err != nil {
		return nil, err
	}
	var out []FTEID
	for _, f := range list.All(ie.FTEID) {
		t, err := fteidOf(&f)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, wire.Missing(ie.FTEID, "an Error Indication Report")
	}
	return out, nil
}

// fteidOf reads an F-TEID (TS 29.244 8.2.3) that is chosen.
func fteidOf(f *wire.Element) (FTEID, error) {
	var t FTEID
	b := f.Value
	short := &wire.Reject{Cause: ie.CauseInvalidLength, Offending: f.Type, Detail: "F-TEID is cut short"}
	if len(b) < 1 {
		return t, short
	}
	flags := b[0]
	if flags&0x04 != 0 || flags&0x03 == 0 {
		return t, wire.Incorrect(f.Type, "an F-TEID without an address")
	}
	if len(b) < 5 {
		return t, short
	}
	t.TEID, b = binary.BigEndian.Uint32(b[1:]), b[5:]
	var err error
	t.IPv4, t.IPv6, _, err = addresses(b, flags&0x01 != 0, flags&0x02 != 0, short)
	return t, err
}

// addresses reads an IPv4 and an IPv6 address, as far as they are there.
func addresses(b []byte, has4, has6 bool, short error) (v4, v6 netip.Addr, rest []byte, err error) {
	if has4 {
		if len(b) < 4 {
			return v4, v6, nil, short
		}
		v4, b = netip.AddrFrom4([4]byte(b)), b[4:]
	}
	if has6 {
		if len(b) < 16 {
			return v4, v6, nil, short
		}
		v6, b = netip.AddrFrom16([16]byte(b)), b[16:]
	}
	return v4, v6, b, nil
}
