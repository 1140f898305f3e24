package n1

import (
	"time"
)

var (
	lyon      = PLMN{0x02, 0xf8, 0x39} // 208-93
	boston    = PLMN{0x13, 0x00, 0x14} // 310-410
	sliceA    = SNSSAI{SST: 1, HasSD: true, SD: [3]byte{1, 2, 3}}
	sliceB    = SNSSAI{SST: 2}
	someOctet = Octet(0x5a)
	eap       = []byte{1, 2, 0, 8, 50, 1, 0, 0}
)

func sampleGUTI() *GUTI {
	return &GUTI{PLMN: lyon, Region: 0xca, Set: 0x3f8, Pointer: 0x21, TMSI: 0xdeadbeef}
}

func someNSSAI() NSSAI {
	return NSSAI{
		{SNSSAI: sliceA}, {SNSSAI: sliceB}, {SNSSAI: sliceB, Mapped: &sliceB}, {SNSSAI: sliceA, Mapped: &sliceB},
		{SNSSAI: sliceA, Mapped: &sliceA}, {SNSSAI: sliceB, Mapped: &sliceA},
	}
}

func someTAIs() TAIs { return TAIs{{lyon, 1}, {lyon, 2}, {lyon, 3}} }

func allCapabilities() *Capability {
	var c Capability
	for _, bits := range [][8]*bool{c.first(), c.second(), c.third()} {
		for _, p := range bits {
			if p != nil {
				*p = true
			}
		}
	}
	return &c
}

// full are the messages, every one with every element that it may have. theirs, where it is there, are those elements
// that free5GC's library reads and writes too: of Release 15.
type full struct {
	message Message
	theirs  func() Message
}

