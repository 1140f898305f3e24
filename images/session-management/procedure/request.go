package procedure

import (
	"fmt"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"
)

// What UEs ask for of a session that they have (TS 23.502 4.3.3.2 step 1a, TS 24.501 6.4.2), and what they get of it: flows that the
// Slice has for them and that they have not, or have given back; flows by filters of their own, which the PCF grants, or the Slice where one
// of its flows has room for them; an end of flows; always-on; protocol configuration options. It is granted as a whole or not at all.

// modifyByUE: step 1a.
func (t *turn) modifyByUE(m *n1.ModificationRequest, message []byte) {
	network := t.network()
	c := t.s.Command
	switch {
	case c != nil && !c.Release && c.PTI == m.PTI: // T3581: the command was lost
		t.reply(t.toldAgain())
		return
	case c == nil && t.repeated(message):
		return
	case c != nil || t.s.Wanted != nil: // TS 24.501 6.3.2.6, 6.4.2.6: the network's goes on, and the UE's is ignored
		t.reply(Updated{})
		return
	case t.s.Phase != record.Active && t.s.Phase != record.Idle, t.s.Handover != nil: // the UE asks again (T3581)
		t.reply(Updated{})
		return
	}
	request := &record.Procedure{PTI: m.PTI, Message: message}
	if network == nil {
		t.rejectModification(request, n1.CauseMissingOrUnknownDNNInSlice)
		return
	}
	if t.s.Policy != "" && t.resource(network, m) != nil {
		t.s.Procedure = &record.Procedure{Kind: uint8(Modification), Began: t.in.Now.UnixMilli(), PTI: m.PTI, Message: message}
		t.next(modifyPolicy)
		return
	}
	rules := t.s.Rules
	if t.s.Policy == "" {
		t.ownRules(network, m)
		network = t.network()
	}
	w, cause := grant(t.s, network, m)
	if cause != 0 {
		t.s.Rules = rules
		t.rejectModification(request, cause)
		t.ended(Modification, "the UE asked for what it does not get", t.in.Now.UnixMilli())
		return
	}
	if m.AlwaysOn {
		t.s.AlwaysOn = network.AlwaysOn.Grants(true)
	}
	t.modify(w, m.PTI, message)
}

// toldAgain is the command that is out, and what the access network was told with it, while it has not answered.
func (t *turn) toldAgain() Updated {
	out := Updated{N1: t.s.Command.Message}
	if w := t.s.Wanted; w != nil && w.Access {
		if r := forAccess(t.s, w); r != nil {
			if b, err := r.Encode(); err == nil {
				out.N2, out.N2Type = b, n2.InfoModifyRequest
			}
		}
	}
	return out
}

// answerOptions of a request.
func answerOptions(s *record.Session, network *configuration.DataNetwork, m *n1.ModificationRequest, c *n1.ModificationCommand) {
	if m.AlwaysOn {
		c.AlwaysOn = &s.AlwaysOn
	}
	c.Options = network.Configuration().Answer(m.Options, configuration.HasIPv4(s.Type), configuration.HasIPv6(s.Type))
}

