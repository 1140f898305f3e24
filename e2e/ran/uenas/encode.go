package uenas

import (
	"strings"

	"github.com/free5gc/nas"
)

// The messages of a UE, written out octet by octet: each function follows the message's table in
// TS 24.501 clause 8. The tests read them back with free5gc/nas.

const (
	epd5GMM = 0x7E
	epd5GSM = 0x2E
)

// NoKSI says that the UE has no key set (TS 24.501 9.11.3.32).
const NoKSI uint8 = 7

// SecurityCapability: 5G-EA0, 128-5G-EA1..3 and 5G-IA1..3 offered; NIA0 is not.
var SecurityCapability = []byte{0xF0, 0x70}

func gmm(messageType uint8) []byte { return []byte{epd5GMM, Plain, messageType} }

func gsm(psi, pti, messageType uint8) []byte { return []byte{epd5GSM, psi, pti, messageType} }

func tlv(b []byte, iei uint8, v []byte) []byte {
	return append(append(b, iei, byte(len(v))), v...)
}

func tlvE(b []byte, iei uint8, v []byte) []byte {
	b = append(append(b, iei), be16(len(v))...)
	return append(b, v...)
}

func lvE(b, v []byte) []byte { return append(append(b, be16(len(v))...), v...) }

// SessionBits encodes a set of PDU session identities (TS 24.501 9.11.3.44).
func SessionBits(psis []uint8) []byte {
	var bits uint16
	for _, p := range psis {
		bits |= 1 << (p & 0xF)
	}
	return []byte{byte(bits), byte(bits >> 8)}
}

// Registration is what a REGISTRATION REQUEST says (TS 24.501 8.2.6).
type Registration struct {
	KSI       uint8
	Type      uint8 // nasMessage.RegistrationType5GS…
	Identity  []byte
	Requested []SNSSAI
	Sessions  []uint8 // PDU session status: nil leaves it out
	Uplink    []uint8 // uplink data status: nil leaves it out
}

// Cleartext encodes only the cleartext IEs, as an unprotected initial NAS message must (4.4.6).
func (r Registration) Cleartext() []byte {
	const followOnPending = 8
	b := append(gmm(nas.MsgTypeRegistrationRequest), r.KSI<<4|followOnPending|r.Type)
	b = lvE(b, r.Identity)
	return tlv(b, 0x2E, SecurityCapability)
}

// Full encodes the whole message, which travels in a NAS message container.
func (r Registration) Full() []byte {
	const followOnPending = 8
	b := append(gmm(nas.MsgTypeRegistrationRequest), r.KSI<<4|followOnPending|r.Type)
	b = lvE(b, r.Identity)
	b = tlv(b, 0x10, []byte{0}) // 5GMM capability: 5GC only
	b = tlv(b, 0x2E, SecurityCapability)
	if len(r.Requested) > 0 {
		var v []byte
		for _, s := range r.Requested {
			v = append(append(v, byte(len(s.value()))), s.value()...)
		}
		b = tlv(b, 0x2F, v)
	}
	if r.Uplink != nil {
		b = tlv(b, 0x40, SessionBits(r.Uplink))
	}
	if r.Sessions != nil {
		b = tlv(b, 0x50, SessionBits(r.Sessions))
	}
	return b
}

// AuthenticationResponse carries RES* (8.2.2).
func AuthenticationResponse(resStar [16]byte) []byte {
	return tlv(gmm(nas.MsgTypeAuthenticationResponse), 0x2D, resStar[:])
}

// AuthenticationFailure carries AUTS with cause #21 only (8.2.4); auts nil leaves it out.
func AuthenticationFailure(cause uint8, auts []byte) []byte {
	b := append(gmm(nas.MsgTypeAuthenticationFailure), cause)
	if auts != nil {
		b = tlv(b, 0x30, auts)
	}
	return b
}

// SecurityModeComplete carries the IMEISV when asked for ("" leaves it out) and the whole initial
// message (8.2.26).
func SecurityModeComplete(imeisvDigits string, container []byte) []byte {
	b := gmm(nas.MsgTypeSecurityModeComplete)
	if imeisvDigits != "" {
		b = tlvE(b, 0x77, imeisv(imeisvDigits))
	}
	if container != nil {
		b = tlvE(b, 0x71, container)
	}
	return b
}

// SecurityModeReject refuses the algorithms or the replayed capabilities (8.2.27).
func SecurityModeReject(cause uint8) []byte { return append(gmm(nas.MsgTypeSecurityModeReject), cause) }

// IdentityResponse carries one 5GS mobile identity (8.2.22).
func IdentityResponse(identity []byte) []byte {
	return lvE(gmm(nas.MsgTypeIdentityResponse), identity)
}

// IdentityResponseIMEISV answers a request for the IMEISV.
func IdentityResponseIMEISV(digits string) []byte { return IdentityResponse(imeisv(digits)) }

