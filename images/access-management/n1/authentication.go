package n1

import "errors"

// leastEAP is how short an EAP packet is (RFC 3748 4).
const leastEAP = 4

// AuthenticationRequest of TS 24.501 8.2.1.
type AuthenticationRequest struct {
	KeySet KeySet
	// ABBA has at least 2 octets (TS 33.501 A.7.1).
	ABBA []byte
	// RAND and AUTN of 5G AKA; nil with EAP.
	RAND, AUTN *Challenge
	EAP        []byte
}

// Type of the message.
func (*AuthenticationRequest) Type() MessageType { return AuthenticationRequestType }

func (m *AuthenticationRequest) elements(c *codec) {
	nibble(c, &m.KeySet)
	lv(c, (*abba)(&m.ABBA))
	optional(c, ieiRAND, &m.RAND)
	optional(c, ieiAUTN, &m.AUTN)
	octets(c, ieiEAP, &m.EAP, leastEAP)
}

// Challenge is a RAND or an AUTN.
type Challenge [16]byte

func (v *Challenge) read(b []byte) bool {
	copy(v[:], b)
	return len(b) == len(v)
}

func (v *Challenge) write(b []byte) []byte { return append(b, v[:]...) }

type abba []byte

func (a *abba) read(b []byte) bool {
	*a = b
	return len(b) >= 2
}

func (a *abba) write(b []byte) []byte { return append(b, *a...) }

func (a *abba) check() error {
	if len(*a) < 2 {
		return errors.New("ABBA has at least 2 octets")
	}
	return nil
}

// AuthenticationResponse of TS 24.501 8.2.2.
type AuthenticationResponse struct {
	// RES is RES* of 5G AKA, 16 octets, or RES of EAP-AKA' inside an EAP message; nil with EAP.
	RES []byte
	EAP []byte
}

// Type of the message.
func (*AuthenticationResponse) Type() MessageType { return AuthenticationResponseType }

func (m *AuthenticationResponse) elements(c *codec) {
	octets(c, ieiRES, &m.RES, 4)
	octets(c, ieiEAP, &m.EAP, leastEAP)
}

// AuthenticationResult of TS 24.501 8.2.3.
type AuthenticationResult struct {
	KeySet KeySet
	EAP    []byte
	ABBA   []byte
}

// Type of the message.
func (*AuthenticationResult) Type() MessageType { return AuthenticationResultType }

func (m *AuthenticationResult) elements(c *codec) {
	nibble(c, &m.KeySet)
	lve(c, (*raw)(&m.EAP))
	octets(c, ieiABBA, &m.ABBA, 2)
}

// AuthenticationFailure of TS 24.501 8.2.4.
type AuthenticationFailure struct {
	Cause Cause
	// AUTS is there with CauseSynchFailure.
	AUTS *Resynchronisation
}

// Type of the message.
func (*AuthenticationFailure) Type() MessageType { return AuthenticationFailureType }

func (m *AuthenticationFailure) elements(c *codec) {
	octet(c, &m.Cause)
	optional(c, ieiAUTS, &m.AUTS)
	if !c.writing && m.Cause == CauseSynchFailure && m.AUTS == nil {
		c.fail(CauseConditionalIE, "a synch failure without AUTS")
	}
}

// Resynchronisation is an AUTS (TS 33.102 6.3.3).
type Resynchronisation [14]byte

func (v *Resynchronisation) read(b []byte) bool {
	copy(v[:], b)
	return len(b) == len(v)
}

func (v *Resynchronisation) write(b []byte) []byte { return append(b, v[:]...) }

// AuthenticationReject of TS 24.501 8.2.5.
type AuthenticationReject struct{ EAP []byte }

// Type of the message.
func (*AuthenticationReject) Type() MessageType { return AuthenticationRejectType }

func (m *AuthenticationReject) elements(c *codec) { octets(c, ieiEAP, &m.EAP, leastEAP) }

// SliceAuthenticationCommand of TS 24.501 8.2.31.
type SliceAuthenticationCommand struct {
	Slice Slice
	EAP   []byte
}

// SliceAuthenticationComplete of TS 24.501 8.2.32.
type SliceAuthenticationComplete struct {
	Slice Slice
	EAP   []byte
}

// SliceAuthenticationResult of TS 24.501 8.2.33.
type SliceAuthenticationResult struct {
	Slice Slice
	EAP   []byte
}

// Type of the message.
func (*SliceAuthenticationCommand) Type() MessageType { return SliceAuthenticationCommandType }

// Type of the message.
func (*SliceAuthenticationComplete) Type() MessageType { return SliceAuthenticationCompleteType }

// Type of the message.
func (*SliceAuthenticationResult) Type() MessageType { return SliceAuthenticationResultType }

func (m *SliceAuthenticationCommand) elements(c *codec)  { sliceAndEAP(c, &m.Slice, &m.EAP) }
func (m *SliceAuthenticationComplete) elements(c *codec) { sliceAndEAP(c, &m.Slice, &m.EAP) }
func (m *SliceAuthenticationResult) elements(c *codec)   { sliceAndEAP(c, &m.Slice, &m.EAP) }

func sliceAndEAP(c *codec, slice *Slice, eap *[]byte) {
	lv(c, slice)
	lve(c, (*raw)(eap))
}
