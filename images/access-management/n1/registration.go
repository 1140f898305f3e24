package n1

// RegistrationType is a 5GS registration type (TS 24.501 9.11.3.7). Values that are not known are read as an initial one.
type RegistrationType uint8

// The registration types.
const (
	InitialRegistration   RegistrationType = 1
	MobilityRegistration  RegistrationType = 2
	PeriodicRegistration  RegistrationType = 3
	EmergencyRegistration RegistrationType = 4
)

// Access of a UE (TS 24.501 9.11.2.1A, 9.11.3.20, 9.11.3.6).
type Access uint8

// The accesses.
const (
	Access3GPP    Access = 1
	AccessNon3GPP Access = 2
	AccessBoth    Access = 3
)

// MICO is a MICO indication (TS 24.501 9.11.3.31).
type MICO struct {
	// AllRegistered: all of the PLMN is the registration area (RAAI). StrictlyPeriodic registration timer (SPRTI).
	AllRegistered, StrictlyPeriodic bool
}

func (m *MICO) read(b []byte) bool {
	m.StrictlyPeriodic, m.AllRegistered = b[0]&2 != 0, b[0]&1 != 0
	return true
}

func (m *MICO) write(b []byte) []byte {
	return append(b, bit(m.StrictlyPeriodic, 1)|bit(m.AllRegistered, 0))
}

// UEStatus is where a UE is registered (TS 24.501 9.11.3.56).
type UEStatus struct{ N1, S1 bool }

func (s *UEStatus) read(b []byte) bool {
	flags(b, 0, nil, nil, nil, nil, nil, nil, &s.N1, &s.S1)
	return len(b) >= 1
}

func (s *UEStatus) write(b []byte) []byte { return append(b, bit(s.N1, 1)|bit(s.S1, 0)) }

// UpdateType is a 5GS update type (TS 24.501 9.11.3.9A).
type UpdateType struct {
	// SMS over NAS is asked for. RadioCapability: the UE's radio capability is to be fetched anew.
	SMS, RadioCapability bool
	// CIoT5GS and CIoTEPS are preferred network behaviours: 1 control plane, 2 user plane.
	CIoT5GS, CIoTEPS uint8
}

func (u *UpdateType) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	*u = UpdateType{SMS: b[0]&1 != 0, RadioCapability: b[0]&2 != 0, CIoT5GS: b[0] >> 2 & 3, CIoTEPS: b[0] >> 4 & 3}
	return true
}

func (u *UpdateType) write(b []byte) []byte {
	return append(b, bit(u.SMS, 0)|bit(u.RadioCapability, 1)|u.CIoT5GS&3<<2|u.CIoTEPS&3<<4)
}

// UsageSetting is a UE's (TS 24.501 9.11.3.55).
type UsageSetting uint8

// The usage settings.
const (
	VoiceCentric UsageSetting = 0
	DataCentric  UsageSetting = 1
)

func (u *UsageSetting) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	*u = UsageSetting(b[0] & 1)
	return true
}

func (u *UsageSetting) write(b []byte) []byte { return append(b, byte(*u)&1) }

