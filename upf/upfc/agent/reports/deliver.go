package reports

import (
	"context"
	"errors"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Deliver has the outbox delivered. The caller has locked the session, and schedules it: who cannot be
// reached now is tried again later.
func (r *Reports) Deliver(s *leases.Session) {
	if s.Sending || len(s.Outbox) == 0 || r.o.Node.PathDown(s.Node) {
		return
	}
	r.reporters.Add(s.CPAddr, job{index: s.Index})
}

func (r *Reports) deliverAll(index uint32) {
	s := r.o.Leases.Lock(index)
	if s == nil {
		return
	}
	forgotten := r.deliverLocked(s)
	up := s.UPSEID
	s.Unlock()
	if forgotten {
		r.dropForgotten(up, errForgotten)
	}
}

// deliverLocked sends what is in the outbox of a locked session; true when the CP function has forgotten it.
func (r *Reports) deliverLocked(s *leases.Session) (forgotten bool) {
	if s.Sending {
		return false // by another, who does not end before the outbox is empty
	}
	if r.o.Node.PathDown(s.Node) { // since the job was given
		r.Schedule(s)
		return false
	}
	s.Sending = true
	defer func() { s.Sending = false }()
	for !s.Gone && len(s.Outbox) > 0 {
		n := min(len(s.Outbox), reportsPerMessage)
		ies := reportIEs(s, s.Outbox[:n])
		node, to, seid := s.Node, r.o.Node.OfSession(s.Node, s.CPAddr), s.CPSEID
		s.InFlight = n
		s.Mu.Unlock()
		answer, err := r.report(node, to, seid, "usage", ies)
		s.Mu.Lock()
		s.InFlight = 0
		if errors.Is(err, errForgotten) {
			return true
		}
		if err != nil {
			if !s.Gone {
				s.Sending = false
				r.Schedule(s) // it is tried again
			}
			return false
		}
		if s.Gone {
			return false
		}
		next := s.Session
		next.Outbox = slices.Clone(s.Outbox[n:])
		r.put(s, &next)
		r.obey(s, answer)
	}
	return false
}

// lastReports are those of a session that is gone.
type lastReports struct {
	node     string
	to       pfcp.Destination
	seid     uint64 // the CP function's
	requests []pfcp.IEs
}

// DeliverLast has delivered what did not fit the answer that ended a session.
func (r *Reports) DeliverLast(s *leases.Session, reports []usage.Report) {
	if len(reports) == 0 {
		return
	}
	l := &lastReports{node: s.Node, to: r.o.Node.OfSession(s.Node, s.CPAddr), seid: s.CPSEID}
	for part := range slices.Chunk(reports, reportsPerMessage) {
		l.requests = append(l.requests, reportIEs(s, part))
	}
	r.reporters.Add(s.CPAddr, job{last: l})
}

func (r *Reports) reportLast(l *lastReports) {
	for _, ies := range l.requests {
		if _, err := r.report(l.node, l.to, l.seid, "usage", ies); err != nil {
			return
		}
	}
}

// report sends a Session Report Request to a node; no error when the CP function has it, whatever it thinks of
// it, unless that it knows no such session.
func (r *Reports) report(node string, to pfcp.Destination, seid uint64, kind string, ies pfcp.IEs) (*pfcp.Message, error) {
	if !r.o.Settled(r.stopping) {
		return nil, context.Canceled
	}
	r.o.Node.SayLoadTo(node, &ies)
	answer, err := r.server.RequestIEs(r.stopping, to, message.MsgTypeSessionReportRequest, &seid, ies)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			r.o.Log.Warn("report not acknowledged", "kind", kind, "to", to.At(false), "cpSEID", pfcp.Hex(seid), "err", err)
		}
		return nil, err
	}
	r.o.Recorder.Report(kind)
	if e := answer.Elements.First(ie.Cause); e != nil {
		if c, err := e.Uint8(); err == nil && c != ie.CauseRequestAccepted {
			r.o.Log.Warn("report refused", "kind", kind, "to", to.At(false), "cpSEID", pfcp.Hex(seid), "cause", pfcp.CauseName(c))
			if c == ie.CauseSessionContextNotFound {
				return nil, errForgotten
			}
		}
	}
	return answer, nil
}

// errForgotten: the CP function has no such session. Nobody will ever delete it, and its address
// may soon be another UE's, so it is dropped.
var errForgotten = errors.New("the CP function does not know the session")

func (r *Reports) dropForgotten(seid uint64, err error) {
	if errors.Is(err, errForgotten) {
		r.o.Drop(seid, "forgotten by its cp")
	}
}
