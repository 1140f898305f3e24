package shards

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"

	"github.com/google/go-cmp/cmp"
)

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	good := Options{Holder: "a", Set: "smf", Shards: []string{"0"}, Gained: func(sessionstore.Lease) {}, Lost: func(string) {}}
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no holder":          {func(o *Options) { o.Holder = "" }, "write the pod's name"},
		"no set":             {func(o *Options) { o.Set = "" }, "no set"},
		"nobody to tell":     {func(o *Options) { o.Lost = nil }, "set both functions"},
		"too short a lease":  {func(o *Options) { o.TTL = time.Millisecond }, "write 100ms or more"},
		"a shard twice":      {func(o *Options) { o.Shards = []string{"0", "1", "0"} }, `"0" is no name of a shard`},
		"a shard like seats": {func(o *Options) { o.Shards = []string{"seat:1"} }, `"seat:1" is no name of a shard`},
		"an empty shard":     {func(o *Options) { o.Shards = []string{""} }, `"" is no name of a shard`},
	} {
		o := good
		c.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

// The keeper's clock is read when nobody else can read it: otherwise a lease that Lease has said to be over is renewed behind that.
func TestWhatLeaseHasSaidStays(t *testing.T) {
	store := memory.New(time.Now)
	var k *Keeper
	var free atomic.Int32
	clock := func() time.Time {
		if k != nil && k.mu.TryLock() {
			k.mu.Unlock()
			free.Add(1)
		}
		return time.Now()
	}
	made, err := New(Options{Holder: "a", Set: "smf", Shards: []string{"0"}, Now: clock, Gained: func(sessionstore.Lease) {}, Lost: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	k = made
	for range 9 {
		list, _ := k.Step()
		for _, r := range list {
			k.Answered(r, k.Do(t.Context(), store, r))
		}
	}
	if _, ok := k.Lease("0"); !ok || free.Load() != 0 {
		t.Errorf("the shard is held: %t; the clock was read %d times while others could", ok, free.Load())
	}
}

func TestShares(t *testing.T) {
	for name, c := range map[string]struct {
		held  map[string]int
		total int
		want  map[string]int
	}{
		"alone":                               {map[string]int{"a": 0}, 4, map[string]int{"a": 4}},
		"an even number":                      {map[string]int{"a": 4, "b": 0}, 4, map[string]int{"a": 2, "b": 2}},
		"what is left stays where most is":    {map[string]int{"a": 1, "b": 2}, 3, map[string]int{"a": 1, "b": 2}},
		"by name where nobody has more":       {map[string]int{"b": 0, "a": 0}, 3, map[string]int{"a": 2, "b": 1}},
		"more pods than shards":               {map[string]int{"a": 0, "b": 1, "c": 0}, 1, map[string]int{"a": 0, "b": 1, "c": 0}},
		"one who has none of what is divided": {map[string]int{"a": 2, "b": 2, "c": 0}, 4, map[string]int{"a": 2, "b": 1, "c": 1}},
	} {
		got := map[string]int{}
		for pod := range c.held {
			got[pod] = share(c.held, pod, c.total)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOnePodTakesAll(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2", "3")
	w.join("a")
	w.advance(20 * time.Millisecond) // three exchanges
	w.wants("at first", "a: 0 1 2 3")
	w.advance(time.Minute)
	w.wants("a minute later", "a: 0 1 2 3")
	if w.moves != 0 {
		t.Errorf("%d shards were lost on the way", w.moves)
	}
}

func TestNotMoreThanItMayHold(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2", "3")
	w.join("a", func(o *Options) { o.Max = 3 })
	w.advance(time.Second)
	w.wants("of four", "a: 0 1 2")
}

func TestPodsShareEvenly(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2", "3")
	w.join("a")
	w.advance(time.Second)
	w.join("b")
	w.advance(2 * time.Second)
	if got := w.held(); !slices.Equal(got, []int{4, 0}) {
		t.Errorf("two seconds after b has come: %v, before it has stayed for a lease's life", got)
	}
	w.advance(3 * time.Second)
	if got := w.held(); !slices.Equal(got, []int{2, 2}) {
		t.Errorf("two pods hold %v", got)
	}
	w.join("c")
	w.advance(6 * time.Second)
	if got := w.held(); !slices.Equal(got, []int{2, 1, 1}) {
		t.Errorf("three pods hold %v", got)
	}
	w.join("d")
	w.join("e") // finds no seat
	w.advance(6 * time.Second)
	if got := w.held(); !slices.Equal(got, []int{1, 1, 1, 1, 0}) {
		t.Errorf("five pods hold %v", got)
	}
	moved := w.moves
	w.advance(time.Minute)
	if w.moves != moved || moved != 4 {
		t.Errorf("%d shards moved, then %d in a quiet minute; want 4 and none", moved, w.moves-moved)
	}
	for _, p := range w.pods {
		if _, ok := p.Lease("0"); ok {
			p.kill()
			break
		}
	}
	w.advance(2 * ttl)
	if got := w.held(); !slices.Equal(got, []int{1, 1, 1, 1}) {
		t.Errorf("when one of five has died, the others hold %v", got)
	}
}

// A pod that comes and goes takes nothing from the others.
func TestAFlappingPodMovesNothing(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2", "3")
	w.join("a")
	w.advance(time.Second)
	for range 20 {
		b := w.join("b")
		w.advance(2 * time.Second)
		b.end()
		w.advance(time.Second)
		w.wants("b is gone", "a: 0 1 2 3, b:")
		delete(w.pods, "b")
	}
	if w.moves != 0 {
		t.Errorf("%d shards moved", w.moves)
	}
}

// Two pods that both come and go: one of them always has all, and every shard is held again within a lease's life.
func TestTwoFlappingPods(t *testing.T) {
	w := newWorld(t, 7, "0", "1", "2", "3")
	w.join("a")
	w.join("b")
	for n := range 30 {
		w.advance(4 * time.Second)
		name := []string{"a", "b"}[n%2]
		if n%3 == 0 {
			w.pods[name].kill()
		} else {
			w.pods[name].end()
			w.advance(100 * time.Millisecond)
			if !w.pods[name].ended {
				t.Fatal("not ended")
			}
			delete(w.pods, name)
		}
		w.advance(ttl + ttl/6 + 10*time.Millisecond)
		if got := w.held(); !slices.Equal(got, []int{4}) {
			t.Fatalf("round %d: the one that is left holds %v", n, got)
		}
		w.join(name)
	}
}

func TestACleanEnd(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2", "3")
	w.join("a")
	w.advance(time.Second)
	w.join("b")
	w.advance(6 * time.Second)
	w.pods["a"].end()
	w.advance(10 * time.Millisecond)
	if a := w.pods["a"]; !a.ended || len(a.acting) != 0 {
		t.Errorf("ended: %v, acting for %v", a.ended, a.acting)
	}
	// b looks for what is missing to its share, and is not told here.
	w.advance(ttl/6 + 10*time.Millisecond)
	w.wants("within a sixth of a lease", "a:, b: 0 1 2 3")
}

// What is given up on purpose is kept until it is Left, or for Farewell, and acted for until then.
func TestWhatIsLeftLater(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2", "3")
	var leaving []string
	a := w.join("a", func(o *Options) { o.Leaving = func(shard string) { leaving = append(leaving, shard) } })
	said := func(what string, want ...string) {
		t.Helper()
		if slices.Sort(leaving); !slices.Equal(leaving, want) {
			t.Errorf("%s: it is leaving %q, want %q", what, leaving, want)
		}
	}
	w.advance(time.Second)
	a.Left("3") // nobody has asked
	w.join("b")
	w.advance(ttl + ttl/6 + 50*time.Millisecond)
	said("there is another pod", "2", "3")
	w.wants("nothing is left yet", "a: 0 1 2 3, b:")
	a.Left("3")
	a.told()
	w.advance(ttl/6 + 50*time.Millisecond)
	w.wants("one is left", "a: 0 1 2, b: 3")
	w.advance(Farewell - ttl/2)
	w.wants("the other is not", "a: 0 1 2, b: 3")
	w.advance(ttl)
	w.wants("it was held for long enough", "a: 0 1, b: 2 3")
	said("these are its share", "2", "3")

	a.end()
	w.advance(ttl / 2)
	said("at the end", "0", "1", "2", "3")
	w.wants("the end waits", "a: 0 1, b: 2 3")
	a.Left("0")
	a.told()
	w.advance(ttl / 2)
	w.wants("its other shard is kept", "a: 1, b: 0 2 3")
	w.advance(Farewell)
	w.wants("the end", "a:, b: 0 1 2 3")
	if !a.ended {
		t.Error("it has not ended")
	}
}

// A pod that is leaving a shard loses it like any other.
func TestLeavingWhatIsLost(t *testing.T) {
	w := newWorld(t, 1, "0", "1")
	told := 0
	a := w.join("a", func(o *Options) { o.Leaving = func(string) { told++ } })
	w.advance(time.Second)
	w.join("b")
	w.advance(ttl + ttl/6 + 50*time.Millisecond)
	if lease := a.acting["1"]; told != 1 || lease.Epoch == 0 {
		t.Fatalf("told %d times, acting under %+v", told, lease)
	}
	a.Fenced(a.acting["1"])
	a.told()
	w.advance(10 * time.Millisecond)
	if _, acting := a.acting["1"]; acting {
		t.Error("it acts for a shard that is fenced")
	}
	a.Left("1")
	a.told()
	w.advance(2 * ttl)
	w.wants("both have their share", "a: 0, b: 1")
	if told != 1 {
		t.Errorf("told %d times of one", told)
	}
}

// Who is told of what is free takes it at once: of shards, and of the seat without which its share is all of them.
func TestLookingAtWhatWasReleased(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2", "3")
	var b *pod
	a := w.join("a", func(o *Options) {
		o.Released = func(name string) {
			if holder, _, err := w.store.Holder(context.Background(), name); holder != "" || err != nil {
				t.Errorf("%s is released, and held by %q", name, holder)
			}
			if b != nil {
				b.Look(name)
				b.told()
			}
		}
	})
	w.advance(time.Second)
	b = w.join("b")
	w.advance(10 * time.Second)
	w.wants("before", "a: 0 1, b: 2 3")
	a.end()
	w.advance(30 * time.Millisecond)
	w.wants("b was told", "a:, b: 0 1 2 3")
}

func TestReleasedIsToldWhenTheStoreHasIt(t *testing.T) {
	w := newWorld(t, 1, "0", "1")
	var released []string
	w.join("a", func(o *Options) {
		o.Released = func(name string) {
			if holder, _, err := w.store.Holder(context.Background(), name); holder != "" || err != nil {
				t.Errorf("%s is released, and held by %q", name, holder)
			}
			released = append(released, name)
		}
	})
	w.advance(time.Second)
	w.pods["a"].end()
	w.advance(time.Second)
	slices.Sort(released)
	if !slices.Equal(released, []string{"0", "1", "seat:smf:0"}) {
		t.Errorf("released: %q", released)
	}
}

// What is said while the store is asked counts, too: its answer may be of before.
func TestLookingWhileOneLooks(t *testing.T) {
	w := newWorld(t, 1, "0")
	w.join("a")
	w.advance(time.Second)
	b := w.join("b")
	w.advance(time.Second)
	asked := func() (looks []Request) {
		requests, _ := b.Step()
		for _, r := range requests {
			if r.Op == OpLook && r.Lease.Shard == "0" {
				looks = append(looks, r)
			}
		}
		return looks
	}
	b.dead = true // the test is its loop
	b.Look("0")
	looks := asked()
	if len(looks) != 1 {
		t.Fatalf("it looks %d times", len(looks))
	}
	b.Look("0")
	if again := asked(); len(again) != 0 {
		t.Errorf("it looks again before the store has answered: %+v", again)
	}
	b.Answered(looks[0], Answer{Holder: "a", Epoch: 1})
	if again := asked(); len(again) != 1 {
		t.Errorf("then it looks %d times", len(again))
	}
}

func TestAPodThatDies(t *testing.T) {
	for name, c := range map[string]struct {
		tell   func(b *pod)
		within time.Duration
		still  time.Duration
	}{
		"nobody says so: its leases end":          {func(*pod) {}, ttl + ttl/6 + 20*time.Millisecond, ttl / 2},
		"it does not answer: its leases end":      {func(b *pod) { b.Gone("a") }, ttl + ttl/12 + 20*time.Millisecond, ttl / 2},
		"it is dead for certain: they are ended":  {func(b *pod) { b.Dead("a") }, 30 * time.Millisecond, 0},
		"another one is dead: its leases stay":    {func(b *pod) { b.Dead("c") }, ttl + ttl/6 + 20*time.Millisecond, ttl / 2},
		"it says so of itself: that is no reason": {func(b *pod) { b.Dead("b") }, ttl + ttl/6 + 20*time.Millisecond, ttl / 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, "0", "1")
			w.join("a")
			w.advance(time.Second)
			b := w.join("b")
			w.advance(10 * time.Second)
			w.wants("before", "a: 0, b: 1")
			w.pods["a"].kill()
			c.tell(b)
			b.told()
			w.advance(c.still)
			if c.still > 0 {
				w.wants("while a's lease goes on", "b: 1")
			}
			w.advance(c.within - c.still)
			w.wants("after it", "b: 0 1")
		})
	}
}

// A container that is started anew in its pod takes its shards at once, and is not harmed by what its peers heard of the
// life before.
func TestANewLifeOfAPod(t *testing.T) {
	w := newWorld(t, 1, "0", "1")
	w.join("a")
	w.advance(time.Second)
	b := w.join("b")
	w.advance(10 * time.Second)
	before, _ := w.pods["a"].Lease("0")
	w.pods["a"].kill()
	w.join("a")
	w.advance(20 * time.Millisecond)
	w.wants("reborn", "a: 0, b: 1")
	after, _ := w.pods["a"].Lease("0")
	if after.Epoch <= before.Epoch {
		t.Errorf("the epoch was %d and is %d", before.Epoch, after.Epoch)
	}
	b.Dead("a")
	b.told()
	w.advance(time.Second)
	w.wants("b has heard of the death", "a: 0, b: 1")
}

func TestTheStoreIsAway(t *testing.T) {
	w := newWorld(t, 1, "0", "1")
	a := w.join("a")
	w.advance(10 * time.Second)
	away := true
	w.store.Away = func() bool { return away }
	w.advance(ttl / 2)
	w.wants("for less than a lease's life", "a: 0 1")
	away = false
	w.advance(time.Second)
	if w.moves != 0 {
		t.Errorf("%d shards were lost", w.moves)
	}
	away = true
	w.advance(ttl)
	w.wants("for longer", "a:")
	if len(a.acting) != 0 {
		t.Errorf("still acting for %v", a.acting)
	}
	w.advance(time.Minute)
	away = false
	w.advance(ttl/3 + 20*time.Millisecond)
	w.wants("back", "a: 0 1")
}

// What is said of a store that is away does not grow with the shards, nor with the time.
func TestAStoreThatIsAwayIsSaidOnce(t *testing.T) {
	shards := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
	w := newWorld(t, 1, shards...)
	logs := map[string]*bytes.Buffer{"a": {}, "b": {}}
	for name, log := range logs {
		w.join(name, func(o *Options) {
			o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey || a.Key == "error" || a.Key == "asked" || a.Key == "away" {
					return slog.Attr{}
				}
				return a
			}}))
		})
	}
	said := func() string {
		var out strings.Builder
		for _, name := range []string{"a", "b"} {
			for line := range strings.Lines(logs[name].String()) {
				if !strings.Contains(line, `"shard gained"`) && !strings.Contains(line, `"shard lost"`) {
					out.WriteString(name + ": " + line)
				}
			}
			logs[name].Reset()
		}
		return out.String()
	}
	w.advance(20 * time.Second)
	if got := said(); got != "" {
		t.Errorf("while all is well:\n%s", got)
	}
	away := true
	w.store.Away = func() bool { return away }
	w.advance(time.Minute)
	const warned = `level=WARN msg="the session store does not answer, shards are neither kept nor taken" held=4 shards=8` + "\n"
	if diff := cmp.Diff("a: "+warned+"b: "+warned, said()); diff != "" {
		t.Errorf("a minute in which the store is away (-want +got):\n%s", diff)
	}
	for range 10 {
		away = !away
		w.advance(ttl / 2)
	}
	if got := said(); got != "" {
		t.Errorf("there and away in turns:\n%s", got)
	}
	away = false
	w.advance(20 * time.Second)
	const well = `level=INFO msg="the session store answers again" shards=8 held=4` + "\n"
	if diff := cmp.Diff("a: "+well+"b: "+well, said()); diff != "" {
		t.Errorf("it is back (-want +got):\n%s", diff)
	}
}

