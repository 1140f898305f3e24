package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/nausf"
	"core5g.dev/core5g/images/access-management/nsmf"
	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// patience bounds what is awaited.
const patience = 2 * time.Minute

// scripted is an N2 terminator that says what a test has it say.
type scripted struct {
	t        *testing.T
	listener net.Listener
	conns    chan *link.Conn
	frames   chan link.Frame
	// deaf: it answers no echo, as one that is dead and has not been missed yet. asked holds one when it did not.
	deaf  atomic.Bool
	asked chan struct{}
}

func listen(t *testing.T) *scripted {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{t: t, listener: l, conns: make(chan *link.Conn, 9), frames: make(chan link.Frame, 99), asked: make(chan struct{}, 1)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c := link.NewConn(conn)
			s.conns <- c
			serving.Go(func() { _ = c.Run(func(f link.Frame) error { return s.take(c, f) }) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		for len(s.conns) > 0 {
			(<-s.conns).Close()
		}
		serving.Wait()
	})
	return s
}

// take a frame of the worker: echoes are answered, the others are the test's.
func (s *scripted) take(c *link.Conn, f link.Frame) error {
	send, is := f.(*link.Send)
	switch {
	case !is || send.Shard != link.NoShard:
		s.frames <- f
		return nil
	case !s.deaf.Load():
		return c.Post(&link.NotSent{Number: send.Number, Fenced: true})
	}
	select {
	case s.asked <- struct{}{}:
	default:
	}
	return nil
}

// met is the next connection, welcomed by that life of the terminator, which has these associations.
func (s *scripted) met(name string, associations ...uint64) *link.Conn {
	s.t.Helper()
	c := s.connected(name)
	last := uint64(0)
	for _, a := range associations {
		s.say(c, &link.Opened{Association: a, Listed: true})
		last = max(last, a)
	}
	s.say(c, &link.Opened{Association: last, Listed: true, Last: true})
	return c
}

// connected is the next connection, welcomed by that life of the terminator.
func (s *scripted) connected(name string) (c *link.Conn) {
	s.t.Helper()
	select {
	case c = <-s.conns:
	case <-time.After(patience):
		s.t.Fatal("nobody connects")
	}
	s.t.Cleanup(c.Close)
	s.say(c, &link.Welcome{Version: link.Version, Terminator: name})
	return c
}

func (s *scripted) say(c *link.Conn, f link.Frame) {
	s.t.Helper()
	if err := c.Post(f); err != nil {
		s.t.Fatal(err)
	}
}

// next frame of the worker.
func (s *scripted) next() link.Frame {
	s.t.Helper()
	select {
	case f := <-s.frames:
		return f
	case <-time.After(patience):
		s.t.Fatal("nothing is said")
		return nil
	}
}

// pod with connections alone: its shards are what a test says.
func podAt(t *testing.T, addresses func() []string) *Pod {
	t.Helper()
	return podWith(t, addresses, func(*Options) {})
}

func podWith(t *testing.T, addresses func() []string, change func(*Options)) *Pod {
	t.Helper()
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Log: slog.New(slog.DiscardHandler), Holder: "amf-0", Set: "amf", Shards: 2, Store: memory.New(time.Now), Sealer: sealer, Registry: prometheus.NewRegistry(),
		AUSF: new(nausf.Client), UDM: new(nudm.Client), SMF: new(nsmf.Client), Callbacks: new(namf.Client),
		Terminators: func(context.Context) ([]string, error) { return addresses(), nil },
	}
	change(&o)
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.running.Go(p.links.run)
	t.Cleanup(func() {
		p.stop()
		p.running.Wait()
	})
	return p
}

