package n2

// EmergencyTarget is where a UE falls back to for an emergency call (TS 38.413 9.3.1.26).
type EmergencyTarget uint8

// The targets.
const (
	EmergencyTargetNotSaid EmergencyTarget = iota
	EmergencyTargetFiveGC
	EmergencyTargetEPC
)

// EmergencyFallback is an Emergency Fallback Indicator.
type EmergencyFallback struct{ Target EmergencyTarget }

// InactiveReport is what is asked for of RRC INACTIVE (TS 38.413 9.3.1.91).
type InactiveReport uint8

// The requests.
const (
	InactiveReportNotSaid InactiveReport = iota
	// InactiveReportSubsequent of every transition, InactiveReportSingle of the next into RRC CONNECTED.
	InactiveReportSubsequent
	InactiveReportSingle
	InactiveReportCancel
)

// VoiceFallback tells whether a UE may be redirected for voice (TS 38.413 9.3.1.116).
type VoiceFallback uint8

// The values.
const (
	VoiceFallbackNotSaid VoiceFallback = iota
	VoiceFallbackPossible
	VoiceFallbackNotPossible
)

// InitialContextSetupRequest, AMF to NG-RAN (TS 38.413 9.2.2.1).
type InitialContextSetupRequest struct {
	UE     UEIDs
	OldAMF string
	// AMBR there has to be where there are Sessions.
	AMBR     *AggregateBitRate
	Inactive *InactiveAssistance
	GUAMI    GUAMI
	Sessions []SessionSetup
	Allowed  []SNSSAI
	Security SecurityCapabilities
	Key      SecurityKey
	Trace    *TraceActivation
	Mobility *MobilityRestrictions
	Radio    []byte
	RFSP     uint16
	// MaskedIMEISV is 64 bits, 0 where there is none (TS 38.413 9.3.1.54).
	MaskedIMEISV   uint64
	NAS            []byte
	Emergency      *EmergencyFallback
	InactiveReport InactiveReport
	PagingRadio    *PagingCapability
	VoiceFallback  VoiceFallback
	Location       *LocationRequest
	CapabilityID   []byte
}

// InitialContextSetupResponse, NG-RAN to AMF (TS 38.413 9.2.2.2).
type InitialContextSetupResponse struct {
	UE UEIDs
	// Sessions have Response Transfers, Failed ones Unsuccessful Transfers.
	Sessions, Failed []Session
	Diagnostics      *CriticalityDiagnostics
}

// InitialContextSetupFailure, NG-RAN to AMF (TS 38.413 9.2.2.3).
type InitialContextSetupFailure struct {
	UE          UEIDs
	Failed      []Session
	Cause       Cause
	Diagnostics *CriticalityDiagnostics
}

// UEContextReleaseRequest, NG-RAN to AMF (TS 38.413 9.2.2.4).
type UEContextReleaseRequest struct {
	UE UEIDs
	// Sessions are the identities of those with an active user plane.
	Sessions []uint8
	Cause    Cause
}

// UEContextReleaseCommand, AMF to NG-RAN (TS 38.413 9.2.2.5).
type UEContextReleaseCommand struct {
	AMF AMFUEID
	// RAN is nil where the AMF does not know it.
	RAN   *RANUEID
	Cause Cause
}

// UEContextReleaseComplete, NG-RAN to AMF (TS 38.413 9.2.2.6).
type UEContextReleaseComplete struct {
	UE          UEIDs
	Location    *UserLocation
	Recommended *RecommendedPaging
	// Sessions that were released; Transfer, a Release Response Transfer, may be nil.
	Sessions    []Session
	Diagnostics *CriticalityDiagnostics
}

// UEContextModificationRequest, AMF to NG-RAN (TS 38.413 9.2.2.7); what is zero does not change.
type UEContextModificationRequest struct {
	UE             UEIDs
	PagingPriority uint16
	Key            *SecurityKey
	RFSP           uint16
	AMBR           *AggregateBitRate
	Security       *SecurityCapabilities
	Inactive       *InactiveAssistance
	Emergency      *EmergencyFallback
	NewAMF         *AMFUEID
	InactiveReport InactiveReport
	NewGUAMI       *GUAMI
	CapabilityID   []byte
}

