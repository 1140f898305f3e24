package n2

// HandoverType of TS 38.413 9.3.1.22.
type HandoverType uint8

// The types.
const (
	Intra5GS HandoverType = iota
	FiveGSToEPS
	EPSToFiveGS
	FiveGSToUTRAN
)

// HandoverTarget is a Target ID (TS 38.413 9.3.1.25).
type HandoverTarget struct {
	Node RANNode
	// TAI that was selected. Where EPS is set the node is an eNB, and only the lower 16 bits of the TAC are there.
	TAI TAI
	EPS bool
}

// HandoverRequired, NG-RAN (source) to AMF (TS 38.413 9.2.3.1).
type HandoverRequired struct {
	UE     UEIDs
	Type   HandoverType
	Cause  Cause
	Target HandoverTarget
	// DirectPath: source and target reach each other.
	DirectPath bool
	// Sessions have Handover Required Transfers.
	Sessions  []Session
	Container []byte
}

// HandoverCommand, AMF to NG-RAN (source) (TS 38.413 9.2.3.2).
type HandoverCommand struct {
	UE   UEIDs
	Type HandoverType
	// NAS are NAS Security Parameters from NG-RAN, of a handover to EPS.
	NAS []byte
	// Sessions have Handover Command Transfers, ToRelease Handover Preparation Unsuccessful Transfers.
	Sessions, ToRelease []Session
	Container           []byte
	Diagnostics         *CriticalityDiagnostics
}

// HandoverPreparationFailure, AMF to NG-RAN (source) (TS 38.413 9.2.3.3).
type HandoverPreparationFailure struct {
	UE          UEIDs
	Cause       Cause
	Diagnostics *CriticalityDiagnostics
	// Container is a Target to Source Failure Transparent Container (Release 16).
	Container []byte
}

// HandoverRequest, AMF to NG-RAN (target) (TS 38.413 9.2.3.4).
type HandoverRequest struct {
	AMF      AMFUEID
	Type     HandoverType
	Cause    Cause
	AMBR     AggregateBitRate
	Inactive *InactiveAssistance
	Security SecurityCapabilities
	Next     SecurityContext
	// NewContext: the AMF has a new NAS security context (New Security Context Indicator).
	NewContext bool
	// NASC is the NAS container for the UE, where the context is new.
	NASC           []byte
	Sessions       []SessionSetup
	Allowed        []SNSSAI
	Trace          *TraceActivation
	MaskedIMEISV   uint64
	Container      []byte
	Mobility       *MobilityRestrictions
	Location       *LocationRequest
	InactiveReport InactiveReport
	GUAMI          GUAMI
	VoiceFallback  VoiceFallback
	CapabilityID   []byte
}

// HandoverRequestAcknowledge, NG-RAN (target) to AMF (TS 38.413 9.2.3.5).
type HandoverRequestAcknowledge struct {
	UE UEIDs
	// Sessions have Handover Request Acknowledge Transfers, Failed ones Handover Resource Allocation Unsuccessful Transfers.
	Sessions, Failed []Session
	Container        []byte
	Diagnostics      *CriticalityDiagnostics
}

// HandoverFailure, NG-RAN (target) to AMF (TS 38.413 9.2.3.6).
type HandoverFailure struct {
	AMF         AMFUEID
	Cause       Cause
	Diagnostics *CriticalityDiagnostics
	Container   []byte
}

// HandoverNotify, NG-RAN (target) to AMF (TS 38.413 9.2.3.7).
type HandoverNotify struct {
	UE       UEIDs
	Location UserLocation
}

// PathSwitchRequest, NG-RAN (new) to AMF (TS 38.413 9.2.3.8).
type PathSwitchRequest struct {
	RAN RANUEID
	// SourceAMF is the AMF UE NGAP ID that the old node had.
	SourceAMF AMFUEID
	Location  UserLocation
	Security  SecurityCapabilities
	// Sessions have Path Switch Request Transfers, Failed ones Path Switch Request Setup Failed Transfers.
	Sessions, Failed []Session
	// Resume is why a UE in RRC INACTIVE came, nil where it is not said.
	Resume *EstablishmentCause
}

// PathSwitchRequestAcknowledge, AMF to NG-RAN (TS 38.413 9.2.3.9).
type PathSwitchRequestAcknowledge struct {
	UE         UEIDs
	Security   *SecurityCapabilities
	Next       SecurityContext
	NewContext bool
	// Sessions have Path Switch Request Acknowledge Transfers, Released ones Path Switch Request Unsuccessful Transfers.
	Sessions, Released []Session
	Allowed            []SNSSAI
	Inactive           *InactiveAssistance
	InactiveReport     InactiveReport
	Diagnostics        *CriticalityDiagnostics
	VoiceFallback      VoiceFallback
	CapabilityID       []byte
}

// PathSwitchRequestFailure, AMF to NG-RAN (TS 38.413 9.2.3.10).
type PathSwitchRequestFailure struct {
	UE UEIDs
	// Released are 1 to 256, with Path Switch Request Unsuccessful Transfers.
	Released    []Session
	Diagnostics *CriticalityDiagnostics
}

// HandoverCancel, NG-RAN (source) to AMF (TS 38.413 9.2.3.11).
type HandoverCancel struct {
	UE    UEIDs
	Cause Cause
}

// HandoverCancelAcknowledge, AMF to NG-RAN (source) (TS 38.413 9.2.3.12).
type HandoverCancelAcknowledge struct {
	UE          UEIDs
	Diagnostics *CriticalityDiagnostics
}

// UplinkRANStatusTransfer, NG-RAN (source) to AMF (TS 38.413 9.2.3.13).
type UplinkRANStatusTransfer struct {
	UE UEIDs
	// Container is the RAN Status Transfer Transparent Container as it was read: an AMF passes it on without a look.
	Container []byte
}

// DownlinkRANStatusTransfer, AMF to NG-RAN (target) (TS 38.413 9.2.3.14).
type DownlinkRANStatusTransfer struct {
	UE        UEIDs
	Container []byte
}
