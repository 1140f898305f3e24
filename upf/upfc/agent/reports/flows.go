package reports

import (
	"slices"

	"core5g.dev/core5g/upf/upfc/rules"
)

// Flows of applications that are known by domain names (TS 29.244 5.4.11). upf-u says when one begins and when it has ended, of
// applications for which a URR has the triggers START or STOPT, and each is reported with its Application Instance Identifier and Flow
// Information. A session knows those that have begun, and they are stored with it, so that each begin has its end.
//
// A upf-u that ends takes what it has detected along: with the next one, or that of a standby which takes over, all of them have ended.
// What upf-u said and was not stored when upf-c ended is forgotten: of such a flow nothing is reported, or its end is not.

// flowsMax is how many of a session's flows are told of at a time. Those beyond are detected and measured as the others.
const flowsMax = 64

type flowEvent struct {
	rules.DetectedFlow
	number     uint64 // of the application
	generation uint32 // of the session
	gone       bool
	all        bool // it is about all that upf-u has told of
}

// FlowsGone says that all flows of a session have ended, with the upf-u that had told of them.
func (r *Reports) FlowsGone(index uint32) { r.addFlow(index, flowEvent{gone: true, all: true}) }

func (r *Reports) addFlow(index uint32, f flowEvent) {
	if f.generation = r.o.Leases.Store.GenerationOf(index); f.generation == 0 {
		return
	}
	// What came and went before anybody looked is nothing.
	begun := func(o flowEvent) bool {
		return f.gone && !o.gone && o.generation == f.generation && (f.all || o.number == f.number && o.Instance == f.Instance)
	}
	r.flows.Add(index, f, begun)
	r.measurers.Add(job{index: index, about: aboutFlows}, false)
}

// takeFlows makes what upf-u said of a session's flows part of the session, and reports it.
func (r *Reports) takeFlows(index uint32) {
	s := r.lockToReport(job{index: index, about: aboutFlows}, r.flows.Drop)
	if s == nil {
		return
	}
	defer s.Unlock()
	list := slices.DeleteFunc(r.flows.Take(index), func(e flowEvent) bool { return uint64(e.generation) != s.UPSEID>>32 })
	now, begun, ended := changeFlows(s.Flows, list, func(number uint64) string { return r.o.Application(s.Node, number) })
	if len(begun)+len(ended) == 0 {
		return
	}
	acct := s.Account()
	reports := acct.Flows(begun, ended)
	next := s.Session
	next.Meters, next.Flows = acct.Meters, now
	r.putReports(s, &next, reports)
}

// changeFlows is what a session's flows become, and what of that is new.
func changeFlows(before []rules.DetectedFlow, list []flowEvent, name func(number uint64) string) (now, begun, ended []rules.DetectedFlow) {
	now = slices.Clone(before)
	for _, e := range list {
		if e.all {
			now, ended = nil, append(ended, now...)
			continue
		}
		e.Application = name(e.number)
		at := slices.IndexFunc(now, func(f rules.DetectedFlow) bool { return f.Instance == e.Instance && f.Application == e.Application })
		switch {
		case e.gone && at >= 0:
			ended = append(ended, now[at])
			now = slices.Delete(now, at, at+1)
		case !e.gone && at < 0 && len(now) < flowsMax && e.Application != "":
			now, begun = append(now, e.DetectedFlow), append(begun, e.DetectedFlow)
		}
	}
	return now, begun, ended
}
