package procedure

import (
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

var (
	unpoliced = answers("PCF: deleted", func(n Number) Event { return Policy{Number: n, Outcome: Done} })
	sessionGo = smf("SMF: released", 1, SessionAnswer{Outcome: Done})
	withdrawn = happens("UDM: the Subscriber is deleted", End{From: 6, Why: Withdrawn})
	accepts   = says("UE: Deregistration Accept", protected(&n1.DeregistrationAcceptFromUE{}))
	changed   = happens("UDM: the subscription has changed", SubscriptionChanged{})
)

func leaves(off bool) func(*teller) []byte {
	return func(tr *teller) []byte {
		return tr.says(&n1.DeregistrationRequestFromUE{SwitchOff: off, Access: n1.Access3GPP, Identity: tr.guti()}, n1.IntegrityProtected)
	}
}

// endingComes: an SMF that has not answered is asked again.
func endingComes(later time.Duration) act {
	return act{name: "it is time to ask the SMF again", later: later, event: func(*teller) Event { return Due{Name: dueEnding} }}
}

// TS 23.502 4.2.2.3.
func TestDeregistration(t *testing.T) {
	tell(t, "deregistration", []story{
		{name: "by the UE", from: withSession, acts: []act{says("UE: Deregistration Request", leaves(false)), sessionGo, unpoliced, released}},
		{name: "by the UE, switched off, out of idle", from: idleUE, acts: []act{first("UE: Deregistration Request, switch off", gnb1, 4, 1, leaves(true)), sessionGo, unpoliced, released}},
		{name: "somebody says it for the UE: nothing happens", from: idleUE, acts: []act{first("somebody: Deregistration Request", gnb1, 4, 1, func(tr *teller) []byte {
			return plain(tr.t, &n1.DeregistrationRequestFromUE{SwitchOff: true, Access: n1.Access3GPP, Identity: tr.guti()})
		})}},
		{name: "of a UE of which nothing is kept", acts: []act{first("UE: Deregistration Request", gnb1, 4, 1, func(tr *teller) []byte {
			return plain(tr.t, &n1.DeregistrationRequestFromUE{Access: n1.Access3GPP, Identity: suci()})
		})}},
		{name: "the Subscriber is deleted: a UE that is connected", from: withSession, acts: []act{withdrawn, sessionGo, unpoliced, accepts, released}},
		{name: "it does not answer: T3522", from: withSession, acts: []act{withdrawn, sessionGo, unpoliced, silent, silent, silent, silent, silent, released}},
		{name: "the Subscriber is deleted: a UE that is idle is paged for it", from: idleUE, acts: []act{withdrawn, sessionGo, unpoliced, comes, accepts, released}},
		{name: "it does not come", from: idleUE, acts: []act{withdrawn, sessionGo, unpoliced, pageSilent, pageSilent, pageSilent, pageSilent}},
		{name: "the gNB lets go of it meanwhile", from: withSession, acts: []act{withdrawn, gnbReleases, released, sessionGo, unpoliced}},
		{name: "another AMF has it: the UDM keeps what that says", from: idleUE, acts: []act{happens("UDM: another AMF", End{From: 6, Why: Elsewhere}), sessionGo, unpoliced}},
		{name: "to register again", from: withSession, acts: []act{happens("an operator", End{From: 6, Why: Again})}},
		{name: "said twice", from: withSession, acts: []act{withdrawn, withdrawn}},
		{name: "an SMF that does not answer is not waited for", from: withSession, acts: []act{
			withdrawn, smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown}), answers("PCF: nothing", func(n Number) Event { return Policy{Number: n, Outcome: Unknown} }),
		}},
		{name: "and it is asked until it has answered, whoever has the UE then", from: withSession, acts: []act{
			says("UE: Deregistration Request", leaves(false)), smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown}), unpoliced, released, packets,
			endingComes(5 * time.Second), smf("SMF: not now", 1, SessionAnswer{Outcome: Refused, Status: 503}), dies, happens("a new holder", Resumed{}),
			endingComes(10 * time.Second), sessionGo,
		}},
		{name: "it registers again meanwhile: the new registration has it released", from: withSession, acts: []act{
			says("UE: Deregistration Request", leaves(false)), smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown}), unpoliced, released,
			first("UE: registration, 5G-GUTI", gnb1, 9, 1, mobility(nil)),
		}},
		{name: "an SMF that says so itself", from: withSession, acts: []act{
			says("UE: Deregistration Request", leaves(false)), smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown}), unpoliced, released,
			happens("SMF: the context is no more", SessionEnded{Session: 1, Context: "http://smf-1/sm-contexts/1"}),
		}},
		{name: "an SMF that never answers", from: withSession, acts: []act{
			says("UE: Deregistration Request", leaves(false)), smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown}), unpoliced, released,
			endingComes(7 * time.Hour), smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown}),
		}},
		{name: "an SMF transfers something meanwhile", from: withSession, acts: []act{withdrawn, packets}},
		{name: "the worker dies meanwhile", from: withSession, acts: []act{withdrawn, dies, happens("a new holder", Resumed{}), sessionGo, unpoliced, accepts, released}},
		{name: "the worker dies while the PCF is asked, and the store has lost writes", from: withSession, acts: []act{
			withdrawn, sessionGo, dies, happens("a new holder", Resumed{Lost: true}), released, unpoliced,
		}},
		{name: "it registers while it is on its way out: it waits", from: withSession, acts: []act{withdrawn, updates, sessionGo}},
		{name: "another shard has taken the UE over", from: withSession, acts: []act{happens("the record is another shard's", Taken{})}},
	})
}

