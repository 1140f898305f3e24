package n1

import "fmt"

var typeNames = map[MessageType]string{
	EstablishmentRequestType: "PDU Session Establishment Request", EstablishmentAcceptType: "PDU Session Establishment Accept",
	EstablishmentRejectType: "PDU Session Establishment Reject", ModificationRequestType: "PDU Session Modification Request",
	ModificationRejectType: "PDU Session Modification Reject", ModificationCommandType: "PDU Session Modification Command",
	ModificationCompleteType: "PDU Session Modification Complete", ModificationCommandRejectType: "PDU Session Modification Command Reject",
	ReleaseRequestType: "PDU Session Release Request", ReleaseRejectType: "PDU Session Release Reject", ReleaseCommandType: "PDU Session Release Command",
	ReleaseCompleteType: "PDU Session Release Complete", StatusType: "5GSM Status",
}

// String is the message's name in TS 24.501 8.3, or "5GSM message 0x99" of a type that is not known.
func (t MessageType) String() string {
	if name := typeNames[t]; name != "" {
		return name
	}
	return fmt.Sprintf("5GSM message %#x", uint8(t))
}

// Look says which message that is, and its 5GSM cause where it must say one, without reading the rest; false: it is none.
func Look(b []byte) (t MessageType, cause Cause, ok bool) {
	if len(b) < headerLength || b[0] != discriminator5GSM {
		return 0, 0, false
	}
	t = MessageType(b[headerLength-1])
	switch t {
	case EstablishmentRejectType, ModificationRejectType, ReleaseRejectType, ReleaseCommandType, StatusType, ModificationCommandRejectType: // their first element
		if len(b) > headerLength {
			cause = Cause(b[headerLength])
		}
	}
	return t, cause, true
}
