package usage

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// brief is what most tests look at.
type brief struct {
	URR, Trigger uint32
	UL, DL       uint64
	Seconds      uint32
}

func briefs(reports []Report) []brief {
	var out []brief
	for _, r := range reports {
		out = append(out, brief{r.URR, r.Trigger, r.Counts.UL, r.Counts.DL, r.Seconds})
	}
	return out
}

func want(t *testing.T, what string, got []Report, wanted ...brief) {
	t.Helper()
	if diff := cmp.Diff(wanted, briefs(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestArm(t *testing.T) {
	base := Counts{UL: 1000, DL: 500, ULPackets: 10, DLPackets: 5}
	now := func(ul, dl uint64) Reading {
		return Reading{Counts: base.Plus(Counts{UL: ul, DL: dl, ULPackets: ul / 10, DLPackets: dl / 10}), At: t0}
	}
	tests := map[string]struct {
		urr   rules.URR
		meter Meter
		read  Reading
		want  abi.UrrArm // the quantities that are not never
	}{
		"nothing to wait for": {rules.URR{Triggers: rules.Periodic, Period: 1}, Meter{}, now(0, 0), abi.UrrArm{}},
		"thresholds": {rules.URR{Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Has: 7, Total: 100, UL: 60, DL: 70}}, Meter{}, now(10, 20),
			abi.UrrArm{Total: 1600, Ul: 1060, Dl: 570}},
		"a threshold that is not asked for": {rules.URR{Threshold: total(100)}, Meter{}, now(0, 0), abi.UrrArm{}},
		"a quota is enforced in any case":   {rules.URR{More: &rules.URRMore{Quota: rules.Volume{Has: 7, Total: 100, UL: 60, DL: 70}}}, Meter{Spent: Octets{UL: 5, DL: 6}}, now(0, 0), abi.UrrArm{QuotaTotal: 1589, QuotaUl: 1055, QuotaDl: 564}},
		"start of traffic":                  {rules.URR{Triggers: rules.StartOfTraffic}, Meter{Mark: 15}, now(0, 0), abi.UrrArm{Total: 1501}},
		"traffic runs":                      {rules.URR{Triggers: rules.StartOfTraffic}, Meter{Started: true}, now(10, 0), abi.UrrArm{}},
		"paused":                            {rules.URR{Info: rules.Paused, Triggers: rules.VolumeThreshold, Threshold: total(1), More: &rules.URRMore{Quota: total(1)}}, Meter{}, now(0, 0), abi.UrrArm{}},
		"no report is allowed any more, the quota stands": {rules.URR{Triggers: rules.VolumeThreshold, Threshold: total(10), More: &rules.URRMore{HasReports: true, Quota: total(20)}}, Meter{}, now(0, 0),
			abi.UrrArm{QuotaTotal: 1520}},
		"a threshold beyond 2^64":           {rules.URR{Triggers: rules.VolumeThreshold, Threshold: total(never)}, Meter{}, now(10, 0), abi.UrrArm{}},
		"inactivity":                        {rules.URR{More: &rules.URRMore{Inactivity: 3}}, Meter{}, now(0, 0), abi.UrrArm{InactivityMs: 3000}},
		"time begins with the first packet": {rules.URR{MeasureTime: true}, Meter{}, now(0, 0), abi.UrrArm{Total: 1501}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.meter.From = base
			for _, v := range []*uint64{&tt.want.Total, &tt.want.Ul, &tt.want.Dl, &tt.want.QuotaTotal, &tt.want.QuotaUl, &tt.want.QuotaDl} {
				if *v == 0 {
					*v = never
				}
			}
			tt.want.Session = 3
			if diff := cmp.Diff(tt.want, tt.meter.Arm(&tt.urr, tt.read, 3)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// What is reached blocks, or fires, at once: any counter is beyond 0.
	blocked := Meter{From: base, Exhausted: true}
	if a := blocked.Arm(&rules.URR{}, now(0, 0), 3); a.QuotaTotal != 0 {
		t.Errorf("an exhausted URR is armed at %d", a.QuotaTotal)
	}
	late := Meter{From: base}
	if a := late.Arm(&rules.URR{Triggers: rules.VolumeThreshold, Threshold: total(5)}, now(9, 0), 3); a.Total != 0 {
		t.Errorf("a threshold that is reached already is armed at %d", a.Total)
	}
}

func TestPeriodic(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.Periodic, Period: 30})
	l.pass(1, true, 100)
	want(t, "too early", l.sleep(29_999))
	want(t, "period over", l.sleep(1), brief{1, TriggerPeriodic, 100, 0, 0})
	l.pass(1, false, 7)
	l.sleep(10_000)
	want(t, "query", l.query(1), brief{1, TriggerImmediate, 0, 7, 0})
	want(t, "the period goes on whatever is reported between", l.sleep(20_000), brief{1, TriggerPeriodic, 0, 0, 0})
	l.now += 100_000 // upf-c was away
	want(t, "one report for the periods that were missed", l.measure(), brief{1, TriggerPeriodic, 0, 0, 0})
	again := *l.set.URRs.Get(1)
	l.update(&again, rules.Granted{}) // SMFs give the same period with every update
	want(t, "in step again", l.sleep(20_000), brief{1, TriggerPeriodic, 0, 0, 0})
	if r := l.got[1]; r.Start != t0+30_000 || r.End != t0+40_000 || r.Sequence != 1 {
		t.Errorf("second report %+v", r)
	}
}

// upf-u counted a packet that then did not leave, and it was reported meanwhile.
func TestWhatIsTakenBackIsOffTheNextReport(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureVolume: true, Info: rules.CountPackets})
	l.pass(1, true, 100)
	l.pass(1, true, 40)
	want(t, "with the packet", l.query(1), brief{1, TriggerImmediate, 140, 0, 0})
	slot := l.slot(l.meters.Get(1).Slot)
	slot.UL, slot.ULPackets = slot.UL-100, slot.ULPackets-1
	want(t, "nothing new, and no 2^64 octets", l.query(1), brief{1, TriggerImmediate, 0, 0, 0})
	l.pass(1, true, 250)
	want(t, "without it", l.query(1), brief{1, TriggerImmediate, 150, 0, 0})
	if r := l.got[2]; r.Counts.ULPackets != 0 { // two and one were counted, two left
		t.Errorf("%d packets more", r.Counts.ULPackets)
	}
}

func TestVolumeThreshold(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Has: rules.HasTotal | rules.HasDL, Total: 1000, DL: 300}})
	if _, got := l.pass(1, true, 999); got != nil {
		t.Errorf("reported %+v below the threshold", got)
	}
	_, got := l.pass(1, true, 5)
	want(t, "total", got, brief{1, TriggerVolumeThreshold, 1004, 0, 0})
	_, got = l.pass(1, false, 300)
	want(t, "downlink, of what was not reported", got, brief{1, TriggerVolumeThreshold, 0, 300, 0})
}

