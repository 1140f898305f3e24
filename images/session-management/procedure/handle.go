package procedure

import (
	"crypto/sha256"
	"net/http"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
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
	}
}

// Handle says what becomes of a session by an event. The state that it is given stays as it is.
func Handle(in Input, st State, e Event) Output {
	t := &turn{in: in, was: st.Record, asker: st.Asker, create: st.Create}
	if st.Record != nil {
		t.s = st.Record.Clone()
	}
	switch {
	case t.s == nil:
		t.withoutSession(e)
	case t.s.Procedure != nil:
		t.duringProcedure(e)
	default:
		t.atRest(e)
	}
	return t.output()
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
	}
}

func (t *turn) duringProcedure(e Event) {
	switch {
	case answer(e):
		if s, ok := steps[Kind(t.s.Procedure.Kind)][t.s.Procedure.Step]; ok {
			s.take(t, e)
		}
	case e == Resumed{}:
		t.ask()
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
		t.heardFrom(e.AMF)
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
	case Unreachable:
		t.unreachable()
	case Due:
		t.timer(e.Name)
	case UnitRestarted:
		t.restore()
	case UnitGone:
		t.endByNetwork(n1.CauseReactivationRequested)
	case Resumed:
		if t.s.Told != nil { // a change of rules that somebody gave up
			t.begin(Restoration, restoreUnit)
		}
	}
}

// update sorts what an AMF wants by TS 29.502 5.2.2.3. What it wants of the access side and of the UE may come together.
func (t *turn) update(e Update) {
	if e.N1 != nil {
		t.fromUE(e.N1)
		return
	}
	switch {
	case e.Release:
		t.end(endSilently, 0)
	case e.Connection == Activating:
		t.activate()
	case e.Connection == Deactivated:
		t.deactivate()
	case e.N2 != nil || e.N2Type != "":
		t.fromAccess(e)
	default: // another AMF, a location: heardFrom has it
		t.reply(Updated{})
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

// malformed answers what cannot be read (TS 24.501 7): a status with its cause, or nothing where that clause says so.
func (t *turn) malformed(err error) {
	fault, ok := err.(*n1.Fault)
	if !ok || fault.Ignore {
		t.reply(Updated{})
		return
	}
	t.reply(Updated{N1: (&n1.Status{Header: n1.Header{SessionID: t.s.ID, PTI: fault.Header.PTI}, Cause: fault.Cause}).Encode()})
}

// fromAccess is what a gNB says, by way of the AMF.
func (t *turn) fromAccess(e Update) {
	transfer, err := n2.Decode(e.N2Type, e.N2)
	if err != nil {
		t.reply(Failed{Status: http.StatusForbidden, Cause: "N2_SM_ERROR", Detail: err.Error()})
		return
	}
	switch m := transfer.(type) {
	case *n2.SetupResponse:
		t.accessReady(m)
	case *n2.SetupUnsuccessful:
		t.accessRefused()
	case *n2.ReleaseResponse:
		t.accessReleased()
	default:
		t.reply(Failed{Status: http.StatusForbidden, Cause: "N2_SM_ERROR", Detail: "not for an SMF: " + string(e.N2Type)})
	}
}

// heardFrom remembers the AMF that speaks for the UE now (TS 23.502 4.2.7, 4.9.1.3: it may be another).
func (t *turn) heardFrom(a record.AMF) {
	if a.InstanceID != "" && a.InstanceID != t.s.AMF.InstanceID {
		t.s.AMF.InstanceID, t.s.AMF.StatusURI = a.InstanceID, ""
	}
	if a.StatusURI != "" {
		t.s.AMF.StatusURI = a.StatusURI
	}
	if a.Set != "" {
		t.s.AMF.Set = a.Set
	}
	if a.TAC != 0 {
		t.s.AMF.TAC, t.s.AMF.Cell = a.TAC, a.Cell
	}
}

// Names of times.
const (
	dueAccess  = "access"
	dueCommand = "command"
	duePaging  = "paging"
)

// DueNames are all that there are.
var DueNames = []string{dueAccess, dueCommand, duePaging}

func (t *turn) timer(name string) {
	t.due(name, 0)
	switch name {
	case dueAccess:
		t.accessSilent()
	case dueCommand:
		t.commandSilent()
	case duePaging:
		t.pageAgain()
	}
}

func digest(b []byte) (d [8]byte) {
	sum := sha256.Sum256(b)
	copy(d[:], sum[:])
	return d
}
