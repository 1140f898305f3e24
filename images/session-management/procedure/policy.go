package procedure

import (
	"bytes"
	"net/http"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

// Policy (TS 29.512): what the PCF decides, and what it is told of a session. Without a PCF the Slice's flows hold.
//
//	4.2.2    creation                                     establishPolicy (establishment.go)
//	4.2.3    the PCF decides otherwise                    policyChanged
//	         it ends its association                      policyEnded
//	4.2.4  1 something happened that it wants to hear of  happened, then policeAsk
//	         rules that are not in force any more         lostRules
//	         the UE asks for a flow of its own            modifyPolicy (modification.go)
//	       2 the subscription has changed                 policeSubscription (subscription.go)
//	4.2.5    end                                          endPolicy (release.go)
//	5.3.3.3  what holds is read, where something that     policeRead
//	         the PCF has decided may not have been heard,
//	         or not in the order in which it has
//
// A PCF that does not know the association (any more) is told of the session as of a new one, and what was decided holds meanwhile.
const (
	policeAsk          uint8 = 1
	policeSubscription uint8 = 2
	policeRead         uint8 = 3
)

var policing = map[uint8]step{
	policeAsk:          {ask: askPolicing, take: takePolicing},
	policeSubscription: {ask: askChangedSubscription, take: takeChangedSubscription},
	policeRead:         {ask: askPolicyRead, take: takePolicyRead},
}

// Triggers (PolicyControlRequestTrigger, TS 29.512 5.6.3.6). The bits are in records.
const (
	TriggerAddress  uint32 = 1 << 0 // UE_IP_CH
	TriggerPLMN     uint32 = 1 << 1 // PLMN_CH
	TriggerArea     uint32 = 1 << 2 // SAREA_CH
	TriggerCell     uint32 = 1 << 3 // SCELL_CH
	TriggerAMF      uint32 = 1 << 4 // SCNN_CH
	TriggerRAT      uint32 = 1 << 5 // RAT_TY_CH
	TriggerTimeout  uint32 = 1 << 6 // RE_TIMEOUT
	TriggerAMBR     uint32 = 1 << 7 // SE_AMBR_CH
	TriggerQoS      uint32 = 1 << 8 // DEF_QOS_CH
	TriggerNoCredit uint32 = 1 << 9 // NO_CREDIT

	// triggersAlways are told without being asked for (TS 29.512 4.2.6.4).
	triggersAlways = TriggerAddress | TriggerPLMN | TriggerTimeout | TriggerAMBR | TriggerQoS
)

// policyRest is how long a PCF that does not answer is left alone.
const policyRest = 30 * time.Second

// Failure codes (TS 29.512 5.6.3.9).
const (
	codeNoResources = "RES_ALLO_FAIL"
	codeLimit       = "RES_LIM"
	codeMostFlows   = "MAX_NR_QoS_FLOW"
	codeFlows       = "INCOR_FLOW_INFO"
	codeRatingGroup = "RA_GR_ERR"
)

// mostRules of a PCF's own, or of a UE's; their records have to find room, too.
const mostRules = 8

// ---- what is decided ------------------------------------------------------------------------------------------

// NetworkOf a session: its data network, with the flows that the session alone has; nil where it is gone.
func NetworkOf(s *record.Session, c *configuration.Snapshot) *configuration.DataNetwork {
	network := c.Named(s.Slice, s.DNN)
	if s.Emergency && network != nil { // no PCF knows a UE without a SUPI, and no quota is to end the call
		free := *network
		free.Policy, free.Charging = false, configuration.ChargingNone
		network = &free
	}
	if network == nil || len(s.Rules) == 0 {
		return network
	}
	flows := make([]configuration.Flow, 0, len(s.Rules))
	for _, r := range s.Rules {
		flows = append(flows, flowOf(r))
	}
	return network.With(flows)
}

// flowOf a rule.
func flowOf(r record.Rule) configuration.Flow {
	f := configuration.Flow{
		Name: r.Name, FiveQI: r.FiveQI, ARP: configuration.ARP{Priority: r.Priority, MayPreempt: r.MayPreempt, Preemptable: r.Preemptable},
		GBR: record.AMBR{Uplink: r.GFBRUplink, Downlink: r.GFBRDownlink}, MBR: record.AMBR{Uplink: r.MFBRUplink, Downlink: r.MFBRDownlink},
		Precedence: r.Precedence, Default: r.Default, Closed: r.Closed,
	}
	f.Filters, _ = n1.DecodeFilters(r.Filters) // they were written by this program
	if r.Charge != (record.Charge{}) {
		f.Charge = &r.Charge
	}
	return f
}

// rule by what the PCF has decided, as far as that can be, and say which rules are not in force.
func (t *turn) rule(r Ruling) (failed []record.Failure) {
	if r.TriggersSaid || r.Revalidate != 0 {
		c := t.control()
		if r.TriggersSaid {
			c.Triggers = r.Triggers
		}
		if r.Revalidate != 0 {
			c.Revalidate = r.Revalidate
			t.due(duePolicy, max(time.Unix(r.Revalidate, 0).Sub(t.in.Now), time.Second))
		}
	}
	failed = r.Failed
	base := t.in.Config.Named(t.s.Slice, t.s.DNN)
	if !r.Said || base == nil {
		return failed
	}
	before := t.s.Rules
	t.s.Rules = slices.DeleteFunc(slices.Clone(before), func(x record.Rule) bool { return !x.Own })
	for _, x := range r.Rules {
		if n := slices.IndexFunc(before, func(b record.Rule) bool { return b.Name == x.Name && !b.Own }); n >= 0 && sameButPrecedence(before[n], x) {
			x.Precedence = before[n].Precedence
		}
		if code := t.admit(base, x); code != "" {
			failed = append(failed, record.Failure{Rule: x.Name, Code: code})
		}
	}
	return failed
}

// sameButPrecedence: a rule that has stepped aside for another stays there.
func sameButPrecedence(a, b record.Rule) bool {
	return string(a.Filters) == string(b.Filters) && a.FiveQI == b.FiveQI
}

// admit one rule; a code says why not.
func (t *turn) admit(base *configuration.DataNetwork, x record.Rule) (code string) {
	s := t.s
	own := flowOf(x)
	if !slices.ContainsFunc(base.With([]configuration.Flow{own}).FlowsOf(s.Type, nil), func(f *configuration.Flow) bool { return f.Name == x.Name }) {
		return codeFlows // it has none that packets of the session can match
	}
	if len(s.Rules) >= mostRules {
		return codeMostFlows
	}
	if !t.chargeable(base, x.Charge) {
		return codeRatingGroup
	}
	x.Precedence = freePrecedence(s, base, x.Precedence)
	s.Rules = append(s.Rules, x)
	if !t.fits() {
		s.Rules = s.Rules[:len(s.Rules)-1]
		return codeLimit
	}
	return ""
}

// chargeable: the session has no more rating groups with it than there may be.
func (t *turn) chargeable(base *configuration.DataNetwork, c record.Charge) bool {
	groups := map[record.Charge]bool{base.Charge(0): true, t.s.Decided.Charge: true, c: true}
	for _, f := range base.Flows {
		groups[base.Charge(f.RatingGroup)] = true
	}
	for _, r := range t.s.Rules {
		groups[r.Charge] = true
	}
	delete(groups, record.Charge{})
	return !c.Charged() || len(groups) <= configuration.MostRatingGroups
}

// freePrecedence is the wanted one, or the next that no rule of the UE's has (TS 24.501 6.3.2.4: two alike are an error).
func freePrecedence(s *record.Session, base *configuration.DataNetwork, want uint8) uint8 {
	taken := func(p uint8) bool {
		return slices.ContainsFunc(s.Rules, func(r record.Rule) bool { return r.Precedence == p }) ||
			slices.ContainsFunc(base.Flows, func(f configuration.Flow) bool { return f.Precedence == p })
	}
	want = min(max(want, 1), defaultPrecedence-1)
	for p := want; p < defaultPrecedence; p++ {
		if !taken(p) {
			return p
		}
	}
	for p := want; p > 1; p-- {
		if !taken(p) {
			return p
		}
	}
	return want
}

// fits: there is room for the record while its rules come into force, when it has all of them three times and a command for the UE.
func (t *turn) fits() bool {
	s := t.s.Clone()
	network := t.network()
	if network == nil || s.UPSEID == 0 && len(s.Flows) == 0 {
		return true
	}
	newQoS(s, network)
	w := &record.Wanted{AMBR: s.AMBR, Flows: s.Flows}
	command := n1.ModificationCommand{SessionID: s.ID}
	command.Rules, command.Flows = qosOf(s, network)
	s.Wanted, s.Told, s.Command = w, &record.Told{Downlink: s.Downlink, AMBR: s.AMBR, Flows: s.Flows}, &record.Command{Message: command.Encode(), Began: s.Since}
	s.Procedure = &record.Procedure{Began: s.Since, Message: make([]byte, 64)}
	s.Doubtful = []byte{theAMBR}
	for _, f := range s.Flows {
		s.Doubtful = with(s.Doubtful, f.QFI)
	}
	return s.Roomy()
}

// policyChanged: TS 23.502 4.3.3.2 step 1b. What the PCF leaves open stays. A UE that is idle is paged for it.
func (t *turn) policyChanged(p PolicyChanged) {
	if t.s.Phase == record.Releasing || t.network() == nil {
		t.reply(Failed{Status: http.StatusNotFound, Cause: "CONTEXT_NOT_FOUND", Detail: "the session is being released"})
		return
	}
	t.shown() // as for a change of the Slice
	t.s.Decided = and(t.s.Decided, p.Decided)
	if p.Flows != nil {
		t.s.Subscribed = p.Flows
	}
	failed := t.rule(p.Ruling)
	t.reply(Accepted{Failed: failed})
	if t.s.Policy != "" && t.in.Came.UnixNano() < t.policed { // it has waited, and what the PCF has answered meanwhile may be what it has decided later
		t.control().Unread = true
	}
	if p.Ends {
		t.endByNetwork(n1.CauseRegularDeactivation)
		return
	}
	t.qosChanged()
}

// qosChanged has UE, access network and unit follow, where there is anything to follow.
func (t *turn) qosChanged() {
	network := t.network()
	if network == nil || t.s.Phase != record.Active && t.s.Phase != record.Idle {
		t.s.Behind = t.s.Behind || t.s.Phase == record.Establishing
		return
	}
	if !t.lags(network) {
		return
	}
	t.s.Behind = true
	if t.s.Phase == record.Idle && t.s.Wanted == nil && t.s.Command == nil {
		t.begin(Paging, pageTransfer)
		t.out.Lazy = false // the PCF has its answer
		return
	}
	t.catchUp()
}

// policyEnded: the PCF wants its association, and with it the session, to end (TS 29.512 4.2.4.2).
func (t *turn) policyEnded() {
	t.reply(Accepted{})
	t.endByNetwork(n1.CauseRegularDeactivation)
}

// ---- what the PCF is told -------------------------------------------------------------------------------------

func (t *turn) control() *record.Control {
	if t.s.Control == nil {
		t.s.Control = &record.Control{}
	}
	return t.s.Control
}

// happened notes what the PCF may want to hear of.
func (t *turn) happened(trigger uint32) {
	armed := uint32(triggersAlways)
	if c := t.s.Control; c != nil {
		armed |= c.Triggers
	}
	if t.s.Policy != "" && trigger&armed != 0 {
		t.control().Due |= trigger & armed
	}
}

// failed rules are reported.
func (t *turn) failed(list ...record.Failure) {
	if len(list) > 0 && t.s.Policy != "" {
		c := t.control()
		c.Failed = append(c.Failed, list...)
		c.Failed = c.Failed[:min(len(c.Failed), mostRules)]
	}
}

// lostRules: rules whose flows the access network, or the UE, has not taken. They are in force no more; what the UE has been told of them it
// is told to forget, where it is told the Slice's.
func (t *turn) lostRules() {
	s := t.s
	if len(s.Rules) == 0 || s.Wanted != nil || s.Phase != record.Active && s.Phase != record.Idle {
		return
	}
	s.Rules = slices.DeleteFunc(s.Rules, func(r record.Rule) bool {
		n := named(s.Flows, r.Name)
		there := n >= 0 && !s.Flows[n].Refused
		if there || s.Behind && !s.Silent && (n < 0 || doubted(s.Flows[n])) {
			return false
		}
		if !r.Own {
			t.failed(record.Failure{Rule: r.Name, Code: codeNoResources})
		}
		if n > 0 && !ueHas(s.Flows[n]) {
			s.Flows = slices.Delete(s.Flows, n, n+1)
		}
		return true
	})
}

// refuseRules whose flows the unit does not take.
func (t *turn) refuseRules(flows []record.Flow) {
	t.s.Rules = slices.DeleteFunc(t.s.Rules, func(r record.Rule) bool {
		if named(flows, r.Name) < 0 {
			return false
		}
		if !r.Own {
			t.failed(record.Failure{Rule: r.Name, Code: codeNoResources})
		}
		return true
	})
}

// polices says whether there is something to tell the PCF.
func (t *turn) polices() bool {
	c := t.s.Control
	return c != nil && t.s.Policy != "" && !c.Rests && (c.Anew || c.Unread || c.Due != 0 || len(c.Failed) > 0)
}

// policyTime: the PCF has been left alone for long enough, or wanted to be asked by now.
func (t *turn) policyTime() {
	c := t.s.Control
	if c == nil || t.s.Phase == record.Releasing {
		return
	}
	c.Rests = false
	if c.Revalidate != 0 && c.Revalidate <= t.in.Now.Unix() {
		c.Revalidate = 0
		t.happened(TriggerTimeout)
	}
	t.revalidate()
}

func (t *turn) revalidate() {
	if c := t.s.Control; c != nil && c.Revalidate != 0 {
		t.due(duePolicy, max(time.Unix(c.Revalidate, 0).Sub(t.in.Now), time.Second))
	}
}

func askPolicing(t *turn) {
	operation := UpdatePolicy
	if t.control().Anew {
		operation = CreatePolicy
	}
	t.do(AskPolicy{Operation: operation, Session: t.s.Clone()})
}

func takePolicing(t *turn, e Event) {
	p, ok := e.(Policy)
	if !ok {
		return
	}
	c := t.control()
	switch {
	case p.Outcome == Done:
		if p.URI != "" {
			t.s.Policy, c.Unread = p.URI, false
		}
		p.Ruling = p.without(c.Failed)
		c.Anew, c.Due, c.Failed = false, 0, nil
		t.decided(p)
	case p.Gone && !c.Anew:
		c.Anew = true
		t.next(t.s.Procedure.Step)
	case p.Outcome == Refused && !c.Anew: // of this it does not want to hear
		c.Due, c.Failed = 0, nil
		t.over("the PCF refused")
	default:
		c.Rests, c.Unread = true, c.Unread || p.Outcome == Unknown // what it has said may not be said again
		t.due(duePolicy, policyRest)
		if t.s.Procedure.Step == policeSubscription { // it is told of it when the subscription is looked at next
			t.s.Subscription = unheard
			t.due(dueSubscription, subscriptionRest)
		}
		t.over("no answer of the PCF")
	}
}

// policyUnsure: the holder before may have died with what the PCF had told it, acknowledged by nobody.
func (t *turn) policyUnsure() {
	if t.s.Policy == "" || t.s.Phase != record.Active && t.s.Phase != record.Idle || t.s.Control != nil && (t.s.Control.Rests || t.s.Control.Anew) {
		return
	}
	t.begin(Policing, policeRead)
	t.out.Lazy = true // who takes over reads it anyway
}

func askPolicyRead(t *turn) {
	t.do(AskPolicy{Operation: ReadPolicy, Session: t.s.Clone()})
}

// takePolicyRead: what holds is known mostly, and then nothing is written.
func takePolicyRead(t *turn, e Event) {
	p, ok := e.(Policy)
	if !ok {
		return
	}
	heard := func() {
		if t.s.Control != nil {
			t.s.Control.Unread = false
		}
	}
	switch {
	case p.Outcome == Done:
		heard()
		if t.s.Control != nil {
			p.Ruling = p.without(t.s.Control.Failed)
		}
		past := t.s.History
		t.decided(p)
		if same := t.s.Clone(); t.s.Procedure == nil {
			same.Procedure, same.History = t.was.Procedure, t.was.History
			if is, err := same.Encode(); err == nil {
				if was, err := t.was.Encode(); err == nil && bytes.Equal(is, was) {
					t.s.History = past
				}
			}
		}
	case p.Gone:
		heard()
		t.control().Anew = true
		t.over("the PCF does not know the session")
	case p.Outcome == Refused: // it does not say
		heard()
		t.over("the PCF refused")
	default:
		c := t.control()
		c.Unread, c.Rests = true, true
		t.due(duePolicy, policyRest)
		t.over("no answer of the PCF")
	}
}

// without rules that the PCF has just heard to have failed, and gives again all the same: UE and access network would be asked for them
// without end.
func (r Ruling) without(failed []record.Failure) Ruling {
	var rules []record.Rule
	for _, x := range r.Rules {
		n := slices.IndexFunc(failed, func(f record.Failure) bool { return f.Rule == x.Name })
		if n < 0 {
			rules = append(rules, x)
			continue
		}
		r.Failed = append(slices.Clone(r.Failed), failed[n])
	}
	r.Rules = rules
	return r
}

// decided: the answer to an update has what is otherwise now. What of it cannot be is reported with the next one.
func (t *turn) decided(p Policy) {
	t.s.Decided = and(t.s.Decided, p.Decided)
	if p.Flows != nil {
		t.s.Subscribed = p.Flows
	}
	if p.Said || p.Flows != nil || p.Decided != (record.Decided{}) {
		t.shown() // as for a change of the Slice
	}
	t.failed(t.rule(p.Ruling)...)
	if t.s.Control != nil && len(t.s.Control.Failed) > 0 { // not in a circle: a PCF that insists hears so when something else has happened
		t.s.Control.Rests = true
		t.due(duePolicy, policyRest)
	}
	t.over("")
	if p.Ends {
		t.endByNetwork(n1.CauseRegularDeactivation)
		return
	}
	t.qosChanged()
}
