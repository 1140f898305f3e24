package n2

import (
	"errors"
	"slices"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// Names of IEs that several transfers have.
const (
	uplinkTunnel       = "UL NG-U UP TNL Information"
	downlinkTunnel     = "DL NG-U UP TNL Information"
	additionalUplink   = "Additional UL NG-U UP TNL Information"
	flowTunnelName     = "DL QoS Flow per TNL Information"
	additionalDownlink = "Additional DL QoS Flow per TNL Information"
	networkInstance    = "Network Instance"
)

// The Network Instance is 1 to 256 (TS 38.413 9.3.1.113).
const maxNetworkInstance = 256

// SetupRequest is the PDU Session Resource Setup Request Transfer of TS 38.413 9.3.4.1, SMF to gNB.
type SetupRequest struct {
	// AMBR of the session; there where it has a flow that is not a GBR flow.
	AMBR *record.AMBR
	// Uplink is the UPF's endpoint, AdditionalUplink up to three more, for a gNB with several (dual connectivity).
	Uplink           record.Tunnel
	AdditionalUplink []record.Tunnel
	// NoForwarding: data cannot be forwarded in the handover (Data Forwarding Not Possible).
	NoForwarding bool
	Type         n1.SessionType
	Security     *Security
	// NetworkInstance 1 to 256; 0: not said.
	NetworkInstance uint16
	// Flows, 1 to 64.
	Flows []QoSFlow
}

// errNoAMBR is for who writes: a gNB that is not told has its own ways.
var errNoAMBR = errors.New("missing, and a flow without bit rates of its own shares it")

// InfoType is PDU_RES_SETUP_REQ.
func (*SetupRequest) InfoType() InfoType { return InfoSetupRequest }

// Encode writes the transfer.
func (t *SetupRequest) Encode() ([]byte, error) {
	var c check
	var out request
	if t.AMBR == nil && slices.ContainsFunc(t.Flows, func(f QoSFlow) bool { return !f.guaranteed() }) {
		c.fail(sessionAMBR, "%w", errNoAMBR)
	}
	if t.AMBR != nil {
		out.add(ngapType.ProtocolIEIDPDUSessionAggregateMaximumBitRate, requestValue{Present: presentAMBR, AMBR: c.putAMBR(*t.AMBR)})
	}
	out.add(ngapType.ProtocolIEIDULNGUUPTNLInformation, requestValue{
		Present: presentUplink, Uplink: c.putOptionalTunnel(uplinkTunnel, &t.Uplink),
	})
	if len(t.AdditionalUplink) > 0 {
		out.add(ngapType.ProtocolIEIDAdditionalULNGUUPTNLInformation, requestValue{
			Present: presentAdditionalUplink, AdditionalUplink: c.putTunnels(additionalUplink, t.AdditionalUplink),
		})
	}
	if t.NoForwarding {
		out.add(ngapType.ProtocolIEIDDataForwardingNotPossible, requestValue{
			Present: presentNoForwarding,
			NoForwarding: &ngapType.DataForwardingNotPossible{
				Value: ngapType.DataForwardingNotPossiblePresentDataForwardingNotPossible,
			},
		})
	}
	out.add(ngapType.ProtocolIEIDPDUSessionType, requestValue{Present: presentSessionType, SessionType: c.putSessionType(t.Type)})
	if t.Security != nil {
		out.add(ngapType.ProtocolIEIDSecurityIndication, requestValue{
			Present: presentSecurity, Security: c.putSecurity(securityName, t.Security),
		})
	}
	if t.NetworkInstance != 0 {
		out.add(ngapType.ProtocolIEIDNetworkInstance, requestValue{
			Present: presentNetworkInstance, NetworkInstance: c.putNetworkInstance(t.NetworkInstance),
		})
	}
	out.add(ngapType.ProtocolIEIDQosFlowSetupRequestList, requestValue{
		Present: presentFlowsToSetUp, FlowsToSetUp: c.putFlowsToSetUp(t.Flows),
	})
	return c.encode(t, &out)
}

func (c *check) putNetworkInstance(in uint16) *ngapType.NetworkInstance {
	return &ngapType.NetworkInstance{Value: c.within(networkInstance, int64(in), 1, maxNetworkInstance)}
}

func (c *check) putFlowsToSetUp(in []QoSFlow) *ngapType.QosFlowSetupRequestList {
	c.count(flowsToSetUp, len(in), maxFlows)
	var out ngapType.QosFlowSetupRequestList
	for n := range in {
		out.List = append(out.List, ngapType.QosFlowSetupRequestItem{
			QosFlowIdentifier:         c.putQFI(flowsToSetUp, in[n].QFI),
			QosFlowLevelQosParameters: c.putParameters(flowsToSetUp, &in[n]),
		})
	}
	return &out
}

// The PDU session types in the order of TS 38.413 9.3.1.52.
func sessionTypes() []n1.SessionType {
	return []n1.SessionType{n1.IPv4, n1.IPv6, n1.IPv4v6, n1.Ethernet, n1.Unstructured}
}

func (c *check) putSessionType(in n1.SessionType) *ngapType.PDUSessionType {
	for n, t := range sessionTypes() {
		if t == in {
			return &ngapType.PDUSessionType{Value: aper.Enumerated(n)}
		}
	}
	c.fail("PDU Session Type", "%d is none of TS 24.501 9.11.4.11", in)
	return nil
}

func (t *SetupRequest) read(c *check, b []byte) {
	var in request
	if !c.decodeIEs(b, &in) {
		return
	}
	var uplink, kind, flows bool
	for n := range in.ProtocolIEs.List {
		// An IE that is not known, or another transfer's, has none of these.
		v := &in.ProtocolIEs.List[n].Value
		switch {
		case v.AMBR != nil:
			t.AMBR = c.ambr(v.AMBR)
		case v.Uplink != nil:
			t.Uplink, uplink = c.tunnel(uplinkTunnel, v.Uplink), true
		case v.AdditionalUplink != nil:
			t.AdditionalUplink = c.tunnels(additionalUplink, v.AdditionalUplink)
		case v.NoForwarding != nil:
			t.NoForwarding = true
		case v.SessionType != nil:
			t.Type, kind = sessionTypes()[c.enumerated("PDU Session Type", v.SessionType.Value, 4)], true
		case v.Security != nil:
			t.Security = c.security(securityName, v.Security)
		case v.NetworkInstance != nil:
			t.NetworkInstance = uint16(c.within(networkInstance, v.NetworkInstance.Value, 1, maxNetworkInstance))
		case v.FlowsToSetUp != nil:
			t.Flows, flows = c.flowsToSetUp(v.FlowsToSetUp), true
		}
	}
	c.mandatory(uplinkTunnel, uplink)
	c.mandatory("PDU Session Type", kind)
	c.mandatory(flowsToSetUp, flows)
}

func (c *check) mandatory(ie string, there bool) {
	if !there {
		c.fail(ie, "missing, it is mandatory")
	}
}

func (c *check) flowsToSetUp(in *ngapType.QosFlowSetupRequestList) []QoSFlow {
	c.count(flowsToSetUp, len(in.List), maxFlows)
	out := make([]QoSFlow, len(in.List))
	for n := range in.List {
		out[n].QFI = c.qfi(flowsToSetUp, in.List[n].QosFlowIdentifier)
		c.parameters(flowsToSetUp, &in.List[n].QosFlowLevelQosParameters, &out[n])
	}
	return out
}

// SetupResponse is the PDU Session Resource Setup Response Transfer of TS 38.413 9.3.4.2, gNB to SMF.
type SetupResponse struct {
	// Downlink is the gNB's endpoint and the flows that it has, Additional up to three more.
	Downlink   FlowTunnel
	Additional []FlowTunnel
	Security   *SecurityResult
	// Failed are the flows that the gNB refused.
	Failed []FlowCause
}

// InfoType is PDU_RES_SETUP_RSP.
func (*SetupResponse) InfoType() InfoType { return InfoSetupResponse }

// Encode writes the transfer.
func (t *SetupResponse) Encode() ([]byte, error) {
	var c check
	return c.encode(t, &ngapType.PDUSessionResourceSetupResponseTransfer{
		DLQosFlowPerTNLInformation:           c.putFlowTunnel(flowTunnelName, t.Downlink),
		AdditionalDLQosFlowPerTNLInformation: c.putFlowTunnels(additionalDownlink, t.Additional),
		SecurityResult:                       c.putResult(t.Security),
		QosFlowFailedToSetupList:             c.putFlowCauses(failedFlowsName, t.Failed),
	})
}

func (t *SetupResponse) read(c *check, b []byte) {
	var in ngapType.PDUSessionResourceSetupResponseTransfer
	if !c.decode(b, &in) {
		return
	}
	t.Downlink = c.flowTunnel(flowTunnelName, &in.DLQosFlowPerTNLInformation)
	t.Additional = c.flowTunnels(additionalDownlink, in.AdditionalDLQosFlowPerTNLInformation)
	t.Security = c.result(in.SecurityResult)
	t.Failed = c.flowCauses(failedFlowsName, in.QosFlowFailedToSetupList)
}
