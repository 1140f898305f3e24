package ue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

// modification is a PDU session modification that the UE has asked for (TS 24.501 6.4.2).
type modification struct {
	pti   uint8
	done  chan error
	timer *time.Timer
}

// Modify asks the network to change a session's QoS flows, or to make it always-on, and waits for the answer.
func (u *UE) Modify(ctx context.Context, psi uint8, r uenas.ModificationRequest) error {
	return u.command(ctx, func(done chan error) {
		s := u.session(psi)
		switch {
		case u.mm != registered:
			u.reply(done, ErrNotRegistered)
		case s == nil || s.state != active:
			u.reply(done, ErrNoSession)
		case u.conn == nil:
			u.reply(done, ErrIdle)
		case s.modification != nil:
			u.reply(done, errors.New("a modification of the session is under way"))
		default:
			pti := u.nextPTI()
			m := &modification{pti: pti, done: done}
			m.timer = time.AfterFunc(u.cfg.Timers.T3581, func() {
				u.q.push(func() {
					if s.modification == m {
						u.modified(s, errors.New("PDU session modification: no answer from the network in time"))
					}
				})
			})
			s.modification = m
			u.request(uenas.ULTransport(psi, uenas.SessionModification(psi, pti, r), uenas.RequestModification, nil, ""))
		}
	})
}

// modified ends the modification that the UE has asked for, if there is one.
func (u *UE) modified(s *session, err error) {
	m := s.modification
	if m == nil {
		return
	}
	s.modification = nil
	m.timer.Stop()
	if err != nil {
		u.fail(fmt.Errorf("PDU session %d: modification: %w", s.cfg.PSI, err))
	} else {
		s.donePTI = m.pti
	}
	u.reply(m.done, err)
}

// modificationCommand does what the network asks, and answers (6.3.2.3, 6.3.2.4, 7.3.1).
func (u *UE) modificationCommand(s *session, m *uenas.SessionMessage) {
	psi, pti := m.SessionID, m.PTI
	complete := func() {
		u.send(uenas.ULTransport(psi, uenas.SessionModificationComplete(psi, pti), uenas.RequestNone, nil, ""))
	}
	asked := s.modification != nil && s.modification.pti == pti
	switch {
	case s.state != active:
		u.status5GSM(psi, pti, n1.CauseMessageNotCompatible)
		return
	case pti != 0 && pti == s.donePTI && !asked:
		complete() // the Complete was lost, and the command comes again
		return
	case pti != 0 && !asked:
		u.drop("PDU session modification command for a procedure that the UE has not begun")
		u.status5GSM(psi, pti, n1.CausePTIMismatch)
		return
	case pti == 0:
		// 6.4.2.6: of two that meet, the network's goes on.
		u.modified(s, errors.New("given up for one that the network began"))
	}
	fault := m.QoSFault
	next := s.qos
	if fault == nil {
		next, fault = s.qos.apply(m.Rules, m.Flows)
	}
	if fault != nil {
		u.fail(fmt.Errorf("PDU session %d: modification command refused: %s", psi, fault.Reason))
		u.send(uenas.ULTransport(psi, uenas.SessionModificationReject(psi, pti, fault.Cause), uenas.RequestNone, nil, ""))
		if asked {
			u.modified(s, fault)
		}
		return
	}
	s.qos = next
	if m.AMBR != nil {
		s.qos.ambr = *m.AMBR
	}
	if m.AlwaysOn != nil {
		s.accepted.AlwaysOn = m.AlwaysOn
	}
	if len(m.Options) > 0 {
		s.accepted.Options = m.Options
		s.takeOptions(m.Options)
		u.ready(s)
	}
	s.classify()
	u.count.Modifications++
	complete()
	if asked {
		u.modified(s, nil)
	}
}

// modificationReject is the network's answer to Modify (6.4.2.4).
func (u *UE) modificationReject(s *session, m *uenas.SessionMessage) {
	if s.modification == nil || s.modification.pti != m.PTI {
		u.drop("PDU session modification reject for a procedure that the UE has not begun")
		u.status5GSM(m.SessionID, m.PTI, n1.CausePTIMismatch)
		return
	}
	u.count.Rejects++
	u.modified(s, &uenas.RejectError{Message: "PDU Session Modification Reject", Cause: uenas.Cause5GSM(m.Cause), BackOff: m.BackOff})
}