func TestTimeBeginsWithTheFirstPacket(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureTime: true, Triggers: rules.TimeThreshold, TimeThreshold: 10})
	want(t, "no packet, no time", l.sleep(60_000))
	l.pass(1, true, 1)
	want(t, "it runs", l.sleep(9_999))
	want(t, "threshold", l.sleep(1), brief{1, TriggerTimeThreshold, 1, 0, 10})
	want(t, "it goes on without packets", l.sleep(10_000), brief{1, TriggerTimeThreshold, 0, 0, 10})
	if r := l.got[0]; r.First != t0+60_000 || r.Last != t0+60_000 {
		t.Errorf("first packet at %d, last at %d", r.First-t0, r.Last-t0)
	}
	if r := l.got[1]; r.First != 0 || r.Last != 0 {
		t.Errorf("a report without packets names %d and %d", r.First, r.Last)
	}
}

func TestImmediateStart(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureTime: true, Triggers: rules.TimeThreshold, TimeThreshold: 10, Info: rules.ImmediateStart})
	want(t, "threshold without a packet", l.sleep(10_000), brief{1, TriggerTimeThreshold, 0, 0, 10})
}

func TestInactivityDetectionTime(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureTime: true, Triggers: rules.TimeThreshold, TimeThreshold: 10, More: &rules.URRMore{Inactivity: 4}})
	want(t, "nothing yet", l.sleep(100_000))
	l.pass(1, true, 1) // 0 s of time
	l.sleep(2_000)
	l.pass(1, true, 1)                  // 2
	want(t, "pause", l.sleep(60_000))   // 6: four seconds were waited
	l.pass(1, true, 1)                  // 6
	want(t, "the rest", l.sleep(3_999)) // 9.999
	l.pass(1, true, 1)                  // 9.999
	want(t, "reached", l.sleep(60_000), brief{1, TriggerTimeThreshold, 4, 0, 10})
	l.pass(1, true, 1)
	want(t, "query", l.query(1), brief{1, TriggerImmediate, 1, 0, 3}) // 3.999, the rest of the pause
}

