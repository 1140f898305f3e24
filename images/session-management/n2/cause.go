package n2

import (
	"fmt"
	"math"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// Cause of TS 38.413 9.3.1.2: the group in the upper 16 bits, the value in the lower ones. Zero is "unspecified" of the
// radio network.
type Cause uint32

// CauseGroup is numbered as in NgApCause of TS 29.571 5.4.4.12.
type CauseGroup uint16

// The groups.
const (
	RadioNetwork CauseGroup = 0
	Transport    CauseGroup = 1
	NAS          CauseGroup = 2
	Protocol     CauseGroup = 3
	Misc         CauseGroup = 4
)

// The causes that this SMF tells or tells apart.
const (
	CauseRadioUnspecified                 = Cause(RadioNetwork)<<16 + 0
	CauseSuccessfulHandover               = Cause(RadioNetwork)<<16 + 2
	CauseReleasedByRAN                    = Cause(RadioNetwork)<<16 + 3
	CauseReleasedBy5GC                    = Cause(RadioNetwork)<<16 + 4
	CauseHandoverCancelled                = Cause(RadioNetwork)<<16 + 5
	CauseHandoverFailureInTarget          = Cause(RadioNetwork)<<16 + 7
	CauseHandoverTargetNotAllowed         = Cause(RadioNetwork)<<16 + 8
	CauseUserInactivity                   = Cause(RadioNetwork)<<16 + 20
	CauseRadioConnectionLost              = Cause(RadioNetwork)<<16 + 21
	CauseRadioResourcesNotAvailable       = Cause(RadioNetwork)<<16 + 22
	CauseInvalidQoSCombination            = Cause(RadioNetwork)<<16 + 23
	CauseRadioProcedureFailed             = Cause(RadioNetwork)<<16 + 24
	CauseInteractionWithOtherProcedure    = Cause(RadioNetwork)<<16 + 25
	CauseUnknownPDUSession                = Cause(RadioNetwork)<<16 + 26
	CauseUnknownQoSFlow                   = Cause(RadioNetwork)<<16 + 27
	CauseMultiplePDUSessions              = Cause(RadioNetwork)<<16 + 28
	CauseMultipleQoSFlows                 = Cause(RadioNetwork)<<16 + 29
	CauseXnHandoverTriggered              = Cause(RadioNetwork)<<16 + 33
	CauseFiveQINotSupported               = Cause(RadioNetwork)<<16 + 34
	CauseIMSVoiceFallback                 = Cause(RadioNetwork)<<16 + 36
	CauseIntegrityProtectionImpossible    = Cause(RadioNetwork)<<16 + 37
	CauseConfidentialityImpossible        = Cause(RadioNetwork)<<16 + 38
	CauseSliceNotSupported                = Cause(RadioNetwork)<<16 + 39
	CauseInactiveUENotReachable           = Cause(RadioNetwork)<<16 + 40
	CauseSliceResourcesNotAvailable       = Cause(RadioNetwork)<<16 + 42
	CauseIntegrityProtectedRate           = Cause(RadioNetwork)<<16 + 43
	CauseReleasedByDetectedMobility       = Cause(RadioNetwork)<<16 + 44
	CauseReleasedByPreemption             = Cause(RadioNetwork)<<16 + 46
	CauseTransportResourceUnavailable     = Cause(Transport)<<16 + 0
	CauseTransportUnspecified             = Cause(Transport)<<16 + 1
	CauseNormalRelease                    = Cause(NAS)<<16 + 0
	CauseAuthenticationFailure            = Cause(NAS)<<16 + 1
	CauseDeregister                       = Cause(NAS)<<16 + 2
	CauseNASUnspecified                   = Cause(NAS)<<16 + 3
	CauseTransferSyntax                   = Cause(Protocol)<<16 + 0
	CauseAbstractSyntaxReject             = Cause(Protocol)<<16 + 1
	CauseMessageNotCompatibleWithReceiver = Cause(Protocol)<<16 + 3
	CauseSemanticError                    = Cause(Protocol)<<16 + 4
	CauseProtocolUnspecified              = Cause(Protocol)<<16 + 6
	CauseControlProcessingOverload        = Cause(Misc)<<16 + 0
	CauseUserPlaneResourcesNotAvailable   = Cause(Misc)<<16 + 1
	CauseHardwareFailure                  = Cause(Misc)<<16 + 2
	CauseIntervention                     = Cause(Misc)<<16 + 3
	CauseMiscUnspecified                  = Cause(Misc)<<16 + 5
)

// Group of the cause.
func (c Cause) Group() CauseGroup { return CauseGroup(c >> 16) }

// Value of the cause within its group.
func (c Cause) Value() uint16 { return uint16(c) }

// MakeCause puts a cause together, as from an NgApCause of TS 29.571.
func MakeCause(group CauseGroup, value uint16) Cause { return Cause(group)<<16 | Cause(value) }

// String is the group and the value in the words of TS 38.413 9.3.1.2, or the value's number where it is a later
// release's.
func (c Cause) String() string {
	group, values := c.Group().words()
	if int(c.Value()) < len(values) {
		return group + ": " + values[c.Value()]
	}
	return fmt.Sprintf("%s: %d", group, c.Value())
}

// String is the group in one word.
func (g CauseGroup) String() string {
	group, _ := g.words()
	return group
}

// words are the group's name and those of its values in the order of TS 38.413 9.4.5.
func (g CauseGroup) words() (string, []string) {
	switch g {
	case RadioNetwork:
		return "radio network", []string{
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
	case Transport:
		return "transport", []string{"transport resource unavailable", "unspecified"}
	case NAS:
		return "NAS", []string{"normal release", "authentication failure", "deregister", "unspecified"}
	case Protocol:
		return "protocol", []string{
			"transfer syntax error", "abstract syntax error (reject)", "abstract syntax error (ignore and notify)",
			"message not compatible with receiver state", "semantic error",
			"abstract syntax error (falsely constructed message)", "unspecified",
		}
	case Misc:
		return "miscellaneous", []string{
			"control processing overload", "not enough user plane processing resources", "hardware failure",
			"O&M intervention", "unknown PLMN", "unspecified",
		}
	}
	return fmt.Sprintf("group %d", uint16(g)), nil
}

// The root of CauseRadioNetwork ends at 44 (TS 38.413 9.4.5); the codec takes 45 and 46, which are extensions, for its
// end, and so counts what follows from there.
const (
	lastRadioRoot  = 44
	lastCodecRoot  = 46
	codecRootShift = lastCodecRoot - lastRadioRoot
)

func (c *check) cause(ie string, in *ngapType.Cause) Cause {
	var group CauseGroup
	var value, unspecified uint64
	missing := false
	switch in.Present {
	case ngapType.CausePresentRadioNetwork:
		if missing = in.RadioNetwork == nil; !missing {
			value = uint64(in.RadioNetwork.Value)
			if value > lastCodecRoot {
				value -= codecRootShift
			}
		}
		group, unspecified = RadioNetwork, uint64(CauseRadioUnspecified.Value())
	case ngapType.CausePresentTransport:
		if missing = in.Transport == nil; !missing {
			value = uint64(in.Transport.Value)
		}
		group, unspecified = Transport, uint64(CauseTransportUnspecified.Value())
	case ngapType.CausePresentNas:
		if missing = in.Nas == nil; !missing {
			value = uint64(in.Nas.Value)
		}
		group, unspecified = NAS, uint64(CauseNASUnspecified.Value())
	case ngapType.CausePresentProtocol:
		if missing = in.Protocol == nil; !missing {
			value = uint64(in.Protocol.Value)
		}
		group, unspecified = Protocol, uint64(CauseProtocolUnspecified.Value())
	case ngapType.CausePresentMisc:
		if missing = in.Misc == nil; !missing {
			value = uint64(in.Misc.Value)
		}
		group, unspecified = Misc, uint64(CauseMiscUnspecified.Value())
	default:
		c.fail(ie, "no group of TS 38.413 9.3.1.2")
		return 0
	}
	if missing {
		c.fail(ie, "a %s cause without a value", group)
		return 0
	}
	// What no release can mean is still a cause, and what was refused is still refused.
	if value > math.MaxUint16 {
		value = unspecified
	}
	return MakeCause(group, uint16(value))
}

func (c *check) putCause(ie string, in Cause) ngapType.Cause {
	value := aper.Enumerated(in.Value())
	switch in.Group() {
	case RadioNetwork:
		if value > lastRadioRoot {
			value += codecRootShift
		}
		return ngapType.Cause{Present: ngapType.CausePresentRadioNetwork, RadioNetwork: &ngapType.CauseRadioNetwork{Value: value}}
	case Transport:
		return ngapType.Cause{Present: ngapType.CausePresentTransport, Transport: &ngapType.CauseTransport{Value: value}}
	case NAS:
		return ngapType.Cause{Present: ngapType.CausePresentNas, Nas: &ngapType.CauseNas{Value: value}}
	case Protocol:
		return ngapType.Cause{Present: ngapType.CausePresentProtocol, Protocol: &ngapType.CauseProtocol{Value: value}}
	case Misc:
		return ngapType.Cause{Present: ngapType.CausePresentMisc, Misc: &ngapType.CauseMisc{Value: value}}
	}
	c.fail(ie, "%s is none of TS 38.413 9.3.1.2", in.Group())
	return ngapType.Cause{}
}
