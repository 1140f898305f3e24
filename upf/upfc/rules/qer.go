package rules

import (
	"encoding/binary"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// QER is a QoS Enforcement Rule, TS 29.244 tables 7.5.2.5-1 and 7.5.4.5-1. Rates are in bit/s.
type QER struct {
	ID            uint32
	CorrelationID uint32 // QERs of several sessions share it; kept, each session enforces its own
	ULClosed      bool   // Gate Status
	DLClosed      bool
	HasMBR        bool
	MBRUL         uint64
	MBRDL         uint64
	HasGBR        bool
	GBRUL         uint64
	GBRDL         uint64
	QFI           uint8
	RQI           bool // Reflective QoS
	HasPPI        bool
	PPI           uint8 // Paging Policy Indicator
	HasToS        bool
	ToS           uint8 // DL Flow Level Marking
	ToSMask       uint8
	Window        uint32 // Averaging Window of the rates in milliseconds; 0: none was given
}

// QER Control Indications and packet rates are for CIoT (feature CIOT), which this UPF does not have.
var unsupportedInQER = []uint16{ie.PacketRate, ie.PacketRateStatus, ie.QERControlIndications}

// DL Flow Level Marking flags (TS 29.244 8.2.66).
const (
	markingTTC = 0x01
	markingSCI = 0x02
)

func (p *planner) qer(r *QER, group pfcp.Elements, create bool) error {
	ref := named{qerKind, r.ID}
	if create && group.First(ie.GateStatus) == nil {
		return pfcp.Missing(ie.GateStatus, "Create QER")
	}
	for i := range group {
		e := &group[i]
		if group.First(e.Type) != e {
			continue // the first one counts
		}
		if err := r.element(e, e.Removes(create), ref); err != nil {
			return err
		}
	}
	return unsupported(group, unsupportedInQER, ref)
}

// element reads one IE of a QER; removed says that an update takes the parameter away (TS 29.244
// 5.6.3).
func (r *QER) element(e *pfcp.Element, removed bool, ref named) (err error) {
	var v uint8
	switch e.Type {
	case ie.GateStatus:
		if v, err = e.Uint8(); err == nil {
			r.ULClosed, r.DLClosed = v>>2&3 != 0, v&3 != 0
		}
	case ie.QERCorrelationID:
		if r.CorrelationID = 0; !removed {
			r.CorrelationID, err = e.Uint32()
		}
	case ie.MBR:
		if r.HasMBR, r.MBRUL, r.MBRDL = !removed, 0, 0; !removed {
			r.MBRUL, r.MBRDL, err = bitrates(e)
		}
	case ie.GBR:
		if r.HasGBR, r.GBRUL, r.GBRDL = !removed, 0, 0; !removed {
			r.GBRUL, r.GBRDL, err = bitrates(e)
		}
	case ie.QFI:
		if r.QFI = 0; !removed {
			v, err = e.Uint8()
			r.QFI = v & 0x3f
		}
	case ie.RQI:
		if r.RQI = false; !removed {
			v, err = e.Uint8()
			r.RQI = v&1 != 0
		}
	case ie.PagingPolicyIndicator:
		if r.HasPPI, r.PPI = !removed, 0; !removed {
			v, err = e.Uint8()
			r.PPI = v & 7
		}
	case ie.AveragingWindow:
		if r.Window = 0; removed {
			return nil
		}
		if r.Window, err = e.Uint32(); err == nil && (r.Window == 0 || r.Window > abi.WindowMaxMs) {
			return refuse(ref, e.Type, "Averaging Window of %d ms: it must be from 1 to %d ms", r.Window, abi.WindowMaxMs)
		}
	case ie.DLFlowLevelMarking:
		r.HasToS, r.ToS, r.ToSMask = false, 0, 0
		if removed {
			return nil
		}
		if v, err = e.Uint8(); err != nil {
			return err
		}
		if v&markingSCI != 0 {
			return refuse(ref, e.Type, "DL Flow Level Marking by Service Class Indicator is for GERAN and not supported")
		}
		if v&markingTTC != 0 {
			if len(e.Value) < 3 {
				return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Rule: ref.ref(), Detail: "DL Flow Level Marking is cut short"}
			}
			r.HasToS, r.ToS, r.ToSMask = true, e.Value[1], e.Value[2]
		}
	}
	return err
}

// bitrates reads an MBR or GBR: five octets each, in kbit/s.
func bitrates(e *pfcp.Element) (ul, dl uint64, err error) {
	if len(e.Value) < 10 {
		return 0, 0, &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "bit rates are cut short"}
	}
	kbit := func(b []byte) uint64 {
		return (uint64(b[0])<<32 | uint64(binary.BigEndian.Uint32(b[1:]))) * 1000
	}
	return kbit(e.Value), kbit(e.Value[5:]), nil
}
