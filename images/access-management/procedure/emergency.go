package procedure

import (
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"
)

// Emergency services (TS 23.501 5.16.4, TS 24.501 5.5.1.2, TS 33.501 10.2), where the network has them:
//
//	a UE that is registered asks for a PDU session    emergencySession: the Settings say slice and data network, whatever it has subscribed to
//	a UE registers for them alone                     emergencySecured: neither UDM nor PCF are asked, and there is nothing else for it
//	  it has no SIM, or one that is not known here    unproven: it is asked for its PEI, and named by that; NIA0 and NEA0
//
// A UE that is named by its PEI has shown nothing, so that nothing of it is anybody else's: its record, its sessions and its 5G-GUTI lead to emergency
// services alone. An initial registration of another sort is a stranger's, protected or not.

// Emergency says where emergency services are.
type Emergency struct {
	// Slice and DNN of their PDU sessions.
	Slice record.Slice
	DNN   string
	// Unauthenticated UEs are served, too.
	Unauthenticated bool
}

// emergencyRate is the UE-AMBR of a UE that is registered for emergency services, bit/s: the session's AMBR bounds what it has.
const emergencyRate uint64 = 100_000_000

// NamedByPEI says whether a UE's name is that of equipment: nobody has authenticated the UE.
func NamedByPEI(supi string) bool { return strings.HasPrefix(supi, "imei") }

func (t *turn) isUnproven() bool { return t.s != nil && NamedByPEI(t.s.SUPI) }

// forEmergency says whether a registration is one: what the UE asks for, or what it has, and keeps (TS 24.501 5.5.1.3.2).
func (t *turn) forEmergency(kind n1.RegistrationType) bool {
	return kind == n1.EmergencyRegistration || t.s.Emergency && !initially(kind)
}

// outgrows: a UE that has shown nothing wants more than emergency services.
func (t *turn) outgrows(m *n1.RegistrationRequest) bool {
	return t.isUnproven() && initially(m.RegistrationType) && m.RegistrationType != n1.EmergencyRegistration
}

// unproven goes on with a UE whose authentication has come to nothing, where that is allowed; false: it is refused as any other.
func (t *turn) unproven() bool {
	e := t.in.Settings.Emergency
	if t.doing() != Registration || t.s.Procedure.Flags&regEmergency == 0 || e == nil || !e.Unauthenticated || t.s.SUPI != "" && !t.isUnproven() {
		return false
	}
	t.live.challenge = nil
	if t.s.PEI == "" {
		t.next(regEquipment)
		return true
	}
	t.live.challenge = &challenge{supi: t.s.PEI}
	t.next(regNamed)
	return true
}

// equipment that the UE says it is (TS 24.501 5.4.3).
func (t *turn) equipment(who n1.Identity) {
	if isEquipment(who) {
		t.s.PEI = n1.PEI(who)
		if t.unproven() {
			return
		}
	}
	t.rejectRegistration(n1.CausePEINotAccepted, "no emergency services for equipment")
}

func isEquipment(who n1.Identity) bool {
	switch who.(type) {
	case n1.IMEI, n1.IMEISV:
		return true
	}
	return false
}

func askEquipment(t *turn) { t.bid(&n1.IdentityRequest{Requested: n1.IdentityIMEI}) }

// emergencySecured takes the place of steps 14 to 16: what others have of the UE ends.
func (t *turn) emergencySecured() {
	e := t.in.Settings.Emergency
	if e == nil { // they were taken away
		t.rejectRegistration(n1.CauseProtocolErrorUnspecified, "no emergency services")
		return
	}
	if purged := t.maybeRecorded(); purged || t.s.Notified != "" {
		t.do(TellLeft{SUPI: t.s.SUPI, PLMN: t.s.Place.PLMN, Notified: t.s.Notified, Purged: purged, Since: t.recordedSince()})
	}
	if t.s.Policy != "" {
		t.do(AskPolicy{Number: t.number(), Operation: DeletePolicy, UE: t.s.Clone()})
	}
	t.s.Recorded, t.s.Notified, t.s.Known, t.s.Policy, t.s.Decided = false, "", false, "", record.Decided{}
	t.s.Emergency, t.s.Behind, t.s.GPSI, t.s.RFSP = true, false, "", 0
	t.s.Allowed, t.s.DNNs, t.s.Asked, t.s.Rejected = []record.Slice{e.Slice}, []string{e.DNN}, nil, nil
	t.located()
	t.s.Uplink, t.s.Downlink = emergencyRate, emergencyRate
	t.s.Periodic = uint32(n1.Timer3(t.in.Settings.Periodic).Rounded() / time.Second)
	t.next(regSessions)
}

// emergencySession: TS 23.502 4.3.2.2.1 step 1, of a request for emergency services.
func (t *turn) emergencySession(m *n1.ULNASTransport) {
	e := t.in.Settings.Emergency
	switch {
	case e == nil:
		t.returned(m.PayloadType, m.SessionID, m.Payload, n1.CausePayloadNotForwarded, 0)
		return
	case t.saidAgain(m.SessionID, m.Payload):
		t.out.Refused = "the same request is under way"
		return
	}
	t.createSession(m, record.Session{ID: m.SessionID, Slice: e.Slice, DNN: e.DNN, Emergency: true}, m.Request == n1.RequestExistingEmergency)
}

// stays says whether a session goes on: one for emergency services does in any case, and others where their slice is the UE's (still), which is not
// registered for emergency services alone.
func (t *turn) stays(s record.Session) bool {
	return s.Emergency || !t.s.Emergency && slices.ContainsFunc(t.s.Allowed, s.Slice.Is)
}
