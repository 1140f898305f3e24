package n2

import "fmt"

// Cause of TS 38.413 9.3.1.2: the group in the upper 16 bits, the value in the lower ones, as in NgApCause of
// TS 29.571 5.4.4.12. Zero is "unspecified" of the radio network.
type Cause uint32

// CauseGroup is numbered as in NgApCause of TS 29.571 5.4.4.12.
type CauseGroup uint16

// The groups.
const (
	RadioNetwork CauseGroup = iota
	Transport
	NAS
	Protocol
	Misc
)

// The causes of Release 16.
const (
	CauseRadioUnspecified Cause = Cause(RadioNetwork)<<16 + iota
	CauseTXnRelocOverallExpiry
	CauseSuccessfulHandover
	CauseReleasedByRAN
	CauseReleasedBy5GC
	CauseHandoverCancelled
	CausePartialHandover
	CauseHandoverFailureInTarget
	CauseHandoverTargetNotAllowed
	CauseTNGRelocOverallExpiry
	CauseTNGRelocPrepExpiry
	CauseCellNotAvailable
	CauseUnknownTargetID
	CauseNoRadioResourcesInTarget
	CauseUnknownLocalUEID
	CauseInconsistentRemoteUEID
	CauseHandoverForRadioReason
	CauseTimeCriticalHandover
	CauseResourceOptimisationHandover
	CauseReduceLoad
	CauseUserInactivity
	CauseRadioConnectionLost
	CauseRadioResourcesNotAvailable
	CauseInvalidQoSCombination
	CauseRadioProcedureFailed
	CauseInteractionWithOtherProcedure
	CauseUnknownPDUSession
	CauseUnknownQoSFlow
	CauseMultiplePDUSessions
	CauseMultipleQoSFlows
	CauseAlgorithmsNotSupported
	CauseIntraSystemHandoverTriggered
	CauseInterSystemHandoverTriggered
	CauseXnHandoverTriggered
	CauseFiveQINotSupported
	CauseUEContextTransfer
	CauseIMSVoiceFallback
	CauseIntegrityProtectionImpossible
	CauseConfidentialityImpossible
	CauseSliceNotSupported
	CauseInactiveUENotReachable
	CauseRedirection
	CauseSliceResourcesNotAvailable
	CauseIntegrityProtectedRate
	CauseReleasedByDetectedMobility
	CauseN26NotAvailable
	CauseReleasedByPreemption
	CauseMultipleLocationReferences
	CauseRSNNotAvailable
	CauseNPNAccessDenied
	CauseCAGOnlyAccessDenied
	CauseInsufficientCapabilities
)

// The causes of the other groups.
const (
	CauseTransportResourceUnavailable = Cause(Transport)<<16 + 0
	CauseTransportUnspecified         = Cause(Transport)<<16 + 1

	CauseNormalRelease         = Cause(NAS)<<16 + 0
	CauseAuthenticationFailure = Cause(NAS)<<16 + 1
	CauseDeregister            = Cause(NAS)<<16 + 2
	CauseNASUnspecified        = Cause(NAS)<<16 + 3
	CauseUENotInServingArea    = Cause(NAS)<<16 + 4

	CauseTransferSyntax                   = Cause(Protocol)<<16 + 0
	CauseAbstractSyntaxReject             = Cause(Protocol)<<16 + 1
	CauseAbstractSyntaxNotify             = Cause(Protocol)<<16 + 2
	CauseMessageNotCompatibleWithReceiver = Cause(Protocol)<<16 + 3
	CauseSemanticError                    = Cause(Protocol)<<16 + 4
	CauseFalselyConstructed               = Cause(Protocol)<<16 + 5
	CauseProtocolUnspecified              = Cause(Protocol)<<16 + 6

	CauseControlProcessingOverload      = Cause(Misc)<<16 + 0
	CauseUserPlaneResourcesNotAvailable = Cause(Misc)<<16 + 1
	CauseHardwareFailure                = Cause(Misc)<<16 + 2
	CauseIntervention                   = Cause(Misc)<<16 + 3
	CauseUnknownPLMN                    = Cause(Misc)<<16 + 4
	CauseMiscUnspecified                = Cause(Misc)<<16 + 5
)

