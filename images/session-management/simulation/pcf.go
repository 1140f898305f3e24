package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
)

// peer is a function that answers, or not, and that dies and comes back as another instance, which knows nothing of what the one before did.
type peer struct {
	w     *world
	name  string
	rand  *rand.Rand // of its own: other worlds go on as they did
	life  int
	away  bool
	made  int
	dying func()
}

func newPeer(w *world, name string, seed, stream uint64) *peer {
	p := &peer{w: w, name: name, rand: rand.New(rand.NewPCG(seed, stream))}
	if p.rand.IntN(3) != 0 {
		return nil
	}
	return p
}

func (p *peer) chance(once int) bool { return p.rand.IntN(once) == 0 }

func (p *peer) uri() string {
	p.made++
	return fmt.Sprint(p.name, "/", p.life, "/", p.made)
}

// fate of a request: it is carried out, or not; its answer arrives, or nobody knows; and it takes a while.
func (p *peer) fate(do func() (answer procedure.Event), unknown, notSent procedure.Event, back func(procedure.Event)) {
	silent := func() { p.w.After(n4Time, func() { back(unknown) }) }
	unkind := p.w.faults
	switch {
	case p.away && p.chance(2):
		back(notSent)
	case p.away || unkind && p.chance(40):
		silent()
	default:
		answer := do()
		switch {
		case unkind && p.chance(40):
			silent()
		case unkind && p.chance(20):
			p.w.After(time.Duration(p.rand.Int64N(int64(2*time.Second))), func() { back(answer) })
		default:
			back(answer)
		}
	}
}

// live, and die every now and then.
func (p *peer) live() {
	if !p.w.faults {
		return
	}
	p.w.After(time.Duration(5+p.rand.IntN(25))*time.Second, func() {
		if p.w.faults {
			p.w.Note("the %s dies", p.name)
			p.life++
			p.away = true
			p.dying()
			p.w.After(time.Duration(p.rand.IntN(6000))*time.Millisecond, func() { p.away = false })
		}
		p.live()
	})
}

// pcf decides rules of sessions, and changes its mind.
type pcf struct {
	*peer
	associations map[string]*association // by URI
	// once: it says a decision once. Where whom it told died with it, nobody says it again.
	once bool
}

// association of a session (TS 29.512 4.2.2).
type association struct {
	uri, supi string
	cpSEID    uint64
	rules     map[string]record.Rule
	failed    map[string]bool // by what the SMF says
	unsaid    map[string]bool // likewise, but the PCF has not heard it
	// kept: a record has had it. unheard: its end was asked for, and that was lost.
	kept, unheard bool
	asking        *request // a notification under way
}

func newPCF(w *world, seed uint64) *pcf {
	f := &pcf{peer: newPeer(w, "PCF", seed, 3), associations: map[string]*association{}}
	if f.peer == nil {
		return nil
	}
	f.once = rand.New(rand.NewPCG(seed, 7)).IntN(2) == 0
	f.dying = func() { f.associations = map[string]*association{} }
	f.live()
	f.decides()
	return f
}

func (f *pcf) sorted() []string { return slices.Sorted(maps.Keys(f.associations)) }

// rules of its own; all have filters, and the ones of the same name are otherwise at times.
func (f *pcf) someRules() map[string]record.Rule {
	out := map[string]record.Rule{}
	for n := range 3 {
		if !f.chance(2) {
			continue
		}
		name := fmt.Sprint("pcc-", n)
		out[name] = record.Rule{Name: name, FiveQI: 7, Priority: 6, Precedence: uint8(40 + n), Filters: n1.EncodeFilters([]n1.Filter{{
			Direction: n1.Bidirectional, Remote: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(f.rand.IntN(4))}), 32), Protocol: -1,
		}})}
	}
	return out
}

func (a *association) ruling() procedure.Ruling {
	r := procedure.Ruling{Said: true}
	for _, name := range slices.Sorted(maps.Keys(a.rules)) {
		r.Rules = append(r.Rules, a.rules[name])
	}
	return r
}

func (a *association) lost(list []record.Failure) {
	for _, x := range list {
		a.failed[x.Rule] = true
	}
}

// decides on other rules: which of them fail is not known.
func (a *association) decides(rules map[string]record.Rule) {
	a.rules, a.failed, a.unsaid = rules, map[string]bool{}, nil
}

