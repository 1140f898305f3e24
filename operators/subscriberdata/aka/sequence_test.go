package aka

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/operators/subscriberdata/aka/akatest"
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

const supi = "imsi-208930000000001"

func next(t *testing.T, s *Sequences) SQN {
	t.Helper()
	n, err := s.Next(supi)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNextGrowsWithinATickAndOverTime(t *testing.T) {
	c := newClock()
	s := NewSequences(c.now)
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

func TestNextGrowsAcrossARestart(t *testing.T) {
	c := newClock()
	before := NewSequences(c.now)
	var last SQN
	for range 20 {
		last = next(t, before)
		c.advance(Tick / 4)
	}
	c.advance(2 * time.Second)
	if n := next(t, NewSequences(c.now)); n>>IndexBits <= last>>IndexBits {
		t.Errorf("SEQ %d after the restart, %d before it", n>>IndexBits, last>>IndexBits)
	}
}

func TestNextSurvivesAClockThatStepsBack(t *testing.T) {
	c := newClock()
	s := NewSequences(c.now)
	last := next(t, s)
	c.advance(-time.Hour)
	if n := next(t, s); n <= last {
		t.Errorf("SQN %d after %d", n, last)
	}
}

func TestNextUsesTheWholeIndexArray(t *testing.T) {
	s := NewSequences(newClock().now)
	seen := make(map[SQN]bool)
	for range 1 << IndexBits {
		seen[next(t, s)&(1<<IndexBits-1)] = true
	}
	if len(seen) != 1<<IndexBits {
		t.Errorf("%d values of IND, want %d", len(seen), 1<<IndexBits)
	}
}

func TestSequencesBoundTheirMemory(t *testing.T) {
	c := newClock()
	s := NewSequences(c.now)
	for i := range 20000 {
		if _, err := s.Next(fmt.Sprintf("imsi-%015d", i)); err != nil {
			t.Fatal(err)
		}
		c.advance(time.Millisecond)
	}
	if len(s.state) > 4000 {
		t.Errorf("%d entries for subscribers that are long done", len(s.state))
	}
}

func TestNextIsSafeForConcurrentUse(t *testing.T) {
	s := NewSequences(newClock().now)
	var mu sync.Mutex
	seen := make(map[SQN]bool)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				n, err := s.Next(supi)
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
	sequences *Sequences
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
			n := &network{t: t, c: credentials(t, Encoded{K: set.k, OPc: set.opc}), sequences: NewSequences(c.now)}
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
			n.sequences = NewSequences(c.now)
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
	n := &network{t: t, c: credentials(t, Encoded{K: set.k, OPc: set.opc}), sequences: NewSequences(c.now)}
	u := &akatest.USIM{K: octets16(t, set.k), OPc: octets16(t, set.opc)}
	rnd, auts, err := n.authenticate(u)
	if !errors.Is(err, akatest.ErrSync) {
		t.Fatal(err)
	}
	n.sequences = NewSequences(c.now)
	before := next(t, n.sequences)
	n.resynchronise(rnd, auts, false)
	if after := next(t, n.sequences); after <= before {
		t.Errorf("SQN %d after %d: a replayed AUTS moved it back", after, before)
	}
}

func TestResynchroniseKeepsWhatTheUSIMAcceptsAnyway(t *testing.T) {
	c := newClock()
	s := NewSequences(c.now)
	first := next(t, s)
	if err := s.Resynchronise(supi, first-64<<IndexBits, true); err != nil {
		t.Fatal(err)
	}
	if second := next(t, s); second>>IndexBits != first>>IndexBits+1 {
		t.Errorf("SEQ %d after %d: the offset changed", second>>IndexBits, first>>IndexBits)
	}
}

func TestResynchroniseRefusesAnExhaustedUSIM(t *testing.T) {
	s := NewSequences(newClock().now)
	if err := s.Resynchronise(supi, 1<<48-1, true); !errors.Is(err, ErrSequenceExhausted) {
		t.Errorf("error %v, want %v", err, ErrSequenceExhausted)
	}
	if _, err := s.Next(supi); err != nil {
		t.Errorf("the refused number is in force: %v", err)
	}
}
