package n2

import (
	"fmt"

	"core5g.dev/core5g/images/ngapcause"
)

// Report is how the sender of a message hears what was wrong with it (TS 38.413 10).
type Report uint8

// The ways.
const (
	// Locally: not at all, whatever is to be done is done here.
	Locally Report = iota
	// ByErrorIndication: with an Error Indication.
	ByErrorIndication
	// ByFailure: with the procedure's unsuccessful outcome.
	ByFailure
	// InResponse: with Criticality Diagnostics in the response, whatever that is.
	InResponse
)

// Fault is what is wrong with a message that was read.
type Fault struct {
	// Header is as far as it could be read.
	Header
	// Cause is one of the protocol's: transfer syntax, abstract syntax (reject, notify, falsely constructed).
	Cause Cause
	// Terminated: nothing of the message is carried out. Of a response, the procedure has failed (TS 38.413 10.3.4.2).
	Terminated bool
	Report     Report
	// IEs that were not understood or are missing, at most 256.
	IEs []IEDiagnostics
	// Err is what was wrong in words.
	Err error

	// known: it could be read as far as Header goes.
	known bool
	// sessions of a Path Switch Request that was refused.
	sessions []Session
}

// Error names the message and what is wrong with it.
func (f *Fault) Error() string {
	if !f.known {
		return fmt.Sprintf("%s: %v", f.Cause, f.Err)
	}
	return fmt.Sprintf("%s: %s: %v", f.Kind, f.Cause, f.Err)
}

// Unwrap is what was wrong.
func (f *Fault) Unwrap() error { return f.Err }

// InResponse are the Criticality Diagnostics of the procedure's response; nil where they are told in another way. Of the
// same procedure, they do not repeat which one it is (TS 38.413 9.3.1.3).
func (f *Fault) InResponse() *CriticalityDiagnostics {
	if f == nil || f.Report != InResponse {
		return nil
	}
	return &CriticalityDiagnostics{IEs: f.IEs}
}

// Answer is the message that the sender gets: an Error Indication, the procedure's unsuccessful outcome, or nil.
func (f *Fault) Answer() Message {
	switch f.Report {
	case ByErrorIndication:
		return f.errorIndication()
	case ByFailure:
		return f.failure()
	}
	return nil
}

func (f *Fault) errorIndication() *ErrorIndication {
	out := &ErrorIndication{AMF: f.AMF, RAN: f.RAN, Cause: &f.Cause}
	if f.known {
		out.Diagnostics = &CriticalityDiagnostics{
			Procedure: &f.Kind.Procedure, Triggering: &f.Kind.Outcome, Criticality: &f.Criticality, IEs: f.IEs,
		}
	}
	return out
}

// failure is nil where what was read does not suffice.
func (f *Fault) failure() Message {
	var diagnostics *CriticalityDiagnostics
	if len(f.IEs) > 0 {
		diagnostics = &CriticalityDiagnostics{IEs: f.IEs}
	}
	switch f.Kind.Procedure {
	case ProcedureNGSetup:
		return &NGSetupFailure{Cause: f.Cause, Diagnostics: diagnostics}
	case ProcedureRANConfigurationUpdate:
		return &RANConfigurationUpdateFailure{Cause: f.Cause, Diagnostics: diagnostics}
	case ProcedureAMFConfigurationUpdate:
		return &AMFConfigurationUpdateFailure{Cause: f.Cause, Diagnostics: diagnostics}
	}
	if f.AMF == nil {
		return nil
	}
	if f.Kind.Procedure == ProcedureHandoverResourceAllocation {
		return &HandoverFailure{AMF: *f.AMF, Cause: f.Cause, Diagnostics: diagnostics}
	}
	if f.RAN == nil {
		return nil
	}
	ue := UEIDs{AMF: *f.AMF, RAN: *f.RAN}
	switch f.Kind.Procedure {
	case ProcedureHandoverPreparation:
		return &HandoverPreparationFailure{UE: ue, Cause: f.Cause, Diagnostics: diagnostics}
	case ProcedureInitialContextSetup:
		return &InitialContextSetupFailure{UE: ue, Cause: f.Cause, Diagnostics: diagnostics}
	case ProcedureUEContextModification:
		return &UEContextModificationFailure{UE: ue, Cause: f.Cause, Diagnostics: diagnostics}
	case ProcedurePathSwitchRequest:
		if released := f.released(); len(released) > 0 {
			return &PathSwitchRequestFailure{UE: ue, Released: released, Diagnostics: diagnostics}
		}
	}
	return nil
}

// released are the sessions of a Path Switch Request, each with a Path Switch Request Unsuccessful Transfer (TS 38.413
// 9.3.4.20), which is a cause.
func (f *Fault) released() []Session {
	c := coder{writing: true}
	s := c.sequence()
	codeCause(&c, &f.Cause)
	c.finish(s)
	var out []Session
	for _, session := range f.sessions {
		out = append(out, Session{ID: session.ID, Transfer: c.b})
	}
	return out
}

