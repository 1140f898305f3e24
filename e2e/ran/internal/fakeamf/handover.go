package fakeamf

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/n2"
)

// handover is one by N2 that is under way.
type handover struct {
	u            *ue
	source       n2.Conn
	amfID, ranID int64 // at the source
	target       n2.Conn
	targetRANID  int64 // 0 until the target has answered
	cancelled    bool
	tunnels      map[uint8]*ngapType.GTPTunnel // of the target, by session
	forwarding   map[uint8]*ngapType.GTPTunnel
	taken        []*Session // by the target, with an SMF of its own
}

// moved takes the gNB's end of a session's tunnel.
func (s *Session) moved(g *ngapType.GTPTunnel) {
	s.GNB = netip.AddrFrom4([4]byte(g.TransportLayerAddress.Value.Bytes))
	s.GNBTEID = binary.BigEndian.Uint32(g.GTPTEID.Value)
}

func (a *AMF) pathSwitch(m *ngapType.PathSwitchRequest) {
	l := m.ProtocolIEs.List
	u := a.ues[n2.Find[ngapType.AMFUENGAPID](l).Value]
	if u == nil || n2.Find[ngapType.UESecurityCapabilities](l) == nil || n2.Find[ngapType.UserLocationInformation](l) == nil {
		a.T.Error("path switch request for an unknown UE, or without capabilities or location")
		return
	}
	ran := n2.Find[ngapType.RANUENGAPID](l).Value
	a.note("Path Switch Request")
	if a.knobs.SilentSwitch {
		return
	}
	if a.smf != nil {
		u.gnb = a.gnbOf(a.conn)
		a.switchBySMF(u, ran, m)
		return
	}
	if a.knobs.RefuseSwitch {
		f := &ngapType.PathSwitchRequestFailure{}
		ies := &f.ProtocolIEs.List
		n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: u.amfID})
		n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: ran})
		x, err := n2.Marshal(ngapType.PathSwitchRequestUnsuccessfulTransfer{Cause: *n2.RadioNetworkCause(0)})
		if err != nil {
			a.T.Error(err)
		}
		n2.Add(ies, n2.Ignore, &ngapType.PDUSessionResourceReleasedListPSFail{List: []ngapType.PDUSessionResourceReleasedItemPSFail{{PDUSessionID: ngapType.PDUSessionID{Value: 1}, PathSwitchRequestUnsuccessfulTransfer: x}}})
		a.send(n2.Unsuccessful(n2.Reject, f))
		return
	}
	u.conn, u.ranID = a.conn, ran
	ack := &ngapType.PathSwitchRequestAcknowledge{}
	ies := &ack.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: u.amfID})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: ran})
	n2.Add(ies, n2.Reject, securityContext())
	done, gone := &ngapType.PDUSessionResourceSwitchedList{}, &ngapType.PDUSessionResourceReleasedListPSAck{}
	for _, x := range n2.Find[ngapType.PDUSessionResourceToBeSwitchedDLList](l).List {
		s := u.sessions[uint8(x.PDUSessionID.Value)]
		if slices.Contains(a.knobs.ReleaseSwitch, s.PSI) {
			t, err := n2.Marshal(ngapType.PathSwitchRequestUnsuccessfulTransfer{Cause: *n2.RadioNetworkCause(0)})
			if err != nil {
				a.T.Error(err)
			}
			gone.List = append(gone.List, ngapType.PDUSessionResourceReleasedItemPSAck{PDUSessionID: x.PDUSessionID, PathSwitchRequestUnsuccessfulTransfer: t})
			continue
		}
		var t ngapType.PathSwitchRequestTransfer
		if err := n2.Unmarshal(x.PathSwitchRequestTransfer, &t); err != nil || len(t.QosFlowAcceptedList.List) == 0 {
			a.T.Errorf("path switch request transfer: %v, %+v", err, t)
			return
		}
		s.moved(t.DLNGUUPTNLInformation.GTPTunnel)
		s.TEID |= 0x1000000
		out, err := n2.Marshal(ngapType.PathSwitchRequestAcknowledgeTransfer{ULNGUUPTNLInformation: a.tunnel(s.TEID)})
		if err != nil {
			a.T.Error(err)
		}
		done.List = append(done.List, ngapType.PDUSessionResourceSwitchedItem{PDUSessionID: x.PDUSessionID, PathSwitchRequestAcknowledgeTransfer: out})
		a.note("session %d switched", s.PSI)
	}
	if failed := n2.Find[ngapType.PDUSessionResourceFailedToSetupListPSReq](l); failed != nil {
		for _, x := range failed.List {
			a.note("session %d left behind", x.PDUSessionID.Value)
		}
	}
	n2.Add(ies, n2.Ignore, done)
	if len(gone.List) > 0 {
		n2.Add(ies, n2.Ignore, gone)
	}
	n2.Add(ies, n2.Reject, allowedNSSAI())
	a.send(n2.Successful(n2.Reject, ack))
}

