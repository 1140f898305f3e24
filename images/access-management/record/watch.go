package record

import "slices"

// MostWatches bounds Watches of a UE, and MostWatched the events of one.
const (
	MostWatches = 2
	MostWatched = 6
)

// Watch is somebody who wants to hear what the UE does (AmfEventSubscription, TS 29.518 6.2.6.2.2). It ends with the record.
type Watch struct {
	// Name in its URI, of this UE's.
	Name string `cbor:"0,keyasint"`
	// URI where reports go, with the Correlation.
	URI         string `cbor:"1,keyasint"`
	Correlation string `cbor:"2,keyasint,omitempty"`
	// Expiry is Unix time in s; 0: never.
	Expiry int64     `cbor:"3,keyasint,omitempty"`
	Events []Watched `cbor:"4,keyasint"`
}

// Watched is an event of one.
type Watched struct {
	// Kind of package procedure.
	Kind uint8 `cbor:"0,keyasint"`
	// Left is how many reports are to follow; 0: as many as there are.
	Left uint32 `cbor:"1,keyasint,omitempty"`
	// Area is what presence is reported of, and In what was reported last.
	Area Area `cbor:"2,keyasint,omitzero"`
	In   bool `cbor:"3,keyasint,omitempty"`
	// Coarse: a location is one of tracking areas; Traffic: who can be reached is who is connected.
	Coarse  bool `cbor:"4,keyasint,omitempty"`
	Traffic bool `cbor:"5,keyasint,omitempty"`
}

// Watch of that name; nil: there is none.
func (u *UE) Watch(name string) *Watch {
	for n := range u.Watches {
		if u.Watches[n].Name == name {
			return &u.Watches[n]
		}
	}
	return nil
}

// Unwatch ends the one of that name.
func (u *UE) Unwatch(name string) {
	u.Watches = slices.DeleteFunc(u.Watches, func(w Watch) bool { return w.Name == name })
}

func cloneWatches(list []Watch) []Watch {
	out := slices.Clone(list)
	for n := range out {
		out[n].Events = slices.Clone(out[n].Events)
	}
	return out
}
