package n2

import (
	"core5g.dev/core5g/images/session-management/record"

	"github.com/free5gc/ngap/ngapType"
)

// PathSwitchRequest is the Path Switch Request Transfer of TS 38.413 9.3.4.8, gNB to SMF: the UE is here now.
type PathSwitchRequest struct {
	// Downlink is the new gNB's endpoint; Reused: it is that of before.
	Downlink record.Tunnel
	Reused   bool
	// Security is what the new gNB performs, and what it was told by the old one; nil: it does not say.
	Security *UserPlaneSecurity
	// Flows that the new gNB has, by QFI, 1 to 64. Those of the session that are not here are gone.
	Flows []uint8
	// Additional are up to three more endpoints of the gNB.
	Additional []FlowTunnel
}

// UserPlaneSecurity is the User Plane Security Information of TS 38.413 9.3.1.60.
type UserPlaneSecurity struct {
	Result SecurityResult
	Security
}

// ngapType has these with other types of extensions.
type (
	pathSwitchRequest struct {
		Downlink     ngapType.UPTransportLayerInformation `aper:"valueLB:0,valueUB:1"`
		Reused       *ngapType.DLNGUTNLInformationReused  `aper:"optional"`
		Security     *userPlaneSecurity                   `aper:"valueExt,optional"`
		Flows        ngapType.QosFlowAcceptedList
		IEExtensions *extensions `aper:"optional"`
	}
	userPlaneSecurity struct {
		Result       ngapType.SecurityResult                                                `aper:"valueExt"`
		Indication   securityIndication                                                     `aper:"valueExt"`
		IEExtensions *ngapType.ProtocolExtensionContainerUserPlaneSecurityInformationExtIEs `aper:"optional"`
	}
	pathSwitchAcknowledge struct {
		Uplink       *ngapType.UPTransportLayerInformation `aper:"valueLB:0,valueUB:1,optional"`
		Security     *securityIndication                   `aper:"valueExt,optional"`
		IEExtensions *extensions                           `aper:"optional"`
	}
)

const (
	flowsAccepted         = "QoS Flow Accepted List"
	userPlaneSecurityName = "User Plane Security Information"
)

// InfoType is PATH_SWITCH_REQ.
func (*PathSwitchRequest) InfoType() InfoType { return InfoPathSwitchRequest }

// Encode writes the transfer.
func (t *PathSwitchRequest) Encode() ([]byte, error) {
	var c check
	c.count(flowsAccepted, len(t.Flows), maxFlows)
	out := pathSwitchRequest{
		Downlink:     c.putTunnel(downlinkTunnel, t.Downlink),
		IEExtensions: c.putExtensions(extended{downlink: t.Additional}),
	}
	if t.Reused {
		out.Reused = &ngapType.DLNGUTNLInformationReused{Value: ngapType.DLNGUTNLInformationReusedPresentTrue}
	}
	if t.Security != nil {
		out.Security = &userPlaneSecurity{
			Result: *c.putResult(&t.Security.Result), Indication: *c.putSecurity(userPlaneSecurityName, &t.Security.Security),
		}
	}
	for _, qfi := range t.Flows {
		out.Flows.List = append(out.Flows.List, ngapType.QosFlowAcceptedItem{QosFlowIdentifier: c.putQFI(flowsAccepted, qfi)})
	}
	return c.encode(t, &out)
}

func (t *PathSwitchRequest) read(c *check, b []byte) {
	var in pathSwitchRequest
	if !c.decode(b, &in) {
		return
	}
	t.Downlink, t.Reused = c.tunnel(downlinkTunnel, &in.Downlink), in.Reused != nil
	if s := in.Security; s != nil {
		t.Security = &UserPlaneSecurity{
			Result: *c.result(&s.Result), Security: *c.security(userPlaneSecurityName, &s.Indication),
		}
	}
	c.count(flowsAccepted, len(in.Flows.List), maxFlows)
	for n := range in.Flows.List {
		t.Flows = append(t.Flows, c.qfi(flowsAccepted, in.Flows.List[n].QosFlowIdentifier))
	}
	t.Additional = c.extensions(in.IEExtensions).downlink
}

// PathSwitchAcknowledge is the Path Switch Request Acknowledge Transfer of TS 38.413 9.3.4.9, SMF to gNB.
type PathSwitchAcknowledge struct {
	// Uplink is the UPF's endpoint where it is another now.
	Uplink *record.Tunnel
	// Security, where the gNB was told something else than the SMF holds (TS 33.501 6.6.1).
	Security *Security
	// AdditionalPairs are up to three more endpoints of the UPF, each with the gNB's for which it is.
	AdditionalPairs []TunnelPair
}

// InfoType is PATH_SWITCH_REQ_ACK.
func (*PathSwitchAcknowledge) InfoType() InfoType { return InfoPathSwitchAcknowledge }

// Encode writes the transfer.
func (t *PathSwitchAcknowledge) Encode() ([]byte, error) {
	var c check
	return c.encode(t, &pathSwitchAcknowledge{
		Uplink:       c.putOptionalTunnel(uplinkTunnel, t.Uplink),
		Security:     c.putSecurity(securityName, t.Security),
		IEExtensions: c.putExtensions(extended{pairs: t.AdditionalPairs}),
	})
}

func (t *PathSwitchAcknowledge) read(c *check, b []byte) {
	var in pathSwitchAcknowledge
	if !c.decode(b, &in) {
		return
	}
	t.Uplink = c.optionalTunnel(uplinkTunnel, in.Uplink)
	t.Security = c.security(securityName, in.Security)
	t.AdditionalPairs = c.extensions(in.IEExtensions).pairs
}
