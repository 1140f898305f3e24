package procedure

import (
	"slices"

	"core5g.dev/core5g/images/access-management/record"
)

// Who wants to hear that GUAMIs become unavailable, or available (Namf_Communication_AMFStatusChange, TS 29.518 5.2.2.5, TS 23.502 5.2.2.2.11): they are
// where a PLMN is not served any more, or is again, where region, set or pointer are others, and none is where the AMF is removed. That a worker goes, or the
// store is away, is no change: its UEs are served by others.
//
//	5.2.2.5.1  subscribe          NewStatusWatch
//	5.2.2.5.3  notify             StatusNews
//
// What somebody has been told is kept, so that a new holder tells what has changed while nobody held the shard, and what the one before may not have told; and
// before it is told of what, so that it hears of that again where nobody knows what it has heard, also where all is as it was before.

// AskStatusHeard has a subscriber hear that GUAMIs are not available any more, or are. StatusHeard comes back. It is of no UE, and has no Number.
type AskStatusHeard struct {
	URI        string
	Gone, Back []record.GUAMI
}

// StatusHeard answers AskStatusHeard. Nobody: there is no subscriber any more at the URI.
type StatusHeard struct {
	Outcome Outcome
	Cause   string
	Nobody  bool
}

func (AskStatusHeard) effect() {}
func (StatusHeard) event()     {}

// available are the GUAMIs that are served.
func (s *Settings) available() (out []record.GUAMI) {
	if s.Removed {
		return nil
	}
	for _, p := range s.PLMNs {
		out = append(out, record.GUAMI{PLMN: p.PLMN, AMF: uint32(s.Region)<<16 | uint32(s.Set&0x3ff)<<6 | uint32(s.Pointer&0x3f)})
	}
	return out
}

func availableTo(wanted []record.GUAMI, s *Settings) []record.GUAMI {
	all := s.available()
	if len(wanted) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(g record.GUAMI) bool { return !slices.Contains(wanted, g) })
}

// NewStatusWatch is somebody who knows what is available now; false: none of the GUAMIs that are wanted is this AMF's.
func NewStatusWatch(name, uri string, wanted []record.GUAMI, s *Settings) (*record.StatusWatch, bool) {
	w := &record.StatusWatch{Name: name, URI: uri, Wanted: wanted, Told: availableTo(wanted, s)}
	return w, len(w.Told) > 0
}

// StatusNews is what there is to tell, and the subscription while that is being told, and when it is; nil: there is nothing.
func StatusNews(w *record.StatusWatch, s *Settings) (news *AskStatusHeard, telling, told *record.StatusWatch) {
	is := availableTo(w.Wanted, s)
	news = &AskStatusHeard{URI: w.URI, Gone: without(w.Told, is), Back: without(is, w.Told)}
	for _, g := range w.Unsure {
		list := &news.Gone
		if slices.Contains(is, g) {
			list = &news.Back
		}
		if !slices.Contains(*list, g) {
			*list = append(*list, g)
		}
	}
	unsure := slices.Concat(news.Gone, news.Back)
	if len(unsure) == 0 {
		return nil, nil, nil
	}
	before, then := *w, *w
	before.Unsure = unsure[:min(len(unsure), record.MostServed)]
	then.Told, then.Unsure = is, nil
	return news, &before, &then
}

// without returns what of a is not in b.
func without(a, b []record.GUAMI) (out []record.GUAMI) {
	for _, g := range a {
		if !slices.Contains(b, g) {
			out = append(out, g)
		}
	}
	return out
}
