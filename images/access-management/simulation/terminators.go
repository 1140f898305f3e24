package simulation

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// In some worlds there is a terminator more, gNBs can reach each by an address of its own, and are told of those that come and go (TS 38.413 8.7.3). Some know nothing
// of that, some refuse all of it, and the others join one that they are told of, where they have no second association yet, or say that they cannot. No gNB is offered
// anything while it has another update to answer, nor told another thing while it has an offer to answer; and when all is quiet the AMF thinks of each what it has said.

// knowledge of TNL associations that a gNB has.
type knowledge int

const (
	joins   knowledge = iota
	unaware           // it answers as to any update
	refuses           // it refuses what has such lists
)

// mostBeside is how soon behind an update that is not answered nothing else may follow. What is said to a gNB that is setting itself up waits for 2 s on its way.
const mostBeside = procedure.AnnounceAgain - 3*time.Second

// pending is an update that a gNB has to answer.
type pending struct {
	offer bool
	at    time.Time
}

// isOffer tells an update of terminators from others.
func isOffer(m *n2.AMFConfigurationUpdate) bool { return len(m.Add)+len(m.Remove) > 0 }

// listed are the terminators of those slots.
func (w *world) listed(slots ...string) (out []procedure.Terminator) {
	for _, e := range w.ends {
		if slices.Contains(slots, e.slot) {
			out = append(out, procedure.Terminator{Pod: e.slot, Addresses: []netip.Addr{e.address()}})
		}
	}
	return out
}

// everywhere is where terminators are.
func (w *world) everywhere() (out []string) {
	for _, e := range w.ends {
		out = append(out, e.slot)
	}
	return out
}

// retell which terminators there are: those that are not listed are going.
func (w *world) retell() {
	if !w.faults {
		return
	}
	w.After(time.Second+time.Duration(w.news.Int64N(int64(12*time.Second))), w.retell)
	var list []string
	for _, slot := range w.everywhere() {
		if !w.news.chance(3) {
			list = append(list, slot)
		}
	}
	w.Note("gNBs are told of %v", list)
	w.list(list)
}

func (w *world) list(slots []string) {
	is := *w.settings
	is.Terminators = w.listed(slots...)
	w.reconfigured(&is)
	w.reconfigure(&is)
}

// transmits an update: it is not to be beside another one.
func (a *association) transmits(b []byte) {
	if !a.w.offers {
		return
	}
	m, fault := n2.Read(b)
	if fault != nil {
		return // sent has looked
	}
	update, is := m.(*n2.AMFConfigurationUpdate)
	if !is {
		return
	}
	for _, p := range a.updates {
		if a.w.Now.Sub(p.at) < mostBeside && (p.offer || isOffer(update)) {
			a.w.Fail("%s has an update to answer, an offer %v, and is sent another one, an offer %v", a.gnb.name(), p.offer, isOffer(update))
		}
	}
	a.updates = append(a.updates, pending{isOffer(update), a.w.Now})
}

// answersUpdate by an association.
func (g *gnb) answersUpdate(by *association, m n2.Message) {
	if len(by.updates) > 0 {
		by.updates = by.updates[1:]
	}
	g.putBy(by, m)
}

// with says whether the gNB has an association with a terminator, which the AMF has taken.
func (g *gnb) with(e *end) *association {
	switch {
	case g.association != nil && g.ready && g.association.end == e:
		return g.association
	case g.joined && g.more.end == e:
		return g.more
	}
	return nil
}

// endAt an address; nil: there is none.
func (w *world) endAt(a n2.Address) *end {
	for _, e := range w.ends {
		if e.address() == a.IPv4 {
			return e
		}
	}
	return nil
}

// offered some terminators, it joins one.
func (g *gnb) offered(by *association, m *n2.AMFConfigurationUpdate) {
	g.w.Ended["offer"]++
	if slices.ContainsFunc(m.Add, func(a n2.Association) bool {
		return a.Weight == nil || g.w.endAt(a.Address) == nil || slices.Contains(m.Remove, a.Address)
	}) {
		g.w.Fail("%s is offered %+v, to remove %+v", g.name(), m.Add, m.Remove)
	}
	switch {
	case g.w.faults && g.w.news.chance(8):
		g.answersUpdate(by, &n2.AMFConfigurationUpdateFailure{Cause: ngapcause.MiscUnspecified, Wait: n2.Wait5s})
	case g.knows == unaware:
		g.answersUpdate(by, &n2.AMFConfigurationUpdateAcknowledge{})
	case g.knows == refuses:
		g.said(m.Add, true)
		g.answersUpdate(by, &n2.AMFConfigurationUpdateFailure{Cause: ngapcause.MiscUnspecified})
	default:
		g.joinOne(by, m)
	}
}

