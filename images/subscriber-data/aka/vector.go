package aka

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/free5gc/util/milenage"
	"github.com/free5gc/util/ueauth"
)

// SQN is a sequence number: 48 bits, the lowest IndexBits of them the index IND (TS 33.102 6.3 and
// Annex C.1.1.1).
type SQN uint64

// Bytes returns the six octets of the sequence number.
func (s SQN) Bytes() []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(s))
	return b[2:8:8]
}

func sqnFromBytes(b []byte) SQN {
	var full [8]byte
	copy(full[2:], b)
	return SQN(binary.BigEndian.Uint64(full[:]))
}

// Vector is a 5G HE authentication vector with what the AUSF derives from it (TS 33.501 6.1.3.2).
type Vector struct {
	RAND      [16]byte
	AUTN      [16]byte
	XRESStar  [16]byte
	HXRESStar [16]byte
	KSEAF     [32]byte
}

// ErrMACFailure means that an AUTS was not made by the owner of the key (TS 33.102 6.3.5).
var ErrMACFailure = errors.New("the MAC-S of AUTS is wrong")

// Vector computes the authentication vector for one challenge. The serving network name is that of
// TS 33.501 6.1.1.4, for example 5G:mnc093.mcc208.3gppnetwork.org.
func (c Credentials) Vector(rand [16]byte, sqn SQN, servingNetworkName string) (Vector, error) {
	amf := []byte{c.amf[0] | separationBit, c.amf[1]}
	ik, ck, xres, autn, err := milenage.GenerateAKAParameters(c.opc[:], c.k[:], rand[:], sqn.Bytes(), amf)
	if err != nil {
		return Vector{}, fmt.Errorf("milenage: %w", err)
	}
	v := Vector{RAND: rand}
	copy(v.AUTN[:], autn)

	ckik := append(append(make([]byte, 0, 32), ck...), ik...)
	snn := []byte(servingNetworkName)
	// TS 33.501 A.4: XRES* is the lower half of the KDF's output.
	xresStar, err := ueauth.GetKDFValue(ckik, ueauth.FC_FOR_RES_STAR_XRES_STAR_DERIVATION,
		snn, ueauth.KDFLen(snn), rand[:], ueauth.KDFLen(rand[:]), xres, ueauth.KDFLen(xres))
	if err != nil {
		return Vector{}, err
	}
	copy(v.XRESStar[:], xresStar[16:])
	// TS 33.501 A.5.
	hxres := sha256.Sum256(append(append(make([]byte, 0, 32), rand[:]...), v.XRESStar[:]...))
	copy(v.HXRESStar[:], hxres[16:])
	// TS 33.501 A.2: the second parameter is SQN xor AK, the first six octets of AUTN.
	kausf, err := ueauth.GetKDFValue(ckik, ueauth.FC_FOR_KAUSF_DERIVATION,
		snn, ueauth.KDFLen(snn), autn[:6], ueauth.KDFLen(autn[:6]))
	if err != nil {
		return Vector{}, err
	}
	// TS 33.501 A.6.
	kseaf, err := ueauth.GetKDFValue(kausf, ueauth.FC_FOR_KSEAF_DERIVATION, snn, ueauth.KDFLen(snn))
	if err != nil {
		return Vector{}, err
	}
	copy(v.KSEAF[:], kseaf)
	return v, nil
}

// OpenAUTS verifies a resynchronisation token and returns the USIM's highest sequence number, SQN_MS
// (TS 33.102 6.3.3 and 6.3.5). rand is the challenge that the USIM answered.
func (c Credentials) OpenAUTS(rand [16]byte, auts [14]byte) (SQN, error) {
	sqnMS, err := milenage.ValidateAUTS(c.opc[:], c.k[:], rand[:], auts[:])
	if err != nil {
		// The library's error quotes the MAC that was expected: it stays here.
		var mismatch *milenage.MACFailureError
		if errors.As(err, &mismatch) {
			return 0, ErrMACFailure
		}
		return 0, errors.New("AUTS cannot be opened")
	}
	return sqnFromBytes(sqnMS), nil
}
