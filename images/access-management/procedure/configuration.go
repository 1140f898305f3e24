package procedure

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// What changes for a UE that is registered (TS 23.502 4.2.4.2, TS 24.501 5.4.4): the network's names and time zone, its slices, its AMBR, its 5G-GUTI where it was paged.
//
//	0    the subscription has changed, or the Settings     subscriptionChanged, settingsChanged
//	     the UDM is told of the UE that may not know it    confRecord, takeTold
//	     the UDM is asked                                  confSubscription, takeChanged
//	     SMFs of sessions in slices that it has no more    forSlice: UE and access network are told by them
//	     the PCF is told, and decides                      confPolicy, takeDecided
//	1    Configuration Update Command, T3555               changed, configure
//	2    Complete                                          configured
//
// A UE that is idle hears it when it comes (Behind, Names: catchUp, or its registration), and so does one that has begun something else meanwhile. One whose subscription is withdrawn, barred, or has no slice left, is deregistered.
const (
	confSubscription uint8 = 1
	confPolicy       uint8 = 2
	confRecord       uint8 = 3
)

// confRenew: nothing has changed that is known of; the UDM may have forgotten whom to tell.
const confRenew uint16 = 1

var configuring = map[uint8]step{
	confSubscription: {ask: askSubscribed, take: takeChanged},
	confPolicy:       {ask: askChangedPolicy, take: takeDecided},
	confRecord:       {ask: askTold, take: takeTold},
}

func (t *turn) subscriptionChanged() {
	switch {
	case t.s.Phase == record.Leaving:
		t.out.Refused = "it is leaving"
	case t.s.Emergency:
		t.out.Refused = "it is registered for emergency services, to which nobody subscribes"
	case t.s.Procedure != nil:
		t.out.Later = true
	case t.s.Phase != record.Registered:
		t.out.Refused = "it is not registered"
	default:
		t.begin(Configuration)
		t.next(confSubscription)
	}
}

// askTold: where another AMF may have the UE by now, that one tells the UDM.
func askTold(t *turn) {
	if !t.reachable() || t.s.Lent || t.s.Going {
		t.next(confSubscription)
		return
	}
	askRecording(t)
}

// takeTold: the UDM may have forgotten that this set has the UE, which is here.
func takeTold(t *turn, e Event) {
	r, ok := e.(Recorded)
	switch {
	case !ok:
	case r.Outcome == Done:
		t.recorded()
		t.next(confSubscription)
	case r.Outcome == Refused:
		t.over("")
		t.end(End{Why: Withdrawn})
	default:
		t.drop("no answer of the UDM")
	}
}

func takeChanged(t *turn, e Event) {
	sub, ok := e.(Subscription)
	if !ok {
		return
	}
	switch {
	case sub.Outcome == Refused, sub.Outcome == Done && sub.Barred:
		t.over("")
		t.end(End{Why: Withdrawn})
		return
	case sub.Outcome != Done: // when it comes next, then
		t.drop("no answer of the UDM")
		return
	case t.s.N2 == nil: // where it comes next decides
		t.behind()
		if !t.keeps(t.s.Allowed, sub.Slices) {
			t.end(End{Why: Withdrawn})
		}
		return
	}
	t.notified(sub.Notified)
	t.live.subscription = &sub
	t.next(confPolicy)
}

// behind: the UE is told when it is there.
func (t *turn) behind() {
	t.s.Behind = true
	t.over("")
}

// reachable says whether UE and access network can be told something now.
func (t *turn) reachable() bool {
	return t.s.N2 != nil && !t.s.N2.Setting && !t.s.N2.Releasing && !t.s.N2.Lost
}

// The PCF hears of it before the UE does (TS 29.507 4.2.3.1).

func askChangedPolicy(t *turn) {
	sub := t.live.subscription
	switch {
	case sub == nil: // the holder before had it
		t.next(confSubscription)
		return
	case !t.reachable():
		t.behind()
		return
	}
	as := turn{in: t.in, s: t.s.Clone()}
	as.subscribed(sub)
	if t.s.Policy == "" || len(as.s.Allowed) == 0 {
		t.changed(sub, nil)
		return
	}
	t.do(AskPolicy{Number: t.await(), Operation: UpdatePolicy, UE: asSubscribed(as.s, sub)})
}

