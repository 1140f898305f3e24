package procedure

import (
	"bytes"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

var (
	silent         = act{name: "T3560, T3550 or T3522 expires", later: commandTime, event: func(*teller) Event { return Due{Name: dueCommand} }}
	inAgain        = first("UE: Registration Request, SUCI, by another connection", gnb2, 9, 7, unprotected(registers(n1.InitialRegistration, suci())))
	updates        = first("UE: mobility registration, 5G-GUTI", gnb1, 2, 1, mobility(nil))
	withData       = n1.Of(1)
	updatesData    = first("UE: mobility registration, session 1 has packets", gnb1, 2, 1, mobility(&withData))
	later          = act{name: "UE: periodic registration", later: time.Hour, event: first("", gnb1, 2, 1, periodic).event}
	subscribedAnew = answers("UDM: subscription", func(n Number) Event {
		s := subscription(n)
		s.Notified = "http://udm/subscriptions/2"
		return s
	})
	begunBefore = act{name: "UE: Registration Request, SUCI, with which a holder before had begun", event: func(tr *teller) Event {
		e := asksIn.event(tr).(Initial)
		e.At.AMF = record.AttachmentID(shard, 77)
		return e
	}}
	wrongRES   = bytes.Repeat([]byte{9}, 16)
	sameVector = answers("AUSF: 5G-AKA vector", func(n Number) Event { return aka(n) })
)

// forgottenUE is idle, and a program has written it that told a UDM which remembers nothing.
func forgottenUE(tr *teller) {
	idleUE(tr)
	tr.st.Record.Known = false
}

// mobility registration, protected, with sessions that have packets.
func mobility(uplink *n1.Sessions) func(*teller) []byte {
	return func(tr *teller) []byte {
		m := registers(n1.MobilityRegistration, tr.guti())
		has := n1.Of(1)
		m.Sessions, m.UplinkData, m.FollowOn, m.KeySet = &has, uplink, false, 0
		return tr.says(m, n1.IntegrityProtected)
	}
}

func periodic(tr *teller) []byte {
	m := registers(n1.PeriodicRegistration, tr.guti())
	m.Security, m.Requested, m.FollowOn, m.KeySet = nil, nil, false, 0
	return tr.says(m, n1.IntegrityProtected)
}

func failsWith(c n1.Cause, auts *n1.Resynchronisation) act {
	return says("UE: Authentication Failure "+c.String(), unprotected(&n1.AuthenticationFailure{Cause: c, AUTS: auts}))
}

func tmsiKnown(tr *teller) []byte {
	return plain(tr.t, registers(n1.InitialRegistration, n1.GUTI{PLMN: n1.PLMN(plmnOf("20893")), Region: 1, Set: 1, Pointer: 1, TMSI: 99}))
}

// TS 23.502 4.2.2.2.2, the usual way.
func TestRegistration(t *testing.T) {
	uplink := n1.Of(1)
	tell(t, "registration", []story{
		{name: "initial, with a SUCI", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes, recordedToo, policed, contextSet, accepted,
		}},
		{name: "what was asked for beside got lost: it is asked for by itself", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes, recorded, subscribes, policed,
		}},
		{name: "with a 5G-GUTI that nobody knows", acts: []act{
			first("UE: Registration Request, 5G-GUTI", gnb1, 1, 1, tmsiKnown),
			says("UE: Identity Response, SUCI", unprotected(&n1.IdentityResponse{Identity: suci()})), vector,
		}},
		{name: "the whole request comes with the Security Mode Complete, and asks for another slice", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse,
			says("UE: Security Mode Complete", func(tr *teller) []byte {
				m := registers(n1.InitialRegistration, suci())
				m.Requested = nssai([]record.Slice{ioT, guest})
				return tr.securityComplete(plain(tr.t, m))
			}), recordedToo, policed,
		}},
		{name: "asks for MICO mode, and where its LADNs are: neither is granted", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse,
			says("UE: Security Mode Complete", func(tr *teller) []byte {
				m := registers(n1.InitialRegistration, suci())
				m.MICO, m.LADNs = &n1.MICO{AllRegistered: true}, &n1.DNNs{"factory"}
				return tr.securityComplete(plain(tr.t, m))
			}), recordedToo, policed,
		}},
		{name: "asks for MICO mode, and where all LADNs are, as it moves: neither is granted, and it is paged as others", from: idleUE, acts: []act{
			first("UE: mobility registration, MICO and LADN indication", gnb1, 2, 1, func(tr *teller) []byte {
				m := registers(n1.MobilityRegistration, tr.guti())
				m.MICO, m.LADNs, m.FollowOn, m.KeySet = &n1.MICO{}, &n1.DNNs{}, false, 0
				return tr.says(m, n1.IntegrityProtected)
			}), accepted, released, packets,
		}},
		{name: "EAP-AKA', in two rounds", acts: []act{
			asksIn,
			answers("AUSF: EAP-Request", func(n Number) Event {
				return Challenge{Number: n, Outcome: Done, Context: "http://ausf/2", EAP: []byte{1, 1, 0, 4}}
			}),
			says("UE: EAP-Response", unprotected(&n1.AuthenticationResponse{EAP: []byte{2, 1, 0, 4}})),
			answers("AUSF: another EAP-Request", func(n Number) Event {
				return Confirmed{Number: n, Outcome: Done, EAP: []byte{1, 2, 0, 4}, More: true}
			}),
			says("UE: EAP-Response", unprotected(&n1.AuthenticationResponse{EAP: []byte{2, 2, 0, 4}})),
			{name: "AUSF: EAP-Success", event: func(tr *teller) Event {
				e := confirms.event(tr).(Confirmed)
				e.EAP = []byte{3, 2, 0, 4}
				return e
			}}, nobodyElse, completes,
		}},
		{name: "the UE's SQN is another, then its ngKSI is in use", acts: []act{
			asksIn, vector, failsWith(n1.CauseSynchFailure, &n1.Resynchronisation{7}), sameVector, failsWith(n1.CauseKSIInUse, nil), responds,
		}},
		{name: "the UE's SQN is another, and its access network brings that twice: it is of the challenge before", acts: []act{
			asksIn, vector, failsWith(n1.CauseSynchFailure, &n1.Resynchronisation{7}), sameVector, failsWith(n1.CauseSynchFailure, &n1.Resynchronisation{7}), responds,
			confirms,
		}},
		{name: "a holder before had begun with it: what it answers to the challenge of that is none", acts: []act{
			begunBefore, vector, says("UE: Authentication Response, to the challenge of before", unprotected(&n1.AuthenticationResponse{RES: wrongRES})), responds, confirms,
		}},
		{name: "and it is asked for its SQN but once", acts: []act{
			begunBefore, vector, failsWith(n1.CauseSynchFailure, &n1.Resynchronisation{7}), silent, failsWith(n1.CauseSynchFailure, &n1.Resynchronisation{8}), sameVector, responds,
		}},
		{name: "but who answers wrong twice is not who it says", acts: []act{
			begunBefore, vector, says("UE: Authentication Response, wrong", unprotected(&n1.AuthenticationResponse{RES: wrongRES})),
			says("UE: Authentication Response, wrong", unprotected(&n1.AuthenticationResponse{RES: wrongRES})),
		}},
		{name: "the PCF does not answer: registered without", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes, recordedToo,
			answers("PCF: nothing", func(n Number) Event { return Policy{Number: n, Outcome: Unknown} }),
		}},
		{name: "mobility, with the context that is kept: nobody is authenticated", from: idleUE, acts: []act{updates}},
		{name: "mobility, where it is connected: its gNB hears by what it is paged, and where", from: withSession, acts: []act{
			says("UE: mobility registration, 5G-GUTI", mobility(nil)), accepted,
		}},
		{name: "mobility, where the UE is connected, and has to be authenticated: its gNB has the key of now", from: func(tr *teller) {
			withSession(tr)
			tr.st.Record.Security.Uplink, tr.phone.uplink = nearlyWrapped, nearlyWrapped
		}, acts: []act{
			says("UE: mobility registration, 5G-GUTI", mobility(nil)), vector, says("UE: Authentication Response", protected(&n1.AuthenticationResponse{RES: resOf})),
			confirms, completes, gnbSays("gNB: UE Context Modification Response", func(*teller) n2.Message { return &n2.UEContextModificationResponse{} }), accepted,
			fromGNB2("gNB 2: Path Switch Request", 40, func(tr *teller) n2.Message {
				return &n2.PathSwitchRequest{RAN: 40, SourceAMF: n2.AMFUEID(tr.st.Record.N2.AMF), Location: location(7), Sessions: []n2.Session{{ID: 1, Transfer: []byte{1}}}}
			}), smf("SMF: acknowledged", 1, SessionAnswer{Outcome: Done, N2: []byte{0x11}, N2Type: switchDone}),
		}},
		{name: "mobility, with packets that wait, and a session that the UE has not any more", from: func(tr *teller) {
			idleUE(tr)
			tr.lead(served...)
			tr.lead(second...)
			tr.lead(gnbReleases, released, idleOf(1), idleOf(2))
		}, acts: []act{
			first("UE: mobility registration, session 1 has packets", gnb1, 2, 1, mobility(&uplink)),
			smf("SMF: released", 2, SessionAnswer{Outcome: Done}), smf("SMF: to be set up", 1, SessionAnswer{Outcome: Done, N2: []byte{1, 2, 1}, N2Type: setupRequest}),
			gnbSays("gNB: Initial Context Setup Response", func(*teller) n2.Message {
				return &n2.InitialContextSetupResponse{Sessions: []n2.Session{{ID: 1, Transfer: []byte{9}}}}
			}), accepted,
		}},
		{name: "mobility into another tracking area: its slices are looked at anew", from: idleUE, acts: []act{
			first("UE: mobility registration, 5G-GUTI", gnb2, 2, 7, mobility(nil)), subscribes, policed,
		}},
		{name: "periodic: the UE is let go of behind it", from: idleUE, acts: []act{
			first("UE: periodic registration", gnb1, 2, 1, periodic), released,
		}},
		{name: "periodic, long after the UDM was told: it remembers", from: idleUE, acts: []act{later, released}},
		{name: "periodic, of a UE of which a UDM was told that may have forgotten", from: forgottenUE, acts: []act{
			later, recorded, subscribedAnew, policed, accepted, released, first("UE: periodic registration", gnb1, 3, 1, periodic),
		}},
		{name: "and the UDM does not answer: nobody is harmed, and the next registration tells it", from: forgottenUE, acts: []act{
			later, answers("UDM: nothing", func(n Number) Event { return Recorded{Number: n, Outcome: Unknown} }), released,
			first("UE: periodic registration", gnb1, 3, 1, periodic), recorded,
			answers("UDM: nothing", func(n Number) Event { return Subscription{Number: n, Outcome: Unknown} }), released,
			first("UE: periodic registration", gnb1, 4, 1, periodic),
		}},
		{name: "and the UE was withdrawn meanwhile", from: forgottenUE, acts: []act{
			later, answers("UDM: it is not known", func(n Number) Event { return Recorded{Number: n, Outcome: Refused, Cause: "USER_NOT_FOUND"} }),
		}},
	})
}

