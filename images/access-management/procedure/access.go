package procedure

import (
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// What access networks say of a UE (TS 38.413 8.2 to 8.6, 8.9, 8.14).

// fromAccess sorts. A message by another connection than the UE's is one of a handover, or of an access network that has not let go yet.
func (t *turn) fromAccess(e FromAccess) {
	h := t.s.Handover
	switch m := e.Message.(type) {
	case *n2.PathSwitchRequest: // the UE's own name, by a new connection
		t.switchPath(e, m)
		return
	case *n2.HandoverRequestAcknowledge, *n2.HandoverFailure, *n2.HandoverNotify:
		if h == nil || h.Target.AMF != e.At.AMF {
			t.unknownAt(e)
			return
		}
		h.Target.Follow(e.At)
		t.fromTarget(e, m)
		return
	case *n2.ErrorIndication:
		if h != nil && h.Target.AMF == e.At.AMF && h.Target.Root() == e.At.Root() {
			t.targetErred(m)
			return
		}
	case *n2.UEContextReleaseComplete:
		if h != nil && h.Target.AMF == e.At.AMF {
			return
		}
		t.released(e.At, m)
		return
	}
	if a := t.s.N2; a != nil && a.GNB == e.At.GNB && a.AMF == e.At.AMF && a.RAN == e.At.RAN {
		if a.Lost { // it is back, and this shard has not heard it yet
			t.back(e.At)
		} else {
			a.Follow(e.At)
		}
	}
	if t.s.N2 == nil || t.s.N2.AMF != e.At.AMF || !t.s.N2.Shares(&e.At) {
		if a := t.leftBy(e.At.AMF); a != nil {
			t.fromLeft(a, e)
			return
		}
		t.unknownAt(e)
		return
	}
	if t.s.N2.RAN != e.At.RAN { // TS 38.413 10.6
		t.answerError(e, ngapcause.InconsistentRemoteUEID)
		t.out.Refused = "another RAN UE NGAP ID"
		return
	}
	t.connected(e)
}

// fromLeft is what the access network says of a connection that the UE has left.
func (t *turn) fromLeft(a *record.Attachment, e FromAccess) {
	t.out.Refused = "the UE has left that connection"
	m, is := e.Message.(*n2.ErrorIndication)
	switch {
	case is && m.Cause != nil && (*m.Cause == ngapcause.UnknownLocalUEID || *m.Cause == ngapcause.InconsistentRemoteUEID): // it has let go of it
		t.letGo(e.At.AMF)
	case !is && a.Lost && a.GNB == e.At.GNB && a.RAN == e.At.RAN: // it is back, and this shard has not heard it yet
		t.backAtLeft(a, e.At)
		t.dueLeft()
	}
}

// connected: by the UE's connection.
func (t *turn) connected(e FromAccess) {
	if !t.s.N2.Set && ofContext(e.Message) {
		t.incompatible(e, "the access network has no context of the UE")
		return
	}
	switch m := e.Message.(type) {
	case *n2.UplinkNASTransport:
		if t.doing() == Switching { // the access network is answered first
			t.out.Later = true
			return
		}
		t.seen(m.Location)
		t.fromUE(m.NAS)
	case *n2.InitialContextSetupResponse:
		if t.asked() {
			t.contextSet(m)
		}
	case *n2.InitialContextSetupFailure:
		if t.asked() {
			t.contextFailed(m)
		}
	case *n2.UEContextReleaseRequest:
		t.releaseRequested(m)
	case *n2.UEContextModificationResponse, *n2.UEContextModificationFailure, *n2.RRCInactiveTransitionReport:
	case *n2.PDUSessionResourceSetupResponse:
		t.heard()
		t.resources(m.Sessions, m.Failed, setupDone, setupFailed)
	case *n2.PDUSessionResourceModifyResponse:
		t.resources(m.Sessions, m.Failed, modifyDone, modifyFailed)
	case *n2.PDUSessionResourceReleaseResponse:
		t.resources(m.Sessions, nil, releaseDone, "")
	case *n2.PDUSessionResourceNotify:
		t.resources(m.Sessions, m.Released, notifyChanged, notifyReleased)
	case *n2.PDUSessionResourceModifyIndication:
		t.resources(m.Sessions, nil, modifyIndication, "")
	case *n2.SecondaryRATDataUsageReport:
		t.resources(m.Sessions, nil, secondaryUsage, "")
	case *n2.UERadioCapabilityInfoIndication:
		t.capability, t.live.radio = m.Radio, m.Paging
	case *n2.UERadioCapabilityCheckResponse, *n2.CellTrafficTrace, *n2.TraceFailureIndication:
	case *n2.LocationReport:
		t.reported(m)
	case *n2.LocationReportingFailureIndication:
		t.placed(false)
	case *n2.NASNonDeliveryIndication:
		t.undelivered(m)
	case *n2.HandoverRequired:
		t.handoverRequired(m)
	case *n2.HandoverCancel:
		t.handoverCancelled(m)
	case *n2.UplinkRANStatusTransfer:
		t.statusTransfer(m)
	case *n2.ErrorIndication:
		t.errorSaid(m)
	default:
		t.incompatible(e, "no message of an access network")
	}
}

// incompatible: a logical error (TS 38.413 10.4). What can fail has failed, and a response is for nobody.
func (t *turn) incompatible(e FromAccess, why string) {
	switch _, hands := e.Message.(*n2.HandoverRequired); {
	case hands:
		t.notHanded(ngapcause.MessageNotCompatibleWithReceiver, why)
	case e.Message.Kind().Outcome == n2.Initiating:
		t.answerError(e, ngapcause.MessageNotCompatibleWithReceiver)
	}
	t.out.Refused = why
}

// asked says whether the access network was asked for a context.
func (t *turn) asked() bool {
	if !t.s.N2.Setting {
		t.out.Refused = "nobody has asked for a context"
	}
	return t.s.N2.Setting
}

// ofContext says whether a message speaks of what an access network has with a context alone.
func ofContext(m n2.Message) bool {
	switch m.(type) {
	case *n2.PDUSessionResourceSetupResponse, *n2.PDUSessionResourceModifyResponse, *n2.PDUSessionResourceNotify,
		*n2.PDUSessionResourceModifyIndication, *n2.HandoverRequired:
		return true
	}
	return false
}

// undelivered: TS 38.413 8.6.4. What has to be answered is said again when its time has come; a UE that was lost on the way its access network releases.
func (t *turn) undelivered(m *n2.NASNonDeliveryIndication) {
	t.out.Refused = "the UE was not told: " + m.Cause.String()
}

// errorSaid: TS 38.413 8.7.5, 10.6. An access network that does not know the UE has no context of it.
func (t *turn) errorSaid(m *n2.ErrorIndication) {
	if m.Cause != nil && (*m.Cause == ngapcause.UnknownLocalUEID || *m.Cause == ngapcause.InconsistentRemoteUEID) {
		t.idle("the access network does not know the UE")
		return
	}
	t.out.Refused = "the access network has found an error"
}
