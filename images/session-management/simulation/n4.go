package simulation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
	"core5g.dev/core5g/images/session-management/shard"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/extension"
	wire "core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/simulated"

	"core5g.dev/core5g/images/worlds"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// upf is a unit that is upf-c's own code, over datagrams that are lost, repeated and overtake each other.
type upf struct {
	*simulated.UPF
	w     *world
	unit  *unit
	at    netip.AddrPort
	ticks int
}

const pfcpPort = 8805

// shardAddress is a shard's on N4, whoever holds it; podAddress is where a pod's requests for it come from.
func shardAddress(n uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}), pfcpPort)
}

func (p *pod) address(shard uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(slices.Index(p.w.pods, p)), byte(shard)}), pfcpPort)
}

func newUPF(w *world, u *unit, n byte) (*upf, error) {
	c, err := config.Parse(fmt.Appendf(nil, `
nodeID: %s
pfcp: {listen: "0.0.0.0:8805", advertise: 192.0.2.%d, controlPlaneSubnets: [10.0.0.0/8]}
n3: {endpoints: [172.30.%d.16/28]}
namedPools: true
`, u.nodeID, n+1, n+3))
	if err != nil {
		return nil, err
	}
	c.State.File = "" // both halves' death leaves nothing
	f := &upf{w: w, unit: u, at: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, n + 1}), pfcpPort)}
	var networks []fakeupfu.Network
	if w.twice {
		networks = []fakeupfu.Network{{}, {Name: ims, Ethernet: w.frames}}
	}
	f.UPF = simulated.New(simulated.Options{
		Config: c, Of: networks, Start: w.Now, Chance: rand.New(rand.NewPCG(w.Rand.Uint64(), uint64(n))), Sessions: 64, Pairs: 64,
		Send: func(to netip.AddrPort, b []byte) { w.fly(f.at, to, slices.Clone(b)) },
		Fate: func() simulated.Fate {
			if !w.faults || !w.Chance(300) {
				return simulated.Done
			}
			fate := simulated.Fate(w.Rand.IntN(5))
			w.Soon(100*time.Millisecond, 2*time.Second, f.revive)
			return fate
		},
	})
	f.alarm()
	if w.frames {
		f.hears()
	}
	return f, nil
}

// revive whatever has died.
func (f *upf) revive() {
	f.StartUPFU()
	f.StartUPFC()
	f.alarm()
}

// alarm rings when the UPF wants to do something by itself.
func (f *upf) alarm() {
	f.ticks++
	tick := f.ticks
	next, ok := f.NextDeadline()
	if !ok {
		return
	}
	f.w.After(max(next.Sub(f.w.Now), 0), func() {
		if f.ticks == tick {
			f.Tick(f.w.Now)
			f.alarm()
		}
	})
}

// die of both halves, or of one.
func (f *upf) die() {
	both := f.w.Chance(2)
	f.w.Note("%s: upf-c dies, and upf-u: %v", f.unit.nodeID, both)
	if both {
		f.KillUPFU()
	}
	f.KillUPFC()
	f.w.Soon(100*time.Millisecond, 3*time.Second, f.revive)
}

// fly takes a datagram where it is sent to: a unit, a pod, or a shard, which is any pod, that passes it on to the holder.
func (w *world) fly(from, to netip.AddrPort, b []byte) {
	copies := 1
	if w.faults {
		copies = [...]int{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}[w.Rand.IntN(16)]
	}
	for range copies {
		w.Soon(50*time.Microsecond, 5*time.Millisecond, func() { w.land(from, to, b) })
	}
}

func (w *world) land(from, to netip.AddrPort, b []byte) {
	for _, u := range w.units {
		if u.real == nil {
			continue
		}
		if (u.real.at == to || u.real.at == from) && w.Now.Before(u.away) {
			return
		}
		if u.real.at == to {
			u.real.Tick(w.Now)
			u.real.Receive(from, b)
			u.real.alarm()
			return
		}
	}
	octets := to.Addr().As4()
	shard := uint16(octets[3])
	living := worlds.Living(w.pods)
	if octets[1] == 1 {
		living = slices.DeleteFunc(living, func(p *pod) bool { return p != w.pods[octets[2]] })
	}
	if len(living) == 0 {
		return
	}
	p := living[w.Rand.IntN(len(living))]
	if h := p.holds(shardName(shard)); h != nil {
		h.n4.receive(from, b)
		return
	}
	holder := p.Keeper.Holder(shardName(shard))
	w.Soon(50*time.Microsecond, 5*time.Millisecond, func() {
		for _, p := range w.pods {
			if h := p.holds(shardName(shard)); h != nil && p.Name == holder {
				h.n4.receive(from, b)
			}
		}
	})
}

// shardN4 is the endpoint of a shard, at its holder.
type shardN4 struct {
	view  *view
	e     *pfcp.Endpoint
	ticks int
	live  map[string]configuration.Live // what units have said of load and overload
}

var n4Metrics = pfcp.NewMetrics(prometheus.NewRegistry())

