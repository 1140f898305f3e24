package simulation

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// Tracking areas, breakouts, and units that drain, are taken away and come back: worlds of three units, the last of which is a breakout's alone.
// The first serves two areas of three, so that a session of its in the third needs a branch.

const trackingAreas = 3

// areas is how such a world is laid out now; nil in others.
type areas struct {
	rand   *rand.Rand // of its own: other worlds go on as they did
	routed bool
	states []configuration.State // of the units, by number
	edge   bool                  // there is a breakout
	prefix byte
	// silence is when, all being well otherwise, no unit reaches the access networks for a moment; 0: never.
	silence time.Duration
}

// aGNBNotReached is what has come about where that was so.
const aGNBNotReached = "a gNB not reached"

func (w *world) newAreas(seed uint64) {
	chance := rand.New(rand.NewPCG(seed, 2))
	if w.real || chance.IntN(3) != 0 { // what moves is told to the model of a unit alone
		return
	}
	w.areas = &areas{rand: chance, routed: chance.IntN(2) == 0, states: make([]configuration.State, 3), edge: chance.IntN(2) == 0}
	if late := rand.New(rand.NewPCG(seed, 10)); w.fresh && late.IntN(4) == 0 { // of its own: other worlds go on as they did
		w.areas.silence = time.Millisecond + time.Duration(late.Int64N(int64(9*time.Second)))
	}
}

// lay out a data network and its units.
func (w *world) lay(network *configuration.DataNetwork) (units []configuration.Unit) {
	network.Units = nil
	for n, u := range w.units {
		is := configuration.Unit{NodeID: u.nodeID, Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n) + 1}), pfcpPort)}
		at := configuration.Serving{NodeID: u.nodeID, Pools: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, u.pool, 0, 0}), 24)}}
		if a := w.areas; a != nil {
			is.State, is.Ending = a.states[n], a.states[n] == configuration.Locked
			if n == 0 {
				at.TACs = []uint32{1, 2}
			}
		}
		if n < 2 {
			network.Units = append(network.Units, at)
		}
		units = append(units, is)
	}
	if a := w.areas; a != nil {
		network.Routed, network.Breakouts = a.routed, nil
		if a.edge {
			network.Breakouts = []configuration.Breakout{{
				Name: "edge", UPFInstance: "edge", Units: []string{w.units[2].nodeID}, TACs: []uint32{2},
				Prefixes: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, a.prefix}), 32)},
			}}
		}
	}
	return units
}

// rearrange something: a breakout, or a unit's state. One of the anchors always serves.
func (w *world) rearrange() {
	a := w.areas
	if a == nil {
		return
	}
	switch a.rand.IntN(4) {
	case 0:
		a.edge = !a.edge
	case 1:
		a.prefix = byte(a.rand.IntN(3))
	case 2:
		n := a.rand.IntN(len(w.units))
		u, was := w.units[n], a.states[n]
		switch {
		case was == configuration.Locked:
			a.states[n] = configuration.InService
			u.returns()
		case was == configuration.Draining && a.rand.IntN(2) == 0:
			a.states[n] = configuration.InService
		case n < 2 && a.states[1-n] != configuration.InService:
			return
		case was == configuration.Draining || a.rand.IntN(2) == 0:
			a.states[n] = configuration.Locked
			u.leaves(time.Duration(a.rand.IntN(10)) * time.Second)
		default:
			a.states[n] = configuration.Draining
		}
		w.Note("%s is %s", u.nodeID, a.states[n])
	}
}

// leaves: the unit's pod ends after a while, and what it had with it.
func (u *unit) leaves(in time.Duration) {
	u.taken++
	taken := u.taken
	u.w.After(in, func() {
		if u.taken == taken {
			u.w.Note("%s is taken away", u.nodeID)
			u.gone = true
			for _, s := range u.has() {
				u.forgets(s)
			}
			u.sessions, u.byCP, u.restoring = map[uint64]*unitSession{}, map[uint64]uint64{}, map[uint16]bool{}
		}
	})
}

// returns: there is another pod of the unit's name.
func (u *unit) returns() {
	u.taken++
	if u.gone {
		u.gone = false
		u.forget()
	}
}