// RRCState of a UE (TS 38.413 9.3.1.92).
type RRCState uint8

// The states.
const (
	RRCInactive RRCState = iota
	RRCConnected
)

// UEContextModificationResponse, NG-RAN to AMF (TS 38.413 9.2.2.8).
type UEContextModificationResponse struct {
	UE          UEIDs
	State       *RRCState
	Location    *UserLocation
	Diagnostics *CriticalityDiagnostics
}

// UEContextModificationFailure, NG-RAN to AMF (TS 38.413 9.2.2.9).
type UEContextModificationFailure struct {
	UE          UEIDs
	Cause       Cause
	Diagnostics *CriticalityDiagnostics
}

// RRCInactiveTransitionReport, NG-RAN to AMF (TS 38.413 9.2.2.10).
type RRCInactiveTransitionReport struct {
	UE       UEIDs
	State    RRCState
	Location UserLocation
}

// UETNLABindingReleaseRequest, AMF to NG-RAN (TS 38.413 9.2.12.1): the NG-RAN node may choose another association for the UE.
type UETNLABindingReleaseRequest struct{ UE UEIDs }

func codeEmergencyFallback(c *coder, v *EmergencyFallback) {
	s := c.sequence(v.Target != EmergencyTargetNotSaid)
	var requested bool
	flag(c, &requested)
	if s.has(0) {
		enumerated(c, &v.Target, EmergencyTargetFiveGC, 2, 2)
	}
	c.finish(s)
}

func codeInactiveReport(c *coder, v *InactiveReport) {
	enumerated(c, v, InactiveReportSubsequent, 3, 3)
}

func codeVoiceFallback(c *coder, v *VoiceFallback) { enumerated(c, v, VoiceFallbackPossible, 2, 2) }

func codeRRCState(c *coder, v *RRCState) { enumerated(c, v, RRCInactive, 2, 2) }

func (m *InitialContextSetupRequest) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	optionalValue(x, ieOldAMF, Reject, &m.OldAMF, printableString)
	conditional(x, ieUEAggregateMaximumBitRate, Reject, x.promises(ieSessionsSetUpCxtReq, len(m.Sessions) > 0), &m.AMBR, codeAMBR)
	optional(x, ieCoreNetworkAssistance, Ignore, &m.Inactive, codeInactiveAssistance)
	mandatory(x, ieGUAMI, Reject, &m.GUAMI, codeGUAMI)
	optionalList(x, ieSessionsSetUpCxtReq, Reject, &m.Sessions, codeSessionSetups)
	mandatory(x, ieAllowedNSSAI, Reject, &m.Allowed, codeAllowed)
	mandatory(x, ieUESecurityCapabilities, Reject, &m.Security, codeSecurityCapabilities)
	mandatory(x, ieSecurityKey, Reject, &m.Key, codeSecurityKey)
	optional(x, ieTraceActivation, Ignore, &m.Trace, codeTraceActivation)
	optional(x, ieMobilityRestrictionList, Ignore, &m.Mobility, codeMobilityRestrictions)
	optionalOctets(x, ieUERadioCapability, Ignore, &m.Radio)
	optionalValue(x, ieIndexToRFSP, Ignore, &m.RFSP, codeRFSP)
	optionalValue(x, ieMaskedIMEISV, Ignore, &m.MaskedIMEISV, codeMaskedIMEISV)
	optionalOctets(x, ieNASPDU, Ignore, &m.NAS)
	optional(x, ieEmergencyFallback, Reject, &m.Emergency, codeEmergencyFallback)
	optionalValue(x, ieRRCInactiveReportRequest, Ignore, &m.InactiveReport, codeInactiveReport)
	optional(x, ieUERadioCapabilityForPaging, Ignore, &m.PagingRadio, codePagingCapability)
	optionalValue(x, ieRedirectionVoiceFallback, Ignore, &m.VoiceFallback, codeVoiceFallback)
	optional(x, ieLocationReportingRequestType, Ignore, &m.Location, codeLocationRequest)
	optionalOctets(x, ieUERadioCapabilityID, Reject, &m.CapabilityID)
}

