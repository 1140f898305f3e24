package agent_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

func TestTrafficIsCountedForTheCPFunction(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 1<<40, 0, 0)}
	seid := s.Established(7, u.Session()...)
	_, sess := l.only()
	slot := sess.URRs[0].Slot
	carry := func(direction int, octets, packets uint64) {
		t.Helper()
		if err := l.upfu.Count(slot, direction, octets, packets); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(step string, want usage.Counts) {
		t.Helper()
		got := l.agent.Traffic()
		if want == (usage.Counts{}) && len(got) == 0 {
			return
		}
		if diff := cmp.Diff([]agent.NodeTraffic{{Group: state.Group{Node: l.agent.Status().Associations[0].Node, NetworkInstance: "internet"}, Counts: want}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	carry(abi.Ul, 100, 1)
	carry(abi.Dl, 1400, 2)
	l.agent.Sweep()
	expect("a session that began here", usage.Counts{UL: 100, DL: 1400, ULPackets: 1, DLPackets: 2})
	carry(abi.Dl, 600, 1)
	l.agent.Sweep()
	l.agent.Sweep()
	expect("only what was added", usage.Counts{UL: 100, DL: 2000, ULPackets: 1, DLPackets: 3})

	// Its sessions go on; the counters of a new process begin anew.
	created := time.Now().Unix()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return time.Now().Unix() > created }); err != nil {
		t.Fatal(err)
	}
	l.restartAgent()
	l.agent.Sweep()
	expect("what an earlier upf-c has counted", usage.Counts{})
	carry(abi.Ul, 50, 1)
	l.agent.Sweep()
	expect("after the restart", usage.Counts{UL: 50, ULPackets: 1})

	s.To = l.addr
	carry(abi.Ul, 25, 1)
	s.Delete(seid)
	expect("what came before the deletion", usage.Counts{UL: 75, ULPackets: 2})
	l.agent.Sweep()
	expect("nothing more", usage.Counts{UL: 75, ULPackets: 2})
}
