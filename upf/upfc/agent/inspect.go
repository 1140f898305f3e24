package agent

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/peers"
	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/topology"
	"core5g.dev/core5g/upf/upfc/usage"
)

// What operators, metrics and e2e look at. Nothing here is a secret: the UPF knows no subscriber
// identity and no key.

// Status is the agent as a whole.
type Status struct {
	NodeID       string            `json:"nodeID"`
	Recovery     time.Time         `json:"recoveryTimeStamp"`
	Connected    bool              `json:"dataplaneConnected"`
	Sessions     int               `json:"sessions"`
	Associations []AssociationInfo `json:"associations"`
	Workers      []abi.WorkerStats `json:"-"`
	TSCHz        uint64            `json:"-"`
	RulesOctets  uint64            `json:"rulesOctets"` // of compiled rules in upf-u
	// Load Metric and Overload Reduction Metric, in percent, as CP functions are told that want to hear them.
	Load      uint8 `json:"loadPercent"`
	Reduction uint8 `json:"overloadReductionPercent"`
	// Topology is where upf-u is; nil while it is not connected.
	Topology *topology.Topology `json:"-"`
	// Networks are the network instances of N6; nil while upf-u is not connected.
	Networks networks.List `json:"-"`
	// Missed is how many frames each interface lost before a worker could take them.
	Missed [abi.Ports]uint64 `json:"-"`
	// Groups are what was dropped by CP function and Network Instance.
	Groups []GroupDrops `json:"-"`
	// Standby is nil where there is no redundancy.
	Standby *StandbyStatus `json:"standby,omitempty"`
}

// StandbyStatus is what is known of a redundant unit's standby.
type StandbyStatus struct {
	Epoch     uint64 `json:"epoch"`  // granted; 0: this UPF is silent
	InSync    bool   `json:"inSync"` // a standby has all that was answered, and may take over
	Behind    uint64 `json:"behind"` // changes that it has not acknowledged
	Octets    uint64 `json:"octets"` // sent to standbys
	Snapshots uint64 `json:"snapshots"`
	Struck    uint64 `json:"struck"` // how often the unit went on without its standby
}

// AssociationInfo is one CP function.
type AssociationInfo struct {
	Node     string         `json:"node"`
	From     netip.AddrPort `json:"from"`
	Sessions int            `json:"sessions"`
	Since    time.Time      `json:"since"`
	Failed   *time.Time     `json:"pathFailedSince,omitempty"`
}

// SessionInfo is one session in short.
type SessionInfo struct {
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

// SessionDetail is one session with its rules and usage.
type SessionDetail struct {
	SessionInfo
	Rules  *rules.Set              `json:"rules"`
	Usage  map[uint32]usage.Counts `json:"usage"`
	Outbox []usage.Report          `json:"reportsToAcknowledge,omitempty"`
}

// Status reports on the agent; workers only while upf-u is connected.
func (a *Agent) Status() Status {
	standby := a.standbyStatus()
	load, reduction := a.node.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	st := Status{NodeID: a.cfg.NodeID, Recovery: a.node.Recovery(), Sessions: a.store.Sessions(), Associations: []AssociationInfo{}, Standby: standby, Load: load, Reduction: reduction}
	if conn := a.link.Current(); conn != nil {
		st.Connected = true
		st.Networks = a.networks()
		st.Workers = conn.Shm().Workers()
		st.TSCHz = conn.Shm().TSCHz()
		st.RulesOctets = conn.Shm().RulesOctets()
		st.Topology = conn.Shm().Topology(st.Networks)
		st.Missed = conn.Shm().Missed()
		st.Groups = a.groups.drops(conn.Shm())
	}
	count := a.store.PerNode()
	a.node.Each(func(as *state.Association, failed time.Time) {
		info := AssociationInfo{Node: as.Node, From: as.From, Sessions: count[as.Node], Since: time.Unix(as.Created, 0)}
		if !failed.IsZero() {
			info.Failed = &failed
		}
		st.Associations = append(st.Associations, info)
	})
	slices.SortFunc(st.Associations, func(a, b AssociationInfo) int { return cmp.Compare(a.Node, b.Node) })
	return st
}

func (a *Agent) workers() []abi.WorkerStats {
	if conn := a.link.Current(); conn != nil {
		return conn.Shm().Workers()
	}
	return nil
}

// Sessions lists all sessions by UE address.
func (a *Agent) Sessions() []SessionInfo {
	out := make([]SessionInfo, 0, a.store.Sessions())
	for index := range a.store.All("") {
		if s := a.lock(index); s != nil {
			out = append(out, s.info())
			s.unlock()
		}
	}
	slices.SortFunc(out, func(a, b SessionInfo) int { return cmp.Or(a.UE.Compare(b.UE), cmp.Compare(a.SEID, b.SEID)) })
	return out
}

// Peers lists the GTP-U peers by address.
func (a *Agent) Peers() []peers.Peer { return a.peers.List() }

// Session is one session in full.
func (a *Agent) Session(seid uint64) (*SessionDetail, bool) {
	s := a.lockSEID(seid)
	if s == nil {
		return nil, false
	}
	defer s.unlock()
	d := &SessionDetail{SessionInfo: s.info(), Rules: s.Rules, Usage: map[uint32]usage.Counts{}, Outbox: s.Outbox}
	for id, m := range s.Meters.All() {
		d.Usage[id] = m.Measured(usage.FromSlot(s.Shm.URR(m.Slot)))
	}
	return d, true
}

// info is of a locked session.
func (s *session) info() SessionInfo {
	i := SessionInfo{
		SEID: hex(s.UPSEID), CPSEID: hex(s.CPSEID), Node: s.Node, UE: s.Rules.UEAddress(), UE6: s.Rules.UEPrefix(), NetworkInstance: s.Rules.NetworkInstance(), Index: s.Index,
		PDRs: len(s.Rules.PDRs), Created: time.Unix(s.Created, 0),
	}
	i.Ethernet = s.Rules.Ethernet
	for _, station := range s.Stations {
		i.MACs = append(i.MACs, station.String())
	}
	for k := range s.Flows {
		i.Flows = append(i.Flows, s.Flows[k].String())
	}
	i.NAT44 = s.agent.showBlock(&s.Session)
	for _, m := range s.Meters.All() {
		if c := m.Measured(usage.FromSlot(s.Shm.URR(m.Slot))); c.Total() >= i.UL+i.DL {
			i.UL, i.DL = c.UL, c.DL
		}
	}
	return i
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