var (
	served = []act{
		first("UE: Service Request", gnb1, 3, 1, serviceRequest(n1.ServiceData, n1.Of(1), n1.Of(1))),
		smf("SMF: to be set up", 1, SessionAnswer{Outcome: Done, N2: []byte{1, 2, 1}, N2Type: setupRequest}),
		gnbSays("gNB: Initial Context Setup Response", func(*teller) n2.Message {
			return &n2.InitialContextSetupResponse{Sessions: []n2.Session{{ID: 1, Transfer: []byte{9}}}}
		}),
		smf("SMF: updated", 1, SessionAnswer{Outcome: Done}),
	}
	second = []act{
		says("UE: UL NAS Transport", protected(establishes(2))), smf("SMF: created", 2, created(2)),
		happens("SMF: accept", accept(2)), resourceSet(2), smf("SMF: updated", 2, SessionAnswer{Outcome: Done}),
	}
)

func idleOf(id uint8) act { return smf("SMF: idle", id, SessionAnswer{Outcome: Done}) }

// Each refusal is said once, and the connection goes.
func TestRegistrationRefused(t *testing.T) {
	refusesVector := func(cause string) act {
		return answers("AUSF: "+cause, func(n Number) Event { return Challenge{Number: n, Outcome: Refused, Cause: cause} })
	}
	before := []act{asksIn, vector, responds, confirms, nobodyElse, completes, recorded}
	on := func(more ...act) []act { return append(append([]act{}, before...), more...) }
	forgotten := answers("AUSF: context not found", func(n Number) Event { return Confirmed{Number: n, Outcome: Refused, Cause: "CONTEXT_NOT_FOUND"} })
	weak := func(tr *teller) []byte {
		m := registers(n1.InitialRegistration, suci())
		m.Security = n1.UESecurityCapability{0x80, 0x80}
		return plain(tr.t, m)
	}
	tell(t, "registration-refused", []story{
		{name: "the AUSF does not know it: one reject", acts: []act{asksIn, refusesVector("USER_NOT_FOUND"), released}},
		{name: "the serving network is not authorised", acts: []act{asksIn, refusesVector("SERVING_NETWORK_NOT_AUTHORIZED")}},
		{name: "a SUCI that cannot be read", acts: []act{asksIn, refusesVector("INVALID_SCHEME_OUTPUT")}},
		{name: "the AUSF does not answer: one reject, with T3346", acts: []act{
			asksIn, answers("AUSF: nothing", func(n Number) Event { return Challenge{Number: n, Outcome: Unknown} }),
			answers("a late answer", func(n Number) Event { return aka(n) }),
		}},
		{name: "a wrong RES*", acts: []act{asksIn, vector, says("UE: Authentication Response", unprotected(&n1.AuthenticationResponse{RES: autnOf})), released}},
		{name: "a MAC failure", acts: []act{asksIn, vector, failsWith(n1.CauseMACFailure, nil)}},
		{name: "another SQN, twice", acts: []act{
			asksIn, vector, failsWith(n1.CauseSynchFailure, &n1.Resynchronisation{7}), sameVector, failsWith(n1.CauseSynchFailure, &n1.Resynchronisation{8}),
		}},
		{name: "non-5G authentication unacceptable", acts: []act{asksIn, vector, failsWith(n1.CauseNon5GAuthenticationUnacceptable, nil)}},
		{name: "the AUSF does not confirm", acts: []act{
			asksIn, vector, responds, answers("AUSF: no", func(n Number) Event { return Confirmed{Number: n, Outcome: Refused, Cause: "AUTHENTICATION_REJECTED"} }),
		}},
		{name: "the AUSF has forgotten the challenge, twice", acts: []act{asksIn, vector, responds, forgotten, sameVector, responds, forgotten}},
		{name: "EAP-Failure", acts: []act{
			asksIn, answers("AUSF: EAP-Request", func(n Number) Event { return Challenge{Number: n, Outcome: Done, EAP: []byte{1, 1, 0, 4}} }),
			says("UE: EAP-Response", unprotected(&n1.AuthenticationResponse{EAP: []byte{2, 1, 0, 4}})),
			answers("AUSF: EAP-Failure", func(n Number) Event { return Confirmed{Number: n, Outcome: Done, EAP: []byte{4, 1, 0, 4}} }),
		}},
		{name: "the UE does not say who it is", acts: []act{
			first("UE: Registration Request, 5G-GUTI", gnb1, 1, 1, tmsiKnown),
			says("UE: Identity Response, none", unprotected(&n1.IdentityResponse{Identity: n1.NoIdentity{}})),
		}},
		{name: "the UE does not answer", acts: []act{asksIn, vector, silent, silent, silent, silent, silent}},
		{name: "no algorithm in common", acts: []act{
			first("UE: Registration Request, null algorithms", gnb1, 1, 1, weak), vector, responds, confirms, nobodyElse,
		}},
		{name: "the UE refuses the security mode", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse,
			says("UE: Security Mode Reject", unprotected(&n1.SecurityModeReject{Cause: n1.CauseSecurityCapabilitiesMismatch})),
		}},
		{name: "a Security Mode Complete with another MAC", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse,
			says("UE: Security Mode Complete", func(tr *teller) []byte {
				b := tr.securityComplete(nil)
				b[2] ^= 1
				return b
			}), completes,
		}},
		{name: "the UDM refuses", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes,
			answers("UDM: roaming is not allowed", func(n Number) Event { return Recorded{Number: n, Outcome: Refused, Cause: "ROAMING_NOT_ALLOWED"} }),
		}},
		{name: "the UDM takes the AMF, and has no subscription", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes,
			answers("UDM: recorded, no subscription", func(n Number) Event {
				return Recorded{Number: n, Outcome: Done, Subscription: &Subscription{Outcome: Refused, Cause: "DATA_NOT_FOUND"}}
			}),
		}},
		{name: "the UDM takes the AMF, and does not say what is subscribed to", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes,
			answers("UDM: recorded, nothing else", func(n Number) Event {
				return Recorded{Number: n, Outcome: Done, Subscription: &Subscription{Outcome: Unknown}}
			}),
		}},
		{name: "barred", acts: on(answers("UDM: barred", func(n Number) Event {
			s := subscription(n)
			s.Barred = true
			return s
		}), released)},
		{name: "no subscription", acts: on(answers("UDM: not there", func(n Number) Event { return Subscription{Number: n, Outcome: Refused, Cause: "USER_NOT_FOUND"} }))},
		{name: "the UDM does not answer", acts: on(answers("UDM: nothing", func(n Number) Event { return Subscription{Number: n, Outcome: Unknown} }))},
		{name: "no slice: none is subscribed to that the tracking area has", acts: on(answers("UDM: subscription", func(n Number) Event {
			s := subscription(n)
			s.Slices = []SubscribedSlice{{Slice: guest, Default: true}}
			return s
		}))},
		{name: "another PLMN", acts: []act{{name: "UE: Registration Request", event: func(tr *teller) Event {
			tr.settings.PLMNs[0].PLMN = "00101"
			return asksIn.event(tr)
		}}}},
		{name: "another tracking area", acts: []act{{name: "UE: Registration Request", event: func(tr *teller) Event {
			tr.settings.PLMNs[0].TACs = []uint32{77}
			return asksIn.event(tr)
		}}}},
		{name: "emergency services are not there", acts: []act{
			first("UE: emergency registration", gnb1, 1, 1, unprotected(registers(n1.EmergencyRegistration, suci()))),
		}},
		{name: "a storm: the UE comes back after T3346", acts: []act{{name: "UE: Registration Request", event: func(tr *teller) Event {
			e := asksIn.event(tr).(Initial)
			e.Storm = true
			return e
		}}, released}},
		{name: "a storm: a UE that is registered stays registered", from: idleUE, acts: []act{{name: "UE: mobility registration", event: func(tr *teller) Event {
			e := updates.event(tr).(Initial)
			e.Storm = true
			return e
		}}, released}},
	})
}

