package namf

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const contexts = "/namf-comm/v1/ue-contexts"

// Contexts are UE contexts that come from other AMFs, or go there (TS 29.518 5.2.2.2).
type Contexts interface {
	// CreateContext takes a UE that is being handed over here (TS 23.502 4.9.1.3).
	CreateContext(ctx context.Context, ue string, c *CreateContext) (*CreatedContext, error)
	// ReleaseContext ends a handover that the source AMF has cancelled.
	ReleaseContext(ctx context.Context, ue string, r *ReleaseContext) error
	// TransferContext gives a UE to the AMF that it registers with.
	TransferContext(ctx context.Context, ue string, t *TransferContext) (*TransferredContext, error)
	// UpdateRegistration says whether that AMF has taken it.
	UpdateRegistration(ctx context.Context, ue string, u *RegistrationUpdate) error
	// RelocateContext takes a UE of an AMF that is relocated (release 16), CancelRelocation takes that back.
	RelocateContext(ctx context.Context, ue string, c *CreateContext) (*CreatedContext, error)
	CancelRelocation(ctx context.Context, ue string, r *ReleaseContext) error
	// AssignEBI gives EPS bearer identities to flows of a PDU session. What it assigns none for is refused.
	AssignEBI(ctx context.Context, ue string, e *EBIs) (*AssignedEBIs, error)
}

func (s *server) registerContexts() {
	if s.Contexts == nil {
		return
	}
	h := s.Contexts
	add := func(operation, pattern string, form func(*Refused) error, op func(*http.Request, string) (sbi.Answer, error)) {
		s.handle(CommunicationService, operation, pattern, form, func(req *http.Request) (sbi.Answer, error) {
			ue, err := ueOf(req)
			if err != nil {
				return sbi.Answer{}, err
			}
			return op(req, ue)
		})
	}
	create := func(do func(context.Context, string, *CreateContext) (*CreatedContext, error)) func(*http.Request, string) (sbi.Answer, error) {
		return func(req *http.Request, ue string) (sbi.Answer, error) {
			var c CreateContext
			if err := read(req, &c); err != nil {
				return sbi.Answer{}, err
			}
			created, err := do(req.Context(), ue, &c)
			if err != nil {
				return sbi.Answer{}, err
			}
			body, err := write(created)
			return s.made(req, pathOf(ue), body), err
		}
	}
	release := func(do func(context.Context, string, *ReleaseContext) error) func(*http.Request, string) (sbi.Answer, error) {
		return func(req *http.Request, ue string) (sbi.Answer, error) {
			var r ReleaseContext
			if err := read(req, &r); err != nil {
				return sbi.Answer{}, err
			}
			return nothing, do(req.Context(), ue, &r)
		}
	}
	add("CreateUEContext", "PUT "+contexts+"/{ue}", refusedContext, create(h.CreateContext))
	add("RelocateUEContext", "POST "+contexts+"/{ue}/relocate", refusedContext, create(h.RelocateContext))
	add("ReleaseUEContext", "POST "+contexts+"/{ue}/release", nil, release(h.ReleaseContext))
	add("CancelRelocateUEContext", "POST "+contexts+"/{ue}/cancel-relocate", nil, release(h.CancelRelocation))
	add("UEContextTransfer", "POST "+contexts+"/{ue}/transfer", nil, func(req *http.Request, ue string) (sbi.Answer, error) {
		var t TransferContext
		if err := read(req, &t); err != nil {
			return sbi.Answer{}, err
		}
		transferred, err := h.TransferContext(req.Context(), ue, &t)
		if err != nil {
			return sbi.Answer{}, err
		}
		return ok(transferred)
	})
	add("RegistrationStatusUpdate", "POST "+contexts+"/{ue}/transfer-update", nil, func(req *http.Request, ue string) (sbi.Answer, error) {
		var u RegistrationUpdate
		if err := read(req, &u); err != nil {
			return sbi.Answer{}, err
		}
		if err := h.UpdateRegistration(req.Context(), ue, &u); err != nil {
			return sbi.Answer{}, err
		}
		return sbi.Answer{Status: http.StatusOK, Body: map[string]bool{"regStatusTransferComplete": true}}, nil
	})
	add("EBIAssignment", "POST "+contexts+"/{ue}/assign-ebi", nil, s.assignEBI)
}

