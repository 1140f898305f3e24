package runner

import (
	"testing"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"

	"github.com/google/go-cmp/cmp"
)

// An idle UE is kept as octets, and is what it was when it comes back: no store is asked, and no COUNT of its comes twice (phone.hear).
func TestAnIdleUEIsPacked(t *testing.T) {
	for name, x := range map[string]struct {
		// damage what memory has; reads are those of the store that the UE's return costs.
		damage func(*ue)
		reads  int
	}{
		"and unpacked":                       {func(*ue) {}, 0},
		"and what memory has cannot be read": {func(u *ue) { u.stored.octets = []byte{0xff} }, 1},
		"and what memory has is of nobody":   {func(u *ue) { u.stored.octets = []byte{0xa0} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			u := h.runner.ues[record.Key(supi)]
			if u.packed {
				t.Fatal("a UE is packed that is connected")
			}
			n.release(h)
			if !u.packed || u.state.Record != nil || u.stored.record != nil {
				t.Fatalf("a UE that is idle is in memory: %+v", u.state.Record)
			}
			if !u.atRest() {
				t.Error("it may not leave memory")
			}
			was, reads, told := n.kept(), n.reads, len(n.phone.log)
			x.damage(u)
			n.phone.serve()
			n.settle()
			if got := n.reads - reads; got != x.reads {
				t.Errorf("the store was asked %d times, want %d", got, x.reads)
			}
			if diff := cmp.Diff([]string{"InitialContextSetupRequest"}, n.phone.log[told:]); diff != "" {
				t.Errorf("what the UE is told (-want +is):\n%s", diff)
			}
			rec := n.kept()
			if rec.N2 == nil || rec.TMSI != was.TMSI || u.packed && x.reads == 0 {
				t.Errorf("the record is %+v", rec)
			}
		})
	}
}

// One that leaves memory is not found by what it was found by.
func TestAPackedUELeavesMemory(t *testing.T) {
	n, h := registered(t)
	n.release(h)
	r := h.runner
	r.forget(r.ues[record.Key(supi)], nil)
	if len(r.ues)+len(r.temporaries)+len(r.attached) != 0 {
		t.Errorf("%d UEs, %d 5G-TMSIs, %d attachments", len(r.ues), len(r.temporaries), len(r.attached))
	}
}

// What concerns all UEs of a group concerns one that is packed, and leaves it so.
func TestAWalkMeetsPackedUEs(t *testing.T) {
	n, h := registered(t)
	n.release(h)
	for name, events := range map[string][]procedure.Event{"with something for it": {procedure.Due{Name: "nothing"}}, "with nothing": nil} {
		var met []string
		done := false
		h.runner.walk(UEGroup(1), func(u *record.UE) []procedure.Event {
			met = append(met, u.SUPI)
			return events
		}, func() { done = true })
		n.settle()
		if diff := cmp.Diff([]string{supi}, met); diff != "" || !done {
			t.Errorf("%s: done %t, met (-want +got):\n%s", name, done, diff)
		}
		if u := h.runner.ues[record.Key(supi)]; !u.packed {
			t.Errorf("%s: it is not packed", name)
		}
	}
}
