package runner

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/google/go-cmp/cmp"
)

const otherID = "upf-1"

// filled is a world of two units with room for as many sessions, and what chooses among them.
func filled(t *testing.T, capacity, other uint64) *scripted {
	t.Helper()
	w := newScripted(t)
	var err error
	w.config, err = configuration.New([]configuration.Slice{{Name: "internet", SST: 1, DataNetworks: []configuration.DataNetwork{{
		DNN: "internet", Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1e8, Downlink: 1e8}, FiveQI: 9, ARP: configuration.ARP{Priority: 8}, MTU: 1400,
		Units: []configuration.Serving{{NodeID: unitID, Pools: []netip.Prefix{netip.MustParsePrefix("10.45.0.0/16")}}, {NodeID: otherID, Pools: []netip.Prefix{netip.MustParsePrefix("10.46.0.0/16")}}},
	}}}}, []configuration.Unit{
		{NodeID: unitID, Address: netip.MustParseAddrPort("10.96.7.8:8805"), Capacity: capacity}, {NodeID: otherID, Address: netip.MustParseAddrPort("10.96.7.9:8805"), Capacity: other},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// fill with sessions from the n-th UE on.
func (w *scripted) fill(from, sessions int) {
	w.t.Helper()
	for n := range sessions {
		c := create(procedure.Token(from + n))
		c.SUPI = fmt.Sprintf("imsi-20893%010d", from+n)
		w.runner.Deliver(record.Key(c.SUPI, 1), c)
		w.settle()
		w.answer("subscription", procedure.Subscription{})
	}
}

// at the units are so many sessions of the shard.
func (w *scripted) at() map[string]int {
	w.t.Helper()
	out := map[string]int{}
	for _, node := range []string{unitID, otherID} {
		n, err := w.store.Count(context.Background(), UnitGroup(1, node))
		if err != nil {
			w.t.Fatal(err)
		}
		out[node] = n
	}
	return out
}

// Units fill evenly, by what they can hold, and by what other shards have there (TS 23.501 6.3.3).
func TestUnitsFillEvenly(t *testing.T) {
	for name, tt := range map[string]struct {
		capacity, other uint64
		// elsewhere are sessions that another shard has at the first unit.
		elsewhere int
		want      map[string]int
	}{
		"two alike":                            {0, 0, 0, map[string]int{unitID: 50, otherID: 50}},
		"one holds three times as many":        {3000, 1000, 0, map[string]int{unitID: 75, otherID: 25}},
		"another shard has sessions at one":    {0, 0, 40, map[string]int{unitID: 30, otherID: 70}},
		"one is full with another shard's":     {40, 1000, 40, map[string]int{unitID: 0, otherID: 100}},
		"one is full with sessions of our own": {10, 1000000, 0, map[string]int{unitID: 1, otherID: 99}},
	} {
		t.Run(name, func(t *testing.T) {
			w := filled(t, tt.capacity, tt.other)
			w.runner.shards = []uint16{1, 2}
			for n := range tt.elsewhere {
				if err := w.store.Commit(context.Background(), w.lease, sessionstore.Change{
					Key: fmt.Sprint("another-", n), Is: sessionstore.Revision{Writer: 4711, Count: uint64(n + 1)}, Value: []byte("x"), JoinGroups: []string{UnitGroup(2, unitID)},
				}); err != nil {
					t.Fatal(err)
				}
			}
			w.pass(countEvery)
			w.fill(1, 60)
			w.pass(countEvery) // counted again, and nothing twice
			w.fill(61, 40)
			if diff := cmp.Diff(tt.want, w.at()); diff != "" {
				t.Errorf("sessions at the units (-want +got):\n%s", diff)
			}
		})
	}
}

// A session that has ended makes room.
func TestAnEndMakesRoom(t *testing.T) {
	w := filled(t, 0, 0)
	w.fill(1, 10)
	for n := range 10 {
		key := record.Key(fmt.Sprintf("imsi-20893%010d", n+1), 1)
		if s := w.runner.sessions[key]; s.state.Record.Unit.NodeID == unitID {
			s.busy = false // as if it were at rest
			s.state.Record.Procedure = nil
			w.runner.Deliver(key, procedure.Release{From: 99})
			w.settle()
			w.answer("delete 0", procedure.Unit{Outcome: procedure.Done})
		}
	}
	w.fill(101, 5)
	if diff := cmp.Diff(map[string]int{unitID: 5, otherID: 5}, w.at()); diff != "" {
		t.Errorf("sessions at the units (-want +got):\n%s", diff)
	}
}
