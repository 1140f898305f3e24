package procedure

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// ---- words ----------------------------------------------------------------------------------------------------

func chargingWords(e AskCharging) string {
	out := fmt.Sprintf("charging: %s number %d%s", map[ChargingOperation]string{CreateCharging: "create", UpdateCharging: "update", ReleaseCharging: "release"}[e.Operation],
		e.Session.Usage.Sequence, map[bool]string{true: " again"}[e.Again])
	for _, g := range e.Session.Usage.Groups {
		if g.Sent != (record.Units{}) || g.SentWhy != 0 {
			out += fmt.Sprintf(" group %d: %s (%s)", g.RatingGroup, unitsWords(g.Sent), whyWords(g.SentWhy))
		}
	}
	return out
}

func unitsWords(u record.Units) string {
	return fmt.Sprintf("%d/%d %ds", u.Uplink, u.Downlink, u.Seconds)
}

func whyWords(why uint32) string {
	var words []string
	for ; why != 0; why &= why - 1 {
		words = append(words, []string{"volume", "time", "threshold", "exhausted", "holding", "validity", "forced", "new", "final", "asks"}[bits.TrailingZeros32(why)])
	}
	return strings.Join(words, " ")
}

func usageWords(s *record.Session) (out string) {
	if s.Usage.Open != 0 {
		out += " open"
	}
	if s.Usage.Rests {
		out += " rests"
	}
	for _, g := range s.Usage.Groups {
		out += fmt.Sprintf(" [group %d urr %d", g.RatingGroup, g.URR)
		for _, w := range []struct {
			is   bool
			word string
		}{{!g.Has, "not in the unit"}, {g.Gone, "gone"}, {g.Free, "free"}, {n4.Blocked(&g), "blocked"}, {g.Quota != nil && g.Quota.Final, "final"}} {
			if w.is {
				out += " " + w.word
			}
		}
		if g.Quota != nil {
			out += fmt.Sprintf(" left %d", g.Quota.Total)
		}
		if g.Used != (record.Units{}) {
			out += " used " + unitsWords(g.Used)
		}
		if g.Sent != (record.Units{}) {
			out += " sent " + unitsWords(g.Sent)
		}
		if g.Why != 0 {
			out += " why " + whyWords(g.Why)
		}
		out += "]"
	}
	return out
}

func urrWords(e *ie.IE) string {
	id, _ := e.URRID()
	out := fmt.Sprint(id)
	for _, c := range e.ChildIEs {
		switch c.Type {
		case ie.VolumeQuota:
			if q, err := c.VolumeQuota(); err == nil {
				out += fmt.Sprintf(" quota %d", q.TotalVolume)
			}
		case ie.VolumeThreshold:
			if q, err := c.VolumeThreshold(); err == nil {
				out += fmt.Sprintf(" threshold %d", q.TotalVolume)
			}
		case ie.TimeQuota:
			if q, err := c.TimeQuota(); err == nil {
				out += fmt.Sprintf(" time %v", q)
			}
		}
	}
	return "(" + out + ")"
}

// ---- how they come about --------------------------------------------------------------------------------------

func chargedAs(mode configuration.Charging) func([]configuration.Slice) {
	return func(list []configuration.Slice) {
		list[0].DataNetworks[0].Charging, list[0].DataNetworks[0].RatingGroup = mode, 7
		list[0].DataNetworks[0].Flows[0].RatingGroup = 8
	}
}

// quota of a rating group.
func quota(group uint32, octets uint64, with ...func(*record.Quota)) Grant {
	q := record.Quota{Has: record.HasTotal, Total: octets, VolumeLeft: octets / 10}
	for _, f := range with {
		f(&q)
	}
	return Grant{RatingGroup: group, Quota: q}
}

func final(q *record.Quota)     { q.Final = true }
func forMinute(q *record.Quota) { q.Until = 60 }

