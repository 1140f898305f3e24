package udm

import (
	"net/http"
	"strconv"
	"sync"

	"core5g.dev/core5g/operators/subscriberdata/sbi"
	"core5g.dev/core5g/operators/subscriberdata/subscription"
)

const uecmService = "nudm-uecm"

// maxPDUSession is the largest PDU session identity (TS 24.007 11.2.3.1b).
const maxPDUSession = 15

// registrations says which AMF and SMFs serve a UE. It lives in memory: after a restart a UE counts as
// not registered until its AMF registers again, which changes nothing for its sessions. Only subscribers
// that exist are entered, and each has at most a handful of entries.
type registrations struct {
	mu  *sync.Mutex
	amf map[amfKey]amfRegistration
	smf map[string]map[int]pduSession
}

type amfKey struct{ supi, access string }

// amfRegistration is Amf3GppAccessRegistration (TS 29.503 6.2.6.2.2) as it came, and the S-NSSAIs that were
// subscribed then.
type amfRegistration struct {
	body    map[string]any
	snssais []subscription.SNSSAI
}

// Accesses, as the paths of the resources call them.
const (
	access3GPP    = "amf-3gpp-access"
	accessNon3GPP = "amf-non-3gpp-access"
)

// pduSession is SmfRegistration (TS 29.503 6.2.6.2.4) as far as ue-context-in-smf-data repeats it.
type pduSession struct {
	SMFInstanceID string               `json:"smfInstanceId"`
	DNN           string               `json:"dnn"`
	PLMN          *subscription.PLMN   `json:"plmnId,omitempty"`
	SingleNssai   *subscription.SNSSAI `json:"singleNssai,omitempty"`
	PDUSessionID  int                  `json:"pduSessionId,omitempty"`
}

func newRegistrations() registrations {
	return registrations{
		mu:  new(sync.Mutex),
		amf: make(map[amfKey]amfRegistration),
		smf: make(map[string]map[int]pduSession),
	}
}

func (g registrations) sessions(supi string) map[string]pduSession {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make(map[string]pduSession)
	for id, s := range g.smf[supi] {
		out[strconv.Itoa(id)] = s
	}
	return out
}

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

func (u *UDM) putAMF(access string) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		s, err := u.subscriber(r)
		if err != nil {
			return sbi.Answer{}, err
		}
		var registration map[string]any
		if err := sbi.ReadJSON(r, &registration); err != nil {
			return sbi.Answer{}, err
		}
		if id, _ := registration["amfInstanceId"].(string); id == "" {
			return sbi.Answer{}, sbi.BadRequest("MANDATORY_IE_MISSING", "amfInstanceId is mandatory")
		}
		entry := amfRegistration{body: registration}
		for _, slice := range s.Slices {
			entry.snssais = append(entry.snssais, slice.SNSSAI)
		}
		key := amfKey{s.SUPI, access}
		u.registrations.mu.Lock()
		_, existed := u.registrations.amf[key]
		u.registrations.amf[key] = entry
		u.registrations.mu.Unlock()
		if existed {
			return sbi.Answer{Status: http.StatusOK, Body: registration}, nil
		}
		return sbi.Answer{Status: http.StatusCreated, Location: sbi.BaseURI(r) + r.URL.Path, Body: registration}, nil
	}
}

func (u *UDM) patchAMF(access string) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		var modification struct {
			PurgeFlag bool `json:"purgeFlag"`
		}
		if err := sbi.ReadJSON(r, &modification); err != nil {
			return sbi.Answer{}, err
		}
		supi := r.PathValue("supi")
		if modification.PurgeFlag {
			// The UE deregisters, perhaps because its subscription has just been deleted.
			u.registrations.mu.Lock()
			delete(u.registrations.amf, amfKey{supi, access})
			u.registrations.mu.Unlock()
			return sbi.Answer{Status: http.StatusNoContent}, nil
		}
		if _, err := u.subscriber(r); err != nil {
			return sbi.Answer{}, err
		}
		return sbi.Answer{Status: http.StatusNoContent}, nil
	}
}

func (u *UDM) getAMF(access string) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		s, err := u.subscriber(r)
		if err != nil {
			return sbi.Answer{}, err
		}
		u.registrations.mu.Lock()
		registration, ok := u.registrations.amf[amfKey{s.SUPI, access}]
		u.registrations.mu.Unlock()
		if !ok {
			return sbi.Answer{}, sbi.NewProblem(http.StatusNotFound, "CONTEXT_NOT_FOUND", "no AMF has registered for this UE")
		}
		return sbi.Answer{Status: http.StatusOK, Body: registration.body}, nil
	}
}

func pduSessionID(r *http.Request) (int, error) {
	id, err := strconv.Atoi(r.PathValue("pduSessionId"))
	if err != nil || id < 1 || id > maxPDUSession {
		return 0, sbi.BadRequest("MANDATORY_IE_INCORRECT", "the PDU session identity must be 1 to 15")
	}
	return id, nil
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
	var session pduSession
	if err := sbi.ReadJSON(r, &session); err != nil {
		return sbi.Answer{}, err
	}
	if session.SMFInstanceID == "" {
		return sbi.Answer{}, sbi.BadRequest("MANDATORY_IE_MISSING", "smfInstanceId is mandatory")
	}
	session.PDUSessionID = id
	u.registrations.mu.Lock()
	sessions := u.registrations.smf[s.SUPI]
	if sessions == nil {
		sessions = make(map[int]pduSession)
		u.registrations.smf[s.SUPI] = sessions
	}
	_, existed := sessions[id]
	sessions[id] = session
	u.registrations.mu.Unlock()
	if existed {
		return sbi.Answer{Status: http.StatusOK, Body: session}, nil
	}
	return sbi.Answer{Status: http.StatusCreated, Location: sbi.BaseURI(r) + r.URL.Path, Body: session}, nil
}

// deleteSMF succeeds for a session that is not known: it may have been registered before a restart.
func (u *UDM) deleteSMF(r *http.Request) (sbi.Answer, error) {
	id, err := pduSessionID(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	supi := r.PathValue("supi")
	u.registrations.mu.Lock()
	delete(u.registrations.smf[supi], id)
	if len(u.registrations.smf[supi]) == 0 {
		delete(u.registrations.smf, supi)
	}
	u.registrations.mu.Unlock()
	return sbi.Answer{Status: http.StatusNoContent}, nil
}
