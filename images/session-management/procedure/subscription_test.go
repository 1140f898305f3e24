package procedure

import (
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/digesttest"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

// Changes of the subscription reach sessions (TS 29.503 5.2.2.3 to 5.2.2.5, TS 23.502 4.3.3.2 step 1c).
func TestSubscription(t *testing.T) {
	told := act{name: "the UDM", event: SubscriptionChanged{From: 8}}
	has := func(s Subscription) act { return act{name: "the subscription", event: s} }
	looked := func(later time.Duration) act {
		return act{name: "it is looked at", event: Due{Name: dueSubscription}, later: later}
	}
	gnbHas, done := modified(t), update1("the UE has it", Update{N1: complete(0)})
	before, after := Subscription{AMBR: record.AMBR{Uplink: 1e6, Downlink: 2e6}}, Subscription{AMBR: record.AMBR{Uplink: 5e6, Downlink: 6e6}}
	with := func(sub Subscription, then ...Event) func(*teller) State {
		return func(tr *teller) State {
			st := tr.lead(State{}, create(request(5, 0x91)), sub, made(), Transferred{Outcome: Done}, tr.ready(), Unit{Outcome: Done})
			return tr.lead(st, then...)
		}
	}
	faster := func(s []configuration.Slice) { s[0].DataNetworks[0].AMBR = after.AMBR }
	tell(t, "subscription", []story{
		{name: "the Slice's AMBR is another one: the session has it when the UDM says so", from: with(before), acts: []act{
			{name: "the Slice", event: SettingsChanged{}, first: faster}, told, has(after), commanded, gnbHas, done, unitDone,
		}},
		{name: "another default QoS", from: with(before), acts: []act{told, has(Subscription{AMBR: before.AMBR, FiveQI: 7, Priority: 5}), commanded, gnbHas, done, unitDone}},
		{name: "told twice: once is enough", from: with(before), acts: []act{told, has(before)}},
		{name: "the UE is idle: it is not woken, and hears when its user plane is up", from: with(before, Update{From: 3, Connection: Deactivated}, Unit{Outcome: Done}), acts: []act{
			told, has(after), update1("the UE", Update{Connection: Activating}), {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone, commanded,
		}},
		{name: "the slice, the data network or the subscriber is gone, or barred", from: with(before), acts: []act{told, has(Subscription{Unknown: true}), unitDone}},
		{name: "the session's type is not allowed any more", from: with(before), acts: []act{told, has(Subscription{Types: []n1.SessionType{n1.IPv6}}), unitDone}},
		{name: "it changes while the access network has not answered: it is looked at then", from: establishing, acts: []act{
			told, {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone, looked(behindTime),
		}},
		{name: "every hour it is looked at, in case that the UDM has forgotten", from: with(before), acts: []act{looked(lookTime)}},
		{name: "not when the session is being released", from: releasing, acts: []act{told, looked(lookTime)}},
		{name: "the UDM does not answer: it is looked at again", from: with(before), acts: []act{told, has(Subscription{Failed: true}), looked(subscriptionRest)}},
		{name: "a session of a program that did not subscribe", from: func(tr *teller) State {
			st := active(tr)
			st.Record.Subscription = 0
			return st
		}, acts: []act{update1("the AMF", Update{AMF: record.AMF{InstanceID: "amf-1", TAC: 2}})}},
		{name: "the PCF is not told of what it knows", from: ruled, acts: []act{told, has(Subscription{})}},
		{name: "the PCF does not answer: it hears when the subscription is looked at next", from: ruled, acts: []act{
			told, has(after), pcfMute, looked(subscriptionRest), told, has(after), pcfHas,
		}},
		{name: "the PCF knows no such association: it is made anew, with the subscription", from: ruled, acts: []act{told, has(after), pcfGone, has(after)}},
	})
}

// A digest tells subscriptions apart by all that they say, and is the same in every process, and of every version.
func TestSubscriptionDigest(t *testing.T) {
	if got := (Subscription{}).Digest(); got != 0x7a3db551 {
		t.Errorf("%#x: pods compare theirs", got)
	}
	full := Subscription{
		Types: []n1.SessionType{n1.IPv6, n1.Ethernet}, AMBR: record.AMBR{Uplink: 1, Downlink: 2}, FiveQI: 7, Priority: 3, Preemptable: true, IPv4: netip.MustParseAddr("10.45.0.1"),
		IPv6: netip.MustParsePrefix("2001:db8::/64"), Flows: []string{"game", "film"}, Routes: []netip.Prefix{netip.MustParsePrefix("192.168.7.0/24")},
	}
	if got := full.Digest(); got != 0x2898bd {
		t.Errorf("%#x: pods compare theirs", got)
	}
	digesttest.Fields(t, Subscription.Digest)
}
