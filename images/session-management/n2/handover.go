package n2

import (
	"core5g.dev/core5g/images/session-management/record"

	"github.com/free5gc/ngap/ngapType"
)

// HandoverRequired is the Handover Required Transfer of TS 38.413 9.3.4.14, source gNB to SMF.
type HandoverRequired struct {
	// DirectPath: the two gNBs reach each other, so data is forwarded without a UPF.
	DirectPath bool
}

// HandoverAcknowledge is the Handover Request Acknowledge Transfer of TS 38.413 9.3.4.11, target gNB to SMF.
type HandoverAcknowledge struct {
	// Downlink is the target's endpoint, Forwarding where it takes what the source forwards; nil: nothing is forwarded, or
	// not for the session as a whole.
	Downlink   record.Tunnel
	Forwarding *record.Tunnel
	// UplinkForwarding is where it takes uplink packets that the source has and the UPF has not.
	UplinkForwarding *record.Tunnel
	Security         *SecurityResult
	// Flows that the target has, 1 to 64, and Failed, those that it has not.
	Flows  []ForwardedFlow
	Failed []FlowCause
	// Bearers for which data is forwarded.
	Bearers []ForwardedBearer
}

// ForwardedFlow is a flow that the target has; Forwarding: it takes what the source forwards of it.
type ForwardedFlow struct {
	QFI        uint8
	Forwarding bool
}

// ForwardedBearer is where data of a bearer is forwarded to (Data Forwarding Response DRB List, TS 38.413 9.3.1.77).
type ForwardedBearer struct {
	// ID of the bearer, 1 to 32.
	ID               uint8
	Downlink, Uplink *record.Tunnel
}

// HandoverCommand is the Handover Command Transfer of TS 38.413 9.3.4.10, SMF to source gNB. Without anything in it,
// nothing is forwarded.
type HandoverCommand struct {
	// Forwarding is where the source sends what it forwards: the target's endpoint, or the UPF's; UplinkForwarding likewise
	// for uplink packets.
	Forwarding, UplinkForwarding *record.Tunnel
	// Flows to forward, by QFI.
	Flows   []uint8
	Bearers []ForwardedBearer
}

// ngapType does not know the uplink's forwarding.
type (
	handoverAcknowledge struct {
		Downlink     ngapType.UPTransportLayerInformation  `aper:"valueLB:0,valueUB:1"`
		Forwarding   *ngapType.UPTransportLayerInformation `aper:"valueLB:0,valueUB:1,optional"`
		Security     *ngapType.SecurityResult              `aper:"valueExt,optional"`
		Flows        ngapType.QosFlowListWithDataForwarding
		Failed       *ngapType.QosFlowListWithCause          `aper:"optional"`
		Bearers      *ngapType.DataForwardingResponseDRBList `aper:"optional"`
		IEExtensions *extensions                             `aper:"optional"`
	}
	handoverCommand struct {
		Forwarding   *ngapType.UPTransportLayerInformation   `aper:"valueLB:0,valueUB:1,optional"`
		Flows        *ngapType.QosFlowToBeForwardedList      `aper:"optional"`
		Bearers      *ngapType.DataForwardingResponseDRBList `aper:"optional"`
		IEExtensions *extensions                             `aper:"optional"`
	}
)

const (
	forwardingTunnel = "DL Forwarding UP TNL Information"
	flowsWithForward = "QoS Flow Setup Response List"
	flowsToForward   = "QoS Flow to be Forwarded List"
	forwardedBearers = "Data Forwarding Response DRB List"
	maxBearers       = 32
)

// InfoType is HANDOVER_REQUIRED.
func (*HandoverRequired) InfoType() InfoType { return InfoHandoverRequired }

// Encode writes the transfer.
func (t *HandoverRequired) Encode() ([]byte, error) {
	var c check
	var out ngapType.HandoverRequiredTransfer
	if t.DirectPath {
		out.DirectForwardingPathAvailability = &ngapType.DirectForwardingPathAvailability{
			Value: ngapType.DirectForwardingPathAvailabilityPresentDirectPathAvailable,
		}
	}
	return c.encode(t, &out)
}

func (t *HandoverRequired) read(c *check, b []byte) {
	var in ngapType.HandoverRequiredTransfer
	if c.decode(b, &in) {
		t.DirectPath = in.DirectForwardingPathAvailability != nil
	}
}

// InfoType is HANDOVER_REQ_ACK.
func (*HandoverAcknowledge) InfoType() InfoType { return InfoHandoverAcknowledge }

