package rules

import (
	"encoding/binary"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// BAR is a Buffering Action Rule, TS 29.244 tables 7.5.2.6-1 and 7.5.4.11-1.
type BAR struct {
	ID       uint8
	Delay    time.Duration // Downlink Data Notification Delay
	Duration time.Duration // DL Buffering Duration, of a report's answer (7.5.9.2); 0: as upf-u is configured
	Packets  uint16        // Suggested Buffering Packets Count; 0: the configured limit alone
}

// MT-EDT asks for the size of what waits (feature MT-EDT).
var unsupportedInBAR = []uint16{ie.MTEDTControlInformation}

// notificationDelayUnit is that of a Downlink Data Notification Delay (TS 29.244 8.2.28).
const notificationDelayUnit = 50 * time.Millisecond

func (p *planner) bar(r *BAR, group pfcp.Elements, create bool) error {
	ref := named{barKind, uint32(r.ID)}
	if e := group.First(ie.DownlinkDataNotificationDelay); e.Removes(create) {
		r.Delay = 0
	} else if e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		r.Delay = time.Duration(v) * notificationDelayUnit
	}
	if e := group.First(ie.SuggestedBufferingPacketsCount); e.Removes(create) {
		r.Packets = 0
	} else if e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		r.Packets = uint16(v)
	}
	return unsupported(group, unsupportedInBAR, ref)
}

// UpdateInReportResponse applies an Update BAR of a Session Report Response (TS 29.244 table
// 7.5.9.2-1) to a copy of the rule that it is about; nil when there is no such rule.
func (s *Set) UpdateInReportResponse(e *pfcp.Element) (*BAR, error) {
	group, err := e.Group()
	if err != nil {
		return nil, err
	}
	id := group.First(ie.BARID)
	if id == nil {
		return nil, pfcp.Missing(ie.BARID, "Update BAR")
	}
	v, err := id.Uint8()
	if err != nil {
		return nil, err
	}
	old := s.BARs.Get(v)
	if old == nil {
		return nil, nil
	}
	r := *old
	if err := (&planner{}).bar(&r, group, false); err != nil {
		return nil, err
	}
	if e := group.First(ie.DLBufferingDuration); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return nil, err
		}
		r.Duration = timerValue(v)
	}
	if e := group.First(ie.DLBufferingSuggestedPacketCount); e != nil {
		switch len(e.Value) { // one octet, or two for more than 255 (TS 29.244 8.2.30)
		case 0:
			r.Packets = 0
		case 1:
			r.Packets = uint16(e.Value[0])
		default:
			r.Packets = binary.BigEndian.Uint16(e.Value)
		}
	}
	return &r, nil
}

// timerValue reads a timer (TS 29.244 8.2.55, as TS 29.274 8.87): unit and value; 0 for infinite.
func timerValue(v uint8) time.Duration {
	n := time.Duration(v & 0x1f)
	switch v >> 5 {
	case 0:
		return n * 2 * time.Second
	case 2:
		return n * 10 * time.Minute
	case 3:
		return n * time.Hour
	case 4:
		return n * 10 * time.Hour
	case 7:
		return 0
	}
	return n * time.Minute
}
