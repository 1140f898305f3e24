package rules

import (
	"cmp"
	"iter"
	"maps"
	"net/netip"
	"slices"
)

// Values of a set are never changed in place: an update puts a changed copy into a cloned set.

// FTEID is a GTP-U tunnel endpoint: the pair identifies it, since two SMFs may choose the same TEID.
type FTEID struct {
	Addr netip.Addr
	TEID uint32
}

// IsValid says whether there is one.
func (f FTEID) IsValid() bool { return f.Addr.IsValid() }

// Set holds the rules of one session. What sort of rule it is, its own file says.
type Set struct {
	PDRs      map[uint16]*PDR
	FARs      map[uint32]*FAR
	QERs      map[uint32]*QER
	URRs      map[uint32]*URR
	BARs      map[uint8]*BAR
	Endpoints map[uint8]*Endpoint
	Ethernet  bool // it is of an Ethernet PDU session, and stays one
}

// NewSet is a session without rules.
func NewSet() *Set {
	s := (&Set{}).Clone()
	s.BARs, s.Endpoints = map[uint8]*BAR{}, map[uint8]*Endpoint{}
	return s
}

// Clone is a set that can be changed without the original noticing. It has no map of BARs or Traffic Endpoints where there are none.
func (s *Set) Clone() *Set {
	return &Set{
		PDRs: clone(s.PDRs), FARs: clone(s.FARs), QERs: clone(s.QERs), URRs: clone(s.URRs),
		BARs: maps.Clone(s.BARs), Endpoints: maps.Clone(s.Endpoints), // few sessions have any
		Ethernet: s.Ethernet,
	}
}

// Sorted appends a map's keys to list, which is empty, in their order.
func Sorted[K cmp.Ordered, V any](m map[K]V, list []K) []K {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// clone is never nil.
func clone[K comparable, V any](m map[K]V) map[K]V {
	if len(m) == 0 {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// matches are the set's PDIs and Traffic Endpoints, each with the PDR that it stands in; 0 for an
// endpoint.
func (s *Set) matches(yield func(pdr uint16, m *Match) bool) {
	for id, r := range s.PDRs {
		if !yield(id, &r.PDI.Match) {
			return
		}
	}
	for _, e := range s.Endpoints {
		if !yield(0, &e.Match) {
			return
		}
	}
}

// FTEIDs are the local F-TEIDs of the set, each with a PDR that has it (0: a Traffic Endpoint). One
// that several PDRs share comes several times.
func (s *Set) FTEIDs() iter.Seq2[uint16, FTEID] {
	return func(yield func(uint16, FTEID) bool) {
		for id, m := range s.matches {
			if m.FTEID.IsValid() && !yield(id, m.FTEID) || m.FTEID6.IsValid() && !yield(id, m.FTEID6) {
				return
			}
		}
	}
}

// UEs are the UE IP addresses and prefixes of the set likewise, an IPv4 address as its /32.
func (s *Set) UEs() iter.Seq2[uint16, netip.Prefix] {
	return func(yield func(uint16, netip.Prefix) bool) {
		for id, m := range s.matches {
			if m.UEAddress.IsValid() && !yield(id, netip.PrefixFrom(m.UEAddress, 32)) || m.UEPrefix.IsValid() && !yield(id, m.UEPrefix) {
				return
			}
		}
	}
}

// InstanceOf is the network instance in which a PDR finds its UE addresses; for PDR 0, which stands
// for a Traffic Endpoint in what FTEIDs and UEs yield, that of the lowest endpoint with one.
func (s *Set) InstanceOf(pdr uint16) string {
	if r := s.PDRs[pdr]; r != nil {
		return r.PDI.NetworkInstance
	}
	for id := range maxEndpoints {
		if e := s.Endpoints[uint8(id)]; e != nil && (e.UEAddress.IsValid() || e.UEPrefix.IsValid()) {
			return e.NetworkInstance
		}
	}
	return ""
}

// NetworkInstance is that of the session's packets: of the first PDR towards the UE that has one, else of
// the first that has one. An SMF puts the DNN there.
func (s *Set) NetworkInstance() string {
	name, best := "", 0
	for id, r := range s.PDRs {
		place := int(id) + 1
		if r.PDI.SourceInterface != Core {
			place += 1 << 16
		}
		s.Matches(r, func(m *Match) {
			if m.NetworkInstance != "" && (best == 0 || place < best) {
				name, best = m.NetworkInstance, place
			}
		})
	}
	return name
}

// UEAddress is the UE IPv4 address of the session; invalid when it has none. (All PDRs name the
// same one: Plan refuses anything else.)
func (s *Set) UEAddress() netip.Addr {
	for _, m := range s.matches {
		if m.UEAddress.IsValid() {
			return m.UEAddress
		}
	}
	return netip.Addr{}
}

// UEPrefix is its IPv6 prefix likewise.
func (s *Set) UEPrefix() netip.Prefix {
	for _, m := range s.matches {
		if m.UEPrefix.IsValid() {
			return m.UEPrefix
		}
	}
	return netip.Prefix{}
}
