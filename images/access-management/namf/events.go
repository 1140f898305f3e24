package namf

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const events = "/namf-evts/v1/subscriptions"

// Events are who wants to hear what UEs do (TS 29.518 5.3).
type Events interface {
	// SubscribeEvents gives an identifier, and the reports that were asked for at once.
	SubscribeEvents(ctx context.Context, s *EventSubscription) (id string, now []Report, err error)
	// ModifyEvents changes when a subscription ends.
	ModifyEvents(ctx context.Context, id string, expiry time.Time) (*EventSubscription, error)
	UnsubscribeEvents(ctx context.Context, id string) error
}

// EventType says what is reported (TS 29.518 6.2.6.3.3).
type EventType string

// The events that an AMF can report.
const (
	LocationReport     EventType = "LOCATION_REPORT"
	PresenceReport     EventType = "PRESENCE_IN_AOI_REPORT"
	TimeZoneReport     EventType = "TIMEZONE_REPORT"
	AccessTypeReport   EventType = "ACCESS_TYPE_REPORT"
	RegistrationReport EventType = "REGISTRATION_STATE_REPORT"
	ConnectivityReport EventType = "CONNECTIVITY_STATE_REPORT"
	ReachabilityReport EventType = "REACHABILITY_REPORT"
	FailureReport      EventType = "COMMUNICATION_FAILURE_REPORT"
	UEsInAreaReport    EventType = "UES_IN_AREA_REPORT"
	LossOfConnectivity EventType = "LOSS_OF_CONNECTIVITY"
)

// Event is one that is asked for (AmfEvent, TS 29.518 6.2.6.2.3).
type Event struct {
	Type EventType
	// Immediate: what is known is to be reported at once.
	Immediate bool
	// Areas of presence reports and of UEs in an area.
	Areas []ts29571.TAI
	// Filters of location reports: TAI, CELL_ID, ...
	Filters []string
	// Reachability is UE_REACHABLE_DL_TRAFFIC and the others of 6.2.6.3.7.
	Reachability string
	// MaxReports are for this event, 0: no more than the subscription's.
	MaxReports int
}

func (e *Event) fields(f *sbi.Fields) {
	kind := sbi.Text(e.Type)
	sbi.Required(f, "type", &kind)
	sbi.Member(f, "immediateFlag", &e.Immediate)
	var areas []area
	for _, tai := range e.Areas {
		areas = append(areas, area{TAIs: []ts29571.TAI{tai}})
	}
	sbi.Objects(f, "areaList", &areas, func(f *sbi.Fields, a *area) {
		f.Object("presenceInfo", func(f *sbi.Fields) { sbi.Member(f, "trackingAreaList", &a.TAIs) })
	})
	sbi.Member(f, "locationFilterList", &e.Filters)
	sbi.Member(f, "reachabilityFilter", &e.Reachability)
	sbi.Member(f, "maxReports", &e.MaxReports)
	if e.Type = EventType(kind); f.Reads() {
		e.Areas = nil
		for _, a := range areas {
			e.Areas = append(e.Areas, a.TAIs...)
		}
	}
	if e.MaxReports < 0 {
		f.Fail(sbi.BadRequest("OPTIONAL_IE_INCORRECT", "maxReports: write a number from 1 on"))
	}
}

type area struct{ TAIs []ts29571.TAI }

// EventSubscription is AmfEventSubscription (TS 29.518 6.2.6.2.2). It is of SUPI, GPSI, PEI or a group, or of all UEs.
type EventSubscription struct {
	Events                 []Event
	SUPI, GPSI, PEI, Group string
	AnyUE                  bool
	// NotifyURI is where reports go, with the CorrelationID.
	NotifyURI, CorrelationID string
	// NFID is the instance of who asks, as it says.
	NFID string
	// Trigger is ONE_TIME, CONTINUOUS or PERIODIC, "" is the first with MaxReports 1 or where nothing is said. MaxReports
	// 0: without end. Period is of PERIODIC, Expiry when the subscription ends; zero: never.
	Trigger    string
	MaxReports int
	Period     time.Duration
	Expiry     time.Time
}