func TestDurationsAddUp(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureTime: true})
	l.pass(1, true, 1)
	sum := uint32(0)
	for range 100 {
		l.sleep(777)
		sum += l.query(1)[0].Seconds
	}
	if sum != 77 {
		t.Errorf("77.7 seconds were reported as %d", sum)
	}
}

func TestVolumeQuota(t *testing.T) {
	u := &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.VolumeQuota | rules.VolumeThreshold, Threshold: total(400), More: &rules.URRMore{Quota: total(500)}}
	l := newLab(t, u)
	_, got := l.pass(1, true, 450)
	want(t, "threshold", got, brief{1, TriggerVolumeThreshold, 450, 0, 0})
	_, got = l.pass(1, false, 60)
	want(t, "the rest of the quota", got, brief{1, TriggerVolumeQuota, 0, 60, 0})
	if passed, got := l.pass(1, false, 1); passed || got != nil {
		t.Errorf("passed %t, reported %+v after the quota", passed, got)
	}
	want(t, "nothing more", l.sleep(100_000))
	l.update(u, rules.Granted{Volume: true})
	if passed, _ := l.pass(1, false, 100); !passed {
		t.Error("blocked although a quota was granted")
	}
	// What is used between report and grant counts for the new quota.
	l.update(u, rules.Granted{Volume: true})
	_, got = l.pass(1, false, 400)
	want(t, "threshold and quota in one", got, brief{1, TriggerVolumeThreshold | TriggerVolumeQuota, 0, 500, 0})
}

func TestQuotaOfNothingBlocksAtOnce(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.VolumeQuota, More: &rules.URRMore{Quota: total(0)}})
	if passed, _ := l.forward(10, true, 1); passed {
		t.Error("a packet passed")
	}
	want(t, "told at once", l.measure(), brief{1, TriggerVolumeQuota, 0, 0, 0})
	want(t, "told once", l.measure())
}

func TestQuotaWithoutTriggerBlocksSilently(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureVolume: true, More: &rules.URRMore{Quota: total(10)}})
	_, got := l.pass(1, true, 10)
	want(t, "report", got)
	if passed, _ := l.pass(1, true, 10); passed {
		t.Error("a packet passed")
	}
}

func TestTimeQuota(t *testing.T) {
	u := &rules.URR{ID: 1, MeasureTime: true, Triggers: rules.TimeQuota, More: &rules.URRMore{HasTimeQuota: true, TimeQuota: 20}}
	l := newLab(t, u)
	l.pass(1, true, 1)
	l.sleep(5_000)
	want(t, "query", l.query(1), brief{1, TriggerImmediate, 1, 0, 5})
	want(t, "quota", l.sleep(15_000), brief{1, TriggerTimeQuota, 0, 0, 15})
	if passed, _ := l.pass(1, true, 1); passed {
		t.Error("a packet passed after the time quota")
	}
	want(t, "once", l.sleep(100_000))
	l.update(u, rules.Granted{Time: true})
	if passed, _ := l.pass(1, true, 1); !passed {
		t.Error("the time without quota was charged to the new one")
	}
	want(t, "the new quota", l.sleep(20_000), brief{1, TriggerTimeQuota, 1, 0, 20})
}

func TestQuotaHoldingTime(t *testing.T) {
	u := &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.QuotaHoldingTime, More: &rules.URRMore{Quota: total(1000), HoldingTime: 10}}
	l := newLab(t, u)
	l.sleep(9_000)
	l.pass(1, true, 3)
	want(t, "a packet puts it off", l.sleep(9_999))
	want(t, "held too long", l.sleep(1), brief{1, TriggerQuotaHolding, 3, 0, 0})
	if passed, _ := l.pass(1, true, 1); passed {
		t.Error("a packet passed after the Quota Holding Time")
	}
	l.update(u, rules.Granted{Volume: true})
	if passed, _ := l.pass(1, true, 1); !passed {
		t.Error("blocked although a quota was granted")
	}
}

