package security

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	theirs "github.com/free5gc/nas/security"
	"github.com/free5gc/util/ueauth"

	"core5g.dev/core5g/images/access-management/n1"
)

var (
	seaf = Key{0: 1, 31: 2}
	abba = []byte{0, 0}
)

const supi = "imsi-208930000000003"

// Keys are as free5GC's key derivation function makes them of the parameters that TS 33.501 Annex A names.
func TestKeys(t *testing.T) {
	derived := func(key []byte, fc string, parameters ...[]byte) (k Key) {
		var all [][]byte
		for _, p := range parameters {
			all = append(all, p, ueauth.KDFLen(p))
		}
		b, err := ueauth.GetKDFValue(key, fc, all...)
		if err != nil {
			t.Fatal(err)
		}
		copy(k[:], b)
		return k
	}
	amf := AMFKey(seaf, supi, abba)
	gnb := GNBKey(amf, 0x010203, Access3GPP)
	algorithm := derived(amf[:], ueauth.FC_FOR_ALGORITHM_KEY_DERIVATION, []byte{2}, []byte{3})
	for name, c := range map[string]struct{ got, want Key }{
		"K_AMF":            {amf, derived(seaf[:], ueauth.FC_FOR_KAMF_DERIVATION, []byte("208930000000003"), abba)},
		"K_AMF of an NAI":  {AMFKey(seaf, "nai-user@example.com", abba), derived(seaf[:], "6D", []byte("user@example.com"), abba)},
		"K_gNB":            {gnb, derived(amf[:], ueauth.FC_FOR_KGNB_KN3IWF_DERIVATION, []byte{0, 1, 2, 3}, []byte{1})},
		"NH":               {NextHop(amf, gnb), derived(amf[:], ueauth.FC_FOR_NH_DERIVATION, gnb[:])},
		"K_NG-RAN*":        {GNBStarKey(gnb, 0x0102, 0x030405), derived(gnb[:], "70", []byte{1, 2}, []byte{3, 4, 5})},
		"K_AMF', uplink":   {AMFPrimeKey(amf, n1.Uplink, 7), derived(amf[:], "72", []byte{0}, []byte{0, 0, 0, 7})},
		"K_AMF', downlink": {AMFPrimeKey(amf, n1.Downlink, 7), derived(amf[:], "72", []byte{1}, []byte{0, 0, 0, 7})},
	} {
		if c.got != c.want {
			t.Errorf("%s = % x, want % x", name, c.got[:], c.want[:])
		}
	}
	if got := AlgorithmKey(amf, NASIntegrity, ZUC); got != NASKey(algorithm[16:]) {
		t.Errorf("K_NASint = % x, want % x", got[:], algorithm[16:])
	}
}

func amf() Key { return AMFKey(seaf, supi, abba) }

// ue is the other side, made of free5GC's library.
type ue struct {
	t          testing.TB
	algorithms n1.Algorithms
	enc, mac   NASKey
	up, down   theirs.Count
	// had: a downlink message came already.
	had bool
}

func newUE(t testing.TB, a n1.Algorithms) *ue {
	return &ue{t: t, algorithms: a, enc: AlgorithmKey(amf(), NASCiphering, a.Ciphering), mac: AlgorithmKey(amf(), NASIntegrity, a.Integrity)}
}

// says protects a message.
func (u *ue) says(header n1.SecurityHeader, m []byte) []byte {
	u.t.Helper()
	payload := bytes.Clone(m)
	if header.Ciphered() {
		if err := theirs.NASEncrypt(u.algorithms.Ciphering, u.enc, u.up.Get(), theirs.Bearer3GPP, theirs.DirectionUplink, payload); err != nil {
			u.t.Fatal(err)
		}
	}
	b := n1.Envelope{Header: header, Sequence: u.up.SQN(), Payload: payload}.Append(nil)
	mac, err := theirs.NASMacCalculate(u.algorithms.Integrity, u.mac, u.up.Get(), theirs.Bearer3GPP, theirs.DirectionUplink, b[6:])
	if err != nil {
		u.t.Fatal(err)
	}
	copy(b[2:], mac)
	u.up.AddOne()
	return b
}

