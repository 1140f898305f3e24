package procedure

import (
	"net/http"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// How the unit hears of a change, in whichever procedure: the record is changed by change(), tell() asks the unit for the difference
// between what it was told last (record.Told) and what the record says, and heard() takes the answer. While the answer is out, Told stays.
//
//	done      the unit has what the record says
//	refused   it has what it had, and the record says that again
//	unknown   it may have either, and is told all of it again, in a while or with the next change. Where rules may be there or not, that
//	          cannot be said (a unit refuses to create what there is), so that the session is restored, with the F-TEIDs and addresses
//	          that it has (TS 29.244 5.22.2): a unit of ours puts that in the place of what it has, in one step. One that refuses that
//	          has it deleted first, and may give what the session had to another in between

// change what the unit has to be told.
func (t *turn) change(f func(s *record.Session)) {
	if t.s.Told == nil {
		t.s.Told = told(t.s)
	}
	flows, downlink := slices.Clone(t.s.Flows), t.s.Downlink
	f(t.s)
	t.s.Handed = t.s.Handed && t.s.Downlink == downlink
	if t.s.Told.Flows == nil && !slices.Equal(flows, t.s.Flows) {
		t.s.Told.Flows = flows
	}
}

// told is what a unit has that has what the record says.
func told(s *record.Session) *record.Told {
	out := &record.Told{Phase: s.Phase, Downlink: s.Downlink, AMBR: s.AMBR}
	if h := s.Handover; h != nil {
		out.Buffering = h.Buffering
		if !h.Direct {
			out.Forwarding = h.Forwarding
		}
	}
	return out
}

// before is the session as its unit knows it.
func before(s *record.Session) *record.Session {
	b := *s
	b.Phase, b.Downlink, b.AMBR = s.Told.Phase, s.Told.Downlink, s.Told.AMBR
	if s.Told.Flows != nil {
		b.Flows = s.Told.Flows
	}
	if s.Told.Anew {
		b.Phase = record.Releasing
	}
	b.Usage = measured(s.Usage)
	b.Handover = &record.Handover{Buffering: s.Told.Buffering, Forwarding: s.Told.Forwarding}
	return &b
}

// Attempts of a step that tells the unit: how far it is.
const (
	changing  uint8 = 0
	deleting  uint8 = 1
	making    uint8 = 2
	replacing uint8 = 3
	// and at the branch, which hears behind the anchor.
	changingBranch  uint8 = 4
	deletingBranch  uint8 = 5
	makingBranch    uint8 = 6
	replacingBranch uint8 = 7
	// asking what it has measured, before replacing. It is not deleted for that: it could give the F-TEID to another session in between.
	asking uint8 = 8
)

// tell the unit; then has the answer, also where there is nothing to ask for. endMarkers ends the tunnel that is left.
func (t *turn) tell(endMarkers bool, then func(*turn, Unit)) {
	network := t.network()
	if network == nil || t.s.Told == nil {
		t.s.Told = nil
		then(t, Unit{Outcome: Done}) // the Slice is gone: End follows
		return
	}
	t.measure()
	if t.s.Told.Unsure {
		if metered(t.s.Usage) && t.s.UPSEID != 0 { // what it has measured would go with what it has
			t.s.Procedure.Attempts = asking
			t.do(AskUnit{Operation: Modify, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID, IEs: n4.Query(t.metering())})
			return
		}
		t.s.Usage.Number() // it may have said something of a request that it has not answered
		if !t.make(replacing) {
			t.due(dueUnit, unitRest)
			then(t, Unit{Outcome: Unknown})
		}
		return
	}
	t.s.Told.EndMarkers = endMarkers
	ies, err := n4.Modification(before(t.s), t.s, network.Settings(), endMarkers, t.s.Told.All)
	if err != nil { // the Slice has changed since the record did, and UE and access network have what it says
		t.change(func(*record.Session) { t.currentFilters(network) })
		ies, err = n4.Modification(before(t.s), t.s, network.Settings(), endMarkers, t.s.Told.All)
	}
	switch {
	case err != nil:
		t.takeBack()
		then(t, Unit{Outcome: Refused})
	case len(ies) == 0 && t.tellBranch(network):
	case len(ies) == 0:
		t.s.Told = nil
		t.measures()
		then(t, Unit{Outcome: Done})
	default:
		t.do(AskUnit{Operation: Modify, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID, IEs: ies})
	}
}

// heard takes an answer of the unit's; false: there is none yet.
func (t *turn) heard(e Event) (Unit, bool) {
	u, ok := e.(Unit)
	if !ok {
		return u, false
	}
	p := t.s.Procedure
	network := t.network()
	if network == nil {
		return Unit{Outcome: Unknown}, true
	}
	switch {
	case p.Attempts == changing && u.Outcome == Done && t.tellBranch(network):
		return u, false
	case p.Attempts == asking && (u.Outcome == Done || u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound):
		t.s.Usage.Number()
		if t.make(replacing) {
			return u, false
		}
		u = Unit{Outcome: Unknown}
	case p.Attempts == asking && u.Outcome == Refused: // it lacks a URR: all that it has measured comes with the deletion
		p.Attempts = deleting
		t.do(AskUnit{Operation: Delete, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID})
		return u, false
	case p.Attempts == asking:
	case p.Attempts >= changingBranch:
		if !t.heardBranch(&u, network) {
			return u, false
		}
	case p.Attempts == replacing && u.Outcome == Refused:
		p.Attempts = deleting
		t.do(AskUnit{Operation: Delete, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID})
		return u, false
	case p.Attempts == deleting:
		t.s.Usage.Number()
		if !t.make(making) {
			t.due(dueUnit, unitRest)
			return Unit{Outcome: Unknown}, true
		}
		return u, false
	case p.Attempts == making || p.Attempts == replacing:
		p.Attempts = changing
		if u.Outcome == Done && n4.Established(t.s, u.Established) != nil {
			u.Outcome = Unknown
		}
		if u.Outcome == Refused { // it has been deleted, and is not made: as a unit that has lost it
			u.Cause = ie.CauseSessionContextNotFound
		}
		if u.Outcome == Done && t.s.Branch != nil {
			if t.makeBranch(replacingBranch, network) {
				return u, false
			}
			u.Outcome = Unknown
		}
	}
	switch {
	case u.Outcome == Done:
		t.s.Told = nil
		t.measures()
	case u.Outcome == Refused && u.Cause != ie.CauseSessionContextNotFound:
		t.refusedByUnit(network)
	case u.Outcome == NotSent && !t.s.Told.Unsure && !t.heardBefore(network): // it has what it had; it is asked again later
		t.due(dueUnit, unitRest)
	case u.Outcome != Refused:
		t.s.Told.Unsure, t.s.Told.All = t.s.Told.Unsure || structural(t.s), true
		t.due(dueUnit, unitRest)
	}
	return u, true
}

// make the session in its unit, with what it has there; false: it cannot be said what it is.
func (t *turn) make(attempt uint8) bool {
	network := t.network()
	if network == nil {
		return false
	}
	t.currentFilters(network)
	ies, err := n4.Establishment(t.s, network.SettingsAt(t.s.Unit.NodeID))
	if err != nil {
		return false
	}
	t.s.Procedure.Attempts = attempt
	t.do(AskUnit{Operation: Establish, Unit: t.s.Unit, CPSEID: t.s.CPSEID, IEs: n4.Restored(ies)})
	return true
}

// tellBranch what it has not heard; false: nothing.
func (t *turn) tellBranch(network *configuration.DataNetwork) bool {
	if t.s.Branch == nil || t.s.Branch.UPSEID == 0 {
		return false
	}
	ies := n4.BranchModification(before(t.s), t.s, network.Settings(), t.s.Told.EndMarkers, t.s.Told.All)
	if len(ies) == 0 {
		return false
	}
	t.s.Procedure.Attempts = changingBranch
	t.askBranch(Modify, ies)
	return true
}

// heardBranch takes an answer of the branch's; false: there is none yet.
func (t *turn) heardBranch(u *Unit, network *configuration.DataNetwork) bool {
	p := t.s.Procedure
	switch {
	case p.Attempts == replacingBranch && u.Outcome == Refused:
		p.Attempts = deletingBranch
		t.askBranch(Delete, nil)
		return false
	case p.Attempts == deletingBranch:
		if t.makeBranch(makingBranch, network) {
			return false
		}
		u.Outcome = Unknown
	case p.Attempts == makingBranch || p.Attempts == replacingBranch:
		if u.Outcome == Done && n4.BranchEstablished(t.s, u.Established) != nil {
			u.Outcome = Unknown
		}
		if u.Outcome == Refused {
			u.Cause = ie.CauseSessionContextNotFound
		}
	}
	p.Attempts, t.lostBranch = changing, true
	return true
}

// branchEstablishment asks the branch for what follows from the record, with the breakouts' prefixes as they are now.
func (t *turn) branchEstablishment(network *configuration.DataNetwork) ([]*ie.IE, error) {
	t.s.Branch.Prefixes = n4.PrefixesOf(t.s.Branch.Breakouts, network.Settings())
	return n4.BranchEstablishment(t.s, network.Settings())
}

// makeBranch makes the session in its branch, with what it has there; false: it cannot be said what it is.
func (t *turn) makeBranch(attempt uint8, network *configuration.DataNetwork) bool {
	ies, err := t.branchEstablishment(network)
	if err != nil {
		return false
	}
	t.s.Procedure.Attempts = attempt
	t.askBranch(Establish, n4.Restored(ies))
	return true
}

// refusedByUnit: it has what it had. Where the branch says no, the anchor may have heard already, and hears again.
func (t *turn) refusedByUnit(network *configuration.DataNetwork) {
	heard := t.heardBefore(network)
	unsure := structural(t.s)
	t.takeBack()
	if heard {
		t.change(func(*record.Session) {})
		t.s.Told.All, t.s.Told.Unsure = true, unsure || t.s.Told.Unsure
		t.due(dueUnit, time.Second)
	}
}

// heardBefore says whether the anchor has heard of the change, and the branch has not.
func (t *turn) heardBefore(network *configuration.DataNetwork) bool {
	if !t.lostBranch {
		return false
	}
	ies, err := n4.Modification(before(t.s), t.s, network.Settings(), false, false)
	return err != nil || len(ies) > 0
}

// structural: rules come or go, rather than change.
func structural(s *record.Session) bool {
	return s.Told.Flows != nil || s.Told.Forwarding != told(s).Forwarding || unmeasured(s.Usage)
}

// takeBack what the unit has refused, perhaps long after it was first to be told: a unit that was away hears of a modification when UE and
// access network have made theirs, or gone back.
func (t *turn) takeBack() {
	was := t.s.Told
	gone := t.s.Wanted == nil && slices.ContainsFunc(was.Flows, func(f record.Flow) bool {
		n := indexOf(t.s.Flows, f.QFI)
		return f.Coming && (n < 0 || t.s.Flows[n].Refused)
	})
	if committed(was, t.s) {
		t.uncommitted, t.s.Behind = true, true
	}
	t.s.Phase, t.s.Downlink, t.s.AMBR = was.Phase, was.Downlink, was.AMBR
	if was.Flows != nil {
		t.s.Flows = was.Flows
	}
	if h := t.s.Handover; h != nil {
		h.Buffering = was.Buffering
		if !h.Direct {
			h.Forwarding = was.Forwarding
		}
	}
	t.s.Told = nil
	if gone { // nobody else has it: made anew, the unit has not either
		t.remakeWithout()
	}
}

// remakeWithout flows that the unit takes uplink packets of, that nobody has heard of, or has any more, and that it does not take back.
func (t *turn) remakeWithout() {
	t.change(notCome)
	t.s.Told.Unsure = true
	t.due(dueUnit, time.Second)
}

// committed says whether UE and access network have, or have not any more, what the session has otherwise than its unit. Filters that a
// Slice has otherwise meanwhile, and flows that an access network has lost, are not of that kind.
func committed(unit *record.Told, s *record.Session) bool {
	if unit.AMBR != s.AMBR {
		return true
	}
	if unit.Flows == nil {
		return false
	}
	has := func(f record.Flow) bool { return !f.Refused && !f.Coming }
	for _, f := range s.Flows {
		n := indexOf(unit.Flows, f.QFI)
		if has(f) && (n < 0 || !has(unit.Flows[n]) || !sameBeyondFilters(f, unit.Flows[n])) {
			return true
		}
	}
	return slices.ContainsFunc(unit.Flows, func(f record.Flow) bool { return has(f) && indexOf(s.Flows, f.QFI) < 0 })
}

func sameBeyondFilters(a, b record.Flow) bool {
	a, b = plain(a), plain(b)
	a.Filters, a.Directions, b.Filters, b.Directions = 0, 0, 0, 0
	return a == b
}

// again: who takes over does not know what of a change the unit has.
func (t *turn) again() {
	p := t.s.Procedure
	if t.s.Told != nil && structural(t.s) && tells(Kind(p.Kind), p.Step) {
		t.s.Told.Unsure = true
	}
	if tells(Kind(p.Kind), p.Step) {
		p.Attempts = changing
	}
	t.ask()
}

// unitSilent: a unit that did not answer is asked again.
func (t *turn) unitSilent() {
	if t.s.Told != nil && t.s.Phase != record.Releasing {
		t.begin(Connection, connectUnit)
	}
}

// toldRefused is what an AMF hears where the unit has refused.
var (
	unitRefused = Failed{Status: http.StatusInternalServerError, Cause: "UPF_NOT_RESPONDING", Detail: "the UPF refused the change"}
	unitIsMute  = Failed{Status: http.StatusGatewayTimeout, Cause: "UPF_NOT_RESPONDING", Detail: "the UPF did not answer"}
)

// tells says whether a step tells the unit.
func tells(kind Kind, step uint8) bool {
	switch kind {
	case Connection:
		return step != connectLetGo
	case Switching, Handing:
		return true
	case Charging:
		return step == chargeUnit
	case Modification:
		return step == modifyUnit || step == modifyCommit || step == modifyBackUnit
	}
	return false
}
