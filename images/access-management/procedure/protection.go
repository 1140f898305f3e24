package procedure

import (
	"errors"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// How NAS comes and goes (TS 24.501 4.4, TS 33.501 6.4): which COUNT a message has, and which messages are taken without protection. Keys and algorithms are
// those of Keys.
//
// A COUNT that a message of the UE's had is written before the message has an effect, and is not taken again: the same message once more is none (TS 33.501
// 6.4.3.1). A downlink COUNT lies in a block that was written before (record.Security).

// Keys does what has to do with keys: package security for an AMF.
type Keys interface {
	// AMF is K_AMF (TS 33.501 A.7).
	AMF(kseaf []byte, supi string, abba []byte) []byte
	// HXRES is HXRES* (TS 33.501 A.5).
	HXRES(rand, res []byte) []byte
	// GNB is K_gNB for 3GPP access, with the uplink COUNT (TS 33.501 A.9); Hop is NH (A.10).
	GNB(amf []byte, uplink uint32) []byte
	Hop(amf, before []byte) []byte
	// Protect a plain message with a downlink COUNT.
	Protect(s *record.Security, count uint32, header n1.SecurityHeader, plain []byte) []byte
	// Open a message of the UE's; false: its MAC is another. The COUNT is the lowest that the sequence number can stand for.
	Open(s *record.Security, octets []byte) (plain []byte, count uint32, ok bool)
	// Decipher the content of a NAS message container, which has the COUNT of its message (TS 24.501 4.4.6).
	Decipher(s *record.Security, count uint32, content []byte) []byte
}

// beginCounts where this life of the holder begins: behind everything that the one before may have used.
func (t *turn) beginCounts() {
	if t.live.begun || t.s == nil {
		return
	}
	t.live.begun = true
	if t.s.Security != nil {
		t.live.next = t.s.Security.Reserved
	}
	if t.s.Coming != nil {
		t.live.nextComing = t.s.Coming.Reserved
	}
}

// countOf takes the next downlink COUNT of a context, and reserves a block where there is none left.
func countOf(s *record.Security, next *uint32) uint32 {
	count := *next
	*next++
	if *next > s.Reserved {
		s.Reserved += record.Block
	}
	return count
}

// nearlyWrapped is from where on a COUNT of 24 bits comes to its end (TS 24.501 4.4.3.5).
const nearlyWrapped = 1<<24 - 1<<8

// mustProve: the UE is authenticated anew, since it may not understand the next COUNT, or what it was told is not known.
func (t *turn) mustProve() bool {
	s := t.s.Security
	if t.isUnproven() {
		return false // there is nothing that it could prove
	}
	return s == nil || t.s.Prove || t.live.next-s.Heard >= record.Reach || max(s.Uplink, t.live.next) >= nearlyWrapped
}

// heard: the UE, or its access network, has answered, so that the UE has what it was sent.
func (t *turn) heard() {
	if s := t.s.Security; s != nil && t.live.next > s.Heard {
		s.Heard = t.live.next
	}
}

// protect a plain message for the UE; as it is, where there is no context that it uses.
func (t *turn) protect(plain []byte) []byte {
	t.says(n1.Downlink, plain)
	if t.s.Security == nil || !t.s.N2.Secured {
		return plain
	}
	return t.in.Keys.Protect(t.s.Security, countOf(t.s.Security, &t.live.next), n1.IntegrityProtectedAndCiphered, plain)
}

// tell the UE.
func (t *turn) tell(m n1.Message) {
	plain, err := n1.Encode(m)
	if err != nil {
		t.out.Refused = err.Error()
		return
	}
	t.downlink(t.protect(plain))
}

// downlink sends what is protected already.
func (t *turn) downlink(nas []byte) {
	if t.s.N2 != nil && !t.s.N2.Releasing {
		t.send(&n2.DownlinkNASTransport{UE: ids(t.s.N2), NAS: nas})
	}
}

// container of a 5GSM message, protected.
func (t *turn) container(id uint8, message []byte) []byte {
	plain, err := n1.Encode(&n1.DLNASTransport{PayloadType: n1.PayloadN1SM, Payload: message, SessionID: id})
	if err != nil {
		t.out.Refused = err.Error()
		return nil
	}
	return t.protect(plain)
}

// accessKey is K_gNB, of the last message that came (TS 33.501 6.8.1.2.2), and begins the chain of NHs.
func (t *turn) accessKey() n2.SecurityKey {
	s := t.s.Security
	if s == nil {
		return n2.SecurityKey{}
	}
	gnb := t.in.Keys.GNB(s.Key, max(s.Uplink, 1)-1)
	s.Hop, s.Chaining = t.in.Keys.Hop(s.Key, gnb), 1
	return n2.SecurityKey(gnb)
}

// chain goes a step along: NH and NCC for the next access network.
func (t *turn) chain() {
	s := t.s.Security
	s.Hop, s.Chaining = t.in.Keys.Hop(s.Key, s.Hop), (s.Chaining+1)&7
}

// abilities of the UE, as NGAP has them: without NEA0 and NIA0.
func (t *turn) abilities() n2.SecurityCapabilities {
	if t.isUnproven() { // TS 33.501 10.2.2.2: NIA0 and NEA0 alone, on the air too
		return n2.SecurityCapabilities{}
	}
	c := n1.UESecurityCapability(t.s.Ability)
	bits := func(o uint8) uint16 { return uint16(o&0x7f) << 9 }
	return n2.SecurityCapabilities{NREncryption: bits(c.EA5G()), NRIntegrity: bits(c.IA5G()), EUTRAEncryption: bits(c.EEA()), EUTRAIntegrity: bits(c.EIA())}
}

// readInitial reads a UE's first message: the whole of it, where a part is ciphered. protected: by the context that is kept.
func (t *turn) readInitial(nas []byte) (m n1.Message, plain []byte, protected bool) {
	plain, count, protected := t.open(nas)
	if plain == nil {
		return nil, nil, false
	}
	m, err := n1.Decode(plain, n1.Uplink)
	if err != nil {
		return nil, nil, false
	}
	if inner := containerOf(m); protected && len(inner) > 0 {
		whole := t.in.Keys.Decipher(t.s.Security, count, inner)
		if w, err := n1.Decode(whole, n1.Uplink); err == nil && w.Type() == m.Type() {
			m, plain = w, whole
		}
	}
	t.says(n1.Uplink, plain)
	return m, plain, protected
}

func containerOf(m n1.Message) []byte {
	switch m := m.(type) {
	case *n1.RegistrationRequest:
		return m.Container
	case *n1.ServiceRequest:
		return m.Container
	}
	return nil
}

// open a message with the context that is kept. What cannot be opened, and is not ciphered, is read as if it were plain: initial messages are
// (TS 24.501 4.4.4.3).
func (t *turn) open(nas []byte) (plain []byte, count uint32, protected bool) {
	header, ok := n1.HeaderOf(nas)
	if !ok {
		return nil, 0, false
	}
	if header == n1.Plain {
		return nas, 0, false
	}
	if t.s != nil && t.s.Security != nil && !header.NewContext() {
		if plain, count, ok := t.in.Keys.Open(t.s.Security, nas); ok {
			t.s.Security.Uplink = count + 1
			return plain, count, true
		}
	}
	if header.Ciphered() {
		return nil, 0, false
	}
	e, err := n1.ReadEnvelope(nas)
	if err != nil {
		return nil, 0, false
	}
	return e.Payload, 0, false
}

// openComing opens a message that takes the coming context into use.
func (t *turn) openComing(nas []byte) ([]byte, bool) {
	if t.s.Coming == nil {
		return nil, false
	}
	plain, count, ok := t.in.Keys.Open(t.s.Coming, nas)
	if ok {
		t.s.Coming.Uplink = count + 1
	}
	return plain, ok
}

// fromUE is a message on a connection that there is (TS 38.413 8.6.3).
func (t *turn) fromUE(nas []byte) {
	header, ok := n1.HeaderOf(nas)
	if !ok {
		t.out.Refused = "no 5GMM message"
		return
	}
	var plain []byte
	protected := false
	switch {
	case header.NewContext() && t.authenticating(regSecurity):
		if plain, protected = t.openComing(nas); !protected {
			t.out.Refused = "the MAC is another"
			return
		}
	default:
		plain, _, protected = t.open(nas)
	}
	if plain == nil {
		t.out.Refused = "the MAC is another"
		return
	}
	m, err := n1.Decode(plain, n1.Uplink)
	if !protected && (t.s.N2.Secured || err == nil && !withoutProtection(m.Type())) {
		t.out.Refused = "a message that is not protected" // TS 24.501 4.4.4.3
		return
	}
	if err != nil {
		t.malformed(err)
		return
	}
	if inner := containerOf(m); protected && len(inner) > 0 && t.s.Security != nil {
		whole := t.in.Keys.Decipher(t.s.Security, t.s.Security.Uplink-1, inner)
		if w, err := n1.Decode(whole, n1.Uplink); err == nil && w.Type() == m.Type() {
			m, plain = w, whole
		}
	}
	t.says(n1.Uplink, plain)
	t.said(m, plain, protected)
}

// withoutProtection: messages that are taken before the secure exchange of messages (TS 24.501 4.4.4.3).
func withoutProtection(kind n1.MessageType) bool {
	switch kind {
	case n1.RegistrationRequestType, n1.IdentityResponseType, n1.AuthenticationResponseType, n1.AuthenticationFailureType,
		n1.SecurityModeRejectType, n1.DeregistrationRequestFromUEType, n1.DeregistrationAcceptFromUEType:
		return true
	}
	return false
}

// malformed: TS 24.501 7.
func (t *turn) malformed(err error) {
	var fault *n1.Fault
	if !errors.As(err, &fault) || fault.Ignore {
		t.out.Refused = err.Error()
		return
	}
	t.tell(&n1.Status{Cause: fault.Cause})
	t.out.Refused = err.Error()
}

// said: what a UE says that is connected.
func (t *turn) said(m n1.Message, plain []byte, protected bool) {
	switch m := m.(type) {
	case *n1.RegistrationRequest:
		t.registerAgain(m, plain, protected)
	case *n1.RegistrationComplete:
		if t.commanded(n1.RegistrationAcceptType) {
			t.registered()
		}
	case *n1.IdentityResponse:
		t.identified(m)
	case *n1.AuthenticationResponse:
		t.authenticated(m)
	case *n1.AuthenticationFailure:
		t.authenticationFailed(m)
	case *n1.SecurityModeComplete:
		t.securityComplete(m)
	case *n1.SecurityModeReject:
		t.securityRejected(m)
	case *n1.ServiceRequest:
		if !t.leaving() {
			t.abandon()
			t.secureAgain(protected)
			t.serve(m, true, false)
		}
	case *n1.DeregistrationRequestFromUE:
		if protected {
			t.abandon()
			t.secureAgain(protected)
			t.deregisteredByUE(m)
		}
	case *n1.DeregistrationAcceptFromUE:
		t.deregistrationAccepted()
	case *n1.ConfigurationUpdateComplete:
		if t.commanded(n1.ConfigurationUpdateCommandType) {
			t.configured()
		}
	case *n1.ULNASTransport:
		t.uplink(m)
	case *n1.NotificationResponse: // nothing was notified by this access
	case *n1.Status:
		t.statusSaid(m)
	default:
		t.tell(&n1.Status{Cause: n1.CauseMessageTypeNotCompatible})
	}
}

// registerAgain: a registration on the connection that the UE has (TS 24.501 5.5.1.2.8 d to f). The same request again is not another. A UE on its way out
// registers on its next connection.
func (t *turn) registerAgain(m *n1.RegistrationRequest, plain []byte, protected bool) {
	if t.leaving() {
		return
	}
	if t.doing() == Registration && string(t.s.Procedure.Message) == string(plain) {
		t.out.Refused = "the same registration is under way"
		return
	}
	t.abandon()
	t.secureAgain(protected)
	if t.outgrows(m) { // it begins anew, and says who it is
		t.begin(Registration).Message = plain
		t.rejectRegistration(n1.CauseIdentityCannotBeDerived, "registered for emergency services without authentication")
		return
	}
	t.register(m, plain, protected, false)
}

// secureAgain what is said on a connection on which it was not any more, since the store has lost what the UE was told: a UE that begins anew, and need not prove
// itself, has shown its context.
func (t *turn) secureAgain(protected bool) {
	t.s.N2.Secured = t.s.N2.Secured || protected && !t.mustProve()
}

// leaving says whether the UE is on its way out: what it begins on this connection is not begun.
func (t *turn) leaving() bool {
	if t.s.Phase == record.Leaving {
		t.out.Refused = "it is leaving"
	}
	return t.s.Phase == record.Leaving
}

// statusSaid: TS 24.501 5.4.6. A UE that does not know what it was told will not answer it.
func (t *turn) statusSaid(m *n1.Status) {
	if c := t.s.Command; c != nil && t.doing() == 0 && (m.Cause == n1.CauseMessageTypeNotImplemented || m.Cause == n1.CauseMessageTypeNotCompatible) {
		t.answeredCommand()
	}
}
