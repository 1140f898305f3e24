package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/shards"
	"core5g.dev/core5g/images/worlds"
)

func shardName(n uint16) string { return fmt.Sprint("amf-", n) }

func (w *world) shardNames() (names []string) {
	for n := range w.shards {
		names = append(names, shardName(n+1))
	}
	return names
}

// pod is a worker.
type pod struct {
	*worlds.Pod
	w *world
	// settings as it has read them.
	settings *procedure.Settings
	held     map[string]*holding
	wires    map[string]*wire // by the terminator's slot
	nodes    map[string]*record.GNB
	// known are the associations that it has heard of.
	known map[string]known
	// bereft are gNBs that have lost an association, and when; doubted those of them that may not have heard that their UEs are lost.
	bereft, doubted map[string]time.Time
	// met are lives of terminators that it has heard, or that are known to be over; doubts those that it has not, with the echo that shows that they are; echoes
	// how many were asked for.
	met    map[string]bool
	doubts map[string]uint64
	echoes uint64
	// questions that are not answered, in the order in which they came up.
	questions []*question
	// waits is what came while the pod stood still, in its order.
	waits []func()
}

// known of an association: its ends, and since when there is one.
type known struct {
	peer, here string
	since      time.Time
}

// holding is a shard that a pod has, from lease to lease.
type holding struct {
	shard  uint16
	lease  sessionstore.Lease
	runner *runner.Runner
	v      *view
	// leaving: it will be given up soon.
	leaving bool
}

func (w *world) newPod(name string) *pod {
	p := &pod{w: w}
	p.Pod = worlds.NewPod(name, w.Story, w.store, p)
	return p
}

func (p *pod) Started() {
	p.held, p.wires, p.nodes, p.waits = map[string]*holding{}, map[string]*wire{}, map[string]*record.GNB{}, nil
	p.known = map[string]known{}
	p.bereft, p.doubted = map[string]time.Time{}, map[string]time.Time{}
	p.met, p.doubts, p.questions = map[string]bool{}, map[string]uint64{}, nil
	p.settings = p.w.settings
	for _, e := range p.w.ends {
		p.again(e)
	}
}

func (p *pod) configured() {
	p.settings = p.w.settings
	for _, r := range p.runners() {
		r.Configured()
	}
}

func (p *pod) Killed() {
	for _, e := range p.w.ends {
		if x := p.wires[e.slot]; x != nil {
			x.cutAt(true, false)
		}
	}
	p.held, p.wires, p.waits = nil, nil, nil
}

func (p *pod) Shards() []string { return p.w.shardNames() }
func (p *pod) Set() string      { return "amf" }

// inOrder is In for what must stay in order while the pod stands still.
func (p *pod) inOrder(life int, f func()) {
	if !p.Alive || p.Life != life {
		return
	}
	if len(p.waits) == 0 && !p.w.Now.Before(p.Frozen) {
		f()
		return
	}
	p.waits = append(p.waits, f)
	if len(p.waits) == 1 {
		p.w.After(max(p.Frozen.Sub(p.w.Now), 0), func() { p.thaw(life) })
	}
}

func (p *pod) thaw(life int) {
	if !p.Alive || p.Life != life {
		return
	}
	if p.w.Now.Before(p.Frozen) {
		p.w.After(p.Frozen.Sub(p.w.Now), func() { p.thaw(life) })
		return
	}
	list := p.waits
	p.waits = nil
	for _, f := range list {
		if p.Alive && p.Life == life {
			f()
		}
	}
}

func (p *pod) Gained(l sessionstore.Lease) {
	p.w.Note("%s holds %s, epoch %d", p.Name, l.Shard, l.Epoch)
	var n uint16
	if _, err := fmt.Sscanf(l.Shard, "amf-%d", &n); err != nil {
		p.w.Fail("a shard called %q", l.Shard)
	}
	h := &holding{shard: n, lease: l}
	h.v = &view{pod: p, life: p.Life, held: h}
	p.held[l.Shard] = h
	h.runner = runner.New(runner.Config{
		World: h.v, Log: p.w.log, Shard: n, ShardName: shardName, Lease: l, Sealer: p.w.sealer, Keys: watchedKeys{c: p.w.counts, v: h.v},
		Writer: p.w.Rand.Uint64(), Cached: 1 + p.w.Rand.IntN(6), Strangers: p.w.strangers,
	})
	h.runner.Start()
	p.post(&link.Holds{Shard: n, Epoch: l.Epoch})
}

