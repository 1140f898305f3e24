package procedure

import (
	"bytes"
	"slices"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/security"
	"core5g.dev/core5g/images/ngapcause"
)

// Who a UE is (TS 23.502 4.2.2.2.2 steps 6 to 9, TS 24.501 5.4.1 to 5.4.3, TS 33.501 6.1, 6.7.2):
//
//	6,7  Identity Request: SUCI               askIdentity, identified
//	9a   the AUSF challenges                  askChallenge, takeChallenge
//	9b   the UE answers                       askAuthentication, authenticated, authenticationFailed
//	9c   the AUSF confirms, and says SUPI     askConfirm, takeConfirmed; EAP: as often as it has more
//	     who else is that UE                  askNamed, takeNamed: one UE, one record
//	9d   Security Mode Command                askSecurity, securityComplete
//
// Nothing is written before the SUPI is known. What is kept of the UE by then, here or in another shard, is taken over by it: its sessions end where it has
// registered for the first time, and its old connection is released.

// authenticating says whether a procedure that authenticates is at that step: these have the same numbers in all.
func (t *turn) authenticating(number uint8) bool {
	return t.at(Registration, number) || t.at(Service, number)
}

// challenge under way.
type challenge struct {
	context           string
	rand, autn, hxres []byte
	eap, last         []byte
	response, reply   []byte // what the UE has answered: RES*, or EAP
	auts              []byte
	said              []byte // AUTS that this challenge was made for
	ksi               uint8
	kseaf             []byte
	supi              string
}

// abba of Release 15 and 16 (TS 33.501 A.7.1).
var abba = []byte{0, 0}

// identify the UE by what it says it is.
func (t *turn) identify(who n1.Identity) {
	p := t.s.Procedure
	switch who := who.(type) {
	case n1.SUCI:
		t.live.challenge = &challenge{context: ""}
		t.live.suci = who.String()
		if t.live.suci == "" {
			t.rejectRegistration(n1.CauseIdentityCannotBeDerived, "an identity that is none")
			return
		}
		t.next(regChallenge)
	case n1.IMEI, n1.IMEISV:
		if p.Flags&regEmergency == 0 {
			t.rejectRegistration(n1.CauseIdentityCannotBeDerived, "equipment is nobody")
			return
		}
		t.equipment(who)
	case n1.GUTI:
		if p.Flags&regAskedOther == 0 && t.live.nas != nil && t.elsewhere(who) {
			p.Flags |= regAskedOther
			t.next(regOther)
			return
		}
		t.askForName()
	default:
		t.askForName()
	}
}

// askForName: of a 5G-GUTI that is not known, or that somebody says who cannot show it.
func (t *turn) askForName() {
	p := t.s.Procedure
	if p.Flags&regAskedName != 0 {
		if !t.unproven() { // it has no SIM, perhaps
			t.rejectRegistration(n1.CauseIdentityCannotBeDerived, "the UE does not say who it is")
		}
		return
	}
	p.Flags |= regAskedName
	t.next(regIdentity)
}

func askIdentity(t *turn) { t.bid(&n1.IdentityRequest{Requested: n1.IdentitySUCI}) }

func (t *turn) identified(m *n1.IdentityResponse) {
	switch {
	case t.authenticating(regIdentity):
		t.answeredCommand()
		t.identify(m.Identity)
	case t.at(Registration, regEquipment):
		if p := t.s.Procedure; p.Flags&regAskedName != 0 && p.Attempts == 0 && !isEquipment(m.Identity) { // the access network has brought it twice: T3570 asks again
			p.Attempts++
			t.out.Refused = "it may be the answer of before"
			return
		}
		t.answeredCommand()
		t.equipment(m.Identity)
	default:
		t.out.Refused = "nobody has asked"
	}
}

// Step 9a.

func askChallenge(t *turn) {
	a := AskChallenge{Number: t.await(), SUCI: t.live.suci, PLMN: t.s.Place.PLMN}
	if a.SUCI == "" {
		a.SUPI = t.s.SUPI
		if o := t.live.other; o != nil && a.SUPI == "" {
			a.SUPI = o.SUPI
		}
	}
	if c := t.live.challenge; c != nil && c.auts != nil {
		a.AUTS, a.RAND = c.auts, c.rand
	}
	if a.SUCI == "" && a.SUPI == "" { // who has taken over does not know
		t.over("lost")
		t.gone()
		return
	}
	t.do(a)
}

