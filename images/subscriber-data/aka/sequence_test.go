package aka

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/subscriber-data/aka/akatest"
)

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// ledger is where ticks are reserved: what a restart finds.
type ledger struct {
	mu     sync.Mutex
	tick   uint64
	writes int
	err    error
	// hold, where it is not nil, is received from before a write.
	hold chan struct{}
}

func (l *ledger) reserve(ctx context.Context, tick uint64) error {
	if l.hold != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.hold:
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	if l.err != nil {
		return l.err
	}
	l.tick = max(l.tick, tick)
	return nil
}

func (l *ledger) read() (tick uint64, writes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tick, l.writes
}

// process is a generator, and what one process remembers.
type process struct {
	*Sequences
	mu    sync.Mutex
	state map[string]Sequence
}

func remembering(s *Sequences) *process {
	return &process{Sequences: s, state: make(map[string]Sequence)}
}

func (p *process) Next(ctx context.Context, supi string) (SQN, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, st, err := p.Sequences.Next(ctx, p.state[supi])
	p.state[supi] = st
	return n, err
}

func (p *process) Resynchronise(supi string, sqnMS SQN, fresh bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	st, err := p.Sequences.Resynchronise(p.state[supi], sqnMS, fresh)
	p.state[supi] = st
	return err
}

// start is a generator of a new process.
func (l *ledger) start(c *clock) *process {
	tick, _ := l.read()
	return remembering(NewSequences(c.now, tick, l.reserve))
}

const supi = "imsi-208930000000001"

func next(t *testing.T, s *process) SQN {
	t.Helper()
	n, err := s.Next(context.Background(), supi)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNextGrowsWithinATickAndOverTime(t *testing.T) {
	c := newClock()
	s := new(ledger).start(c)
	last := next(t, s)
	for i := range 1000 {
		if i%7 == 0 {
			c.advance(Tick / 3)
		}
		n := next(t, s)
		if n>>IndexBits <= last>>IndexBits {
			t.Fatalf("step %d: SEQ %d after %d", i, n>>IndexBits, last>>IndexBits)
		}
		last = n
	}
}

func TestNextGrowsAcrossRestarts(t *testing.T) {
	// What happens between two challenges of which the second comes after a restart.
	tests := map[string]struct {
		challenges int
		back       time.Duration // the clock is set back
		wantWrites int           // at most, by the process that is restarted
	}{
		"once":                                     {1, 0, 0},
		"a few within a tick":                      {20, 0, 0},
		"a burst that runs ahead for a minute":     {600, 0, 0},
		"a burst that runs ahead for a day":        {24 * 36000, 0, 2 * 24 * 36000 / block},
		"a clock that is set back by a month":      {1, 30 * 24 * time.Hour, 0},
		"a burst, and a clock that begins in 1970": {600, 57 * 365 * 24 * time.Hour, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, l := newClock(), new(ledger)
			var last SQN
			for process := range 3 {
				_, before := l.read()
				s := l.start(c)
				if err := s.Prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
				for i := range test.challenges {
					n := next(t, s)
					if n>>IndexBits <= last>>IndexBits {
						t.Fatalf("process %d, challenge %d: SEQ %d after %d", process, i, n>>IndexBits, last>>IndexBits)
					}
					last = n
				}
				// The process ends with a reservation under way, or without.
				s.Sequences.mu.Lock()
				done := s.underWay
				s.Sequences.mu.Unlock()
				if done != nil && process == 1 {
					<-done
				}
				if _, writes := l.read(); writes-before > test.wantWrites+1 {
					t.Errorf("%d writes for %d challenges, want at most %d", writes-before, test.challenges, test.wantWrites+1)
				}
				c.advance(Tick - test.back/3)
			}
		})
	}
}

// Where ticks cannot be reserved, nothing runs ahead of the clock, so that a restart needs to know nothing.
func TestNextWaitsForTheClockWhereNothingIsReserved(t *testing.T) {
	away := errors.New("the API server is away")
	for name, reserve := range map[string]Reserve{
		"nowhere to write to":              nil,
		"where it is written is not there": func(context.Context, uint64) error { return away },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			waited := 0
			start := func() *process {
				s := remembering(NewSequences(c.now, 0, reserve))
				s.wait = func(_ context.Context, d time.Duration) error {
					waited++
					c.advance(d)
					return nil
				}
				return s
			}
			s := start()
			var last SQN
			for i := range 100 {
				if i == 50 {
					s = start()
					c.advance(Tick) // no process starts within one
				}
				n := next(t, s)
				if n>>IndexBits <= last>>IndexBits {
					t.Fatalf("challenge %d: SEQ %d after %d", i, n>>IndexBits, last>>IndexBits)
				}
				if uint64(n>>IndexBits) > TickAt(c.now()) {
					t.Fatalf("challenge %d: SEQ %d, and the clock is at %d", i, n>>IndexBits, TickAt(c.now()))
				}
				last = n
			}
			if waited != 98 {
				t.Errorf("waited %d times for 100 challenges and one restart, want 98", waited)
			}
		})
	}
}

