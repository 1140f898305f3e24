package terminator

import (
	"fmt"
	"maps"
	"slices"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
)

type worker struct {
	name string
	// greeted: it has said Hello. resumes: it can go on with what was kept.
	greeted, resumes bool
}

// WorkerCame: a worker has connected. It gets a number that no other connection ever had.
func (t *Terminator) WorkerCame(id uint64) { t.workers[id] = &worker{} }

// WorkerGone: a worker's connection has ended. What it was not done with is the next holder's.
func (t *Terminator) WorkerGone(id uint64) {
	delete(t.workers, id)
	for n := range t.shards {
		if t.shards[n].holder == id {
			t.vacate(&t.shards[n])
		}
	}
}

// Name of a worker, for people.
func (t *Terminator) Name(id uint64) string {
	if w := t.workers[id]; w != nil {
		return w.name
	}
	return ""
}

// greeted workers, in the order in which they came.
func (t *Terminator) greeted() []uint64 {
	var out []uint64
	for _, id := range slices.Sorted(maps.Keys(t.workers)) {
		if t.workers[id].greeted {
			out = append(out, id)
		}
	}
	return out
}

// Took a frame of a worker. One that is none of a worker's ends its connection.
func (t *Terminator) Took(id uint64, f link.Frame) {
	w := t.workers[id]
	if w == nil {
		return
	}
	hello, is := f.(*link.Hello)
	switch {
	case is && !w.greeted:
		t.greet(id, w, hello)
		return
	case is || !w.greeted:
		t.w.Drop(id, "Hello comes first, and once")
		return
	}
	switch f := f.(type) {
	case *link.Holds:
		t.holds(id, f)
	case *link.LetsGo:
		t.letsGo(id, f)
	case *link.Send:
		t.send(id, f)
	case *link.Done:
		t.done(id, f.Number)
	case *link.Keep:
		t.keep(id, f)
	case *link.Remember:
		t.remember(id, f)
	case *link.Share:
		t.share(id, f.Number)
	case *link.HangUp:
		if t.holder(id, f.Shard, f.Epoch) && t.associations[f.Association] != nil {
			t.w.Shut(f.Association)
		}
	default:
		t.w.Drop(id, fmt.Sprintf("%T is no frame of a worker", f))
	}
}

func (t *Terminator) greet(id uint64, w *worker, f *link.Hello) {
	switch {
	case f.Version != link.Version:
		t.w.Drop(id, fmt.Sprintf("worker %s speaks version %d of the protocol, this terminator version %d", f.Worker, f.Version, link.Version))
		return
	case int(f.Shards) != len(t.shards)-1:
		t.w.Drop(id, fmt.Sprintf("worker %s knows of %d shards, this terminator of %d", f.Worker, f.Shards, len(t.shards)-1))
		return
	}
	w.name, w.greeted, w.resumes = f.Worker, true, f.Resumes
	t.w.Tell(id, &link.Welcome{Version: link.Version, Terminator: t.name})
	for _, n := range slices.Sorted(maps.Keys(t.associations)) {
		a := t.associations[n]
		ago := max(1, t.w.Now().Sub(a.opened).Milliseconds())
		t.w.Tell(id, &link.Opened{Association: a.id, Peer: a.peer, Here: a.here, Node: a.node, Listed: true, Ago: uint64(ago)})
	}
	t.w.Tell(id, &link.Opened{Association: t.opened, Listed: true, Last: true})
}

// holds: the shard is the worker's, if its epoch is the newest. The same epoch again is a connection that was lost and made anew, or, on the same, whether it is leaving.
func (t *Terminator) holds(id uint64, f *link.Holds) {
	if !t.has(f.Shard) {
		t.w.Drop(id, fmt.Sprintf("there is no shard %d", f.Shard))
		return
	}
	s := &t.shards[f.Shard]
	if f.Epoch < s.epoch {
		return // it will learn from the store that it holds it no more
	}
	s.leaving = f.Leaving
	if !t.holder(id, f.Shard, f.Epoch) {
		t.vacate(s)
		s.holder, s.epoch = id, f.Epoch
		if !t.workers[id].resumes { // its gNB would be told another AMF UE NGAP ID
			t.forget(int(f.Shard), Expired, (*message).kept)
		}
		for _, m := range s.list {
			t.deliver(m)
		}
	}
	t.assign()
}

