package n1

import (
	"errors"
	"fmt"
	"strconv"
)

// MessageType of a 5GMM message (TS 24.501 9.7).
type MessageType uint8

// The 5GMM messages.
const (
	RegistrationRequestType         MessageType = 0x41
	RegistrationAcceptType          MessageType = 0x42
	RegistrationCompleteType        MessageType = 0x43
	RegistrationRejectType          MessageType = 0x44
	DeregistrationRequestFromUEType MessageType = 0x45
	DeregistrationAcceptToUEType    MessageType = 0x46
	DeregistrationRequestToUEType   MessageType = 0x47
	DeregistrationAcceptFromUEType  MessageType = 0x48
	ServiceRequestType              MessageType = 0x4c
	ServiceRejectType               MessageType = 0x4d
	ServiceAcceptType               MessageType = 0x4e
	ControlPlaneServiceRequestType  MessageType = 0x4f
	SliceAuthenticationCommandType  MessageType = 0x50
	SliceAuthenticationCompleteType MessageType = 0x51
	SliceAuthenticationResultType   MessageType = 0x52
	ConfigurationUpdateCommandType  MessageType = 0x54
	ConfigurationUpdateCompleteType MessageType = 0x55
	AuthenticationRequestType       MessageType = 0x56
	AuthenticationResponseType      MessageType = 0x57
	AuthenticationRejectType        MessageType = 0x58
	AuthenticationFailureType       MessageType = 0x59
	AuthenticationResultType        MessageType = 0x5a
	IdentityRequestType             MessageType = 0x5b
	IdentityResponseType            MessageType = 0x5c
	SecurityModeCommandType         MessageType = 0x5d
	SecurityModeCompleteType        MessageType = 0x5e
	SecurityModeRejectType          MessageType = 0x5f
	StatusType                      MessageType = 0x64
	NotificationType                MessageType = 0x65
	NotificationResponseType        MessageType = 0x66
	ULNASTransportType              MessageType = 0x67
	DLNASTransportType              MessageType = 0x68
)

// Direction of a message. The values are those of DIRECTION in TS 33.501 D.2 and D.3.
type Direction uint8

// The directions.
const (
	Uplink   Direction = 0
	Downlink Direction = 1
)

// String is "uplink" or "downlink".
func (d Direction) String() string {
	if d == Uplink {
		return "uplink"
	}
	return "downlink"
}

// Message is one of the structs of this package.
type Message interface {
	// Type is the message's, and with it its direction.
	Type() MessageType
	// elements reads or writes what stands behind the header.
	elements(*codec)
}

// known is what there is of a message type. A status goes both ways.
type known struct {
	name     string
	up, down bool
	make     func() Message
}

const up, down = true, true

func kindOf(t MessageType) known {
	switch t {
	case RegistrationRequestType:
		return known{"Registration Request", up, false, func() Message { return new(RegistrationRequest) }}
	case RegistrationAcceptType:
		return known{"Registration Accept", false, down, func() Message { return new(RegistrationAccept) }}
	case RegistrationCompleteType:
		return known{"Registration Complete", up, false, func() Message { return new(RegistrationComplete) }}
	case RegistrationRejectType:
		return known{"Registration Reject", false, down, func() Message { return new(RegistrationReject) }}
	case DeregistrationRequestFromUEType:
		return known{"Deregistration Request (UE originating)", up, false, func() Message { return new(DeregistrationRequestFromUE) }}
	case DeregistrationAcceptToUEType:
		return known{"Deregistration Accept (UE originating)", false, down, func() Message { return new(DeregistrationAcceptToUE) }}
	case DeregistrationRequestToUEType:
		return known{"Deregistration Request (UE terminated)", false, down, func() Message { return new(DeregistrationRequestToUE) }}
	case DeregistrationAcceptFromUEType:
		return known{"Deregistration Accept (UE terminated)", up, false, func() Message { return new(DeregistrationAcceptFromUE) }}
	case ServiceRequestType:
		return known{"Service Request", up, false, func() Message { return new(ServiceRequest) }}
	case ServiceRejectType:
		return known{"Service Reject", false, down, func() Message { return new(ServiceReject) }}
	case ServiceAcceptType:
		return known{"Service Accept", false, down, func() Message { return new(ServiceAccept) }}
	case ControlPlaneServiceRequestType:
		return known{"Control Plane Service Request", up, false, func() Message { return new(ControlPlaneServiceRequest) }}
	case SliceAuthenticationCommandType:
		return known{"Network Slice-Specific Authentication Command", false, down, func() Message { return new(SliceAuthenticationCommand) }}
	case SliceAuthenticationCompleteType:
		return known{"Network Slice-Specific Authentication Complete", up, false, func() Message { return new(SliceAuthenticationComplete) }}
	case SliceAuthenticationResultType:
		return known{"Network Slice-Specific Authentication Result", false, down, func() Message { return new(SliceAuthenticationResult) }}
	case ConfigurationUpdateCommandType:
		return known{"Configuration Update Command", false, down, func() Message { return new(ConfigurationUpdateCommand) }}
	case ConfigurationUpdateCompleteType:
		return known{"Configuration Update Complete", up, false, func() Message { return new(ConfigurationUpdateComplete) }}
	case AuthenticationRequestType:
		return known{"Authentication Request", false, down, func() Message { return new(AuthenticationRequest) }}
	case AuthenticationResponseType:
		return known{"Authentication Response", up, false, func() Message { return new(AuthenticationResponse) }}
	case AuthenticationRejectType:
		return known{"Authentication Reject", false, down, func() Message { return new(AuthenticationReject) }}
	case AuthenticationFailureType:
		return known{"Authentication Failure", up, false, func() Message { return new(AuthenticationFailure) }}
	case AuthenticationResultType:
		return known{"Authentication Result", false, down, func() Message { return new(AuthenticationResult) }}
	case IdentityRequestType:
		return known{"Identity Request", false, down, func() Message { return new(IdentityRequest) }}
	case IdentityResponseType:
		return known{"Identity Response", up, false, func() Message { return new(IdentityResponse) }}
	case SecurityModeCommandType:
		return known{"Security Mode Command", false, down, func() Message { return new(SecurityModeCommand) }}
	case SecurityModeCompleteType:
		return known{"Security Mode Complete", up, false, func() Message { return new(SecurityModeComplete) }}
	case SecurityModeRejectType:
		return known{"Security Mode Reject", up, false, func() Message { return new(SecurityModeReject) }}
	case StatusType:
		return known{"5GMM Status", up, down, func() Message { return new(Status) }}
	case NotificationType:
		return known{"Notification", false, down, func() Message { return new(Notification) }}
	case NotificationResponseType:
		return known{"Notification Response", up, false, func() Message { return new(NotificationResponse) }}
	case ULNASTransportType:
		return known{"UL NAS Transport", up, false, func() Message { return new(ULNASTransport) }}
	case DLNASTransportType:
		return known{"DL NAS Transport", false, down, func() Message { return new(DLNASTransport) }}
	}
	return known{}
}

