package agent

import (
	"context"
	"errors"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/agent/sessions"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Handle executes one request. Every refusal is a *pfcp.Reject on its way here, and becomes an
// answer here and nowhere else.
func (a *Agent) Handle(ctx context.Context, m *pfcp.Message) *pfcp.Answer {
	var ies []*ie.IE
	var err error
	a.node.Begun(m)
	answer := m.Answer()
	switch m.Type {
	case message.MsgTypeSessionModificationRequest, message.MsgTypeSessionDeletionRequest, message.MsgTypeSessionReportRequest:
	default:
		a.node.SayID(answer)
	}
	// What follows is written behind it where the request is accepted.
	before := len(answer.IEs)
	answer.Cause(ie.CauseRequestAccepted)
	switch m.Type {
	case message.MsgTypeAssociationSetupRequest:
		ies, err = a.node.Setup(ctx, m)
	case message.MsgTypeAssociationUpdateRequest:
		ies, err = a.node.Update(m)
	case message.MsgTypeAssociationReleaseRequest:
		err = a.node.Release(ctx, m)
	case message.MsgTypeSessionEstablishmentRequest:
		err = a.twice(ctx, m, answer, (*sessions.Sessions).Establish)
	case message.MsgTypeSessionModificationRequest:
		err = a.twice(ctx, m, answer, (*sessions.Sessions).Modify)
	case message.MsgTypeSessionDeletionRequest:
		err = a.twice(ctx, m, answer, (*sessions.Sessions).Delete)
	case message.MsgTypePFDManagementRequest:
		err = a.sessions.DescribeApplications(ctx, m)
	case message.MsgTypeSessionSetDeletionRequest:
		err = a.sessions.DeleteSets(ctx, m)
	case message.MsgTypeNodeReportRequest: // it is the UP function that sends these
		err = &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Detail: "a CP function reports nothing to a UP function"}
	default:
		err = &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Detail: "message is not supported"}
	}

	if !a.settled(ctx) {
		return nil // another member serves the unit, or nobody may yet
	}
	if err == nil {
		answer.Add(ies...)
		a.node.SayLoad(m, &answer.IEs)
		return answer
	}
	var r *pfcp.Reject
	if !errors.As(err, &r) {
		r = &pfcp.Reject{Cause: ie.CauseSystemFailure, Detail: err.Error()}
	}
	a.log.Warn("request rejected", "message", pfcp.TypeName(m.Type), "from", m.From, "seid", pfcp.Hex(m.SEID), "cause", pfcp.CauseName(r.Cause), "offendingIE", r.Offending, "reason", r.Error())
	answer.IEs = answer.IEs[:before]
	answer.Refuse(r)
	a.node.SayLoad(m, &answer.IEs)
	return answer
}

// Heartbeat answers a CP function's heartbeat.
func (a *Agent) Heartbeat(m *pfcp.Message) *pfcp.Answer { return a.node.Heartbeat(m) }

// Congested refuses a request that there is no room for.
func (a *Agent) Congested(m *pfcp.Message) *pfcp.Answer {
	a.node.NoRoom()
	answer := m.Answer()
	if m.Type == message.MsgTypeSessionEstablishmentRequest {
		a.node.SayID(answer)
	}
	answer.Cause(ie.CausePFCPEntityInCongestion)
	a.node.SayLoad(m, &answer.IEs)
	return answer
}

// twice executes a session request once more when upf-u died under it: its successor, if it comes
// in time, is filled with the state from before the request, so nothing happens twice.
func (a *Agent) twice(ctx context.Context, m *pfcp.Message, answer *pfcp.Answer, f func(*sessions.Sessions, context.Context, *pfcp.Message, *pfcp.Answer) error) error {
	err := f(a.sessions, ctx, m, answer)
	if errors.Is(err, dataplane.ErrLost) {
		err = f(a.sessions, ctx, m, answer)
	}
	return err
}
