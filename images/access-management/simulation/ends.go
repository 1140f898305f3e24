package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/terminator"
)

// end is an N2 terminator: a pod with one life after the other.
type end struct {
	w     *world
	slot  string
	life  int
	alive bool
	t     *terminator.Terminator
	// wires of workers, associations of gNBs, by their numbers of this life.
	wires        map[uint64]*wire
	associations map[uint64]*association
	last, opened uint64
}

func newEnd(w *world, slot string) *end { return &end{w: w, slot: slot} }

// name of a life.
func (e *end) name() string { return fmt.Sprint(e.slot, ".", e.life) }

func (e *end) start() {
	e.alive, e.life = true, e.life+1
	e.wires, e.associations, e.opened = map[uint64]*wire{}, map[uint64]*association{}, 0
	e.t = terminator.New(terminator.Config{World: e, Name: e.name(), Shards: e.w.shards, Set: amfSet})
	e.tick(e.life)
}

func (e *end) tick(life int) {
	if e.alive && e.life == life {
		e.t.Tick()
		e.w.After(500*time.Millisecond, func() { e.tick(life) })
	}
}

// kill without a word: gNBs and workers find out, each in its time.
func (e *end) kill() {
	e.w.Note("%s is killed", e.name())
	e.alive = false
	for n := uint64(1); n <= e.opened; n++ {
		if a := e.associations[n]; a != nil {
			a.over = true
			g := a.gnb
			e.w.Soon(10*time.Millisecond, 3*time.Second, func() { g.lost(a) })
		}
	}
	for n := uint64(1); n <= e.last; n++ {
		if x := e.wires[n]; x != nil {
			x.cutAt(false, true)
		}
	}
	e.w.Soon(time.Second, 4*time.Second, e.start)
}

// ---- what the terminator needs ---------------------------------------------------------------------------------

var errGone = errors.New("the association is gone")

func (e *end) Transmit(id uint64, stream uint16, b []byte) error {
	a := e.associations[id]
	if a == nil || a.over {
		return errGone
	}
	a.asks(b)
	a.transmits(b)
	a.down(stream, b)
	return nil
}

func (e *end) Shut(id uint64) {
	if a := e.associations[id]; a != nil {
		a.gnb.w.Note("%s shuts association %d", e.name(), id)
		if a.givenUp {
			e.w.Ended["given up"]++
		}
		a.gnb.cutOne(a)
	}
}

func (e *end) Pause(id uint64, paused bool) {
	if paused {
		e.w.Fail("%s: messages of association %d pile up", e.name(), id)
	}
}

func (e *end) Tell(worker uint64, f link.Frame) {
	if x := e.wires[worker]; x != nil {
		e.tells(f)
		x.toWorker(f)
	}
}

func (e *end) Drop(worker uint64, why string) {
	e.w.Fail("%s drops worker %d: %s", e.name(), worker, why)
}
func (e *end) Now() time.Time { return e.w.Now }

// ---- associations -----------------------------------------------------------------------------------------------

// association of a gNB: it keeps the order, or dies.
type association struct {
	w          *world
	id         uint64
	gnb        *gnb
	end        *end
	life       int
	over       bool
	peer       netip.Addr // the gNB's end
	givenUp    bool       // the gNB has said that it does without it
	upAt, upTo time.Time  // when the last message arrives there
	reduction  uint8      // that the gNB was asked for last
	updates    []pending  // that it has to answer
}

// streams of an association.
const streams = 4

func (e *end) open(g *gnb) *association {
	e.opened++
	g.opened++
	a := &association{w: e.w, id: e.opened, gnb: g, end: e, life: e.life}
	a.peer = a.address()
	e.associations[a.id] = a
	e.t.Opened(a.id, streams, port(a.peer), port(e.address()))
	return a
}

// later is when what is sent now arrives, behind what was sent before.
func (w *world) later(last *time.Time) time.Duration {
	at := w.Now.Add(50*time.Microsecond + time.Duration(w.Rand.Int64N(int64(5*time.Millisecond))))
	if !at.After(*last) {
		at = last.Add(time.Microsecond)
	}
	*last = at
	return at.Sub(w.Now)
}

