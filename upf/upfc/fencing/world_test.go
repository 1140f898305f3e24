package fencing

// A world of two members and an arbiter in a time of its own. Links are cut, answers are lost and late, processes die,
// stop for seconds and come again, clocks run apart. After every event it is looked whether two answer for one address,
// and at every takeover whether something is gone that was answered.

import (
	"container/heap"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"
)

const ms = time.Millisecond

type happening struct {
	at  time.Duration
	seq int
	do  func()
}

type happenings []happening

func (h happenings) Len() int { return len(h) }
func (h happenings) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)   { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// faults are deliberate ones, that the checks have to find.
type faults struct {
	terms         Terms
	answerEarly   bool // N4 is answered before the standby has the change
	nameEarly     bool // a standby is named that lacks changes
	grantForever  bool // upf-u does not look at its clock
	grantFirst    bool // a new upf-u is granted an epoch before it holds the lifeline
	endsOnSilence bool // a stream that is cut counts as the end of both processes
	yieldsEarly   bool // a unit's word that it answers no more is sent before upf-u has been told so
	answersOn     bool // a upf-u that is to forward only goes on answering
	comesBack     bool // a unit that has yielded answers again when nobody has taken over for a while
}

type world struct {
	faults
	rng      *rand.Rand
	now      time.Duration
	queue    happenings
	seq      int
	record   Record
	version  int
	pods     []*pod
	cut      [3]bool // between the pods, of each pod to the arbiter
	clients  int
	answered map[int]bool
	broken   map[int]bool // connections
	story    []string
	wrong    string
	takes    int
	peaceful bool
	calm     bool          // nothing takes long
	fill     time.Duration // how long a upf-u is filled before it is granted an epoch, at most

	handovers int // that a standby has heard of
}

type pod struct {
	w      *world
	id     int
	rate   float64
	offset time.Duration
	lives  int

	// upf-u, and what the container's restart leaves.
	up       bool
	grant    Grant
	lifeline string
	kept     map[int]bool // nil: nothing

	life *life // upf-c; nil: it is not there
}

type life struct {
	p       *pod
	name    string
	unit    *Unit
	standby *Standby
	stopped time.Duration // until then
	waits   []func()      // for that

	// Of a unit:
	peer     *life
	conn     int
	changes  []int // by sequence, from 1
	sent     int
	acked    int
	ackedAt  time.Duration
	behind   time.Duration // since when something is not acknowledged; -1: all is
	waiting  []int         // sequences to be answered
	lastSend time.Duration // arrival of the last message
	back     time.Duration
	line     bool // it has a lifeline
	filled   time.Duration
	from     *life // that has yielded, until it has been told that this one serves

	// Of a standby:
	held     map[int]bool
	heldConn int
	whole    bool // held is of this connection
}

func newWorld(seed uint64, f faults) *world {
	if f.terms == (Terms{}) {
		f.terms = DefaultTerms()
	}
	w := &world{faults: f, fill: 100 * ms, rng: rand.New(rand.NewPCG(seed, 13)), answered: map[int]bool{}, broken: map[int]bool{}}
	for i := range 2 {
		p := &pod{w: w, id: i, rate: 0.995 + 0.01*w.rng.Float64(), offset: time.Duration(w.rng.Int64N(int64(time.Hour)))}
		w.pods = append(w.pods, p)
		p.up = true
		w.after(time.Duration(i)*200*ms, p.begin)
	}
	w.after(time.Second, w.client)
	return w
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, happening{w.now + d, w.seq, do})
}

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%9.3f ", w.now.Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
		w.tell("WRONG: %s", w.wrong)
	}
}

// until runs the world.
func (w *world) until(end time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= end && w.wrong == "" {
		h := heap.Pop(&w.queue).(happening)
		w.now = h.at
		h.do()
		w.check()
	}
	w.now = end
	w.check()
}

func (w *world) check() {
	n := 0
	for _, p := range w.pods {
		if p.answers() {
			n++
		}
	}
	if n > 1 {
		w.fail("%d units answer for one address", n)
	}
	for _, p := range w.pods {
		if p.forwards() && p.grant.Forward && p.clock() > p.grant.Until {
			w.fail("%s forwards longer than it may", p.name())
		}
	}
}

// ---- pods ----------------------------------------------------------------------------------------------------

func (p *pod) name() string { return string(rune('a' + p.id)) }

func (p *pod) clock() time.Duration { return p.offset + time.Duration(float64(p.w.now)*p.rate) }

// answers says whether upf-u answers: it looks at its own clock.
func (p *pod) answers() bool { return p.forwards() && (!p.grant.Forward || p.w.answersOn) }