// RegistrationRequest of TS 24.501 8.2.6.
type RegistrationRequest struct {
	RegistrationType RegistrationType
	// FollowOn: the UE has more to send.
	FollowOn bool
	KeySet   KeySet
	Identity Identity
	// NonCurrent native key set; nil: none.
	NonCurrent *KeySet
	Capability *Capability
	// Security is nil in a periodic registration.
	Security  UESecurityCapability
	Requested NSSAI
	LastTAI   *TAI
	// S1Capability is the S1 UE network capability, as it is.
	S1Capability []byte
	UplinkData   *Sessions
	Sessions     *Sessions
	MICO         *MICO
	Status       *UEStatus
	// AdditionalGUTI is one of the other system's or network's.
	AdditionalGUTI *GUTI
	Allowed        *Sessions
	UsageSetting   *UsageSetting
	DRX            *DRX
	// EPSContainer is the EPS NAS message container: a Tracking Area Update Request or Attach Request.
	EPSContainer []byte
	// LADNs that the UE asks about; nil: it does not, empty: all.
	LADNs *DNNs
	// Payload is a UE policy container.
	PayloadType PayloadType
	Payload     []byte
	// SubscriptionChanged: the UE acknowledges that. DefaultConfigured: its NSSAI is from the default configured one.
	SubscriptionChanged, DefaultConfigured bool
	Update                                 *UpdateType
	// Classmark2 and Codecs are for SRVCC, as they are.
	Classmark2, Codecs []byte
	// Container is the NAS message container: the whole Registration Request, ciphered where the UE has a context.
	Container  []byte
	EPSBearers *EPSBearers
	// ExtendedDRX parameters and NBN1DRX, as they are.
	ExtendedDRX, NBN1DRX *Octet
	T3324                *Timer3
	// RadioCapabilityID is a UE radio capability identity, digits in octets as they are.
	RadioCapabilityID []byte
	Mapped            MappedNSSAI
	// AdditionalInformation that is requested: 1, keys of positioning data.
	AdditionalInformation *Octet
	WakeUpSignal          []byte
	// N5GC: the UE is a device behind a wireline access that does not do 5GS.
	N5GC bool
}

// Type of the message.
func (*RegistrationRequest) Type() MessageType { return RegistrationRequestType }

func (m *RegistrationRequest) elements(c *codec) {
	kind := byte(m.RegistrationType)&7 | bit(m.FollowOn, 3)
	nibbles(c, &kind, &m.KeySet)
	m.RegistrationType, m.FollowOn = RegistrationType(kind&7), kind&8 != 0
	if t := m.RegistrationType; !c.writing && (t < InitialRegistration || t > EmergencyRegistration) {
		m.RegistrationType = InitialRegistration
	}
	lve(c, anIdentity{&m.Identity})
	optional(c, ieiNonCurrentKSI, &m.NonCurrent)
	optional(c, ieiCapability, &m.Capability)
	list(c, ieiSecurityCapability, &m.Security)
	list(c, ieiRequestedNSSAI, &m.Requested)
	optional(c, ieiLastTAI, &m.LastTAI)
	octets(c, ieiS1Capability, &m.S1Capability, 2)
	optional(c, ieiUplinkData, &m.UplinkData)
	optional(c, ieiSessions, &m.Sessions)
	optional(c, ieiMICO, &m.MICO)
	optional(c, ieiUEStatus, &m.Status)
	optional(c, ieiIdentity, &m.AdditionalGUTI)
	optional(c, ieiAllowedSessions, &m.Allowed)
	optional(c, ieiUsageSetting, &m.UsageSetting)
	optional(c, ieiDRX, &m.DRX)
	octets(c, ieiEPSContainer, &m.EPSContainer, 1)
	optional(c, ieiLADNIndication, &m.LADNs)
	number(c, ieiPayloadType, &m.PayloadType)
	octets(c, ieiPayload, &m.Payload, 1)
	two(c, ieiSlicing, &m.DefaultConfigured, &m.SubscriptionChanged)
	optional(c, ieiUpdateType, &m.Update)
	octets(c, ieiClassmark2, &m.Classmark2, 3)
	octets(c, ieiCodecs, &m.Codecs, 3)
	octets(c, ieiNASContainer, &m.Container, 1)
	optional(c, ieiEPSBearers, &m.EPSBearers)
	optional(c, ieiExtendedDRX, &m.ExtendedDRX)
	optional(c, ieiT3324, &m.T3324)
	octets(c, ieiRadioCapabilityID, &m.RadioCapabilityID, 1)
	list(c, ieiMappedNSSAI, &m.Mapped)
	optional(c, ieiRequestedInformation, &m.AdditionalInformation)
	octets(c, ieiWUSAssistance, &m.WakeUpSignal, 1)
	present(c, ieiN5GC, &m.N5GC)
	optional(c, ieiRequestedNBN1DRX, &m.NBN1DRX)
}

