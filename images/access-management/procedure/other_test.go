package procedure

import (
	"testing"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"
)

// foreign is a 5G-GUTI of another AMF set.
func foreign() n1.GUTI {
	return n1.GUTI{PLMN: n1.PLMN(plmnOf("20893")), Region: 1, Set: 2, Pointer: 5, TMSI: 0x0300002a}
}

func comesFrom(name string, kind n1.RegistrationType) act {
	return first(name, gnb1, 1, 1, func(tr *teller) []byte {
		tr.phone = phone{key: []byte("another network's")}
		m := registers(kind, foreign())
		has := n1.Of(1)
		m.KeySet, m.Sessions = 0, &has
		return tr.says(m, n1.IntegrityProtected)
	})
}

// TS 23.502 4.2.2.2.2 steps 4, 5 and 10, TS 29.518 5.2.2.2.1, 5.2.2.2.2.
func TestOtherAMFs(t *testing.T) {
	comes := comesFrom("UE: mobility registration, 5G-GUTI of another set", n1.MobilityRegistration)
	gives := answers("the other AMF: the UE, with a session", func(n Number) Event {
		return Other{Number: n, Outcome: Done, SUPI: supi, PEI: "imeisv-4370816125816151", GPSI: "msisdn-1", Sessions: []record.Session{
			{ID: 1, Slice: eMBB, DNN: "internet", SMF: "smf-9", Context: "http://smf-9/sm-contexts/1#00"},
		}}
	})
	refuses := answers("the other AMF: the request is another's", func(n Number) Event { return Other{Number: n, Outcome: Refused} })
	saysName := says("UE: Identity Response, SUCI", unprotected(&n1.IdentityResponse{Identity: suci()}))
	known := act{name: "what is kept of the UE", event: func(tr *teller) Event {
		u := &record.UE{Version: record.Version, SUPI: supi, Shard: 1, Phase: record.Registered}
		u.Add(record.Session{ID: 3, Slice: eMBB, DNN: "internet", Context: "http://smf-1/sm-contexts/3"})
		return Named{Number: tr.st.live.awaited, Record: u}
	}}
	lentBefore := act{name: "what is kept of the UE", event: func(tr *teller) Event {
		n := known.event(tr).(Named)
		n.Record.Sessions[0].Lent = true
		return n
	}}
	its := func(m func(*teller) []byte) func(*teller) Event {
		return func(tr *teller) Event { return Lend{From: 4, NAS: m(tr)} }
	}
	lent := act{name: "another AMF: it says that it is this UE", event: its(mobility(nil))}
	unheard := func(tr *teller) {
		idleUE(tr)
		s := &tr.st.Record.Sessions[0]
		s.Moved, s.Silent = true, true
	}
	tell(t, "other", []story{
		{name: "it comes with a session, and is authenticated by the SUPI that is said", acts: []act{
			comes, gives, vector, responds, confirms, nobodyElse, completes, recordedToo, policed, smf("SMF: heard", 1, SessionAnswer{Outcome: Done}),
		}},
		{name: "with packets for it: the SMF hears of the AMF with that", acts: []act{
			comes, gives, vector, responds, confirms, nobodyElse,
			says("UE: Security Mode Complete", func(tr *teller) []byte {
				m := registers(n1.MobilityRegistration, foreign())
				has := n1.Of(1)
				m.Sessions, m.UplinkData = &has, &has
				return tr.securityComplete(plain(tr.t, m))
			}), recordedToo, policed, smf("SMF: to be set up", 1, SessionAnswer{Outcome: Done, N2: []byte{1, 2, 1}, N2Type: setupRequest}),
		}},
		{name: "it registers for the first time: its sessions end", acts: []act{
			comesFrom("UE: initial registration, 5G-GUTI of another set", n1.InitialRegistration), gives, vector, responds, confirms, nobodyElse, completes,
		}},
		{name: "the other AMF does not give it: it is asked who it is", acts: []act{comes, refuses, saysName, vector}},
		{name: "it is another than the other AMF says", acts: []act{
			comes, answers("the other AMF: another UE", func(n Number) Event { return Other{Number: n, Outcome: Done, SUPI: "imsi-208930000000007"} }),
			vector, failsWith(n1.CauseMACFailure, nil), saysName, sameVector, responds, confirms, nobodyElse,
		}},
		{name: "it is kept here, too, from before it went: the other AMF hears that it has come", acts: []act{comes, gives, vector, responds, confirms, known, completes}},
		{name: "it was lent, and the other AMF does not give it back: SMFs hear whose the sessions are", acts: []act{comes, refuses, saysName, vector, responds, confirms, lentBefore,
			says("UE: Security Mode Complete", func(tr *teller) []byte {
				return tr.securityComplete(plain(tr.t, registers(n1.MobilityRegistration, foreign())))
			}),
			recordedToo, policed, smf("SMF: heard", 3, SessionAnswer{Outcome: Done}),
		}},
		{name: "it has no subscription here: the other AMF keeps it", acts: []act{
			comes, gives, vector, responds, confirms, nobodyElse, completes, recorded,
			answers("UDM: not known", func(n Number) Event { return Subscription{Number: n, Outcome: Refused, Cause: "USER_NOT_FOUND"} }),
		}},
		{name: "it goes: it has shown itself, and its sessions go on elsewhere", from: idleUE, acts: []act{
			lent, happens("another AMF: it has the UE, and a policy of its own", LeftFor{From: 5, Taken: true, PolicyMoved: true}),
			answers("PCF: done", func(n Number) Event { return Policy{Number: n, Outcome: Done} }),
		}},
		{name: "but one session that the other does not take", from: idleUE, acts: []act{
			lent, happens("another AMF: it has the UE", LeftFor{From: 5, Taken: true, Release: []uint8{1}}), smf("SMF: released", 1, SessionAnswer{Outcome: Done}),
		}},
		{name: "it goes on before the SMF has heard that it had come: the SMF hears from who has it now", from: unheard, acts: []act{
			lent, happens("a new holder", Resumed{}), {name: "a time of before", event: func(*teller) Event { return Due{Name: dueSilent} }},
			happens("another AMF: it has the UE", LeftFor{From: 5, Taken: true}),
		}},
		{name: "but it does not go after all: the SMF hears whose the session is", from: unheard, acts: []act{
			lent, happens("a new holder", Resumed{}), happens("another AMF: it has not", LeftFor{From: 5}),
			{name: "5 s later", later: silentTime, event: func(*teller) Event { return Due{Name: dueSilent} }}, smf("SMF: heard", 1, SessionAnswer{Outcome: Done}),
		}},
		{name: "it does not go after all", from: idleUE, acts: []act{lent, happens("another AMF: it has not", LeftFor{From: 5}), updates}},
		{name: "the UDM says so before the other AMF", from: idleUE, acts: []act{
			lent, happens("UDM: another AMF has the UE", End{From: 6, Why: Moved}), happens("another AMF: it has the UE", LeftFor{From: 5, Taken: true}),
		}},
		{name: "and the other AMF says nothing: its sessions are there all the same", from: idleUE, acts: []act{
			lent, happens("UDM: another AMF has the UE", End{From: 6, Why: Moved}), {name: "nobody has said a word", later: movedTime, event: happens("", Due{Name: dueMoved}).event},
			answers("PCF: done", func(n Number) Event { return Policy{Number: n, Outcome: Done} }),
		}},
		{name: "it was never given: its sessions can be nowhere", from: idleUE, acts: []act{
			happens("UDM: another AMF has the UE", End{From: 6, Why: Moved}), {name: "nobody has said a word", later: movedTime, event: happens("", Due{Name: dueMoved}).event},
			smf("SMF: released", 1, SessionAnswer{Outcome: Done}), answers("PCF: done", func(n Number) Event { return Policy{Number: n, Outcome: Done} }),
		}},
		{name: "the UDM does not hear that it has come: it comes later", acts: []act{
			comes, gives, vector, responds, confirms, nobodyElse, completes, answers("UDM: nothing", func(n Number) Event { return Recorded{Number: n, Outcome: Unknown} }),
		}},
		{name: "nor that one is back which the UDM had with another AMF", from: idleUE, acts: []act{
			happens("UDM: another AMF has the UE", End{From: 6, Why: Moved}), updates, answers("UDM: nothing", func(n Number) Event { return Recorded{Number: n, Outcome: Unknown} }),
		}},
		{name: "the UDM says so of a UE that is here, and that asks for service: it hears of it again", from: idleUE, acts: []act{
			happens("UDM: another AMF has the UE", End{From: 6, Why: Moved}), first("UE: Service Request", gnb1, 2, 1, serviceRequest(0, n1.Of(1), 0)), contextSet,
			recorded, subscribedAnew,
		}},
		{name: "the UDM says so late of a UE that is here, and that deregisters: the UDM keeps nothing of it either", from: withSession, acts: []act{
			happens("UDM: another AMF has the UE", End{From: 6, Why: Moved}), says("UE: Deregistration Request", leaves(false)), sessionGo, unpoliced, released,
		}},
		{name: "and the UE comes back", from: idleUE, acts: []act{
			happens("UDM: another AMF has the UE", End{From: 6, Why: Moved}), updates, happens("a time of before", Due{Name: dueMoved}),
		}},
		{name: "somebody else says that he is it", from: idleUE, acts: []act{
			{name: "another AMF: it says that it is this UE", event: its(func(tr *teller) []byte {
				tr.phone.key = []byte("another's")
				return mobility(nil)(tr)
			})},
		}},
		{name: "the same request again is no proof", from: idleUE, acts: []act{
			lent, {name: "another AMF: it says that it is this UE, by the same message", event: func(tr *teller) Event { return Lend{From: 6, NAS: tr.phone.last} }},
		}},
		{name: "the other AMF has had it shown", from: idleUE, acts: []act{happens("another AMF", Lend{From: 4})}},
		{name: "nobody", acts: []act{happens("another AMF", Lend{From: 4}), happens("another AMF", LeftFor{From: 5, Taken: true})}},
	})
}

