package fakeamf

import (
	"encoding/binary"
	"net/netip"

	"github.com/free5gc/aper"
	"github.com/free5gc/nas"
	"github.com/free5gc/nas/nasConvert"
	"github.com/free5gc/nas/nasMessage"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/uenas"
)

func (a *AMF) slice(u *ue, s *Session) ngapType.SNSSAI {
	sd := append([]byte(nil), s.Slice[1:]...)
	if a.knobs.OddSlice {
		sd = []byte{0xEE, 0xEE, 0xEE}
	}
	return ngapType.SNSSAI{SST: ngapType.SST{Value: []byte{s.Slice[0]}}, SD: &ngapType.SD{Value: sd}}
}

// requestTransfer asks for the session's resources.
func (a *AMF) requestTransfer(s *Session) []byte {
	t := ngapType.PDUSessionResourceSetupRequestTransfer{}
	ies := &t.ProtocolIEs.List
	n2.Add(ies, n2.Reject, a.tunnel(s.TEID))
	n2.Add(ies, n2.Reject, &ngapType.PDUSessionType{Value: ngapType.PDUSessionTypePresentIpv4})
	n2.Add(ies, n2.Reject, &ngapType.QosFlowSetupRequestList{List: []ngapType.QosFlowSetupRequestItem{{
		QosFlowIdentifier: ngapType.QosFlowIdentifier{Value: s.QFI},
		QosFlowLevelQosParameters: ngapType.QosFlowLevelQosParameters{
			QosCharacteristics: ngapType.QosCharacteristics{
				Present:       ngapType.QosCharacteristicsPresentNonDynamic5QI,
				NonDynamic5QI: &ngapType.NonDynamic5QIDescriptor{FiveQI: ngapType.FiveQI{Value: 9}},
			},
			AllocationAndRetentionPriority: ngapType.AllocationAndRetentionPriority{
				PriorityLevelARP: ngapType.PriorityLevelARP{Value: 8},
			},
		},
	}}})
	b, err := n2.Marshal(t)
	if err != nil {
		a.T.Errorf("fake AMF: %v", err)
	}
	return b
}

func (a *AMF) tunnel(teid uint32) *ngapType.UPTransportLayerInformation {
	ip := a.UPF.As4()
	return &ngapType.UPTransportLayerInformation{
		Present: ngapType.UPTransportLayerInformationPresentGTPTunnel,
		GTPTunnel: &ngapType.GTPTunnel{
			TransportLayerAddress: ngapType.TransportLayerAddress{Value: aper.BitString{Bytes: ip[:], BitLength: 32}},
			GTPTEID:               ngapType.GTPTEID{Value: binary.BigEndian.AppendUint32(nil, teid)},
		},
	}
}

// contextSetup sends INITIAL CONTEXT SETUP REQUEST with the sessions to reactivate.
func (a *AMF) contextSetup(u *ue, nasPDU []byte, sessions []*Session) {
	m := &ngapType.InitialContextSetupRequest{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: u.amfID})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: u.ranID})
	if len(sessions) > 0 {
		list := &ngapType.PDUSessionResourceSetupListCxtReq{}
		for _, s := range sessions {
			list.List = append(list.List, ngapType.PDUSessionResourceSetupItemCxtReq{
				PDUSessionID: ngapType.PDUSessionID{Value: int64(s.PSI)}, SNSSAI: a.slice(u, s), PDUSessionResourceSetupRequestTransfer: a.requestTransfer(s),
			})
		}
		n2.Add(ies, n2.Reject, list)
	}
	n2.Add(ies, n2.Reject, &ngapType.SecurityKey{Value: aper.BitString{Bytes: make([]byte, 32), BitLength: 256}})
	n2.Add(ies, n2.Ignore, &ngapType.NASPDU{Value: nasPDU})
	u.icsDone = true
	a.send(n2.Initiating(n2.Reject, m))
}

