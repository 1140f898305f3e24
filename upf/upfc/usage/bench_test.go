package usage

import (
	"testing"

	"core5g.dev/core5g/upf/upfc/rules"
)

// A periodic report of a session with two URRs, and what is done for every establishment.
func BenchmarkMeasure(b *testing.B) {
	l := newLab(b, &rules.URR{ID: 1, MeasureVolume: true, Triggers: rules.Periodic, Period: 1},
		&rules.URR{ID: 2, MeasureVolume: true, Triggers: rules.VolumeThreshold, Threshold: total(1 << 40)})
	b.ReportAllocs()
	for b.Loop() {
		l.now += 1000
		s := l.session()
		if len(s.Measure(true)) != 1 {
			b.Fatal("no report")
		}
		l.meters = s.Meters
		s.Deadline()
	}
}
