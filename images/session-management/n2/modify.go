package n2

import (
	"core5g.dev/core5g/images/session-management/record"

	"github.com/free5gc/ngap/ngapType"
)

// ModifyRequest is the PDU Session Resource Modify Request Transfer of TS 38.413 9.3.4.3, SMF to gNB. What it does not
// say stays.
type ModifyRequest struct {
	// AMBR of the session.
	AMBR *record.AMBR
	// Uplink: for the gNB's endpoints, the UPF's that replace those of before (UL NG-U UP TNL Modify List), up to four.
	Uplink []TunnelPair
	// NetworkInstance 1 to 256; 0: not said.
	NetworkInstance uint16
	// Flows to add or to modify, Released to release, up to 64 each.
	Flows    []QoSFlow
	Released []FlowCause
	// AdditionalUplink are up to three more endpoints of the UPF.
	AdditionalUplink []record.Tunnel
	Security         *Security
}

const (
	uplinkModifyList  = "UL NG-U UP TNL Modify List"
	flowsToRelease    = "QoS Flow to Release List"
	flowsModified     = "QoS Flow Add or Modify Response List"
	flowsNotModified  = "QoS Flow Failed to Add or Modify List"
	flowsConfirmed    = "QoS Flow Modify Confirm List"
	flowsNotConfirmed = "QoS Flow Failed to Modify List"
)

// InfoType is PDU_RES_MOD_REQ.
func (*ModifyRequest) InfoType() InfoType { return InfoModifyRequest }

// Encode writes the transfer.
func (t *ModifyRequest) Encode() ([]byte, error) {
	var c check
	var out request
	if t.AMBR != nil {
		out.add(ngapType.ProtocolIEIDPDUSessionAggregateMaximumBitRate, requestValue{Present: presentAMBR, AMBR: c.putAMBR(*t.AMBR)})
	}
	if len(t.Uplink) > 0 {
		out.add(ngapType.ProtocolIEIDULNGUUPTNLModifyList, requestValue{Present: presentUplinkModify, UplinkModify: c.putModifyList(t.Uplink)})
	}
	if t.NetworkInstance != 0 {
		out.add(ngapType.ProtocolIEIDNetworkInstance, requestValue{
			Present: presentNetworkInstance, NetworkInstance: c.putNetworkInstance(t.NetworkInstance),
		})
	}
	if len(t.Flows) > 0 {
		out.add(ngapType.ProtocolIEIDQosFlowAddOrModifyRequestList, requestValue{
			Present: presentFlowsToModify, FlowsToModify: c.putFlowsToModify(t.Flows),
		})
	}
	if len(t.Released) > 0 {
		out.add(ngapType.ProtocolIEIDQosFlowToReleaseList, requestValue{
			Present: presentFlowsToRelease, FlowsToRelease: c.putFlowCauses(flowsToRelease, t.Released),
		})
	}
	if len(t.AdditionalUplink) > 0 {
		out.add(ngapType.ProtocolIEIDAdditionalULNGUUPTNLInformation, requestValue{
			Present: presentAdditionalUplink, AdditionalUplink: c.putTunnels(additionalUplink, t.AdditionalUplink),
		})
	}
	if t.Security != nil {
		// Unlike at setup, a gNB that does not know it goes on without it.
		out.add(ngapType.ProtocolIEIDSecurityIndication, requestValue{
			Present: presentSecurity, Security: c.putSecurity(securityName, t.Security),
		}).Criticality.Value = ngapType.CriticalityPresentIgnore
	}
	return c.encode(t, &out)
}

func (c *check) putModifyList(in []TunnelPair) *ngapType.ULNGUUPTNLModifyList {
	c.count(uplinkModifyList, len(in), maxTunnels)
	var out ngapType.ULNGUUPTNLModifyList
	for _, p := range in {
		out.List = append(out.List, ngapType.ULNGUUPTNLModifyItem{
			ULNGUUPTNLInformation: c.putTunnel(uplinkModifyList, p.Uplink), DLNGUUPTNLInformation: c.putTunnel(uplinkModifyList, p.Downlink),
		})
	}
	return &out
}

func (c *check) putFlowsToModify(in []QoSFlow) *ngapType.QosFlowAddOrModifyRequestList {
	c.count(flowsToModify, len(in), maxFlows)
	var out ngapType.QosFlowAddOrModifyRequestList
	for n := range in {
		item := ngapType.QosFlowAddOrModifyRequestItem{QosFlowIdentifier: c.putQFI(flowsToModify, in[n].QFI)}
		if !in[n].Unchanged {
			p := c.putParameters(flowsToModify, &in[n])
			item.QosFlowLevelQosParameters = &p
		}
		out.List = append(out.List, item)
	}
	return &out
}

