package agent

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/peers"
	"core5g.dev/core5g/upf/upfc/agent/sessions"
	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/topology"
)

// What operators, metrics and e2e look at. Nothing here is a secret: the UPF knows no subscriber
// identity and no key.

// What is shown of sessions.
type (
	SessionInfo   = sessions.Info
	SessionDetail = sessions.Detail
	GroupDrops    = sessions.GroupDrops
	NodeTraffic   = sessions.NodeTraffic
	NAT44         = sessions.NAT44
	Table         = sessions.Table
)

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

// Status reports on the agent; workers only while upf-u is connected.
func (a *Agent) Status() Status {
	standby := a.standbyStatus()
	load, reduction := a.node.Load()
	st := Status{NodeID: a.cfg.NodeID, Recovery: a.node.Recovery(), Sessions: a.store.Sessions(), Associations: []AssociationInfo{}, Standby: standby, Load: load, Reduction: reduction}
	if conn := a.link.Current(); conn != nil {
		st.Connected = true
		st.Networks = a.sessions.Networks()
		st.Workers = conn.Shm().Workers()
		st.TSCHz = conn.Shm().TSCHz()
		st.RulesOctets = conn.Shm().RulesOctets()
		st.Topology = conn.Shm().Topology(st.Networks)
		st.Missed = conn.Shm().Missed()
		st.Groups = a.sessions.Drops(conn.Shm())
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

// Sessions lists all sessions by UE address.
func (a *Agent) Sessions() []SessionInfo { return a.sessions.List() }

// Session is one session in full.
func (a *Agent) Session(seid uint64) (*SessionDetail, bool) { return a.sessions.Detail(seid) }

// Traffic lists what sessions have carried by Node ID and Network Instance.
func (a *Agent) Traffic() []NodeTraffic { return a.sessions.Traffic() }

// Tables lists what can run out: sessions, pairs of slots for the QERs and URRs of one, and NAT44 blocks of network instances.
func (a *Agent) Tables() []Table { return a.sessions.Tables() }

// Peers lists the GTP-U peers by address.
func (a *Agent) Peers() []peers.Peer { return a.peers.List() }

func (a *Agent) workers() []abi.WorkerStats {
	if conn := a.link.Current(); conn != nil {
		return conn.Shm().Workers()
	}
	return nil
}
