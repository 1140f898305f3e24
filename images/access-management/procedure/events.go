package procedure

import (
	"net/http"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/record"
)

// What others want to hear of a UE (Namf_EventExposure, TS 29.518 5.3, TS 23.502 5.2.2.3): who they are is in the record, so that it outlives the worker, and
// ends with the record. What there is to report follows from how the UE was before an event and how it is then (observe), whichever procedure has done it.
//
//	5.3.2.2.2  subscribe, with reports of what is      watchUE
//	5.3.2.2.3  another end of it                       rewatch
//	5.3.2.3    unsubscribe                             unwatch
//	5.3.2.4    report                                  observe
//
// A report is sent once, when what it says is in the store; one that was lost on its way, or with its worker, is followed by the next change alone.

// EventKind is what is reported (TS 29.518 6.2.6.3.3). The numbers are in records.
type EventKind uint8

// The kinds.
const (
	EventLocation     EventKind = 1
	EventPresence     EventKind = 2
	EventRegistration EventKind = 3
	EventConnectivity EventKind = 4
	EventReachability EventKind = 5
	EventLoss         EventKind = 6
	EventAccess       EventKind = 7
	EventTimeZone     EventKind = 8
)

// Watch has somebody hear of the UE from now on. Its Name is none of another.
type Watch struct {
	From  Token
	Watch record.Watch
	// Now: what is is reported at once, one for each of the Watch's events.
	Now []bool
}

// Rewatch changes when a Watch ends.
type Rewatch struct {
	From   Token
	Name   string
	Expiry int64
}

// Unwatch ends a Watch.
type Unwatch struct {
	From Token
	Name string
}

// Watching answers Watch and Rewatch, with what was to be reported at once.
type Watching struct {
	Watch   record.Watch
	Reports []Report
}

// Report of what a UE is, or has done.
type Report struct {
	Kind EventKind
	At   time.Time
	// Active: others may follow, Left of them where there is a limit.
	Active bool
	Left   uint32
	// Place where it was heard last, of a location. Area and In are of a presence.
	Place record.Place
	Area  record.Area
	In    bool
	// Registered, Connected, Reachable are of the kinds of that name.
	Registered, Connected, Reachable bool
	// Lost is why it is (TS 29.518 6.2.6.3.15): DEREGISTERED or MAX_DETECTION_TIME_EXPIRED.
	Lost string
}

// TellReports brings reports to whoever watches.
type TellReports struct {
	SUPI             string
	URI, Correlation string
	Reports          []Report
}

func (Watch) event()        {}
func (Rewatch) event()      {}
func (Unwatch) event()      {}
func (TellReports) effect() {}

// noWatch is what those hear whose subscription is not (any more).
var noWatch = Failed{Status: http.StatusNotFound, Cause: "SUBSCRIPTION_NOT_FOUND", Detail: "the UE has no such subscription: it has ended with its reports, its time, or the UE's registration"}

// standing is what can be said of a UE.
type standing struct {
	registered, connected, unreached bool
	place                            record.Place
}

func standingOf(u *record.UE) standing {
	if u == nil {
		return standing{}
	}
	return standing{registered: u.Phase == record.Registered, connected: u.N2 != nil, unreached: u.Unreached, place: u.Place}
}

func (s standing) reachable() bool { return s.registered && !s.unreached }

// watchUE: 5.3.2.2.2. Who asks for one report, and gets it at once, has what it wanted.
func (t *turn) watchUE(e Watch) {
	t.expire()
	switch {
	case t.s.Phase != record.Registered:
		t.reply(e.From, noContext)
		return
	case len(t.s.Watches) >= record.MostWatches:
		t.reply(e.From, Failed{Status: http.StatusInternalServerError, Cause: "INSUFFICIENT_RESOURCES", Detail: "the UE has as many subscriptions to its events as it can have: end one of them"})
		return
	}
	w, now := e.Watch, standingOf(t.s)
	w.Events = slices.Clone(w.Events)
	out := Watching{}
	for n := range w.Events {
		x := &w.Events[n]
		x.In = x.Area.Has(t.s.Place)
		nothing := EventKind(x.Kind) == EventLoss && !now.unreached
		if n < len(e.Now) && e.Now[n] && !nothing {
			out.Reports = append(out.Reports, t.report(x, now))
		}
	}
	out.Watch = w
	t.s.Watches = append(t.s.Watches, w)
	t.unwatched()
	t.reply(e.From, out)
}