func (t *ModifyRequest) read(c *check, b []byte) {
	var in request
	if !c.decodeIEs(b, &in) {
		return
	}
	for n := range in.ProtocolIEs.List {
		// An IE that is not known, or another transfer's, has none of these.
		v := &in.ProtocolIEs.List[n].Value
		switch {
		case v.AMBR != nil:
			t.AMBR = c.ambr(v.AMBR)
		case v.UplinkModify != nil:
			t.Uplink = c.modifyList(v.UplinkModify)
		case v.NetworkInstance != nil:
			t.NetworkInstance = uint16(c.within(networkInstance, v.NetworkInstance.Value, 1, maxNetworkInstance))
		case v.FlowsToModify != nil:
			t.Flows = c.flowsToModify(v.FlowsToModify)
		case v.FlowsToRelease != nil:
			t.Released = c.flowCauses(flowsToRelease, v.FlowsToRelease)
		case v.AdditionalUplink != nil:
			t.AdditionalUplink = c.tunnels(additionalUplink, v.AdditionalUplink)
		case v.Security != nil:
			t.Security = c.security(securityName, v.Security)
		}
	}
}

func (c *check) modifyList(in *ngapType.ULNGUUPTNLModifyList) []TunnelPair {
	c.count(uplinkModifyList, len(in.List), maxTunnels)
	var out []TunnelPair
	for n := range in.List {
		out = append(out, TunnelPair{
			Uplink:   c.tunnel(uplinkModifyList, &in.List[n].ULNGUUPTNLInformation),
			Downlink: c.tunnel(uplinkModifyList, &in.List[n].DLNGUUPTNLInformation),
		})
	}
	return out
}

func (c *check) flowsToModify(in *ngapType.QosFlowAddOrModifyRequestList) []QoSFlow {
	c.count(flowsToModify, len(in.List), maxFlows)
	out := make([]QoSFlow, len(in.List))
	for n := range in.List {
		out[n].QFI = c.qfi(flowsToModify, in.List[n].QosFlowIdentifier)
		if p := in.List[n].QosFlowLevelQosParameters; p != nil {
			c.parameters(flowsToModify, p, &out[n])
		} else {
			out[n].Unchanged = true
		}
	}
	return out
}

// ModifyResponse is the PDU Session Resource Modify Response Transfer of TS 38.413 9.3.4.4, gNB to SMF.
type ModifyResponse struct {
	// Downlink is the gNB's endpoint where it is another now, Uplink the UPF's to which it sends.
	Downlink, Uplink *record.Tunnel
	// Flows that were added or modified, by QFI, and Failed, those that were not.
	Flows  []uint8
	Failed []FlowCause
	// AdditionalDownlink are up to three more endpoints of the gNB, AdditionalPairs those that the gNB has now for the UPF's.
	AdditionalDownlink []FlowTunnel
	AdditionalPairs    []TunnelPair
}

// ngapType has the extension without its number.
type modifyResponse struct {
	Downlink           *ngapType.UPTransportLayerInformation    `aper:"valueLB:0,valueUB:1,optional"`
	Uplink             *ngapType.UPTransportLayerInformation    `aper:"valueLB:0,valueUB:1,optional"`
	Flows              *ngapType.QosFlowAddOrModifyResponseList `aper:"optional"`
	AdditionalDownlink *ngapType.QosFlowPerTNLInformationList   `aper:"optional"`
	Failed             *ngapType.QosFlowListWithCause           `aper:"optional"`
	IEExtensions       *extensions                              `aper:"optional"`
}

// InfoType is PDU_RES_MOD_RSP.
func (*ModifyResponse) InfoType() InfoType { return InfoModifyResponse }

// Encode writes the transfer.
func (t *ModifyResponse) Encode() ([]byte, error) {
	var c check
	out := modifyResponse{
		Downlink:           c.putOptionalTunnel(downlinkTunnel, t.Downlink),
		Uplink:             c.putOptionalTunnel(uplinkTunnel, t.Uplink),
		AdditionalDownlink: c.putFlowTunnels(additionalDownlink, t.AdditionalDownlink),
		Failed:             c.putFlowCauses(flowsNotModified, t.Failed),
		IEExtensions:       c.putExtensions(extended{pairs: t.AdditionalPairs}),
	}
	if len(t.Flows) > 0 {
		c.count(flowsModified, len(t.Flows), maxFlows)
		out.Flows = &ngapType.QosFlowAddOrModifyResponseList{}
		for _, qfi := range t.Flows {
			out.Flows.List = append(out.Flows.List, ngapType.QosFlowAddOrModifyResponseItem{QosFlowIdentifier: c.putQFI(flowsModified, qfi)})
		}
	}
	return c.encode(t, &out)
}

