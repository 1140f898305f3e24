package simulation

import (
	"fmt"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/security"
)

// Emergency services are in some worlds (TS 23.501 5.16.4), in some of these for UEs that nobody has authenticated, too. UEs that have subscribed call, barred or
// not; and somebody does without a SIM, or with one that is not known.

const emergencyDNN = "sos"

// allowEmergency in a world.
func (w *world) allowEmergency() {
	w.sos = &procedure.Emergency{Slice: broadband, DNN: emergencyDNN, Unauthenticated: !w.also.chance(3)}
	w.settings.Emergency = w.sos
}

// reconfigured emergency services: they are taken away, and come back.
func (w *world) reconfigured(is *procedure.Settings) {
	if w.sos == nil {
		return
	}
	if is.Emergency = w.sos; w.faults && w.also.chance(4) {
		is.Emergency = nil
	}
	if is.Emergency == nil || w.settings.Emergency == nil {
		w.without = w.Now
	}
	w.Note("emergency services %v", is.Emergency != nil)
}

// emergencies says whether there have been emergency services for some time, for all pods.
func (w *world) emergencies() bool {
	return w.sos != nil && w.settings.Emergency != nil && w.Now.Sub(w.without) > 30*time.Second
}

// newCaller has no SIM, or one that nobody knows.
func newCaller(w *world) *ue {
	u := newUE(w, len(w.ues))
	u.name, u.simless = "caller", w.also.chance(2)
	u.supi = "imei-" + u.imei
	u.as = u.supi
	return u
}

// stranger says whether nobody can authenticate the UE.
func (u *ue) stranger() bool { return u.w.udm.of(u.supi) == nil }

// calls, where it is not registered; false: it does not.
func (u *ue) calls() bool {
	if u.w.sos == nil || u.twin || u.stranger() || !u.w.also.chance(5) {
		return false
	}
	u.register(n1.EmergencyRegistration)
	return true
}

// inEmergency it calls, hangs up, or wants something else; false: it does what others do.
func (u *ue) inEmergency() bool {
	w := u.w
	if w.sos == nil || u.twin || !w.also.chance(3) {
		return false
	}
	switch n := w.also.IntN(6); {
	case n <= 2 && u.conn != nil && u.sessions[emergencyID] == nil:
		u.ask(emergencyID, &session{sos: true}, n1.RequestInitialEmergency)
	case n == 3 && u.emergency && u.conn != nil && u.sessions[1] == nil:
		u.ask(1, &session{forbidden: true}, n1.RequestInitial)
	case n == 4 && u.emergency && !u.stranger():
		u.register(n1.InitialRegistration)
	case n == 5 && w.also.chance(2):
		u.register(n1.EmergencyRegistration)
	default:
		return false
	}
	return true
}

// settleInEmergency is what a UE does that nobody can authenticate: it is registered for emergency services, where it can be.
func (u *ue) settleInEmergency() {
	switch {
	case u.w.sos == nil || !u.w.sos.Unauthenticated:
		if u.state != off {
			u.switchOff()
		}
	case u.state != registered:
		u.register(n1.EmergencyRegistration)
	case u.conn == nil && !u.proved():
		u.serve(n1.ServiceData)
	case u.conn == nil && u.w.Now.Sub(u.spoke) > u.w.settings.Periodic-20*time.Second:
		u.register(n1.PeriodicRegistration)
	}
}

// identifies itself.
func (u *ue) identifies(what n1.IdentityType) {
	var who n1.Identity = u.suci()
	switch {
	case what == n1.IdentityIMEI:
		if u.doing != "registration emergency" {
			u.w.Fail("%s is asked for its IMEI", u.name)
		}
		who = n1.IMEI(u.imei)
	case u.simless:
		who = n1.NoIdentity{}
	}
	u.answers(&n1.IdentityResponse{Identity: who})
}

// unprotected is a command that takes NIA0 and NEA0 into use, with a key that anybody has (TS 33.501 10.2.2.2): in an emergency alone, and of nobody who was
// authenticated.
func (u *ue) unprotected(c *n1.SecurityModeCommand, e n1.Envelope, nas []byte) []byte {
	if u.doing != "registration emergency" || !u.w.sos.Unauthenticated || c.Algorithms.Ciphering != security.Null {
		u.w.Fail("%s is to speak without protection in the midst of %q", u.name, u.doing)
		return nil
	}
	key := security.AMFKey(security.Key(make([]byte, 32)), "imei-"+u.imei, abba)
	x := &nasContext{key: key[:], ksi: uint8(c.KeySet), algs: c.Algorithms}
	if _, ok := x.open(nas); !ok {
		return nil
	}
	u.nas, u.coming, u.as = x, nil, "imei-"+u.imei
	return e.Payload
}

// refusedInEmergency: nobody is who may not be (TS 24.501 5.5.1.2.6). It is not asked who has subscribed, and where nobody need be authenticated it is of no
// consequence whom the AUSF knows.
func (u *ue) refusedInEmergency(c n1.Cause) {
	switch {
	case !u.w.emergencies():
	case u.w.sos.Unauthenticated, !u.stranger():
		u.w.Fail("%s calls, and is refused, cause %d", u.name, c)
	case c != n1.CausePEINotAccepted && c != n1.CauseIllegalUE && c != n1.CauseIdentityCannotBeDerived:
		u.w.Fail("%s, whom nobody knows, calls, and is refused with cause %d", u.name, c)
	}
	u.forgotten("no emergency services")
}

// lawful says what is wrong with a record, of emergency services; "" for nothing.
func (w *world) lawful(is *record.UE) string {
	unproven := procedure.NamedByPEI(is.SUPI)
	switch {
	case is.Remnant || !is.Emergency && !unproven:
	case w.sos == nil || unproven && !w.sos.Unauthenticated:
		return "there are no emergency services for it"
	case unproven && (is.Recorded || is.Notified != "" || is.Policy != ""):
		return "others have heard of a UE that nobody has authenticated"
	case unproven && !is.Emergency && is.Phase == record.Registered:
		return "nobody has authenticated it, and it is registered"
	case !is.Emergency || is.Phase != record.Registered || is.Procedure != nil:
	case is.Policy != "":
		return "a PCF has it, and it has emergency services alone"
	default:
		for _, s := range is.Sessions {
			if !s.Emergency || s.DNN != emergencyDNN {
				return fmt.Sprintf("it has emergency services alone, and session %d with %s", s.ID, s.DNN)
			}
		}
	}
	return ""
}

// agreeInEmergency says what is wrong with the record of a UE that is registered for emergency services.
func (u *ue) agreeInEmergency(rec *record.UE) error {
	if !rec.Emergency || rec.Recorded || rec.Policy != "" || len(u.allowed) > 0 {
		return fmt.Errorf("it has emergency services alone, and the record has emergency %v, recorded %v, policy %q", rec.Emergency, rec.Recorded, rec.Policy)
	}
	return nil
}

// inEmergencyAlone is a session that a UE is to get.
func (w *world) inEmergencyAlone(e procedure.AskSession) {
	s := e.Session
	if !s.Emergency {
		return
	}
	if w.sos == nil || s.DNN != w.sos.DNN || !s.Slice.Is(w.sos.Slice) {
		w.Fail("%s is to have %s in slice %s for emergency services", e.SUPI, s.DNN, s.Slice)
	}
}

// comes says whether a UE is there that goes by that name now, and is here.
func (w *world) comes(supi string) bool {
	for _, u := range w.ues {
		if u.as == supi && u.away == nil && !u.dead {
			return true
		}
	}
	return false
}
