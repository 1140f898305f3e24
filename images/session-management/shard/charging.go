package shard

import (
	"context"
	"math"
	"time"

	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/nchf"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// charge asks the CHF what a session's record says (TS 32.290 5.3.2).
func (s *Shard) charge(ctx context.Context, a procedure.AskCharging) procedure.Event {
	if s.pod.CHF == nil {
		return procedure.Charged{Outcome: procedure.NotSent}
	}
	rec := a.Session
	report := s.chargingReport(a)
	var answer nchf.Answer
	var uri string
	var err error
	switch a.Operation {
	case procedure.CreateCharging:
		var made *nchf.Charging
		if made, err = s.pod.CHF.Create(ctx, nchf.CHF{}, report); err == nil {
			answer, uri = made.Answer, made.URI
		}
	case procedure.UpdateCharging:
		answer, err = s.pod.CHF.Update(ctx, nchf.CHF{}, rec.Charging, report)
	case procedure.ReleaseCharging:
		err = s.pod.CHF.Release(ctx, nchf.CHF{}, rec.Charging, report)
	}
	if err != nil {
		s.log.Warn("the CHF has not taken what is charged", "supi", rec.SUPI, "operation", a.Operation, "err", err)
		return procedure.Charged{Outcome: outcome(err)}
	}
	out := procedure.Charged{Outcome: procedure.Done, URI: uri, Ends: answer.Error != "" && answer.Handling != "CONTINUE"}
	for _, q := range answer.Quotas {
		out.Grants = append(out.Grants, grantOf(q))
	}
	return out
}

// grantOf a quota. Where nothing more is granted than that it is well, there is no bound.
func grantOf(q nchf.Quota) procedure.Grant {
	out := procedure.Grant{RatingGroup: q.RatingGroup, Denied: q.Blocked(), Free: q.Granted == nil && !q.Blocked()}
	g := q.Granted
	if g == nil || out.Denied {
		return out
	}
	out.Quota = record.Quota{
		Total: g.Total, Uplink: g.Uplink, Downlink: g.Downlink, Seconds: g.Seconds, VolumeLeft: q.VolumeThreshold,
		SecondsLeft: uint32(q.TimeThreshold / time.Second), Holding: uint32(q.Holding / time.Second), Until: int64(q.Validity / time.Second),
		Final: q.Final != "", // redirection and restriction are not offered: packets stop there, too
	}
	for _, x := range []struct {
		is  bool
		bit uint8
	}{{g.Total != 0, record.HasTotal}, {g.Uplink != 0, record.HasUplink}, {g.Downlink != 0, record.HasDownlink}, {g.Seconds != 0, record.HasSeconds}} {
		if x.is {
			out.Quota.Has |= x.bit
		}
	}
	out.Denied = out.Quota.Has == 0 // of nothing
	return out
}

// mostOctets of a container: free5GC's CHF reads volumes of 31 bits, and refuses a report with more.
const mostOctets = math.MaxInt32

func (s *Shard) chargingReport(a procedure.AskCharging) *nchf.Report {
	rec, u := a.Session, a.Session.Usage
	plmn, _ := plmnOf(rec.PLMN) // one that cannot be read is not told
	r := &nchf.Report{
		SUPI: rec.SUPI, SMFName: s.InstanceID, Time: time.UnixMilli(u.At), Sequence: u.Sequence, Again: a.Again,
		NotifyURI: nsmf.ChargingURI(s.URI, rec.Ref()), ChargingID: uint32(rec.CPSEID),
		Session: nchf.Session{
			ID: rec.ID, SNSSAI: SNSSAI(rec.SST, rec.SD), DNN: rec.DNN, Type: sessionTypeNames[rec.Type], RAT: rec.RAT, ServingNetwork: plmn, HomeNetwork: plmn,
			AMFID: rec.AMF.InstanceID, Location: locationOf(rec, plmn), IPv4: rec.IPv4, IPv6: rec.IPv6,
			AMBR: &ts29571.AMBR{Uplink: ts29571.BitRate(rec.AMBR.Uplink), Downlink: ts29571.BitRate(rec.AMBR.Downlink)}, Start: time.UnixMilli(rec.Since),
		},
	}
	if len(rec.Flows) > 0 {
		f := rec.Flows[0]
		r.Session.FiveQI, r.Session.ARP = f.FiveQI, &ts29571.ARP{Priority: f.Priority, MayPreempt: f.MayPreempt, Preemptable: f.Preemptable}
	}
	if a.Operation == procedure.ReleaseCharging {
		r.Session.Stop = time.UnixMilli(u.At)
		r.Triggers = []nchf.Trigger{{Type: "FINAL", Category: immediate}}
	}
	number := u.Container
	for _, g := range u.Groups {
		if g.Sent != (record.Units{}) {
			number--
		}
	}
	for _, g := range u.Groups {
		if g.Sent != (record.Units{}) {
			number++
		}
		usage := nchf.Usage{RatingGroup: g.RatingGroup, UPFID: rec.Unit.NodeID}
		if g.SentWhy&procedure.WhyAsks != 0 {
			usage.Request = &nchf.Units{}
		}
		usage.Used = containers(g, number, r.Time)
		if usage.Request != nil || usage.Used != nil || a.Operation == procedure.CreateCharging && !g.Gone {
			r.Usage = append(r.Usage, usage)
		}
	}
	return r
}

const immediate = "IMMEDIATE_REPORT"

var whys = []struct {
	bit  uint32
	name string
}{
	{procedure.WhyVolume, "VOLUME_LIMIT"}, {procedure.WhyTime, "TIME_LIMIT"}, {procedure.WhyThreshold, "QUOTA_THRESHOLD"}, {procedure.WhyExhausted, "QUOTA_EXHAUSTED"},
	{procedure.WhyHolding, "QHT"}, {procedure.WhyValidity, "VALIDITY_TIME"}, {procedure.WhyForced, "FORCED_REAUTHORISATION"}, {procedure.WhyFinal, "FINAL"},
}

// containers of what a group has used.
func containers(g record.Group, number uint32, at time.Time) (out []nchf.Used) {
	if g.Sent == (record.Units{}) {
		return nil
	}
	var triggers []nchf.Trigger
	for _, w := range whys {
		if g.SentWhy&w.bit != 0 {
			triggers = append(triggers, nchf.Trigger{Type: w.name, Category: immediate})
		}
	}
	left := g.Sent
	for first := true; first || left.Uplink+left.Downlink > 0; first = false {
		up := min(left.Uplink, mostOctets)
		down := min(left.Downlink, mostOctets-up)
		left.Uplink, left.Downlink = left.Uplink-up, left.Downlink-down
		used := nchf.Used{
			Units:  nchf.Units{Total: up + down, Uplink: up, Downlink: down},
			Online: g.Online && !g.Free, Triggers: triggers, At: at, Sequence: number, First: unix(g.Sent.First), Last: unix(g.Sent.Last),
		}
		if first {
			used.Units.Seconds = left.Seconds
		}
		out = append(out, used)
	}
	return out
}

func unix(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

// MeasuredBy a unit, as procedures have it. Reports that carry no usage are none.
func MeasuredBy(list []pfcp.Usage) (out []procedure.Measured) {
	reasons := []struct {
		trigger pfcp.Trigger
		why     uint32
	}{
		{pfcp.TriggerVolumeThreshold, procedure.WhyThreshold}, {pfcp.TriggerTimeThreshold, procedure.WhyThreshold}, {pfcp.TriggerVolumeQuota, procedure.WhyExhausted},
		{pfcp.TriggerTimeQuota, procedure.WhyExhausted}, {pfcp.TriggerQuotaHolding, procedure.WhyHolding}, {pfcp.TriggerTermination, procedure.WhyFinal},
	}
	for _, u := range list {
		m := procedure.Measured{URR: u.URR, Sequence: u.Sequence, Detected: u.Detected, Removed: u.Removed}
		for _, r := range reasons {
			if u.Trigger.Is(r.trigger) {
				m.Why |= r.why
			}
		}
		if v := u.Volume; v != nil {
			m.Used.Uplink, m.Used.Downlink = v.Uplink, v.Downlink
		}
		m.Used.Seconds = uint32(u.Duration / time.Second)
		if !u.First.IsZero() {
			m.Used.First = u.First.Unix()
		}
		if !u.Last.IsZero() {
			m.Used.Last = u.Last.Unix()
		}
		out = append(out, m)
	}
	return out
}

// uncharged usage is named once more, for people.
func (s *Shard) uncharged(rec *record.Session) {
	if rec.Usage == nil {
		return
	}
	for _, g := range rec.Usage.Groups {
		all := g.Sent
		all.Add(g.Used)
		s.log.Error("the CHF never heard of what a session has used", "supi", rec.SUPI, "session", rec.ID, "charging", rec.Charging, "ratingGroup", g.RatingGroup,
			"uplink", all.Uplink, "downlink", all.Downlink, "seconds", all.Seconds)
	}
	s.pod.measures.uncharged.Inc()
}