// TS 24.501 5.5.1.2.8, 5.4.1.3.7: what comes in between.
func TestRegistrationCollisions(t *testing.T) {
	tell(t, "registration-collisions", []story{
		{name: "a second registration while the first hangs at the AUSF: the first is over, and its answer nobody's", acts: []act{
			asksIn, says("UE: the same again", unprotected(registers(n1.InitialRegistration, suci()))),
			says("UE: another one", unprotected(registers(n1.MobilityRegistration, suci()))),
			happens("AUSF: the first vector", aka(1)), vector, responds,
		}},
		{name: "by another connection, at the same time: two that are nobody yet, and the first that is named has the record", from: registeredUE, acts: []act{
			{name: "UE: Registration Request, SUCI, by another gNB", event: func(tr *teller) Event {
				old := tr.st
				tr.st = State{}
				tr.lead(inAgain, vector, responds, confirms)
				return Named{Number: tr.st.live.awaited, Record: old.Record}
			}},
			says("UE: Security Mode Complete", func(tr *teller) []byte { return tr.securityComplete(nil) }),
		}},
		{name: "the SUPI is another shard's: its sessions end, and its 5G-TMSI with the accept", acts: []act{
			asksIn, vector, responds, confirms,
			answers("the record of shard 2", func(n Number) Event {
				other := at(gnb2, 4)
				other.AMF = record.AttachmentID(2, 9)
				return Named{Number: n, Record: &record.UE{
					SUPI: supi, Shard: 2, Phase: record.Registered, TMSI: record.TMSI(2, 5), N2: &other, Recorded: true, Policy: "http://pcf/policies/9",
					Sessions: []record.Session{{ID: 1, Slice: eMBB, DNN: "internet", SMF: "smf-1", Context: "http://smf-1/sm-contexts/1", Up: true}},
				}}
			}), completes, smf("SMF: released", 1, SessionAnswer{Outcome: Done}),
		}},
		{name: "somebody else says the 5G-GUTI: what is kept is not touched", from: idleUE, acts: []act{
			first("Registration Request, that is not protected", gnb2, 8, 7, func(tr *teller) []byte {
				return plain(tr.t, registers(n1.InitialRegistration, tr.guti()))
			}),
			first("Registration Request, another MAC", gnb2, 8, 7, func(tr *teller) []byte {
				b := mobility(nil)(tr)
				b[3] ^= 1
				tr.phone.uplink--
				return b
			}),
			updates,
		}},
		{name: "the accept is lost: T3550, then both 5G-GUTIs are the UE's", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes, recordedToo, policed, contextSet, silent, silent, silent, silent, silent,
		}},
		{name: "the accept of a UE that has nothing to say, and got no context for it, is lost: T3550, and it is let go of", from: idleUE, acts: []act{
			updates, silent, silent, silent, silent, silent, released,
		}},
		{name: "the last message again, same COUNT: it is not taken a second time", from: registeredUE, acts: []act{
			says("UE: UL NAS Transport", protected(establishes(1))), says("the same octets", func(tr *teller) []byte { return tr.phone.last }),
		}},
		{name: "the gNB lets go of the UE in the midst of it", acts: []act{
			asksIn, vector, gnbSays("gNB: UE Context Release Request", func(*teller) n2.Message {
				return &n2.UEContextReleaseRequest{Cause: ngapcause.RadioConnectionLost}
			}),
		}},
		{name: "the gNB refuses a context", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes, recordedToo, policed,
			gnbSays("gNB: Initial Context Setup Failure", func(*teller) n2.Message {
				return &n2.InitialContextSetupFailure{Cause: ngapcause.NoRadioResourcesInTarget}
			}), released,
		}},
		{name: "the worker dies before the SUPI is known: nothing is kept, and the gNB lets go of the UE", acts: []act{
			asksIn, vector, {name: "the worker dies; UE: Authentication Response", event: func(tr *teller) Event {
				e := responds.event(tr)
				tr.st = State{}
				return e
			}},
		}},
		{name: "the worker dies at the UDM: it is asked again", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes, dies, happens("a new holder", Resumed{}), recorded,
		}},
		{name: "the worker dies when the command is out: downlink COUNTs go on behind the block", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, dies, happens("a new holder", Resumed{}), silent, completes,
		}},
		{name: "the store has lost writes when the command is out: nobody knows which COUNTs were used, and the UE begins anew", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, dies, happens("a new holder", Resumed{Lost: true}), silent, released,
		}},
		{name: "the store has lost writes: AKA before anything is ciphered", from: idleUE, acts: []act{
			happens("a new holder", Resumed{Lost: true}), updates, vector,
			says("UE: Authentication Response", protected(&n1.AuthenticationResponse{RES: resOf})), confirms, completes, recordedToo, policed,
		}},
		{name: "in clear what has to be protected", from: registeredUE, acts: []act{
			says("somebody: Deregistration Request", unprotected(&n1.DeregistrationRequestFromUE{Access: n1.Access3GPP, Identity: suci()})),
			says("somebody: UL NAS Transport", unprotected(establishes(1))),
		}},
	})
}

