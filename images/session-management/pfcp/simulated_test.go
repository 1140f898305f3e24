package pfcp

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/extension"
	"core5g.dev/core5g/upf/upfc/simulated"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// pair is an endpoint and upf-c's own code, over a network that loses, repeats and delays, all in one thread; the halves of
// the UPF die and come back.
type pair struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	e      *Endpoint
	upf    *simulated.UPF
	bad    bool
	flying []flight

	upSEIDs  map[uint64]uint64 // of sessions that the unit has accepted since its last restart, by CP SEID
	outcomes map[string]int    // of each request
	restarts int
}

var shard = netip.MustParseAddrPort("198.51.100.1:8805")

func newPair(t *testing.T, seed uint64) *pair {
	t.Helper()
	p := &pair{
		t: t, random: rand.New(rand.NewPCG(seed, 2)), now: time.Unix(1_790_000_000, 0), bad: true,
		upSEIDs: map[uint64]uint64{}, outcomes: map[string]int{},
	}
	c, err := config.Parse([]byte(`
nodeID: upf-0
pfcp: {listen: "0.0.0.0:8805", advertise: 192.0.2.1}
n3: {endpoints: [172.30.3.16/28]}
uePools: [{networkInstance: internet, range: 10.60.0.0/24}]
`))
	if err != nil {
		t.Fatal(err)
	}
	c.State.File = ""
	p.upf = simulated.New(simulated.Options{
		Config: c, Start: p.now, Chance: rand.New(rand.NewPCG(seed, 3)),
		Send: func(_ netip.AddrPort, b []byte) { p.fly(false, b) },
		Fate: func() simulated.Fate {
			if p.bad && p.random.IntN(200) == 0 {
				return simulated.Fate(p.random.IntN(5))
			}
			return simulated.Done
		},
	})
	p.e, err = New(Config{
		Node: shard.Addr().String(), IPv4: shard.Addr(), Recovery: StampOf(p.now.Add(-time.Hour)), Clock: func() time.Time { return p.now }, Random: p.random,
		Send: func(_ netip.AddrPort, b []byte) { p.fly(true, slices.Clone(b)) }, Handle: p.handle, Metrics: NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.e.AddUnit(Unit{NodeID: "upf-0", Address: unitAddr}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) fly(toUnit bool, b []byte) {
	copies, delay := 1, time.Millisecond
	if p.bad {
		copies = []int{0, 1, 1, 1, 1, 1, 1, 2}[p.random.IntN(8)]
		delay += time.Duration(p.random.Int64N(int64(300 * time.Millisecond)))
	}
	for range copies {
		p.flying = append(p.flying, flight{p.now.Add(delay), toUnit, b})
	}
}

func (p *pair) handle(ev Event) {
	switch ev := ev.(type) {
	case UnitRestarted:
		p.restarts++
		p.upSEIDs = map[uint64]uint64{}
	case SessionReport:
		_ = p.e.AnswerSessionReport(ev.Token, SessionReportAnswer{Cause: ie.CauseRequestAccepted, UPSEID: p.upSEIDs[ev.CPSEID]})
	}
}

func (p *pair) step(d time.Duration) {
	p.now = p.now.Add(d)
	slices.SortStableFunc(p.flying, func(a, b flight) int { return a.at.Compare(b.at) })
	for len(p.flying) > 0 && !p.flying[0].at.After(p.now) {
		f := p.flying[0]
		p.flying = p.flying[1:]
		if f.toUnit {
			p.upf.Receive(shard, f.b)
		} else {
			p.e.Receive(unitAddr, f.b)
		}
	}
	p.upf.Tick(p.now)
	p.e.Tick(p.now)
}

func (p *pair) ask(r Request, done func(Outcome)) {
	r.Unit = "upf-0"
	name := fmt.Sprintf("%s %d", r.Kind, r.CPSEID)
	p.outcomes[name] += 0
	p.e.Do(r, func(o Outcome) {
		p.outcomes[name]++
		done(o)
	})
}

func (p *pair) establish(seid uint64) {
	s := newSession(seid)
	s.Type = n1.IPv4
	ies, err := n4.Establishment(s, settings)
	if err != nil {
		p.t.Fatal(err)
	}
	p.ask(Request{Kind: Establishment, CPSEID: seid, IEs: ies}, func(o Outcome) {
		if o.Err != nil {
			return
		}
		if err := n4.Established(s, o.Answer.(*message.SessionEstablishmentResponse)); err != nil {
			p.t.Errorf("session %d: %v", seid, err)
		}
		p.upSEIDs[seid] = s.UPSEID
	})
}

// list is what the unit says it has, by CP SEID.
func (p *pair) list() map[uint64]uint64 {
	p.t.Helper()
	out := map[uint64]uint64{}
	for cursor, more := uint64(0), true; more; {
		pages := 0
		p.e.List("upf-0", cursor, func(page extension.Page, err error) {
			if pages++; err != nil {
				p.t.Fatal(err)
			}
			for _, s := range page.Sessions {
				out[s.CP] = s.UP
			}
			cursor, more = page.Next, page.Next != 0
		})
		for range 10 {
			p.step(10 * time.Millisecond)
		}
		if pages != 1 {
			p.t.Fatalf("%d outcomes of a page", pages)
		}
	}
	return out
}

// chaos has halves of the UPF die, and come back.
func (p *pair) chaos() {
	switch p.random.IntN(300) {
	case 0:
		p.upf.KillUPFC()
	case 1:
		p.upf.KillUPFU()
	case 2:
		p.upf.KillUPFU()
		p.upf.KillUPFC()
	}
	if p.random.IntN(40) == 0 {
		p.upf.StartUPFU()
		p.upf.StartUPFC()
	}
}

// With upf-c's own code: what was accepted, and no restart told since, is there.
func TestSimulatedUPF(t *testing.T) {
	seeds, accepted, restarts := uint64(20), 0, 0
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := newPair(t, seed)
			next := uint64(1)
			for range 1500 {
				p.chaos()
				if p.random.IntN(10) == 0 {
					p.establish(next)
					next++
				}
				p.step(time.Duration(p.random.Int64N(int64(80 * time.Millisecond))))
			}
			p.bad = false
			p.upf.StartUPFU()
			p.upf.StartUPFC()
			for range 600 {
				p.step(100 * time.Millisecond)
			}
			if u := p.e.Units()[0]; u.State != Ready || u.UnderWay+u.Waiting != 0 {
				t.Fatalf("after the storm: %+v", u)
			}
			accepted += len(p.upSEIDs)
			restarts += p.restarts
			listed := p.list()
			for _, seid := range slices.Sorted(maps.Keys(p.upSEIDs)) {
				if listed[seid] != p.upSEIDs[seid] {
					t.Errorf("session %d is listed with UP SEID %#x, want %#x", seid, listed[seid], p.upSEIDs[seid])
				}
				p.ask(Request{Kind: Deletion, CPSEID: seid, UPSEID: p.upSEIDs[seid]}, func(o Outcome) {
					if o.Err != nil {
						t.Errorf("session %d was accepted, and its deletion is not: %v", seid, o.Err)
					}
				})
			}
			for range 50 {
				p.step(100 * time.Millisecond)
			}
			for name, n := range p.outcomes {
				if n != 1 {
					t.Errorf("%s has %d outcomes", name, n)
				}
			}
		})
	}
	if accepted < int(seeds) || restarts == 0 {
		t.Errorf("%d sessions were there in the end, %d restarts were told", accepted, restarts)
	}
}