func (s *EventSubscription) fields(f *sbi.Fields) {
	uri, correlation, nf := sbi.CallbackURI(s.NotifyURI), sbi.Text(s.CorrelationID), sbi.Text(s.NFID)
	sbi.Objects(f, "eventList", &s.Events, func(f *sbi.Fields, e *Event) { e.fields(f) })
	sbi.Required(f, "eventNotifyUri", &uri)
	sbi.Required(f, "notifyCorrelationId", &correlation)
	sbi.Required(f, "nfId", &nf)
	sbi.Member(f, "supi", &s.SUPI)
	sbi.Member(f, "gpsi", &s.GPSI)
	sbi.Member(f, "pei", &s.PEI)
	sbi.Member(f, "groupId", &s.Group)
	sbi.Member(f, "anyUE", &s.AnyUE)
	period := int32(sbi.Seconds(s.Period))
	f.Object("options", func(f *sbi.Fields) {
		sbi.Member(f, "trigger", &s.Trigger)
		sbi.Member(f, "maxReports", &s.MaxReports)
		sbi.Member(f, "expiry", &s.Expiry)
		sbi.Member(f, "repPeriod", &period)
	})
	s.NotifyURI, s.CorrelationID, s.NFID, s.Period = string(uri), string(correlation), string(nf), time.Duration(period)*time.Second
	s.check(f)
}

func (s *EventSubscription) check(f *sbi.Fields) {
	bad := func(detail string) { f.Fail(sbi.BadRequest("MANDATORY_IE_INCORRECT", detail)) }
	switch {
	case f.Err() != nil:
	case len(s.Events) == 0:
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "eventList: write one event at least"))
	case s.SUPI+s.GPSI+s.PEI+s.Group == "" && !s.AnyUE:
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "supi, gpsi, pei, groupId or anyUE: write one of them"))
	case s.MaxReports < 0 || s.Period < 0:
		bad("options: maxReports and repPeriod are numbers from 1 on")
	case s.Trigger == "PERIODIC" && s.Period == 0:
		bad("options: repPeriod is mandatory where trigger is PERIODIC")
	case s.Trigger != "" && !slices.Contains([]string{"ONE_TIME", "CONTINUOUS", "PERIODIC"}, s.Trigger):
		bad("options: trigger is ONE_TIME, CONTINUOUS or PERIODIC")
	}
}

// Report is AmfEventReport (TS 29.518 6.2.6.2.5). What is zero is not said.
type Report struct {
	Type EventType
	// Active: more reports may follow, Remaining of them where there is a limit.
	Active    bool
	Remaining int
	Time      time.Time
	SUPI      string
	AnyUE     bool
	Location  *ts29571.Location
	TimeZone  string
	// Access are 3GPP_ACCESS and NON_3GPP_ACCESS.
	Access []string
	// Registration is REGISTERED or DEREGISTERED, Connection IDLE or CONNECTED, over 3GPP access.
	Registration, Connection string
	// Reachability is UNREACHABLE, REACHABLE, REGULATORY_ONLY.
	Reachability string
	// Failure is of the access network.
	Failure *NGAPCause
	// LossReason is DEREGISTERED, MAX_DETECTION_TIME_EXPIRED, PURGED.
	LossReason string
	// Presence is IN_AREA or OUT_OF_AREA (TS 29.571 5.4.3.20), of Areas.
	Presence string
	Areas    []ts29571.TAI
	// UEs in the area, nil where it was not asked for.
	UEs *int
}

func (r *Report) fields(f *sbi.Fields) {
	sbi.Required(f, "type", &r.Type)
	if !f.Object("state", func(f *sbi.Fields) {
		sbi.Required(f, "active", &r.Active)
		sbi.Member(f, "remainReports", &r.Remaining)
	}) {
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "state is mandatory"))
	}
	sbi.Required(f, "timeStamp", &r.Time)
	sbi.Member(f, "anyUe", &r.AnyUE)
	sbi.Member(f, "supi", &r.SUPI)
	sbi.Member(f, "location", &r.Location)
	r.presence(f)
	sbi.Member(f, "timezone", &r.TimeZone)
	sbi.Member(f, "accessTypeList", &r.Access)
	r.perAccess(f, "rmInfoList", "rmState", &r.Registration)
	r.perAccess(f, "cmInfoList", "cmState", &r.Connection)
	sbi.Member(f, "reachability", &r.Reachability)
	if f.Reads() || r.Failure != nil {
		f.Object("commFailure", func(f *sbi.Fields) { sbi.Member(f, "ranReleaseCode", &r.Failure) })
	}
	sbi.Member(f, "lossOfConnectReason", &r.LossReason)
	sbi.Member(f, "numberOfUes", &r.UEs)
}