// hears checks and deciphers a message, by the COUNT that a UE estimates (TS 24.501 4.4.3.1).
func (u *ue) hears(b []byte) ([]byte, error) {
	u.t.Helper()
	if u.had && b[6] <= u.down.SQN() {
		u.down.SetOverflow(u.down.Overflow() + 1)
	}
	u.down.SetSQN(b[6])
	u.had = true
	mac, err := theirs.NASMacCalculate(u.algorithms.Integrity, u.mac, u.down.Get(), theirs.Bearer3GPP, theirs.DirectionDownlink, b[6:])
	if err != nil {
		u.t.Fatal(err)
	}
	if !bytes.Equal(mac, b[2:6]) {
		return nil, errors.New("the UE's code is another one")
	}
	payload := bytes.Clone(b[7:])
	if n1.SecurityHeader(b[1]).Ciphered() {
		if err := theirs.NASEncrypt(u.algorithms.Ciphering, u.enc, u.down.Get(), theirs.Bearer3GPP, theirs.DirectionDownlink, payload); err != nil {
			u.t.Fatal(err)
		}
	}
	return payload, nil
}

var (
	status       = []byte{0x7e, 0, 0x64, 0x6f}
	complete     = []byte{0x7e, 0, 0x43}
	registration = []byte{0x7e, 0, 0x41, 0x09, 0, 1, 0} // ngKSI 0
)

// Both sides understand each other, with every algorithm, over many messages: sequence numbers overflow.
func TestBothSides(t *testing.T) {
	for algorithm := SNOW3G; algorithm <= ZUC; algorithm++ {
		for _, ciphering := range []uint8{Null, algorithm} {
			t.Run(fmt.Sprintf("NIA%d and NEA%d", algorithm, ciphering), func(t *testing.T) {
				a := n1.Algorithms{Ciphering: ciphering, Integrity: algorithm}
				k, u := ForNAS(amf(), a), newUE(t, a)
				for i := range uint32(600) {
					b, err := k.Protect(nil, i, n1.IntegrityProtectedAndCiphered, status)
					if err != nil {
						t.Fatalf("message %d: %v", i, err)
					}
					if got, err := u.hears(b); err != nil || !bytes.Equal(got, status) {
						t.Fatalf("message %d: the UE hears % x, %v", i, got, err)
					}
					plain, count, err := k.Open(u.says(n1.IntegrityProtectedAndCiphered, complete), i)
					if err != nil || count != i || !bytes.Equal(plain, complete) {
						t.Fatalf("message %d: % x, COUNT %d, %v", i, plain, count, err)
					}
				}
			})
		}
	}
}

var both = n1.Algorithms{Ciphering: AES, Integrity: AES}

