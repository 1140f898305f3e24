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
	"core5g.dev/core5g/images/session-management/n1"
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
	if a.smf != nil {
		return s.setup
	}
	t := ngapType.PDUSessionResourceSetupRequestTransfer{}
	ies := &t.ProtocolIEs.List
	n2.Add(ies, n2.Reject, a.tunnel(s.TEID))
	kind := map[n1.SessionType]aper.Enumerated{
		n1.IPv4: ngapType.PDUSessionTypePresentIpv4, n1.IPv6: ngapType.PDUSessionTypePresentIpv6, n1.IPv4v6: ngapType.PDUSessionTypePresentIpv4v6,
		n1.Ethernet: ngapType.PDUSessionTypePresentEthernet,
	}[s.Type]
	n2.Add(ies, n2.Reject, &ngapType.PDUSessionType{Value: kind})
	flows := &ngapType.QosFlowSetupRequestList{List: []ngapType.QosFlowSetupRequestItem{{
		QosFlowIdentifier: ngapType.QosFlowIdentifier{Value: s.QFI}, QosFlowLevelQosParameters: flowParameters(9),
	}}}
	for _, f := range s.Flows {
		flows.List = append(flows.List, ngapType.QosFlowSetupRequestItem{
			QosFlowIdentifier: ngapType.QosFlowIdentifier{Value: int64(f.QFI)}, QosFlowLevelQosParameters: flowParameters(f.FiveQI),
		})
	}
	n2.Add(ies, n2.Reject, flows)
	b, err := n2.Marshal(t)
	if err != nil {
		a.T.Errorf("fake AMF: %v", err)
	}
	return b
}