func TestQuotaValidityTime(t *testing.T) {
	u := &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.QuotaValidityTime, More: &rules.URRMore{Quota: total(1000), ValidityTime: 10}}
	l := newLab(t, u)
	l.pass(1, true, 3)
	want(t, "over, once", l.sleep(100_000), brief{1, TriggerQuotaValidity, 3, 0, 0})
	l.update(u, rules.Granted{Volume: true})
	want(t, "again", l.sleep(10_000), brief{1, TriggerQuotaValidity, 0, 0, 0})
}

func TestStartAndStopOfTraffic(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.StartOfTraffic | rules.StopOfTraffic, More: &rules.URRMore{Inactivity: 5}})
	want(t, "nothing yet", l.sleep(60_000))
	_, got := l.pass(1, true, 10)
	want(t, "start", got, brief{1, TriggerStart, 0, 0, 0})
	l.sleep(4_000)
	_, got = l.pass(1, true, 10)
	want(t, "it runs", got)
	want(t, "stop", l.sleep(60_000), brief{1, TriggerStop, 0, 0, 0})
	_, got = l.pass(1, true, 10)
	want(t, "start again", got, brief{1, TriggerStart, 0, 0, 0})
	want(t, "the octets are all there", l.query(1), brief{1, TriggerImmediate, 30, 0, 0})
}

func TestLinkedURRs(t *testing.T) {
	link := func(id, to uint32) *rules.URR {
		return &rules.URR{ID: id, MeasureVolume: true, Triggers: rules.LinkedUsage, More: &rules.URRMore{Linked: []uint32{to}}}
	}
	l := newLab(t, &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.VolumeThreshold, Threshold: total(10)}, link(2, 1), link(3, 2), link(4, 9),
		&rules.URR{ID: 5, MeasureVolume: true})
	l.pass(2, true, 5)
	_, got := l.pass(1, true, 10)
	want(t, "threshold", got, brief{1, TriggerVolumeThreshold, 10, 0, 0}, brief{2, TriggerLinked, 5, 0, 0}, brief{3, TriggerLinked, 0, 0, 0})
	want(t, "query", l.query(2), brief{2, TriggerImmediate, 0, 0, 0}, brief{3, TriggerLinked, 0, 0, 0})
	s := l.session()
	want(t, "removal", s.Linked([]uint32{1, 2}), brief{3, TriggerLinked, 0, 0, 0})
}

func TestMonitoringTime(t *testing.T) {
	at := t0/1000 + 100
	u := &rules.URR{ID: 1, MeasureVolume: true, MeasureTime: true, Triggers: rules.VolumeThreshold, Threshold: total(1000),
		More: &rules.URRMore{Monitoring: at, NextThreshold: total(50), Quota: total(2000), NextQuota: total(300)}}
	l := newLab(t, u)
	l.pass(1, true, 700)
	want(t, "the Monitoring Time alone reports nothing", l.sleep(150_000))
	l.pass(1, false, 49)
	_, got := l.pass(1, false, 1)
	want(t, "split", got, brief{1, TriggerMonitoringTime, 700, 0, 100}, brief{1, TriggerVolumeThreshold, 0, 50, 50})
	if b, a := got[0], got[1]; b.Info != BeforeMonitoring || a.Info != AfterMonitoring || b.End != at*1000 || a.Start != at*1000 || b.Sequence != 0 || a.Sequence != 1 {
		t.Errorf("before %+v\nafter %+v", b, a)
	}
	_, got = l.pass(1, false, 50)
	want(t, "the subsequent threshold stays", got, brief{1, TriggerVolumeThreshold, 0, 50, 0})
	l.pass(1, false, 45)
	if passed, _ := l.pass(1, true, 1); !passed {
		t.Fatal("the first quota counts no more")
	}
	for range 4 {
		l.pass(1, true, 49)
	}
	if passed, _ := l.pass(1, true, 49); passed {
		t.Error("a packet passed after the subsequent quota")
	}
}

func TestMonitoringTimeWithoutSubsequentThreshold(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.VolumeThreshold, Threshold: total(100), More: &rules.URRMore{Monitoring: t0/1000 + 10}})
	l.pass(1, true, 60)
	l.sleep(20_000)
	if _, got := l.pass(1, true, 39); got != nil {
		t.Errorf("reported %+v", got)
	}
	_, got := l.pass(1, true, 1)
	want(t, "the threshold goes on", got, brief{1, TriggerMonitoringTime, 60, 0, 0}, brief{1, TriggerVolumeThreshold, 40, 0, 0})
}

