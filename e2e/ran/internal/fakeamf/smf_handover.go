package fakeamf

import (
	"encoding/hex"
	"net/http"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/n2"
)

// switchBySMF is an Xn handover (TS 23.502 4.9.1.2.2, TS 29.502 5.2.2.3.3): the SMF says of each session what the new gNB is told.
func (a *AMF) switchBySMF(u *ue, ran int64, m *ngapType.PathSwitchRequest) {
	l := m.ProtocolIEs.List
	u.conn, u.ranID = a.conn, ran
	u.where = location(n2.Find[ngapType.UserLocationInformation](l))
	done, gone := &ngapType.PDUSessionResourceSwitchedList{}, &ngapType.PDUSessionResourceReleasedListPSAck{}
	items := n2.Find[ngapType.PDUSessionResourceToBeSwitchedDLList](l).List
	left := len(items)
	for _, x := range items {
		s := u.sessions[uint8(x.PDUSessionID.Value)]
		if s == nil {
			left--
			continue
		}
		data := map[string]any{"toBeSwitched": true}
		if u.where != nil {
			data["ueLocation"] = u.where
		}
		a.tell(u, s, update{data: data, n2: x.PathSwitchRequestTransfer, kind: "PATH_SWITCH_REQ"}, func(r smAnswer) {
			switch {
			case r.ok() && r.body.N2Type == "PATH_SWITCH_REQ_ACK":
				done.List = append(done.List, ngapType.PDUSessionResourceSwitchedItem{PDUSessionID: x.PDUSessionID, PathSwitchRequestAcknowledgeTransfer: r.n2})
				a.note("session %d switched", s.PSI)
			case r.n2 != nil:
				gone.List = append(gone.List, ngapType.PDUSessionResourceReleasedItemPSAck{PDUSessionID: x.PDUSessionID, PathSwitchRequestUnsuccessfulTransfer: r.n2})
				fallthrough
			default:
				a.note("session %d not switched: %v", s.PSI, r)
			}
			if left--; left == 0 {
				a.switched(u, done, gone)
			}
		})
	}
	if failed := n2.Find[ngapType.PDUSessionResourceFailedToSetupListPSReq](l); failed != nil {
		for _, x := range failed.List {
			a.note("session %d left behind", x.PDUSessionID.Value)
			if s := u.sessions[uint8(x.PDUSessionID.Value)]; s != nil {
				s.Up = false
				a.tell(u, s, update{data: map[string]any{"failedToBeSwitched": true}, n2: x.PathSwitchRequestSetupFailedTransfer, kind: "PATH_SWITCH_SETUP_FAIL"}, a.answered(u, s))
			}
		}
	}
}

func (a *AMF) switched(u *ue, done *ngapType.PDUSessionResourceSwitchedList, gone *ngapType.PDUSessionResourceReleasedListPSAck) {
	if len(done.List) == 0 {
		f := &ngapType.PathSwitchRequestFailure{}
		ies := &f.ProtocolIEs.List
		n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: u.amfID})
		n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: u.ranID})
		list := &ngapType.PDUSessionResourceReleasedListPSFail{}
		for _, x := range gone.List {
			list.List = append(list.List, ngapType.PDUSessionResourceReleasedItemPSFail{
				PDUSessionID: x.PDUSessionID, PathSwitchRequestUnsuccessfulTransfer: x.PathSwitchRequestUnsuccessfulTransfer,
			})
		}
		n2.Add(ies, n2.Ignore, list)
		a.send(n2.Unsuccessful(n2.Reject, f))
		return
	}
	ack := &ngapType.PathSwitchRequestAcknowledge{}
	ies := &ack.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: u.amfID})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: u.ranID})
	n2.Add(ies, n2.Reject, securityContext())
	n2.Add(ies, n2.Ignore, done)
	if len(gone.List) > 0 {
		n2.Add(ies, n2.Ignore, gone)
	}
	n2.Add(ies, n2.Reject, allowedNSSAI())
	a.send(n2.Successful(n2.Reject, ack))
}

