package record

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"core5g.dev/core5g/images/strictcbor"
)

// Version is that of the records that this program writes. Oldest is the first that it can read.
const (
	Version = 1
	Oldest  = 1
)

// ErrVersion: a record of a program that is too new or too old.
var ErrVersion = errors.New("the record is of a version that cannot be read")

var encoding, decoding = strictcbor.Encoding(), strictcbor.Decoding(8, 1024, 256)

// Records repeat themselves, in URIs above all, and the store bounds what it keeps of one. Those of plain octets or more are deflated (RFC 1951) behind an octet that
// no CBOR map begins with. A UE that is idle stays as it is for long, and there are many: those are deflated from resting octets on. Others cost nothing. expanded
// bounds what is read.
const (
	plain    = 1536
	resting  = 384
	deflated = 0x01
	expanded = 1 << 16
)

// Writers and readers are used again: they have tables of 40 to 200 kB, and nothing is left in them.
var writers, readers sync.Pool

// written is a UE as the store has it: one of the attachments that it has left lies where programs look for it that know of one alone.
type written struct {
	UE
	First *Attachment  `cbor:"13,keyasint,omitempty"`
	More  []Attachment `cbor:"59,keyasint,omitempty"`
}

// Encode writes a UE.
func (u *UE) Encode() ([]byte, error) {
	out := written{UE: *u}
	out.Version = Version
	if len(u.Left) > 0 {
		out.First, out.More = &u.Left[0], u.Left[1:]
	}
	b, err := encoding.Marshal(&out)
	if err != nil || len(b) < resting || len(b) < plain && !u.rests() {
		return b, err
	}
	return deflate(b)
}

// rests: the UE is idle, and nobody is about to do anything with it.
func (u *UE) rests() bool {
	return u.N2 == nil && len(u.Left) == 0 && u.Procedure == nil && u.Command == nil && u.Paging == nil && u.Handover == nil
}

func deflate(b []byte) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte(deflated)
	w, _ := writers.Get().(*flate.Writer)
	if w == nil {
		var err error
		if w, err = flate.NewWriter(&out, flate.BestSpeed); err != nil {
			return nil, err
		}
	} else {
		w.Reset(&out)
	}
	defer writers.Put(w)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func inflate(b []byte) ([]byte, error) {
	from := bytes.NewReader(b)
	r, _ := readers.Get().(io.ReadCloser)
	if r == nil {
		r = flate.NewReader(from)
	} else if err := r.(flate.Resetter).Reset(from, nil); err != nil {
		return nil, err
	}
	defer readers.Put(r)
	out, err := io.ReadAll(io.LimitReader(r, expanded+1))
	switch {
	case err != nil:
		return nil, err
	case len(out) > expanded:
		return nil, errors.New("it is larger than a record can be")
	}
	return out, nil
}

// Decode reads a UE. Its error names nothing of the content.
func Decode(b []byte) (*UE, error) {
	var in written
	if len(b) > 0 && b[0] == deflated {
		var err error
		if b, err = inflate(b[1:]); err != nil {
			return nil, fmt.Errorf("the record cannot be read: %w", err)
		}
	}
	if err := decoding.Unmarshal(b, &in); err != nil {
		return nil, fmt.Errorf("the record cannot be read: %w", err)
	}
	u := &in.UE
	if in.First != nil {
		u.Left = append([]Attachment{*in.First}, in.More...)
	}
	if u.Version < Oldest || u.Version > Version+1 {
		return nil, fmt.Errorf("%w: %d, this program reads %d to %d", ErrVersion, u.Version, Oldest, Version+1)
	}
	if u.SUPI == "" || u.Shard == 0 || u.Shard > MostShards || u.Phase < Deregistered || u.Phase > Leaving || len(u.Sessions) > MostSessions {
		return nil, errors.New("the record cannot be read: it names no UE, or none that there can be")
	}
	for _, s := range []*Security{u.Security, u.Coming} {
		if s != nil && len(s.Key) != 32 {
			return nil, errors.New("the record cannot be read: a security context without its key")
		}
	}
	return u, nil
}

// keyPrefix begins all keys of UEs.
const keyPrefix = "ue/"

// IsKey says whether that is the key of a UE.
func IsKey(key string) bool { return strings.HasPrefix(key, keyPrefix) }

// Key of a UE in the store.
func Key(supi string) string { return keyPrefix + supi }
