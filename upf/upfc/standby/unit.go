package standby

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/fencing"
	"core5g.dev/core5g/upf/upfc/state"
)

// Sessions are those of the unit, at rest.
type Sessions interface {
	Copy(to []store.Entry, first uint32, count int) (entries []store.Entry, next uint32)
	CopyEnded() []store.Entry
}

// Options of both sides.
type Options struct {
	Name    string // of the unit
	Peer    string // address of the other member, where it listens
	TLS     *tls.Config
	Terms   fencing.Terms
	Arbiter Arbiter
	Log     *slog.Logger
	// Of a unit: how many octets of changes may wait to be sent, and how many sessions it may have.
	Waiting  int
	Sessions uint32
}

// MostSessions of a unit that can have a standby.
const MostSessions = 1 << 20

// DefaultWaiting is room for the changes of some seconds.
const DefaultWaiting = 64 << 20

// Unit is a life that serves a unit, or wants to: the mirror of its store, and the stream to a standby.
type Unit struct {
	opt   Options
	life  string
	poke  chan struct{}
	over  chan struct{}
	grant func(fencing.Grant)
	hold  func(syscall.RawConn) error

	mu       sync.Mutex
	fence    *fencing.Unit
	sessions Sessions
	lives    []life
	meta     []byte
	last     uint64 // change
	told     uint64 // the last change that somebody was told of
	stream   *stream
	waiters  []waiter
	courted  string // a standby that is about to be named
	mark     uint64 // once it has this change
	lost     time.Duration
	line     heldLine // that upf-u has, too
	numbers  uint64   // of lines

	handing sync.Mutex // held while a grant is decided and handed on: none of before a hand-over comes behind it

	counts Counts
}

// Counts are what is measured of a unit's stream.
type Counts struct {
	Octets    atomic.Uint64 // sent
	Snapshots atomic.Uint64 // streams that began
	Struck    atomic.Uint64 // how often a standby was given up
	Counters  atomic.Uint64 // how often those of upf-u were sent
}

type life struct {
	number uint8
	boot   uint64
	shm    *dataplane.Shm
}

type waiter struct {
	change uint64
	since  time.Duration
	done   chan struct{}
}

// stream is a connection to a standby, its fields under the unit's lock.
type stream struct {
	conn  net.Conn
	peer  string
	log   [][]byte // frames to be sent
	size  int
	wake  chan struct{}
	acked uint64
	whole bool

	yield   *Frame        // to be sent, behind the counters
	serving chan struct{} // closed when the standby serves
	over    chan struct{} // closed when the stream has ended
}

// NewUnit is a unit that fence decides for. grant hands upf-u what it may do, and does not wait; hold returns when upf-u holds a connection, and
// every later one before it is granted anything.
func NewUnit(opt Options, life string, fence *fencing.Unit, grant func(fencing.Grant), hold func(syscall.RawConn) error) *Unit {
	if opt.Waiting == 0 {
		opt.Waiting = DefaultWaiting
	}
	return &Unit{
		opt: opt, life: life, fence: fence, grant: grant, hold: hold,
		poke: make(chan struct{}, 1), over: make(chan struct{}), lost: -1,
	}
}

// ---- the store's mirror ----------------------------------------------------------------------------------------

// Mirrors says whose changes it is told: before the first one.
func (u *Unit) Mirrors(s Sessions) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sessions = s
}

// Reset implements store.Mirror: whoever has anything of before has to begin anew.
func (u *Unit) Reset() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last++
	u.lives, u.meta = nil, nil
	u.hangUp()
}

// Life implements store.Mirror.
func (u *Unit) Life(number uint8, bootID uint64, shm *dataplane.Shm) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lives = append(u.lives, life{number, bootID, shm})
	if len(u.lives) > memoriesMax {
		u.lives = u.lives[1:]
	}
	if u.stream != nil {
		u.say(u.lives[len(u.lives)-1].frame())
	}
}

func (l *life) frame() *Frame {
	return &Frame{kind: kindLife, Memory: l.number, Boot: l.boot, Slots: l.shm.Slots()}
}

// Session implements store.Mirror.
func (u *Unit) Session(index uint32, life uint8, blob []byte) {
	u.change(&Frame{kind: kindSession, Index: index, Memory: life, Blob: blob})
}

