package security

import (
	"crypto/subtle"
	"errors"
	"fmt"

	"core5g.dev/core5g/images/access-management/n1"
)

// NAS has what protects the messages of a security context: its algorithms, and the keys for them.
type NAS struct {
	Algorithms n1.Algorithms
	Ciphering  NASKey
	Integrity  NASKey
}

// maxCount is the highest NAS COUNT: 24 bits, of which the lowest 8 travel (TS 24.501 4.4.3.1).
const maxCount = 1<<24 - 1

// Why a message is not taken.
var (
	// ErrMAC: its code does not match.
	ErrMAC = errors.New("the message authentication code does not match")
	// ErrCountWraps: the NAS COUNT would.
	ErrCountWraps = errors.New("the NAS COUNT would wrap around")
)

// Format prints no key, whatever the verb.
func (k NAS) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "NIA%d, NEA%d", k.Algorithms.Integrity, k.Algorithms.Ciphering)
}

// ForNAS derives the keys of a context for its algorithms.
func ForNAS(amf Key, a n1.Algorithms) *NAS {
	return &NAS{Algorithms: a, Ciphering: AlgorithmKey(amf, NASCiphering, a.Ciphering), Integrity: AlgorithmKey(amf, NASIntegrity, a.Integrity)}
}

// Protect appends the plain message m, protected with a downlink COUNT, to b. It fails where an algorithm is not known, and where the COUNT is beyond 24 bits.
func (k *NAS) Protect(b []byte, count uint32, header n1.SecurityHeader, m []byte) ([]byte, error) {
	if count > maxCount {
		return b, ErrCountWraps
	}
	at := len(b)
	out := n1.Envelope{Header: header, Sequence: uint8(count), Payload: m}.Append(b)
	if header.Ciphered() {
		if err := Cipher(k.Algorithms.Ciphering, k.Ciphering, count, n1.Downlink, out[at+n1.EnvelopeLength:]); err != nil {
			return b, err
		}
	}
	mac, err := MAC(k.Algorithms.Integrity, k.Integrity, count, n1.Downlink, out[at+n1.MACFrom:])
	if err != nil {
		return b, err
	}
	copy(out[at+2:], mac[:])
	return out, nil
}

// Open checks an uplink message and deciphers it; its octets are not changed. next is the lowest COUNT that it may have: one that was taken is estimated
// 256 too high when it comes again, and its code does not match (TS 33.501 6.4.3.1). It fails with ErrMAC, ErrCountWraps, or an *n1.Fault.
func (k *NAS) Open(octets []byte, next uint32) (plain []byte, count uint32, err error) {
	e, err := n1.ReadEnvelope(octets)
	if err != nil {
		return nil, 0, err
	}
	if count = estimate(next, e.Sequence); count > maxCount {
		return nil, 0, ErrCountWraps
	}
	mac, err := MAC(k.Algorithms.Integrity, k.Integrity, count, n1.Uplink, octets[n1.MACFrom:])
	if err != nil || subtle.ConstantTimeCompare(mac[:], e.MAC[:]) != 1 {
		return nil, 0, ErrMAC
	}
	if !e.Header.Ciphered() {
		return append([]byte(nil), e.Payload...), count, nil
	}
	plain, err = k.Decipher(count, e.Payload)
	return plain, count, err
}

// estimate is the COUNT of a message with a sequence number: the lowest that it may have (TS 24.501 4.4.3.1).
func estimate(next uint32, sequence uint8) uint32 {
	count := next&^0xff | uint32(sequence)
	if count < next {
		count += 1 << 8
	}
	return count
}

// Decipher what came uplink with a COUNT, such as the content of a NAS message container, which has that of its message (TS 24.501 4.4.6). It fails where the
// algorithm is not known.
func (k *NAS) Decipher(count uint32, content []byte) ([]byte, error) {
	plain := append([]byte(nil), content...)
	if err := Cipher(k.Algorithms.Ciphering, k.Ciphering, count, n1.Uplink, plain); err != nil {
		return nil, err
	}
	return plain, nil
}