// said of addresses that it cannot connect to them, or that it has.
func (g *gnb) said(list []n2.Association, cannot bool) {
	for _, a := range list {
		g.cannot[a.Address.IPv4] = cannot
		g.been[a.Address.IPv4] = g.with(g.w.endAt(a.Address)) != nil
		if g.w.Now.Sub(g.tried[a.Address.IPv4]) > 2*joinTime {
			delete(g.tried, a.Address.IPv4)
		}
	}
}

// joinOne of those that it is to add, and answer when it has, or has not.
func (g *gnb) joinOne(by *association, m *n2.AMFConfigurationUpdate) {
	var a *association
	for _, x := range m.Add {
		e := g.w.endAt(x.Address)
		if a == nil && g.with(e) == nil && g.more == nil && e.alive && g.blocked != e.slot {
			a = g.joinAt(e)
		}
	}
	var answer func()
	answer = func() {
		if a != nil && g.more == a && !g.joined { // it is asked still
			g.w.After(50*time.Millisecond, answer)
			return
		}
		if !g.has(by) || by.over {
			return
		}
		out := &n2.AMFConfigurationUpdateAcknowledge{}
		for _, x := range m.Add {
			if g.with(g.w.endAt(x.Address)) != nil {
				out.Made = append(out.Made, x.Address)
			} else {
				out.Refused = append(out.Refused, n2.RefusedAssociation{Address: x.Address, Cause: ngapcause.TransportResourceUnavailable})
			}
			g.said([]n2.Association{x}, g.with(g.w.endAt(x.Address)) == nil)
		}
		g.w.Ended["made"] += len(out.Made)
		g.answersUpdate(by, out)
		g.letGo(m.Remove)
	}
	answer()
}

// letGo of terminators that go, but not of the last.
func (g *gnb) letGo(list []n2.Address) {
	for _, address := range list {
		e := g.w.endAt(address)
		if e == nil || g.with(e) == nil || !g.joined {
			continue
		}
		a := g.with(e)
		g.w.Ended["let go"]++
		g.w.Note("%s lets go of association %d of %s", g.name(), a.id, e.name())
		g.cutOne(a)
	}
}

// agreeOnTerminators: nothing more is to be told, and what the gNB has said is known.
func (g *gnb) agreeOnTerminators() error {
	if !g.w.offers || g.w.settings.Removed {
		return nil
	}
	for _, p := range g.w.pods {
		var all []*record.GNB
		var told *record.GNB
		for _, a := range []*association{g.association, g.more} {
			if a == nil || !p.Alive {
				continue
			}
			x := p.nodes[nodeKey(a.end.name(), a.id)]
			if x == nil {
				return fmt.Errorf("%s does not know of association %d of %s", p.Name, a.id, g.name())
			}
			if all = append(all, x); x.Told != 0 {
				told = x
			}
		}
		if !p.Alive {
			continue
		}
		if told == nil {
			return fmt.Errorf("%s knows of nothing that %s was told", p.Name, g.name())
		}
		if told.Offering != 0 { // what came of it was noted, and that was lost on its way: the next holder asks again
			continue
		}
		if o := procedure.NewOffer(g.w.settings, told, all); o.Message != nil {
			return fmt.Errorf("%s is to be told of terminators: %+v, %+v", g.name(), o.Message, told)
		}
		for _, t := range g.w.settings.Terminators {
			at := t.Addresses[0]
			if _, said := g.cannot[at]; g.knows == joins && !said && !g.been[at] && g.with(g.w.endAt(n2.Address{IPv4: at})) == nil {
				return fmt.Errorf("%s was not told of %v", g.name(), at)
			}
		}
		for _, e := range told.Ends {
			at, _ := netip.AddrFromSlice(e.Address)
			there := g.with(g.w.endAt(n2.Address{IPv4: at})) != nil
			if e.Refused && !g.cannot[at] || !e.Refused && g.cannot[at] && !there && !g.been[at] && g.tried[at].IsZero() {
				return fmt.Errorf("%s cannot connect to %v: it has said %v, is there %v, and %s knows %v", g.name(), at, g.cannot[at], there, p.Name, e.Refused)
			}
		}
	}
	return nil
}
