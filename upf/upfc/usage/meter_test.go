package usage

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

var t0 = time.Unix(1_800_000_000, 0)

func ptr(v uint64) *uint64 { return &v }

func counts(ul, dl uint64) Counts { return Counts{UL: ul, DL: dl} }

func TestArm(t *testing.T) {
	never := uint64(math.MaxUint64)
	tests := map[string]struct {
		urr           rules.URR
		meter         Meter
		total, ul, dl uint64
	}{
		"nothing to wait for": {rules.URR{Triggers: rules.Periodic}, Meter{}, never, never, never},
		"a threshold on a fresh slot": {
			rules.URR{Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Total: ptr(100), UL: ptr(60), DL: ptr(70)}}, Meter{}, 100, 60, 70},
		"a threshold that is given but not asked for": {rules.URR{Threshold: rules.Volume{Total: ptr(100)}}, Meter{}, never, never, never},
		"beyond what was reported": {
			rules.URR{Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Total: ptr(100)}}, Meter{Reported: counts(30, 40)}, 170, never, never},
		"on a slot that another URR has used": {
			rules.URR{Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Total: ptr(100)}}, Meter{Attached: counts(1000, 500)}, 1600, never, never},
		"after a restart of upf-u, most of it carried over": {
			rules.URR{Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Total: ptr(100)}}, Meter{Carried: counts(50, 20), Reported: counts(0, 0)}, 30, never, never},
		"reached already": {
			rules.URR{Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Total: ptr(100)}}, Meter{Carried: counts(500, 0), Attached: counts(7, 0)}, 7, never, never},
		"the nearer of threshold and quota": {
			rules.URR{Triggers: rules.VolumeThreshold | rules.VolumeQuota, Threshold: rules.Volume{Total: ptr(100)}, Quota: rules.Volume{Total: ptr(80), DL: ptr(10)}}, Meter{}, 80, never, 10},
		"start of traffic":           {rules.URR{Triggers: rules.StartOfTraffic}, Meter{Attached: counts(5, 5)}, 11, never, never},
		"start of traffic, reported": {rules.URR{Triggers: rules.StartOfTraffic}, Meter{Started: true}, never, never, never},
		"a threshold beyond 2^64": {
			rules.URR{Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Total: ptr(math.MaxUint64)}}, Meter{Reported: counts(10, 0)}, never, never, never},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := abi.UrrArm{Session: 3, Slot: tt.meter.Slot, Total: tt.total, Ul: tt.ul, Dl: tt.dl, QuotaTotal: never, QuotaUl: never, QuotaDl: never}
			if diff := cmp.Diff(want, tt.meter.Arm(&tt.urr, 3)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDue(t *testing.T) {
	tests := map[string]struct {
		urr   rules.URR
		meter Meter
		slot  Counts
		after time.Duration
		want  uint32
	}{
		"too early":                          {rules.URR{Triggers: rules.Periodic, Period: 30 * time.Second}, Meter{}, counts(9, 9), 29 * time.Second, 0},
		"period over":                        {rules.URR{Triggers: rules.Periodic, Period: 30 * time.Second}, Meter{}, counts(0, 0), 30 * time.Second, TriggerPeriodic},
		"time threshold":                     {rules.URR{Triggers: rules.TimeThreshold, TimeThreshold: time.Minute}, Meter{}, counts(0, 0), time.Minute, TriggerTimeThreshold},
		"both at once":                       {rules.URR{Triggers: rules.Periodic | rules.VolumeThreshold, Period: time.Second, Threshold: rules.Volume{UL: ptr(5)}}, Meter{}, counts(5, 0), time.Second, TriggerPeriodic | TriggerVolumeThreshold},
		"threshold of what was not reported": {rules.URR{Triggers: rules.VolumeThreshold, Threshold: rules.Volume{Total: ptr(10)}}, Meter{Reported: counts(5, 0)}, counts(14, 0), 0, 0},
		"first octet":                        {rules.URR{Triggers: rules.StartOfTraffic}, Meter{}, counts(0, 1), 0, TriggerStart},
		"quota":                              {rules.URR{Triggers: rules.VolumeQuota, Quota: rules.Volume{Total: ptr(10)}}, Meter{Granted: counts(5, 0), Reported: counts(5, 0)}, counts(15, 0), 0, TriggerVolumeQuota},
		"quota, exhausted":                   {rules.URR{Triggers: rules.VolumeQuota, Quota: rules.Volume{Total: ptr(10)}}, Meter{Exhausted: true}, counts(15, 0), 0, 0},
		"quota of nothing":                   {rules.URR{Triggers: rules.VolumeQuota, Quota: rules.Volume{Total: ptr(0)}}, Meter{}, counts(0, 0), 0, TriggerVolumeQuota},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.meter.Since = t0.UnixNano()
			if got := tt.meter.Due(&tt.urr, tt.slot, t0.Add(tt.after)); got != tt.want {
				t.Errorf("due %#x, want %#x", got, tt.want)
			}
		})
	}
}

// However reports and restarts of upf-u follow each other, the reports add up to what was counted.
func TestNoOctetIsLostOrReportedTwice(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	u := &rules.URR{ID: 1, MeasureVolume: true}
	for range 200 {
		slot := counts(random.Uint64N(1000), random.Uint64N(1000)) // a former owner's
		m := New(5, slot, t0)
		var counted, reported Counts
		seq := uint32(0)
		for range 50 {
			switch random.IntN(4) {
			case 0, 1:
				n := counts(random.Uint64N(100), random.Uint64N(100))
				slot, counted = slot.Plus(n), counted.Plus(n)
			case 2:
				r := m.Cut(u, TriggerPeriodic, slot, t0)
				if r.Sequence != seq {
					t.Fatalf("UR-SEQN %d, want %d", r.Sequence, seq)
				}
				seq++
				reported = reported.Plus(r.Counts)
			case 3: // upf-u is another one
				m.Move(slot, 6, Counts{})
				slot = Counts{}
			}
		}
		last := m.Cut(u, TriggerTermination, slot, t0)
		reported = reported.Plus(last.Counts)
		if diff := cmp.Diff(counted, reported, cmp.AllowUnexported(Counts{})); diff != "" {
			t.Fatalf("counted and reported differ:\n%s", diff)
		}
	}
}

func TestArmAndDueAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		u := &rules.URR{Triggers: rules.VolumeThreshold | rules.VolumeQuota, Threshold: rules.Volume{Total: ptr(random.Uint64N(200))}, Quota: rules.Volume{DL: ptr(random.Uint64N(200))}}
		m := Meter{Attached: counts(random.Uint64N(50), random.Uint64N(50)), Carried: counts(random.Uint64N(50), random.Uint64N(50))}
		m.Reported = counts(random.Uint64N(m.Carried.UL+1), random.Uint64N(m.Carried.DL+1))
		m.Granted = m.Reported
		slot := m.Attached.Plus(counts(random.Uint64N(200), random.Uint64N(200)))
		a := m.Arm(u, 0)
		fires := slot.Total() >= a.Total || slot.UL >= a.Ul || slot.DL >= a.Dl
		due := m.Due(u, slot, t0) != 0
		if fires != due {
			t.Fatalf("armed at %+v, slot %+v: fires %t, due %t (%+v %+v)", a, slot, fires, due, m, u)
		}
	}
}
