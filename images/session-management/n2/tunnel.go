package n2

import (
	"encoding/binary"
	"net/netip"

	"core5g.dev/core5g/images/session-management/record"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// Lengths of a Transport Layer Address in bits (TS 38.414 5.3): one of 160 is the IPv4 address, then the IPv6 address.
const (
	bitsIPv4, bitsIPv6, bitsBoth = 32, 128, 160
	octetsIPv4                   = bitsIPv4 / 8
)

// Most entries of lists of tunnels (TS 38.413 9.4.7): maxnoofMultiConnectivity, and less the first.
const maxTunnels, maxAdditionalTunnels = 4, 3

// FlowTunnel is the access network's endpoint of some QoS flows (TS 38.413 9.3.2.8).
type FlowTunnel struct {
	Tunnel record.Tunnel
	Flows  []AssociatedFlow
}

// Direction of a QoS flow that an endpoint serves (QoS Flow Mapping Indication, TS 38.413 9.3.1.99).
type Direction uint8

// The directions; both where nothing is said.
const (
	BothDirections Direction = 0
	UplinkOnly     Direction = 1
	DownlinkOnly   Direction = 2
)

// AssociatedFlow is a QoS flow of an endpoint.
type AssociatedFlow struct {
	QFI       uint8
	Direction Direction
}

// TunnelPair is the UPF's endpoint, and the access network's that belongs to it.
type TunnelPair struct{ Uplink, Downlink record.Tunnel }

func (c *check) tunnel(ie string, in *ngapType.UPTransportLayerInformation) record.Tunnel {
	if in.Present != ngapType.UPTransportLayerInformationPresentGTPTunnel || in.GTPTunnel == nil {
		c.fail(ie, "no GTP tunnel (TS 38.413 9.3.2.2)")
		return record.Tunnel{}
	}
	return c.gtpTunnel(ie, in.GTPTunnel)
}

func (c *check) gtpTunnel(ie string, in *ngapType.GTPTunnel) record.Tunnel {
	if len(in.GTPTEID.Value) != 4 {
		c.fail(ie, "a GTP-TEID of %d octets, there are 4 (TS 38.413 9.3.2.5)", len(in.GTPTEID.Value))
		return record.Tunnel{}
	}
	t := record.Tunnel{TEID: binary.BigEndian.Uint32(in.GTPTEID.Value)}
	bits, b := in.TransportLayerAddress.Value.BitLength, in.TransportLayerAddress.Value.Bytes
	switch {
	case uint64(len(b))*8 < bits || bits != bitsIPv4 && bits != bitsIPv6 && bits != bitsBoth:
		c.fail(ie, "a Transport Layer Address of %d bits, there are 32, 128 and 160 (TS 38.413 9.3.2.4)", bits)
		return record.Tunnel{}
	case bits == bitsIPv6:
		t.IPv6 = netip.AddrFrom16([16]byte(b[:16]))
	default:
		t.IPv4 = netip.AddrFrom4([4]byte(b[:octetsIPv4]))
		if bits == bitsBoth {
			t.IPv6 = netip.AddrFrom16([16]byte(b[octetsIPv4:20]))
		}
	}
	c.addresses(ie, t)
	return t
}

// addresses checks those of a tunnel: what is neither valid nor a host's would be what a UPF sends to.
func (c *check) addresses(ie string, t record.Tunnel) {
	if !t.IPv4.IsValid() && !t.IPv6.IsValid() {
		c.fail(ie, "no address: there is an IPv4 address, an IPv6 address, or both")
	}
	if t.IPv4.IsValid() && !t.IPv4.Is4() {
		c.fail(ie, "%s is no IPv4 address", t.IPv4)
	}
	if t.IPv6.IsValid() && (t.IPv6.Is4() || t.IPv6.Is4In6() || t.IPv6.Zone() != "") {
		c.fail(ie, "%s is no IPv6 address that others can use", t.IPv6)
	}
	for _, a := range []netip.Addr{t.IPv4, t.IPv6} {
		if a.IsValid() && (a.IsUnspecified() || a.IsMulticast()) {
			c.fail(ie, "%s is no host's address", a)
		}
	}
}

func (c *check) optionalTunnel(ie string, in *ngapType.UPTransportLayerInformation) *record.Tunnel {
	if in == nil {
		return nil
	}
	t := c.tunnel(ie, in)
	return &t
}

func (c *check) putTunnel(ie string, t record.Tunnel) ngapType.UPTransportLayerInformation {
	c.addresses(ie, t)
	var b []byte
	if t.IPv4.IsValid() {
		b = t.IPv4.AsSlice()
	}
	if t.IPv6.IsValid() {
		b = append(b, t.IPv6.AsSlice()...)
	}
	return ngapType.UPTransportLayerInformation{
		Present: ngapType.UPTransportLayerInformationPresentGTPTunnel,
		GTPTunnel: &ngapType.GTPTunnel{
			TransportLayerAddress: ngapType.TransportLayerAddress{Value: aper.BitString{Bytes: b, BitLength: uint64(len(b)) * 8}},
			GTPTEID:               ngapType.GTPTEID{Value: binary.BigEndian.AppendUint32(nil, t.TEID)},
		},
	}
}

func (c *check) putOptionalTunnel(ie string, t *record.Tunnel) *ngapType.UPTransportLayerInformation {
	if t == nil {
		return nil
	}
	out := c.putTunnel(ie, *t)
	return &out
}

func (c *check) tunnels(ie string, in *ngapType.UPTransportLayerInformationList) []record.Tunnel {
	if in == nil {
		return nil
	}
	c.count(ie, len(in.List), maxAdditionalTunnels)
	var out []record.Tunnel
	for n := range in.List {
		out = append(out, c.tunnel(ie, &in.List[n].NGUUPTNLInformation))
	}
	return out
}

func (c *check) putTunnels(ie string, in []record.Tunnel) *ngapType.UPTransportLayerInformationList {
	c.count(ie, len(in), maxAdditionalTunnels)
	var out ngapType.UPTransportLayerInformationList
	for _, t := range in {
		out.List = append(out.List, ngapType.UPTransportLayerInformationItem{NGUUPTNLInformation: c.putTunnel(ie, t)})
	}
	return &out
}

func (c *check) flowTunnel(ie string, in *ngapType.QosFlowPerTNLInformation) FlowTunnel {
	out := FlowTunnel{Tunnel: c.tunnel(ie, &in.UPTransportLayerInformation)}
	c.count(ie, len(in.AssociatedQosFlowList.List), maxFlows)
	for _, item := range in.AssociatedQosFlowList.List {
		f := AssociatedFlow{QFI: c.qfi(ie, item.QosFlowIdentifier)}
		if m := item.QosFlowMappingIndication; m != nil {
			// An indication of a later release is none that the SMF could act on.
			if d := Direction(min(*m, 2)) + UplinkOnly; d <= DownlinkOnly {
				f.Direction = d
			}
		}
		out.Flows = append(out.Flows, f)
	}
	return out
}

func (c *check) putFlowTunnel(ie string, in FlowTunnel) ngapType.QosFlowPerTNLInformation {
	out := ngapType.QosFlowPerTNLInformation{UPTransportLayerInformation: c.putTunnel(ie, in.Tunnel)}
	c.count(ie, len(in.Flows), maxFlows)
	for _, f := range in.Flows {
		item := ngapType.AssociatedQosFlowItem{QosFlowIdentifier: c.putQFI(ie, f.QFI)}
		if f.Direction != BothDirections {
			d := aper.Enumerated(c.within(ie, int64(f.Direction), int64(UplinkOnly), int64(DownlinkOnly)) - int64(UplinkOnly))
			item.QosFlowMappingIndication = &d
		}
		out.AssociatedQosFlowList.List = append(out.AssociatedQosFlowList.List, item)
	}
	return out
}

func (c *check) flowTunnels(ie string, in *ngapType.QosFlowPerTNLInformationList) []FlowTunnel {
	if in == nil {
		return nil
	}
	c.count(ie, len(in.List), maxAdditionalTunnels)
	var out []FlowTunnel
	for n := range in.List {
		out = append(out, c.flowTunnel(ie, &in.List[n].QosFlowPerTNLInformation))
	}
	return out
}

func (c *check) putFlowTunnels(ie string, in []FlowTunnel) *ngapType.QosFlowPerTNLInformationList {
	if len(in) == 0 {
		return nil
	}
	c.count(ie, len(in), maxAdditionalTunnels)
	var out ngapType.QosFlowPerTNLInformationList
	for _, t := range in {
		out.List = append(out.List, ngapType.QosFlowPerTNLInformationItem{QosFlowPerTNLInformation: c.putFlowTunnel(ie, t)})
	}
	return &out
}

func (c *check) pairs(ie string, in *ngapType.UPTransportLayerInformationPairList) []TunnelPair {
	if in == nil {
		return nil
	}
	c.count(ie, len(in.List), maxAdditionalTunnels)
	var out []TunnelPair
	for n := range in.List {
		out = append(out, TunnelPair{
			Uplink: c.tunnel(ie, &in.List[n].ULNGUUPTNLInformation), Downlink: c.tunnel(ie, &in.List[n].DLNGUUPTNLInformation),
		})
	}
	return out
}

func (c *check) putPairs(ie string, in []TunnelPair) *ngapType.UPTransportLayerInformationPairList {
	c.count(ie, len(in), maxAdditionalTunnels)
	var out ngapType.UPTransportLayerInformationPairList
	for _, p := range in {
		out.List = append(out.List, ngapType.UPTransportLayerInformationPairItem{
			ULNGUUPTNLInformation: c.putTunnel(ie, p.Uplink), DLNGUUPTNLInformation: c.putTunnel(ie, p.Downlink),
		})
	}
	return &out
}
