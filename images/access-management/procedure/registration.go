package procedure

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// Registration (TS 23.502 4.2.2.2.2, TS 24.501 5.5.1):
//
//	 1,3    Registration Request                     register
//	 4,5    the AMF of before, where it is another       regOther (other.go)
//	 6,7    identity                                 regIdentity (authentication.go)
//	 8,9    authentication, security                 regChallenge to regSecurity (authentication.go)
//	14a     the UDM has this set as the UE's AMF     regRecord
//	14b,c   subscription, and its changes            regRecord, beside; regSubscription by itself
//	15,16   policy association                       regPolicy
//	17      PDU sessions: those that the UE has      regSessions
//	        not any more end, those that have
//	        packets are set up
//	21      Registration Accept                      regAccept
//	22      Registration Complete                    registered; the accept again: commandSilent
//
// A UE whose message is protected by the context that is kept is not authenticated anew, unless what it was told may be lost. A periodic registration,
// and one that changes nothing, goes from step 3 to step 17, unless the UDM may not know what it was told (record.UE.Known).
//
// A registration for emergency services goes from step 9 to step 17 (emergency.go).
//
// Refusals, with their 5GMM cause: 11 PLMN, 12 tracking area, 62 no slice, 7 no subscription or barred, 3 the AUSF does not know it or authentication
// failed, 22 with T3346 where another function does not answer, or in a storm, 23 no algorithm in common, 9 no identity is to be had, 111 an
// emergency registration where there are no such services, 5 one of equipment that is not served without authentication. Each is said once, and the connection is released behind it.
const (
	regIdentity     uint8 = 1
	regChallenge    uint8 = 2
	regAuthenticate uint8 = 3
	regConfirm      uint8 = 4
	regNamed        uint8 = 5
	regSecurity     uint8 = 6
	regRecord       uint8 = 7
	regSubscription uint8 = 8
	regPolicy       uint8 = 9
	regSessions     uint8 = 10
	regAccept       uint8 = 11
	regEquipment    uint8 = 12 // behind regIdentity
	regOther        uint8 = 13 // before regIdentity
)

var registration = map[uint8]step{
	regIdentity:     {ask: askIdentity},
	regChallenge:    {ask: askChallenge, take: takeChallenge},
	regAuthenticate: {ask: askAuthentication},
	regConfirm:      {ask: askConfirm, take: takeConfirmed},
	regNamed:        {ask: askNamed, take: takeNamed},
	regSecurity:     {ask: askSecurity},
	regRecord:       {ask: askRegRecording, take: takeRecorded},
	regSubscription: {ask: askSubscribed, take: takeSubscribed},
	regPolicy:       {ask: askRegPolicy, take: takeRegPolicy},
	regSessions:     {ask: askRegSessions},
	regAccept:       {ask: askRegAccept},
	regEquipment:    {ask: askEquipment},
	regOther:        {ask: askOther, take: takeOther},
}

// Flags of a registration.
const (
	regProtected uint16 = 1 << iota // the request was protected by the context that is kept
	regFirst                        // an initial registration: sessions of before are no more
	regTold                         // sessions were told, or asked for
	regResynced                     // the UE's SQN was another, once
	regAskedName                    // the UE was asked for its SUCI
	regReset                        // the SUPI was known, and the record is what was kept
	regEmergency
	regNewKSI // another ngKSI was tried
)

// Flags of service requests are between.
const (
	regAskedOther uint16 = 1 << 11 // the AMF of before was asked for the UE
	regForgotten  uint16 = 1 << 12 // the AUSF had forgotten the challenge, once
)

// udmTold is a flag of registrations and configurations: the UDM was told in it that this set has the UE.
const udmTold uint16 = 1 << 13

