package security

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	theirs "github.com/free5gc/nas/security"
	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/access-management/n1"
)

func octets(t testing.TB, hexadecimal string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(hexadecimal), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Sets of TS 33.401 C.1 and C.2 (128-EEA2, 128-EIA2), and of the specifications of UEA2, UIA2 and 128-EEA3. NAS has whole
// octets: of sets with an odd number of bits the whole octets are compared.
func TestCipheringSets(t *testing.T) {
	for name, c := range map[string]struct {
		algorithm    uint8
		key          string
		count        uint32
		bearer       byte
		direction    Direction
		plain, wants string
	}{
		"128-EEA1, set 3": {
			SNOW3G, "5acb1d644c0d51204ea5f1451010d852", 0xfa556b26, 0x03, 1,
			"ad9c441f890b38c457a49d421407e8", "ba0f31300334c56b52a7497cbac046",
		},
		"128-EEA1, set 4": {
			SNOW3G, "d3c5d592327fb11c4035c6680af8c6d1", 0x398a59b4, 0x05, 1,
			"981ba6824c1bfb1ab485472029b71d808ce33e2cc3c0b5fc1f3de8a6dc66b1", "989b719cdc33ceb7cf276a52827cef94a56c40c0ab9d81f7a2a9bac60e11c4",
		},
		"128-EEA2, set 1": {
			AES, "d3c5d592327fb11c4035c6680af8c6d1", 0x398a59b4, 0x15, 1,
			"981ba6824c1bfb1ab485472029b71d808ce33e2cc3c0b5fc1f3de8a6dc66b1", "e9fed8a63d155304d71df20bf3e82214b20ed7dad2f233dc3c22d7bdeeed8e",
		},
		"128-EEA2, set 2": {
			AES, "2bd6459f82c440e0952c49104805ff48", 0xc675a64b, 0x0c, 1,
			`7ec61272743bf1614726446a6c38ced166f6ca76eb5430044286346cef130f92 922b03450d3a9975e5bd2ea0eb55ad8e1b199e3ec4316020e9a1b285e7627953
			 59b7bdfd39bef4b2484583d5afe082aee638bf5fd5a606193901a08f4ab41aab 9b1348`,
			`5961605353c64bdca15b195e288553a910632506d6200aa790c4c806c99904cf 2445cc50bb1cf168a49673734e081b57e324ce5259c0e78d4cd97b870976503c
			 0943f2cb5ae8f052c7b7d392239587b8956086bcab18836042e2e6ce42432a17 105c53`,
		},
		"128-EEA2, set 3": {
			AES, "0a8b6bd8d9b08b08d64e32d1817777fb", 0x544d49cd, 0x04, 0,
			"fd40a41d370a1f65745095687d47ba1d36d2349e23f644392c8ea9c49d40c13271aff264d0f2", "75750d37b4bba2a4dedb34235bd68c6645acdaaca48138a3b0c471e2a7041a576423d2927287",
		},
		"128-EEA3, set 1": {
			ZUC, "173d14ba5003731d7a60049470f00a29", 0x66035492, 0x0f, 0,
			"6cf65340735552ab0c9752fa6f9025fe0bd675d9005875b2", "a6c85fc66afb8533aafc2518dfe784940ee1e4b030238cc8",
		},
		"NEA0": {Null, "173d14ba5003731d7a60049470f00a29", 0x66035492, 0x0f, 0, "6cf6", "6cf6"},
	} {
		t.Run(name, func(t *testing.T) {
			b := octets(t, c.plain)
			if err := encipher(c.algorithm, NASKey(octets(t, c.key)), c.count, c.bearer, c.direction, b); err != nil {
				t.Fatal(err)
			}
			if want := octets(t, c.wants); !bytes.Equal(b, want) {
				t.Errorf("% x, want % x", b, want)
			}
		})
	}
}

func TestIntegritySets(t *testing.T) {
	for name, c := range map[string]struct {
		algorithm uint8
		key       string
		count     uint32
		bearer    byte
		direction Direction
		message   string
		want      string
	}{
		"128-EIA1, 88 bits": {SNOW3G, "2bd6459f82c5b300952c49104881ff48", 0x38a6f056, 0x1f, 0, "3332346263393861373479", "731f1165"},
		"128-EIA1, set 4": {
			SNOW3G, "83fd23a244a74cf358da3019f1722635", 0x36af6144, 0x0f, 1,
			`35c68716633c66fb750c266865d53c11ea05b1e9fa49c8398d48e1efa5909d39 47902837f5ae96d5a05bc8d61ca8dbef1b13a4b4abfe4fb1006045b674bb5472
			 9304c382be53a5af05556176f6eaa2ef1d05e4b083181ee674cda5a485f74d7a`, "bba74492",
		},
		"128-EIA2, set 2": {AES, "d3c5d592327fb11c4035c6680af8c6d1", 0x398a59b4, 0x1a, 1, "484583d5afe082ae", "b93787e6"},
		"NIA0":            {Null, "d3c5d592327fb11c4035c6680af8c6d1", 0x398a59b4, 0x1a, 1, "484583d5afe082ae", "00000000"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := authenticate(c.algorithm, NASKey(octets(t, c.key)), c.count, c.bearer, c.direction, octets(t, c.message))
			if want := octets(t, c.want); err != nil || !bytes.Equal(got[:], want) {
				t.Errorf("% x, %v, want % x", got, err, want)
			}
		})
	}
}

