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
