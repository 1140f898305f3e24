package runner

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
)

// crowd: so many UEs register at once, and do not show who they are.
func (n *network) crowd(ues int) {
	for range ues {
		n.phone.register()
	}
	n.settle()
}

// dieBehind so many frames to its terminator, which arrive.
func (h *holder) dieBehind(frames int) {
	h.step = func(of *holder) {
		if frames--; of == h && frames < 0 && !h.dead {
			h.dead = true
			h.soon = append(h.soon, h.die)
		}
	}
}

// More come than a shard can have strangers: gNBs are asked to refuse some, until it is over, whoever has the shard by then.
func TestOverloadIsTold(t *testing.T) {
	wants := func(t *testing.T, n *network, want ...uint8) {
		t.Helper()
		if diff := cmp.Diff(want, n.phone.reductions); diff != "" {
			t.Errorf("the gNB was asked for (-want +is):\n%s", diff)
		}
		n.phone.reductions = nil
		if len(want) > 0 && n.nodes[gnbAt].Reduction != want[len(want)-1] {
			t.Errorf("its record says %d %%", n.nodes[gnbAt].Reduction)
		}
	}
	// looks of a shard that has room for four.
	looks := func(n *network, times int) { n.pass(time.Duration(times) * announceEvery) }
	begin := func(t *testing.T, shard uint16, come int) (*network, *holder) {
		t.Helper()
		n := newNetwork(t)
		n.strangers, n.manual = 4, true
		h := n.hold(shard)
		looks(n, 1)
		n.crowd(come)
		return n, h
	}
	t.Run("as many as there is room for", func(t *testing.T) {
		n, _ := begin(t, 1, 4)
		looks(n, 1)
		wants(t, n)
	})
	t.Run("twice as many, and then nobody", func(t *testing.T) {
		n, _ := begin(t, 1, 8)
		looks(n, 1)
		wants(t, n, 50)
		looks(n, 4)
		wants(t, n)
		looks(n, 11)
		wants(t, n, 20, 10, 0)
		looks(n, 30)
		wants(t, n)
	})
	t.Run("the holder dies: the next one takes it back", func(t *testing.T) {
		n, h := begin(t, 1, 8)
		looks(n, 1)
		wants(t, n, 50)
		h.die()
		n.hold(1)
		looks(n, 1)
		wants(t, n, 0)
	})
	t.Run("the connection to the terminator is lost just then: it is told with the next look", func(t *testing.T) {
		n, _ := begin(t, 1, 8)
		n.cut = true
		looks(n, 1)
		wants(t, n)
		n.cut = false
		looks(n, 1)
		wants(t, n, 50)
	})
	for frames := range 3 {
		t.Run(fmt.Sprintf("the holder dies behind %d frames to the terminator: in the end it is over", frames), func(t *testing.T) {
			n, h := begin(t, 1, 8)
			h.dieBehind(frames)
			looks(n, 1)
			if !h.dead {
				t.Fatal("it has not died")
			}
			n.step = func(*holder) {}
			n.hold(1)
			looks(n, 1)
			if list := n.phone.reductions; len(list) > 0 && list[len(list)-1] != 0 || n.nodes[gnbAt].Reduction != 0 {
				t.Errorf("the gNB was asked for %v, its record says %d %%", list, n.nodes[gnbAt].Reduction)
			}
		})
	}
	t.Run("the gNB takes nothing just then: it is told with the next look", func(t *testing.T) {
		n, _ := begin(t, 1, 8)
		for _, c := range []struct {
			meanwhile int
			then      uint8
		}{{1, 50}, {20, 0}} { // it begins, and it is over
			n.phone.full = true
			looks(n, c.meanwhile)
			wants(t, n)
			n.phone.full = false
			looks(n, 1)
			wants(t, n, c.then)
		}
	})
	t.Run("and that is lost with the connection to its terminator: it is told when that is there again", func(t *testing.T) {
		n, h := begin(t, 1, 8)
		n.phone.full, n.deaf = true, true
		looks(n, 1)
		n.phone.full, n.deaf = false, false
		looks(n, 1)
		wants(t, n)
		h.do(func() { h.runner.TerminatorHeard(termName) })
		looks(n, 1)
		wants(t, n, 50)
	})
	t.Run("and its record says at no time what it may not have heard", func(t *testing.T) {
		n, h := begin(t, 1, 8)
		n.cut = true
		plmn, _ := n2.MakePLMN("208", "93")
		h.runner.send(nil, procedure.Send{
			To:      record.Attachment{Terminator: termName, Association: gnbAt},
			Message: &n2.AMFStatusIndication{GUAMIs: []n2.UnavailableGUAMI{{GUAMI: n2.GUAMI{PLMN: plmn}}}},
		})
		looks(n, 1)
		n.cut, n.remembered = false, nil
		h.do(func() { h.runner.TerminatorHeard(termName) })
		n.settle()
		if diff := cmp.Diff([]uint8{record.UnsureReduction, record.UnsureReduction}, n.remembered); diff != "" {
			t.Errorf("its record says (-want +is):\n%s", diff)
		}
		looks(n, 1)
		wants(t, n, 50)
	})
	t.Run("a gNB that sets itself up anew has forgotten it, and hears it with the next look", func(t *testing.T) {
		n, _ := begin(t, 1, 8)
		looks(n, 1)
		wants(t, n, 50)
		plmn, _ := n2.MakePLMN("208", "93")
		n.phone.says(&n2.NGSetupRequest{
			Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, DRX: n2.DRX128,
			TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
		})
		looks(n, 2)
		wants(t, n, 50)
	})
	t.Run("a gNB that has reset hears it before the store has what came of that: what it was asked stays noted", func(t *testing.T) {
		n, h := registered(t)
		n.faults = slices.Repeat([]memory.Fault{memory.Away}, 9) // for some seconds
		n.phone.says(&n2.NGReset{Cause: ngapcause.MiscUnspecified})
		h.runner.overload = procedure.Overload{Reduction: 50}
		looks(n, 1)
		if len(n.faults) == 0 {
			t.Fatal("the store has it")
		}
		looks(n, 2)
		if len(n.faults) > 0 {
			t.Fatal("the store has it not")
		}
		wants(t, n, 50)
	})
	// joins by an association more for the gNB's NG interface.
	const more = gnbAt + 1
	joins := func(n *network) {
		n.term.Opened(more, 5, "gnb", "amf")
		plmn, _ := n2.MakePLMN("208", "93")
		n.phone.at = more
		n.phone.says(&n2.RANConfigurationUpdate{Node: &n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}})
		n.settle()
	}
	t.Run("a gNB with two associations is told by the one on which it was set up, and when that has ended by the other", func(t *testing.T) {
		n, _ := begin(t, 1, 8)
		joins(n)
		looks(n, 1)
		wants(t, n, 50)
		n.gone[gnbAt] = true
		delete(n.nodes, gnbAt)
		n.term.Ended(gnbAt, "shut down")
		looks(n, 15)
		if list := n.phone.reductions; len(list) == 0 || list[len(list)-1] != 0 || n.nodes[more].Reduction != 0 {
			t.Errorf("it was asked for %v, its record says %d %%", list, n.nodes[more].Reduction)
		}
	})
	t.Run("a gNB that was told by the other while the first was not in sight is told once more by that", func(t *testing.T) {
		n, h := begin(t, 1, 0)
		joins(n)
		looks(n, 1)
		first := n.nodes[gnbAt]
		delete(n.nodes, gnbAt)
		h.runner.overload = procedure.Overload{Reduction: 50}
		looks(n, 1)
		if list := n.phone.reductions; len(list) == 0 || list[len(list)-1] != 50 || n.nodes[more].Reduction != 50 {
			t.Fatalf("it was asked for %v, its record says %d %%", list, n.nodes[more].Reduction)
		}
		n.nodes[gnbAt] = first
		h.runner.overload = procedure.Overload{}
		looks(n, 3)
		if list := n.phone.reductions; list[len(list)-1] != 0 || n.nodes[gnbAt].Reduction != 0 || n.nodes[more].Reduction != record.UnsureReduction {
			t.Errorf("it was asked for %v, its records say %d and %d %%", list, n.nodes[gnbAt].Reduction, n.nodes[more].Reduction)
		}
		n.phone.reductions = nil
		looks(n, 3)
		wants(t, n)
	})
	t.Run("a shard tells those gNBs alone that it leads", func(t *testing.T) {
		n, _ := begin(t, 2, 8)
		looks(n, 3)
		wants(t, n)
	})
}