func securityContext() *ngapType.SecurityContext {
	return &ngapType.SecurityContext{
		NextHopChainingCount: ngapType.NextHopChainingCount{Value: 2}, NextHopNH: ngapType.SecurityKey{Value: aper.BitString{Bytes: make([]byte, 32), BitLength: 256}},
	}
}

func allowedNSSAI() *ngapType.AllowedNSSAI {
	return &ngapType.AllowedNSSAI{List: []ngapType.AllowedNSSAIItem{{SNSSAI: ngapType.SNSSAI{SST: ngapType.SST{Value: []byte{1}}, SD: &ngapType.SD{Value: []byte{1, 2, 3}}}}}}
}

func (a *AMF) required(m *ngapType.HandoverRequired) {
	l := m.ProtocolIEs.List
	u := a.ues[n2.Find[ngapType.AMFUENGAPID](l).Value]
	if u == nil {
		a.T.Error("handover required for an unknown UE")
		return
	}
	a.note("Handover Required")
	b := n2.Find[ngapType.TargetID](l).TargetRANNodeID.GlobalRANNodeID.GlobalGNBID.GNBID.GNBID.Bytes
	target := a.gnbs[uint32(b[0])<<16|uint32(b[1])<<8|uint32(b[2])]
	if target == nil {
		a.preparationFailure(u.amfID, u.ranID, n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentUnknownTargetID))
		return
	}
	h := &handover{u: u, source: a.conn, amfID: u.amfID, ranID: u.ranID, target: target, tunnels: map[uint8]*ngapType.GTPTunnel{}, forwarding: map[uint8]*ngapType.GTPTunnel{}}
	id := a.nextID
	a.nextID++
	a.moves[id] = h
	r := &ngapType.HandoverRequest{}
	ies := &r.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: id})
	n2.Add(ies, n2.Reject, &ngapType.HandoverType{})
	n2.Add(ies, n2.Ignore, n2.Find[ngapType.Cause](l))
	n2.Add(ies, n2.Reject, &ngapType.UEAggregateMaximumBitRate{UEAggregateMaximumBitRateDL: ngapType.BitRate{Value: 1e9}, UEAggregateMaximumBitRateUL: ngapType.BitRate{Value: 1e9}})
	bits := func(b byte) aper.BitString { return aper.BitString{Bytes: []byte{b, 0}, BitLength: 16} }
	n2.Add(ies, n2.Reject, &ngapType.UESecurityCapabilities{
		NRencryptionAlgorithms:             ngapType.NRencryptionAlgorithms{Value: bits(0xE0)},
		NRintegrityProtectionAlgorithms:    ngapType.NRintegrityProtectionAlgorithms{Value: bits(0xE0)},
		EUTRAencryptionAlgorithms:          ngapType.EUTRAencryptionAlgorithms{Value: bits(0)},
		EUTRAintegrityProtectionAlgorithms: ngapType.EUTRAintegrityProtectionAlgorithms{Value: bits(0)},
	})
	n2.Add(ies, n2.Reject, securityContext())
	request := func(list *ngapType.PDUSessionResourceSetupListHOReq) {
		n2.Add(ies, n2.Reject, list)
		n2.Add(ies, n2.Reject, allowedNSSAI())
		n2.Add(ies, n2.Reject, n2.Find[ngapType.SourceToTargetTransparentContainer](l))
		a.conn = target
		a.send(n2.Initiating(n2.Reject, r))
	}
	if a.smf != nil {
		a.prepareBySMF(h, l, func(list *ngapType.PDUSessionResourceSetupListHOReq) {
			if len(list.List) == 0 {
				delete(a.moves, id)
				a.conn = h.source
				a.preparationFailure(h.amfID, h.ranID, n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentHoFailureInTarget5GCNgranNodeOrTargetSystem))
				return
			}
			request(list)
		})
		return
	}
	list := &ngapType.PDUSessionResourceSetupListHOReq{}
	for _, x := range n2.Find[ngapType.PDUSessionResourceListHORqd](l).List {
		s := u.sessions[uint8(x.PDUSessionID.Value)]
		list.List = append(list.List, ngapType.PDUSessionResourceSetupItemHOReq{PDUSessionID: x.PDUSessionID, SNSSAI: a.slice(u, s), HandoverRequestTransfer: a.requestTransfer(s)})
	}
	request(list)
}

