package placement

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const mi = 1 << 20

// cell builds a NUMA cell with hugepages of 2 MiB and VFs of a socket's own resource.
func cell(id int32, cpus int, pages int64, vfs int) Cell {
	return Cell{ID: id, CPUs: cpus, Hugepages: map[string]int64{"2Mi": pages * mi}, Devices: map[string]int{fmt.Sprintf("vf%d", id): vfs}}
}

func twoSockets(name string, cpus int) Node {
	return Node{Name: name, Cells: []Cell{cell(0, cpus, 1024, 4), cell(1, cpus, 1024, 4)}}
}

func units(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("upf-%d", i))
	}
	return out
}

var vfDemand = Demand{CPUs: 4, PageSize: "2Mi", Hugepages: 512 * mi, Devices: []string{"vf{cell}", "vf{cell}"}}

func TestPlan(t *testing.T) {
	tests := map[string]struct {
		inventory    Inventory
		request      Request
		want         map[string]Spot
		wantDevices  map[string][]string
		wantUnplaced []string
		wantMessage  string
	}{
		"one unit a socket": {
			inventory:   Inventory{twoSockets("w1", 8)},
			request:     Request{Units: units(2), Policy: PerSocket, Demand: vfDemand},
			want:        map[string]Spot{"upf-0": {"w1", 0}, "upf-1": {"w1", 1}},
			wantDevices: map[string][]string{"upf-0": {"vf0", "vf0"}, "upf-1": {"vf1", "vf1"}},
		},
		"a third unit on two sockets has no place, though CPUs are left": {
			inventory:    Inventory{twoSockets("w1", 8)},
			request:      Request{Units: units(3), Policy: PerSocket, Demand: vfDemand},
			want:         map[string]Spot{"upf-0": {"w1", 0}, "upf-1": {"w1", 1}},
			wantUnplaced: []string{"upf-2"},
			wantMessage:  "node w1 numa0: taken by upf-0; node w1 numa1: taken by upf-1",
		},
		"SingleNUMA shares a cell": {
			inventory: Inventory{{Name: "w1", Cells: []Cell{cell(0, 8, 1024, 4)}}},
			request:   Request{Units: units(2), Policy: SingleNUMA, Demand: vfDemand},
			want:      map[string]Spot{"upf-0": {"w1", 0}, "upf-1": {"w1", 0}},
		},
		"two that are to be apart are on two nodes, though one would be filled first": {
			inventory: Inventory{twoSockets("w1", 8), twoSockets("w2", 8)},
			request: Request{
				Units: []string{"upf-0", "upf-0-b"}, Policy: PerSocket, Pack: true, Demand: vfDemand, Apart: map[string]string{"upf-0": "upf-0-b", "upf-0-b": "upf-0"},
			},
			want:        map[string]Spot{"upf-0": {"w1", 0}, "upf-0-b": {"w2", 0}},
			wantDevices: map[string][]string{"upf-0": {"vf0", "vf0"}, "upf-0-b": {"vf0", "vf0"}},
		},
		"one that is to be apart from a running one shares its node where there is no other": {
			inventory: Inventory{twoSockets("w1", 8)},
			request: Request{
				Units: []string{"upf-0", "upf-0-b"}, Policy: PerSocket, Demand: vfDemand, Running: map[string]Spot{"upf-0": {"w1", 1}},
				Apart: map[string]string{"upf-0-b": "upf-0"},
			},
			want:        map[string]Spot{"upf-0": {"w1", 1}, "upf-0-b": {"w1", 0}},
			wantDevices: map[string][]string{"upf-0": {"vf1", "vf1"}, "upf-0-b": {"vf0", "vf0"}},
		},
		"the nearest miss is named first": {
			inventory: Inventory{
				{Name: "w1", Unusable: "is cordoned", Cells: []Cell{cell(0, 8, 1024, 4)}},
				{Name: "w2", Cells: []Cell{cell(0, 1, 0, 0), cell(1, 2, 1024, 4)}},
			},
			request:      Request{Units: units(1), Policy: PerSocket, Demand: vfDemand},
			wantUnplaced: []string{"upf-0"},
			wantMessage:  "node w2 numa1: 4 CPU needed, 2 free; node w2 numa0: 4 CPU needed, 1 free, 512Mi of 2Mi hugepages needed, 0 free, 2 vf0 needed, 0 free; node w1: is cordoned",
		},
		"Any takes a node as a whole": {
			inventory: Inventory{{Name: "w1", Cells: []Cell{cell(0, 2, 256, 1), cell(1, 2, 256, 1)}}},
			request:   Request{Units: units(1), Policy: Any, Demand: Demand{CPUs: 4, PageSize: "2Mi", Hugepages: 512 * mi}},
			want:      map[string]Spot{"upf-0": {"w1", AnyCell}},
		},
		"units spread over nodes": {
			inventory: Inventory{twoSockets("w1", 8), twoSockets("w2", 8)},
			request:   Request{Units: units(3), Policy: PerSocket, Demand: vfDemand},
			want:      map[string]Spot{"upf-0": {"w1", 0}, "upf-1": {"w2", 0}, "upf-2": {"w1", 1}},
		},
		"or fill one first": {
			inventory: Inventory{twoSockets("w1", 8), twoSockets("w2", 8)},
			request:   Request{Units: units(3), Policy: PerSocket, Demand: vfDemand, Pack: true},
			want:      map[string]Spot{"upf-0": {"w1", 0}, "upf-1": {"w1", 1}, "upf-2": {"w2", 0}},
		},
		"maxPerNode counts running units too": {
			inventory:    Inventory{twoSockets("w1", 8)},
			request:      Request{Units: units(2), Policy: SingleNUMA, Demand: vfDemand, MaxPerNode: 1, Running: map[string]Spot{"upf-1": {"w1", 1}}},
			want:         map[string]Spot{"upf-1": {"w1", 1}},
			wantUnplaced: []string{"upf-0"},
			wantMessage:  "node w1 numa0: placement.maxPerNode 1 is reached; node w1 numa1: placement.maxPerNode 1 is reached",
		},
		"a running unit stays where nothing is free any more": {
			inventory: Inventory{{Name: "w1", Unusable: "is cordoned", Cells: []Cell{cell(0, 0, 0, 0)}}, twoSockets("w2", 8)},
			request:   Request{Units: units(2), Policy: PerSocket, Demand: vfDemand, Running: map[string]Spot{"upf-0": {"w1", 0}}},
			want:      map[string]Spot{"upf-0": {"w1", 0}, "upf-1": {"w2", 0}},
		},
		"a wish is kept where it fits": {
			inventory: Inventory{twoSockets("w1", 8), twoSockets("w2", 8)},
			request:   Request{Units: units(2), Policy: PerSocket, Demand: vfDemand, Wished: map[string]Spot{"upf-1": {"w1", 0}}},
			want:      map[string]Spot{"upf-0": {"w2", 0}, "upf-1": {"w1", 0}},
		},
		"and given up where it does not": {
			inventory: Inventory{{Name: "w1", Cells: []Cell{cell(0, 1, 1024, 4), cell(1, 8, 1024, 4)}}},
			request:   Request{Units: units(1), Policy: PerSocket, Demand: vfDemand, Wished: map[string]Spot{"upf-0": {"w1", 0}}},
			want:      map[string]Spot{"upf-0": {"w1", 1}},
		},
		"a cell that has refused a unit is avoided": {
			inventory: Inventory{twoSockets("w1", 8)},
			request: Request{Units: units(1), Policy: PerSocket, Demand: vfDemand,
				Avoid: map[Spot]string{{"w1", 0}: "refused with TopologyAffinityError"}},
			want: map[string]Spot{"upf-0": {"w1", 1}},
		},
		"a VF of the other socket only where that is allowed": {
			inventory:    Inventory{{Name: "w1", Cells: []Cell{cell(0, 8, 1024, 0), cell(1, 0, 0, 4)}}},
			request:      Request{Units: units(1), Policy: PerSocket, Demand: vfDemand},
			wantUnplaced: []string{"upf-0"},
			wantMessage:  "node w1 numa0: 2 vf0 needed, 0 free; node w1 numa1: 4 CPU needed, 0 free, 512Mi of 2Mi hugepages needed, 0 free",
		},
		"remote NIC": {
			inventory:   Inventory{{Name: "w1", Cells: []Cell{cell(0, 8, 1024, 1), cell(1, 0, 0, 4)}}},
			request:     Request{Units: units(1), Policy: PerSocket, Demand: vfDemand, RemoteNIC: true},
			want:        map[string]Spot{"upf-0": {"w1", 0}},
			wantDevices: map[string][]string{"upf-0": {"vf0", "vf1"}},
		},
		"whole cores only": {
			inventory:    Inventory{{Name: "w1", Cells: []Cell{{ID: 0, CPUs: 8, CPUStep: 2}}}},
			request:      Request{Units: units(1), Policy: SingleNUMA, Demand: Demand{CPUs: 3}},
			wantUnplaced: []string{"upf-0"},
			wantMessage:  "node w1 numa0: the kubelet gives whole cores of 2 threads and 3 CPU are asked for: write a multiple of 2 in spec.cpus",
		},
		"nothing observed": {
			request:      Request{Units: units(1), Policy: SingleNUMA, Demand: vfDemand},
			wantUnplaced: []string{"upf-0"},
			wantMessage:  "no node has been observed: is the node agent running?",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Plan(test.inventory, test.request)
			spots := map[string]Spot{}
			for unit, a := range got.Assigned {
				spots[unit] = a.Spot
			}
			if diff := cmp.Diff(test.want, spots, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
			for unit, want := range test.wantDevices {
				if diff := cmp.Diff(want, got.Assigned[unit].Devices); diff != "" {
					t.Errorf("devices of %s (-want +got):\n%s", unit, diff)
				}
			}
			if diff := cmp.Diff(test.wantUnplaced, got.Unplaced, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("unplaced (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantMessage, got.Message()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// question is a random inventory with a random request, small enough to try every plan.
func question(r *rand.Rand) (Inventory, Request) {
	var inv Inventory
	for i := range 1 + r.IntN(3) {
		n := Node{Name: fmt.Sprintf("w%d", i)}
		if r.IntN(8) == 0 {
			n.Unusable = "is cordoned"
		}
		for id := range 1 + r.IntN(2) {
			n.Cells = append(n.Cells, cell(int32(id), r.IntN(7), int64(r.IntN(5)), r.IntN(4)))
		}
		inv = append(inv, n)
	}
	req := Request{
		Units:      units(1 + r.IntN(4)),
		Policy:     Policy(r.IntN(3)),
		RemoteNIC:  r.IntN(2) == 0,
		Pack:       r.IntN(2) == 0,
		MaxPerNode: r.IntN(3),
		Demand:     Demand{CPUs: 1 + r.IntN(3), PageSize: "2Mi", Hugepages: int64(r.IntN(3)) * mi},
		Running:    map[string]Spot{},
		Wished:     map[string]Spot{},
		Avoid:      map[Spot]string{},
	}
	for range r.IntN(3) {
		req.Demand.Devices = append(req.Demand.Devices, "vf{cell}")
	}
	anywhere := func() Spot {
		n := inv[r.IntN(len(inv))]
		if req.Policy == Any {
			return Spot{n.Name, AnyCell}
		}
		return Spot{n.Name, n.Cells[r.IntN(len(n.Cells))].ID}
	}
	taken := map[Spot]bool{}
	for _, unit := range req.Units {
		switch spot := anywhere(); r.IntN(4) {
		case 0:
			if req.Policy != PerSocket || !taken[spot] {
				req.Running[unit], taken[spot] = spot, true
			}
		case 1:
			req.Wished[unit] = spot
		}
	}
	if r.IntN(3) == 0 {
		req.Avoid[anywhere()] = "refused"
	}
	return inv, req
}

// verify says what is wrong with a plan, reckoned another way than the planner does: all units of a node
// are put together and compared with what it has.
func verify(inv Inventory, r Request, plan map[string]Spot) string {
	perNode, perSpot := map[string]int{}, map[Spot]int{}
	fresh, freshOnNode := map[Spot]int{}, map[string]int{}
	for unit, spot := range plan {
		perNode[spot.Node]++
		perSpot[spot]++
		if _, runs := r.Running[unit]; !runs {
			fresh[spot]++
			freshOnNode[spot.Node]++
		}
	}
	for spot, n := range perSpot {
		if r.Policy == PerSocket && n > 1 {
			return fmt.Sprintf("%d units on %s", n, spot)
		}
	}
	for spot := range fresh {
		if r.Avoid[spot] != "" {
			return "on an avoided place " + spot.String()
		}
	}
	for _, node := range inv {
		n := freshOnNode[node.Name]
		if n == 0 {
			continue
		}
		if node.Unusable != "" {
			return "on an unusable node"
		}
		if r.MaxPerNode > 0 && perNode[node.Name] > r.MaxPerNode {
			return "maxPerNode is exceeded"
		}
		cpus, pages, vfs := 0, int64(0), 0
		for _, c := range node.Cells {
			own := c.Devices[fmt.Sprintf("vf%d", c.ID)]
			cpus, pages, vfs = cpus+c.CPUs, pages+c.Hugepages["2Mi"], vfs+own
			k := fresh[Spot{node.Name, c.ID}]
			if k*r.Demand.CPUs > c.CPUs || int64(k)*r.Demand.Hugepages > c.Hugepages["2Mi"] {
				return "a cell has too little"
			}
			if !r.RemoteNIC && k*len(r.Demand.Devices) > own {
				return "a cell has too few VFs"
			}
		}
		if n*r.Demand.CPUs > cpus || int64(n)*r.Demand.Hugepages > pages || n*len(r.Demand.Devices) > vfs {
			return "a node has too little"
		}
	}
	return ""
}

// most is the largest number of units that any plan places, by trying all.
func most(inv Inventory, r Request) int {
	var spots []Spot
	for _, n := range inv {
		if r.Policy == Any {
			spots = append(spots, Spot{n.Name, AnyCell})
			continue
		}
		for _, c := range n.Cells {
			spots = append(spots, Spot{n.Name, c.ID})
		}
	}
	plan := map[string]Spot{}
	for unit, spot := range r.Running {
		plan[unit] = spot
	}
	best := len(plan)
	var try func(i int)
	try = func(i int) {
		if verify(inv, r, plan) != "" {
			return
		}
		best = max(best, len(plan))
		if i == len(r.Units) {
			return
		}
		unit := r.Units[i]
		try(i + 1)
		if _, runs := r.Running[unit]; runs {
			return
		}
		for _, spot := range spots {
			plan[unit] = spot
			try(i + 1)
			delete(plan, unit)
		}
	}
	try(0)
	return best
}

// TestPlanProperties asks random questions: the plan fits, no plan places more units, running units stay,
// the answer is always the same, and one unit more moves none.
func TestPlanProperties(t *testing.T) {
	placed, unplaced := 0, 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		inv, req := question(r)
		before := inv.Clone()
		got := Plan(inv, req)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: %s\ninventory %+v\nrequest %+v\nplan %+v", seed, fmt.Sprintf(format, args...), inv, req, got)
		}
		plan := map[string]Spot{}
		for unit, a := range got.Assigned {
			plan[unit] = a.Spot
		}
		// Running units may break maxPerNode by themselves: then nothing of it can be blamed on the plan.
		if problem := verify(inv, req, plan); problem != "" {
			fail("the plan is wrong: %s", problem)
		}
		if want := most(inv, req); len(plan) != want {
			fail("%d units have a place, %d could", len(plan), want)
		}
		for unit, spot := range req.Running {
			if plan[unit] != spot {
				fail("%s moved from %s to %s", unit, spot, plan[unit])
			}
		}
		if len(got.Assigned)+len(got.Unplaced) != len(req.Units) || (len(got.Unplaced) > 0) != (got.Message() != "") {
			fail("units without an answer; message %q", got.Message())
		}
		if diff := cmp.Diff(before, inv); diff != "" {
			fail("the inventory was changed: %s", diff)
		}
		shuffled := inv.Clone()
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(got, Plan(shuffled, req), cmpopts.IgnoreUnexported(Shortage{})); diff != "" {
			fail("the same question has another answer: %s", diff)
		}
		more := req
		more.Units = append(units(len(req.Units)), "upf-more")
		for unit, spot := range plan {
			if now := Plan(inv, more).Assigned[unit].Spot; now != spot {
				fail("one unit more moves %s from %s to %s", unit, spot, now)
			}
		}
		placed, unplaced = placed+len(plan), unplaced+len(got.Unplaced)
	}
	if placed < 1000 || unplaced < 1000 {
		t.Errorf("%d units placed, %d not: the questions are too easy or too hard", placed, unplaced)
	}
}

func TestTakeNeverGoesBelowNothing(t *testing.T) {
	inv := Inventory{twoSockets("w1", 2)}
	inv.Take(Spot{"w1", 0}, Demand{CPUs: 9, PageSize: "2Mi", Hugepages: 4096 * mi}, []string{"vf0", "none"})
	inv.Take(Spot{"w1", AnyCell}, Demand{CPUs: 9, PageSize: "2Mi", Hugepages: 512 * mi}, nil)
	inv.Take(Spot{"elsewhere", 0}, Demand{CPUs: 1}, nil)
	want := Inventory{{Name: "w1", Cells: []Cell{cell(0, 0, 0, 3), cell(1, 0, 512, 4)}}}
	if diff := cmp.Diff(want, inv); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestMessageIsShort(t *testing.T) {
	var inv Inventory
	for i := range 64 {
		inv = append(inv, twoSockets(fmt.Sprintf("w%02d", i), 1))
	}
	got := Plan(inv, Request{Units: units(1), Policy: PerSocket, Demand: vfDemand}).Message()
	if !strings.HasSuffix(got, "; and 125 more") || len(got) > 200 {
		t.Errorf("message %q", got)
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, nodes := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			var inv Inventory
			for i := range nodes {
				inv = append(inv, twoSockets(fmt.Sprintf("w%02d", i), 32))
			}
			r := Request{Units: units(min(64, 2*nodes)), Policy: PerSocket, Demand: vfDemand}
			b.ReportAllocs()
			for b.Loop() {
				if got := Plan(inv, r); len(got.Unplaced) > 0 {
					b.Fatal(got.Message())
				}
			}
		})
	}
}
