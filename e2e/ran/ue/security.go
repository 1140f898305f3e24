package ue

import (
	"bytes"
	"errors"

	"github.com/free5gc/nas"
	"github.com/free5gc/nas/nasMessage"

	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
)

// challenge is a successful authentication that no security mode command has taken into use yet.
type challenge struct {
	ksi  uint8
	kamf [32]byte
}

// authenticate answers AUTHENTICATION REQUEST (TS 24.501 5.4.1.3).
func (u *UE) authenticate(m *nasMessage.AuthenticationRequest) {
	if m.AuthenticationParameterRAND == nil || m.AuthenticationParameterAUTN == nil {
		u.drop("authentication request without RAND and AUTN: EAP is not supported")
		return
	}
	rand, autn := m.AuthenticationParameterRAND.GetRANDValue(), m.AuthenticationParameterAUTN.GetAUTN()
	v, err := u.usim.Authenticate(rand, autn, usim.ServingNetworkName(u.cfg.MCC, u.cfg.MNC))
	var sync *usim.SyncFailure
	switch {
	case errors.As(err, &sync):
		u.count.Resyncs++
		u.log.Info("SQN out of range: resynchronising")
		u.send(uenas.AuthenticationFailure(nasMessage.Cause5GMMSynchFailure, sync.AUTS[:]))
	case errors.Is(err, usim.ErrMACFailure):
		u.count.MACFailures++
		u.fail(err)
		u.send(uenas.AuthenticationFailure(nasMessage.Cause5GMMMACFailure, nil))
	case errors.Is(err, usim.ErrSeparationBit):
		u.fail(err)
		u.send(uenas.AuthenticationFailure(nasMessage.Cause5GMMNon5GAuthenticationUnacceptable, nil))
	case err != nil:
		u.fail(err)
	default:
		u.challenge = &challenge{
			ksi:  m.SpareHalfOctetAndNgksi.GetNasKeySetIdentifiler(),
			kamf: v.KAMF(u.cfg.SUPI, m.ABBA.GetABBAContents()),
		}
		u.send(uenas.AuthenticationResponse(v.RESStar))
	}
}

func (u *UE) authenticationReject() {
	u.count.Rejects++
	u.forgetRegistration()
	u.retry.failed(u.cfg.Timers)
	err := errors.New("authentication rejected: the network does not accept the UE's answer")
	if u.proc != nil {
		u.finish(err)
	} else {
		u.fail(err)
	}
}

// securityMode answers SECURITY MODE COMMAND (TS 24.501 5.4.2). pdu is the protected message, whose
// MAC is made with the keys that the message itself selects.
func (u *UE) securityMode(pdu []byte) {
	m, err := uenas.Decode(pdu[7:])
	if err != nil || m.GmmMessage == nil || m.GmmHeader.GetMessageType() != nas.MsgTypeSecurityModeCommand {
		u.drop("security header type 3 without a security mode command")
		return
	}
	smc := m.SecurityModeCommand
	ksi := smc.SpareHalfOctetAndNgksi.GetNasKeySetIdentifiler()
	var kamf [32]byte
	switch {
	case u.challenge != nil && u.challenge.ksi == ksi:
		kamf = u.challenge.kamf
	case u.sec != nil && u.sec.KSI == ksi:
		kamf = u.sec.KAMF
	default:
		u.drop("security mode command for a key set that the UE does not have")
		return
	}
	integrity := smc.SelectedNASSecurityAlgorithms.GetTypeOfIntegrityProtectionAlgorithm()
	ciphering := smc.SelectedNASSecurityAlgorithms.GetTypeOfCipheringAlgorithm()
	kInt, kEnc := usim.NASKeys(kamf, integrity, ciphering)
	sec := uenas.NewContext(uenas.UE, ksi, kamf, integrity, ciphering, kInt, kEnc)
	if _, err := sec.Unprotect(pdu); err != nil {
		u.drop("security mode command: " + err.Error())
		return
	}
	// 5.4.2.3: the replayed capabilities must be what the UE sent, or somebody bids down.
	replayed := smc.ReplayedUESecurityCapabilities.Buffer
	if !bytes.HasPrefix(replayed, uenas.SecurityCapability) {
		u.count.Rejects++
		u.send(uenas.SecurityModeReject(nasMessage.Cause5GMMUESecurityCapabilitiesMismatch))
		return
	}
	if integrity == 0 || integrity > 3 || ciphering > 3 {
		u.count.Rejects++
		u.send(uenas.SecurityModeReject(nasMessage.Cause5GMMSecurityModeRejectedUnspecified))
		return
	}
	u.sec, u.secOn, u.challenge = sec, true, nil
	imeisv := ""
	if smc.IMEISVRequest != nil && smc.IMEISVRequest.GetIMEISVRequestValue() == nasMessage.IMEISVRequested {
		imeisv = u.cfg.IMEISV
	}
	// 5.4.2.3: the initial message went out with its cleartext IEs only, so all of it goes here.
	u.sendAs(uenas.IntegrityCipheredNew, uenas.SecurityModeComplete(imeisv, u.initial))
}