func TestTwoMonitoringTimes(t *testing.T) {
	u := &rules.URR{ID: 1, MeasureVolume: true, More: &rules.URRMore{Monitoring: t0/1000 + 10}}
	l := newLab(t, u)
	l.pass(1, true, 1)
	l.sleep(10_000)
	l.pass(1, true, 2)
	again := *l.set.URRs.Get(1)
	again.More = &rules.URRMore{Monitoring: t0/1000 + 20}
	l.update(&again, rules.Granted{})
	want(t, "the first split is not lost", l.sleep(10_000), brief{1, TriggerMonitoringTime, 1, 0, 0})
	l.pass(1, true, 4)
	want(t, "query", l.query(1), brief{1, TriggerMonitoringTime, 2, 0, 0}, brief{1, TriggerImmediate, 4, 0, 0})
}

func TestNumberOfReports(t *testing.T) {
	u := &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.Periodic, Period: 1, More: &rules.URRMore{HasReports: true, Reports: 2}}
	l := newLab(t, u)
	l.pass(1, true, 3)
	want(t, "two", l.sleep(60_000), brief{1, TriggerPeriodic, 3, 0, 0}, brief{1, TriggerPeriodic, 0, 0, 0})
	want(t, "a query is answered", l.query(1), brief{1, TriggerImmediate, 0, 0, 0})
	l.update(u, rules.Granted{Reports: true})
	if got := l.sleep(60_000); len(got) != 2 {
		t.Errorf("%d reports after more were allowed", len(got))
	}
}

func TestPausedMeasurement(t *testing.T) {
	run := &rules.URR{ID: 1, MeasureVolume: true, MeasureTime: true, Triggers: rules.Periodic, Period: 100, Info: rules.ImmediateStart}
	pause := *run
	pause.Info |= rules.Paused
	l := newLab(t, run)
	l.pass(1, true, 10)
	l.sleep(10_000)
	l.update(&pause, rules.Granted{})
	l.pass(1, true, 1000)
	want(t, "no report while it is paused", l.sleep(200_000))
	l.update(run, rules.Granted{})
	l.pass(1, true, 1)
	l.sleep(5_000)
	if got := l.got[len(l.got)-1]; got.Counts.UL != 11 || got.Seconds > 10 {
		t.Errorf("report %+v, want what came before and after the pause", got)
	}
	want(t, "time stood still", l.query(1), brief{1, TriggerImmediate, 0, 0, 5})
}

func TestUserPlaneInactivity(t *testing.T) {
	u := &rules.URR{ID: rules.InactivityURR, Triggers: rules.UserPlaneInactive, More: &rules.URRMore{PlaneInactivity: 10}}
	l := newLab(t, u)
	l.sleep(9_000)
	l.pass(u.ID, true, 1)
	want(t, "a packet puts it off", l.sleep(9_999))
	if got := l.sleep(100_000); len(got) != 1 || got[0].Trigger != TriggerInactive {
		t.Errorf("reported %+v, want inactivity once", got)
	}
	l.pass(u.ID, true, 1)
	if got := l.sleep(100_000); len(got) != 1 {
		t.Errorf("reported %+v, want inactivity again after a packet", got)
	}
	if got := l.query(u.ID); got != nil {
		t.Errorf("a query reports the timer: %+v", got)
	}
}

func TestAFullOutboxKeepsUsageInTheMeter(t *testing.T) {
	l := newLab(t, &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.Periodic | rules.VolumeQuota, Period: 1, More: &rules.URRMore{Quota: total(100)}})
	l.pass(1, true, 60)
	l.now += 5_000
	s := l.session()
	want(t, "no room", l.store(s, s.Measure(false)))
	if passed, _ := l.forward(10, true, 60); !passed {
		t.Fatal("blocked too early")
	}
	s = l.session()
	want(t, "but the end of the quota", l.store(s, s.Measure(false)), brief{1, TriggerVolumeQuota, 120, 0, 0})
	want(t, "room", l.measure(), brief{1, TriggerPeriodic, 0, 0, 0})
}

