package security

import (
	"bytes"
	"errors"

	"core5g.dev/core5g/images/access-management/n1"
)

// Contexts of a UE (TS 24.501 4.4.2): the current one, by which messages are protected, and one that is not yet or no more
// current: partial from authentication until security mode control, or native while a mapped one is current.
type Contexts struct {
	Current    *Context `cbor:"1,keyasint,omitempty"`
	NonCurrent *Context `cbor:"2,keyasint,omitempty"`
}

// FreeKeySet is a native key set identifier that neither context has, nor the UE says it has.
func (s *Contexts) FreeKeySet(ofUE n1.KeySet) n1.KeySet {
	for k := n1.KeySet(0); k < n1.NoKey; k++ {
		if k != ofUE && (s.Current == nil || s.Current.KeySet != k) && (s.NonCurrent == nil || s.NonCurrent.KeySet != k) {
			return k
		}
	}
	return 0 // cannot be: three of seven are taken
}

// Authenticated makes a partial context of what the AUSF has said, which waits for security mode control. supi is as in
// TS 29.571.
func (s *Contexts) Authenticated(k n1.KeySet, seaf Key, supi string, abba []byte) *Context {
	s.NonCurrent = &Context{KeySet: k, AMF: AMFKey(seaf, supi, abba), ABBA: abba}
	return s.NonCurrent
}

// Unauthenticated makes the context of a UE in emergency services that was not authenticated: NIA0 and NEA0, with a key
// that is of no use (TS 33.501 10.2.2).
func (s *Contexts) Unauthenticated(k n1.KeySet, capability n1.UESecurityCapability) *Context {
	s.NonCurrent = &Context{KeySet: k, Capability: capability}
	return s.NonCurrent
}

// Take makes the context that waited current: the UE has completed security mode control by it (TS 24.501 5.4.2.4). What
// was current goes, but a native one under a mapped one.
func (s *Contexts) Take() error {
	if s.NonCurrent == nil || !s.NonCurrent.Full {
		return ErrNoContext
	}
	was := s.Current
	s.Current, s.NonCurrent = s.NonCurrent, nil
	if was != nil && s.Current.KeySet.Mapped() && !was.KeySet.Mapped() {
		s.NonCurrent = was
	}
	return nil
}

// Drop the context that waited: the UE has refused it, or does not answer.
func (s *Contexts) Drop() { s.NonCurrent = nil }

// Received is a message of a UE.
type Received struct {
	// Plain is the message, to be read by n1.Decode. It shares memory with what came.
	Plain []byte
	// Header is as it came.
	Header n1.SecurityHeader
	// Verified: its code matches, in the context that is By, and COUNT is the message's.
	Verified bool
	By       *Context
	Count    uint32
	// Why is, of a protected message that was let in without being verified, the reason.
	Why error
}

// Receive checks a message of a UE and deciphers it, in place. established: messages were exchanged securely on this N1
// connection, so that nothing is taken that is not verified; else some are (MayBeUnverified), and the caller looks at
// Verified. An error says why the message is dropped: ErrMAC, ErrReplayed, ErrNoContext, ErrUnprotected, ErrCountWraps, or
// an *n1.Fault.
//
// What it changes in a context is to be committed before the message has an effect.
func (s *Contexts) Receive(b []byte, established bool) (Received, error) {
	header, is := n1.HeaderOf(b)
	if !is {
		return Received{}, &n1.Fault{Ignore: true, Cause: n1.CauseProtocolErrorUnspecified, Reason: "no 5GMM message"}
	}
	if header == n1.Plain {
		t, _ := n1.TypeOf(b)
		if established || !s.MayBeUnverified(t) {
			return Received{}, ErrUnprotected
		}
		return Received{Plain: b}, nil
	}
	e, err := n1.ReadEnvelope(b)
	if err != nil {
		return Received{}, err
	}
	context := s.contextOf(e)
	if context == nil {
		err = ErrNoContext
	} else if count, failed := context.open(b, e); failed != nil {
		err = failed
	} else {
		if _, is := n1.TypeOf(e.Payload); !is {
			return Received{}, &n1.Fault{Ignore: true, Cause: n1.CauseProtocolErrorUnspecified, Reason: "no plain 5GMM message in the envelope"}
		}
		return Received{Plain: e.Payload, Header: header, Verified: true, By: context, Count: count}, nil
	}
	// What cannot be verified may yet be let in, where it can be read.
	t, is := n1.TypeOf(e.Payload)
	if established || header.Ciphered() || !is || !s.MayBeUnverified(t) || errors.Is(err, ErrReplayed) {
		return Received{}, err
	}
	return Received{Plain: e.Payload, Header: header, Why: err}, nil
}

// contextOf a message: a Security Mode Complete's is the one that waits; a message that says a key set needs that one.
func (s *Contexts) contextOf(e n1.Envelope) *Context {
	if e.Header.NewContext() {
		if s.NonCurrent != nil {
			return s.NonCurrent
		}
		return s.Current // the algorithms of the current one were changed, or its Security Mode Complete comes again
	}
	if !e.Header.Ciphered() && s.Current != nil {
		if k, is := n1.KeySetOf(e.Payload); is && k != s.Current.KeySet {
			return nil
		}
	}
	return s.Current
}

// MayBeUnverified says whether a message may come unprotected, or with a code that does not match, while nothing was
// exchanged securely on the N1 connection (TS 24.501 4.4.4.3). Of an Identity Response only the SUCI may be used.
func (s *Contexts) MayBeUnverified(t n1.MessageType) bool {
	switch t {
	case n1.RegistrationRequestType, n1.IdentityResponseType, n1.AuthenticationResponseType, n1.AuthenticationFailureType,
		n1.SecurityModeRejectType, n1.DeregistrationRequestFromUEType, n1.DeregistrationAcceptFromUEType,
		// These two are answered with a reject, cause 9.
		n1.ServiceRequestType, n1.ControlPlaneServiceRequestType:
		return true
	}
	return false
}

// ErrBiddingDown: the UE's capabilities came otherwise under protection than without.
var ErrBiddingDown = errors.New("the UE security capability was changed on its way: the protected one is another")

// CheckBidding compares what the UE said before there was protection, and was replayed to it, with what the Registration
// Request in its Security Mode Complete says (TS 33.501 6.7.2, TS 24.501 4.4.6, 5.4.2.4).
func CheckBidding(replayed, complete n1.UESecurityCapability) error {
	if !bytes.Equal(replayed, complete) {
		return ErrBiddingDown
	}
	return nil
}
