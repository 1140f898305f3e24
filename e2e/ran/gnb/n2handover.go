package gnb

// N2 handover (TS 23.502 4.9.1.3, TS 38.413 8.4.1 to 8.4.3, 8.4.5 to 8.4.7): the source asks the core, the core asks the
// target, and the UE moves on the command. Direct forwarding goes straight to the target, indirect forwarding through
// what the core's command names.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/n2"
)

const (
	handoverPreparation = "handover preparation"
	handoverCancel      = "handover cancellation"
)

// HandoverError is a handover that the core or the target refused.
type HandoverError struct {
	Message string // e.g. "Handover Preparation Failure"
	Cause   string
}

func (e *HandoverError) Error() string { return e.Message + ": " + e.Cause }

// HandOverN2 moves a connected UE to the gNB of an ID, which may be none that there is. It returns when the core has
// released the source.
func (c *Connection) HandOverN2(ctx context.Context, targetID uint32, o HandoverOptions) (HandoverResult, error) {
	began := time.Now()
	res := HandoverResult{Kind: "n2", From: c.gnb.cfg.Name, To: fmt.Sprintf("gNB %d", targetID), Sessions: Identities{}, Forwarding: "none"}
	area := c.gnb.area
	if area == nil {
		return res, errors.New("the gNB has no neighbours")
	}
	if targetID == c.gnb.cfg.ID {
		return res, errSameGNB
	}
	if _, able := c.gnb.n3.(Forwarder); !able && !o.NoForwarding {
		return res, ErrNoForwarding
	}
	tac := c.gnb.cfg.TAC
	if g := area.gnbs[targetID]; g != nil {
		res.To, tac = g.cfg.Name, g.cfg.TAC
	}
	token, m := area.begin(c)
	defer area.end(token)
	command, err := c.require(ctx, targetID, tac, token, o)
	if err != nil {
		return res, err
	}
	if command == nil || o.Cancel == CancelCommand {
		if command != nil {
			err = c.cancel(ctx)
		}
		res.Cancelled, res.Completed = err == nil, milliseconds(began)
		return res, err
	}
	res.Prepared = milliseconds(began)
	n := area.target(m)
	if n == nil {
		return res, errors.Join(errors.New("a Handover Command came, and no gNB here was asked for it"), c.cancel(ctx))
	}
	ways, err := c.execute(command, n, o, &res)
	if err != nil {
		return res, errors.Join(err, c.cancel(ctx))
	}
	n.arrive(c)
	if err := n.notify(); err != nil {
		return res, err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		return res, fmt.Errorf("the core has not released the UE at the source: %w", ctx.Err())
	}
	res.Completed = milliseconds(began)
	res.settle(ctx, ways, n, c.gnb.cfg.ReleaseAfter)
	return res, nil
}

// require sends HANDOVER REQUIRED and waits for the command; nil when the handover was cancelled.
func (c *Connection) require(ctx context.Context, targetID uint32, tac [3]byte, token string, o HandoverOptions) (*ngapType.HandoverCommand, error) {
	answer, err := c.await(handoverPreparation)
	if err != nil {
		return nil, err
	}
	defer c.forgo(handoverPreparation)
	b, err := c.handoverRequired(targetID, tac, token, o)
	if err := c.say(b, err); err != nil {
		return nil, err
	}
	if o.Cancel == CancelRequired {
		return nil, c.cancel(ctx)
	}
	got, err := receive(ctx, answer)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("handover: %w", err), c.cancelAnyway())
	}
	switch got := got.(type) {
	case *ngapType.HandoverCommand:
		return got, nil
	case *ngapType.HandoverPreparationFailure:
		return nil, &HandoverError{"Handover Preparation Failure", n2.CauseText(n2.Find[ngapType.Cause](got.ProtocolIEs.List))}
	}
	return nil, fmt.Errorf("answered by a %T", got)
}