// CreateContext is UeContextCreateData (TS 29.518 6.1.6.2.32).
type CreateContext struct {
	UE UEContext
	// Target is where the UE is handed over to, Container from the source access network for it.
	Target   *Target
	Source   N2
	Sessions []SessionN2
	// NotifyURI is where the source AMF hears that the UE has come.
	NotifyURI      string
	Radio          N2 // the UE radio capability
	NGAP           *NGAPCause
	ServingNetwork *ts29571.PLMN
}

func (c *CreateContext) fields(f *sbi.Fields) {
	uri := sbi.CallbackURI(c.NotifyURI)
	if !f.Object("ueContext", c.UE.fields) && f.Reads() {
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "ueContext is mandatory"))
	}
	sbi.Required(f, "targetId", &c.Target)
	if !c.Source.member(f, "sourceToTargetData") {
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "sourceToTargetData is mandatory"))
	}
	sessions(f, "pduSessionList", &c.Sessions)
	sbi.Member(f, "n2NotifyUri", &uri)
	c.Radio.member(f, "ueRadioCapability")
	sbi.Member(f, "ngapCause", &c.NGAP)
	sbi.Member(f, "servingNetwork", &c.ServingNetwork)
	c.NotifyURI = string(uri)
}

// CreatedContext is UeContextCreatedData (TS 29.518 6.1.6.2.33).
type CreatedContext struct {
	UE UEContext
	// Container is from the target access network for the source.
	Container N2
	Sessions  []SessionN2
	Failed    []SessionN2
}

func (c *CreatedContext) fields(f *sbi.Fields) {
	f.Object("ueContext", c.UE.fields)
	c.Container.member(f, "targetToSourceData")
	sessions(f, "pduSessionList", &c.Sessions)
	sessions(f, "failedSessionList", &c.Failed)
}

// ReleaseContext is UEContextRelease (TS 29.518 6.1.6.2.35).
type ReleaseContext struct {
	SUPI            string
	Unauthenticated bool
	NGAP            *NGAPCause
}

func (r *ReleaseContext) fields(f *sbi.Fields) {
	sbi.Member(f, "supi", &r.SUPI)
	sbi.Member(f, "unauthenticatedSupi", &r.Unauthenticated)
	sbi.Required(f, "ngapCause", &r.NGAP)
}

// TransferContext is UeContextTransferReqData (TS 29.518 6.1.6.2.21).
type TransferContext struct {
	// Reason is INIT_REG, MOBI_REG, or MOBI_REG_UE_VALIDATED where the AMF that asks has proved the UE itself.
	Reason string
	Access string
	PLMN   *ts29571.PLMN
	// Registration is the Registration Request as it came, whose integrity is to be checked; nil where Reason says that
	// it was.
	Registration []byte
}

func (t *TransferContext) fields(f *sbi.Fields) {
	class := "5GMM"
	sbi.Required(f, "reason", &t.Reason)
	sbi.Required(f, "accessType", &t.Access)
	sbi.Member(f, "plmnId", &t.PLMN)
	if f.Reads() || len(t.Registration) > 0 {
		f.Object("regRequest", func(f *sbi.Fields) {
			sbi.Required(f, "n1MessageClass", &class)
			f.Binary("n1MessageContent", "n1Message", sbi.NAS, &t.Registration)
		})
	}
	switch t.Reason {
	case "INIT_REG", "MOBI_REG", "MOBI_REG_UE_VALIDATED", "":
	default:
		f.Fail(sbi.BadRequest("MANDATORY_IE_INCORRECT", "reason: write INIT_REG, MOBI_REG or MOBI_REG_UE_VALIDATED"))
	}
}

// TransferredContext is UeContextTransferRspData (TS 29.518 6.1.6.2.22).
type TransferredContext struct {
	UE    UEContext
	Radio N2
}