// gaveUp on an answer: it may have been one that was lost.
func (a *association) gaveUp() {
	if x, ok := a.asking.lost.(procedure.Accepted); ok {
		a.unsaid = map[string]bool{}
		for _, f := range x.Failed {
			a.unsaid[f.Rule] = true
		}
	}
	a.asking = nil
}

func (f *pcf) asked(e procedure.AskPolicy, back func(procedure.Event)) {
	if e.Operation == procedure.DeletePolicy { // whatever becomes of the request, nobody asks again
		if a := f.associations[e.Session.Policy]; a != nil {
			a.unheard = true
		}
	}
	f.fate(func() procedure.Event { return f.answer(e) },
		procedure.Policy{Outcome: procedure.Unknown}, procedure.Policy{Outcome: procedure.NotSent}, back)
}

func (f *pcf) answer(e procedure.AskPolicy) procedure.Event {
	a := f.associations[e.Session.Policy]
	f.w.Note("the PCF is asked, operation %d of session %s, %q", e.Operation, e.Session.Ref(), e.Session.Policy)
	if e.Operation == procedure.CreatePolicy {
		if f.w.faults && f.chance(40) {
			return procedure.Policy{Outcome: procedure.Refused}
		}
		for _, uri := range f.sorted() { // a UE has one of an identity (TS 29.512 4.2.2.2)
			if f.associations[uri].supi == e.Session.SUPI {
				delete(f.associations, uri)
			}
		}
		a = &association{uri: f.uri(), supi: e.Session.SUPI, cpSEID: e.Session.CPSEID, rules: f.someRules(), failed: map[string]bool{}}
		f.associations[a.uri] = a
		return procedure.Policy{Outcome: procedure.Done, URI: a.uri, Ruling: a.ruling()}
	}
	if a == nil {
		return procedure.Policy{Outcome: procedure.Refused, Gone: true}
	}
	if e.Operation == procedure.ReadPolicy {
		r := a.ruling()
		r.Rules = slices.DeleteFunc(r.Rules, func(x record.Rule) bool { return a.failed[x.Name] })
		return procedure.Policy{Outcome: procedure.Done, Ruling: r}
	}
	if e.Operation == procedure.DeletePolicy {
		delete(f.associations, a.uri)
		return procedure.Policy{Outcome: procedure.Done}
	}
	if c := e.Session.Control; c != nil {
		a.lost(c.Failed)
	}
	if r := e.Resource; r != nil && r.Operation == n1.DeleteRule {
		delete(a.rules, r.Rule)
	} else if f.w.faults && f.chance(3) {
		a.decides(f.someRules())
	}
	return procedure.Policy{Outcome: procedure.Done, Ruling: a.ruling()}
}

// decides anew, every now and then, or wants an association to end (TS 29.512 4.2.3, 4.2.4).
func (f *pcf) decides() {
	if !f.w.faults {
		return
	}
	f.w.After(time.Duration(500+f.rand.IntN(5000))*time.Millisecond, f.decides)
	list := f.sorted()
	if len(list) == 0 || f.away {
		return
	}
	a := f.associations[list[f.rand.IntN(len(list))]]
	if f.chance(10) {
		f.tells(a, "policy ends", func(t procedure.Token) procedure.Event { return procedure.PolicyEnded{From: t} })
		return
	}
	a.decides(f.someRules())
	f.notifies(a)
}

func (f *pcf) notifies(a *association) {
	a.decides(a.rules) // said once more, too
	// Said again, it is what holds by then: an answer may have had another decision meanwhile.
	f.tells(a, "policy changes", func(t procedure.Token) procedure.Event { return procedure.PolicyChanged{From: t, Ruling: a.ruling()} })
}

// tells the SMF, until it has an answer, or has something else to say.
func (f *pcf) tells(a *association, what string, event func(procedure.Token) procedure.Event) {
	if a.asking != nil {
		a.asking.done = true
	}
	r := &request{name: what}
	a.asking = r
	r.answered = func(body any) {
		if x, ok := body.(procedure.Accepted); ok {
			a.lost(x.Failed)
		}
		a.asking = nil
	}
	still := func() bool { return f.associations[a.uri] == a }
	if f.once {
		f.w.says(f.w.ueOf(a.supi), r, a.cpSEID, event, still, a.gaveUp)
		return
	}
	f.w.insists(f.w.ueOf(a.supi), r, a.cpSEID, event, still)
}

