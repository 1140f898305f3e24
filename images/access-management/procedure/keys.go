package procedure

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/security"
)

// NAS is what Keys of an AMF are: those of package security.
type NAS struct{}

// AMF is K_AMF.
func (NAS) AMF(kseaf []byte, supi string, abba []byte) []byte {
	k := security.AMFKey(security.Key(kseaf), supi, abba)
	return k[:]
}

// HXRES is HXRES*: the lower half of a digest (TS 33.501 A.5).
func (NAS) HXRES(rand, res []byte) []byte {
	sum := sha256.Sum256(slices.Concat(rand, res))
	return sum[16:]
}

// GNB is K_gNB.
func (NAS) GNB(amf []byte, uplink uint32) []byte {
	k := security.GNBKey(security.Key(amf), uplink, security.Access3GPP)
	return k[:]
}

// Hop is NH.
func (NAS) Hop(amf, before []byte) []byte {
	k := security.NextHop(security.Key(amf), security.Key(before))
	return k[:]
}

// Protect a message. A context whose algorithms there are not protects nothing: nil.
func (NAS) Protect(s *record.Security, count uint32, header n1.SecurityHeader, plain []byte) []byte {
	out := n1.Envelope{Header: header, Sequence: uint8(count), Payload: plain}.Append(nil)
	if header.Ciphered() {
		if security.Cipher(s.Ciphering, ciphering(s), count, n1.Downlink, out[n1.EnvelopeLength:]) != nil {
			return nil
		}
	}
	mac, err := security.MAC(s.Integrity, integrity(s), count, n1.Downlink, out[n1.MACFrom:])
	if err != nil {
		return nil
	}
	copy(out[2:], mac[:])
	return out
}

// lastCount is the highest that there is (TS 24.501 4.4.3.1).
const lastCount = 1<<24 - 1

// Open a message.
func (NAS) Open(s *record.Security, octets []byte) (plain []byte, count uint32, ok bool) {
	e, err := n1.ReadEnvelope(octets)
	if err != nil {
		return nil, 0, false
	}
	count = s.Uplink&^0xff | uint32(e.Sequence)
	if count < s.Uplink {
		count += 0x100
	}
	if count > lastCount {
		return nil, 0, false
	}
	mac, err := security.MAC(s.Integrity, integrity(s), count, n1.Uplink, octets[n1.MACFrom:])
	if err != nil || subtle.ConstantTimeCompare(mac[:], e.MAC[:]) != 1 {
		return nil, 0, false
	}
	plain = slices.Clone(e.Payload)
	if e.Header.Ciphered() && security.Cipher(s.Ciphering, ciphering(s), count, n1.Uplink, plain) != nil {
		return nil, 0, false
	}
	return plain, count, true
}

// Decipher the content of a NAS message container.
func (NAS) Decipher(s *record.Security, count uint32, content []byte) []byte {
	out := slices.Clone(content)
	if security.Cipher(s.Ciphering, ciphering(s), count, n1.Uplink, out) != nil {
		return nil
	}
	return out
}

func ciphering(s *record.Security) security.NASKey {
	return security.AlgorithmKey(security.Key(s.Key), security.NASCiphering, s.Ciphering)
}

func integrity(s *record.Security) security.NASKey {
	return security.AlgorithmKey(security.Key(s.Key), security.NASIntegrity, s.Integrity)
}
