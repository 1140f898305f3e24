package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/fencing"
	"core5g.dev/core5g/upf/upfc/nat"
	"core5g.dev/core5g/upf/upfc/standby"
	"core5g.dev/core5g/upf/upfc/standby/standbytest"
	"core5g.dev/core5g/upf/upfc/usage"
)

// quick are terms for one process, on a machine that may be busy with other tests.
func quick() fencing.Terms {
	return fencing.Terms{
		Grant: 2 * time.Second, Wait: 2300 * time.Millisecond, Renew: 300 * time.Millisecond,
		Beat: 20 * time.Millisecond, Read: 50 * time.Millisecond, Bound: time.Second,
		HandOver: fakesmf.Patience,
	}
}

// cuttable is an arbiter that one member can lose.
type cuttable struct {
	standby.Arbiter
	mu  sync.Mutex
	cut bool
}

func (c *cuttable) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return errors.New("cut")
	}
	return nil
}

func (c *cuttable) Read(ctx context.Context) (fencing.Seen, error) {
	if err := c.lost(); err != nil {
		return fencing.Seen{}, err
	}
	return c.Arbiter.Read(ctx)
}

func (c *cuttable) Write(ctx context.Context, w fencing.Write) (fencing.Outcome, fencing.Version, error) {
	if err := c.lost(); err != nil {
		return fencing.Unknown, "", err
	}
	return c.Arbiter.Write(ctx, w)
}

func (c *cuttable) setCut(cut bool) { c.mu.Lock(); c.cut = cut; c.mu.Unlock() }

// wire is where the unit reaches its standby; it can be cut, so that nothing passes any more and nobody is told.
type wire struct {
	net.Listener
	to  string
	mu  sync.Mutex
	cut bool
}

func newWire(t *testing.T, to string) *wire {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, to: to}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			a, err := l.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", to)
			if err != nil {
				_ = a.Close()
				continue
			}
			go w.pass(a, b)
			go w.pass(b, a)
		}
	}()
	return w
}

func (w *wire) pass(from, to net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		cut := w.cut
		w.mu.Unlock()
		if cut {
			return // what was open stays so
		}
		if err != nil {
			_ = to.Close()
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (w *wire) setCut(cut bool) { w.mu.Lock(); w.cut = cut; w.mu.Unlock() }

// pair is a unit with its standby, in one process.
type pair struct {
	t       *testing.T
	opt     standby.Options
	shared  *standby.Memory
	arbiter [2]*cuttable
	wire    *wire
	unit    *standby.Unit
	unitErr chan error
	upfu    [2]*fakeupfu.UPFU
	agent   [2]*agent.Agent
	stop    [2]func()
	holder  *standby.Holder
	ahead   chan *agent.Ahead // of the standby's upf-u, when StandBy has ended
	filled  func()            // ends StandBy
	taken   chan *fencing.Unit
	file    [2]string
	socket  [2]string
	smf     *fakesmf.SMF
	// networks of both upf-us; none: they say nothing of them.
	networks []fakeupfu.Network
}

func newPair(t *testing.T, networks ...fakeupfu.Network) *pair {
	t.Helper()
	var out io.Writer = io.Discard
	if os.Getenv("UPFC_TEST_LOG") != "" {
		out = os.Stderr
	}
	certificate, key, authority := standbytest.Certificates(t, "upf.test")
	tls, err := standby.Credentials("upf.test", certificate, key, authority)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, networks: networks, shared: &standby.Memory{}, taken: make(chan *fencing.Unit, 1), ahead: make(chan *agent.Ahead, 1), unitErr: make(chan error, 2)}
	p.opt = standby.Options{Name: "upf", TLS: tls, Terms: quick(), Log: slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})), Sessions: 65536}
	if err := p.opt.Terms.Check(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range p.arbiter {
		p.arbiter[i] = &cuttable{Arbiter: p.shared}
		p.socket[i] = filepath.Join(dir, fmt.Sprintf("upf%d.sock", i))
		p.file[i] = p.socket[i] + ".state"
	}
	p.hold()
	p.serve(0, "a/1", fencing.NewUnit(p.opt.Terms, "a/1", false), nil)
	return p
}