// register: steps 1 and 3.
func (t *turn) register(m *n1.RegistrationRequest, plain []byte, protected, storm bool) {
	p := t.begin(Registration)
	p.Message = plain
	t.live.suci = ""
	if protected {
		t.notGoing()
	}
	kind := m.RegistrationType
	if protected {
		p.Flags |= regProtected
	}
	if initially(kind) || t.s.Phase != record.Registered {
		p.Flags |= regFirst
	}
	emergency := t.forEmergency(kind)
	if emergency {
		p.Flags |= regEmergency
	}
	plmn := t.in.Settings.plmn(t.s.Place.PLMN)
	switch {
	case kind == n1.EmergencyRegistration && t.in.Settings.Emergency == nil: // a UE looks for another network
		t.rejectRegistration(n1.CauseProtocolErrorUnspecified, "no emergency services")
		return
	case plmn == nil:
		t.rejectRegistration(n1.CausePLMNNotAllowed, "the PLMN is not served")
		return
	case emergency: // wherever the UE is, and whatever else there is to do
	case !plmn.serves(t.s.Place.TAC):
		t.rejectRegistration(n1.CauseTrackingAreaNotAllowed, "the tracking area is not served")
		return
	case storm && !(protected && kind == n1.PeriodicRegistration):
		t.rejectRegistration(n1.CauseCongestion, "a storm")
		return
	}
	if len(m.Security) > 0 {
		t.s.Ability = slices.Clone(m.Security)
	}
	if m.DRX != nil {
		t.s.DRX = uint8(*m.DRX)
	}
	switch {
	case protected && !t.mustProve():
		t.secured()
	case protected: // who it is is known
		t.next(regChallenge)
	default:
		t.identify(m.Identity)
	}
}

// initially: TS 24.501 9.11.3.7; what is not known there is an initial registration.
func initially(kind n1.RegistrationType) bool {
	return kind != n1.MobilityRegistration && kind != n1.PeriodicRegistration
}

// request of the UE's, as it is kept.
func (t *turn) request() *n1.RegistrationRequest {
	m, err := n1.Decode(t.s.Procedure.Message, n1.Uplink)
	if err != nil {
		return &n1.RegistrationRequest{}
	}
	r, ok := m.(*n1.RegistrationRequest)
	if !ok {
		return &n1.RegistrationRequest{}
	}
	return r
}

// secured: who the UE is is known, and what it says is protected.
func (t *turn) secured() {
	p := t.s.Procedure
	if t.doing() == Service {
		t.next(svcSessions)
		return
	}
	if m := t.request(); initially(m.RegistrationType) || m.Update != nil && m.Update.RadioCapability { // TS 23.501 5.4.4.1: its access network asks it
		t.capability, t.live.radio = nil, nil
	}
	if p.Flags&regEmergency != 0 && p.Flags&regFirst == 0 {
		t.emergencySecured()
		return
	}
	if p.Flags&regFirst != 0 { // step 17, for sessions of before: the UE has none (TS 24.501 5.5.1.2.2)
		for n := range t.s.Sessions {
			t.endSession(t.s.Sessions[n])
		}
		t.s.Sessions = nil
		if p.Flags&regEmergency != 0 {
			t.emergencySecured()
			return
		}
		t.next(regRecord)
		return
	}
	if !t.s.Recorded || !t.s.Known {
		t.next(regRecord)
		return
	}
	t.known()
}

// known: the UDM need not hear of the UE, and is asked only for what may be another.
func (t *turn) known() {
	if t.outdated() {
		t.next(regSubscription)
		return
	}
	t.next(regSessions)
}

// outdated says whether the UE may have other slices, or another area, than by the record.
func (t *turn) outdated() bool {
	m := t.request()
	return !t.s.Recorded || t.s.Behind || !t.s.Area.Has(t.s.Place) ||
		m.RegistrationType != n1.PeriodicRegistration && !slices.EqualFunc(slicesAsked(m.Requested), t.s.Asked, record.Slice.Is)
}

func slicesAsked(list n1.NSSAI) []record.Slice {
	var out []record.Slice
	for _, s := range list {
		out = append(out, sliceFrom(s.SNSSAI))
	}
	return out
}