func (m *InitialContextSetupResponse) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	optionalList(x, ieSessionsSetUpCxtRes, Ignore, &m.Sessions, codeSessions)
	optionalList(x, ieSessionsFailedToSetUpCxtRes, Ignore, &m.Failed, codeSessions)
	x.diagnostics(&m.Diagnostics)
}

func (m *InitialContextSetupFailure) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	optionalList(x, ieSessionsFailedToSetUpCxtFail, Ignore, &m.Failed, codeSessions)
	x.cause(&m.Cause)
	x.diagnostics(&m.Diagnostics)
}

func (m *UEContextReleaseRequest) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	optionalList(x, ieSessionsCxtRelReq, Reject, &m.Sessions, codeSessionIDs)
	x.cause(&m.Cause)
}

// The alternatives of UE NGAP IDs.
const idsPair, idsAMF, idsAlternatives = 0, 1, 3

func (m *UEContextReleaseCommand) ies(x *exchange) {
	if x.mode == naming {
		x.amf, x.ran = &m.AMF, m.RAN
		return
	}
	mandatory(x, ieUEIDs, Reject, m, codeUENGAPIDs)
	x.cause(&m.Cause)
}

func codeUENGAPIDs(c *coder, m *UEContextReleaseCommand) {
	index := idsAMF
	if m.RAN != nil {
		index = idsPair
	}
	switch c.choice(index, idsAlternatives) {
	case idsPair:
		s := c.sequence()
		codeAMFUEID(c, &m.AMF)
		pointerTo(c, &m.RAN, codeRANUEID)
		c.finish(s)
	case idsAMF:
		codeAMFUEID(c, &m.AMF)
	}
}

func (m *UEContextReleaseComplete) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	optional(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
	optional(x, ieRecommendedForPaging, Ignore, &m.Recommended, codeRecommendedPaging)
	optionalList(x, ieSessionsCxtRelCpl, Reject, &m.Sessions, codeReleasedSessions)
	x.diagnostics(&m.Diagnostics)
}

func (m *UEContextModificationRequest) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	optionalValue(x, ieRANPagingPriority, Ignore, &m.PagingPriority, codeRANPagingPriority)
	optional(x, ieSecurityKey, Reject, &m.Key, codeSecurityKey)
	optionalValue(x, ieIndexToRFSP, Ignore, &m.RFSP, codeRFSP)
	optional(x, ieUEAggregateMaximumBitRate, Ignore, &m.AMBR, codeAMBR)
	optional(x, ieUESecurityCapabilities, Reject, &m.Security, codeSecurityCapabilities)
	optional(x, ieCoreNetworkAssistance, Ignore, &m.Inactive, codeInactiveAssistance)
	optional(x, ieEmergencyFallback, Reject, &m.Emergency, codeEmergencyFallback)
	optional(x, ieNewAMFUEID, Reject, &m.NewAMF, codeAMFUEID)
	optionalValue(x, ieRRCInactiveReportRequest, Ignore, &m.InactiveReport, codeInactiveReport)
	optional(x, ieNewGUAMI, Reject, &m.NewGUAMI, codeGUAMI)
	optionalOctets(x, ieUERadioCapabilityID, Reject, &m.CapabilityID)
}

func (m *UEContextModificationResponse) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	optional(x, ieRRCState, Ignore, &m.State, codeRRCState)
	optional(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
	x.diagnostics(&m.Diagnostics)
}

func (m *UEContextModificationFailure) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	x.cause(&m.Cause)
	x.diagnostics(&m.Diagnostics)
}

func (m *RRCInactiveTransitionReport) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieRRCState, Ignore, &m.State, codeRRCState)
	mandatory(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
}

func (m *UETNLABindingReleaseRequest) ies(x *exchange) { x.ue(Reject, &m.UE) }
