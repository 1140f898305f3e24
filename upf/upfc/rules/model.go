package rules

import (
	"iter"
	"net/netip"
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
	PDRs      ByID[uint16, *PDR]
	FARs      ByID[uint32, *FAR]
	QERs      ByID[uint32, *QER]
	URRs      ByID[uint32, *URR]
	BARs      ByID[uint8, *BAR]
	Endpoints ByID[uint8, *Endpoint]
	Ethernet  bool // it is of an Ethernet PDU session, and stays one
}

// NewSet is a session without rules.
func NewSet() *Set { return &Set{} }

// Clone is a set that can be changed without the original noticing.
func (s *Set) Clone() *Set {
	return &Set{
		PDRs: s.PDRs.Clone(), FARs: s.FARs.Clone(), QERs: s.QERs.Clone(), URRs: s.URRs.Clone(),
		BARs: s.BARs.Clone(), Endpoints: s.Endpoints.Clone(), Ethernet: s.Ethernet,
	}
}

// matches are the set's PDIs and Traffic Endpoints, each with the PDR that it stands in; 0 for an
// endpoint.
func (s *Set) matches(yield func(pdr uint16, m *Match) bool) {
	for id, r := range s.PDRs.All() {
		if !yield(id, &r.PDI.Match) {
			return
		}
	}
	for _, e := range s.Endpoints.All() {
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
	if r := s.PDRs.Get(pdr); r != nil {
		return r.PDI.NetworkInstance
	}
	for _, e := range s.Endpoints.All() {
		if e.UEAddress.IsValid() || e.UEPrefix.IsValid() {
			return e.NetworkInstance
		}
	}
	return ""
}

// NetworkInstance is that of the session's packets: of the first PDR towards the UE that has one, else of
// the first that has one. An SMF puts the DNN there.
func (s *Set) NetworkInstance() string {
	other := ""
	for _, r := range s.PDRs.All() {
		name := r.PDI.NetworkInstance
		if len(r.PDI.Endpoints) > 0 {
			name = ""
			for _, m := range s.matchesOf(r) {
				if name = m.NetworkInstance; name != "" {
					break
				}
			}
		}
		if name != "" && r.PDI.SourceInterface == Core {
			return name
		}
		if other == "" {
			other = name
		}
	}
	return other
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
