package namf

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// The services, as the NRF knows them.
const (
	CommunicationService = "namf-comm"
	EventService         = "namf-evts"
	MTService            = "namf-mt"
	LocationService      = "namf-loc"
	callbackService      = "namf-callback"
)

// Services are all of them with the versions in their URIs, for the profile of an AMF.
func Services() map[string][]string {
	return map[string][]string{CommunicationService: {"v1"}, EventService: {"v1"}, MTService: {"v1"}, LocationService: {"v1"}}
}

// defaultLimit is below the 10 s after which free5GC's functions give up, so that they hear why.
const defaultLimit = 9 * time.Second

// Handlers do what others ask for. Their methods are called by many at a time and may block until the context ends, of
// which the limit is that of Options or what the caller says (3gpp-Sbi-Max-Rsp-Time), whichever is shorter. An error that
// is a *Refused is answered as such, the end of the context with 504, any other with 500. UEs are named as the caller does:
// imsi-..., 5g-guti-..., imei-... (TS 29.518 6.1.3.2.2).
type Handlers struct {
	Contexts      Contexts
	Messages      Messages
	Subscriptions Subscriptions
	Events        Events
	Reach         Reach
	Callbacks     Callbacks
}

// Options of the server.
type Options struct {
	// Binding is of the answers that make a resource, the zero one for none.
	Binding sbi.Binding
	// Limit is how long an operation may take; 0 means 9 s.
	Limit time.Duration
}

type server struct {
	Handlers
	options Options
	router  *sbi.Router
}

// Register adds all services.
func Register(r *sbi.Router, h Handlers, o Options) {
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	s := &server{h, o, r}
	s.registerContexts()
	s.registerMessages()
	s.registerSubscriptions()
	s.registerEvents()
	s.registerReach()
	s.registerCallbacks()
}

// handle adds an operation of which refusals have a form of their own, nil for problem details.
func (s *server) handle(service, operation, pattern string, form func(*Refused) error, op sbi.Operation) {
	s.router.Handle(service, operation, pattern, func(req *http.Request) (sbi.Answer, error) {
		ctx, cancel := sbi.Within(req, s.options.Limit)
		defer cancel()
		answer, err := op(req.WithContext(ctx))
		if err == nil {
			return answer, nil
		}
		var refused *Refused
		if !errors.As(err, &refused) && errors.Is(err, context.DeadlineExceeded) {
			refused = &Refused{Cause: TimedOutRequest, Detail: "not done in time"}
		}
		switch {
		case refused == nil:
			return answer, err
		case form == nil:
			return answer, refused
		}
		return answer, form(refused)
	})
}

// made is the answer to what has made a resource.
func (s *server) made(req *http.Request, location string, body any) sbi.Answer {
	answer := sbi.Answer{Status: http.StatusCreated, Location: sbi.BaseURI(req) + location, Body: body}
	if s.options.Binding != (sbi.Binding{}) {
		answer.Header = http.Header{sbi.BindingHeader: {s.options.Binding.String()}}
	}
	return answer
}

// ueKinds are how a UE can be named in a path.
var ueKinds = []string{"imsi-", "nai-", "gli-", "gci-", "imei-", "imeisv-", "5g-guti-", "cid-"}

// ueOf is the UE in the path.
func ueOf(req *http.Request) (string, error) {
	ue := req.PathValue("ue")
	if _, ok := ts29571.CutKind(ue, ueKinds...); ok {
		return ue, nil
	}
	return "", &Refused{Cause: ContextNotFound, Detail: "no UE can have this name: write imsi-..., 5g-guti-..., imei-..."}
}

// idOf is an identifier in the path that the AMF gave.
func idOf(req *http.Request, name string, none Cause) (string, error) {
	if id := req.PathValue(name); isID(id) {
		return id, nil
	}
	return "", &Refused{Cause: none, Detail: "nothing can have this identifier"}
}

// mostID is the longest: a SUPI in hexadecimal digits, and what is told apart behind it.
const mostID = 640

// isID reports whether a text needs no escapes in a path (RFC 3986 2.3).
func isID(text string) bool {
	return text != "" && len(text) <= mostID && text != "." && text != ".." &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~") == ""
}

// fielded is what is written and read from one list of its members.
type fielded interface{ fields(*sbi.Fields) }

// read reads the content of a request into v.
func read(req *http.Request, v fielded) error {
	content, message, err := sbi.ReadMessage(req)
	if err != nil {
		return err
	}
	f := sbi.Reading(content, message)
	v.fields(f)
	return f.Err()
}

// write is a content.
func write(v fielded) (sbi.Raw, error) {
	f := sbi.Writing()
	v.fields(f)
	text, parts, err := f.Written()
	if err != nil {
		return sbi.Raw{}, err
	}
	return sbi.Related(text, parts...)
}

// ok is an answer 200 with a content.
func ok(v fielded) (sbi.Answer, error) {
	body, err := write(v)
	return sbi.Answer{Status: http.StatusOK, Body: body}, err
}

var nothing = sbi.Answer{Status: http.StatusNoContent}