func flowParameters(fiveQI uint8) ngapType.QosFlowLevelQosParameters {
	return ngapType.QosFlowLevelQosParameters{
		QosCharacteristics: ngapType.QosCharacteristics{
			Present:       ngapType.QosCharacteristicsPresentNonDynamic5QI,
			NonDynamic5QI: &ngapType.NonDynamic5QIDescriptor{FiveQI: ngapType.FiveQI{Value: int64(fiveQI)}},
		},
		AllocationAndRetentionPriority: ngapType.AllocationAndRetentionPriority{
			PriorityLevelARP: ngapType.PriorityLevelARP{Value: 8},
		},
	}
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
	if a.smf != nil {
		if s == nil {
			return
		}
		defer a.fromGNB(u, psi, "PDU_RES_SETUP_RSP", transfer)
	}
	g := t.DLQosFlowPerTNLInformation.UPTransportLayerInformation.GTPTunnel
	if s == nil || g == nil || len(t.DLQosFlowPerTNLInformation.AssociatedQosFlowList.List) == 0 {
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
	if a.smf != nil {
		a.toSMF(u, m, raw)
		return
	}
	sm, err := n1.Decode(raw)
	if err != nil {
		a.note("5GSM message refused: %v", err)
		return
	}
	h := n1.HeaderOf(sm)
	psi, pti := h.SessionID, h.PTI
	switch sm := sm.(type) {
	case *n1.EstablishmentRequest:
		a.note("PDU Session Establishment Request")
		switch {
		case a.knobs.SilentSession:
		case a.knobs.NotForwarded != 0:
			a.down(u, dlTransport(psi, raw, a.knobs.NotForwarded))
		case a.knobs.RejectSession != 0:
			a.downSM(u, psi, (&n1.EstablishmentReject{SessionID: psi, PTI: pti, Cause: n1.Cause(a.knobs.RejectSession), BackOff: a.knobs.BackOff}).Encode())
		default:
			a.accept(u, sm, m)
		}
	case *n1.ModificationRequest:
		a.note("PDU Session Modification Request (always-on %v, %d rules, %d flows)", sm.AlwaysOn, len(sm.Rules), len(sm.Flows))
		switch {
		case a.knobs.SilentModify:
		case a.knobs.RejectModify != 0:
			a.downSM(u, psi, (&n1.ModificationReject{SessionID: psi, PTI: pti, Cause: n1.Cause(a.knobs.RejectModify)}).Encode())
		default:
			a.modify(u, sm)
		}
	case *n1.ReleaseRequest:
		a.note("PDU Session Release Request")
		a.releaseSession(u, psi, pti, nasMessage.Cause5GSMRegularDeactivation)
	case *n1.ReleaseComplete:
		a.note("PDU Session Release Complete")
		delete(u.sessions, psi)
	case *n1.ModificationComplete:
		a.note("PDU Session Modification Complete")
	case *n1.ModificationCommandReject:
		a.note("PDU Session Modification Command Reject (%s)", uenas.Cause5GSM(sm.Cause))
	case *n1.Status:
		a.note("5GSM Status (%s)", uenas.Cause5GSM(sm.Cause))
	}
}

// modify grants what a UE asks for, under identifiers of the network's choice.
func (a *AMF) modify(u *ue, asked *n1.ModificationRequest) {
	c := &n1.ModificationCommand{SessionID: asked.SessionID, PTI: asked.PTI, Rules: asked.Rules, Flows: asked.Flows}
	for i := range c.Rules {
		if r := &c.Rules[i]; r.Operation == n1.CreateRule && r.ID == 0 {
			r.ID = uint8(10 + i)
		}
	}
	if asked.AlwaysOn {
		yes := true
		c.AlwaysOn = &yes
	}
	a.downSM(u, asked.SessionID, c.Encode())
}

func (a *AMF) accept(u *ue, asked *n1.EstablishmentRequest, m *nasMessage.ULNASTransport) {
	if m.SNSSAI == nil || m.DNN == nil || m.RequestType == nil {
		a.T.Error("session request without S-NSSAI, DNN or request type")
		return
	}
	psi := asked.SessionID
	s := &Session{PSI: psi, DNN: m.DNN.GetDNN(), TEID: u.tmsi<<8 | uint32(psi), QFI: 1, Type: asked.Type, Asked: asked, Flows: a.knobs.Flows}
	s.Slice[0] = m.SNSSAI.GetSST()
	sd := m.SNSSAI.GetSD()
	copy(s.Slice[1:], sd[:])
	s.Address = netip.AddrFrom4([4]byte{10, 45, byte(u.tmsi), psi})
	s.InterfaceID = [8]byte{0, 0, 0, 0, 0, byte(u.tmsi), 0, psi}
	s.Prefix = netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0, 0, 0x45, 0, byte(u.tmsi), 0, psi}), 64)
	u.sessions[psi] = s

	anything := n1.Rule{ID: 1, Operation: n1.CreateRule, Default: true, Filters: []n1.Filter{n1.Any(1)}, Precedence: 255, QFI: 1}
	accept := &n1.EstablishmentAccept{
		SessionID: psi, PTI: asked.PTI, Type: asked.Type, SSCMode: 1, AMBR: n1.AMBR{Uplink: 100e6, Downlink: 100e6},
		Rules: append([]n1.Rule{anything}, a.knobs.Rules...), Flows: append([]n1.Flow{{QFI: 1, Operation: n1.CreateFlow, FiveQI: 9}}, a.knobs.Flows...),
		IPv4: s.Address, InterfaceID: s.InterfaceID, SST: s.Slice[0], SD: (*[3]byte)(s.Slice[1:]), AlwaysOn: a.knobs.AlwaysOn, DNN: s.DNN,
	}
	if g := a.knobs.Grant; g != 0 && g != asked.Type {
		s.Type, accept.Type = g, g
		accept.Cause = map[n1.SessionType]n1.Cause{n1.IPv4: n1.CauseIPv4Only, n1.IPv6: n1.CauseIPv6Only}[g]
	}
	configuration := n1.Configuration{
		DNS:   []netip.Addr{netip.AddrFrom4([4]byte{8, 8, 8, 8}), netip.MustParseAddr("2001:4860:4860::8888")},
		PCSCF: []netip.Addr{netip.AddrFrom4([4]byte{172, 30, 6, 9})}, MTU: 1360,
	}
	if s.Type == n1.Ethernet {
		configuration = n1.Configuration{EthernetMTU: 1460}
	}
	accept.Options = configuration.Answer(asked.Options, s.Type != n1.IPv6 && s.Type != n1.Ethernet, s.Type != n1.IPv4 && s.Type != n1.Ethernet)
	accept.Options = append(accept.Options, a.knobs.Options...)
	b := accept.Encode()
	if a.knobs.AddressOfNone {
		b = append(b, 0x29, 5, byte(n1.IPv4), 10, 45, 0, 1)
	}

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

// SetUpAgain asks for resources of a session that may have some.
func (a *AMF) SetUpAgain(supi string, psi uint8) {
	a.connected(supi, func(u *ue) { a.resourceSetup(u, nil, []*Session{u.sessions[psi]}) })
}

