package simulation

import (
	"fmt"
	"net/netip"
	"time"

	"core5g.dev/core5g/images/access-management/n2"
)

// In some worlds some gNBs have a second association for their NG interface, with the same terminator or another one (TS 38.412 7, TS 38.413 8.7.2.2). UEs come by
// either, are spoken of by the other one when they have been quiet, and go on by the one that is left when the other ends: it is lost, its terminator dies, the gNB
// shuts it down, or gives it up by either of the two. When the last one is gone the gNB is as one that had no other.

// joinTime is how long the AMF may take to answer an association more.
const joinTime = 6 * time.Second

// address of the gNB's end of an association: each has one of its own.
func (a *association) address() netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(a.gnb.id), byte(a.gnb.opened >> 8), byte(a.gnb.opened)})
}

func (e *end) address() netip.Addr {
	return netip.AddrFrom4([4]byte{192, 0, 2, e.slot[len(e.slot)-1]})
}

func port(a netip.Addr) string { return fmt.Sprint(netip.AddrPortFrom(a, 38412)) }

// has says whether an association is one of the gNB's.
func (g *gnb) has(a *association) bool { return a != nil && (a == g.association || a == g.more) }

// either of the associations that the gNB may use.
func (g *gnb) either() *association {
	if g.joined && g.w.links.chance(2) {
		return g.more
	}
	return g.association
}

// wayOf a message: that of its UE, or by which the AMF has said what it answers.
func (g *gnb) wayOf(m n2.Message) *association {
	if n2.UEAssociated(m) {
		if _, ran := n2.Names(m); ran != nil && g.conns[uint32(*ran)] != nil {
			return g.conns[uint32(*ran)].way
		}
	}
	if g.has(g.hearing) {
		return g.hearing
	}
	return g.association
}

// branch out: every now and then it has an association more, or does without one.
func (g *gnb) branch() {
	w := g.w
	w.After(500*time.Millisecond+time.Duration(w.links.Int64N(int64(4*time.Second))), g.branch)
	if !w.faults || !g.ready {
		return
	}
	if g.more == nil {
		if w.links.chance(2) {
			g.join()
		}
		return
	}
	if !g.joined {
		return
	}
	gone, other := g.association, g.more
	if w.links.chance(2) {
		gone, other = other, gone
	}
	switch w.links.IntN(16) {
	case 0: // it is lost
		g.cutOne(gone)
	case 1, 2, 3: // it is given up by the other, or by itself
		by := other
		if w.links.chance(3) {
			by = gone
		}
		pair := n2.AssociationPair{RAN: n2.Address{IPv4: gone.peer}}
		if w.links.chance(2) {
			pair.AMF = &n2.Address{IPv4: gone.end.address()}
		}
		w.Note("%s gives up association %d of %s, by %d of %s", g.name(), gone.id, gone.end.name(), by.id, by.end.name())
		gone.givenUp = true
		g.putBy(by, &n2.RANConfigurationUpdate{Remove: []n2.AssociationPair{pair}})
	default: // UEs that are quiet are spoken of by another one
		for _, c := range g.ordered() {
			if c.known && w.Now.Sub(c.active) > time.Second && w.links.chance(4) {
				c.way = g.either()
			}
		}
	}
}

// join: an association more.
func (g *gnb) join() {
	var there []*end
	for _, e := range g.w.ends {
		if e.alive {
			there = append(there, e)
		}
	}
	if len(there) == 0 {
		return
	}
	g.joinAt(there[g.w.links.IntN(len(there))])
}

// joinAt a terminator.
func (g *gnb) joinAt(e *end) *association {
	a := e.open(g)
	g.more, g.joined = a, false
	g.tried[e.address()] = g.w.Now
	g.w.Note("%s has association %d with %s, too", g.name(), a.id, a.end.name())
	node := g.node()
	g.putBy(a, &n2.RANConfigurationUpdate{Node: &node})
	g.w.After(joinTime, func() {
		if g.more == a && !g.joined {
			g.cutOne(a)
		}
	})
	return a
}

// joins: the AMF has answered on the association more.
func (g *gnb) joins(taken bool) {
	a := g.hearing
	switch {
	case a != g.more || g.joined:
	case taken:
		g.joined = true
		g.been[a.end.address()] = true
		g.w.Ended["association"]++
	default: // it has not heard of the other one yet, or does not any more
		g.w.After(time.Second, func() {
			if g.more == a && !g.joined {
				g.cutOne(a)
			}
		})
	}
}

// cutOne of its associations, as both ends find out.
func (g *gnb) cutOne(a *association) {
	g.w.Note("%s loses association %d with %s", g.name(), a.id, a.end.name())
	a.shut("lost")
	g.lost(a)
}

// without one of its associations it goes on by the other. false: that is not there, or the AMF has not taken it.
func (g *gnb) without(a *association) bool {
	switch {
	case a == g.more:
	case g.joined:
		g.association = g.more
	case g.more != nil:
		more := g.more
		g.more = nil
		g.w.Note("%s gives up association %d with %s, too", g.name(), more.id, more.end.name())
		more.shut("lost")
		return false
	default:
		return false
	}
	g.more, g.joined = nil, false
	for _, c := range g.ordered() {
		if c.way == a {
			g.w.Ended["goes on"]++
			c.way = g.association
		}
	}
	return true
}
