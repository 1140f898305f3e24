package pfcp

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// storm is an endpoint, a unit, and a network between them that loses, repeats, delays and reorders; the unit restarts,
// forgets the association, or is away for a while. All of it follows from a seed.
type storm struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	e      *Endpoint
	bad    bool // the network is
	away   bool // the unit is
	flying []flight

	stamp      Stamp
	stamps     []Stamp // that the unit ever had
	associated bool
	answers    map[string][]byte // by request, of this life
	executed   map[uint64]int    // by CP SEID
	life       map[uint64]Stamp  // in which it was last
	sequence   uint32
	asked      map[uint32]bool // reports that are not acknowledged

	outcomes map[uint64][]Outcome
	restarts []UnitRestarted
	handed   map[uint32]int // reports by their number
}

type flight struct {
	at     time.Time
	toUnit bool
	b      []byte
}

// fly has the network carry a datagram, or not, or twice.
func (s *storm) fly(toUnit bool, b []byte) {
	copies := 1
	if s.bad {
		copies = []int{0, 1, 1, 1, 2}[s.random.IntN(5)]
	}
	for range copies {
		delay := time.Millisecond
		if s.bad {
			delay += time.Duration(s.random.Int64N(int64(1500 * time.Millisecond)))
		}
		s.flying = append(s.flying, flight{s.now.Add(delay), toUnit, b})
	}
}

// unit is the UP function: it does what the requests say, once.
func (s *storm) unit(b []byte) {
	m, err := wire.Parse(b)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.away {
		return
	}
	if m.Type == report+1 {
		delete(s.asked, m.Sequence)
		return
	}
	if !wire.IsRequest(m.Type) {
		return
	}
	if old, ok := s.answers[string(b)]; ok {
		s.fly(false, old)
		return
	}
	no := cause(ie.CauseNoEstablishedPFCPAssociation)
	var ies []*ie.IE
	var header *uint64
	switch {
	case m.Type == heartbeat:
		ies = []*ie.IE{s.stamp.element()}
	case m.Type == setup:
		s.associated = true
		ies = []*ie.IE{upf, accepted, s.stamp.element(), featuresElement(able)}
	case m.Type == update && s.associated:
		ies = []*ie.IE{upf, accepted}
	case m.Type == update:
		ies = []*ie.IE{upf, no}
	case m.Type == establishment && s.associated:
		seid, _, _, err := m.Elements.First(ie.FSEID).FSEID()
		if err != nil {
			s.t.Fatal(err)
		}
		s.executed[seid]++
		s.life[seid] = s.stamp
		header, ies = &seid, []*ie.IE{upf, accepted, ie.NewFSEID(seid, []byte{192, 0, 2, 1}, nil)}
	default:
		header, ies = new(uint64), []*ie.IE{upf, no}
	}
	out, err := wire.Marshal(m.Type+1, header, m.Sequence, ies)
	if err != nil {
		s.t.Fatal(err)
	}
	s.answers[string(b)] = out
	s.fly(false, out)
}

