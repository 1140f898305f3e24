package worker

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
)

// life is a terminator from its start to its end, and the associations that it has.
type life struct {
	conn *link.Conn // nil: there is none for the moment
	// broke is when the connection did. gone: it lives no more.
	broke time.Time
	gone  bool
	// associations that there are; fresh are those of a list that is being told; listed: it has been.
	associations, fresh map[uint64]*n2Association
	listed              bool
	// highest number of an association that was heard of: what is above may have been opened since.
	highest uint64
	// answered is the last round of echoes that it has answered.
	answered uint64
	// called is the number of the last call by which it was met.
	called uint64
}

type n2Association struct {
	peer, here string
	node       *record.GNB // nil: its gNB has not been set up. Nobody writes to it.
	// since when there is the association, by this pod's clock; zero: before it has listened, and its terminator does not say.
	since time.Time
}

// newer says whether an association was opened behind another one. Numbers are each terminator's own.
func (a *n2Association) newer(than *n2Association) bool {
	return cmp.Or(a.since.Compare(than.since), cmp.Compare(a.node.Association, than.node.Association)) > 0
}

func newAssociation(terminator string, f *link.Opened, log *slog.Logger) *n2Association {
	a := &n2Association{peer: f.Peer, here: f.Here}
	if f.Node != nil {
		a.node = a.decodeNode(terminator, f.Association, f.Node, log)
	}
	return a
}

func (a *n2Association) decodeNode(terminator string, association uint64, octets []byte, log *slog.Logger) *record.GNB {
	g, err := record.DecodeGNB(octets)
	if err != nil {
		log.Error("what a gNB has said of itself cannot be read", "terminator", terminator, "association", association, "err", err)
		return nil
	}
	g.Terminator, g.Association, g.Peer, g.Here = terminator, association, a.peer, a.here
	return g
}

// remember what a gNB has said of itself. It is returned where it could not be reached before by that association. l.mu is held.
func (l *links) remember(terminator string, f *link.Node) (first *record.GNB) {
	x := l.lives[terminator]
	for _, list := range []map[uint64]*n2Association{x.associations, x.fresh} {
		if a := list[f.Association]; a != nil {
			was := a.node
			a.node = a.decodeNode(terminator, f.Association, f.Node, l.pod.Log)
			if l.align(a); was == nil {
				first = a.node
			}
		}
	}
	return first
}

// align what is known of a gNB by the associations of its interface: what it has said last by one of them holds for all. l.mu is held.
func (l *links) align(a *n2Association) {
	if a.node == nil {
		return
	}
	at := a.node.At()
	for _, x := range l.lives {
		for _, list := range []map[uint64]*n2Association{x.associations, x.fresh} {
			for _, o := range list {
				if o != a && o.node != nil && o.node.Serves(&at) {
					o.node, a.node = o.node.As(a.node), a.node.As(o.node)
				}
			}
		}
	}
}

// others are the lives that there were of a terminator's pod. l.mu is held.
func (l *links) others(name string) (out []string) {
	for other := range l.lives {
		if other != name && record.PodOf(other) == record.PodOf(name) {
			out = append(out, other)
		}
	}
	return out
}

// endLives says of which of them that was not known: their associations are gone. l.mu is held.
func (l *links) endLives(names ...string) (told []string) {
	for _, name := range names {
		x := l.lives[name]
		if x == nil || x.gone {
			continue
		}
		l.bereaved(slices.Collect(maps.Values(x.associations))...)
		x.gone, x.associations, x.fresh, x.listed = true, nil, nil, false
		l.said(name)
		told = append(told, name)
	}
	return told
}

// bereaved notes that a gNB has no association any more. l.mu is held.
func (l *links) bereaved(list ...*n2Association) {
	now := time.Now()
	for _, list := range []map[string]time.Time{l.bereft, l.doubted} {
		maps.DeleteFunc(list, func(_ string, at time.Time) bool { return now.Sub(at) > procedure.RetainTime })
	}
	for _, a := range list {
		switch {
		case a == nil || a.node == nil:
		case a.node.Doubtful:
			l.doubted[a.node.Key()] = now
		default:
			l.bereft[a.node.Key()] = now
		}
	}
}

// lost is when the last association of a gNB was, where that is known. It counts for nothing where the gNB may not have heard that its UEs are lost: whichever
// association was lost before, and whenever that was heard, they are not waited for.
func (l *links) lost(name string) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, is := l.doubted[name]; is && time.Since(at) <= procedure.RetainTime {
		return time.Time{}, false
	}
	for _, x := range l.lives {
		for _, a := range x.associations {
			if a.node != nil && a.node.Doubtful && a.node.Key() == name {
				return time.Time{}, false
			}
		}
	}
	at, is := l.bereft[name]
	return at, is
}