// silent: it does not answer now.
func (u *unit) silent() bool { return u.gone || u.w.Now.Before(u.away) }

// pathsFail every now and then: a unit says that it does not reach a peer.
func (w *world) pathsFail() {
	if w.areas == nil || !w.faults {
		return
	}
	w.Soon(2*time.Second, 15*time.Second, w.pathsFail)
	u := w.units[w.areas.rand.IntN(len(w.units))]
	peer := gnb
	if other := w.units[w.areas.rand.IntN(len(w.units))]; other != u {
		peer = other.address
	}
	w.pathFails(u, peer)
}

func (w *world) pathFails(u *unit, peer netip.Addr) {
	if u.silent() {
		return
	}
	w.Note("%s does not reach %s", u.nodeID, peer)
	for _, p := range w.pods {
		p.In(p.Life, func() {
			for _, name := range w.shardNames() {
				if h := p.held[name]; h != nil {
					h.runner.PathFailed(u.nodeID, peer)
				}
			}
		})
	}
}

// silence of the access networks, before anybody has looked whether all agree. What a UE does by itself would make good for what they are not told.
func (w *world) silence() {
	if w.areas == nil || w.areas.silence == 0 {
		return
	}
	w.After(w.areas.silence, func() {
		w.Ended[aGNBNotReached]++
		for _, u := range w.units {
			w.pathFails(u, gnb)
		}
	})
}

// roams: the UE may be in another tracking area by now.
func (u *ue) roams() record.AMF {
	if u.tac == 0 {
		u.tac = 1
	}
	if a := u.w.areas; a != nil && a.rand.IntN(3) == 0 {
		u.tac = 1 + uint32(a.rand.IntN(trackingAreas))
		u.w.Note("%s: is in area %d", u.supi, u.tac)
	}
	return record.AMF{InstanceID: "amf", TAC: u.tac}
}

// otherWay: the access network is told where uplink packets go now, for a tunnel that it has.
func (u *ue) otherWay(m *n2.ModifyRequest) {
	for _, p := range m.Uplink {
		if p.Downlink.TEID == u.teid {
			u.uplink = p.Uplink
		} else if u.there != nil {
			u.wayThere = p
		}
	}
}

// at a unit there is one session of that name, when all is quiet.
type place struct {
	u *unit
	s *unitSession
}

// agreeOnWay: packets go from access network to anchor and back by way of whoever is between them, and that is who should be.
func (u *ue) agreeOnWay(rec *record.Session, at map[string]place, fail func(string, ...any)) {
	b, anchor := rec.Branch, at[rec.Ref()].s
	if rec.Phase == record.Active && u.uplink != rec.N3() {
		fail("%s: session %s: the access network sends to %+v, the record has %+v", u.supi, rec.Ref(), u.uplink, rec.N3())
	}
	network := u.w.config.Named(slice, dnn)
	want := u.w.config.PathOf(network, rec, nil)
	switch {
	case rec.Left != nil:
		fail("%s: session %s: what was left stays: %+v", u.supi, rec.Ref(), rec.Left)
	case b == nil && want.NodeID == "":
	case b == nil || b.NodeID != want.NodeID || !slices.Equal(b.Breakouts, want.Breakouts) || b.Prefixes != n4.PrefixesOf(want.Breakouts, network.Settings()):
		fail("%s: session %s goes by way of %+v, and should by way of %+v: %+v", u.supi, rec.Ref(), b, want, rec)
	}
	if b == nil {
		if anchor.far.tunnel() != rec.Downlink {
			fail("%s: session %s: the unit sends to %+v, the record has %+v", u.supi, rec.Ref(), anchor.far.tunnel(), rec.Downlink)
		}
		return
	}
	branch := at[record.Ref(b.CPSEID)]
	s := branch.s
	switch {
	case s == nil || branch.u.nodeID != b.NodeID:
		fail("%s: session %s is not in its branch: %+v", u.supi, rec.Ref(), b)
	case s.upSEID != b.UPSEID || s.teid != b.Access.TEID || s.core != b.Core.TEID:
		fail("%s: session %s: the branch has %+v, the record %+v", u.supi, rec.Ref(), s, b)
	case s.up.tunnel() != rec.Uplink || anchor.far.tunnel() != b.Core || s.far.tunnel() != rec.Downlink:
		fail("%s: session %s: the branch sends to %+v and %+v, the anchor to %+v: %+v, %+v", u.supi, rec.Ref(), s.up.tunnel(), s.far.tunnel(), anchor.far.tunnel(), rec, b)
	case s.local != (len(b.Breakouts) > 0):
		fail("%s: session %s: the branch has a breakout: %v, the record %v", u.supi, rec.Ref(), s.local, b.Breakouts)
	}
	delete(at, record.Ref(b.CPSEID))
}