// Clear is what of the message may be said without ciphering; the whole message is then in a container, ciphered, or in the
// Security Mode Complete (TS 24.501 4.4.6).
func (m *RegistrationRequest) Clear() *RegistrationRequest {
	return &RegistrationRequest{
		RegistrationType: m.RegistrationType, FollowOn: m.FollowOn, KeySet: m.KeySet, Identity: m.Identity, Security: m.Security,
		AdditionalGUTI: m.AdditionalGUTI, Status: m.Status, EPSContainer: m.EPSContainer,
	}
}

// RegistrationResult of TS 24.501 9.11.3.6.
type RegistrationResult struct {
	Access Access
	// SMS over NAS is allowed. SliceAuthentication is to come. Emergency: registered for emergency services only.
	SMS, SliceAuthentication, Emergency bool
}

func (r *RegistrationResult) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	*r = RegistrationResult{Access: Access(b[0] & 7), SMS: b[0]&8 != 0, SliceAuthentication: b[0]&16 != 0, Emergency: b[0]&32 != 0}
	return true
}

func (r *RegistrationResult) write(b []byte) []byte {
	return append(b, byte(r.Access)&7|bit(r.SMS, 3)|bit(r.SliceAuthentication, 4)|bit(r.Emergency, 5))
}

// InclusionMode is which NSSAI a UE tells the access network (TS 24.501 9.11.3.37A), 0 for A to 3 for D.
type InclusionMode uint8

func (m *InclusionMode) read(b []byte) bool {
	*m = InclusionMode(b[0] & 3)
	return true
}

func (m *InclusionMode) write(b []byte) []byte { return append(b, byte(*m)&3) }

// RegistrationAccept of TS 24.501 8.2.7.
type RegistrationAccept struct {
	Result             RegistrationResult
	GUTI               *GUTI
	EquivalentPLMNs    PLMNs
	TAIs               TAIs
	Allowed            NSSAI
	Rejected           RejectedNSSAI
	Configured         NSSAI
	Features           *Features
	Sessions           *Sessions
	Reactivation       *Sessions // those whose user plane is not up
	ReactivationErrors SessionCauses
	LADNs              *LADNs
	MICO               *MICO
	// SubscriptionChanged: the network slicing subscription has. DefaultConfigured is the UE's.
	SubscriptionChanged, DefaultConfigured bool
	ServiceArea                            *ServiceArea
	T3512                                  *Timer3
	Non3GPPDeregistration, T3502           *Timer2
	EmergencyNumbers                       EmergencyNumbers
	ServiceNumbers                         *ServiceNumbers
	// SOR is the steering of roaming's transparent container, as it is.
	SOR           []byte
	EAP           []byte
	InclusionMode *InclusionMode
	Categories    *CategoryDefinitions
	DRX           *DRX
	// Non3GPPPolicies: the UE is to use the emergency numbers of other accesses in the country of the PLMN.
	Non3GPPPolicies      bool
	EPSBearers           *EPSBearers
	ExtendedDRX, NBN1DRX *Octet
	T3447, T3324         *Timer3
	T3448                *Timer2
	RadioCapabilityID    []byte
	// DeleteRadioCapabilityIDs of the network's.
	DeleteRadioCapabilityIDs bool
	Pending                  NSSAI
	// CipheringKeys of positioning data, ClosedAccessGroups, TruncatedSTMSI and WakeUpSignal, as they are.
	CipheringKeys, ClosedAccessGroups, TruncatedSTMSI, WakeUpSignal []byte
}

// Type of the message.
func (*RegistrationAccept) Type() MessageType { return RegistrationAcceptType }

