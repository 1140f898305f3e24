package ue

import (
	"context"
	"errors"
	"slices"

	"github.com/free5gc/nas/nasMessage"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
)

// Register wishes the UE registered, and waits for the outcome of the next attempt. A UE that is
// registered already stays so.
func (u *UE) Register(ctx context.Context) error {
	return u.command(ctx, func(done chan error) {
		u.wish = true
		u.retry.reset()
		for _, s := range u.list() {
			if s.configured {
				s.wish = true
				s.retry.reset()
			}
		}
		switch {
		case u.mm == registered:
			u.reply(done, nil)
		case !u.cellUp:
			u.reply(done, gnb.ErrNoN2)
		case u.proc != nil && u.mm == registering:
			u.proc.waiters = append(u.proc.waiters, done)
		case u.proc != nil:
			u.reply(done, errors.New("another procedure is under way: "+u.proc.name))
		default:
			u.onRegistration = append(u.onRegistration, done) // pursue starts it
		}
	})
}

// suci conceals the SUPI afresh.
func (u *UE) suci() ([]byte, error) {
	return usim.SUCI(u.cfg.SUPI, len(u.cfg.MNC), u.cfg.Routing, u.cfg.HomeKey, nil)
}

// requested is the requested NSSAI: as configured, else the slices of the configured sessions.
func (u *UE) requested() []uenas.SNSSAI {
	if len(u.cfg.Requested) > 0 {
		return u.cfg.Requested
	}
	var out []uenas.SNSSAI
	for _, s := range u.cfg.Sessions {
		if !slices.Contains(out, s.Slice) {
			out = append(out, s.Slice)
		}
	}
	return out
}

// startRegistration sends REGISTRATION REQUEST (TS 24.501 5.5.1.2), always with a SUCI and without an
// old security context: a simulated phone that has just been switched on.
func (u *UE) startRegistration() {
	identity, err := u.suci()
	if err != nil {
		u.registrationNotSent(err)
		return
	}
	r := uenas.Registration{
		KSI: uenas.NoKSI, Type: nasMessage.RegistrationType5GSInitialRegistration,
		Identity: identity, Requested: u.requested(),
	}
	u.forgetRegistration()
	c, err := u.cell.Connect(u, r.Cleartext(), uint8(gnb.CauseMOSignalling), nil)
	if err != nil {
		u.registrationNotSent(err)
		return
	}
	u.conn, u.mm = c, registering
	u.begin("registration", u.cfg.Timers.T3510, u.onRegistration...)
	u.onRegistration = nil
	u.initial = r.Full()
}

func (u *UE) registrationNotSent(err error) {
	u.retry.failed(u.cfg.Timers)
	u.fail(err)
	for _, w := range u.onRegistration {
		u.reply(w, err)
	}
	u.onRegistration = nil
}

func (u *UE) registrationAccept(m *nasMessage.RegistrationAccept) {
	if u.mm != registering || !u.secOn {
		u.drop("registration accept out of place")
		return
	}
	if m.GUTI5G != nil {
		u.setGUTI(m.GUTI5G.Octet)
	}
	if m.AllowedNSSAI != nil {
		allowed, err := uenas.ParseNSSAI(m.AllowedNSSAI.GetSNSSAIValue())
		if err != nil {
			u.drop(err.Error())
		}
		u.allowed = allowed
	}
	u.mm = registered
	u.count.Registrations++
	u.lastError = ""
	u.retry.reset()
	// 5.5.1.2.4: a new 5G-GUTI has to be acknowledged; the AMF waits for it in T3550.
	u.send(uenas.RegistrationComplete())
	u.log.Info("registered", "allowed", u.allowed)
	u.finish(nil)
}

func (u *UE) setGUTI(octets [11]uint8) {
	g := uenas.GUTI(octets)
	t := g.TMSI()
	u.guti = &g
	u.tmsi.Store(&t)
}

func (u *UE) registrationReject(m *nasMessage.RegistrationReject) {
	if u.mm != registering {
		u.drop("registration reject out of place")
		return
	}
	u.count.Rejects++
	// A real UE would take some causes as final until it is switched off and on (5.5.1.2.5). This one
	// is switched on again after its pause, so that a subscriber added later is found.
	u.forgetRegistration()
	u.retry.failed(u.cfg.Timers)
	u.finish(&uenas.RejectError{Message: "Registration Reject", Cause: uenas.Cause5GMM(m.GetCauseValue())})
}

// Deregister gives the wish up and takes leave of the network (TS 24.501 5.5.2.2).
func (u *UE) Deregister(ctx context.Context, switchOff bool) error {
	return u.command(ctx, func(done chan error) {
		u.wish = false
		for _, s := range u.list() {
			s.wish = false
			if s.state == inactive {
				s.closeDevice() // kept for a session that was to come back
			}
		}
		for _, w := range u.onRegistration {
			u.reply(w, errors.New("overtaken by a deregistration"))
		}
		u.onRegistration = nil
		switch {
		case u.mm == deregistered:
			u.reply(done, nil)
			return
		case u.mm == registering:
			u.dropConnection()
			u.reply(done, nil)
			return
		case u.proc != nil:
			u.reply(done, errors.New("another procedure is under way: "+u.proc.name))
			return
		case u.guti == nil || u.sec == nil:
			u.forgetRegistration()
			u.reply(done, nil)
			return
		}
		plain := uenas.Deregistration(u.sec.KSI, switchOff, u.guti[:])
		if err := u.sendInitial(plain, uint8(gnb.CauseMOSignalling)); err != nil {
			u.forgetRegistration() // the network will find out by its own timers
			u.reply(done, err)
			return
		}
		u.mm = deregistering
		u.begin("deregistration", u.cfg.Timers.T3521, done)
		if switchOff {
			u.forgetRegistration()
			u.finish(nil)
		}
	})
}

// sendInitial sends a protected message: as the initial one of a new connection when the UE is idle.
func (u *UE) sendInitial(plain []byte, cause uint8) error {
	if u.conn != nil && u.secOn {
		u.send(plain)
		return nil
	}
	pdu, err := u.sec.Protect(uenas.Integrity, plain)
	if err != nil {
		return err
	}
	tmsi := u.guti.TMSI()
	c, err := u.cell.Connect(u, pdu, cause, &tmsi)
	if err != nil {
		return err
	}
	u.conn, u.secOn, u.last = c, true, pdu
	return nil
}

func (u *UE) deregistrationAccept() {
	if u.mm != deregistering {
		u.drop("deregistration accept out of place")
		return
	}
	u.forgetRegistration()
	u.log.Info("deregistered")
	u.finish(nil)
}

// networkDeregistration answers DEREGISTRATION REQUEST from the network (TS 24.501 5.5.2.3).
func (u *UE) networkDeregistration(m *nasMessage.DeregistrationRequestUETerminatedDeregistration) {
	u.send(uenas.DeregistrationAccept())
	again := m.GetReRegistrationRequired() == nasMessage.ReRegistrationRequired
	var cause error = errors.New("the network deregistered the UE")
	if m.Cause5GMM != nil {
		cause = &uenas.RejectError{Message: "Deregistration Request", Cause: uenas.Cause5GMM(m.Cause5GMM.GetCauseValue())}
	}
	if u.proc != nil {
		u.finish(cause)
	} else {
		u.fail(cause)
	}
	if !again {
		u.wish = false
		for _, s := range u.list() {
			s.wish = false
		}
	}
	u.forgetRegistration()
}
