package node

import (
	"context"
	"errors"
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// ReportPaths tells the CP functions with a Node Report (TS 29.244 6.2.9, 7.4.5) that the paths to
// GTP-U peers have failed, or that they work again. It returns at once; a CP function that does not
// answer is told again with the next change.
func (n *Node) ReportPaths(failed bool, peers []netip.Addr) {
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
			n.o.Log.Error("node report cannot be built", "err", err)
			return
		}
		report.ChildIEs, report.Payload = append(report.ChildIEs, peer), append(report.Payload, b...)
	}
	report.SetLength()
	n.mu.Lock()
	var to []*association
	for _, as := range n.associationsLocked() {
		if n.o.SendsTo(as.Node, peers) {
			to = append(to, as)
		}
	}
	n.mu.Unlock()
	for _, cp := range to {
		n.o.Machine.Go(func() { n.reportNode(cp, name, n.id, kind, report) })
	}
}

func (n *Node) reportNode(to *association, kind string, ies ...*ie.IE) {
	answer, err := n.server.Request(n.stopping, n.of(to), message.MsgTypeNodeReportRequest, nil, ies...)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			n.o.Log.Warn("node report not acknowledged", "kind", kind, "to", to.Node, "err", err)
		}
		return
	}
	n.o.Recorder.Report(kind)
	if c := answer.Cause(); c != ie.CauseRequestAccepted {
		n.o.Log.Warn("node report refused", "kind", kind, "to", to.Node, "cause", pfcp.CauseName(c))
	}
}