func takeChallenge(t *turn, e Event) {
	c, ok := e.(Challenge)
	switch {
	case !ok:
		return
	case c.Outcome != Done && t.unproven():
		return
	case c.Outcome == Refused:
		t.rejectRegistration(refusalOfAUSF(c.Cause), "the AUSF refused: "+c.Cause)
		return
	case c.Outcome != Done:
		t.unanswerable("AUSF")
		return
	case c.EAP == nil && (len(c.RAND) != 16 || len(c.AUTN) != 16 || len(c.HXRES) != 16):
		t.unanswerable("AUSF, with a vector")
		return
	}
	var said []byte
	if was := t.live.challenge; was != nil {
		said = was.auts
	}
	t.live.challenge = &challenge{said: said, context: c.Context, rand: c.RAND, autn: c.AUTN, hxres: c.HXRES, eap: c.EAP, ksi: t.freeKSI(7)}
	t.next(regAuthenticate)
}

// refusalOfAUSF as UEs are told it (TS 29.524 4.1.1): one cause, once.
func refusalOfAUSF(cause string) n1.Cause {
	switch cause {
	case "SERVING_NETWORK_NOT_AUTHORIZED":
		return n1.CauseServingNetworkNotAuthorized
	case "INVALID_SCHEME_OUTPUT", "INVALID_HN_PUBLIC_KEY_IDENTIFIER", "UNSUPPORTED_PROTECTION_SCHEME":
		return n1.CauseIdentityCannotBeDerived
	}
	return n1.CauseIllegalUE
}

// freeKSI is none that the UE may have in use, nor not.
func (t *turn) freeKSI(not uint8) uint8 {
	used := t.request().KeySet
	for k := uint8(0); k < 7; k++ {
		if k != not && n1.KeySet(k) != used && (t.s.Security == nil || t.s.Security.Identifier != k) {
			return k
		}
	}
	return 0
}

// Step 9b.

func askAuthentication(t *turn) {
	c := t.live.challenge
	if c == nil { // the holder before had it: another challenge
		t.next(regChallenge)
		return
	}
	m := &n1.AuthenticationRequest{KeySet: n1.KeySet(c.ksi), ABBA: abba, EAP: c.eap}
	if c.eap == nil {
		r, a := n1.Challenge(c.rand), n1.Challenge(c.autn)
		m.RAND, m.AUTN = &r, &a
	}
	t.bid(m)
}

func (t *turn) authenticated(m *n1.AuthenticationResponse) {
	c := t.live.challenge
	if !t.authenticating(regAuthenticate) || c == nil {
		t.out.Refused = "nobody has asked"
		return
	}
	right := c.eap == nil && len(m.RES) == 16 && bytes.Equal(t.in.Keys.HXRES(c.rand, m.RES), c.hxres)
	if !right && t.ofBefore() {
		return
	}
	t.answeredCommand()
	switch {
	case c.eap != nil && m.EAP != nil:
		c.reply = m.EAP
	case right:
		c.response = m.RES
	default:
		t.notHim(nil, "a wrong answer to the challenge")
		return
	}
	t.next(regConfirm)
}

// ofBefore says, once, that what the UE has answered may be to the challenge of a holder before, and is none to this: T3560 asks again.
func (t *turn) ofBefore() bool {
	if !t.live.challenged {
		return false
	}
	t.live.challenged = false
	t.out.Refused = "it may be the answer to a challenge of before"
	return true
}

// notHim: TS 24.501 5.4.1.3.5. A UE that was known by its 5G-GUTI may be another than that: it is asked once who it is.
func (t *turn) notHim(eap []byte, why string) {
	p := t.s.Procedure
	if t.unproven() {
		return
	}
	if t.live.suci == "" && p.Flags&regAskedName == 0 {
		p.Flags |= regAskedName
		t.next(regIdentity)
		return
	}
	t.tell(&n1.AuthenticationReject{EAP: eap})
	t.over(why)
	if t.s.Security == nil || t.s.Phase != record.Registered { // what is kept of a registered UE is not lost by who cannot show to be it
		t.forget(why)
	}
	if t.s != nil {
		t.release(ngapcause.AuthenticationFailure)
	}
}

