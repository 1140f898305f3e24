package procedure

import (
	"crypto/sha256"
	"net/http"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// steps of all procedures, each in the order of its file.
var steps map[Kind]map[uint8]step

func init() { // the procedures call each other
	steps = map[Kind]map[uint8]step{
		Establishment: establishment,
		Connection:    connection,
		Ending:        ending,
		Paging:        paging,
		Restoration:   restoration,
		Modification:  modification,
		Switching:     switching,
		Handing:       handing,
		Rerouting:     rerouting,
		Charging:      charging,
		Policing:      policing,
	}
}

// Handle says what becomes of a session by an event. The state that it is given stays as it is.
func Handle(in Input, st State, e Event) Output {
	t := &turn{in: in, was: st.Record, asker: st.Asker, create: st.Create, policed: st.Policed}
	if st.Record != nil {
		t.s = st.Record.Clone()
	}
	if u, ok := e.(Unit); ok {
		t.count(u.Usage)
	}
	if p, ok := e.(Policy); ok && p.Outcome == Done {
		t.policed = in.Now.UnixNano()
	}
	switch {
	case t.s == nil:
		t.withoutSession(e)
	case t.s.Procedure != nil:
		t.duringProcedure(e)
	default:
		t.atRest(e)
	}
	t.settle()
	return t.output()
}

// settle: at rest there may be something to say to PCF and CHF.
func (t *turn) settle() {
	if t.s == nil || t.s.Procedure != nil || t.s.Phase != record.Active && t.s.Phase != record.Idle {
		return
	}
	if t.uncommitted {
		t.endByNetwork(n1.CauseReactivationRequested)
		return
	}
	t.lostRules()
	switch {
	case t.charges():
		t.charge()
	case t.polices() && t.s.Control.Unread && !t.s.Control.Anew:
		t.begin(Policing, policeRead)
	case t.polices():
		t.begin(Policing, policeAsk)
	}
}

// withoutSession: only Create makes one. All others hear that there is none.
func (t *turn) withoutSession(e Event) {
	switch e := e.(type) {
	case Create:
		t.establish(e)
	case Update:
		t.asker = e.From
		t.reply(Failed{Status: http.StatusNotFound, Cause: "CONTEXT_NOT_FOUND", Detail: "there is no such SM context"})
	case Release:
		t.asker = e.From
		t.reply(Failed{Status: http.StatusNotFound, Cause: "CONTEXT_NOT_FOUND", Detail: "there is no such SM context"})
	case End:
		t.asker = e.From
		t.reply(Ended{})
	case Report:
		t.asker = e.From
		t.reply(Reported{Cause: ie.CauseSessionContextNotFound})
	case PolicyChanged:
		t.asker = e.From
		t.reply(Failed{Status: http.StatusNotFound, Cause: "CONTEXT_NOT_FOUND", Detail: "there is no such session"})
	case PolicyEnded: // it is over
		t.asker = e.From
		t.reply(Accepted{})
	case ChargingChanged:
		t.asker = e.From
		t.reply(Failed{Status: http.StatusNotFound, Cause: "CONTEXT_NOT_FOUND", Detail: "there is no such session"})
	case SubscriptionChanged:
		t.asker = e.From
		t.reply(Failed{Status: http.StatusNotFound, Cause: "CONTEXT_NOT_FOUND", Detail: "there is no such session"})
	}
}

func (t *turn) duringProcedure(e Event) {
	another, taken := e.(AddressTaken)
	switch {
	case answer(e):
		if s, ok := steps[Kind(t.s.Procedure.Kind)][t.s.Procedure.Step]; ok {
			s.take(t, e)
		}
	case e == Resumed{}:
		t.again()
	case taken:
		t.addressTaken(another.Event)
	default:
		t.out.Refused = "a procedure is under way"
	}
}

// atRest is where every procedure begins.
func (t *turn) atRest(e Event) {
	switch e := e.(type) {
	case Create:
		t.createAgain(e)
	case Update:
		t.asker = e.From
		if e.Handover != HandoverPreparing && e.Handover != HandoverPrepared { // who prepares is not the UE's AMF yet
			t.heardFrom(e.AMF)
			t.heardOf(e.PLMN, e.RAT)
		}
		if t.s.Subscription == 0 && t.s.Phase != record.Releasing { // of a program that did not subscribe
			t.watch()
		}
		t.update(e)
	case Release: // TS 23.502 4.3.4.2, step 1a with the AMF's own reasons, 4.2.2.3
		t.asker = e.From
		t.end(endSilently, 0)
	case End:
		t.asker = e.From
		t.endByNetwork(e.Cause)
	case Report:
		t.asker = e.From
		t.report(e)
	case SettingsChanged:
		t.settingsChanged()
	case PolicyChanged:
		t.asker = e.From
		t.policyChanged(e)
	case PolicyEnded:
		t.asker = e.From
		t.policyEnded()
	case PolicyUnsure:
		t.policyUnsure()
	case ChargingChanged:
		t.asker = e.From
		t.chargingChanged(e)
	case SubscriptionChanged:
		t.asker = e.From
		t.subscriptionChanged()
	case Unreachable:
		t.unreachable()
	case AccessTold:
		t.accessTold(e.QFIs)
	case Due:
		t.timer(e.Name)
	case UnitRestarted:
		t.restore(e.NodeID)
	case UnitDiffers:
		t.remake(e.NodeID, e.UPSEID)
	case UnitGone:
		t.unitGone(e.NodeID)
	case UnitDrains:
		t.unitDrains(e.NodeID)
	case PathFailed:
		t.pathFailed(e)
	case Resumed:
		if t.s.Told != nil { // a change of rules that somebody gave up
			t.unitSilent()
		}
	}
}

// update sorts what an AMF wants by TS 29.502 5.2.2.3. What it wants of the access side and of the UE may come together.
func (t *turn) update(e Update) {
	if e.N1 != nil {
		silent := t.s.Silent
		t.shown()
		t.fromUE(e.N1)
		if silent {
			t.catchUp()
		}
		return
	}
	switch {
	case e.NonThreeGPP: // TS 23.502 4.9.2: there is no N3IWF before this SMF
		t.reply(Failed{Status: http.StatusForbidden, Cause: "REQUEST_REJECTED", Detail: "sessions stay on 3GPP access"})
	case e.Release:
		t.releaseByAMF(e.Cause)
	case e.Handover != "" && e.Handover != HandoverNone:
		t.handover(e)
	case e.FailedToBeSwitched:
		t.switchFailed()
	case e.Connection == Suspended:
		t.suspend()
	case e.Connection == Activating:
		t.activate()
	case e.Connection == Deactivated:
		t.deactivate()
	case e.N2 != nil || e.N2Type != "":
		t.fromAccess(e)
	default: // another AMF, a location: heardFrom has it
		t.shown()
		t.reply(Updated{})
		t.catchUp()
	}
}

// fromUE is a 5GSM message (TS 24.501 6, 7).
func (t *turn) fromUE(b []byte) {
	m, err := n1.Decode(b)
	if err != nil {
		t.malformed(err)
		return
	}
	h := n1.HeaderOf(m)
	if h.SessionID != t.s.ID { // TS 24.501 7.3.2
		t.reply(Updated{N1: (&n1.Status{Header: n1.Header{SessionID: h.SessionID, PTI: h.PTI}, Cause: n1.CauseInvalidPDUSessionIdentity}).Encode()})
		return
	}
	switch m := m.(type) {
	case *n1.ModificationRequest:
		t.modifyByUE(m, b)
	case *n1.ModificationComplete:
		t.modificationComplete(m)
	case *n1.ModificationCommandReject:
		t.commandRejected(m)
	case *n1.ReleaseRequest:
		t.releaseByUE(m)
	case *n1.ReleaseComplete:
		t.releaseComplete(m)
	case *n1.Status:
		t.status(m)
	default:
		t.reply(Updated{N1: (&n1.Status{Header: n1.Header{SessionID: t.s.ID, PTI: h.PTI}, Cause: n1.CauseMessageTypeNotCompatible}).Encode()})
	}
}

// malformed answers what cannot be read (TS 24.501 7): a reject of what a UE asks for, a status of anything else, with its cause; or nothing
// where that clause says so.
func (t *turn) malformed(err error) {
	fault, ok := err.(*n1.Fault)
	if !ok || fault.Ignore {
		t.reply(Updated{})
		return
	}
	h := fault.Header
	switch {
	case h.SessionID != t.s.ID:
		t.reply(Updated{N1: (&n1.Status{Header: n1.Header{SessionID: h.SessionID, PTI: h.PTI}, Cause: n1.CauseInvalidPDUSessionIdentity}).Encode()})
	case h.Type == n1.ModificationRequestType:
		t.reply(Updated{N1: (&n1.ModificationReject{SessionID: t.s.ID, PTI: h.PTI, Cause: fault.Cause}).Encode()})
	case h.Type == n1.ReleaseRequestType:
		t.reply(Updated{N1: (&n1.ReleaseReject{SessionID: t.s.ID, PTI: h.PTI, Cause: fault.Cause}).Encode()})
	default:
		t.status5GSM(h.PTI, fault.Cause)
	}
}

// heardFrom remembers the AMF that speaks for the UE now (TS 23.502 4.2.7, 4.9.1.3: it may be another).
func (t *turn) heardFrom(a record.AMF) {
	if a.InstanceID != "" && a.InstanceID != t.s.AMF.InstanceID {
		t.happened(TriggerAMF)
		t.s.AMF.InstanceID, t.s.AMF.StatusURI = a.InstanceID, ""
	}
	if a.StatusURI != "" {
		t.s.AMF.StatusURI = a.StatusURI
	}
	if a.Set != "" {
		t.s.AMF.Set = a.Set
	}
	if a.TAC != 0 {
		if a.TAC != t.s.AMF.TAC {
			t.happened(TriggerArea)
		}
		if a.Cell != t.s.AMF.Cell {
			t.happened(TriggerCell)
		}
		t.s.AMF.TAC, t.s.AMF.Cell = a.TAC, a.Cell
	}
}

// heardOf notes the network and the radio that serve the UE.
func (t *turn) heardOf(plmn, rat string) {
	if plmn != "" && plmn != t.s.PLMN {
		t.s.PLMN = plmn
		t.happened(TriggerPLMN)
	}
	if rat != "" && rat != t.s.RAT {
		if t.s.RAT != "" {
			t.happened(TriggerRAT)
		}
		t.s.RAT = rat
	}
}

// Names of times.
const (
	dueAccess   = "access"
	dueCommand  = "command"
	duePaging   = "paging"
	dueHandover = "handover"
	dueUnit     = "unit"
	dueBehind   = "behind"
	dueWay      = "way"
	dueCharge   = "charge"
	duePolicy   = "policy"
	dueLetGo    = "let_go"
	dueUntold   = "untold"

	dueSubscription = "subscription"
)

// DueNames are all that there are.
var DueNames = []string{dueAccess, dueCommand, duePaging, dueHandover, dueUnit, dueBehind, dueWay, dueCharge, duePolicy, dueLetGo, dueUntold, dueSubscription}

func (t *turn) timer(name string) {
	t.due(name, 0)
	switch name {
	case dueAccess:
		t.accessSilent()
	case dueCommand:
		t.commandSilent()
	case duePaging:
		t.pageAgain()
	case dueHandover:
		t.handoverLate()
	case dueUnit:
		t.unitSilent()
	case dueBehind:
		t.catchUp()
	case dueWay:
		t.way()
	case dueCharge:
		t.chargeTime()
	case duePolicy:
		t.policyTime()
	case dueLetGo:
		t.letGo()
	case dueUntold:
		t.tellUntold()
	case dueSubscription:
		t.subscriptionTime()
	}
}

func digest(b []byte) (d [8]byte) {
	sum := sha256.Sum256(b)
	copy(d[:], sum[:])
	return d
}
