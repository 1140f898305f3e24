package procedure

import (
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

const equipment = "490154203237518"

// sos is a network with emergency services, for all who come where unauthenticated.
func sos(unauthenticated bool, then ...func(*teller)) func(*teller) {
	return func(tr *teller) {
		tr.settings.Emergency = &Emergency{Slice: guest, DNN: "sos", Unauthenticated: unauthenticated}
		for _, f := range then {
			f(tr)
		}
	}
}

func inEmergency(name string, who n1.Identity) act {
	m := registers(n1.EmergencyRegistration, who)
	m.Requested = nil
	return first(name, gnb1, 1, 1, unprotected(m))
}

// calls asks for a session for emergency services.
func calls(id uint8) *n1.ULNASTransport {
	m := establishes(id)
	m.Request, m.DNN = n1.RequestInitialEmergency, ""
	return m
}

// completesNull is a Security Mode Complete of a UE that has shown nothing.
var completesNull = says("UE: Security Mode Complete, NIA0", func(tr *teller) []byte {
	tr.phone = phone{key: keys.AMF(make([]byte, 32), "imei-"+equipment, abba)}
	return tr.says(&n1.SecurityModeComplete{}, n1.IntegrityProtectedAndCipheredNewContext)
})

// withoutSIM is a UE that is registered for emergency services, and that nobody has authenticated.
func withoutSIM(tr *teller) {
	tr.lead(inEmergency("UE: emergency registration, IMEI", n1.IMEI(equipment)), nobodyElse, completesNull, contextSet, accepted)
}

// of the UE that has no SIM, by its 5G-GUTI.
func emergencyAgain(name string, kind n1.RegistrationType) act {
	return first(name, gnb1, 2, 1, func(tr *teller) []byte {
		m := registers(kind, tr.guti())
		m.Requested, m.KeySet = nil, 0
		return tr.says(m, n1.IntegrityProtected)
	})
}

// What the UDM has of a UE that registers for emergency services alone ends (TS 23.501 5.16.4), once: also where it has said late that another AMF has the
// UE, which it has not where that was of before.
func TestWhatTheUDMHasEndsInAnEmergency(t *testing.T) {
	moved := happens("UDM: another AMF has the UE", End{From: 6, Why: Moved})
	calls := emergencyAgain("UE: emergency registration, 5G-GUTI", n1.EmergencyRegistration)
	ends := smf("SMF: released", 1, SessionAnswer{Outcome: Done})
	for name, c := range map[string]struct {
		acts []act
		want int // purges
	}{
		"the UDM has it": {[]act{calls, ends, contextSet}, 1},
		"the UDM has said late that another AMF has":   {[]act{moved, calls, ends, contextSet}, 1},
		"and it registers for emergency services anew": {[]act{moved, calls, ends, contextSet, accepted, gnbReleases, released, emergencyAgain("UE: again", n1.EmergencyRegistration), contextSet}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTeller(t)
			sos(false, idleUE)(tr)
			told := tr.leadTelling(c.acts)
			if !tr.st.Record.Emergency || tr.st.Record.Procedure == nil && tr.st.Record.N2 == nil {
				t.Fatalf("it is not there for emergency services: %+v", tr.st.Record)
			}
			if len(told) != c.want || !told[0].Purged || told[0].Notified == "" || told[0].Since.IsZero() {
				t.Errorf("the UDM hears %+v, want %d purges of its last registration, and the end of its subscription", told, c.want)
			}
		})
	}
}