// rejectRegistration: TS 24.501 5.5.1.2.5, 5.5.1.3.5. It is said once, and the connection goes. What was kept of the UE stays kept where it was not this one's
// to lose: a UE that is registered, and whose registration fails for a reason of the network's, is registered.
func (t *turn) rejectRegistration(c n1.Cause, why string) {
	t.rejectWith(&n1.RegistrationReject{Cause: c}, why)
}

func (t *turn) rejectWith(m *n1.RegistrationReject, why string) {
	if m.Cause == n1.CauseCongestion {
		m.T3346 = timer2(t.backoff())
	}
	if t.doing() == Service {
		t.tell(&n1.ServiceReject{Cause: m.Cause, T3346: m.T3346})
	} else {
		t.tell(m)
	}
	t.over(why)
	keeps := t.s.Phase == record.Registered && m.Cause == n1.CauseCongestion
	if !keeps {
		t.forget(why)
	}
	if t.s != nil {
		t.release(ngapcause.NormalRelease)
	}
}

func (t *turn) backoff() time.Duration {
	if t.in.Settings.Backoff > 0 {
		return t.in.Settings.Backoff
	}
	return congestionTime
}

func timer2(d time.Duration) *n1.Timer2 {
	v := n1.Timer2(d)
	return &v
}

// unanswerable: another function does not answer, or not now.
func (t *turn) unanswerable(who string) {
	t.rejectRegistration(n1.CauseCongestion, "no answer of the "+who)
}

// Step 14a.

func askRecording(t *turn) { t.do(t.recording()) }

func (t *turn) recording() AskRecording {
	t.s.Recording = max(t.s.Procedure.Began, t.s.Recording+1)
	return AskRecording{
		Number: t.await(), SUPI: t.s.SUPI, PEI: t.s.PEI, Initial: t.doing() == Registration && t.s.Procedure.Flags&regFirst != 0, Since: t.recordedSince(), Voice: t.in.Settings.Voice,
	}
}

// askRegRecording asks for steps 14b and 14c in the same breath: neither needs the other's answer, and the UE waits for both.
func askRegRecording(t *turn) {
	e := t.recording()
	sub := t.subscription()
	sub.Number = e.Number
	e.Subscription = &sub
	t.do(e)
}

// recordedSince is when the registration began of which the UDM was told last, or was to be; zero: a program before has told it.
func (t *turn) recordedSince() time.Time {
	if t.s.Recording == 0 {
		return time.Time{}
	}
	return time.UnixMilli(t.s.Recording)
}

// maybeRecorded: the UDM was told, and has heard of nothing else that is known. What it has said of another AMF may have been of before; where it was not, it passes
// over the end of a registration of this one's.
func (t *turn) maybeRecorded() bool {
	return t.s.Recorded || t.s.Recording != 0 && !t.s.Emergency
}

func takeRecorded(t *turn, e Event) {
	r, ok := e.(Recorded)
	switch {
	case !ok:
	case r.Outcome == Done:
		t.recorded()
		if r.Subscription == nil {
			t.next(regSubscription)
			return
		}
		t.s.Procedure.Step, t.s.Procedure.Attempts = regSubscription, 0
		takeSubscribed(t, *r.Subscription)
	case r.Outcome == Refused:
		t.rejectRegistration(refusalOf(r.Cause), "the UDM refused: "+r.Cause)
	case t.s.Procedure.Flags&regFirst == 0 && t.s.Recorded: // it knows, as far as it has not forgotten: the next registration tells it
		t.known()
	default:
		t.unanswerable("UDM")
	}
}

// recorded: the UDM has heard that this set has the UE. What it has said of another AMF was before.
func (t *turn) recorded() {
	t.s.Recorded = true
	t.s.Procedure.Flags |= udmTold
	t.notGoing()
}

