// Package akatest is the other side of 5G-AKA for tests: a USIM and its ME, written from TS 35.206,
// TS 33.102 and TS 33.501 alone, that share no code with what they check.
package akatest

import (
	"crypto/aes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// USIM keeps an array of 32 sequence numbers and refuses steps above Δ, as TS 33.102 Annex C.2 says.
type USIM struct {
	K, OPc [16]byte
	SEQ    [32]uint64
}

// Why a USIM refuses a challenge.
var (
	ErrMAC           = errors.New("MAC failure")
	ErrSync          = errors.New("synchronisation failure")
	ErrSeparationBit = errors.New("the separation bit is not set: non-5G authentication unacceptable")
)

func (u *USIM) encrypt(in [16]byte) (out [16]byte) {
	block, err := aes.NewCipher(u.K[:])
	if err != nil {
		panic(err)
	}
	block.Encrypt(out[:], in[:])
	return out
}

func xor16(a, b [16]byte) (out [16]byte) {
	for i := range out {
		out[i] = a[i] ^ b[i]
	}
	return out
}

// out is OUTn of TS 35.206 4.1: E(rot(TEMP xor OPc, r) xor c) xor OPc.
func (u *USIM) out(temp [16]byte, rotateOctets int, c byte) [16]byte {
	in := xor16(temp, u.OPc)
	var rotated [16]byte
	for i := range rotated {
		rotated[i] = in[(i+rotateOctets)%16]
	}
	rotated[15] ^= c
	return xor16(u.encrypt(rotated), u.OPc)
}

func (u *USIM) temp(rand [16]byte) [16]byte { return u.encrypt(xor16(rand, u.OPc)) }

// F1 returns MAC-A and MAC-S.
func (u *USIM) F1(rand [16]byte, sqn [6]byte, amf [2]byte) (macA, macS [8]byte) {
	var in1 [16]byte
	copy(in1[:], sqn[:])
	copy(in1[6:], amf[:])
	copy(in1[8:], in1[:8])
	in := xor16(in1, u.OPc)
	var rotated [16]byte
	for i := range rotated {
		rotated[i] = in[(i+8)%16]
	}
	out1 := xor16(u.encrypt(xor16(u.temp(rand), rotated)), u.OPc)
	copy(macA[:], out1[:8])
	copy(macS[:], out1[8:])
	return macA, macS
}

// Challenge is what the USIM and the ME do with an Authentication Request; auts is set with ErrSync.
func (u *USIM) Challenge(rand, autn [16]byte, snn string) (resStar [16]byte, kseaf [32]byte, auts [14]byte, err error) {
	temp := u.temp(rand)
	out2 := u.out(temp, 0, 1)
	ck, ik := u.out(temp, 4, 2), u.out(temp, 8, 4)
	res, ak := out2[8:], out2[:6]

	var sqn [6]byte
	for i := range sqn {
		sqn[i] = autn[i] ^ ak[i]
	}
	amf := [2]byte{autn[6], autn[7]}
	macA, _ := u.F1(rand, sqn, amf)
	if !hmac.Equal(macA[:], autn[8:]) {
		return resStar, kseaf, auts, ErrMAC
	}
	if amf[0]&0x80 == 0 {
		return resStar, kseaf, auts, ErrSeparationBit
	}
	var full [8]byte
	copy(full[2:], sqn[:])
	number := binary.BigEndian.Uint64(full[:])
	seq, ind := number>>5, number&31
	if seq <= u.SEQ[ind] || seq-u.highest() > 1<<28 && seq > u.highest() {
		return resStar, kseaf, u.AUTS(rand), ErrSync
	}
	u.SEQ[ind] = seq

	key := append(append([]byte{}, ck[:]...), ik[:]...)
	full32 := KDF(key, 0x6b, []byte(snn), rand[:], res)
	copy(resStar[:], full32[16:])
	kausf := KDF(key, 0x6a, []byte(snn), autn[:6])
	kseaf = KDF(kausf[:], 0x6c, []byte(snn))
	return resStar, kseaf, auts, nil
}

func (u *USIM) highest() (h uint64) {
	for _, s := range u.SEQ {
		h = max(h, s)
	}
	return h
}

// AUTS is the resynchronisation token for a challenge (TS 33.102 6.3.3).
func (u *USIM) AUTS(rand [16]byte) (auts [14]byte) {
	h := u.highest()
	var full [8]byte
	binary.BigEndian.PutUint64(full[:], h<<5|h&31)
	var sqnMS [6]byte
	copy(sqnMS[:], full[2:])
	akStar := u.F5Star(rand)
	_, macS := u.F1(rand, sqnMS, [2]byte{})
	for i := range sqnMS {
		auts[i] = sqnMS[i] ^ akStar[i]
	}
	copy(auts[6:], macS[:])
	return auts
}

// F5Star returns the anonymity key of a resynchronisation.
func (u *USIM) F5Star(rand [16]byte) [6]byte {
	out5 := u.out(u.temp(rand), 12, 8)
	return [6]byte(out5[:6])
}

// KDF is the key derivation function of TS 33.220 Annex B.2.
func KDF(key []byte, fc byte, parameters ...[]byte) (out [32]byte) {
	s := []byte{fc}
	for _, p := range parameters {
		s = append(s, p...)
		s = binary.BigEndian.AppendUint16(s, uint16(len(p)))
	}
	h := hmac.New(sha256.New, key)
	h.Write(s)
	copy(out[:], h.Sum(nil))
	return out
}
