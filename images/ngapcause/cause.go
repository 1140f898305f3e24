// Package ngapcause has the causes of NGAP (TS 38.413 9.3.1.2), which AMF and SMF tell each other, access networks, and people.
package ngapcause

import "fmt"

// Cause of TS 38.413 9.3.1.2: the group in the upper 16 bits, the value in the lower ones, as in NgApCause of
// TS 29.571 5.4.4.12. Zero is "unspecified" of the radio network.
type Cause uint32

// Group is numbered as in NgApCause of TS 29.571 5.4.4.12.
type Group uint16

// The groups.
const (
	RadioNetwork Group = iota
	Transport
	NAS
	Protocol
	Misc
)

// The causes of Release 16.
const (
	RadioUnspecified Cause = Cause(RadioNetwork)<<16 + iota
	TXnRelocOverallExpiry
	SuccessfulHandover
	ReleasedByRAN
	ReleasedBy5GC
	HandoverCancelled
	PartialHandover
	HandoverFailureInTarget
	HandoverTargetNotAllowed
	TNGRelocOverallExpiry
	TNGRelocPrepExpiry
	CellNotAvailable
	UnknownTargetID
	NoRadioResourcesInTarget
	UnknownLocalUEID
	InconsistentRemoteUEID
	HandoverForRadioReason
	TimeCriticalHandover
	ResourceOptimisationHandover
	ReduceLoad
	UserInactivity
	RadioConnectionLost
	RadioResourcesNotAvailable
	InvalidQoSCombination
	RadioProcedureFailed
	InteractionWithOtherProcedure
	UnknownPDUSession
	UnknownQoSFlow
	MultiplePDUSessions
	MultipleQoSFlows
	AlgorithmsNotSupported
	IntraSystemHandoverTriggered
	InterSystemHandoverTriggered
	XnHandoverTriggered
	FiveQINotSupported
	UEContextTransfer
	IMSVoiceFallback
	IntegrityProtectionImpossible
	ConfidentialityImpossible
	SliceNotSupported
	InactiveUENotReachable
	Redirection
	SliceResourcesNotAvailable
	IntegrityProtectedRate
	ReleasedByDetectedMobility
	N26NotAvailable
	ReleasedByPreemption
	MultipleLocationReferences
	RSNNotAvailable
	NPNAccessDenied
	CAGOnlyAccessDenied
	InsufficientCapabilities
)

// The causes of the other groups.
const (
	TransportResourceUnavailable = Cause(Transport)<<16 + 0
	TransportUnspecified         = Cause(Transport)<<16 + 1

	NormalRelease         = Cause(NAS)<<16 + 0
	AuthenticationFailure = Cause(NAS)<<16 + 1
	Deregister            = Cause(NAS)<<16 + 2
	NASUnspecified        = Cause(NAS)<<16 + 3
	UENotInServingArea    = Cause(NAS)<<16 + 4

	TransferSyntax                   = Cause(Protocol)<<16 + 0
	AbstractSyntaxReject             = Cause(Protocol)<<16 + 1
	AbstractSyntaxNotify             = Cause(Protocol)<<16 + 2
	MessageNotCompatibleWithReceiver = Cause(Protocol)<<16 + 3
	SemanticError                    = Cause(Protocol)<<16 + 4
	FalselyConstructed               = Cause(Protocol)<<16 + 5
	ProtocolUnspecified              = Cause(Protocol)<<16 + 6

	ControlProcessingOverload      = Cause(Misc)<<16 + 0
	UserPlaneResourcesNotAvailable = Cause(Misc)<<16 + 1
	HardwareFailure                = Cause(Misc)<<16 + 2
	Intervention                   = Cause(Misc)<<16 + 3
	UnknownPLMN                    = Cause(Misc)<<16 + 4
	MiscUnspecified                = Cause(Misc)<<16 + 5
)

// Make puts a cause together, as from an NgApCause of TS 29.571.
func Make(group Group, value uint16) Cause { return Cause(group)<<16 | Cause(value) }

// Group of the cause.
func (c Cause) Group() Group { return Group(c >> 16) }

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
func (g Group) String() string {
	group, _, _ := g.words()
	return group
}

// words are the group's name, how many values the root of its enumeration has, and the words of its values in the order
// of TS 38.413 9.4.5.
func (g Group) words() (name string, root int, values []string) {
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

// Root is how many values the root of the group's enumeration has (TS 38.413 9.4.5): those behind it are of later releases. 0: it is no group.
func (g Group) Root() int {
	_, root, _ := g.words()
	return root
}