func (a *AMF) resourceUp(u *ue, psi int64, transfer []byte) {
	var t ngapType.PDUSessionResourceSetupResponseTransfer
	if err := n2.Unmarshal(transfer, &t); err != nil {
		a.T.Errorf("setup response transfer: %v", err)
		return
	}
	s := u.sessions[uint8(psi)]
	g := t.DLQosFlowPerTNLInformation.UPTransportLayerInformation.GTPTunnel
	if s == nil || g == nil || len(t.DLQosFlowPerTNLInformation.AssociatedQosFlowList.List) != 1 {
		a.T.Errorf("setup response for session %d without a tunnel and its flow", psi)
		return
	}
	s.GNB = netip.AddrFrom4([4]byte(g.TransportLayerAddress.Value.Bytes))
	s.GNBTEID = binary.BigEndian.Uint32(g.GTPTEID.Value)
	s.Up = true
	a.note("session %d up", psi)
}

// downSM sends a 5GSM message.
func (a *AMF) downSM(u *ue, psi uint8, sm []byte) { a.down(u, dlTransport(psi, sm, 0)) }

func dlTransport(psi uint8, sm []byte, cause uint8) []byte {
	b := append([]byte{0x7e, 0, nas.MsgTypeDLNASTransport, 1}, binary.BigEndian.AppendUint16(nil, uint16(len(sm)))...)
	b = append(append(b, sm...), 0x12, psi)
	if cause != 0 {
		b = append(b, 0x58, cause)
	}
	return b
}

func (a *AMF) sessionMessage(u *ue, m *nasMessage.ULNASTransport) {
	raw := m.PayloadContainer.GetPayloadContainerContents()
	sm, err := uenas.Decode(raw)
	if err != nil || sm.GsmMessage == nil {
		a.T.Errorf("UL NAS transport without a 5GSM message: %v", err)
		return
	}
	psi, pti := raw[1], raw[2]
	switch sm.GsmHeader.GetMessageType() {
	case nas.MsgTypePDUSessionEstablishmentRequest:
		a.note("PDU Session Establishment Request")
		switch {
		case a.knobs.SilentSession:
		case a.knobs.NotForwarded != 0:
			a.down(u, dlTransport(psi, raw, a.knobs.NotForwarded))
		case a.knobs.RejectSession != 0:
			a.downSM(u, psi, []byte{0x2e, psi, pti, nas.MsgTypePDUSessionEstablishmentReject, a.knobs.RejectSession})
		default:
			a.accept(u, psi, pti, m)
		}
	case nas.MsgTypePDUSessionReleaseRequest:
		a.note("PDU Session Release Request")
		a.releaseSession(u, psi, pti, nasMessage.Cause5GSMRegularDeactivation)
	case nas.MsgTypePDUSessionReleaseComplete:
		a.note("PDU Session Release Complete")
		delete(u.sessions, psi)
	case nas.MsgTypePDUSessionModificationComplete:
		a.note("PDU Session Modification Complete")
	case nas.MsgTypeStatus5GSM:
		a.note("5GSM Status (%s)", uenas.Cause5GSM(sm.Status5GSM.GetCauseValue()))
	default:
		a.T.Errorf("5GSM message of type %d", sm.GsmHeader.GetMessageType())
	}
}