func (p *Pod) awaits(t *testing.T, terminator string, association uint64, want runner.Standing) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for p.links.standing(terminator, association) != want {
		if time.Now().After(deadline) {
			t.Fatalf("association %d of %s has standing %d, want %d", association, terminator, p.links.standing(terminator, association), want)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestWhatIsHeldIsSaidFirst(t *testing.T) {
	s := listen(t)
	p := podAt(t, func() []string { return []string{s.listener.Addr().String()} })
	p.links.holds(link.Holds{Shard: 2, Epoch: 7})
	c := s.met("n2-0/1")
	hello := s.next()
	if diff := cmp.Diff(&link.Hello{Version: link.Version, Worker: "amf-0", Shards: 2, Resumes: true}, hello); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.awaits(t, "n2-0/1", 1, runner.Unheard) // none was opened yet
	if f := s.next(); !cmp.Equal(f, link.Frame(&link.Holds{Shard: 2, Epoch: 7})) {
		t.Errorf("then %T %+v", f, f)
	}
	p.links.holds(link.Holds{Shard: 1, Epoch: 8})
	p.links.letsGo(2, 7)
	p.links.post("n2-0/1", &link.Done{Number: 3})
	for _, want := range []link.Frame{&link.Holds{Shard: 1, Epoch: 8}, &link.LetsGo{Shard: 2, Epoch: 7}} {
		if f := s.next(); !cmp.Equal(f, want) {
			t.Errorf("then %T %+v, want %+v", f, f, want)
		}
	}
	c.Close()
	s.met("n2-0/1")
	for {
		f := s.next()
		if _, again := f.(*link.Hello); again {
			break
		}
	}
	if f := s.next(); !cmp.Equal(f, link.Frame(&link.Holds{Shard: 1, Epoch: 8})) {
		t.Errorf("on the next connection %T %+v", f, f)
	}
}

func TestStandingOfAssociations(t *testing.T) {
	s := listen(t)
	var mu sync.Mutex
	addresses := []string{s.listener.Addr().String()}
	p := podAt(t, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return addresses
	})
	c := s.met("n2-0/1", 4, 9)
	p.awaits(t, "n2-0/1", 4, runner.There)
	p.awaits(t, "n2-0/1", 5, runner.Gone)
	p.awaits(t, "n2-0/1", 10, runner.Unheard) // it may be opened just now
	p.awaits(t, "n2-1/1", 1, runner.Unheard)
	p.awaits(t, "n2-0/0", 1, runner.Gone) // a life of before
	g := &record.GNB{PLMN: "20893", ID: 1, Bits: 24, Areas: []record.Tracking{{TAC: 3, Broadcast: []record.Broadcast{{PLMN: "20893"}}}}}
	octets, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.say(c, &link.Node{Association: 9, Node: octets})
	s.say(c, &link.Ended{Association: 4})
	p.awaits(t, "n2-0/1", 4, runner.Gone)
	for what, found := range map[string]*record.GNB{"by its association": p.links.node("n2-0/1", 9), "by its name": p.links.find(g.Key())} {
		if found == nil || found.Association != 9 || found.Terminator != "n2-0/1" {
			t.Errorf("%s the gNB is %+v", what, found)
		}
	}
	if list := p.links.near(record.Area{PLMN: "20893", TACs: []uint32{2, 3}}); len(list) != 1 {
		t.Errorf("near: %v", list)
	}
	if list := p.links.near(record.Area{PLMN: "20893", TACs: []uint32{2}}); len(list) != 0 {
		t.Errorf("near another tracking area: %v", list)
	}
	c.Close()
	p.awaits(t, "n2-0/1", 9, runner.Unheard)
	c = s.met("n2-0/1", 9)
	p.awaits(t, "n2-0/1", 9, runner.There)
	c.Close()
	s.met("n2-0/2")
	p.awaits(t, "n2-0/1", 9, runner.Gone) // another life of the pod
	other := listen(t)
	mu.Lock()
	addresses = []string{other.listener.Addr().String()}
	mu.Unlock()
	c = other.met("n2-1/1", 1)
	p.awaits(t, "n2-1/1", 1, runner.There)
	_ = other.listener.Close()
	c.Close()
	p.awaits(t, "n2-1/1", 1, runner.Gone) // its address refuses
}

// A Welcome of a life that is over by the time that it is read, at another address than the one that has come behind it, ends nothing of that.
func TestAWelcomeThatIsReadLate(t *testing.T) {
	s, after := listen(t), listen(t)
	var mu sync.Mutex
	addresses := []string{s.listener.Addr().String()}
	p := podAt(t, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return addresses
	})
	called := func() *link.Conn {
		select {
		case c := <-s.conns:
			return c
		case <-time.After(patience):
			t.Fatal("nobody connects")
			return nil
		}
	}
	late := called()
	s.next() // it has begun to read
	mu.Lock()
	addresses = append(addresses, after.listener.Addr().String())
	mu.Unlock()
	after.met("n2-0/2", 3)
	p.awaits(t, "n2-0/2", 3, runner.There)
	s.say(late, &link.Welcome{Version: link.Version, Terminator: "n2-0/1"})
	called().Close() // that connection was given up
	if is := p.links.standing("n2-0/2", 3); is != runner.There {
		t.Errorf("the association of the life of now has standing %d", is)
	}
	p.awaits(t, "n2-0/1", 1, runner.Gone)
}

