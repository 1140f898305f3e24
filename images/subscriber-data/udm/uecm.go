package udm

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

const uecmService = "nudm-uecm"

// maxPDUSession is the largest PDU session identity (TS 24.007 11.2.3.1b).
const maxPDUSession = 15

func (u *UDM) registerUECM(r *sbi.Router) {
	const base = "/nudm-uecm/v1/{supi}/registrations"
	for _, access := range []string{access3GPP, accessNon3GPP} {
		operation := "3GppRegistration"
		if access == accessNon3GPP {
			operation = "Non3GppRegistration"
		}
		r.Handle(uecmService, operation, "PUT "+base+"/"+access, u.putAMF(access))
		r.Handle(uecmService, "Update"+operation, "PATCH "+base+"/"+access, u.patchAMF(access))
		r.Handle(uecmService, "Get"+operation, "GET "+base+"/"+access, u.getAMF(access))
	}
	r.Handle(uecmService, "Registration", "PUT "+base+"/smf-registrations/{pduSessionId}", u.putSMF)
	r.Handle(uecmService, "SmfDeregistration", "DELETE "+base+"/smf-registrations/{pduSessionId}", u.deleteSMF)
}

// readAMFRegistration checks the information elements that TS 29.503 6.2.6.2.2 makes mandatory.
func readAMFRegistration(c sbi.Content) (*amfRegistration, error) {
	r := new(amfRegistration)
	var err error
	if r.instance, err = sbi.Mandatory[sbi.Text](c, "amfInstanceId"); err != nil {
		return r, err
	}
	if r.callback, err = sbi.Mandatory[sbi.CallbackURI](c, "deregCallbackUri"); err != nil {
		return r, err
	}
	if r.guami, err = sbi.Mandatory[subscription.GUAMI](c, "guami"); err != nil {
		return r, err
	}
	if _, err = sbi.Mandatory[sbi.Text](c, "ratType"); err != nil {
		return r, err
	}
	r.since = timeOf(c)
	r.Body = make(map[string]any, len(c))
	for name := range c {
		if r.Body[name], _, err = sbi.Optional[any](c, name); err != nil {
			return r, err
		}
	}
	return r, nil
}

// putAMF registers an AMF (TS 29.503 5.3.2.2.2) and has the one before it notified.
func (u *UDM) putAMF(access string) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		seen := u.seen.Load()
		s, err := u.subscriber(r)
		if err != nil {
			return sbi.Answer{}, err
		}
		content, err := sbi.ReadContent(r)
		if err != nil {
			return sbi.Answer{}, err
		}
		registration, err := readAMFRegistration(content)
		if err != nil {
			return sbi.Answer{}, err
		}
		initial, _, err := sbi.Optional[bool](content, "initialRegistrationInd")
		if err != nil {
			return sbi.Answer{}, err
		}
		if s.Barred {
			return sbi.Answer{}, sbi.NewProblem(http.StatusForbidden, "ACCESS_NOT_ALLOWED", "the subscriber is barred").About("supi", s.SUPI)
		}
		for _, slice := range s.Slices {
			registration.SNSSAIs = append(registration.SNSSAIs, slice.SNSSAI)
		}
		existed, leaving, err := u.register(r.Context(), amfKey{s.SUPI, access}, registration, reasonOf(access, initial))
		if err != nil {
			return sbi.Answer{}, err
		}
		if leaving != nil {
			u.bidFarewell(s.SUPI, *leaving)
		}
		u.changedSince(seen, s.SUPI)
		if existed {
			return sbi.Answer{Status: http.StatusOK, Body: registration.Body}, nil
		}
		return sbi.Answer{Status: http.StatusCreated, Location: sbi.BaseURI(r) + r.URL.Path, Body: registration.Body}, nil
	}
}

