package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/record"
)

// links are the pod's connections to N2 terminators, one to each address, made again when they break. What a worker holds it says on each before anything
// else, so that nothing it sends is taken for another's.
//
// A terminator's life ends for its associations, which are then gone, when another life of the same pod is met, when its address refuses connections (the
// process that listened has ended), when the address is nobody's any more for longer than link.SilentFor, or when nothing was heard of it for lostFor: a node
// that is gone. Until one of these it is not known what became of them.
type links struct {
	pod *Pod

	mu    sync.Mutex
	held  map[uint16]link.Holds // shards that are held here
	conns map[*link.Conn]bool   // that have been told so
	lives map[string]*life      // terminators by name
	calls uint64                // of terminators, that were made
	// bereft are gNBs that have lost an association, and when; doubted those of them that may not have heard that their UEs are lost.
	bereft, doubted map[string]time.Time
	// round of looking for terminators, and of echoes; doubts are lives that were not met, and the round in which each came up.
	round  uint64
	doubts map[string]uint64
	// questions that are not answered.
	questions map[*question]bool
	// dialled are the addresses that are dialled, or connected.
	dialled map[string]*address
	// whole is since when each address has told its associations; zero: one has not, or blind: they could not be looked for.
	whole time.Time
	blind bool
	heard bool
	// unresolved: terminators could not be looked for, and it was said. It is run's alone.
	unresolved bool
	// again holds one when terminators are to be looked for at once.
	again chan struct{}
}

// address of a terminator.
type address struct {
	// name of the life that was met there last; "" for none. listed: it is connected, and has told its associations.
	name   string
	listed bool
	// wanted: the resolver has it; else it had it last at missed.
	wanted bool
	missed time.Time
	cancel context.CancelFunc
	// failing: it was said that there is no connection. It is keep's alone.
	failing bool
}

// How often terminators are looked for, and how long one waits before it dials again.
const (
	resolveEvery = time.Second
	dialTime     = 2 * time.Second
	firstWait    = 50 * time.Millisecond
	longestWait  = time.Second
	// lostFor is how long nothing is heard of a terminator before it is taken for dead, with its node.
	lostFor = 30 * time.Second
)

func newLinks(p *Pod) *links {
	return &links{pod: p, held: map[uint16]link.Holds{}, conns: map[*link.Conn]bool{}, lives: map[string]*life{}, doubts: map[string]uint64{}, bereft: map[string]time.Time{}, doubted: map[string]time.Time{}, dialled: map[string]*address{}, questions: map[*question]bool{}, again: make(chan struct{}, 1)}
}

// run until the pod has given up its shards.
func (l *links) run() {
	ctx := l.pod.ctx
	tick := time.NewTicker(resolveEvery)
	defer tick.Stop()
	for {
		l.mu.Lock()
		l.round++
		l.mu.Unlock()
		l.resolve(ctx)
		l.sweep()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-l.again:
		}
	}
}

// resolve where terminators are. What cannot be resolved is where it was.
func (l *links) resolve(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	list, err := l.pod.Terminators(bounded)
	if err != nil {
		l.mu.Lock()
		l.blind = true
		l.count()
		l.mu.Unlock()
		if ctx.Err() == nil {
			l.pod.Log.Log(ctx, once(&l.unresolved), "N2 terminators cannot be looked for", "err", err)
		}
		return
	}
	if l.unresolved {
		l.unresolved = false
		l.pod.Log.Info("N2 terminators can be looked for again")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blind = false
	for at, a := range l.dialled {
		if a.wanted && !slices.Contains(list, at) {
			a.wanted, a.missed = false, time.Now()
		}
	}
	for _, at := range list {
		a := l.dialled[at]
		if a == nil {
			dialling, cancel := context.WithCancel(ctx)
			a = &address{cancel: cancel}
			l.dialled[at] = a
			l.pod.running.Go(func() {
				defer cancel()
				l.keep(dialling, at, a)
			})
		}
		a.wanted = true
	}
	l.count()
}

// count whether each address has told its associations. l.mu is held.
func (l *links) count() {
	all := len(l.dialled) > 0 && !l.blind
	for _, a := range l.dialled {
		all = all && (a.listed || !a.wanted)
	}
	switch {
	case !all:
		l.whole = time.Time{}
	case l.whole.IsZero():
		l.whole = time.Now()
	}
}

// sweep ends lives of which nothing is heard any more, tells the shards of what is known by now, and asks about what is not.
func (l *links) sweep() {
	l.mu.Lock()
	now := time.Now()
	var over []string
	for at, a := range l.dialled {
		if a.wanted || a.listed || now.Sub(a.missed) < link.SilentFor {
			continue
		}
		a.cancel()
		delete(l.dialled, at)
		over = append(over, a.name)
	}
	for name, x := range l.lives {
		if x.conn == nil && !x.gone && now.Sub(x.broke) > lostFor {
			over = append(over, name)
		}
	}
	told := l.endLives(over...)
	l.count()
	told = append(told, l.settle()...)
	l.ask()
	l.mu.Unlock()
	l.tell(told)
}

// tell the shards that World.Association may say otherwise.
func (l *links) tell(names []string) {
	for _, name := range names {
		for _, s := range l.pod.all() {
			s.loop.Post(func() { s.runner.TerminatorHeard(name) })
		}
	}
}

// appeared: those gNBs can be reached, and could not be by these associations.
func (l *links) appeared(list ...*record.GNB) {
	for _, g := range list {
		if g == nil {
			continue
		}
		for _, s := range l.pod.all() {
			s.loop.Post(func() { s.runner.Appeared(g) })
		}
	}
}

// keep a connection to an address.
func (l *links) keep(ctx context.Context, at string, a *address) {
	wait := firstWait
	for ctx.Err() == nil {
		began := time.Now()
		if err := l.connect(ctx, at, a); ctx.Err() == nil {
			l.failed(at, a, err)
		}
		if time.Since(began) > longestWait { // there was one: whether its terminator lives shows at once
			wait = firstWait
			continue
		}
		if !sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, longestWait)
	}
}

