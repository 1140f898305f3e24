package pfcp

import (
	"errors"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// AssociationUpdate is the kind of what Update asks, in its errors.
const AssociationUpdate Kind = Kind(message.MsgTypeAssociationUpdateRequest)

// Update asks a unit that is Ready something beside its sessions, by IEs in an Association Update Request (TS 29.244
// 7.4.4.3): what core5g's UPF tells of a Node ID's sessions, in vendor-specific IEs. done is called once, never before
// Update has returned: with the answer's IEs, or with *RefusedError, *NoAnswerError or *NotSentError. It does not count
// against the unit's window; who asks page after page waits for each.
func (e *Endpoint) Update(unit string, ies []*ie.IE, done func(wire.Elements, error)) {
	defer e.leave()
	u := e.units[nodeName(unit)]
	var err error
	var b []byte
	switch {
	case e.closed:
		err = ErrClosed
	case u == nil:
		err = ErrUnknownUnit
	case u.state != Ready:
		err = ErrAway
	default:
		b, err = wire.Marshal(message.MsgTypeAssociationUpdateRequest, nil, 0, append([]*ie.IE{e.node(u), cpFeatures()}, ies...))
	}
	if err != nil {
		e.soon(func() { e.call(func() { done(nil, &NotSentError{Unit: unit, Kind: AssociationUpdate, Err: err}) }) })
		return
	}
	t := e.begin(u, message.MsgTypeAssociationUpdateRequest, b, func(m *wire.Message, _ []byte, err error) {
		if err != nil {
			e.call(func() { done(nil, &NoAnswerError{Unit: u.NodeID, Kind: AssociationUpdate, Err: err}) })
			if errors.Is(err, errSilence) && !u.removed {
				e.beat(u)
			}
			return
		}
		err = refusal(m)
		var r *RefusedError
		if is := errors.As(err, &r); err != nil && !is { // an answer without a cause says nothing
			err = &NoAnswerError{Unit: u.NodeID, Kind: AssociationUpdate, Err: err}
		}
		e.call(func() { done(m.Elements, err) })
		if r != nil && r.Cause == ie.CauseNoEstablishedPFCPAssociation && !u.removed {
			e.lost(u)
		}
	})
	t.owed = true
}