// grant what a UE asks for; a cause of 0 is none (TS 24.501 6.4.2.4, 6.4.2.5).
func grant(s *record.Session, network *configuration.DataNetwork, m *n1.ModificationRequest) (*record.Wanted, n1.Cause) {
	w := &record.Wanted{}
	asked := map[uint8]n1.Flow{}
	for _, f := range m.Flows {
		n := indexOf(s.Flows, f.QFI)
		has := n >= 0 && ueHas(s.Flows[n])
		switch {
		case f.Operation == n1.CreateFlow:
			asked[f.QFI] = f
		case f.Operation == n1.DeleteFlow && n == 0, f.Operation == n1.ModifyFlow && !has:
			return nil, n1.CauseSemanticErrorInQoS
		case f.Operation == n1.DeleteFlow && has:
			w.Gone = with(w.Gone, f.QFI)
		case f.Operation == n1.ModifyFlow && !within(f, description(s.Flows[n], n1.ModifyFlow)):
			return nil, n1.CauseQoSNotAccepted
		}
	}
	used := 0
	for _, r := range m.Rules {
		n := indexOf(s.Flows, r.ID)
		has := n > 0 && ueHas(s.Flows[n])
		switch {
		case hasFrames(r.Filters) && s.Type != n1.Ethernet:
			return nil, n1.CauseSemanticErrorInFilters
		case r.Operation == n1.CreateRule && r.Default, r.Operation != n1.CreateRule && r.ID == defaultRule:
			return nil, n1.CauseSemanticErrorInQoS
		case r.Operation == n1.CreateRule:
			f, cause := match(s, network, r, asked[r.QFI])
			if cause != 0 {
				return nil, cause
			}
			used++
			qfi := freeQFI(s, w)
			if n := named(s.Flows, f.Name); n >= 0 {
				qfi = s.Flows[n].QFI
			}
			if qfi == 0 || indexOf(w.Flows, qfi) >= 0 {
				return nil, n1.CauseQoSNotAccepted
			}
			w.Flows = append(w.Flows, n4.Versioned(network.Record(f, qfi), network.Settings()))
		case r.Operation == n1.DeleteRule && has:
			w.Gone = with(w.Gone, r.ID)
		case r.Operation == n1.DeleteRule: // there is none: it is deleted (6.4.2.5)
		case !has:
			return nil, n1.CauseSemanticErrorInQoS
		default: // the Slice's filters are the Slice's
			return nil, n1.CauseQoSNotAccepted
		}
	}
	w.GivenBack = len(w.Gone) > 0
	if len(asked) > used { // 6.4.2.5: a flow without a rule
		return nil, n1.CauseSemanticErrorInQoS
	}
	return w, 0
}

func with(qfis []byte, qfi uint8) []byte {
	if slices.Contains(qfis, qfi) {
		return qfis
	}
	return append(qfis, qfi)
}

// match finds the flow of the Slice that a UE's rule describes.
func match(s *record.Session, network *configuration.DataNetwork, r n1.Rule, asked n1.Flow) (*configuration.Flow, n1.Cause) {
	known := asked.FiveQI == 0 || asked.FiveQI == network.FiveQI
	for i := range network.Flows {
		f := &network.Flows[i]
		known = known || f.FiveQI == asked.FiveQI
		if asked.FiveQI != 0 && f.FiveQI != asked.FiveQI || !sameFilters(r.Filters, f.Rule(0, 0, s.Type).Filters) {
			continue
		}
		n := named(s.Flows, f.Name)
		switch {
		case !slices.Contains(network.FlowsOf(s.Type, s.Subscribed), f):
			return nil, n1.CauseServiceOptionNotSubscribed
		case n >= 0 && ueHas(s.Flows[n]), !within(asked, f.Description(0)):
			return nil, n1.CauseQoSNotAccepted
		}
		return f, 0
	}
	if !known {
		return nil, n1.CauseUnsupported5QI
	}
	return nil, n1.CauseQoSNotAccepted
}

// within: a flow has what is asked for. What is not said is left to the network.
func within(asked, has n1.Flow) bool {
	fits := func(a, b uint64) bool { return a == 0 || a <= b }
	return (asked.FiveQI == 0 || asked.FiveQI == has.FiveQI) &&
		fits(asked.GFBRUplink, has.GFBRUplink) && fits(asked.GFBRDownlink, has.GFBRDownlink) &&
		fits(asked.MFBRUplink, has.MFBRUplink) && fits(asked.MFBRDownlink, has.MFBRDownlink)
}

// sameFilters whatever their identifiers and order.
func sameFilters(a, b []n1.Filter) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	for _, f := range a {
		if !slices.ContainsFunc(b, func(g n1.Filter) bool { g.ID = f.ID; return f == g }) {
			return false
		}
	}
	return true
}

// ---- flows of the UE's own --------------------------------------------------------------------------------------

