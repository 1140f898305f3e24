package namf

import (
	"context"
	"net/http"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const (
	mt       = "/namf-mt/v1/ue-contexts"
	location = "/namf-loc/v1"
)

// Reach is for whoever wants to reach a UE, or to know where it is (TS 29.518 5.4, 5.5).
type Reach interface {
	// DomainSelection says where a call to the UE ends.
	DomainSelection(ctx context.Context, ue string) (*DomainSelection, error)
	// EnableReachability pages the UE where it is idle, and returns when it has come.
	EnableReachability(ctx context.Context, ue string) error
	// Locate gives the location that is known, or with Current, asks the access network of a UE that is connected.
	Locate(ctx context.Context, ue string, l Locate) (*Located, error)
}

// DomainSelection is UeContextInfo (TS 29.518 6.3.6.2.4).
type DomainSelection struct {
	// VoiceOverPS is whether IMS voice is supported where the UE is.
	VoiceOverPS  bool
	LastActivity time.Time
	Access, RAT  string
}

type contextInfo struct {
	VoiceOverPS  bool      `json:"supportVoPS"`
	LastActivity time.Time `json:"lastActTime,omitzero"`
	Access       string    `json:"accessType,omitempty"`
	RAT          string    `json:"ratType,omitempty"`
}

// Locate is RequestLocInfo (TS 29.518 6.4.6.2.4).
type Locate struct {
	// FiveGS: location in the 5GS; Current: not older than this request; RAT and TimeZone are wanted too.
	FiveGS, Current, RAT, TimeZone bool
}

// Located is ProvideLocInfo (TS 29.518 6.4.6.2.5).
type Located struct {
	// Current: the location is not older than the request, else of Age.
	Current       bool
	Location      *ts29571.Location
	Age           time.Duration
	RAT, TimeZone string
}

type locationInfo struct {
	Current  bool              `json:"currentLoc"`
	Location *ts29571.Location `json:"location,omitempty"`
	Age      int               `json:"ageOfLocationInformation,omitempty"` // minutes, TS 29.002 17.7.8
	RAT      string            `json:"ratType,omitempty"`
	TimeZone string            `json:"timezone,omitempty"`
}

func (s *server) registerReach() {
	h := s.Reach
	if h == nil {
		return
	}
	s.handle(MTService, "ProvideDomainSelectionInfo", "GET "+mt+"/{ue}", nil, withUE(func(req *http.Request, ue string) (sbi.Answer, error) {
		if class := req.URL.Query().Get("info-class"); class != "" && class != "TADS" {
			return sbi.Answer{}, sbi.BadRequest("OPTIONAL_QUERY_PARAM_INCORRECT", "info-class: write TADS, or leave it out")
		}
		d, err := h.DomainSelection(req.Context(), ue)
		if err != nil {
			return sbi.Answer{}, err
		}
		return sbi.Answer{Status: http.StatusOK, Body: contextInfo(*d)}, nil
	}))
	s.handle(MTService, "EnableUeReachability", "PUT "+mt+"/{ue}/ue-reachind", nil, withUE(func(req *http.Request, ue string) (sbi.Answer, error) {
		content, err := sbi.ReadContent(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		wanted, err := sbi.Mandatory[string](content, "reachability")
		if err != nil {
			return sbi.Answer{}, err
		}
		if wanted != "REACHABLE" {
			return sbi.Answer{}, sbi.BadRequest("MANDATORY_IE_INCORRECT", "reachability: write REACHABLE")
		}
		if err := h.EnableReachability(req.Context(), ue); err != nil {
			return sbi.Answer{}, err
		}
		return sbi.Answer{Status: http.StatusOK, Body: map[string]string{"reachability": "REACHABLE"}}, nil
	}))
	s.handle(LocationService, "ProvideLocationInfo", "POST "+location+"/{ue}/provide-loc-info", nil, withUE(func(req *http.Request, ue string) (sbi.Answer, error) {
		content, err := sbi.ReadContent(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		var l Locate
		f := sbi.Reading(content, sbi.Message{})
		sbi.Member(f, "req5gsLoc", &l.FiveGS)
		sbi.Member(f, "reqCurrentLoc", &l.Current)
		sbi.Member(f, "reqRatType", &l.RAT)
		sbi.Member(f, "reqTimeZone", &l.TimeZone)
		if f.Err() != nil {
			return sbi.Answer{}, f.Err()
		}
		found, err := h.Locate(req.Context(), ue, l)
		if err != nil {
			return sbi.Answer{}, err
		}
		return sbi.Answer{Status: http.StatusOK, Body: locationInfo{found.Current, found.Location, int(found.Age / time.Minute), found.RAT, found.TimeZone}}, nil
	}))
	// There is no LMF that could find a position.
	for operation, path := range map[string]string{"ProvidePositioningInfo": "provide-pos-info", "CancelLocation": "cancel-pos-info"} {
		s.handle(LocationService, operation, "POST "+location+"/{ue}/"+path, nil, withUE(func(*http.Request, string) (sbi.Answer, error) {
			return sbi.Answer{}, &Refused{Cause: PositioningDenied, Detail: "positions are not determined here: ask for provide-loc-info"}
		}))
	}
}

func withUE(op func(*http.Request, string) (sbi.Answer, error)) sbi.Operation {
	return func(req *http.Request) (sbi.Answer, error) {
		ue, err := ueOf(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		return op(req, ue)
	}
}
