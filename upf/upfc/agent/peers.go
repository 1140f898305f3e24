package agent

import (
	"net/netip"
	"slices"
	"time"
)

// PeerInfo is one GTP-U peer: a gNB, or a UPF behind N9.
type PeerInfo struct {
	Address netip.Addr `json:"address"`
	Tunnels int        `json:"tunnels"` // FARs that send into one
	// Path is up, down, or unknown when nobody has asked the peer.
	Path       string    `json:"path"`
	Since      time.Time `json:"since,omitzero"`
	LastAnswer time.Time `json:"lastAnswer,omitzero"`
}

// Peers lists the GTP-U peers by address.
func (a *Agent) Peers() []PeerInfo {
	tunnels := a.store.PeerTunnels()
	out := make([]PeerInfo, 0, len(tunnels))
	for addr, n := range tunnels {
		i := PeerInfo{Address: addr, Tunnels: n, Path: "unknown"}
		a.paths.info(&i)
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b PeerInfo) int { return a.Address.Compare(b.Address) })
	return out
}
