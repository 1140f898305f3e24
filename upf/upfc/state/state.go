package state

import (
	"fmt"
	"net/netip"

	"github.com/fxamacker/cbor/v2"

	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Version is raised whenever an older upf-c could misread a blob. Fields are only ever added, under
// new keys, without that.
const Version = 1

// Session is one session's blob.
type Session struct {
	UPSEID   uint64                 `cbor:"1,keyasint"`
	CPSEID   uint64                 `cbor:"2,keyasint"`
	CPAddr   netip.Addr             `cbor:"3,keyasint"` // of the CP F-SEID: where reports go
	Node     string                 `cbor:"4,keyasint"` // Node ID of the CP function
	Created  int64                  `cbor:"5,keyasint"` // Unix seconds
	Rules    *rules.Set             `cbor:"6,keyasint"`
	QERSlots map[uint32]uint32      `cbor:"7,keyasint,omitempty"` // by QER ID
	Meters   map[uint32]usage.Meter `cbor:"8,keyasint,omitempty"` // by URR ID
	Outbox   []usage.Report         `cbor:"9,keyasint,omitempty"` // not yet acknowledged
}

// Meta is the META blob.
type Meta struct {
	Recovery     int64         `cbor:"1,keyasint"` // Recovery Time Stamp, Unix seconds
	Associations []Association `cbor:"2,keyasint,omitempty"`
}

// Association is one CP function's.
type Association struct {
	Node     string         `cbor:"1,keyasint"`
	From     netip.AddrPort `cbor:"2,keyasint"` // where its requests come from
	Recovery uint32         `cbor:"3,keyasint"` // its Recovery Time Stamp, as on the wire
	Created  int64          `cbor:"4,keyasint"` // Unix seconds
}

// Encode makes a blob of a *Session or *Meta.
func Encode(v any) ([]byte, error) {
	b, err := cbor.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append([]byte{Version}, b...), nil
}

// Decode reads a blob into a *Session or *Meta.
func Decode(b []byte, v any) error {
	if len(b) == 0 {
		return fmt.Errorf("empty blob")
	}
	if b[0] != Version {
		return fmt.Errorf("blob of version %d, this upf-c reads %d", b[0], Version)
	}
	return cbor.Unmarshal(b[1:], v)
}

// DecodeSession reads a session's blob and refuses one that could not have been written.
func DecodeSession(b []byte) (*Session, error) {
	s := &Session{}
	if err := Decode(b, s); err != nil {
		return nil, err
	}
	if s.UPSEID == 0 || s.Rules == nil {
		return nil, fmt.Errorf("blob without a session")
	}
	s.Rules = s.Rules.Clone() // maps that are nil become empty ones
	for id := range s.Rules.URRs {
		if _, ok := s.Meters[id]; !ok {
			return nil, fmt.Errorf("URR %d has no meter", id)
		}
	}
	for id := range s.Rules.QERs {
		if _, ok := s.QERSlots[id]; !ok {
			return nil, fmt.Errorf("QER %d has no slot", id)
		}
	}
	return s, nil
}
