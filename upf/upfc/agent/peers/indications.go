package peers

import (
	"maps"
	"sync"
	"time"

	"core5g.dev/core5g/upf/upfc/rules"
)

// indications are the tunnels of which Error Indications came lately: a peer sends one for every
// packet, until the CP function has done something about it.
type indications struct {
	mu   sync.Mutex
	seen map[rules.FTEID]time.Time
}

const (
	indicationEvery = time.Second
	indicationsMax  = 4096
)

// fresh notes an Error Indication; false when it is a repetition.
func (n *indications) fresh(f rules.FTEID, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, ok := n.seen[f]; ok && now.Sub(at) < indicationEvery {
		return false
	}
	if len(n.seen) >= indicationsMax {
		maps.DeleteFunc(n.seen, func(_ rules.FTEID, at time.Time) bool { return now.Sub(at) >= indicationEvery })
	}
	if len(n.seen) >= indicationsMax {
		return false // the next packet's will do
	}
	n.seen[f] = now
	return true
}

// Indicates notes that a peer has no such tunnel; false when it said so just before.
func (p *Peers) Indicates(f rules.FTEID) bool { return p.indications.fresh(f, p.o.Machine.Now()) }