// forwards says whether it forwards what comes.
func (p *pod) forwards() bool {
	return p.up && p.grant.Epoch != 0 && (p.grant.Always || p.clock() < p.grant.Until || p.w.grantForever)
}

func (p *pod) begin() {
	if p.life != nil {
		return
	}
	p.lives++
	l := &life{p: p, name: Life(p.name(), strconv.Itoa(p.lives)), behind: -1}
	l.unit = NewUnit(p.w.terms, l.name, p.kept != nil)
	p.life = l
	p.w.tell("%s begins, with sessions: %t", l.name, p.kept != nil)
	l.tick()
}

func (p *pod) killAgent() {
	if p.life == nil {
		return
	}
	p.w.tell("%s is killed", p.life.name)
	l := p.life
	p.life = nil
	if !p.up || p.lifeline != l.name {
		p.w.lifelineEnds(p, l.name)
	}
}

func (p *pod) killDataplane() {
	if !p.up {
		return
	}
	p.w.tell("upf-u of %s is killed", p.name())
	p.up, p.grant = false, Grant{}
	if p.lifeline != "" && (p.life == nil || p.life.name != p.lifeline) {
		p.w.lifelineEnds(p, p.lifeline)
	}
	p.lifeline = ""
}

// lifelineEnds has the other pod told, as soon as they are not cut.
func (w *world) lifelineEnds(p *pod, name string) {
	other := w.pods[1-p.id]
	w.after(w.delay(), func() {
		if w.cut[0] {
			w.lifelineEndsLater(p, name)
			return
		}
		if l := other.life; l != nil && l.standby != nil {
			w.tell("%s hears the end of %s", l.name, name)
			l.event(func() {
				if l.standby != nil {
					l.standby.Ended(name)
				}
			})
		}
	})
}

func (w *world) lifelineEndsLater(p *pod, name string) {
	w.after(time.Second, func() { w.lifelineEnds(p, name) })
}

func (w *world) delay() time.Duration {
	if !w.calm && w.rng.IntN(100) == 0 {
		return time.Duration(w.rng.Int64N(int64(3 * time.Second)))
	}
	return time.Duration(w.rng.Int64N(int64(5 * ms)))
}

// event does something to a life, unless it is dead, and later if it is stopped.
func (l *life) event(do func()) {
	w := l.p.w
	if l.p.life != l {
		return
	}
	if w.now < l.stopped || len(l.waits) > 0 {
		if l.waits = append(l.waits, do); len(l.waits) == 1 {
			w.after(l.stopped-w.now, l.goOn)
		}
		return
	}
	do()
	l.act()
}

// goOn does what has waited for a life that was stopped, in its order.
func (l *life) goOn() {
	w := l.p.w
	if w.now < l.stopped {
		w.after(l.stopped-w.now, l.goOn)
		return
	}
	waits := l.waits
	l.waits = nil
	for _, do := range waits {
		l.event(do)
	}
}

func (l *life) tick() {
	if l.p.life != l {
		return
	}
	l.event(func() {})
	l.p.w.after(l.p.w.terms.Beat, l.tick)
}

// act does what is to be done after an event.
func (l *life) act() {
	now, w := l.p.clock(), l.p.w
	if l.unit != nil && l.unit.Over() {
		w.tell("%s is no unit any more", l.name)
		l.p.grant, l.p.kept = Grant{}, nil
		l.unit, l.standby = nil, NewStandby(w.terms, l.name+"s")
		l.name += "s"
		l.changes, l.waiting, l.peer = nil, nil, nil
	}
	if l.standby != nil {
		l.ask(l.standby.Tick(now), l.standby.Read, l.standby.Written)
		if u := l.standby.Taken(); u != nil {
			w.takes++
			w.tell("%s takes over in epoch %d", l.name, u.seen.Epoch)
			for n := range w.answered {
				if !l.held[n] {
					w.fail("session change %d was answered and is gone", n)
				}
			}
			l.unit, l.standby = u, nil
			l.p.kept = maps.Clone(l.held)
			l.peer = nil
			l.filled = w.now + time.Duration(w.rng.Int64N(int64(w.fill)))
		}
		return
	}
	if l.unit.serving && l.p.kept == nil { // a new Recovery Time Stamp tells everybody
		w.tell("%s begins without sessions", l.name)
		l.p.kept, w.answered = map[int]bool{}, map[int]bool{}
	}
	l.keepStream(now)
	asks := l.unit.Tick(now)
	if asks.Beat != 0 {
		l.send(func(s *life) { s.takeBeat(l, asks.Beat) })
	}
	l.ask(asks, l.unit.Read, l.unit.Written)
	if l.p.up && w.now >= l.filled {
		if l.line && !w.grantFirst {
			l.p.lifeline = l.name // before a grant
		}
		g := l.unit.Grant(now)
		if g.Epoch != 0 || w.grantForever {
			l.p.grant = g
		} else if l.p.grant.Always || l.p.clock() >= l.p.grant.Until {
			l.p.grant = g
		}
		if from := l.from; from != nil && l.p.answers() {
			l.from = nil
			w.after(w.delay(), func() {
				if !w.cut[0] {
					w.after(50*ms, from.leave) // what is under way still comes there
				}
			})
		}
	}
	l.answer()
}

