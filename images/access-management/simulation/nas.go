package simulation

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/security"
)

// nasContext is a UE's end of a 5G NAS security context.
type nasContext struct {
	key  []byte
	ksi  uint8
	algs n1.Algorithms
	// up is the next uplink COUNT, down the lowest that the next downlink message may have.
	up, down uint32
}

func (x *nasContext) derived(t security.AlgorithmType) security.NASKey {
	a := x.algs.Integrity
	if t == security.NASCiphering {
		a = x.algs.Ciphering
	}
	return security.AlgorithmKey(security.Key(x.key), t, a)
}

// protect a message of the UE's.
func (x *nasContext) protect(plain []byte, header n1.SecurityHeader) []byte {
	count := x.up
	x.up++
	out := n1.Envelope{Header: header, Sequence: uint8(count), Payload: plain}.Append(nil)
	if header.Ciphered() {
		if err := security.Cipher(x.algs.Ciphering, x.derived(security.NASCiphering), count, n1.Uplink, out[n1.EnvelopeLength:]); err != nil {
			panic(err)
		}
	}
	mac, err := security.MAC(x.algs.Integrity, x.derived(security.NASIntegrity), count, n1.Uplink, out[n1.MACFrom:])
	if err != nil {
		panic(err)
	}
	copy(out[2:], mac[:])
	return out
}

// container of a message that is protected next, ciphered (TS 24.501 4.4.6).
func (x *nasContext) container(plain []byte) []byte {
	out := bytes.Clone(plain)
	if err := security.Cipher(x.algs.Ciphering, x.derived(security.NASCiphering), x.up, n1.Uplink, out); err != nil {
		panic(err)
	}
	return out
}

// open a message for the UE; false: its MAC is another.
func (x *nasContext) open(nas []byte) ([]byte, bool) {
	e, err := n1.ReadEnvelope(nas)
	if err != nil {
		return nil, false
	}
	count := x.down&^0xff | uint32(e.Sequence)
	if count < x.down {
		count += 0x100
	}
	mac, err := security.MAC(x.algs.Integrity, x.derived(security.NASIntegrity), count, n1.Downlink, nas[n1.MACFrom:])
	if err != nil || mac != e.MAC {
		return nil, false
	}
	out := bytes.Clone(e.Payload)
	if e.Header.Ciphered() && security.Cipher(x.algs.Ciphering, x.derived(security.NASCiphering), count, n1.Downlink, out) != nil {
		return nil, false
	}
	x.down = count + 1
	return out, true
}

// ---- what a USIM and an AUSF both reckon -------------------------------------------------------------------------

func digest(what string, parts ...[]byte) []byte {
	h := sha256.New()
	h.Write([]byte(what))
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p))))
		h.Write(p)
	}
	return h.Sum(nil)
}

// response is RES*, anchor K_SEAF.
func response(k, rand []byte) []byte { return digest("res", k, rand)[:16] }
func anchor(k, rand []byte) []byte   { return digest("seaf", k, rand) }

// token is AUTN: the SQN and its code.
func token(k, rand []byte, sqn uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, sqn)
	return append(b, digest("autn", k, rand, b)[:8]...)
}

func readToken(k, rand, autn []byte) (sqn uint64, ok bool) {
	sqn = binary.BigEndian.Uint64(autn)
	return sqn, bytes.Equal(autn, token(k, rand, sqn))
}

// abba of Release 15 and 16 (TS 33.501 A.7.1).
var abba = []byte{0, 0}