// A holder stops by its own clock before anybody else can begin, also where its clock is slow.
func TestALeaseEndsByTheClockOfItsHolder(t *testing.T) {
	w := newWorld(t, 1, "0")
	a := w.join("a")
	a.rate = 0.95
	w.advance(10 * time.Second)
	b := w.join("b")
	w.advance(time.Second)
	a.rate, b.rate = 0.95, 1.05
	// a is cut off from the store.
	w.store.Fault = func(op string) memory.Fault {
		if op == "Renew" {
			return memory.LostRequest
		}
		return memory.None
	}
	var gap time.Duration
	for range 4000 {
		w.advance(time.Millisecond)
		if w.have() == "a:, b:" {
			gap += time.Millisecond
		}
	}
	if gap == 0 || gap > ttl/3 {
		t.Errorf("nobody held the shard for %s", gap)
	}
}

func TestARenewalThatIsAnsweredLate(t *testing.T) {
	w := newWorld(t, 1, "0")
	a := w.join("a")
	w.advance(ttl)
	before, ok := a.Lease("0")
	if !ok {
		t.Fatal("no lease")
	}
	w.delay = func() time.Duration { return ttl / 4 } // half a lease's life for an exchange: above what Run waits
	w.advance(2 * ttl)
	w.delay = func() time.Duration { return time.Millisecond }
	w.advance(ttl)
	after, ok := a.Lease("0")
	if !ok || after.Epoch <= before.Epoch {
		t.Errorf("the epoch was %d and is %d, %v: what was lost is taken anew", before.Epoch, after.Epoch, ok)
	}
}

