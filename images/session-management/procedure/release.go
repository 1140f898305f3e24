package procedure

import (
	"cmp"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"
)

// PDU session release (TS 23.502 4.3.4.2, TS 24.501 6.3.3, 6.4.3):
//
//	 1  the UE asks, the network decides, the AMF has lost the UE     releaseByUE, endByNetwork, end
//	 2  N4 session deleted                                            endUnit
//	12  policy association ended                                      endPolicy
//	    the last usage is charged (TS 32.255 5.2.2.2.4)               endCharging (charging.go)
//	 3  command to UE and access network                              endTransfer, or in the answer to the UE's request
//	10  the UE's answer                                               releaseComplete; the command again: commandSilent
//	11  the AMF is told, and the record is gone                       endStatus
const (
	endUnit     uint8 = 1
	endPolicy   uint8 = 2
	endTransfer uint8 = 3
	endStatus   uint8 = 4
	endCharging uint8 = 5 // behind endPolicy
)

var ending = map[uint8]step{
	endUnit:     {ask: askDeletion, take: takeDeletion},
	endPolicy:   {ask: askPolicyEnd, take: takePolicyEnd},
	endTransfer: {ask: askEndTransfer, take: takeEndTransfer},
	endStatus:   {ask: askStatus, take: takeStatus},
	endCharging: {ask: askClosing, take: takeClosing},
}

// How a session ends. The number is in the record, as the attempts of a step that is never repeated otherwise.
type manner uint8

const (
	// endSilently: the AMF knows, and the UE is told by it or not at all.
	endSilently manner = 1
	// endWithNotice: the AMF is to hear that the context is gone.
	endWithNotice manner = 2
	// endForAnother: a new session of the same name takes its place.
	endForAnother manner = 3
	// endWithCommand: the UE is told first, with the procedure's message, in the answer to the AMF; where that cannot be answered
	// any more, as endByCommand.
	endWithCommand manner = 4
	// endWithReject: the UE is told that there is none, by the AMF, which then hears that the context is gone.
	endWithReject manner = 5
	// endForAccess: the answer has the end of the access network's resources, and nobody else is told.
	endForAccess manner = 6
	// endByCommand: the UE is told first, with the procedure's message, in a transfer.
	endByCommand manner = 7
)

// Timers of TS 24.501 10.3: T3592, and T3591 alike.
const (
	commandTime     = 16 * time.Second
	commandAttempts = 5
)

func (t *turn) commandTime() time.Duration { return cmp.Or(t.in.CommandTime, commandTime) }

// end the session, for a cause that the access network may be told.
func (t *turn) end(how manner, cause n1.Cause) {
	t.due(dueAccess, 0)
	t.due(duePaging, 0)
	t.due(dueCommand, 0)
	t.due(dueHandover, 0)
	t.due(dueUnit, 0)
	t.due(dueBehind, 0)
	if t.s.Left != nil || t.s.Branch != nil {
		t.due(dueWay, 0)
	}
	if t.s.Usage != nil {
		t.due(dueCharge, 0)
	}
	if t.s.Control != nil {
		t.due(duePolicy, 0)
	}
	t.s.Phase, t.s.Command, t.s.Handover, t.s.Told, t.s.Wanted = record.Releasing, nil, nil, nil, nil
	t.s.Procedure = &record.Procedure{Kind: uint8(Ending), Began: t.in.Now.UnixMilli(), Cause: uint8(cause), PTI: uint8(how)}
	t.next(endUnit)
}

func (t *turn) manner() manner { return manner(t.s.Procedure.PTI) }

// endTelling the UE with a reject that was made already.
func (t *turn) endTelling(reject []byte) {
	t.end(endWithReject, 0)
	t.s.Procedure.Message = reject
}

// endByNetwork: step 1 b to f.
func (t *turn) endByNetwork(cause n1.Cause) {
	if t.s.Phase == record.Releasing {
		t.reply(Ended{})
		return
	}
	t.endTold(endByCommand, cause)
}

func (t *turn) endTold(how manner, cause n1.Cause) {
	t.end(how, cause)
	t.s.Procedure.Message = (&n1.ReleaseCommand{SessionID: t.s.ID, Cause: cause}).Encode()
}

// releaseByUE: step 1a. The command comes with the answer.
func (t *turn) releaseByUE(m *n1.ReleaseRequest) {
	command := (&n1.ReleaseCommand{SessionID: t.s.ID, PTI: m.PTI, Cause: n1.CauseRegularDeactivation}).Encode()
	if t.s.Phase == record.Releasing { // TS 24.501 6.4.3.6: both have asked
		if t.s.Command != nil {
			command = t.s.Command.Message
		}
		t.reply(Updated{N1: command})
		return
	}
	t.end(endWithCommand, n1.CauseRegularDeactivation)
	t.s.Procedure.Message = command
}

