package agent

import (
	"context"
	"errors"
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// reportPaths tells the CP functions with a Node Report (TS 29.244 6.2.9, 7.4.5) that the paths to
// GTP-U peers have failed, or that they work again. It returns at once; a CP function that does not
// answer is told again with the next change.
func (a *Agent) reportPaths(failed bool, peers []netip.Addr) {
	if len(peers) == 0 {
		return
	}
	list := make([]*ie.IE, len(peers))
	for i, p := range peers {
		if list[i] = ie.NewRemoteGTPUPeer(0x02, p.String(), "", 0, ""); p.Is6() {
			list[i] = ie.NewRemoteGTPUPeer(0x01, "", p.String(), 0, "")
		}
	}
	kind, name, report := ie.NewNodeReportType(0x01), "path_failure", ie.NewUserPlanePathFailureReport(list[0])
	if !failed {
		kind, name, report = ie.NewNodeReportType(0x02), "path_recovery", ie.NewUserPlanePathRecoveryReport(list[0])
	}
	for _, peer := range list[1:] { // go-pfcp builds the report of one peer only
		b, err := peer.Marshal()
		if err != nil {
			a.log.Error("node report cannot be built", "err", err)
			return
		}
		report.ChildIEs, report.Payload = append(report.ChildIEs, peer), append(report.Payload, b...)
	}
	report.SetLength()
	a.mu.Lock()
	var to []*association
	for _, as := range a.associationsLocked() {
		if a.store.SendsTo(as.Node, peers) {
			to = append(to, as)
		}
	}
	a.mu.Unlock()
	for _, cp := range to {
		a.world.Go(func() { a.reportNode(cp, name, a.nodeID(), kind, report) })
	}
}

func (a *Agent) reportNode(to *association, kind string, ies ...*ie.IE) {
	if !a.isServing() {
		return
	}
	answer, err := a.server.Request(a.stopping, a.of(to), message.MsgTypeNodeReportRequest, nil, ies...)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			a.log.Warn("node report not acknowledged", "kind", kind, "to", to.Node, "err", err)
		}
		return
	}
	a.rec.Report(kind)
	if c := causeOf(answer); c != ie.CauseRequestAccepted {
		a.log.Warn("node report refused", "kind", kind, "to", to.Node, "cause", pfcp.CauseName(c))
	}
}

// causeOf is the cause in an answer; 0 when there is none.
func causeOf(answer *pfcp.Message) uint8 {
	if e := answer.Elements.First(ie.Cause); e != nil {
		if c, err := e.Uint8(); err == nil {
			return c
		}
	}
	return 0
}