func (t *ModifyResponse) read(c *check, b []byte) {
	var in modifyResponse
	if !c.decode(b, &in) {
		return
	}
	t.Downlink = c.optionalTunnel(downlinkTunnel, in.Downlink)
	t.Uplink = c.optionalTunnel(uplinkTunnel, in.Uplink)
	t.AdditionalDownlink = c.flowTunnels(additionalDownlink, in.AdditionalDownlink)
	t.Failed = c.flowCauses(flowsNotModified, in.Failed)
	t.AdditionalPairs = c.extensions(in.IEExtensions).pairs
	if in.Flows != nil {
		c.count(flowsModified, len(in.Flows.List), maxFlows)
		for n := range in.Flows.List {
			t.Flows = append(t.Flows, c.qfi(flowsModified, in.Flows.List[n].QosFlowIdentifier))
		}
	}
}

// ModifyIndication is the PDU Session Resource Modify Indication Transfer of TS 38.413 9.3.4.6, gNB to SMF: its
// endpoints and the flows that they have are others now (dual connectivity).
type ModifyIndication struct {
	Downlink FlowTunnel
	// Additional are up to three more endpoints of the gNB.
	Additional []FlowTunnel
	Usage      *SecondaryRATUsage
	Security   *SecurityResult
}

// ngapType has the extensions without their numbers.
type modifyIndication struct {
	Downlink     ngapType.QosFlowPerTNLInformation      `aper:"valueExt"`
	Additional   *ngapType.QosFlowPerTNLInformationList `aper:"optional"`
	IEExtensions *extensions                            `aper:"optional"`
}

// InfoType is PDU_RES_MOD_IND.
func (*ModifyIndication) InfoType() InfoType { return InfoModifyIndication }

// Encode writes the transfer.
func (t *ModifyIndication) Encode() ([]byte, error) {
	var c check
	return c.encode(t, &modifyIndication{
		Downlink:     c.putFlowTunnel(flowTunnelName, t.Downlink),
		Additional:   c.putFlowTunnels(additionalDownlink, t.Additional),
		IEExtensions: c.putExtensions(extended{usage: t.Usage, security: t.Security}),
	})
}

func (t *ModifyIndication) read(c *check, b []byte) {
	var in modifyIndication
	if !c.decode(b, &in) {
		return
	}
	t.Downlink = c.flowTunnel(flowTunnelName, &in.Downlink)
	t.Additional = c.flowTunnels(additionalDownlink, in.Additional)
	x := c.extensions(in.IEExtensions)
	t.Usage, t.Security = x.usage, x.security
}

// ModifyConfirm is the PDU Session Resource Modify Confirm Transfer of TS 38.413 9.3.4.7, SMF to gNB.
type ModifyConfirm struct {
	// Flows that are where the gNB wants them, by QFI, 1 to 64, and Failed, those that are not.
	Flows  []uint8
	Failed []FlowCause
	// Uplink is the UPF's endpoint, AdditionalPairs up to three more, each with the gNB's endpoint for which it is.
	Uplink          record.Tunnel
	AdditionalPairs []TunnelPair
}

// InfoType is PDU_RES_MOD_CFM.
func (*ModifyConfirm) InfoType() InfoType { return InfoModifyConfirm }

// Encode writes the transfer.
func (t *ModifyConfirm) Encode() ([]byte, error) {
	var c check
	c.count(flowsConfirmed, len(t.Flows), maxFlows)
	out := ngapType.PDUSessionResourceModifyConfirmTransfer{
		ULNGUUPTNLInformation:     c.putTunnel(uplinkTunnel, t.Uplink),
		QosFlowFailedToModifyList: c.putFlowCauses(flowsNotConfirmed, t.Failed),
	}
	if len(t.AdditionalPairs) > 0 {
		out.AdditionalNGUUPTNLInformation = c.putPairs(additionalPairsName, t.AdditionalPairs)
	}
	for _, qfi := range t.Flows {
		out.QosFlowModifyConfirmList.List = append(out.QosFlowModifyConfirmList.List,
			ngapType.QosFlowModifyConfirmItem{QosFlowIdentifier: c.putQFI(flowsConfirmed, qfi)})
	}
	return c.encode(t, &out)
}

func (t *ModifyConfirm) read(c *check, b []byte) {
	var in ngapType.PDUSessionResourceModifyConfirmTransfer
	if !c.decode(b, &in) {
		return
	}
	c.count(flowsConfirmed, len(in.QosFlowModifyConfirmList.List), maxFlows)
	for n := range in.QosFlowModifyConfirmList.List {
		t.Flows = append(t.Flows, c.qfi(flowsConfirmed, in.QosFlowModifyConfirmList.List[n].QosFlowIdentifier))
	}
	t.Uplink = c.tunnel(uplinkTunnel, &in.ULNGUUPTNLInformation)
	t.AdditionalPairs = c.pairs(additionalPairsName, in.AdditionalNGUUPTNLInformation)
	t.Failed = c.flowCauses(flowsNotConfirmed, in.QosFlowFailedToModifyList)
}