// A life of a terminator that this pod has not met, while its connection to the one of before is dead and looks well, is not taken for one that is over.
func TestALifeThatWasNotMet(t *testing.T) {
	s := listen(t)
	s.deaf.Store(true)
	p := podAt(t, func() []string { return []string{s.listener.Addr().String()} })
	dead := s.met("n2-0/1", 1)
	p.awaits(t, "n2-0/1", 1, runner.There)
	p.links.mu.Lock()
	p.links.whole = time.Now().Add(-time.Hour) // it has stood still that long
	p.links.mu.Unlock()
	for _, name := range []string{"n2-0/2", "n2-1/1"} {
		for range 2 { // the second is asked for behind the doubt
			p.awaits(t, name, 1, runner.Unheard)
			select {
			case <-s.asked:
			case <-time.After(patience):
				t.Fatal("nobody asks whether the terminator lives")
			}
		}
		p.awaits(t, name, 1, runner.Unheard)
	}
	s.deaf.Store(false)
	p.awaits(t, "n2-1/1", 1, runner.Gone) // the only one that there is lives, and is another
	s.deaf.Store(true)
	dead.Close()
	s.met("n2-0/2", 1)
	p.awaits(t, "n2-0/2", 1, runner.There)
	p.awaits(t, "n2-0/1", 1, runner.Gone)
}

// An echo of before the question says nothing.
func TestAnEchoOfBefore(t *testing.T) {
	s := listen(t)
	s.deaf.Store(true)
	p := podAt(t, func() []string { return []string{s.listener.Addr().String()} })
	c := s.met("n2-0/1")
	p.awaits(t, "n2-0/1", 0, runner.Gone)
	p.awaits(t, "n2-0/0", 1, runner.Unheard)
	p.links.mu.Lock()
	round := p.links.doubts["n2-0/0"]
	p.links.mu.Unlock()
	s.say(c, &link.NotSent{Number: round, Fenced: true})
	s.say(c, &link.Opened{Association: 9}) // heard behind it
	p.awaits(t, "n2-0/1", 9, runner.There)
	p.awaits(t, "n2-0/0", 1, runner.Unheard)
	s.deaf.Store(false)
	p.awaits(t, "n2-0/0", 1, runner.Gone)
}

// What was posted is taken when each terminator that there is has echoed what came behind it.
func TestWhatTerminatorsHaveTaken(t *testing.T) {
	s, other := listen(t), listen(t)
	p := podAt(t, func() []string { return []string{s.listener.Addr().String(), other.listener.Addr().String()} })
	if !p.links.taken(nil) {
		t.Error("without a terminator something has to be taken")
	}
	s.met("n2-0/1")
	other.met("n2-1/1")
	p.awaits(t, "n2-0/1", 0, runner.Gone)
	p.awaits(t, "n2-1/1", 0, runner.Gone)
	for name, deaf := range map[string]bool{"both echo": false, "one does not": true} {
		other.deaf.Store(deaf)
		p.links.post("n2-1/1", &link.Done{Number: 3})
		taken := make(chan time.Time, 1)
		began := time.Now()
		if p.links.taken(func() { taken <- time.Now() }) {
			t.Fatalf("%s: nobody is asked", name)
		}
		select {
		case at := <-taken:
			if deaf && at.Sub(began) < sureFor {
				t.Errorf("%s: it was not waited for", name)
			}
		case <-time.After(patience):
			t.Fatalf("%s: it is never taken", name)
		}
		for done := false; !done && !deaf; { // all before is there
			select {
			case f := <-other.frames:
				_, done = f.(*link.Done)
			default:
				t.Fatalf("%s: what was posted before is not there", name)
			}
		}
	}
}

