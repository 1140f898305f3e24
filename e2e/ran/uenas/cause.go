package uenas

import (
	"fmt"
	"time"
)

// Cause5GMM is a 5GMM cause (TS 24.501 9.11.3.2).
type Cause5GMM uint8

var causes5GMM = map[Cause5GMM]string{
	3: "Illegal UE", 5: "PEI not accepted", 6: "Illegal ME", 7: "5GS services not allowed",
	9: "UE identity cannot be derived by the network", 10: "Implicitly de-registered",
	11: "PLMN not allowed", 12: "Tracking area not allowed",
	13: "Roaming not allowed in this tracking area", 15: "No suitable cells in tracking area",
	20: "MAC failure", 21: "Synch failure", 22: "Congestion",
	23: "UE security capabilities mismatch", 24: "Security mode rejected, unspecified",
	26: "Non-5G authentication unacceptable", 27: "N1 mode not allowed",
	28: "Restricted service area", 62: "No network slices available",
	65: "Maximum number of PDU sessions reached",
	67: "Insufficient resources for specific slice and DNN",
	69: "Insufficient resources for specific slice", 71: "ngKSI already in use",
	73: "Serving network not authorized", 90: "Payload was not forwarded",
	91: "DNN not supported or not subscribed in the slice",
	92: "Insufficient user-plane resources for the PDU session",
	95: "Semantically incorrect message", 96: "Invalid mandatory information",
	97: "Message type non-existent or not implemented",
	98: "Message type not compatible with the protocol state",
	99: "Information element non-existent or not implemented", 100: "Conditional IE error",
	101: "Message not compatible with the protocol state", 111: "Protocol error, unspecified",
}

func (c Cause5GMM) String() string {
	if s, ok := causes5GMM[c]; ok {
		return fmt.Sprintf("5GMM cause #%d (%s)", uint8(c), s)
	}
	return fmt.Sprintf("5GMM cause #%d", uint8(c))
}

// Cause5GSM is a 5GSM cause (TS 24.501 9.11.4.2).
type Cause5GSM uint8

var causes5GSM = map[Cause5GSM]string{
	8: "Operator determined barring", 26: "Insufficient resources", 27: "Missing or unknown DNN",
	28: "Unknown PDU session type", 29: "User authentication or authorization failed",
	31: "Request rejected, unspecified", 32: "Service option not supported",
	33: "Requested service option not subscribed", 35: "PTI already in use",
	36: "Regular deactivation", 38: "Network failure", 39: "Reactivation requested",
	43: "Invalid PDU session identity", 44: "Semantic errors in packet filter(s)", 45: "Syntactical error in packet filter(s)", 46: "Out of LADN service area", 47: "PTI mismatch",
	50: "PDU session type IPv4 only allowed", 51: "PDU session type IPv6 only allowed",
	57: "PDU session type IPv4v6 only allowed", 58: "PDU session type Unstructured only allowed", 61: "PDU session type Ethernet only allowed",
	54: "PDU session does not exist", 67: "Insufficient resources for specific slice and DNN",
	68: "Not supported SSC mode", 69: "Insufficient resources for specific slice",
	59: "Unsupported 5QI value", 70: "Missing or unknown DNN in a slice", 81: "Invalid PTI value",
	83: "Semantic error in the QoS operation", 84: "Syntactical error in the QoS operation",
	95: "Semantically incorrect message", 96: "Invalid mandatory information",
	97:  "Message type non-existent or not implemented",
	98:  "Message type not compatible with the protocol state",
	101: "Message not compatible with the protocol state", 111: "Protocol error, unspecified",
}

func (c Cause5GSM) String() string {
	if s, ok := causes5GSM[c]; ok {
		return fmt.Sprintf("5GSM cause #%d (%s)", uint8(c), s)
	}
	return fmt.Sprintf("5GSM cause #%d", uint8(c))
}

// RejectError is a refusal by the network: which message refused, and why.
type RejectError struct {
	Message string // e.g. "Registration Reject"
	Cause   fmt.Stringer
	// BackOff is how long the network asks the UE to wait: 0, it has not said; Never, for good.
	BackOff time.Duration
}

func (e *RejectError) Error() string {
	switch e.BackOff {
	case 0:
		return fmt.Sprintf("%s: %s", e.Message, e.Cause)
	case Never:
		return fmt.Sprintf("%s: %s, never to be tried again", e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s, back-off %s", e.Message, e.Cause, e.BackOff)
}