// What is opened, and with which COUNT, where the next may be 300 at least.
func TestOpen(t *testing.T) {
	const next = 300
	for name, c := range map[string]struct {
		header  n1.SecurityHeader
		message []byte
		count   uint32 // that the UE protects it with
		next    uint32
		change  func(b []byte)
		want    error
	}{
		"the next message":                   {header: n1.IntegrityProtectedAndCiphered, message: complete, count: next, next: next},
		"one that is not ciphered":           {header: n1.IntegrityProtected, message: registration, count: next, next: next},
		"a Security Mode Complete":           {header: n1.IntegrityProtectedAndCipheredNewContext, message: complete, count: 0, next: 0},
		"after 250 that did not arrive":      {header: n1.IntegrityProtectedAndCiphered, message: complete, count: next + 250, next: next},
		"after 256 that did not arrive":      {header: n1.IntegrityProtectedAndCiphered, message: complete, count: next + 256, next: next, want: ErrMAC},
		"the last message again":             {header: n1.IntegrityProtectedAndCiphered, message: complete, count: next - 1, next: next, want: ErrMAC},
		"one of 300 messages ago":            {header: n1.IntegrityProtectedAndCiphered, message: complete, count: 0, next: next, want: ErrMAC},
		"the last COUNT":                     {header: n1.IntegrityProtected, message: complete, count: maxCount, next: maxCount},
		"a COUNT that wraps":                 {header: n1.IntegrityProtected, message: complete, count: maxCount + 1, next: maxCount + 1, want: ErrCountWraps},
		"an octet that was changed":          {n1.IntegrityProtectedAndCiphered, complete, next, next, func(b []byte) { b[9] ^= 1 }, ErrMAC},
		"a sequence number that was changed": {n1.IntegrityProtectedAndCiphered, complete, next, next, func(b []byte) { b[6]++ }, ErrMAC},
		"a code that was changed":            {n1.IntegrityProtectedAndCiphered, complete, next, next, func(b []byte) { b[2]++ }, ErrMAC},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUE(t, both)
			u.up.Set(uint16(c.count>>8), uint8(c.count))
			b := u.says(c.header, c.message)
			if c.change != nil {
				c.change(b)
			}
			came := bytes.Clone(b)
			plain, count, err := ForNAS(amf(), both).Open(b, c.next)
			switch {
			case !errors.Is(err, c.want):
				t.Errorf("%v, want %v", err, c.want)
			case err == nil && (count != c.count || !bytes.Equal(plain, c.message)):
				t.Errorf("% x with COUNT %d, want % x with %d", plain, count, c.message, c.count)
			case err != nil && plain != nil:
				t.Errorf("% x of what cannot be opened", plain)
			}
			if !bytes.Equal(b, came) {
				t.Error("what came was changed")
			}
		})
	}
	for name, b := range map[string]string{
		"nothing": "", "a 5GSM message": "2e 01 01 c1 ff ff", "a reserved header": "7e 05 00 00 00 00 00 7e 00 41 79", "no payload": "7e 01 00 00 00 00 00",
	} {
		var fault *n1.Fault
		if _, _, err := ForNAS(amf(), both).Open(octets(t, b), 0); !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProtectRefuses(t *testing.T) {
	if _, err := ForNAS(amf(), both).Protect(nil, maxCount, n1.IntegrityProtected, status); err != nil {
		t.Errorf("the last COUNT: %v", err)
	}
	if b, err := ForNAS(amf(), both).Protect(nil, maxCount+1, n1.IntegrityProtected, status); !errors.Is(err, ErrCountWraps) || b != nil {
		t.Errorf("behind the last COUNT: % x, %v", b, err)
	}
	for _, a := range []n1.Algorithms{{Ciphering: 4, Integrity: AES}, {Ciphering: AES, Integrity: 4}} {
		if b, err := ForNAS(amf(), a).Protect(nil, 0, n1.IntegrityProtectedAndCiphered, status); err == nil || b != nil {
			t.Errorf("NIA%d and NEA%d protect % x", a.Integrity, a.Ciphering, b)
		}
	}
	// NIA0 and NEA0 change nothing, and have a code of zeros (TS 33.501 D.1).
	b, err := ForNAS(amf(), n1.Algorithms{}).Protect([]byte{1}, 0, n1.IntegrityProtectedAndCiphered, status)
	if want := octets(t, "01 7e 02 00 00 00 00 00 7e 00 64 6f"); err != nil || !bytes.Equal(b, want) {
		t.Errorf("% x, %v, want % x", b, err, want)
	}
}

// A NAS message container is ciphered with the COUNT of the message that it is in.
func TestContainer(t *testing.T) {
	k, u := ForNAS(amf(), both), newUE(t, both)
	inner := bytes.Clone(registration)
	if err := theirs.NASEncrypt(AES, u.enc, u.up.Get(), theirs.Bearer3GPP, theirs.DirectionUplink, inner); err != nil {
		t.Fatal(err)
	}
	m, err := n1.Encode(&n1.RegistrationRequest{RegistrationType: n1.InitialRegistration, Identity: n1.NoIdentity{}, Container: inner})
	if err != nil {
		t.Fatal(err)
	}
	plain, count, err := k.Open(u.says(n1.IntegrityProtected, m), 0)
	if err != nil {
		t.Fatal(err)
	}
	read, err := n1.Decode(plain, n1.Uplink)
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Decipher(count, read.(*n1.RegistrationRequest).Container)
	if err != nil || !bytes.Equal(got, registration) {
		t.Errorf("% x, %v, want % x", got, err, registration)
	}
}

// Keys print nowhere.
func TestKeysAreHidden(t *testing.T) {
	k := ForNAS(amf(), both)
	context := struct {
		AMF Key
		NAS *NAS
	}{amf(), k}
	secrets := [][]byte{context.AMF[:], k.Ciphering[:], k.Integrity[:]}
	var log bytes.Buffer
	text := slog.New(slog.NewTextHandler(&log, nil))
	text.Info("text", "context", context, "key", context.AMF, "nas", k, "integrity", k.Integrity, "plain", *k)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("json", "context", context, "key", context.AMF, "nas", k, "integrity", k.Integrity, "plain", *k)
	j, err := json.Marshal(context)
	if err != nil {
		t.Fatal(err)
	}
	log.Write(j)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%q", "%d", "%o", "%b"} {
		fmt.Fprintf(&log, verb+verb+verb+verb, context, *k, context.AMF, k.Ciphering)
	}
	for _, secret := range secrets {
		for form, shown := range map[string]string{
			"hexadecimal": hex.EncodeToString(secret[:4]), "decimal": strings.Trim(fmt.Sprint(secret[:4]), "[]"), "Go": strings.Trim(fmt.Sprintf("%#v", secret[:4]), "[]byte{}"),
			"octets": string(secret[:4]), "JSON": strings.Trim(strings.ReplaceAll(fmt.Sprint(secret[:4]), " ", ","), "[]"),
		} {
			if strings.Contains(strings.ToLower(log.String()), strings.ToLower(shown)) {
				t.Errorf("a key is shown in %s:\n%s", form, log.String())
			}
		}
	}
	if !strings.Contains(log.String(), redacted) {
		t.Error("nothing was printed")
	}
}

