package sessions

// What each CP function's sessions have carried, by Network Instance. Nobody counts that on a packet's way: it is what the URRs
// count, summed up. Sessions at rest are encoded, so that asking all of them is work: it is done at a pace
// that stays below sweepShare of a CPU, and once more when a session ends. A scrape reads the sums.
//
// Of several URRs of a session, the one that counts most in a direction is taken: in free5GC's SMF that is the
// one of the whole PDU session.

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

const (
	sweepInterval = 5 * time.Second
	sweepShare    = 20 // one part in so many
)

// NodeTraffic is what the sessions of a CP function in one Network Instance have carried since this upf-c
// began.
type NodeTraffic struct {
	state.Group
	usage.Counts
}

type traffic struct {
	begin int64 // Unix seconds: what earlier sessions carried before they are first seen is not ours

	mu   sync.Mutex
	seen []seen // by session
	sums map[state.Group]usage.Counts
}

// seen is what a session had carried when it was last looked at.
type seen struct {
	usage.Counts
	known bool
}

func newTraffic(now time.Time) *traffic {
	return &traffic{begin: now.Unix(), sums: map[state.Group]usage.Counts{}}
}

// Traffic lists them by Node ID and Network Instance.
func (ss *Sessions) Traffic() []NodeTraffic {
	t := ss.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]NodeTraffic, 0, len(t.sums))
	for group, c := range t.sums {
		out = append(out, NodeTraffic{group, c})
	}
	slices.SortFunc(out, func(a, b NodeTraffic) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.NetworkInstance, b.NetworkInstance))
	})
	return out
}

// KeepTraffic sweeps over all sessions until ctx ends.
func (ss *Sessions) KeepTraffic(ctx context.Context) {
	for pause := sweepInterval; ss.o.Machine.Wait(pause, ctx.Done()); {
		begin := ss.o.Machine.Now()
		ss.Sweep()
		pause = max(sweepInterval, sweepShare*ss.o.Machine.Now().Sub(begin))
	}
}

// Sweep counts what sessions have carried since they were last looked at.
func (ss *Sessions) Sweep() {
	var used state.Session // one is read over the other
	for index := range ss.store.All("") {
		if s := ss.store.LeaseOver(index, &used).Locked(); s != nil {
			ss.traffic.count(s, false)
			s.Unlock()
			ss.store.Leftover(s, &used)
		}
	}
}

// carried is what the session has carried, by the URRs that count most.
func carried(s *leases.Session) usage.Counts {
	var most usage.Counts
	for _, m := range s.Meters.All() {
		c := m.Measured(usage.FromSlot(s.Shm.URR(m.Slot)))
		most.UL, most.DL = max(most.UL, c.UL), max(most.DL, c.DL)
		most.ULPackets, most.DLPackets = max(most.ULPackets, c.ULPackets), max(most.DLPackets, c.DLPackets)
	}
	return most
}

// count takes a locked session in; last, when it ends.
func (t *traffic) count(s *leases.Session, last bool) {
	var now usage.Counts
	if s.Shm != nil {
		now = carried(s)
	}
	group := state.Group{Node: s.Node, NetworkInstance: s.Rules.NetworkInstance()}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := int(s.Index) + 1; n > len(t.seen) {
		t.seen = append(t.seen, make([]seen, n-len(t.seen))...)
	}
	before := &t.seen[s.Index]
	if before.known || s.Created >= t.begin {
		t.sums[group] = t.sums[group].Plus(now.Minus(before.Counts)) // a URR that is gone takes nothing away
	}
	*before = seen{now, true}
	if last {
		*before = seen{}
	}
}