// releaseByAMF: step 1 of TS 29.502 5.2.2.3.8 to 5.2.2.3.11, with a cause of 6.1.6.3.8. The AMF gives the UE, or its access network, what is in
// the answer.
func (t *turn) releaseByAMF(cause string) {
	switch {
	case t.s.Phase == record.Releasing:
		t.reply(Updated{})
	case cause == "REL_DUE_TO_SLICE_NOT_AVAILABLE", cause == "REL_DUE_TO_SLICE_NOT_AUTHORIZED":
		t.endTold(endWithCommand, n1.CauseReactivationRequested)
	default: // such as REL_DUE_TO_DUPLICATE_SESSION_ID: the UE has given the name to another session, and only the access network is told
		t.end(endForAccess, 0)
	}
}

// Step 2.

// askDeletion at every unit that has the session, one after the other: what was left, the branch, the anchor.
func askDeletion(t *turn) {
	switch left := t.s.Left; {
	case left != nil && left.NodeID != "":
		askDrop(t)
	case t.s.Branch != nil:
		t.askBranch(Delete, nil)
	default:
		askAnchorDeletion(t)
	}
}

func askAnchorDeletion(t *turn) {
	if t.s.UPSEID == 0 {
		// The unit may have it all the same, where its answer was lost: it is asked by our name of it.
		t.do(AskUnit{Operation: Delete, Unit: t.s.Unit, CPSEID: t.s.CPSEID})
		return
	}
	t.do(AskUnit{Operation: Delete, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID})
}

func takeDeletion(t *turn, e Event) {
	if _, ok := e.(Unit); !ok {
		return
	}
	if left, branch := t.s.Left, t.s.Branch; left != nil || branch != nil {
		if t.s.Left = nil; left == nil || left.NodeID == "" {
			t.s.Branch = nil
		}
		if branch != nil || left.NodeID != "" { // it was theirs
			t.next(endUnit)
			return
		}
	}
	// Without an answer the unit may keep it: who lists its sessions finds one that nobody has, and deletes it.
	t.s.UPSEID = 0
	if t.s.Policy != "" {
		t.next(endPolicy)
		return
	}
	t.close()
}

// close charging, where there is something to say.
func (t *turn) close() {
	if t.uncharged() {
		t.next(endCharging)
		return
	}
	t.told()
}

// Step 12.

func askPolicyEnd(t *turn) { t.do(AskPolicy{Operation: DeletePolicy, Session: t.s.Clone()}) }

func takePolicyEnd(t *turn, e Event) {
	if _, ok := e.(Policy); !ok {
		return
	}
	t.s.Policy, t.s.Control = "", nil
	t.close()
}

// told: what is left is what others hear of it.
func (t *turn) told() {
	switch t.manner() {
	case endForAnother:
		t.another()
	case endSilently:
		t.reply(Ended{})
		t.forget("")
	case endWithNotice:
		t.next(endStatus)
	case endForAccess:
		answer := Updated{}
		if b := releaseCommand(t.s); b != nil {
			answer.N2, answer.N2Type = b, n2.InfoReleaseCommand
		}
		t.reply(answer)
		t.forget("")
	case endWithReject, endByCommand:
		t.next(endTransfer)
	case endWithCommand:
		if t.asker == 0 {
			t.next(endTransfer)
			return
		}
		command, n2end := t.s.Procedure.Message, releaseCommand(t.s)
		t.awaitComplete(1)
		answer := Updated{N1: command}
		if n2end != nil {
			answer.N2, answer.N2Type = n2end, n2.InfoReleaseCommand
		}
		t.reply(answer)
	}
}

// releaseCommand for the access network (TS 38.413 9.3.4.12), where it has the session.
func releaseCommand(s *record.Session) []byte {
	if s.Downlink == (record.Tunnel{}) {
		return nil
	}
	b, err := (&n2.ReleaseCommand{Cause: ngapcause.NormalRelease}).Encode()
	if err != nil {
		return nil
	}
	return b
}

// awaitComplete: the UE has the command, or will have it.
func (t *turn) awaitComplete(attempts uint8) {
	p := t.s.Procedure
	t.s.Command = &record.Command{Message: p.Message, PTI: ptiOf(p.Message), Attempts: attempts, Began: t.in.Now.UnixMilli(), Release: true}
	t.over("")
	t.due(dueCommand, t.commandTime())
}

// ptiOf a message to the UE: its third octet.
func ptiOf(message []byte) uint8 {
	if len(message) < 3 {
		return 0
	}
	return message[2]
}

// Step 3.

func askEndTransfer(t *turn) {
	a := AskTransfer{N1: t.s.Procedure.Message, SkipIdle: true}
	if b := releaseCommand(t.s); b != nil {
		a.N2, a.N2Type = b, n2.InfoReleaseCommand
	}
	t.transfer(a)
}