// refusalOf the UDM, as UEs are told it (TS 29.524 4.1.1).
func refusalOf(cause string) n1.Cause {
	switch cause {
	case "ROAMING_NOT_ALLOWED":
		return n1.CausePLMNNotAllowed
	case "RAT_NOT_ALLOWED":
		return n1.CauseNoSuitableCells
	}
	return n1.Cause5GSServicesNotAllowed
}

// Step 14b.

func askSubscribed(t *turn) {
	a := t.subscription()
	a.Number = t.await()
	t.do(a)
}

func (t *turn) subscription() AskSubscription {
	a := AskSubscription{SUPI: t.s.SUPI, PLMN: t.s.Place.PLMN, Notified: t.s.Notified}
	if !t.s.Known || t.doing() == Registration && t.s.Procedure.Flags&regFirst != 0 {
		a.Notified = ""
	}
	return a
}

func takeSubscribed(t *turn, e Event) {
	sub, ok := e.(Subscription)
	switch {
	case !ok:
		return
	case sub.Outcome == Refused:
		t.rejectRegistration(refusalOf(sub.Cause), "no subscription: "+sub.Cause)
		return
	case sub.Outcome != Done && t.s.Procedure.Flags&regFirst == 0 && !t.outdated():
		t.next(regSessions)
		return
	case sub.Outcome != Done:
		t.unanswerable("UDM")
		return
	case sub.Barred:
		t.rejectRegistration(n1.Cause5GSServicesNotAllowed, "barred")
		return
	}
	m := t.request()
	if m.RegistrationType != n1.PeriodicRegistration || t.s.Asked == nil {
		t.s.Asked = slicesAsked(m.Requested)
	}
	t.notified(sub.Notified)
	t.subscribed(&sub)
	t.s.Behind, t.s.Untold = true, true // where it comes to nothing the UE has not heard
	t.live.subscription = &sub
	if len(t.s.Allowed) == 0 {
		t.rejectWith(&n1.RegistrationReject{Cause: n1.CauseNoNetworkSlices, Rejected: t.rejectedNSSAI()}, "no slice")
		return
	}
	t.next(regPolicy)
}

// notified: the UDM tells of changes by that subscription. One of before ends, which may have been forgotten.
func (t *turn) notified(uri string) {
	if uri == "" {
		return
	}
	if t.s.Notified != "" && t.s.Notified != uri {
		t.do(TellLeft{SUPI: t.s.SUPI, PLMN: t.s.Place.PLMN, Notified: t.s.Notified})
	}
	t.s.Notified, t.s.Known = uri, t.s.Known || t.s.Procedure.Flags&udmTold != 0
}

// located: the UE's area is to be that of where it is, with what is allowed there. It is told so.
func (t *turn) located() {
	t.s.Area = areaOf(t.s.Place, t.in.GNB(*t.s.N2), t.in.Settings, t.s.Allowed)
}

// subscribed takes over what a UE has subscribed to, where it is.
func (t *turn) subscribed(sub *Subscription) {
	g := t.in.GNB(*t.s.N2)
	plmn := t.in.Settings.plmn(t.s.Place.PLMN)
	var catalogue, here []record.Slice
	if plmn != nil {
		catalogue = plmn.Slices
		t.s.Catalogue = plmn.catalogue()
	}
	if g != nil {
		here = g.Slices(t.s.Place.PLMN, t.s.Place.TAC)
	} else {
		here = catalogue
	}
	x := selectSlices(t.s.Asked, sub.Slices, here, catalogue)
	t.s.Allowed, t.s.Rejected, t.s.DNNs = x.allowed, x.rejected, nil
	for _, a := range x.allowed {
		n := slices.IndexFunc(sub.Slices, func(s SubscribedSlice) bool { return s.Slice.Is(a) })
		t.s.DNNs = append(t.s.DNNs, sub.Slices[n].DNN)
	}
	t.s.Emergency = false
	t.s.GPSI, t.s.Uplink, t.s.Downlink, t.s.RFSP = sub.GPSI, sub.Uplink, sub.Downlink, sub.RFSP
	t.authorised()
	period := t.in.Settings.Periodic
	if sub.Periodic != 0 {
		period = time.Duration(sub.Periodic) * time.Second
	}
	t.s.Periodic = uint32(n1.Timer3(period).Rounded() / time.Second) // as the UE is told it
	t.s.Behind = false
}