// hold begins the standby.
func (p *pair) hold() {
	p.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.wire = newWire(p.t, l.Addr().String())
	opt := p.opt
	opt.Arbiter = p.arbiter[1]
	p.holder = standby.NewHolder(opt, "b/1")
	p.startUPFU(1)
	ctx, cancel := context.WithCancel(context.Background())
	filling, filled := context.WithCancel(ctx)
	p.filled = filled
	p.agent[1] = agent.New((&lab{t: p.t, socket: p.socket[1]}).config(), p.opt.Log, nowhere{})
	go func() { p.ahead <- p.agent[1].StandBy(filling, p.holder) }()
	done := make(chan struct{})
	p.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		u, err := p.holder.Hold(ctx, l)
		if err != nil && ctx.Err() == nil {
			p.t.Error(err)
		}
		p.taken <- u
	}()
}

func (p *pair) startUPFU(i int) {
	p.t.Helper()
	upfu, err := fakeupfu.StartOf(p.socket[i], p.networks...)
	if err != nil {
		p.t.Fatal(err)
	}
	p.upfu[i] = upfu
	p.t.Cleanup(upfu.Kill)
}

// The standby goes on with the blocks of NAT44.
func TestTakeoverKeepsNAT44Blocks(t *testing.T) {
	p := newPair(t, natOf(1024, "203.0.113.0/30")...)
	p.smf = fakesmf.New(t, p.agent[0].Addr())
	p.smf.Associate()
	for i := range 10 {
		u := ue(i)
		u.NetworkInstance = "ims"
		p.smf.Established(uint64(100+i), u.Session()...)
	}
	want := rulesOf(p.upfu[0].Sessions())
	for _, s := range want {
		if !s.NAT.IsValid() {
			t.Fatal("a session has no block")
		}
	}
	p.await("the standby's upf-u has them", func() bool { return cmp.Equal(rulesOf(p.upfu[1].Sessions()), want) })
	p.takeOver(p.yield())
	if diff := cmp.Diff(want, rulesOf(p.upfu[1].Sessions())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := p.agent[1].Tables()[2]; got.Used != 10 {
		t.Errorf("%d blocks are used after the takeover, want 10", got.Used)
	}
	// Whoever comes then has another one.
	u := ue(10)
	u.NetworkInstance = "ims"
	p.smf.To = p.agent[1].Addr()
	p.smf.Established(200, u.Session()...)
	blocks := map[nat.Block]bool{}
	for _, s := range p.upfu[1].Sessions() {
		blocks[s.NAT] = true
	}
	if len(blocks) != 11 {
		t.Errorf("%d blocks of 11 sessions", len(blocks))
	}
}

// takeOver has the standby serve, whose upf-u was filled ahead.
func (p *pair) takeOver(fence *fencing.Unit) {
	p.t.Helper()
	p.serve(1, "b/1", fence, p.finish())
}

// finish fills the standby's upf-u with what it lacks.
func (p *pair) finish() *agent.Takeover {
	p.t.Helper()
	p.filled()
	t := &agent.Takeover{Leave: func() error { return p.holder.Leave(p.file[1]) }}
	if t.Ahead = <-p.ahead; t.Ahead == nil {
		p.t.Fatal("the standby has no upf-u")
	}
	if err := t.Ahead.Finish(p.holder); err != nil {
		p.t.Fatal(err)
	}
	return t
}

// serve begins an agent of the unit.
func (p *pair) serve(i int, life string, fence *fencing.Unit, takeover *agent.Takeover) {
	p.t.Helper()
	if p.agent[i] == nil {
		p.startUPFU(i)
		p.agent[i] = agent.New((&lab{t: p.t, socket: p.socket[i]}).config(), p.opt.Log, nowhere{})
	}
	a := p.agent[i]
	opt := p.opt
	opt.Arbiter, opt.Peer = p.arbiter[i], p.wire.Addr().String()
	u := standby.NewUnit(opt, life, fence, func(g fencing.Grant) {
		switch {
		case g.Epoch == 0:
			a.Link().Grant(0, 0)
		case g.Always:
			a.Link().Grant(g.Epoch, dataplane.GrantAlways)
		default:
			a.Link().Grant(g.Epoch, g.Until)
		}
	}, a.Link().HoldLine)
	a.BeRedundant(u, takeover)
	u.Mirrors(a.Stored())
	p.unit = u
	ctx, cancel := context.WithCancel(context.Background())
	if takeover == nil && !u.Claim(ctx) {
		p.t.Fatal("the unit is not granted")
	}
	var work sync.WaitGroup
	work.Go(func() {
		if err := a.Run(ctx); err != nil {
			p.t.Error(err)
		}
	})
	work.Go(func() { p.unitErr <- u.Run(ctx) })
	p.stop[i] = sync.OnceFunc(func() { cancel(); work.Wait() })
	p.t.Cleanup(p.stop[i])
	a.Addr()
}

func (p *pair) await(what string, cond func() bool) {
	p.t.Helper()
	for end := time.Now().Add(fakesmf.Patience); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("not within 20 s: %s; the unit is %+v", what, p.unit.Status())
		}
	}
}

