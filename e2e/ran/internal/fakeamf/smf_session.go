package fakeamf

import (
	"encoding/hex"
	"fmt"

	"github.com/free5gc/nas/nasMessage"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/images/session-management/n1"
)

// Request types of TS 24.501 9.11.3.47.
const existingSession = 2

var requestTypes = map[uint8]string{1: "INITIAL_REQUEST", existingSession: "EXISTING_PDU_SESSION"}

// toSMF hands a UE's 5GSM message on (TS 24.501 5.4.5.2.3).
func (a *AMF) toSMF(u *ue, m *nasMessage.ULNASTransport, raw []byte) {
	psi := m.PduSessionID2Value.GetPduSessionID2Value()
	a.noteSM(raw)
	s := u.sessions[psi]
	if m.RequestType == nil { // a session that there is
		if s == nil {
			a.down(u, dlTransport(psi, raw, payloadNotForwarded))
			return
		}
		a.tell(u, s, update{n1: raw}, a.answered(u, s))
		return
	}
	a.createContext(u, psi, m, raw)
}

// noteSM notes a 5GSM message as sessionMessage does.
func (a *AMF) noteSM(raw []byte) {
	sm, err := n1.Decode(raw)
	if err != nil {
		a.note("5GSM message that cannot be read: %v", err)
		return
	}
	switch sm := sm.(type) {
	case *n1.EstablishmentRequest:
		a.note("PDU Session Establishment Request")
	case *n1.ModificationRequest:
		a.note("PDU Session Modification Request")
	case *n1.ModificationComplete:
		a.note("PDU Session Modification Complete")
	case *n1.ModificationCommandReject:
		a.note("PDU Session Modification Command Reject (cause %d)", sm.Cause)
	case *n1.ReleaseRequest:
		a.note("PDU Session Release Request")
	case *n1.ReleaseComplete:
		a.note("PDU Session Release Complete")
	case *n1.Status:
		a.note("5GSM Status (cause %d)", sm.Cause)
	}
}

// payloadNotForwarded is 5GMM cause 90.
const payloadNotForwarded = 90

func (a *AMF) createContext(u *ue, psi uint8, m *nasMessage.ULNASTransport, raw []byte) {
	a.contexts++
	s := &Session{PSI: psi, QFI: 1, number: a.contexts}
	if m.DNN != nil {
		s.DNN = m.DNN.GetDNN()
	}
	if m.SNSSAI != nil {
		s.Slice[0] = m.SNSSAI.GetSST()
		sd := m.SNSSAI.GetSD()
		copy(s.Slice[1:], sd[:])
	}
	plmn := map[string]string{"mcc": "208", "mnc": "93"}
	data := map[string]any{
		"supi": "imsi-" + u.supi, "pduSessionId": psi, "dnn": s.DNN, "sNssai": map[string]any{"sst": s.Slice[0], "sd": hex.EncodeToString(s.Slice[1:])},
		"servingNfId": instanceID, "guami": map[string]any{"plmnId": plmn, "amfId": "cafe00"}, "servingNetwork": plmn, "anType": "3GPP_ACCESS", "ratType": "NR",
		"requestType": requestTypes[m.RequestType.GetRequestTypeValue()], "smContextStatusUri": fmt.Sprintf("%s/status/%s/%d", a.root, u.supi, s.number),
	}
	if u.where != nil {
		data["ueLocation"] = u.where
	}
	old := u.sessions[psi]
	u.sessions[psi] = s
	if u.contexts == nil {
		u.contexts = map[int]*Session{}
	}
	u.contexts[s.number] = s
	a.ask(u, func() string { return smContexts }, update{data: data, n1: raw}, func(r smAnswer) {
		if r.ok() {
			s.context = resourcePath(r.location)
			a.note("session %d: SM context created", psi)
			return
		}
		a.note("session %d: SM context refused: %v", psi, r)
		if u.sessions[psi] == s {
			delete(u.sessions, psi)
			if old != nil && u.contexts[old.number] == old {
				u.sessions[psi] = old // what the SMF has not replaced is there
			}
		}
		delete(u.contexts, s.number)
		if r.n1 != nil {
			a.downSM(u, psi, r.n1)
			return
		}
		a.down(u, dlTransport(psi, raw, payloadNotForwarded))
	})
}