// String is the message's name in the specification, or "5GMM message 0x99" of a type that is not known.
func (t MessageType) String() string {
	if k := kindOf(t); k.name != "" {
		return k.name
	}
	return "5GMM message 0x" + strconv.FormatUint(uint64(t), 16)
}

// Fault is what is wrong with a message, and what to answer.
type Fault struct {
	// Type as far as it was there, else 0.
	Type MessageType
	// Cause is what a 5GMM Status, or the procedure's reject, says.
	Cause Cause
	// Ignore: the message is to be dropped without an answer (TS 24.501 7.2).
	Ignore bool
	Reason string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s: %s (cause %d, %s)", f.Type, f.Reason, uint8(f.Cause), f.Cause)
}

// Discriminators of protocols (TS 24.007 11.2.3.1.1A).
const (
	discriminator5GMM byte = 0x7e
	discriminator5GSM byte = 0x2e
)

const headerLength = 3

// maxMessage is what an element's length of two octets can hold, and the header.
const maxMessage = 1 << 16

// Decode reads a plain 5GMM message that has come in a direction. Its error is a *Fault.
func Decode(b []byte, from Direction) (Message, error) {
	if len(b) < headerLength || b[0] != discriminator5GMM || b[1]&0xf != byte(Plain) {
		return nil, &Fault{Ignore: true, Cause: CauseProtocolErrorUnspecified, Reason: "too short, or no plain 5GMM message"}
	}
	t := MessageType(b[2])
	if len(b) > maxMessage {
		return nil, &Fault{Type: t, Ignore: true, Cause: CauseProtocolErrorUnspecified, Reason: "too long"}
	}
	kind := kindOf(t)
	if kind.make == nil || from == Uplink && !kind.up || from == Downlink && !kind.down {
		return nil, &Fault{Type: t, Cause: CauseMessageTypeNotImplemented, Reason: "no message in the direction " + from.String()}
	}
	m := kind.make()
	if fault := read(m, b[headerLength:]); fault != nil {
		return nil, fault
	}
	return m, nil
}

// TypeOf is the type of a plain 5GMM message, without reading what is behind its header; false: it is none.
func TypeOf(b []byte) (MessageType, bool) {
	if len(b) < headerLength || b[0] != discriminator5GMM || b[1]&0xf != byte(Plain) {
		return 0, false
	}
	return MessageType(b[2]), true
}

// Encode returns the plain message. It fails when a value cannot be said: a list that is too long, digits that are none.
func Encode(m Message) ([]byte, error) { return Append(nil, m) }

// Append appends the plain message to b. On an error b is unchanged.
func Append(b []byte, m Message) ([]byte, error) {
	out, err := write(m, append(b, discriminator5GMM, byte(Plain), byte(m.Type())))
	if err != nil {
		return b, fmt.Errorf("%s: %w", m.Type(), err)
	}
	return out, nil
}

var errTooLong = errors.New("an element is longer than its length can say")