func (p *pod) Leaving(name string) {
	h := p.held[name]
	if h == nil {
		p.Left(name)
		return
	}
	p.w.Note("%s is leaving %s", p.Name, name)
	h.leaving = true
	p.post(&link.Holds{Shard: h.shard, Epoch: h.lease.Epoch, Leaving: true})
	h.runner.Leave(shards.Farewell, func() { p.Left(name) })
}

func (p *pod) Lost(name string) {
	if h := p.held[name]; h != nil {
		p.w.Note("%s holds %s no more", p.Name, name)
		h.runner.Stop()
		delete(p.held, name)
		p.post(&link.LetsGo{Shard: h.shard, Epoch: h.lease.Epoch})
	}
}

// post to all terminators.
func (p *pod) post(f link.Frame) {
	for _, e := range p.w.ends {
		if x := p.wires[e.slot]; x != nil {
			x.toEnd(f)
		}
	}
}

// runners of the shards that the pod has.
func (p *pod) runners() (out []*runner.Runner) {
	for _, name := range p.w.shardNames() {
		if h := p.held[name]; h != nil {
			out = append(out, h.runner)
		}
	}
	return out
}

func nodeKey(terminator string, association uint64) string {
	return fmt.Sprint(terminator, "/", association)
}

// took a frame of a terminator.
func (p *pod) took(x *wire, f link.Frame) {
	switch f := f.(type) {
	case *link.Welcome:
		x.heard, p.met[f.Terminator] = f.Terminator, true
		delete(p.doubts, f.Terminator)
		p.ask(x)
	case *link.Opened:
		p.opened(x, f)
	case *link.Node:
		p.node(x, f.Association, f.Node)
	case *link.Ended:
		p.bereaved(nodeKey(x.heard, f.Association))
		delete(x.there, f.Association)
		delete(p.nodes, nodeKey(x.heard, f.Association))
		for _, r := range p.runners() {
			r.Took(x.heard, f)
		}
	case *link.Deliver:
		if h := p.held[shardName(f.Shard)]; h != nil {
			h.runner.Took(x.heard, f)
		}
	case *link.NotSent:
		if f.Shard == link.NoShard {
			p.echo(x, f.Number)
			return
		}
		if h := p.held[shardName(f.Shard)]; h != nil {
			h.runner.Took(x.heard, f)
		}
	}
}

func (p *pod) opened(x *wire, f *link.Opened) {
	if !f.Last {
		x.there[f.Association] = true
		a := known{peer: f.Peer, here: f.Here, since: p.w.Now.Add(-time.Duration(f.Ago) * time.Millisecond)}
		p.known[nodeKey(x.heard, f.Association)] = a
		x.highest = max(x.highest, f.Association)
		p.node(x, f.Association, f.Node)
		return
	}
	x.listed, x.highest = true, max(x.highest, f.Association, x.e.opened)
	for _, key := range slices.Sorted(maps.Keys(p.nodes)) { // what has ended meanwhile, of this life and those before
		terminator, number, _ := strings.Cut(key, "/")
		association, err := strconv.ParseUint(number, 10, 64)
		if err == nil && slotOf(terminator) == x.e.slot && (terminator != x.heard || !x.there[association]) {
			p.bereaved(key)
			delete(p.nodes, key)
		}
	}
	p.answered(x, true, 0)
	for life := 1; life <= x.endLife; life++ { // those of before have ended
		for _, r := range p.runners() {
			r.TerminatorHeard(fmt.Sprint(x.e.slot, ".", life))
		}
	}
}

// ask for an echo where a life of that terminator is in doubt.
func (p *pod) ask(x *wire) {
	for name := range p.doubts {
		if slotOf(name) == x.e.slot {
			x.toEnd(&link.Send{Number: p.echoes, Shard: link.NoShard})
			return
		}
	}
}

// echo of a terminator: lives of it that were in doubt before are over.
func (p *pod) echo(x *wire, number uint64) {
	p.answered(x, false, number)
	for _, name := range slices.Sorted(maps.Keys(p.doubts)) {
		if slotOf(name) == x.e.slot && p.doubts[name] <= number {
			delete(p.doubts, name)
			p.met[name] = true
			for _, r := range p.runners() {
				r.TerminatorHeard(name)
			}
		}
	}
}

// question whether terminators live, or have died with the associations that they had.
type question struct {
	// lives that have not answered, and the echo that does; 0: none was asked for yet.
	lives map[string]uint64
	then  func()
	over  bool
}

// ends a question: who has asked hears it, once.
func (q *question) end() {
	if !q.over {
		q.over = true
		q.then()
	}
}

