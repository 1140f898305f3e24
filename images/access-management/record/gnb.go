package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
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
	// Interface is the Root of its NG interface where that was set up by another association than this: a gNB may have several for one (TS 38.412 7). 0: by this one.
	Interface uint64 `cbor:"15,keyasint,omitempty"`
	// Said is when the gNB said last what it is, by whichever association of the interface; Unix time in ms.
	Said int64 `cbor:"16,keyasint,omitempty"`
	// Ends are addresses of N2 terminators that it may have heard of (AMF Configuration Update), of the last offer and of those before that it was not told to let go
	// of. Offered is a digest of the offer that it has answered; 0: none, or nobody knows. A program that does not note them offers nothing.
	Ends    []End  `cbor:"17,keyasint,omitempty"`
	Offered uint32 `cbor:"18,keyasint,omitempty"`
	// Asked is when it was sent an AMF Configuration Update that it has not answered, Offering when an offer was; Unix time in ms, 0: it has answered. Its answer
	// names neither, so that no offer is under way beside another update.
	Asked    int64 `cbor:"19,keyasint,omitempty"`
	Offering int64 `cbor:"20,keyasint,omitempty"`
	// Peer and Here are where the association's ends are, the gNB's and ours, as its terminator says them. They are not kept.
	Peer, Here string `cbor:"-"`
}

// UnsureReduction: nobody knows what a gNB was asked last.
const UnsureReduction = 255

// End is an address of an N2 terminator, of 4 or 16 octets. Refused: the gNB could not connect to it.
type End struct {
	Address []byte `cbor:"0,keyasint"`
	Refused bool   `cbor:"1,keyasint,omitempty"`
}

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

// Root numbers the gNB's NG interface, by the association on which it was set up. UEs of an interface may be told, and say, things by any association of it.
func (g *GNB) Root() uint64 { return rootOf(g.Interface, g.Terminator, g.Association) }

// PodOf a terminator: its name without that of its life.
func PodOf(terminator string) string {
	if n := strings.LastIndexByte(terminator, '/'); n >= 0 {
		return terminator[:n]
	}
	return terminator
}

// Serves says whether an association is of the NG interface that a connection is on, or was.
func (g *GNB) Serves(a *Attachment) bool {
	switch {
	case g.Terminator == a.Terminator && g.Association == a.Association:
		return true
	case g.Interface == 0 && a.Interface == 0:
		return false
	}
	return g.Root() == a.Root()
}

// As is the gNB with what another association of its interface has heard of it since; the gNB itself where that is nothing.
func (g *GNB) As(o *GNB) *GNB {
	if o.Said <= g.Said {
		return g
	}
	is := *g
	is.Name, is.Areas, is.DRX, is.Said = o.Name, o.Areas, o.DRX, o.Said
	return &is
}

// At is the association as one for connections.
func (g *GNB) At() Attachment {
	return Attachment{Terminator: g.Terminator, Association: g.Association, GNB: g.Key(), Interface: g.Interface}
}

func rootOf(of uint64, terminator string, association uint64) uint64 {
	if of != 0 {
		return of
	}
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte(terminator), association))
	return h.Sum64() | 1
}

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
