package n2

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// SecondaryRATUsage is the Secondary RAT Data Usage Report Transfer of TS 38.413 9.3.4.23, gNB to SMF, and the Secondary
// RAT Usage Information of 9.3.1.114 in other transfers: what went through a second radio, for charging.
type SecondaryRATUsage struct {
	// Session is what the session's flows had together, nil where nothing is said.
	Session *RadioUsage
	Flows   []FlowUsage
}

// RadioUsage are volumes of a radio.
type RadioUsage struct {
	Radio Radio
	// Volumes, 1 or 2, of times that follow each other.
	Volumes []Volume
}

// FlowUsage are volumes of a QoS flow.
type FlowUsage struct {
	QFI uint8
	RadioUsage
}

// Radio is the RAT type of TS 38.413 9.3.1.114.
type Radio uint8

// The RAT types.
const (
	NR              Radio = 0
	EUTRA           Radio = 1
	NRUnlicensed    Radio = 2
	EUTRAUnlicensed Radio = 3
)

// Volume in octets, from Start to End, whole seconds from 1968 to 2104 (Volume Timed Report, TS 38.413 9.3.1.115).
type Volume struct {
	Start, End       time.Time
	Uplink, Downlink uint64
}

// What ngapType has of these IEs cannot be decoded: RAT types without bounds, and counters whose bound is no int64. The
// encoding of a number of 0 to 2^64-1 and of one up to maxVolume is the same; none counts further.
type (
	usageTransfer struct {
		Usage        *usageInformation                                                             `aper:"valueExt,optional"`
		IEExtensions *ngapType.ProtocolExtensionContainerSecondaryRATDataUsageReportTransferExtIEs `aper:"optional"`
	}
	usageInformation struct {
		Session     *sessionUsage                                                          `aper:"valueExt,optional"`
		Flows       *flowUsageList                                                         `aper:"optional"`
		IEExtension *ngapType.ProtocolExtensionContainerSecondaryRATUsageInformationExtIEs `aper:"optional"`
	}
	sessionUsage struct {
		Radio        aper.Enumerated `aper:"valueExt,valueLB:0,valueUB:1"`
		Volumes      volumeList
		IEExtensions *ngapType.ProtocolExtensionContainerPDUSessionUsageReportExtIEs `aper:"optional"`
	}
	flowUsageList struct {
		List []flowUsage `aper:"valueExt,sizeLB:1,sizeUB:64"`
	}
	flowUsage struct {
		QosFlowIdentifier ngapType.QosFlowIdentifier
		Radio             aper.Enumerated `aper:"valueExt,valueLB:0,valueUB:1"`
		Volumes           volumeList
		IEExtensions      *ngapType.ProtocolExtensionContainerQoSFlowsUsageReportItemExtIEs `aper:"optional"`
	}
	volumeList struct {
		List []volumeItem `aper:"valueExt,sizeLB:1,sizeUB:2"`
	}
	volumeItem struct {
		Start        aper.OctetString                                                `aper:"sizeLB:4,sizeUB:4"`
		End          aper.OctetString                                                `aper:"sizeLB:4,sizeUB:4"`
		Uplink       int64                                                           `aper:"valueLB:0,valueUB:9223372036854775806"`
		Downlink     int64                                                           `aper:"valueLB:0,valueUB:9223372036854775806"`
		IEExtensions *ngapType.ProtocolExtensionContainerVolumeTimedReportItemExtIEs `aper:"optional"`
	}
)

const (
	maxVolume  = math.MaxInt64 - 1
	maxVolumes = 2
)

// InfoType is SECONDARY_RAT_USAGE.
func (*SecondaryRATUsage) InfoType() InfoType { return InfoSecondaryRATUsage }

// Encode writes the transfer.
func (t *SecondaryRATUsage) Encode() ([]byte, error) {
	var c check
	var out usageTransfer
	if t.Session != nil || len(t.Flows) > 0 {
		out.Usage = c.putUsage(t)
	}
	return c.encode(t, &out)
}

