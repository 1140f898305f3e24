package n1

import "strconv"

// Cause is a 5GMM cause (TS 24.501 9.11.3.2). 0: none.
type Cause uint8

// The 5GMM causes.
const (
	CauseIllegalUE                       Cause = 3
	CausePEINotAccepted                  Cause = 5
	CauseIllegalME                       Cause = 6
	Cause5GSServicesNotAllowed           Cause = 7
	CauseIdentityCannotBeDerived         Cause = 9
	CauseImplicitlyDeregistered          Cause = 10
	CausePLMNNotAllowed                  Cause = 11
	CauseTrackingAreaNotAllowed          Cause = 12
	CauseRoamingNotAllowed               Cause = 13
	CauseNoSuitableCells                 Cause = 15
	CauseMACFailure                      Cause = 20
	CauseSynchFailure                    Cause = 21
	CauseCongestion                      Cause = 22
	CauseSecurityCapabilitiesMismatch    Cause = 23
	CauseSecurityModeRejected            Cause = 24
	CauseNon5GAuthenticationUnacceptable Cause = 26
	CauseN1ModeNotAllowed                Cause = 27
	CauseRestrictedServiceArea           Cause = 28
	CauseRedirectionToEPC                Cause = 31
	CauseLADNNotAvailable                Cause = 43
	CauseNoNetworkSlices                 Cause = 62
	CauseMaximumOfSessionsReached        Cause = 65
	CauseInsufficientForSliceAndDNN      Cause = 67
	CauseInsufficientForSlice            Cause = 69
	CauseKSIInUse                        Cause = 71
	CauseNon3GPPAccessNotAllowed         Cause = 72
	CauseServingNetworkNotAuthorized     Cause = 73
	CauseTemporarilyNotAuthorized        Cause = 74
	CausePermanentlyNotAuthorized        Cause = 75
	CauseNotAuthorizedForCAG             Cause = 76
	CauseWirelineAreaNotAllowed          Cause = 77
	CausePayloadNotForwarded             Cause = 90
	CauseDNNNotSupported                 Cause = 91
	CauseInsufficientUserPlane           Cause = 92
	CauseSemanticallyIncorrect           Cause = 95
	CauseInvalidMandatoryInformation     Cause = 96
	CauseMessageTypeNotImplemented       Cause = 97
	CauseMessageTypeNotCompatible        Cause = 98
	CauseElementNotImplemented           Cause = 99
	CauseConditionalIE                   Cause = 100
	CauseMessageNotCompatible            Cause = 101
	CauseProtocolErrorUnspecified        Cause = 111
)

var causeNames = map[Cause]string{
	CauseIllegalUE:                       "Illegal UE",
	CausePEINotAccepted:                  "PEI not accepted",
	CauseIllegalME:                       "Illegal ME",
	Cause5GSServicesNotAllowed:           "5GS services not allowed",
	CauseIdentityCannotBeDerived:         "UE identity cannot be derived by the network",
	CauseImplicitlyDeregistered:          "Implicitly de-registered",
	CausePLMNNotAllowed:                  "PLMN not allowed",
	CauseTrackingAreaNotAllowed:          "Tracking area not allowed",
	CauseRoamingNotAllowed:               "Roaming not allowed in this tracking area",
	CauseNoSuitableCells:                 "No suitable cells in tracking area",
	CauseMACFailure:                      "MAC failure",
	CauseSynchFailure:                    "Synch failure",
	CauseCongestion:                      "Congestion",
	CauseSecurityCapabilitiesMismatch:    "UE security capabilities mismatch",
	CauseSecurityModeRejected:            "Security mode rejected, unspecified",
	CauseNon5GAuthenticationUnacceptable: "Non-5G authentication unacceptable",
	CauseN1ModeNotAllowed:                "N1 mode not allowed",
	CauseRestrictedServiceArea:           "Restricted service area",
	CauseRedirectionToEPC:                "Redirection to EPC required",
	CauseLADNNotAvailable:                "LADN not available",
	CauseNoNetworkSlices:                 "No network slices available",
	CauseMaximumOfSessionsReached:        "Maximum number of PDU sessions reached",
	CauseInsufficientForSliceAndDNN:      "Insufficient resources for specific slice and DNN",
	CauseInsufficientForSlice:            "Insufficient resources for specific slice",
	CauseKSIInUse:                        "ngKSI already in use",
	CauseNon3GPPAccessNotAllowed:         "Non-3GPP access to 5GCN not allowed",
	CauseServingNetworkNotAuthorized:     "Serving network not authorized",
	CauseTemporarilyNotAuthorized:        "Temporarily not authorized for this SNPN",
	CausePermanentlyNotAuthorized:        "Permanently not authorized for this SNPN",
	CauseNotAuthorizedForCAG:             "Not authorized for this CAG or authorized for CAG cells only",
	CauseWirelineAreaNotAllowed:          "Wireline access area not allowed",
	CausePayloadNotForwarded:             "Payload was not forwarded",
	CauseDNNNotSupported:                 "DNN not supported or not subscribed in the slice",
	CauseInsufficientUserPlane:           "Insufficient user-plane resources for the PDU session",
	CauseSemanticallyIncorrect:           "Semantically incorrect message",
	CauseInvalidMandatoryInformation:     "Invalid mandatory information",
	CauseMessageTypeNotImplemented:       "Message type non-existent or not implemented",
	CauseMessageTypeNotCompatible:        "Message type not compatible with the protocol state",
	CauseElementNotImplemented:           "Information element non-existent or not implemented",
	CauseConditionalIE:                   "Conditional IE error",
	CauseMessageNotCompatible:            "Message not compatible with the protocol state",
	CauseProtocolErrorUnspecified:        "Protocol error, unspecified",
}

// String is the cause's name in the specification, or "5GMM cause 42" of those that have none.
func (c Cause) String() string {
	if name, is := causeNames[c]; is {
		return name
	}
	return "5GMM cause " + strconv.Itoa(int(c))
}
