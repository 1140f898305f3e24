package usim

import (
	"encoding/hex"
	"fmt"
	"log/slog"

	"github.com/free5gc/util/milenage"
)

// Key128 is a 128-bit secret (K, OPc). However it is printed, it prints as "redacted".
type Key128 [16]byte

// ParseKey128 reads 32 hexadecimal digits. The error never repeats the input.
func ParseKey128(s string) (Key128, error) {
	var k Key128
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(k) {
		return k, fmt.Errorf("need 32 hexadecimal digits (16 octets), got %d characters", len(s))
	}
	copy(k[:], b)
	return k, nil
}

// However a key is printed, it does not show.

func (Key128) String() string       { return "redacted" }
func (Key128) GoString() string     { return "redacted" }
func (Key128) LogValue() slog.Value { return slog.StringValue("redacted") }

// MarshalText keeps the secret out of JSON and YAML output too.
func (Key128) MarshalText() ([]byte, error) { return []byte("redacted"), nil }

// DeriveOPc makes OPc out of OP (TS 35.206 8.2).
func DeriveOPc(k, op Key128) (Key128, error) {
	var out Key128
	opc, err := milenage.GenerateOPc(k[:], op[:])
	if err != nil {
		return out, err
	}
	copy(out[:], opc)
	return out, nil
}
