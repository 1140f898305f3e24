package suci

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Home network private keys of TS 33.501 Annex C.4.
const (
	privateA = "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d"
	privateB = "F1AB1074477EBCC7F554EA1C5FC368B1616730155E0041AC447D6301975FECDA"
)

func annexC4Keys(t testing.TB) func(uint8, Scheme) (PrivateKey, error) {
	t.Helper()
	keys := make(map[Scheme]PrivateKey)
	for scheme, text := range map[Scheme]string{ProfileA: privateA, ProfileB: privateB} {
		k, err := ParsePrivateKey(scheme, text)
		if err != nil {
			t.Fatal(err)
		}
		keys[scheme] = k
	}
	return func(id uint8, scheme Scheme) (PrivateKey, error) {
		if id != 27 {
			return PrivateKey{}, ErrUnknownKey
		}
		return keys[scheme], nil
	}
}

func supiOf(t testing.TB, text string) (string, error) {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		return "", err
	}
	return s.SUPI(annexC4Keys(t))
}

func TestSUPIOfTheSpecificationsTestData(t *testing.T) {
	tests := map[string]struct{ suci, want string }{
		"C.4.2.1: null scheme, IMSI": {"suci-0-274-012-678-0-0-001002086", "imsi-274012001002086"},
		"null scheme, IMSI with an MNC of two digits": {
			"suci-0-208-93-0000-0-0-0000000001", "imsi-208930000000001",
		},
		"C.4.2.2: null scheme, network specific identifier": {
			"suci-1-3gpp.com-0-0-0-verylongusername1", "nai-verylongusername1@3gpp.com",
		},
		"C.4.3.1: profile A, IMSI": {
			"suci-0-274-012-678-1-27-b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87",
			"imsi-274012001002086",
		},
		"C.4.3.2: profile A, network specific identifier": {
			"suci-1-3gpp.com-678-1-27-ecckey977D8B2FDAA7B64AA700D04227D5B440630EA4EC50F9082273A26BB678C92222.cip8E358A1582ADB15322C10E515141D2039A.mac12E1D7783A97F1AC",
			"nai-verylongusername1@3gpp.com",
		},
		"C.4.4.1: profile B, IMSI": {
			"suci-0-274-012-678-2-27-039AAB8376597021E855679A9778EA0B67396E68C66DF32C0F41E9ACCA2DA9B9D146A33FC2716AC7DAE96AA30A4D",
			"imsi-274012001002086",
		},
		"C.4.4.2: profile B, network specific identifier": {
			"suci-1-3gpp.com-678-2-27-ecckey03759BB22C563D9F4A6B3C1419E543FC2F39D6823F02A9D71162B39399218B244B.cipBE22D8B9F856A52ED381CD7EAF4CF2D525.mac3CDDC61A0A7882EB",
			"nai-verylongusername1@3gpp.com",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := supiOf(t, test.suci)
			if err != nil || got != test.want {
				t.Errorf("SUPI %q, error %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestSUPIRefuses(t *testing.T) {
	const a = "b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87"
	const b = "039AAB8376597021E855679A9778EA0B67396E68C66DF32C0F41E9ACCA2DA9B9D146A33FC2716AC7DAE96AA30A4D"
	tests := map[string]struct {
		suci string
		want error
	}{
		"an empty text":                    {"", ErrMalformed},
		"a SUPI":                           {"imsi-208930000000001", ErrMalformed},
		"too few fields":                   {"suci-0-208-93-0000-0-0000000001", ErrMalformed},
		"an MCC of two digits":             {"suci-0-20-93-0000-0-0-0000000001", ErrMalformed},
		"a routing indicator of letters":   {"suci-0-208-93-x-0-0-0000000001", ErrMalformed},
		"a key identifier above 255":       {"suci-0-208-93-0000-1-256-" + a, ErrMalformed},
		"no scheme output":                 {"suci-0-208-93-0000-0-0-", ErrMalformed},
		"an MSIN that is not decimal":      {"suci-0-208-93-0000-0-0-00000000ab", ErrMalformed},
		"an IMSI of more than 15 digits":   {"suci-0-208-93-0000-0-0-00000000012", ErrMalformed},
		"a SUPI type that is reserved":     {"suci-7-208-93-0000-0-0-0000000001", ErrMalformed},
		"a text without end":               {"suci-0-208-93-0000-1-1-" + strings.Repeat("00", 600), ErrMalformed},
		"a proprietary scheme":             {"suci-0-208-93-0000-c-27-" + a, ErrUnsupportedScheme},
		"a key that does not exist":        {"suci-0-274-012-678-1-28-" + a, ErrUnknownKey},
		"output that is not whole octets":  {"suci-0-274-012-678-1-27-" + a[1:], ErrSchemeOutput},
		"output without a MAC tag":         {"suci-0-274-012-678-1-27-" + a[:64+10], ErrSchemeOutput},
		"output without a ciphertext":      {"suci-0-274-012-678-1-27-" + a[:64+16], ErrSchemeOutput},
		"an ephemeral key cut short":       {"suci-0-274-012-678-1-27-" + a[:40], ErrSchemeOutput},
		"an ephemeral key of low order":    {"suci-0-274-012-678-1-27-" + strings.Repeat("00", 32) + a[64:], ErrSchemeOutput},
		"a point that is not on the curve": {"suci-0-274-012-678-2-27-02" + strings.Repeat("ff", 32) + b[66:], ErrSchemeOutput},
		"a point in an unknown form":       {"suci-0-274-012-678-2-27-05" + b[2:], ErrSchemeOutput},
		"profile A's output as profile B":  {"suci-0-274-012-678-2-27-" + a, ErrSchemeOutput},
		"another home network's key pair":  {"suci-0-274-012-678-1-27-977D8B2FDAA7B64AA700D04227D5B440630EA4EC50F9082273A26BB678C92222" + a[64:], ErrSchemeOutput},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := supiOf(t, test.suci); !errors.Is(err, test.want) {
				t.Errorf("SUPI %q, error %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestSUPIRefusesEveryFlippedBit(t *testing.T) {
	for scheme, output := range map[Scheme]string{
		ProfileA: "b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87",
		ProfileB: "039AAB8376597021E855679A9778EA0B67396E68C66DF32C0F41E9ACCA2DA9B9D146A33FC2716AC7DAE96AA30A4D",
	} {
		raw, err := hex.DecodeString(output)
		if err != nil {
			t.Fatal(err)
		}
		for bit := range len(raw) * 8 {
			// X25519 ignores the highest bit of a coordinate, and the KDF then sees another shared info.
			raw[bit/8] ^= 1 << (bit % 8)
			got, err := supiOf(t, fmt.Sprintf("suci-0-274-012-678-%d-27-%x", scheme, raw))
			if !errors.Is(err, ErrSchemeOutput) {
				t.Errorf("profile %s, bit %d: SUPI %q, error %v", scheme, bit, got, err)
			}
			raw[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// conceal is the UE's side (TS 33.501 C.3.2), written apart from what it checks.
func conceal(t testing.TB, scheme Scheme, homeNetwork *ecdh.PublicKey, plain []byte, uncompressed bool) []byte {
	t.Helper()
	curve := homeNetwork.Curve()
	ephemeral, err := curve.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	z, err := ephemeral.ECDH(homeNetwork)
	if err != nil {
		t.Fatal(err)
	}
	point := ephemeral.PublicKey().Bytes()
	if scheme == ProfileB && !uncompressed {
		point = append([]byte{2 + point[64]&1}, point[1:33]...)
	}
	round := func(n byte) []byte {
		h := sha256.Sum256(append(append(append([]byte{}, z...), 0, 0, 0, n), point...))
		return h[:]
	}
	keys := append(round(1), round(2)...)
	block, err := aes.NewCipher(keys[:16])
	if err != nil {
		t.Fatal(err)
	}
	ciphertext := make([]byte, len(plain))
	cipher.NewCTR(block, keys[16:32]).XORKeyStream(ciphertext, plain)
	mac := hmac.New(sha256.New, keys[32:64])
	mac.Write(ciphertext)
	return append(append(point, ciphertext...), mac.Sum(nil)[:8]...)
}

func TestSUPIOfFreshlyConcealedIdentities(t *testing.T) {
	keys := annexC4Keys(t)
	for _, test := range []struct {
		scheme       Scheme
		uncompressed bool
	}{{ProfileA, false}, {ProfileB, false}, {ProfileB, true}} {
		key, err := keys(27, test.scheme)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			output := conceal(t, test.scheme, key.key.PublicKey(), []byte{0x21, 0x43, 0x65, 0x87, 0x09}, test.uncompressed)
			got, err := supiOf(t, fmt.Sprintf("suci-0-208-93-0-%d-27-%x", test.scheme, output))
			if err != nil || got != "imsi-208931234567890" {
				t.Errorf("profile %s, uncompressed %v: SUPI %q, error %v", test.scheme, test.uncompressed, got, err)
			}
		}
		// A plaintext that is no MSIN, properly encrypted.
		output := conceal(t, test.scheme, key.key.PublicKey(), []byte{0x21, 0xab}, test.uncompressed)
		if got, err := supiOf(t, fmt.Sprintf("suci-0-208-93-0-%d-27-%x", test.scheme, output)); !errors.Is(err, ErrSchemeOutput) {
			t.Errorf("profile %s: SUPI %q, error %v", test.scheme, got, err)
		}
	}
}

func TestPublicKeyIsThatOfTheSpecification(t *testing.T) {
	keys := annexC4Keys(t)
	want := map[Scheme]string{
		ProfileA: "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650",
		ProfileB: "0272da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1",
	}
	for scheme, text := range want {
		k, err := keys(27, scheme)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, hex.EncodeToString(k.PublicKey())); diff != "" {
			t.Errorf("profile %s (-want +got):\n%s", scheme, diff)
		}
	}
}

func TestParsePrivateKeyReadsPEM(t *testing.T) {
	x25519, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(k any) string {
		der, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	sec1, err := x509.MarshalECPrivateKey(p256)
	if err != nil {
		t.Fatal(err)
	}
	sec1PEM := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}))
	tests := map[string]struct {
		scheme Scheme
		text   string
		ok     bool
	}{
		"Curve25519 for profile A":           {ProfileA, pkcs8(x25519), true},
		"secp256r1 for profile B":            {ProfileB, pkcs8(p256), true},
		"secp256r1 as SEC 1":                 {ProfileB, sec1PEM, true},
		"secp256r1 for profile A":            {ProfileA, pkcs8(p256), false},
		"Curve25519 for profile B":           {ProfileB, pkcs8(x25519), false},
		"hexadecimal with white space":       {ProfileA, " " + privateA + "\n", true},
		"hexadecimal that is too short":      {ProfileA, privateA[2:], false},
		"zero, which is no key of secp256r1": {ProfileB, strings.Repeat("00", 32), false},
		"nothing":                            {ProfileA, "", false},
		"the null scheme":                    {NullScheme, privateA, false},
		"a certificate": {ProfileA, string(pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1, 2}})), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePrivateKey(test.scheme, test.text)
			if (err == nil) != test.ok {
				t.Errorf("error %v, want none: %v", err, test.ok)
			}
			if err != nil && strings.Contains(err.Error(), privateA[2:10]) {
				t.Errorf("the error quotes the key: %v", err)
			}
		})
	}
}

func TestPrivateKeysCannotBePrinted(t *testing.T) {
	k, err := annexC4Keys(t)(27, ProfileA)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%v %+v %#v %s %x", k, k, k, k, k)
	js, err := json.Marshal(struct{ K PrivateKey }{k})
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("[redacted] ", 5) + `{"K":"[redacted]"}`; text+" "+string(js) != want {
		t.Errorf("%s %s, want %s", text, js, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"suci-0-208-93-0000-0-0-0000000001", "suci-1-3gpp.com-0-0-0-user-name-1", "suci-0-274-012-678-1-27-b2e9",
		"suci-0-274-012-678-1-27-b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87",
		"suci-0-274-012-678-2-27-039AAB8376597021E855679A9778EA0B67396E68C66DF32C0F41E9ACCA2DA9B9D146A33FC2716AC7DAE96AA30A4D",
		"imsi-208930000000001", "suci-", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		// What parses says the same when it is written down again.
		rebuilt := fmt.Sprintf("suci-%d-%s-%s-%x-%d-%s", s.Type, s.HomeNetwork, s.RoutingIndicator, uint8(s.Scheme), s.KeyID, s.Output)
		if s.Type == IMSI {
			rebuilt = fmt.Sprintf("suci-0-%s-%s-%s-%x-%d-%s", s.HomeNetwork[:3], s.HomeNetwork[3:], s.RoutingIndicator, uint8(s.Scheme), s.KeyID, s.Output)
		}
		if again, err := Parse(rebuilt); err != nil || again != s {
			t.Errorf("%q parses to %+v, written again to %+v, error %v", text, s, again, err)
		}
		if supi, err := s.SUPI(annexC4Keys(t)); err == nil && !IsSUPI(supi) {
			t.Errorf("%q yields %q, which is no SUPI", text, supi)
		}
	})
}
