package procedure

import (
	"net/http"
	"slices"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"
)

// What access networks say by themselves (TS 23.502 4.3.3.2 step 1d, TS 38.413 8.2.4, 8.2.5, TS 37.340 10): flows, or all of a session, that
// they have released, and tunnels that are elsewhere now.

// fromAccess is what a gNB says, by way of the AMF.
func (t *turn) fromAccess(e Update) {
	transfer, err := n2.Decode(e.N2Type, e.N2)
	if err != nil {
		f := Failed{Status: http.StatusForbidden, Cause: "N2_SM_ERROR", Detail: err.Error()}
		if e.N2Type == n2.InfoPathSwitchRequest {
			f = notSwitched(f.Status, f.Cause, f.Detail, ngapcause.TransferSyntax)
		}
		t.reply(f)
		return
	}
	switch m := transfer.(type) {
	case *n2.SetupResponse:
		t.accessReady(m)
	case *n2.SetupUnsuccessful:
		t.accessRefused(m.Cause)
	case *n2.ModifyResponse:
		t.accessModified(m)
	case *n2.ModifyUnsuccessful:
		t.accessUnmodified()
	case *n2.ReleaseResponse:
		t.accessReleased()
	case *n2.PathSwitchRequest:
		t.switchPath(m)
	case *n2.PathSwitchSetupFailed:
		t.switchFailed()
	case *n2.Notify:
		t.notified(m)
	case *n2.NotifyReleased:
		t.tunnelGone()
	case *n2.ModifyIndication:
		t.tunnelMoved(m)
	case *n2.HandoverRequired, *n2.HandoverAcknowledge, *n2.HandoverResourceAllocationUnsuccessful: // the state goes without saying
		t.handover(e)
	case *n2.SecondaryRATUsage: // for charging alone (TS 32.255 5.2.1)
		t.reply(Updated{})
	default:
		t.reply(Failed{Status: http.StatusForbidden, Cause: "N2_SM_ERROR", Detail: "not for an SMF: " + string(e.N2Type)})
	}
}

// notified: flows are released. Rates that are not kept, and are again, change nothing: nobody has asked to hear of them.
func (t *turn) notified(m *n2.Notify) {
	released := qfisOf(m.Released)
	switch {
	case t.s.Phase != record.Active:
		t.reply(Updated{})
	case slices.Contains(released, t.s.Flows[0].QFI): // what is left is no session (TS 23.501 5.7.2.7)
		t.idle()
	case len(released) == 0:
		t.reply(Updated{})
	default:
		t.change(func(s *record.Session) { lose(s, released) })
		t.begin(Connection, connectUnit)
	}
}

// tunnelGone: the access network has released the session's resources, and the session stays.
func (t *turn) tunnelGone() {
	switch t.s.Phase {
	case record.Active, record.Establishing: // it had them, whether or not that was heard
		t.due(dueAccess, 0)
		t.idle()
	default:
		t.reply(Updated{Connection: Deactivated})
	}
}

// tunnelMoved: dual connectivity has moved the session's tunnel. Flows are in one tunnel; those that are to be in a second
// one stay where they are.
func (t *turn) tunnelMoved(m *n2.ModifyIndication) {
	if t.s.Phase != record.Active || t.s.Handover != nil {
		t.reply(notMoved(ngapcause.UnknownPDUSession))
		return
	}
	if !slices.ContainsFunc(m.Downlink.Flows, func(f n2.AssociatedFlow) bool { return f.QFI == t.s.Flows[0].QFI }) {
		t.reply(notMoved(ngapcause.UnknownQoSFlow))
		return
	}
	confirm := n2.ModifyConfirm{Uplink: t.s.N3()}
	for _, f := range m.Downlink.Flows {
		confirm.Flows = append(confirm.Flows, f.QFI)
	}
	for _, other := range m.Additional {
		for _, f := range other.Flows {
			if !slices.Contains(confirm.Flows, f.QFI) {
				confirm.Failed = append(confirm.Failed, n2.FlowCause{QFI: f.QFI, Cause: ngapcause.TransportResourceUnavailable})
			}
		}
	}
	b, err := confirm.Encode()
	if err != nil {
		t.reply(notMoved(ngapcause.MiscUnspecified))
		return
	}
	t.change(func(s *record.Session) { s.Downlink = m.Downlink.Tunnel })
	t.s.Procedure = &record.Procedure{Kind: uint8(Connection), Began: t.in.Now.UnixMilli(), Message: b}
	t.next(connectMoved)
}

func notMoved(cause n2.Cause) Failed {
	f := Failed{Status: http.StatusForbidden, Cause: "N2_SM_ERROR", Detail: "the tunnel stays where it is"}
	if b, err := (&n2.ModifyIndicationUnsuccessful{Cause: cause}).Encode(); err == nil {
		f.N2, f.N2Type = b, n2.InfoModifyIndicationUnsuccessful
	}
	return f
}

func askMoved(t *turn) { t.tell(true, (*turn).moved) }

func takeMoved(t *turn, e Event) {
	if u, ok := t.heard(e); ok {
		t.moved(u)
	}
}

func (t *turn) moved(u Unit) {
	confirm := t.s.Procedure.Message
	if u.Outcome != Done {
		if told := t.s.Told; told != nil && u.Outcome != Refused {
			t.s.Downlink = told.Downlink // as the access network hears it
		}
		if t.asker != 0 {
			t.reply(notMoved(ngapcause.UserPlaneResourcesNotAvailable))
		}
		t.changed(u)
		return
	}
	t.over("")
	t.reply(Updated{N2: confirm, N2Type: n2.InfoModifyConfirm})
	t.catchUp()
}
