package ue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/free5gc/nas/nasConvert"
	"github.com/free5gc/nas/nasMessage"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/uenas"
)

// Connection is the UE's connection to its gNB, nil while it is idle.
func (u *UE) Connection() *gnb.Connection { return u.view.now.Load().conn }

// activeSessions lists the sessions that the UE holds.
func (u *UE) activeSessions() []uint8 {
	out := []uint8{}
	for _, s := range u.list() {
		if s.state == active || s.state == releasing {
			out = append(out, s.cfg.PSI)
		}
	}
	return out
}

// Idle has the gNB start the AN release (TS 23.502 4.2.6), and waits until the UE is idle.
func (u *UE) Idle(ctx context.Context) error {
	return u.command(ctx, func(done chan error) {
		switch {
		case u.mm != registered:
			u.reply(done, ErrNotRegistered)
		case u.conn == nil:
			u.reply(done, ErrIdle)
		default:
			if err := u.conn.RequestRelease(); err != nil {
				u.reply(done, err)
				return
			}
			u.releaseFor = append(u.releaseFor, done)
		}
	})
}

// ServiceRequest leaves idle and waits until every session has its tunnel again. A connected UE
// whose sessions are all up answers at once.
func (u *UE) ServiceRequest(ctx context.Context) error {
	err := u.command(ctx, func(done chan error) {
		switch {
		case u.mm != registered:
			u.reply(done, ErrNotRegistered)
		case u.proc != nil && u.proc.name == serviceRequest:
			u.proc.waiters = append(u.proc.waiters, done)
		case u.proc != nil:
			u.reply(done, errors.New("another procedure is under way: "+u.proc.name))
		case u.conn != nil:
			u.reply(done, nil)
		default:
			u.retry.reset()
			u.startServiceRequest(false)
			if u.proc == nil {
				u.reply(done, errors.New(u.lastError))
				return
			}
			u.proc.waiters = append(u.proc.waiters, done)
		}
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := u.Wait(ctx, func(s Status) bool {
		for _, x := range s.Sessions {
			if x.State == string(active) && !x.Up {
				return false
			}
		}
		return true
	}); err != nil {
		return fmt.Errorf("service request accepted, but a session has no tunnel: %w", err)
	}
	return nil
}

const serviceRequest = "service request"

// startServiceRequest sends SERVICE REQUEST as the initial message (TS 24.501 5.6.1).
func (u *UE) startServiceRequest(signalling bool) {
	if u.sec == nil || u.guti == nil {
		u.forgetRegistration()
		return
	}
	held := u.activeSessions()
	s := uenas.Service{KSI: u.sec.KSI, TMSI: u.guti.TMSI(), Sessions: held, Type: nasMessage.ServiceTypeData}
	cause := uint8(gnb.CauseMOData)
	switch {
	case u.paged:
		s.Type, cause = nasMessage.ServiceTypeMobileTerminatedServices, uint8(gnb.CauseMTAccess)
	case len(held) == 0 && signalling:
		s.Type, cause = nasMessage.ServiceTypeSignalling, uint8(gnb.CauseMOSignalling)
	}
	if len(held) > 0 {
		s.Uplink = held
	}
	container := s.Full()
	whole := append([]byte(nil), container...)
	err := u.sec.CipherContainer(container)
	if err == nil {
		err = u.sendInitial(s.Initial(container), cause)
	}
	if err != nil {
		u.retry.failed(u.cfg.Timers)
		u.fail(err)
		return
	}
	u.paged, u.resume = false, false
	u.count.ServiceRequests++
	u.begin(serviceRequest, u.cfg.Timers.T3517)
	u.initial = whole
}

func (u *UE) serviceAccept(m *nasMessage.ServiceAccept) {
	if u.proc == nil || u.proc.name != serviceRequest {
		u.drop("service accept out of place")
		return
	}
	// 5.6.1.4: sessions that the network does not hold are released locally.
	if m.PDUSessionStatus != nil && len(m.PDUSessionStatus.Buffer) >= 2 {
		held := nasConvert.PSIToBooleanArray(m.PDUSessionStatus.Buffer)
		for _, s := range u.list() {
			if s.state == active && !held[s.cfg.PSI] {
				u.sessionGone(s, errors.New("the network does not hold the session any more"))
			}
		}
	}
	u.unserved = 0
	u.retry.reset()
	// 5.6.1.4.1: sessions whose user plane could not be set up again. They are there all the same, so they are asked for again.
	if m.PDUSessionReactivationResult != nil && len(m.PDUSessionReactivationResult.Buffer) >= 2 {
		failed := nasConvert.PSIToBooleanArray(m.PDUSessionReactivationResult.Buffer)
		for _, s := range u.list() {
			if s.state == active && failed[s.cfg.PSI] {
				u.fail(fmt.Errorf("PDU session %d: the network could not reactivate the user plane", s.cfg.PSI))
				u.revive(s)
			}
		}
	}
	u.finish(nil)
}

// mostRevivals is how often the user plane of a session is asked for before the session is made anew: half a minute.
const mostRevivals = 6

// revive asks for the session's user plane again in a while, if the UE recovers by itself.
func (u *UE) revive(s *session) {
	if !u.cfg.Recover {
		return
	}
	if s.revivals++; s.revivals > mostRevivals {
		s.revivals = 0
		u.reestablish(s)
		return
	}
	u.revival.at = time.Now().Add(min(u.cfg.Timers.MinRetry<<(s.revivals-1), u.cfg.Timers.MaxRetry))
	u.resume = true
}

// serviceFailed decides what follows a service request without an answer: once more, and then a
// registration from the start, for a UE that recovers by itself.
func (u *UE) serviceFailed() {
	if !u.cfg.Recover || u.mm != registered {
		return
	}
	u.unserved++
	if u.unserved < 2 {
		u.resume = true
		return
	}
	u.unserved = 0
	u.forgetRegistration()
}

func (u *UE) serviceReject(m *nasMessage.ServiceReject) {
	if u.proc == nil || u.proc.name != serviceRequest {
		u.drop("service reject out of place")
		return
	}
	u.count.Rejects++
	cause := m.GetCauseValue()
	u.retry.failed(u.cfg.Timers)
	switch cause {
	case nasMessage.Cause5GMMUEIdentityCannotBeDerivedByTheNetwork, nasMessage.Cause5GMMImplicitlyDeregistered:
		// 5.6.1.5: the network does not know the UE (any more): register anew, at once.
		u.forgetRegistration()
		u.retry.reset()
		u.wish = u.wish && u.cfg.Recover
	case nasMessage.Cause5GMMIllegalUE, nasMessage.Cause5GMMIllegalME, nasMessage.Cause5GMM5GSServicesNotAllowed:
		u.forgetRegistration()
	}
	u.finish(&uenas.RejectError{Message: "Service Reject", Cause: uenas.Cause5GMM(cause)})
}
