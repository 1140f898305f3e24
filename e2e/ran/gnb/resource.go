package gnb

// What the gNB holds of a PDU session: its tunnel, and the QoS flows that the core has asked for and the gNB has
// admitted. Resources belong to a Connection and are guarded by its mutex; a tunnel is replaced as a whole, so that
// the reader of N3 never sees half a change.

import (
	"fmt"
	"maps"
	"slices"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/uenas"
)

// Flow is one QoS flow as N2 describes it. Rates are in bit/s, 0 for a flow without guarantee.
type Flow struct {
	QFI          uint8  `json:"qfi"`
	FiveQI       uint8  `json:"5qi,omitempty"`
	ARP          uint8  `json:"arp,omitempty"` // priority level
	GFBRUplink   uint64 `json:"gfbr_uplink,omitempty"`
	GFBRDownlink uint64 `json:"gfbr_downlink,omitempty"`
	MFBRUplink   uint64 `json:"mfbr_uplink,omitempty"`
	MFBRDownlink uint64 `json:"mfbr_downlink,omitempty"`
}

// resource is one session's part of a connection.
type resource struct {
	slice  uenas.SNSSAI
	tunnel *gtpu.Tunnel
	flows  map[uint8]Flow
	way    *forwarding // of a source's, from a handover on; else nil
	// ambr is the session AMBR, bit/s.
	ambrUplink, ambrDownlink uint64
}

// ResourceStatus is what the gNB holds of a session.
type ResourceStatus struct {
	ID           uint8  `json:"id"`
	Slice        string `json:"slice"`
	Peer         string `json:"upf"`
	TEIDUplink   string `json:"teid_uplink"`
	TEIDDownlink string `json:"teid_downlink"`
	AMBRUplink   uint64 `json:"ambr_uplink,omitempty"`
	AMBRDownlink uint64 `json:"ambr_downlink,omitempty"`
	Flows        []Flow `json:"flows"`
}

func (r *resource) status(psi uint8) ResourceStatus {
	s := ResourceStatus{
		ID: psi, Slice: r.slice.String(), Peer: r.tunnel.Peer.Addr().String(), AMBRUplink: r.ambrUplink, AMBRDownlink: r.ambrDownlink,
		TEIDUplink: fmt.Sprintf("%#08x", r.tunnel.PeerTEID), TEIDDownlink: fmt.Sprintf("%#08x", r.tunnel.LocalTEID), Flows: []Flow{},
	}
	for _, qfi := range slices.Sorted(maps.Keys(r.flows)) {
		s.Flows = append(s.Flows, r.flows[qfi])
	}
	return s
}

func (r *resource) qfis() []uint8 { return slices.Sorted(maps.Keys(r.flows)) }

// first is the QoS flow of packets that no rule names.
func (r *resource) first() uint8 {
	if q := r.qfis(); len(q) > 0 {
		return q[0]
	}
	return 0
}

// readFlow reads a flow's parameters; p may be nil in a modification, which then keeps those of old.
func readFlow(qfi int64, p *ngapType.QosFlowLevelQosParameters, old Flow) Flow {
	if p == nil {
		old.QFI = uint8(qfi)
		return old
	}
	f := Flow{QFI: uint8(qfi), ARP: uint8(p.AllocationAndRetentionPriority.PriorityLevelARP.Value)}
	switch c := p.QosCharacteristics; {
	case c.NonDynamic5QI != nil:
		f.FiveQI = uint8(c.NonDynamic5QI.FiveQI.Value)
	case c.Dynamic5QI != nil && c.Dynamic5QI.FiveQI != nil:
		f.FiveQI = uint8(c.Dynamic5QI.FiveQI.Value)
	}
	if g := p.GBRQosInformation; g != nil {
		f.GFBRUplink, f.GFBRDownlink = uint64(g.GuaranteedFlowBitRateUL.Value), uint64(g.GuaranteedFlowBitRateDL.Value)
		f.MFBRUplink, f.MFBRDownlink = uint64(g.MaximumFlowBitRateUL.Value), uint64(g.MaximumFlowBitRateDL.Value)
	}
	return f
}

