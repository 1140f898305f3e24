package procedure

import (
	"bytes"
	"testing"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/security"

	"github.com/google/go-cmp/cmp"
)

// What a UE's end of NAS protects is opened once, with each algorithm, and what is sent to it it reads.
func TestKeys(t *testing.T) {
	for algorithm := uint8(1); algorithm <= 3; algorithm++ {
		s := &record.Security{Key: bytes.Repeat([]byte{7}, 32), Ciphering: algorithm, Integrity: algorithm, Uplink: 0x1fe, Reserved: 16}
		message := []byte{0x7e, 0, 0x43}
		ciphering := security.AlgorithmKey(security.Key(s.Key), security.NASCiphering, algorithm)
		integrity := security.AlgorithmKey(security.Key(s.Key), security.NASIntegrity, algorithm)
		// the UE's next COUNT is beyond what eight bits can say
		up := n1.Envelope{Header: n1.IntegrityProtectedAndCiphered, Sequence: 1, Payload: message}.Append(nil)
		if err := security.Cipher(algorithm, ciphering, 0x201, n1.Uplink, up[n1.EnvelopeLength:]); err != nil {
			t.Fatal(err)
		}
		mac, err := security.MAC(algorithm, integrity, 0x201, n1.Uplink, up[n1.MACFrom:])
		if err != nil {
			t.Fatal(err)
		}
		copy(up[2:], mac[:])
		plain, count, ok := NAS{}.Open(s, up)
		if !ok || count != 0x201 || !bytes.Equal(plain, message) {
			t.Errorf("algorithm %d: opened %x, COUNT %#x, %t", algorithm, plain, count, ok)
		}
		s.Uplink = count + 1
		if _, _, ok := (NAS{}).Open(s, up); ok {
			t.Errorf("algorithm %d: the same message was opened a second time", algorithm)
		}
		down := NAS{}.Protect(s, 5, n1.IntegrityProtectedAndCiphered, message)
		mac, err = security.MAC(algorithm, integrity, 5, n1.Downlink, down[n1.MACFrom:])
		if err != nil || !bytes.Equal(mac[:], down[2:6]) {
			t.Errorf("algorithm %d: MAC %x, want %x", algorithm, down[2:6], mac)
		}
		if err := security.Cipher(algorithm, ciphering, 5, n1.Downlink, down[n1.EnvelopeLength:]); err != nil || !bytes.Equal(down[n1.EnvelopeLength:], message) {
			t.Errorf("algorithm %d: the UE reads %x", algorithm, down[n1.EnvelopeLength:])
		}
	}
}

// A UE that nobody has authenticated has NIA0 and NEA0 (TS 33.501 10.2.2.2, D.1): a MAC of zeros, and COUNTs that go on.
func TestNullAlgorithms(t *testing.T) {
	s := &record.Security{Key: bytes.Repeat([]byte{7}, 32), Uplink: 3, Reserved: 16}
	message := []byte{0x7e, 0, 0x43}
	up := n1.Envelope{Header: n1.IntegrityProtectedAndCiphered, Sequence: 3, Payload: message}.Append(nil)
	if plain, count, ok := (NAS{}).Open(s, up); !ok || count != 3 || !bytes.Equal(plain, message) {
		t.Errorf("opened %x, COUNT %#x, %t", plain, count, ok)
	}
	if down := (NAS{}).Protect(s, 5, n1.IntegrityProtectedAndCiphered, message); !bytes.Equal(down[2:6], make([]byte, 4)) || down[6] != 5 || !bytes.Equal(down[n1.EnvelopeLength:], message) {
		t.Errorf("the UE is sent %x", down)
	}
	up[2] = 1
	if _, _, ok := (NAS{}).Open(s, up); ok {
		t.Error("a MAC that is none is taken")
	}
}

// Of messages that come in clear while nothing was exchanged securely, these are taken (TS 24.501 4.4.4.3); Service Requests are answered with a reject.
func TestWithoutProtection(t *testing.T) {
	var taken []string
	for kind := range 256 {
		if withoutProtection(n1.MessageType(kind)) {
			taken = append(taken, n1.MessageType(kind).String())
		}
	}
	want := []string{
		"Registration Request", "Deregistration Request (UE originating)", "Deregistration Accept (UE terminated)", "Authentication Response",
		"Authentication Failure", "Identity Response", "Security Mode Reject",
	}
	if diff := cmp.Diff(want, taken); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
