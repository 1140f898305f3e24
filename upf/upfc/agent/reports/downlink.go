package reports

import (
	"errors"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Downlink Data Reports (TS 29.244 5.2.1, 7.5.8.2). upf-u raises one event when the first packet waits
// for a FAR with NOCP, after the BAR's Downlink Data Notification Delay. While packets wait there is
// another one when one comes after the time that the first one may wait, for the UE was then paged in
// vain, and when a new upf-c has read its sessions back, for the one before it may not have been
// heard. The report makes the CP function page the UE, so it is repeated for as long as the FAR says
// so: nobody would page otherwise.

func (r *Reports) notify(index uint32, pdr uint16, qfi, tos uint8) {
	s := r.o.Leases.Lock(index)
	if s == nil {
		return
	}
	defer s.Unlock()
	if s.Notifying[pdr] {
		return
	}
	if s.Notifying == nil {
		s.Notifying = map[uint16]bool{}
	}
	s.Notifying[pdr] = true
	defer delete(s.Notifying, pdr)
	var ies pfcp.IEs
	ies.Octets(ie.ReportType, reportsDownlinkData)
	if err := ies.Add(ie.NewDownlinkDataReport(downlinkData(pdr, qfi, tos>>2)...)); err != nil {
		r.o.Log.Error("downlink data cannot be reported", "seid", pfcp.Hex(s.UPSEID), "err", err)
		return
	}
	for !s.Gone && waits(s, pdr) {
		answer, serving, err := r.notifyOnce(s, ies)
		if !serving {
			return
		}
		if err == nil && !s.Gone {
			r.obey(s, answer)
		}
		if err == nil || r.stopping.Err() != nil {
			return
		}
	}
}

// downlinkData is what a Downlink Data Report says.
func downlinkData(pdr uint16, qfi, dscp uint8) []*ie.IE {
	group := []*ie.IE{ie.NewPDRID(pdr)}
	if qfi != 0 || dscp != 0 {
		group = append(group, ie.NewDownlinkDataServiceInformation(dscp != 0, qfi != 0, dscp, qfi))
	}
	return group
}

// notifyOnce reports without the session's lock, which the caller has: it is taken again however this ends, a death of the machine included.
func (r *Reports) notifyOnce(s *leases.Session, ies pfcp.IEs) (answer *pfcp.Message, serving bool, err error) {
	node, to, seid, up := s.Node, r.o.Node.OfSession(s.Node, s.CPAddr), s.CPSEID, s.UPSEID
	moved := to.Moved()
	s.Mu.Unlock()
	defer s.Mu.Lock()
	if !r.isServing() {
		return nil, false, nil
	}
	answer, err = r.report(node, to, seid, "downlink_data", ies)
	if err != nil && !errors.Is(err, errForgotten) {
		r.o.Machine.Wait(retryAfter, r.stopping.Done(), moved)
	}
	r.dropForgotten(up, err)
	return answer, true, err
}

// waits says whether downlink packets of a PDR are buffered and the CP function is to be told.
func waits(s *leases.Session, pdr uint16) bool {
	r := s.Rules.PDRs.Get(pdr)
	if r == nil {
		return false
	}
	f := s.Rules.FARs.Get(r.FAR)
	return f != nil && f.Action&(rules.Buffer|rules.Notify) == rules.Buffer|rules.Notify
}
