package gnb

import (
	"fmt"
	"slices"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
)

// setupResult is what becomes of one requested session resource.
type setupResult struct {
	psi      int64
	transfer aper.OctetString
	failed   bool
	nas      *ngapType.NASPDU
}

// setUp makes the tunnel of one session from its request transfer (TS 38.413 8.2.1.2). A failure is
// answered by its cause and does not touch the other sessions of the request.
func (g *GNB) setUp(c *Connection, psi int64, slice ngapType.SNSSAI, transfer []byte, nas *ngapType.NASPDU) (setupResult, error) {
	refuse := func(cause aper.Enumerated, why string) (setupResult, error) {
		g.log.Warn("PDU session resource refused", "psi", psi, "why", why)
		t, err := n2.Marshal(ngapType.PDUSessionResourceSetupUnsuccessfulTransfer{Cause: *n2.RadioNetworkCause(cause)})
		return setupResult{psi: psi, transfer: t, failed: true}, err
	}
	if !slices.Contains(g.cfg.Slices, readSNSSAI(slice)) {
		return refuse(ngapType.CauseRadioNetworkPresentSliceNotSupported, "slice "+readSNSSAI(slice).String()+" is not one of the gNB's")
	}
	var req ngapType.PDUSessionResourceSetupRequestTransfer
	if err := n2.Unmarshal(transfer, &req); err != nil {
		return refuse(ngapType.CauseRadioNetworkPresentUnspecified, err.Error())
	}
	teid, peer, ok := readTunnel(n2.Find[ngapType.UPTransportLayerInformation](req.ProtocolIEs.List))
	if !ok {
		return refuse(ngapType.CauseRadioNetworkPresentUnspecified, "no GTP tunnel over IPv4")
	}
	flows := n2.Find[ngapType.QosFlowSetupRequestList](req.ProtocolIEs.List)
	if flows == nil || len(flows.List) == 0 {
		return refuse(ngapType.CauseRadioNetworkPresentInvalidQosCombination, "no QoS flow")
	}
	deliver := c.ue.Sink(uint8(psi))
	if deliver == nil {
		return refuse(ngapType.CauseRadioNetworkPresentUnknownPDUSessionID, "the UE has no such session")
	}
	t := &gtpu.Tunnel{
		PeerTEID: teid, Peer: peer, QFI: uint8(flows.List[0].QosFlowIdentifier.Value), Deliver: deliver,
		Lost: func() { c.ue.SessionLost(c, uint8(psi)) },
	}
	c.open(uint8(psi), t)

	res := ngapType.PDUSessionResourceSetupResponseTransfer{}
	res.DLQosFlowPerTNLInformation.UPTransportLayerInformation = g.tunnelInformation(t.LocalTEID)
	for _, f := range flows.List {
		res.DLQosFlowPerTNLInformation.AssociatedQosFlowList.List = append(res.DLQosFlowPerTNLInformation.AssociatedQosFlowList.List,
			ngapType.AssociatedQosFlowItem{QosFlowIdentifier: f.QosFlowIdentifier})
	}
	out, err := n2.Marshal(res)
	return setupResult{psi: psi, transfer: out, nas: nas}, err
}

func (g *GNB) initialContextSetup(c *Connection, m *ngapType.InitialContextSetupRequest) error {
	l := m.ProtocolIEs.List
	var results []setupResult
	if req := n2.Find[ngapType.PDUSessionResourceSetupListCxtReq](l); req != nil {
		for _, s := range req.List {
			r, err := g.setUp(c, s.PDUSessionID.Value, s.SNSSAI, s.PDUSessionResourceSetupRequestTransfer, s.NASPDU)
			if err != nil {
				return err
			}
			results = append(results, r)
		}
	}
	res := &ngapType.InitialContextSetupResponse{}
	ies := &res.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: c.ranID})
	ok, failed := &ngapType.PDUSessionResourceSetupListCxtRes{}, &ngapType.PDUSessionResourceFailedToSetupListCxtRes{}
	for _, r := range results {
		if id := (ngapType.PDUSessionID{Value: r.psi}); r.failed {
			failed.List = append(failed.List, ngapType.PDUSessionResourceFailedToSetupItemCxtRes{PDUSessionID: id, PDUSessionResourceSetupUnsuccessfulTransfer: r.transfer})
		} else {
			ok.List = append(ok.List, ngapType.PDUSessionResourceSetupItemCxtRes{PDUSessionID: id, PDUSessionResourceSetupResponseTransfer: r.transfer})
		}
	}
	if len(ok.List) > 0 {
		n2.Add(ies, n2.Ignore, ok)
	}
	if len(failed.List) > 0 {
		n2.Add(ies, n2.Ignore, failed)
	}
	b, err := n2.Successful(n2.Reject, res)
	if err := g.send(streamUE, b, err); err != nil {
		return err
	}
	c.deliver(n2.Find[ngapType.NASPDU](l))
	deliverAll(c, results)
	return nil
}

