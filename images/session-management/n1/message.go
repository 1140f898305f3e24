package n1

import (
	"encoding/binary"
	"fmt"
)

// MessageType of a 5GSM message (TS 24.501 9.7).
type MessageType uint8

// The 5GSM messages.
const (
	EstablishmentRequestType      MessageType = 0xc1
	EstablishmentAcceptType       MessageType = 0xc2
	EstablishmentRejectType       MessageType = 0xc3
	ModificationRequestType       MessageType = 0xc9
	ModificationRejectType        MessageType = 0xca
	ModificationCommandType       MessageType = 0xcb
	ModificationCompleteType      MessageType = 0xcc
	ModificationCommandRejectType MessageType = 0xcd
	ReleaseRequestType            MessageType = 0xd1
	ReleaseRejectType             MessageType = 0xd2
	ReleaseCommandType            MessageType = 0xd3
	ReleaseCompleteType           MessageType = 0xd4
	StatusType                    MessageType = 0xd6
)

// Cause is a 5GSM cause (TS 24.501 9.11.4.2).
type Cause uint8

// The causes that this SMF tells or understands.
const (
	CauseOperatorBarring             Cause = 8
	CauseInsufficientResources       Cause = 26
	CauseUnknownDNN                  Cause = 27
	CauseUnknownPDUSessionType       Cause = 28
	CauseAuthenticationFailed        Cause = 29
	CauseRejectedUnspecified         Cause = 31
	CauseServiceOptionNotSupported   Cause = 32
	CauseServiceOptionNotSubscribed  Cause = 33
	CausePTIInUse                    Cause = 35
	CauseRegularDeactivation         Cause = 36
	CauseQoSNotAccepted              Cause = 37
	CauseNetworkFailure              Cause = 38
	CauseReactivationRequested       Cause = 39
	CauseInvalidPDUSessionIdentity   Cause = 43
	CauseSemanticErrorInFilters      Cause = 44
	CauseSyntacticalErrorInFilters   Cause = 45
	CausePTIMismatch                 Cause = 47
	CauseIPv4Only                    Cause = 50
	CauseIPv6Only                    Cause = 51
	CauseSessionDoesNotExist         Cause = 54
	CauseIPv4v6Only                  Cause = 57
	CauseUnstructuredOnly            Cause = 58
	CauseUnsupported5QI              Cause = 59
	CauseEthernetOnly                Cause = 61
	CauseUnsupportedSSCMode          Cause = 68
	CauseMissingOrUnknownDNNInSlice  Cause = 70
	CauseInvalidPTI                  Cause = 81
	CauseSemanticErrorInQoS          Cause = 83
	CauseSyntacticalErrorInQoS       Cause = 84
	CauseSemanticallyIncorrect       Cause = 95
	CauseInvalidMandatoryInformation Cause = 96
	CauseMessageTypeNotImplemented   Cause = 97
	CauseMessageTypeNotCompatible    Cause = 98
	CauseConditionalIE               Cause = 100
	CauseMessageNotCompatible        Cause = 101
	CauseProtocolErrorUnspecified    Cause = 111
)

const (
	discriminator5GSM         = 0x2e
	headerLength              = 4
	firstSession, lastSession = 1, 15
	unassignedPTI, lastPTI    = 0, 254
)

// Identifiers of information elements (TS 24.501 8.3); of those of one octet in all, the upper half.
const (
	ieiIntegrityRate     = 0x13
	ieiSNSSAI            = 0x22
	ieiDNN               = 0x25
	ieiCapability        = 0x28
	ieiPDUAddress        = 0x29
	ieiAMBR              = 0x2a
	ieiBackOff           = 0x37
	ieiDNRequest         = 0x39
	ieiMaxFilters        = 0x55
	ieiCause             = 0x59
	ieiFlows             = 0x79
	ieiRules             = 0x7a
	ieiOptions           = 0x7b
	ieiAlwaysOn          = 0x80
	ieiSessionType       = 0x90
	ieiSSCMode           = 0xa0
	ieiAlwaysOnRequested = 0xb0
	ieiAllowedSSC        = 0xf0
)

// SessionType is a PDU session type (TS 24.501 9.11.4.11). Zero: the UE has not said.
type SessionType uint8

// The PDU session types.
const (
	IPv4         SessionType = 1
	IPv6         SessionType = 2
	IPv4v6       SessionType = 3
	Unstructured SessionType = 4
	Ethernet     SessionType = 5
)

// Header of every 5GSM message.
type Header struct {
	// SessionID is the PDU session identity, 1 to 15, and PTI the procedure transaction identity, 0 for none.
	SessionID, PTI uint8
	Type           MessageType
}

// Message is what a UE sent: one of the structs below.
type Message interface{ header() Header }

func (h Header) header() Header { return h }

// HeaderOf returns the header of a decoded message.
func HeaderOf(m Message) Header { return m.header() }

