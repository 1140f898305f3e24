package usim

import (
	"bytes"
	"crypto/ecdh"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/free5gc/util/milenage"
	"github.com/free5gc/util/ueauth"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func key(t *testing.T, s string) Key128 {
	t.Helper()
	k, err := ParseKey128(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TS 35.208 4.3, test sets 1 to 3 (K, RAND, SQN, AMF, OPc, f1, f2, f3, f4, f5).
var milenageSets = []struct{ k, rand, sqn, amf, opc, f1, f2, f3, f4, f5 string }{
	{
		"465b5ce8b199b49faa5f0a2ee238a6bc", "23553cbe9637a89d218ae64dae47bf35", "ff9bb4d0b607", "b9b9",
		"cd63cb71954a9f4e48a5994e37a02baf", "4a9ffac354dfafb3", "a54211d5e3ba50bf",
		"b40ba9a3c58b2a05bbf0d987b21bf8cb", "f769bcd751044604127672711c6d3441", "aa689c648370",
	},
	{
		"fec86ba6eb707ed08905757b1bb44b8f", "9f7c8d021accf4db213ccff0c7f71a6a", "9d0277595ffc", "725c",
		"1006020f0a478bf6b699f15c062e42b3", "9cabc3e99baf7281", "8011c48c0c214ed2",
		"5dbdbb2954e8f3cde665b046179a5098", "59a92d3b476a0443487055cf88b2307b", "33484dc2136b",
	},
	{
		"9e5944aea94b81165c82fbf9f32db751", "ce83dbc54ac0274a157c17f80d017bd6", "0b604a81eca8", "9e09",
		"a64a507ae1a2a98bb88eb4210135dc87", "74a58220cba84c49", "f365cd683cd92e96",
		"e203edb3971574f5a94b0d61b816345d", "0c4524adeac041c4dd830d20854fc46b", "f0b9c08ad02e",
	},
}

// ueauth's KDF serves as the second opinion on every derivation.
func derive(t *testing.T, k []byte, fc string, params ...[]byte) []byte {
	t.Helper()
	var args [][]byte
	for _, p := range params {
		args = append(args, p, ueauth.KDFLen(p))
	}
	out, err := ueauth.GetKDFValue(k, fc, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAuthenticateWithMilenageTestSets(t *testing.T) {
	for i, s := range milenageSets {
		t.Run(fmt.Sprintf("TS 35.208 test set %d", i+1), func(t *testing.T) {
			sqn, ak := unhex(t, s.sqn), unhex(t, s.f5)
			conc := make([]byte, 6)
			for i := range conc {
				conc[i] = sqn[i] ^ ak[i]
			}
			var rand, autn [16]byte
			copy(rand[:], unhex(t, s.rand))
			copy(autn[:], append(append(append([]byte{}, conc...), unhex(t, s.amf)...), unhex(t, s.f1)...))

			const snn = "5G:mnc093.mcc208.3gppnetwork.org"
			u := New(key(t, s.k), key(t, s.opc), 0)
			v, err := u.Authenticate(rand, autn, snn)
			if autn[6]&0x80 == 0 {
				if !errors.Is(err, ErrSeparationBit) {
					t.Fatalf("err = %v, want the separation bit to be refused", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ckik := append(unhex(t, s.f3), unhex(t, s.f4)...)
			if want := derive(t, ckik, ueauth.FC_FOR_RES_STAR_XRES_STAR_DERIVATION, []byte(snn), rand[:], unhex(t, s.f2))[16:]; !bytes.Equal(v.RESStar[:], want) {
				t.Errorf("RES* = %x, want %x", v.RESStar, want)
			}
			kausf := derive(t, ckik, ueauth.FC_FOR_KAUSF_DERIVATION, []byte(snn), conc)
			kseaf := derive(t, kausf, ueauth.FC_FOR_KSEAF_DERIVATION, []byte(snn))
			kamf := derive(t, kseaf, ueauth.FC_FOR_KAMF_DERIVATION, []byte("208930000000001"), []byte{0, 0})
			got := v.KAMF("imsi-208930000000001", []byte{0, 0})
			if !bytes.Equal(got[:], kamf) {
				t.Errorf("KAMF = %x, want %x", got, kamf)
			}
			kInt, kEnc := NASKeys(got, 2, 0)
			if want := derive(t, kamf, ueauth.FC_FOR_ALGORITHM_KEY_DERIVATION, []byte{2}, []byte{2})[16:]; !bytes.Equal(kInt[:], want) {
				t.Errorf("KNASint = %x, want %x", kInt, want)
			}
			if want := derive(t, kamf, ueauth.FC_FOR_ALGORITHM_KEY_DERIVATION, []byte{1}, []byte{0})[16:]; !bytes.Equal(kEnc[:], want) {
				t.Errorf("KNASenc = %x, want %x", kEnc, want)
			}
			kgnb := KgNB(got, 0x1234)
			if want := derive(t, kamf, ueauth.FC_FOR_KGNB_KN3IWF_DERIVATION, []byte{0, 0, 0x12, 0x34}, []byte{1}); !bytes.Equal(kgnb[:], want) {
				t.Errorf("KgNB = %x, want %x", kgnb, want)
			}
		})
	}
}

func challenge(t *testing.T, k, opc Key128, sqn uint64) (rand, autn [16]byte) {
	t.Helper()
	copy(rand[:], "0123456789abcdef")
	_, _, _, a, err := milenage.GenerateAKAParameters(opc[:], k[:], rand[:], putSQN(sqn), []byte{0x80, 0})
	if err != nil {
		t.Fatal(err)
	}
	copy(autn[:], a)
	return rand, autn
}

func TestSequenceNumbers(t *testing.T) {
	k, opc := key(t, "8baf473f2f8fd09487cccbd7097c6862"), key(t, "8e27b6af0e692e750f32667a3b14605d")
	u := New(k, opc, 0)
	const snn = "5G:mnc093.mcc208.3gppnetwork.org"
	accept := func(sqn uint64) error {
		rand, autn := challenge(t, k, opc, sqn)
		_, err := u.Authenticate(rand, autn, snn)
		return err
	}
	if err := accept(0x100 << 5); err != nil {
		t.Fatalf("a fresh SQN was refused: %v", err)
	}
	var sync *SyncFailure
	if err := accept(0x100 << 5); !errors.As(err, &sync) {
		t.Fatalf("a repeated SQN gave %v, want a SyncFailure", err)
	}
	rand, _ := challenge(t, k, opc, 0)
	ms, err := milenage.ValidateAUTS(opc[:], k[:], rand[:], sync.AUTS[:])
	if err != nil {
		t.Fatalf("the home network refuses AUTS: %v", err)
	}
	if got := getSQN(ms); got != 0x100<<5 {
		t.Errorf("SQN_MS in AUTS = %#x, want %#x", got, 0x100<<5)
	}
	// Another IND may lag behind: vectors fetched in one order and used in another (C.2.2).
	if err := accept(0x0ff<<5 | 1); err != nil {
		t.Errorf("an older SEQ of an unused IND was refused: %v", err)
	}
	u.SetSQN(sqnMask)
	if err := accept(0x7fff << 5); !errors.As(err, &sync) {
		t.Errorf("after SetSQN(max) an SQN was accepted: %v", err)
	}
	wrong := New(key(t, "00000000000000000000000000000001"), opc, 0)
	r, a := challenge(t, k, opc, 1<<20)
	if _, err := wrong.Authenticate(r, a, snn); !errors.Is(err, ErrMACFailure) {
		t.Errorf("wrong K gave %v, want ErrMACFailure", err)
	}
}

// TS 33.501 C.4.3.1 and C.4.4.1 (IMSI-based SUPI).
func TestSUCIVectors(t *testing.T) {
	tests := map[string]struct {
		scheme                               Scheme
		curve                                ecdh.Curve
		public, ephemeral, plain, wantOutput string
	}{
		"Profile A, C.4.3.1": {
			ProfileA, ecdh.X25519(),
			"5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650",
			"c80949f13ebe61af4ebdbd293ea4f942696b9e815d7e8f0096bbf6ed7de62256", "00012080f6",
			"b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457d" + "cb02352410" + "cddd9e730ef3fa87",
		},
		"Profile B, C.4.4.1": {
			ProfileB, ecdh.P256(),
			"0272da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1",
			"99798858a1dc6a2c68637149a4b1dbfd1fdff5addd62a2142f06699ed7602529", "00012080f6",
			"039aab8376597021e855679a9778ea0b67396e68c66df32c0f41e9acca2da9b9d1" + "46a33fc271" + "6ac7dae96aa30a4d",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, err := ParseHomeNetworkKey(tt.scheme, 1, unhex(t, tt.public))
			if err != nil {
				t.Fatal(err)
			}
			private, err := tt.curve.NewPrivateKey(unhex(t, tt.ephemeral))
			if err != nil {
				t.Fatal(err)
			}
			got, err := h.concealWith(private, unhex(t, tt.plain))
			if err != nil {
				t.Fatal(err)
			}
			if hex.EncodeToString(got) != tt.wantOutput {
				t.Errorf("scheme output\n got %x\nwant %s", got, tt.wantOutput)
			}
		})
	}
}

func TestSUCIEncoding(t *testing.T) {
	null, _ := ParseHomeNetworkKey(NullScheme, 0, nil)
	got, err := SUCI("imsi-208930000000001", 2, "0", null, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "01" + "02f839" + "f0ff" + "00" + "00" + "0000000010"; hex.EncodeToString(got) != want {
		t.Errorf("null scheme: got %x, want %s", got, want)
	}
	odd, err := SUCI("imsi-310410123456789", 3, "1234", null, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "01" + "130014" + "2143" + "00" + "00" + "21436587f9"; hex.EncodeToString(odd) != want {
		t.Errorf("three-digit MNC, odd MSIN: got %x, want %s", odd, want)
	}
	if got := hex.EncodeToString(bcd("123456789")); got != "21436587f9" {
		t.Errorf("odd MSIN packs to %s, want 21436587f9", got)
	}
	if _, err := ParseHomeNetworkKey(ProfileA, 1, []byte{1, 2}); err == nil {
		t.Error("a two-octet X25519 key was accepted")
	}
	if _, err := ParseHomeNetworkKey(ProfileB, 1, bytes.Repeat([]byte{7}, 33)); err == nil {
		t.Error("a point off the curve was accepted")
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	const secret = "8baf473f2f8fd09487cccbd7097c6862"
	k := key(t, secret)
	j, _ := json.Marshal(map[string]any{"k": k})
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "k", k)
	for _, out := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s", k, k, k, k), string(j), log.String()} {
		if strings.Contains(out, "8baf") || strings.Contains(out, "139 175") || !strings.Contains(out, "redacted") {
			t.Errorf("secret printed: %s", out)
		}
	}
	if _, err := ParseKey128(secret + "zz"); err == nil || strings.Contains(err.Error(), "8baf") {
		t.Errorf("the error repeats the secret, or there is none: %v", err)
	}
}