// Steps 15 and 16. A UE whose PCF does not answer is registered without: the subscription says what it gets.

func askRegPolicy(t *turn) {
	if t.live.subscription == nil { // the holder before had it
		t.next(regSubscription)
		return
	}
	op := CreatePolicy
	if t.s.Policy != "" {
		op = UpdatePolicy
	}
	t.do(AskPolicy{Number: t.await(), Operation: op, UE: asSubscribed(t.s.Clone(), t.live.subscription)})
}

// asSubscribed is the UE as a PCF is told it: what it decides by is what is subscribed to.
func asSubscribed(u *record.UE, sub *Subscription) *record.UE {
	u.Uplink, u.Downlink, u.RFSP = sub.Uplink, sub.Downlink, sub.RFSP
	return u
}

func takeRegPolicy(t *turn, e Event) {
	if p, ok := e.(Policy); ok {
		t.policyAnswered(p, t.live.subscription)
		t.next(regSessions)
	}
}

// policyAnswered: what a PCF does not say is as it has said before, unless the association is another.
func (t *turn) policyAnswered(p Policy, sub *Subscription) {
	another := p.Outcome == Done && p.URI != "" && p.URI != t.s.Policy
	if another || p.Outcome == Refused {
		t.s.Policy, t.s.Decided = "", record.Decided{}
		asSubscribed(t.s, sub)
	}
	if p.Outcome == Done {
		t.policy(p.URI, p.RFSP, p.Uplink, p.Downlink)
	}
}

func (t *turn) policy(uri string, rfsp uint16, uplink, downlink uint64) {
	if uri != "" {
		t.s.Policy = uri
	}
	d := &t.s.Decided
	if rfsp != 0 {
		d.RFSP = rfsp
	}
	if uplink != 0 || downlink != 0 {
		d.Uplink, d.Downlink = uplink, downlink
	}
	t.authorised()
}

// authorised: what the PCF has decided is what the UE gets, whatever the subscription says.
func (t *turn) authorised() {
	d := t.s.Decided
	if d.RFSP != 0 {
		t.s.RFSP = d.RFSP
	}
	if d.Uplink != 0 || d.Downlink != 0 {
		t.s.Uplink, t.s.Downlink = d.Uplink, d.Downlink
	}
}

// Step 17.

func askRegSessions(t *turn) {
	p := t.s.Procedure
	if p.Flags&regTold == 0 {
		p.Flags |= regTold
		m := t.request()
		t.reconcile(m.Sessions)
		for _, s := range slices.Clone(t.s.Sessions) { // TS 23.501 5.15.5.2.2: not where the UE is now
			if !t.stays(s) {
				t.endSession(s)
				t.s.Remove(s.ID)
			}
		}
		wanted := t.wanted(m.UplinkData, m.Allowed)
		t.tellMoved(wanted)
		t.activate(wanted)
	}
	if p.Sessions != 0 {
		return // the last answer comes back here
	}
	t.next(regAccept)
}

// reconcile what both sides have (TS 24.501 5.5.1.3.4, 5.6.1.4): what the UE has not any more ends.
func (t *turn) reconcile(has *n1.Sessions) {
	if has == nil {
		return
	}
	for _, s := range slices.Clone(t.s.Sessions) {
		if !has.Has(s.ID) && s.Context != "" {
			t.endSession(s)
			t.s.Remove(s.ID)
		}
	}
}