// ownRules: without a PCF the Slice allows a UE what lies in one of its flows: filters that match less than that flow's, with its QoS. A flow
// with a guaranteed rate is had once, by the Slice's filters or by the UE's.
func (t *turn) ownRules(network *configuration.DataNetwork, m *n1.ModificationRequest) {
	for _, r := range m.Rules {
		asked := flowAsked(m, r.QFI)
		if r.Operation != n1.CreateRule || r.Default || hasFrames(r.Filters) && t.s.Type != n1.Ethernet {
			continue
		}
		if _, cause := match(t.s, network, r, asked); cause == 0 || cause == n1.CauseServiceOptionNotSubscribed {
			continue
		}
		base := t.in.Config.Named(t.s.Slice, t.s.DNN)
		for _, f := range base.FlowsOf(t.s.Type, t.s.Subscribed) {
			n := named(t.s.Flows, f.Name)
			guaranteed := f.GBR != (record.AMBR{})
			if !inside(r.Filters, f.Filters) || !within(asked, f.Description(0)) || guaranteed && (n < 0 || ueHas(t.s.Flows[n])) {
				continue
			}
			t.admit(base, t.ownRule(f, r)) // where there is no room, the request is refused as one that nothing allows
			break
		}
	}
}

func flowAsked(m *n1.ModificationRequest, qfi uint8) (asked n1.Flow) {
	for _, f := range m.Flows {
		if f.Operation == n1.CreateFlow && f.QFI == qfi {
			asked = f
		}
	}
	return asked
}

func (t *turn) ownRule(f *configuration.Flow, r n1.Rule) record.Rule {
	name := ""
	for n := 1; name == "" || slices.ContainsFunc(t.s.Rules, func(x record.Rule) bool { return x.Name == name }); n++ {
		name = fmt.Sprintf("ue-%d", n)
	}
	for n := range r.Filters {
		r.Filters[n].ID = uint8(n)
	}
	out := record.Rule{
		Name: name, FiveQI: f.FiveQI, Priority: f.ARP.Priority, MayPreempt: f.ARP.MayPreempt, Preemptable: f.ARP.Preemptable,
		GFBRUplink: f.GBR.Uplink, GFBRDownlink: f.GBR.Downlink, MFBRUplink: f.MBR.Uplink, MFBRDownlink: f.MBR.Downlink,
		Precedence: r.Precedence, Filters: n1.EncodeFilters(r.Filters), Own: true,
	}
	if c := t.network().Record(f, 0).Charge; c.Charged() {
		out.Charge = c
	}
	return out
}

// inside: each filter matches nothing that one of the others does not.
func inside(list, others []n1.Filter) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(f n1.Filter) bool {
		return !slices.ContainsFunc(others, func(g n1.Filter) bool { return covers(g, f) })
	})
}

func covers(g, f n1.Filter) bool {
	ports := func(g, f n1.PortRange) bool {
		return g == n1.PortRange{} || f != n1.PortRange{} && g.First <= f.First && f.Last <= g.Last
	}
	remote := !g.Remote.IsValid() || f.Remote.IsValid() && g.Remote.Bits() <= f.Remote.Bits() && g.Remote.Contains(f.Remote.Addr())
	return f.Direction&^g.Direction == 0 && remote && framesCover(g.Frame, f.Frame) && (g.Protocol < 0 || g.Protocol == f.Protocol) &&
		ports(g.RemotePorts, f.RemotePorts) && ports(g.LocalPorts, f.LocalPorts)
}

// framesCover: what g names f names, too.
func framesCover(g, f n1.Frame) bool {
	return (g.Remote == n1.MAC{} || g.Remote == f.Remote) && (g.Local == n1.MAC{} || g.Local == f.Local) &&
		(g.CVLAN == 0 || g.CVLAN == f.CVLAN) && (g.SVLAN == 0 || g.SVLAN == f.SVLAN) && (g.CPriority == 0 || g.CPriority == f.CPriority) &&
		(g.SPriority == 0 || g.SPriority == f.SPriority) && (g.EtherType == 0 || g.EtherType == f.EtherType)
}