func (a *AMF) accept(u *ue, psi, pti uint8, m *nasMessage.ULNASTransport) {
	if m.SNSSAI == nil || m.DNN == nil || m.RequestType == nil {
		a.T.Error("session request without S-NSSAI, DNN or request type")
		return
	}
	s := &Session{PSI: psi, DNN: m.DNN.GetDNN(), TEID: u.tmsi<<8 | uint32(psi), QFI: 1}
	s.Slice[0] = m.SNSSAI.GetSST()
	sd := m.SNSSAI.GetSD()
	copy(s.Slice[1:], sd[:])
	s.Address = netip.AddrFrom4([4]byte{10, 45, byte(u.tmsi), psi})
	u.sessions[psi] = s
	ip := s.Address.As4()

	b := []byte{0x2e, psi, pti, nas.MsgTypePDUSessionEstablishmentAccept, 0x11}
	rule := []byte{1, 0, 6, 0x31, 0x31, 1, 1, 255, 1} // default QoS rule: match all, QFI 1
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(rule))), rule...)
	b = append(b, 6, 6, 0, 100, 6, 0, 100) // session AMBR 100 Mbit/s
	b = append(append(b, 0x29, 5, 1), ip[:]...)
	b = append(append(b, 0x22, 4), s.Slice[:]...)
	epco := []byte{0x80, 0x00, 0x0D, 4, 8, 8, 8, 8, 0x00, 0x10, 2, 0x05, 0x50} // DNS 8.8.8.8, MTU 1360
	b = append(append(b, 0x7B, 0, byte(len(epco))), epco...)

	req := &ngapType.PDUSessionResourceSetupRequest{}
	ies := &req.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: u.amfID})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: u.ranID})
	n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceSetupListSUReq{List: []ngapType.PDUSessionResourceSetupItemSUReq{{
		PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}, PDUSessionNASPDU: &ngapType.NASPDU{Value: a.protect(u, dlTransport(psi, b, 0))},
		SNSSAI: a.slice(u, s), PDUSessionResourceSetupRequestTransfer: a.requestTransfer(s),
	}}})
	a.send(n2.Initiating(n2.Reject, req))
}

func (a *AMF) releaseSession(u *ue, psi, pti, cause uint8) {
	cmd := &ngapType.PDUSessionResourceReleaseCommand{}
	ies := &cmd.ProtocolIEs.List
	transfer, err := n2.Marshal(ngapType.PDUSessionResourceReleaseCommandTransfer{Cause: *n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentReleaseDueTo5gcGeneratedReason)})
	if err != nil {
		a.T.Error(err)
	}
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: u.amfID})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: u.ranID})
	sm := []byte{0x2e, psi, pti, nas.MsgTypePDUSessionReleaseCommand, cause}
	n2.Add(ies, n2.Ignore, &ngapType.NASPDU{Value: a.protect(u, dlTransport(psi, sm, 0))})
	n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceToReleaseListRelCmd{List: []ngapType.PDUSessionResourceToReleaseItemRelCmd{{PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}, PDUSessionResourceReleaseCommandTransfer: transfer}}})
	a.send(n2.Initiating(n2.Reject, cmd))
}

// service answers SERVICE REQUEST; count is the NAS COUNT that its container was ciphered with.
func (a *AMF) service(u *ue, m *nasMessage.ServiceRequest, count uint32) {
	if m.NASMessageContainer == nil {
		a.T.Error("initial service request without a container")
		return
	}
	inner := m.NASMessageContainer.GetNASMessageContainerContents()
	decipher(a.T, u.sec, count, inner)
	full, err := uenas.Decode(inner)
	if err != nil || full.GmmMessage == nil || full.GmmHeader.GetMessageType() != nas.MsgTypeServiceRequest {
		a.T.Errorf("the container holds no service request: %v", err)
		return
	}
	req := full.ServiceRequest
	a.note("Service Request (type %d)", req.GetServiceTypeValue())
	var up []*Session
	if req.UplinkDataStatus != nil {
		bits := nasConvert.PSIToBooleanArray(req.UplinkDataStatus.Buffer)
		for psi, s := range u.sessions {
			if bits[psi] && !a.knobs.ForgetSessions {
				up = append(up, s)
			}
		}
	}
	if a.knobs.ForgetSessions {
		u.sessions = map[uint8]*Session{}
	}
	var held [16]bool
	for psi := range u.sessions {
		held[psi] = true
	}
	b := append([]byte{0x7e, 0, nas.MsgTypeServiceAccept, 0x50, 2}, nasConvert.PSIToBuf(held)...)
	a.contextSetup(u, a.protect(u, b), up)
}

// The actions that a network takes by itself.