func TestASlowStore(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2", "3")
	w.delay = func() time.Duration { return 100*time.Millisecond + time.Duration(w.rand.IntN(200))*time.Millisecond }
	w.join("a")
	w.join("b")
	w.advance(30 * time.Second)
	if got := w.held(); !slices.Equal(got, []int{2, 2}) {
		t.Errorf("with exchanges of 200 to 600 ms they hold %v", got)
	}
	moved := w.moves
	w.advance(time.Minute)
	if w.moves != moved {
		t.Errorf("%d shards moved in a minute in which nothing happened", w.moves-moved)
	}
}

func TestAFencedLease(t *testing.T) {
	w := newWorld(t, 1, "0", "1")
	a := w.join("a")
	w.advance(time.Second)
	before, _ := a.Lease("0")
	a.Fenced(sessionstore.Lease{Shard: "0", Epoch: before.Epoch - 1})
	if _, ok := a.Lease("0"); !ok {
		t.Error("an old lease was fenced, and the new one is not used any more")
	}
	a.Fenced(before)
	if _, ok := a.Lease("0"); ok {
		t.Error("a lease that the store has refused may be used")
	}
	a.told()
	w.advance(20 * time.Millisecond)
	after, ok := a.Lease("0")
	if !ok || after.Epoch <= before.Epoch {
		t.Errorf("after it the lease is %+v, %v", after, ok)
	}
}

