package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"core5g.dev/core5g/images/strictcbor"
)

// A frame is its length, four octets, high octet first; its kind; and a CBOR map (RFC 8949). Length 0 is a ping.

// MostOctets of a frame: what a gNB may send in one message, and what stands around it.
const MostOctets = 1 << 20

const header = 4

var encoding, decoding = strictcbor.Encoding(), strictcbor.Decoding(4, 16, 64)

// Append writes a frame behind b; nil is a ping.
func Append(b []byte, f Frame) ([]byte, error) {
	if f == nil {
		return append(b, 0, 0, 0, 0), nil
	}
	body, err := encoding.Marshal(f)
	if err != nil {
		return b, err
	}
	if len(body) >= MostOctets {
		return b, fmt.Errorf("a frame of %d octets is too long: %d at most", len(body), MostOctets)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(1+len(body)))
	return append(append(b, f.kind()), body...), nil
}

// ErrMalformed: the peer speaks something else, and the connection is of no use.
var ErrMalformed = errors.New("malformed frame")

// Read reads one frame; nil is a ping.
func Read(r io.Reader) (Frame, error) {
	var length [header]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	switch {
	case n == 0:
		return nil, nil
	case n > MostOctets:
		return nil, fmt.Errorf("%w: of %d octets", ErrMalformed, n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return decode(b)
}

func decode(b []byte) (Frame, error) {
	made := kinds[b[0]]
	if made == nil {
		return nil, fmt.Errorf("%w: of kind %d", ErrMalformed, b[0])
	}
	f := made()
	if err := decoding.Unmarshal(b[1:], f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return f, nil
}