func (a *AMF) handingOver(u *ue) bool {
	for _, h := range a.moves {
		if h.u == u && !h.cancelled {
			return true
		}
	}
	return false
}

// prepareBySMF: TS 23.502 4.9.1.3.2 steps 4 to 7, and then the Handover Request.
func (a *AMF) prepareBySMF(h *handover, l []ngapType.HandoverRequiredIEs, request func(*ngapType.PDUSessionResourceSetupListHOReq)) {
	target := n2.Find[ngapType.TargetID](l).TargetRANNodeID
	plmn := map[string]string{"mcc": "208", "mnc": "93"}
	gnb := target.GlobalRANNodeID.GlobalGNBID.GNBID.GNBID
	where := map[string]any{
		"ranNodeId": map[string]any{"plmnId": plmn, "gNbId": map[string]any{"bitLength": gnb.BitLength, "gNBValue": hex.EncodeToString(gnb.Bytes)}},
		"tai":       map[string]any{"plmnId": plmn, "tac": hex.EncodeToString(target.SelectedTAI.TAC.Value)},
	}
	list := &ngapType.PDUSessionResourceSetupListHOReq{}
	items := n2.Find[ngapType.PDUSessionResourceListHORqd](l).List
	left := len(items)
	for _, x := range items {
		s := h.u.sessions[uint8(x.PDUSessionID.Value)]
		if s == nil {
			left--
			continue
		}
		m := update{data: map[string]any{"hoState": "PREPARING", "targetId": where}, n2: x.HandoverRequiredTransfer, kind: "HANDOVER_REQUIRED"}
		a.tell(h.u, s, m, func(r smAnswer) {
			if r.ok() && r.n2 != nil {
				list.List = append(list.List, ngapType.PDUSessionResourceSetupItemHOReq{PDUSessionID: x.PDUSessionID, SNSSAI: a.slice(h.u, s), HandoverRequestTransfer: r.n2})
			} else {
				a.note("session %d is not handed over: %v", s.PSI, r)
			}
			if left--; left == 0 && !h.cancelled {
				request(list)
			}
		})
	}
}

// admittedBySMF: steps 10 to 12, and then the Handover Command.
func (a *AMF) admittedBySMF(h *handover, l []ngapType.HandoverRequestAcknowledgeIEs, command func(*ngapType.PDUSessionResourceHandoverList, *ngapType.PDUSessionResourceToReleaseListHOCmd)) {
	list, gone := &ngapType.PDUSessionResourceHandoverList{}, &ngapType.PDUSessionResourceToReleaseListHOCmd{}
	type said struct {
		id       ngapType.PDUSessionID
		transfer []byte
		kind     string
	}
	var all []said
	for _, x := range n2.Find[ngapType.PDUSessionResourceAdmittedList](l).List {
		all = append(all, said{x.PDUSessionID, x.HandoverRequestAcknowledgeTransfer, "HANDOVER_REQ_ACK"})
	}
	if failed := n2.Find[ngapType.PDUSessionResourceFailedToSetupListHOAck](l); failed != nil {
		for _, x := range failed.List {
			a.note("session %d left behind", x.PDUSessionID.Value)
			all = append(all, said{x.PDUSessionID, x.HandoverResourceAllocationUnsuccessfulTransfer, "HANDOVER_RES_ALLOC_FAIL"})
		}
	}
	left := len(all)
	for _, x := range all {
		s := h.u.sessions[uint8(x.id.Value)]
		if s == nil {
			left--
			continue
		}
		a.tell(h.u, s, update{data: map[string]any{"hoState": "PREPARED"}, n2: x.transfer, kind: x.kind}, func(r smAnswer) {
			switch {
			case r.ok() && r.body.N2Type == "HANDOVER_CMD":
				list.List = append(list.List, ngapType.PDUSessionResourceHandoverItem{PDUSessionID: x.id, HandoverCommandTransfer: r.n2})
				h.taken = append(h.taken, s)
			case r.n2 != nil:
				gone.List = append(gone.List, ngapType.PDUSessionResourceToReleaseItemHOCmd{PDUSessionID: x.id, HandoverPreparationUnsuccessfulTransfer: r.n2})
			default:
				a.note("session %d is not handed over: %v", s.PSI, r)
			}
			if left--; left == 0 && !h.cancelled {
				a.conn = h.source
				command(list, gone)
			}
		})
	}
}

