package usim

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Scheme is a protection scheme identifier (TS 33.501 C.1).
type Scheme uint8

// The schemes of TS 33.501 Annex C.
const (
	NullScheme Scheme = 0
	ProfileA   Scheme = 1 // X25519
	ProfileB   Scheme = 2 // secp256r1, points compressed
)

func (s Scheme) String() string {
	return [...]string{"null", "A", "B"}[min(s, 2)]
}

// HomeNetworkKey is the public key of the home network that a UE conceals its SUPI with.
type HomeNetworkKey struct {
	Scheme Scheme
	ID     uint8
	public *ecdh.PublicKey
}

// ParseHomeNetworkKey checks the octets of a public key: 32 for Profile A; 33 (compressed) or 65
// for Profile B. The null scheme takes none.
func ParseHomeNetworkKey(s Scheme, id uint8, key []byte) (*HomeNetworkKey, error) {
	h := &HomeNetworkKey{Scheme: s, ID: id}
	var err error
	switch s {
	case NullScheme:
		if len(key) > 0 {
			return nil, fmt.Errorf("the null scheme takes no public key")
		}
	case ProfileA:
		h.public, err = ecdh.X25519().NewPublicKey(key)
	case ProfileB:
		h.public, err = parseP256(key)
	default:
		return nil, fmt.Errorf("protection scheme %d is not one of null (0), A (1), B (2)", s)
	}
	if err != nil {
		return nil, fmt.Errorf("home network public key for profile %s: %w", s, err)
	}
	return h, nil
}

func parseP256(key []byte) (*ecdh.PublicKey, error) {
	if len(key) == 33 {
		x, y := elliptic.UnmarshalCompressed(elliptic.P256(), key)
		if x == nil {
			return nil, fmt.Errorf("not a compressed point of secp256r1")
		}
		key = append([]byte{4}, make([]byte, 64)...)
		x.FillBytes(key[1:33])
		y.FillBytes(key[33:])
	}
	return ecdh.P256().NewPublicKey(key)
}

// SUCI makes the octets of a 5GS mobile identity of type SUCI (TS 24.501 9.11.3.4) for an IMSI-based
// SUPI. routing is the routing indicator, one to four digits. Every call of profile A or B uses a
// fresh ephemeral key from random (nil: the system's).
func SUCI(supi string, mncDigits int, routing string, key *HomeNetworkKey, random io.Reader) ([]byte, error) {
	imsi := strings.TrimPrefix(supi, "imsi-")
	if len(imsi) < 3+mncDigits+1 {
		return nil, fmt.Errorf("SUPI %q is too short for a %d-digit MNC", supi, mncDigits)
	}
	if random == nil {
		random = rand.Reader
	}
	const supiFormatIMSI, typeSUCI = 0, 1
	out := []byte{supiFormatIMSI<<4 | typeSUCI}
	out = append(out, EncodePLMN(imsi[:3], imsi[3:3+mncDigits])...)
	out = append(out, bcd(fmt.Sprintf("%-4s", routing))...)
	msin := bcd(imsi[3+mncDigits:])

	out = append(out, byte(key.Scheme), key.ID)
	if key.Scheme == NullScheme {
		return append(out, msin...), nil
	}
	conceal, err := key.conceal(msin, random)
	if err != nil {
		return nil, err
	}
	return append(out, conceal...), nil
}

// conceal is the ECIES encryption of TS 33.501 C.3.2: ephemeral public key || ciphertext || MAC tag.
func (h *HomeNetworkKey) conceal(plain []byte, random io.Reader) ([]byte, error) {
	private, err := h.public.Curve().GenerateKey(random)
	if err != nil {
		return nil, err
	}
	return h.concealWith(private, plain)
}

func (h *HomeNetworkKey) concealWith(private *ecdh.PrivateKey, plain []byte) ([]byte, error) {
	shared, err := private.ECDH(h.public)
	if err != nil {
		return nil, err
	}
	ephemeral := private.PublicKey().Bytes()
	if h.Scheme == ProfileB {
		// C.3.4.2: the point travels, and enters the KDF as SharedInfo1, compressed.
		ephemeral = append([]byte{2 + ephemeral[64]&1}, ephemeral[1:33]...)
	}
	key := x963(shared, ephemeral, 16+16+32)
	block, err := aes.NewCipher(key[:16])
	if err != nil {
		return nil, err
	}
	ct := make([]byte, len(plain))
	cipher.NewCTR(block, key[16:32]).XORKeyStream(ct, plain)
	mac := hmac.New(sha256.New, key[32:])
	mac.Write(ct)
	return append(append(ephemeral, ct...), mac.Sum(nil)[:8]...), nil
}

// x963 is the ANSI-X9.63 key derivation function with SHA-256 (SEC 1, 3.6.1).
func x963(shared, info []byte, n int) []byte {
	var out []byte
	for counter := uint32(1); len(out) < n; counter++ {
		h := sha256.New()
		h.Write(shared)
		h.Write(binary.BigEndian.AppendUint32(nil, counter))
		h.Write(info)
		out = h.Sum(out)
	}
	return out[:n]
}

// EncodePLMN packs MCC and MNC into three octets (TS 24.501 Figure 9.11.3.4.1).
func EncodePLMN(mcc, mnc string) []byte {
	d := func(c byte) byte { return c - '0' }
	third := byte(0xF)
	if len(mnc) == 3 {
		third = d(mnc[2])
	}
	return []byte{d(mcc[1])<<4 | d(mcc[0]), third<<4 | d(mcc[2]), d(mnc[1])<<4 | d(mnc[0])}
}

// bcd packs digits low half octet first; a missing last digit, or a space, becomes filler F.
func bcd(digits string) []byte {
	if len(digits)%2 == 1 {
		digits += " "
	}
	half := func(c byte) byte {
		if c == ' ' {
			return 0xF
		}
		return c - '0'
	}
	out := make([]byte, 0, len(digits)/2)
	for i := 0; i < len(digits); i += 2 {
		out = append(out, half(digits[i+1])<<4|half(digits[i]))
	}
	return out
}
