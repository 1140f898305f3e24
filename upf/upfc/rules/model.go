package rules

import (
	"maps"
	"net/netip"
)

// Values of a set are never changed in place: an update puts a changed copy into a cloned set. The
// cbor keys are part of what upf-u stores for us, so they are never given a second meaning.

// FTEID is a GTP-U tunnel endpoint: the pair identifies it, since two SMFs may choose the same TEID.
type FTEID struct {
	_    struct{} `cbor:",toarray"`
	Addr netip.Addr
	TEID uint32
}

// IsValid says whether there is one.
func (f FTEID) IsValid() bool { return f.Addr.IsValid() }

// Set holds the rules of one session.
type Set struct {
	PDRs map[uint16]*PDR `cbor:"1,keyasint"`
	FARs map[uint32]*FAR `cbor:"2,keyasint"`
	QERs map[uint32]*QER `cbor:"3,keyasint"`
	URRs map[uint32]*URR `cbor:"4,keyasint"`
}

// NewSet is a session without rules.
func NewSet() *Set {
	return &Set{PDRs: map[uint16]*PDR{}, FARs: map[uint32]*FAR{}, QERs: map[uint32]*QER{}, URRs: map[uint32]*URR{}}
}

// Clone is a set that can be changed without the original noticing.
func (s *Set) Clone() *Set {
	c := &Set{PDRs: maps.Clone(s.PDRs), FARs: maps.Clone(s.FARs), QERs: maps.Clone(s.QERs), URRs: maps.Clone(s.URRs)}
	if c.PDRs == nil {
		c.PDRs = map[uint16]*PDR{}
	}
	if c.FARs == nil {
		c.FARs = map[uint32]*FAR{}
	}
	if c.QERs == nil {
		c.QERs = map[uint32]*QER{}
	}
	if c.URRs == nil {
		c.URRs = map[uint32]*URR{}
	}
	return c
}

// UEAddress is the UE IPv4 address that the session's PDRs name; invalid when none does. (All name
// the same one: Plan refuses anything else.)
func (s *Set) UEAddress() netip.Addr {
	for _, p := range s.PDRs {
		if p.PDI.UEAddress.IsValid() {
			return p.PDI.UEAddress
		}
	}
	return netip.Addr{}
}

// PDR is TS 29.244 table 7.5.2.2-1.
type PDR struct {
	ID         uint16   `cbor:"1,keyasint"`
	Precedence uint32   `cbor:"2,keyasint,omitempty"`
	PDI        PDI      `cbor:"3,keyasint"`
	RemoveGTPU bool     `cbor:"4,keyasint,omitempty"` // Outer Header Removal
	FAR        uint32   `cbor:"5,keyasint"`
	QERs       []uint32 `cbor:"6,keyasint,omitempty"`
	URRs       []uint32 `cbor:"7,keyasint,omitempty"`
}

// Source and Destination Interface values (TS 29.244 8.2.2, 8.2.24) that this UPF has.
const (
	Access uint8 = 0
	Core   uint8 = 1
	N6LAN  uint8 = 2 // treated as Core: there is one N6
)

// PDI is TS 29.244 table 7.5.2.2-2.
type PDI struct {
	SourceInterface uint8       `cbor:"1,keyasint,omitempty"`
	FTEID           FTEID       `cbor:"2,keyasint"`
	Chosen          bool        `cbor:"3,keyasint,omitempty"` // the F-TEID was allocated here (CH)
	NetworkInstance string      `cbor:"4,keyasint,omitempty"`
	UEAddress       netip.Addr  `cbor:"5,keyasint"`
	QFIs            []uint8     `cbor:"6,keyasint,omitempty"`
	Filters         []SDFFilter `cbor:"7,keyasint,omitempty"`
}

// Apply Action bits that are carried out (TS 29.244 8.2.26).
const (
	Drop    uint8 = 0x01
	Forward uint8 = 0x02
	Buffer  uint8 = 0x04
	Notify  uint8 = 0x08 // NOCP
)

// FAR is TS 29.244 table 7.5.2.3-1.
type FAR struct {
	ID              uint32 `cbor:"1,keyasint"`
	Action          uint8  `cbor:"2,keyasint"`
	Destination     uint8  `cbor:"3,keyasint,omitempty"`
	NetworkInstance string `cbor:"4,keyasint,omitempty"`
	Tunnel          FTEID  `cbor:"5,keyasint"` // Outer Header Creation; invalid when none
	HasToS          bool   `cbor:"6,keyasint,omitempty"`
	ToS             uint8  `cbor:"7,keyasint,omitempty"` // Transport Level Marking
	ToSMask         uint8  `cbor:"8,keyasint,omitempty"`
}

// QER is TS 29.244 table 7.5.2.5-1. Rates are in bit/s.
type QER struct {
	ID       uint32 `cbor:"1,keyasint"`
	ULClosed bool   `cbor:"2,keyasint,omitempty"`
	DLClosed bool   `cbor:"3,keyasint,omitempty"`
	HasMBR   bool   `cbor:"4,keyasint,omitempty"`
	MBRUL    uint64 `cbor:"5,keyasint,omitempty"`
	MBRDL    uint64 `cbor:"6,keyasint,omitempty"`
	HasGBR   bool   `cbor:"7,keyasint,omitempty"`
	GBRUL    uint64 `cbor:"8,keyasint,omitempty"`
	GBRDL    uint64 `cbor:"9,keyasint,omitempty"`
	QFI      uint8  `cbor:"10,keyasint,omitempty"`
}