func (p *pair) inSync() bool { return p.unit.Status().Standby == "b/1" }

// lacks says how many sessions the standby holds, if not so many, and is in sync: one that is struck out on a busy machine begins anew.
func (p *pair) lacks(want int) (held int, lacks bool) {
	streams := p.unit.Counts().Snapshots.Load()
	held = p.held()
	return held, held != want && p.inSync() && p.unit.Counts().Snapshots.Load() == streams
}

func (p *pair) held() int {
	_, n, _ := p.holder.Held()
	return n
}

func ue(i int) fakesmf.UE {
	return fakesmf.UE{TEID: uint32(1 + i), N3: "172.30.3.16", Addr: netip.AddrFrom4([4]byte{10, 45, byte(i >> 8), byte(i)}).String()}
}

// silent: upf-u does not answer at its addresses now.
func (p *pair) silent(i int) bool {
	g := p.upfu[i].Granted()
	return g.UntilNs == 0 || g.UntilNs != abi.GrantAlways && time.Duration(g.UntilNs) <= standby.Boottime()
}

func TestStandby(t *testing.T) {
	p := newPair(t)
	p.smf = fakesmf.New(t, p.agent[0].Addr())
	p.smf.Associate()
	seids := []uint64{}
	for i := range 20 { // partly before there is a standby in sync
		seids = append(seids, p.smf.Established(uint64(100+i), ue(i).Session()...))
	}
	p.await("the standby is in sync", p.inSync)
	if held, lacks := p.lacks(len(seids)); lacks {
		t.Errorf("%d sessions are held, want %d", held, len(seids))
	}

	if s := p.agent[0].Status().Standby; s == nil || !s.InSync || s.Epoch != 1 || s.Snapshots == 0 || s.Octets == 0 {
		t.Errorf("the agent says %+v", s)
	}

	t.Run("what is answered is held", func(t *testing.T) {
		for i := 20; i < 60; i++ {
			seids = append(seids, p.smf.Established(uint64(100+i), ue(i).Session()...))
			if held, lacks := p.lacks(len(seids)); lacks {
				t.Fatalf("%d sessions are answered, %d held", len(seids), held)
			}
		}
		fakesmf.WantCause(t, p.smf.Delete(seids[59]).Cause, ie.CauseRequestAccepted)
		seids = seids[:59]
		if held, lacks := p.lacks(len(seids)); lacks {
			t.Errorf("%d sessions are held after a deletion, want %d", held, len(seids))
		}
	})

	t.Run("the arbiter's loss alone neither silences nor switches", func(t *testing.T) {
		cut := func(cut bool) { p.arbiter[0].setCut(cut); p.arbiter[1].setCut(cut) }
		defer cut(false)
		// On a busy machine the standby may be lost, too, or answer later than the grants last: then it is silent, as it has to be.
		const most = 5
		for attempt, forwards := 1, false; !forwards; attempt++ {
			cut(false)
			p.await("the standby is in sync, and upf-u granted", func() bool { return p.inSync() && !p.silent(0) })
			cut(true)
			forwards = true
			for end := time.Now().Add(2 * quick().Wait); forwards && time.Now().Before(end); time.Sleep(time.Millisecond) {
				forwards = !p.silent(0)
			}
			if !forwards && attempt == most {
				t.Fatalf("the unit is silent, %d times in a row", most)
			}
		}
		if seen, _ := p.shared.Read(context.Background()); seen.Holder != "a/1" {
			t.Errorf("the record's holder is %s", seen.Holder)
		}
		fakesmf.WantCause(t, p.smf.Modify(seids[0], ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0))).Cause, ie.CauseRequestAccepted)
	})

	t.Run("without the standby N4 goes on, and says so", func(t *testing.T) {
		p.await("the standby is in sync", p.inSync)
		p.wire.setCut(true)
		fakesmf.WantCause(t, p.smf.Modify(seids[0], ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0))).Cause, ie.CauseRequestAccepted)
		if s := p.unit.Status(); s.Standby != "" {
			t.Errorf("it was answered, and the standby counts as in sync: %+v", s)
		}
		p.await("the unit is not silent", func() bool { return !p.silent(0) })
		p.wire.setCut(false)
		p.await("the standby is in sync again", p.inSync)
	})

	t.Run("a takeover", func(t *testing.T) {
		stamp := p.smf.Heartbeat()
		index := uint32(0)
		for i := range p.upfu[0].Sessions() {
			index = i
			break
		}
		slot := p.upfu[0].Sessions()[index].URRs[0].Slot
		if err := p.upfu[0].Count(slot, abi.Ul, 4711, 3); err != nil {
			t.Fatal(err)
		}
		// Cut from both, and nobody is told of an end. On a busy machine the standby may just have been struck out of the record, or have begun anew since
		// the counters were sent.
		for lost := false; !lost; {
			p.await("the standby is in sync", p.inSync)
			streams, sent := p.unit.Counts().Snapshots.Load(), p.unit.Counts().Counters.Load()
			p.await("counters are sent", func() bool { return p.unit.Counts().Counters.Load() > sent+1 })
			fakesmf.WantCause(t, p.smf.Modify(seids[0], ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0))).Cause, ie.CauseRequestAccepted) // held behind them
			p.arbiter[0].setCut(true)
			p.wire.setCut(true)
			seen, _ := p.shared.Read(context.Background())
			if lost = seen.Standby == "b/1" && p.inSync() && p.unit.Counts().Snapshots.Load() == streams; !lost {
				p.wire.setCut(false)
				p.arbiter[0].setCut(false)
			}
		}
		cut := time.Now()
		var fence *fencing.Unit
		select {
		case fence = <-p.taken:
		case <-time.After(fakesmf.Patience):
			t.Fatal("nobody takes over")
		}
		t.Logf("taken over after %s", time.Since(cut))
		if !p.silent(0) {
			t.Error("the unit is taken over and not silent")
		}
		if fence == nil {
			t.Fatal("nothing is taken over")
		}
		old := p.stop[0]
		p.takeOver(fence)
		if got := len(p.upfu[1].Sessions()); got != len(seids) {
			t.Errorf("%d sessions are in the standby's upf-u, want %d", got, len(seids))
		}
		if p.silent(1) {
			p.await("the standby's upf-u is granted", func() bool { return !p.silent(1) })
		}
		p.smf.To = p.agent[1].Addr() // where the address is now
		if got := p.smf.Heartbeat(); !got.Equal(stamp) {
			t.Errorf("Recovery Time Stamp %v, want %v", got, stamp)
		}
		var total uint64
		for _, seid := range seids {
			m := p.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
			fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
			_, ul, _ := fakesmf.Volumes(t, m.UsageReport[0])
			total += ul
		}
		if total != 4711 {
			t.Errorf("%d octets are reported, want 4711", total)
		}
		p.arbiter[0].setCut(false)
		select {
		case err := <-p.unitErr:
			if !errors.Is(err, standby.ErrOver) {
				t.Errorf("the old unit ends with %v, want %v", err, standby.ErrOver)
			}
		case <-time.After(fakesmf.Patience):
			t.Error("the old unit does not notice")
		}
		old()
	})
}

