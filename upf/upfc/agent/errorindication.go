package agent

import (
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// errorIndication finds out whom an Error Indication is to be reported to.
func (a *Agent) errorIndication(j job) {
	s := a.leases.Lock(j.index)
	if s == nil {
		return
	}
	defer s.Unlock()
	for peer := range store.Peers(s.Rules) {
		if peer == j.tunnel { // else only the hash is the same
			a.reporters.Add(s.CPAddr, j)
			return
		}
	}
}

func (a *Agent) reportErrorIndication(index uint32, f rules.FTEID) {
	s := a.leases.Lock(index)
	if s == nil {
		return
	}
	node, to, seid, up := s.Node, a.node.OfSession(s.Node, s.CPAddr), s.CPSEID, s.UPSEID
	s.Unlock()
	if !a.isServing() {
		return
	}
	var ies pfcp.IEs
	ies.Octets(ie.ReportType, reportsError)
	at := ies.Begin(ie.ErrorIndicationReport)
	remoteFTEID(&ies, f)
	ies.End(at)
	answer, err := a.report(node, to, seid, "error_indication", ies)
	if err != nil {
		a.dropForgotten(up, err)
		return
	}
	if s := a.leases.LockSEID(up); s != nil {
		defer s.Unlock()
		a.obey(s, answer)
	}
}