// Who stays is not taken away: whatever else the UDM, or the other AMF, has said before.
func TestUEsThatDoNotGo(t *testing.T) {
	moved := happens("UDM: another AMF has the UE", End{From: 6, Why: Moved})
	for name, c := range map[string]struct {
		from func(*teller)
		acts []act
	}{
		"the other AMF has not taken it after all":                      {idleUE, []act{moved, happens("another AMF: it has not", LeftFor{From: 5})}},
		"it registers on the connection that it has":                    {registeredUE, []act{moved, says("UE: mobility registration", mobility(nil))}},
		"it asks for service on the connection that it has":             {registeredUE, []act{moved, says("UE: Service Request", serviceRequest(0, 0, 0))}},
		"the UDM's word comes late, and hears then that the UE is here": {nil, []act{asksIn, vector, responds, confirms, nobodyElse, completes, moved, recorded}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTeller(t)
			if c.from != nil {
				c.from(tr)
			}
			tr.lead(c.acts...)
			if tr.st.Record == nil || tr.st.Record.Going {
				t.Fatalf("it is to go: %+v", tr.st.Record)
			}
			if at, said := tr.out.Due[dueMoved]; !said || !at.IsZero() {
				t.Errorf("the time until it is taken for gone is %v, %v", at, said)
			}
		})
	}
}