// TS 23.501 5.16.4, TS 24.501 5.5.1.2, TS 33.501 10.2.
func TestEmergency(t *testing.T) {
	silentAUSF := answers("AUSF: nothing", func(n Number) Event { return Challenge{Number: n, Outcome: Unknown} })
	stranger := answers("AUSF: it is not known", func(n Number) Event { return Challenge{Number: n, Outcome: Refused, Cause: "USER_NOT_FOUND"} })
	itsIMEI := says("UE: Identity Response, IMEI", unprotected(&n1.IdentityResponse{Identity: n1.IMEI(equipment)}))
	noName := says("UE: Identity Response, none", unprotected(&n1.IdentityResponse{Identity: n1.NoIdentity{}}))
	ended := happens("UDM: it is to tell of changes", SubscriptionChanged{})
	tell(t, "emergency", []story{
		{name: "a UE that is registered calls: slice and data network are the network's, not the subscription's", from: sos(false, registeredUE), acts: []act{
			says("UE: initial emergency request", protected(calls(5))), smf("SMF: created", 5, created(5)), happens("SMF: accept", accept(5)), resourceSet(5),
		}},
		{name: "there are no emergency services", from: registeredUE, acts: []act{says("UE: initial emergency request", protected(calls(5)))}},
		{name: "and the session goes on where the slices change", from: sos(false, func(tr *teller) {
			idleUE(tr)
			tr.lead(served...)
			tr.lead(
				says("UE: initial emergency request", protected(calls(5))), smf("SMF: created", 5, created(5)), happens("SMF: accept", accept(5)), resourceSet(5),
				smf("SMF: updated", 5, SessionAnswer{Outcome: Done}),
			)
		}), acts: []act{
			happens("UDM: the subscription has changed", SubscriptionChanged{}),
			answers("UDM: another slice", func(n Number) Event {
				s := subscription(n)
				s.Slices = []SubscribedSlice{{Slice: ioT, Default: true, DNN: "meters"}}
				return s
			}), answers("PCF: policy", func(n Number) Event { return Policy{Number: n, Outcome: Done} }),
		}},
		{name: "a registration with a SIM that is known: authenticated, and neither UDM nor PCF are asked", from: sos(false), acts: []act{
			inEmergency("UE: emergency registration, SUCI", suci()), vector, responds, confirms, nobodyElse, completes, contextSet, accepted,
			says("UE: another session", protected(establishes(1))),
			says("UE: initial emergency request", protected(calls(5))), smf("SMF: created", 5, created(5)), happens("SMF: accept", accept(5)), resourceSet(5),
			smf("SMF: updated", 5, SessionAnswer{Outcome: Done}), ended, gnbReleases, released, smf("SMF: idle", 5, SessionAnswer{Outcome: Done}),
			first("UE: periodic registration", gnb1, 2, 1, func(tr *teller) []byte {
				m := registers(n1.PeriodicRegistration, tr.guti())
				has := n1.Of(5)
				m.Security, m.Requested, m.FollowOn, m.KeySet, m.Sessions = nil, nil, false, 0, &has
				return tr.says(m, n1.IntegrityProtected)
			}),
		}},
		{name: "what others had of the UE ends", from: sos(false, idleUE), acts: []act{
			emergencyAgain("UE: emergency registration, 5G-GUTI", n1.EmergencyRegistration), smf("SMF: released", 1, SessionAnswer{Outcome: Done}), contextSet,
		}},
		{name: "a session that is being made meanwhile ends", from: sos(false, registeredUE), acts: []act{
			says("UE: a session", protected(establishes(1))),
			says("UE: emergency registration", func(tr *teller) []byte {
				m := registers(n1.EmergencyRegistration, tr.guti())
				m.Requested, m.KeySet = nil, 0
				return tr.says(m, n1.IntegrityProtected)
			}),
			accepted, smf("SMF: created", 1, created(1)), smf("SMF: released", 1, SessionAnswer{Outcome: Done}),
		}},
		{name: "and one of a UE that has gone by then", from: sos(false, registeredUE), acts: []act{
			says("UE: a session", protected(establishes(1))),
			says("UE: emergency registration", func(tr *teller) []byte {
				m := registers(n1.EmergencyRegistration, tr.guti())
				m.Requested, m.KeySet = nil, 0
				return tr.says(m, n1.IntegrityProtected)
			}),
			accepted, gnbReleases, released, smf("SMF: created", 1, created(1)), smf("SMF: released", 1, SessionAnswer{Outcome: Done}),
		}},
		{name: "then it registers as others do", from: sos(false), acts: []act{
			inEmergency("UE: emergency registration, SUCI", suci()), vector, responds, confirms, nobodyElse, completes, contextSet, accepted,
			emergencyAgain("UE: initial registration, 5G-GUTI", n1.InitialRegistration), recordedToo, policed,
		}},
		{name: "without a SIM: named by its IMEI, NIA0 and NEA0", from: sos(true), acts: []act{
			inEmergency("UE: emergency registration, IMEI", n1.IMEI(equipment)), nobodyElse, completesNull, contextSet, accepted,
			says("UE: another session", protected(establishes(1))), says("UE: initial emergency request", protected(calls(5))), smf("SMF: created", 5, created(5)),
		}},
		{name: "a SIM that is not known: it is asked for its IMEI", from: sos(true), acts: []act{
			inEmergency("UE: emergency registration, SUCI", suci()), stranger, itsIMEI, nobodyElse,
		}},
		{name: "a SIM that does not take the challenge", from: sos(true), acts: []act{
			inEmergency("UE: emergency registration, SUCI", suci()), vector, failsWith(n1.CauseMACFailure, nil), itsIMEI, nobodyElse, completesNull,
		}},
		{name: "the AUSF does not answer: the call is what counts", from: sos(true), acts: []act{
			inEmergency("UE: emergency registration, SUCI", suci()), silentAUSF, itsIMEI, nobodyElse,
		}},
		{name: "it says no name at all, which comes twice, and then its IMEI", from: sos(true), acts: []act{
			inEmergency("UE: emergency registration, 5G-GUTI", n1.GUTI{PLMN: n1.PLMN(plmnOf("20893")), Region: 1, Set: 1, Pointer: 1, TMSI: 99}), noName, noName, itsIMEI, nobodyElse,
		}},
		{name: "the store has lost writes, and it registers again before its connection is released: the accept is protected as it is with it", from: sos(true, withoutSIM), acts: []act{
			happens("a new holder", Resumed{Lost: true}), says("UE: Registration Request, mobility", protected(&n1.RegistrationRequest{
				RegistrationType: n1.MobilityRegistration, FollowOn: true, Identity: n1.IMEI(equipment), Security: ability,
			})),
		}},
		{name: "its area is another than was kept: it is given one where it is", from: sos(true, withoutSIM, func(tr *teller) {
			tr.lead(gnbReleases, released)
			tr.st.Record.Area.TACs = []uint32{9}
		}), acts: []act{
			first("UE: Service Request", gnb1, 3, 1, serviceRequest(n1.ServiceSignalling, 0, 0)), contextSet,
			says("UE: Configuration Update Complete", protected(&n1.ConfigurationUpdateComplete{})),
		}},
		{name: "it says no name at all, and then its IMEI", from: sos(true), acts: []act{
			inEmergency("UE: emergency registration, 5G-GUTI", n1.GUTI{PLMN: n1.PLMN(plmnOf("20893")), Region: 1, Set: 1, Pointer: 1, TMSI: 99}), noName, itsIMEI, nobodyElse,
		}},
		{name: "it says neither", from: sos(true), acts: []act{
			inEmergency("UE: emergency registration, 5G-GUTI", n1.GUTI{PLMN: n1.PLMN(plmnOf("20893")), Region: 1, Set: 1, Pointer: 1, TMSI: 99}), noName, noName, noName,
		}},
		{name: "the network wants to know who calls", from: sos(false), acts: []act{
			inEmergency("UE: emergency registration, IMEI", n1.IMEI(equipment)),
		}},
		{name: "nor does it take a SIM that is not known", from: sos(false), acts: []act{
			inEmergency("UE: emergency registration, SUCI", suci()), stranger,
		}},
		{name: "equipment registers for anything else", from: sos(true), acts: []act{
			first("UE: initial registration, IMEI", gnb1, 1, 1, unprotected(registers(n1.InitialRegistration, n1.IMEI(equipment)))),
		}},
		{name: "what has shown nothing gets nothing else, by another connection", from: sos(true, withoutSIM), acts: []act{
			emergencyAgain("UE: initial registration, 5G-GUTI, NIA0", n1.InitialRegistration),
		}},
		{name: "nor by the same one", from: sos(true, withoutSIM), acts: []act{
			says("UE: initial registration, 5G-GUTI, NIA0", func(tr *teller) []byte {
				return tr.says(registers(n1.InitialRegistration, tr.guti()), n1.IntegrityProtected)
			}),
		}},
		{name: "but it may say that it is there, call, and is not asked to prove anything", from: sos(true, func(tr *teller) {
			withoutSIM(tr)
			tr.lead(gnbSays("gNB: UE Context Release Request", func(*teller) n2.Message { return &n2.UEContextReleaseRequest{Cause: ngapcause.UserInactivity} }), released)
			tr.lead(happens("a new holder", Resumed{Lost: true}))
		}), acts: []act{
			emergencyAgain("UE: periodic registration, NIA0", n1.PeriodicRegistration), released,
			first("UE: Service Request", gnb1, 3, 1, serviceRequest(n1.ServiceEmergency, 0, 0)),
			{name: "it stays away", later: time.Hour, event: func(*teller) Event {
				return AccessLost{At: record.Attachment{Terminator: gnb1.Terminator, Association: gnb1.Association}}
			}},
			happens("T3512: no word of it, and nobody waits longer", Due{Name: dueReachable}),
		}},
		{name: "outside of the tracking areas that are served, and in a storm", from: sos(true, func(tr *teller) { tr.settings.PLMNs[0].TACs = []uint32{9} }), acts: []act{
			{name: "UE: emergency registration, IMEI", event: func(tr *teller) Event {
				e := inEmergency("", n1.IMEI(equipment)).event(tr).(Initial)
				e.Storm = true
				return e
			}},
		}},
	})
}
