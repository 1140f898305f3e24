package procedure

import (
	"net/http"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// A session that its unit has lost is made again, with the F-TEID and the addresses that it had: UEs and access networks
// hear nothing of it (TS 23.527 4.3.2, TS 29.244 5.22.2).
//
//	1  what it has measured, where it has the session        restoreQuery
//	2  N4 session established                                restoreUnit
//	3  N4 session deleted, and 2 again, where it is refused  restoreDeletion
//
// A unit of ours that has a session of that CP F-SEID makes it what the record says, in one step. Others refuse, because what they have comes
// from an answer that was lost: that goes first.
const (
	restoreUnit     uint8 = 1
	restoreDeletion uint8 = 2
	// the same of a branch
	restoreBranch         uint8 = 3
	restoreBranchDeletion uint8 = 4
	// before restoreUnit
	restoreQuery uint8 = 5
)

var restoration = map[uint8]step{
	restoreDeletion: {ask: askAnchorDeletion, take: takeRemains},
	restoreUnit:     {ask: askRestoration, take: takeRestoration},
	restoreQuery:    {ask: askMeasured, take: takeMeasured},

	restoreBranchDeletion: {ask: askBranchDeletion, take: takeRemains},
	restoreBranch:         {ask: askBranchRestoration, take: takeRestoration},
}

// restorationRest is how long a unit that does not answer is left alone: all its sessions ask.
const restorationRest = 30 * time.Second

func (t *turn) restore(node string) {
	if t.s.Phase == record.Releasing { // there is nothing to restore
		return
	}
	t.lostBranch = t.isBranch(node)
	t.restoreLost()
}

func (t *turn) isBranch(node string) bool {
	return t.s.Branch != nil && t.s.Branch.NodeID == node && node != t.s.Unit.NodeID
}

// restoreLost makes the session anew at the unit that has lost it.
func (t *turn) restoreLost() {
	if t.lostBranch && t.s.Branch != nil {
		t.s.Branch.UPSEID = 0
		t.begin(Restoration, restoreBranch)
		return
	}
	t.s.UPSEID = 0 // it names nothing any more, or another one's session
	t.s.Usage.Number()
	t.begin(Restoration, restoreUnit)
}

// remake a session that a unit has by other rules.
func (t *turn) remake(node string, upSEID uint64) {
	switch {
	case t.s.Phase == record.Releasing:
		return
	case t.isBranch(node):
		t.s.Branch.UPSEID = upSEID
		t.begin(Restoration, restoreBranch)
	case metered(t.s.Usage): // what it has measured goes with the rules that it has
		t.s.UPSEID = upSEID
		t.begin(Restoration, restoreQuery)
	default:
		t.s.UPSEID = upSEID
		t.s.Usage.Number()
		t.begin(Restoration, restoreUnit)
	}
}

// askMeasured asks for all that there is (TS 29.244 8.2.39, QAURR): the unit may measure by other URRs than the record has.
func askMeasured(t *turn) {
	t.do(AskUnit{Operation: Modify, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID, IEs: n4.QueryAll()})
}

// takeMeasured: it is counted already (Handle). One that refuses says it with the deletion, one that does not answer is asked again.
func takeMeasured(t *turn, e Event) {
	u, ok := e.(Unit)
	switch {
	case !ok:
	case u.Outcome == Done, u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound:
		t.s.Usage.Number()
		t.next(restoreUnit)
	case u.Outcome == Refused:
		t.s.Procedure.Cause = deletedBefore
		t.next(restoreDeletion)
	default:
		t.unrestored()
	}
}

// deletedBefore, in the record's cause of a restoration: it is not deleted a second time.
const deletedBefore = 1

func askRestoration(t *turn) {
	network := t.network()
	if network == nil {
		t.over("the data network is gone")
		t.endByNetwork(n1.CauseReactivationRequested)
		return
	}
	t.currentFilters(network)
	ies, err := n4.Establishment(t.s, network.SettingsAt(t.s.Unit.NodeID))
	if err != nil {
		t.over(err.Error())
		t.endByNetwork(n1.CauseReactivationRequested)
		return
	}
	t.do(AskUnit{Operation: Establish, Unit: t.s.Unit, CPSEID: t.s.CPSEID, IEs: n4.Restored(ies), Urgency: t.urgency()})
}

func (t *turn) urgency() Urgency {
	switch {
	case t.asker != 0:
		return Awaited
	case t.s.Phase == record.Active:
		return Connected
	}
	return Resting
}

func askBranchRestoration(t *turn) {
	network := t.network()
	if network == nil || t.s.Branch == nil {
		t.over("the data network is gone") // End follows
		return
	}
	ies, err := t.branchEstablishment(network)
	if err != nil {
		t.over(err.Error())
		t.due(dueWay, wayRest)
		return
	}
	b := t.s.Branch
	t.do(AskUnit{Operation: Establish, Unit: record.Unit{NodeID: b.NodeID}, CPSEID: b.CPSEID, IEs: n4.Restored(ies), Urgency: t.urgency()})
}

func askBranchDeletion(t *turn) { t.askBranch(Delete, nil) }

// ofBranch says whether a restoration is the branch's.
func (t *turn) ofBranch() bool {
	return t.s.Procedure.Step == restoreBranch || t.s.Procedure.Step == restoreBranchDeletion
}

func takeRestoration(t *turn, e Event) {
	u, ok := e.(Unit)
	if !ok {
		return
	}
	established := n4.Established
	if t.ofBranch() {
		established = n4.BranchEstablished
	}
	switch {
	case u.Outcome == Done:
		if err := established(t.s, u.Established); err != nil {
			t.over(err.Error())
			t.endByNetwork(n1.CauseReactivationRequested)
			return
		}
		t.madeAnew()
		t.over("")
		t.reply(t.connectionIs())
		t.catchUp()
	case u.Outcome == Refused && t.s.Procedure.Cause != deletedBefore: // it may have the session of after its restart, otherwise than it is now
		t.s.Procedure.Cause = deletedBefore
		if t.ofBranch() {
			t.next(restoreBranchDeletion)
			return
		}
		t.next(restoreDeletion)
	case u.Outcome == Refused && t.ofBranch() && t.s.Left == nil: // its F-TEIDs are somebody else's: without it, and then perhaps with others
		t.over("the UPF refused")
		t.reply(unitRefused)
		t.take(configuration.Path{}, 0, byItself, nil)
	case u.Outcome == Refused: // its F-TEID or address is somebody else's: the UE asks for another session
		t.over("the UPF refused")
		if t.asker != 0 {
			t.reply(Failed{Status: http.StatusInternalServerError, Cause: "UPF_NOT_RESPONDING", Detail: "the UPF has lost the session and does not take it again"})
		}
		t.endByNetwork(n1.CauseReactivationRequested)
	default:
		t.unrestored()
	}
}

// madeAnew: a unit has all that the record says.
func (t *turn) madeAnew() {
	if told := t.s.Told; told != nil && t.s.Branch != nil { // the other one may not have heard
		told.Unsure, told.All = told.Unsure || structural(t.s), true
		t.due(dueUnit, time.Second)
	} else {
		t.s.Told = nil
	}
	t.measures()
}

// unrestored: it is asked again, in a while or when it says that it is back.
func (t *turn) unrestored() {
	if t.s.Told == nil {
		t.s.Told = told(t.s)
	}
	t.s.Told.Unsure = true
	t.due(dueUnit, restorationRest)
	t.over("no answer of the UPF")
	t.reply(Failed{Status: http.StatusGatewayTimeout, Cause: "UPF_NOT_RESPONDING", Detail: "the UPF did not answer"})
}

func takeRemains(t *turn, e Event) {
	u, ok := e.(Unit)
	switch {
	case !ok:
	case (u.Outcome == Done || u.Outcome == Refused) && t.ofBranch():
		t.s.Branch.UPSEID = 0
		t.next(restoreBranch)
	case u.Outcome == Done || u.Outcome == Refused:
		t.s.UPSEID = 0
		t.s.Usage.Number()
		t.next(restoreUnit)
	default:
		t.unrestored()
	}
}