// A store that has forgotten gives new leases to those who had one.
func TestAnotherGeneration(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(t, seed, "0", "1", "2", "3")
		w.join("a")
		w.join("b")
		w.advance(20*time.Second + time.Duration(w.rand.IntN(1000))*time.Millisecond)
		before := w.have()
		w.store.Forget()
		w.advance(ttl/3 + ttl/12 + 20*time.Millisecond)
		w.wants("when all have renewed", before)
		w.advance(3 * ttl)
		w.wants("later", before)
		for name, p := range w.pods {
			for shard, l := range p.acting {
				if l.Generation != w.generation() {
					t.Errorf("%s acts for %s under %+v", name, shard, l)
				}
			}
		}
	}
}

// The same, where a pod comes to the shards of the other before that one knows: it has them, and waits.
func TestWhoTakesWhatTheStoreForgotWaits(t *testing.T) {
	w := newWorld(t, 3, "0", "1")
	a, b := w.join("a"), w.join("b")
	w.advance(20 * time.Second)
	w.store.Forget()
	a.kill() // from the store's side; by its own clock it would act until its lease ends
	lost := w.now
	b.Look("0")
	b.Look("1")
	b.told()
	for w.have() != "b: 0 1" {
		w.advance(10 * time.Millisecond)
		if w.now.Sub(lost) > 3*ttl {
			t.Fatal("b never acts for a's shard")
		}
	}
	if waited := w.now.Sub(lost); waited < ttl {
		t.Errorf("b acts for what a had after %s, before a's lease ended", waited)
	}
}

