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
	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/access-management/n1"
)

var (
	seaf       = Key{0: 1, 31: 2}
	capability = n1.UESecurityCapability{0xf0, 0x70}
	abba       = []byte{0, 0}
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

func authenticated(t testing.TB, a n1.Algorithms) *Contexts {
	t.Helper()
	var s Contexts
	c := s.Authenticated(s.FreeKeySet(n1.NoKey), seaf, supi, abba)
	c.Capability = capability
	c.Select(a)
	if err := s.Take(); err != nil {
		t.Fatal(err)
	}
	return &s
}

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
	amf := AMFKey(seaf, supi, abba)
	return &ue{t: t, algorithms: a, enc: AlgorithmKey(amf, NASCiphering, a.Ciphering), mac: AlgorithmKey(amf, NASIntegrity, a.Integrity)}
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
				s, u := authenticated(t, a), newUE(t, a)
				for i := range 600 {
					b, count, err := s.Current.Protect(nil, n1.IntegrityProtectedAndCiphered, status)
					if err != nil || count != uint32(i) {
						t.Fatalf("message %d has COUNT %d, %v", i, count, err)
					}
					if got, err := u.hears(b); err != nil || !bytes.Equal(got, status) {
						t.Fatalf("message %d: the UE hears % x, %v", i, got, err)
					}
					r, err := s.Receive(u.says(n1.IntegrityProtectedAndCiphered, complete), true)
					if err != nil || !r.Verified || r.Count != uint32(i) || !bytes.Equal(r.Plain, complete) {
						t.Fatalf("message %d: % x, COUNT %d, verified: %v, %v", i, r.Plain, r.Count, r.Verified, err)
					}
				}
			})
		}
	}
}

var both = n1.Algorithms{Ciphering: AES, Integrity: AES}

func TestReceiveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		message     func(s *Contexts, u *ue) []byte
		established bool
		want        error
	}{
		"the last message again": {func(s *Contexts, u *ue) []byte {
			b := u.says(n1.IntegrityProtectedAndCiphered, complete)
			if _, err := s.Receive(bytes.Clone(b), true); err != nil {
				t.Fatal(err)
			}
			return b
		}, true, ErrReplayed},
		"an initial message again, while nothing is established": {func(s *Contexts, u *ue) []byte {
			b := u.says(n1.IntegrityProtected, registration)
			if _, err := s.Receive(bytes.Clone(b), false); err != nil {
				t.Fatal(err)
			}
			return b
		}, false, ErrReplayed},
		"one of 300 messages ago": {func(s *Contexts, u *ue) []byte {
			b := u.says(n1.IntegrityProtectedAndCiphered, complete)
			if _, err := s.Receive(bytes.Clone(b), true); err != nil {
				t.Fatal(err)
			}
			for range 300 {
				if _, err := s.Receive(u.says(n1.IntegrityProtectedAndCiphered, complete), true); err != nil {
					t.Fatal(err)
				}
			}
			return b
		}, true, ErrMAC},
		"an octet that was changed": {func(_ *Contexts, u *ue) []byte {
			b := u.says(n1.IntegrityProtectedAndCiphered, complete)
			b[9] ^= 1
			return b
		}, true, ErrMAC},
		"a sequence number that was changed": {func(_ *Contexts, u *ue) []byte {
			b := u.says(n1.IntegrityProtectedAndCiphered, complete)
			b[6]++
			return b
		}, true, ErrMAC},
		"an unprotected message under protection":      {func(*Contexts, *ue) []byte { return bytes.Clone(registration) }, true, ErrUnprotected},
		"an unprotected message that needs protection": {func(*Contexts, *ue) []byte { return bytes.Clone(complete) }, false, ErrUnprotected},
		"a ciphered message without a context": {func(s *Contexts, u *ue) []byte {
			s.Current = nil
			return u.says(n1.IntegrityProtectedAndCiphered, registration)
		}, false, ErrNoContext},
		"a COUNT that wraps": {func(s *Contexts, u *ue) []byte {
			s.Current.Uplink.Next = maxCount + 1
			return u.says(n1.IntegrityProtected, complete)
		}, true, ErrCountWraps},
		"a Security Mode Complete that nobody waits for, not verified": {func(_ *Contexts, u *ue) []byte {
			u.mac[0]++
			return u.says(n1.IntegrityProtectedAndCipheredNewContext, complete)
		}, false, ErrMAC},
	} {
		t.Run(name, func(t *testing.T) {
			s, u := authenticated(t, both), newUE(t, both)
			b := c.message(s, u)
			before := uint32(0)
			if s.Current != nil {
				before = s.Current.Uplink.Next
			}
			r, err := s.Receive(b, c.established)
			if !errors.Is(err, c.want) {
				t.Fatalf("%+v, %v, want %v", r, err, c.want)
			}
			if s.Current != nil && s.Current.Uplink.Next != before {
				t.Errorf("the COUNT went from %d to %d", before, s.Current.Uplink.Next)
			}
		})
	}
	var s Contexts
	for name, b := range map[string]string{
		"nothing": "", "a 5GSM message": "2e 01 01 c1 ff ff", "a reserved header": "7e 05 00 00 00 00 00 7e 00 41 79",
	} {
		var fault *n1.Fault
		if _, err := s.Receive(octets(t, b), false); !errors.As(err, &fault) || !fault.Ignore {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is let in without being verified, and what is verified by which context.
func TestReceive(t *testing.T) {
	for name, c := range map[string]struct {
		message  func(s *Contexts, u *ue) []byte
		verified bool
		why      error
	}{
		"a Registration Request without protection": {func(*Contexts, *ue) []byte { return bytes.Clone(registration) }, false, nil},
		"a Registration Request with it":            {func(_ *Contexts, u *ue) []byte { return u.says(n1.IntegrityProtected, registration) }, true, nil},
		"of a UE that nobody knows":                 {func(s *Contexts, u *ue) []byte { s.Current = nil; return u.says(n1.IntegrityProtected, registration) }, false, ErrNoContext},
		"of another key set": {func(s *Contexts, u *ue) []byte {
			s.Current.KeySet = 3
			return u.says(n1.IntegrityProtected, registration)
		}, false, ErrNoContext},
		"with a code that does not match": {func(_ *Contexts, u *ue) []byte { u.mac[0]++; return u.says(n1.IntegrityProtected, registration) }, false, ErrMAC},
		"a Security Mode Complete is of the context that waits": {func(s *Contexts, u *ue) []byte {
			s.NonCurrent, s.Current = s.Current, nil
			return u.says(n1.IntegrityProtectedAndCipheredNewContext, []byte{0x7e, 0, 0x5e})
		}, true, nil},
		"a ciphered message says no key set that could be seen": {func(s *Contexts, u *ue) []byte {
			s.Current.KeySet = 3
			return u.says(n1.IntegrityProtectedAndCiphered, registration)
		}, true, nil},
		"a message after 250 that did not arrive": {func(s *Contexts, u *ue) []byte {
			s.Current.Uplink.Next = 10
			u.up.Set(1, 4)
			return u.says(n1.IntegrityProtectedAndCiphered, complete)
		}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, u := authenticated(t, both), newUE(t, both)
			r, err := s.Receive(c.message(s, u), false)
			if err != nil || r.Verified != c.verified || !errors.Is(r.Why, c.why) {
				t.Fatalf("verified: %v, %v, why: %v, want %v, %v", r.Verified, err, r.Why, c.verified, c.why)
			}
			if _, is := n1.TypeOf(r.Plain); !is {
				t.Errorf("% x is no plain message", r.Plain)
			}
			if c.verified == (r.By == nil) {
				t.Errorf("by %v", r.By)
			}
		})
	}
}

func TestMayBeUnverified(t *testing.T) {
	var s Contexts
	may := ""
	for k := range 256 {
		if s.MayBeUnverified(n1.MessageType(k)) {
			may += n1.MessageType(k).String() + "\n"
		}
	}
	const want = `Registration Request
Deregistration Request (UE originating)
Deregistration Accept (UE terminated)
Service Request
Control Plane Service Request
Authentication Response
Authentication Failure
Identity Response
Security Mode Reject
`
	if diff := cmp.Diff(want, may); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// stored is the context as another holder of the record reads it.
func stored(t testing.TB, c *Context) *Context {
	t.Helper()
	b, err := cbor.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var read Context
	if err := cbor.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	return &read
}

func TestStored(t *testing.T) {
	s := authenticated(t, both)
	s.Current.StartChain(1, Access3GPP)
	if _, _, err := s.Current.Protect(nil, n1.IntegrityProtectedAndCiphered, status); err != nil {
		t.Fatal(err)
	}
	read := stored(t, s.Current)
	want := *s.Current
	want.Downlink.Left, want.Downlink.Held = 0, false
	if diff := cmp.Diff(&want, read, cmp.Comparer(func(a, b Key) bool { return a == b }), cmp.Comparer(func(a, b NASKey) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b, err := cbor.Marshal(s)
	if err != nil || len(b) > 220 {
		t.Errorf("%d octets, %v", len(b), err)
	}
}

// No COUNT is used twice whatever holder dies when: what is reserved is committed, and who comes goes on behind it.
func TestDownlinkCountsAcrossHolders(t *testing.T) {
	s, u := authenticated(t, both), newUE(t, both)
	c, used := s.Current, map[uint32]bool{}
	kept, reserved := stored(t, c), c.Downlink.Reserved
	for i := range 100 {
		b, count, err := c.Protect(nil, n1.IntegrityProtectedAndCiphered, status)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if c.Downlink.Reserved != reserved {
			kept, reserved = stored(t, c), c.Downlink.Reserved // the commit before the octets leave
		}
		if used[count] {
			t.Fatalf("COUNT %d was used twice", count)
		}
		used[count] = true
		if _, err := u.hears(b); err != nil {
			t.Fatalf("message %d, COUNT %d: %v", i, count, err)
		}
		if i%7 == 6 { // the holder dies
			c.Heard(count)
			kept.Heard(count) // which was committed with what the UE answered
			c = stored(t, kept)
		}
	}
	if len(used) != 100 {
		t.Errorf("%d COUNTs", len(used))
	}
}

// Where the UE never shows that it hears, and holders die, the network stops in time: the UE takes what comes last.
func TestTooMuchSkipped(t *testing.T) {
	s, u := authenticated(t, both), newUE(t, both)
	c := s.Current
	var last []byte
	for i := 0; ; i++ {
		b, count, err := c.Protect(nil, n1.IntegrityProtectedAndCiphered, status)
		if err != nil {
			if !errors.Is(err, ErrProveAnew) {
				t.Fatal(err)
			}
			if i != 16 || !c.WantsAKA() {
				t.Errorf("refused after %d holders, wants AKA: %v", i, c.WantsAKA())
			}
			break
		}
		if i == 0 {
			if _, err := u.hears(b); err != nil { // the only one that arrives
				t.Fatal(err)
			}
		}
		if wants := c.WantsAKA(); wants != (i >= 8) {
			t.Errorf("holder %d, COUNT %d, wants AKA: %v", i, count, wants)
		}
		last = b
		c = stored(t, c)
	}
	if _, err := u.hears(last); err != nil {
		t.Errorf("the last message: %v", err)
	}
	// A holder that goes on alone reaches the end, too.
	c = stored(t, authenticated(t, both).Current)
	if _, _, err := c.Protect(nil, n1.IntegrityProtected, status); err != nil {
		t.Fatal(err)
	}
	c = stored(t, c)
	n := 0
	for ; ; n++ {
		if _, _, err := c.Protect(nil, n1.IntegrityProtected, status); err != nil {
			break
		}
	}
	if next := c.Downlink.Next(); next != 255 || n != 255-16 {
		t.Errorf("refused at COUNT %d after %d", next, n)
	}
	// A sign of the message before the gap does not help, one behind it does.
	c.Heard(0)
	if _, _, err := c.Protect(nil, n1.IntegrityProtected, status); !errors.Is(err, ErrProveAnew) {
		t.Errorf("after a sign of COUNT 0: %v", err)
	}
	c.Heard(1000)
	if _, _, err := c.Protect(nil, n1.IntegrityProtected, status); !errors.Is(err, ErrProveAnew) {
		t.Errorf("after a sign of what was not sent: %v", err)
	}
	c.Heard(200)
	if _, count, err := c.Protect(nil, n1.IntegrityProtected, status); err != nil || count != 255 {
		t.Errorf("after a sign of COUNT 200: %d, %v", count, err)
	}
	c.Distrust()
	if _, _, err := c.Protect(nil, n1.IntegrityProtected, status); !errors.Is(err, ErrProveAnew) || !c.WantsAKA() {
		t.Errorf("after lost writes: %v", err)
	}
	c = authenticated(t, both).Current
	c.Downlink = DownlinkCount{Reserved: maxCount + 1, Held: true}
	if _, _, err := c.Protect(nil, n1.IntegrityProtected, status); !errors.Is(err, ErrCountWraps) {
		t.Errorf("behind the last COUNT: %v", err)
	}
}

func TestContexts(t *testing.T) {
	var s Contexts
	if err := s.Take(); !errors.Is(err, ErrNoContext) {
		t.Errorf("taken of nothing: %v", err)
	}
	c := s.Authenticated(s.FreeKeySet(0), seaf, supi, abba)
	if c.KeySet != 1 {
		t.Errorf("ngKSI %d, of a UE that has 0", c.KeySet)
	}
	if _, _, err := c.Protect(nil, n1.IntegrityProtectedNewContext, status); !errors.Is(err, ErrNoContext) {
		t.Errorf("a partial context protects: %v", err)
	}
	if err := s.Take(); !errors.Is(err, ErrNoContext) {
		t.Errorf("a partial context is taken: %v", err)
	}
	c.Select(both)
	if err := s.Take(); err != nil || s.Current != c || s.NonCurrent != nil {
		t.Errorf("%v, %v", s, err)
	}
	again := s.Authenticated(s.FreeKeySet(0), Key{9}, supi, abba)
	if again.KeySet != 2 || s.FreeKeySet(0) != 3 {
		t.Errorf("ngKSI %d, then %d", again.KeySet, s.FreeKeySet(0))
	}
	s.Drop()
	if s.Current != c || s.NonCurrent != nil {
		t.Errorf("%v", s)
	}
	s.NonCurrent = &Context{KeySet: 8, Full: true} // a mapped one: the native stays
	if err := s.Take(); err != nil || s.Current.KeySet != 8 || s.NonCurrent != c {
		t.Errorf("%v, %v", s, err)
	}
	e := s.Unauthenticated(0, capability)
	e.Select(n1.Algorithms{})
	b, _, err := e.Protect(nil, n1.IntegrityProtectedAndCiphered, status)
	if want := octets(t, "7e 02 00 00 00 00 00 7e 00 64 6f"); err != nil || !bytes.Equal(b, want) {
		t.Errorf("emergency services: % x, %v", b, err)
	}
}

func TestChain(t *testing.T) {
	c := authenticated(t, both).Current
	if _, _, err := c.NextHop(); err == nil {
		t.Error("a chain without a beginning")
	}
	k := c.StartChain(5, Access3GPP)
	if k != GNBKey(c.AMF, 5, Access3GPP) || c.NCC != 1 || c.NH != NextHop(c.AMF, k) {
		t.Errorf("%v", c)
	}
	want := c.NH
	for i := range 10 {
		want = NextHop(c.AMF, want)
		nh, ncc, err := c.NextHop()
		if err != nil || nh != want || ncc != uint8((2+i)%8) {
			t.Errorf("step %d: NCC %d, %v", i, ncc, err)
		}
		c = stored(t, c)
	}
	d := c.Derived(n1.Downlink, 9)
	if d.AMF != AMFPrimeKey(c.AMF, n1.Downlink, 9) || d.Full || d.Uplink.Next != 0 || d.Downlink.Reserved != 0 || d.KeySet != c.KeySet {
		t.Errorf("%v", d)
	}
}

// A NAS message container is ciphered with the COUNT of the message that it is in.
func TestContainer(t *testing.T) {
	s, u := authenticated(t, both), newUE(t, both)
	inner := bytes.Clone(registration)
	if err := theirs.NASEncrypt(AES, u.enc, u.up.Get(), theirs.Bearer3GPP, theirs.DirectionUplink, inner); err != nil {
		t.Fatal(err)
	}
	m, err := n1.Encode(&n1.RegistrationRequest{RegistrationType: n1.InitialRegistration, Identity: n1.NoIdentity{}, Container: inner})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Receive(u.says(n1.IntegrityProtected, m), false)
	if err != nil || !r.Verified {
		t.Fatalf("%+v, %v", r, err)
	}
	read, err := n1.Decode(r.Plain, n1.Uplink)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.By.OpenContainer(r.Count, read.(*n1.RegistrationRequest).Container)
	if err != nil || !bytes.Equal(got, registration) {
		t.Errorf("% x, %v, want % x", got, err, registration)
	}
}

func TestCheckBidding(t *testing.T) {
	if err := CheckBidding(capability, n1.UESecurityCapability{0xf0, 0x70}); err != nil {
		t.Error(err)
	}
	for _, other := range []n1.UESecurityCapability{nil, {0xf0, 0xf0}, {0xf0, 0x70, 0, 0}} {
		if err := CheckBidding(capability, other); !errors.Is(err, ErrBiddingDown) {
			t.Errorf("% x: %v", other, err)
		}
	}
}

// Keys print nowhere.
func TestKeysAreHidden(t *testing.T) {
	s := authenticated(t, both)
	s.Current.StartChain(1, Access3GPP)
	secrets := [][]byte{s.Current.AMF[:], s.Current.NH[:], s.Current.Ciphering[:], s.Current.Integrity[:]}
	var log bytes.Buffer
	text := slog.New(slog.NewTextHandler(&log, nil))
	text.Info("text", "context", s.Current, "contexts", s, "key", s.Current.AMF, "nas", s.Current.Integrity, "plain", *s.Current)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("json", "context", s.Current, "contexts", s, "key", s.Current.AMF, "nas", s.Current.Integrity, "plain", *s.Current)
	j, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	log.Write(j)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%q", "%d", "%o", "%b"} {
		fmt.Fprintf(&log, verb+verb+verb+verb, s.Current, *s.Current, s.Current.NH, s.Current.Ciphering)
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

// Whatever comes, nothing is taken twice, and nothing that was not protected by the UE is verified.
func FuzzReceive(f *testing.F) {
	u := newUE(f, both)
	genuine := map[string]bool{}
	for _, m := range [][]byte{complete, registration, status} {
		for _, h := range []n1.SecurityHeader{n1.IntegrityProtected, n1.IntegrityProtectedAndCiphered, n1.IntegrityProtectedAndCipheredNewContext} {
			b := u.says(h, m)
			f.Add(b, true)
			f.Add(b, false)
			// The type is not covered by the code (TS 33.501 6.4.3.1): what is behind it is.
			genuine[string(b[2:])] = true
		}
	}
	f.Add(registration, false)
	f.Fuzz(func(t *testing.T, b []byte, established bool) {
		s := authenticated(t, both)
		for range 2 {
			before := s.Current.Uplink.Next
			came := bytes.Clone(b)
			r, err := s.Receive(came, established)
			if err == nil && r.Verified != (s.Current.Uplink.Next > before) || err != nil && s.Current.Uplink.Next != before && r.Verified {
				t.Fatalf("%+v, %v, COUNT %d before, %d now", r, err, before, s.Current.Uplink.Next)
			}
			if err == nil && established && !r.Verified {
				t.Fatalf("taken without being verified: % x", b)
			}
			if r.Verified && !genuine[string(b[2:])] {
				t.Fatalf("verified, but not the UE's: % x", b)
			}
		}
	})
}

func BenchmarkProtectDLNASTransport(b *testing.B) {
	for algorithm := SNOW3G; algorithm <= ZUC; algorithm++ {
		b.Run(fmt.Sprintf("algorithms=%d", algorithm), func(b *testing.B) {
			c := authenticated(b, n1.Algorithms{Ciphering: algorithm, Integrity: algorithm}).Current
			m := &n1.DLNASTransport{PayloadType: n1.PayloadN1SM, Payload: make([]byte, 120), SessionID: 1}
			plain, room := make([]byte, 0, 256), make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				octets, err := n1.Append(plain, m)
				if err != nil {
					b.Fatal(err)
				}
				if c.Downlink.Next() > maxCount-block {
					c.Downlink = DownlinkCount{}
				}
				if _, _, err := c.Protect(room, n1.IntegrityProtectedAndCiphered, octets); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReceive(b *testing.B) {
	s, u := authenticated(b, both), newUE(b, both)
	message := u.says(n1.IntegrityProtectedAndCiphered, make([]byte, 120))
	copy(message[7:], complete)
	room := make([]byte, len(message))
	b.ReportAllocs()
	for b.Loop() {
		copy(room, message)
		s.Current.Uplink.Next = 0
		_, _ = s.Current.open(room, n1.Envelope{Header: n1.IntegrityProtectedAndCiphered, MAC: [4]byte(room[2:6]), Payload: room[7:]})
	}
}
