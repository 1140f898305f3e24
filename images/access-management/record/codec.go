package record

import (
	"errors"
	"fmt"
	"strings"

	"core5g.dev/core5g/images/deflated"
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
	marker   = 0x01
	expanded = 1 << 16
)

var packing = deflated.New(marker, deflated.Fastest, "", expanded)

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
	return packing.Pack(nil, b)
}

// rests: the UE is idle, and nobody is about to do anything with it.
func (u *UE) rests() bool {
	return u.N2 == nil && len(u.Left) == 0 && u.Procedure == nil && u.Command == nil && u.Paging == nil && u.Handover == nil
}

// Decode reads a UE. Its error names nothing of the content.
func Decode(b []byte) (*UE, error) {
	var in written
	if packing.Is(b) {
		var err error
		if b, err = packing.Unpack(b); err != nil {
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