// failed: there is no connection to an address.
func (l *links) failed(at string, a *address, err error) {
	l.pod.measures.linkEnds.Inc()
	l.pod.Log.Log(l.pod.ctx, once(&a.failing), "no connection to an N2 terminator", "address", at, "terminator", a.name, "err", err)
	select {
	case l.again <- struct{}{}: // it may be elsewhere by now
	default:
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return
	}
	l.mu.Lock()
	told := l.endLives(a.name)
	l.mu.Unlock()
	l.tell(told)
}

// once is the level of something that is tried again and again: it is worth a warning when it fails first.
func once(said *bool) slog.Level {
	if *said {
		return slog.LevelDebug
	}
	*said = true
	return slog.LevelWarn
}

// connect to a terminator, and serve the connection until it ends.
func (l *links) connect(ctx context.Context, at string, a *address) error {
	called := l.call()
	dialling, cancel := context.WithTimeout(ctx, dialTime)
	conn, err := l.pod.dial(dialling, at)
	cancel()
	if err != nil {
		return err
	}
	connected := l.call()
	c := link.NewConn(conn)
	defer context.AfterFunc(ctx, c.Close)()
	if err := l.greet(c); err != nil {
		c.Close()
		return err
	}
	session := &session{links: l, conn: c, address: a, at: at, called: called, connected: connected}
	err = c.Run(session.take)
	session.end()
	if session.name != "" {
		a.failing = false // there was one
	}
	return err
}

// call is a number that is higher with each call of a terminator, and with each that was taken.
func (l *links) call() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	return l.calls
}

func (p *Pod) dial(ctx context.Context, at string) (net.Conn, error) {
	if p.Dial != nil {
		return p.Dial(ctx, at)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", at)
}

// greet a terminator: who is here, and what is held. What is gained later is said later, on every connection.
func (l *links) greet(c *link.Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := c.Post(&link.Hello{Version: link.Version, Worker: l.pod.Holder, Shards: l.pod.Shards, Resumes: true}); err != nil {
		return err
	}
	for _, held := range l.held {
		if err := c.Post(&held); err != nil {
			return err
		}
	}
	l.conns[c] = true
	return nil
}

// holds: the shard is held here from now on, or will not be for long.
func (l *links) holds(held link.Holds) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[held.Shard] = held
	for c := range l.conns {
		_ = c.Post(&held)
	}
}

// letsGo: it is held here no more.
func (l *links) letsGo(shard uint16, epoch uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, shard)
	for c := range l.conns {
		_ = c.Post(&link.LetsGo{Shard: shard, Epoch: epoch})
	}
}

// post a frame to a terminator. Where there is no connection to it, it is lost.
func (l *links) post(terminator string, f link.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.lives[terminator]; x != nil && x.conn != nil {
		_ = x.conn.Post(f)
	}
}

// heardAny says whether a terminator has ever told its associations.
func (l *links) heardAny() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard
}

// session is a connection, from its Hello to its end.
type session struct {
	links   *links
	conn    *link.Conn
	address *address
	at      string
	name    string // "" before Welcome
	// called and connected are the numbers of its call.
	called, connected uint64
	again             bool // the terminator was met before: associations that it did not have then are new
}

