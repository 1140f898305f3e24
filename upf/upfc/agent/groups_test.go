package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/state"
)

// What upf-u counts by number has the same name before and after a restart of either half.
func TestDropsOfAGroupKeepTheirName(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	s.Established(7, fakesmf.Phone.Session()...)
	_, sess := l.only()
	if sess.Group != 1 {
		t.Fatalf("the first session is of group %d, want 1", sess.Group)
	}
	node := l.agent.Status().Associations[0].Node
	expect := func(step string, gates uint64) {
		t.Helper()
		want := agent.GroupDrops{Group: state.Group{Node: node, NetworkInstance: "internet"}}
		want.Drops.Reason[abi.DropGateClosed] = gates
		if diff := cmp.Diff([]agent.GroupDrops{want}, l.agent.Status().Groups); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	l.upfu.Drop(1, abi.DropGateClosed)
	expect("counted", 1)
	meta, err := state.DecodeMeta(l.upfu.Meta())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]state.Group{{Node: node, NetworkInstance: "internet"}}, meta.Groups); diff != "" {
		t.Errorf("META (-want +got):\n%s", diff)
	}

	l.restartAgent()
	l.upfu.Drop(1, abi.DropGateClosed)
	expect("after a restart of upf-c", 2)

	l.upfu.Kill()
	l.startUPFU()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 1 && l.agent.Ready() == nil }); err != nil {
		t.Fatal(err)
	}
	if _, sess = l.only(); sess.Group != 1 {
		t.Errorf("after a restart of upf-u the session is of group %d, want 1", sess.Group)
	}
	expect("after a restart of upf-u", 0)
}
