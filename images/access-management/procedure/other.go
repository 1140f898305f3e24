package procedure

import (
	"net/http"
	"slices"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"
)

// A UE that comes from another AMF, or goes to one (TS 23.502 4.2.2.2.2 steps 4, 5 and 10, TS 29.518 5.2.2.2.1, 5.2.2.2.2). All workers are one AMF: another is one
// of another set or region, or of another network, which the 5G-GUTI says.
//
//	it comes  4,5  its AMF is asked for it, with its request    askOther, takeOther
//	          9    it is authenticated by the SUPI that is said, so that no key of another network is taken over
//	               its PDU sessions are ours                    takeNamed: adopt
//	          10   its AMF hears what has become of it          over
//	          17   SMFs hear whose they are                     Session.Moved
//	it goes   5    the request is its own: it is given          lend
//	          10   it has gone: its sessions go on elsewhere    leftFor
//
// An AMF that does not answer, does not know the UE, or finds that the request is another's, costs a question for the UE's SUCI.

// AskOther asks the AMF that gave a 5G-GUTI for the UE.
type AskOther struct {
	Number Number
	GUTI   n1.GUTI
	// Initial registration, or else one for mobility.
	Initial bool
	// NAS is the UE's request, as it came.
	NAS []byte
}

// Other answers AskOther.
type Other struct {
	Number          Number
	Outcome         Outcome
	SUPI, PEI, GPSI string
	// Sessions that it has, with their SM contexts.
	Sessions []record.Session
}

// TellOther tells that AMF whether the UE is here now.
type TellOther struct {
	GUTI  n1.GUTI
	Taken bool
}

// Lend asks for a UE that has come to another AMF.
type Lend struct {
	From Token
	// NAS is its request there, which shows that it is that UE; nil: the other AMF has it shown.
	NAS []byte
}

// Lent answers Lend.
type Lent struct{ UE *record.UE }

// LeftFor says whether another AMF has the UE now.
type LeftFor struct {
	From  Token
	Taken bool
	// Release are PDU sessions that it does not take. PolicyMoved: it has made a policy association of its own.
	Release     []uint8
	PolicyMoved bool
}

func (AskOther) effect()  {}
func (TellOther) effect() {}
func (Other) event()      {}
func (Lend) event()       {}
func (LeftFor) event()    {}

// other is what another AMF has said of the UE.
type other struct {
	guti n1.GUTI
	Other
}

// elsewhere says whether a 5G-GUTI is another AMF's.
func (t *turn) elsewhere(g n1.GUTI) bool {
	s := t.in.Settings
	return g.Region != s.Region || g.Set != s.Set || s.plmn(g.PLMN.Digits()) == nil
}

func askOther(t *turn) {
	m := t.request()
	g, ok := m.Identity.(n1.GUTI)
	if !ok {
		t.next(regIdentity)
		return
	}
	t.do(AskOther{Number: t.await(), GUTI: g, Initial: initially(m.RegistrationType), NAS: t.live.nas})
}

func takeOther(t *turn, e Event) {
	o, ok := e.(Other)
	if !ok {
		return
	}
	g, _ := t.request().Identity.(n1.GUTI)
	if o.Outcome != Done || o.SUPI == "" || NamedByPEI(o.SUPI) {
		t.s.Procedure.Flags |= regAskedName
		t.next(regIdentity)
		return
	}
	t.live.other = &other{guti: g, Other: o}
	t.next(regChallenge)
}

// strayed notes that the UE was elsewhere, as its 5G-GUTI says: the UDM has heard of another AMF since, whether or not that was heard here, and so may the SMFs of
// sessions that the other was told of.
func (t *turn) strayed() {
	if !t.fromElsewhere() {
		return
	}
	t.s.Recorded, t.s.Known = false, false
	for n := range t.s.Sessions {
		if s := &t.s.Sessions[n]; s.Lent {
			s.Moved, s.Lent = true, false
		}
	}
}

// fromElsewhere says whether the UE registers by what another AMF has given it. It is not registered before the UDM has heard of that.
func (t *turn) fromElsewhere() bool {
	g, ok := t.request().Identity.(n1.GUTI)
	return ok && t.elsewhere(g)
}