// handOver begins a unit's end on purpose: it yields, has upf-u answer no more, says so, and ends when the standby serves, or has not
// for the time that it may forward.
func (l *life) handOver() {
	w := l.p.w
	if l.unit == nil {
		return
	}
	tell := func(seen Seen) {
		l.send(func(s *life) {
			w.tell("%s hears that %s has yielded", s.name, l.name)
			w.handovers++
			s.from = l
			s.standby.Yielded(s.p.clock(), l.name, seen)
		})
	}
	seen, ok := l.unit.Yield(l.p.clock())
	if !ok {
		return
	}
	w.tell("%s yields", l.name)
	mute := func() {
		if l.p.up && l.p.life == l {
			l.p.grant = l.unit.Grant(l.p.clock())
		}
	}
	if w.yieldsEarly {
		tell(seen)
		l.filled = w.now + 100*ms // upf-u takes no grant meanwhile
		w.after(100*ms, mute)
	} else {
		mute()
		tell(seen)
	}
	if w.comesBack {
		w.after(time.Second, func() {
			if l.p.life == l && l.p.up {
				l.unit.yielded = false
			}
		})
		return
	}
	w.after(w.terms.HandOver, l.leave)
}

// leave ends both processes of a life; its pod is made anew.
func (l *life) leave() {
	w, p := l.p.w, l.p
	if p.life != l {
		return
	}
	w.tell("%s leaves", l.name)
	p.killDataplane()
	p.killAgent()
	p.kept = nil
	w.after(time.Second, func() { p.up = true; p.begin() })
}

// ask brings asks to the arbiter and their answers back.
func (l *life) ask(asks Asks, read func(time.Duration, Seen, bool), written func(time.Duration, Outcome, Version)) {
	w := l.p.w
	link := 1 + l.p.id
	stage := l.standby != nil
	back := func(do func()) { // nobody waits for longer than a second
		l.event(func() {
			if (l.standby != nil) == stage {
				do()
			}
		})
	}
	if asks.Read {
		over := false
		done := func(seen Seen, ok bool) {
			if !over {
				over = true
				back(func() { read(l.p.clock(), seen, ok) })
			}
		}
		w.after(time.Second, func() { done(Seen{}, false) })
		w.after(w.delay(), func() {
			if w.cut[link] {
				return
			}
			seen := w.seen()
			w.after(w.delay(), func() {
				if !w.cut[link] {
					done(seen, true)
				}
			})
		})
	}
	if asks.Write != nil {
		order, over := *asks.Write, false
		done := func(o Outcome, v Version) {
			if !over {
				over = true
				back(func() { written(l.p.clock(), o, v) })
			}
		}
		w.after(time.Second, func() { done(Unknown, "") })
		w.after(w.delay(), func() {
			if w.cut[link] {
				return
			}
			outcome := Refused
			if w.seen().Version == order.If {
				w.record, outcome = order.Record, Done
				w.version++
				w.tell("record: epoch %d holder %s standby %q", w.record.Epoch, w.record.Holder, w.record.Standby)
			}
			version := w.seen().Version
			w.after(w.delay(), func() {
				if !w.cut[link] {
					done(outcome, version)
				}
			})
		})
	}
}

func (w *world) seen() Seen {
	if w.version == 0 {
		return Seen{}
	}
	return Seen{w.record, Version(strconv.Itoa(w.version))}
}

// ---- the stream ----------------------------------------------------------------------------------------------

// send brings a message to the peer, behind those before.
func (l *life) send(do func(peer *life)) {
	w, peer, conn := l.p.w, l.peer, l.conn
	if peer == nil {
		return
	}
	l.lastSend = max(l.lastSend, w.now+w.delay())
	w.after(l.lastSend-w.now, func() {
		if w.lost(conn) || l.p.life == l && l.conn != conn {
			return
		}
		peer.event(func() {
			if peer.standby != nil && peer.heldConn == conn {
				do(peer)
			}
		})
	})
}