func TestTheSetChanges(t *testing.T) {
	w := newWorld(t, 1, "0", "1")
	a := w.join("a")
	w.advance(time.Second)
	for _, c := range []struct {
		shards []string
		want   string
	}{
		{[]string{"0", "1", "2", "3"}, "a: 0 1 2 3"},
		{[]string{"1", "3"}, "a: 1 3"},
		{nil, "a:"},
		{[]string{"0"}, "a: 0"},
	} {
		w.shards = []string{"0", "1", "2", "3"}
		if err := a.SetShards(c.shards); err != nil {
			t.Fatal(err)
		}
		a.told()
		w.advance(time.Second)
		w.wants(strings.Join(c.shards, " "), c.want)
		for _, shard := range w.shards {
			if holder, _, err := w.store.Holder(context.Background(), shard); err != nil || (holder != "") != slices.Contains(c.shards, shard) {
				t.Errorf("the store says that %q holds %s, %v", holder, shard, err)
			}
		}
	}
}

// Also what comes later is renewed with the rest: a dead pod's leases end together.
func TestLeasesEndTogether(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2")
	a := w.join("a")
	if err := a.SetShards([]string{"0"}); err != nil {
		t.Fatal(err)
	}
	for n := range w.shards {
		w.advance(400 * time.Millisecond)
		if err := a.SetShards(w.shards[:n+1]); err != nil {
			t.Fatal(err)
		}
		a.told()
	}
	w.advance(ttl)
	first, _ := a.Lease("0")
	for _, shard := range w.shards {
		if l, ok := a.Lease(shard); !ok || l.Until.Sub(first.Until).Abs() > 10*time.Millisecond {
			t.Errorf("the lease of %s ends at %s, that of 0 at %s", shard, l.Until, first.Until)
		}
	}
}

