package simulation

import (
	"fmt"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// nef wants to hear what UEs do (Namf_EventExposure, TS 29.518 5.3).
type nef struct {
	w       *world
	watches []*watch
}

// watch is a subscription to the events of a UE.
type watch struct {
	supi, name string
	// kept: a record has had it. over: that record has ended, and it with it. ending: it is to end.
	kept, over, ending bool
	reports            int
}

func newNEF(w *world) *nef {
	f := &nef{w: w}
	f.live()
	return f
}

func (f *nef) live() {
	if !f.w.faults {
		return
	}
	f.w.Soon(time.Second, 8*time.Second, f.live)
	if len(f.w.ues) == 0 {
		return
	}
	supi := f.w.ues[f.w.Rand.IntN(len(f.w.ues))].supi
	for _, x := range f.watches {
		if x.supi == supi && x.kept && !x.over && f.w.Chance(2) {
			f.unsubscribe(x)
			return
		}
	}
	f.subscribe(supi)
}

func (f *nef) subscribe(supi string) {
	x := &watch{supi: supi, name: fmt.Sprint("watch-", len(f.watches)+1)}
	f.watches = append(f.watches, x)
	from := f.w.expect(10*time.Second, func(body any) {
		if b, is := body.(procedure.Watching); is && (b.Watch.Name != x.name || !x.kept && f.w.forgotten.IsZero()) {
			f.w.Fail("%s of %s is said to be there, and no record has had it: %+v", x.name, supi, b)
		}
	})
	f.w.toAMF(supi, procedure.Watch{From: from, Now: []bool{true, false, true}, Watch: record.Watch{Name: x.name, URI: "nef/" + x.name, Events: []record.Watched{
		{Kind: uint8(procedure.EventRegistration)}, {Kind: uint8(procedure.EventConnectivity)}, {Kind: uint8(procedure.EventLocation), Left: 3},
	}}})
}

func (f *nef) unsubscribe(x *watch) {
	x.ending = true
	from := f.w.expect(10*time.Second, func(body any) {
		rec := f.w.records[record.Key(x.supi)]
		there := rec != nil && rec.Watch(x.name) != nil
		failed, refused := body.(procedure.Failed)
		if _, ended := body.(procedure.Ended); there && f.w.forgotten.IsZero() && (ended || refused && failed.Status == 404) {
			f.w.Fail("%s of %s is said to have ended, and its record has it: %+v", x.name, x.supi, body)
		}
	})
	f.w.toAMF(x.supi, procedure.Unwatch{From: from, Name: x.name})
}

// written: a subscription ends with the record, or where somebody ends it, and otherwise never.
func (f *nef) written(supi string, is *record.UE) {
	for _, x := range f.watches {
		switch {
		case x.supi != supi || x.over:
		case is == nil || is.Remnant:
			x.over = x.kept
		case is.Watch(x.name) != nil:
			x.kept = true
		case x.kept && !x.ending && f.w.forgotten.IsZero():
			f.w.Fail("%s of %s is not in its record any more, and nobody has ended it", x.name, supi)
		}
	}
}

// reported to somebody who has asked for it.
func (f *nef) reported(e procedure.TellReports) {
	n := slices.IndexFunc(f.watches, func(x *watch) bool { return "nef/"+x.name == e.URI })
	switch {
	case n < 0 || f.watches[n].supi != e.SUPI || !f.watches[n].kept && f.w.forgotten.IsZero():
		f.w.Fail("a report to nobody: %+v", e)
	case len(e.Reports) == 0:
		f.w.Fail("a report of nothing: %+v", e)
	default:
		f.watches[n].reports += len(e.Reports)
		f.w.Ended["report"] += len(e.Reports)
	}
}
