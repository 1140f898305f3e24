package shard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// What a PCF decides, as procedures have it, and what it is told, as it has that (TS 29.512 5.6).

// partial says whether a decision may refer to what an earlier one has said.
func partial(d npcf.Decision) bool {
	return d.Rules != nil || d.QoS != nil || d.Traffic != nil || d.Charging != nil || d.Conditions != nil
}

// whole is all that the PCF has decided, of which d is what has changed.
func (s *Shard) whole(ctx context.Context, uri string, d npcf.Decision) (npcf.Decision, error) {
	all, err := s.pod.PCF.Read(ctx, npcf.PCF{}, uri)
	if err != nil {
		if complete(d) {
			return d, nil
		}
		return d, err
	}
	return all.Merge(d)
}

// complete: nothing that the rules refer to is elsewhere, and there is a rule.
func complete(d npcf.Decision) bool {
	there := func(list []string, has func(string) bool) bool {
		return !slices.ContainsFunc(list, func(id string) bool { return !has(id) })
	}
	for _, r := range d.Rules {
		if r == nil || len(r.Flows) == 0 {
			return false // a change of one that is there
		}
		if !there(r.QoS, func(id string) bool { return d.QoS[id] != nil }) || !there(r.Traffic, func(id string) bool { return d.Traffic[id] != nil }) ||
			!there(r.Charging, func(id string) bool { return d.Charging[id] != nil }) {
			return false
		}
	}
	return len(d.Rules) > 0
}

// Codes of TS 29.512 5.6.3.9.
const (
	missingFlows   = "MISS_FLOW_INFO"
	incorrectFlows = "INCOR_FLOW_INFO"
	wrongQoS       = "UNSUCC_QOS_VAL"
	application    = "APP_ID_ERR"
	malfunction    = "NF_MAL"
	ratingGroup    = "RA_GR_ERR"
	redirected     = "MISS_REDI_SER_ADDR"
)

// decisionOf the PCF for a session of a data network. flows are predefined rules, by the Slice's names; nil where rules are not spoken of.
func (s *Shard) decisionOf(slice, dnn string, d npcf.Decision) (decided record.Decided, flows []string, out procedure.Ruling) {
	decided = defaultFlow(d)
	out = procedure.Ruling{Said: partial(d), TriggersSaid: d.TriggersSaid, Triggers: triggersOf(d.Triggers), Ends: d.ReleaseCause != ""}
	if !d.Revalidation.IsZero() {
		out.Revalidate = d.Revalidation.Unix()
	}
	for _, i := range d.Invalid {
		switch i.Member {
		case "pccRules":
			out.Failed = append(out.Failed, record.Failure{Rule: i.ID, Code: incorrectFlows})
		case "sessRules":
			out.Failed = append(out.Failed, record.Failure{Rule: i.ID, Code: malfunction, Session: true})
		}
	}
	if !out.Said {
		return decided, nil, out
	}
	decided.Ruled = true
	flows = []string{}
	network := s.Configuration().Named(slice, dnn)
	for _, id := range slices.Sorted(maps.Keys(d.Rules)) {
		r := d.Rules[id]
		switch {
		case r == nil:
		case len(r.Flows) == 0 && r.Application == "" && network != nil && network.Flow(id) != nil:
			flows = append(flows, id)
		default:
			made, code := ruleOf(d, r)
			switch {
			case code != "":
				out.Failed = append(out.Failed, record.Failure{Rule: id, Code: code})
			case made.Default && matchesAll(r):
				decided.Closed, decided.Charge = made.Closed, made.Charge
			default:
				out.Rules = append(out.Rules, made)
			}
		}
	}
	slices.SortStableFunc(out.Rules, func(a, b record.Rule) int { return cmp.Compare(a.Precedence, b.Precedence) })
	return decided, flows, out
}

// mostPrecedence of a rule that UEs hear of: the default rule's is one more.
const mostPrecedence = 254

// ruleOf a PCC rule; a code says why not.
func ruleOf(d npcf.Decision, r *npcf.Rule) (out record.Rule, code string) {
	out = record.Rule{Name: r.ID, Precedence: uint8(min(max(r.Precedence, 1), mostPrecedence))}
	switch {
	case r.Application != "":
		return out, application // units know no applications
	case len(r.Flows) == 0:
		return out, missingFlows
	case len(r.Flows) > n1.MostFilters || len(r.ID) > 63:
		return out, incorrectFlows
	}
	filters := make([]n1.Filter, 0, len(r.Flows))
	for n, f := range r.Flows {
		f.Filter.ID = uint8(n)
		filters = append(filters, f.Filter)
	}
	out.Filters = n1.EncodeFilters(filters)
	if code = qosOf(&out, d, r); code != "" {
		return out, code
	}
	for _, id := range r.Traffic {
		t := d.Traffic[id]
		switch {
		case t == nil:
			return out, malfunction
		case t.Redirect != "":
			return out, redirected // packets are not redirected
		case t.Status == "DISABLED", t.Status == "REMOVED":
			out.Closed = uint8(n1.Bidirectional)
		case t.Status == "ENABLED-UPLINK":
			out.Closed = uint8(n1.Downlink)
		case t.Status == "ENABLED-DOWNLINK":
			out.Closed = uint8(n1.Uplink)
		}
	}
	for _, id := range r.Charging {
		c := d.Charging[id]
		if c == nil {
			return out, ratingGroup
		}
		out.Charge = chargeOf(d, c)
	}
	return out, ""
}