func takeDecided(t *turn, e Event) {
	p, ok := e.(Policy)
	switch {
	case !ok:
	case !t.reachable(): // the association may be another
		t.policyAnswered(p, t.live.subscription)
		t.behind()
	default:
		t.changed(t.live.subscription, &p)
	}
}

// changed: step 1, with what the PCF has decided of it; nil: nobody was asked.
func (t *turn) changed(sub *Subscription, decided *Policy) {
	was, uplink, downlink, rfsp := t.s.Allowed, t.s.Uplink, t.s.Downlink, t.s.RFSP
	resliced, periodic := t.resliced(), t.s.Periodic
	strayed := t.s.Procedure.Flags&udmTold != 0 && !t.s.Area.Has(t.s.Place) // behind lost writes: it has come in an area that it has, and this is not the one
	t.subscribed(sub)
	t.s.Periodic = periodic // a registration alone tells of it
	if decided != nil {
		t.policyAnswered(*decided, sub)
	}
	t.over("")
	if len(t.s.Allowed) == 0 {
		t.deregister(outTell, n1.CauseNoNetworkSlices, "no slice")
		return
	}
	for _, s := range slices.Clone(t.s.Sessions) {
		if !t.stays(s) && s.Context != "" {
			t.askSMF(AskSession{Operation: UpdateSession, Session: s, End: true, Cause: "REL_DUE_TO_SLICE_NOT_AUTHORIZED", purpose: forSlice})
		}
	}
	t.tellAccess(uplink, downlink, rfsp)
	if t.s.Untold || resliced || strayed || !slices.EqualFunc(was, t.s.Allowed, record.Slice.Is) {
		t.located()
		t.bid(&n1.ConfigurationUpdateCommand{
			Acknowledge: true, Allowed: nssai(t.s.Allowed), Rejected: t.rejectedNSSAI(),
			Configured: configuredNSSAI(sub.Slices, t.in.Settings.plmn(t.s.Place.PLMN)), SubscriptionChanged: true, TAIs: t.taiList(),
		})
		t.s.Behind, t.s.Untold = false, false
		return
	}
	t.configure()
	t.settled()
}

// catchUp with what has changed while nobody could tell the UE, or this set: its subscription first, then the network's names.
func (t *turn) catchUp() {
	if (t.s.Behind || t.resliced() || !t.s.Known) && !t.s.Emergency && t.s.Phase == record.Registered && t.s.Procedure == nil && t.s.Command == nil && t.reachable() {
		p := t.begin(Configuration)
		if !t.s.Behind && !t.resliced() {
			p.Flags |= confRenew
		}
		if t.s.Known {
			t.next(confSubscription)
		} else {
			t.next(confRecord)
		}
		return
	}
	t.configure()
}

// keeps says whether anything of what was allowed is subscribed to.
func (t *turn) keeps(allowed []record.Slice, list []SubscribedSlice) bool {
	return slices.ContainsFunc(list, func(s SubscribedSlice) bool { return has(allowed, s.Slice) || s.Default })
}

// settingsChanged: names and slices are told to those who are there, and to others when they come.
func (t *turn) settingsChanged() {
	switch {
	case t.s.Phase != record.Registered || !t.resliced():
	case t.reachable():
		t.subscriptionChanged() // which the UDM alone has
		return
	default:
		t.s.Behind = true
	}
	if t.s.Phase == record.Registered && t.s.Procedure == nil {
		t.configure()
	}
}

// resliced says whether the PLMN has other slices than when the UE was told its own.
func (t *turn) resliced() bool {
	p := t.in.Settings.plmn(t.s.Place.PLMN)
	return p != nil && t.s.Catalogue != 0 && t.s.Catalogue != p.catalogue() && !t.s.Emergency
}

// configure: step 1, for what the UE was not told.
func (t *turn) configure() {
	if m, is := t.news(); is {
		t.bid(m)
	}
}