// However traffic, reports, updates and restarts of either process follow each other, the reports
// add up to what was forwarded, and their numbers are in sequence.
func TestNoOctetIsLostOrReportedTwice(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 4))
		volume := func() rules.Volume {
			return rules.Volume{Has: uint8(random.IntN(8)), Total: random.Uint64N(900) + 1, UL: random.Uint64N(900) + 1, DL: random.Uint64N(900) + 1}
		}
		urr := func(id uint32, now int64) *rules.URR {
			u := &rules.URR{ID: id, MeasureVolume: true, MeasureTime: random.IntN(2) == 0, Period: rules.Seconds(1 + random.IntN(30)),
				Triggers:  random.Uint32() & (rules.Periodic | rules.VolumeThreshold | rules.TimeThreshold | rules.VolumeQuota | rules.TimeQuota | rules.StartOfTraffic | rules.StopOfTraffic | rules.QuotaHoldingTime | rules.QuotaValidityTime | rules.LinkedUsage),
				Threshold: volume(), TimeThreshold: rules.Seconds(1 + random.IntN(20)), Info: uint8(random.IntN(32))}
			if random.IntN(2) == 0 {
				u.More = &rules.URRMore{Quota: volume(), HasTimeQuota: random.IntN(3) == 0, TimeQuota: 60, Inactivity: rules.Seconds(random.IntN(10)), Linked: []uint32{1 + id%3},
					ValidityTime: 20, HoldingTime: rules.Seconds(random.IntN(2) * 40), NextThreshold: volume(), NextQuota: volume()}
				if random.IntN(2) == 0 {
					u.More.Monitoring = now/1000 + random.Int64N(60)
				}
			}
			return u
		}
		l := newLab(t, urr(1, t0), urr(2, t0), urr(3, t0))
		forwarded := map[uint32]Counts{}
		for range 200 {
			id := 1 + random.Uint32N(3)
			switch random.IntN(12) {
			default:
				ul, n := random.IntN(2) == 0, random.Uint64N(200)
				if passed, _ := l.pass(id, ul, n); passed && !l.set.URRs.Get(id).Is(rules.Paused) {
					if ul {
						forwarded[id] = forwarded[id].Plus(Counts{UL: n, ULPackets: 1})
					} else {
						forwarded[id] = forwarded[id].Plus(Counts{DL: n, DLPackets: 1})
					}
				}
			case 6, 7:
				l.sleep(random.Int64N(8000))
			case 8:
				l.query(id)
			case 9:
				u := urr(id, l.now)
				l.update(u, rules.Granted{Volume: random.IntN(2) == 0, Time: random.IntN(2) == 0})
				l.measure()
			case 10: // upf-u is another one
				l.restartUPFU()
			case 11: // upf-c is another one, and had been away
				l.now += random.Int64N(5000)
				l.measure()
			}
		}
		s := l.session()
		l.store(s, s.Report(TriggerTermination, 1, 2, 3))
		sum, next := map[uint32]Counts{}, map[uint32]uint32{}
		for _, r := range l.got {
			if r.Sequence != next[r.URR] {
				t.Fatalf("seed %d: URR %d has UR-SEQN %d, want %d", seed, r.URR, r.Sequence, next[r.URR])
			}
			next[r.URR]++
			sum[r.URR] = sum[r.URR].Plus(r.Counts)
			if r.End < r.Start {
				t.Fatalf("seed %d: report ends before it starts: %+v", seed, r)
			}
		}
		for id, m := range l.meters.All() {
			if m.Before != nil {
				t.Fatalf("seed %d: the last report left a split behind", seed)
			}
			if m.Reported != sum[id] {
				t.Fatalf("seed %d: measured %+v, reported %+v", seed, m.Reported, sum[id])
			}
		}
		if diff := cmp.Diff(forwarded, sum); diff != "" && len(forwarded) == 3 {
			t.Fatalf("seed %d: forwarded and reported differ:\n%s", seed, diff)
		}
	}
}

