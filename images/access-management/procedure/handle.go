package procedure

import (
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/ngapcause"
)

// steps of all procedures, each in the order of its file. What takes the answer of a UE, or of an access network, is in fromUE and fromAccess.
var steps map[Kind]map[uint8]step

func init() { // the procedures call each other
	steps = map[Kind]map[uint8]step{
		Registration:   registration,
		Service:        service,
		Deregistration: deregistration,
		Configuration:  configuring,
		Switching:      switching,
	}
}

// Handle says what becomes of a UE by an event. The state that it is given stays as it is.
func Handle(in Input, st State, e Event) Output {
	t := &turn{in: in, was: st.Record, capability: st.Capability, live: st.live.clone()}
	if st.Record != nil {
		t.s = st.Record.Clone()
	}
	t.beginCounts()
	switch {
	case t.s == nil:
		t.withoutUE(e)
	case remnant(t.s):
		t.ofRemnant(e)
	default:
		t.handle(e)
	}
	return t.output()
}

// withoutUE: only a first message makes one. All others hear that there is none.
func (t *turn) withoutUE(e Event) {
	switch e := e.(type) {
	case Initial:
		t.initial(e)
	case FromAccess:
		t.unknownAt(e)
	case End: // it has
		t.reply(e.From, Ended{})
	case Rewatch, Unwatch:
		t.reply(From(e), noWatch)
	default:
		if From(e) == 0 {
			t.out.Refused = "there is no UE"
		}
		t.reply(From(e), noContext)
	}
}

// noContext is what those hear who ask for a UE that there is not.
var noContext = Failed{Status: 404, Cause: "CONTEXT_NOT_FOUND", Detail: "there is no such UE context"}

// unknownAt answers what names a UE that is not there (TS 38.413 10.6): the access network lets go of it. The last message of a connection is not answered.
func (t *turn) unknownAt(e FromAccess) {
	t.out.Refused = "there is no UE"
	switch m := e.Message.(type) {
	case *n2.UEContextReleaseComplete, *n2.HandoverFailure:
	case *n2.PathSwitchRequest: // the first of its connection
		t.refuseSwitch(e.At, m)
	default:
		t.answerError(e, ngapcause.UnknownLocalUEID)
	}
}

// answerError of a message, with the names that it has. An Error Indication is not answered (TS 38.413 10.5).
func (t *turn) answerError(e FromAccess, c n2.Cause) {
	if _, is := e.Message.(*n2.ErrorIndication); is {
		return
	}
	m := n2.NewErrorIndication(e.Message, c)
	amf, ran := n2.AMFUEID(e.At.AMF), n2.RANUEID(e.At.RAN)
	if m.AMF = &amf; m.RAN != nil {
		m.RAN = &ran
	}
	t.do(Send{To: e.At, Message: m})
}

func (t *turn) handle(e Event) {
	switch e := e.(type) {
	case Initial:
		t.initial(e)
	case FromAccess:
		t.fromAccess(e)
	case AccessLost:
		t.accessLost(e)
	case AccessBack:
		t.accessBack(e)
	case Appeared:
		t.appeared(e.GNB)
	case NotSent:
		t.notSent(e)
	case Due:
		t.timer(e.Name)
	case Resumed:
		t.resumed(e)
	case Taken:
		t.taken()
	case Transfer:
		t.transfer(e)
	case SessionEnded:
		t.sessionEnded(e)
	case SubscriptionChanged:
		t.subscriptionChanged()
	case SettingsChanged:
		t.settingsChanged()
	case PolicyChanged:
		t.policyChanged(e)
	case End:
		t.end(e)
	case Reach:
		t.reach(e)
	case Locate:
		t.locate(e)
	case Watch:
		t.watchUE(e)
	case Rewatch:
		t.rewatch(e)
	case Unwatch:
		t.unwatch(e)
	case Lend:
		t.lend(e)
	case LeftFor:
		t.leftFor(e)
	case SessionAnswer:
		t.sessionAnswered(e)
	case Paused:
		t.paused(e)
	default:
		t.answered(e)
	}
}

// answered: what the procedure has asked for. What was asked by one that is over is nobody's.
func (t *turn) answered(e Event) {
	if p := t.s.Procedure; p != nil && numberOf(e) == t.live.awaited && t.live.awaited != 0 {
		if s, ok := steps[Kind(p.Kind)][p.Step]; ok && s.take != nil {
			t.live.awaited = 0
			s.take(t, e)
			return
		}
	}
	t.out.Refused = "an answer that nobody waits for"
}

func numberOf(e Event) Number {
	switch e := e.(type) {
	case Named:
		return e.Number
	case Challenge:
		return e.Number
	case Confirmed:
		return e.Number
	case Recorded:
		return e.Number
	case Subscription:
		return e.Number
	case Policy:
		return e.Number
	case Other:
		return e.Number
	}
	return 0
}

// resumed: a new holder. What was asked of others is asked again; what a UE or an access network was told it answers, or its time comes.
func (t *turn) resumed(e Resumed) {
	coming := t.s.Coming != nil
	if e.Lost {
		t.s.Prove, t.s.Coming, t.s.Known = true, nil, false // nor is it known what the UDM has heard since
		if p := t.s.Procedure; p != nil {
			p.Flags &^= udmTold
		}
	}
	if a := t.s.N2; e.Lost && a != nil && (a.Secured || coming) {
		// Nobody knows which COUNTs the UE has seen, of either context: nothing more is ciphered for it, and it proves itself when it comes.
		a.Secured = false
		t.contextLost("the store has lost what the UE was told", ngapcause.NASUnspecified)
		if t.s == nil {
			return
		}
	} else {
		t.resumedAccess()
	}
	for n := range t.s.Sessions {
		if s := &t.s.Sessions[n]; s.Silent {
			t.deactivate(s)
		}
	}
	t.arrivedAgain()
	t.endAgain()
	t.leftAgain()
	if p := t.s.Paging; p != nil && t.s.N2 == nil { // whether or not the holder before has
		p.Attempts = max(p.Attempts, 1) - 1
		t.pageOnce()
	}
	if h := t.s.Handover; h != nil && h.Step != handMoving { // the containers were the holder's before
		t.handoverFailed(ngapcause.InteractionWithOtherProcedure, "the holder has changed")
	}
	p := t.s.Procedure
	if p == nil {
		return
	}
	if t.at(Configuration, confRecord) {
		// The UE may have registered with another AMF since, from which the UDM would take it: it is told of one that comes next (catchUp).
		t.next(confSubscription)
		return
	}
	if k := t.doing(); k == Registration || k == Service {
		if t.s.Command != nil && (t.authenticating(regIdentity) || t.authenticating(regSecurity)) { // the UE was asked, and T3560 is kept
			return
		}
		if t.authenticating(regAuthenticate) { // what it was challenged with is not known any more
			t.s.Command = nil
			t.due(dueCommand, 0)
		}
		p.Sessions = 0 // what SMFs were asked for they are asked again
		p.Flags &^= regTold | svcTold
	}
	if t.doing() == Switching { // what they have answered is not known any more
		p.Failed, p.Sessions = p.Failed|p.Sessions, 0
	}
	t.ask()
}

// taken: another shard has the UE, and a record of its own. Nobody but access networks hears of it.
func (t *turn) taken() {
	if a := t.s.N2; a != nil && !a.Releasing && !a.Lost {
		t.do(Send{To: *a, Message: releaseCommand(a, ngapcause.ReleasedByDetectedMobility)})
	}
	t.moved = true
	t.gone()
}
