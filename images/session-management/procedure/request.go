package procedure

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"
)

// What UEs ask for of a session that they have (TS 23.502 4.3.3.2 step 1a, TS 24.501 6.4.2), and what they get of it: flows that the
// Slice has for them and that they have not, or have given back; an end of flows; always-on; protocol configuration options.
// It is granted as a whole or not at all.

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
	w, cause := grant(t.s, network, m)
	if cause != 0 {
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
			w.Flows = append(w.Flows, n4.Versioned(f.Record(qfi), network.Settings()))
		case r.Operation == n1.DeleteRule && has:
			w.Gone = with(w.Gone, r.ID)
		case r.Operation == n1.DeleteRule: // there is none: it is deleted (6.4.2.5)
		case !has:
			return nil, n1.CauseSemanticErrorInQoS
		default: // the Slice's filters are the Slice's
			return nil, n1.CauseQoSNotAccepted
		}
	}
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
