package record

import (
	"errors"
	"slices"

	"core5g.dev/core5g/images/session-management/n1"
)

// Ethernet is what the unit has said of the devices behind a UE (TS 29.244 5.13.5).
type Ethernet struct {
	// MACs are addresses that frames of the UE have had, the one that was heard of first at the front, MostMACs at most.
	MACs MACs `cbor:"0,keyasint,omitzero"`
	// More: there were others, for which there was no room.
	More bool `cbor:"1,keyasint,omitempty"`
}

// MostMACs bounds MACs: the unit has them all, and a record has room for few.
const MostMACs = 16

// Seen is what the unit has detected and removed, in this order. Those for which there was no room it does not come back to.
func (e *Ethernet) Seen(detected, removed []n1.MAC) {
	for _, m := range detected {
		switch {
		case slices.Contains(e.MACs, m):
		case len(e.MACs) < MostMACs:
			e.MACs = append(e.MACs, m)
		default:
			e.More = true
		}
	}
	e.MACs = slices.DeleteFunc(e.MACs, func(m n1.MAC) bool { return slices.Contains(removed, m) })
}

// MACs are written as six octets each.
type MACs []n1.MAC

var errMACs = errors.New("MAC addresses that cannot be read")

// MarshalBinary writes them one behind the other.
func (m MACs) MarshalBinary() ([]byte, error) {
	out := []byte{}
	for _, a := range m {
		out = append(out, a[:]...)
	}
	return out, nil
}

// UnmarshalBinary reads what MarshalBinary has written.
func (m *MACs) UnmarshalBinary(b []byte) error {
	var out MACs
	for ; len(b) >= len(n1.MAC{}); b = b[len(n1.MAC{}):] {
		out = append(out, n1.MAC(b[:len(n1.MAC{})]))
	}
	if len(b) > 0 || len(out) > MostMACs {
		return errMACs
	}
	*m = out
	return nil
}