func qosFlowID(qfi uint8) ngapType.QosFlowIdentifier {
	return ngapType.QosFlowIdentifier{Value: int64(qfi)}
}

// refusedFlows lists flows under one cause; nil for none, which leaves the element out.
func refusedFlows(qfis []uint8, cause aper.Enumerated) *ngapType.QosFlowListWithCause {
	if len(qfis) == 0 {
		return nil
	}
	l := &ngapType.QosFlowListWithCause{}
	for _, q := range qfis {
		l.List = append(l.List, ngapType.QosFlowWithCauseItem{QosFlowIdentifier: qosFlowID(q), Cause: *n2.RadioNetworkCause(cause)})
	}
	return l
}

func associatedFlows(qfis []uint8) (l ngapType.AssociatedQosFlowList) {
	for _, q := range qfis {
		l.List = append(l.List, ngapType.AssociatedQosFlowItem{QosFlowIdentifier: qosFlowID(q)})
	}
	return l
}

// refusal is why a session's resources are not set up, as the answer tells it.
type refusal struct {
	cause aper.Enumerated
	why   string
}

// admit reads a request transfer (TS 38.413 9.3.4.1) and makes the resource that it asks for, without its tunnel's way
// to the UE. It returns the flows that are refused while others are not.
func (g *GNB) admit(psi int64, slice ngapType.SNSSAI, transfer []byte) (r *resource, refused []uint8, no *refusal) {
	say := func(cause aper.Enumerated, why string) (*resource, []uint8, *refusal) {
		g.log.Warn("PDU session resource refused", "psi", psi, "why", why)
		return nil, nil, &refusal{cause, why}
	}
	behaviour := g.Behaviour()
	r = &resource{slice: readSNSSAI(slice), flows: map[uint8]Flow{}}
	if !slices.Contains(g.cfg.Slices, r.slice) {
		return say(ngapType.CauseRadioNetworkPresentSliceNotSupported, "slice "+r.slice.String()+" is not one of the gNB's")
	}
	if behaviour.refusesSession(uint8(psi)) {
		return say(ngapType.CauseRadioNetworkPresentRadioResourcesNotAvailable, "told to refuse the session")
	}
	var req ngapType.PDUSessionResourceSetupRequestTransfer
	if err := n2.Unmarshal(transfer, &req); err != nil {
		return say(ngapType.CauseRadioNetworkPresentUnspecified, err.Error())
	}
	teid, peer, ok := readTunnel(n2.Find[ngapType.UPTransportLayerInformation](req.ProtocolIEs.List))
	if !ok {
		return say(ngapType.CauseRadioNetworkPresentUnspecified, "no GTP tunnel over IPv4")
	}
	flows := n2.Find[ngapType.QosFlowSetupRequestList](req.ProtocolIEs.List)
	if flows == nil || len(flows.List) == 0 {
		return say(ngapType.CauseRadioNetworkPresentInvalidQosCombination, "no QoS flow")
	}
	first := uint8(0)
	for _, f := range flows.List {
		qfi := uint8(f.QosFlowIdentifier.Value)
		if slices.Contains(behaviour.RefuseFlows, qfi) {
			refused = append(refused, qfi)
			continue
		}
		if len(r.flows) == 0 {
			first = qfi
		}
		r.flows[qfi] = readFlow(f.QosFlowIdentifier.Value, &f.QosFlowLevelQosParameters, Flow{})
	}
	if len(r.flows) == 0 {
		return say(ngapType.CauseRadioNetworkPresentRadioResourcesNotAvailable, "told to refuse every QoS flow")
	}
	if a := n2.Find[ngapType.PDUSessionAggregateMaximumBitRate](req.ProtocolIEs.List); a != nil {
		r.ambrUplink, r.ambrDownlink = uint64(a.PDUSessionAggregateMaximumBitRateUL.Value), uint64(a.PDUSessionAggregateMaximumBitRateDL.Value)
	}
	r.tunnel = &gtpu.Tunnel{PeerTEID: teid, Peer: peer, QFI: first}
	return r, refused, nil
}