func (t *SecondaryRATUsage) read(c *check, b []byte) {
	var in usageTransfer
	if c.decode(b, &in) && in.Usage != nil {
		*t = c.usage(in.Usage)
	}
}

func (c *check) usage(in *usageInformation) SecondaryRATUsage {
	var out SecondaryRATUsage
	if in.Session != nil {
		u := c.radioUsage(in.Session.Radio, &in.Session.Volumes)
		out.Session = &u
	}
	if in.Flows == nil {
		return out
	}
	c.count(usageName, len(in.Flows.List), maxFlows)
	for n := range in.Flows.List {
		f := &in.Flows.List[n]
		out.Flows = append(out.Flows, FlowUsage{QFI: c.qfi(usageName, f.QosFlowIdentifier), RadioUsage: c.radioUsage(f.Radio, &f.Volumes)})
	}
	return out
}

func (c *check) radioUsage(radio aper.Enumerated, in *volumeList) RadioUsage {
	out := RadioUsage{Radio: Radio(c.enumerated(usageName+", RAT Type", radio, math.MaxUint8))}
	c.count(usageName, len(in.List), maxVolumes)
	for n := range in.List {
		v := &in.List[n]
		out.Volumes = append(out.Volumes, Volume{
			Start: c.timestamp(v.Start), End: c.timestamp(v.End),
			Uplink:   uint64(c.within(usageName+", Usage Count UL", v.Uplink, 0, maxVolume)),
			Downlink: uint64(c.within(usageName+", Usage Count DL", v.Downlink, 0, maxVolume)),
		})
	}
	return out
}

func (c *check) putUsage(in *SecondaryRATUsage) *usageInformation {
	var out usageInformation
	if in.Session != nil {
		out.Session = &sessionUsage{Radio: aper.Enumerated(in.Session.Radio), Volumes: c.putVolumes(in.Session.Volumes)}
	}
	if len(in.Flows) > 0 {
		c.count(usageName, len(in.Flows), maxFlows)
		out.Flows = &flowUsageList{}
		for n := range in.Flows {
			f := &in.Flows[n]
			out.Flows.List = append(out.Flows.List, flowUsage{
				QosFlowIdentifier: c.putQFI(usageName, f.QFI), Radio: aper.Enumerated(f.Radio), Volumes: c.putVolumes(f.Volumes),
			})
		}
	}
	return &out
}

func (c *check) putVolumes(in []Volume) volumeList {
	c.count(usageName, len(in), maxVolumes)
	var out volumeList
	for _, v := range in {
		if v.Uplink > maxVolume || v.Downlink > maxVolume {
			c.fail(usageName, "%d and %d octets, there are at most %d", v.Uplink, v.Downlink, uint64(maxVolume))
		}
		out.List = append(out.List, volumeItem{
			Start: c.putTimestamp(v.Start), End: c.putTimestamp(v.End), Uplink: int64(v.Uplink), Downlink: int64(v.Downlink),
		})
	}
	return out
}

// Time stamps are the first four octets of those of NTP: seconds since 1900, or, where the first bit is not set, since
// they began anew in 2036 (RFC 5905 6, RFC 4330 3).
const (
	ntpEpoch = -2_208_988_800
	ntpEra   = 1 << 32
	ntpFirst = ntpEpoch + ntpEra/2
	ntpLast  = ntpFirst + ntpEra - 1
)

func (c *check) timestamp(b aper.OctetString) time.Time {
	if len(b) != 4 {
		c.fail(usageName, "a time stamp of %d octets, there are 4", len(b))
		return time.Time{}
	}
	seconds := int64(binary.BigEndian.Uint32(b)) + ntpEpoch
	if seconds < ntpFirst {
		seconds += ntpEra
	}
	return time.Unix(seconds, 0).UTC()
}

func (c *check) putTimestamp(t time.Time) aper.OctetString {
	seconds := c.within(usageName+", time stamp", t.Unix(), ntpFirst, ntpLast)
	return binary.BigEndian.AppendUint32(nil, uint32(seconds-ntpEpoch))
}