func takeEndTransfer(t *turn, e Event) {
	x, ok := e.(Transferred)
	if !ok {
		return
	}
	// A UE that is not reached learns of it with its next Service Request (TS 24.501 5.6.1.4, PDU session status).
	if t.manner() == endWithReject || x.Outcome != Done || x.Skipped {
		t.next(endStatus)
		return
	}
	t.awaitComplete(1)
	t.reply(Ended{})
}

// releaseComplete: step 10. A UE that answers what was not asked hears of it (TS 24.501 7.3.1).
func (t *turn) releaseComplete(m *n1.ReleaseComplete) {
	c := t.s.Command
	switch {
	case c != nil && c.Release && c.PTI == m.PTI:
	case m.PTI != 0:
		t.status5GSM(m.PTI, n1.CausePTIMismatch)
		return
	default:
		t.status5GSM(0, n1.CauseMessageTypeNotCompatible)
		return
	}
	t.reply(Updated{})
	t.s.Procedure = &record.Procedure{Kind: uint8(Ending), Began: t.s.Command.Began, PTI: uint8(endWithNotice)}
	t.s.Command = nil
	t.due(dueCommand, 0)
	t.next(endStatus)
}

// accessReleased: step 7. A session that stays was let go of (letGo), perhaps with a tunnel that it had said before it heard so.
func (t *turn) accessReleased() {
	switch t.s.Phase {
	case record.Active:
		t.idle()
		return
	case record.Releasing:
		t.s.Downlink = record.Tunnel{}
	}
	t.reply(Updated{})
}

// status: TS 24.501 6.5.3. A UE that knows no such session has none.
func (t *turn) status(m *n1.Status) {
	c := t.s.Command
	switch {
	case m.Cause == n1.CauseInvalidPDUSessionIdentity, m.Cause == n1.CauseSessionDoesNotExist:
		t.reply(Updated{})
		t.end(endWithNotice, 0)
	case c != nil && !c.Release && c.PTI == m.PTI && t.s.Wanted != nil &&
		(m.Cause == n1.CausePTIMismatch || m.Cause == n1.CauseInvalidPTI || m.Cause == n1.CauseMessageTypeNotImplemented):
		t.reply(Updated{})
		t.abort("the UE does not know what it is about")
	default:
		t.reply(Updated{})
	}
}

// status5GSM answers a UE that has said what cannot be understood as the session is.
func (t *turn) status5GSM(pti uint8, cause n1.Cause) {
	t.reply(Updated{N1: (&n1.Status{Header: n1.Header{SessionID: t.s.ID, PTI: pti}, Cause: cause}).Encode()})
}

// commandSilent: T3591 or T3592 has expired. The command again, and after the fifth time the session ends all the same.
func (t *turn) commandSilent() {
	c := t.s.Command
	if c == nil {
		return
	}
	switch {
	case c.Attempts < commandAttempts:
	case c.Release:
		t.s.Command = nil
		t.s.Procedure = &record.Procedure{Kind: uint8(Ending), Began: c.Began, PTI: uint8(endWithNotice)}
		t.next(endStatus)
		return
	default:
		t.commandUnanswered()
		return
	}
	c.Attempts++
	t.due(dueCommand, t.commandTime())
	again := t.toldAgain()
	a := AskTransfer{N1: again.N1, N2: again.N2, N2Type: again.N2Type, SkipIdle: true, Unawaited: true}
	if b := releaseCommand(t.s); c.Release && b != nil {
		a.N2, a.N2Type = b, n2.InfoReleaseCommand
	}
	t.transfer(a)
}

// Step 11.

const statusReleased = "PDU_SESSION_RELEASED"

func askStatus(t *turn) {
	if t.s.AMF.StatusURI == "" {
		t.reply(Ended{})
		t.forget("")
		return
	}
	t.do(AskStatus{URI: t.s.AMF.StatusURI, Cause: statusReleased})
}

// takeStatus: the AMF that has not heard finds out when it asks for the context next.
func takeStatus(t *turn, e Event) {
	if _, ok := e.(Notified); ok {
		t.reply(Ended{})
		t.forget("")
	}
}

// forget the session: nothing of it is left with anybody who was reached.
func (t *turn) forget(cause string) {
	t.register(true)
	t.unwatch()
	if t.uncharged() {
		t.lingers()
		return
	}
	t.gone(cause)
}

// another: the session that took the name goes, and the request for the new one is looked at as if it came now.
func (t *turn) another() {
	c := t.create
	if t.uncharged() {
		t.do(TellUncharged{Session: t.s.Clone()})
	}
	t.unwatch()
	t.gone("")
	if c == nil { // who asked has asked a pod that died: they ask again
		return
	}
	c.From = t.asker
	t.establish(*c)
}