func fullMessages() map[string]full {
	paris := time.FixedZone("", 2*3600)
	return map[string]full{
		"registration request": {
			message: &RegistrationRequest{
				RegistrationType: MobilityRegistration, FollowOn: true, KeySet: 3, Identity: *sampleGUTI(),
				NonCurrent: new(KeySet(5)), Capability: allCapabilities(), Security: UESecurityCapability{0xf0, 0x70, 0xf0, 0x70},
				Requested: someNSSAI(), LastTAI: &TAI{lyon, 0xabcdef}, S1Capability: []byte{0xf0, 0xf0}, UplinkData: new(Of(1, 8, 15)),
				Sessions: new(Of(7)), MICO: &MICO{AllRegistered: true, StrictlyPeriodic: true}, Status: &UEStatus{N1: true, S1: true}, AdditionalGUTI: sampleGUTI(),
				Allowed: new(Of()), UsageSetting: new(DataCentric), DRX: new(DRX128), EPSContainer: []byte{7, 0x48},
				LADNs: &DNNs{"ladn.one", "two"}, PayloadType: PayloadUEPolicy, Payload: []byte{1, 2}, SubscriptionChanged: true,
				DefaultConfigured: true, Update: &UpdateType{SMS: true, RadioCapability: true, CIoT5GS: 1, CIoTEPS: 2},
				Classmark2: []byte{1, 2, 3}, Codecs: []byte{4, 2, 6, 7}, Container: []byte{0x7e, 0, 0x41}, EPSBearers: new(Of(5)),
				ExtendedDRX: &someOctet, NBN1DRX: &someOctet, T3324: new(Timer3(time.Minute)), RadioCapabilityID: []byte{0x21},
				Mapped: MappedNSSAI{sliceA, sliceB}, AdditionalInformation: new(Octet(1)), WakeUpSignal: []byte{3}, N5GC: true,
			},
			theirs: func() Message {
				return &RegistrationRequest{
					RegistrationType: MobilityRegistration, FollowOn: true, KeySet: 3, Identity: *sampleGUTI(),
					NonCurrent: new(KeySet(5)), Capability: allCapabilities(), Security: UESecurityCapability{0xf0, 0x70, 0xf0, 0x70},
					Requested: someNSSAI(), LastTAI: &TAI{lyon, 0xabcdef}, S1Capability: []byte{0xf0, 0xf0}, UplinkData: new(Of(1, 8, 15)),
					Sessions: new(Of(7)), MICO: &MICO{AllRegistered: true}, Status: &UEStatus{N1: true, S1: true}, AdditionalGUTI: sampleGUTI(),
					Allowed: new(Of()), UsageSetting: new(DataCentric), DRX: new(DRX128), EPSContainer: []byte{7, 0x48},
					LADNs: &DNNs{"ladn.one", "two"}, Payload: []byte{1, 2}, SubscriptionChanged: true,
					DefaultConfigured: true, Update: &UpdateType{SMS: true, RadioCapability: true},
					Container: []byte{0x7e, 0, 0x41}, EPSBearers: new(Of(5)),
				}
			},
		},
		"registration accept": {
			message: &RegistrationAccept{
				Result: RegistrationResult{Access: Access3GPP, SMS: true, SliceAuthentication: true, Emergency: true}, GUTI: sampleGUTI(),
				EquivalentPLMNs: PLMNs{lyon, boston}, TAIs: someTAIs(), Allowed: someNSSAI(),
				Rejected:   RejectedNSSAI{{sliceA, NotInPLMN}, {sliceB, NotInRegistrationArea}, {sliceB, AuthenticationFailed}},
				Configured: someNSSAI(), Features: &Features{
					IMSVoice: true, IMSVoiceNon3GPP: true, EmergencyServices: EmergencyInBoth, EmergencyFallback: EmergencyNR,
					EmergencyNon3GPP: true, WithoutN26: true, MPS: true, MCS: true, RestrictEC: 1, ControlPlaneCIoT: true, UserPlaneCIoT: true,
					HeaderCompression: true, EthernetHeaderCompression: true, NoN3Data: true, Location: true, Steering: true,
				},
				Sessions: new(Of(1, 2)), Reactivation: new(Of(2)), ReactivationErrors: SessionCauses{{2, CauseInsufficientUserPlane}},
				LADNs: &LADNs{{"ladn", someTAIs()}, {"other", TAIs{{boston, 9}, {lyon, 7}}}}, MICO: &MICO{AllRegistered: true},
				SubscriptionChanged: true, ServiceArea: &ServiceArea{NotAllowed: true, Whole: PLMNs{boston}, TAIs: TAIs{{lyon, 1}, {lyon, 7}}},
				T3512: new(Timer3(50 * time.Minute)), Non3GPPDeregistration: new(Timer2(time.Hour)), T3502: new(Timer2(12 * time.Minute)),
				EmergencyNumbers: EmergencyNumbers{{Police | Fire, "112"}, {Mountain, "1470"}},
				ServiceNumbers:   &ServiceNumbers{OnlyHere: true, Numbers: []ServiceNumber{{"15", "ambulance"}, {"112", ""}}},
				SOR:              []byte{1, 2, 3}, EAP: eap, InclusionMode: new(InclusionMode(3)),
				Categories: &CategoryDefinitions{{
					Precedence: 1, Number: 2, DNNs: []string{"internet", "ims"}, Apps: []App{{OS: [16]byte{1, 15: 2}, ID: "app"}},
					Slices: []SNSSAI{sliceA, sliceB}, Standardized: new(uint8(7)),
				}, {Precedence: 2, Number: 31, DNNs: []string{"x"}}},
				DRX: new(DRX32), Non3GPPPolicies: true, EPSBearers: new(Of(6)), ExtendedDRX: &someOctet, NBN1DRX: &someOctet,
				T3447: new(Timer3(time.Hour)), T3324: new(Timer3(Deactivated)), T3448: new(Timer2(time.Minute)), RadioCapabilityID: []byte{9},
				DeleteRadioCapabilityIDs: true, Pending: someNSSAI(), CipheringKeys: []byte{1}, ClosedAccessGroups: []byte{2},
				TruncatedSTMSI: []byte{3}, WakeUpSignal: []byte{4},
			},
			theirs: func() Message {
				return &RegistrationAccept{
					Result: RegistrationResult{Access: Access3GPP, SMS: true}, GUTI: sampleGUTI(),
					EquivalentPLMNs: PLMNs{lyon, boston}, TAIs: someTAIs(), Allowed: someNSSAI(),
					Rejected:   RejectedNSSAI{{sliceA, NotInPLMN}, {sliceB, NotInRegistrationArea}},
					Configured: someNSSAI(), Features: &Features{IMSVoice: true, EmergencyServices: EmergencyInBoth, EmergencyFallback: EmergencyNR, WithoutN26: true, MPS: true},
					Sessions: new(Of(1, 2)), Reactivation: new(Of(2)), ReactivationErrors: SessionCauses{{2, CauseInsufficientUserPlane}},
					LADNs: &LADNs{{"ladn", someTAIs()}, {"other", TAIs{{boston, 9}, {lyon, 7}}}}, MICO: &MICO{AllRegistered: true},
					SubscriptionChanged: true, ServiceArea: &ServiceArea{NotAllowed: true, TAIs: TAIs{{lyon, 1}, {lyon, 7}}},
					T3512: new(Timer3(50 * time.Minute)), Non3GPPDeregistration: new(Timer2(time.Hour)), T3502: new(Timer2(12 * time.Minute)),
					EmergencyNumbers: EmergencyNumbers{{Police | Fire, "112"}, {Mountain, "1470"}},
					ServiceNumbers:   &ServiceNumbers{OnlyHere: true, Numbers: []ServiceNumber{{"15", "ambulance"}, {"112", ""}}},
					SOR:              make([]byte, 20), EAP: eap, InclusionMode: new(InclusionMode(3)),
					Categories: &CategoryDefinitions{{Precedence: 2, Number: 31, DNNs: []string{"x"}}},
					DRX:        new(DRX32), Non3GPPPolicies: true, EPSBearers: new(Of(6)),
				}
			},
		},
		"registration complete": {message: &RegistrationComplete{SOR: make([]byte, 20)}},
		"registration reject": {
			message: &RegistrationReject{
				Cause: CauseCongestion, T3346: new(Timer2(10 * time.Minute)), T3502: new(Timer2(0)), EAP: eap,
				Rejected: RejectedNSSAI{{sliceA, NotInPLMN}}, ClosedAccessGroups: []byte{1},
			},
			theirs: func() Message {
				return &RegistrationReject{Cause: CauseCongestion, T3346: new(Timer2(10 * time.Minute)), T3502: new(Timer2(0)), EAP: eap}
			},
		},
		"deregistration request from a UE": {message: &DeregistrationRequestFromUE{SwitchOff: true, Access: Access3GPP, KeySet: 1, Identity: *sampleGUTI()}},
		"deregistration accept to a UE":    {message: &DeregistrationAcceptToUE{}},
		"deregistration request to a UE": {
			message: &DeregistrationRequestToUE{
				Reregister: true, Access: AccessBoth, Cause: CauseImplicitlyDeregistered, T3346: new(Timer2(time.Minute)),
				Rejected: RejectedNSSAI{{sliceB, NotInPLMN}}, ClosedAccessGroups: []byte{1},
			},
			theirs: func() Message {
				return &DeregistrationRequestToUE{Reregister: true, Access: AccessBoth, Cause: CauseImplicitlyDeregistered, T3346: new(Timer2(time.Minute))}
			},
		},
		"deregistration accept from a UE": {message: &DeregistrationAcceptFromUE{}},
		"service request": {
			message: &ServiceRequest{
				Service: ServiceMobileTerminated, KeySet: 2, STMSI: sampleGUTI().STMSI(), UplinkData: new(Of(3)), Sessions: new(Of(3, 4)),
				Allowed: new(Of()), Container: []byte{1, 2, 3},
			},
		},
		"service accept": {
			message: &ServiceAccept{
				Sessions: new(Of(1, 2, 3)), Reactivation: new(Of(2)), ReactivationErrors: SessionCauses{{2, CauseLADNNotAvailable}, {3, CauseRestrictedServiceArea}},
				EAP: eap, T3448: new(Timer2(time.Minute)),
			},
			theirs: func() Message {
				return &ServiceAccept{
					Sessions: new(Of(1, 2, 3)), Reactivation: new(Of(2)), ReactivationErrors: SessionCauses{{2, CauseLADNNotAvailable}, {3, CauseRestrictedServiceArea}},
					EAP: eap,
				}
			},
		},
		"service reject": {
			message: &ServiceReject{
				Cause: CauseCongestion, Sessions: new(Of(9)), T3346: new(Timer2(2 * time.Second)), EAP: eap, T3448: new(Timer2(Deactivated)),
				ClosedAccessGroups: []byte{7},
			},
			theirs: func() Message {
				return &ServiceReject{Cause: CauseCongestion, Sessions: new(Of(9)), T3346: new(Timer2(2 * time.Second)), EAP: eap}
			},
		},
		"control plane service request": {
			message: &ControlPlaneServiceRequest{
				Service: ControlPlaneEmergency, KeySet: 4, SmallData: []byte{0x20, 1}, PayloadType: PayloadCIoT, Payload: []byte{9}, SessionID: 3,
				Sessions: new(Of(3)), ReleaseAssistance: 2, UplinkData: new(Of(3)), Container: []byte{1, 2},
				AdditionalInformation: []byte{8}, Allowed: new(Of(4)),
			},
			theirs: func() Message { return nil },
		},
		"slice authentication command":  {message: &SliceAuthenticationCommand{Slice: someNSSAI()[3], EAP: eap}, theirs: func() Message { return nil }},
		"slice authentication complete": {message: &SliceAuthenticationComplete{Slice: someNSSAI()[0], EAP: eap}, theirs: func() Message { return nil }},
		"slice authentication result":   {message: &SliceAuthenticationResult{Slice: someNSSAI()[1], EAP: eap}, theirs: func() Message { return nil }},
		"configuration update command": {
			message: &ConfigurationUpdateCommand{
				Acknowledge: true, Register: true, GUTI: sampleGUTI(), TAIs: someTAIs(), Allowed: someNSSAI(),
				ServiceArea: &ServiceArea{TAIs: someTAIs()}, FullName: &Name{Text: "core5g", Country: true}, ShortName: &Name{Text: "コア"},
				Zone: new(Zone(-14)), Clock: &Clock{time.Date(2026, 7, 14, 23, 59, 58, 0, paris)}, DaylightSaving: new(DaylightSaving(1)),
				LADNs: &LADNs{{"ladn", someTAIs()}}, MICO: &MICO{}, SubscriptionChanged: true, DefaultConfigured: true,
				Configured: someNSSAI(), Rejected: RejectedNSSAI{{sliceB, NotInPLMN}}, Categories: &CategoryDefinitions{}, SMS: new(true),
				T3447: new(Timer3(time.Hour)), ClosedAccessGroups: []byte{1}, RadioCapabilityID: []byte{2}, DeleteRadioCapabilityIDs: true,
				Result: &RegistrationResult{Access: Access3GPP, SMS: true}, TruncatedSTMSI: []byte{4}, KeepConnection: true,
			},
			theirs: func() Message {
				return &ConfigurationUpdateCommand{
					Acknowledge: true, Register: true, GUTI: sampleGUTI(), TAIs: someTAIs(), Allowed: someNSSAI(),
					ServiceArea: &ServiceArea{TAIs: someTAIs()}, FullName: &Name{Text: "core5g", Country: true}, ShortName: &Name{Text: "コア"},
					Zone: new(Zone(-14)), Clock: &Clock{time.Date(2026, 7, 14, 23, 59, 58, 0, paris)}, DaylightSaving: new(DaylightSaving(1)),
					LADNs: &LADNs{{"ladn", someTAIs()}}, MICO: &MICO{}, SubscriptionChanged: true, DefaultConfigured: true,
					Configured: someNSSAI(), Rejected: RejectedNSSAI{{sliceB, NotInPLMN}}, SMS: new(true),
				}
			},
		},
		"configuration update complete": {message: &ConfigurationUpdateComplete{}},
		"authentication request": {
			message: &AuthenticationRequest{KeySet: 2, ABBA: []byte{0, 0}, RAND: &Challenge{1, 15: 2}, AUTN: &Challenge{3, 15: 4}, EAP: eap},
		},
		"authentication response":         {message: &AuthenticationResponse{RES: make([]byte, 16), EAP: eap}},
		"authentication reject":           {message: &AuthenticationReject{EAP: eap}},
		"authentication failure":          {message: &AuthenticationFailure{Cause: CauseSynchFailure, AUTS: &Resynchronisation{5, 13: 6}}},
		"authentication result":           {message: &AuthenticationResult{KeySet: 1, EAP: eap, ABBA: []byte{0, 0}}},
		"identity request":                {message: &IdentityRequest{Requested: IdentityIMEISV}},
		"identity response":               {message: &IdentityResponse{Identity: IMEI("490154203237518")}},
		"identity response with a SUCI":   {message: &IdentityResponse{Identity: SUCI{Home: lyon, Routing: "17", MSIN: "000000003"}}},
		"identity response with a STMSI":  {message: &IdentityResponse{Identity: sampleGUTI().STMSI()}},
		"identity response with nothing":  {message: &IdentityResponse{Identity: NoIdentity{}}},
		"identity response with a MAC":    {message: &IdentityResponse{Identity: MAC{Address: [6]byte{1, 2, 3, 4, 5, 6}, Unusable: true}}},
		"identity response with an EUI64": {message: &IdentityResponse{Identity: EUI64{1, 2, 3, 4, 5, 6, 7, 8}}},
		"security mode command": {
			message: &SecurityModeCommand{
				Algorithms: Algorithms{Ciphering: 2, Integrity: 1}, KeySet: 3, Replayed: UESecurityCapability{0xf0, 0x70, 0, 0, 0, 0},
				AskIMEISV: true, EPS: &Algorithms{Ciphering: 1, Integrity: 2}, Additional: &AdditionalSecurity{Retransmit: true, HorizontalDerivation: true},
				EAP: eap, ABBA: []byte{0, 0}, S1: []byte{1, 2, 3, 4},
			},
		},
		"security mode complete": {
			message: &SecurityModeComplete{IMEISV: "4901542032375186", Container: []byte{0x7e, 0, 0x41, 1}, PEI: EUI64{8}},
			theirs: func() Message {
				return &SecurityModeComplete{IMEISV: "4901542032375186", Container: []byte{0x7e, 0, 0x41, 1}}
			},
		},
		"security mode reject":  {message: &SecurityModeReject{Cause: CauseSecurityCapabilitiesMismatch}},
		"status":                {message: &Status{Cause: CauseMessageNotCompatible}},
		"notification":          {message: &Notification{Access: AccessNon3GPP}},
		"notification response": {message: &NotificationResponse{Sessions: new(Of(1))}},
		"UL NAS transport": {
			message: &ULNASTransport{
				PayloadType: PayloadN1SM, Payload: []byte{0x2e, 1, 1, 0xc1}, SessionID: 1, OldSessionID: 2, Request: RequestInitial,
				Slice: &Slice{SNSSAI: sliceA}, DNN: "internet.mnc093", AdditionalInformation: []byte{1}, UpgradeAllowed: true, ReleaseAssistance: 1,
			},
			theirs: func() Message {
				return &ULNASTransport{
					PayloadType: PayloadN1SM, Payload: []byte{0x2e, 1, 1, 0xc1}, SessionID: 1, OldSessionID: 2, Request: RequestInitial,
					Slice: &Slice{SNSSAI: sliceA}, DNN: "internet.mnc093", AdditionalInformation: []byte{1},
				}
			},
		},
		"DL NAS transport": {
			message: &DLNASTransport{
				PayloadType: PayloadN1SM, Payload: []byte{0x2e, 1, 1, 0xc3}, SessionID: 1, AdditionalInformation: []byte{1}, Cause: CausePayloadNotForwarded,
				BackOff: new(Timer3(time.Minute)),
			},
		},
	}
}
