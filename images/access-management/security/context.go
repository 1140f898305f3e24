package security

import (
	"crypto/subtle"
	"errors"
	"fmt"

	"core5g.dev/core5g/images/access-management/n1"
)

// Context is a 5G NAS security context of a UE in 3GPP access, and the AS keys' chain (TS 33.501 6.9.2.1). It is plain data.
type Context struct {
	// KeySet is the ngKSI, native (0 to 6) or mapped (8 to 14).
	KeySet n1.KeySet `cbor:"1,keyasint"`
	AMF    Key       `cbor:"2,keyasint"`
	ABBA   []byte    `cbor:"3,keyasint,omitempty"`
	// Capability is the UE's, which is replayed to it.
	Capability n1.UESecurityCapability `cbor:"4,keyasint,omitempty"`
	// Full: there are algorithms, and keys for them. A context is partial from authentication until Select.
	Full       bool          `cbor:"5,keyasint,omitempty"`
	Algorithms n1.Algorithms `cbor:"6,keyasint"`
	Ciphering  NASKey        `cbor:"7,keyasint"`
	Integrity  NASKey        `cbor:"8,keyasint"`
	Uplink     UplinkCount   `cbor:"9,keyasint"`
	Downlink   DownlinkCount `cbor:"10,keyasint"`
	// NH and NCC are the next hop and its chaining counter, 0 to 7, that a gNB was or will be told.
	NH  Key   `cbor:"11,keyasint"`
	NCC uint8 `cbor:"12,keyasint,omitempty"`
}

// Why a message is not taken.
var (
	// ErrMAC: its code does not match.
	ErrMAC = errors.New("the message authentication code does not match")
	// ErrReplayed: it is one that was taken before.
	ErrReplayed = errors.New("the message has come before")
	// ErrNoContext: there is no security context to check it with.
	ErrNoContext = errors.New("there is no security context for the message")
	// ErrUnprotected: it has to be protected (TS 24.501 4.4.4.3).
	ErrUnprotected = errors.New("the message has to be protected")
)

// Select gives the context its algorithms, and the NAS keys for them.
func (c *Context) Select(a n1.Algorithms) {
	c.Algorithms, c.Full = a, true
	c.Ciphering = AlgorithmKey(c.AMF, NASCiphering, a.Ciphering)
	c.Integrity = AlgorithmKey(c.AMF, NASIntegrity, a.Integrity)
}

// Protect appends the plain message m, protected, to b; count is the message's, by which Heard knows it again.
//
// When Downlink.Reserved is another than before, the record has to be committed before the octets leave.
func (c *Context) Protect(b []byte, header n1.SecurityHeader, m []byte) (out []byte, count uint32, err error) {
	if !c.Full || header == n1.Plain {
		return b, 0, ErrNoContext
	}
	if count, err = c.Downlink.take(); err != nil {
		return b, 0, err
	}
	at := len(b)
	out = n1.Envelope{Header: header, Sequence: uint8(count), Payload: m}.Append(b)
	if header.Ciphered() {
		if err = Cipher(c.Algorithms.Ciphering, c.Ciphering, count, n1.Downlink, out[at+n1.EnvelopeLength:]); err != nil {
			return b, 0, err
		}
	}
	mac, err := MAC(c.Algorithms.Integrity, c.Integrity, count, n1.Downlink, out[at+n1.MACFrom:])
	if err != nil {
		return b, 0, err
	}
	copy(out[at+2:], mac[:])
	return out, count, nil
}

// Heard: the UE has had the message of this downlink COUNT. A Registration Complete shows it of the Registration Accept, a
// Configuration Update Complete of the command, a Security Mode Complete likewise, and a gNB's Initial Context Setup Response
// of the message that lay in the request.
func (c *Context) Heard(count uint32) { c.Downlink.heard(count) }

// Distrust the COUNTs: the store has lost writes. Protect refuses until there is a new context. What comes uplink is still
// verified, but a message of the time that was lost could come again, so AKA is run before it has an effect.
func (c *Context) Distrust() { c.Downlink.Lost = true }

