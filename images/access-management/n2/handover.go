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

func codeHandoverType(c *coder, v *HandoverType) { enumerated(c, v, Intra5GS, 3, 4) }

// The alternatives of a Target ID; a Target RNC ID is one of choice-Extensions.
const handoverNode, handoverENB, handoverAlternatives = 0, 1, 3

func codeHandoverTarget(c *coder, v *HandoverTarget) {
	index := handoverNode
	if v.EPS {
		index = handoverENB
	}
	switch c.choice(index, handoverAlternatives) {
	case handoverNode:
		codeTargetNode(c, v)
	case handoverENB:
		set(c, &v.EPS, true)
		s := c.sequence()
		codeNgENB(c, &v.Node)
		codeEPSTAI(c, &v.TAI)
		c.finish(s)
	}
}

// codeTargetNode is a Target RAN Node ID.
func codeTargetNode(c *coder, v *HandoverTarget) {
	s := c.sequence()
	codeRANNode(c, &v.Node)
	codeTAI(c, &v.TAI)
	c.finish(s)
}

func codeEPSTAI(c *coder, v *TAI) {
	s := c.sequence()
	codePLMN(c, &v.PLMN)
	if c.writing && v.TAC > 0xffff {
		c.fail("TAC %d, a TAC of EPS has 16 bits", v.TAC)
	}
	set(c, &v.TAC, TAC(c.bits(uint64(v.TAC), 16)))
	c.finish(s)
}

func (m *HandoverRequired) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieHandoverType, Reject, &m.Type, codeHandoverType)
	x.cause(&m.Cause)
	mandatory(x, ieTargetID, Reject, &m.Target, codeHandoverTarget)
	optionalValue(x, ieDirectForwardingPath, Ignore, &m.DirectPath, flag)
	mandatory(x, ieSessionsHORqd, Reject, &m.Sessions, codeSessions)
	mandatory(x, ieSourceToTarget, Reject, &m.Container, octetString)
}

func (m *HandoverCommand) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieHandoverType, Reject, &m.Type, codeHandoverType)
	x.nasParameters(m)
	optionalList(x, ieSessionsHandover, Ignore, &m.Sessions, codeSessions)
	optionalList(x, ieSessionsToReleaseHOCmd, Ignore, &m.ToRelease, codeSessions)
	mandatory(x, ieTargetToSource, Reject, &m.Container, octetString)
	x.diagnostics(&m.Diagnostics)
}

// nasParameters are there in a handover to EPS or UTRAN.
func (x *exchange) nasParameters(m *HandoverCommand) {
	if x.mode == naming {
		return
	}
	must := m.Type == FiveGSToEPS || m.Type == FiveGSToUTRAN
	x.ie(ieNASSecurityParameters, Reject, must, must || m.NAS != nil, func() {
		if x.mode == writing && m.NAS == nil {
			x.c.fail("there have to be some")
		}
		octetString(&x.c, &m.NAS)
	})
	x.unconditionally(ieNASSecurityParameters, must, m.NAS != nil)
}

func (m *HandoverPreparationFailure) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	x.cause(&m.Cause)
	x.diagnostics(&m.Diagnostics)
	optionalOctets(x, ieTargetToSourceFailure, Ignore, &m.Container)
}

func (m *HandoverRequest) ies(x *exchange) {
	mandatory(x, ieAMFUEID, Reject, &m.AMF, codeAMFUEID)
	mandatory(x, ieHandoverType, Reject, &m.Type, codeHandoverType)
	x.cause(&m.Cause)
	mandatory(x, ieUEAggregateMaximumBitRate, Reject, &m.AMBR, codeAMBR)
	optional(x, ieCoreNetworkAssistance, Ignore, &m.Inactive, codeInactiveAssistance)
	mandatory(x, ieUESecurityCapabilities, Reject, &m.Security, codeSecurityCapabilities)
	mandatory(x, ieSecurityContext, Reject, &m.Next, codeSecurityContext)
	optionalValue(x, ieNewSecurityContext, Reject, &m.NewContext, flag)
	optionalOctets(x, ieNASC, Reject, &m.NASC)
	mandatory(x, ieSessionsSetUpHOReq, Reject, &m.Sessions, codeHandoverSetups)
	mandatory(x, ieAllowedNSSAI, Reject, &m.Allowed, codeAllowed)
	optional(x, ieTraceActivation, Ignore, &m.Trace, codeTraceActivation)
	optionalValue(x, ieMaskedIMEISV, Ignore, &m.MaskedIMEISV, codeMaskedIMEISV)
	mandatory(x, ieSourceToTarget, Reject, &m.Container, octetString)
	optional(x, ieMobilityRestrictionList, Ignore, &m.Mobility, codeMobilityRestrictions)
	optional(x, ieLocationReportingRequestType, Ignore, &m.Location, codeLocationRequest)
	optionalValue(x, ieRRCInactiveReportRequest, Ignore, &m.InactiveReport, codeInactiveReport)
	mandatory(x, ieGUAMI, Reject, &m.GUAMI, codeGUAMI)
	optionalValue(x, ieRedirectionVoiceFallback, Ignore, &m.VoiceFallback, codeVoiceFallback)
	optionalOctets(x, ieUERadioCapabilityID, Reject, &m.CapabilityID)
}