// resource that the PCF is to be asked for: a flow by the UE's own filters, or a change of a rule that is the PCF's. A request is for one
// (TS 29.512 4.2.4.17); nil: it is for none.
func (t *turn) resource(network *configuration.DataNetwork, m *n1.ModificationRequest) *Resource {
	if len(m.Rules) != 1 {
		return nil
	}
	r := m.Rules[0]
	if hasFrames(r.Filters) { // a PCF cannot be asked for these (PacketFilterInfo, TS 29.512 5.6.2.30)
		return nil
	}
	asked := flowAsked(m, r.QFI)
	out := &Resource{
		Operation: r.Operation, Filters: r.Filters, Precedence: r.Precedence, FiveQI: asked.FiveQI,
		GFBRUplink: asked.GFBRUplink, GFBRDownlink: asked.GFBRDownlink,
	}
	if r.Operation == n1.CreateRule {
		if _, cause := match(t.s, network, r, asked); r.Default || cause == 0 {
			return nil
		}
		return out
	}
	n := indexOf(t.s.Flows, r.ID)
	if n <= 0 || !ueHas(t.s.Flows[n]) {
		return nil
	}
	at := slices.IndexFunc(t.s.Rules, func(x record.Rule) bool { return x.Name == t.s.Flows[n].Name && !x.Own })
	if at < 0 {
		return nil
	}
	out.Rule = t.s.Rules[at].Name
	if r.Operation == n1.ChangeRule || r.Operation == n1.DeleteRule {
		out.Filters, _ = n1.DecodeFilters(t.s.Rules[at].Filters)
	}
	return out
}

func askResource(t *turn) {
	network := t.network()
	m, err := n1.Decode(t.s.Procedure.Message)
	request, ok := m.(*n1.ModificationRequest)
	var r *Resource
	if err == nil && ok && network != nil {
		r = t.resource(network, request)
	}
	if r == nil {
		t.refuseResource("there is nothing to ask for any more", n1.CauseQoSNotAccepted)
		return
	}
	t.do(AskPolicy{Operation: UpdatePolicy, Session: t.s.Clone(), Resource: r})
}

func takeResource(t *turn, e Event) {
	p, ok := e.(Policy)
	if !ok {
		return
	}
	switch {
	case p.Outcome == Done:
	case p.Gone:
		t.control().Anew, t.control().Rests = true, false
		t.refuseResource("the PCF does not know the session", n1.CauseInsufficientResources)
		return
	case p.Outcome == Refused:
		t.refuseResource("the PCF refused", n1.CauseQoSNotAccepted)
		return
	default:
		if p.Outcome == Unknown { // it may have decided
			t.control().Unread, t.control().Rests = true, true
			t.due(duePolicy, policyRest)
		}
		t.refuseResource("no answer of the PCF", n1.CauseInsufficientResources)
		return
	}
	request := t.s.Procedure
	t.s.Decided = and(t.s.Decided, p.Decided)
	t.failed(t.rule(p.Ruling)...)
	network := t.network()
	var w *record.Wanted
	if network != nil {
		w = difference(t.s, network)
	}
	if w == nil { // it has decided that nothing is to be otherwise
		t.refuseResource("the PCF gives nothing", n1.CauseQoSNotAccepted)
		return
	}
	t.modify(w, request.PTI, request.Message)
}

func (t *turn) refuseResource(why string, cause n1.Cause) {
	request := t.s.Procedure
	t.over(why)
	t.rejectModification(request, cause)
}

// answeredTime is how long a UE may repeat a request: T3580 to T3582 five times (TS 24.501 10.3).
const answeredTime = 90 * time.Second

// answered remembers what a message of the UE's was answered.
func (t *turn) answered(message, answer []byte) {
	t.s.Answered = &record.Answered{Digest: digest(message), Answer: answer, At: t.in.Now.UnixMilli()}
}

// repeated answers a message that was answered before as it was then.
func (t *turn) repeated(message []byte) bool {
	a := t.s.Answered
	if a == nil || len(a.Answer) == 0 || a.Digest != digest(message) || t.in.Now.UnixMilli()-a.At > answeredTime.Milliseconds() {
		return false
	}
	t.reply(Updated{N1: a.Answer})
	return true
}
