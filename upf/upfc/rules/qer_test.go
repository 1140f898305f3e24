package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
)

func TestQER(t *testing.T) {
	full := ie.NewCreateQER(ie.NewQERID(2), ie.NewGateStatus(0, 1), ie.NewQERCorrelationID(77), ie.NewMBR(100, 200), ie.NewGBR(10, 20), ie.NewQFI(9),
		ie.NewRQI(1), ie.NewPagingPolicyIndicator(5), ie.NewAveragingWindow(2000), ie.New(ie.DLFlowLevelMarking, []byte{1, 0xb8, 0xfc}))
	got := planned(t, established(t), full).Next.QERs.Get(2)
	want := &QER{ID: 2, CorrelationID: 77, DLClosed: true, HasMBR: true, MBRUL: 100_000, MBRDL: 200_000, HasGBR: true, GBRUL: 10_000, GBRDL: 20_000,
		QFI: 9, RQI: true, HasPPI: true, PPI: 5, HasToS: true, ToS: 0xb8, ToSMask: 0xfc, Window: 2000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQERsThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		ie        *ie.IE
		cause     uint8
		offending uint16
	}{
		"MBR cut short":                  {ie.New(ie.MBR, make([]byte, 9)), ie.CauseInvalidLength, ie.MBR},
		"GBR cut short":                  {ie.New(ie.GBR, make([]byte, 5)), ie.CauseInvalidLength, ie.GBR},
		"QFI empty":                      {ie.New(ie.QFI, nil), ie.CauseInvalidLength, ie.QFI},
		"averaging window cut short":     {ie.New(ie.AveragingWindow, []byte{1}), ie.CauseInvalidLength, ie.AveragingWindow},
		"an averaging window of nothing": {ie.NewAveragingWindow(0), ruleFailure, ie.AveragingWindow},
		"an averaging window of an hour": {ie.NewAveragingWindow(3_600_000), ruleFailure, ie.AveragingWindow},
		"marking cut short":              {ie.New(ie.DLFlowLevelMarking, []byte{1, 2}), ie.CauseInvalidLength, ie.DLFlowLevelMarking},
		"marking by service class":       {ie.New(ie.DLFlowLevelMarking, []byte{2, 0, 0}), ruleFailure, ie.DLFlowLevelMarking},
		"a packet rate":                  {ie.New(ie.PacketRate, []byte{0}), ruleFailure, ie.PacketRate},
		"CIoT indications":               {ie.New(ie.QERControlIndications, []byte{1}), ruleFailure, ie.QERControlIndications},
	} {
		t.Run(name, func(t *testing.T) {
			r := refused(t, established(t), ie.NewCreateQER(ie.NewQERID(2), ie.NewGateStatus(0, 0), tt.ie))
			if r.Cause != tt.cause || r.Offending != tt.offending {
				t.Errorf("%v, want cause %d because of IE %d", r, tt.cause, tt.offending)
			}
		})
	}
}