func TestNextGivesUpWhereTheClockIsTooFar(t *testing.T) {
	c, l := newClock(), &ledger{tick: TickAt(newClock().now()) + 100, err: errors.New("away")}
	s := l.start(c)
	if n, err := s.Next(t.Context(), supi); !errors.Is(err, ErrTooMany) {
		t.Errorf("SQN %d, error %v, want %v: the process before may have issued it", n, err, ErrTooMany)
	}
	c.advance(101 * Tick)
	next(t, s)
}

func TestNextHeedsItsContext(t *testing.T) {
	c, l := newClock(), &ledger{hold: make(chan struct{})}
	s := l.start(c)
	next(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := s.Next(ctx, supi)
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	// The reservation goes on for others.
	close(l.hold)
	next(t, s)
}

// The usual core writes once in minutes, whoever is challenged.
func TestReservationsAreFew(t *testing.T) {
	c, l := newClock(), new(ledger)
	s := l.start(c)
	for i := range 36000 {
		if _, err := s.Next(t.Context(), fmt.Sprintf("imsi-%015d", i%5000)); err != nil {
			t.Fatal(err)
		}
		c.advance(Tick)
	}
	if _, writes := l.read(); writes < 1 || writes > 13 {
		t.Errorf("%d writes in an hour, want at most one for each half block of 5 minutes", writes)
	}
}

func TestNextSurvivesAClockThatStepsBack(t *testing.T) {
	c := newClock()
	s := new(ledger).start(c)
	last := next(t, s)
	c.advance(-time.Hour)
	if n := next(t, s); n <= last {
		t.Errorf("SQN %d after %d", n, last)
	}
}

func TestNextUsesTheWholeIndexArray(t *testing.T) {
	s := new(ledger).start(newClock())
	seen := make(map[SQN]bool)
	for range 1 << IndexBits {
		seen[next(t, s)&(1<<IndexBits-1)] = true
	}
	if len(seen) != 1<<IndexBits {
		t.Errorf("%d values of IND, want %d", len(seen), 1<<IndexBits)
	}
}

// What is remembered of a subscriber may be forgotten when the clock has passed it, and no sooner.
func TestWhatNeedNotBeRemembered(t *testing.T) {
	c := newClock()
	for name, s := range map[string]*Sequences{"kept": KeptSequences(c.now, 0), "reserved": NewSequences(c.now, 0, new(ledger).reserve)} {
		_, once, err := s.Next(t.Context(), Sequence{})
		if err != nil {
			t.Fatal(err)
		}
		twice := once
		if _, twice, err = s.Next(t.Context(), once); err != nil {
			t.Fatal(err)
		}
		for sentence, tt := range map[string]struct {
			of    Sequence
			after time.Duration
			want  bool
		}{
			"within the tick":                    {once, 0, false},
			"a tick later":                       {once, Tick, true},
			"twice, a tick later":                {twice, Tick, false},
			"twice, two ticks later":             {twice, 2 * Tick, true},
			"a USIM that does not keep the time": {Sequence{1, -5}, time.Hour, false},
		} {
			c.advance(tt.after)
			if got := s.Needless(tt.of); got != tt.want {
				t.Errorf("%s: %s: %v", name, sentence, got)
			}
			c.advance(-tt.after)
		}
	}
}

// Where each number is kept, nothing waits for the clock or for a reservation, and whoever goes on from what is kept issues
// greater ones, also behind a clock that was set back.
func TestKeptSequencesGoOnInAnotherProcess(t *testing.T) {
	c := newClock()
	_, first, err := KeptSequences(c.now, TickAt(c.now())+500).Next(t.Context(), Sequence{})
	if err != nil || first.Last != TickAt(c.now())+501 {
		t.Errorf("behind what was reserved: %+v, %v", first, err)
	}
	var kept Sequence
	var last SQN
	for n := range 1000 {
		if n%300 == 299 {
			c.advance(-time.Hour)
		}
		got, now, err := KeptSequences(c.now, 0).Next(t.Context(), kept)
		if err != nil || got>>IndexBits <= last>>IndexBits {
			t.Fatalf("challenge %d: SEQ %d after %d, %v", n, got>>IndexBits, last>>IndexBits, err)
		}
		kept, last = now, got
	}
}

func TestNextIsSafeForConcurrentUse(t *testing.T) {
	s := new(ledger).start(newClock())
	var mu sync.Mutex
	seen := make(map[SQN]bool)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				n, err := s.Next(context.Background(), supi)
				mu.Lock()
				if err != nil || seen[n] {
					t.Errorf("SQN %d twice, error %v", n, err)
				}
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// network is the home network's side of one USIM.
type network struct {
	t         *testing.T
	c         Credentials
	sequences *process
}

// authenticate runs one challenge and returns what the USIM said.
func (n *network) authenticate(u *akatest.USIM) (rnd [16]byte, auts [14]byte, err error) {
	n.t.Helper()
	if _, err := rand.Read(rnd[:]); err != nil {
		n.t.Fatal(err)
	}
	v, err := n.c.Vector(rnd, next(n.t, n.sequences), snn)
	if err != nil {
		n.t.Fatal(err)
	}
	resStar, kseaf, auts, err := u.Challenge(v.RAND, v.AUTN, snn)
	if err == nil && (resStar != v.XRESStar || kseaf != v.KSEAF) {
		n.t.Fatal("both sides derive different values")
	}
	return rnd, auts, err
}

func (n *network) resynchronise(rnd [16]byte, auts [14]byte, fresh bool) {
	n.t.Helper()
	sqnMS, err := n.c.OpenAUTS(rnd, auts)
	if err != nil {
		n.t.Fatal(err)
	}
	if err := n.sequences.Resynchronise(supi, sqnMS, fresh); err != nil {
		n.t.Fatal(err)
	}
}

func TestAuthenticationAndResynchronisationWithAUSIM(t *testing.T) {
	set := milenageSets[0]
	// SEQ of a USIM that has followed the clock, one tick ago.
	current := uint64(newClock().now().UnixNano())/uint64(Tick) - 1
	tests := map[string]struct {
		seq uint64
		// wantResync: the first challenge ends in a synchronisation failure.
		wantResync bool
	}{
		"a USIM that follows the clock":                  {current, false},
		"a new USIM, further behind than it accepts":     {0, true},
		"a USIM a year behind":                           {current - 365*24*3600*10, true},
		"a USIM ahead of the clock by a minute":          {current + 600, true},
		"a USIM ahead of the clock by ten years":         {current + 10*365*24*3600*10, true},
		"a USIM of another core whose clock ran in 10ms": {current * 10, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			n := &network{t: t, c: credentials(t, Encoded{K: set.k, OPc: set.opc, AMF: set.amf}), sequences: new(ledger).start(c)}
			u := &akatest.USIM{K: octets16(t, set.k), OPc: octets16(t, set.opc)}
			for i := range u.SEQ {
				u.SEQ[i] = test.seq
			}
			rnd, auts, err := n.authenticate(u)
			if test.wantResync {
				if !errors.Is(err, akatest.ErrSync) {
					t.Fatalf("first challenge: %v, want %v", err, akatest.ErrSync)
				}
				n.resynchronise(rnd, auts, true)
				_, _, err = n.authenticate(u)
			}
			if err != nil {
				t.Fatalf("challenge: %v", err)
			}
			for range 100 {
				c.advance(Tick / 2)
				if _, _, err := n.authenticate(u); err != nil {
					t.Fatalf("later challenge: %v", err)
				}
			}
			// A restart forgets the offset: at worst one more resynchronisation.
			c.advance(time.Second)
			n.sequences = new(ledger).start(c)
			rnd, auts, err = n.authenticate(u)
			if errors.Is(err, akatest.ErrSync) {
				n.resynchronise(rnd, auts, true)
				_, _, err = n.authenticate(u)
			}
			if err != nil {
				t.Fatalf("after the restart: %v", err)
			}
		})
	}
}

func TestAnOldAUTSCannotTurnTheSequenceBack(t *testing.T) {
	set := milenageSets[0]
	c := newClock()
	n := &network{t: t, c: credentials(t, Encoded{K: set.k, OPc: set.opc, AMF: set.amf}), sequences: new(ledger).start(c)}
	u := &akatest.USIM{K: octets16(t, set.k), OPc: octets16(t, set.opc)}
	rnd, auts, err := n.authenticate(u)
	if !errors.Is(err, akatest.ErrSync) {
		t.Fatal(err)
	}
	n.sequences = new(ledger).start(c)
	before := next(t, n.sequences)
	n.resynchronise(rnd, auts, false)
	if after := next(t, n.sequences); after <= before {
		t.Errorf("SQN %d after %d: a replayed AUTS moved it back", after, before)
	}
}

func TestResynchroniseKeepsWhatTheUSIMAcceptsAnyway(t *testing.T) {
	c := newClock()
	s := new(ledger).start(c)
	first := next(t, s)
	if err := s.Resynchronise(supi, first-64<<IndexBits, true); err != nil {
		t.Fatal(err)
	}
	if second := next(t, s); second>>IndexBits != first>>IndexBits+1 {
		t.Errorf("SEQ %d after %d: the offset changed", second>>IndexBits, first>>IndexBits)
	}
}

func TestResynchroniseRefusesAnExhaustedUSIM(t *testing.T) {
	s := new(ledger).start(newClock())
	if err := s.Resynchronise(supi, 1<<48-1, true); !errors.Is(err, ErrSequenceExhausted) {
		t.Errorf("error %v, want %v", err, ErrSequenceExhausted)
	}
	if _, err := s.Next(t.Context(), supi); err != nil {
		t.Errorf("the refused number is in force: %v", err)
	}
}