// standing of an association, for runner.World.
func (l *links) standing(terminator string, association uint64) runner.Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.lives[terminator]
	switch {
	case x == nil:
		l.doubt(terminator)
		return runner.Unheard
	case x.gone:
		return runner.Gone
	case x.conn == nil:
		return runner.Unheard
	case x.fresh[association] != nil:
		return runner.There
	case !x.listed:
		return runner.Unheard
	case x.associations[association] != nil:
		return runner.There
	case association > x.highest: // it is being opened
		return runner.Unheard
	}
	return runner.Gone
}

// A life that this pod has not met may be over, or one that has begun while the pod stood still, or was cut off: its connection to the life of before looks
// well then. So nothing that was heard before the question came up answers it, but an echo does that was asked for since: who lives now has come behind.

// doubt a life that was not met until it is known whether it is over. l.mu is held.
func (l *links) doubt(terminator string) {
	if _, is := l.doubts[terminator]; is {
		return
	}
	l.doubts[terminator] = l.round
	select {
	case l.again <- struct{}{}:
	default:
	}
}

// ask all that are connected for an echo, where a life is in doubt. l.mu is held.
func (l *links) ask() {
	if len(l.doubts) == 0 {
		return
	}
	for name := range l.lives {
		l.askFor(name)
	}
}

// echo of a terminator: it has lived in that round.
func (s *session) echo(round uint64) {
	l := s.links
	l.mu.Lock()
	if x := l.lives[s.name]; x.conn == s.conn && round <= l.round {
		x.answered = max(x.answered, round)
		l.said(s.name)
	}
	told := l.settle()
	l.mu.Unlock()
	l.tell(told)
}

// settle which of the lives in doubt are over. l.mu is held.
func (l *links) settle() (told []string) {
	for name, round := range l.doubts {
		if l.isOver(name, round) {
			delete(l.doubts, name)
			l.lives[name] = &life{gone: true}
			told = append(told, name)
		}
	}
	return told
}

// isOver says of a terminator that this pod has not met that it is no more: behind that round another life of its pod lives, or all do that there are, and have
// been connected for a while. l.mu is held.
func (l *links) isOver(terminator string, round uint64) bool {
	for _, other := range l.others(terminator) {
		if l.lives[other].answered > round {
			return true
		}
	}
	if l.whole.IsZero() || time.Since(l.whole) <= link.SilentFor {
		return false
	}
	for _, a := range l.dialled {
		if x := l.lives[a.name]; a.wanted && (x == nil || x.answered <= round) {
			return false
		}
	}
	return true
}

// node of an association; nil: none is known.
func (l *links) node(terminator string, association uint64) *record.GNB {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.lives[terminator]
	if x == nil {
		return nil
	}
	for _, list := range []map[uint64]*n2Association{x.fresh, x.associations} {
		if a := list[association]; a != nil {
			return a.node
		}
	}
	return nil
}

// nodes that can be reached now, the newest association of each gNB. l.mu is held.
func (l *links) nodes(like func(*record.GNB) bool) map[string]*record.GNB {
	best := map[string]*n2Association{}
	for _, x := range l.lives {
		if x.conn == nil {
			continue
		}
		for _, a := range x.associations {
			if a.node == nil || !like(a.node) {
				continue
			}
			key := a.node.Key()
			if other := best[key]; other == nil || a.newer(other) {
				best[key] = a
			}
		}
	}
	out := make(map[string]*record.GNB, len(best))
	for key, a := range best {
		out[key] = a.node
	}
	return out
}

// gnbs of all associations that can be reached now, those of a terminator by their numbers.
func (l *links) gnbs() (out []*record.GNB) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.lives {
		if x.conn == nil {
			continue
		}
		for _, a := range x.associations {
			if a.node != nil {
				out = append(out, a.node)
			}
		}
	}
	slices.SortFunc(out, func(a, b *record.GNB) int {
		return cmp.Or(cmp.Compare(a.Terminator, b.Terminator), cmp.Compare(a.Association, b.Association))
	})
	return out
}

// beside is another association of the interface that a connection was on; nil: there is none.
func (l *links) beside(at record.Attachment) *record.GNB {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.nodes(func(g *record.GNB) bool {
		return g.Serves(&at) && (g.Terminator != at.Terminator || g.Association != at.Association)
	}) {
		return g
	}
	return nil
}

// find the gNB of a name; nil: there is none.
func (l *links) find(name string) *record.GNB {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes(func(g *record.GNB) bool { return g.Key() == name })[name]
}

// near are the gNBs that have a tracking area of those.
func (l *links) near(area record.Area) []*record.GNB {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.nodes(func(g *record.GNB) bool {
		return slices.ContainsFunc(g.TACs(area.PLMN), func(tac uint32) bool { return slices.Contains(area.TACs, tac) })
	})
	out := make([]*record.GNB, 0, len(list))
	for _, g := range list {
		out = append(out, g)
	}
	return out
}