// resourceSetup asks the gNB that has the UE for resources, with a NAS message if there is one.
func (a *AMF) resourceSetup(u *ue, nasPDU []byte, sessions []*Session) {
	req := &ngapType.PDUSessionResourceSetupRequest{}
	ies := &req.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: u.amfID})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: u.ranID})
	if nasPDU != nil {
		n2.Add(ies, n2.Reject, &ngapType.NASPDU{Value: nasPDU})
	}
	list := &ngapType.PDUSessionResourceSetupListSUReq{}
	for _, s := range sessions {
		list.List = append(list.List, ngapType.PDUSessionResourceSetupItemSUReq{
			PDUSessionID: ngapType.PDUSessionID{Value: int64(s.PSI)}, SNSSAI: a.slice(u, s), PDUSessionResourceSetupRequestTransfer: a.requestTransfer(s),
		})
	}
	n2.Add(ies, n2.Reject, list)
	a.send(n2.Initiating(n2.Reject, req))
}

// ReleaseResource takes the resources of a session away, and says nothing to the UE.
func (a *AMF) ReleaseResource(supi string, psi uint8) {
	a.connected(supi, func(u *ue) {
		transfer, err := n2.Marshal(ngapType.PDUSessionResourceReleaseCommandTransfer{Cause: *n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentUnspecified)})
		if err != nil {
			a.T.Error(err)
		}
		m := &ngapType.PDUSessionResourceReleaseCommand{}
		ies := &m.ProtocolIEs.List
		n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: u.amfID})
		n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: u.ranID})
		n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceToReleaseListRelCmd{List: []ngapType.PDUSessionResourceToReleaseItemRelCmd{{
			PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}, PDUSessionResourceReleaseCommandTransfer: transfer,
		}}})
		u.sessions[psi].Up = false
		a.send(n2.Initiating(n2.Reject, m))
	})
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
	if a.smf == nil {
		a.serviceAccepted(u, up)
		return
	}
	id := u.amfID
	a.activate(u, up, func(up []*Session) {
		if u.amfID == id {
			a.accepted(u, up)
		}
	})
}

func serviceAccept(u *ue) []byte {
	var held [16]bool
	for psi := range u.sessions {
		held[psi] = true
	}
	return append([]byte{0x7e, 0, nas.MsgTypeServiceAccept, 0x50, 2}, nasConvert.PSIToBuf(held)...)
}

// serviceAccepted sends the service accept, to a gNB that has the UE's context already where it was connected (TS 23.502 4.2.3.2 step 12).
func (a *AMF) serviceAccepted(u *ue, up []*Session) {
	accept := a.protect(u, serviceAccept(u))
	switch {
	case !u.icsDone:
		a.contextSetup(u, accept, up)
	case len(up) > 0:
		a.resourceSetup(u, accept, up)
	default:
		a.transport(u, accept)
	}
}

// accepted sends the service accept with the sessions that are up again, and what has waited for the UE.
func (a *AMF) accepted(u *ue, up []*Session) {
	waits := a.reached(u)
	for psi, w := range waits {
		if s := u.sessions[psi]; s != nil && w.kind == "PDU_RES_SETUP_REQ" && !contains(up, s) {
			s.setup = w.n2
			up = append(up, s)
		}
	}
	a.serviceAccepted(u, up)
	for psi, w := range waits {
		if s := u.sessions[psi]; s != nil && w.n1 != nil { // what there was for the gNB, the set-up has
			a.deliver(u, s, message{n1: w.n1})
		}
	}
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
	a.page(u)
}

func (a *AMF) page(u *ue) {
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
	for conn := range a.live {
		a.conn = conn
		a.send(n2.Initiating(n2.Ignore, m))
	}
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
	a.conn = u.conn
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

// ModifyResource sends PDU SESSION RESOURCE MODIFY REQUEST with elements of its transfer, and a 5GSM message if sm is
// not nil.
func (a *AMF) ModifyResource(supi string, psi uint8, sm []byte, elements ...any) {
	a.connected(supi, func(u *ue) {
		t := ngapType.PDUSessionResourceModifyRequestTransfer{}
		for _, e := range elements {
			n2.Add(&t.ProtocolIEs.List, n2.Reject, e)
		}
		x, err := n2.Marshal(t)
		if err != nil {
			a.T.Error(err)
		}
		item := ngapType.PDUSessionResourceModifyItemModReq{PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}, PDUSessionResourceModifyRequestTransfer: x}
		if sm != nil {
			item.NASPDU = &ngapType.NASPDU{Value: a.protect(u, dlTransport(psi, sm, 0))}
		}
		m := &ngapType.PDUSessionResourceModifyRequest{}
		ies := &m.ProtocolIEs.List
		n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: u.amfID})
		n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: u.ranID})
		n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceModifyListModReq{List: []ngapType.PDUSessionResourceModifyItemModReq{item}})
		a.send(n2.Initiating(n2.Reject, m))
	})
}