// Sure asks those of whose lives a gNB has associations for an echo.
func (v *view) Sure(name string, at record.Attachment, then func()) {
	p := v.pod
	q := &question{lives: map[string]uint64{}, then: func() { v.in(then) }}
	for _, key := range slices.Sorted(maps.Keys(p.nodes)) {
		terminator, _, _ := strings.Cut(key, "/")
		if p.nodes[key].Key() != name || terminator == at.Terminator {
			continue
		}
		q.lives[terminator] = 0
		if x := p.wires[slotOf(terminator)]; x != nil && x.heard == terminator {
			p.askFor(q, x)
		}
	}
	v.question(q, then)
}

// Taken asks all for an echo.
func (v *view) Taken(then func()) {
	p := v.pod
	q := &question{lives: map[string]uint64{}, then: func() { v.in(then) }}
	for _, e := range p.w.ends {
		if x := p.wires[e.slot]; x != nil && x.heard != "" {
			p.askFor(q, x)
		}
	}
	v.question(q, then)
}

// question those of whom something is to be known; then is called at once where nobody is.
func (v *view) question(q *question, then func()) {
	if len(q.lives) == 0 {
		then()
		return
	}
	v.pod.questions = append(v.pod.questions, q)
	v.After(time.Second, q.end)
}

func (p *pod) askFor(q *question, x *wire) {
	p.echoes++
	q.lives[x.heard] = p.echoes
	x.toEnd(&link.Send{Number: p.echoes, Shard: link.NoShard})
}

// answered: a terminator has listed its associations, or echoed.
func (p *pod) answered(x *wire, listed bool, echo uint64) {
	for _, q := range slices.Clone(p.questions) {
		for _, name := range slices.Sorted(maps.Keys(q.lives)) {
			n := q.lives[name]
			switch {
			case slotOf(name) != x.e.slot:
			case name != x.heard || n != 0 && n <= echo:
				delete(q.lives, name)
			case listed:
				p.askFor(q, x)
			}
		}
		if len(q.lives) == 0 {
			q.end()
		}
	}
	p.questions = slices.DeleteFunc(p.questions, func(q *question) bool { return q.over })
}

// slotOf the life of a terminator.
func slotOf(terminator string) string {
	slot, _, _ := strings.Cut(terminator, ".")
	return slot
}

// bereaved notes that a gNB has lost an association.
func (p *pod) bereaved(key string) {
	switch g := p.nodes[key]; {
	case g == nil:
	case g.Doubtful:
		p.doubted[g.Key()] = p.w.Now
	default:
		p.bereft[g.Key()] = p.w.Now
	}
}

func (p *pod) node(x *wire, association uint64, octets []byte) {
	if octets == nil {
		return
	}
	g, err := record.DecodeGNB(octets)
	if err != nil {
		p.w.Fail("a gNB: %v", err)
		return
	}
	key := nodeKey(x.heard, association)
	first := p.nodes[key] == nil
	g.Peer, g.Here = p.known[key].peer, p.known[key].here
	p.nodes[key] = g
	if p.align(key); first {
		for _, r := range p.runners() {
			r.Appeared(g)
		}
	}
}

// align what is known of a gNB by the associations of its interface: what it has said last by one of them holds for all.
func (p *pod) align(key string) {
	at := p.nodes[key].At()
	for _, other := range slices.Sorted(maps.Keys(p.nodes)) {
		if o := p.nodes[other]; other != key && o.Serves(&at) {
			p.nodes[other], p.nodes[key] = o.As(p.nodes[key]), p.nodes[key].As(o)
		}
	}
}

// view is the world as a shard of one life of a pod sees it.
type view struct {
	pod  *pod
	life int
	held *holding
}

func (v *view) in(f func()) {
	v.pod.In(v.life, func() {
		if v.pod.held[v.held.lease.Shard] == v.held {
			f()
		}
	})
}

// lives says whether the pod is in the life in which it began this: it may die at any step.
func (v *view) lives() bool {
	p := v.pod
	if p.Life != v.life {
		return false
	}
	if p.w.faults && p.w.Chance(2000) {
		p.w.Note("%s dies in the midst of it", p.Name)
		p.Kill()
		return false
	}
	return true
}

func (v *view) Now() time.Time { return v.pod.w.Now }
func (v *view) After(d time.Duration, f func()) {
	v.pod.w.After(d, func() { v.in(f) })
}
func (v *view) May() bool                     { return v.pod.Life == v.life && v.pod.May(v.held.lease) }
func (v *view) Settings() *procedure.Settings { return v.pod.settings }

func (v *view) Random(b []byte) {
	for n := range b {
		b[n] = byte(v.pod.w.Rand.Uint32())
	}
}