// configurable says whether the UE can be told something that it has to answer.
func (t *turn) configurable() bool {
	a := t.s.N2
	return a != nil && !a.Releasing && !a.Lost && t.s.Command == nil && t.s.Phase == record.Registered
}

// sayName to a UE that has answered paging, and has another since: who has heard by which 5G-TMSI it was paged does not know it by that any more (TS 33.501 6.12.3,
// TS 24.501 5.4.4.1). Until it has answered either is its.
func (t *turn) sayName() {
	g := t.guti()
	m, _ := t.news()
	m.GUTI = &g
	t.bid(m)
}

// news are what the UE was not told of the network's names, and a registration area that is where it is, of a UE that has emergency services alone, since there is no
// subscription that it would come with. They are taken for told.
func (t *turn) news() (m *n1.ConfigurationUpdateCommand, is bool) {
	m = &n1.ConfigurationUpdateCommand{Acknowledge: true}
	if !t.configurable() {
		return m, false
	}
	if t.s.Emergency && !t.s.Area.Has(t.s.Place) {
		t.located()
		m.TAIs, is = t.taiList(), true
	}
	s := t.in.Settings
	if s.names() == 0 || t.s.Names == s.names() {
		return m, is
	}
	t.s.Names = s.names()
	if s.FullName != "" {
		m.FullName = &n1.Name{Text: s.FullName}
	}
	if s.ShortName != "" {
		m.ShortName = &n1.Name{Text: s.ShortName}
	}
	now := t.in.Now.In(time.FixedZone("", int(s.Zone/time.Second)))
	zone := n1.ZoneOf(now)
	m.Zone, m.Clock = &zone, &n1.Clock{Time: now}
	return m, true
}

// configured: step 2.
func (t *turn) configured() {
	m := t.configuration()
	t.answeredCommand()
	if m != nil && m.GUTI != nil { // it has that one alone
		t.s.OldTMSI = 0
	}
	if m != nil && m.TAIs != nil {
		t.tellInactive()
	}
	t.ended(Configuration, "", t.in.Now.UnixMilli())
	t.catchUp()
	t.settled()
}

// policyChanged: TS 29.507 4.2.4. What access networks are told they are told at once.
func (t *turn) policyChanged(e PolicyChanged) {
	t.reply(e.From, Ended{})
	if e.Ended {
		t.s.Policy, t.s.Decided = "", record.Decided{}
		return
	}
	uplink, downlink, rfsp := t.s.Uplink, t.s.Downlink, t.s.RFSP
	t.policy("", e.RFSP, e.Uplink, e.Downlink)
	t.tellAccess(uplink, downlink, rfsp)
}

// tellInactive: an access network that may have the UE in RRC INACTIVE pages it by its 5G-TMSI, in its registration area (TS 23.501 5.3.3.2.5), which are others than it has
// heard with the context.
func (t *turn) tellInactive() {
	a := t.s.N2
	if !a.Set || a.Releasing {
		return
	}
	for _, e := range t.out.Effects { // it is asked for one thing at a time
		if s, is := e.(Send); is {
			if m, is := s.Message.(*n2.UEContextModificationRequest); is {
				m.Inactive = t.inactive()
				return
			}
		}
	}
	t.send(&n2.UEContextModificationRequest{UE: ids(a), Inactive: t.inactive()})
}

// tellAccess of AMBR and RFSP that were others before.
func (t *turn) tellAccess(uplink, downlink uint64, rfsp uint16) {
	if t.s.N2 == nil || !t.s.N2.Set || t.s.Uplink == uplink && t.s.Downlink == downlink && t.s.RFSP == rfsp {
		return
	}
	if t.s.N2.Lost { // nobody can be told, and a gNB that is back has what it had
		t.part("what its gNB has to know has changed")
		return
	}
	t.send(&n2.UEContextModificationRequest{
		UE: ids(t.s.N2), RFSP: t.s.RFSP, AMBR: &n2.AggregateBitRate{Uplink: t.s.Uplink, Downlink: t.s.Downlink},
	})
}