// authenticationFailed: TS 24.501 5.4.1.3.7 c to f.
func (t *turn) authenticationFailed(m *n1.AuthenticationFailure) {
	p, c := t.s.Procedure, t.live.challenge
	if !t.authenticating(regAuthenticate) || c == nil {
		t.out.Refused = "nobody has asked"
		return
	}
	if m.AUTS != nil && slices.Equal(m.AUTS[:], c.said) { // the access network has brought it twice: it is of the challenge before
		t.out.Refused = "the same failure again"
		return
	}
	if t.ofBefore() {
		return
	}
	t.answeredCommand()
	switch {
	case m.Cause == n1.CauseSynchFailure && m.AUTS != nil && c.eap == nil && p.Flags&regResynced == 0:
		p.Flags |= regResynced
		auts := *m.AUTS
		c.auts = auts[:]
		t.next(regChallenge)
	case m.Cause == n1.CauseKSIInUse && p.Flags&regNewKSI == 0:
		p.Flags |= regNewKSI
		c.ksi = t.freeKSI(c.ksi)
		t.next(regAuthenticate)
	default:
		t.notHim(nil, "authentication failed: "+m.Cause.String())
	}
}

// Step 9c.

// contextNotFound is what an AUSF says that does not know the challenge (TS 29.509 6.1.7.3): it was started anew, or has answered what was lost. That is not
// said of the UE, whose SIM an Authentication Reject would bar (TS 24.501 5.4.1.3.5).
const contextNotFound = "CONTEXT_NOT_FOUND"

func askConfirm(t *turn) {
	c := t.live.challenge
	if c == nil {
		t.next(regChallenge)
		return
	}
	t.do(AskConfirm{Number: t.await(), Context: c.context, Response: c.response, EAP: c.reply})
}

func takeConfirmed(t *turn, e Event) {
	r, ok := e.(Confirmed)
	c := t.live.challenge
	switch {
	case !ok || c == nil:
	case r.Outcome == Done && r.More:
		c.eap = r.EAP
		t.next(regAuthenticate)
	case r.Outcome == Done && r.Success && r.SUPI != "" && len(r.KSEAF) == 32:
		c.kseaf, c.supi, c.last = r.KSEAF, r.SUPI, r.EAP
		t.next(regNamed)
	case r.Outcome == Refused && r.Cause == contextNotFound && t.s.Procedure.Flags&regForgotten == 0:
		t.s.Procedure.Flags |= regForgotten
		t.s.Procedure.Flags &^= regResynced // it may have forgotten the UE's SQN, too
		t.next(regChallenge)
	case r.Outcome == Done || r.Outcome == Refused && r.Cause != contextNotFound:
		t.notHim(r.EAP, "the AUSF does not confirm")
	case t.unproven():
	default:
		t.unanswerable("AUSF")
	}
}

// One UE, one record.

func askNamed(t *turn) {
	c := t.live.challenge
	if c == nil {
		t.next(regChallenge)
		return
	}
	switch t.s.SUPI {
	case c.supi:
		t.named()
		return
	case "":
	default: // by a context that is another's
		t.notHim(nil, "the UE is another than its 5G-GUTI says")
		return
	}
	t.do(AskNamed{Number: t.await(), SUPI: c.supi})
}

// takeNamed takes over what is kept of the UE: its sessions, what other functions have of it, its connection, which is another.
func takeNamed(t *turn, e Event) {
	n, ok := e.(Named)
	switch {
	case !ok:
		return
	case n.Failed:
		t.unanswerable("session store")
		return
	}
	if old := n.Record; old != nil {
		is := old.Clone()
		fresh := t.s
		is.Shard, is.Procedure, is.N2, is.Place = fresh.Shard, fresh.Procedure, fresh.N2, fresh.Place
		is.Ability, is.DRX, is.Command, is.Paging, is.Handover = fresh.Ability, fresh.DRX, nil, nil, nil
		is.Coming, is.Remnant = nil, false
		if is.Security != nil { // until the UE has another, it may come with that one
			t.live.next = is.Security.Reserved
		}
		is.Unreached, is.Going, is.Lent = false, false, false // it is here
		t.s, t.was = is, old                                  // who watches it hears what has changed since
		t.capability = n.Capability
		for k := range t.s.Sessions {
			if s := &t.s.Sessions[k]; s.Up {
				s.Up, s.Silent = false, true
			}
		}
		if a := old.N2; a != nil && !a.Is(t.s.N2) {
			t.leave(a, ngapcause.ReleasedByDetectedMobility)
		}
		if len(t.s.Left) > 0 {
			t.dueLeft()
		}
		p := t.s.Procedure
		if m := t.request(); old.Phase == record.Registered && (m.RegistrationType == n1.MobilityRegistration || m.RegistrationType == n1.PeriodicRegistration) {
			p.Flags &^= regFirst
		}
		if old.Phase == record.Leaving { // what was ending ends with it
			t.s.Phase = record.Deregistered
			p.Flags |= regFirst
		}
	}
	t.s.SUPI = t.live.challenge.supi
	t.strayed()
	t.adopt()
	t.named()
}