// Deletion implements store.Mirror.
func (u *Unit) Deletion(place int, life uint8, blob []byte) {
	u.change(&Frame{kind: kindDeletion, Index: uint32(place), Memory: life, Blob: blob})
}

// Meta implements store.Mirror.
func (u *Unit) Meta(blob []byte) {
	u.mu.Lock()
	u.meta = slices.Clone(blob)
	u.mu.Unlock()
	u.change(&Frame{kind: kindMeta, Blob: blob})
}

func (u *Unit) change(f *Frame) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last++
	f.Number = u.last
	if u.stream != nil {
		u.say(f)
	}
}

// say puts a frame behind those that wait.
func (u *Unit) say(f *Frame) {
	s := u.stream
	b := f.Append(nil)
	if s.size += len(b); s.size > u.opt.Waiting {
		u.opt.Log.Warn("the standby lags too far behind, and has to begin anew", "standby", s.peer, "octets", s.size)
		u.hangUp()
		return
	}
	s.log = append(s.log, b)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (u *Unit) hangUp() {
	if u.stream != nil {
		_ = u.stream.conn.Close()
		u.stream = nil
		u.fence.Connected("")
		u.courted = ""
		u.lost = Boottime()
	}
}

// ---- what may be told ------------------------------------------------------------------------------------------

// Settle waits until what has been changed so far may be told: until nobody can take over who lacks it, and this life
// serves. False: it never will be, or stop ended the wait.
func (u *Unit) Settle(stop <-chan struct{}) bool {
	u.mu.Lock()
	now := Boottime()
	if u.mayTell(u.last, now) {
		u.told = max(u.told, u.last)
		u.mu.Unlock()
		return true
	}
	w := waiter{u.last, now, make(chan struct{})}
	u.waiters = append(u.waiters, w)
	u.mu.Unlock()
	u.nudge()
	select {
	case <-w.done:
		return true
	case <-u.over:
	case <-stop:
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiters = slices.DeleteFunc(u.waiters, func(o waiter) bool { return o.done == w.done })
	return false
}

func (u *Unit) mayTell(change uint64, now time.Duration) bool {
	if g := u.fence.Grant(now); g.Epoch == 0 || g.Forward {
		return false
	}
	takers := u.fence.Takers()
	if u.courted != "" && !slices.Contains(takers, u.courted) {
		takers = append(takers, u.courted)
	}
	for _, t := range takers {
		if s := u.stream; s == nil || !s.whole || s.peer != t || s.acked < change {
			return false
		}
	}
	return true
}

// release lets those go whose change may be told.
func (u *Unit) release(now time.Duration) {
	n := 0
	for n < len(u.waiters) && u.mayTell(u.waiters[n].change, now) {
		u.told = max(u.told, u.waiters[n].change)
		close(u.waiters[n].done)
		n++
	}
	u.waiters = u.waiters[n:]
}

func (u *Unit) nudge() {
	select {
	case u.poke <- struct{}{}:
	default:
	}
}

// ---- deciding --------------------------------------------------------------------------------------------------

// Claim waits until the unit is this life's to serve. False: another one serves it, or ctx ended.
func (u *Unit) Claim(ctx context.Context) bool {
	for ctx.Err() == nil {
		u.step(ctx)
		u.mu.Lock()
		granted, over := u.fence.Grant(Boottime()).Epoch != 0, u.fence.Over()
		u.mu.Unlock()
		if granted || over {
			return granted
		}
		u.await(ctx)
	}
	return false
}

func (u *Unit) await(ctx context.Context) {
	t := time.NewTimer(u.opt.Terms.Beat)
	defer t.Stop()
	select {
	case <-t.C:
	case <-u.poke:
	case <-ctx.Done():
	}
}

// Run keeps the unit's grants and its stream until ctx ends, or another life serves the unit: then it is an error.
func (u *Unit) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	defer func() {
		u.mu.Lock()
		u.hangUp()
		u.mu.Unlock()
		cancel()
	}()
	work.Go(func() { u.keepStream(ctx) })
	for ctx.Err() == nil {
		u.step(ctx)
		u.mu.Lock()
		over := u.fence.Over()
		u.mu.Unlock()
		if over {
			close(u.over)
			u.grant(fencing.Grant{})
			return ErrOver
		}
		u.await(ctx)
	}
	return nil
}

// ErrOver: another life serves the unit.
var ErrOver = errors.New("another member serves the unit now")

// step does what is due.
func (u *Unit) step(ctx context.Context) {
	u.handing.Lock()
	defer u.handing.Unlock()
	u.mu.Lock()
	now := Boottime()
	u.name(now)
	asks := u.fence.Tick(now)
	if asks.Beat != 0 && u.stream != nil {
		u.say(&Frame{kind: kindBeat, Number: asks.Beat})
	}
	u.release(now)
	g := u.fence.Grant(now)
	u.mu.Unlock()
	if asks.Read {
		go u.read(ctx)
	}
	if asks.Write != nil {
		go u.write(ctx, *asks.Write)
	}
	u.grant(g)
}

// name decides whom the record is to name.
func (u *Unit) name(now time.Duration) {
	if u.fence.Yielded() {
		return
	}
	s := u.stream
	late := len(u.waiters) > 0 && now-u.waiters[0].since > u.opt.Terms.Bound && u.fence.Grant(now).Epoch != 0
	switch {
	case s == nil || late:
		if now-u.lost > u.opt.Terms.Bound || late {
			if u.courted != "" || u.fence.Named() != "" {
				u.opt.Log.Warn("the unit goes on without a standby", "named", u.fence.Named(), "late", late)
				u.counts.Struck.Add(1)
			}
			u.courted = ""
			u.fence.Name("")
		}
	case s.whole && u.courted == "" && u.fence.Named() != s.peer && len(u.waiters) == 0:
		u.courted, u.mark = s.peer, u.told // from now on nobody is told what it lacks
	case u.courted != "" && s.acked >= u.mark:
		u.fence.Name(u.courted)
		if u.fence.Named() == u.courted {
			u.opt.Log.Info("the standby is in sync", "standby", u.courted)
			u.courted = ""
		}
	}
}

func (u *Unit) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	seen, err := u.opt.Arbiter.Read(ctx)
	if err != nil && ctx.Err() == nil {
		u.opt.Log.Debug("the arbiter does not answer", "err", err)
	}
	u.mu.Lock()
	u.fence.Read(Boottime(), seen, err == nil)
	u.mu.Unlock()
	u.nudge()
}