// rewatch: 5.3.2.2.3.
func (t *turn) rewatch(e Rewatch) {
	t.expire()
	w := t.s.Watch(e.Name)
	if w == nil {
		t.reply(e.From, noWatch)
		return
	}
	w.Expiry = e.Expiry
	t.reply(e.From, Watching{Watch: *w})
}

// unwatch: 5.3.2.3.
func (t *turn) unwatch(e Unwatch) {
	t.expire()
	if t.s.Watch(e.Name) == nil {
		t.reply(e.From, noWatch)
		return
	}
	t.s.Unwatch(e.Name)
	t.reply(e.From, Ended{})
}

// expire those whose time is over.
func (t *turn) expire() {
	t.s.Watches = slices.DeleteFunc(t.s.Watches, func(w record.Watch) bool { return w.Expiry != 0 && w.Expiry <= t.in.Now.Unix() })
}

// unwatched: who has all reports that it wanted watches no more.
func (t *turn) unwatched() {
	t.s.Watches = slices.DeleteFunc(t.s.Watches, func(w record.Watch) bool { return len(spent(w).Events) == 0 })
	for n := range t.s.Watches {
		t.s.Watches[n] = spent(t.s.Watches[n])
	}
}

// doneWith marks an event with all of its reports.
const doneWith uint8 = 0

func spent(w record.Watch) record.Watch {
	w.Events = slices.DeleteFunc(slices.Clone(w.Events), func(x record.Watched) bool { return x.Kind == doneWith })
	return w
}

// report of an event as the UE stands, and count it.
func (t *turn) report(x *record.Watched, now standing) Report {
	r := Report{Kind: EventKind(x.Kind), At: t.in.Now, Active: x.Left != 1}
	if x.Left > 1 {
		r.Left = x.Left - 1
	}
	switch r.Kind {
	case EventLocation:
		r.Place = now.place
	case EventPresence:
		r.Area, r.In = x.Area, x.In
	case EventRegistration:
		r.Registered = now.registered
	case EventConnectivity:
		r.Connected = now.connected
	case EventReachability:
		r.Reachable = now.reachable()
	case EventLoss:
		switch {
		case !now.registered:
			r.Lost = "DEREGISTERED"
		case now.unreached:
			r.Lost = "MAX_DETECTION_TIME_EXPIRED"
		}
	}
	switch x.Left {
	case 0:
	case 1:
		x.Kind = doneWith
	default:
		x.Left--
	}
	return r
}

// observe what has become of the UE: 5.3.2.4.
func (t *turn) observe() {
	gone := t.s == nil || remnant(t.s)
	if t.was == nil || t.moved || len(t.was.Watches) == 0 || !gone && len(t.s.Watches) == 0 {
		return
	}
	list, supi := t.was.Clone().Watches, t.was.SUPI
	if !gone {
		t.expire()
		list = t.s.Watches
	}
	was, now := standingOf(t.was), standingOf(t.s)
	for n := range list {
		w := &list[n]
		var reports []Report
		for k := range w.Events {
			x := &w.Events[k]
			if happened(x, was, now) {
				r := t.report(x, now)
				r.Active = r.Active && now.registered
				reports = append(reports, r)
			}
		}
		if len(reports) > 0 {
			t.do(TellReports{SUPI: supi, URI: w.URI, Correlation: w.Correlation, Reports: reports})
		}
	}
	if !gone {
		t.unwatched()
	}
}

// happened says whether there is something to report of an event.
func happened(x *record.Watched, was, now standing) bool {
	switch EventKind(x.Kind) {
	case EventLocation:
		moved := was.place.PLMN != now.place.PLMN || was.place.TAC != now.place.TAC || !x.Coarse && was.place.Cell != now.place.Cell
		return moved && now.place.PLMN != ""
	case EventPresence:
		if now.place.PLMN == "" || x.In == x.Area.Has(now.place) {
			return false
		}
		x.In = !x.In
		return true
	case EventRegistration:
		return was.registered != now.registered
	case EventConnectivity:
		return was.connected != now.connected
	case EventReachability:
		if x.Traffic {
			return now.registered && now.connected && !was.connected
		}
		return was.reachable() != now.reachable()
	case EventLoss:
		return was.registered && !now.registered || now.unreached && !was.unreached
	}
	return false
}
