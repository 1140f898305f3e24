package pfcp

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

func loadIs(number uint32, percent uint8) *ie.IE {
	return ie.NewLoadControlInformation(ie.NewSequenceNumber(number), ie.NewMetric(percent))
}

func overloadIs(number uint32, percent, timer uint8) *ie.IE {
	return ie.NewOverloadControlInformation(ie.NewSequenceNumber(number), ie.NewMetric(percent), ie.New(ie.Timer, []byte{timer}), ie.NewOCIFlags(1))
}

// A unit says how full it is, and what is to be left out, in whatever it says of sessions; what comes late counts no more.
func TestWhatAUnitSaysOfItself(t *testing.T) {
	const tenSeconds, endless = 5, 0xe0
	type step struct {
		// in the answer to an establishment, refused or not, or in a report.
		answer, refusal, report []*ie.IE
		// later is how much time has gone by before; again: the unit is met again.
		later time.Duration
		again bool
		want  string
	}
	for name, steps := range map[string][]step{
		"its load, and another": {{answer: []*ie.IE{loadIs(7, 40)}, want: "load 40"}, {answer: []*ie.IE{loadIs(8, 45)}, want: "load 45"}},
		"by a report":           {{report: []*ie.IE{loadIs(7, 40)}, want: "load 40; report of 0x7"}},
		"by a refusal":          {{refusal: []*ie.IE{loadIs(7, 100), overloadIs(3, 50, tenSeconds)}, want: "load 100; overload 50 for 10s"}},
		"the same once more":    {{answer: []*ie.IE{loadIs(7, 40), overloadIs(3, 50, tenSeconds)}, want: "load 40; overload 50 for 10s"}, {answer: []*ie.IE{loadIs(7, 40), overloadIs(3, 50, tenSeconds)}}},
		"overtaken":             {{answer: []*ie.IE{loadIs(8, 45), overloadIs(3, 0, 0)}, want: "load 45"}, {answer: []*ie.IE{loadIs(7, 40), overloadIs(2, 50, tenSeconds)}}},
		"numbers turn over":     {{answer: []*ie.IE{loadIs(0xffffffff, 40)}, want: "load 40"}, {answer: []*ie.IE{loadIs(1, 45)}, want: "load 45"}},
		"an overload goes by":   {{answer: []*ie.IE{overloadIs(3, 50, tenSeconds)}, want: "overload 50 for 10s"}, {later: 9 * time.Second}, {later: time.Second, want: "overload 0"}},
		"it is told again":      {{answer: []*ie.IE{overloadIs(3, 50, tenSeconds)}, want: "overload 50 for 10s"}, {later: 9 * time.Second, answer: []*ie.IE{overloadIs(4, 50, tenSeconds)}, want: "overload 50 for 10s"}, {later: 9 * time.Second}, {later: time.Second, want: "overload 0"}},
		"it ends":               {{answer: []*ie.IE{overloadIs(3, 50, tenSeconds)}, want: "overload 50 for 10s"}, {answer: []*ie.IE{overloadIs(4, 0, 0)}, want: "overload 0"}, {later: time.Minute}},
		"it is stopped":         {{answer: []*ie.IE{overloadIs(3, 50, tenSeconds)}, want: "overload 50 for 10s"}, {answer: []*ie.IE{overloadIs(4, 50, 0)}, want: "overload 0"}},
		"it is endless":         {{answer: []*ie.IE{overloadIs(3, 50, endless)}, want: "overload 50"}, {later: time.Hour}, {answer: []*ie.IE{overloadIs(4, 0, 0)}, want: "overload 0"}},
		"met again, it begins anew": {
			{answer: []*ie.IE{loadIs(7, 40), overloadIs(3, 50, tenSeconds)}, want: "load 40; overload 50 for 10s"}, {again: true, want: "lost; associated emptied"}, {later: time.Minute},
			{answer: []*ie.IE{loadIs(1, 40), overloadIs(1, 50, tenSeconds)}, want: "load 40; overload 50 for 10s"},
		},
		"what is none": {
			{answer: []*ie.IE{loadIs(7, 101), overloadIs(3, 101, tenSeconds)}},
			{answer: []*ie.IE{ie.NewLoadControlInformation(ie.NewMetric(3)), ie.NewOverloadControlInformation(ie.NewSequenceNumber(3), ie.NewMetric(3))}},
			{answer: []*ie.IE{ie.NewLoadControlInformation(ie.NewSequenceNumber(3)), ie.NewOverloadControlInformation(ie.NewSequenceNumber(3), ie.New(ie.Timer, []byte{1}))}},
			{answer: []*ie.IE{loadIs(1, 40), overloadIs(1, 50, tenSeconds)}, want: "load 40; overload 50 for 10s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t, func(c *Config) { c.Heartbeat, c.Often = 24*time.Hour, 24*time.Hour })
			var o outcomes
			for n, s := range steps {
				r.pass(s.later)
				cpSEID := uint64(7)
				switch {
				case s.answer != nil:
					r.Do(establish(cpSEID), o.done)
					r.answerSession(r.wants(establishment), cpSEID, append([]*ie.IE{upf, accepted}, s.answer...)...)
				case s.refusal != nil:
					r.Do(establish(cpSEID), o.done)
					r.answerSession(r.wants(establishment), cpSEID, append([]*ie.IE{upf, cause(ie.CausePFCPEntityInCongestion)}, s.refusal...)...)
				case s.report != nil:
					r.from(unitAddr, message.MsgTypeSessionReportRequest, &cpSEID, uint32(n), append([]*ie.IE{ie.NewReportType(1, 0, 0, 0)}, s.report...)...)
				case s.again:
					r.from(unitAddr, message.MsgTypeAssociationReleaseRequest, nil, uint32(n), upf)
					r.wants(message.MsgTypeAssociationReleaseResponse)
					r.answer(r.wants(setup), upf, accepted, born.element(), featuresElement(able))
				}
				r.tells(s.want)
			}
		})
	}
}

// What units say is measured until they are met again.
func TestWhatUnitsSayIsMeasured(t *testing.T) {
	r := ready(t)
	var o outcomes
	r.Do(establish(7), o.done)
	r.answerSession(r.wants(establishment), 7, upf, accepted, loadIs(1, 40), overloadIs(1, 50, 5))
	load, reduction := r.cfg.Metrics.loads, r.cfg.Metrics.reductions
	if got, want := testutil.ToFloat64(load), 40.0; got != want {
		t.Errorf("load %g, want %g", got, want)
	}
	if got, want := testutil.ToFloat64(reduction), 50.0; got != want {
		t.Errorf("reduction %g, want %g", got, want)
	}
	r.RemoveUnit("upf-0", false)
	if n := testutil.CollectAndCount(load) + testutil.CollectAndCount(reduction); n != 0 {
		t.Errorf("%d values are left", n)
	}
}

// Whatever meets a unit says that the SMF takes both (TS 29.244 8.2.58).
func TestWeWantToHearOfLoadAndOverload(t *testing.T) {
	r := newRig(t)
	r.add(Unit{NodeID: "upf-0", Address: unitAddr, Associated: true})
	for _, kind := range []uint8{update, setup} {
		m := r.wants(kind)
		if e := m.Elements.First(ie.CPFunctionFeatures); e == nil || len(e.Value) != 1 || e.Value[0] != 3 {
			t.Errorf("message %d has CP Function Features %+v", kind, e)
		}
		r.answer(m, upf, cause(ie.CauseNoEstablishedPFCPAssociation))
	}
}