// TS 23.502 4.2.4.2.
func TestConfiguration(t *testing.T) {
	subscribed := func(name string, change func(*Subscription)) act {
		return answers(name, func(n Number) Event {
			s := subscription(n)
			change(&s)
			return s
		})
	}
	named := func(from func(*teller)) func(*teller) {
		return func(tr *teller) {
			from(tr)
			tr.settings.FullName, tr.settings.ShortName = "core5g network", "core5g"
		}
	}
	complete := says("UE: Configuration Update Complete", protected(&n1.ConfigurationUpdateComplete{}))
	unchanged := answers("PCF: nothing new", func(n Number) Event { return Policy{Number: n, Outcome: Done, URI: "http://pcf/policies/1"} })
	decides := happens("PCF: update", PolicyChanged{From: 3, Uplink: 1e6, Downlink: 2e6})
	ended := smf("SMF: it has none", 1, SessionAnswer{Outcome: Refused, Status: 404})
	other := func(s *Subscription) { s.Slices = []SubscribedSlice{{Slice: ioT, Default: true, DNN: "meters"}} }
	tell(t, "configuration", []story{
		{name: "the network's names", from: named(withSession), acts: []act{happens("names", SettingsChanged{}), complete, happens("nothing new", SettingsChanged{})}},
		{name: "the network's names, for a UE that is idle: when it comes", from: named(idleUE), acts: []act{happens("names", SettingsChanged{}), serves, toSetUp}},
		{name: "the network's names, and the UE asks for service before it has answered: it is told again", from: named(withSession), acts: []act{
			happens("names", SettingsChanged{}), serves, toSetUp,
		}},
		{name: "the UE does not answer: T3555", from: named(withSession), acts: []act{happens("names", SettingsChanged{}), silent, silent, silent, silent, silent}},
		{name: "the AMBR", from: withSession, acts: []act{changed, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), unchanged}},
		{name: "the AMBR, of which the PCF has decided another", from: withSession, acts: []act{
			decides, changed, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), unchanged,
			happens("PCF: ended", PolicyChanged{From: 4, Ended: true}), changed, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }),
		}},
		{name: "the AMBR, and the PCF decides of it", from: withSession, acts: []act{
			changed, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }),
			answers("PCF: less, and an RFSP", func(n Number) Event {
				return Policy{Number: n, Outcome: Done, URI: "http://pcf/policies/1", Uplink: 3e6, Downlink: 2e9, RFSP: 7}
			}),
		}},
		{name: "the PCF has lost the association, and decides nothing: the subscription counts", from: withSession, acts: []act{
			decides, changed, subscribed("UDM: the same", func(*Subscription) {}),
			answers("PCF: another association", func(n Number) Event { return Policy{Number: n, Outcome: Done, URI: "http://pcf/policies/2"} }),
		}},
		{name: "the PCF does not answer: what it has decided stays", from: withSession, acts: []act{
			decides, changed, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }),
			answers("PCF: nothing", func(n Number) Event { return Policy{Number: n, Outcome: Unknown} }),
		}},
		{name: "the worker dies while the PCF is asked: the UDM is asked again", from: withSession, acts: []act{
			changed, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), dies, happens("a new holder", Resumed{}),
			subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), unchanged,
		}},
		{name: "the UE goes while the PCF is asked", from: withSession, acts: []act{
			changed, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), gnbReleases, released, unchanged,
		}},
		{name: "a registration into another area: what the PCF has decided stays", from: idleUE, acts: []act{
			decides, first("UE: mobility registration, 5G-GUTI", gnb2, 2, 7, mobility(nil)), subscribes, unchanged, accepted,
		}},
		{name: "nothing that concerns the UE", from: withSession, acts: []act{changed, subscribed("UDM: the same slices", func(*Subscription) {}), unchanged}},
		{name: "another slice: the session in the old one ends", from: withSession, acts: []act{
			changed, subscribed("UDM: another slice", func(s *Subscription) { s.Slices = []SubscribedSlice{{Slice: ioT, Default: true, DNN: "meters"}} }), unchanged,
			smf("SMF: command", 1, SessionAnswer{Outcome: Done, N1: []byte{0x2e, 1, 0, 0xd3, 39}, N2: []byte{7}, N2Type: releaseRequest}), complete,
		}},
		{name: "another slice, and the UE goes before it has answered: it is told when it is back, though the UDM says the same", from: withSession, acts: []act{
			changed, subscribed("UDM: another slice", other), unchanged, ended, gnbReleases, released, serves, contextUp, subscribed("UDM: the same", other), unchanged, complete,
		}},
		{name: "another slice, and the UE does not answer: it is told when it asks for service", from: withSession, acts: []act{
			changed, subscribed("UDM: another slice", other), unchanged, ended, silent, silent, silent, silent, silent, gnbReleases, released, serves, contextUp, subscribed("UDM: the same", other), unchanged,
		}},
		{name: "no slice left", from: withSession, acts: []act{changed, subscribed("UDM: no slice", func(s *Subscription) { s.Slices = nil })}},
		{name: "barred", from: withSession, acts: []act{changed, subscribed("UDM: barred", func(s *Subscription) { s.Barred = true })}},
		{name: "the UDM does not answer", from: withSession, acts: []act{changed, answers("UDM: nothing", func(n Number) Event { return Subscription{Number: n, Outcome: Unknown} })}},
		{name: "a UE that is idle: when it registers next", from: idleUE, acts: []act{changed, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), updates}},
		{name: "a UE that is idle: when it asks for service, and has a context", from: idleUE, acts: []act{
			changed, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), serves, toSetUp, contextUp,
			subscribed("UDM: another AMBR, and another slice", func(s *Subscription) {
				s.Uplink, s.Slices = 5e6, []SubscribedSlice{{Slice: ioT, Default: true, DNN: "meters"}}
			}), unchanged, updated,
		}},
		{name: "a Service Request while the UDM is asked: it is asked again", from: idleUE, acts: []act{
			changed, serves, subscribed("a late answer", func(s *Subscription) { s.Number = 1 }), toSetUp, contextUp, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), unchanged,
		}},
		{name: "a mobility registration while the UDM is asked", from: withSession, acts: []act{changed, updates}},
		{name: "the UE goes while the UDM is asked", from: withSession, acts: []act{
			changed, gnbReleases, released, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }),
		}},
		{name: "the UDM answers while the connection is released", from: withSession, acts: []act{
			changed, gnbReleases, subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), released,
		}},
		{name: "a path switch while the UDM is asked: it is asked again", from: withSession, acts: []act{
			changed, fromGNB2("gNB 2: Path Switch Request", 40, func(tr *teller) n2.Message {
				return &n2.PathSwitchRequest{RAN: 40, SourceAMF: n2.AMFUEID(tr.st.Record.N2.AMF), Location: location(7), Sessions: []n2.Session{{ID: 1, Transfer: []byte{1}}}}
			}), smf("SMF: acknowledged", 1, SessionAnswer{Outcome: Done, N2: []byte{0x11}, N2Type: switchDone}),
			subscribed("UDM: another AMBR", func(s *Subscription) { s.Uplink = 5e6 }), unchanged,
		}},
		{name: "a Service Request of a UE of which a UDM was told that may have forgotten", from: forgottenUE, acts: []act{
			serves, toSetUp, contextUp, recorded, subscribedAnew, unchanged,
		}},
		{name: "and the UDM does not answer: nothing is known to have changed", from: forgottenUE, acts: []act{
			serves, toSetUp, contextUp, answers("UDM: nothing", func(n Number) Event { return Recorded{Number: n, Outcome: Unknown} }),
		}},
		{name: "the UDM hears of the UE, and says nothing of its subscription: it is told again", from: forgottenUE, acts: []act{
			serves, toSetUp, contextUp, recorded, answers("UDM: nothing", func(n Number) Event { return Subscription{Number: n, Outcome: Unknown} }),
			gnbReleases, released, updates, recorded, subscribedAnew,
		}},
		{name: "another AMF asks for the UE while the UDM is told: it tells the UDM behind this one", from: forgottenUE, acts: []act{
			serves, toSetUp, contextUp, happens("another AMF asks for it", Lend{From: 9}), recorded, happens("again", Lend{From: 9}),
		}},
		{name: "the worker dies while the UDM is told, and the UE goes: where it is by then tells the UDM", from: forgottenUE, acts: []act{
			serves, toSetUp, contextUp, gnbReleases, dies, happens("a new holder", Resumed{}),
		}},
		{name: "the worker dies while the UDM is told: another AMF may have the UE since, and the UDM is told of one that comes next", from: forgottenUE, acts: []act{
			serves, toSetUp, contextUp, dies, happens("a new holder", Resumed{}), subscribedAnew, unchanged, gnbReleases, released, updates, recorded,
		}},
		{name: "its area is another than was kept: it is given one where it is", from: func(tr *teller) {
			forgottenUE(tr)
			tr.st.Record.Area.TACs = []uint32{9}
		}, acts: []act{serves, toSetUp, contextUp, recorded, subscribedAnew, unchanged, complete}},
		{name: "the UDM knows no such Subscriber any more", from: forgottenUE, acts: []act{
			serves, toSetUp, contextUp, answers("UDM: unknown", func(n Number) Event {
				return Recorded{Number: n, Outcome: Refused, Cause: "UNKNOWN_5GS_SUBSCRIPTION"}
			}),
		}},
		{name: "while it is registered: it waits", acts: []act{asksIn, vector, responds, confirms, nobodyElse, completes, changed}},
		{name: "the PCF decides the AMBR", from: withSession, acts: []act{decides, happens("PCF: ended", PolicyChanged{From: 4, Ended: true})}},
	})
}