// assign what any shard may do.
func (t *Terminator) assign() {
	list := t.shards[unassigned].list
	t.shards[unassigned].list = nil
	for _, m := range list {
		a := t.associations[m.association]
		h, _ := n2.Peek(m.octets)
		m.shard = t.shardOf(a, h)
		t.shards[m.shard].list = append(t.shards[m.shard].list, m)
		t.deliver(m)
	}
}

// letsGo: nobody holds the shard, until somebody says so.
func (t *Terminator) letsGo(id uint64, f *link.LetsGo) {
	if t.holder(id, f.Shard, f.Epoch) {
		t.vacate(&t.shards[f.Shard])
	}
}

// vacate a shard. Who takes it waits not for what is old: the time of what was taken begins anew.
func (t *Terminator) vacate(s *shard) {
	s.holder = 0
	now := t.w.Now()
	for _, m := range s.list {
		if m.to != 0 {
			m.to, m.waits = 0, now
		}
	}
}

// holder says whether that worker holds the shard under that epoch.
func (t *Terminator) holder(id uint64, n uint16, epoch uint64) bool {
	return t.has(n) && t.shards[n].holder == id && t.shards[n].epoch == epoch
}

// send what the holder of a shard says.
func (t *Terminator) send(id uint64, f *link.Send) {
	if f.Shard == link.NoShard { // an echo
		t.w.Tell(id, &link.NotSent{Number: f.Number, Fenced: true, Why: "an echo"})
		return
	}
	if !t.holder(id, f.Shard, f.Epoch) {
		t.notSent(id, f, Fenced, fmt.Sprintf("shard %d is not held under epoch %d", f.Shard, f.Epoch))
		return
	}
	a := t.associations[f.Association]
	if a == nil {
		t.notSent(id, f, Unsendable, "the association has ended")
		return
	}
	if a.setup != nil {
		t.hold(id, a, f)
		return
	}
	t.transmit(id, a, f)
}

func (t *Terminator) transmit(id uint64, a *association, f *link.Send) {
	answer := answersSetup(f)
	if answer && a.answered {
		t.count(Repeated)
		return
	}
	if err := t.w.Transmit(a.id, a.stream(f.UE), f.Message); err != nil {
		t.notSent(id, f, Unsendable, err.Error())
		return
	}
	a.answered = a.answered || answer
	t.count(Sent)
}

func (t *Terminator) notSent(id uint64, f *link.Send, what Happening, why string) {
	t.count(what)
	if f.Number != 0 {
		t.w.Tell(id, &link.NotSent{Number: f.Number, Shard: f.Shard, Fenced: what == Fenced, Why: why})
	}
}

// done with a message. Only who has it can be: one that another worker has by now is that one's to be done with.
func (t *Terminator) done(id, number uint64) {
	m := t.messages[number]
	if m == nil || m.to != id {
		return
	}
	s := &t.shards[m.shard]
	if n := slices.Index(s.list, m); n >= 0 {
		s.list = slices.Delete(s.list, n, n+1)
	}
	t.gone(m)
}

// keep a message: a worker is done with it, for as long as it lives.
func (t *Terminator) keep(id uint64, f *link.Keep) {
	m := t.messages[f.Number]
	if m == nil || m.to != id || m.shared || f.UE == 0 {
		return
	}
	a := t.associations[m.association]
	switch {
	case a == nil || !m.kept() && a.kept >= mostKept:
		t.done(id, f.Number)
		return
	case !m.kept():
		a.kept++
		t.waitsNot(a, m)
	}
	m.ue = f.UE
}

func (t *Terminator) remember(id uint64, f *link.Remember) {
	a := t.associations[f.Association]
	if a == nil || !t.holder(id, f.Shard, f.Epoch) {
		return
	}
	a.node = f.Node
	for _, w := range t.greeted() {
		t.w.Tell(w, &link.Node{Association: a.id, Node: a.node})
	}
}

// share a message with all other shards. Those that nobody holds get it when somebody does.
func (t *Terminator) share(id, number uint64) {
	m := t.messages[number]
	if m == nil || m.to != id || m.shared {
		return
	}
	for n := 1; n < len(t.shards); n++ {
		if uint16(n) != m.shard {
			t.put(uint16(n), m.association, m.octets, m)
		}
	}
}
