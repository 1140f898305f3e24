package agent

import (
	"context"
	"errors"
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Handle executes one request. Every refusal is a *pfcp.Reject on its way here, and becomes an
// answer here and nowhere else.
func (a *Agent) Handle(ctx context.Context, m *pfcp.Message) *pfcp.Answer {
	var ies []*ie.IE
	var seid uint64 // the CP function's
	var err error
	node := false // the answer names our Node ID
	a.begun(m)
	switch m.Type {
	case message.MsgTypeAssociationSetupRequest:
		node = true
		ies, err = a.associationSetup(ctx, m)
	case message.MsgTypeAssociationUpdateRequest:
		node = true
		ies, err = a.associationUpdate(m)
	case message.MsgTypeAssociationReleaseRequest:
		node = true
		err = a.associationRelease(ctx, m)
	case message.MsgTypeSessionEstablishmentRequest:
		node = true
		seid, ies, err = a.twice(ctx, m, (*Agent).establish)
	case message.MsgTypeSessionModificationRequest:
		seid, ies, err = a.twice(ctx, m, (*Agent).modify)
	case message.MsgTypeSessionDeletionRequest:
		seid, ies, err = a.twice(ctx, m, (*Agent).delete)
	case message.MsgTypePFDManagementRequest:
		node = true
		err = a.pfdManagement(ctx, m)
	case message.MsgTypeSessionSetDeletionRequest:
		node = true
		err = a.sessionSetDeletion(ctx, m)
	case message.MsgTypeNodeReportRequest: // it is the UP function that sends these
		node = true
		err = &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Detail: "a CP function reports nothing to a UP function"}
	default:
		err = &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Detail: "message is not supported"}
	}

	if !a.settled(ctx) {
		return nil // another member serves the unit, or nobody may yet
	}
	answer := &pfcp.Answer{SEID: seid, IEs: make([]*ie.IE, 0, 4+len(ies))}
	if node {
		answer.IEs = append(answer.IEs, a.nodeID())
	}
	if err == nil {
		answer.IEs = append(append(answer.IEs, ie.NewCause(ie.CauseRequestAccepted)), ies...)
		a.sayLoad(m, answer)
		return answer
	}
	var r *pfcp.Reject
	if !errors.As(err, &r) {
		r = &pfcp.Reject{Cause: ie.CauseSystemFailure, Detail: err.Error()}
	}
	a.log.Warn("request rejected", "message", pfcp.TypeName(m.Type), "from", m.From, "seid", hex(m.SEID), "cause", pfcp.CauseName(r.Cause), "offendingIE", r.Offending, "reason", r.Error())
	answer.IEs = append(answer.IEs, r.IEs()...)
	a.sayLoad(m, answer)
	return answer
}

// sayLoad tells who asks for something of a session what he is to hear of load and overload.
func (a *Agent) sayLoad(m *pfcp.Message, answer *pfcp.Answer) {
	if forSession(m) {
		answer.IEs = a.loadTo(m.From, answer.IEs)
	}
}

// Congested refuses a request that there is no room for.
func (a *Agent) Congested(m *pfcp.Message) *pfcp.Answer {
	a.noRoom()
	answer := &pfcp.Answer{}
	if m.Type == message.MsgTypeSessionEstablishmentRequest {
		answer.IEs = append(answer.IEs, a.nodeID())
	}
	answer.IEs = append(answer.IEs, ie.NewCause(ie.CausePFCPEntityInCongestion))
	a.sayLoad(m, answer)
	return answer
}

// twice executes a session request once more when upf-u died under it: its successor, if it comes
// in time, is filled with the state from before the request, so nothing happens twice.
func (a *Agent) twice(ctx context.Context, m *pfcp.Message, f func(*Agent, context.Context, *pfcp.Message) (uint64, []*ie.IE, error)) (uint64, []*ie.IE, error) {
	seid, ies, err := f(a, ctx, m)
	if errors.Is(err, dataplane.ErrLost) {
		seid, ies, err = f(a, ctx, m)
	}
	return seid, ies, err
}

func missing(m *pfcp.Message, ieType uint16) error {
	return pfcp.Missing(ieType, pfcp.TypeName(m.Type))
}

func nodeOf(m *pfcp.Message) (string, error) {
	e := m.Elements.First(ie.NodeID)
	if e == nil {
		return "", missing(m, ie.NodeID)
	}
	return e.NodeID()
}

// fseid reads a CP F-SEID: the SEID, and the address of the IP version in which we speak PFCP.
func (a *Agent) fseid(e *pfcp.Element) (uint64, netip.Addr, error) {
	seid, v4, v6, err := e.FSEID()
	if err != nil {
		return seid, netip.Addr{}, err
	}
	addr := v4
	if a.cfg.PFCP.Listen.Addr().Is6() && v6.IsValid() {
		addr = v6
	}
	if !addr.IsValid() {
		return seid, netip.Addr{}, pfcp.Incorrect(e.Type, "CP F-SEID without an address of the IP version of this UPF's PFCP")
	}
	return seid, addr, nil
}