// EstablishmentRequest of TS 24.501 8.3.1.
type EstablishmentRequest struct {
	Header
	Type SessionType
	// SSCMode is 1 to 3, 0 where the UE has not said.
	SSCMode uint8
	// AlwaysOn: the UE asks for an always-on session.
	AlwaysOn bool
	// MaxFilters that the UE supports, 17 to 1024; 0 stands for 16.
	MaxFilters uint16
	// ReflectiveQoS and MultiHomed of the UE's 5GSM capability.
	ReflectiveQoS, MultiHomed bool
	// DNRequest is what the UE has for the data network's authentication.
	DNRequest []byte
	Options   Options
}

// ModificationRequest of TS 24.501 8.3.7.
type ModificationRequest struct {
	Header
	Cause      Cause // 0: none
	AlwaysOn   bool
	MaxFilters uint16
	Rules      []Rule
	Flows      []Flow
	Options    Options
}

// ModificationComplete of TS 24.501 8.3.10.
type ModificationComplete struct {
	Header
	Options Options
}

// ModificationCommandReject of TS 24.501 8.3.11.
type ModificationCommandReject struct {
	Header
	Cause   Cause
	Options Options
}

// ReleaseRequest of TS 24.501 8.3.12.
type ReleaseRequest struct {
	Header
	Cause   Cause // 0: none
	Options Options
}

// ReleaseComplete of TS 24.501 8.3.15.
type ReleaseComplete struct {
	Header
	Cause   Cause // 0: none
	Options Options
}

// Status of TS 24.501 8.3.16.
type Status struct {
	Header
	Cause Cause
}

// Fault is what is wrong with a message, and what to tell the UE.
type Fault struct {
	// Header as far as it was there.
	Header Header
	Cause  Cause
	// Ignore: the message is to be dropped without an answer (TS 24.501 7.2).
	Ignore bool
	Reason string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("5GSM message %#02x: %s (cause %d)", uint8(f.Header.Type), f.Reason, f.Cause)
}

// Decode reads a message of a UE. Its error is a *Fault.
func Decode(b []byte) (Message, error) {
	if len(b) < headerLength || b[0] != discriminator5GSM {
		return nil, &Fault{Ignore: true, Cause: CauseProtocolErrorUnspecified, Reason: "too short, or no 5GSM message"}
	}
	r := reader{h: Header{SessionID: b[1], PTI: b[2], Type: MessageType(b[3])}, b: b[headerLength:]}
	if r.h.SessionID < firstSession || r.h.SessionID > lastSession {
		// TS 24.501 7.3.2: nothing can be said of a session without an identity.
		return nil, &Fault{Header: r.h, Ignore: true, Cause: CauseInvalidPDUSessionIdentity, Reason: "the PDU session identity is reserved or unassigned"}
	}
	var m Message
	switch r.h.Type {
	case EstablishmentRequestType:
		m = r.establishmentRequest()
	case ModificationRequestType:
		m = r.modificationRequest()
	case ModificationCompleteType:
		m = &ModificationComplete{Header: r.h, Options: r.onlyOptions()}
	case ModificationCommandRejectType:
		cause := r.cause()
		m = &ModificationCommandReject{Header: r.h, Cause: cause, Options: r.onlyOptions()}
	case ReleaseRequestType:
		cause, options := r.causeAndOptions()
		m = &ReleaseRequest{Header: r.h, Cause: cause, Options: options}
	case ReleaseCompleteType:
		cause, options := r.causeAndOptions()
		m = &ReleaseComplete{Header: r.h, Cause: cause, Options: options}
	case StatusType:
		m = &Status{Header: r.h, Cause: r.cause()}
	default:
		return nil, &Fault{Header: r.h, Cause: CauseMessageTypeNotImplemented, Reason: "no message that a UE sends"}
	}
	if r.fault != nil {
		return nil, r.fault
	}
	// TS 24.501 7.3.1: what a UE begins has a PTI of its own, what it answers has the network's or none.
	begins := r.h.Type == EstablishmentRequestType || r.h.Type == ModificationRequestType || r.h.Type == ReleaseRequestType
	if r.h.PTI > lastPTI || begins && r.h.PTI == unassignedPTI {
		return nil, &Fault{Header: r.h, Cause: CauseInvalidPTI, Reason: "the procedure transaction identity is reserved or unassigned"}
	}
	return m, nil
}

// ---- elements --------------------------------------------------------------------------------------------

type reader struct {
	h     Header
	b     []byte
	fault *Fault
}

func (r *reader) fail(cause Cause, reason string) {
	if r.fault == nil {
		r.fault = &Fault{Header: r.h, Cause: cause, Reason: reason}
	}
	r.b = nil
}

