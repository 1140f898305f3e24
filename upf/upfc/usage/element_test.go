package usage

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// assembled is a report as go-pfcp makes it, one IE after the other.
func assembled(r *Report, ieType uint16, application string) *ie.IE {
	ies := []*ie.IE{ie.NewURRID(r.URR), ie.NewURSEQN(r.Sequence), ie.NewUsageReportTrigger(uint8(r.Trigger), uint8(r.Trigger>>8), uint8(r.Trigger>>16))}
	event := r.Trigger&^(TriggerStart|TriggerStop) == 0
	if !event && r.Trigger != TriggerMAC {
		ies = append(ies, ie.NewStartTime(Time(r.Start)), ie.NewEndTime(Time(r.End)))
	}
	if c := r.Counts; r.Volume {
		flags := uint8(0x07)
		if r.Packets {
			flags = 0x3f
		}
		ies = append(ies, ie.NewVolumeMeasurement(flags, c.Total(), c.UL, c.DL, c.Packets(), c.ULPackets, c.DLPackets))
	}
	if r.Duration {
		ies = append(ies, ie.NewDurationMeasurement(time.Duration(r.Seconds)*time.Second))
	}
	switch f := r.Flow; {
	case f != nil:
		ies = append(ies, ie.NewApplicationDetectionInformation(ie.NewApplicationID(f.Application), ie.NewApplicationInstanceID(f.ID()),
			ie.NewFlowInformation(ie.FlowDirectionBidirectional, f.Description())))
	case event && application != "":
		ies = append(ies, ie.NewApplicationDetectionInformation(ie.NewApplicationID(application)))
	}
	if r.First != 0 {
		ies = append(ies, ie.NewTimeOfFirstPacket(Time(r.First)))
	}
	if r.Last != 0 {
		ies = append(ies, ie.NewTimeOfLastPacket(Time(r.Last)))
	}
	if r.Info != 0 {
		ies = append(ies, ie.New(ie.UsageInformation, []byte{r.Info}))
	}
	if r.HasQuery && ieType != ie.UsageReportWithinSessionDeletionResponse {
		ies = append(ies, ie.NewQueryURRReference(r.Query))
	}
	return ie.NewUsageReport(ieType, ies...)
}

// What is appended is what go-pfcp makes of the same report. (It has no names for MAC addresses: rules.TestStationIEs.)
func TestReportsAreGoPFCPs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	some := func() bool { return rnd.IntN(2) == 0 }
	at := func() int64 { return 1_000 * (rnd.Int64N(4_000_000_000) + 1) } // to 2096: the era of 2036 is among them
	triggers := []uint32{TriggerStart, TriggerStop, TriggerStart | TriggerStop, TriggerMAC, TriggerImmediate, TriggerTermination,
		TriggerVolumeThreshold | TriggerTimeThreshold, TriggerQuotaValidity, TriggerInactive}
	for range 2000 {
		r := &Report{URR: rnd.Uint32(), Sequence: rnd.Uint32(), Trigger: triggers[rnd.IntN(len(triggers))], Start: at(), End: at() + rnd.Int64N(1000),
			Volume: some(), Packets: some(), Duration: some(), Seconds: rnd.Uint32(), Info: uint8(rnd.IntN(3)), HasQuery: some(), Query: rnd.Uint32(),
			Counts: Counts{UL: rnd.Uint64(), DL: rnd.Uint64(), ULPackets: rnd.Uint64(), DLPackets: rnd.Uint64()}}
		if some() {
			r.First, r.Last = at(), at()
		}
		if some() {
			r.Flow = &rules.DetectedFlow{Application: "video", Instance: rnd.Uint32(), Remote: netip.MustParseAddr("2001:db8::1"), Protocol: 17, RemotePort: 443}
			if some() {
				r.Flow.Local = netip.MustParseAddr("2001:db8::2")
			}
		}
		application := []string{"", "video"}[rnd.IntN(2)]
		for _, ieType := range []uint16{ie.UsageReportWithinSessionReportRequest, ie.UsageReportWithinSessionModificationResponse, ie.UsageReportWithinSessionDeletionResponse} {
			want, err := assembled(r, ieType, application).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			got := pfcp.IEs{1, 2, 3} // what stands before stays
			r.Append(&got, ieType, application)
			if diff := cmp.Diff(append([]byte{1, 2, 3}, want...), []byte(got)); diff != "" {
				t.Fatalf("%+v (-want +got):\n%s", r, diff)
			}
		}
	}
}