// twoTerminators that a pod looks for, and a gNB of tracking area 3, also as terminators have it.
func twoTerminators(t *testing.T) (p *Pod, first, second *scripted, g *record.GNB, octets []byte) {
	t.Helper()
	first, second = listen(t), listen(t)
	p = podAt(t, func() []string { return []string{first.listener.Addr().String(), second.listener.Addr().String()} })
	g = &record.GNB{PLMN: "20893", ID: 1, Bits: 24, Areas: []record.Tracking{{TAC: 3, Broadcast: []record.Broadcast{{PLMN: "20893"}}}}}
	octets, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return p, first, second, g, octets
}

// A gNB that has gone to another terminator, and whose association with the first nobody has missed yet, is where it came last.
func TestAGNBThatHasGoneToAnotherTerminator(t *testing.T) {
	p, first, second, g, octets := twoTerminators(t)
	c := first.met("n2-0/1", 49)
	other := second.met("n2-1/1", 1)
	first.say(c, &link.Opened{Association: 50, Node: octets})
	p.awaits(t, "n2-0/1", 50, runner.There)
	p.awaits(t, "n2-1/1", 1, runner.There)
	second.say(other, &link.Opened{Association: 2, Node: octets})
	p.awaits(t, "n2-1/1", 2, runner.There)
	expect := func(when string) {
		t.Helper()
		list := p.links.near(record.Area{PLMN: "20893", TACs: []uint32{3}})
		if found := p.links.find(g.Key()); found == nil || found.Terminator != "n2-1/1" || len(list) != 1 || list[0] != found {
			t.Errorf("%s the gNB is at %+v, paged at %+v", when, found, list)
		}
	}
	expect("when it has come")
	c.Close()
	p.awaits(t, "n2-0/1", 50, runner.Unheard)
	c = first.met("n2-0/1", 49, 50)
	first.say(c, &link.Node{Association: 50, Node: octets})
	first.say(c, &link.Opened{Association: 51})
	p.awaits(t, "n2-0/1", 51, runner.There)
	expect("when the first terminator has listed it again")
}

// A gNB that has gone to a terminator that this pod has not met yet is there, too: the terminator says since when it has been, and the first one's association, whose
// end nobody has missed yet, was opened before.
func TestAGNBThatHasGoneToATerminatorOfLater(t *testing.T) {
	p, first, second, _, octets := twoTerminators(t)
	c := first.connected("n2-0/1")
	first.say(c, &link.Opened{Association: 50, Node: octets, Listed: true, Ago: 60_000})
	first.say(c, &link.Opened{Association: 50, Listed: true, Last: true})
	p.awaits(t, "n2-0/1", 50, runner.There)
	for _, x := range []struct {
		pod  string
		ago  uint64
		want string
	}{
		{"n2-1/1", 3_600_000, "n2-0/1"},
		{"n2-2/1", 1, "n2-2/1"},
	} {
		other := second.connected(x.pod)
		second.say(other, &link.Opened{Association: 3, Node: octets, Listed: true, Ago: x.ago})
		second.say(other, &link.Opened{Association: 3, Listed: true, Last: true})
		p.awaits(t, x.pod, 3, runner.There)
		list := p.links.near(record.Area{PLMN: "20893", TACs: []uint32{3}})
		if len(list) != 1 || list[0].Terminator != x.want {
			t.Errorf("a gNB that came to %s %d ms ago is paged at %+v, want %s", x.pod, x.ago, list, x.want)
		}
		other.Close()
		p.awaits(t, x.pod, 3, runner.Unheard)
	}
}

