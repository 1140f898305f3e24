package configuration

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

// twoUnits serve one data network, 10.45 and 2001:db8:45 cut in two; b is nearer to tracking area 2.
const twoUnits = `
slices:
- name: s
  sst: 1
  dataNetworks:
  - dnn: internet
    units:
    - {nodeID: 10.0.0.1, pools: [10.45.0.0/17, "2001:db8:45::/57"], static: [10.47.0.0/17, "2001:db8:47::/57"]}
    - {nodeID: 10.0.0.2, pools: [10.45.128.0/17], static: [10.47.128.0/17], tacs: ["000002", "000003"]}
    - {nodeID: 10.0.0.3, pools: [10.46.0.0/17], tacs: ["000003"]}
units:
- {nodeID: 10.0.0.1, capacity: 10}
- {nodeID: 10.0.0.2, capacity: 1000}
- {nodeID: 10.0.0.3, capacity: 1000, state: Draining}
`

func TestSelect(t *testing.T) {
	s, err := Parse([]byte(twoUnits))
	if err != nil {
		t.Fatal(err)
	}
	dn := s.Named("s", "internet")
	away, full := Live{Away: true}, Live{Sessions: 10}
	routes := []netip.Prefix{netip.MustParsePrefix("10.47.8.0/24")}
	for name, c := range map[string]struct {
		want Want
		live map[string]Live
		unit string
		why  Reason
	}{
		"the one that serves everywhere":                  {want: Want{TAC: 1, Type: n1.IPv4}, unit: "10.0.0.1"},
		"the nearer one":                                  {want: Want{TAC: 2, Type: n1.IPv4}, unit: "10.0.0.2"},
		"the nearer one, whatever its load":               {want: Want{TAC: 2, Type: n1.IPv4}, live: map[string]Live{"10.0.0.2": {Sessions: 999}}, unit: "10.0.0.2"},
		"not the nearer one that drains":                  {want: Want{TAC: 3, Type: n1.IPv4}, unit: "10.0.0.2"},
		"a farther one where the nearer one is away":      {want: Want{TAC: 2, Type: n1.IPv4}, live: map[string]Live{"10.0.0.2": away}, unit: "10.0.0.1"},
		"a farther one where the nearer one has refused":  {want: Want{TAC: 2, Type: n1.IPv4, Except: []string{"10.0.0.2"}}, unit: "10.0.0.1"},
		"a farther one that has IPv6":                     {want: Want{TAC: 2, Type: n1.IPv4v6}, unit: "10.0.0.1"},
		"the one that a static address is routed to":      {want: Want{TAC: 2, Type: n1.IPv4, IPv4: netip.MustParseAddr("10.47.0.9")}, unit: "10.0.0.1"},
		"a static prefix":                                 {want: Want{TAC: 2, Type: n1.IPv6, IPv6: netip.MustParsePrefix("2001:db8:47:1::/64")}, unit: "10.0.0.1"},
		"a static prefix that the type does not ask for":  {want: Want{TAC: 2, Type: n1.IPv4, IPv6: netip.MustParsePrefix("2001:db8:47:1::/64")}, unit: "10.0.0.2"},
		"no route to a static address":                    {want: Want{TAC: 2, Type: n1.IPv4, IPv4: netip.MustParseAddr("10.99.0.9")}, why: NoRoute},
		"a static address that is routed to another area": {want: Want{TAC: 1, Type: n1.IPv4, IPv4: netip.MustParseAddr("10.47.128.9")}, why: NoRoute},
		"one that takes framed routes": {
			want: Want{TAC: 2, Type: n1.IPv4, Routes: routes}, live: map[string]Live{"10.0.0.1": {Framed: true}, "10.0.0.2": {}}, unit: "10.0.0.1",
		},
		"the one that framed routes are routed to": {
			want: Want{TAC: 2, Type: n1.IPv4, Routes: routes}, live: map[string]Live{"10.0.0.1": {Framed: true}, "10.0.0.2": {Framed: true}}, unit: "10.0.0.1",
		},
		"framed routes that are routed to no unit as a whole": {
			want: Want{TAC: 2, Type: n1.IPv4, Routes: []netip.Prefix{netip.MustParsePrefix("10.47.0.0/16")}}, live: map[string]Live{"10.0.0.1": {Framed: true}, "10.0.0.2": {Framed: true}}, why: NoRoute,
		},
		"none takes framed routes": {want: Want{TAC: 2, Type: n1.IPv4, Routes: routes}, live: map[string]Live{"10.0.0.1": {}}, why: NotFramed},
		"the one that takes framed routes is away": {
			want: Want{TAC: 2, Type: n1.IPv4, Routes: routes}, live: map[string]Live{"10.0.0.1": {Away: true, Framed: true}, "10.0.0.2": {}}, why: NotInService,
		},
		"the one that takes framed routes is full":           {want: Want{TAC: 1, Type: n1.IPv4, Routes: routes}, live: map[string]Live{"10.0.0.1": {Framed: true, Sessions: 10}}, why: Full},
		"the lot falls on the session, and another has room": {want: Want{TAC: 2, Type: n1.IPv4, Lot: 30}, live: map[string]Live{"10.0.0.2": {Reduction: 30}}, unit: "10.0.0.1"},
		"the lot does not fall on it":                        {want: Want{TAC: 2, Type: n1.IPv4, Lot: 31}, live: map[string]Live{"10.0.0.2": {Reduction: 30}}, unit: "10.0.0.2"},
		"none may leave it out":                              {want: Want{TAC: 2, Type: n1.IPv4}, live: map[string]Live{"10.0.0.2": {Reduction: 100}}, unit: "10.0.0.2"},
		"the lot falls on it at all": {
			want: Want{TAC: 2, Type: n1.IPv4, Lot: 20}, live: map[string]Live{"10.0.0.1": {Reduction: 40}, "10.0.0.2": {Reduction: 20}}, why: Overloaded,
		},
		"it falls on it at one, the other is full": {
			want: Want{TAC: 2, Type: n1.IPv4, Lot: 20}, live: map[string]Live{"10.0.0.1": full, "10.0.0.2": {Reduction: 20}}, why: Overloaded,
		},
		"all away":                  {want: Want{TAC: 2, Type: n1.IPv4}, live: map[string]Live{"10.0.0.1": away, "10.0.0.2": away}, why: NotInService},
		"full":                      {want: Want{TAC: 1, Type: n1.IPv4}, live: map[string]Live{"10.0.0.1": full}, why: Full},
		"all of the type's is full": {want: Want{TAC: 2, Type: n1.IPv6}, live: map[string]Live{"10.0.0.1": full}, why: Full},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := s.Select(dn, c.want, c.live)
			if c.unit == "" {
				var why *Unavailable
				if !errors.As(err, &why) || why.Reason != c.why || !strings.Contains(err.Error(), "internet") {
					t.Fatalf("unit %v, error %v, want %s", u, err, c.why)
				}
				return
			}
			if err != nil || u.NodeID != c.unit {
				t.Errorf("unit %v, error %v, want %s", u, err, c.unit)
			}
		})
	}
	own := *dn // tracking area 2 is the second one's alone, and 4 is that of one which is not there
	own.OwnAreas = []uint32{2, 4}
	for name, c := range map[string]struct {
		want Want
		live map[string]Live
		unit string
		why  Reason
	}{
		"the one of the area":                       {want: Want{TAC: 2, Type: n1.IPv4}, unit: "10.0.0.2"},
		"elsewhere as ever":                         {want: Want{TAC: 1, Type: n1.IPv4}, unit: "10.0.0.1"},
		"an area that nobody has to itself":         {want: Want{TAC: 3, Type: n1.IPv4}, live: map[string]Live{"10.0.0.2": away}, unit: "10.0.0.1"},
		"it is away":                                {want: Want{TAC: 2, Type: n1.IPv4}, live: map[string]Live{"10.0.0.2": away}, why: NoneNear},
		"it is not there":                           {want: Want{TAC: 4, Type: n1.IPv4}, why: NoneNear},
		"it has refused":                            {want: Want{TAC: 2, Type: n1.IPv4, Except: []string{"10.0.0.2"}}, why: Full},
		"it has no addresses of the type":           {want: Want{TAC: 2, Type: n1.IPv6}, why: NoPool},
		"it asks for less":                          {want: Want{TAC: 2, Type: n1.IPv4, Lot: 30}, live: map[string]Live{"10.0.0.2": {Reduction: 30}}, why: Overloaded},
		"a static address that is routed elsewhere": {want: Want{TAC: 2, Type: n1.IPv4, IPv4: netip.MustParseAddr("10.47.0.9")}, why: NoRoute},
	} {
		t.Run("an area of its own: "+name, func(t *testing.T) {
			u, err := s.Select(&own, c.want, c.live)
			var why *Unavailable
			switch {
			case c.unit != "" && (err != nil || u.NodeID != c.unit):
				t.Errorf("unit %v, error %v, want %s", u, err, c.unit)
			case c.unit == "" && (!errors.As(err, &why) || why.Reason != c.why):
				t.Errorf("unit %v, error %v, want %s", u, err, c.why)
			}
		})
	}
	empty := *dn
	empty.Units = nil
	var why *Unavailable
	if _, err := s.Select(&empty, Want{Type: n1.IPv4}, nil); !errors.As(err, &why) || why.Reason != NoUnit {
		t.Errorf("no units: %v", err)
	}
	empty.Units = []Serving{dn.Units[2]}
	if _, err := s.Select(&empty, Want{TAC: 2, Type: n1.IPv4}, nil); !errors.As(err, &why) || why.Reason != NoneInArea {
		t.Errorf("another area: %v", err)
	}
	empty.Units = []Serving{dn.Units[1]}
	if _, err := s.Select(&empty, Want{TAC: 2, Type: n1.IPv6}, nil); !errors.As(err, &why) || why.Reason != NoPool {
		t.Errorf("no pool of the type: %v", err)
	}
	if u, err := s.Select(&empty, Want{TAC: 2, Type: n1.IPv4, Routes: []netip.Prefix{netip.MustParsePrefix("192.168.7.0/24")}}, map[string]Live{"10.0.0.2": {Framed: true}}); err != nil || u.NodeID != "10.0.0.2" {
		t.Errorf("framed routes to a unit that is alone: %v, %v", u, err)
	}
	if u, err := s.Select(&empty, Want{TAC: 2, Type: n1.IPv4, IPv4: netip.MustParseAddr("192.0.2.1")}, nil); err != nil || u.NodeID != "10.0.0.2" {
		t.Errorf("a unit that is alone has whatever is routed to it: %v, %v", u, err)
	}
}