func TestAShardIsTakenOutOfTheSetOfTwoPods(t *testing.T) {
	w := newWorld(t, 1, "0", "1", "2", "3")
	w.join("a")
	w.advance(time.Second)
	w.join("b")
	w.advance(6 * time.Second)
	w.wants("before", "a: 0 1, b: 2 3")
	for _, p := range w.pods {
		if err := p.SetShards([]string{"1", "2", "3"}); err != nil {
			t.Fatal(err)
		}
		p.told()
	}
	w.advance(time.Minute)
	w.wants("after", "a: 1, b: 2 3")
	if len(w.pods["a"].acting) != 1 {
		t.Errorf("a acts for %v", w.pods["a"].acting)
	}
}

func TestHolder(t *testing.T) {
	w := newWorld(t, 1, "0", "1")
	w.join("a")
	w.advance(time.Second)
	b := w.join("b")
	w.advance(10 * time.Second)
	w.wants("they share", "a: 0, b: 1")
	if got := []string{b.Holder("0"), b.Holder("1"), b.Holder("2")}; !slices.Equal(got, []string{"a", "b", ""}) {
		t.Errorf("holders of 0, 1 and 2 are %q", got)
	}
}

func (w *world) allKnowTheStore() bool {
	for _, p := range w.pods {
		if p.generation == "" {
			return false
		}
	}
	return true
}

// leavesLate has every second pod leave shards at some time, or too late.
func leavesLate(w *world) func(*Options) {
	if w.rand.IntN(2) == 0 {
		return func(*Options) {}
	}
	return func(o *Options) {
		name := o.Holder
		o.Leaving = func(shard string) {
			p := w.pods[name]
			w.after(time.Duration(w.rand.Int64N(int64(2*Farewell))), func() {
				if !p.dead {
					p.Left(shard)
					p.told()
				}
			})
		}
	}
}

