package rules

import (
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Endpoint is a Traffic Endpoint (TS 29.244 5.2.1A, tables 7.5.2.7-1 and 7.5.4.13-1): what several
// PDIs have in common, said once (feature PDIU); a PDI may name several of them (MTE).
type Endpoint struct {
	ID uint8
	Match
}

const maxEndpoints = 256 // the ID has one octet

var unsupportedInEndpoint = []uint16{
	ie.EthernetPDUSessionInformation, ie.IPMulticastAddressingInfo,
	ie.RedundantTransmissionParameters, mbsSessionIdentifier, localIngressTunnel,
}

func (p *planner) endpoint(r *Endpoint, group pfcp.Elements, create bool) error {
	before := r.Match
	if group.First(ie.QFI) != nil {
		r.QFIs = nil // when present, they replace
	}
	if err := p.match(&r.Match, &before, group, group, wants{endpoint: r.ID, is: true}, named{}); err != nil {
		return err
	}
	return unsupported(group, unsupportedInEndpoint, named{})
}

// removeEndpoints takes Traffic Endpoints away, with all PDRs that refer to them (TS 29.244
// table 7.5.4.1-1).
func (p *planner) removeEndpoints(message pfcp.Elements) error {
	n := p.change.Next
	return p.each(message, endpointKind.remove, endpointKind, "Remove", func(id uint32, _ pfcp.Elements) error {
		if n.Endpoints.Get(uint8(id)) == nil {
			return refuse(named{}, ie.TrafficEndpointID, "Remove Traffic Endpoint: there is no Traffic Endpoint %d", id)
		}
		n.Endpoints.Delete(uint8(id))
		n.PDRs.DeleteFunc(func(_ uint16, r *PDR) bool { return slices.Contains(r.PDI.Endpoints, uint8(id)) })
		p.change.Rules = true
		return nil
	})
}