// upf-u speaks up exactly when something is due: armed values and what Measure finds agree.
func TestArmAndDueAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		volume := func() rules.Volume {
			return rules.Volume{Has: uint8(random.IntN(8)), Total: 1 + random.Uint64N(200), UL: 1 + random.Uint64N(200), DL: 1 + random.Uint64N(200)}
		}
		u := &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.VolumeThreshold | rules.VolumeQuota, Threshold: volume(), More: &rules.URRMore{Quota: volume()}}
		l := newLab(t, u)
		s := l.slot(10)
		for range 3 {
			s.UL, s.DL = s.UL+random.Uint64N(60), s.DL+random.Uint64N(60)
			threshold, quota := s.reached()
			if due := l.session().Due(); due != (threshold || quota) {
				t.Fatalf("armed at %+v, slot %+v: fires %t %t, due %t", s.arm, s.Counts, threshold, quota, due)
			}
		}
	}
}

// What a plain report carries is what every SMF reads: free5GC's drops a message as a whole because
// of an IE that its library cannot decode.
func TestPlainReportHasNoFurtherIEs(t *testing.T) {
	for name, u := range map[string]*rules.URR{
		"after QoS":  {ID: 1, MeasureVolume: true, Triggers: rules.VolumeThreshold, Threshold: total(10)},
		"before QoS": {ID: 1, MeasureVolume: true, Triggers: rules.VolumeThreshold, Threshold: total(10), Info: rules.BeforeQoS | rules.CountPackets},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, u)
			_, got := l.pass(1, true, 10)
			if len(got) != 1 {
				t.Fatalf("%d reports", len(got))
			}
			var types []uint16
			var b pfcp.IEs
			got[0].Append(&b, ie.UsageReportWithinSessionReportRequest, "")
			message, err := pfcp.ParseElements(b)
			if err != nil {
				t.Fatal(err)
			}
			group, err := message[0].Group()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range group {
				types = append(types, e.Type)
			}
			if diff := cmp.Diff([]uint16{ie.URRID, ie.URSEQN, ie.UsageReportTrigger, ie.StartTime, ie.EndTime, ie.VolumeMeasurement}, types); diff != "" {
				t.Errorf("IEs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANewUPFUIsNoPause(t *testing.T) {
	l := newLab(t,
		&rules.URR{ID: rules.InactivityURR, Triggers: rules.UserPlaneInactive, More: &rules.URRMore{PlaneInactivity: 60}},
		&rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.QuotaHoldingTime, More: &rules.URRMore{HoldingTime: 60, Quota: total(1 << 30)}},
		&rules.URR{ID: 2, Triggers: rules.StartOfTraffic | rules.StopOfTraffic},
		&rules.URR{ID: 3, MeasureTime: true, Triggers: rules.TimeThreshold, TimeThreshold: 3600},
	)
	all := []uint32{rules.InactivityURR, 1, 2, 3}
	for range 20 { // traffic for longer than any timer
		for _, id := range all {
			l.pass(id, true, 1)
		}
		l.sleep(10_000)
	}
	want(t, "traffic", l.got, brief{2, TriggerStart, 0, 0, 0})
	l.restartUPFU()
	want(t, "restart", l.measure())
	want(t, "a while", l.sleep(19_000))
	if r := l.query(3)[0]; r.Seconds != 219 || r.First != t0 || r.Last != t0+190_000 {
		t.Errorf("time %d s, first packet at %d, last at %d; want 219 s from 0 to 190,000", r.Seconds, r.First-t0, r.Last-t0)
	}
	for _, id := range all {
		l.pass(id, true, 1)
	}
	want(t, "traffic goes on", l.sleep(29_000))
}

// An event that nobody heard, because upf-c was away, is made up for.
func TestWhatUPFUSaidToNobodyIsDue(t *testing.T) {
	for name, u := range map[string]*rules.URR{
		"the first packet, from which time is measured": {ID: 1, MeasureTime: true, Triggers: rules.TimeThreshold, TimeThreshold: 10},
		"the start of traffic":                          {ID: 1, Triggers: rules.StartOfTraffic},
		"traffic whose stop is to be told":              {ID: 1, Triggers: rules.StopOfTraffic},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, u)
			if l.session().Due() {
				t.Error("due before the packet")
			}
			if _, event := l.forward(10, true, 1); !event {
				t.Fatal("no event")
			}
			if !l.session().Due() {
				t.Fatal("not due after the packet")
			}
			l.measure()
			if l.session().Due() {
				t.Error("due for ever")
			}
			if u.Triggers != rules.StartOfTraffic && l.session().Deadline() == 0 {
				t.Error("no deadline")
			}
		})
	}
}
