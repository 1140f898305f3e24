package aka

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/free5gc/util/milenage"
)

// redacted stands wherever something tries to print a key.
const redacted = "[redacted]"

// separationBit is bit 0 of the AMF field, which a 5G authentication vector carries set
// (TS 33.501 6.1.3.2, TS 33.102 Annex H).
const separationBit = 0x80

// Credentials are what a USIM and its home network share. They cannot be printed, logged or
// marshalled: every formatting verb, slog and encoding/json give a placeholder.
type Credentials struct {
	k   [16]byte
	opc [16]byte
	amf [2]byte
}

// Encoded are credentials as a Secret or a file holds them: hexadecimal digits. Exactly one of OPc and
// OP is set.
type Encoded struct {
	K, OPc, OP, AMF string
}

// ParseCredentials decodes credentials. Its errors name the field that is wrong and never its value.
func ParseCredentials(e Encoded) (Credentials, error) {
	var c Credentials
	if err := decodeInto(c.k[:], "k", e.K); err != nil {
		return Credentials{}, err
	}
	switch {
	case e.OPc != "" && e.OP != "":
		return Credentials{}, errors.New("both opc and op are set: keep one of them")
	case e.OPc != "":
		if err := decodeInto(c.opc[:], "opc", e.OPc); err != nil {
			return Credentials{}, err
		}
	case e.OP != "":
		var op [16]byte
		if err := decodeInto(op[:], "op", e.OP); err != nil {
			return Credentials{}, err
		}
		opc, err := milenage.GenerateOPc(c.k[:], op[:])
		if err != nil {
			return Credentials{}, errors.New("op cannot be combined with k")
		}
		copy(c.opc[:], opc)
	default:
		return Credentials{}, errors.New("neither opc nor op is set")
	}
	if err := decodeInto(c.amf[:], "amf", e.AMF); err != nil {
		return Credentials{}, err
	}
	return c, nil
}

// WithOPc are the same credentials with OPc, in the place of OP where that is given. Errors are those of ParseCredentials.
func (e Encoded) WithOPc() (Encoded, error) {
	c, err := ParseCredentials(e)
	if err != nil {
		return Encoded{}, err
	}
	return Encoded{K: hex.EncodeToString(c.k[:]), OPc: hex.EncodeToString(c.opc[:]), AMF: hex.EncodeToString(c.amf[:])}, nil
}

func decodeInto(dst []byte, field, value string) error {
	value = strings.TrimSpace(value)
	if value == "" {
		return fmt.Errorf("%s is empty: write %d hexadecimal digits", field, 2*len(dst))
	}
	// hex.Decode's own error would quote the offending character, which is part of a key.
	if len(value) != 2*len(dst) {
		return fmt.Errorf("%s has %d characters: write %d hexadecimal digits", field, len(value), 2*len(dst))
	}
	if _, err := hex.Decode(dst, []byte(value)); err != nil {
		return fmt.Errorf("%s holds something else than hexadecimal digits", field)
	}
	return nil
}

// Format implements fmt.Formatter for every verb.
func (Credentials) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue implements slog.LogValuer.
func (Credentials) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText keeps encoding/json and friends from looking inside.
func (Credentials) MarshalText() ([]byte, error) { return []byte(redacted), nil }
