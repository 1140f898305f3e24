package n2

import (
	"core5g.dev/core5g/images/session-management/record"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// Limits of TS 38.413 9.3.1 and 9.4.7.
const (
	maxFlows        = 64
	maxQFI          = 63
	max5QI          = 255
	maxBitRate      = 4_000_000_000_000
	maxWindow       = 4095
	maxBurst        = 2_000_000
	maxDelayBudget  = 1023
	maxErrorDigit   = 9
	maxLoss         = 1000
	maxPriority     = 127
	maxARPPriority  = 15
	flowsToSetUp    = "QoS Flow Setup Request List"
	flowsToModify   = "QoS Flow Add or Modify Request List"
	sessionAMBR     = "PDU Session Aggregate Maximum Bit Rate"
	failedFlowsName = "QoS Flow Failed to Setup List"
)

// QoSFlow is what the access network is told of a QoS flow (QoS Flow Level QoS Parameters, TS 38.413 9.3.1.12). Of the
// record's flow, QFI, 5QI, ARP and bit rates travel; one that has a bit rate is a GBR flow and has all four.
type QoSFlow struct {
	record.Flow
	// Dynamic: the 5QI's characteristics are these. nil: those of the standardised or pre-configured 5QI.
	Dynamic *Dynamic
	// PriorityLevel, 1 (highest) to 127; 0: the 5QI's, which a dynamic one does not have.
	PriorityLevel uint8
	// AveragingWindow in ms, 0 to 4095; nil: the 5QI's.
	AveragingWindow *uint16
	// MaximumBurst is the Maximum Data Burst Volume in octets, 0 to 2,000,000; nil: the 5QI's.
	MaximumBurst *uint32
	// Notify: the SMF wants to hear when the guaranteed bit rates cannot be kept, and again can (GBR flows).
	Notify bool
	// MaximumLossUplink and MaximumLossDownlink in tenths of a percent, 0 to 1000; nil: nothing is said (GBR flows).
	MaximumLossUplink, MaximumLossDownlink *uint16
	// Reflective: packets may be subject to reflective QoS (not GBR flows).
	Reflective bool
	// MoreLikely: traffic is likelier on this flow than on the session's others (Additional QoS Flow Information).
	MoreLikely bool
	// Unchanged: of a flow to modify, the parameters stay, and none of them is here.
	Unchanged bool
}

// Dynamic are characteristics of a 5QI that is not standardised (TS 38.413 9.3.1.18).
type Dynamic struct {
	// DelayBudget in units of 0.5 ms, 0 to 1023.
	DelayBudget uint16
	// The packet error rate is ErrorScalar * 10^-ErrorExponent, each 0 to 9.
	ErrorScalar, ErrorExponent uint8
	// DelayCritical: of a GBR flow, whether it is of the delay-critical type; nil of another.
	DelayCritical *bool
}

// FlowCause is a QoS flow that the access network does not have, or has no more, and why.
type FlowCause struct {
	QFI   uint8
	Cause Cause
}

func (c *check) qfi(ie string, in ngapType.QosFlowIdentifier) uint8 {
	return uint8(c.within(ie+", QoS Flow Identifier", in.Value, 0, maxQFI))
}

func (c *check) putQFI(ie string, qfi uint8) ngapType.QosFlowIdentifier {
	return ngapType.QosFlowIdentifier{Value: c.within(ie+", QoS Flow Identifier", int64(qfi), 0, maxQFI)}
}

func (c *check) bitRate(ie string, in ngapType.BitRate) uint64 {
	return uint64(c.within(ie, in.Value, 0, maxBitRate))
}

func (c *check) putBitRate(ie string, in uint64) ngapType.BitRate {
	if in > maxBitRate {
		c.fail(ie, "%d bit/s, there are at most %d (TS 38.413 9.3.1.4)", in, int64(maxBitRate))
	}
	return ngapType.BitRate{Value: int64(in)}
}

func (c *check) ambr(in *ngapType.PDUSessionAggregateMaximumBitRate) *record.AMBR {
	return &record.AMBR{
		Uplink:   c.bitRate(sessionAMBR, in.PDUSessionAggregateMaximumBitRateUL),
		Downlink: c.bitRate(sessionAMBR, in.PDUSessionAggregateMaximumBitRateDL),
	}
}

func (c *check) putAMBR(in record.AMBR) *ngapType.PDUSessionAggregateMaximumBitRate {
	return &ngapType.PDUSessionAggregateMaximumBitRate{
		PDUSessionAggregateMaximumBitRateDL: c.putBitRate(sessionAMBR, in.Downlink),
		PDUSessionAggregateMaximumBitRateUL: c.putBitRate(sessionAMBR, in.Uplink),
	}
}

func (c *check) flowCauses(ie string, in *ngapType.QosFlowListWithCause) []FlowCause {
	if in == nil {
		return nil
	}
	c.count(ie, len(in.List), maxFlows)
	var out []FlowCause
	for n := range in.List {
		out = append(out, FlowCause{QFI: c.qfi(ie, in.List[n].QosFlowIdentifier), Cause: c.cause(ie, &in.List[n].Cause)})
	}
	return out
}

func (c *check) putFlowCauses(ie string, in []FlowCause) *ngapType.QosFlowListWithCause {
	if len(in) == 0 {
		return nil
	}
	c.count(ie, len(in), maxFlows)
	var out ngapType.QosFlowListWithCause
	for _, f := range in {
		out.List = append(out.List, ngapType.QosFlowWithCauseItem{
			QosFlowIdentifier: c.putQFI(ie, f.QFI), Cause: c.putCause(ie, f.Cause),
		})
	}
	return &out
}

// parameters reads what the access network is told of flow f.
func (c *check) parameters(ie string, in *ngapType.QosFlowLevelQosParameters, f *QoSFlow) {
	c.characteristics(ie, &in.QosCharacteristics, f)
	arp := &in.AllocationAndRetentionPriority
	f.Priority = uint8(c.within(ie+", ARP Priority Level", arp.PriorityLevelARP.Value, 1, maxARPPriority))
	f.MayPreempt = arp.PreEmptionCapability.Value == ngapType.PreEmptionCapabilityPresentMayTriggerPreEmption
	f.Preemptable = arp.PreEmptionVulnerability.Value == ngapType.PreEmptionVulnerabilityPresentPreEmptable
	if g := in.GBRQosInformation; g != nil {
		ie := ie + ", GBR QoS Information"
		f.MFBRDownlink, f.MFBRUplink = c.bitRate(ie, g.MaximumFlowBitRateDL), c.bitRate(ie, g.MaximumFlowBitRateUL)
		f.GFBRDownlink, f.GFBRUplink = c.bitRate(ie, g.GuaranteedFlowBitRateDL), c.bitRate(ie, g.GuaranteedFlowBitRateUL)
		f.Notify = g.NotificationControl != nil
		f.MaximumLossUplink, f.MaximumLossDownlink = c.loss(ie, g.MaximumPacketLossRateUL), c.loss(ie, g.MaximumPacketLossRateDL)
		if !f.guaranteed() {
			c.fail(ie, "all bit rates are 0")
		}
	}
	f.Reflective, f.MoreLikely = in.ReflectiveQosAttribute != nil, in.AdditionalQosFlowInformation != nil
}

func (f *QoSFlow) guaranteed() bool {
	return f.MFBRDownlink != 0 || f.MFBRUplink != 0 || f.GFBRDownlink != 0 || f.GFBRUplink != 0
}

func (c *check) characteristics(ie string, in *ngapType.QosCharacteristics, f *QoSFlow) {
	switch {
	case in.Present == ngapType.QosCharacteristicsPresentNonDynamic5QI && in.NonDynamic5QI != nil:
		d := in.NonDynamic5QI
		f.FiveQI = uint8(c.within(ie+", 5QI", d.FiveQI.Value, 1, max5QI))
		if d.PriorityLevelQos != nil {
			f.PriorityLevel = c.priorityLevel(ie, *d.PriorityLevelQos)
		}
		f.AveragingWindow, f.MaximumBurst = c.window(ie, d.AveragingWindow), c.burst(ie, d.MaximumDataBurstVolume)
	case in.Present == ngapType.QosCharacteristicsPresentDynamic5QI && in.Dynamic5QI != nil:
		d := in.Dynamic5QI
		f.PriorityLevel = c.priorityLevel(ie, d.PriorityLevelQos)
		f.Dynamic = &Dynamic{
			DelayBudget:   uint16(c.within(ie+", Packet Delay Budget", d.PacketDelayBudget.Value, 0, maxDelayBudget)),
			ErrorScalar:   uint8(c.within(ie+", Packet Error Rate", d.PacketErrorRate.PERScalar, 0, maxErrorDigit)),
			ErrorExponent: uint8(c.within(ie+", Packet Error Rate", d.PacketErrorRate.PERExponent, 0, maxErrorDigit)),
		}
		if d.FiveQI != nil {
			f.FiveQI = uint8(c.within(ie+", 5QI", d.FiveQI.Value, 1, max5QI))
		}
		if d.DelayCritical != nil {
			critical := d.DelayCritical.Value == ngapType.DelayCriticalPresentDelayCritical
			f.Dynamic.DelayCritical = &critical
		}
		f.AveragingWindow, f.MaximumBurst = c.window(ie, d.AveragingWindow), c.burst(ie, d.MaximumDataBurstVolume)
	default:
		c.fail(ie, "neither a dynamic 5QI nor one that is not (TS 38.413 9.3.1.12)")
	}
}

func (c *check) priorityLevel(ie string, in ngapType.PriorityLevelQos) uint8 {
	return uint8(c.within(ie+", Priority Level", in.Value, 1, maxPriority))
}

func (c *check) window(ie string, in *ngapType.AveragingWindow) *uint16 {
	if in == nil {
		return nil
	}
	out := uint16(c.within(ie+", Averaging Window", in.Value, 0, maxWindow))
	return &out
}

func (c *check) burst(ie string, in *ngapType.MaximumDataBurstVolume) *uint32 {
	if in == nil {
		return nil
	}
	out := uint32(c.within(ie+", Maximum Data Burst Volume", in.Value, 0, maxBurst))
	return &out
}

func (c *check) loss(ie string, in *ngapType.PacketLossRate) *uint16 {
	if in == nil {
		return nil
	}
	out := uint16(c.within(ie+", Maximum Packet Loss Rate", in.Value, 0, maxLoss))
	return &out
}

func (c *check) putParameters(ie string, f *QoSFlow) ngapType.QosFlowLevelQosParameters {
	out := ngapType.QosFlowLevelQosParameters{
		QosCharacteristics: c.putCharacteristics(ie, f),
		AllocationAndRetentionPriority: ngapType.AllocationAndRetentionPriority{
			PriorityLevelARP: ngapType.PriorityLevelARP{Value: c.within(ie+", ARP Priority Level", int64(f.Priority), 1, maxARPPriority)},
		},
	}
	arp := &out.AllocationAndRetentionPriority
	arp.PreEmptionCapability.Value = either(f.MayPreempt,
		ngapType.PreEmptionCapabilityPresentMayTriggerPreEmption, ngapType.PreEmptionCapabilityPresentShallNotTriggerPreEmption)
	arp.PreEmptionVulnerability.Value = either(f.Preemptable,
		ngapType.PreEmptionVulnerabilityPresentPreEmptable, ngapType.PreEmptionVulnerabilityPresentNotPreEmptable)
	if f.guaranteed() {
		out.GBRQosInformation = c.putGBR(ie+", GBR QoS Information", f)
	} else if f.Notify || f.MaximumLossUplink != nil || f.MaximumLossDownlink != nil {
		c.fail(ie, "notification control and packet loss rates are a GBR flow's, which has bit rates")
	}
	if f.Reflective {
		out.ReflectiveQosAttribute = &ngapType.ReflectiveQosAttribute{Value: ngapType.ReflectiveQosAttributePresentSubjectTo}
	}
	if f.MoreLikely {
		out.AdditionalQosFlowInformation = &ngapType.AdditionalQosFlowInformation{Value: ngapType.AdditionalQosFlowInformationPresentMoreLikely}
	}
	return out
}

func either(first bool, a, b aper.Enumerated) aper.Enumerated {
	if first {
		return a
	}
	return b
}

func (c *check) putGBR(ie string, f *QoSFlow) *ngapType.GBRQosInformation {
	out := &ngapType.GBRQosInformation{
		MaximumFlowBitRateDL:    c.putBitRate(ie, f.MFBRDownlink),
		MaximumFlowBitRateUL:    c.putBitRate(ie, f.MFBRUplink),
		GuaranteedFlowBitRateDL: c.putBitRate(ie, f.GFBRDownlink),
		GuaranteedFlowBitRateUL: c.putBitRate(ie, f.GFBRUplink),
		MaximumPacketLossRateDL: c.putLoss(ie, f.MaximumLossDownlink),
		MaximumPacketLossRateUL: c.putLoss(ie, f.MaximumLossUplink),
	}
	if f.Notify {
		out.NotificationControl = &ngapType.NotificationControl{Value: ngapType.NotificationControlPresentNotificationRequested}
	}
	return out
}

func (c *check) putLoss(ie string, in *uint16) *ngapType.PacketLossRate {
	if in == nil {
		return nil
	}
	return &ngapType.PacketLossRate{Value: c.within(ie+", Maximum Packet Loss Rate", int64(*in), 0, maxLoss)}
}

func (c *check) putCharacteristics(ie string, f *QoSFlow) ngapType.QosCharacteristics {
	var window *ngapType.AveragingWindow
	if f.AveragingWindow != nil {
		window = &ngapType.AveragingWindow{Value: c.within(ie+", Averaging Window", int64(*f.AveragingWindow), 0, maxWindow)}
	}
	var burst *ngapType.MaximumDataBurstVolume
	if f.MaximumBurst != nil {
		burst = &ngapType.MaximumDataBurstVolume{Value: c.within(ie+", Maximum Data Burst Volume", int64(*f.MaximumBurst), 0, maxBurst)}
	}
	level := ngapType.PriorityLevelQos{Value: int64(f.PriorityLevel)}
	if f.Dynamic != nil || f.PriorityLevel != 0 {
		level.Value = c.within(ie+", Priority Level", level.Value, 1, maxPriority)
	}
	if d := f.Dynamic; d != nil {
		out := &ngapType.Dynamic5QIDescriptor{
			PriorityLevelQos:  level,
			PacketDelayBudget: ngapType.PacketDelayBudget{Value: c.within(ie+", Packet Delay Budget", int64(d.DelayBudget), 0, maxDelayBudget)},
			PacketErrorRate: ngapType.PacketErrorRate{
				PERScalar:   c.within(ie+", Packet Error Rate", int64(d.ErrorScalar), 0, maxErrorDigit),
				PERExponent: c.within(ie+", Packet Error Rate", int64(d.ErrorExponent), 0, maxErrorDigit),
			},
			AveragingWindow: window, MaximumDataBurstVolume: burst,
		}
		if f.FiveQI != 0 {
			out.FiveQI = &ngapType.FiveQI{Value: int64(f.FiveQI)}
		}
		if d.DelayCritical != nil {
			out.DelayCritical = &ngapType.DelayCritical{Value: either(*d.DelayCritical,
				ngapType.DelayCriticalPresentDelayCritical, ngapType.DelayCriticalPresentNonDelayCritical)}
		}
		return ngapType.QosCharacteristics{Present: ngapType.QosCharacteristicsPresentDynamic5QI, Dynamic5QI: out}
	}
	out := &ngapType.NonDynamic5QIDescriptor{
		FiveQI:          ngapType.FiveQI{Value: c.within(ie+", 5QI", int64(f.FiveQI), 1, max5QI)},
		AveragingWindow: window, MaximumDataBurstVolume: burst,
	}
	if f.PriorityLevel != 0 {
		out.PriorityLevelQos = &level
	}
	return ngapType.QosCharacteristics{Present: ngapType.QosCharacteristicsPresentNonDynamic5QI, NonDynamic5QI: out}
}