// Whatever comes, nothing is taken twice, and nothing that was not protected by the UE is opened.
func FuzzOpen(f *testing.F) {
	u := newUE(f, both)
	genuine := map[string]bool{}
	for _, m := range [][]byte{complete, registration, status} {
		for _, h := range []n1.SecurityHeader{n1.IntegrityProtected, n1.IntegrityProtectedAndCiphered, n1.IntegrityProtectedAndCipheredNewContext} {
			b := u.says(h, m)
			f.Add(b)
			// The type is not covered by the code (TS 33.501 6.4.3.1): what is behind it is.
			genuine[string(b[2:])] = true
		}
	}
	f.Add(registration)
	f.Fuzz(func(t *testing.T, b []byte) {
		k := ForNAS(amf(), both)
		plain, count, err := k.Open(b, 0)
		if (err == nil) != (plain != nil) {
			t.Fatalf("% x, %v", plain, err)
		}
		if err != nil {
			return
		}
		if !genuine[string(b[2:])] {
			t.Fatalf("opened, but not the UE's: % x", b)
		}
		if _, _, err := k.Open(b, count+1); !errors.Is(err, ErrMAC) {
			t.Fatalf("taken twice: % x, %v", b, err)
		}
	})
}

func BenchmarkProtectDLNASTransport(b *testing.B) {
	for algorithm := SNOW3G; algorithm <= ZUC; algorithm++ {
		b.Run(fmt.Sprintf("algorithms=%d", algorithm), func(b *testing.B) {
			k := ForNAS(amf(), n1.Algorithms{Ciphering: algorithm, Integrity: algorithm})
			m := &n1.DLNASTransport{PayloadType: n1.PayloadN1SM, Payload: make([]byte, 120), SessionID: 1}
			plain, room := make([]byte, 0, 256), make([]byte, 0, 256)
			count := uint32(0)
			b.ReportAllocs()
			for b.Loop() {
				octets, err := n1.Append(plain, m)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := k.Protect(room, count, n1.IntegrityProtectedAndCiphered, octets); err != nil {
					b.Fatal(err)
				}
				count = (count + 1) & maxCount
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	k, u := ForNAS(amf(), both), newUE(b, both)
	message := u.says(n1.IntegrityProtectedAndCiphered, make([]byte, 120))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := k.Open(message, 0); err != nil {
			b.Fatal(err)
		}
	}
}