// location of a UE (TS 29.571 5.4.4.9), as its gNB says.
func location(i *ngapType.UserLocationInformation) map[string]any {
	if i == nil || i.UserLocationInformationNR == nil {
		return nil
	}
	nr, plmn := i.UserLocationInformationNR, map[string]string{"mcc": "208", "mnc": "93"}
	cell := nr.NRCGI.NRCellIdentity.Value
	return map[string]any{"nrLocation": map[string]any{
		"tai":  map[string]any{"plmnId": plmn, "tac": hex.EncodeToString(nr.TAI.TAC.Value)},
		"ncgi": map[string]any{"plmnId": plmn, "nrCellId": hex.EncodeToString(cell.Bytes)[:9]},
	}}
}

// message is what an SMF has for a UE and its gNB.
type message struct {
	n1, n2 []byte
	kind   string
}

// deliver it: N1 goes with N2, where there is that (TS 23.502 4.3.2.2.1 step 12, 4.3.3.2 step 4, 4.3.4.2 step 4).
func (a *AMF) deliver(u *ue, s *Session, m message) {
	var pdu *ngapType.NASPDU
	if m.n1 != nil {
		pdu = &ngapType.NASPDU{Value: a.protect(u, dlTransport(s.PSI, m.n1, 0))}
	}
	id := ngapType.PDUSessionID{Value: int64(s.PSI)}
	amf, ran := &ngapType.AMFUENGAPID{Value: u.amfID}, &ngapType.RANUENGAPID{Value: u.ranID}
	a.conn = u.conn
	switch m.kind {
	case "PDU_RES_SETUP_REQ":
		s.setup = m.n2
		r := &ngapType.PDUSessionResourceSetupRequest{}
		ies := &r.ProtocolIEs.List
		n2.Add(ies, n2.Reject, amf)
		n2.Add(ies, n2.Reject, ran)
		n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceSetupListSUReq{List: []ngapType.PDUSessionResourceSetupItemSUReq{{
			PDUSessionID: id, PDUSessionNASPDU: pdu, SNSSAI: a.slice(u, s), PDUSessionResourceSetupRequestTransfer: m.n2,
		}}})
		a.send(n2.Initiating(n2.Reject, r))
	case "PDU_RES_MOD_REQ":
		r := &ngapType.PDUSessionResourceModifyRequest{}
		ies := &r.ProtocolIEs.List
		n2.Add(ies, n2.Reject, amf)
		n2.Add(ies, n2.Reject, ran)
		n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceModifyListModReq{List: []ngapType.PDUSessionResourceModifyItemModReq{{
			PDUSessionID: id, NASPDU: pdu, PDUSessionResourceModifyRequestTransfer: m.n2,
		}}})
		a.send(n2.Initiating(n2.Reject, r))
	case "PDU_RES_REL_CMD":
		r := &ngapType.PDUSessionResourceReleaseCommand{}
		ies := &r.ProtocolIEs.List
		n2.Add(ies, n2.Reject, amf)
		n2.Add(ies, n2.Reject, ran)
		if pdu != nil {
			n2.Add(ies, n2.Ignore, pdu)
		}
		n2.Add(ies, n2.Reject, &ngapType.PDUSessionResourceToReleaseListRelCmd{List: []ngapType.PDUSessionResourceToReleaseItemRelCmd{{
			PDUSessionID: id, PDUSessionResourceReleaseCommandTransfer: m.n2,
		}}})
		s.Up = false
		a.send(n2.Initiating(n2.Reject, r))
	case "":
		if pdu != nil {
			a.transport(u, pdu.Value)
		}
	default:
		a.T.Errorf("fake AMF: N2 information of type %s is for no gNB", m.kind)
	}
}

