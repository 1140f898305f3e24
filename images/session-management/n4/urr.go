package n4

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// Usage is counted by one URR a rating group (TS 29.244 5.2.2.2), that all PDRs of its flows have:
//
//	offline            reported from a threshold on, for the CDR
//	online, granted    reported from the quota's threshold on and where it ends; there packets stop, without anybody's doing
//	online, nothing    a quota of 0: nothing passes
//	online, free       as offline
//
// What the unit is told is what is left of a quota, so that one which has lost the session goes on where it was.

// Reporting Triggers (TS 29.244 8.2.19), octet 5 and 6.
const (
	reportVolumeThreshold, reportTimeThreshold, reportHolding = 0x02, 0x04, 0x08
	reportVolumeQuota, reportTimeQuota                        = 0x01, 0x02
)

// Containers of a CDR are closed here at the latest: free5GC's CHF reads volumes of 31 bits.
const (
	offlineVolume = 1 << 30
	offlineTime   = time.Hour
	// noVolumeBound and noTimeBound lift a bound that was there before (TS 29.244 7.5.4.4 has no other way).
	noVolumeBound = 1 << 62
	noTimeBound   = 1<<32 - 1
)

// urrsOf are the groups that a unit has a URR for.
func urrsOf(u *record.Usage) (out []*record.Group) {
	if u == nil {
		return nil
	}
	for n := range u.Groups {
		if g := &u.Groups[n]; !g.Gone && g.URR != 0 {
			out = append(out, g)
		}
	}
	return out
}

func (r *ruleSet) urrOf(c record.Charge) uint32 {
	for _, g := range r.urrs {
		if c.Charged() && g.RatingGroup == c.RatingGroup && g.Online == c.Online {
			return g.URR
		}
	}
	return 0
}

func (r *ruleSet) hasURR(id uint32) bool {
	return slices.ContainsFunc(r.urrs, func(g *record.Group) bool { return g.URR == id })
}

// Blocked: packets of the group do not pass.
func Blocked(g *record.Group) bool { return g.Online && !g.Free && (g.Quota == nil || g.Denied) }

func urrElements(g *record.Group) []*ie.IE {
	ies := []*ie.IE{ie.NewURRID(g.URR), ie.NewMeasurementMethod(0, 1, 1)}
	switch q := g.Quota; {
	case Blocked(g):
		return append(ies, ie.NewReportingTriggers(0, 0), ie.NewVolumeQuota(record.HasTotal, 0, 0, 0))
	case !g.Online || g.Free:
		ies = append(ies, ie.NewReportingTriggers(reportVolumeThreshold|reportTimeThreshold, 0),
			ie.NewVolumeThreshold(record.HasTotal, offlineVolume, 0, 0), ie.NewTimeThreshold(offlineTime))
		if g.Has && g.Renew { // it had a quota, perhaps
			ies = append(ies, ie.NewVolumeQuota(record.HasTotal, noVolumeBound, 0, 0))
			if q != nil && q.Has&record.HasSeconds != 0 {
				ies = append(ies, ie.NewTimeQuota(noTimeBound*time.Second))
			}
		}
		return ies
	default:
		return append(ies, quotaElements(q)...)
	}
}

// quotaElements: a threshold is what may be used before more is asked for.
func quotaElements(q *record.Quota) (ies []*ie.IE) {
	triggers := [2]uint8{}
	if volumes := q.Has & (record.HasTotal | record.HasUplink | record.HasDownlink); volumes != 0 {
		triggers[1] |= reportVolumeQuota
		ies = append(ies, ie.NewVolumeQuota(volumes, q.Total, q.Uplink, q.Downlink))
		if q.VolumeLeft != 0 {
			before := func(n uint64) uint64 { return max(n-min(n, q.VolumeLeft), 1) }
			triggers[0] |= reportVolumeThreshold
			ies = append(ies, ie.NewVolumeThreshold(volumes, before(q.Total), before(q.Uplink), before(q.Downlink)))
		}
	} else {
		ies = append(ies, ie.NewVolumeQuota(record.HasTotal, noVolumeBound, 0, 0))
	}
	if q.Has&record.HasSeconds != 0 {
		triggers[1] |= reportTimeQuota
		ies = append(ies, ie.NewTimeQuota(time.Duration(q.Seconds)*time.Second))
		if q.SecondsLeft != 0 {
			triggers[0] |= reportTimeThreshold
			ies = append(ies, ie.NewTimeThreshold(time.Duration(max(q.Seconds-min(q.Seconds, q.SecondsLeft), 1))*time.Second))
		}
	}
	if q.Holding != 0 {
		triggers[0] |= reportHolding
		ies = append(ies, ie.NewQuotaHoldingTime(time.Duration(q.Holding)*time.Second))
	}
	return append([]*ie.IE{ie.NewReportingTriggers(triggers[0], triggers[1])}, ies...)
}

// Query asks for what URRs have counted (TS 29.244 7.5.4.10).
func Query(urrs []uint32) (ies []*ie.IE) {
	for _, id := range urrs {
		ies = append(ies, ie.NewQueryURR(ie.NewURRID(id)))
	}
	return ies
}

// QueryAll asks a unit for what all its URRs of a session have measured (TS 29.244 8.2.39, QAURR).
func QueryAll() []*ie.IE { return []*ie.IE{ie.NewPFCPSMReqFlags(0x04)} }

func readableURR(g *record.Group) URR {
	out := URR{ID: g.URR, RatingGroup: g.RatingGroup, Online: g.Online, Blocked: Blocked(g)}
	if q := g.Quota; q != nil && !out.Blocked && !g.Free {
		out.VolumeQuota, out.TimeQuota = q.Total, q.Seconds
	}
	return out
}