// A gNB that has gone to another terminator may be there before the first one's death is known: what becomes of its UEs waits for that.
func TestAGNBThatIsFasterThanTheNews(t *testing.T) {
	g := &record.GNB{PLMN: "20893", ID: 1, Bits: 24, Areas: []record.Tracking{{TAC: 3}}}
	octets, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		become func(*scripted, *link.Conn)
		want   runner.Standing
	}{
		"the terminator lives": {func(s *scripted, _ *link.Conn) { s.deaf.Store(false) }, runner.There},
		"it has died": {func(s *scripted, c *link.Conn) {
			_ = s.listener.Close()
			c.Close()
		}, runner.Gone},
		"it is another life by now": {func(s *scripted, c *link.Conn) {
			c.Close()
			s.met("n2-0/2")
		}, runner.Gone},
		"it was cut off, and lists the association again": {func(s *scripted, c *link.Conn) {
			s.deaf.Store(false)
			c.Close()
			c = s.met("n2-0/1", 50)
			s.say(c, &link.Node{Association: 50, Node: octets})
		}, runner.There},
		"nobody knows": {func(*scripted, *link.Conn) {}, runner.There},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := listen(t), listen(t)
			p := podAt(t, func() []string { return []string{first.listener.Addr().String(), second.listener.Addr().String()} })
			c := first.met("n2-0/1")
			other := second.met("n2-1/1")
			first.say(c, &link.Opened{Association: 50, Node: octets})
			p.awaits(t, "n2-0/1", 50, runner.There)
			second.say(other, &link.Opened{Association: 2, Node: octets})
			p.awaits(t, "n2-1/1", 2, runner.There)
			if !p.links.sure("another gNB", "n2-1/1", nil) {
				t.Error("it is not known of a gNB that has no associations")
			}
			second.deaf.Store(true) // it is not asked
			first.deaf.Store(true)
			stands := make(chan runner.Standing, 1)
			if p.links.sure(g.Key(), "n2-1/1", func() {
				go func() { stands <- p.links.standing("n2-0/1", 50) }()
			}) {
				t.Fatal("it is known before anybody was asked")
			}
			select {
			case <-first.asked:
			case <-time.After(patience):
				t.Fatal("nobody asks the terminator")
			}
			select {
			case <-stands:
				t.Error("it is known before anybody has answered")
			default:
			}
			if tt.become(first, c); name == "the terminator lives" {
				if p.links.sure(g.Key(), "n2-1/1", func() {}) {
					t.Error("what was known before is taken for what is known now")
				}
			}
			select {
			case is := <-stands:
				if is != tt.want {
					t.Errorf("then the association has standing %d, want %d", is, tt.want)
				}
			case <-time.After(patience):
				t.Error("it is never known")
			}
		})
	}
}