// says something to a session's holder, until somebody who lives has it: an answer that it cannot be taken now is one, heard or lost, and it is said
// again. gaveUp is told where no answer comes any more: whoever had it has died, or has the shard no more, or what it answered is lost.
func (w *world) says(u *ue, r *request, cpSEID uint64, event func(procedure.Token) procedure.Event, still func() bool, gaveUp func()) {
	if r.done || !still() {
		r.done = true
		return
	}
	token := w.expect(u, r)
	r.lost = nil
	w.Note("%s: %s, session %x, once", u.supi, r.name, cpSEID)
	var has *runner.Runner
	w.toShard(record.ShardOf(cpSEID), func(to *runner.Runner) {
		has = to
		to.DeliverTo(cpSEID, event(token))
	})
	var look func()
	look = func() {
		_, waits := w.waiting[token]
		_, declined := r.lost.(procedure.Failed)
		switch {
		case r.done:
		case has == nil || !waits || declined: // it was not heard, or cannot be taken now
			w.says(u, r, cpSEID, event, still, gaveUp)
		case r.lost == nil && w.holds(has):
			w.After(1500*time.Millisecond, look)
		default:
			w.Note("%s: %s, session %x: nobody answers any more", u.supi, r.name, cpSEID)
			r.done = true
			gaveUp()
		}
	}
	w.After(1500*time.Millisecond, look)
}

// holds says whether the runner is a living one's.
func (w *world) holds(r *runner.Runner) bool {
	for _, p := range w.pods {
		for _, h := range p.held {
			if p.Alive && h.runner == r {
				return true
			}
		}
	}
	return false
}

// insists on an answer of a session's holder, while there is reason to.
func (w *world) insists(u *ue, r *request, cpSEID uint64, event func(procedure.Token) procedure.Event, still func() bool) {
	if r.done || !still() {
		r.done = true
		return
	}
	token := w.expect(u, r)
	w.Note("%s: %s, session %x", u.supi, r.name, cpSEID)
	w.toShard(record.ShardOf(cpSEID), func(to *runner.Runner) {
		if !r.done {
			to.DeliverTo(cpSEID, event(token))
		}
	})
	w.After(1500*time.Millisecond, func() { w.insists(u, r, cpSEID, event, still) })
}

// calm: the PCF says once more what holds, since what it was told last of that may have been lost.
func (f *pcf) calm() {
	if f == nil {
		return
	}
	f.away = false
	if f.once { // what it has decided has to have been heard
		return
	}
	for _, uri := range f.sorted() {
		if a := f.associations[uri]; a.asking == nil {
			f.notifies(a)
		}
	}
}

// kept: a record has that association.
func (f *pcf) kept(s *record.Session) {
	if f != nil && f.associations[s.Policy] != nil {
		f.associations[s.Policy].kept = true
	}
}

// agree: associations and sessions go together, and what was decided is in force.
func (f *pcf) agree(fail func(string, ...any)) {
	if f == nil {
		return
	}
	there := map[string]*record.Session{}
	for _, u := range f.w.ues {
		if rec := f.w.truth(record.Key(u.supi, sessionID)); rec != nil && rec.Policy != "" {
			there[rec.Policy] = rec
		}
	}
	for _, uri := range f.sorted() {
		a := f.associations[uri]
		rec := there[uri]
		switch {
		case a.asking != nil && !a.asking.done:
			fail("%s: the SMF does not answer: %s", a.supi, a.asking.name)
		case rec == nil && a.kept && !a.unheard && f.w.forgotten.IsZero():
			fail("%s: the PCF has %s, and no session has", a.supi, uri)
		case rec == nil:
		default:
			want, has := map[string]bool{}, map[string]bool{}
			for name := range a.rules {
				if !a.failed[name] && !a.unsaid[name] {
					want[name] = true
				}
			}
			for _, r := range rec.Rules {
				has[r.Name] = true
			}
			for name := range a.unsaid { // said again in an answer, it may be in force by now
				delete(has, name)
			}
			if !maps.Equal(want, has) {
				fail("%s: the PCF has decided %v, session %s has the rules %v: %+v", a.supi, want, rec.Ref(), has, rec)
			}
		}
		delete(there, uri)
	}
	for uri, rec := range there {
		if born := fmt.Sprint(f.name, "/", f.life, "/"); len(uri) > len(born) && uri[:len(born)] == born {
			fail("session %s has the association %s, and the PCF has not", rec.Ref(), uri)
		}
	}
}