// named: the context that authentication has made is the UE's next.
func (t *turn) named() {
	c := t.live.challenge
	if c.kseaf == nil { // of a UE that has shown nothing: a key that protects nothing (TS 33.501 10.2.2.2)
		c.kseaf = make([]byte, 32)
	}
	t.s.Coming = &record.Security{
		Key: t.in.Keys.AMF(c.kseaf, t.s.SUPI, abba), Identifier: c.ksi, Reserved: record.Block, ABBA: slices.Clone(abba),
	}
	t.live.nextComing = 0
	t.next(regSecurity)
}

// Step 9d.

func askSecurity(t *turn) {
	x := t.s.Coming
	if x == nil {
		t.next(regChallenge)
		return
	}
	able := n1.UESecurityCapability(t.s.Ability)
	algorithms, err := security.Choose(security.Order{Integrity: t.in.Settings.Integrity, Ciphering: t.in.Settings.Ciphering}, able)
	if t.isUnproven() {
		algorithms, err = n1.Algorithms{Integrity: security.Null, Ciphering: security.Null}, nil
	}
	if err != nil {
		t.rejectRegistration(n1.CauseSecurityCapabilitiesMismatch, "no algorithm in common")
		return
	}
	x.Ciphering, x.Integrity = algorithms.Ciphering, algorithms.Integrity
	m := &n1.SecurityModeCommand{
		Algorithms: algorithms, KeySet: n1.KeySet(x.Identifier), Replayed: able, AskIMEISV: t.s.PEI == "",
		Additional: &n1.AdditionalSecurity{Retransmit: true}, ABBA: abba,
	}
	if c := t.live.challenge; c != nil && c.last != nil {
		m.EAP = c.last
	}
	plain, ok := t.command(m, true)
	if !ok {
		t.rejectRegistration(n1.CauseProtocolErrorUnspecified, "the command cannot be written")
		return
	}
	t.downlink(t.protectComing(plain))
}

// protectComing protects a Security Mode Command, with the context that it takes into use.
func (t *turn) protectComing(plain []byte) []byte {
	t.says(n1.Downlink, plain)
	x := t.s.Coming
	if x == nil {
		return plain
	}
	return t.in.Keys.Protect(x, countOf(x, &t.live.nextComing), n1.IntegrityProtectedNewContext, plain)
}

func (t *turn) securityComplete(m *n1.SecurityModeComplete) {
	if !t.authenticating(regSecurity) || t.s.Coming == nil {
		t.out.Refused = "nobody has asked"
		return
	}
	t.s.Security, t.s.Coming = t.s.Coming, nil
	t.live.next, t.live.nextComing = t.live.nextComing, 0
	t.s.N2.Secured, t.s.Prove = true, false
	t.answeredCommand()
	t.rekey()
	if m.IMEISV != "" {
		t.s.PEI = n1.PEI(m.IMEISV)
	} else if m.PEI != nil {
		t.s.PEI = n1.PEI(m.PEI)
	}
	if len(m.Container) > 0 { // the whole of the request (TS 24.501 4.4.6)
		whole, err := n1.Decode(m.Container, n1.Uplink)
		if r, ok := whole.(*n1.RegistrationRequest); err == nil && ok {
			t.s.Procedure.Message = slices.Clone(m.Container)
			if r.DRX != nil {
				t.s.DRX = uint8(*r.DRX)
			}
			if len(r.Security) > 0 && len(t.s.Ability) == 0 {
				t.s.Ability = slices.Clone(r.Security)
			}
		}
	}
	t.secured()
}

// rekey an access network that has a context from the key of before (TS 33.501 6.9.4.2): its next handover would have keys that the UE has not.
func (t *turn) rekey() {
	if t.s.N2.Set {
		key := t.accessKey()
		t.send(&n2.UEContextModificationRequest{UE: ids(t.s.N2), Key: &key})
	}
}

// securityRejected: TS 24.501 5.4.2.5.
func (t *turn) securityRejected(m *n1.SecurityModeReject) {
	if !t.authenticating(regSecurity) {
		t.out.Refused = "nobody has asked"
		return
	}
	t.answeredCommand()
	t.s.Coming = nil
	t.over("the UE has refused the security mode: " + m.Cause.String())
	if t.s.Phase != record.Registered || t.s.Security == nil {
		t.forget("the UE has refused the security mode")
	}
	if t.s != nil {
		t.release(ngapcause.NormalRelease)
	}
}