func opened(grants ...Grant) Charged {
	return Charged{Outcome: Done, URI: "http://chf/1", Grants: grants}
}

var grantedAll = Charged{Outcome: Done, Grants: []Grant{quota(7, 1000), quota(8, 500)}}

// online is an active session with quotas: 1000 octets of group 7, 500 of group 8.
func online(tr *teller) State {
	tr.configure(chargedAs(configuration.ChargingOnline))
	st := tr.lead(State{}, create(request(5, 0x91)), Subscription{}, opened(grantedAll.Grants...), made(), Transferred{Outcome: Done})
	return tr.lead(st, tr.ready(), Unit{Outcome: Done})
}

func offline(tr *teller) State {
	tr.configure(chargedAs(configuration.ChargingOffline))
	st := tr.lead(State{}, create(request(5, 0x91)), Subscription{}, opened(), made(), Transferred{Outcome: Done})
	return tr.lead(st, tr.ready(), Unit{Outcome: Done})
}

func used(urr, sequence uint32, why uint32, down uint64) Measured {
	return Measured{URR: urr, Sequence: sequence, Why: why, Used: record.Units{Uplink: 1, Downlink: down, Seconds: 2}}
}

func measuredAct(name string, list ...Measured) act {
	return act{name: name, event: Report{From: 6, Usage: list}}
}

func charged(name string, c Charged) act { return act{name: name, event: c} }

var (
	chfMute    = act{name: "no answer of the CHF", event: Charged{Outcome: Unknown}}
	chfRefuses = act{name: "the CHF refuses", event: Charged{Outcome: Refused}}
	chfHas     = act{name: "the CHF has it", event: Charged{Outcome: Done}}
)