func (c *Connection) handoverRequired(targetID uint32, tac [3]byte, token string, o HandoverOptions) ([]byte, error) {
	m := &ngapType.HandoverRequired{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Reject, &ngapType.HandoverType{Value: ngapType.HandoverTypePresentIntra5gs})
	n2.Add(ies, n2.Ignore, n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentHandoverDesirableForRadioReason))
	n2.Add(ies, n2.Reject, &ngapType.TargetID{
		Present: ngapType.TargetIDPresentTargetRANNodeID,
		TargetRANNodeID: &ngapType.TargetRANNodeID{
			GlobalRANNodeID: c.gnb.globalID(targetID),
			SelectedTAI:     ngapType.TAI{PLMNIdentity: c.gnb.plmn(), TAC: ngapType.TAC{Value: tac[:]}},
		},
	})
	direct := &ngapType.DirectForwardingPathAvailability{Value: ngapType.DirectForwardingPathAvailabilityPresentDirectPathAvailable}
	if o.Indirect || o.NoForwarding {
		direct = nil
	}
	if direct != nil {
		n2.Add(ies, n2.Ignore, direct)
	}
	list := &ngapType.PDUSessionResourceListHORqd{}
	information := &ngapType.PDUSessionResourceInformationList{}
	for _, psi := range c.sessions() {
		r := c.resource(psi)
		if r == nil || slices.Contains(o.Leave, psi) {
			continue
		}
		x, err := n2.Marshal(ngapType.HandoverRequiredTransfer{DirectForwardingPathAvailability: direct})
		if err != nil {
			return nil, err
		}
		id := ngapType.PDUSessionID{Value: int64(psi)}
		list.List = append(list.List, ngapType.PDUSessionResourceItemHORqd{PDUSessionID: id, HandoverRequiredTransfer: x})
		item := ngapType.PDUSessionResourceInformationItem{PDUSessionID: id}
		for _, q := range r.qfis() {
			flow := ngapType.QosFlowInformationItem{QosFlowIdentifier: qosFlowID(q)}
			if !o.NoForwarding {
				flow.DLForwarding = &ngapType.DLForwarding{Value: ngapType.DLForwardingPresentDlForwardingProposed}
			}
			item.QosFlowInformationList.List = append(item.QosFlowInformationList.List, flow)
		}
		information.List = append(information.List, item)
	}
	if len(list.List) == 0 {
		return nil, errors.New("the UE has no session with resources to hand over")
	}
	n2.Add(ies, n2.Reject, list)
	container, err := n2.Marshal(ngapType.SourceNGRANNodeToTargetNGRANNodeTransparentContainer{
		RRCContainer:                      ngapType.RRCContainer{Value: []byte(token)},
		PDUSessionResourceInformationList: information,
		TargetCellID:                      c.gnb.cellOf(targetID),
		UEHistoryInformation: ngapType.UEHistoryInformation{List: []ngapType.LastVisitedCellItem{{
			LastVisitedCellInformation: ngapType.LastVisitedCellInformation{
				Present: ngapType.LastVisitedCellInformationPresentNGRANCell,
				NGRANCell: &ngapType.LastVisitedNGRANCellInformation{
					GlobalCellID: c.gnb.cellOf(c.gnb.cfg.ID), CellType: ngapType.CellType{CellSize: ngapType.CellSize{Value: ngapType.CellSizePresentSmall}},
				},
			},
		}}},
	})
	if err != nil {
		return nil, err
	}
	n2.Add(ies, n2.Reject, &ngapType.SourceToTargetTransparentContainer{Value: container})
	return n2.Initiating(n2.Reject, m)
}

// cancel sends HANDOVER CANCEL and waits for its acknowledgement (8.4.5).
func (c *Connection) cancel(ctx context.Context) error {
	answer, err := c.await(handoverCancel)
	if err != nil {
		return err
	}
	defer c.forgo(handoverCancel)
	if err := c.cancelAnyway(); err != nil {
		return err
	}
	if _, err := receive(ctx, answer); err != nil {
		return fmt.Errorf("handover cancellation: %w", err)
	}
	return nil
}

func (c *Connection) cancelAnyway() error {
	m := &ngapType.HandoverCancel{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Ignore, n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentHandoverCancelled))
	b, err := n2.Initiating(n2.Reject, m)
	return c.say(b, err)
}

// execute turns the downlink as the command says, and tells the target where the radio's counts stand.
func (c *Connection) execute(command *ngapType.HandoverCommand, n *Connection, o HandoverOptions, res *HandoverResult) ([]*forwarding, error) {
	l := command.ProtocolIEs.List
	var ways []*forwarding
	taken := map[uint8]bool{}
	list := n2.Find[ngapType.PDUSessionResourceHandoverList](l)
	if list == nil || len(list.List) == 0 {
		return nil, errors.New("a Handover Command without sessions")
	}
	for _, s := range list.List {
		psi := uint8(s.PDUSessionID.Value)
		var t ngapType.HandoverCommandTransfer
		if err := n2.Unmarshal(s.HandoverCommandTransfer, &t); err != nil {
			return nil, fmt.Errorf("handover command: session %d: %w", psi, err)
		}
		teid, peer, ok := readTunnel(t.DLForwardingUPTNLInformation)
		switch {
		case !ok || o.NoForwarding:
			peer, teid = netip.AddrPort{}, 0
		case peer == n.gnb.n3Address():
			res.Forwarding = "direct"
		default:
			res.Forwarding = "indirect"
		}
		if !peer.IsValid() {
			n.unforwarded(psi)
		}
		f, err := c.forward(psi, peer, teid)
		if err != nil {
			return nil, fmt.Errorf("handover command: session %d: %w", psi, err)
		}
		ways, taken[psi] = append(ways, f), true
		res.Sessions = append(res.Sessions, psi)
	}
	for _, psi := range c.sessions() {
		if !taken[psi] {
			res.Left = append(res.Left, psi)
			n.closeSession(psi)
		}
	}
	return ways, c.statusTransfer()
}