// NewErrorIndication answers a message that could be read, and cannot be acted on: it is not compatible with the receiver's
// state (TS 38.413 10.4), or names a UE that is not known (10.6).
func NewErrorIndication(m Message, cause Cause) *ErrorIndication {
	kind := m.Kind()
	criticality := procedures[kind.Procedure].criticality
	amf, ran := Names(m)
	return &ErrorIndication{
		AMF: amf, RAN: ran, Cause: &cause,
		Diagnostics: &CriticalityDiagnostics{Procedure: &kind.Procedure, Triggering: &kind.Outcome, Criticality: &criticality},
	}
}

// unreadable: TS 38.413 10.2, and 10.3.4.1A where it is the type of message.
func (x *exchange) unreadable(h Header, known bool, err error) *Fault {
	x.names(&h)
	f := &Fault{Header: h, Cause: ngapcause.TransferSyntax, Terminated: true, Report: ByErrorIndication, Err: err, known: known}
	if known && h.Kind.Procedure == ProcedureErrorIndication {
		f.Report = Locally
	}
	return f
}

// notComprehended: TS 38.413 10.3.4.1, and 10.3.4.1A where the procedure has no such message.
func (x *exchange) notComprehended(h Header) *Fault {
	x.names(&h)
	f := &Fault{Header: h, known: true, Terminated: true, Report: ByErrorIndication}
	switch {
	case procedures[h.Kind.Procedure] != nil:
		f.Cause, f.Err = ngapcause.FalselyConstructed, fmt.Errorf("the procedure has no such message")
		if h.Kind.Procedure == ProcedureErrorIndication {
			f.Report = Locally
		}
	case h.Criticality == Reject:
		f.Cause, f.Err = ngapcause.AbstractSyntaxReject, fmt.Errorf("not known, and to be rejected")
	case h.Criticality == Notify:
		f.Cause, f.Err = ngapcause.AbstractSyntaxNotify, fmt.Errorf("not known, and to be ignored with a notice")
	default:
		f.Cause, f.Err, f.Report = ngapcause.AbstractSyntaxReject, fmt.Errorf("not known, and to be ignored"), Locally
	}
	return f
}

// judge says what follows from the IEs. What ends a procedure goes before what does not (TS 38.413 10.5).
func (x *exchange) judge(h Header, m Message) *Fault {
	if x.badErr == nil && x.disordered == nil && len(x.wrong) == 0 {
		return nil
	}
	x.names(&h)
	f := &Fault{Header: h, known: true, IEs: x.wrong[:min(len(x.wrong), mostDiagnostics)]}
	f.weigh(x)
	f.route(m)
	return f
}

func (f *Fault) weigh(x *exchange) {
	switch {
	case x.badErr != nil:
		f.Cause, f.Terminated, f.Err = ngapcause.TransferSyntax, true, fmt.Errorf("%s: %w", x.bad, x.badErr)
		return
	case x.disordered != nil:
		f.Cause, f.Terminated = ngapcause.FalselyConstructed, true
		f.Err = fmt.Errorf("%s in the wrong place, twice, or there though its condition does not hold", *x.disordered)
		return
	}
	f.Cause, f.Err = ngapcause.AbstractSyntaxNotify, x.wrong[0].words()
	for _, e := range x.wrong {
		if e.Criticality == Reject {
			f.Cause, f.Terminated, f.Err = ngapcause.AbstractSyntaxReject, true, e.words()
			return
		}
	}
}

func (e IEDiagnostics) words() error {
	if e.Error == Missing {
		return fmt.Errorf("%s is missing", e.ID)
	}
	return fmt.Errorf("%s is not understood", e.ID)
}

// route says who hears of it (TS 38.413 10.2, 10.3.4.2, 10.3.5, 10.3.6, 10.5).
func (f *Fault) route(m Message) {
	facts := procedures[f.Kind.Procedure]
	switch {
	case f.Kind.Procedure == ProcedureErrorIndication:
		f.Report = Locally
	case f.Cause == ngapcause.TransferSyntax:
		f.Report = ByErrorIndication
	case f.Kind.Outcome != Initiating && f.Terminated:
		f.Report = Locally
	case f.Kind.Outcome != Initiating:
		f.Report = ByErrorIndication
	case !f.Terminated && facts.has(Successful):
		f.Report = InResponse
	case !f.Terminated || !facts.has(Unsuccessful):
		f.Report = ByErrorIndication
	default:
		f.Report = ByFailure
		if request, ok := m.(*PathSwitchRequest); ok {
			f.sessions = append(append(f.sessions, request.Sessions...), request.Failed...)
		}
		// TS 38.413 10.3.4.2: where it does not suffice for that message.
		if f.failure() == nil {
			f.Report = ByErrorIndication
		}
	}
}