// arrivedBySMF: TS 23.502 4.9.1.3.3 steps 7 to 10, and then the source is released. What was not handed over has no user plane.
func (a *AMF) arrivedBySMF(h *handover, then func()) {
	left := len(h.taken)
	for _, s := range h.taken {
		a.tell(h.u, s, update{data: map[string]any{"hoState": "COMPLETED", "ueLocation": h.u.where}}, func(r smAnswer) {
			a.note("session %d %s: %v", s.PSI, r.body.HoState, r)
			if left--; left == 0 {
				then()
			}
		})
	}
	for _, s := range h.u.sessions {
		if !contains(h.taken, s) && s.Up {
			s.Up = false
			a.tell(h.u, s, update{data: map[string]any{"upCnxState": "DEACTIVATED"}}, nil)
		}
	}
	if left == 0 {
		then()
	}
}

func contains(list []*Session, s *Session) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// cancelledBySMF: TS 23.502 4.9.1.4 step 2.
func (a *AMF) cancelledBySMF(u *ue, then func()) {
	left := 0
	for _, s := range u.sessions {
		if !s.Up || s.context == "" {
			continue
		}
		left++
		a.tell(u, s, update{data: map[string]any{"hoState": "CANCELLED"}}, func(r smAnswer) {
			a.note("session %d %s: %v", s.PSI, r.body.HoState, r)
			if left--; left == 0 && then != nil {
				then()
			}
		})
	}
	if left == 0 && then != nil {
		then()
	}
}

// moved takes where the gNB's end of a session's tunnel is, from dual connectivity (TS 38.413 8.2.5).
func (a *AMF) indicationToSMF(u *ue, item ngapType.PDUSessionResourceModifyItemModInd) {
	s := u.sessions[uint8(item.PDUSessionID.Value)]
	if s == nil {
		return
	}
	a.tell(u, s, update{n2: item.PDUSessionResourceModifyIndicationTransfer, kind: "PDU_RES_MOD_IND"}, func(r smAnswer) {
		if r.status != http.StatusOK || r.n2 == nil {
			a.note("session %d: downlink not moved: %v", s.PSI, r)
		} else {
			a.note("session %d: downlink moved", s.PSI)
		}
		if r.n2 != nil {
			a.confirm(u, item.PDUSessionID, r.n2, r.ok())
		}
	})
}

func (a *AMF) confirm(u *ue, id ngapType.PDUSessionID, transfer aper.OctetString, done bool) {
	r := &ngapType.PDUSessionResourceModifyConfirm{}
	ies := &r.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: u.amfID})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: u.ranID})
	if done {
		n2.Add(ies, n2.Ignore, &ngapType.PDUSessionResourceModifyListModCfm{List: []ngapType.PDUSessionResourceModifyItemModCfm{{
			PDUSessionID: id, PDUSessionResourceModifyConfirmTransfer: transfer,
		}}})
	} else {
		n2.Add(ies, n2.Ignore, &ngapType.PDUSessionResourceFailedToModifyListModCfm{List: []ngapType.PDUSessionResourceFailedToModifyItemModCfm{{
			PDUSessionID: id, PDUSessionResourceModifyIndicationUnsuccessfulTransfer: transfer,
		}}})
	}
	a.send(n2.Successful(n2.Reject, r))
}