// unforwarded tells the target's session that no packet is forwarded: nothing is waited for.
func (c *Connection) unforwarded(psi uint8) {
	c.mu.Lock()
	list := slices.Clone(c.prepared)
	c.mu.Unlock()
	for _, p := range list {
		if p.psi == psi {
			p.order.end()
		}
	}
}

// statusTransfer sends UPLINK RAN STATUS TRANSFER (8.4.6): one DRB a session, its counts those of the packets so far.
func (c *Connection) statusTransfer() error {
	count := func(packets uint64) ngapType.COUNTValueForPDCPSN18 {
		return ngapType.COUNTValueForPDCPSN18{PDCPSN18: int64(packets & 0x3FFFF), HFNPDCPSN18: int64(packets >> 18 & 0x3FFF)}
	}
	container := &ngapType.RANStatusTransferTransparentContainer{}
	for i, psi := range c.sessions() {
		r := c.resource(psi)
		if r == nil {
			continue
		}
		container.DRBsSubjectToStatusTransferList.List = append(container.DRBsSubjectToStatusTransferList.List, ngapType.DRBsSubjectToStatusTransferItem{
			DRBID: ngapType.DRBID{Value: int64(i + 1)},
			DRBStatusUL: ngapType.DRBStatusUL{
				Present: ngapType.DRBStatusULPresentDRBStatusUL18, DRBStatusUL18: &ngapType.DRBStatusUL18{ULCOUNTValue: count(r.tunnel.UplinkPackets.Load())},
			},
			DRBStatusDL: ngapType.DRBStatusDL{
				Present: ngapType.DRBStatusDLPresentDRBStatusDL18, DRBStatusDL18: &ngapType.DRBStatusDL18{DLCOUNTValue: count(r.tunnel.DownlinkPackets.Load())},
			},
		})
	}
	m := &ngapType.UplinkRANStatusTransfer{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Reject, container)
	b, err := n2.Initiating(n2.Ignore, m)
	return c.say(b, err)
}

// notify sends HANDOVER NOTIFY: the UE is here (8.4.3).
func (c *Connection) notify() error {
	m := &ngapType.HandoverNotify{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Reject, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Ignore, c.gnb.location())
	b, err := n2.Initiating(n2.Ignore, m)
	return c.say(b, err)
}

// handoverRequest is the target's part of the preparation (8.4.2).
func (g *GNB) handoverRequest(conn n2.Conn, m *ngapType.HandoverRequest) error {
	l := m.ProtocolIEs.List
	amfID := n2.Find[ngapType.AMFUENGAPID](l)
	if amfID == nil {
		return errors.New("handover request without an AMF UE NGAP ID")
	}
	behaviour := g.Behaviour()
	if behaviour.SilentHandover {
		g.log.Info("handover request left without an answer")
		return nil
	}
	if behaviour.RefuseHandover {
		return g.handoverFailure(conn, amfID, ngapType.CauseRadioNetworkPresentNoRadioResourcesAvailableInTargetCell)
	}
	var container ngapType.SourceNGRANNodeToTargetNGRANNodeTransparentContainer
	raw := n2.Find[ngapType.SourceToTargetTransparentContainer](l)
	if raw == nil || n2.Unmarshal(raw.Value, &container) != nil {
		return g.handoverFailure(conn, amfID, ngapType.CauseRadioNetworkPresentHoFailureInTarget5GCNgranNodeOrTargetSystem)
	}
	mv := g.area.moving(string(container.RRCContainer.Value))
	sessions := n2.Find[ngapType.PDUSessionResourceSetupListHOReq](l)
	if mv == nil || sessions == nil {
		return g.handoverFailure(conn, amfID, ngapType.CauseRadioNetworkPresentHoFailureInTarget5GCNgranNodeOrTargetSystem)
	}
	n, err := g.newConnection(mv.source.ue, amfID.Value)
	if err != nil {
		return err
	}
	n.follow(conn)
	admitted, failed, err := n.admitAll(sessions, proposed(&container))
	if err != nil || len(admitted.List) == 0 {
		n.leave()
		return errors.Join(err, g.handoverFailure(conn, amfID, ngapType.CauseRadioNetworkPresentNoRadioResourcesAvailableInTargetCell))
	}
	g.area.admitted(mv, n)
	back, err := n2.Marshal(ngapType.TargetNGRANNodeToSourceNGRANNodeTransparentContainer{RRCContainer: container.RRCContainer})
	if err != nil {
		return err
	}
	res := &ngapType.HandoverRequestAcknowledge{}
	ies := &res.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, amfID)
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: n.ranID})
	n2.Add(ies, n2.Ignore, admitted)
	if len(failed.List) > 0 {
		n2.Add(ies, n2.Ignore, failed)
	}
	n2.Add(ies, n2.Reject, &ngapType.TargetToSourceTransparentContainer{Value: back})
	b, err := n2.Successful(n2.Reject, res)
	return n.say(b, err)
}

