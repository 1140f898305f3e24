package peers

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/upf/upfc/compile"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Peer is one GTP-U peer: a gNB, or a UPF behind N9.
type Peer struct {
	Address netip.Addr `json:"address"`
	Tunnels int        `json:"tunnels"` // FARs that send into one
	// Path is up, down, or unknown when nobody has asked the peer.
	Path       string    `json:"path"`
	Since      time.Time `json:"since,omitzero"`
	LastAnswer time.Time `json:"lastAnswer,omitzero"`
}

// Owner is whose tunnels lead to the peers.
type Owner struct {
	Echo    config.Echo
	Own     compile.Local // GTP-U addresses
	Log     *slog.Logger
	Machine machine.Machine

	// Conn is the connection to upf-u; nil while there is none.
	Conn func() *dataplane.Conn
	// Tunnels are how many lead to each peer, and CorePeers those on N9.
	Tunnels   func() map[netip.Addr]int
	CorePeers func() map[netip.Addr]bool
	// Report tells CP functions that the paths to peers have failed, or that they work again.
	Report func(failed bool, peers []netip.Addr)
}

// Peers are those into whose tunnels sessions send.
type Peers struct {
	o           Owner
	paths       *paths
	indications indications
}

// New knows nothing of them yet.
func New(o Owner) *Peers {
	return &Peers{o: o, paths: newPaths(), indications: indications{seen: map[rules.FTEID]time.Time{}}}
}

// List lists them by address.
func (p *Peers) List() []Peer {
	tunnels := p.o.Tunnels()
	out := make([]Peer, 0, len(tunnels))
	for addr, n := range tunnels {
		i := Peer{Address: addr, Tunnels: n, Path: "unknown"}
		p.paths.info(&i)
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b Peer) int { return a.Address.Compare(b.Address) })
	return out
}
