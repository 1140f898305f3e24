package usage

import (
	"encoding/binary"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/rules"
)

// IE is the report as a Usage Report IE of the given type: the same content has one type in each of
// the messages that can carry it (TS 29.244 7.5.5.2, 7.5.7.2, 7.5.8.3). application is the
// Application ID that the URR's PDRs detect, if any.
func (r *Report) IE(ieType uint16, application string) *ie.IE {
	ies := []*ie.IE{
		ie.NewURRID(r.URR),
		ie.NewURSEQN(r.Sequence),
		ie.NewUsageReportTrigger(uint8(r.Trigger), uint8(r.Trigger>>8), uint8(r.Trigger>>16)),
	}
	event := r.Trigger&^(TriggerStart|TriggerStop) == 0
	if !event && r.Trigger != TriggerMAC { // table 7.5.8.3-1: not with the start or stop of traffic, or with MAC addresses
		ies = append(ies, ie.NewStartTime(Time(r.Start)), ie.NewEndTime(Time(r.End)))
	}
	if r.Volume {
		flags := rules.HasTotal | rules.HasUL | rules.HasDL
		if r.Packets {
			flags |= 0x38 // TONOP, ULNOP, DLNOP
		}
		c := r.Counts
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
	if len(r.Detected)+len(r.Removed) > 0 {
		ies = append(ies, ie.NewEthernetTrafficInformation(append(rules.StationIEs(ie.MACAddressesDetected, r.Detected),
			rules.StationIEs(ie.MACAddressesRemoved, r.Removed)...)...))
	}
	if r.First != 0 {
		ies = append(ies, ie.NewTimeOfFirstPacket(Time(r.First)))
	}
	if r.Last != 0 {
		ies = append(ies, ie.NewTimeOfLastPacket(Time(r.Last)))
	}
	// Table 7.5.8.3-1: where there are two reports to be told apart, and only there; free5GC's SMF
	// drops a message with this IE as a whole.
	if r.Info != 0 {
		ies = append(ies, ie.New(ie.UsageInformation, []byte{r.Info}))
	}
	if r.HasQuery && ieType != ie.UsageReportWithinSessionDeletionResponse {
		ies = append(ies, ie.NewQueryURRReference(r.Query))
	}
	return ie.NewUsageReport(ieType, ies...)
}

// Additional says that n reports of a request follow in Session Report Requests (TS 29.244 8.2.91).
func Additional(n int) *ie.IE {
	return ie.New(ie.AdditionalUsageReportsInformation, binary.BigEndian.AppendUint16(nil, uint16(min(n, 0x7fff))))
}