func (a *AMF) preparationFailure(amfID, ranID int64, cause *ngapType.Cause) {
	f := &ngapType.HandoverPreparationFailure{}
	ies := &f.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: amfID})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: ranID})
	n2.Add(ies, n2.Ignore, cause)
	a.send(n2.Unsuccessful(n2.Reject, f))
}

func (a *AMF) admitted(m *ngapType.HandoverRequestAcknowledge) {
	l := m.ProtocolIEs.List
	id := n2.Find[ngapType.AMFUENGAPID](l).Value
	h := a.moves[id]
	if h == nil {
		a.T.Error("handover request acknowledge that nobody asked for")
		return
	}
	a.note("Handover Request Acknowledge")
	h.targetRANID = n2.Find[ngapType.RANUENGAPID](l).Value
	if h.cancelled {
		a.releaseTarget(id, h)
		return
	}
	command := &ngapType.HandoverCommand{}
	ies := &command.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: h.amfID})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: h.ranID})
	n2.Add(ies, n2.Reject, &ngapType.HandoverType{})
	if a.smf != nil {
		a.admittedBySMF(h, l, func(list *ngapType.PDUSessionResourceHandoverList, gone *ngapType.PDUSessionResourceToReleaseListHOCmd) {
			n2.Add(ies, n2.Ignore, list)
			if len(gone.List) > 0 {
				n2.Add(ies, n2.Ignore, gone)
			}
			n2.Add(ies, n2.Reject, n2.Find[ngapType.TargetToSourceTransparentContainer](l))
			a.send(n2.Successful(n2.Reject, command))
		})
		return
	}
	list := &ngapType.PDUSessionResourceHandoverList{}
	for _, x := range n2.Find[ngapType.PDUSessionResourceAdmittedList](l).List {
		var t ngapType.HandoverRequestAcknowledgeTransfer
		if err := n2.Unmarshal(x.HandoverRequestAcknowledgeTransfer, &t); err != nil || len(t.QosFlowSetupResponseList.List) == 0 {
			a.T.Errorf("handover request acknowledge transfer: %v, %+v", err, t)
			return
		}
		psi := uint8(x.PDUSessionID.Value)
		h.tunnels[psi] = t.DLNGUUPTNLInformation.GTPTunnel
		c := ngapType.HandoverCommandTransfer{}
		if way := t.DLForwardingUPTNLInformation; way != nil && !a.knobs.NoForwarding {
			h.forwarding[psi] = way.GTPTunnel
			c.DLForwardingUPTNLInformation = way
			if a.knobs.Indirect {
				c.DLForwardingUPTNLInformation = a.tunnel(0xF000 | uint32(psi))
				s := h.u.sessions[psi]
				s.ForwardTo, s.ForwardTEID = netip.AddrFrom4([4]byte(way.GTPTunnel.TransportLayerAddress.Value.Bytes)), binary.BigEndian.Uint32(way.GTPTunnel.GTPTEID.Value)
			}
		}
		out, err := n2.Marshal(c)
		if err != nil {
			a.T.Error(err)
		}
		list.List = append(list.List, ngapType.PDUSessionResourceHandoverItem{PDUSessionID: x.PDUSessionID, HandoverCommandTransfer: out})
	}
	n2.Add(ies, n2.Ignore, list)
	if failed := n2.Find[ngapType.PDUSessionResourceFailedToSetupListHOAck](l); failed != nil {
		gone := &ngapType.PDUSessionResourceToReleaseListHOCmd{}
		for _, x := range failed.List {
			t, err := n2.Marshal(ngapType.HandoverPreparationUnsuccessfulTransfer{Cause: *n2.RadioNetworkCause(0)})
			if err != nil {
				a.T.Error(err)
			}
			a.note("session %d left behind", x.PDUSessionID.Value)
			gone.List = append(gone.List, ngapType.PDUSessionResourceToReleaseItemHOCmd{PDUSessionID: x.PDUSessionID, HandoverPreparationUnsuccessfulTransfer: t})
		}
		n2.Add(ies, n2.Ignore, gone)
	}
	n2.Add(ies, n2.Reject, n2.Find[ngapType.TargetToSourceTransparentContainer](l))
	a.conn = h.source
	a.send(n2.Successful(n2.Reject, command))
}