// wanted sessions: those whose uplink packets wait, and those that SMFs want.
func (t *turn) wanted(uplink, allowed *n1.Sessions) []uint8 {
	var out []uint8
	for _, s := range t.s.Sessions {
		if s.Context == "" {
			continue
		}
		if uplink != nil && uplink.Has(s.ID) || s.Held != nil && s.Held.N2 {
			out = append(out, s.ID)
		}
	}
	return out
}

// status of sessions, as a UE is told it.
func (t *turn) status() *n1.Sessions {
	var list n1.Sessions
	for _, s := range t.s.Sessions {
		list |= n1.Of(s.ID)
	}
	return &list
}

// reactivation of those that were asked for: which have come to nothing.
func (t *turn) reactivation(asked *n1.Sessions) (*n1.Sessions, n1.SessionCauses) {
	if asked == nil {
		return nil, nil
	}
	var failed n1.Sessions
	var causes n1.SessionCauses
	for _, id := range asked.IDs() {
		if t.s.Session(id) != nil && t.s.Procedure.Failed&(1<<id) != 0 {
			failed |= n1.Of(id)
			causes = append(causes, n1.SessionCause{ID: id, Cause: n1.CauseInsufficientUserPlane})
		}
	}
	return &failed, causes
}

// Step 21.

func askRegAccept(t *turn) {
	p := t.s.Procedure
	m := t.request()
	first := p.Flags&regFirst != 0
	if t.s.Untold && !t.s.Emergency || !t.s.Area.Has(t.s.Place) {
		t.located()
	}
	a := &n1.RegistrationAccept{
		Result: n1.RegistrationResult{Access: n1.Access3GPP, Emergency: t.s.Emergency}, TAIs: t.taiList(), Features: t.features(), Rejected: t.rejectedNSSAI(),
	}
	if !t.s.Emergency { // its slice is nothing to ask for
		a.Allowed = nssai(t.s.Allowed)
	}
	t.s.Behind, t.s.Untold = false, false
	if sub := t.live.subscription; sub != nil {
		a.Configured = configuredNSSAI(sub.Slices, t.in.Settings.plmn(t.s.Place.PLMN))
	}
	period := n1.Timer3(time.Duration(t.s.Periodic) * time.Second)
	a.T3512 = &period
	if t.s.DRX != 0 {
		drx := n1.DRX(t.s.DRX)
		a.DRX = &drx
	}
	if !initially(m.RegistrationType) { // also where nothing was kept of it: it has none any more
		a.Sessions = t.status()
		a.Reactivation, a.ReactivationErrors = t.reactivation(m.UplinkData)
	}
	said := saidTMSI(m.Identity)
	if m.RegistrationType != n1.PeriodicRegistration || t.s.TMSI == 0 || said != t.s.TMSI { // TS 33.501 6.12.3; or it goes by a name that is not its
		t.renameTemporarily(said)
		g := t.guti()
		a.GUTI = &g
	}
	if t.s.Phase != record.Registered {
		t.s.Since = t.in.Now.UnixMilli()
	}
	t.s.Phase, t.s.Prove = record.Registered, false
	setups, follow := t.setups(false), t.live.gathered
	plain, ok := t.command(a, a.GUTI != nil || len(a.Configured) > 0)
	if !ok {
		t.rejectRegistration(n1.CauseProtocolErrorUnspecified, "the accept cannot be written")
		return
	}
	if quiet := !first && !m.FollowOn && len(setups) == 0 && !t.s.N2.Set; quiet { // it has nothing more to say, and needs no context for that
		t.downlink(t.protect(plain))
	} else {
		if a.GUTI != nil {
			t.tellInactive()
		}
		t.bring(plain, setups)
	}
	t.over("")
	for _, g := range follow {
		if g.n1 != nil {
			t.downlink(t.container(g.id, g.n1))
		}
	}
	t.deliverHeld()
	t.watch()
	t.settled()
}

