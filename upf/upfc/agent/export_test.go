package agent

import (
	"net/netip"

	"core5g.dev/core5g/upf/upfc/agent/filling"
)

// ReportPaths is the node's.
func (a *Agent) ReportPaths(failed bool, peers []netip.Addr) { a.node.ReportPaths(failed, peers) }

// Nothing is nothing: it hears a upf-u that is silent.
type Nothing = filling.Nothing

// Sweep is sweep.
func (a *Agent) Sweep() { a.sessions.Sweep() }

// Notifies says whether a Downlink Data Report of a session is under way: until it is over, further packets are part of it.
func (a *Agent) Notifies(index uint32) bool {
	s := a.leases.Lock(index)
	if s == nil {
		return false
	}
	defer s.Unlock()
	return len(s.Notifying) > 0
}

// Owes says whether a session has usage to report, or reports that are not acknowledged.
func (a *Agent) Owes(index uint32) bool {
	s := a.leases.Lock(index)
	if s == nil {
		return false
	}
	defer s.Unlock()
	return s.Sending || len(s.Outbox) > 0 || s.Look().Due()
}
