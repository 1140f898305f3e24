package n4

import (
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
)

// passes says how many of so many packets of 100 octets a rating group's quota lets through.
func passes(t *testing.T, u *fakeupfu.UPFU, urr, packets int) (passed int) {
	t.Helper()
	slot := only(t, u).URRs[urr].Slot
	for range packets {
		if u.Forward(slot, abi.Dl, 100) {
			passed++
		}
	}
	return passed
}

// What upf-c makes of quotas: packets stop where they end, and go on with another.
func TestQuota(t *testing.T) {
	smf, u := unit(t)
	s := session(n1.IPv4)
	s.Flows[0].Charge = record.Charge{RatingGroup: 7, Online: true}
	s.Usage = &record.Usage{Groups: []record.Group{{
		URR: 1, RatingGroup: 7, Online: true, Quota: &record.Quota{Has: record.HasTotal | record.HasSeconds, Total: 1000, VolumeLeft: 100, Seconds: 3600, SecondsLeft: 60, Holding: 600},
	}}}
	establish(t, smf, s)
	if n := passes(t, u, 0, 20); n != 10 {
		t.Errorf("%d packets of 100 octets passed by a quota of 1000", n)
	}
	for n := 0; n < 1000; { // a quota counts from the last report on
		for _, e := range smf.Report().UsageReport {
			v, err := e.VolumeMeasurement()
			if err != nil {
				t.Fatal(err)
			}
			n += int(v.TotalVolume)
		}
	}
	group := &s.Usage.Groups[0]
	tell := func(f func(*record.Group)) {
		t.Helper()
		group.Has = true
		before := s.Clone()
		f(group)
		group.Renew = true
		change(t, smf, before, s, false)
		group.Renew = false
	}
	tell(func(g *record.Group) { g.Quota = &record.Quota{Has: record.HasTotal, Total: 500} })
	if n := passes(t, u, 0, 20); n != 5 {
		t.Errorf("%d packets passed by a further quota of 500", n)
	}
	smf.Report()
	tell(func(g *record.Group) { g.Quota, g.Denied = nil, true })
	if n := passes(t, u, 0, 1); n != 0 || !Blocked(group) {
		t.Error("a packet has passed without a quota")
	}
	tell(func(g *record.Group) { g.Denied, g.Free = false, true })
	if n := passes(t, u, 0, 100); n != 100 {
		t.Errorf("%d of 100 packets passed where no quota is needed", n)
	}
	rules := Readable(s, settings)
	if len(rules.URRs) != 1 || rules.PDRs[0].URR != 1 || rules.PDRs[1].URR != 1 {
		t.Errorf("read as %+v", rules)
	}
	before := s.Clone()
	s.Usage.Groups, s.Flows[0].Charge = nil, record.Charge{}
	change(t, smf, before, s, false)
	if after := only(t, u); len(after.URRs) != 0 {
		t.Errorf("%d URRs are left of a session that is not charged", len(after.URRs))
	}
}

// A gate that is closed is told, and a rule of the default flow marks its packets as that flow's.
func TestGatesAndRulesOfTheDefaultFlow(t *testing.T) {
	smf, u := unit(t)
	s := session(n1.IPv4)
	establish(t, smf, s)
	before := s.Clone()
	s.Flows = append(s.Flows, record.Flow{QFI: 5, Name: "voice", Default: true, Closed: uint8(n1.Downlink)})
	change(t, smf, before, s, false)
	with := only(t, u)
	if len(with.PDRs) != 4 || len(with.QERs) != 3 {
		t.Fatalf("%d PDRs, %d QERs, want 4 and 3", len(with.PDRs), len(with.QERs))
	}
	var gates []QER
	for _, q := range Readable(s, settings).QERs {
		if q.ClosedDownlink || q.ClosedUplink {
			gates = append(gates, q)
		}
	}
	if len(gates) != 1 || gates[0].QFI != 1 || gates[0].ClosedUplink {
		t.Errorf("gates %+v, want one of QFI 1, closed downlink", gates)
	}
}
