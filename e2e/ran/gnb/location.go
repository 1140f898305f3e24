package gnb

import (
	"fmt"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/n2"
)

// locationReporting says once where the UE is (TS 38.413 8.12.1, 8.12.3). What would have to be watched is refused (8.12.2), and what is not watched any more
// is not answered.
func (g *GNB) locationReporting(c *Connection, asked *ngapType.LocationReportingRequestType) error {
	if asked == nil {
		return fmt.Errorf("location reporting control without a request type")
	}
	switch asked.EventType.Value {
	case ngapType.EventTypePresentDirect:
		return g.locationReport(c, asked)
	case ngapType.EventTypePresentChangeOfServeCell, ngapType.EventTypePresentUePresenceInAreaOfInterest:
		return g.locationFailure(c, ngapType.CauseRadioNetworkPresentUnspecified)
	}
	return nil
}

func (g *GNB) locationReport(c *Connection, asked *ngapType.LocationReportingRequestType) error {
	m := &ngapType.LocationReport{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Ignore, g.location())
	n2.Add(ies, n2.Ignore, asked)
	b, err := n2.Initiating(n2.Ignore, m)
	return c.say(b, err)
}

func (g *GNB) locationFailure(c *Connection, cause aper.Enumerated) error {
	m := &ngapType.LocationReportingFailureIndication{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Ignore, n2.RadioNetworkCause(cause))
	b, err := n2.Initiating(n2.Ignore, m)
	return c.say(b, err)
}
