package procedure

import (
	"crypto/sha256"
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
	out, err := nas(s).Protect(nil, count, header, plain)
	if err != nil {
		return nil
	}
	return out
}

// Open a message.
func (NAS) Open(s *record.Security, octets []byte) (plain []byte, count uint32, ok bool) {
	plain, count, err := nas(s).Open(octets, s.Uplink)
	return plain, count, err == nil
}

// Decipher the content of a NAS message container.
func (NAS) Decipher(s *record.Security, count uint32, content []byte) []byte {
	out, err := nas(s).Decipher(count, content)
	if err != nil {
		return nil
	}
	return out
}

func nas(s *record.Security) *security.NAS {
	return security.ForNAS(security.Key(s.Key), n1.Algorithms{Ciphering: s.Ciphering, Integrity: s.Integrity})
}