func (m *RegistrationAccept) elements(c *codec) {
	lv(c, &m.Result)
	optional(c, ieiIdentity, &m.GUTI)
	list(c, ieiEquivalentPLMNs, &m.EquivalentPLMNs)
	list(c, ieiTAIs, &m.TAIs)
	list(c, ieiAllowedNSSAI, &m.Allowed)
	list(c, ieiRejectedNSSAI, &m.Rejected)
	list(c, ieiConfiguredNSSAI, &m.Configured)
	optional(c, ieiFeatures, &m.Features)
	optional(c, ieiSessions, &m.Sessions)
	optional(c, ieiReactivationResult, &m.Reactivation)
	list(c, ieiReactivationErrors, &m.ReactivationErrors)
	optional(c, ieiLADNs, &m.LADNs)
	optional(c, ieiMICO, &m.MICO)
	two(c, ieiSlicing, &m.DefaultConfigured, &m.SubscriptionChanged)
	optional(c, ieiServiceArea, &m.ServiceArea)
	optional(c, ieiT3512, &m.T3512)
	optional(c, ieiNon3GPPTimer, &m.Non3GPPDeregistration)
	optional(c, ieiT3502, &m.T3502)
	list(c, ieiEmergencyNumbers, &m.EmergencyNumbers)
	optional(c, ieiExtendedEmergency, &m.ServiceNumbers)
	octets(c, ieiSORContainer, &m.SOR, 1)
	octets(c, ieiEAP, &m.EAP, leastEAP)
	optional(c, ieiInclusionMode, &m.InclusionMode)
	optional(c, ieiAccessCategories, &m.Categories)
	optional(c, ieiDRX, &m.DRX)
	flag(c, ieiNon3GPPPolicies, &m.Non3GPPPolicies)
	optional(c, ieiEPSBearers, &m.EPSBearers)
	optional(c, ieiExtendedDRX, &m.ExtendedDRX)
	optional(c, ieiT3447, &m.T3447)
	optional(c, ieiT3448, &m.T3448)
	optional(c, ieiT3324, &m.T3324)
	octets(c, ieiRadioCapabilityID, &m.RadioCapabilityID, 1)
	flag(c, ieiDeleteRadioID, &m.DeleteRadioCapabilityIDs)
	list(c, ieiPendingNSSAI, &m.Pending)
	octets(c, ieiCipheringKeyData, &m.CipheringKeys, 1)
	octets(c, ieiCAG, &m.ClosedAccessGroups, 1)
	octets(c, ieiTruncatedSTMSI, &m.TruncatedSTMSI, 1)
	octets(c, ieiWUSAssistance, &m.WakeUpSignal, 1)
	optional(c, ieiNegotiatedNBN1DRX, &m.NBN1DRX)
}

// RegistrationComplete of TS 24.501 8.2.8.
type RegistrationComplete struct {
	// SOR is the UE's acknowledgement of steering of roaming, as it is.
	SOR []byte
}

// Type of the message.
func (*RegistrationComplete) Type() MessageType { return RegistrationCompleteType }

func (m *RegistrationComplete) elements(c *codec) { octets(c, ieiSORContainer, &m.SOR, 1) }

// RegistrationReject of TS 24.501 8.2.9.
type RegistrationReject struct {
	Cause              Cause
	T3346, T3502       *Timer2
	EAP                []byte
	Rejected           RejectedNSSAI
	ClosedAccessGroups []byte
}

// Type of the message.
func (*RegistrationReject) Type() MessageType { return RegistrationRejectType }

func (m *RegistrationReject) elements(c *codec) {
	octet(c, &m.Cause)
	optional(c, ieiT3346, &m.T3346)
	optional(c, ieiT3502, &m.T3502)
	octets(c, ieiEAP, &m.EAP, leastEAP)
	list(c, ieiRejectRejectedNSSAI, &m.Rejected)
	octets(c, ieiCAG, &m.ClosedAccessGroups, 1)
}