// tunnelsOf a record, by where they are.
func tunnelsOf(s *record.Session) map[string]record.Tunnel {
	out := map[string]record.Tunnel{fmt.Sprint(s.Unit.NodeID, " N3 ", s.Uplink.TEID): s.Uplink}
	if b := s.Branch; b != nil {
		out[fmt.Sprint(b.NodeID, " N3 ", b.Access.TEID)] = b.Access
		out[fmt.Sprint(b.NodeID, " N3 ", b.Core.TEID)] = b.Core
	}
	for name, t := range out {
		if t.TEID == 0 {
			delete(out, name)
		}
	}
	return out
}

// letGo of the session's resources, because the core does not reach the access network.
func (u *ue) letGo(a procedure.AskTransfer) bool {
	if a.N1 != nil || a.N2Type != n2.InfoReleaseCommand {
		return false
	}
	u.teid, u.freed = 0, true
	if u.ref == "" { // the AMF has not heard of the context yet
		return true
	}
	u.update("released", procedure.Update{N2: u.encoded(&n2.ReleaseResponse{}), N2Type: n2.InfoReleaseResponse}, func(procedure.Updated) {})
	return true
}

// unitsSession is a name of an N4 session at a unit.
type unitsSession struct {
	nodeID string
	cpSEID uint64
}

// ended: whose record says that a session is there no more has asked its units to delete it, but those that do not come back. Else it would stay there until all
// that they have is looked at.
func (w *world) ended(was, is *record.Session) {
	if was == nil || w.unsettled() {
		return
	}
	goes := is == nil || is.CPSEID != was.CPSEID
	stays := func(node string, cpSEID uint64) {
		if !w.config.UnitGone(node) && !w.deleting[unitsSession{node, cpSEID}] {
			w.Fail("%s: session %x stays at %s, and has ended", was.SUPI, cpSEID, node)
		}
	}
	if was.UPSEID != 0 && (goes || is.Phase == record.Releasing && is.UPSEID == 0) {
		stays(was.Unit.NodeID, was.CPSEID)
	}
	if b := was.Branch; b != nil && b.UPSEID != 0 && (goes || is.Phase == record.Releasing && is.Branch == nil) {
		stays(b.NodeID, b.CPSEID)
	}
}

// deletes notes what units are asked to delete, and to make anew.
func (w *world) deletes(a procedure.AskUnit) {
	switch at := (unitsSession{a.Unit.NodeID, a.CPSEID}); a.Operation {
	case procedure.Delete:
		w.deleting[at] = true
	case procedure.Establish:
		delete(w.deleting, at)
	}
}

// dropped: what a session has left is forgotten when its unit was asked to delete it, has it again, or does not come back. Else it would stay there until all that the unit has is looked at.
func (w *world) dropped(was, is *record.Session) {
	if was == nil || was.CPSEID != is.CPSEID || was.Left == nil || was.Left.NodeID == "" || is.Left != nil && is.Left.NodeID == was.Left.NodeID {
		return
	}
	node := was.Left.NodeID
	if is.Unit.NodeID == node || is.Branch != nil && is.Branch.NodeID == node || w.config.UnitGone(node) || w.deleting[unitsSession{node, was.Left.CPSEID}] {
		return
	}
	w.Fail("%s: session %x stays at %s, which the session %s has left", is.SUPI, was.Left.CPSEID, node, is.Ref())
}