func (u *Unit) write(ctx context.Context, w fencing.Write) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	outcome, version, err := u.opt.Arbiter.Write(ctx, w)
	if err != nil {
		u.opt.Log.Warn("nobody knows whether the arbiter has renewed the unit's record", "err", err)
	}
	u.mu.Lock()
	u.fence.Written(Boottime(), outcome, version)
	u.mu.Unlock()
	u.nudge()
}

// ---- handing over ----------------------------------------------------------------------------------------------

// ErrAlone: nobody may take the unit over.
var ErrAlone = errors.New("no standby may take the unit over")

// underWay is how long packets may be under way to a unit that has handed over: its standby says three times, a tenth of a second apart, where
// the addresses are now.
const underWay = 300 * time.Millisecond

// HandOver has the standby take the unit over while this life forwards what comes, so that no packet is lost, and returns when nothing comes
// any more. upf-u is silent then, and this life is to end. forward has upf-u do no more than fencing.Grant says when it returns. After an
// error this life is to end, too: if it answers no more, its standby may take over when both processes are gone.
func (u *Unit) HandOver(ctx context.Context, forward func(fencing.Grant) error) error {
	ctx, cancel := context.WithTimeout(ctx, u.opt.Terms.HandOver)
	defer cancel()
	s, err := u.yield(ctx, forward)
	if err != nil {
		return err
	}
	began := time.Now()
	select {
	case <-s.serving:
	case <-s.over:
		return errors.New("the stream to the standby has ended before that served")
	case <-ctx.Done():
		return errors.New("the standby does not serve in time")
	}
	u.opt.Log.Info("the unit is handed over", "standby", s.peer, "took", time.Since(began))
	pause(ctx, s, underWay)
	u.handing.Lock()
	defer u.handing.Unlock()
	u.mu.Lock()
	u.fence.Leave()
	sent := u.counts.Counters.Load()
	u.mu.Unlock()
	if err := forward(fencing.Grant{}); err != nil {
		return err
	}
	for u.counts.Counters.Load() < sent+2 && pause(ctx, s, countEvery/10) { // what was counted last
	}
	return nil
}