// What we cipher and authenticate is as free5GC's library, of which the UEs of tests are made, does it: in every length.
func TestAlgorithmsWithOthers(t *testing.T) {
	key := NASKey(octets(t, "0a8b6bd8d9b08b08d64e32d1817777fb"))
	message := make([]byte, 70)
	for i := range message {
		message[i] = byte(i * 37)
	}
	for algorithm := Null; algorithm <= ZUC; algorithm++ {
		for n := 1; n <= len(message); n++ {
			for _, direction := range []Direction{n1.Uplink, n1.Downlink} {
				count := uint32(n)<<10 | 0x5a
				ours, other := bytes.Clone(message[:n]), bytes.Clone(message[:n])
				if err := Cipher(algorithm, key, count, direction, ours); err != nil {
					t.Fatal(err)
				}
				if err := theirs.NASEncrypt(algorithm, key, count, theirs.Bearer3GPP, uint8(direction), other); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(ours, other) {
					t.Errorf("NEA%d, %d octets: % x, theirs % x", algorithm, n, ours, other)
				}
				mac, err := MAC(algorithm, key, count, direction, message[:n])
				want, failed := theirs.NASMacCalculate(algorithm, key, count, theirs.Bearer3GPP, uint8(direction), message[:n])
				if err != nil || failed != nil || !bytes.Equal(mac[:], want) {
					t.Errorf("NIA%d, %d octets: % x, %v, theirs % x, %v", algorithm, n, mac, err, want, failed)
				}
			}
		}
	}
	if err := Cipher(4, key, 0, n1.Uplink, message); err == nil {
		t.Error("there is an NEA4")
	}
	if _, err := MAC(4, key, 0, n1.Uplink, message); err == nil {
		t.Error("there is an NIA4")
	}
}

func TestChoose(t *testing.T) {
	order := Order{Integrity: []uint8{AES, SNOW3G, ZUC}, Ciphering: []uint8{AES, SNOW3G, ZUC}}
	open := Order{Integrity: []uint8{AES}, Ciphering: []uint8{ZUC, Null}}
	for name, c := range map[string]struct {
		order Order
		ue    n1.UESecurityCapability
		want  n1.Algorithms
		err   error
	}{
		"a UE that has all":                             {order, n1.UESecurityCapability{0xf0, 0xf0}, n1.Algorithms{Ciphering: AES, Integrity: AES}, nil},
		"the order is the network's, not the UE's":      {order, n1.UESecurityCapability{0xc0, 0x50}, n1.Algorithms{Ciphering: SNOW3G, Integrity: SNOW3G}, nil},
		"NEA0 where the order says it":                  {open, n1.UESecurityCapability{0x80, 0x20}, n1.Algorithms{Ciphering: Null, Integrity: AES}, nil},
		"no NEA0 where it does not":                     {order, n1.UESecurityCapability{0x80, 0xf0}, n1.Algorithms{}, ErrNoAlgorithm},
		"no NIA0":                                       {order, n1.UESecurityCapability{0xf0, 0x80}, n1.Algorithms{}, ErrNoAlgorithm},
		"algorithms that nobody knows":                  {order, n1.UESecurityCapability{0x0f, 0x0f}, n1.Algorithms{}, ErrNoAlgorithm},
		"a UE that said nothing":                        {order, nil, n1.Algorithms{}, ErrNoAlgorithm},
		"an order with NIA0 in it, which Check refuses": {Order{Integrity: []uint8{Null}, Ciphering: []uint8{AES}}, n1.UESecurityCapability{0xf0, 0xf0}, n1.Algorithms{}, ErrNoAlgorithm},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Choose(c.order, c.ue)
			if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) {
				t.Errorf("%v, want %v, (-want +got):\n%s", err, c.err, diff)
			}
		})
	}
	for name, o := range map[string]Order{
		"NIA0": {[]uint8{0}, []uint8{1}}, "NEA4": {[]uint8{1}, []uint8{4}}, "one twice": {[]uint8{1, 1}, []uint8{1}}, "none": {nil, []uint8{1}}, "no NEA": {[]uint8{1}, nil},
	} {
		if o.Check() == nil {
			t.Errorf("an order with %s is taken", name)
		}
	}
	if err := open.Check(); err != nil {
		t.Error(err)
	}
}

func BenchmarkMAC(b *testing.B) {
	message := make([]byte, 120)
	for algorithm := SNOW3G; algorithm <= ZUC; algorithm++ {
		b.Run("NIA"+string('0'+rune(algorithm)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := MAC(algorithm, NASKey{1}, 7, n1.Downlink, message); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