// report is sent again until it is acknowledged, as upf-c does.
func (s *storm) report(sequence uint32) {
	seid := uint64(sequence)
	b, err := wire.Marshal(report, &seid, sequence, []*ie.IE{ie.NewReportType(1, 0, 0, 0)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.fly(false, b)
}

func (s *storm) restart() {
	s.stamp += Stamp(1 + s.random.IntN(100))
	s.stamps = append(s.stamps, s.stamp)
	s.associated, s.answers, s.asked = false, map[string][]byte{}, map[uint32]bool{}
}

func (s *storm) handle(ev Event) {
	switch ev := ev.(type) {
	case UnitRestarted:
		s.restarts = append(s.restarts, ev)
	case SessionReport:
		s.handed[uint32(ev.CPSEID)]++
		answer := func() {
			if err := s.e.AnswerSessionReport(ev.Token, SessionReportAnswer{Cause: ie.CauseRequestAccepted, UPSEID: 1}); err != nil {
				s.t.Errorf("the answer to a report of now: %v", err)
			}
		}
		if s.bad && s.random.IntN(4) == 0 {
			s.e.Silent(ev.Token)
			s.handed[uint32(ev.CPSEID)]--
			return
		}
		answer()
	}
}

// step lets a moment pass.
func (s *storm) step(d time.Duration) {
	s.now = s.now.Add(d)
	slices.SortStableFunc(s.flying, func(a, b flight) int { return a.at.Compare(b.at) })
	for len(s.flying) > 0 && !s.flying[0].at.After(s.now) {
		f := s.flying[0]
		s.flying = s.flying[1:]
		if f.toUnit {
			s.unit(f.b)
		} else {
			s.e.Receive(unitAddr, f.b)
		}
	}
	if at, ok := s.e.NextDeadline(); ok && !at.After(s.now) {
		s.e.Tick(s.now)
	}
}

// run a storm; accepted is how many requests were.
func run(t *testing.T, seed uint64) (accepted int) {
	s := &storm{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_760_000_000, 0), bad: true, stamp: born, stamps: []Stamp{born},
		answers: map[string][]byte{}, executed: map[uint64]int{}, life: map[uint64]Stamp{}, asked: map[uint32]bool{}, outcomes: map[uint64][]Outcome{}, handed: map[uint32]int{},
	}
	var err error
	s.e, err = New(Config{
		Node: "smf-0", IPv4: netip.MustParseAddr("198.51.100.1"), Recovery: 5, Clock: func() time.Time { return s.now }, Random: s.random, Window: 16,
		Send: func(_ netip.AddrPort, b []byte) { s.fly(true, slices.Clone(b)) }, Handle: s.handle, Metrics: NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.e.AddUnit(Unit{NodeID: "upf-0", Address: unitAddr, Recovery: born, Associated: seed%2 == 0}); err != nil {
		t.Fatal(err)
	}
	next := uint64(1)
	for range 2000 {
		switch s.random.IntN(400) {
		case 0:
			s.restart()
		case 1:
			s.associated = false
		case 2, 3:
			s.away = !s.away
		}
		if s.random.IntN(10) == 0 {
			seid := next
			next++
			s.e.Do(Request{Unit: "upf-0", Kind: Establishment, Priority: Priority(s.random.IntN(3)), CPSEID: seid},
				func(o Outcome) {
					s.outcomes[seid] = append(s.outcomes[seid], o)
					// Whoever has heard of a restart must not hear afterwards that what the unit had before it is there.
					if n := len(s.restarts); n > 0 && o.Err == nil && newer(s.restarts[n-1].New, s.life[seid]) {
						t.Errorf("request %d is accepted by a unit that has restarted since", seid)
					}
				})
		}
		if s.random.IntN(40) == 0 && !s.away {
			s.sequence++
			s.asked[s.sequence] = true
		}
		for sequence := range s.sequence + 1 {
			if s.asked[sequence] && s.random.IntN(20) == 0 {
				s.report(sequence)
			}
		}
		s.step(time.Duration(s.random.Int64N(int64(100 * time.Millisecond))))
	}
	s.bad, s.away = false, false
	for range 1200 { // calm
		s.step(50 * time.Millisecond)
	}
	if u := s.e.Units()[0]; u.State != Ready || u.Recovery != s.stamp || u.UnderWay+u.Waiting != 0 {
		t.Errorf("after the storm: %+v, the unit has stamp %d", u, s.stamp)
	}
	accepted, err = s.check(next)
	if err != nil {
		t.Error(err)
	}
	return accepted
}

// check what must hold whatever happened.
func (s *storm) check(next uint64) (done int, err error) {
	for seid := uint64(1); seid < next; seid++ {
		o := s.outcomes[seid]
		if len(o) != 1 {
			return done, fmt.Errorf("request %d has %d outcomes", seid, len(o))
		}
		switch n := s.executed[seid]; {
		case isNotSent(o[0].Err) && n != 0:
			return done, fmt.Errorf("request %d was not sent, and was executed %d times", seid, n)
		case o[0].Err == nil && n == 0:
			return done, fmt.Errorf("request %d was accepted, and never executed", seid)
		case o[0].Err == nil:
			done++
			if _, ok := o[0].Answer.(*message.SessionEstablishmentResponse); !ok {
				return done, fmt.Errorf("request %d has the answer %T", seid, o[0].Answer)
			}
		}
	}
	known := s.stamps[0]
	for _, r := range s.restarts {
		if r.Old != known || !slices.Contains(s.stamps, r.New) || !newer(r.New, r.Old) {
			return done, fmt.Errorf("told a restart from %d to %d, %d was known; stamps %v", r.Old, r.New, known, s.stamps)
		}
		known = r.New
	}
	if known != s.stamp {
		return done, fmt.Errorf("the last restart was not told: %d is known, the unit has %d", known, s.stamp)
	}
	for sequence, n := range s.handed {
		if n > 1+int(100*time.Second/(30*time.Second)) { // when its answer was forgotten
			return done, fmt.Errorf("report %d was handed on %d times", sequence, n)
		}
	}
	return done, nil
}

func TestStorm(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 10
	}
	accepted := 0
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { accepted += run(t, seed) })
	}
	if accepted < int(seeds)*10 {
		t.Errorf("%d requests were accepted in %d storms", accepted, seeds)
	}
}
