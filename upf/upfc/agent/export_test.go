package agent

import "net/netip"

// ReportPaths is reportPaths.
func (a *Agent) ReportPaths(failed bool, peers []netip.Addr) { a.reportPaths(failed, peers) }

// Sweep is sweep.
func (a *Agent) Sweep() { a.sweep() }