// adopt what another AMF has of the UE, which has shown to be that one. Where something of it is kept here, that is of before: the UE has come by what the other has
// given it.
func (t *turn) adopt() {
	o := t.live.other
	if o == nil || o.SUPI != t.s.SUPI {
		t.tellOther(false)
		return
	}
	t.s.GPSI = o.GPSI
	if t.s.PEI == "" {
		t.s.PEI = o.PEI
	}
	for _, s := range o.Sessions {
		has := t.s.Session(s.ID)
		if has != nil && sameContext(has.Context, s.Context) {
			has.Moved = true
			continue
		}
		if has != nil {
			t.endSession(*has)
		}
		s.Up, s.Silent, s.Moved = false, false, true
		t.s.Add(s)
	}
	if !initially(t.request().RegistrationType) {
		t.s.Procedure.Flags &^= regFirst
	}
}

// tellOther what has become of the UE. Where it stays there, so do its sessions.
func (t *turn) tellOther(taken bool) {
	o := t.live.other
	if o == nil {
		return
	}
	if !taken {
		t.s.Sessions = slices.DeleteFunc(t.s.Sessions, func(s record.Session) bool { return s.Moved })
	}
	t.do(TellOther{GUTI: o.guti, Taken: taken})
	t.live.other = nil
}

// sameContext says whether two of them are one resource, whoever has marked it.
func sameContext(a, b string) bool {
	one, _ := record.UnmarkContext(a)
	other, _ := record.UnmarkContext(b)
	return one == other
}

// tellMoved has SMFs know whose their sessions are, until they have heard, but those that are to be set up: these hear it with that. What another access network had
// of them is down.
func (t *turn) tellMoved(but []uint8) {
	for n := range t.s.Sessions {
		if s := &t.s.Sessions[n]; s.Moved && !slices.Contains(but, s.ID) {
			t.deactivate(s)
		}
	}
}

// lend the UE to another AMF, which has a request of it.
func (t *turn) lend(e Lend) {
	if t.s.Phase != record.Registered || t.s.Security == nil || t.isUnproven() {
		t.reply(e.From, noContext)
		return
	}
	if t.at(Configuration, confRecord) && t.live.awaited != 0 { // the other is to tell the UDM behind this set
		t.out.Later = true
		return
	}
	if e.NAS != nil {
		if _, _, protected := t.open(e.NAS); !protected {
			t.reply(e.From, Failed{Status: http.StatusForbidden, Cause: "INTEGRITY_CHECK_FAIL", Detail: "the request is not this UE's"})
			return
		}
	}
	t.reply(e.From, Lent{UE: t.s.Clone()})
	t.s.Lent = true
	for n := range t.s.Sessions {
		t.s.Sessions[n].Lent = true
	}
}

// goes to another AMF, as the UDM says (step 14d): that one says in a moment what it has taken, or never will. Or the word is late, and of before the UE came
// back: whatever the UDM was told before, it hears again of a UE that shows to be here (catchUp).
func (t *turn) goes(from Token) {
	t.s.Going, t.s.Recorded, t.s.Known = true, false, false
	if t.s.Procedure != nil {
		t.s.Procedure.Flags &^= udmTold
	}
	t.due(dueMoved, movedTime)
	t.reply(from, Ended{})
}

// notGoing is a UE that has come here again, or that the other AMF has not taken: what it has here is as before.
func (t *turn) notGoing() {
	t.s.Lent = false
	for n := range t.s.Sessions {
		s := &t.s.Sessions[n]
		if s.Lent && s.Moved && s.Silent {
			t.due(dueSilent, silentTime)
		}
		s.Lent = false
	}
	if t.s.Going {
		t.s.Going = false
		t.due(dueMoved, 0)
	}
}

// leftFor another AMF: what that has taken goes on, and the UE hears nothing. What it was never told of it cannot have taken; nor does it have a UE that has been
// here since.
func (t *turn) leftFor(e LeftFor) {
	t.reply(e.From, Ended{})
	list, left := slices.Clone(t.s.Sessions), t.s.Lent || t.s.Going
	t.notGoing()
	if !e.Taken || !left || t.doing() == Deregistration {
		return
	}
	t.abandon()
	for _, s := range list {
		if s.Lent && !slices.Contains(e.Release, s.ID) {
			t.s.Remove(s.ID)
		}
	}
	if !e.PolicyMoved {
		t.s.Policy = ""
	}
	t.deregister(outAnswered|outElsewhere, 0, "another AMF has it")
}
