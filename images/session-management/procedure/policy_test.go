package procedure

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"
)

// ruled is an active session whose PCF has heard of its address.
func ruled(tr *teller) State { return ruledBy(tr, Policy{}) }

func ruledBy(tr *teller, p Policy) State {
	p.Outcome, p.URI = Done, "http://pcf/1"
	tr.configure(withPolicy)
	st := tr.lead(State{}, create(request(5, 0x91)), Subscription{}, p, made(), Transferred{Outcome: Done})
	return tr.lead(st, tr.ready(), Unit{Outcome: Done}, Policy{Outcome: Done})
}

// pcc is a rule for a remote address.
func pcc(name, remote string, with ...func(*record.Rule)) record.Rule {
	r := record.Rule{
		Name: name, FiveQI: 7, Priority: 9, Precedence: 30,
		Filters: n1.EncodeFilters([]n1.Filter{{Direction: n1.Bidirectional, Remote: netip.MustParsePrefix(remote), Protocol: -1}}),
	}
	for _, f := range with {
		f(&r)
	}
	return r
}

func guaranteed(r *record.Rule) {
	r.FiveQI, r.GFBRUplink, r.GFBRDownlink, r.MFBRUplink, r.MFBRDownlink = 2, 64e3, 64e3, 128e3, 128e3
}
func ofDefault(r *record.Rule)  { r.Default, r.FiveQI, r.Priority = true, 0, 0 }
func closedBoth(r *record.Rule) { r.Closed = 3 }

func ruling(list ...record.Rule) Ruling { return Ruling{Said: true, Rules: list} }

var (
	pcfHas  = act{name: "the PCF has heard", event: Policy{Outcome: Done}}
	pcfMute = act{name: "no answer of the PCF", event: Policy{Outcome: Unknown}}
	pcfGone = act{name: "the PCF knows no such association", event: Policy{Outcome: Refused, Gone: true}}
)

