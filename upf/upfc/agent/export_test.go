package agent

import "net/netip"

// ReportPaths is reportPaths.
func (a *Agent) ReportPaths(failed bool, peers []netip.Addr) { a.reportPaths(failed, peers) }
