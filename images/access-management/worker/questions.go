package worker

import (
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/record"
)

// A gNB that has lost its terminator may be at another one before this pod has missed the first: the connection to that is broken and nobody knows yet
// whether the terminator lives, or it looks well. What becomes of the gNB's UEs hangs on whether its association is gone, so it is asked: an echo says that the
// terminator lives, and that what it has said before was all there was to say.

// An echo says, too, that its terminator has taken all that was posted to it before. Who gives a shard up waits for that: what comes behind the next holder's Holds,
// by another connection, is sent no more.

// question to terminators, whether they live or have taken what was posted.
type question struct {
	// lives of terminators that have not answered, and the round from which on an echo does.
	lives map[string]uint64
	then  func()
	timer *time.Timer
}

// sureFor is how long an answer is waited for. One that comes later changes nothing: who has not answered is taken for one that is there.
const sureFor = time.Second

// sure says whether it is known of each association of a gNB whether it is there, but for those of the terminator at, which has said that itself. Else it calls
// then as soon as it is, or when nobody has said it in time.
func (l *links) sure(gnb, at string, then func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := &question{lives: map[string]uint64{}, then: then}
	for name, x := range l.lives {
		if name != at && !x.gone && x.has(gnb) {
			q.lives[name] = l.round + 1
		}
	}
	return l.question(q)
}

// taken calls then as soon as each terminator that there is a connection to has taken what was posted to it before, or when one has not in time. It says whether there
// is none, and does not call it then.
func (l *links) taken(then func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := &question{lives: map[string]uint64{}, then: then}
	for name, x := range l.lives {
		if x.conn != nil {
			q.lives[name] = l.round + 1
		}
	}
	return l.question(q)
}

// question those of whom something is to be known; true: nobody is. l.mu is held.
func (l *links) question(q *question) bool {
	if len(q.lives) == 0 {
		return true
	}
	l.round++
	for name := range q.lives {
		l.askFor(name)
	}
	l.questions[q] = true
	q.timer = time.AfterFunc(sureFor, func() {
		l.mu.Lock()
		waits := l.questions[q]
		delete(l.questions, q)
		l.mu.Unlock()
		if waits {
			q.then()
		}
	})
	return false
}

// has says whether a gNB has an association there, as far as that is known.
func (x *life) has(gnb string) bool {
	return slices.ContainsFunc([]map[uint64]*n2Association{x.associations, x.fresh}, func(list map[uint64]*n2Association) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(list)), func(a *n2Association) bool { return a.node != nil && a.node.Key() == gnb })
	})
}

// askFor an echo of a terminator's life, if it is connected. l.mu is held.
func (l *links) askFor(name string) {
	if x := l.lives[name]; x != nil && x.conn != nil {
		_ = x.conn.Post(&link.Send{Number: l.round, Shard: link.NoShard})
	}
}

// said is what is known of a terminator's life by now: questions that it was the last to answer are. Who has asked hears that before anything else
// that is to be told. l.mu is held.
func (l *links) said(name string) {
	x := l.lives[name]
	for q := range l.questions {
		round, is := q.lives[name]
		if !is || x != nil && !x.gone && x.answered < round {
			continue
		}
		if delete(q.lives, name); len(q.lives) > 0 {
			continue
		}
		delete(l.questions, q)
		q.timer.Stop()
		q.then()
	}
}

// asked says whether somebody waits for an answer of a terminator's life. l.mu is held.
func (l *links) asked(name string) bool {
	for q := range l.questions {
		if _, is := q.lives[name]; is {
			return true
		}
	}
	return false
}

// Sure implements runner.World.
func (s *Shard) Sure(gnb string, at record.Attachment, then func()) {
	if s.pod.links.sure(gnb, at.Terminator, func() { s.loop.Post(then) }) {
		then()
	}
}

// Taken implements runner.World.
func (s *Shard) Taken(then func()) {
	if s.pod.links.taken(func() { s.loop.Post(then) }) {
		then()
	}
}