// Page calls an idle UE.
func (a *AMF) Page(supi string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.bySUPI(supi)
	if u == nil {
		a.T.Errorf("fake AMF: %s is not registered", supi)
		return
	}
	m := &ngapType.Paging{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.UEPagingIdentity{Present: ngapType.UEPagingIdentityPresentFiveGSTMSI, FiveGSTMSI: &ngapType.FiveGSTMSI{
		AMFSetID:   ngapType.AMFSetID{Value: aper.BitString{Bytes: []byte{0xFE, 0x00}, BitLength: 10}},
		AMFPointer: ngapType.AMFPointer{Value: aper.BitString{Bytes: []byte{0}, BitLength: 6}},
		FiveGTMSI:  ngapType.FiveGTMSI{Value: binary.BigEndian.AppendUint32(nil, u.tmsi)},
	}})
	n2.Add(ies, n2.Ignore, &ngapType.TAIListForPaging{List: []ngapType.TAIListForPagingItem{{TAI: ngapType.TAI{
		PLMNIdentity: ngapType.PLMNIdentity{Value: []byte{0x02, 0xF8, 0x39}}, TAC: ngapType.TAC{Value: []byte{0, 0, 1}},
	}}}})
	a.send(n2.Initiating(n2.Ignore, m))
}

// connected runs f on a UE that has a connection.
func (a *AMF) connected(supi string, f func(u *ue)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.bySUPI(supi)
	if u == nil || u.amfID == 0 {
		a.T.Errorf("fake AMF: %s is not connected", supi)
		return
	}
	f(u)
}

// ReleaseSession releases a session from the network's side.
func (a *AMF) ReleaseSession(supi string, psi, cause uint8) {
	a.connected(supi, func(u *ue) { a.releaseSession(u, psi, 0, cause) })
}

// Deregister deregisters a UE from the network's side.
func (a *AMF) Deregister(supi string, again bool) {
	a.connected(supi, func(u *ue) {
		t := byte(1)
		if again {
			t |= 4
		}
		a.down(u, []byte{0x7e, 0, nas.MsgTypeDeregistrationRequestUETerminatedDeregistration, t})
	})
}

// SendNAS sends any plain message, protected.
func (a *AMF) SendNAS(supi string, plain []byte) { a.connected(supi, func(u *ue) { a.down(u, plain) }) }

// SendRawNAS sends octets as they are.
func (a *AMF) SendRawNAS(supi string, pdu []byte) {
	a.connected(supi, func(u *ue) { a.transport(u, pdu) })
}

// SendSM sends a 5GSM message.
func (a *AMF) SendSM(supi string, psi uint8, sm []byte) {
	a.connected(supi, func(u *ue) { a.downSM(u, psi, sm) })
}

// ModifySession moves the session's uplink tunnel to another TEID.
func (a *AMF) ModifySession(supi string, psi uint8, teid uint32) {
	a.connected(supi, func(u *ue) {
		t := ngapType.PDUSessionResourceModifyRequestTransfer{}
		n2.Add(&t.ProtocolIEs.List, n2.Reject, &ngapType.ULNGUUPTNLModifyList{List: []ngapType.ULNGUUPTNLModifyItem{{ULNGUUPTNLInformation: *a.tunnel(teid), DLNGUUPTNLInformation: *a.tunnel(1)}}})
		x, err := n2.Marshal(t)
		if err != nil {
			a.T.Error(err)
		}
		m := &ngapType.PDUSessionResourceModifyRequest{}
		ies := &m.ProtocolIEs.List
		n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: u.amfID})
		n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: u.ranID})
		n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceModifyListModReq{List: []ngapType.PDUSessionResourceModifyItemModReq{{PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}, PDUSessionResourceModifyRequestTransfer: x}}})
		a.send(n2.Initiating(n2.Reject, m))
	})
}

// Reset resets the whole NG interface.
func (a *AMF) Reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := &ngapType.NGReset{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentUnspecified))
	n2.Add(ies, n2.Reject, &ngapType.ResetType{Present: ngapType.ResetTypePresentNGInterface, NGInterface: &ngapType.ResetAll{Value: ngapType.ResetAllPresentResetAll}})
	for id, u := range a.ues {
		u.amfID = 0
		delete(a.ues, id)
	}
	a.send(n2.Initiating(n2.Reject, m))
}

// SendNGAP sends any initiating message.
func (a *AMF) SendNGAP(message any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.send(n2.Initiating(n2.Ignore, message))
}

// SendOctets sends octets as they are.
func (a *AMF) SendOctets(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.send(b, nil)
}