// take a frame.
func (s *session) take(f link.Frame) error {
	l := s.links
	if w, is := f.(*link.Welcome); is || s.name == "" {
		if !is || s.name != "" {
			return fmt.Errorf("%T: Welcome comes first, and once", f)
		}
		return s.welcome(w)
	}
	switch f := f.(type) {
	case *link.Opened:
		return s.opened(f)
	case *link.Node:
		l.mu.Lock()
		g := l.remember(s.name, f)
		l.mu.Unlock()
		l.appeared(g)
	case *link.Ended:
		l.mu.Lock()
		l.bereaved(l.lives[s.name].associations[f.Association])
		delete(l.lives[s.name].associations, f.Association)
		l.mu.Unlock()
		for _, held := range l.pod.all() {
			held.loop.Post(func() { held.runner.Took(s.name, f) })
		}
	case *link.Deliver:
		s.deliver(f.Shard, f)
	case *link.NotSent:
		if f.Shard == link.NoShard {
			s.echo(f.Number)
			return nil
		}
		s.deliver(f.Shard, f)
	default:
		return fmt.Errorf("%T is no frame of a terminator", f)
	}
	return nil
}

// deliver to the holder of a shard. What is for one that is not held here any more its next holder gets.
func (s *session) deliver(shard uint16, f link.Frame) {
	if held := s.links.pod.shard(shard); held != nil {
		held.loop.Post(func() { held.runner.Took(s.name, f) })
	}
}

func (s *session) welcome(w *link.Welcome) error {
	if w.Version != link.Version || w.Terminator == "" {
		return fmt.Errorf("terminator %q speaks version %d of the protocol, this worker version %d", w.Terminator, w.Version, link.Version)
	}
	l := s.links
	l.mu.Lock()
	if l.outlived(w.Terminator, s.connected) {
		told := l.endLives(w.Terminator)
		l.mu.Unlock()
		l.tell(told)
		return errReplaced
	}
	s.name = w.Terminator
	told := l.endLives(l.others(s.name)...)
	if before := s.address.name; before != "" && before != s.name {
		told = append(told, l.endLives(before)...)
	}
	s.address.name = s.name
	x := l.lives[s.name]
	s.again = x != nil || len(l.others(s.name)) > 0
	if x == nil {
		x = &life{}
		l.lives[s.name] = x
	}
	if x.associations == nil {
		x.associations = map[uint64]*n2Association{}
	}
	delete(l.doubts, s.name)
	x.called = max(x.called, s.called)
	x.conn, x.gone, x.listed, x.fresh = s.conn, false, false, map[uint64]*n2Association{}
	l.mu.Unlock()
	l.tell(told)
	l.pod.Log.Info("connected to an N2 terminator", "terminator", s.name, "address", s.at)
	return nil
}

// outlived says of a life of a terminator that it is over: its Welcome was read late, and by a call that was made when it had taken this one another life of its
// pod was met. l.mu is held.
func (l *links) outlived(name string, connected uint64) bool {
	return slices.ContainsFunc(l.others(name), func(other string) bool { return l.lives[other].called > connected })
}

// errReplaced: the terminator's life has ended, or another connection to it is in use.
var errReplaced = errors.New("this connection to the terminator is not the one in use any more")

func (s *session) opened(f *link.Opened) error {
	l := s.links
	l.mu.Lock()
	x := l.lives[s.name]
	switch {
	case x.gone || x.conn != s.conn:
		l.mu.Unlock()
		return errReplaced
	case (f.Listed || f.Last) && x.fresh == nil:
		l.mu.Unlock()
		return fmt.Errorf("association %d is listed behind the list's end", f.Association)
	}
	x.highest = max(x.highest, f.Association)
	switch {
	case f.Last:
		for number, a := range x.associations { // they have ended meanwhile
			if x.fresh[number] == nil {
				l.bereaved(a)
			}
		}
		x.associations, x.fresh, x.listed = x.fresh, nil, true
		s.address.listed, l.heard = true, true
		l.count()
		if l.asked(s.name) {
			l.askFor(s.name)
		}
	case f.Listed:
		a := newAssociation(s.name, f, l.pod.Log)
		switch was := x.associations[f.Association]; {
		case was != nil:
			a.since = was.since
		case f.Ago > 0:
			a.since = time.Now().Add(-time.Duration(f.Ago) * time.Millisecond)
		case s.again:
			a.since = time.Now()
		}
		x.fresh[f.Association] = a
	default:
		a := newAssociation(s.name, f, l.pod.Log)
		a.since = time.Now()
		x.associations[f.Association] = a
	}
	var listed []*record.GNB
	if f.Last {
		for _, a := range x.associations {
			l.align(a)
			listed = append(listed, a.node)
		}
	}
	l.mu.Unlock()
	if f.Last {
		l.tell([]string{s.name})
		l.appeared(listed...)
	}
	return nil
}

// end of the connection: what its terminator has is not known for the moment.
func (s *session) end() {
	l := s.links
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, s.conn)
	s.address.listed = false
	l.count()
	if x := l.lives[s.name]; x != nil && x.conn == s.conn {
		x.conn, x.listed, x.fresh, x.broke = nil, false, nil, time.Now()
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