// presence in one area of interest.
func (r *Report) presence(f *sbi.Fields) {
	var list []area
	if r.Presence != "" {
		list = []area{{r.Areas}}
	}
	sbi.Objects(f, "areaList", &list, func(f *sbi.Fields, a *area) {
		f.Object("presenceInfo", func(f *sbi.Fields) {
			sbi.Member(f, "presenceState", &r.Presence)
			sbi.Member(f, "trackingAreaList", &a.TAIs)
		})
		if f.Reads() {
			r.Areas = a.TAIs
		}
	})
}

// perAccess is a list of states by access, of which that over 3GPP access is told.
func (r *Report) perAccess(f *sbi.Fields, list, member string, state *string) {
	var all [][2]string
	if *state != "" {
		all = [][2]string{{*state, "3GPP_ACCESS"}}
	}
	sbi.Objects(f, list, &all, func(f *sbi.Fields, s *[2]string) {
		sbi.Required(f, member, &s[0])
		sbi.Required(f, "accessType", &s[1])
	})
	for _, s := range all {
		if s[1] == "3GPP_ACCESS" {
			*state = s[0]
		}
	}
}

// createdEvents is AmfCreateEventSubscription and AmfCreatedEventSubscription (TS 29.518 6.2.6.2.9, 6.2.6.2.10).
type createdEvents struct {
	subscription EventSubscription
	id           string
	reports      []Report
}

func (c *createdEvents) fields(f *sbi.Fields) {
	if !f.Object("subscription", c.subscription.fields) {
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "subscription is mandatory"))
	}
	sbi.Member(f, "subscriptionId", &c.id)
	sbi.Objects(f, "reportList", &c.reports, func(f *sbi.Fields, r *Report) { r.fields(f) })
}

func (s *server) registerEvents() {
	h := s.Events
	if h == nil {
		return
	}
	s.handle(EventService, "CreateSubscription", "POST "+events, nil, func(req *http.Request) (sbi.Answer, error) {
		var c createdEvents
		if err := read(req, &c); err != nil {
			return sbi.Answer{}, err
		}
		id, now, err := h.SubscribeEvents(req.Context(), &c.subscription)
		if err != nil {
			return sbi.Answer{}, err
		}
		c.id, c.reports = sbi.BaseURI(req)+events+"/"+id, now
		body, err := write(&c)
		return s.made(req, events+"/"+id, body), err
	})
	s.handle(EventService, "ModifySubscription", "PATCH "+events+"/{id}", nil, func(req *http.Request) (sbi.Answer, error) {
		id, err := idOf(req, "id", SubscriptionNotFound)
		if err != nil {
			return sbi.Answer{}, err
		}
		expiry, err := readExpiry(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		changed, err := h.ModifyEvents(req.Context(), id, expiry)
		if err != nil {
			return sbi.Answer{}, err
		}
		return ok(&modifiedEvents{*changed})
	})
	s.handle(EventService, "DeleteSubscription", "DELETE "+events+"/{id}", nil, withID(h.UnsubscribeEvents))
}

// modifiedEvents is AmfUpdatedEventSubscription (TS 29.518 6.2.6.2.12).
type modifiedEvents struct{ subscription EventSubscription }

func (m *modifiedEvents) fields(f *sbi.Fields) { f.Object("subscription", m.subscription.fields) }

// readExpiry reads the one change that is taken: another time of the end (AmfUpdateEventOptionItem, TS 29.518 6.2.6.2.14).
// A client that wants other events makes another subscription.
func readExpiry(req *http.Request) (time.Time, error) {
	var items []struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if err := sbi.ReadJSON(req, &items); err != nil {
		return time.Time{}, err
	}
	if len(items) != 1 || items[0].Op != "replace" || strings.Trim(items[0].Path, "/") != "options/expiry" {
		return time.Time{}, sbi.NewProblem(http.StatusForbidden, "MODIFICATION_NOT_ALLOWED",
			`only the end can be changed: write [{"op": "replace", "path": "/options/expiry", "value": "2030-01-02T15:04:05Z"}]`)
	}
	var expiry time.Time
	if err := json.Unmarshal(items[0].Value, &expiry); err != nil {
		return time.Time{}, sbi.BadRequest("MANDATORY_IE_INCORRECT", "value: write a time, such as 2030-01-02T15:04:05Z")
	}
	return expiry, nil
}