// pause waits; false when the stream or ctx has ended.
func pause(ctx context.Context, s *stream, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.over:
	case <-ctx.Done():
	}
	return false
}

// yield ends this life's answers, and says so to the standby.
func (u *Unit) yield(ctx context.Context, forward func(fencing.Grant) error) (*stream, error) {
	for range int(u.opt.Terms.Bound / handOverPoll) { // who knows the record as it is takes over by one change of it
		u.mu.Lock()
		calm := u.fence.Calm()
		u.mu.Unlock()
		if calm {
			break
		}
		t := time.NewTimer(handOverPoll)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		}
	}
	u.handing.Lock()
	defer u.handing.Unlock()
	u.mu.Lock()
	s, now := u.stream, Boottime()
	if s == nil || !s.whole {
		u.mu.Unlock()
		return nil, ErrAlone
	}
	seen, ok := u.fence.Yield(now)
	g := u.fence.Grant(now)
	_ = s.conn.SetReadDeadline(time.Now().Add(u.opt.Terms.HandOver))
	u.mu.Unlock()
	if !ok {
		return nil, ErrAlone
	}
	if err := forward(g); err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stream != s {
		return nil, errors.New("the stream to the standby has ended")
	}
	s.yield = &Frame{kind: kindYield, Text: string(seen.Version), Epoch: seen.Epoch, Life: seen.Holder, Name: seen.Standby, Number: seen.Renewed}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return s, nil
}

// handOverPoll is how often it is looked whether the arbiter has answered.
const handOverPoll = 5 * time.Millisecond

// ---- the stream ------------------------------------------------------------------------------------------------

// redial is how often a standby is looked for.
const redial = 200 * time.Millisecond

// silence is how long a peer may say nothing.
const silence = 2 * time.Second

func (u *Unit) keepStream(ctx context.Context) {
	reported := false
	for ctx.Err() == nil {
		err := u.streamOnce(ctx)
		if err != nil && ctx.Err() == nil && !reported {
			u.opt.Log.Warn("no standby", "peer", u.opt.Peer, "err", err)
		}
		reported = err != nil
		select {
		case <-ctx.Done():
		case <-time.After(redial):
		}
	}
}

// dial connects, says hello, and hears who is there.
func (u *Unit) dial(ctx context.Context, line uint64) (raw *net.TCPConn, conn *tls.Conn, peer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	d := net.Dialer{KeepAlive: -1}
	nc, err := d.DialContext(ctx, "tcp", u.opt.Peer)
	if err != nil {
		return nil, nil, "", err
	}
	raw = nc.(*net.TCPConn)
	conn = tls.Client(raw, u.opt.TLS)
	fail := func(err error) (*net.TCPConn, *tls.Conn, string, error) {
		_ = raw.Close()
		return nil, nil, "", err
	}
	if err := conn.HandshakeContext(ctx); err != nil {
		return fail(err)
	}
	u.mu.Lock()
	epoch := u.fence.Grant(Boottime()).Epoch
	u.mu.Unlock()
	hello := Frame{kind: kindHello, Version: Version, Blobs: state.Version, Name: u.opt.Name, Life: u.life, Epoch: epoch, Sessions: u.opt.Sessions, Line: line}
	_ = conn.SetDeadline(time.Now().Add(silence))
	if _, err := conn.Write(hello.Append(nil)); err != nil {
		return fail(err)
	}
	f, err := (&frames{r: conn}).next()
	if err != nil {
		return fail(err)
	}
	_ = conn.SetDeadline(time.Time{})
	switch {
	case f.kind == kindRefused:
		return fail(errors.New(f.Text))
	case f.kind != kindWelcome || f.Version != Version:
		return fail(fmt.Errorf("the standby answered with kind %d, version %d", f.kind, f.Version))
	}
	return raw, conn, f.Life, nil
}

