package procedure

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
)

// Units that are overloaded are asked for fewer new sessions, and for everything else as before (TS 29.244 6.2.4.4).
func TestOverload(t *testing.T) {
	knows := func(live map[string]configuration.Live) func(*teller) State {
		return func(tr *teller) State {
			tr.live = live
			return State{}
		}
	}
	whole := map[string]configuration.Live{unitID: {Reduction: 100}}
	asked := func(c Create, s Subscription) []act {
		return []act{{name: "create", event: c}, {name: "the subscription", event: s}}
	}
	two := func(list []configuration.Slice) {
		dn := &list[0].DataNetworks[0]
		dn.Units = append(dn.Units, configuration.Serving{NodeID: otherID, Pools: []netip.Prefix{netip.MustParsePrefix("10.46.0.0/16")}})
	}
	running := func(tr *teller) State {
		st := active(tr)
		tr.live = whole
		return st
	}
	tell(t, "overload", []story{
		{name: "a session is left out", from: knows(whole), acts: asked(create(request(5, 0x91)), Subscription{})},
		{name: "another unit serves it", from: knows(whole), with: two, acts: asked(create(request(5, 0x91)), Subscription{})},
		{name: "one for emergencies is not left out", from: knows(whole), acts: []act{{name: "create", event: emergency()}}},
		{name: "one of those that are served first is not", from: knows(whole), acts: asked(create(request(5, 0x91)), Subscription{Priority: configuration.DefaultPriority - 1, FiveQI: 9})},
		{name: "one that is served as others are is", from: knows(whole), acts: asked(create(request(5, 0x91)), Subscription{Priority: 9, FiveQI: 9})},
		{name: "the UE of a session that there is goes idle, comes, and ends it", from: running, acts: []act{
			{name: "idle", event: Update{From: 3, Connection: Deactivated}}, unitDone, {name: "it comes", event: Update{From: 4, Connection: Activating}},
			{name: "the access network", event: (&teller{t: t}).ready()}, unitDone, {name: "it ends", event: Release{From: 5}}, unitDone,
		}},
		{name: "a unit that has lost a session makes it again", from: running, acts: []act{{name: "the unit", event: UnitRestarted{NodeID: unitID}, later: time.Minute}}},
	})
}

// As many are left out as a unit has asked for, and whoever is hears when to come again: when the overload can have ended, and not all at once.
func TestWhoIsLeftOut(t *testing.T) {
	for name, tt := range map[string]struct {
		live map[string]configuration.Live
		// share of sessions that are left out, in percent.
		share int
		// least and most that UEs are told to wait.
		least, most time.Duration
	}{
		"no overload":                        {live: map[string]configuration.Live{unitID: {Load: 99}}},
		"another unit's":                     {live: map[string]configuration.Live{otherID: {Reduction: 90}}},
		"a third":                            {live: map[string]configuration.Live{unitID: {Reduction: 33}}, share: 33, least: 30 * time.Second, most: time.Minute},
		"for seconds":                        {live: map[string]configuration.Live{unitID: {Reduction: 80, Until: time.Unix(1_800_000_010, 0)}}, share: 80, least: 30 * time.Second, most: time.Minute},
		"for minutes":                        {live: map[string]configuration.Live{unitID: {Reduction: 10, Until: time.Unix(1_800_000_180, 0)}}, share: 10, least: 3 * time.Minute, most: 6 * time.Minute},
		"for hours, which it may not mean":   {live: map[string]configuration.Live{unitID: {Reduction: 10, Until: time.Unix(1_800_036_000, 0)}}, share: 10, least: 10 * time.Minute, most: 20 * time.Minute},
		"all, until the unit says otherwise": {live: map[string]configuration.Live{unitID: {Reduction: 100}}, share: 100, least: 30 * time.Second, most: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTeller(t)
			tr.live = tt.live
			r := rand.New(rand.NewPCG(1, 1))
			tr.random = func(b []byte) {
				for n := range b {
					b[n] = byte(r.Uint32())
				}
			}
			const sessions = 2000
			left, waits := 0, map[time.Duration]bool{}
			for n := range sessions {
				c := create(request(5, 0x91))
				c.SUPI = fmt.Sprintf("imsi-20893%010d", n)
				out := tr.handle(tr.lead(State{}, c), Subscription{})
				for _, e := range out.Effects {
					if f, ok := e.(Reply); ok {
						if failed, ok := f.Body.(Failed); ok {
							left++
							waits[backOff(t, failed.N1)] = true
						}
					}
				}
			}
			if share := 100 * left / sessions; share < tt.share-3 || share > tt.share+3 {
				t.Errorf("%d percent are left out, want %d", share, tt.share)
			}
			for d := range waits {
				if d < tt.least || d > tt.most+tt.most/10 { // the timer has steps
					t.Errorf("one is to wait for %s, want %s to %s", d, tt.least, tt.most)
				}
			}
			if tt.share > 0 && len(waits) < 3 {
				t.Errorf("they are to wait for %v: not all may come at once", waits)
			}
		})
	}
}

// backOff in a reject (TS 24.008 10.5.7.4a).
func backOff(t *testing.T, reject []byte) time.Duration {
	t.Helper()
	if len(reject) != 8 || n1.MessageType(reject[3]) != n1.EstablishmentRejectType || n1.Cause(reject[4]) != n1.CauseInsufficientResources || reject[5] != 0x37 {
		t.Fatalf("reject %x, want cause 26 with a back-off timer", reject)
	}
	unit := map[byte]time.Duration{0: 10 * time.Minute, 1: time.Hour, 2: 10 * time.Hour, 3: 2 * time.Second, 4: 30 * time.Second, 5: time.Minute}[reject[7]>>5]
	return unit * time.Duration(reject[7]&0x1f)
}