// What the PCF decides, and what it is told (TS 29.512 4.2.3, 4.2.4).
func TestPolicyChanged(t *testing.T) {
	changed := func(name string, p PolicyChanged) act { p.From = 8; return act{name: name, event: p} }
	rules := func(name string, list ...record.Rule) act {
		return changed(name, PolicyChanged{Ruling: ruling(list...)})
	}
	decided := record.Decided{AMBR: record.AMBR{Uplink: 5e6, Downlink: 6e6}, FiveQI: 8}
	done := update1("the UE has it", Update{N1: complete(0)})
	asks := func(name string, b []byte) act { return update1(name, Update{N1: b}) }
	gnbHas := modified(t)
	game := pcc("r1", "203.0.113.7/32")
	withRule := func(r ...record.Rule) func(tr *teller) State {
		return func(tr *teller) State { return ruledBy(tr, Policy{Ruling: ruling(r...)}) }
	}
	unsure := act{name: "a new holder", event: PolicyUnsure{}}
	holds := func(r ...record.Rule) act {
		return act{name: "what holds", event: Policy{Outcome: Done, Ruling: ruling(r...)}}
	}
	var many []record.Rule
	for n := range 12 {
		r := pcc(fmt.Sprint("a-rule-of-the-pcf-with-a-long-name-", n), fmt.Sprintf("203.0.113.%d/32", n), guaranteed)
		var filters []n1.Filter
		for f := range 15 {
			d := digest([]byte{byte(n), byte(f)})
			filters = append(filters, n1.Filter{
				Direction: n1.Bidirectional, Remote: netip.PrefixFrom(netip.AddrFrom4([4]byte(d[:])), 32), Protocol: 17,
				LocalPorts:  n1.PortRange{First: binary.BigEndian.Uint16(d[4:]), Last: binary.BigEndian.Uint16(d[4:])},
				RemotePorts: n1.PortRange{First: binary.BigEndian.Uint16(d[6:]), Last: binary.BigEndian.Uint16(d[6:])},
			})
		}
		r.Filters = n1.EncodeFilters(filters)
		many = append(many, r)
	}
	tell(t, "policy", []story{
		{name: "another AMBR, another default 5QI and a flow", from: active, acts: []act{changed("the PCF", PolicyChanged{Decided: decided, Flows: []string{"game"}}), unitDone, commanded}},
		{name: "an idle UE is paged for it", from: idleUE, acts: []act{
			changed("the PCF", PolicyChanged{Decided: decided}), {name: "the AMF pages", event: Transferred{Outcome: Done}}, {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone,
		}},
		{name: "nothing new", from: active, acts: []act{changed("the PCF", PolicyChanged{})}},
		{name: "of a session that is released", from: releasing, acts: []act{changed("the PCF", PolicyChanged{Decided: decided})}},
		{name: "a rule of the PCF's own: UE, access network and unit have it", from: ruled, acts: []act{rules("the PCF", game), unitDone, commanded, gnbHas, done, unitDone}},
		{name: "a rule with a guaranteed rate", from: ruled, acts: []act{rules("the PCF", pcc("r1", "203.0.113.7/32", guaranteed)), unitDone, commanded, gnbHas, done, unitDone}},
		{name: "a rule of the other IP version: it is reported in the answer", from: ruled, acts: []act{rules("the PCF", pcc("r6", "2001:db8:7::/48"), game)}},
		{name: "rules that the session is made with", with: withPolicy, acts: []act{
			{name: "create", event: create(request(5, 0x91))}, {name: "subscription", event: Subscription{}},
			{name: "the PCF", event: Policy{Outcome: Done, URI: "http://pcf/1", Ruling: ruling(game, pcc("r6", "2001:db8:7::/48"))}}, {name: "the unit has it", event: made()}, commanded,
			{name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone, pcfHas,
		}},
		{name: "a rule changes: its 5QI, its filters", from: withRule(game), acts: []act{
			rules("the PCF", pcc("r1", "203.0.113.7/32", func(r *record.Rule) { r.FiveQI = 6 })), commanded, gnbHas, done,
			changed("the PCF", PolicyChanged{Ruling: ruling(pcc("r1", "203.0.113.8/32", func(r *record.Rule) { r.FiveQI = 6 }))}), {name: "5 s later", event: Due{Name: dueBehind}, later: behindTime}, commanded, done, unitDone,
		}},
		{name: "a rule goes", from: withRule(game), acts: []act{rules("the PCF"), commanded, gnbHas, done, unitDone}},
		{name: "a rule goes, and is there again before the UE has answered: it is told so then", from: withRule(game), acts: []act{
			rules("the PCF"), commanded, rules("the PCF, again", game), gnbHas, done, unitDone, {name: "5 s later", event: Due{Name: dueBehind}, later: behindTime}, unitDone, commanded,
		}},
		{name: "a gate closes: only the unit hears", from: withRule(game), acts: []act{rules("the PCF", pcc("r1", "203.0.113.7/32", closedBoth)), unitDone}},
		{name: "a rule of the default flow: only the unit hears", from: ruled, acts: []act{rules("the PCF", pcc("r1", "203.0.113.7/32", ofDefault, closedBoth)), unitDone, unitDone, rules("and it goes"), {name: "5 s later", event: Due{Name: dueBehind}, later: behindTime}, unitDone}},
		{name: "the default flow's gate closes", from: ruled, acts: []act{changed("the PCF", PolicyChanged{Decided: record.Decided{Ruled: true, Closed: 3}}), unitDone}},
		{name: "two rules with one precedence: the UE is told two", from: ruled, acts: []act{rules("the PCF", game, pcc("r2", "203.0.113.8/32")), unitDone, commanded}},
		{name: "more rules than a record has room for: the others are reported", from: ruled, acts: []act{rules("the PCF", many...)}},
		{name: "the gNB refuses a rule's flow: the PCF hears, and the UE forgets it", from: ruled, acts: []act{
			rules("the PCF", game), unitDone, commanded, modified(t, n2.FlowCause{QFI: 3, Cause: ngapcause.RadioResourcesNotAvailable}), done, unitDone, pcfHas,
			{name: "5 s later", event: Due{Name: dueBehind}, later: behindTime}, commanded, done,
		}},
		{name: "the UE refuses a rule: the PCF hears", from: ruled, acts: []act{
			rules("the PCF", game), unitDone, commanded, gnbHas, asks("the UE", commandReject(0, n1.CauseSemanticErrorInQoS)), unitDone, commanded, pcfHas,
		}},
		{name: "the UE does not answer to a rule: the PCF hears, and the UE is told to forget it when it shows itself", from: ruled, acts: []act{
			rules("the PCF", game), unitDone, commanded, gnbHas, silent, silent, silent, silent, silent, unitDone, commanded, pcfHas,
			asks("the UE, late", complete(0)), {name: "5 s later", event: Due{Name: dueBehind}, later: behindTime}, commanded, done,
		}},
		{name: "the unit refuses a rule: the PCF hears", from: ruled, acts: []act{rules("the PCF", game), unitRefuses, pcfHas}},
		{name: "the PCF decides in answer to what it hears", from: ruled, acts: []act{
			{name: "time to ask", event: PolicyChanged{From: 8, Ruling: Ruling{Revalidate: 1_800_000_060}}}, {name: "a minute later", event: Due{Name: duePolicy}, later: time.Minute},
			{name: "the PCF", event: Policy{Outcome: Done, Ruling: ruling(game)}}, unitDone,
		}},
		{name: "a trigger that it has asked for: another tracking area", from: func(tr *teller) State {
			return ruledBy(tr, Policy{Ruling: Ruling{TriggersSaid: true, Triggers: TriggerArea}})
		}, acts: []act{update1("the AMF", Update{AMF: record.AMF{InstanceID: "amf-1", TAC: 2, Cell: 9}}), pcfHas}},
		{name: "a trigger that it has not asked for", from: ruled, acts: []act{update1("the AMF", Update{AMF: record.AMF{InstanceID: "amf-2", TAC: 2}})}},
		{name: "another PLMN: it hears without asking", from: ruled, acts: []act{update1("the AMF", Update{PLMN: "20894", RAT: "NR"}), pcfHas}},
		{name: "it does not answer: it is asked again, and rules stay", from: withRule(game), acts: []act{
			update1("the AMF", Update{PLMN: "20894"}), pcfMute, update1("the AMF", Update{PLMN: "20893"}), {name: "30 s later", event: Due{Name: duePolicy}, later: policyRest}, pcfHas,
		}},
		{name: "another PCF: the association is made anew, and rules stay meanwhile", from: withRule(game), acts: []act{
			update1("the AMF", Update{PLMN: "20894"}), pcfGone, pcfMute, {name: "30 s later", event: Due{Name: duePolicy}, later: policyRest},
			{name: "the new PCF", event: Policy{Outcome: Done, URI: "http://pcf/2", Ruling: ruling(game)}},
		}},
		{name: "a new holder asks what holds, and knows it", from: withRule(game), acts: []act{unsure, holds(game)}},
		{name: "a new holder asks what holds: the one before has died with a decision", from: withRule(game), acts: []act{
			unsure, holds(pcc("r2", "203.0.113.8/32")), unitDone,
		}},
		{name: "a new holder asks what holds: the PCF does not answer", from: withRule(game), acts: []act{
			unsure, pcfMute, {name: "30 s later", event: Due{Name: duePolicy}, later: policyRest}, holds(game),
		}},
		{name: "a new holder asks what holds: it is another PCF", from: withRule(game), acts: []act{unsure, pcfGone}},
		{name: "a new holder asks what holds: the PCF does not say", from: withRule(game), acts: []act{unsure, {name: "the PCF refuses", event: Policy{Outcome: Refused}}}},
		{name: "a notification has waited behind an answer of the PCF: it is asked what holds", from: withRule(game), acts: []act{
			update1("the AMF", Update{PLMN: "20894"}), {name: "the PCF, 1 s later", event: Policy{Outcome: Done, Ruling: ruling(game)}, later: time.Second},
			{name: "what it had decided before", event: PolicyChanged{From: 8, Ruling: ruling(game)}, waited: time.Second}, holds(pcc("r2", "203.0.113.8/32")), unitDone,
		}},
		{name: "a new holder tells it again", from: ruled, acts: []act{update1("the AMF", Update{PLMN: "20894"}), {name: "resumed", event: Resumed{}}, pcfHas}},
		{name: "it wants the session to end", from: ruled, acts: []act{changed("the PCF", PolicyChanged{Ruling: Ruling{Ends: true}})}},
		{name: "the UE asks for a flow of its own, and the PCF gives it", from: ruled, acts: []act{
			asks("PTI 9", modify(9, gameRule, gameFlow)), {name: "the PCF", event: Policy{Outcome: Done, Ruling: ruling(pcc("r1", "198.51.100.7/32"))}}, unitDone, modified(t), asks("the UE has it", complete(9)), unitDone,
			asks("the UE gives it back", modify(10, deleteRule(3), deleteFlow(3))), {name: "the PCF", event: Policy{Outcome: Done, Ruling: ruling()}}, modified(t), asks("the UE has it", complete(10)), unitDone,
		}},
		{name: "the UE asks for a flow of its own: the PCF refuses, gives nothing, does not answer, has gone", from: ruled, acts: []act{
			asks("PTI 9", modify(9, gameRule, gameFlow)), {name: "the PCF", event: Policy{Outcome: Refused}}, asks("PTI 10", modify(10, gameRule, gameFlow)), pcfHas,
			asks("PTI 11", modify(11, gameRule, gameFlow)), pcfMute, asks("PTI 12", modify(12, gameRule, gameFlow)), pcfGone,
		}},
		{name: "the subscription changes, without a PCF", from: active, acts: []act{
			{name: "the UDM", event: SubscriptionChanged{From: 8}}, {name: "the subscription", event: Subscription{AMBR: record.AMBR{Uplink: 5e6, Downlink: 6e6}, Flows: []string{"game"}}}, unitDone, commanded, gnbHas, done, unitDone,
		}},
		{name: "the subscription changes: the PCF decides", from: ruled, acts: []act{
			{name: "the UDM", event: SubscriptionChanged{From: 8}}, {name: "the subscription", event: Subscription{AMBR: record.AMBR{Uplink: 5e6, Downlink: 6e6}}},
			{name: "the PCF", event: Policy{Outcome: Done, Decided: record.Decided{AMBR: record.AMBR{Uplink: 4e6, Downlink: 4e6}}}}, commanded,
		}},
		{name: "the subscription has the data network no more", from: active, acts: []act{{name: "the UDM", event: SubscriptionChanged{From: 8}}, {name: "the subscription", event: Subscription{Unknown: true}}}},
		{name: "the subscription has a static address now", from: active, acts: []act{{name: "the UDM", event: SubscriptionChanged{From: 8}}, {name: "the subscription", event: Subscription{IPv4: netip.MustParseAddr("10.60.0.7")}}}},
		{name: "the subscription cannot be had", from: active, acts: []act{{name: "the UDM", event: SubscriptionChanged{From: 8}}, {name: "the subscription", event: Subscription{Failed: true}}}},
	})
}

// What is known already is not written again: a new holder asks for all sessions.
func TestNothingIsWrittenOfWhatHolds(t *testing.T) {
	game := pcc("r1", "203.0.113.7/32")
	tr := newTeller(t)
	st := ruledBy(tr, Policy{Ruling: ruling(game)})
	was, err := st.Record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	asked := tr.handle(st, PolicyUnsure{})
	heard := tr.handle(asked.State, Policy{Outcome: Done, Ruling: ruling(game)})
	is, err := heard.State.Record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !asked.Lazy || len(asked.Due) != 0 || len(heard.Due) != 0 || string(is) != string(was) {
		t.Errorf("it is written: %+v, %+v", asked, heard)
	}
}
