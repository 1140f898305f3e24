package namf

import (
	"context"
	"net/http"
	"strconv"

	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/nf/sbi"
	consumer "core5g.dev/core5g/images/session-management/namf"
)

const callbacks = "/namf-callback/v1"

func callbackURI(root, ref, what string) string { return root + callbacks + "/ues/" + ref + "/" + what }

// URIs that others are asked to call about a UE, which ref names: letters, digits, and - . _ ~. root is the API root of
// whoever holds it.

// SessionURI is for nsmf.AMF.StatusURI of a PDU session.
func SessionURI(root, ref string, session uint8) string {
	return callbackURI(root, ref, "sessions/"+strconv.Itoa(int(session)))
}

// PolicyURI is for npcf.UE.NotificationURI.
func PolicyURI(root, ref string) string { return callbackURI(root, ref, "policy") }

// DeregistrationURI is for nudm.Registration.DeregistrationURI.
func DeregistrationURI(root, ref string) string { return callbackURI(root, ref, "deregistration") }

// SubscriptionURI is for nudm.Subscription.CallbackURI.
func SubscriptionURI(root, ref string) string { return callbackURI(root, ref, "subscription") }

// HandoverURI is for CreateContext.NotifyURI: the target AMF tells there that the UE has come.
func HandoverURI(root, ref string) string { return callbackURI(root, ref, "handover") }

// StatusURI is for StatusSubscription.URI at another AMF.
func StatusURI(root string) string { return root + callbacks + "/amf-status" }

// Callbacks takes what others call back with. An error that is a *Refused is answered as such.
type Callbacks interface {
	// SessionChanged: an SM context has ended, or something else has become of it (TS 29.502 5.2.2.5).
	SessionChanged(ctx context.Context, ref string, session uint8, s consumer.Status) error
	// PolicyChanged: the PCF has decided something else (TS 29.507 4.2.4.2), PolicyEnded: it wants the association to be
	// deleted.
	PolicyChanged(ctx context.Context, ref string, change npcf.Decision) error
	PolicyEnded(ctx context.Context, ref string, t npcf.Termination) error
	// Deregister: another AMF serves the UE, or nobody is to (TS 29.503 5.3.2.3.2).
	Deregister(ctx context.Context, ref string, d nudm.Deregistration) error
	// SubscriptionChanged: what nudm.Everything gives has changed (TS 29.503 5.2.2.5).
	SubscriptionChanged(ctx context.Context, ref string, c nudm.Change) error
	// HandedOver: the UE has come to the target AMF (TS 29.518 5.2.2.2.5, N2InfoNotify).
	HandedOver(ctx context.Context, ref string, h HandoverNotification) error
	// AMFChanged: GUAMIs of another AMF have become unavailable, or available.
	AMFChanged(ctx context.Context, s StatusChange) error
}

func (s *server) registerCallbacks() {
	h := s.Callbacks
	if h == nil {
		return
	}
	add := func(operation, what string, op func(req *http.Request, ref string) (sbi.Answer, error)) {
		s.handle(callbackService, operation, "POST "+callbacks+"/ues/{ref}/"+what, nil, func(req *http.Request) (sbi.Answer, error) {
			ref, err := idOf(req, "ref", ContextNotFound)
			if err != nil {
				return sbi.Answer{}, err
			}
			return op(req, ref)
		})
	}
	add("SmContextStatusNotify", "sessions/{session}", func(req *http.Request, ref string) (sbi.Answer, error) {
		session, err := strconv.ParseUint(req.PathValue("session"), 10, 8)
		if err != nil || session < 1 || session > 15 {
			return sbi.Answer{}, &Refused{Cause: ContextNotFound, Detail: "a PDU session identity is a number from 1 to 15"}
		}
		status, err := consumer.ReadStatus(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		return nothing, h.SessionChanged(req.Context(), ref, uint8(session), status)
	})
	add("PolicyUpdateNotification", "policy/update", taken(npcf.ReadUpdate, h.PolicyChanged))
	add("PolicyAssociationTerminationRequestNotification", "policy/terminate", taken(npcf.ReadTermination, h.PolicyEnded))
	add("DeregistrationNotification", "deregistration", taken(nudm.ReadDeregistration, h.Deregister))
	add("SdmNotification", "subscription", taken(nudm.ReadChange, h.SubscriptionChanged))
	add("N2InfoNotify", "handover", taken(readHandover, h.HandedOver))
	s.handle(callbackService, "AmfStatusChangeNotify", "POST "+callbacks+"/amf-status", nil, func(req *http.Request) (sbi.Answer, error) {
		var c StatusChange
		if err := read(req, &c); err != nil {
			return sbi.Answer{}, err
		}
		return nothing, h.AMFChanged(req.Context(), c)
	})
}

// taken reads a notification, hands it on, and answers 204.
func taken[T any](read func(*http.Request) (T, error), do func(context.Context, string, T) error) func(*http.Request, string) (sbi.Answer, error) {
	return func(req *http.Request, ref string) (sbi.Answer, error) {
		v, err := read(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		return nothing, do(req.Context(), ref, v)
	}
}

func readHandover(req *http.Request) (h HandoverNotification, err error) {
	err = read(req, &h)
	return h, err
}