// bring a message, with sessions that are set up: in a context where there is none.
func (t *turn) bring(plain []byte, setups []n2.SessionSetup) {
	nas := t.protect(plain)
	switch {
	case !t.s.N2.Set:
		t.setUpContext(nas, setups)
	case len(setups) > 0:
		t.send(&n2.PDUSessionResourceSetupRequest{
			UE: ids(t.s.N2), NAS: nas, Sessions: setups, AMBR: &n2.AggregateBitRate{Uplink: t.s.Uplink, Downlink: t.s.Downlink},
		})
	default:
		t.send(&n2.DownlinkNASTransport{UE: ids(t.s.N2), NAS: nas})
	}
}

// renameTemporarily gives the UE another 5G-TMSI. Until it has answered it has either that or the one by which it came.
func (t *turn) renameTemporarily(said uint32) {
	if said == 0 || said != t.s.OldTMSI {
		t.s.OldTMSI = t.s.TMSI
	}
	t.s.TMSI = t.in.Temporary()
}

// saidTMSI is the 5G-TMSI by which a UE came, 0: none.
func saidTMSI(who n1.Identity) uint32 {
	if g, ok := who.(n1.GUTI); ok {
		return g.TMSI
	}
	return 0
}

func (t *turn) guti() n1.GUTI {
	s := t.in.Settings
	return n1.GUTI{PLMN: n1.PLMN(plmnOf(t.s.Place.PLMN)), Region: s.Region, Set: s.Set, Pointer: s.Pointer, TMSI: t.s.TMSI}
}

func (t *turn) taiList() n1.TAIs {
	var out n1.TAIs
	for _, tac := range t.s.Area.TACs {
		out = append(out, n1.TAI{PLMN: n1.PLMN(plmnOf(t.s.Area.PLMN)), TAC: tac})
	}
	return out
}

func (t *turn) features() *n1.Features {
	f := &n1.Features{IMSVoice: t.in.Settings.Voice}
	if t.in.Settings.Emergency != nil {
		f.EmergencyServices = n1.EmergencyNR
	}
	return f
}

func sliceTo(s record.Slice) n1.SNSSAI {
	out := n1.SNSSAI{SST: s.SST}
	if s.SD != nil {
		out.HasSD, out.SD = true, *s.SD
	}
	return out
}

func sliceFrom(s n1.SNSSAI) record.Slice {
	out := record.Slice{SST: s.SST}
	if s.HasSD {
		out.SD = &s.SD
	}
	return out
}

func nssai(list []record.Slice) n1.NSSAI {
	var out n1.NSSAI
	for _, s := range list {
		out = append(out, n1.Slice{SNSSAI: sliceTo(s)})
	}
	return out
}

func (t *turn) rejectedNSSAI() n1.RejectedNSSAI {
	var out n1.RejectedNSSAI
	for _, r := range t.s.Rejected {
		out = append(out, n1.Rejected{SNSSAI: sliceTo(r.Slice), Cause: n1.RejectCause(r.Cause)})
	}
	return out
}

// mostConfigured S-NSSAIs a UE may have (TS 24.501 9.11.3.37).
const mostConfigured = 16

// configuredNSSAI is what the UE has subscribed to, as far as the PLMN has it.
func configuredNSSAI(list []SubscribedSlice, p *PLMN) n1.NSSAI {
	var out n1.NSSAI
	for _, s := range list {
		if p != nil && has(p.Slices, s.Slice) && len(out) < mostConfigured {
			out = append(out, n1.Slice{SNSSAI: sliceTo(s.Slice)})
		}
	}
	return out
}

// registered: step 22. The UE has its new 5G-GUTI, and has it alone.
func (t *turn) registered() {
	t.answeredCommand()
	t.s.OldTMSI = 0
	t.catchUp()
	t.settled()
}

// settled: nothing is under way. A UE that has no more to say, and got no context for that, is let go of (TS 24.501 5.5.1.3.4).
func (t *turn) settled() {
	if a := t.s.N2; a != nil && !a.Set && !a.Setting && t.s.Command == nil && t.s.Procedure == nil {
		t.release(ngapcause.NormalRelease)
	}
}