// dies: what is not in the record is lost.
var dies = act{name: "the worker dies", event: func(tr *teller) Event {
	tr.st = State{Record: tr.st.Record}
	return Locate{}
}}

// A UE whose COUNT comes too far from what it has proved to have heard is authenticated anew.
func TestReachOfCounts(t *testing.T) {
	tr := newTeller(t)
	registeredUE(tr)
	for range 20 { // each takeover skips what is left of a block
		tr.st = State{Record: tr.st.Record}
		tr.lead(happens("a new holder", Resumed{}), says("UE: UL NAS Transport", protected(&n1.ULNASTransport{PayloadType: n1.PayloadSMS, Payload: []byte{1}, SessionID: 1})))
	}
	if got := tr.st.live.next - tr.st.Record.Security.Heard; got < record.Reach {
		t.Fatalf("%d COUNTs are not heard: too few for this test", got)
	}
	tr.lead(gnbReleases, released)
	challenged(t, tr)
}

// And one whose COUNTs come to their end (TS 24.501 4.4.3.5).
func TestCountsThatWrap(t *testing.T) {
	for name, near := range map[string]func(*teller){
		"the UE's": func(tr *teller) { tr.st.Record.Security.Uplink, tr.phone.uplink = nearlyWrapped, nearlyWrapped },
		"ours": func(tr *teller) {
			s := tr.st.Record.Security
			s.Reserved, s.Heard, tr.st.live.next = nearlyWrapped, nearlyWrapped, nearlyWrapped
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTeller(t)
			registeredUE(tr)
			tr.lead(gnbReleases, released)
			near(tr)
			challenged(t, tr)
		})
	}
}

// challenged when it asks for service.
func challenged(t *testing.T, tr *teller) {
	t.Helper()
	out := tr.handle(first("UE: Service Request", gnb1, 3, 1, serviceRequest(n1.ServiceSignalling, 0, 0)).event(tr))
	if len(out.Effects) != 1 {
		t.Fatalf("%d effects, want a challenge", len(out.Effects))
	}
	if _, ok := out.Effects[0].(AskChallenge); !ok {
		t.Errorf("%T, want a challenge", out.Effects[0])
	}
}