// What happens at random, a thousand times: never two that act for a shard (world.check), and in the end all are held.
func TestRandomSteps(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		w := newWorld(t, seed, "0", "1", "2", "3", "4")
		away, lossy := false, false
		w.store.Away = func() bool { return away }
		w.store.Fault = func(string) memory.Fault {
			if lossy {
				return memory.Fault(w.rand.IntN(4))
			}
			return memory.None
		}
		names := []string{"a", "b", "c", "d"}
		var forgot time.Time
		for range 1000 {
			name := names[w.rand.IntN(len(names))]
			p := w.pods[name]
			switch n := w.rand.IntN(40); {
			case n < 4 && (p == nil || p.ended):
				if w.now.Sub(forgot) > 2*ttl {
					w.join(name, leavesLate(w)).rate = 0.98 + 0.04*w.rand.Float64()
				}
			case n == 4 && p != nil:
				p.kill()
			case n == 5 && p != nil:
				p.kill()
				for _, other := range w.pods {
					other.Dead(name)
					other.told()
				}
			case n == 6 && p != nil && !p.ended:
				p.end()
			case n == 7:
				away = !away
			case n == 8:
				lossy = !lossy
			// A pod that is new cannot know that the store has just forgotten.
			case n == 9 && w.rand.IntN(4) == 0 && w.allKnowTheStore():
				w.store.Forget()
				forgot = w.now
			case n == 10 && p != nil:
				p.Gone(names[w.rand.IntN(len(names))])
				p.told()
			case n == 11:
				most := time.Duration(1+w.rand.IntN(1000)) * time.Millisecond
				w.delay = func() time.Duration { return time.Duration(w.rand.Int64N(int64(most))) }
			case n == 12:
				w.delay = func() time.Duration { return time.Millisecond }
			}
			w.advance(time.Duration(w.rand.IntN(300)) * time.Millisecond)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		away, lossy = false, false
		w.delay = func() time.Duration { return time.Millisecond }
		w.advance(2 * ttl)
		for _, name := range names {
			if p := w.pods[name]; p == nil || p.ended {
				w.join(name)
			}
		}
		w.advance(2*Farewell + 10*ttl)
		if got := w.held(); !slices.Equal(got, []int{2, 1, 1, 1}) {
			t.Fatalf("seed %d: at last they hold %v: %s", seed, got, w.have())
		}
	}
}

// hanging is a store that does not answer while it hangs.
type hanging struct {
	sessionstore.Store
	hang atomic.Bool
}

func (h *hanging) Renew(ctx context.Context, l sessionstore.Lease, ttl time.Duration) (sessionstore.Lease, error) {
	if h.hang.Load() {
		<-ctx.Done()
		return l, errors.Join(sessionstore.ErrUnknown, ctx.Err())
	}
	return h.Store.Renew(ctx, l, ttl)
}

func (h *hanging) Acquire(ctx context.Context, shard, holder string, ttl time.Duration) (sessionstore.Lease, error) {
	if h.hang.Load() {
		<-ctx.Done()
		return sessionstore.Lease{}, errors.Join(sessionstore.ErrUnknown, ctx.Err())
	}
	return h.Store.Acquire(ctx, shard, holder, ttl)
}

// Run does it all with goroutines and timers.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		store := memory.New(time.Now)
		store.Away = away.Load
		type run struct {
			*Keeper
			stop func()
			mu   sync.Mutex
			has  map[string]bool
			done chan struct{}
			hanging
		}
		begin := func(name string) *run {
			ctx, cancel := context.WithCancel(t.Context())
			r := &run{stop: cancel, has: map[string]bool{}, done: make(chan struct{}), hanging: hanging{Store: store}}
			var err error
			r.Keeper, err = New(Options{
				Holder: name, Set: "smf", Shards: []string{"0", "1"},
				Gained: func(l sessionstore.Lease) { r.mu.Lock(); r.has[l.Shard] = true; r.mu.Unlock() },
				Lost:   func(shard string) { r.mu.Lock(); delete(r.has, shard); r.mu.Unlock() },
			})
			if err != nil {
				t.Fatal(err)
			}
			go func() { defer close(r.done); r.Run(ctx, &r.hanging) }()
			return r
		}
		wait := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		count := func(r *run) int { r.mu.Lock(); defer r.mu.Unlock(); return len(r.has) }
		wants := func(what string, r *run, want ...string) {
			t.Helper()
			r.mu.Lock()
			defer r.mu.Unlock()
			got := map[string]bool{}
			for _, w := range want {
				got[w] = true
			}
			if diff := cmp.Diff(got, r.has); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		a := begin("a")
		wait(time.Millisecond)
		wants("a alone", a, "0", "1")
		b := begin("b")
		wait(2 * DefaultTTL)
		if count(a) != 1 || count(b) != 1 {
			t.Errorf("a has %d and b %d", count(a), count(b))
		}
		a.hang.Store(true)
		wait(DefaultTTL - DefaultTTL/10)
		wants("a, which cannot renew,", a)
		wait(DefaultTTL / 2)
		wants("b, when a's lease has ended,", b, "0", "1")
		a.hang.Store(false)
		wait(3 * DefaultTTL)
		if count(a) != 1 || count(b) != 1 {
			t.Errorf("again a has %d and b %d", count(a), count(b))
		}
		a.stop()
		wait(time.Millisecond)
		select {
		case <-a.done:
		default:
			t.Error("Run of a has not ended")
		}
		wants("a, which has ended,", a)
		wait(DefaultTTL / 6)
		wants("b, alone,", b, "0", "1")
		// With the store away there is an end, too.
		away.Store(true)
		b.stop()
		wait(DefaultTTL)
		select {
		case <-b.done:
		default:
			t.Error("Run of b has not ended")
		}
		wants("b, which has ended,", b)
	})
}