// proposed are the sessions whose source would forward.
func proposed(container *ngapType.SourceNGRANNodeToTargetNGRANNodeTransparentContainer) map[int64]bool {
	out := map[int64]bool{}
	if container.PDUSessionResourceInformationList == nil {
		return out
	}
	for _, s := range container.PDUSessionResourceInformationList.List {
		for _, f := range s.QosFlowInformationList.List {
			if f.DLForwarding != nil {
				out[s.PDUSessionID.Value] = true
			}
		}
	}
	return out
}

func (c *Connection) admitAll(sessions *ngapType.PDUSessionResourceSetupListHOReq, forward map[int64]bool) (*ngapType.PDUSessionResourceAdmittedList, *ngapType.PDUSessionResourceFailedToSetupListHOAck, error) {
	admitted, failed := &ngapType.PDUSessionResourceAdmittedList{}, &ngapType.PDUSessionResourceFailedToSetupListHOAck{}
	refuse := func(id ngapType.PDUSessionID, cause aper.Enumerated) error {
		x, err := n2.Marshal(ngapType.HandoverResourceAllocationUnsuccessfulTransfer{Cause: *n2.RadioNetworkCause(cause)})
		failed.List = append(failed.List, ngapType.PDUSessionResourceFailedToSetupItemHOAck{PDUSessionID: id, HandoverResourceAllocationUnsuccessfulTransfer: x})
		return err
	}
	for _, s := range sessions.List {
		psi := s.PDUSessionID.Value
		r, refused, no := c.gnb.admit(psi, s.SNSSAI, s.HandoverRequestTransfer)
		if no != nil {
			if err := refuse(s.PDUSessionID, no.cause); err != nil {
				return nil, nil, err
			}
			continue
		}
		p, ok := c.prepare(uint8(psi), r, forward[psi])
		if !ok {
			if err := refuse(s.PDUSessionID, ngapType.CauseRadioNetworkPresentUnknownPDUSessionID); err != nil {
				return nil, nil, err
			}
			continue
		}
		t := ngapType.HandoverRequestAcknowledgeTransfer{
			DLNGUUPTNLInformation:    c.gnb.tunnelInformation(r.tunnel.LocalTEID),
			QosFlowFailedToSetupList: refusedFlows(refused, ngapType.CauseRadioNetworkPresentRadioResourcesNotAvailable),
		}
		if p.way != nil {
			way := c.gnb.tunnelInformation(p.way.LocalTEID)
			t.DLForwardingUPTNLInformation = &way
		}
		for _, q := range r.qfis() {
			flow := ngapType.QosFlowItemWithDataForwarding{QosFlowIdentifier: qosFlowID(q)}
			if p.way != nil {
				flow.DataForwardingAccepted = &ngapType.DataForwardingAccepted{Value: ngapType.DataForwardingAcceptedPresentDataForwardingAccepted}
			}
			t.QosFlowSetupResponseList.List = append(t.QosFlowSetupResponseList.List, flow)
		}
		x, err := n2.Marshal(t)
		if err != nil {
			return nil, nil, err
		}
		admitted.List = append(admitted.List, ngapType.PDUSessionResourceAdmittedItem{PDUSessionID: s.PDUSessionID, HandoverRequestAcknowledgeTransfer: x})
	}
	return admitted, failed, nil
}

func (g *GNB) handoverFailure(conn n2.Conn, amfID *ngapType.AMFUENGAPID, cause aper.Enumerated) error {
	m := &ngapType.HandoverFailure{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, amfID)
	n2.Add(ies, n2.Ignore, n2.RadioNetworkCause(cause))
	b, err := n2.Unsuccessful(n2.Reject, m)
	return g.send(conn, streamUE, b, err)
}