// A gNB appears with the first that it says on an association, and with each list of a terminator; what it says later changes nothing of where it is.
func TestAGNBAppearsOnce(t *testing.T) {
	octets, err := (&record.GNB{PLMN: "20893", ID: 1, Bits: 24, Areas: []record.Tracking{{TAC: 3}}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	l := newLinks(&Pod{Options: Options{Log: slog.New(slog.DiscardHandler)}})
	l.lives["n2-0/1"] = &life{associations: map[uint64]*n2Association{1: {}}}
	for n, want := range []bool{true, false} {
		if g := l.remember("n2-0/1", &link.Node{Association: 1, Node: octets}); (g != nil) != want {
			t.Errorf("%d: %+v appears", n, g)
		}
	}
	if g := l.remember("n2-0/1", &link.Node{Association: 2, Node: octets}); g != nil {
		t.Errorf("%+v appears on no association", g)
	}
}

// TS 38.412 7: a gNB has associations with two terminators for one NG interface. What it has said last by one of them holds for both, however late it is heard, and
// each is the other's neighbour.
func TestAnInterfaceWithTwoAssociations(t *testing.T) {
	first, second := listen(t), listen(t)
	p := podAt(t, func() []string { return []string{first.listener.Addr().String(), second.listener.Addr().String()} })
	one, two := first.met("n2-0/1", 7), second.met("n2-1/1", 9)
	node := func(of uint64, said int64, tac uint32) []byte {
		octets, err := (&record.GNB{PLMN: "20893", ID: 1, Bits: 24, Areas: []record.Tracking{{TAC: tac, Broadcast: []record.Broadcast{{PLMN: "20893"}}}}, Interface: of, Said: said}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return octets
	}
	root := (&record.GNB{Terminator: "n2-0/1", Association: 8}).Root()
	say := func(l *scripted, c *link.Conn, terminator string, f link.Frame, association uint64, tac uint32) {
		t.Helper()
		l.say(c, f)
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			if g := p.links.node(terminator, association); g != nil && g.Areas[0].TAC == tac {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("association %d of %s: %+v", association, terminator, p.links.node(terminator, association))
			}
		}
	}
	say(first, one, "n2-0/1", &link.Opened{Association: 8, Peer: "192.0.2.1:1", Here: "198.51.100.1:38412", Node: node(0, 100, 1)}, 8, 1)
	say(second, two, "n2-1/1", &link.Opened{Association: 10, Node: node(root, 100, 1)}, 10, 1)
	say(second, two, "n2-1/1", &link.Node{Association: 10, Node: node(root, 200, 2)}, 10, 2)
	if g := p.links.node("n2-0/1", 8); g.Areas[0].TAC != 2 || g.Interface != 0 || g.Peer != "192.0.2.1:1" || g.Here != "198.51.100.1:38412" {
		t.Errorf("by the first association it is %+v", g)
	}
	first.say(one, &link.Node{Association: 8, Node: node(0, 100, 1)})
	first.say(one, &link.Opened{Association: 11})
	p.awaits(t, "n2-0/1", 11, runner.There)
	if list := p.links.near(record.Area{PLMN: "20893", TACs: []uint32{1}}); len(list) != 0 {
		t.Errorf("%+v is where it was before", list[0])
	}
	for _, c := range []struct {
		at   record.Attachment
		want uint64
	}{
		{record.Attachment{Terminator: "n2-0/1", Association: 8}, 10},
		{record.Attachment{Terminator: "n2-1/1", Association: 10, Interface: root}, 8},
		{record.Attachment{Terminator: "n2-0/1", Association: 7}, 0},
	} {
		if g := p.links.beside(c.at); (g != nil) != (c.want != 0) || g != nil && g.Association != c.want {
			t.Errorf("beside %+v is %+v, want association %d", c.at, g, c.want)
		}
	}
}

// A gNB that may not have heard that its UEs are lost is not told that they are kept because that association was lost, too.
func TestALossThatCountsForNothing(t *testing.T) {
	first := listen(t)
	p := podAt(t, func() []string { return []string{first.listener.Addr().String()} })
	c := first.met("n2-0/1", 1)
	for n, doubtful := range []bool{true, false} {
		g := &record.GNB{PLMN: "20893", ID: uint32(n), Bits: 24, Areas: []record.Tracking{{TAC: 3}}, Doubtful: doubtful}
		octets, err := g.Encode()
		if err != nil {
			t.Fatal(err)
		}
		id := uint64(n + 2)
		first.say(c, &link.Opened{Association: id, Node: octets})
		p.awaits(t, "n2-0/1", id, runner.There)
		first.say(c, &link.Ended{Association: id})
		p.awaits(t, "n2-0/1", id, runner.Gone)
		if _, known := p.links.lost(g.Key()); known == doubtful {
			t.Errorf("doubtful %t: the loss is known: %t", doubtful, known)
		}
	}
}

// Nor because another one was lost before, or is heard to have been only then.
func TestALossOfBeforeCountsForNothing(t *testing.T) {
	first := listen(t)
	p := podAt(t, func() []string { return []string{first.listener.Addr().String()} })
	c := first.met("n2-0/1", 1)
	g := &record.GNB{PLMN: "20893", ID: 1, Bits: 24, Areas: []record.Tracking{{TAC: 3}}}
	open := func(id uint64, doubtful bool) {
		is := *g
		is.Doubtful = doubtful
		octets, err := is.Encode()
		if err != nil {
			t.Fatal(err)
		}
		first.say(c, &link.Opened{Association: id, Node: octets})
		p.awaits(t, "n2-0/1", id, runner.There)
	}
	lost := func(when string, id uint64, want bool) {
		if id != 0 {
			first.say(c, &link.Ended{Association: id})
			p.awaits(t, "n2-0/1", id, runner.Gone)
		}
		if _, known := p.links.lost(g.Key()); known != want {
			t.Errorf("%s the loss is known: %t", when, known)
		}
	}
	open(2, false)
	open(3, false)
	lost("of an association alone:", 2, true)
	open(4, true)
	lost("with one on which it may not have heard that its UEs are lost:", 0, false)
	lost("and when that is lost:", 4, false)
	lost("and when one of before is:", 3, false)
}

// What is said where nobody expects it ends the connection, which is made again, and nothing else.
func TestAssociationsThatComeTooLate(t *testing.T) {
	for what, x := range map[string]struct {
		replaced bool
		f        *link.Opened
	}{
		"listed behind the list's end":             {f: &link.Opened{Association: 9, Listed: true}},
		"a second end of the list":                 {f: &link.Opened{Association: 9, Listed: true, Last: true}},
		"of a life that another one has ended":     {replaced: true, f: &link.Opened{Association: 9}},
		"listed for a life that has ended already": {replaced: true, f: &link.Opened{Association: 9, Listed: true}},
	} {
		t.Run(what, func(t *testing.T) {
			one, two := listen(t), listen(t)
			var both atomic.Bool // who is called before another life of its pod was is taken for the one of before
			p := podAt(t, func() []string {
				if !both.Load() {
					return []string{one.listener.Addr().String()}
				}
				return []string{one.listener.Addr().String(), two.listener.Addr().String()}
			})
			c := one.met("n2-0/1", 4)
			p.awaits(t, "n2-0/1", 4, runner.There)
			if x.replaced {
				both.Store(true)
				two.met("n2-0/2")
				p.awaits(t, "n2-0/1", 4, runner.Gone)
			}
			one.say(c, x.f)
			one.met("n2-0/3", 5)
			p.awaits(t, "n2-0/3", 5, runner.There)
		})
	}
}

// asked counts what a session store is asked to read.
type asked struct {
	sessionstore.Store
	reads atomic.Int64
}

func (a *asked) Read(ctx context.Context, key string) (sessionstore.Record, error) {
	a.reads.Add(1)
	return a.Store.Read(ctx, key)
}

func TestAShardBeginsWhenTerminatorsKnowItsLease(t *testing.T) {
	p := podAt(t, func() []string { return nil })
	p.stop() // nothing but the shard is at work
	p.running.Wait()
	p.ctx, p.stop = context.WithCancel(context.Background())
	store := &asked{Store: p.Store}
	p.Store = store
	lease, err := store.Acquire(t.Context(), p.name(1), p.Holder, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	p.links.mu.Lock() // terminators are told under it
	gained := make(chan struct{})
	go func() {
		p.gained(lease)
		close(gained)
	}()
	for end := time.Now().Add(patience); p.shard(1) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the shard is not there")
		}
	}
	done := make(chan struct{})
	p.shard(1).loop.Post(func() { close(done) })
	<-done
	p.running.Wait()
	if n := store.reads.Load(); n != 0 {
		t.Errorf("before terminators know it %d records were read", n)
	}
	p.links.mu.Unlock()
	<-gained
	for end := time.Now().Add(patience); store.reads.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the shard does not begin")
		}
	}
	p.lost(p.name(1))
}