// Encode writes the transfer.
func (t *HandoverAcknowledge) Encode() ([]byte, error) {
	var c check
	c.count(flowsWithForward, len(t.Flows), maxFlows)
	out := handoverAcknowledge{
		Downlink:     c.putTunnel(downlinkTunnel, t.Downlink),
		Forwarding:   c.putOptionalTunnel(forwardingTunnel, t.Forwarding),
		Security:     c.putResult(t.Security),
		Failed:       c.putFlowCauses(failedFlowsName, t.Failed),
		Bearers:      c.putBearers(t.Bearers),
		IEExtensions: c.putExtensions(extended{forwarding: t.UplinkForwarding}),
	}
	for _, f := range t.Flows {
		item := ngapType.QosFlowItemWithDataForwarding{QosFlowIdentifier: c.putQFI(flowsWithForward, f.QFI)}
		if f.Forwarding {
			item.DataForwardingAccepted = &ngapType.DataForwardingAccepted{Value: ngapType.DataForwardingAcceptedPresentDataForwardingAccepted}
		}
		out.Flows.List = append(out.Flows.List, item)
	}
	return c.encode(t, &out)
}

func (t *HandoverAcknowledge) read(c *check, b []byte) {
	var in handoverAcknowledge
	if !c.decode(b, &in) {
		return
	}
	t.Downlink = c.tunnel(downlinkTunnel, &in.Downlink)
	t.Forwarding = c.optionalTunnel(forwardingTunnel, in.Forwarding)
	t.Security = c.result(in.Security)
	c.count(flowsWithForward, len(in.Flows.List), maxFlows)
	for n := range in.Flows.List {
		f := &in.Flows.List[n]
		t.Flows = append(t.Flows, ForwardedFlow{QFI: c.qfi(flowsWithForward, f.QosFlowIdentifier), Forwarding: f.DataForwardingAccepted != nil})
	}
	t.Failed = c.flowCauses(failedFlowsName, in.Failed)
	t.Bearers = c.bearers(in.Bearers)
	t.UplinkForwarding = c.extensions(in.IEExtensions).forwarding
}

func (c *check) bearers(in *ngapType.DataForwardingResponseDRBList) []ForwardedBearer {
	if in == nil {
		return nil
	}
	c.count(forwardedBearers, len(in.List), maxBearers)
	var out []ForwardedBearer
	for n := range in.List {
		d := &in.List[n]
		out = append(out, ForwardedBearer{
			ID:       uint8(c.within(forwardedBearers+", DRB ID", d.DRBID.Value, 1, maxBearers)),
			Downlink: c.optionalTunnel(forwardedBearers, d.DLForwardingUPTNLInformation),
			Uplink:   c.optionalTunnel(forwardedBearers, d.ULForwardingUPTNLInformation),
		})
	}
	return out
}

func (c *check) putBearers(in []ForwardedBearer) *ngapType.DataForwardingResponseDRBList {
	if len(in) == 0 {
		return nil
	}
	c.count(forwardedBearers, len(in), maxBearers)
	var out ngapType.DataForwardingResponseDRBList
	for _, d := range in {
		out.List = append(out.List, ngapType.DataForwardingResponseDRBItem{
			DRBID:                        ngapType.DRBID{Value: c.within(forwardedBearers+", DRB ID", int64(d.ID), 1, maxBearers)},
			DLForwardingUPTNLInformation: c.putOptionalTunnel(forwardedBearers, d.Downlink),
			ULForwardingUPTNLInformation: c.putOptionalTunnel(forwardedBearers, d.Uplink),
		})
	}
	return &out
}

// InfoType is HANDOVER_CMD.
func (*HandoverCommand) InfoType() InfoType { return InfoHandoverCommand }

// Encode writes the transfer.
func (t *HandoverCommand) Encode() ([]byte, error) {
	var c check
	out := handoverCommand{
		Forwarding:   c.putOptionalTunnel(forwardingTunnel, t.Forwarding),
		Bearers:      c.putBearers(t.Bearers),
		IEExtensions: c.putExtensions(extended{forwarding: t.UplinkForwarding}),
	}
	if len(t.Flows) > 0 {
		c.count(flowsToForward, len(t.Flows), maxFlows)
		out.Flows = &ngapType.QosFlowToBeForwardedList{}
		for _, qfi := range t.Flows {
			out.Flows.List = append(out.Flows.List,
				ngapType.QosFlowToBeForwardedItem{QosFlowIdentifier: c.putQFI(flowsToForward, qfi)})
		}
	}
	return c.encode(t, &out)
}

func (t *HandoverCommand) read(c *check, b []byte) {
	var in handoverCommand
	if !c.decode(b, &in) {
		return
	}
	t.Forwarding = c.optionalTunnel(forwardingTunnel, in.Forwarding)
	if in.Flows != nil {
		c.count(flowsToForward, len(in.Flows.List), maxFlows)
		for n := range in.Flows.List {
			t.Flows = append(t.Flows, c.qfi(flowsToForward, in.Flows.List[n].QosFlowIdentifier))
		}
	}
	t.Bearers = c.bearers(in.Bearers)
	t.UplinkForwarding = c.extensions(in.IEExtensions).forwarding
}