func (g *GNB) sessionSetup(c *Connection, m *ngapType.PDUSessionResourceSetupRequest) error {
	l := m.ProtocolIEs.List
	req := n2.Find[ngapType.PDUSessionResourceSetupListSUReq](l)
	if req == nil {
		return fmt.Errorf("PDU session resource setup request without sessions")
	}
	var results []setupResult
	for _, s := range req.List {
		r, err := g.setUp(c, s.PDUSessionID.Value, s.SNSSAI, s.PDUSessionResourceSetupRequestTransfer, s.PDUSessionNASPDU)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	res := &ngapType.PDUSessionResourceSetupResponse{}
	ies := &res.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: c.ranID})
	ok, failed := &ngapType.PDUSessionResourceSetupListSURes{}, &ngapType.PDUSessionResourceFailedToSetupListSURes{}
	for _, r := range results {
		if id := (ngapType.PDUSessionID{Value: r.psi}); r.failed {
			failed.List = append(failed.List, ngapType.PDUSessionResourceFailedToSetupItemSURes{PDUSessionID: id, PDUSessionResourceSetupUnsuccessfulTransfer: r.transfer})
		} else {
			ok.List = append(ok.List, ngapType.PDUSessionResourceSetupItemSURes{PDUSessionID: id, PDUSessionResourceSetupResponseTransfer: r.transfer})
		}
	}
	if len(ok.List) > 0 {
		n2.Add(ies, n2.Ignore, ok)
	}
	if len(failed.List) > 0 {
		n2.Add(ies, n2.Ignore, failed)
	}
	b, err := n2.Successful(n2.Reject, res)
	if err := g.send(streamUE, b, err); err != nil {
		return err
	}
	c.deliver(n2.Find[ngapType.NASPDU](l))
	deliverAll(c, results)
	return nil
}

// deliverAll hands on the NAS PDUs of the sessions that have their resources; those of the others are
// dropped (TS 38.413 8.2.1.2).
func deliverAll(c *Connection, results []setupResult) {
	for _, r := range results {
		if !r.failed {
			c.deliver(r.nas)
		}
	}
}

// sessionModify takes a new far end of the tunnel and new QoS flows (TS 38.413 8.2.3).
func (g *GNB) sessionModify(c *Connection, m *ngapType.PDUSessionResourceModifyRequest) error {
	req := n2.Find[ngapType.PDUSessionResourceModifyListModReq](m.ProtocolIEs.List)
	if req == nil {
		return fmt.Errorf("PDU session resource modify request without sessions")
	}
	res := &ngapType.PDUSessionResourceModifyResponse{}
	ies := &res.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: c.ranID})
	ok, failed := &ngapType.PDUSessionResourceModifyListModRes{}, &ngapType.PDUSessionResourceFailedToModifyListModRes{}
	var nas []*ngapType.NASPDU
	for _, s := range req.List {
		var t ngapType.PDUSessionResourceModifyRequestTransfer
		answer := ngapType.PDUSessionResourceModifyResponseTransfer{}
		changed := n2.Unmarshal(s.PDUSessionResourceModifyRequestTransfer, &t) == nil
		if changed {
			changed = c.replace(uint8(s.PDUSessionID.Value), func(tun *gtpu.Tunnel) {
				if l := n2.Find[ngapType.ULNGUUPTNLModifyList](t.ProtocolIEs.List); l != nil && len(l.List) > 0 {
					if teid, peer, ok := readTunnel(&l.List[0].ULNGUUPTNLInformation); ok {
						tun.PeerTEID, tun.Peer = teid, peer
					}
				}
			})
		}
		if !changed {
			x, err := n2.Marshal(ngapType.PDUSessionResourceModifyUnsuccessfulTransfer{Cause: *n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentUnknownPDUSessionID)})
			if err != nil {
				return err
			}
			failed.List = append(failed.List, ngapType.PDUSessionResourceFailedToModifyItemModRes{PDUSessionID: s.PDUSessionID, PDUSessionResourceModifyUnsuccessfulTransfer: x})
			continue
		}
		if l := n2.Find[ngapType.QosFlowAddOrModifyRequestList](t.ProtocolIEs.List); l != nil {
			answer.QosFlowAddOrModifyResponseList = &ngapType.QosFlowAddOrModifyResponseList{}
			for _, f := range l.List {
				answer.QosFlowAddOrModifyResponseList.List = append(answer.QosFlowAddOrModifyResponseList.List, ngapType.QosFlowAddOrModifyResponseItem{QosFlowIdentifier: f.QosFlowIdentifier})
			}
		}
		x, err := n2.Marshal(answer)
		if err != nil {
			return err
		}
		ok.List = append(ok.List, ngapType.PDUSessionResourceModifyItemModRes{PDUSessionID: s.PDUSessionID, PDUSessionResourceModifyResponseTransfer: x})
		nas = append(nas, s.NASPDU)
	}
	if len(ok.List) > 0 {
		n2.Add(ies, n2.Ignore, ok)
	}
	if len(failed.List) > 0 {
		n2.Add(ies, n2.Ignore, failed)
	}
	b, err := n2.Successful(n2.Reject, res)
	if err := g.send(streamUE, b, err); err != nil {
		return err
	}
	for _, pdu := range nas {
		c.deliver(pdu)
	}
	return nil
}

// sessionRelease takes tunnels away (TS 38.413 8.2.2).
func (g *GNB) sessionRelease(c *Connection, m *ngapType.PDUSessionResourceReleaseCommand) error {
	l := m.ProtocolIEs.List
	req := n2.Find[ngapType.PDUSessionResourceToReleaseListRelCmd](l)
	if req == nil {
		return fmt.Errorf("PDU session resource release command without sessions")
	}
	transfer, err := n2.Marshal(ngapType.PDUSessionResourceReleaseResponseTransfer{})
	if err != nil {
		return err
	}
	released := &ngapType.PDUSessionResourceReleasedListRelRes{}
	for _, s := range req.List {
		c.closeSession(uint8(s.PDUSessionID.Value))
		released.List = append(released.List, ngapType.PDUSessionResourceReleasedItemRelRes{PDUSessionID: s.PDUSessionID, PDUSessionResourceReleaseResponseTransfer: transfer})
	}
	res := &ngapType.PDUSessionResourceReleaseResponse{}
	ies := &res.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Ignore, released)
	b, err := n2.Successful(n2.Reject, res)
	if err := g.send(streamUE, b, err); err != nil {
		return err
	}
	c.deliver(n2.Find[ngapType.NASPDU](l))
	return nil
}
