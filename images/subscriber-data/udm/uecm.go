package udm

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/subscription"
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

// amfRegistration is Amf3GppAccessRegistration (TS 29.503 6.2.6.2.2) as it came and was modified since, what of it is
// acted on, and the S-NSSAIs that were subscribed when it came. It is replaced, never changed: answers marshal body.
type amfRegistration struct {
	body     map[string]any
	instance sbi.Text
	guami    subscription.GUAMI
	callback sbi.CallbackURI
	snssais  []subscription.SNSSAI
	// withdrawn: its AMF was told that nobody is to serve the UE.
	withdrawn bool
}

// Accesses, as the paths of the resources call them.
const (
	access3GPP    = "amf-3gpp-access"
	accessNon3GPP = "amf-non-3gpp-access"
)

// pduSession is SmfRegistration (TS 29.503 6.2.6.2.4) as far as ue-context-in-smf-data repeats it.
type pduSession struct {
	SMFInstanceID string              `json:"smfInstanceId"`
	DNN           string              `json:"dnn"`
	PLMN          subscription.PLMN   `json:"plmnId"`
	SingleNssai   subscription.SNSSAI `json:"singleNssai"`
	PDUSessionID  int                 `json:"pduSessionId"`
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

// of returns the registration over one access.
func (g registrations) of(key amfKey) (amfRegistration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.amf[key]
	return r, ok
}

// supis are those with a registration.
func (g registrations) supis() map[string]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make(map[string]bool, len(g.amf))
	for key := range g.amf {
		out[key.supi] = true
	}
	return out
}

// withdraw notes whether anybody is to serve the UE, and gives the callback URIs, by access, of AMFs that have not been told
// that nobody is.
func (g registrations) withdraw(supi string, withdrawn bool) map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	tell := make(map[string]string)
	for _, access := range []string{access3GPP, accessNon3GPP} {
		r, ok := g.amf[amfKey{supi, access}]
		if !ok || r.withdrawn == withdrawn {
			continue
		}
		if r.withdrawn = withdrawn; withdrawn {
			tell[access] = string(r.callback)
		}
		g.amf[amfKey{supi, access}] = r
	}
	return tell
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

// readAMFRegistration checks the information elements that TS 29.503 6.2.6.2.2 makes mandatory.
func readAMFRegistration(c sbi.Content) (amfRegistration, error) {
	var r amfRegistration
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
	r.body = make(map[string]any, len(c))
	for name := range c {
		if r.body[name], _, err = sbi.Optional[any](c, name); err != nil {
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
			registration.snssais = append(registration.snssais, slice.SNSSAI)
		}
		key := amfKey{s.SUPI, access}
		u.registrations.mu.Lock()
		old, existed := u.registrations.amf[key]
		u.registrations.amf[key] = registration
		u.registrations.mu.Unlock()
		// An AMF that was replaced by another instance at its own address is told nothing: it would drop the UE that
		// has just registered.
		if existed && old.instance != registration.instance && old.callback != registration.callback {
			u.notifier.deregister(u.registrations, key, string(old.callback), reasonOf(access, initial))
		}
		u.changedSince(seen, s.SUPI)
		if existed {
			return sbi.Answer{Status: http.StatusOK, Body: registration.body}, nil
		}
		return sbi.Answer{Status: http.StatusCreated, Location: sbi.BaseURI(r) + r.URL.Path, Body: registration.body}, nil
	}
}

// modifiable are the members of Amf3GppAccessRegistrationModification (TS 29.503 6.2.6.2.7) that change the
// registration.
var modifiable = []string{"pei", "imsVoPs", "backupAmfInfo", "epsInterworkingInfo", "ueSrvccCapability", "ueMINTCapability"}

// patchAMF changes or purges the registration of the AMF that is registered, and of no other (TS 29.503 5.3.2.4.2,
// 5.3.2.6.2). The subscription need not be there any more: the UE may deregister because it has just been deleted.
func (u *UDM) patchAMF(access string) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		key := amfKey{r.PathValue("supi"), access}
		if _, ok := u.registrations.of(key); !ok {
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
		changes := make(map[string]any)
		for _, name := range modifiable {
			if _, there := content[name]; !there {
				continue
			}
			if changes[name], _, err = sbi.Optional[any](content, name); err != nil {
				return sbi.Answer{}, err
			}
		}
		u.registrations.mu.Lock()
		defer u.registrations.mu.Unlock()
		registration, ok := u.registrations.amf[key]
		if !ok {
			return sbi.Answer{}, notRegistered()
		}
		if registration.guami != guami {
			return sbi.Answer{}, sbi.NewProblem(http.StatusForbidden, "INVALID_GUAMI", "another AMF has registered for this UE").
				About("supi", key.supi, "amf", guami.AMFID, "registered", registration.guami.AMFID)
		}
		if purge {
			delete(u.registrations.amf, key)
			return sbi.Answer{Status: http.StatusNoContent}, nil
		}
		registration.body = merged(registration.body, changes)
		u.registrations.amf[key] = registration
		return sbi.Answer{Status: http.StatusNoContent}, nil
	}
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
		registration, ok := u.registrations.of(amfKey{s.SUPI, access})
		if !ok {
			return sbi.Answer{}, notRegistered()
		}
		return sbi.Answer{Status: http.StatusOK, Body: registration.body}, nil
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

// deleteSMF ends the registration of an SMF (TS 29.503 5.3.2.4.3). smf-instance-id, where an SMF sends it, keeps it
// from ending that of another.
func (u *UDM) deleteSMF(r *http.Request) (sbi.Answer, error) {
	id, err := pduSessionID(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	supi, instance := r.PathValue("supi"), r.URL.Query().Get("smf-instance-id")
	u.registrations.mu.Lock()
	session, ok := u.registrations.smf[supi][id]
	ok = ok && (instance == "" || instance == session.SMFInstanceID)
	if ok {
		delete(u.registrations.smf[supi], id)
		if len(u.registrations.smf[supi]) == 0 {
			delete(u.registrations.smf, supi)
		}
	}
	u.registrations.mu.Unlock()
	if ok {
		return sbi.Answer{Status: http.StatusNoContent}, nil
	}
	if _, err := u.subscriber(r); err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{}, sbi.NewProblem(http.StatusNotFound, "CONTEXT_NOT_FOUND", "no SMF has registered for this PDU session")
}
