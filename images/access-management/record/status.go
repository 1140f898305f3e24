package record

import (
	"errors"
	"fmt"
)

// Bounds of a StatusWatch: MostGUAMIs that one can name, and MostServed that there are.
const (
	MostGUAMIs = 8
	MostServed = 64
)

// StatusWatch is somebody who wants to hear which GUAMIs the AMF serves (SubscriptionData, TS 29.518 6.1.6.2.2). It is of a shard, and of no UE.
type StatusWatch struct {
	Version uint8 `cbor:"0,keyasint"`
	// Name in its URI.
	Name string `cbor:"1,keyasint"`
	// URI where it is told.
	URI string `cbor:"2,keyasint"`
	// Wanted are those of interest; none: all.
	Wanted []GUAMI `cbor:"3,keyasint,omitempty"`
	// Told are those of them that are available, as far as it has heard.
	Told []GUAMI `cbor:"4,keyasint,omitempty"`
	// Unsure are those of which it was, or may have been, told something that it has not said to have heard: it is told of them whatever they are by now.
	Unsure []GUAMI `cbor:"5,keyasint,omitempty"`
}

// GUAMI of an AMF (TS 23.003 2.10.1).
type GUAMI struct {
	// PLMN in five or six digits.
	PLMN string `cbor:"0,keyasint"`
	// AMF is region, set and pointer in 24 bits.
	AMF uint32 `cbor:"1,keyasint"`
}

// String as in 20893-0100c1.
func (g GUAMI) String() string { return fmt.Sprintf("%s-%06x", g.PLMN, g.AMF) }

// Encode writes it.
func (w *StatusWatch) Encode() ([]byte, error) {
	out := *w
	out.Version = Version
	return encoding.Marshal(&out)
}

// DecodeStatusWatch reads one. Its error names nothing of the content.
func DecodeStatusWatch(b []byte) (*StatusWatch, error) {
	var w StatusWatch
	if err := decoding.Unmarshal(b, &w); err != nil {
		return nil, fmt.Errorf("the subscription cannot be read: %w", err)
	}
	if w.Version < Oldest || w.Version > Version+1 {
		return nil, fmt.Errorf("%w: %d, this program reads %d to %d", ErrVersion, w.Version, Oldest, Version+1)
	}
	if w.Name == "" || w.URI == "" || len(w.Wanted) > MostGUAMIs || len(w.Told) > MostServed || len(w.Unsure) > MostServed {
		return nil, errors.New("the subscription cannot be read: it is none that there can be")
	}
	return &w, nil
}
