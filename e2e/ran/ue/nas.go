package ue

import (
	"github.com/free5gc/nas"
	"github.com/free5gc/nas/nasMessage"

	"core5g.dev/core5g/e2e/ran/uenas"
)

// drop counts a downlink message that the UE does not take.
func (u *UE) drop(why string) {
	u.count.NASDropped++
	u.log.Warn("NAS message dropped", "why", why)
}

// send protects a message when the connection is protected, and sends it.
func (u *UE) send(plain []byte) {
	if !u.secOn {
		u.transmit(plain)
		return
	}
	u.sendAs(uenas.IntegrityCiphered, plain)
}

func (u *UE) sendAs(header uint8, plain []byte) {
	pdu, err := u.sec.Protect(header, plain)
	if err != nil {
		u.fail(err)
		return
	}
	u.transmit(pdu)
}

func (u *UE) transmit(pdu []byte) {
	if u.conn == nil {
		u.fail(ErrIdle)
		return
	}
	u.last = pdu
	if err := u.conn.Send(pdu); err != nil {
		u.fail(err)
	}
}

// plainAllowed lists what the UE takes without integrity protection (TS 24.501 4.4.4.2).
var plainAllowed = map[uint8]bool{
	nas.MsgTypeIdentityRequest:                                 true,
	nas.MsgTypeAuthenticationRequest:                           true,
	nas.MsgTypeAuthenticationResult:                            true,
	nas.MsgTypeAuthenticationReject:                            true,
	nas.MsgTypeRegistrationReject:                              true,
	nas.MsgTypeDeregistrationAcceptUEOriginatingDeregistration: true,
	nas.MsgTypeServiceReject:                                   true,
}

// receive takes one downlink NAS PDU.
func (u *UE) receive(pdu []byte) {
	header, err := uenas.HeaderType(pdu)
	if err != nil {
		u.drop(err.Error())
		return
	}
	plain := pdu
	switch header {
	case uenas.Plain:
	case uenas.IntegrityNew:
		if len(pdu) < 10 {
			u.drop("security mode command too short")
			return
		}
		u.securityMode(pdu)
		return
	case uenas.Integrity, uenas.IntegrityCiphered:
		if u.sec == nil {
			u.drop("protected message without a security context")
			return
		}
		if plain, err = u.sec.Unprotect(pdu); err != nil {
			u.drop(err.Error())
			return
		}
	default:
		u.drop("security header type not for the downlink")
		return
	}
	m, err := uenas.Decode(plain)
	if err != nil {
		u.drop(err.Error())
		return
	}
	if m.GmmMessage == nil {
		u.drop("5GSM message outside a NAS transport")
		return
	}
	if header == uenas.Plain && !plainAllowed[m.GmmHeader.GetMessageType()] {
		u.drop("message without the integrity protection it needs")
		return
	}
	u.mobility(m.GmmMessage)
}

func (u *UE) mobility(m *nas.GmmMessage) {
	switch m.GmmHeader.GetMessageType() {
	case nas.MsgTypeAuthenticationRequest:
		u.authenticate(m.AuthenticationRequest)
	case nas.MsgTypeAuthenticationReject:
		u.authenticationReject()
	case nas.MsgTypeIdentityRequest:
		u.identify(m.IdentityRequest)
	case nas.MsgTypeRegistrationAccept:
		u.registrationAccept(m.RegistrationAccept)
	case nas.MsgTypeRegistrationReject:
		u.registrationReject(m.RegistrationReject)
	case nas.MsgTypeServiceAccept:
		u.serviceAccept(m.ServiceAccept)
	case nas.MsgTypeServiceReject:
		u.serviceReject(m.ServiceReject)
	case nas.MsgTypeConfigurationUpdateCommand:
		u.configure(m.ConfigurationUpdateCommand)
	case nas.MsgTypeDeregistrationAcceptUEOriginatingDeregistration:
		u.deregistrationAccept()
	case nas.MsgTypeDeregistrationRequestUETerminatedDeregistration:
		u.networkDeregistration(m.DeregistrationRequestUETerminatedDeregistration)
	case nas.MsgTypeDLNASTransport:
		u.transport(m.DLNASTransport)
	case nas.MsgTypeNotification:
		u.send(uenas.NotificationResponse(u.activeSessions()))
	case nas.MsgTypeStatus5GMM:
		u.fail(&uenas.RejectError{Message: "5GMM Status", Cause: uenas.Cause5GMM(m.Status5GMM.GetCauseValue())})
	default:
		u.drop("message type not handled")
		u.send(uenas.Status5GMM(nasMessage.Cause5GMMMessageTypeNonExistentOrNotImplemented))
	}
}

// identify answers IDENTITY REQUEST (TS 24.501 5.4.3).
func (u *UE) identify(m *nasMessage.IdentityRequest) {
	switch m.SpareHalfOctetAndIdentityType.GetTypeOfIdentity() {
	case nasMessage.MobileIdentity5GSTypeSuci:
		suci, err := u.suci()
		if err != nil {
			u.fail(err)
			return
		}
		u.send(uenas.IdentityResponse(suci))
	case nasMessage.MobileIdentity5GSTypeImeisv, nasMessage.MobileIdentity5GSTypeImei:
		if !u.secOn {
			u.drop("identity request for the IMEI without protection")
			return
		}
		u.send(uenas.IdentityResponseIMEISV(u.cfg.IMEISV))
	case nasMessage.MobileIdentity5GSType5gGuti:
		if u.guti != nil {
			u.send(uenas.IdentityResponse(u.guti[:]))
		}
	case nasMessage.MobileIdentity5GSType5gSTmsi:
		if u.guti != nil {
			u.send(uenas.IdentityResponseTMSI(u.guti.TMSI()))
		}
	default:
		u.drop("identity type not known")
	}
}

// configure takes CONFIGURATION UPDATE COMMAND (TS 24.501 5.4.4).
func (u *UE) configure(m *nasMessage.ConfigurationUpdateCommand) {
	if m.GUTI5G != nil {
		u.setGUTI(m.GUTI5G.Octet)
	}
	if m.AllowedNSSAI != nil {
		if allowed, err := uenas.ParseNSSAI(m.AllowedNSSAI.GetSNSSAIValue()); err == nil {
			u.allowed = allowed
		}
	}
	if i := m.ConfigurationUpdateIndication; i != nil && i.GetACK() == 1 {
		u.send(uenas.ConfigurationUpdateComplete())
	}
}
