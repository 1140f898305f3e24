package reports

import (
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// errorIndication finds out whom an Error Indication is to be reported to.
func (r *Reports) errorIndication(j job) {
	s := r.o.Leases.Lock(j.index)
	if s == nil {
		return
	}
	defer s.Unlock()
	for peer := range store.Peers(s.Rules) {
		if peer == j.tunnel { // else only the hash is the same
			r.reporters.Add(s.CPAddr, j)
			return
		}
	}
}

func (r *Reports) reportErrorIndication(index uint32, f rules.FTEID) {
	s := r.o.Leases.Lock(index)
	if s == nil {
		return
	}
	node, to, seid, up := s.Node, r.o.Node.OfSession(s.Node, s.CPAddr), s.CPSEID, s.UPSEID
	s.Unlock()
	if !r.isServing() {
		return
	}
	var ies pfcp.IEs
	ies.Octets(ie.ReportType, reportsError)
	at := ies.Begin(ie.ErrorIndicationReport)
	remoteFTEID(&ies, f)
	ies.End(at)
	answer, err := r.report(node, to, seid, "error_indication", ies)
	if err != nil {
		r.dropForgotten(up, err)
		return
	}
	if s := r.o.Leases.LockSEID(up); s != nil {
		defer s.Unlock()
		r.obey(s, answer)
	}
}