func (m *HandoverRequestAcknowledge) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	mandatory(x, ieSessionsAdmitted, Ignore, &m.Sessions, codeSessions)
	optionalList(x, ieSessionsFailedToSetUpHOAck, Ignore, &m.Failed, codeSessions)
	mandatory(x, ieTargetToSource, Reject, &m.Container, octetString)
	x.diagnostics(&m.Diagnostics)
}

func (m *HandoverFailure) ies(x *exchange) {
	mandatory(x, ieAMFUEID, Ignore, &m.AMF, codeAMFUEID)
	x.cause(&m.Cause)
	x.diagnostics(&m.Diagnostics)
	optionalOctets(x, ieTargetToSourceFailure, Ignore, &m.Container)
}

func (m *HandoverNotify) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	mandatory(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
}

func (m *PathSwitchRequest) ies(x *exchange) {
	mandatory(x, ieRANUEID, Reject, &m.RAN, codeRANUEID)
	mandatory(x, ieSourceAMFUEID, Reject, &m.SourceAMF, codeAMFUEID)
	mandatory(x, ieUserLocation, Ignore, &m.Location, codeUserLocation)
	mandatory(x, ieUESecurityCapabilities, Ignore, &m.Security, codeSecurityCapabilities)
	mandatory(x, ieSessionsToBeSwitched, Reject, &m.Sessions, codeSessions)
	optionalList(x, ieSessionsFailedToSetUpPSReq, Ignore, &m.Failed, codeSessions)
	optional(x, ieRRCResumeCause, Ignore, &m.Resume, codeEstablishmentCause)
}

func (m *PathSwitchRequestAcknowledge) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	optional(x, ieUESecurityCapabilities, Reject, &m.Security, codeSecurityCapabilities)
	mandatory(x, ieSecurityContext, Reject, &m.Next, codeSecurityContext)
	optionalValue(x, ieNewSecurityContext, Reject, &m.NewContext, flag)
	mandatory(x, ieSessionsSwitched, Ignore, &m.Sessions, codeSessions)
	optionalList(x, ieSessionsReleasedPSAck, Ignore, &m.Released, codeSessions)
	mandatory(x, ieAllowedNSSAI, Reject, &m.Allowed, codeAllowed)
	optional(x, ieCoreNetworkAssistance, Ignore, &m.Inactive, codeInactiveAssistance)
	optionalValue(x, ieRRCInactiveReportRequest, Ignore, &m.InactiveReport, codeInactiveReport)
	x.diagnostics(&m.Diagnostics)
	optionalValue(x, ieRedirectionVoiceFallback, Ignore, &m.VoiceFallback, codeVoiceFallback)
	optionalOctets(x, ieUERadioCapabilityID, Reject, &m.CapabilityID)
}

func (m *PathSwitchRequestFailure) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	mandatory(x, ieSessionsReleasedPSFail, Ignore, &m.Released, codeSessions)
	x.diagnostics(&m.Diagnostics)
}

func (m *HandoverCancel) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	x.cause(&m.Cause)
}

func (m *HandoverCancelAcknowledge) ies(x *exchange) {
	x.ue(Ignore, &m.UE)
	x.diagnostics(&m.Diagnostics)
}

func (m *UplinkRANStatusTransfer) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	opaque(x, ieRANStatusTransfer, Reject, always, &m.Container)
}

func (m *DownlinkRANStatusTransfer) ies(x *exchange) {
	x.ue(Reject, &m.UE)
	opaque(x, ieRANStatusTransfer, Reject, always, &m.Container)
}
