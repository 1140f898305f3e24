package worker

import (
	"context"
	"fmt"
	"time"

	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/ts29571"
)

// Subscriptions to events are of one UE each, in its record (procedure/events.go). The identifier of one names the UE, as callbacks do, so that any pod finds
// its holder.

var _ namf.Events = requests{}

// Bounds of what a record has room for.
const (
	mostURI         = 128
	mostCorrelation = 64
	mostTACs        = 8
)

var eventKinds = map[namf.EventType]procedure.EventKind{
	namf.LocationReport: procedure.EventLocation, namf.PresenceReport: procedure.EventPresence, namf.RegistrationReport: procedure.EventRegistration,
	namf.ConnectivityReport: procedure.EventConnectivity, namf.ReachabilityReport: procedure.EventReachability, namf.LossOfConnectivity: procedure.EventLoss,
	namf.AccessTypeReport: procedure.EventAccess, namf.TimeZoneReport: procedure.EventTimeZone,
}

func notServed(format string, a ...any) error {
	return &namf.Refused{Cause: namf.Unspecified, Detail: fmt.Sprintf(format, a...)}
}

// SubscribeEvents implements namf.Events.
func (r requests) SubscribeEvents(ctx context.Context, s *namf.EventSubscription) (string, []namf.Report, error) {
	w := procedure.Watch{Watch: record.Watch{
		Name: fmt.Sprintf("%012x", random()&(1<<48-1)), URI: s.NotifyURI, Correlation: s.CorrelationID, Expiry: expiryOf(s.Expiry),
	}}
	switch {
	case s.SUPI == "":
		return "", nil, notServed("events are reported of one UE that is registered: write its supi")
	case s.Trigger == "PERIODIC":
		return "", nil, notServed("options.trigger PERIODIC is not served: write CONTINUOUS, or ask again for an immediate report")
	case len(s.NotifyURI) > mostURI || len(s.CorrelationID) > mostCorrelation:
		return "", nil, notServed("write an eventNotifyUri of at most %d characters, and a notifyCorrelationId of at most %d", mostURI, mostCorrelation)
	case len(s.Events) > record.MostWatched:
		return "", nil, notServed("write at most %d events", record.MostWatched)
	}
	tacs := 0
	for n := range s.Events {
		x, err := watched(s, &s.Events[n])
		if err != nil {
			return "", nil, err
		}
		if tacs += len(x.Area.TACs); tacs > mostTACs {
			return "", nil, notServed("areaList: write at most %d tracking areas", mostTACs)
		}
		w.Watch.Events, w.Now = append(w.Watch.Events, x), append(w.Now, s.Events[n].Immediate)
	}
	body, err := r.ask(ctx, s.SUPI, func(t procedure.Token) procedure.Event { w.From = t; return w })
	if err != nil {
		return "", nil, err
	}
	made, ok := body.(procedure.Watching)
	if !ok {
		return "", nil, unexpected(body)
	}
	return refOf(s.SUPI) + refSeparator + w.Watch.Name, reportsOf(s.SUPI, made.Reports, r.pod.Settings()), nil
}

// watched is an event as a record has it.
func watched(s *namf.EventSubscription, e *namf.Event) (record.Watched, error) {
	kind, is := eventKinds[e.Type]
	if !is {
		return record.Watched{}, notServed("eventList: %.40q is not reported here", e.Type)
	}
	most := s.MaxReports
	if e.MaxReports > 0 {
		most = e.MaxReports
	}
	if s.Trigger == "ONE_TIME" {
		most = 1
	}
	x := record.Watched{Kind: uint8(kind), Left: uint32(most), Traffic: e.Reachability == "UE_REACHABLE_DL_TRAFFIC"}
	if kind == procedure.EventLocation && len(e.Filters) > 0 {
		x.Coarse = true
		for _, f := range e.Filters {
			x.Coarse = x.Coarse && f == "TAI"
		}
	}
	for _, tai := range e.Areas {
		plmn := tai.PLMN.MCC + tai.PLMN.MNC
		if x.Area.PLMN != "" && x.Area.PLMN != plmn {
			return x, notServed("areaList: write tracking areas of one PLMN")
		}
		x.Area.PLMN, x.Area.TACs = plmn, append(x.Area.TACs, tai.TACNumber())
	}
	if kind == procedure.EventPresence && len(x.Area.TACs) == 0 {
		return x, notServed("areaList: write the tracking areas of interest (presenceInfo.trackingAreaList)")
	}
	return x, nil
}

func expiryOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Unix(), 1)
}

// ModifyEvents implements namf.Events.
func (r requests) ModifyEvents(ctx context.Context, id string, expiry time.Time) (*namf.EventSubscription, error) {
	supi, name := supiOf(id)
	body, err := r.askWatch(ctx, supi, func(t procedure.Token) procedure.Event {
		return procedure.Rewatch{From: t, Name: name, Expiry: expiryOf(expiry)}
	})
	if err != nil {
		return nil, err
	}
	w, ok := body.(procedure.Watching)
	if !ok {
		return nil, unexpected(body)
	}
	out := &namf.EventSubscription{
		SUPI: supi, NotifyURI: w.Watch.URI, CorrelationID: w.Watch.Correlation, NFID: r.pod.InstanceID, Expiry: time.Unix(w.Watch.Expiry, 0).UTC(),
	}
	for _, x := range w.Watch.Events {
		out.Events = append(out.Events, namf.Event{Type: typeOf(procedure.EventKind(x.Kind)), MaxReports: int(x.Left), Areas: areas(x.Area)})
	}
	return out, nil
}

// UnsubscribeEvents implements namf.Events.
func (r requests) UnsubscribeEvents(ctx context.Context, id string) error {
	supi, name := supiOf(id)
	_, err := r.askWatch(ctx, supi, func(t procedure.Token) procedure.Event { return procedure.Unwatch{From: t, Name: name} })
	return err
}

// askWatch about a subscription: that of a UE that is not there is not there.
func (r requests) askWatch(ctx context.Context, supi string, event func(procedure.Token) procedure.Event) (any, error) {
	body, err := r.ask(ctx, supi, event)
	if err == errNoUE {
		err = &namf.Refused{Cause: namf.SubscriptionNotFound, Detail: "there is no such subscription"}
	}
	return body, err
}

func typeOf(kind procedure.EventKind) namf.EventType {
	for t, k := range eventKinds {
		if k == kind {
			return t
		}
	}
	return ""
}

func areas(a record.Area) (out []ts29571.TAI) {
	for _, tac := range a.TACs {
		out = append(out, tai(record.Place{PLMN: a.PLMN, TAC: tac}))
	}
	return out
}

// reportsOf a UE, in the words of TS 29.518.
func reportsOf(supi string, list []procedure.Report, s *procedure.Settings) (out []namf.Report) {
	choose := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	for _, r := range list {
		x := namf.Report{Type: typeOf(r.Kind), Active: r.Active, Remaining: int(r.Left), Time: r.At.UTC(), SUPI: supi}
		switch r.Kind {
		case procedure.EventLocation:
			x.Location = locationOf(r.Place)
		case procedure.EventPresence:
			x.Presence, x.Areas = choose(r.In, "IN_AREA", "OUT_OF_AREA"), areas(r.Area)
		case procedure.EventRegistration:
			x.Registration = choose(r.Registered, "REGISTERED", "DEREGISTERED")
		case procedure.EventConnectivity:
			x.Connection = choose(r.Connected, "CONNECTED", "IDLE")
		case procedure.EventReachability:
			x.Reachability = choose(r.Reachable, "REACHABLE", "UNREACHABLE")
		case procedure.EventLoss:
			x.LossReason = r.Lost
		case procedure.EventAccess:
			x.Access = []string{access3GPP}
		case procedure.EventTimeZone:
			x.TimeZone = timeZone(s)
		}
		out = append(out, x)
	}
	return out
}

// reports go to who watches a UE.
func (s *Shard) reports(ctx context.Context, e procedure.TellReports) {
	err := s.pod.Callbacks.NotifyEvents(ctx, e.URI, &namf.Reports{CorrelationID: e.Correlation, Reports: reportsOf(e.SUPI, e.Reports, s.Settings())})
	if err != nil {
		s.log.Warn("who subscribed to a UE's events has not heard", "supi", e.SUPI, "err", err)
	}
}
