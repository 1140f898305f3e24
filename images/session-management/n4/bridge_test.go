package n4

import (
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
)

// upf-c takes what an Ethernet session is made of and changed by, idle and moved, and makes it again as it was.
func TestLifeOfAnEthernetSession(t *testing.T) {
	s, upfu := unitWith(t, "", fakeupfu.Network{Name: "internet"}, fakeupfu.Network{Name: "lan", Ethernet: true})
	r := bridge()
	ies, err := Establishment(r, lan)
	if err != nil {
		t.Fatal(err)
	}
	res := s.Establish(r.CPSEID, ies...)
	if err := Established(r, res); err != nil {
		t.Fatal(err)
	}
	if n := len(upfu.Sessions()); n != 1 {
		t.Fatalf("%d sessions", n)
	}
	for _, one := range upfu.Sessions() {
		if !one.Ethernet || len(one.EthernetFilters) != 4 {
			t.Errorf("%+v", one)
		}
	}
	modify := func(what string, set Settings, all bool, change func(*record.Session)) {
		t.Helper()
		next := r.Clone()
		change(next)
		ies, err := Modification(r, next, set, true, all)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := Modified(s.Modify(r.UPSEID, ies...)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		r = next
	}
	modify("the gNB's tunnel", lan, false, func(x *record.Session) { x.Phase, x.Downlink = record.Active, gnb })
	modify("all of it again", lan, true, func(*record.Session) {})
	modify("idle", lan, false, func(x *record.Session) { x.Phase, x.Downlink = record.Idle, record.Tunnel{} })
	changed := lan
	changed.Filters = map[string]Filters{"goose": {Precedence: 10, List: []n1.Filter{{Direction: n1.Uplink, Protocol: -1, Frame: n1.Frame{CVLAN: 9}}}}, "all": lan.Filters["all"]}
	modify("other filters", changed, false, func(x *record.Session) { x.Flows[1] = Versioned(x.Flows[1], changed) })
	modify("a flow goes", changed, false, func(x *record.Session) { x.Flows = x.Flows[:2] })
	s.Delete(r.UPSEID)
	again, err := Establishment(r, changed)
	if err != nil {
		t.Fatal(err)
	}
	if err := Established(r, s.Establish(r.CPSEID, Restored(again)...)); err != nil {
		t.Fatal(err)
	}
}
