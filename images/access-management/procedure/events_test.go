package procedure

import (
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"

	"github.com/google/go-cmp/cmp"
)

func watches(left uint32, now bool, kinds ...EventKind) Watch {
	w := Watch{From: 5, Watch: record.Watch{Name: "00000000000a", URI: "http://nef/1", Correlation: "c1"}}
	for _, k := range kinds {
		w.Watch.Events = append(w.Watch.Events, record.Watched{Kind: uint8(k), Left: left})
		w.Now = append(w.Now, now)
	}
	return w
}

// watched is a UE that was led somewhere, and that somebody watches.
func watched(lead func(*teller), e Watch) func(*teller) {
	return func(tr *teller) {
		lead(tr)
		tr.lead(happens("", e))
	}
}

// TS 29.518 5.3.2.
func TestEvents(t *testing.T) {
	all := []EventKind{EventLocation, EventRegistration, EventConnectivity, EventReachability, EventLoss}
	moves := first("UE: mobility registration, in another tracking area", gnb2, 2, 7, mobility(nil))
	elsewhere := func(e Watch, area record.Area) Watch {
		for n := range e.Watch.Events {
			e.Watch.Events[n].Area = area
		}
		return e
	}
	traffic := watches(0, false, EventReachability)
	traffic.Watch.Events[0].Traffic = true
	coarse := watches(0, false, EventLocation)
	coarse.Watch.Events[0].Coarse = true
	until := func(in int64) Watch {
		e := watches(0, false, EventConnectivity)
		e.Watch.Expiry = 1_800_000_000 + in
		return e
	}
	anotherCell := gnbSays("gNB: the UE in another cell", func(*teller) n2.Message {
		l := location(1)
		l.Cell.ID++
		return &n2.LocationReport{Location: l}
	})
	comes := first("UE: Service Request", gnb1, 3, 1, serviceRequest(0, 0, 0))
	tell(t, "events", []story{
		{name: "what is, at once", from: registeredUE, acts: []act{
			happens("NEF: subscribe, immediate", watches(0, true, append(all, EventAccess, EventTimeZone)[:6]...)),
		}},
		{name: "one report, at once: nothing is kept", from: registeredUE, acts: []act{
			happens("NEF: subscribe, immediate, one time", watches(1, true, EventLocation)), happens("NEF: unsubscribe", Unwatch{From: 6, Name: "00000000000a"}),
		}},
		{name: "it goes idle, and comes", from: watched(withSession, watches(0, false, all...)), acts: []act{gnbReleases, released, comes}},
		{name: "one report of two kinds, each once", from: watched(withSession, watches(1, false, EventConnectivity, EventLocation)), acts: []act{
			gnbReleases, released, smf("SMF: idle", 1, SessionAnswer{Outcome: Done}), moves, subscribes, policed,
		}},
		{name: "two reports", from: watched(withSession, watches(2, false, EventConnectivity)), acts: []act{gnbReleases, released, comes, gnbReleases, released}},
		{name: "presence in an area of interest", from: watched(idleUE, elsewhere(watches(0, false, EventPresence), record.Area{PLMN: "20893", TACs: []uint32{7, 8}})), acts: []act{
			moves, gnbReleases, released, first("UE: mobility registration, back", gnb1, 4, 1, mobility(nil)),
		}},
		{name: "another cell is no other tracking area", from: watched(registeredUE, coarse), acts: []act{anotherCell}},
		{name: "but another location", from: watched(registeredUE, watches(0, false, EventLocation)), acts: []act{anotherCell}},
		{name: "reachable for traffic: each time that it comes", from: watched(idleUE, traffic), acts: []act{comes}},
		{name: "it stays away, is lost, and implicitly deregistered", from: watched(idleUE, watches(0, false, all...)), acts: []act{
			happens("mobile reachable", Due{Name: dueReachable}), happens("implicit deregistration", Due{Name: dueImplicit}),
			smf("SMF: released", 1, SessionAnswer{Outcome: Done}), answers("PCF: done", func(n Number) Event { return Policy{Number: n, Outcome: Done} }),
		}},
		{name: "it is lost, and comes back", from: watched(idleUE, watches(0, false, EventReachability, EventLoss)), acts: []act{
			happens("mobile reachable", Due{Name: dueReachable}), comes,
		}},
		{name: "its time is over", from: watched(registeredUE, until(60)), acts: []act{
			{name: "NEF: longer", later: 30 * time.Second, event: happens("", Rewatch{From: 6, Name: "00000000000a", Expiry: 1_800_000_000 + 90}).event},
			{name: "gNB: UE Context Release Request", later: 50 * time.Second, event: gnbReleases.event}, released,
			{name: "NEF: longer", later: 10 * time.Second, event: happens("", Rewatch{From: 7, Name: "00000000000a"}).event},
		}},
		{name: "unsubscribed", from: watched(withSession, watches(0, false, all...)), acts: []act{
			happens("NEF: unsubscribe", Unwatch{From: 6, Name: "00000000000a"}), gnbReleases, released,
		}},
		{name: "a new holder goes on with it", from: watched(withSession, watches(0, false, EventConnectivity)), acts: []act{
			happens("a new holder", Resumed{}), gnbReleases, released,
		}},
		{name: "another shard takes it: nobody hears of an end", from: watched(withSession, watches(0, false, all...)), acts: []act{happens("taken", Taken{})}},
		{name: "as many as there can be", from: watched(registeredUE, watches(0, false, EventLocation)), acts: []act{
			happens("AF: subscribe", watches(0, false, EventLocation)), happens("UDM: subscribe", watches(0, false, EventLocation)),
		}},
		{name: "of nobody", acts: []act{
			happens("NEF: subscribe", watches(0, true, EventLocation)), happens("NEF: longer", Rewatch{From: 6}), happens("NEF: unsubscribe", Unwatch{From: 7}),
		}},
	})
}

// A UE that comes as a stranger is who it was: what others hear of it is what has changed since (TS 29.518 5.3.2.4).
func TestEventsOfOneThatComesByItsSUCI(t *testing.T) {
	tr := newTeller(t)
	watched(idleUE, watches(0, false, EventLocation, EventConnectivity, EventReachability))(tr)
	tr.lead(act{name: "it has not been heard of", later: time.Hour, event: happens("", Due{Name: dueReachable}).event})
	old := tr.st
	if !old.Record.Unreached {
		t.Fatal("it is not taken for unreachable")
	}
	tr.st, tr.phone = State{}, phone{}
	var heard []EventKind
	for _, a := range []act{
		first("UE: initial registration", gnb2, 9, 7, unprotected(registers(n1.InitialRegistration, suci()))), vector, responds, confirms,
		{name: "what is kept of it", event: func(tr *teller) Event { return Named{Number: tr.st.live.awaited, Record: old.Record} }},
	} {
		tr.lead(a)
		for _, e := range tr.out.Effects {
			if r, is := e.(TellReports); is {
				for _, x := range r.Reports {
					heard = append(heard, x.Kind)
				}
			}
		}
	}
	if tr.st.Record.Unreached {
		t.Error("it is here, and taken for unreachable")
	}
	if diff := cmp.Diff([]EventKind{EventLocation, EventConnectivity, EventReachability}, heard); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}