// take reads n octets of a mandatory element.
func (r *reader) take(n int) []byte {
	if len(r.b) < n {
		r.fail(CauseInvalidMandatoryInformation, "a mandatory element is missing or cut")
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) cause() Cause {
	if v := r.take(1); v != nil {
		return Cause(v[0])
	}
	return 0
}

// element is an optional one: its identifier, of those of one octet in all without the value, and its content.
type element struct {
	iei     byte
	content []byte
}

// next reads the next optional element; fixed are the lengths of those whose format their identifier does not show.
func (r *reader) next(fixed map[byte]int) (element, bool) {
	if len(r.b) == 0 {
		return element{}, false
	}
	iei := r.b[0]
	rest := r.b[1:]
	switch n, isFixed := fixed[iei]; {
	case iei >= 0x80: // one octet in all
		r.b = rest
		return element{iei & 0xf0, []byte{iei & 0x0f}}, true
	case isFixed && len(rest) >= n:
		r.b = rest[n:]
		return element{iei, rest[:n]}, true
	case !isFixed && iei >= 0x70 && len(rest) >= 2 && len(rest)-2 >= int(binary.BigEndian.Uint16(rest)):
		end := 2 + int(binary.BigEndian.Uint16(rest))
		r.b = rest[end:]
		return element{iei, rest[2:end]}, true
	case !isFixed && iei < 0x70 && len(rest) >= 1 && len(rest)-1 >= int(rest[0]):
		end := 1 + int(rest[0])
		r.b = rest[end:]
		return element{iei, rest[1:end]}, true
	}
	// TS 24.501 7.6.1, 7.7.1: an optional element that cannot be read is as if it were not there, and what is behind
	// it cannot be found.
	r.b = nil
	return element{}, false
}

// each calls f with the first of every optional element.
func (r *reader) each(fixed map[byte]int, f func(element)) {
	var seen [256]bool
	for {
		e, ok := r.next(fixed)
		if !ok {
			return
		}
		if !seen[e.iei] {
			seen[e.iei] = true
			f(e)
		}
	}
}

func (r *reader) onlyOptions() (options Options) {
	r.each(nil, func(e element) {
		if e.iei == ieiOptions {
			options = decodeOptions(e.content)
		}
	})
	return options
}

func (r *reader) causeAndOptions() (cause Cause, options Options) {
	r.each(map[byte]int{ieiCause: 1}, func(e element) {
		switch e.iei {
		case ieiCause:
			cause = Cause(e.content[0])
		case ieiOptions:
			options = decodeOptions(e.content)
		}
	})
	return cause, options
}

func (r *reader) establishmentRequest() *EstablishmentRequest {
	m := &EstablishmentRequest{Header: r.h}
	if r.take(2) == nil { // Integrity protection maximum data rate: the network has no use for it
		return m
	}
	r.each(map[byte]int{ieiMaxFilters: 2}, func(e element) {
		switch e.iei {
		case ieiSessionType:
			m.Type = SessionType(e.content[0] & 7)
		case ieiSSCMode:
			m.SSCMode = e.content[0] & 7
		case ieiAlwaysOnRequested:
			m.AlwaysOn = e.content[0]&1 != 0
		case ieiMaxFilters:
			m.MaxFilters = maxFilters(e.content)
		case ieiCapability:
			if len(e.content) > 0 {
				m.ReflectiveQoS, m.MultiHomed = e.content[0]&1 != 0, e.content[0]&2 != 0
			}
		case ieiDNRequest:
			m.DNRequest = e.content
		case ieiOptions:
			m.Options = decodeOptions(e.content)
		}
	})
	// TS 24.501 9.11.4.11, 9.11.4.16: values that are not known are read as these.
	if m.Type > Ethernet {
		m.Type = IPv4v6
	}
	if m.SSCMode > 3 {
		m.SSCMode -= 3
	}
	return m
}

// maxFilters of TS 24.501 9.11.4.9: eleven bits.
func maxFilters(content []byte) uint16 {
	return uint16(content[0])<<3 | uint16(content[1])>>5
}

func (r *reader) modificationRequest() *ModificationRequest {
	m := &ModificationRequest{Header: r.h}
	r.each(map[byte]int{ieiCause: 1, ieiMaxFilters: 2, ieiIntegrityRate: 2}, func(e element) {
		switch e.iei {
		case ieiCause:
			m.Cause = Cause(e.content[0])
		case ieiAlwaysOnRequested:
			m.AlwaysOn = e.content[0]&1 != 0
		case ieiMaxFilters:
			m.MaxFilters = maxFilters(e.content)
		case ieiRules:
			rules, cause, reason := decodeRules(e.content)
			if cause != 0 {
				r.fail(cause, reason)
			}
			m.Rules = rules
		case ieiFlows:
			flows, cause, reason := decodeFlows(e.content)
			if cause != 0 {
				r.fail(cause, reason)
			}
			m.Flows = flows
		case ieiOptions:
			m.Options = decodeOptions(e.content)
		}
	})
	return m
}