// TS 32.255 5.2.2, TS 32.290 5.3.2.
func TestCharging(t *testing.T) {
	onlineSlice, offlineSlice := chargedAs(configuration.ChargingOnline), chargedAs(configuration.ChargingOffline)
	asked := []act{{name: "create", event: create(request(5, 0x91))}, {name: "subscription", event: Subscription{}}}
	with := func(more ...act) []act { return append(asked[:len(asked):len(asked)], more...) }
	unitHas := act{name: "the unit has it", event: made()}
	differs := act{name: "the store has lost writes", event: UnitDiffers{UPSEID: 77}}
	tell(t, "charging", []story{
		{name: "online: quotas before the unit has the session", with: onlineSlice, acts: with(charged("the CHF", opened(quota(7, 1000), quota(8, 500))), unitHas)},
		{name: "online: the CHF grants with the first update", with: onlineSlice, acts: with(charged("the CHF", opened()), charged("the CHF", grantedAll), unitHas)},
		{name: "online: the CHF has nothing for one group, and the other needs no quota", with: onlineSlice, acts: with(charged("the CHF", opened(Grant{RatingGroup: 7, Free: true}, Grant{RatingGroup: 8, Denied: true})), unitHas)},
		{name: "online: the CHF refuses", with: onlineSlice, acts: with(chfRefuses)},
		{name: "online: the CHF does not answer", with: onlineSlice, acts: with(chfMute)},
		{name: "offline: the CHF does not answer, and hears later", with: offlineSlice, acts: with(chfMute, unitHas, commanded, act{name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone,
			act{name: "30 s later", event: Due{Name: dueCharge}, later: chargeRest}, charged("the CHF", opened()))},
		{name: "online: at the threshold more is asked for", from: online, acts: []act{measuredAct("the unit", used(1, 0, WhyThreshold, 899)), charged("the CHF", Charged{Outcome: Done, Grants: []Grant{quota(7, 2000)}}), unitDone}},
		{name: "online: the same report again counts once", from: online, acts: []act{
			measuredAct("the unit", used(1, 0, WhyThreshold, 899)), charged("the CHF", Charged{Outcome: Done, Grants: []Grant{quota(7, 2000)}}), unitDone, measuredAct("the unit, again", used(1, 0, WhyThreshold, 899)),
		}},
		{name: "online: the last quota ends: nothing passes, until the CHF says otherwise", from: online, acts: []act{
			measuredAct("the unit", used(1, 0, WhyThreshold, 899)), charged("the CHF", Charged{Outcome: Done, Grants: []Grant{quota(7, 2000, final)}}), unitDone,
			measuredAct("the unit", used(1, 1, WhyExhausted, 1999)), chfHas, unitDone,
			{name: "the CHF: somebody has paid", event: ChargingChanged{From: 8, RatingGroups: []uint32{7}}}, {name: "the unit says", event: Unit{Outcome: Done}}, charged("the CHF", Charged{Outcome: Done, Grants: []Grant{quota(7, 5000)}}), unitDone,
		}},
		{name: "online: the CHF denies more", from: online, acts: []act{measuredAct("the unit", used(2, 0, WhyExhausted, 499)), charged("the CHF", Charged{Outcome: Done, Grants: []Grant{{RatingGroup: 8, Denied: true}}}), unitDone}},
		{name: "online: the CHF does not answer: what it has granted may be used, and what was used is kept", from: online, acts: []act{
			measuredAct("the unit", used(1, 0, WhyThreshold, 899)), chfMute, measuredAct("the unit", used(1, 1, WhyExhausted, 99)),
			{name: "30 s later", event: Due{Name: dueCharge}, later: chargeRest}, charged("the CHF, of the first", Charged{Outcome: Done, Grants: []Grant{quota(7, 2000)}}), charged("the CHF, of the second", Charged{Outcome: Done, Grants: []Grant{quota(7, 3000)}}), unitDone,
		}},
		{name: "online: another CHF, which knows nothing: it is told all of it anew", from: online, acts: []act{
			measuredAct("the unit", used(1, 0, WhyThreshold, 899)), chfRefuses, charged("the CHF", opened(quota(7, 2000))), unitDone,
		}},
		{name: "online: a new holder asks again with the same number", from: online, acts: []act{
			measuredAct("the unit", used(1, 0, WhyThreshold, 899)), {name: "resumed", event: Resumed{}}, charged("the CHF", Charged{Outcome: Done, Grants: []Grant{quota(7, 2000)}}),
			{name: "resumed: the unit may have heard, and a quota is not given twice", event: Resumed{}}, {name: "it says what it has measured", event: Unit{Outcome: Done, Usage: []Measured{used(1, 1, 0, 49)}}}, unitHas,
		}},
		{name: "online: a quota's time is over", from: func(tr *teller) State {
			return tr.lead(online(tr), Report{From: 6, Usage: []Measured{used(1, 0, WhyThreshold, 899)}}, Charged{Outcome: Done, Grants: []Grant{quota(7, 2000, forMinute)}}, Unit{Outcome: Done})
		}, acts: []act{
			{name: "a minute later", event: Due{Name: dueCharge}, later: time.Minute}, {name: "the unit says", event: Unit{Outcome: Done, Usage: []Measured{used(1, 1, 0, 10)}}},
			charged("the CHF", Charged{Outcome: Done, Grants: []Grant{quota(7, 2000)}}), unitDone,
		}},
		{name: "online: the unit has lost the session: it gets what is left", from: online, acts: []act{
			measuredAct("the unit", used(1, 0, 0, 299)), {name: "the unit has restarted", event: UnitRestarted{}}, unitHas, measuredAct("a report of before", used(1, 1, 0, 5)),
		}},
		{name: "online: the unit has it by other rules: it says what it has measured, and is told what is left", from: online, acts: []act{
			differs, {name: "the unit says so", event: Unit{Outcome: Done, Usage: []Measured{used(1, 0, 0, 299)}}}, unitHas,
		}},
		{name: "online: the unit has it by other rules, and cannot be asked: it says so with the deletion", from: online, acts: []act{
			differs, {name: "the unit refuses", event: Unit{Outcome: Refused, Cause: 64}}, {name: "the unit says so", event: Unit{Outcome: Done, Usage: []Measured{used(1, 0, 0, 299)}}}, unitHas,
		}},
		{name: "online: the unit has it by other rules, and has lost it by now", from: online, acts: []act{
			differs, {name: "the unit does not know it", event: Unit{Outcome: Refused, Cause: 65}}, unitHas,
		}},
		{name: "online: the unit has it by other rules, and does not answer", from: online, acts: []act{
			differs, {name: "the pod dies", event: Resumed{}}, unitMute,
		}},
		{
			name: "online: another anchor is told once what is left", with: routed, from: online, acts: []act{
				{name: "the anchor drains", event: UnitDrains{NodeID: unitID}, drains: unitID}, {name: "the other one has it", event: otherMade()}, heardWay,
				update1("down", Update{Connection: Deactivated}),
			},
		},
		{name: "online: the CHF ends the session", from: online, acts: []act{{name: "the CHF", event: ChargingChanged{From: 8, Abort: true}}}},
		{name: "offline: usage goes to the CDR", from: offline, acts: []act{measuredAct("the unit", used(1, 0, WhyThreshold, 1<<30)), chfHas}},
		{name: "the Slice charges from now on", from: active, acts: []act{changedTo("the Slice", onlineSlice), unitDone, charged("the CHF", opened(grantedAll.Grants...)), unitDone}},
		{name: "the Slice charges from now on, and the unit measures without having answered: it has another URR when it is told again", from: active, acts: []act{
			changedTo("the Slice", offlineSlice), unitMute, charged("the CHF", opened()), unitMute, measuredAct("the unit", used(1, 0, WhyThreshold, 1<<30)), chfHas,
		}},
		{name: "the Slice charges no more: what was used is told", from: online, acts: []act{
			changedTo("the Slice", func(list []configuration.Slice) { list[0].DataNetworks[0].Charging = configuration.ChargingNone }),
			{name: "the unit knows", event: Unit{Outcome: Done, Usage: []Measured{used(1, 0, WhyFinal, 100)}}}, chfHas,
		}},
		{name: "the end: the last usage is released", from: online, acts: []act{
			update1("the UE", Update{N1: releaseRequest(9)}), {name: "the unit", event: Unit{Outcome: Done, Usage: []Measured{used(1, 0, WhyFinal, 100), used(2, 0, WhyFinal, 0)}}}, chfHas,
		}},
		{name: "the end: the CHF does not answer: what it has not heard is kept until it has", from: online, acts: []act{
			{name: "the AMF", event: Release{From: 4}}, {name: "the unit", event: Unit{Outcome: Done, Usage: []Measured{used(1, 0, WhyFinal, 100)}}}, chfMute,
			{name: "30 s later", event: Due{Name: dueCharge}, later: chargeRest}, chfRefuses, charged("the new CHF", opened()), chfHas,
		}},
		{name: "the end: the CHF does not answer, and its time comes before the UE's answer", from: online, acts: []act{
			update1("the UE", Update{N1: releaseRequest(9)}), {name: "the unit", event: Unit{Outcome: Done, Usage: []Measured{used(1, 0, WhyFinal, 100)}}}, chfMute,
			{name: "a time that was on its way", event: Due{Name: dueCharge}}, update1("the UE has released it", Update{N1: releaseComplete(9)}),
		}},
		{name: "the end: the CHF does not answer, and the UE wants another session", from: online, acts: []act{
			{name: "the AMF", event: Release{From: 4}}, {name: "the unit", event: Unit{Outcome: Done, Usage: []Measured{used(1, 0, WhyFinal, 100)}}}, chfMute,
			{name: "create", event: create(request(6, 0x91))}, unitDone, chfMute,
		}},
		{name: "a notification for a session that is not charged", from: active, acts: []act{{name: "the CHF", event: ChargingChanged{From: 8}}}},
	})
}
