package sessions

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Info is one session in short.
type Info struct {
	SEID   string       `json:"seid"` // UP SEID, hexadecimal
	CPSEID string       `json:"cpSEID"`
	Node   string       `json:"node"`
	UE     netip.Addr   `json:"ueIPAddress"`
	UE6    netip.Prefix `json:"ueIPv6Prefix,omitzero"`
	// NetworkInstance in which they are.
	NetworkInstance string `json:"networkInstance,omitempty"`
	NAT44           *NAT44 `json:"nat44,omitempty"`
	// Ethernet is true of an Ethernet PDU session, and MACs are the addresses that were heard behind it.
	Ethernet bool     `json:"ethernet,omitempty"`
	MACs     []string `json:"macAddresses,omitempty"`
	// Flows are those of applications by domain name that the CP function was told have begun.
	Flows   []string  `json:"applicationFlows,omitempty"`
	Index   uint32    `json:"index"`
	PDRs    int       `json:"pdrs"`
	UL      uint64    `json:"uplinkOctets"` // of the URR that counts most
	DL      uint64    `json:"downlinkOctets"`
	Created time.Time `json:"created"`
}

// NAT44 is a session's block of ports of a public address.
type NAT44 struct {
	Address netip.Addr `json:"address"`
	Ports   string     `json:"ports"` // first-last
}

// Detail is one session with its rules and usage.
type Detail struct {
	Info
	Rules  *rules.Set              `json:"rules"`
	Usage  map[uint32]usage.Counts `json:"usage"`
	Outbox []usage.Report          `json:"reportsToAcknowledge,omitempty"`
}

// info is of a locked session.
func (ss *Sessions) info(s *leases.Session) Info {
	i := Info{
		SEID: pfcp.Hex(s.UPSEID), CPSEID: pfcp.Hex(s.CPSEID), Node: s.Node, UE: s.Rules.UEAddress(), UE6: s.Rules.UEPrefix(), NetworkInstance: s.Rules.NetworkInstance(), Index: s.Index,
		PDRs: len(s.Rules.PDRs), Created: time.Unix(s.Created, 0),
	}
	i.Ethernet = s.Rules.Ethernet
	for _, station := range s.Stations {
		i.MACs = append(i.MACs, station.String())
	}
	for k := range s.Flows {
		i.Flows = append(i.Flows, s.Flows[k].String())
	}
	i.NAT44 = ss.showBlock(&s.Session)
	for _, m := range s.Meters.All() {
		if c := m.Measured(usage.FromSlot(s.Shm.URR(m.Slot))); c.Total() >= i.UL+i.DL {
			i.UL, i.DL = c.UL, c.DL
		}
	}
	return i
}

// DetailAt is the session with that index, without its usage; nil when there is none.
func (ss *Sessions) DetailAt(index uint32) *Detail {
	s := ss.o.Leases.Lock(index)
	if s == nil {
		return nil
	}
	defer s.Unlock()
	return &Detail{Info: ss.info(s), Rules: s.Rules}
}

// List lists all sessions by UE address.
func (ss *Sessions) List() []Info {
	out := make([]Info, 0, ss.store.Sessions())
	for index := range ss.store.All("") {
		if s := ss.o.Leases.Lock(index); s != nil {
			out = append(out, ss.info(s))
			s.Unlock()
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return cmp.Or(a.UE.Compare(b.UE), cmp.Compare(a.SEID, b.SEID)) })
	return out
}

// Detail is one session in full.
func (ss *Sessions) Detail(seid uint64) (*Detail, bool) {
	s := ss.o.Leases.LockSEID(seid)
	if s == nil {
		return nil, false
	}
	defer s.Unlock()
	d := &Detail{Info: ss.info(s), Rules: s.Rules, Usage: map[uint32]usage.Counts{}, Outbox: s.Outbox}
	for id, m := range s.Meters.All() {
		d.Usage[id] = m.Measured(usage.FromSlot(s.Shm.URR(m.Slot)))
	}
	return d, true
}