// qosOf the rule: without its own it is of the default flow (TS 23.503 6.1.3.2.4), as where it says so.
func qosOf(out *record.Rule, d npcf.Decision, r *npcf.Rule) (code string) {
	out.Default = true
	for _, id := range r.QoS {
		q := d.QoS[id]
		switch {
		case q == nil:
			return wrongQoS
		case q.DefaultFlow || q.FiveQI == 0 && q.GBRUplink == 0 && q.GBRDownlink == 0:
			continue
		case q.FiveQI == 0, q.MBRUplink != 0 && q.MBRUplink < q.GBRUplink, q.MBRDownlink != 0 && q.MBRDownlink < q.GBRDownlink:
			return wrongQoS
		}
		out.Default, out.FiveQI, out.Priority = false, q.FiveQI, defaultARP
		if q.ARP != nil && q.ARP.Priority != 0 {
			out.Priority, out.MayPreempt, out.Preemptable = q.ARP.Priority, q.ARP.MayPreempt, q.ARP.Preemptable
		}
		if q.GBRUplink != 0 || q.GBRDownlink != 0 {
			out.GFBRUplink, out.GFBRDownlink = q.GBRUplink, q.GBRDownlink
			out.MFBRUplink, out.MFBRDownlink = max(q.MBRUplink, q.GBRUplink), max(q.MBRDownlink, q.GBRDownlink)
		}
	}
	return ""
}

// defaultARP is the priority level of a flow whose PCF says none.
const defaultARP = 8

// chargeOf charging data; what it leaves open is the decision's.
func chargeOf(d npcf.Decision, c *npcf.Charging) record.Charge {
	said := func(own *bool, otherwise bool) bool {
		if own != nil {
			return *own
		}
		return otherwise
	}
	out := record.Charge{RatingGroup: c.RatingGroup, Online: said(c.Online, d.Online)}
	out.Offline = !out.Online && said(c.Offline, d.Offline || c.Online == nil) // converged charging counts what needs a quota, too
	return out
}

// matchesAll: packets that no other rule matches are this one's.
func matchesAll(r *npcf.Rule) bool {
	return slices.ContainsFunc(r.Flows, func(f npcf.Flow) bool {
		any := n1.Any(f.Filter.ID)
		return f.Filter == any
	})
}

// defaultFlow and AMBR as a decision has them; zero where it does not say.
func defaultFlow(d npcf.Decision) (out record.Decided) {
	for _, id := range slices.Sorted(maps.Keys(d.SessionRules)) { // one: more have conditions, which this SMF does not offer
		rule := d.SessionRules[id]
		if rule == nil {
			continue
		}
		if rule.AMBR != nil {
			out.AMBR = record.AMBR{Uplink: uint64(rule.AMBR.Uplink), Downlink: uint64(rule.AMBR.Downlink)}
		}
		if q := rule.Default; q != nil {
			out.FiveQI = q.FiveQI
			if q.ARP != nil {
				out.Priority, out.MayPreempt, out.Preemptable = q.ARP.Priority, q.ARP.MayPreempt, q.ARP.Preemptable
			}
		}
	}
	return out
}

var triggers = []struct {
	bit  uint32
	name npcf.Trigger
}{
	{procedure.TriggerAddress, "UE_IP_CH"}, {procedure.TriggerPLMN, "PLMN_CH"}, {procedure.TriggerArea, "SAREA_CH"}, {procedure.TriggerCell, "SCELL_CH"},
	{procedure.TriggerAMF, "SCNN_CH"}, {procedure.TriggerRAT, "RAT_TY_CH"}, {procedure.TriggerTimeout, "RE_TIMEOUT"}, {procedure.TriggerAMBR, "SE_AMBR_CH"},
	{procedure.TriggerQoS, "DEF_QOS_CH"},
}

func triggersOf(list []npcf.Trigger) (bits uint32) {
	for _, t := range triggers {
		if slices.Contains(list, t.name) {
			bits |= t.bit
		}
	}
	return bits
}