// register enters an AMF, and says whether there was one before, and which is to be told that it serves the UE no longer.
func (u *UDM) register(ctx context.Context, key amfKey, registration *amfRegistration, reason string) (existed bool, leaving *farewell, err error) {
	err = u.registrations.change(ctx, key.supi, true, func(ue *servedUE) error {
		old := ue.AMF[key.access]
		existed, leaving = old != nil, nil
		ue.AMF[key.access] = registration
		// An AMF that was replaced by another instance at its own address is told nothing: it would drop the UE that
		// has just registered.
		if existed && old.instance != registration.instance && old.callback != registration.callback {
			leaving = &farewell{URI: string(old.callback), Access: key.access, Reason: reason, Since: time.Now().UTC()}
			ue.Farewells = append(ue.Farewells, *leaving)
			ue.Farewells = ue.Farewells[max(0, len(ue.Farewells)-mostFarewells):]
		}
		return nil
	})
	return existed, leaving, err
}

// modifiable are the members of Amf3GppAccessRegistrationModification (TS 29.503 6.2.6.2.7) that change the
// registration.
var modifiable = []string{"pei", "imsVoPs", "backupAmfInfo", "epsInterworkingInfo", "ueSrvccCapability", "ueMINTCapability"}

// patchAMF changes or purges the registration of the AMF that is registered, and of no other (TS 29.503 5.3.2.4.2,
// 5.3.2.6.2), nor a newer one than the AMF means. The subscription need not be there any more: the UE may deregister because it has just been deleted.
func (u *UDM) patchAMF(access string) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		ctx, key := r.Context(), amfKey{r.PathValue("supi"), access}
		before, err := u.registrations.of(ctx, key)
		if err != nil {
			return sbi.Answer{}, err
		}
		if before == nil {
			if _, err := u.subscriber(r); err != nil {
				return sbi.Answer{}, err
			}
		}
		content, err := sbi.ReadContent(r)
		if err != nil {
			return sbi.Answer{}, err
		}
		guami, err := sbi.Mandatory[subscription.GUAMI](content, "guami")
		if err != nil {
			return sbi.Answer{}, err
		}
		purge, _, err := sbi.Optional[bool](content, "purgeFlag")
		if err != nil {
			return sbi.Answer{}, err
		}
		ended, err := endedRegistration(content)
		if err != nil {
			return sbi.Answer{}, err
		}
		changes := make(map[string]any)
		for _, name := range modifiable {
			if _, there := content[name]; !there {
				continue
			}
			if changes[name], _, err = sbi.Optional[any](content, name); err != nil {
				return sbi.Answer{}, err
			}
		}
		err = u.registrations.change(ctx, key.supi, false, func(ue *servedUE) error {
			registration := ue.AMF[key.access]
			if registration == nil {
				return notRegistered()
			}
			if registration.guami != guami {
				return sbi.NewProblem(http.StatusForbidden, "INVALID_GUAMI", "another AMF has registered for this UE").
					About("supi", key.supi, "amf", guami.AMFID, "registered", registration.guami.AMFID)
			}
			if purge && !ended.IsZero() && registration.since.After(ended) {
				return sbi.NewProblem(http.StatusForbidden, "MODIFICATION_NOT_ALLOWED", "the UE has registered again since").
					About("supi", key.supi, "ended", ended.Format(time.RFC3339Nano), "registered", registration.since.Format(time.RFC3339Nano))
			}
			if purge {
				delete(ue.AMF, key.access)
				return nil
			}
			registration.Body = merged(registration.Body, changes)
			return nil
		})
		if err != nil {
			return sbi.Answer{}, err
		}
		return sbi.Answer{Status: http.StatusNoContent}, nil
	}
}

// endedRegistration is the time of the registration that a purge is of: an AMF that purges late must not end a newer one of its own. core5g's AMF names it
// (TS 29.500 6.6.3); zero: none is named, and whichever there is ends.
func endedRegistration(c sbi.Content) (time.Time, error) {
	vendor, _, err := sbi.Optional[struct {
		Time time.Time `json:"registrationTime"`
	}](c, "vendorSpecific-032473")
	return vendor.Time, err
}