func (a *AMF) failed(m *ngapType.HandoverFailure) {
	id := n2.Find[ngapType.AMFUENGAPID](m.ProtocolIEs.List).Value
	h := a.moves[id]
	a.note("Handover Failure")
	delete(a.moves, id)
	if h.cancelled {
		return
	}
	a.conn = h.source
	a.preparationFailure(h.amfID, h.ranID, n2.Find[ngapType.Cause](m.ProtocolIEs.List))
	if a.smf != nil {
		a.cancelledBySMF(h.u, nil)
	}
}

func (a *AMF) arrived(m *ngapType.HandoverNotify) {
	id := n2.Find[ngapType.AMFUENGAPID](m.ProtocolIEs.List).Value
	h := a.moves[id]
	if h == nil {
		a.T.Error("handover notify that nobody waits for")
		return
	}
	a.note("Handover Notify")
	delete(a.moves, id)
	delete(a.ues, h.amfID)
	a.old[h.amfID] = struct{}{}
	u := h.u
	u.conn, u.amfID, u.ranID = h.target, id, h.targetRANID
	a.ues[id] = u
	for psi, g := range h.tunnels {
		u.sessions[psi].moved(g)
	}
	release := func() {
		a.conn = h.source
		a.releaseCommand(&ue{amfID: h.amfID, ranID: h.ranID}, n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentSuccessfulHandover))
	}
	if a.smf == nil {
		release()
		return
	}
	u.where, u.gnb = location(n2.Find[ngapType.UserLocationInformation](m.ProtocolIEs.List)), a.gnbOf(h.target)
	a.arrivedBySMF(h, release)
}

func (a *AMF) cancelled(m *ngapType.HandoverCancel) {
	l := m.ProtocolIEs.List
	amfID := n2.Find[ngapType.AMFUENGAPID](l).Value
	a.note("Handover Cancel")
	ack := &ngapType.HandoverCancelAcknowledge{}
	ies := &ack.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: amfID})
	n2.Add(ies, n2.Ignore, n2.Find[ngapType.RANUENGAPID](l))
	source := a.conn
	acknowledge := func() {
		a.conn = source
		a.send(n2.Successful(n2.Reject, ack))
	}
	if u := a.ues[amfID]; a.smf != nil && u != nil {
		a.cancelledBySMF(u, acknowledge)
	} else {
		acknowledge()
	}
	for id, h := range a.moves {
		if h.amfID != amfID {
			continue
		}
		if h.cancelled = true; h.targetRANID != 0 {
			a.releaseTarget(id, h)
		}
	}
}

// releaseTarget ends what the target has prepared for a handover that was cancelled.
func (a *AMF) releaseTarget(id int64, h *handover) {
	delete(a.moves, id)
	a.old[id] = struct{}{}
	a.conn = h.target
	a.releaseCommand(&ue{amfID: id, ranID: h.targetRANID}, n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentHandoverCancelled))
}

func (a *AMF) status(m *ngapType.UplinkRANStatusTransfer) {
	l := m.ProtocolIEs.List
	amfID := n2.Find[ngapType.AMFUENGAPID](l).Value
	a.note("Uplink RAN Status Transfer")
	for id, h := range a.moves {
		if h.amfID != amfID {
			continue
		}
		down := &ngapType.DownlinkRANStatusTransfer{}
		ies := &down.ProtocolIEs.List
		n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: id})
		n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: h.targetRANID})
		n2.Add(ies, n2.Reject, n2.Find[ngapType.RANStatusTransferTransparentContainer](l))
		a.conn = h.target
		a.send(n2.Initiating(n2.Ignore, down))
		return
	}
	// The target's Handover Notify came by the other association, before it.
}
