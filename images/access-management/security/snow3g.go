package security

import (
	"encoding/binary"
	"math/bits"
)

// SNOW 3G (TS 35.216), of NEA1 and NIA1. The one of free5GC's library computes in the field for every octet, fifty times as long;
// this one has tables, as its specification proposes.
type snow3g struct {
	s          [16]uint32
	r1, r2, r3 uint32
}

// snowTables are of the S-boxes S1 and S2, and of the multiplication by alpha and by its inverse (TS 35.216 3).
type snowTables struct{ s1, s2, times, divided [256]uint32 }

var snow = makeSnowTables()

// mulX multiplies by x in GF(2^8), reduced by c.
func mulX(v, c byte) byte { return v<<1 ^ c&-(v>>7) }

func mulXPower(v byte, n int, c byte) byte {
	for range n {
		v = mulX(v, c)
	}
	return v
}

func multiply8(a, b, c byte) (out byte) {
	for ; b != 0; b >>= 1 {
		out ^= a & -(b & 1)
		a = mulX(a, c)
	}
	return out
}

func power8(a byte, n int, c byte) byte {
	out := byte(1)
	for range n {
		out = multiply8(out, a, c)
	}
	return out
}

// rijndael is S_R: the inverse in GF(2^8) with 0x1b, and an affine map.
func rijndael(v byte) byte {
	i := power8(v, 254, 0x1b)
	return i ^ bits.RotateLeft8(i, 1) ^ bits.RotateLeft8(i, 2) ^ bits.RotateLeft8(i, 3) ^ bits.RotateLeft8(i, 4) ^ 0x63
}

// dickson is S_Q: the Dickson polynomial of degree 49 in GF(2^8) with 0x69, and a constant.
func dickson(v byte) byte {
	out := byte(0x25)
	for _, n := range []int{1, 9, 13, 15, 33, 41, 45, 47, 49} {
		out ^= power8(v, n, 0x69)
	}
	return out
}

func makeSnowTables() *snowTables {
	t := new(snowTables)
	column := func(s, c byte) uint32 {
		twice := mulX(s, c)
		return uint32(twice)<<24 | uint32(twice^s)<<16 | uint32(s)<<8 | uint32(s)
	}
	powers := func(v byte, a, b, c, d int) uint32 {
		return uint32(mulXPower(v, a, 0xa9))<<24 | uint32(mulXPower(v, b, 0xa9))<<16 | uint32(mulXPower(v, c, 0xa9))<<8 | uint32(mulXPower(v, d, 0xa9))
	}
	for i := range 256 {
		v := byte(i)
		t.s1[i], t.s2[i] = column(rijndael(v), 0x1b), column(dickson(v), 0x69)
		t.times[i], t.divided[i] = powers(v, 23, 245, 48, 239), powers(v, 16, 39, 6, 64)
	}
	return t
}

func substitute(t *[256]uint32, w uint32) uint32 {
	return t[w>>24] ^ bits.RotateLeft32(t[w>>16&0xff], -8) ^ bits.RotateLeft32(t[w>>8&0xff], -16) ^ bits.RotateLeft32(t[w&0xff], -24)
}

// newSnow3g starts the generator with a key, and an initialisation vector whose words 0 and 2, and 1 and 3, NAS fills as it
// does (TS 33.401 B.1.2, B.2.2).
func newSnow3g(key NASKey, iv0, iv1, iv2, iv3 uint32) *snow3g {
	k3, k2 := binary.BigEndian.Uint32(key[0:]), binary.BigEndian.Uint32(key[4:])
	k1, k0 := binary.BigEndian.Uint32(key[8:]), binary.BigEndian.Uint32(key[12:])
	g := &snow3g{s: [16]uint32{
		^k0, ^k1, ^k2, ^k3, k0, k1, k2, k3, ^k0, ^k1 ^ iv3, ^k2 ^ iv2, ^k3, k0 ^ iv1, k1, k2, k3 ^ iv0,
	}}
	for range 32 {
		g.shift(g.clock())
	}
	g.clock()
	g.shift(0)
	return g
}

// clock of the state machine.
func (g *snow3g) clock() (f uint32) {
	f = (g.s[15] + g.r1) ^ g.r2
	r := g.r2 + (g.r3 ^ g.s[5])
	g.r3, g.r2, g.r1 = substitute(&snow.s2, g.r2), substitute(&snow.s1, g.r1), r
	return f
}

// shift of the register.
func (g *snow3g) shift(f uint32) {
	v := g.s[0]<<8 ^ snow.times[g.s[0]>>24] ^ g.s[2] ^ g.s[11]>>8 ^ snow.divided[g.s[11]&0xff] ^ f
	copy(g.s[:], g.s[1:])
	g.s[15] = v
}

// next word of the key stream.
func (g *snow3g) next() uint32 {
	z := g.clock() ^ g.s[0]
	g.shift(0)
	return z
}

// nea1 is 128-NEA1, in place (TS 33.501 D.2.1.2, TS 35.215 3).
func nea1(key NASKey, count uint32, bearer byte, direction Direction, b []byte) {
	head := uint32(bearer)<<27 | uint32(direction)<<26
	g := newSnow3g(key, head, count, head, count)
	for len(b) > 0 {
		var z [4]byte
		binary.BigEndian.PutUint32(z[:], g.next())
		n := min(len(b), len(z))
		for i := range n {
			b[i] ^= z[i]
		}
		b = b[n:]
	}
}

// nia1 is 128-NIA1: a polynomial over GF(2^64) (TS 33.501 D.3.1.2, TS 35.215 4).
func nia1(key NASKey, count uint32, bearer byte, direction Direction, b []byte) (mac [4]byte) {
	fresh := uint32(bearer) << 27
	g := newSnow3g(key, fresh^uint32(direction)<<15, count^uint32(direction)<<31, fresh, count)
	p := uint64(g.next())<<32 | uint64(g.next())
	q := uint64(g.next())<<32 | uint64(g.next())
	length, eval := uint64(len(b))*8, uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		eval = multiply64(eval^binary.BigEndian.Uint64(b), p)
	}
	if len(b) > 0 {
		var last [8]byte
		copy(last[:], b)
		eval = multiply64(eval^binary.BigEndian.Uint64(last[:]), p)
	}
	binary.BigEndian.PutUint32(mac[:], uint32(multiply64(eval^length, q)>>32)^g.next())
	return mac
}

// multiply64 in GF(2^64) with the polynomial x^64 + x^4 + x^3 + x + 1.
func multiply64(a, b uint64) (out uint64) {
	for ; b != 0; b >>= 1 {
		out ^= a & -(b & 1)
		a = a<<1 ^ 0x1b&-(a>>63)
	}
	return out
}
