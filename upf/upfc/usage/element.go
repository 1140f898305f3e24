package usage

import (
	"time"

	"github.com/wmnsk/go-pfcp/ie"
)

// IE is the report as a Usage Report IE of the given type: the same content has one type in each of
// the messages that can carry it (TS 29.244 7.5.5.2, 7.5.7.2, 7.5.8.3).
func (r *Report) IE(ieType uint16) *ie.IE {
	ies := []*ie.IE{
		ie.NewURRID(r.URR),
		ie.NewURSEQN(r.Sequence),
		ie.NewUsageReportTrigger(uint8(r.Trigger), uint8(r.Trigger>>8), uint8(r.Trigger>>16)),
	}
	if r.Trigger != TriggerStart { // table 7.5.8.3-1: not with a start of traffic
		ies = append(ies, ie.NewStartTime(time.Unix(0, r.Start)), ie.NewEndTime(time.Unix(0, r.End)))
	}
	if r.Volume {
		flags := uint8(0x07) // TOVOL, ULVOL, DLVOL
		if r.Packets {
			flags |= 0x38
		}
		c := r.Counts
		ies = append(ies, ie.NewVolumeMeasurement(flags, c.Total(), c.UL, c.DL, c.ULPackets+c.DLPackets, c.ULPackets, c.DLPackets))
	}
	if r.Duration {
		ies = append(ies, ie.NewDurationMeasurement(time.Duration(r.End-r.Start).Round(time.Second)))
	}
	return ie.NewUsageReport(ieType, ies...)
}
