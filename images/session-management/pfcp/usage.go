package pfcp

import (
	"encoding/binary"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Trigger is a Usage Report Trigger (TS 29.244 8.2.41), octet 5 lowest: why a report was made.
type Trigger uint32

// The triggers that an SMF asks for.
const (
	TriggerPeriodic        Trigger = 1 << 0
	TriggerVolumeThreshold Trigger = 1 << 1
	TriggerTimeThreshold   Trigger = 1 << 2
	TriggerQuotaHolding    Trigger = 1 << 3
	TriggerStart           Trigger = 1 << 4
	TriggerStop            Trigger = 1 << 5
	TriggerImmediate       Trigger = 1 << 7
	TriggerVolumeQuota     Trigger = 1 << 8
	TriggerTimeQuota       Trigger = 1 << 9
	TriggerLinked          Trigger = 1 << 10
	TriggerTermination     Trigger = 1 << 11
	TriggerMonitoringTime  Trigger = 1 << 12
	TriggerQuotaValidity   Trigger = 1 << 19
)

// Is says whether one of the bits is set.
func (t Trigger) Is(bits Trigger) bool { return t&bits != 0 }

// Usage is a Usage Report (TS 29.244 7.5.5.2, 7.5.7.2, 7.5.8.3). A unit repeats one until it is acknowledged: Sequence
// tells the repetition of a URR's report from the next one.
type Usage struct {
	URR      uint32
	Sequence uint32 // UR-SEQN
	Trigger  Trigger
	// Start and End of the measurement, to the second; zero where the report has none.
	Start, End time.Time
	// Volume is nil where no volume is measured.
	Volume *Volume
	// Duration, with HasDuration: Duration Measurement.
	HasDuration bool
	Duration    time.Duration
	// First and Last packet's time, zero where they are not told.
	First, Last time.Time
	// Detected and Removed are MAC addresses of devices behind the UE (TS 29.244 5.13.5).
	Detected, Removed []n1.MAC
	// Application ID that was detected, "" for none.
	Application string
	// Information: 1 is usage before a Monitoring Time, 2 after it (TS 29.244 8.2.89, BEF and AFT).
	Information uint8
	// Query is the Query URR Reference that it answers, with HasQuery.
	HasQuery bool
	Query    uint32
}

// Volume is a Volume Measurement (TS 29.244 8.2.44): octets, and packets, as far as Has says.
type Volume struct {
	Has                                          uint8 // bits TOVOL, ULVOL, DLVOL, TONOP, ULNOP, DLNOP from the lowest
	Total, Uplink, Downlink                      uint64
	TotalPackets, UplinkPackets, DownlinkPackets uint64
}

// usageIn reads the Usage Reports of a message, and how many follow in Session Reports (TS 29.244 8.2.91).
func usageIn(m *wire.Message) ([]Usage, int, error) {
	kind := uint16(ie.UsageReportWithinSessionReportRequest)
	switch m.Type {
	case message.MsgTypeSessionModificationResponse:
		kind = ie.UsageReportWithinSessionModificationResponse
	case message.MsgTypeSessionDeletionResponse:
		kind = ie.UsageReportWithinSessionDeletionResponse
	case message.MsgTypeSessionReportRequest:
	default:
		return nil, 0, nil
	}
	var out []Usage
	for _, g := range m.Elements.All(kind) {
		u, err := usageOf(&g, m.Received)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, u)
	}
	more := 0
	if a := m.Elements.First(ie.AdditionalUsageReportsInformation); a != nil {
		n, err := a.Uint16()
		if err != nil {
			return nil, 0, err
		}
		more = int(n & 0x7fff)
	}
	return out, more, nil
}

func usageOf(g *wire.Element, now time.Time) (Usage, error) {
	var u Usage
	list, err := g.Group()
	if err != nil {
		return u, err
	}
	for _, required := range []uint16{ie.URRID, ie.URSEQN, ie.UsageReportTrigger} {
		if list.First(required) == nil {
			return u, wire.Missing(required, "a Usage Report")
		}
	}
	for i := range list {
		if err := u.read(&list[i], now); err != nil {
			return u, err
		}
	}
	return u, nil
}

// read takes over one element of a report; those that it does not know are passed over.
func (u *Usage) read(e *wire.Element, now time.Time) error {
	var err error
	number := func(to *uint32) {
		*to, err = e.Uint32()
	}
	moment := func(to *time.Time) {
		var s uint32
		if number(&s); err == nil {
			*to = Stamp(s).Time(now)
		}
	}
	switch e.Type {
	case ie.URRID:
		number(&u.URR)
	case ie.URSEQN:
		number(&u.Sequence)
	case ie.UsageReportTrigger:
		if len(e.Value) == 0 {
			return &wire.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "Usage Report Trigger is empty"}
		}
		for i, o := range e.Value[:min(len(e.Value), 4)] {
			u.Trigger |= Trigger(o) << (8 * i)
		}
	case ie.StartTime:
		moment(&u.Start)
	case ie.EndTime:
		moment(&u.End)
	case ie.TimeOfFirstPacket:
		moment(&u.First)
	case ie.TimeOfLastPacket:
		moment(&u.Last)
	case ie.VolumeMeasurement:
		u.Volume, err = volumeOf(e)
	case ie.DurationMeasurement:
		var s uint32
		number(&s)
		u.HasDuration, u.Duration = true, time.Duration(s)*time.Second
	case ie.UsageInformation:
		u.Information, err = e.Uint8()
	case ie.QueryURRReference:
		u.HasQuery = true
		number(&u.Query)
	case ie.EthernetTrafficInformation:
		var list wire.Elements
		if list, err = e.Group(); err != nil {
			return err
		}
		for i := range list {
			switch list[i].Type {
			case ie.MACAddressesDetected:
				err = macsOf(&list[i], &u.Detected)
			case ie.MACAddressesRemoved:
				err = macsOf(&list[i], &u.Removed)
			}
			if err != nil {
				return err
			}
		}
	case ie.ApplicationDetectionInformation:
		var list wire.Elements
		if list, err = e.Group(); err == nil {
			if id := list.First(ie.ApplicationID); id != nil {
				u.Application = string(id.Value)
			}
		}
	}
	return err
}

// macsOf reads MAC Addresses Detected or Removed (TS 29.244 8.2.103, 8.2.104): a number, and so many addresses; of VLANs, which may follow, nobody asks.
func macsOf(e *wire.Element, to *[]n1.MAC) error {
	const length = len(n1.MAC{})
	if len(e.Value) < 1 || len(e.Value)-1 < int(e.Value[0])*length {
		return &wire.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "MAC addresses are cut short"}
	}
	for i := range int(e.Value[0]) {
		*to = append(*to, n1.MAC(e.Value[1+i*length:1+(i+1)*length]))
	}
	return nil
}

func volumeOf(e *wire.Element) (*Volume, error) {
	short := &wire.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "Volume Measurement is cut short"}
	if len(e.Value) < 1 {
		return nil, short
	}
	v := &Volume{Has: e.Value[0] & 0x3f}
	b := e.Value[1:]
	for bit, to := range []*uint64{&v.Total, &v.Uplink, &v.Downlink, &v.TotalPackets, &v.UplinkPackets, &v.DownlinkPackets} {
		if v.Has&(1<<bit) == 0 {
			continue
		}
		if len(b) < 8 {
			return nil, short
		}
		*to, b = binary.BigEndian.Uint64(b), b[8:]
	}
	return v, nil
}