// modified notes which flows of a session were added or changed, and which were not.
func (a *AMF) modified(psi int64, transfer []byte) {
	var t ngapType.PDUSessionResourceModifyResponseTransfer
	if err := n2.Unmarshal(transfer, &t); err != nil {
		a.T.Errorf("modify response transfer: %v", err)
		return
	}
	var done, failed []int64
	if l := t.QosFlowAddOrModifyResponseList; l != nil {
		for _, f := range l.List {
			done = append(done, f.QosFlowIdentifier.Value)
		}
	}
	if l := t.QosFlowFailedToAddOrModifyList; l != nil {
		for _, f := range l.List {
			failed = append(failed, f.QosFlowIdentifier.Value)
		}
	}
	if done != nil || failed != nil {
		a.note("session %d: flows %v modified, %v refused", psi, done, failed)
	}
}

// notify notes what the gNB tells of a session's flows.
func (a *AMF) notify(m *ngapType.PDUSessionResourceNotify) {
	if a.smf != nil {
		a.notifySMF(m)
	}
	if l := n2.Find[ngapType.PDUSessionResourceReleasedListNot](m.ProtocolIEs.List); l != nil {
		a.note("session %d: resources given up", l.List[0].PDUSessionID.Value)
	}
	l := n2.Find[ngapType.PDUSessionResourceNotifyList](m.ProtocolIEs.List)
	if l == nil {
		return
	}
	var t ngapType.PDUSessionResourceNotifyTransfer
	if err := n2.Unmarshal(l.List[0].PDUSessionResourceNotifyTransfer, &t); err != nil {
		a.T.Errorf("notify transfer: %v", err)
		return
	}
	if t.QosFlowNotifyList != nil {
		for _, f := range t.QosFlowNotifyList.List {
			a.note("session %d: flow %d fulfilled %v", l.List[0].PDUSessionID.Value, f.QosFlowIdentifier.Value, f.NotificationCause.Value == ngapType.NotificationCausePresentFulfilled)
		}
	}
	if t.QosFlowReleasedList != nil {
		for _, f := range t.QosFlowReleasedList.List {
			a.note("session %d: flow %d given up", l.List[0].PDUSessionID.Value, f.QosFlowIdentifier.Value)
		}
	}
}

// indication takes another downlink TEID of the gNB's and confirms it.
func (a *AMF) indication(m *ngapType.PDUSessionResourceModifyIndication) {
	l := m.ProtocolIEs.List
	u := a.ues[n2.Find[ngapType.AMFUENGAPID](l).Value]
	item := n2.Find[ngapType.PDUSessionResourceModifyListModInd](l).List[0]
	if a.smf != nil {
		if u != nil {
			a.indicationToSMF(u, item)
		}
		return
	}
	var t ngapType.PDUSessionResourceModifyIndicationTransfer
	if err := n2.Unmarshal(item.PDUSessionResourceModifyIndicationTransfer, &t); err != nil || u == nil {
		a.T.Errorf("modify indication transfer: %v", err)
		return
	}
	s := u.sessions[uint8(item.PDUSessionID.Value)]
	s.GNBTEID = binary.BigEndian.Uint32(t.DLQosFlowPerTNLInformation.UPTransportLayerInformation.GTPTunnel.GTPTEID.Value)
	a.note("session %d: downlink moved", s.PSI)
	c := ngapType.PDUSessionResourceModifyConfirmTransfer{ULNGUUPTNLInformation: *a.tunnel(s.TEID)}
	for _, f := range t.DLQosFlowPerTNLInformation.AssociatedQosFlowList.List {
		c.QosFlowModifyConfirmList.List = append(c.QosFlowModifyConfirmList.List, ngapType.QosFlowModifyConfirmItem{QosFlowIdentifier: f.QosFlowIdentifier})
	}
	x, err := n2.Marshal(c)
	if err != nil {
		a.T.Error(err)
	}
	r := &ngapType.PDUSessionResourceModifyConfirm{}
	ies := &r.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: u.amfID})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: u.ranID})
	n2.Add(ies, n2.Ignore, &ngapType.PDUSessionResourceModifyListModCfm{List: []ngapType.PDUSessionResourceModifyItemModCfm{{PDUSessionID: item.PDUSessionID, PDUSessionResourceModifyConfirmTransfer: x}}})
	a.send(n2.Successful(n2.Reject, r))
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