// What units say of themselves counts: sessions are shared out by what is free of each.
func TestWhatUnitsSayCounts(t *testing.T) {
	s, err := Parse([]byte(`
slices: [{name: s, sst: 1, dataNetworks: [{dnn: internet, units: [{nodeID: a, pools: [10.45.0.0/17]}, {nodeID: b, pools: [10.45.128.0/17]}]}]}]
units: [{nodeID: a, address: "10.0.0.1:8805", capacity: 1000}, {nodeID: b, address: "10.0.0.2:8805", capacity: 1000}]
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		a, b Live
		want string
	}{
		"the first of equals":                      {Live{}, Live{}, "a"},
		"of empty ones the less loaded":            {Live{Load: 35}, Live{Load: 30}, "b"},
		"a load makes up for sessions":             {Live{Sessions: 10, Load: 90}, Live{Sessions: 99, Load: 0}, "b"},
		"as far as it goes":                        {Live{Sessions: 10, Load: 90}, Live{Sessions: 101, Load: 0}, "a"},
		"one that is full of other things is last": {Live{Load: 100}, Live{Sessions: 900, Load: 99}, "b"},
		"though not left out":                      {Live{Load: 100}, Live{Away: true}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := s.Select(s.Named("s", "internet"), Want{Type: n1.IPv4}, map[string]Live{"a": c.a, "b": c.b})
			if err != nil || u.NodeID != c.want {
				t.Errorf("unit %v, error %v, want %s", u, err, c.want)
			}
		})
	}
}

// world is a random Snapshot of one data network, what is live, and what a session wants.
func world(r *rand.Rand) (*Snapshot, *DataNetwork, Want, map[string]Live) {
	var units []Unit
	var serving []Serving
	live := map[string]Live{}
	for i := range r.IntN(8) {
		id := fmt.Sprintf("10.0.0.%d", i+1)
		units = append(units, Unit{NodeID: id, State: State(r.IntN(8) / 6), Capacity: uint64(r.IntN(4)) * 10})
		at := Serving{NodeID: id}
		if r.IntN(4) > 0 {
			at.Pools = append(at.Pools, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 45, byte(i), 0}), 24))
		}
		if r.IntN(2) > 0 {
			at.Pools = append(at.Pools, netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, byte(i)}), 48))
		}
		if r.IntN(2) > 0 {
			at.Static = append(at.Static, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 47, byte(i), 0}), 24))
		}
		for tac := range uint32(3) {
			if r.IntN(3) == 0 {
				at.TACs = append(at.TACs, tac)
			}
		}
		serving = append(serving, at)
		live[id] = Live{Sessions: uint64(r.IntN(35)), Away: r.IntN(6) == 0, Load: uint8(r.IntN(3) * r.IntN(51)), Reduction: uint8(r.IntN(3) * 40)}
	}
	s, err := New([]Slice{{Name: "s", SST: 1, DataNetworks: []DataNetwork{{
		DNN: "internet", Types: []n1.SessionType{n1.IPv4}, FiveQI: 9, ARP: ARP{Priority: 8}, AMBR: record.AMBR{Uplink: 1, Downlink: 1}, Units: serving,
		OwnAreas: [][]uint32{nil, {1}, {0, 3}}[r.IntN(3)],
	}}}}, units)
	if err != nil {
		panic(err)
	}
	want := Want{TAC: uint32(r.IntN(4)), Type: n1.SessionType(1 + r.IntN(3))}
	if r.IntN(4) == 0 {
		want.IPv4 = netip.AddrFrom4([4]byte{10, 47, byte(r.IntN(9)), 7})
	}
	if r.IntN(2) == 0 {
		want.Lot = uint8(1 + r.IntN(100))
	}
	if r.IntN(4) == 0 && len(units) > 0 {
		want.Except = []string{units[r.IntN(len(units))].NodeID}
	}
	return s, s.Named("s", "internet"), want, live
}

// Whatever is selected can serve, nothing that can is less loaded, the order in which units are written makes no
// difference, and nothing is refused that one could serve.
func TestSelectAgainstANaiveOne(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, dn, want, live := world(r)
		var able []*Unit
		near := false
		for _, at := range dn.Units {
			u := s.Unit(at.NodeID)
			has := func(v6 bool) bool {
				for _, p := range at.Pools {
					if p.Addr().Is6() == v6 {
						return true
					}
				}
				return false
			}
			routed := !want.IPv4.IsValid() || !HasIPv4(want.Type) || len(dn.Units) == 1
			for _, p := range at.Static {
				routed = routed || p.Contains(want.IPv4)
			}
			names := slices.Contains(at.TACs, want.TAC)
			ok := (names || len(at.TACs) == 0 && !slices.Contains(dn.OwnAreas, want.TAC)) && routed && u.State == InService && !live[u.NodeID].Away && !slices.Contains(want.Except, u.NodeID) &&
				(u.Capacity == 0 || live[u.NodeID].Sessions < u.Capacity) && (want.Lot == 0 || want.Lot > live[u.NodeID].Reduction) &&
				(!HasIPv4(want.Type) || want.IPv4.IsValid() || has(false)) && (!HasIPv6(want.Type) || has(true))
			if !ok {
				continue
			}
			if names && !near {
				able, near = nil, true
			}
			if names == near {
				able = append(able, u)
			}
		}
		got, err := s.Select(dn, want, live)
		if (err == nil) != (len(able) > 0) || err == nil && !slices.Contains(able, got) {
			t.Fatalf("seed %d: selected %v, %v of %v", seed, got, err, able)
		}
		if err != nil {
			continue
		}
		load := func(u *Unit) float64 {
			capacity := float64(u.Capacity)
			if capacity == 0 {
				capacity = usualCapacity
			}
			free := 1 - float64(live[u.NodeID].Load)/100
			if free == 0 {
				return math.Inf(1)
			}
			return float64(live[u.NodeID].Sessions) / capacity / free
		}
		before := func(u, got *Unit) bool {
			l, other := live[u.NodeID].Load, live[got.NodeID].Load
			return l < other || l == other && u.NodeID < got.NodeID
		}
		for _, u := range able {
			if load(u) < load(got)-1e-12 || load(u) == load(got) && before(u, got) {
				t.Fatalf("seed %d: selected %s with a load of %g, and %s has %g", seed, got.NodeID, load(got), u.NodeID, load(u))
			}
		}
		shuffled := *dn
		shuffled.Units = slices.Clone(dn.Units)
		r.Shuffle(len(shuffled.Units), func(i, j int) { shuffled.Units[i], shuffled.Units[j] = shuffled.Units[j], shuffled.Units[i] })
		if again, err := s.Select(&shuffled, want, live); err != nil || again != got {
			t.Fatalf("seed %d: in another order %v, %v, want %v", seed, again, err, got)
		}
	}
}