// fromGNB hands on what a gNB says of a session.
func (a *AMF) fromGNB(u *ue, psi int64, kind string, transfer []byte) {
	s := u.sessions[uint8(psi)]
	if s == nil {
		return // it has ended meanwhile
	}
	a.tell(u, s, update{n2: transfer, kind: kind}, a.answered(u, s))
}

// inactive tells the SMF which sessions have no user plane any more (TS 23.502 4.2.6 step 5).
func (a *AMF) inactive(u *ue, cause *ngapType.Cause) {
	for _, s := range u.sessions {
		s.Up = false
		if s.context == "" {
			continue
		}
		m := update{data: map[string]any{"upCnxState": "DEACTIVATED"}}
		if cause != nil && cause.RadioNetwork != nil {
			m.data["ngApCause"] = map[string]any{"group": 0, "value": cause.RadioNetwork.Value}
		}
		a.tell(u, s, m, func(r smAnswer) { a.note("session %d %s: %v", s.PSI, r.body.UpCnxState, r) })
	}
}

// activate sessions (TS 23.502 4.2.3.2 steps 4 to 11), and then do what follows.
func (a *AMF) activate(u *ue, sessions []*Session, then func(up []*Session)) {
	var up []*Session
	left := len(sessions)
	if left == 0 {
		then(nil)
		return
	}
	for _, s := range sessions {
		a.tell(u, s, update{data: map[string]any{"upCnxState": "ACTIVATING"}}, func(r smAnswer) {
			if r.ok() && r.n2 != nil {
				s.setup = r.n2
				up = append(up, s)
			} else {
				a.note("session %d not activated: %v", s.PSI, r)
			}
			if left--; left == 0 {
				then(up)
			}
		})
	}
}

// releaseContexts ends all sessions of a UE that goes (TS 23.502 4.2.2.3.2 step 2).
func (a *AMF) releaseContexts(u *ue) {
	for psi, s := range u.sessions {
		delete(u.sessions, psi)
		a.ask(u, func() string {
			if s.context == "" {
				return ""
			}
			return s.context + "/release"
		}, update{data: map[string]any{"cause": "REL_DUE_TO_UNSPECIFIED_REASON"}}, func(r smAnswer) {
			delete(u.contexts, s.number)
			a.note("session %d: SM context released: %v", psi, r)
		})
	}
}

// ReleaseByAMF has the AMF want the end of a session, which the SMF then releases (TS 29.502 5.2.2.3.12).
func (a *AMF) ReleaseByAMF(supi string, psi uint8) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.bySUPI(supi)
	if u == nil || u.sessions[psi] == nil {
		a.T.Errorf("fake AMF: %s has no session %d", supi, psi)
		return
	}
	s := u.sessions[psi]
	a.tell(u, s, update{data: map[string]any{"release": true, "cause": "REL_DUE_TO_SLICE_NOT_AVAILABLE"}}, a.answered(u, s))
}

// notifySMF hands on flows, or a session's resources, that a gNB has given up (TS 38.413 8.2.4).
func (a *AMF) notifySMF(m *ngapType.PDUSessionResourceNotify) {
	u := a.ues[n2.Find[ngapType.AMFUENGAPID](m.ProtocolIEs.List).Value]
	if u == nil {
		return
	}
	if l := n2.Find[ngapType.PDUSessionResourceNotifyList](m.ProtocolIEs.List); l != nil {
		for _, x := range l.List {
			a.fromGNB(u, x.PDUSessionID.Value, "PDU_RES_NTY", x.PDUSessionResourceNotifyTransfer)
		}
	}
	if l := n2.Find[ngapType.PDUSessionResourceReleasedListNot](m.ProtocolIEs.List); l != nil {
		for _, x := range l.List {
			if s := u.sessions[uint8(x.PDUSessionID.Value)]; s != nil {
				s.Up = false
			}
			a.fromGNB(u, x.PDUSessionID.Value, "PDU_RES_NTY_REL", x.PDUSessionResourceNotifyReleasedTransfer)
		}
	}
}