// Store takes a while there and a while back. What was sent before the pod died is executed.
func (v *view) Store(f func(context.Context, sessionstore.Store) func()) {
	if !v.lives() {
		return
	}
	v.pod.w.store.Call(func(store sessionstore.Store) func() {
		then := f(context.Background(), store)
		return func() { v.in(then) }
	})
}

func (v *view) Waiting(t procedure.Token) bool {
	x := v.pod.w.waiting[t]
	return x != nil && !x.over
}

// Handled is for those who look.
func (v *view) Handled(h runner.Handled) { v.pod.w.counts.handled(h) }

// Carried as Handled.
func (v *view) Carried(n2.Message, bool) {}

func (v *view) Ended(r procedure.Result) {
	v.pod.w.Ended[r.Kind.String()]++
	v.pod.w.Note("%s ended: %s", r.Kind, r.Cause)
}

func (v *view) Stopped(why error) {
	v.pod.w.Note("%s stops %s: %v", v.pod.Name, v.held.lease.Shard, why)
	v.pod.Fenced(v.held.lease)
}

func (v *view) Post(terminator string, f link.Frame) {
	if !v.lives() {
		return
	}
	v.pod.w.leaves(v)
	if send, is := f.(*link.Send); is {
		v.pod.w.sent(v, send)
	}
	if x := v.pod.wires[slotOf(terminator)]; x != nil && x.heard == terminator {
		x.toEnd(f)
	}
}

func (v *view) Association(terminator string, association uint64) runner.Standing {
	x := v.pod.wires[slotOf(terminator)]
	switch {
	case x == nil || x.heard == "" || v.pod.Life != v.life:
		return runner.Unheard
	case x.heard != terminator && v.pod.met[terminator]: // lives come one after the other
		return runner.Gone
	case x.heard != terminator: // it may be over, or have begun while nothing was heard
		if p := v.pod; p.doubts[terminator] == 0 {
			p.echoes++
			p.doubts[terminator] = p.echoes
			p.ask(x)
		}
		return runner.Unheard
	case x.there[association]:
		return runner.There
	case !x.listed || association > x.highest:
		return runner.Unheard
	}
	return runner.Gone
}

func (v *view) GNB(terminator string, association uint64) *record.GNB {
	if v.pod.Life != v.life {
		return nil
	}
	if x := v.pod.wires[slotOf(terminator)]; x == nil || x.heard != terminator || !x.there[association] {
		return nil
	}
	return v.pod.nodes[nodeKey(terminator, association)]
}

// GNBs that there are, in a fixed order.
func (v *view) GNBs() (out []*record.GNB) {
	if v.pod.Life != v.life {
		return nil
	}
	for _, e := range v.pod.w.ends {
		x := v.pod.wires[e.slot]
		if x == nil {
			continue
		}
		for n := uint64(1); n <= x.highest; n++ {
			if g := v.pod.nodes[nodeKey(x.heard, n)]; x.there[n] && g != nil {
				out = append(out, g)
			}
		}
	}
	return out
}

// Find the newest where gNBs have several, and any where they have not.
func (v *view) Find(name string) *record.GNB {
	list := slices.DeleteFunc(v.GNBs(), func(g *record.GNB) bool { return g.Key() != name })
	switch {
	case len(list) == 0:
		return nil
	case v.pod.w.several:
		return v.pod.newest(list)
	}
	return list[0]
}

func (v *view) Beside(at record.Attachment) *record.GNB {
	return v.pod.newest(slices.DeleteFunc(v.GNBs(), func(g *record.GNB) bool {
		return !g.Serves(&at) || g.Terminator == at.Terminator && g.Association == at.Association
	}))
}

// newest of a list; nil: it is empty.
func (p *pod) newest(list []*record.GNB) (newest *record.GNB) {
	since := func(g *record.GNB) time.Time { return p.known[nodeKey(g.Terminator, g.Association)].since }
	for _, g := range list {
		if newest == nil || cmp.Or(since(g).Compare(since(newest)), cmp.Compare(g.Association, newest.Association)) > 0 {
			newest = g
		}
	}
	return newest
}

func (v *view) Lost(name string) (time.Time, bool) {
	p := v.pod
	if at, is := p.doubted[name]; is && p.w.Now.Sub(at) <= procedure.RetainTime {
		return time.Time{}, false
	}
	for _, g := range p.nodes {
		if g.Doubtful && g.Key() == name {
			return time.Time{}, false
		}
	}
	at, is := p.bereft[name]
	return at, is
}