// stampOfShards is the Recovery Time Stamp that all of them have.
var stampOfShards = pfcp.StampOf(time.Unix(1_799_000_000, 0))

func newN4(v *view) *shardN4 {
	w, at := v.pod.w, shardAddress(v.held.shard)
	n := &shardN4{view: v, live: map[string]configuration.Live{}}
	from := v.pod.address(v.held.shard)
	var err error
	n.e, err = pfcp.New(pfcp.Config{
		Node: at.Addr().String(), IPv4: at.Addr(), Recovery: stampOfShards, Clock: v.Now, Random: rand.New(rand.NewPCG(w.Rand.Uint64(), 7)),
		Send: func(to netip.AddrPort, b []byte) {
			w.leaves(v)
			w.fly(from, to, slices.Clone(b))
		},
		May: v.May, Handle: n.handle, Metrics: n4Metrics, Association: func(string) []*ie.IE { return n.stateOf(extension.State{}) },
	})
	if err != nil {
		w.Fail("an endpoint: %v", err)
		return n
	}
	for _, u := range w.units {
		met := w.met[[2]string{v.held.lease.Shard, u.nodeID}]
		if err := n.e.AddUnit(pfcp.Unit{NodeID: u.nodeID, Address: u.real.at, Recovery: pfcp.Stamp(met), Associated: met != 0}); err != nil {
			w.Fail("a unit: %v", err)
		}
	}
	n.alarm()
	return n
}

func (n *shardN4) alarm() {
	n.ticks++
	tick := n.ticks
	next, ok := n.e.NextDeadline()
	if !ok {
		return
	}
	w := n.view.pod.w
	w.After(max(next.Sub(w.Now), 0), func() {
		n.view.in(func() {
			if n.ticks == tick {
				n.e.Tick(w.Now)
				n.alarm()
			}
		})
	})
}

func (n *shardN4) receive(from netip.AddrPort, b []byte) {
	n.e.Receive(from, b)
	n.alarm()
}

// handle what the endpoint tells. The runner hears of it in a turn of its own.
func (n *shardN4) handle(e pfcp.Event) {
	w, h := n.view.pod.w, n.view.held
	w.After(0, func() {
		n.view.in(func() {
			switch e := e.(type) {
			case pfcp.Associated:
				w.Note("%s: %s is associated, updated %v", h.lease.Shard, e.Unit, e.Updated)
				delete(n.live, e.Unit)
				h.runner.UnitMet(e.Unit, uint32(e.Recovery), e.Updated || e.Retained)
			case pfcp.LoadChanged:
				l := n.live[e.Unit]
				l.Load = e.Percent
				n.live[e.Unit] = l
			case pfcp.OverloadChanged:
				l := n.live[e.Unit]
				l.Reduction, l.Until = e.Percent, e.Until
				n.live[e.Unit] = l
			case pfcp.SessionReport:
				n.report(e)
			case pfcp.NodeReport:
				_ = n.e.AnswerNodeReport(e.Token, ie.CauseRequestAccepted) // a report that came twice is answered already
			}
		})
	})
}

// stateOf a restoration: who else may have to restore. A unit hears with each association that one may begin.
func (n *shardN4) stateOf(state extension.State) []*ie.IE {
	for shard := range n.view.pod.w.shards {
		state.Nodes = append(state.Nodes, shardAddress(shard+1).Addr().String())
	}
	return []*ie.IE{state.IE()}
}

// restored: nothing of the shard is missing in that life of the unit.
func (n *shardN4) restored(unit string, stamp uint32) {
	n.e.Update(unit, n.stateOf(extension.State{Done: true, Recovery: stamp}), func(_ wire.Elements, err error) {
		if err == nil {
			return
		}
		n.view.After(time.Second, func() {
			for _, u := range n.e.Units() { // one that is met again is told anew
				if u.NodeID == unit && u.State == pfcp.Ready && uint32(u.Recovery) == stamp {
					n.restored(unit, stamp)
				}
			}
		})
	})
	n.alarm()
}

func (n *shardN4) report(e pfcp.SessionReport) {
	w := n.view.pod.w
	u := w.withContext(e.CPSEID)
	r := procedure.Report{CPSEID: e.CPSEID, Downlink: len(e.DownlinkData) > 0, QFI: 1, Usage: shard.MeasuredBy(e.Usage)}
	for _, gone := range e.GoneTunnels {
		r.Lost = append(r.Lost, record.Tunnel{TEID: gone.TEID, IPv4: gone.IPv4, IPv6: gone.IPv6})
	}
	r.From = w.expect(u, &request{name: "report", answered: func(body any) {
		b, ok := body.(procedure.Reported)
		if !ok {
			n.e.Silent(e.Token)
			return
		}
		rec := w.records[record.Key(u.supi, sessionID)]
		ends := rec != nil && rec.CPSEID == e.CPSEID && rec.Phase == record.Releasing // the unit has it no more, and the UE is told so
		if b.Cause == ie.CauseSessionContextNotFound && u.ref == record.Ref(e.CPSEID) && !u.mayBeGone() && !u.ending[u.ref] && !ends {
			w.Fail("%s: the unit is told that there is no session %s", u.supi, u.ref)
		}
		_ = n.e.AnswerSessionReport(e.Token, pfcp.SessionReportAnswer{Cause: b.Cause, UPSEID: b.UPSEID}) // the endpoint may be closed
		n.alarm()
	}})
	n.view.held.runner.DeliverTo(e.CPSEID, r)
}

