package rules

// Usage Reporting Rules: TS 29.244 7.5.2.4 (Create URR) and 7.5.4.4 (Update URR).

import (
	"encoding/binary"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

func (p *planner) urr(r *URR, group pfcp.Elements, create bool) error {
	if e := group.First(ie.MeasurementMethod); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		r.MeasureTime, r.MeasureVolume = v&0x01 != 0, v&0x02 != 0
	} else if create {
		return pfcp.Missing(ie.MeasurementMethod, "Create URR")
	}
	if e := group.First(ie.ReportingTriggers); e != nil {
		if len(e.Value) == 0 {
			return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "Reporting Triggers are empty"}
		}
		r.Triggers = 0
		for i, o := range e.Value[:min(len(e.Value), 3)] {
			r.Triggers |= uint32(o) << (8 * i)
		}
	} else if create {
		return pfcp.Missing(ie.ReportingTriggers, "Create URR")
	}
	for _, d := range []struct {
		ieType uint16
		into   *time.Duration
	}{{ie.MeasurementPeriod, &r.Period}, {ie.TimeThreshold, &r.TimeThreshold}} {
		if e := group.First(d.ieType); e != nil {
			v, err := e.Uint32()
			if err != nil {
				return err
			}
			*d.into = time.Duration(v) * time.Second
		}
	}
	if r.Triggers&Periodic != 0 && r.Period == 0 {
		return &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: ie.MeasurementPeriod,
			Rule: &pfcp.RuleRef{Type: ie.RuleIDTypeURR, ID: r.ID}, Detail: "periodic reporting without Measurement Period"}
	}
	for _, v := range []struct {
		ieType uint16
		into   *Volume
	}{{ie.VolumeThreshold, &r.Threshold}, {ie.VolumeQuota, &r.Quota}} {
		if e := group.First(v.ieType); e != nil {
			volume, err := parseVolume(e)
			if err != nil {
				return err
			}
			if *v.into = volume; v.ieType == ie.VolumeQuota {
				p.change.QuotaGranted = append(p.change.QuotaGranted, r.ID)
			}
		}
	}
	if e := group.First(ie.MeasurementInformation); e != nil && len(e.Value) > 0 {
		r.CountPackets = e.Value[0]&0x10 != 0
	}
	return nil
}

// parseVolume reads a Volume Threshold or Volume Quota: flags TOVOL, ULVOL, DLVOL, then those given.
func parseVolume(e *pfcp.Element) (Volume, error) {
	var v Volume
	flags, err := e.Uint8()
	if err != nil {
		return v, err
	}
	b := e.Value[1:]
	for bit, into := range []**uint64{&v.Total, &v.UL, &v.DL} {
		if flags&(1<<bit) == 0 {
			continue
		}
		if len(b) < 8 {
			return v, &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "volume is cut short"}
		}
		n := binary.BigEndian.Uint64(b)
		*into, b = &n, b[8:]
	}
	return v, nil
}