// What the UDM says late, of before the UE came back, is no reason to take it for told: whether it has heard of the UE since is not known.
func TestAWordOfTheUDMThatComesLate(t *testing.T) {
	moved := happens("UDM: another AMF has the UE", End{From: 6, Why: Moved})
	for name, acts := range map[string][]act{
		"before it hears that the UE is here":         {asksIn, vector, responds, confirms, nobodyElse, completes, moved, recordedToo},
		"when it has heard so":                        {asksIn, vector, responds, confirms, nobodyElse, completes, recorded, moved, subscribes},
		"when it has been asked for the subscription": {asksIn, vector, responds, confirms, nobodyElse, completes, recordedToo, moved},
	} {
		tr := newTeller(t)
		tr.lead(acts...)
		told := name == "before it hears that the UE is here"
		if rec := tr.st.Record; rec.Recorded != told || rec.Known != told {
			t.Errorf("%s: it is recorded %t, known %t, want both %t", name, rec.Recorded, rec.Known, told)
		}
	}
}

// A UE that ends here while such a word stands ends at the UDM, too (TS 29.503 5.3.2.4.2), and so does its subscription to changes. Where the UDM has another AMF
// it passes over that. What nobody has shown to be here is the other AMF's.
func TestAUEThatEndsBehindAWordOfTheUDM(t *testing.T) {
	moved := happens("UDM: another AMF has the UE", End{From: 6, Why: Moved})
	leaving := says("UE: Deregistration Request", leaves(false))
	for name, c := range map[string]struct {
		from   func(*teller)
		acts   []act
		purged bool
	}{
		"it deregisters on the connection that it has": {withSession, []act{moved, leaving, sessionGo, unpoliced, released}, true},
		"it comes to deregister":                       {idleUE, []act{moved, first("UE: Deregistration Request", gnb1, 4, 1, leaves(true)), sessionGo, unpoliced, released}, true},
		"its Subscriber is deleted":                    {withSession, []act{moved, withdrawn, sessionGo, unpoliced, accepts, released}, true},
		"its registration comes to nothing": {nil, []act{asksIn, vector, responds, confirms, nobodyElse, completes, recordedToo, moved,
			happens("terminator: the association is gone", AccessLost{At: record.Attachment{Terminator: gnb1.Terminator, Association: gnb1.Association}})}, true},
		"it is not heard of any more": {idleUE, []act{moved, {name: "nobody has said a word", later: movedTime, event: happens("", Due{Name: dueMoved}).event}, sessionGo, unpoliced}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTeller(t)
			if c.from != nil {
				c.from(tr)
			}
			told := tr.leadTelling(c.acts)
			if tr.st.Record != nil {
				t.Fatalf("it is there: %+v", tr.st.Record)
			}
			if len(told) != 1 || told[0].Purged != c.purged || told[0].Notified == "" || told[0].Since.IsZero() {
				t.Errorf("the UDM hears %+v, want a purge %t of its last registration, and the end of its subscription", told, c.purged)
			}
		})
	}
}

// Nor is who has come back by what another AMF says late, of before.
func TestAWordThatComesLate(t *testing.T) {
	lent := act{name: "another AMF: it says that it is this UE", event: func(tr *teller) Event { return Lend{From: 4, NAS: mobility(nil)(tr)} }}
	has := happens("another AMF: it has it", LeftFor{From: 5, Taken: true})
	for name, c := range map[string]struct {
		acts  []act
		stays bool
	}{
		"it has not been here since":       {[]act{lent, has}, false},
		"it has":                           {[]act{lent, updates, has}, true},
		"it was never lent":                {[]act{has}, true},
		"the UDM says that it goes, alone": {[]act{happens("UDM: another AMF has the UE", End{From: 6, Why: Moved}), has}, false},
	} {
		tr := newTeller(t)
		idleUE(tr)
		tr.lead(c.acts...)
		if stays := tr.st.Record != nil && tr.st.Record.Phase == record.Registered; stays != c.stays {
			t.Errorf("%s: it stays: %t", name, stays)
		}
	}
}
