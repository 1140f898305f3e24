package record

import (
	"errors"
	"fmt"
	"slices"
)

// GNB is what a gNB has said of itself (TS 38.413 8.7.1, 8.7.2). The association's terminator keeps it, as octets that it does not read, and tells it every
// worker that connects: it ends with the association, and needs no store.
type GNB struct {
	Version uint8 `cbor:"0,keyasint"`
	// PLMN, ID and Bits, 22 to 32, are the global gNB ID.
	PLMN string `cbor:"1,keyasint"`
	ID   uint32 `cbor:"2,keyasint"`
	Bits uint8  `cbor:"3,keyasint"`
	// Name is for people.
	Name string `cbor:"4,keyasint,omitempty"`
	// Areas that it supports, at most 256.
	Areas []Tracking `cbor:"5,keyasint"`
	// DRX is the default paging DRX, in radio frames: 32, 64, 128, 256.
	DRX uint16 `cbor:"6,keyasint"`
	// Terminator and Association are where it is; an association more for the same node has a record of its own.
	Terminator  string `cbor:"7,keyasint"`
	Association uint64 `cbor:"8,keyasint"`
	// Retains: it has kept its UE contexts over its NG Setup, and the AMF has, too (UE Retention Information).
	Retains bool `cbor:"9,keyasint,omitempty"`
	// Told is a digest of what it has heard of the AMF (NG Setup Response, AMF Configuration Update); 0: nobody has noted it.
	Told uint32 `cbor:"10,keyasint,omitempty"`
	// Lead is the shard that does what concerns it; 0 in a record of a program that did not note it.
	Lead uint16 `cbor:"12,keyasint,omitempty"`
	// Doubtful: it said that it had kept its UE contexts, was told that the AMF has not, and nobody knows yet whether it has heard that. What it says next, but
	// for another NG Setup, shows that it has.
	Doubtful bool `cbor:"13,keyasint,omitempty"`
	// Reduction, in percent, is what it was asked last to refuse of the UEs that come (Overload Start); 0: none, or no longer; UnsureReduction.
	Reduction uint8 `cbor:"14,keyasint,omitempty"`
}

// UnsureReduction: nobody knows what a gNB was asked last.
const UnsureReduction = 255

// Tracking is a tracking area that a gNB supports, with the PLMNs that are broadcast in it.
type Tracking struct {
	TAC       uint32      `cbor:"0,keyasint"`
	Broadcast []Broadcast `cbor:"1,keyasint"`
}

// Broadcast is a PLMN of a tracking area and the slices there.
type Broadcast struct {
	PLMN   string  `cbor:"0,keyasint"`
	Slices []Slice `cbor:"1,keyasint"`
}

// GNBName of a global gNB ID, in the store, in metrics and for people: 20893-00000001/24.
func GNBName(plmn string, id uint32, bits uint8) string {
	return fmt.Sprintf("%s-%08x/%d", plmn, id, bits)
}

// Key names the gNB.
func (g *GNB) Key() string { return GNBName(g.PLMN, g.ID, g.Bits) }

// Slices of the gNB in a tracking area; none: it has not that one.
func (g *GNB) Slices(plmn string, tac uint32) []Slice {
	for _, a := range g.Areas {
		if a.TAC != tac {
			continue
		}
		for _, b := range a.Broadcast {
			if b.PLMN == plmn {
				return b.Slices
			}
		}
	}
	return nil
}

// TACs that the gNB has in a PLMN, in rising order.
func (g *GNB) TACs(plmn string) []uint32 {
	var out []uint32
	for _, a := range g.Areas {
		if slices.ContainsFunc(a.Broadcast, func(b Broadcast) bool { return b.PLMN == plmn }) {
			out = append(out, a.TAC)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Encode writes a gNB.
func (g *GNB) Encode() ([]byte, error) {
	out := *g
	out.Version = Version
	return encoding.Marshal(&out)
}

// DecodeGNB reads one.
func DecodeGNB(b []byte) (*GNB, error) {
	var g GNB
	if err := decoding.Unmarshal(b, &g); err != nil {
		return nil, fmt.Errorf("the gNB cannot be read: %w", err)
	}
	if g.Version < Oldest || g.Version > Version+1 {
		return nil, fmt.Errorf("%w: %d, this program reads %d to %d", ErrVersion, g.Version, Oldest, Version+1)
	}
	if len(g.PLMN) < 5 || len(g.PLMN) > 6 || g.Bits < 22 || g.Bits > 32 || len(g.Areas) == 0 {
		return nil, errors.New("the gNB cannot be read: it names none, or none that there can be")
	}
	return &g, nil
}
