package usim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

// Function codes of TS 33.501 Annex A.
const (
	fcKAUSF     = 0x6A
	fcRESStar   = 0x6B
	fcKSEAF     = 0x6C
	fcKAMF      = 0x6D
	fcKgNB      = 0x6E
	fcAlgorithm = 0x69
)

// Algorithm type distinguishers of TS 33.501 Table A.8-1.
const (
	algorithmNASEnc = 0x01
	algorithmNASInt = 0x02
)

// kdf is the generic function of TS 33.220 B.2.0: HMAC-SHA-256 over FC || P0 || L0 || P1 || L1 …
func kdf(key []byte, fc byte, params ...[]byte) [32]byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte{fc})
	for _, p := range params {
		h.Write(p)
		h.Write(binary.BigEndian.AppendUint16(nil, uint16(len(p))))
	}
	var out [32]byte
	h.Sum(out[:0])
	return out
}

// ServingNetworkName is "5G:mncMMM.mccNNN.3gppnetwork.org" (TS 24.501 9.12.1).
func ServingNetworkName(mcc, mnc string) string {
	if len(mnc) == 2 {
		mnc = "0" + mnc
	}
	return fmt.Sprintf("5G:mnc%s.mcc%s.3gppnetwork.org", mnc, mcc)
}

// Vector is what a successful challenge leaves in the UE.
type Vector struct {
	RESStar [16]byte // the answer to the network (TS 33.501 A.4)
	kseaf   [32]byte
}

func newVector(ck, ik, rand, res, sqnXorAK []byte, snn string) *Vector {
	ckik := append(append([]byte{}, ck...), ik...)
	v := &Vector{}
	resStar := kdf(ckik, fcRESStar, []byte(snn), rand, res)
	copy(v.RESStar[:], resStar[16:])
	kausf := kdf(ckik, fcKAUSF, []byte(snn), sqnXorAK)
	v.kseaf = kdf(kausf[:], fcKSEAF, []byte(snn))
	return v
}

// KAMF derives the key of the AMF (TS 33.501 A.7) for supi ("imsi-…") and the ABBA of the challenge.
func (v *Vector) KAMF(supi string, abba []byte) [32]byte {
	return kdf(v.kseaf[:], fcKAMF, []byte(strings.TrimPrefix(supi, "imsi-")), abba)
}

// NASKeys derives the NAS integrity and ciphering keys (TS 33.501 A.8).
func NASKeys(kamf [32]byte, integrity, ciphering uint8) (kInt, kEnc [16]byte) {
	i := kdf(kamf[:], fcAlgorithm, []byte{algorithmNASInt}, []byte{integrity})
	e := kdf(kamf[:], fcAlgorithm, []byte{algorithmNASEnc}, []byte{ciphering})
	copy(kInt[:], i[16:])
	copy(kEnc[:], e[16:])
	return kInt, kEnc
}

// KgNB derives the key that the AMF hands to the gNB in the initial context setup (TS 33.501 A.9),
// from the uplink NAS COUNT of the message that started the procedure.
func KgNB(kamf [32]byte, uplinkCount uint32) [32]byte {
	const access3GPP = 1
	return kdf(kamf[:], fcKgNB, binary.BigEndian.AppendUint32(nil, uplinkCount), []byte{access3GPP})
}
