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
	refuse := func(no *refusal) (setupResult, error) {
		t, err := n2.Marshal(ngapType.PDUSessionResourceSetupUnsuccessfulTransfer{Cause: *n2.RadioNetworkCause(no.cause)})
		return setupResult{psi: psi, transfer: t, failed: true}, err
	}
	if g.cfg.Strict && c.Holds(uint8(psi)) {
		g.log.Warn("PDU session resource refused", "psi", psi, "why", "there are some for it")
		return refuse(&refusal{cause: ngapType.CauseRadioNetworkPresentMultiplePDUSessionIDInstances})
	}
	r, refused, no := g.admit(psi, slice, transfer)
	if no != nil {
		return refuse(no)
	}
	deliver := c.ue.Sink(uint8(psi))
	if deliver == nil {
		g.log.Warn("PDU session resource refused", "psi", psi, "why", "the UE has no such session")
		return refuse(&refusal{cause: ngapType.CauseRadioNetworkPresentUnknownPDUSessionID})
	}
	r.tunnel.Deliver = c.byRadio(deliver)
	r.tunnel.Lost = func() { c.ue.SessionLost(c, uint8(psi)) }
	c.open(uint8(psi), r)

	res := ngapType.PDUSessionResourceSetupResponseTransfer{
		QosFlowFailedToSetupList: refusedFlows(refused, ngapType.CauseRadioNetworkPresentRadioResourcesNotAvailable),
	}
	res.DLQosFlowPerTNLInformation.UPTransportLayerInformation = g.tunnelInformation(r.tunnel.LocalTEID)
	res.DLQosFlowPerTNLInformation.AssociatedQosFlowList = associatedFlows(r.qfis())
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
	if err := c.say(b, err); err != nil {
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
	if g.Behaviour().SilentResources {
		g.log.Info("PDU session resource setup request left without an answer")
		return nil
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
	if err := c.say(b, err); err != nil {
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

// sessionModify takes a new far end of the tunnel, a session AMBR, and QoS flows that are added, changed or
// released (TS 38.413 8.2.3).
func (g *GNB) sessionModify(c *Connection, m *ngapType.PDUSessionResourceModifyRequest) error {
	req := n2.Find[ngapType.PDUSessionResourceModifyListModReq](m.ProtocolIEs.List)
	if req == nil {
		return fmt.Errorf("PDU session resource modify request without sessions")
	}
	if g.Behaviour().SilentResources {
		g.log.Info("PDU session resource modify request left without an answer")
		return nil
	}
	res := &ngapType.PDUSessionResourceModifyResponse{}
	ies := &res.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: c.ranID})
	ok, failed := &ngapType.PDUSessionResourceModifyListModRes{}, &ngapType.PDUSessionResourceFailedToModifyListModRes{}
	var nas []*ngapType.NASPDU
	for _, s := range req.List {
		answer, no := g.modify(c, uint8(s.PDUSessionID.Value), s.PDUSessionResourceModifyRequestTransfer)
		if no != nil {
			g.log.Warn("PDU session resource not modified", "psi", s.PDUSessionID.Value, "why", no.why)
			x, err := n2.Marshal(ngapType.PDUSessionResourceModifyUnsuccessfulTransfer{Cause: *n2.RadioNetworkCause(no.cause)})
			if err != nil {
				return err
			}
			failed.List = append(failed.List, ngapType.PDUSessionResourceFailedToModifyItemModRes{PDUSessionID: s.PDUSessionID, PDUSessionResourceModifyUnsuccessfulTransfer: x})
			continue
		}
		x, err := n2.Marshal(*answer)
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
	if err := c.say(b, err); err != nil {
		return err
	}
	for _, pdu := range nas {
		c.deliver(pdu)
	}
	return nil
}

// modify does what one session's transfer asks (9.3.4.3), flow by flow.
func (g *GNB) modify(c *Connection, psi uint8, transfer []byte) (*ngapType.PDUSessionResourceModifyResponseTransfer, *refusal) {
	behaviour := g.Behaviour()
	if behaviour.refusesSession(psi) {
		return nil, &refusal{ngapType.CauseRadioNetworkPresentRadioResourcesNotAvailable, "told to refuse the session"}
	}
	var req ngapType.PDUSessionResourceModifyRequestTransfer
	if err := n2.Unmarshal(transfer, &req); err != nil {
		return nil, &refusal{ngapType.CauseRadioNetworkPresentUnspecified, err.Error()}
	}
	l := req.ProtocolIEs.List
	answer := &ngapType.PDUSessionResourceModifyResponseTransfer{}
	known := c.change(psi, func(r *resource, t *gtpu.Tunnel) {
		if u := n2.Find[ngapType.ULNGUUPTNLModifyList](l); u != nil && len(u.List) > 0 {
			if teid, peer, ok := readTunnel(&u.List[0].ULNGUUPTNLInformation); ok {
				t.PeerTEID, t.Peer = teid, peer
			}
		}
		if a := n2.Find[ngapType.PDUSessionAggregateMaximumBitRate](l); a != nil {
			r.ambrUplink, r.ambrDownlink = uint64(a.PDUSessionAggregateMaximumBitRateUL.Value), uint64(a.PDUSessionAggregateMaximumBitRateDL.Value)
		}
		var refused []uint8
		if asked := n2.Find[ngapType.QosFlowAddOrModifyRequestList](l); asked != nil {
			done := &ngapType.QosFlowAddOrModifyResponseList{}
			for _, f := range asked.List {
				qfi := uint8(f.QosFlowIdentifier.Value)
				old, there := r.flows[qfi]
				// 8.2.3.2: a flow that is new has its parameters in the request.
				if slices.Contains(behaviour.RefuseFlows, qfi) || !there && f.QosFlowLevelQosParameters == nil {
					refused = append(refused, qfi)
					continue
				}
				r.flows[qfi] = readFlow(f.QosFlowIdentifier.Value, f.QosFlowLevelQosParameters, old)
				done.List = append(done.List, ngapType.QosFlowAddOrModifyResponseItem{QosFlowIdentifier: f.QosFlowIdentifier})
			}
			if len(done.List) > 0 {
				answer.QosFlowAddOrModifyResponseList = done
			}
			answer.QosFlowFailedToAddOrModifyList = refusedFlows(refused, ngapType.CauseRadioNetworkPresentRadioResourcesNotAvailable)
		}
		if gone := n2.Find[ngapType.QosFlowListWithCause](l); gone != nil {
			for _, f := range gone.List {
				delete(r.flows, uint8(f.QosFlowIdentifier.Value))
			}
		}
		if _, there := r.flows[t.QFI]; !there {
			t.QFI = r.first()
		}
	})
	if !known {
		return nil, &refusal{ngapType.CauseRadioNetworkPresentUnknownPDUSessionID, "no such session"}
	}
	return answer, nil
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
	if err := c.say(b, err); err != nil {
		return err
	}
	c.deliver(n2.Find[ngapType.NASPDU](l))
	return nil
}