// merged is a JSON merge patch (RFC 7396): null removes a member, objects are merged, all else replaces.
func merged(to, patch map[string]any) map[string]any {
	out := maps.Clone(to)
	if out == nil {
		out = make(map[string]any)
	}
	for name, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(out, name)
		case map[string]any:
			old, _ := out[name].(map[string]any)
			out[name] = merged(old, v)
		default:
			out[name] = v
		}
	}
	return out
}

func (u *UDM) getAMF(access string) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		s, err := u.subscriber(r)
		if err != nil {
			return sbi.Answer{}, err
		}
		registration, err := u.registrations.of(r.Context(), amfKey{s.SUPI, access})
		if err != nil {
			return sbi.Answer{}, err
		}
		if registration == nil {
			return sbi.Answer{}, notRegistered()
		}
		return sbi.Answer{Status: http.StatusOK, Body: registration.Body}, nil
	}
}

func notRegistered() *sbi.Problem {
	return sbi.NewProblem(http.StatusNotFound, "CONTEXT_NOT_FOUND", "no AMF has registered for this UE")
}

func pduSessionID(r *http.Request) (int, error) {
	id, err := strconv.Atoi(r.PathValue("pduSessionId"))
	if err != nil || id < 1 || id > maxPDUSession {
		return 0, sbi.BadRequest("MANDATORY_IE_INCORRECT", "the PDU session identity must be 1 to 15")
	}
	return id, nil
}

// readSMFRegistration checks the information elements that TS 29.503 6.2.6.2.4 makes mandatory.
func readSMFRegistration(c sbi.Content, id int) (pduSession, error) {
	var s pduSession
	instance, err := sbi.Mandatory[sbi.Text](c, "smfInstanceId")
	if err != nil {
		return s, err
	}
	if s.PDUSessionID, err = sbi.Mandatory[int](c, "pduSessionId"); err != nil {
		return s, err
	}
	if s.PDUSessionID != id {
		return s, sbi.BadRequest("MANDATORY_IE_INCORRECT", fmt.Sprintf("pduSessionId is %d, and %d in the path", s.PDUSessionID, id))
	}
	if s.SingleNssai, err = sbi.Mandatory[subscription.SNSSAI](c, "singleNssai"); err != nil {
		return s, err
	}
	if s.PLMN, err = sbi.Mandatory[subscription.PLMN](c, "plmnId"); err != nil {
		return s, err
	}
	if s.DNN, _, err = sbi.Optional[string](c, "dnn"); err != nil {
		return s, err
	}
	s.SMFInstanceID = string(instance)
	return s, nil
}

func (u *UDM) putSMF(r *http.Request) (sbi.Answer, error) {
	id, err := pduSessionID(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	s, err := u.subscriber(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	content, err := sbi.ReadContent(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	session, err := readSMFRegistration(content, id)
	if err != nil {
		return sbi.Answer{}, err
	}
	existed, err := u.registrations.enter(r.Context(), s.SUPI, id, session)
	if err != nil {
		return sbi.Answer{}, err
	}
	if existed {
		return sbi.Answer{Status: http.StatusOK, Body: session}, nil
	}
	return sbi.Answer{Status: http.StatusCreated, Location: sbi.BaseURI(r) + r.URL.Path, Body: session}, nil
}

// deleteSMF ends the registration of an SMF (TS 29.503 5.3.2.4.3). smf-instance-id, where an SMF sends it, keeps it
// from ending that of another.
func (u *UDM) deleteSMF(r *http.Request) (sbi.Answer, error) {
	id, err := pduSessionID(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	supi, instance := r.PathValue("supi"), r.URL.Query().Get("smf-instance-id")
	ok, err := u.registrations.leave(r.Context(), supi, id, instance)
	if err != nil {
		return sbi.Answer{}, err
	}
	if ok {
		return sbi.Answer{Status: http.StatusNoContent}, nil
	}
	if _, err := u.subscriber(r); err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{}, sbi.NewProblem(http.StatusNotFound, "CONTEXT_NOT_FOUND", "no SMF has registered for this PDU session")
}