// WantsAKA says whether authentication should be run at the next chance, before messages have to be refused: a COUNT comes
// near its end, much has gone out since COUNTs were skipped that the UE may not have had, or writes were lost.
func (c *Context) WantsAKA() bool {
	d := &c.Downlink
	return d.Lost || d.doubt(d.Next()) > maxUnheard/2 || d.Next() >= nearlyWrapped || c.Uplink.Next >= nearlyWrapped
}

// open checks and deciphers an uplink message. Its payload, in place, is then plain, and its COUNT is used up.
func (c *Context) open(octets []byte, e n1.Envelope) (count uint32, err error) {
	if !c.Full {
		return 0, ErrNoContext
	}
	count = c.Uplink.estimate(e.Sequence)
	if count > maxCount {
		return 0, ErrCountWraps
	}
	if !c.matches(octets, e, count) {
		if count > 0xff && c.matches(octets, e, count-1<<8) {
			return 0, ErrReplayed
		}
		return 0, ErrMAC
	}
	if e.Header.Ciphered() {
		if err := Cipher(c.Algorithms.Ciphering, c.Ciphering, count, n1.Uplink, e.Payload); err != nil {
			return 0, err
		}
	}
	c.Uplink.Next = count + 1
	return count, nil
}

func (c *Context) matches(octets []byte, e n1.Envelope, count uint32) bool {
	mac, err := MAC(c.Algorithms.Integrity, c.Integrity, count, n1.Uplink, octets[n1.MACFrom:])
	return err == nil && subtle.ConstantTimeCompare(mac[:], e.MAC[:]) == 1
}

// OpenContainer deciphers the NAS message container of a message whose COUNT was this one (TS 24.501 4.4.6), which must
// have been checked. The container itself is not changed.
func (c *Context) OpenContainer(count uint32, container []byte) ([]byte, error) {
	plain := append([]byte(nil), container...)
	if err := Cipher(c.Algorithms.Ciphering, c.Ciphering, count, n1.Uplink, plain); err != nil {
		return nil, err
	}
	return plain, nil
}

// StartChain is for a gNB that sets a UE's context up: it returns K_gNB, of the COUNT of the message by which the UE came,
// and begins the NH chain (TS 33.501 6.9.2.1.1).
func (c *Context) StartChain(uplink uint32, access AccessType) Key {
	k := GNBKey(c.AMF, uplink, access)
	c.NH, c.NCC = NextHop(c.AMF, k), 1
	return k
}

// NextHop goes a step along the chain and returns what a gNB is to be told: in a Path Switch Request Acknowledge, or a
// Handover Request (TS 33.501 6.9.2.3). It fails where no chain has begun. The record is committed before use.
func (c *Context) NextHop() (nh Key, ncc uint8, err error) {
	if c.NH == (Key{}) {
		return nh, 0, errors.New("no NH chain has begun")
	}
	c.NH, c.NCC = NextHop(c.AMF, c.NH), (c.NCC+1)%8
	return c.NH, c.NCC, nil
}

// Derived is a new context of this one's key, without AKA (TS 33.501 6.9.3, A.13): its COUNTs begin at 0, and the Security
// Mode Command says so (n1.AdditionalSecurity.HorizontalDerivation).
func (c *Context) Derived(direction Direction, count uint32) *Context {
	return &Context{KeySet: c.KeySet, AMF: AMFPrimeKey(c.AMF, direction, count), ABBA: c.ABBA, Capability: c.Capability}
}

// String tells no key.
func (c *Context) String() string {
	return fmt.Sprintf("ngKSI %d, NIA%d, NEA%d, uplink COUNT %d, downlink %d, NCC %d",
		c.KeySet, c.Algorithms.Integrity, c.Algorithms.Ciphering, c.Uplink.Next, c.Downlink.Next(), c.NCC)
}