func (u *Unit) streamOnce(ctx context.Context) error {
	u.mu.Lock()
	ready := u.sessions != nil && len(u.lives) > 0 && u.fence.Grant(Boottime()).Epoch != 0 && !u.fence.Yielded()
	u.mu.Unlock()
	if !ready {
		return nil
	}
	_, conn, peer, err := u.dial(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	number, err := u.lineTo(ctx, peer)
	if err != nil {
		return fmt.Errorf("the line: %w", err)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	s := &stream{conn: conn, peer: peer, wake: make(chan struct{}, 1), serving: make(chan struct{}), over: make(chan struct{})}
	defer close(s.over)
	u.mu.Lock()
	u.hangUp()
	u.stream, u.lost = s, -1
	first := u.last
	u.fence.Connected(peer)
	u.say(&Frame{kind: kindLine, Number: number})
	u.mu.Unlock()
	u.counts.Snapshots.Add(1)
	var hears sync.WaitGroup
	hears.Go(func() {
		u.hear(s, conn)
		cancel()
	})
	err = u.send(ctx, s, first)
	u.mu.Lock()
	if u.stream == s {
		u.hangUp()
	}
	u.mu.Unlock()
	_ = conn.Close()
	hears.Wait()
	u.nudge()
	return err
}

// heldLine is a connection that ends when both processes have. It is never closed in TLS: upf-u would not be asked.
type heldLine struct {
	conn   *net.TCPConn
	peer   string
	number uint64
	broken chan struct{} // closed when the other side has ended it
}

// lineTo is the number of the line to a life of the standby, which upf-u holds, too. There is one for its whole life.
func (u *Unit) lineTo(ctx context.Context, peer string) (uint64, error) {
	if l := &u.line; l.conn != nil && l.peer == peer {
		select {
		case <-l.broken:
		default:
			return l.number, nil
		}
	}
	u.numbers++
	raw, conn, at, err := u.dial(ctx, u.numbers)
	if err != nil {
		return 0, err
	}
	next := heldLine{raw, at, u.numbers, make(chan struct{})}
	control, err := raw.SyscallConn()
	if err == nil && at != peer {
		err = fmt.Errorf("%s answers, the stream leads to %s", at, peer)
	}
	if err == nil {
		err = u.hold(control)
	}
	if err != nil {
		_ = raw.Close()
		return 0, err
	}
	go func() { // nothing comes; and nothing may lie unread, or its end would not be an orderly one
		_, _ = conn.Read(make([]byte, 1))
		close(next.broken)
	}()
	if u.line.conn != nil {
		_ = u.line.conn.Close() // it led to a life that is gone, or was broken
	}
	u.line = next
	return next.number, nil
}

// hear takes what the standby says.
func (u *Unit) hear(s *stream, conn net.Conn) {
	r := &frames{r: bufio.NewReader(conn)}
	for {
		u.mu.Lock()
		if !u.fence.Yielded() { // then it takes as long as it may
			_ = conn.SetReadDeadline(time.Now().Add(silence))
		}
		u.mu.Unlock()
		f, err := r.next()
		if err != nil {
			return
		}
		u.mu.Lock()
		if u.stream != s {
			u.mu.Unlock()
			return
		}
		switch f.kind {
		case kindServing:
			select {
			case <-s.serving:
			default:
				close(s.serving)
			}
		case kindAcknowledged:
			s.acked, s.whole = max(s.acked, f.Number), true
			u.release(Boottime())
		case kindBeatHeard:
			u.fence.Acknowledged(f.Number)
		default:
			u.hangUp()
		}
		name := u.courted != "" || u.fence.Named() != s.peer
		u.mu.Unlock()
		if name {
			u.nudge()
		}
	}
}

// copied is how many sessions are copied under the store's lock at once.
const copied = 256

// send sends all that there is, and then what comes.
func (u *Unit) send(ctx context.Context, s *stream, first uint64) error {
	w := &counted{w: s.conn, n: &u.counts.Octets}
	out := bufio.NewWriterSize(w, 256<<10)
	put := func(f *Frame) error {
		_, err := out.Write(f.Append(nil))
		return err
	}
	u.mu.Lock()
	lives, meta := slices.Clone(u.lives), u.meta
	u.mu.Unlock()
	mirrors := map[uint8]*mirror{}
	for i := range lives {
		if err := put(lives[i].frame()); err != nil {
			return err
		}
	}
	if err := put(&Frame{kind: kindMeta, Number: first, Blob: meta}); err != nil {
		return err
	}
	for _, e := range u.sessions.CopyEnded() {
		if err := put(&Frame{kind: kindDeletion, Number: first, Index: e.Index, Memory: e.Life, Blob: e.Blob}); err != nil {
			return err
		}
	}
	var entries []store.Entry
	for next := uint32(0); ; {
		entries, next = u.sessions.Copy(entries[:0], next, copied)
		for _, e := range entries {
			if err := put(&Frame{kind: kindSession, Number: first, Index: e.Index, Memory: e.Life, Blob: e.Blob}); err != nil {
				return err
			}
		}
		if next == 0 {
			break
		}
	}
	if err := u.sendCounts(put, mirrors); err != nil {
		return err
	}
	if err := put(&Frame{kind: kindWhole, Number: first}); err != nil {
		return err
	}
	counters := time.NewTicker(countEvery)
	defer counters.Stop()
	for {
		if err := out.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("the standby has hung up, or says nothing")
		case <-s.wake:
		case <-counters.C:
			if err := u.sendCounts(put, mirrors); err != nil {
				return err
			}
			u.counts.Counters.Add(1)
		}
		u.mu.Lock()
		log, yield := s.log, s.yield
		s.log, s.size, s.yield = nil, 0, nil
		u.mu.Unlock()
		_ = s.conn.SetWriteDeadline(time.Now().Add(silence))
		for _, b := range log {
			if _, err := out.Write(b); err != nil {
				return err
			}
		}
		if yield != nil {
			if err := u.sendCounts(put, mirrors); err != nil {
				return err
			}
			if err := put(yield); err != nil {
				return err
			}
		}
	}
}

// counted counts what is written.
type counted struct {
	w net.Conn
	n *atomic.Uint64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n.Add(uint64(n))
	return n, err
}

// countEvery is how often upf-u's counters are sent.
const countEvery = 100 * time.Millisecond

// countsMax is how many go into a frame.
const countsMax = 16 << 10

// mirror is what a standby has of a upf-u's counters.
type mirror struct{ sent []dataplane.SlotCount }

// sendCounts sends the slots that have changed.
func (u *Unit) sendCounts(put func(*Frame) error, mirrors map[uint8]*mirror) error {
	u.mu.Lock()
	lives := slices.Clone(u.lives)
	u.mu.Unlock()
	for _, l := range lives {
		m := mirrors[l.number]
		if m == nil {
			m = &mirror{sent: make([]dataplane.SlotCount, l.shm.Slots())}
			mirrors[l.number] = m
		}
		f := &Frame{kind: kindCounters, Memory: l.number, At: l.shm.Milliseconds()}
		for slot := range m.sent {
			now := l.shm.Count(uint32(slot))
			if same(&now, &m.sent[slot]) {
				continue
			}
			m.sent[slot] = now
			if f.Counts = append(f.Counts, countOf(uint32(slot), now)); len(f.Counts) == countsMax {
				if err := put(f); err != nil {
					return err
				}
				f.Counts = nil
			}
		}
		if err := put(f); err != nil {
			return err
		}
	}
	return nil
}

// same says whether nothing has changed that matters: upf-u's own word of a counter does not.
func same(a, b *dataplane.SlotCount) bool {
	for d := range a.Dir {
		a.Dir[d].LookAt = 0
	}
	return *a == *b
}

// Status is what is known of a unit's redundancy.
type Status struct {
	Epoch   uint64 // 0: it is silent
	Standby string // the one that may take over and has all; empty: none, the unit is not redundant
	Peer    string // whom the stream leads to
	Behind  uint64 // changes that the peer has not acknowledged
}

// Status is how things are now.
func (u *Unit) Status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := Status{Epoch: u.fence.Grant(Boottime()).Epoch, Standby: u.fence.Named()}
	if u.stream != nil {
		s.Peer, s.Behind = u.stream.peer, u.last-u.stream.acked
	}
	if s.Standby != s.Peer {
		s.Standby = ""
	}
	return s
}

// Standby is the same for who knows nothing of this package.
func (u *Unit) Standby() (epoch uint64, inSync bool, behind, octets, snapshots, struck uint64) {
	s := u.Status()
	return s.Epoch, s.Standby != "", s.Behind, u.counts.Octets.Load(), u.counts.Snapshots.Load(), u.counts.Struck.Load()
}

// Counts are what was measured so far.
func (u *Unit) Counts() *Counts { return &u.counts }
