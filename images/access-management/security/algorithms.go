package security

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/free5gc/nas/security"

	"core5g.dev/core5g/images/access-management/n1"
)

// Direction is n1's.
type Direction = n1.Direction

// Algorithms by number, the same for integrity (NIA) and ciphering (NEA).
const (
	Null   uint8 = 0
	SNOW3G uint8 = 1
	AES    uint8 = 2
	ZUC    uint8 = 3
)

// Order is which algorithms a Core5G wants, best first. NIA0 stands in none: see Choose.
type Order struct{ Integrity, Ciphering []uint8 }

// Check says what to write instead, of an order that cannot be.
func (o Order) Check() error {
	if err := checkOrder("integrity", o.Integrity, SNOW3G); err != nil {
		return err
	}
	return checkOrder("ciphering", o.Ciphering, Null)
}

func checkOrder(name string, order []uint8, least uint8) error {
	seen := [ZUC + 1]bool{}
	for _, a := range order {
		if a < least || a > ZUC || seen[a] {
			return fmt.Errorf("%s algorithm %d: write each of %d to %d at most once", name, a, least, ZUC)
		}
		seen[a] = true
	}
	if len(order) == 0 {
		return fmt.Errorf("no %s algorithm: write one of %d to %d at least", name, least, ZUC)
	}
	return nil
}

// ErrNoAlgorithm is a UE that has none of the order: 5GMM cause 23 (UE security capabilities mismatch).
var ErrNoAlgorithm = errors.New("the UE has no algorithm of the order")

// Choose is the first algorithm of each order that the UE has (TS 33.501 6.7.1.1).
func Choose(order Order, ue n1.UESecurityCapability) (n1.Algorithms, error) {
	integrity, has := first(order.Integrity, ue.IA5G())
	ciphering, hasToo := first(order.Ciphering, ue.EA5G())
	if !has || !hasToo || integrity == Null {
		return n1.Algorithms{}, ErrNoAlgorithm
	}
	return n1.Algorithms{Ciphering: ciphering, Integrity: integrity}, nil
}

func first(order []uint8, has uint8) (uint8, bool) {
	for _, a := range order {
		if a <= ZUC && has&(0x80>>a) != 0 {
			return a, true
		}
	}
	return 0, false
}

// bearer3GPP is the NAS connection identifier of 3GPP access (TS 24.501 4.4.3.1), which is BEARER.
const bearer3GPP = 1

// Cipher ciphers or deciphers NAS in place by an NEA (TS 33.501 D.2). It fails on a number that is none.
func Cipher(algorithm uint8, key NASKey, count uint32, direction Direction, b []byte) error {
	return encipher(algorithm, key, count, bearer3GPP, direction, b)
}

func encipher(algorithm uint8, key NASKey, count uint32, bearer byte, direction Direction, b []byte) error {
	switch algorithm {
	case Null:
		return nil
	case SNOW3G:
		nea1(key, count, bearer, direction, b)
		return nil
	case AES:
		block, err := aes.NewCipher(key[:])
		if err != nil {
			return err
		}
		var counter [aes.BlockSize]byte
		binary.BigEndian.PutUint32(counter[:], count)
		counter[4] = bearer<<3 | byte(direction)<<2
		cipher.NewCTR(block, counter[:]).XORKeyStream(b, b)
		return nil
	case ZUC:
		out, err := security.NEA3(key, count, bearer, uint8(direction), b, uint32(len(b))*8)
		copy(b, out)
		return err
	}
	return fmt.Errorf("NEA%d is not known", algorithm)
}

// MAC is the message authentication code by an NIA (TS 33.501 D.3) over the NAS sequence number and the payload. NIA0's is
// zeros. It fails on a number that is none.
func MAC(algorithm uint8, key NASKey, count uint32, direction Direction, b []byte) ([4]byte, error) {
	return authenticate(algorithm, key, count, bearer3GPP, direction, b)
}

func authenticate(algorithm uint8, key NASKey, count uint32, bearer byte, direction Direction, b []byte) (mac [4]byte, err error) {
	switch algorithm {
	case Null:
		return mac, nil
	case SNOW3G:
		return nia1(key, count, bearer, direction, b), nil
	case AES:
		return nia2(key, count, bearer, direction, b)
	case ZUC:
		out, err := security.NIA3(key, count, bearer, uint8(direction), b, uint32(len(b))*8)
		copy(mac[:], out)
		return mac, err
	}
	return mac, fmt.Errorf("NIA%d is not known", algorithm)
}

// nia2 is 128-NIA2: AES-CMAC (RFC 4493) over COUNT, BEARER, DIRECTION and the message.
func nia2(key NASKey, count uint32, bearer byte, direction Direction, b []byte) (mac [4]byte, err error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return mac, err
	}
	var sub, x [aes.BlockSize]byte
	block.Encrypt(sub[:], sub[:])
	double(&sub)
	binary.BigEndian.PutUint32(x[:], count)
	x[4] = bearer<<3 | byte(direction)<<2
	at := 8 // of the block in x, which has the first 8 octets
	for len(b) > 0 {
		if at == aes.BlockSize {
			block.Encrypt(x[:], x[:])
			at = 0
		}
		n := min(aes.BlockSize-at, len(b))
		for i, o := range b[:n] {
			x[at+i] ^= o
		}
		at, b = at+n, b[n:]
	}
	if at < aes.BlockSize {
		x[at] ^= 0x80
		double(&sub)
	}
	for i := range x {
		x[i] ^= sub[i]
	}
	block.Encrypt(x[:], x[:])
	copy(mac[:], x[:])
	return mac, nil
}

// double in GF(2^128), of CMAC's subkeys.
func double(b *[aes.BlockSize]byte) {
	high, low := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	carry := high >> 63
	binary.BigEndian.PutUint64(b[:8], high<<1|low>>63)
	binary.BigEndian.PutUint64(b[8:], low<<1^0x87&-carry)
}