func (t *TransferredContext) fields(f *sbi.Fields) {
	f.Object("ueContext", t.UE.fields)
	t.Radio.member(f, "ueRadioCapability")
}

// RegistrationUpdate is UeRegStatusUpdateReqData (TS 29.518 6.1.6.2.24).
type RegistrationUpdate struct {
	// Transferred: the other AMF has the UE now. Otherwise it stays.
	Transferred bool
	// Release are PDU sessions that it does not take, to be released here.
	Release []uint8
	// PolicyMoved: it has made its own policy association, so that the one here is to be deleted.
	PolicyMoved bool
}

func (r *RegistrationUpdate) fields(f *sbi.Fields) {
	status := "NOT_TRANSFERRED"
	if r.Transferred {
		status = "TRANSFERRED"
	}
	ids := make([]sessionID, len(r.Release))
	for n, id := range r.Release {
		ids[n] = sessionID(id)
	}
	sbi.Required(f, "transferStatus", &status)
	sbi.Member(f, "toReleaseSessionList", &ids)
	sbi.Member(f, "pcfReselectedInd", &r.PolicyMoved)
	if status != "TRANSFERRED" && status != "NOT_TRANSFERRED" {
		f.Fail(sbi.BadRequest("MANDATORY_IE_INCORRECT", "transferStatus: write TRANSFERRED or NOT_TRANSFERRED"))
	}
	if r.Transferred = status == "TRANSFERRED"; f.Reads() {
		r.Release = nil
		for _, id := range ids {
			r.Release = append(r.Release, uint8(id))
		}
	}
}

// EBIs is AssignEbiData (TS 29.518 6.1.6.2.29).
type EBIs struct {
	SessionID uint8
	// ARPs are of the flows that want an identity, Released are such that are free again.
	ARPs     []ts29571.ARP
	Released []int
}

func (e *EBIs) fields(f *sbi.Fields) {
	id := sessionID(e.SessionID)
	sbi.Required(f, "pduSessionId", &id)
	sbi.Member(f, "arpList", &e.ARPs)
	sbi.Member(f, "releasedEbiList", &e.Released)
	e.SessionID = uint8(id)
}

// EBI is an EPS bearer identity with the ARP that it is for.
type EBI struct {
	EBI int         `json:"epsBearerId"`
	ARP ts29571.ARP `json:"arp"`
}

// AssignedEBIs is AssignedEbiData (TS 29.518 6.1.6.2.30).
type AssignedEBIs struct {
	Assigned []EBI
	Failed   []ts29571.ARP
	Released []int
}

type assignedEBIs struct {
	SessionID uint8         `json:"pduSessionId"`
	Assigned  []EBI         `json:"assignedEbiList"`
	Failed    []ts29571.ARP `json:"failedArpList,omitempty"`
	Released  []int         `json:"releasedEbiList,omitempty"`
}

// assignEBI answers a refusal with AssignEbiError (6.1.6.2.31), which names all ARPs.
func (s *server) assignEBI(req *http.Request, ue string) (sbi.Answer, error) {
	var e EBIs
	if err := read(req, &e); err != nil {
		return sbi.Answer{}, err
	}
	assigned, err := s.Contexts.AssignEBI(req.Context(), ue, &e)
	var refused *Refused
	if errors.As(err, &refused) {
		return ebiRefusal(refused, &e)
	}
	if err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{Status: http.StatusOK, Body: assignedEBIs{
		e.SessionID, append([]EBI{}, assigned.Assigned...), assigned.Failed, assigned.Released,
	}}, nil
}

func ebiRefusal(r *Refused, e *EBIs) (sbi.Answer, error) {
	text, err := json.Marshal(map[string]any{
		"error": r.problem(), "failureDetails": map[string]any{"pduSessionId": e.SessionID, "failedArpList": append([]ts29571.ARP{}, e.ARPs...)},
	})
	return sbi.Answer{Status: r.Cause.Status(), Header: sbi.RetryAfter(r.RetryAfter), Body: sbi.Raw{ContentType: "application/json", Content: text}}, err
}