func (v *view) Near(area record.Area) (out []*record.GNB) {
	for _, g := range v.GNBs() {
		if v.pod.w.several && v.Find(g.Key()) != g { // by one of its associations
			continue
		}
		if slices.ContainsFunc(g.TACs(area.PLMN), func(tac uint32) bool { return slices.Contains(area.TACs, tac) }) {
			out = append(out, g)
		}
	}
	return out
}

var errNoAnswer = errors.New("no answer")

func (v *view) GiveUp(shard uint16, key string, done func(capability []byte, err error)) {
	w := v.pod.w
	answered := false
	back := func(capability []byte, err error) {
		w.Soon(50*time.Microsecond, 5*time.Millisecond, func() {
			if !answered {
				answered = true
				v.in(func() { done(capability, err) })
			}
		})
	}
	w.After(2*time.Second, func() {
		if !answered {
			answered = true
			v.in(func() { done(nil, errNoAnswer) })
		}
	})
	w.toShard(shard, func(to *runner.Runner) {
		to.GiveUp(key, func(capability []byte, err error) {
			if !w.faults || !w.Chance(40) {
				back(capability, err)
			}
		})
	})
}

func (v *view) Pass(shard uint16, key string, e procedure.Event) {
	v.pod.w.toShard(shard, func(to *runner.Runner) { to.Deliver(supiOf(key), e) })
}

func supiOf(key string) string { return strings.TrimPrefix(key, record.Key("")) }

// toShard brings something to a shard's holder. It may be lost.
func (w *world) toShard(shard uint16, deliver func(*runner.Runner)) {
	w.Soon(50*time.Microsecond, 5*time.Millisecond, func() {
		if w.faults && w.Chance(60) {
			return
		}
		for _, p := range worlds.Living(w.pods) {
			if h := p.held[shardName(shard)]; h != nil {
				deliver(h.runner)
				return
			}
		}
	})
}

// toAMF brings a request to any worker that has a shard; false where nobody is there, or it was lost.
func (w *world) toAMF(supi string, e procedure.Event) bool {
	var all []*runner.Runner
	for _, p := range worlds.Living(w.pods) {
		all = append(all, p.runners()...)
	}
	if len(all) == 0 || w.faults && w.Chance(60) {
		return false
	}
	all[w.Rand.IntN(len(all))].Deliver(supi, e)
	return true
}

// sent: a message leaves.
func (w *world) sent(v *view, f *link.Send) {
	m, fault := n2.Read(f.Message)
	if fault != nil {
		w.Fail("what the AMF sends cannot be read: %v", fault)
		return
	}
	w.Note("%s -> association %d: %s", v.held.lease.Shard, f.Association, strings.TrimPrefix(fmt.Sprintf("%T", m), "*n2."))
	for _, nas := range nasOf(m) {
		w.counts.leaves(nas)
	}
}

// nasOf are the NAS messages in one to a gNB.
func nasOf(m n2.Message) (out [][]byte) {
	switch m := m.(type) {
	case *n2.DownlinkNASTransport:
		out = append(out, m.NAS)
	case *n2.InitialContextSetupRequest:
		out = append(out, m.NAS)
		for _, s := range m.Sessions {
			out = append(out, s.NAS)
		}
	case *n2.PDUSessionResourceSetupRequest:
		out = append(out, m.NAS)
		for _, s := range m.Sessions {
			out = append(out, s.NAS)
		}
	case *n2.PDUSessionResourceModifyRequest:
		for _, s := range m.Sessions {
			out = append(out, s.NAS)
		}
	case *n2.PDUSessionResourceReleaseCommand:
		out = append(out, m.NAS)
	}
	return slices.DeleteFunc(out, func(b []byte) bool { return b == nil })
}

func (v *view) Do(e procedure.Effect, done func(procedure.Event)) {
	if !v.lives() {
		return
	}
	w := v.pod.w
	w.leaves(v)
	if r, is := e.(procedure.Reply); is {
		w.Soon(50*time.Microsecond, 5*time.Millisecond, func() { w.replied(r) })
		return
	}
	w.ask(e, func(answer procedure.Event) { v.in(func() { done(answer) }) })
}

// expect a Reply.
func (w *world) expect(patience time.Duration, done func(body any)) procedure.Token {
	w.tokens++
	token := w.tokens
	x := &waiter{done: done}
	w.waiting[token] = x
	w.After(patience, func() {
		if !x.over {
			x.over = true
			done(nil)
		}
	})
	return token
}

func (w *world) replied(r procedure.Reply) {
	x := w.waiting[r.To]
	if x == nil {
		w.Fail("an answer to nobody: %+v", r)
		return
	}
	if !x.over {
		x.over = true
		x.done(r.Body)
	}
}
