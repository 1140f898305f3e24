package suci

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Lengths of TS 33.501 Annex C.3.4.
const (
	encKeyLength = 16
	icbLength    = 16
	macKeyLength = 32
	macTagLength = 8
)

// PrivateKey is a home network private key. It cannot be printed, logged or marshalled.
type PrivateKey struct {
	scheme Scheme
	key    *ecdh.PrivateKey
}

// ParsePrivateKey reads a home network private key: 64 hexadecimal digits, or PEM (PKCS #8, or SEC 1 for
// Profile B). Its errors never quote the key.
func ParsePrivateKey(scheme Scheme, text string) (PrivateKey, error) {
	curve, err := curveOf(scheme)
	if err != nil {
		return PrivateKey{}, err
	}
	text = strings.TrimSpace(text)
	if block, _ := pem.Decode([]byte(text)); block != nil {
		key, err := parseDER(block)
		if err != nil {
			return PrivateKey{}, err
		}
		if key.Curve() != curve {
			return PrivateKey{}, fmt.Errorf("the private key is of another curve than profile %s", scheme)
		}
		return PrivateKey{scheme: scheme, key: key}, nil
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 32 {
		return PrivateKey{}, errors.New("the private key must be 64 hexadecimal digits or PEM")
	}
	key, err := curve.NewPrivateKey(raw)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("the private key is not valid for profile %s", scheme)
	}
	return PrivateKey{scheme: scheme, key: key}, nil
}

func parseDER(block *pem.Block) (*ecdh.PrivateKey, error) {
	notUsable := errors.New("the PEM block holds no private key of Curve25519 or secp256r1")
	if block.Type == "EC PRIVATE KEY" {
		k, err := x509.ParseECPrivateKey(block.Bytes)
		if err != nil {
			return nil, notUsable
		}
		return k.ECDH()
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, notUsable
	}
	switch k := k.(type) {
	case *ecdh.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		return k.ECDH()
	}
	return nil, notUsable
}

func curveOf(scheme Scheme) (ecdh.Curve, error) {
	switch scheme {
	case ProfileA:
		return ecdh.X25519(), nil
	case ProfileB:
		return ecdh.P256(), nil
	}
	return nil, fmt.Errorf("%w: %d", ErrUnsupportedScheme, scheme)
}

// String names the scheme.
func (s Scheme) String() string {
	switch s {
	case NullScheme:
		return "null"
	case ProfileA:
		return "A"
	case ProfileB:
		return "B"
	}
	return fmt.Sprintf("%d", uint8(s))
}

// Format implements fmt.Formatter for every verb.
func (PrivateKey) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "[redacted]") }

// LogValue implements slog.LogValuer.
func (PrivateKey) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// MarshalText keeps encoding/json and friends from looking inside.
func (PrivateKey) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// PublicKey returns the home network public key in the form that is written onto USIMs: 32 octets for
// Profile A, a compressed point of 33 for Profile B.
func (k PrivateKey) PublicKey() []byte {
	b := k.key.PublicKey().Bytes()
	if k.scheme == ProfileB {
		return append([]byte{2 + b[64]&1}, b[1:33]...)
	}
	return b
}

// open decrypts a scheme output (TS 33.501 Annex C.3.3): ephemeral public key, ciphertext, MAC tag.
func (k PrivateKey) open(scheme Scheme, output []byte) ([]byte, error) {
	if k.key == nil || k.scheme != scheme {
		return nil, ErrUnknownKey
	}
	peer, rest, err := splitEphemeral(scheme, output)
	if err != nil {
		return nil, err
	}
	sharedInfo := output[:len(output)-len(rest)]
	if len(rest) < macTagLength+1 {
		return nil, fmt.Errorf("%w: too short", ErrSchemeOutput)
	}
	ciphertext, tag := rest[:len(rest)-macTagLength], rest[len(rest)-macTagLength:]

	// ECDH refuses the all-zero result of a low-order point.
	z, err := k.key.ECDH(peer)
	if err != nil {
		return nil, fmt.Errorf("%w: ephemeral public key", ErrSchemeOutput)
	}
	keys := x963KDF(z, sharedInfo, encKeyLength+icbLength+macKeyLength)
	encKey, icb, macKey := keys[:encKeyLength], keys[encKeyLength:encKeyLength+icbLength], keys[encKeyLength+icbLength:]

	mac := hmac.New(sha256.New, macKey)
	mac.Write(ciphertext)
	if !hmac.Equal(mac.Sum(nil)[:macTagLength], tag) {
		return nil, fmt.Errorf("%w: MAC tag", ErrSchemeOutput)
	}
	block, err := aes.NewCipher(encKey)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(ciphertext))
	cipher.NewCTR(block, icb).XORKeyStream(plain, ciphertext)
	return plain, nil
}

// splitEphemeral takes the ephemeral public key off the scheme output. TS 33.501 C.3.4.2 has Profile B
// compress the point; some UEs do not, and the first octet tells.
func splitEphemeral(scheme Scheme, output []byte) (*ecdh.PublicKey, []byte, error) {
	bad := fmt.Errorf("%w: ephemeral public key", ErrSchemeOutput)
	if len(output) == 0 {
		return nil, nil, bad
	}
	length := 32
	if scheme == ProfileB {
		switch output[0] {
		case 2, 3:
			length = 33
		case 4:
			length = 65
		default:
			return nil, nil, bad
		}
	}
	if len(output) < length {
		return nil, nil, bad
	}
	point, rest := output[:length], output[length:]
	curve := ecdh.X25519()
	if scheme == ProfileB {
		curve = ecdh.P256()
		if length == 33 {
			x, y := elliptic.UnmarshalCompressed(elliptic.P256(), point)
			if x == nil {
				return nil, nil, bad
			}
			full := make([]byte, 65)
			full[0] = 4
			x.FillBytes(full[1:33])
			y.FillBytes(full[33:])
			point = full
		}
	}
	peer, err := curve.NewPublicKey(point)
	if err != nil {
		return nil, nil, bad
	}
	return peer, rest, nil
}

// x963KDF is the key derivation function of ANSI X9.63 with SHA-256 (SEC 1 3.6.1).
func x963KDF(z, sharedInfo []byte, length int) []byte {
	var out []byte
	for counter := uint32(1); len(out) < length; counter++ {
		h := sha256.New()
		h.Write(z)
		h.Write(binary.BigEndian.AppendUint32(nil, counter))
		h.Write(sharedInfo)
		out = h.Sum(out)
	}
	return out[:length]
}
