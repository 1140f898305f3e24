package simulation

import (
	"fmt"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// In some worlds a shard has room for one or two strangers: gNBs are asked to refuse some of the UEs that come, until it is over (TS 38.413 8.7.7, 8.7.8). Some gNBs
// do, others let all in. Whoever dies meanwhile, or is cut off in the midst of it as happens often in a third of these worlds, the record of a gNB says what it was asked last, or that nobody knows; when all is quiet nobody refuses anybody.

// overloaded is the AMF, or asks for another share.
func (g *gnb) overloaded(m *n2.OverloadStart) {
	if m.Reduction == 0 || m.Reduction > 90 || m.Reduction%10 != 0 || m.Action != n2.OverloadRejectSignalling {
		g.w.Fail("%s is asked to refuse %d %%, action %d", g.name(), m.Reduction, m.Action)
	}
	g.w.Note("%s is to refuse %d %%, and obeys %v", g.name(), m.Reduction, g.obeys)
	g.w.Ended["overload"]++
	g.reduction = m.Reduction
}

// refuses a UE that may be refused: who calls for help, or was paged, may not (TS 38.413 9.3.1.105).
func (g *gnb) refuses(u *ue) bool {
	if g.reduction == 0 || !g.obeys || u.emergency || u.doing == "registration emergency" || u.wanted || g.w.crowd.IntN(100) >= int(g.reduction) {
		return false
	}
	g.w.Note("%s refuses %s", g.name(), u.name)
	g.w.Ended["refused"]++
	return true
}

// asks notes what a gNB is asked: before it may have heard that, its record is to say that nobody knows.
func (a *association) asks(b []byte) {
	if a.w.strangers == 0 {
		return
	}
	m, fault := n2.Read(b)
	if fault != nil {
		return // sent has looked
	}
	switch m := m.(type) {
	case *n2.OverloadStart:
		a.reduction = m.Reduction
	case *n2.OverloadStop:
		a.reduction = 0
	case *n2.NGSetupResponse:
		a.reduction = 0
	}
}

// breaks the connection of a worker behind what it asks a gNB: what it notes behind that is lost.
func (x *wire) breaks(f link.Frame) {
	send, is := f.(*link.Send)
	if !is || !x.w.brittle || !x.w.faults || x.dead {
		return
	}
	m, fault := n2.Read(send.Message)
	if fault != nil {
		return // sent has looked
	}
	switch m.(type) {
	case *n2.OverloadStart, *n2.OverloadStop:
		if x.w.crowd.chance(3) {
			x.w.Note("%s and %s are cut from each other behind an %T", x.p.Name, x.e.name(), m)
			x.cutAt(true, true)
		}
	}
}

// tells a worker what is remembered of a gNB.
func (e *end) tells(f link.Frame) {
	switch f := f.(type) {
	case *link.Node:
		e.remembers(f.Association, f.Node)
	case *link.Opened:
		if !f.Last {
			e.remembers(f.Association, f.Node)
		}
	}
}

func (e *end) remembers(association uint64, octets []byte) {
	a := e.associations[association]
	if a == nil || a.over || octets == nil || e.w.strangers == 0 || e.t.Holds(association) { // what it is asked is on its way
		return
	}
	g, err := record.DecodeGNB(octets)
	if err != nil {
		e.w.Fail("a gNB: %v", err)
		return
	}
	if g.Reduction != a.reduction && g.Reduction != record.UnsureReduction {
		e.w.Fail("%s was asked to refuse %d %%, and its record says %d %%", a.gnb.name(), a.reduction, g.Reduction)
	}
}

// agreeOnLoad: it is over, and everybody knows.
func (g *gnb) agreeOnLoad() error {
	if g.reduction != 0 {
		return fmt.Errorf("%s refuses %d %% for ever", g.name(), g.reduction)
	}
	for _, p := range g.w.pods {
		for _, a := range []*association{g.association, g.more} {
			if a == nil || !p.Alive {
				continue
			}
			x := p.nodes[nodeKey(a.end.name(), a.id)]
			if x == nil || x.Reduction == 0 || x.Reduction == record.UnsureReduction && g.joined { // it is told by the other one
				continue
			}
			return fmt.Errorf("%s knows of %s that it is to refuse %d %%", p.Name, g.name(), x.Reduction)
		}
	}
	return nil
}
