package procedure

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

// The subscription (TS 29.503 5.2): what it says of the session's data network is asked for at the establishment, and again when it has changed.
//
//	5.2.2.3  subscribe to changes: at the establishment, then every hour, because a UDM may have forgotten  watch
//	5.2.2.4  unsubscribe, at the end                                                                        unwatch
//	5.2.2.5  it has changed                                                                                 subscriptionChanged
//	5.2.2.2  ask for it again, and follow it                                                                policeSubscription
//
// Nobody waits for the UDM to subscribe: it is told beside the procedure, and a UDM that is away harms no session. Whoever subscribes for the
// session also looks whether the subscription is still as the record knows it, so that a change is found that came before, or that nobody told.
const (
	// lookTime is how often the subscription is looked at; sessions that begin together are apart by up to lookSpread seconds.
	lookTime   = time.Hour
	lookSpread = 1024
	// watchTime is how long the UDM is to tell of changes: what nobody ends, ends by itself.
	watchTime = 3 * time.Hour
	// subscriptionRest is how long a UDM that does not answer is left alone.
	subscriptionRest = time.Minute
)

// unheard is no subscription's digest: the PCF has not heard of it.
const unheard uint32 = 1

// Digest of what the subscription says: neither 0 nor 1. It is in records: what there was from the beginning stands as it did then.
func (s Subscription) Digest() uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "{Failed:%t Unknown:%t Types:%d AMBR:{Uplink:%d Downlink:%d} FiveQI:%d Priority:%d MayPreempt:%t Preemptable:%t IPv4:%s IPv6:%s Flows:%s Routes:%s}",
		s.Failed, s.Unknown, s.Types, s.AMBR.Uplink, s.AMBR.Downlink, s.FiveQI, s.Priority, s.MayPreempt, s.Preemptable, s.IPv4, s.IPv6, s.Flows, s.Routes) // a hash takes whatever it is given
	return max(h.Sum32(), unheard+1)
}

// question for the subscription to the session's data network.
func (t *turn) question() AskSubscription {
	return AskSubscription{SUPI: t.s.SUPI, DNN: t.s.DNN, SST: t.s.SST, SD: t.s.SD, PLMN: t.s.PLMN}
}

// watch has the UDM tell of changes, and what has changed already be noticed.
func (t *turn) watch() {
	if t.s.Emergency {
		return
	}
	t.do(TellSubscription{To: t.question(), CPSEID: t.s.CPSEID, Known: t.s.Subscription, Until: t.in.Now.Add(watchTime)})
	t.due(dueSubscription, lookTime+time.Duration(t.s.CPSEID%lookSpread)*time.Second)
}

func (t *turn) unwatch() {
	if t.s.Emergency {
		return
	}
	t.do(TellSubscription{To: t.question(), CPSEID: t.s.CPSEID, Gone: true})
}

// subscriptionTime: it is to be looked at.
func (t *turn) subscriptionTime() {
	if t.s.Phase != record.Releasing {
		t.watch()
	}
}

// subscriptionChanged: TS 23.502 4.3.3.2 step 1c.
func (t *turn) subscriptionChanged() {
	if t.s.Emergency { // it has none
		t.reply(Accepted{})
		return
	}
	switch t.s.Phase {
	case record.Active, record.Idle:
		t.begin(Policing, policeSubscription)
	case record.Establishing: // it is looked at when the access network has answered
		t.due(dueSubscription, behindTime)
	}
	t.reply(Accepted{})
}

func askChangedSubscription(t *turn) { t.do(t.question()) }

func takeChangedSubscription(t *turn, e Event) {
	if p, ok := e.(Policy); ok { // what the PCF makes of it
		takePolicing(t, p)
		return
	}
	sub, ok := e.(Subscription)
	network := t.network()
	switch {
	case !ok:
		return
	case sub.Failed || network == nil:
		t.due(dueSubscription, subscriptionRest)
		t.over("the subscription could not be had")
		return
	case sub.Unknown:
		t.over("")
		t.endByNetwork(n1.CauseRegularDeactivation) // there is nothing to come back to
		return
	case !slices.Contains(allowed(network.Types, sub.Types), t.s.Type):
		t.over("")
		t.endByNetwork(n1.CauseReactivationRequested)
		return
	}
	v4, v6 := staticAddresses(t.s.Type, sub)
	if static := v4.IsValid() || v6.IsValid(); static != t.s.Static || v4.IsValid() && v4 != t.s.IPv4 || v6.IsValid() && v6 != t.s.IPv6 {
		t.over("")
		t.endByNetwork(n1.CauseReactivationRequested) // the address of a session does not change (SSC mode 1)
		return
	}
	if !slices.Equal(framedRoutes(t.s.Type, sub), t.s.Routes) { // nor do the networks behind the UE: the next one has others
		t.over("")
		t.endByNetwork(n1.CauseReactivationRequested)
		return
	}
	was := t.s.Subscription
	t.s.Subscription = sub.Digest()
	if t.s.Policy == "" {
		t.s.Decided, t.s.Subscribed = subscribed(sub), sub.Flows
		t.over("")
		t.settingsChanged() // as for another setting of the Slice, no UE is woken
		return
	}
	if was == t.s.Subscription && !t.control().Anew { // the PCF has heard
		t.over("")
		return
	}
	t.happened(TriggerAMBR | TriggerQoS)
	operation := UpdatePolicy
	if t.control().Anew {
		operation = CreatePolicy
	}
	t.do(AskPolicy{Operation: operation, Session: t.s.Clone(), Subscription: &sub})
}

// subscribed is what a subscription decides.
func subscribed(sub Subscription) record.Decided {
	return record.Decided{
		AMBR: sub.AMBR, FiveQI: sub.FiveQI, Priority: sub.Priority, MayPreempt: sub.MayPreempt, Preemptable: sub.Preemptable,
	}
}