// lost says whether a message of a connection does not come: then none does any more, for there are no gaps.
func (w *world) lost(conn int) bool {
	if w.cut[0] {
		w.broken[conn] = true
	}
	return w.broken[conn]
}

// reply brings an answer of the standby to the unit.
func (l *life) reply(to *life, conn int, do func()) {
	w := l.p.w
	l.back = max(l.back, w.now+w.delay())
	w.after(l.back-w.now, func() {
		if w.lost(conn) {
			return
		}
		to.event(func() {
			if to.unit != nil && to.peer == l && to.conn == conn {
				do()
			}
		})
	})
}

func (l *life) keepStream(now time.Duration) {
	w, u := l.p.w, l.unit
	if !u.serving {
		return
	}
	if l.peer != nil && now-l.ackedAt > time.Second {
		w.tell("%s gives the stream up", l.name)
		l.peer = nil
		u.Connected("")
		if w.endsOnSilence {
			w.lifelineEnds(l.p, l.name)
		}
	}
	if l.peer == nil {
		l.connect()
	}
	if l.acked == len(l.changes) {
		l.behind = -1
	} else if l.behind < 0 {
		l.behind = now
	}
	switch {
	case l.peer != nil && l.sent > 0 && (l.acked == len(l.changes) || w.nameEarly) && u.peer == l.peer.name && l.ackedOnce():
		u.Name(l.peer.name)
	case l.peer == nil || l.peer.name != u.want || l.behind >= 0 && now-l.behind > w.terms.Bound:
		u.Name("")
	}
}

func (l *life) ackedOnce() bool { return l.acked > 0 }

func (l *life) connect() {
	w, other := l.p.w, l.p.w.pods[1-l.p.id].life
	if other == nil || w.cut[0] || other.standby == nil || l.p.clock() < l.back {
		return
	}
	w.seq++
	l.peer, l.conn, l.ackedAt, l.sent, l.acked = other, w.seq, l.p.clock(), 0, 0
	l.lastSend = w.now
	l.line = true
	if l.p.up {
		l.p.lifeline = l.name
	}
	l.changes = append([]int{0}, l.changes...) // the snapshot counts
	l.unit.Connected(other.name)
	conn, name := l.conn, l.name
	all := maps.Clone(l.p.kept)
	snapshot := len(l.changes)
	l.sent = snapshot
	for i := range l.waiting {
		l.waiting[i]++
	}
	hello := w.delay()
	w.after(hello, func() {
		other.event(func() {
			if other.standby == nil || w.cut[0] {
				return
			}
			if !other.standby.Follow(other.p.clock(), name) {
				return
			}
			w.tell("%s follows %s", other.name, name)
			other.heldConn, other.whole = conn, false
		})
	})
	l.lastSend = w.now + hello // what follows comes behind it
	l.send(func(s *life) {
		s.held, s.whole = all, true
		s.standby.Whole()
		s.tellAcked(l, conn, snapshot)
	})
}

func (s *life) tellAcked(to *life, conn, seq int) {
	s.reply(to, conn, func() {
		to.acked, to.ackedAt = max(to.acked, seq), to.p.clock()
	})
}

func (s *life) takeBeat(from *life, n uint64) {
	conn := s.heldConn
	if s.standby.Beat(s.p.clock(), from.name) {
		s.reply(from, conn, func() {
			from.ackedAt = from.p.clock()
			from.unit.Acknowledged(n)
		})
	}
}

// ---- N4 ------------------------------------------------------------------------------------------------------

func (w *world) client() {
	w.after(time.Duration(w.rng.Int64N(int64(100*ms))), w.client)
	for _, p := range w.pods {
		if l := p.life; l != nil && p.answers() && l.unit != nil && l.unit.serving {
			l.event(func() {
				if l.unit == nil || !p.answers() {
					return
				}
				w.clients++
				n := w.clients
				p.kept[n] = true
				l.changes = append(l.changes, n)
				seq := len(l.changes)
				l.waiting = append(l.waiting, seq)
				if l.peer != nil {
					conn := l.conn
					l.sent = seq
					l.send(func(s *life) {
						if s.whole {
							s.held[n] = true
							s.tellAcked(l, conn, seq)
						}
					})
				}
			})
		}
	}
}

// answer answers what may be: every life that may take over has it.
func (l *life) answer() {
	w := l.p.w
	if !l.p.answers() {
		return
	}
	for len(l.waiting) > 0 {
		seq := l.waiting[0]
		for _, taker := range l.unit.Takers() {
			if w.answerEarly {
				break
			}
			if l.peer == nil || l.peer.name != taker || l.acked < seq {
				return
			}
		}
		w.answered[l.changes[seq-1]] = true
		l.waiting = l.waiting[1:]
	}
}
