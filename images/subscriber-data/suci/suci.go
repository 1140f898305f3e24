package suci

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Scheme is a protection scheme identifier (TS 23.003 2.2B).
type Scheme uint8

// Protection schemes.
const (
	NullScheme Scheme = 0
	ProfileA   Scheme = 1
	ProfileB   Scheme = 2
)

// SUPIType is the SUPI type of a SUCI (TS 23.003 2.2B).
type SUPIType uint8

// SUPI types.
const (
	IMSI SUPIType = 0
	// NAI is a network specific identifier.
	NAI SUPIType = 1
)

// Why a SUCI cannot be turned into a SUPI; TS 29.503 6.3.7.3 names each of them.
var (
	ErrMalformed         = errors.New("malformed SUCI")
	ErrUnsupportedScheme = errors.New("unsupported protection scheme")
	ErrUnknownKey        = errors.New("unknown home network public key identifier")
	ErrSchemeOutput      = errors.New("the scheme output cannot be decrypted")
)

// SUCI is a parsed subscription concealed identifier.
type SUCI struct {
	Type SUPIType
	// HomeNetwork is MCC and MNC for an IMSI, the realm for a network specific identifier.
	HomeNetwork      string
	RoutingIndicator string
	Scheme           Scheme
	KeyID            uint8
	// Output is the scheme output as text: digits or a user name with the null scheme, else hexadecimal.
	Output string
}

// maxLength bounds what is parsed at all: a network specific identifier is at most 253 octets, and
// ECIES adds less than 200 to its hexadecimal form.
const maxLength = 1024

// The syntax is that of SupiOrSuci in TS 29.571 5.3.2.
var (
	imsiSUCI = regexp.MustCompile(`^suci-0-([0-9]{3})-([0-9]{2,3})-([0-9]{1,4})-([0-9a-fA-F])-([0-9]{1,3})-([0-9a-fA-F]*)$`)
	naiSUCI  = regexp.MustCompile(`^suci-1-(.+?)-([0-9]{1,4})-([0-9a-fA-F])-([0-9]{1,3})-(.+)$`)
	msin     = regexp.MustCompile(`^[0-9]{1,12}$`)
	imsi     = regexp.MustCompile(`^imsi-[0-9]{5,15}$`)
)

// IsSUCI reports whether an identity of TS 29.571's type SupiOrSuci is a SUCI.
func IsSUCI(supiOrSUCI string) bool { return strings.HasPrefix(supiOrSUCI, "suci-") }

// IsSUPI reports whether the text is an IMSI or a network specific identifier in the form of TS 29.571.
func IsSUPI(supi string) bool {
	return len(supi) <= maxLength && (imsi.MatchString(supi) || strings.HasPrefix(supi, "nai-") && len(supi) > len("nai-"))
}

// Parse reads the text form of a SUCI.
func Parse(text string) (SUCI, error) {
	if len(text) > maxLength {
		return SUCI{}, fmt.Errorf("%w: longer than %d characters", ErrMalformed, maxLength)
	}
	if m := imsiSUCI.FindStringSubmatch(text); m != nil {
		return build(IMSI, m[1]+m[2], m[3], m[4], m[5], m[6])
	}
	if m := naiSUCI.FindStringSubmatch(text); m != nil {
		return build(NAI, m[1], m[2], m[3], m[4], m[5])
	}
	return SUCI{}, ErrMalformed
}

func build(t SUPIType, homeNetwork, routing, scheme, key, output string) (SUCI, error) {
	s, err := strconv.ParseUint(scheme, 16, 8)
	if err != nil {
		return SUCI{}, fmt.Errorf("%w: protection scheme", ErrMalformed)
	}
	k, err := strconv.ParseUint(key, 10, 8)
	if err != nil {
		return SUCI{}, fmt.Errorf("%w: home network public key identifier", ErrMalformed)
	}
	if output == "" {
		return SUCI{}, fmt.Errorf("%w: no scheme output", ErrMalformed)
	}
	return SUCI{
		Type: t, HomeNetwork: homeNetwork, RoutingIndicator: routing,
		Scheme: Scheme(s), KeyID: uint8(k), Output: output,
	}, nil
}

// SUPI de-conceals the identity. key returns the home network private key with the given identifier for
// the given scheme, or an error.
func (s SUCI) SUPI(key func(id uint8, scheme Scheme) (PrivateKey, error)) (string, error) {
	if s.Scheme == NullScheme {
		if s.Type == NAI {
			return s.supi(s.Output)
		}
		if !msin.MatchString(s.Output) {
			return "", fmt.Errorf("%w: the MSIN must be decimal digits", ErrMalformed)
		}
		return s.supi(s.Output)
	}
	if s.Scheme != ProfileA && s.Scheme != ProfileB {
		return "", fmt.Errorf("%w: %d", ErrUnsupportedScheme, s.Scheme)
	}
	output, err := s.binaryOutput()
	if err != nil {
		return "", err
	}
	k, err := key(s.KeyID, s.Scheme)
	if err != nil {
		return "", err
	}
	plain, err := k.open(s.Scheme, output)
	if err != nil {
		return "", err
	}
	if s.Type == NAI {
		return s.supi(string(plain))
	}
	digits, err := decodeMSIN(plain)
	if err != nil {
		return "", err
	}
	return s.supi(digits)
}

// binaryOutput is ephemeral public key, ciphertext and MAC tag. In a network specific identifier each
// carries a label (TS 23.003 28.7.3).
func (s SUCI) binaryOutput() ([]byte, error) {
	text := s.Output
	if s.Type == NAI {
		parts := strings.Split(text, ".")
		if len(parts) == 3 && strings.HasPrefix(parts[0], "ecckey") && strings.HasPrefix(parts[1], "cip") &&
			strings.HasPrefix(parts[2], "mac") {
			text = parts[0][len("ecckey"):] + parts[1][len("cip"):] + parts[2][len("mac"):]
		}
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not hexadecimal", ErrSchemeOutput)
	}
	return b, nil
}

func (s SUCI) supi(subscriber string) (string, error) {
	supi := "imsi-" + s.HomeNetwork + subscriber
	if s.Type == NAI {
		supi = "nai-" + subscriber + "@" + s.HomeNetwork
	}
	if !IsSUPI(supi) {
		return "", fmt.Errorf("%w: it yields no SUPI", ErrMalformed)
	}
	return supi, nil
}

// decodeMSIN reads binary coded decimal digits, low nibble first, padded with 1111 (TS 24.501 9.11.3.4).
func decodeMSIN(b []byte) (string, error) {
	var digits strings.Builder
	for i, octet := range b {
		for j, nibble := range [2]byte{octet & 0xf, octet >> 4} {
			if nibble == 0xf && i == len(b)-1 && j == 1 {
				continue
			}
			if nibble > 9 {
				return "", fmt.Errorf("%w: the MSIN is not decimal", ErrSchemeOutput)
			}
			digits.WriteByte('0' + nibble)
		}
	}
	if !msin.MatchString(digits.String()) {
		return "", fmt.Errorf("%w: the MSIN has %d digits", ErrSchemeOutput, digits.Len())
	}
	return digits.String(), nil
}
