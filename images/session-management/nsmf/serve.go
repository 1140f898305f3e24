package nsmf

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

const (
	// ServiceName is the name that the NRF knows the service by.
	ServiceName = "nsmf-pdusession"
	contexts    = "/nsmf-pdusession/v1/sm-contexts"
	urn         = "urn:uuid:"
	// defaultLimit is below the 10 s after which free5GC's AMF gives up, so that it hears why.
	defaultLimit = 9 * time.Second
)

// Handler does what AMFs ask for. Its methods are called by many at a time and may block until the context ends, of
// which the limit is that of Options or what the caller says (3gpp-Sbi-Max-Rsp-Time), whichever is shorter. An error
// that is a *Refused is answered as such, the end of the context with 504, any other with 500.
type Handler interface {
	Create(context.Context, *Create) (*Created, error)
	Update(ctx context.Context, ref string, u *Update) (*Updated, error)
	Release(ctx context.Context, ref string, r *Release) error
	Retrieve(ctx context.Context, ref string, r *Retrieve) (*Retrieved, error)
}

// Options of the server.
type Options struct {
	// Binding is the 3gpp-Sbi-Binding header of answers to Create (TS 29.500 6.12), such as
	// "bl=nf-set; nfset=set1.smfset.5gc.mnc093.mcc208", "" for none.
	Binding string
	// Limit is how long an operation may take; 0 means 9 s.
	Limit time.Duration
}

type server struct {
	handler Handler
	options Options
}

// Register adds the operations on SM contexts.
func Register(r *sbi.Router, h Handler, o Options) {
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	s := &server{h, o}
	r.Handle(ServiceName, "CreateSMContext", "POST "+contexts, s.inTime(contextErrors(s.create)))
	r.Handle(ServiceName, "UpdateSMContext", "POST "+contexts+"/{ref}/modify", s.inTime(contextErrors(s.update)))
	r.Handle(ServiceName, "ReleaseSMContext", "POST "+contexts+"/{ref}/release", s.inTime(s.release))
	r.Handle(ServiceName, "RetrieveSMContext", "POST "+contexts+"/{ref}/retrieve", s.inTime(s.retrieve))
}

// inTime gives an operation a context that ends when nobody waits for the answer any more.
func (s *server) inTime(op sbi.Operation) sbi.Operation { return limited(s.options.Limit, op) }

func limited(limit time.Duration, op sbi.Operation) sbi.Operation {
	return func(req *http.Request) (sbi.Answer, error) {
		ctx, cancel := sbi.Within(req, limit)
		defer cancel()
		answer, err := op(req.WithContext(ctx))
		var refused *Refused
		if err != nil && !errors.As(err, &refused) && errors.Is(err, context.DeadlineExceeded) {
			return answer, asRefused(&Refused{Cause: TimedOutRequest, Detail: "not done in time"}, err)
		}
		return answer, err
	}
}

// asRefused keeps the form of the refusal that stands for another error.
func asRefused(refused *Refused, err error) error {
	var formed *contextRefusal
	if errors.As(err, &formed) {
		return &contextRefusal{reason: err, problem: refused.problem(), refused: *refused}
	}
	return refused
}

// contextErrors gives the errors of an operation the form of an SmContextCreateError or SmContextUpdateError.
func contextErrors(op sbi.Operation) sbi.Operation {
	return func(req *http.Request) (sbi.Answer, error) {
		answer, err := op(req)
		if err == nil {
			return answer, nil
		}
		var refused *Refused
		var problem *sbi.Problem
		out := &contextRefusal{reason: err}
		switch {
		case errors.As(err, &refused):
			out.problem, out.refused = refused.problem(), *refused
		case errors.As(err, &problem):
			out.problem = problem
		default:
			// What is not a refusal is our own failure, and its text is for the log.
			out.problem = (&Refused{Cause: SystemFailure, Detail: "see the log of the SMF"}).problem()
		}
		return answer, out
	}
}

func (s *server) create(req *http.Request) (sbi.Answer, error) {
	c, err := readCreate(req)
	if err != nil {
		return sbi.Answer{}, err
	}
	created, err := s.handler.Create(req.Context(), c)
	if err != nil {
		return sbi.Answer{}, err
	}
	if !isRef(created.Ref) {
		return sbi.Answer{}, fmt.Errorf("%q cannot be a reference of an SM context", created.Ref)
	}
	root, binding := created.Root, created.Binding
	if root == "" {
		root = sbi.BaseURI(req)
	}
	if binding == "" {
		binding = s.options.Binding
	}
	answer := sbi.Answer{Status: http.StatusCreated, Location: root + contexts + "/" + created.Ref}
	if binding != "" {
		answer.Header = http.Header{"3gpp-Sbi-Binding": {binding}}
	}
	answer.Body, err = created.body()
	return answer, err
}

func (s *server) update(req *http.Request) (sbi.Answer, error) {
	ref, err := refOf(req)
	if err != nil {
		return sbi.Answer{}, err
	}
	u, err := readUpdate(req)
	if err != nil {
		return sbi.Answer{}, err
	}
	updated, err := s.handler.Update(req.Context(), ref, u)
	if err != nil {
		return sbi.Answer{}, err
	}
	return updated.answer()
}

func (s *server) release(req *http.Request) (sbi.Answer, error) {
	ref, err := refOf(req)
	if err != nil {
		return sbi.Answer{}, err
	}
	r, err := readRelease(req)
	if err != nil {
		return sbi.Answer{}, err
	}
	if err := s.handler.Release(req.Context(), ref, r); err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{Status: http.StatusNoContent}, nil
}

func (s *server) retrieve(req *http.Request) (sbi.Answer, error) {
	ref, err := refOf(req)
	if err != nil {
		return sbi.Answer{}, err
	}
	r, err := readRetrieve(req)
	if err != nil {
		return sbi.Answer{}, err
	}
	retrieved, err := s.handler.Retrieve(req.Context(), ref, r)
	if err != nil {
		return sbi.Answer{}, err
	}
	body, err := written(retrieved.fields)
	return sbi.Answer{Status: http.StatusOK, Body: body}, err
}

// refOf is the reference in the path. free5GC's AMF calls every context urn:uuid:<reference>.
func refOf(req *http.Request) (string, error) {
	ref := req.PathValue("ref")
	for strings.HasPrefix(ref, urn) {
		ref = strings.TrimPrefix(ref, urn)
	}
	if !isRef(ref) {
		return "", &Refused{Cause: ContextNotFound, Detail: "no SM context can have this reference"}
	}
	return ref, nil
}

// isRef reports whether a text needs no escapes in a path (RFC 3986 2.3).
func isRef(text string) bool {
	return text != "" && len(text) <= 128 && text != "." && text != ".." &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~") == ""
}
