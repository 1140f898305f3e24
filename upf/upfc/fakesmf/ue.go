package fakesmf

import (
	"cmp"
	"net"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
)

// UE is one UE's session as free5GC's SMF asks for it.
type UE struct {
	TEID uint32
	N3   string
	Addr string
	// NetworkInstance of its PDRs and of the uplink FAR; empty: internet.
	NetworkInstance string
	URR             []*ie.IE // of Create URR; nil for the usual
	NoURR           bool
}

func ip(s string) net.IP { return net.ParseIP(s).To4() }

func (u UE) instance() *ie.IE {
	return ie.NewNetworkInstance(cmp.Or(u.NetworkInstance, "internet"))
}

// FTEID is its uplink F-TEID.
func (u UE) FTEID() *ie.IE { return ie.NewFTEID(0x01, u.TEID, ip(u.N3), nil, 0) }

// UplinkPDR detects its uplink packets.
func (u UE) UplinkPDR(id uint16, precedence uint32, more ...*ie.IE) *ie.IE {
	pdi := append([]*ie.IE{
		ie.NewSourceInterface(ie.SrcInterfaceAccess), u.FTEID(),
		u.instance(), ie.NewUEIPAddress(0x02, u.Addr, "", 0, 0),
	}, more...)
	return ie.NewCreatePDR(u.tail(ie.NewPDRID(id), ie.NewPrecedence(precedence), ie.NewPDI(pdi...),
		ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1))...)
}

// DownlinkPDR detects its downlink packets.
func (u UE) DownlinkPDR(id uint16, precedence uint32, more ...*ie.IE) *ie.IE {
	pdi := append([]*ie.IE{
		ie.NewSourceInterface(ie.SrcInterfaceCore), u.instance(), ie.NewUEIPAddress(0x06, u.Addr, "", 0, 0),
	}, more...)
	return ie.NewCreatePDR(u.tail(ie.NewPDRID(id), ie.NewPrecedence(precedence), ie.NewPDI(pdi...), ie.NewFARID(2))...)
}

func (u UE) tail(ies ...*ie.IE) []*ie.IE {
	ies = append(ies, ie.NewQERID(1))
	if !u.NoURR {
		ies = append(ies, ie.NewURRID(1))
	}
	return ies
}

// Session is free5GC's establishment: two uplink PDRs on one F-TEID, a downlink FAR without a
// tunnel, a volume URR.
func (u UE) Session() []*ie.IE {
	sdf := ie.NewSDFFilter("permit out ip from 8.8.8.8 to assigned", "", "", "", 0)
	ies := []*ie.IE{
		ie.NewPDNType(1),
		u.UplinkPDR(1, 255), u.UplinkPDR(3, 128, sdf),
		u.DownlinkPDR(2, 255), u.DownlinkPDR(4, 128, sdf),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), u.instance())),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x02),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess))),
		ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0), ie.NewMBR(100_000, 200_000), ie.NewQFI(1)),
	}
	if !u.NoURR {
		urr := u.URR
		if urr == nil {
			urr = []*ie.IE{
				ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x03, 0),
				ie.NewMeasurementPeriod(30 * time.Second), ie.NewVolumeThreshold(0x07, 1<<40, 1<<40, 1<<40),
			}
		}
		ies = append(ies, ie.NewCreateURR(append([]*ie.IE{ie.NewURRID(1)}, urr...)...))
	}
	return ies
}

// GNB is the Update FAR that opens the downlink toward a gNB.
func (u UE) GNB(teid uint32, addr string, more ...*ie.IE) *ie.IE {
	fp := append([]*ie.IE{
		ie.NewDestinationInterface(ie.DstInterfaceAccess),
		ie.NewOuterHeaderCreation(0x0100, teid, addr, "", 0, 0, 0),
	}, more...)
	return ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x02), ie.NewUpdateForwardingParameters(fp...))
}

// Phone is the usual UE.
var Phone = UE{TEID: 1, N3: "172.30.3.16", Addr: "10.45.0.1"}

// Idle is the Update FAR of an AN release: buffer, and tell of what comes.
var Idle = ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c))