// MakeCause puts a cause together, as from an NgApCause of TS 29.571.
func MakeCause(group CauseGroup, value uint16) Cause { return Cause(group)<<16 | Cause(value) }

// Group of the cause.
func (c Cause) Group() CauseGroup { return CauseGroup(c >> 16) }

// Value of the cause within its group.
func (c Cause) Value() uint16 { return uint16(c) }

// String is the group and the value in the words of TS 38.413 9.3.1.2, or the value's number where it is a later
// release's.
func (c Cause) String() string {
	group, _, values := c.Group().words()
	if int(c.Value()) < len(values) {
		return group + ": " + values[c.Value()]
	}
	return fmt.Sprintf("%s: %d", group, c.Value())
}

// String is the group in one or two words.
func (g CauseGroup) String() string {
	group, _, _ := g.words()
	return group
}

// words are the group's name, how many values the root of its enumeration has, and the words of its values in the order
// of TS 38.413 9.4.5.
func (g CauseGroup) words() (name string, root int, values []string) {
	switch g {
	case RadioNetwork:
		return "radio network", 45, radioCauses[:]
	case Transport:
		return "transport", 2, transportCauses[:]
	case NAS:
		return "NAS", 4, nasCauses[:]
	case Protocol:
		return "protocol", 7, protocolCauses[:]
	case Misc:
		return "miscellaneous", 6, miscCauses[:]
	}
	return fmt.Sprintf("group %d", uint16(g)), 0, nil
}

var (
	radioCauses = [...]string{
		"unspecified", "TXnRELOCOverall expiry", "successful handover", "release due to NG-RAN generated reason",
		"release due to 5GC generated reason", "handover cancelled", "partial handover",
		"handover failure in target 5GC, NG-RAN node or target system", "handover target not allowed",
		"TNGRELOCoverall expiry", "TNGRELOCprep expiry", "cell not available", "unknown target ID",
		"no radio resources available in target cell", "unknown local UE NGAP ID", "inconsistent remote UE NGAP ID",
		"handover desirable for radio reasons", "time critical handover", "resource optimisation handover",
		"reduce load in serving cell", "user inactivity", "radio connection with UE lost",
		"radio resources not available", "invalid QoS combination", "failure in the radio interface procedure",
		"interaction with other procedure", "unknown PDU session ID", "unknown QoS flow ID",
		"multiple PDU session ID instances", "multiple QoS flow ID instances",
		"encryption and/or integrity protection algorithms not supported", "NG intra-system handover triggered",
		"NG inter-system handover triggered", "Xn handover triggered", "not supported 5QI value", "UE context transfer",
		"IMS voice EPS fallback or RAT fallback triggered", "UP integrity protection not possible",
		"UP confidentiality protection not possible", "slice(s) not supported",
		"UE in RRC_INACTIVE state not reachable", "redirection", "resources not available for the slice(s)",
		"UE maximum integrity protected data rate reason", "release due to CN-detected mobility",
		"N26 interface not available", "release due to pre-emption",
		"multiple location reporting reference ID instances", "RSN not available for the UP", "NPN access denied",
		"CAG only access denied", "insufficient UE capabilities",
	}
	transportCauses = [...]string{"transport resource unavailable", "unspecified"}
	nasCauses       = [...]string{
		"normal release", "authentication failure", "deregister", "unspecified", "UE not in PLMN serving area",
	}
	protocolCauses = [...]string{
		"transfer syntax error", "abstract syntax error (reject)", "abstract syntax error (ignore and notify)",
		"message not compatible with receiver state", "semantic error",
		"abstract syntax error (falsely constructed message)", "unspecified",
	}
	miscCauses = [...]string{
		"control processing overload", "not enough user plane processing resources", "hardware failure",
		"O&M intervention", "unknown PLMN or SNPN", "unspecified",
	}
)

// groups of causes in the order of their alternatives, and choice-Extensions.
const causeAlternatives = int(Misc) + 2

func codeCause(c *coder, v *Cause) {
	group := c.choice(int(v.Group()), causeAlternatives)
	if group < 0 {
		return
	}
	_, root, _ := CauseGroup(group).words()
	// A value of a later release is a cause still, and what was refused is refused. None can have such a number.
	value := c.enumeration(uint64(v.Value()), uint64(root))
	set(c, v, MakeCause(CauseGroup(group), uint16(min(value, 0xffff))))
}