// policyEvent is what the PCF is told of a session.
func policyEvent(a procedure.AskPolicy) *npcf.Event {
	rec := a.Session
	out := &npcf.Event{}
	if c := rec.Control; c != nil {
		for _, t := range triggers {
			if c.Due&t.bit != 0 {
				out.Triggers = append(out.Triggers, t.name)
			}
		}
		report := reportOf(c.Failed)
		out.Rules, out.SessionRules = report.Rules, report.SessionRules
	}
	if plmn, err := plmnOf(rec.PLMN); err == nil {
		out.ServingNetwork, out.Location = &plmn, locationOf(rec, plmn)
	}
	out.RAT, out.IPv4, out.IPv6 = rec.RAT, rec.IPv4, rec.IPv6
	if a.Subscription != nil {
		out.AMBR, out.QoS = subscribedQoS(a.Subscription)
	}
	if a.Resource != nil {
		out.Triggers = append(out.Triggers, "RES_MO_RE")
		out.Resource = resourceOf(a.Resource)
	}
	return out
}

func subscribedQoS(sub *procedure.Subscription) (ambr *ts29571.AMBR, quality *npcf.DefaultQoS) {
	if sub.AMBR != (record.AMBR{}) {
		ambr = &ts29571.AMBR{Uplink: ts29571.BitRate(sub.AMBR.Uplink), Downlink: ts29571.BitRate(sub.AMBR.Downlink)}
	}
	if sub.FiveQI != 0 {
		quality = &npcf.DefaultQoS{
			FiveQI: sub.FiveQI, ARP: ts29571.ARP{Priority: cmp.Or(sub.Priority, defaultARP), MayPreempt: sub.MayPreempt, Preemptable: sub.Preemptable},
		}
	}
	return ambr, quality
}

// locationOf the UE, as far as the AMF has said it; nil: it has not.
func locationOf(rec *record.Session, plmn ts29571.PLMN) *ts29571.Location {
	if rec.AMF.TAC == 0 {
		return nil
	}
	return &ts29571.Location{TAI: ts29571.TAI{PLMN: plmn, TAC: fmt.Sprintf("%06x", rec.AMF.TAC)}, Cell: rec.AMF.Cell, CellPLMN: plmn}
}

// reportOf rules that are not in force: one for each code.
func reportOf(failed []record.Failure) (out npcf.Report) {
	for _, f := range failed {
		if f.Session {
			out.SessionRules = append(out.SessionRules, npcf.SessionRuleReport{Rules: []string{f.Rule}, Status: inactive, Failure: f.Code})
			continue
		}
		n := slices.IndexFunc(out.Rules, func(r npcf.RuleReport) bool { return r.Failure == f.Code })
		if n < 0 {
			out.Rules = append(out.Rules, npcf.RuleReport{Status: inactive, Failure: f.Code})
			n = len(out.Rules) - 1
		}
		out.Rules[n].Rules = append(out.Rules[n].Rules, f.Rule)
	}
	return out
}

const inactive = "INACTIVE"

// resourceOf a UE's wish (TS 29.512 5.6.2.29 to 31).
func resourceOf(r *procedure.Resource) *npcf.ResourceRequest {
	operations := map[n1.Operation]string{
		n1.CreateRule: "CREATE_PCC_RULE", n1.DeleteRule: "DELETE_PCC_RULE", n1.AddFilters: "MODIFY_PCC_RULE_AND_ADD_PACKET_FILTERS",
		n1.ReplaceFilters: "MODIFY_PCC_RULE_AND_REPLACE_PACKET_FILTERS", n1.DeleteFilters: "MODIFY_ PCC_RULE_AND_DELETE_PACKET_FILTERS",
		n1.ChangeRule: "MODIFY_PCC_RULE_WITHOUT_MODIFY_PACKET_FILTERS",
	}
	out := &npcf.ResourceRequest{Rule: r.Rule, Operation: operations[r.Operation], Filters: []npcf.ResourceFilter{}}
	if r.Precedence != 0 {
		out.Precedence = &r.Precedence
	}
	directions := map[n1.Direction]string{n1.Downlink: "DOWNLINK", n1.Uplink: "UPLINK", n1.Bidirectional: "BIDIRECTIONAL"}
	for _, f := range r.Filters {
		filter := npcf.ResourceFilter{ID: fmt.Sprint(f.ID), Direction: directions[f.Direction]}
		if r.Operation != n1.DeleteFilters {
			filter.Description = n4.SDF(f)
			if f.TOSMask != 0 {
				filter.TOS = fmt.Sprintf("%02x%02x", f.TOS, f.TOSMask)
			}
			if f.SPI != 0 {
				filter.SPI = fmt.Sprintf("%08x", f.SPI)
			}
			if f.FlowLabel != 0 {
				filter.FlowLabel = fmt.Sprintf("%06x", f.FlowLabel)
			}
		}
		out.Filters = append(out.Filters, filter)
	}
	if r.FiveQI != 0 {
		out.QoS = &npcf.RequestedQoS{FiveQI: r.FiveQI, Uplink: ts29571.BitRate(r.GFBRUplink), Downlink: ts29571.BitRate(r.GFBRDownlink)}
	}
	return out
}

// readTime bounds a question to the PCF within its own notification.
const readTime = 2 * time.Second