// A runner that has stopped does not begin again: its shard is given up, and taken anew, whatever the keeper thought of its lease.
func TestAShardWhoseRunnerHasStoppedIsTakenAnew(t *testing.T) {
	p := podAt(t, func() []string { return nil })
	p.settings.Store(&procedure.Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	p.running.Go(func() { p.keeper.Run(ctx, p.Store) })
	defer cancel()
	held := func(like func(*Shard) bool) *Shard {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			if s := p.shard(1); s != nil && like(s) {
				return s
			}
			if time.Now().After(end) {
				t.Fatal("nobody holds the shard")
			}
		}
	}
	was := held(func(s *Shard) bool { return s.May() })
	was.loop.Post(func() { was.Stopped(errors.New("the lease has ended")) })
	held(func(s *Shard) bool { return s != was && s.lease.Epoch > was.lease.Epoch && s.May() })
}

// attempts counts what is tried, and what is said of it.
type attempts struct {
	slog.Handler
	mu     sync.Mutex
	warned map[string]int
}

func (a *attempts) Handle(_ context.Context, r slog.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Level >= slog.LevelInfo {
		a.warned[r.Message]++
	}
	return nil
}

func (a *attempts) Enabled(context.Context, slog.Level) bool { return true }

func TestATerminatorThatIsAwayIsSaidOnce(t *testing.T) {
	s := listen(t)
	away, unknown, looked := atomic.Bool{}, atomic.Bool{}, atomic.Int64{}
	said := &attempts{warned: map[string]int{}}
	p := podAt(t, func() []string { return nil })
	p.stop()
	p.running.Wait() // it begins anew, with what a test can turn off and on
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.Log = slog.New(said)
	p.Terminators = func(context.Context) ([]string, error) {
		looked.Add(1)
		if unknown.Load() {
			return nil, fmt.Errorf("no name server, said at %s", time.Now())
		}
		return []string{s.listener.Addr().String()}, nil
	}
	dials := atomic.Int64{}
	p.Dial = func(ctx context.Context, at string) (net.Conn, error) {
		dials.Add(1)
		if away.Load() {
			return nil, fmt.Errorf("nobody is there, at %s", time.Now())
		}
		return new(net.Dialer).DialContext(ctx, "tcp", at)
	}
	p.running.Go(p.links.run)
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	for spell := 1; spell <= 2; spell++ {
		c := s.met("n2-0/1", 1)
		p.awaits(t, "n2-0/1", 1, runner.There)
		away.Store(true)
		unknown.Store(true)
		before, lookedBefore := dials.Load(), looked.Load()
		c.Close()
		until("it is not tried again", func() bool { return dials.Load() >= before+2 && looked.Load() >= lookedBefore+2 })
		unknown.Store(false)
		lookedBefore = looked.Load()
		until("nobody looks again", func() bool { return looked.Load() >= lookedBefore+2 })
		away.Store(false)
		said.mu.Lock()
		want := map[string]int{
			"connected to an N2 terminator": spell, "no connection to an N2 terminator": spell,
			"N2 terminators cannot be looked for": spell, "N2 terminators can be looked for again": spell,
		}
		if diff := cmp.Diff(want, said.warned); diff != "" {
			t.Errorf("after %d (-want +got):\n%s", spell, diff)
		}
		said.mu.Unlock()
	}
	s.met("n2-0/1", 1)
}