// A PCF decides by what is subscribed to, and not by what it has decided before (TS 29.507 5.6.2.3).
func TestWhatThePCFIsTold(t *testing.T) {
	for name, lead := range map[string][]act{
		"a change of the subscription": {changed, subscribes},
		"a registration in another area": {
			first("UE: mobility registration, 5G-GUTI", gnb2, 2, 7, mobility(nil)), subscribes,
		},
		"and by a new holder": {
			first("UE: mobility registration, 5G-GUTI", gnb2, 2, 7, mobility(nil)), subscribes, dies, happens("a new holder", Resumed{}), subscribes,
		},
	} {
		tr := newTeller(t)
		withSession(tr)
		tr.lead(happens("PCF: update", PolicyChanged{From: 3, Uplink: 1e6, Downlink: 2e6, RFSP: 7}))
		for _, a := range lead {
			tr.handle(a.event(tr))
		}
		var told *record.UE
		for _, e := range tr.out.Effects {
			if a, ok := e.(AskPolicy); ok {
				told = a.UE
			}
		}
		if told == nil || told.Uplink != 1e9 || told.Downlink != 2e9 || told.RFSP != 0 {
			t.Errorf("%s: the PCF is told %+v", name, told)
		}
		if u := tr.st.Record; u.Uplink != 1e6 || u.Downlink != 2e6 || u.RFSP != 7 {
			t.Errorf("%s: the UE has %d and %d bit/s, RFSP %d", name, u.Uplink, u.Downlink, u.RFSP)
		}
	}
}
