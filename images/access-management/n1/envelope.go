package n1

// SecurityHeader is a security header type (TS 24.501 9.3.1).
type SecurityHeader uint8

// The security header types.
const (
	Plain SecurityHeader = 0
	// IntegrityProtected, and ciphered.
	IntegrityProtected            SecurityHeader = 1
	IntegrityProtectedAndCiphered SecurityHeader = 2
	// IntegrityProtectedNewContext is a Security Mode Command's, IntegrityProtectedAndCipheredNewContext a Security Mode
	// Complete's.
	IntegrityProtectedNewContext            SecurityHeader = 3
	IntegrityProtectedAndCipheredNewContext SecurityHeader = 4
)

// Ciphered says whether what is in the envelope is.
func (h SecurityHeader) Ciphered() bool {
	return h == IntegrityProtectedAndCiphered || h == IntegrityProtectedAndCipheredNewContext
}

// NewContext says whether the message takes a new security context into use.
func (h SecurityHeader) NewContext() bool {
	return h == IntegrityProtectedNewContext || h == IntegrityProtectedAndCipheredNewContext
}

// Envelope is a security protected 5GS NAS message (TS 24.501 8.2.28).
type Envelope struct {
	Header SecurityHeader
	MAC    [4]byte
	// Sequence is the NAS sequence number: the lowest 8 bits of the NAS COUNT.
	Sequence uint8
	// Payload is the plain message, ciphered where Header says so.
	Payload []byte
}

// EnvelopeLength is how many octets stand before the payload; MACFrom is where what the code covers begins.
const (
	EnvelopeLength = 7
	MACFrom        = 6
)

// HeaderOf is the security header type of a 5GMM message, plain or not; false: it is none.
func HeaderOf(b []byte) (SecurityHeader, bool) {
	if len(b) < headerLength || b[0] != discriminator5GMM {
		return 0, false
	}
	return SecurityHeader(b[1] & 0xf), true
}

// ReadEnvelope reads a security protected message. Its error is a *Fault, to be ignored (TS 24.501 7.2.1, 9.3.1).
func ReadEnvelope(b []byte) (Envelope, error) {
	h, is := HeaderOf(b)
	if !is || len(b) < EnvelopeLength+headerLength {
		return Envelope{}, &Fault{Ignore: true, Cause: CauseProtocolErrorUnspecified, Reason: "too short, or no 5GMM message"}
	}
	if h == Plain || h > IntegrityProtectedAndCipheredNewContext {
		return Envelope{}, &Fault{Ignore: true, Cause: CauseProtocolErrorUnspecified, Reason: "the security header type is plain or reserved"}
	}
	return Envelope{Header: h, MAC: [4]byte(b[2:6]), Sequence: b[6], Payload: b[EnvelopeLength:]}, nil
}

// Append appends the envelope with its payload to b.
func (e Envelope) Append(b []byte) []byte {
	b = append(b, discriminator5GMM, byte(e.Header), e.MAC[0], e.MAC[1], e.MAC[2], e.MAC[3], e.Sequence)
	return append(b, e.Payload...)
}

// KeySetOf is the key set identifier that a plain initial message says: a Registration Request, a Service Request, a Control
// Plane Service Request or a Deregistration Request. false: it says none.
func KeySetOf(b []byte) (KeySet, bool) {
	t, is := TypeOf(b)
	if !is || len(b) <= headerLength {
		return 0, false
	}
	switch o := b[headerLength]; t {
	case RegistrationRequestType, DeregistrationRequestFromUEType, ControlPlaneServiceRequestType:
		return KeySet(o >> 4), true
	case ServiceRequestType:
		return KeySet(o & 0xf), true
	}
	return 0, false
}