func (a *association) up(b []byte) {
	a.w.After(a.w.later(&a.upAt), func() {
		if !a.over && a.end.alive && a.end.life == a.life {
			a.end.t.Received(a.id, b)
		}
	})
}

func (a *association) down(stream uint16, b []byte) {
	a.w.After(a.w.later(&a.upTo), func() {
		if !a.over && a.gnb.has(a) {
			a.gnb.take(a, stream, b)
		}
	})
}

// shut is seen at the terminator's end.
func (a *association) shut(why string) {
	if a.over {
		return
	}
	a.over = true
	a.w.Soon(50*time.Microsecond, 2*time.Second, func() {
		if a.end.alive && a.end.life == a.life {
			delete(a.end.associations, a.id)
			a.end.t.Ended(a.id, why)
		}
	})
}

// ---- connections of workers -------------------------------------------------------------------------------------

// wire is a worker's connection to a terminator: in order both ways, until it is cut.
type wire struct {
	w                *world
	p                *pod
	e                *end
	id               uint64
	podLife, endLife int
	dead             bool // nothing arrives any more
	upAt, downAt     time.Time
	heard            string // the life's name, once Welcome has come
	listed           bool
	there            map[uint64]bool
	highest          uint64
}

func (p *pod) connect(e *end) {
	if p.wires[e.slot] != nil {
		return
	}
	if !e.alive {
		p.again(e)
		return
	}
	e.last++
	x := &wire{w: p.w, p: p, e: e, id: e.last, podLife: p.Life, endLife: e.life, there: map[uint64]bool{}}
	p.wires[e.slot], e.wires[x.id] = x, x
	e.t.WorkerCame(x.id)
	x.toEnd(&link.Hello{Version: link.Version, Worker: p.Name, Shards: p.w.shards, Resumes: true})
	for _, name := range p.w.shardNames() {
		if h := p.held[name]; h != nil {
			x.toEnd(&link.Holds{Shard: h.shard, Epoch: h.lease.Epoch, Leaving: h.leaving})
		}
	}
}

// again after a while.
func (p *pod) again(e *end) {
	life := p.Life
	p.w.Soon(20*time.Millisecond, 500*time.Millisecond, func() { p.In(life, func() { p.connect(e) }) })
}

// cut the connection to a terminator.
func (p *pod) cut(e *end) {
	if x := p.wires[e.slot]; p.Alive && x != nil {
		p.w.Note("%s and %s are cut from each other", p.Name, e.name())
		x.cutAt(true, true)
	}
}

// cutAt ends that live: each finds out in its time.
func (x *wire) cutAt(end, pod bool) {
	if x.dead {
		return
	}
	x.dead = true
	if end {
		x.w.Soon(50*time.Microsecond, time.Second, func() {
			if x.e.alive && x.e.life == x.endLife {
				delete(x.e.wires, x.id)
				x.e.t.WorkerGone(x.id)
			}
		})
	}
	if pod {
		x.w.Soon(50*time.Microsecond, time.Second, func() {
			x.p.In(x.podLife, func() {
				if x.p.wires[x.e.slot] == x {
					delete(x.p.wires, x.e.slot)
					x.p.again(x.e)
				}
			})
		})
	}
}

// travel as octets.
func (x *wire) travel(f link.Frame) link.Frame {
	b, err := link.Append(nil, f)
	if err != nil {
		x.w.Fail("a frame: %v", err)
		return nil
	}
	out, err := link.Read(bytes.NewReader(b))
	if err != nil {
		x.w.Fail("a frame: %v", err)
	}
	return out
}

func (x *wire) toEnd(f link.Frame) {
	f = x.travel(f)
	x.w.After(x.w.later(&x.upAt), func() {
		if !x.dead && x.e.alive && x.e.life == x.endLife {
			x.e.t.Took(x.id, f)
			x.breaks(f)
		}
	})
}

func (x *wire) toWorker(f link.Frame) {
	f = x.travel(f)
	x.w.After(x.w.later(&x.downAt), func() {
		if x.dead {
			return
		}
		x.p.inOrder(x.podLife, func() {
			if !x.dead && x.p.wires[x.e.slot] == x {
				x.p.took(x, f)
			}
		})
	})
}