func TestReferences(t *testing.T) {
	for _, supi := range []string{"imsi-208930000000001", "nai-a.b@core.example", "nai-a/b%2F?@core.example", "hex-12"} {
		if got, mark := supiOf(refOf(supi) + refSeparator + "0a"); got != supi || mark != "0a" {
			t.Errorf("%s comes back as %q, %q", supi, got, mark)
		}
	}
	for path, want := range map[string]string{
		"/namf-comm/v1/ue-contexts/imsi-1/n1-n2-messages":       "imsi-1",
		"/namf-mt/v1/ue-contexts/imsi-1":                        "imsi-1",
		"/namf-loc/v1/imsi-1/provide-loc-info":                  "imsi-1",
		"/namf-callback/v1/ues/imsi-1.0a/sessions/1":            "imsi-1",
		"/namf-callback/v1/ues/" + refOf("nai-x@y") + "/policy": "nai-x@y",
		"/namf-loc/v1/nai-a%2Fb%252F@c/provide-loc-info":        "nai-a/b%2F@c",
		"/namf-mt/v1/ue-contexts/nai-a%2":                       "",
		"/namf-callback/v1/amf-status":                          "",
	} {
		if got := ueOf(path); got != want {
			t.Errorf("%s is about %q, want %q", path, got, want)
		}
	}
}

func TestCausesAsLabels(t *testing.T) {
	for cause, want := range map[string]string{
		"": "", "no answer of the UDM": "no_answer_of_the_udm", "the AUSF refused: USER_NOT_FOUND 17": "the_ausf_refused", "a storm": "a_storm",
	} {
		if got := causeOf(cause); got != want {
			t.Errorf("%q is counted as %q, want %q", cause, got, want)
		}
	}
}