// A unit that ends on purpose forwards until its standby serves, and answers nothing; what it counts meanwhile is not lost.
func TestHandOver(t *testing.T) {
	p := newPair(t)
	p.smf = fakesmf.New(t, p.agent[0].Addr())
	p.smf.Associate()
	seids := []uint64{}
	for i := range 20 {
		seids = append(seids, p.smf.Established(uint64(100+i), ue(i).Session()...))
	}
	alone, cancel := context.WithCancel(t.Context())
	p.wire.setCut(true)
	forward := func(g fencing.Grant) error { return p.agent[0].Link().Forward(g.Epoch, g.Until) }
	p.await("the unit is alone", func() bool { return p.unit.Status().Peer == "" })
	if err := p.unit.HandOver(alone, forward); !errors.Is(err, standby.ErrAlone) {
		t.Errorf("without a standby: %v, want %v", err, standby.ErrAlone)
	}
	cancel()
	p.wire.setCut(false)

	slot := uint32(0)
	for _, s := range p.upfu[0].Sessions() {
		slot = s.URRs[0].Slot
		break
	}
	count := func(octets uint64) {
		t.Helper()
		if err := p.upfu[0].Count(slot, abi.Ul, octets, 1); err != nil {
			t.Fatal(err)
		}
	}
	count(4000)
	p.await("the standby is in sync", p.inSync)
	unit, handed := p.unit, make(chan error, 1)
	go func() { handed <- unit.HandOver(t.Context(), forward) }()
	var fence *fencing.Unit
	select {
	case fence = <-p.taken:
	case <-time.After(fakesmf.Patience):
		t.Fatal("nobody takes over")
	}
	if g := p.upfu[0].Granted(); p.silent(0) || g.Flags != abi.GrantForward {
		t.Errorf("when the unit is taken over, its upf-u is granted %+v: it is to forward, and nothing else", g)
	}
	nobodyWaits := make(chan struct{})
	close(nobodyWaits)
	if unit.Settle(nobodyWaits) {
		t.Error("a unit that has yielded answers")
	}
	count(700)
	p.takeOver(fence)
	select {
	case <-p.agent[1].Link().Serves():
	case <-time.After(fakesmf.Patience):
		t.Fatal("the standby's upf-u is not granted")
	}
	select {
	case err := <-handed:
		t.Fatalf("the unit ends before it has heard that its standby serves: %v", err)
	default:
	}
	count(11)
	late := make(chan []usage.Late, 1)
	go func() { late <- p.holder.Served(t.Context()) }()
	p.await("the unit has heard that its standby serves", func() bool { return len(handed) == 1 })
	if err := <-handed; err != nil {
		t.Fatal(err)
	}
	if !p.silent(0) {
		t.Error("the unit is handed over, and its upf-u not silent")
	}
	p.stop[0]()
	if err := <-p.unitErr; err != nil {
		t.Errorf("the old unit ends with %v", err)
	}
	select {
	case l := <-late:
		p.agent[1].AddLate(l)
	case <-time.After(fakesmf.Patience):
		t.Fatal("the unit's end is not noticed")
	}
	p.smf.To = p.agent[1].Addr()
	var total uint64
	for _, seid := range seids {
		m := p.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
		fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
		_, ul, _ := fakesmf.Volumes(t, m.UsageReport[0])
		total += ul
	}
	if total != 4711 {
		t.Errorf("%d octets are reported, want 4711", total)
	}
}

// A upf-u whose unit another member serves may have sessions with F-TEIDs and addresses of those that come.
func TestAStandbysUPFUIsCleared(t *testing.T) {
	l := &lab{t: t, socket: filepath.Join(t.TempDir(), "upf.sock")}
	l.startUPFU()
	t.Cleanup(l.upfu.Kill)
	l.upfu.Install(7, fakeupfu.Session{}, []byte{1})
	l.upfu.Install(9, fakeupfu.Session{}, []byte{1})
	conn, err := dataplane.Dial(context.Background(), l.socket, agent.Nothing{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Abandon()
	if err := agent.New(l.config(), slog.New(slog.DiscardHandler), nowhere{}).Clear(conn); err != nil {
		t.Fatal(err)
	}
	if n := len(l.upfu.Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}