// ask a unit.
func (n *shardN4) ask(a procedure.AskUnit, done func(procedure.Event)) {
	if a.Operation == procedure.Delete && a.UPSEID == 0 { // by our name: where it is in the list
		n.list(a.Unit.NodeID, func(listed []runner.Listed, err error) {
			for _, l := range listed {
				if l.CPSEID == a.CPSEID {
					a.UPSEID = l.UPSEID
					n.ask(a, done)
					return
				}
			}
			answer := procedure.Unit{Outcome: procedure.Refused, Cause: ie.CauseSessionContextNotFound}
			if err != nil {
				answer = procedure.Unit{Outcome: procedure.NotSent}
			}
			done(answer)
		})
		return
	}
	kinds := map[procedure.UnitOperation]pfcp.Kind{
		procedure.Establish: pfcp.Establishment, procedure.Modify: pfcp.Modification, procedure.Delete: pfcp.Deletion,
	}
	w := n.view.pod.w
	n.e.Do(pfcp.Request{Unit: a.Unit.NodeID, Kind: kinds[a.Operation], CPSEID: a.CPSEID, UPSEID: a.UPSEID, IEs: a.IEs}, func(o pfcp.Outcome) {
		answer := outcomeOf(o)
		w.Note("%s: operation %d, session %x: %v", a.Unit.NodeID, a.Operation, a.CPSEID, o.Err)
		w.After(0, func() { done(answer) })
	})
	n.alarm()
}

func outcomeOf(o pfcp.Outcome) procedure.Unit {
	var refused *pfcp.RefusedError
	var notSent *pfcp.NotSentError
	switch {
	case o.Err == nil:
		answer := procedure.Unit{Outcome: procedure.Done, Usage: shard.MeasuredBy(o.Usage)}
		answer.Established, _ = o.Answer.(*message.SessionEstablishmentResponse) // nil of the others
		return answer
	case errors.As(o.Err, &refused) && refused.Cause == ie.CauseNoEstablishedPFCPAssociation: // it is met again, and asked again
		return procedure.Unit{Outcome: procedure.NotSent}
	case errors.As(o.Err, &refused):
		return procedure.Unit{Outcome: procedure.Refused, Cause: refused.Cause}
	case errors.As(o.Err, &notSent):
		return procedure.Unit{Outcome: procedure.NotSent}
	}
	return procedure.Unit{Outcome: procedure.Unknown}
}

func (n *shardN4) list(nodeID string, done func([]runner.Listed, error)) {
	n.page(nodeID, 0, nil, done)
}

func (n *shardN4) page(nodeID string, cursor uint64, had []runner.Listed, done func([]runner.Listed, error)) {
	w := n.view.pod.w
	n.e.List(nodeID, cursor, func(p extension.Page, err error) {
		w.After(0, func() {
			n.view.in(func() {
				if err != nil {
					done(nil, err)
					return
				}
				for _, s := range p.Sessions {
					had = append(had, runner.Listed{CPSEID: s.CP, UPSEID: s.UP})
				}
				if p.Next != 0 {
					n.page(nodeID, p.Next, had, done)
					return
				}
				done(had, nil)
			})
		})
	})
	n.alarm()
}

// sessions of the unit, as it would forward by them.
func (f *upf) sessions() (list []*unitSession) {
	agent := f.UPFC()
	if agent == nil {
		return nil
	}
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
		if err != nil {
			f.w.Fail("a SEID of upf-c's: %v", err)
		}
		return n
	}
	for _, info := range agent.Sessions() {
		s := &unitSession{cpSEID: number(info.CPSEID), upSEID: number(info.SEID), ue: info.UE, index: info.Index, frames: info.Ethernet, stations: info.MACs}
		detail, ok := agent.Session(s.upSEID)
		if !ok {
			continue
		}
		for _, p := range detail.Rules.PDRs.All() {
			if p.PDI.FTEID.IsValid() {
				s.teid = p.PDI.FTEID.TEID
			}
		}
		if far := detail.Rules.FARs.Get(2); far != nil {
			s.far = farOf{action: far.Action, teid: far.Outer.TEID, peer: far.Outer.Addr}
		}
		list = append(list, s)
	}
	return list
}

// downlinkData has the UPF report a packet for a session that buffers.
func (f *upf) downlinkData(s *unitSession) {
	f.Do(func(u *fakeupfu.UPFU) {
		_ = u.DownlinkData(s.index, 2, 1) // upf-c may be dead: then nobody hears of it
	})
	f.alarm()
}