// IdentityResponseTMSI answers a request for the 5G-S-TMSI.
func IdentityResponseTMSI(t TMSI) []byte { return IdentityResponse(t.identity()) }

// RegistrationComplete ends a registration (8.2.8).
func RegistrationComplete() []byte { return gmm(nas.MsgTypeRegistrationComplete) }

// ConfigurationUpdateComplete acknowledges a CONFIGURATION UPDATE COMMAND (8.2.20).
func ConfigurationUpdateComplete() []byte { return gmm(nas.MsgTypeConfigurationUpdateComplete) }

// Status5GMM reports a message that could not be handled (8.2.29).
func Status5GMM(cause uint8) []byte { return append(gmm(nas.MsgTypeStatus5GMM), cause) }

// NotificationResponse answers a NOTIFICATION (8.2.24).
func NotificationResponse(sessions []uint8) []byte {
	return tlv(gmm(nas.MsgTypeNotificationResponse), 0x50, SessionBits(sessions))
}

// Service is what a SERVICE REQUEST says (8.2.16).
type Service struct {
	KSI      uint8
	Type     uint8 // nasMessage.ServiceType…
	TMSI     TMSI
	Uplink   []uint8 // sessions with user data waiting: nil leaves it out
	Sessions []uint8 // sessions that the UE holds
}

func (s Service) mandatory() []byte {
	b := append(gmm(nas.MsgTypeServiceRequest), s.Type<<4|s.KSI)
	return lvE(b, s.TMSI.identity())
}

// Full encodes the whole message.
func (s Service) Full() []byte {
	b := s.mandatory()
	if s.Uplink != nil {
		b = tlv(b, 0x40, SessionBits(s.Uplink))
	}
	return tlv(b, 0x50, SessionBits(s.Sessions))
}

// Initial encodes the cleartext IEs and a container that the caller has ciphered (4.4.6).
func (s Service) Initial(container []byte) []byte { return tlvE(s.mandatory(), 0x71, container) }

// Deregistration encodes a UE-originating DEREGISTRATION REQUEST for 3GPP access (8.2.12).
func Deregistration(ksi uint8, switchOff bool, identity []byte) []byte {
	const access3GPP = 1
	t := ksi<<4 | access3GPP
	if switchOff {
		t |= 8
	}
	return lvE(append(gmm(nas.MsgTypeDeregistrationRequestUEOriginatingDeregistration), t), identity)
}

// DeregistrationAccept answers a network-originating deregistration (8.2.15).
func DeregistrationAccept() []byte {
	return gmm(nas.MsgTypeDeregistrationAcceptUETerminatedDeregistration)
}

// Request types of UL NAS TRANSPORT (9.11.3.47).
const (
	RequestNone         uint8 = 0
	RequestInitial      uint8 = 1
	RequestEmergency    uint8 = 3
	RequestModification uint8 = 5
)

// ULTransport wraps a 5GSM message (8.2.10). Slice and DNN go along with an initial request only.
func ULTransport(psi uint8, payload []byte, request uint8, slice *SNSSAI, dnn string) []byte {
	const n1SM = 1
	b := append(gmm(nas.MsgTypeULNASTransport), n1SM)
	b = lvE(b, payload)
	b = append(b, 0x12, psi)
	if request != RequestNone {
		b = append(b, 0x80|request)
	}
	if slice != nil {
		b = tlv(b, 0x22, slice.value())
	}
	if dnn != "" {
		b = tlv(b, 0x25, encodeDNN(dnn))
	}
	return b
}

// encodeDNN writes labels with their lengths (TS 23.003 9.1).
func encodeDNN(dnn string) []byte {
	var out []byte
	for _, label := range strings.Split(dnn, ".") {
		out = append(append(out, byte(len(label))), label...)
	}
	return out
}

// SessionRelease asks for the release of a session (8.3.12).
func SessionRelease(psi, pti, cause uint8) []byte {
	return append(gsm(psi, pti, nas.MsgTypePDUSessionReleaseRequest), 0x59, cause)
}

// SessionReleaseComplete acknowledges a PDU SESSION RELEASE COMMAND (8.3.15).
func SessionReleaseComplete(psi, pti uint8) []byte {
	return gsm(psi, pti, nas.MsgTypePDUSessionReleaseComplete)
}

// SessionModificationComplete acknowledges a PDU SESSION MODIFICATION COMMAND (8.3.10).
func SessionModificationComplete(psi, pti uint8) []byte {
	return gsm(psi, pti, nas.MsgTypePDUSessionModificationComplete)
}

// Status5GSM reports a 5GSM message that could not be handled (8.3.16).
func Status5GSM(psi, pti, cause uint8) []byte {
	return append(gsm(psi, pti, nas.MsgTypeStatus5GSM), cause)
}
