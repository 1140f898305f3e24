package fakeamf

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/free5gc/util/milenage"
	"github.com/free5gc/util/ueauth"
)

// Subscriber is one subscription of the home network.
type Subscriber struct {
	K, OPc string // hexadecimal
	SQN    uint64 // of the last vector
}

func mustHex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func kdf(key []byte, fc string, params ...[]byte) []byte {
	var args [][]byte
	for _, p := range params {
		args = append(args, p, ueauth.KDFLen(p))
	}
	out, err := ueauth.GetKDFValue(key, fc, args...)
	if err != nil {
		panic(err)
	}
	return out
}

func sqnOctets(sqn uint64) []byte { return binary.BigEndian.AppendUint64(nil, sqn)[2:] }

type vector struct {
	rand, autn, xresStar []byte
	kamf                 []byte
}

// newVector makes a 5G HE AV and the keys below it (TS 33.501 6.1.3.2, Annex A).
func newVector(s *Subscriber, supi, snn string, rand []byte) vector {
	k, opc := mustHex(s.K), mustHex(s.OPc)
	ik, ck, res, autn, err := milenage.GenerateAKAParameters(opc, k, rand, sqnOctets(s.SQN), []byte{0x80, 0})
	if err != nil {
		panic(err)
	}
	ckik := append(append([]byte{}, ck...), ik...)
	kausf := kdf(ckik, ueauth.FC_FOR_KAUSF_DERIVATION, []byte(snn), autn[:6])
	kseaf := kdf(kausf, ueauth.FC_FOR_KSEAF_DERIVATION, []byte(snn))
	return vector{
		rand: rand, autn: autn,
		xresStar: kdf(ckik, ueauth.FC_FOR_RES_STAR_XRES_STAR_DERIVATION, []byte(snn), rand, res)[16:],
		kamf:     kdf(kseaf, ueauth.FC_FOR_KAMF_DERIVATION, []byte(supi), []byte{0, 0}),
	}
}

func nasKeys(kamf []byte, integrity, ciphering uint8) (kInt, kEnc [16]byte) {
	copy(kInt[:], kdf(kamf, ueauth.FC_FOR_ALGORITHM_KEY_DERIVATION, []byte{2}, []byte{integrity})[16:])
	copy(kEnc[:], kdf(kamf, ueauth.FC_FOR_ALGORITHM_KEY_DERIVATION, []byte{1}, []byte{ciphering})[16:])
	return kInt, kEnc
}