// Who was found to hold a shard when this pod wanted it is known well enough to be found dead.
func TestAPodThatDiesAfterItWasFasterThanUs(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	k, err := New(Options{
		Holder: "b", Set: "set", Shards: []string{"0"}, Now: func() time.Time { return now }, Gained: func(sessionstore.Lease) {}, Lost: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	const epoch = 7
	evicted := false
	for range 20 {
		now = now.Add(time.Millisecond)
		requests, _ := k.Step()
		for _, r := range requests {
			a := Answer{}
			switch {
			case r.Op == OpAcquire && r.Lease.Shard == "0": // free a moment ago
				a.Err = &sessionstore.HeldError{Shard: "0", Holder: "a", Epoch: epoch, Remaining: time.Minute}
			case r.Op == OpAcquire:
				a.Lease = sessionstore.Lease{Shard: r.Lease.Shard, Holder: "b", Epoch: 1, Generation: "g", Until: now.Add(time.Hour)}
			case r.Op == OpEvict:
				evicted = r.Lease.Shard == "0" && r.Lease.Holder == "a" && r.Lease.Epoch == epoch
				a.Err = sessionstore.ErrUnavailable
			}
			k.Answered(r, a)
			if r.Op == OpAcquire && a.Err != nil {
				k.Dead("a")
			}
		}
	}
	if !evicted {
		t.Error("the dead pod's lease is not ended")
	}
}

// hangs is a store that never comes back, whatever its callers want to wait.
type hangs struct {
	sessionstore.Store
	free chan struct{}
}

func (h hangs) Holder(ctx context.Context, shard string) (string, uint64, error) {
	<-h.free
	return h.Store.Holder(ctx, shard)
}

// A pod whose requests do not come back is started anew; one whose store is away is not.
func TestOnlyRequestsThatNeverComeBackAreNoLife(t *testing.T) {
	for name, c := range map[string]struct {
		store func(free chan struct{}) sessionstore.Store
		want  string
	}{
		"a request hangs":   {func(free chan struct{}) sessionstore.Store { return hangs{memory.New(time.Now), free} }, "has not come back from the session store"},
		"the store is away": {func(chan struct{}) sessionstore.Store { return away{memory.New(time.Now)} }, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			k, err := New(Options{Holder: "a", Set: "smf", Shards: []string{"0"}, Gained: func(sessionstore.Lease) {}, Lost: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			free, done := make(chan struct{}), make(chan struct{})
			go func() { defer close(done); k.Run(ctx, c.store(free)) }()
			time.Sleep(9 * DefaultTTL)
			if err := k.Alive(); err != nil {
				t.Errorf("%s: %v after 9 lives of a lease", name, err)
			}
			time.Sleep(2 * DefaultTTL)
			if err := k.Alive(); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: Alive says %v, want %q", name, err, c.want)
			}
			close(free)
			synctest.Wait()
			if err := k.Alive(); err != nil {
				t.Errorf("%s: %v, after requests came back", name, err)
			}
			cancel()
			<-done
		})
	}
}

// away is a store that refuses everything.
type away struct{ sessionstore.Store }

func (away) Holder(context.Context, string) (string, uint64, error) {
	return "", 0, sessionstore.ErrUnavailable
}
