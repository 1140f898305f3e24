package sessions

import (
	"slices"
	"sync"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
)

// groups numbers what upf-u counts drops by: the sessions of a CP function in one Network Instance. upf-u
// knows the numbers alone, META keeps the names. A number is never given to another pair, whose counters
// would begin with what others have lost; when there is none left, sessions are counted with packets that
// belong to none.
type groups struct {
	mu    sync.Mutex
	names []state.Group // number - 1
	saved int           // how many of them META has
}

// number is the group's; 0 when there are too many.
func (g *groups) number(node, networkInstance string) uint16 {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := state.Group{Node: node, NetworkInstance: networkInstance}
	i := slices.Index(g.names, name)
	if i < 0 {
		if len(g.names) == abi.Groups-1 {
			return 0
		}
		i = len(g.names)
		g.names = append(g.names, name)
	}
	return uint16(i + 1)
}

// list is for META.
func (g *groups) list() []state.Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.names)
}

// adopt continues with what META has.
func (g *groups) adopt(names []state.Group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.names = slices.Clone(names[:min(len(names), abi.Groups-1)])
	g.saved = len(g.names)
}

// unsaved says whether META lacks a name.
func (g *groups) unsaved() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.saved < len(g.names)
}

// stored says that META has so many.
func (g *groups) stored(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.saved = n
}

// GroupDrops is what was dropped of the packets of one group of sessions since upf-u began.
type GroupDrops struct {
	state.Group
	Drops abi.DropStats // by abi.Drop…
}

// drops lists the groups in the order in which they came up.
func (g *groups) drops(shm *dataplane.Shm) []GroupDrops {
	counted := shm.GroupDrops()
	names := g.list()
	out := make([]GroupDrops, len(names))
	for i, name := range names {
		out[i] = GroupDrops{name, counted[i+1]}
	}
	return out
}

// Drops are what was dropped of each group since upf-u began.
func (ss *Sessions) Drops(shm *dataplane.Shm) []GroupDrops { return ss.groups.drops(shm) }
