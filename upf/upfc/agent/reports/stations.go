package reports

import (
	"slices"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Stations: MAC addresses behind an Ethernet PDU session (TS 29.244 5.13.5). upf-u says when its bridge has learned one, and when
// it has gone, and says all that there are to a upf-c that is new. A session knows its own, so that nobody is told the same
// twice; they are stored with it, and reported to its URRs with MACAR.
//
// What upf-u says waits here in order until the session is looked at. It is forgotten when the session has ended, or when
// upf-c ends before the report is stored: the next upf-c hears of what is there then, but not of what came and went.
//
// A new upf-u, and a standby's that takes over, are told of them, so that frames find them and their silence is
// noticed. Where one was heard elsewhere meanwhile, or finds no room, it is gone, and reported so.

type stationEvent struct {
	rules.Station
	generation uint32 // of the session
	gone       bool
}

// stationsMax is how many stations a session remembers: as many as upf-u may be configured to learn of one.
const stationsMax = 65535

// takeStations makes what upf-u said of a session's stations part of the session, and reports it.
func (r *Reports) takeStations(index uint32) {
	s := r.lockToReport(job{index: index, about: aboutStations}, r.stations.Drop)
	if s == nil {
		return
	}
	defer s.Unlock()
	list := slices.DeleteFunc(r.stations.Take(index), func(e stationEvent) bool { return uint64(e.generation) != s.UPSEID>>32 })
	now, detected, removed := changeStations(s.Stations, list)
	if len(detected)+len(removed) == 0 {
		return
	}
	r.reportStations(s, now, detected, removed, func(uint32) bool { return true })
}

// reportStations makes a session's stations what they are now, and reports what is new of them to these of its URRs. The caller
// has locked it.
func (r *Reports) reportStations(s *leases.Session, now, detected, removed []rules.Station, to func(urr uint32) bool) {
	acct := s.Account()
	reports := acct.Stations(detected, removed, to)
	next := s.Session
	next.Meters, next.Stations = acct.Meters, now
	r.putReports(s, &next, reports)
}

// TellNewReporters reports all stations to URRs that have not been told of any: those that a modification made, or gave MACAR.
// The caller has locked the session, whose rules were before.
func (r *Reports) TellNewReporters(s *leases.Session, before *rules.Set) {
	fresh := func(id uint32) bool {
		was := before.URRs.Get(id)
		return s.Rules.URRs.Get(id).Wants(rules.MACReporting) && (was == nil || !was.Wants(rules.MACReporting))
	}
	for id := range s.Rules.URRs.All() {
		if len(s.Stations) > 0 && fresh(id) {
			r.reportStations(s, s.Stations, s.Stations, nil, fresh)
			return
		}
	}
}

// changeStations is what a session's stations become, and what of that is new. One that came and went meanwhile is neither.
func changeStations(before []rules.Station, list []stationEvent) (now, detected, removed []rules.Station) {
	now = slices.Clone(before)
	for _, e := range list {
		at := slices.Index(now, e.Station)
		switch {
		case e.gone && at >= 0:
			now = slices.Delete(now, at, at+1)
		case !e.gone && at < 0 && len(now) < stationsMax:
			now = append(now, e.Station)
		}
	}
	told := map[rules.Station]bool{}
	for _, e := range list {
		was, is := slices.Contains(before, e.Station), slices.Contains(now, e.Station)
		switch {
		case told[e.Station]:
		case is && !was:
			detected = append(detected, e.Station)
		case was && !is:
			removed = append(removed, e.Station)
		}
		told[e.Station] = true
	}
	return now, detected, removed
}
