package fakeamf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

// waiting is what an SMF has for a session of a UE that is being paged.
type waiting struct {
	message
	failureURI string
	uri        string
}

// transferRequest is N1N2MessageTransferReqData (TS 29.518 6.1.6.2.18), as far as sessions have it.
type transferRequest struct {
	N1 *struct {
		Class   string         `json:"n1MessageClass"`
		Content *sbi.Reference `json:"n1MessageContent"`
	} `json:"n1MessageContainer"`
	N2 *struct {
		Class string `json:"n2InformationClass"`
		SM    struct {
			SessionID uint8 `json:"pduSessionId"`
			Content   struct {
				Kind string         `json:"ngapIeType"`
				Data *sbi.Reference `json:"ngapData"`
			} `json:"n2InfoContent"`
		} `json:"smInfo"`
	} `json:"n2InfoContainer"`
	SessionID  uint8  `json:"pduSessionId"`
	Skip       bool   `json:"skipInd"`
	FailureURI string `json:"n1n2FailureTxfNotifURI"`
}

func (t *transferRequest) message(m sbi.Message) (out message, psi uint8, err error) {
	part := func(r *sbi.Reference) []byte {
		if r == nil {
			return nil
		}
		return m.Binary(string(r.ContentID))
	}
	psi = t.SessionID
	if t.N1 != nil {
		if out.n1 = part(t.N1.Content); out.n1 == nil || t.N1.Class != "SM" {
			return out, psi, fmt.Errorf("N1 of class %q without a part", t.N1.Class)
		}
	}
	if t.N2 != nil {
		out.kind, psi = t.N2.SM.Content.Kind, t.N2.SM.SessionID
		if out.n2 = part(t.N2.SM.Content.Data); out.n2 == nil || t.N2.Class != "SM" {
			return out, psi, fmt.Errorf("N2 of class %q without a part", t.N2.Class)
		}
	}
	if out.n1 == nil && out.n2 == nil {
		return out, psi, fmt.Errorf("neither N1 nor N2")
	}
	return out, psi, nil
}

// serveTransfer is N1N2MessageTransfer.
func (a *AMF) serveTransfer(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, body any) {
		text, _ := json.Marshal(body) // of strings
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}
	refuse := func(status int, cause string) {
		answer(status, map[string]any{"error": map[string]any{"status": status, "cause": cause}})
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(http.StatusBadRequest, "UNSPECIFIED_MSG_FAILURE")
		return
	}
	var req transferRequest
	m, err := sbi.Decode(r.Header.Get("Content-Type"), b)
	if err == nil {
		err = json.Unmarshal(m.JSON, &req)
	}
	var told message
	var psi uint8
	if err == nil {
		told, psi, err = req.message(m)
	}
	if err != nil {
		a.T.Errorf("fake AMF: a transfer that cannot be read: %v", err)
		refuse(http.StatusBadRequest, "INVALID_MSG_FORMAT")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.bySUPI(strings.TrimPrefix(r.PathValue("supi"), "imsi-"))
	if u == nil || u.sessions[psi] == nil || a.ended {
		refuse(http.StatusNotFound, "CONTEXT_NOT_FOUND")
		return
	}
	s := u.sessions[psi]
	a.note("session %d: transfer%s", psi, told.names())
	switch {
	case a.handingOver(u) && told.kind != "":
		refuse(http.StatusConflict, "TEMPORARY_REJECT_HANDOVER_ONGOING")
	case u.amfID != 0 && !u.icsDone:
		refuse(http.StatusConflict, "TEMPORARY_REJECT_REGISTRATION_ONGOING")
	case u.amfID != 0:
		a.deliver(u, s, told)
		answer(http.StatusOK, map[string]string{"cause": "N1_N2_TRANSFER_INITIATED"})
	case req.Skip:
		answer(http.StatusOK, map[string]string{"cause": "N1_MSG_NOT_TRANSFERRED"})
	default:
		a.reach(u, s, told, req.FailureURI)
		w.Header().Set("Location", u.waits[psi].uri)
		answer(http.StatusAccepted, map[string]string{"cause": "ATTEMPTING_TO_REACH_UE"})
	}
}

func (m message) names() string {
	text := ""
	if m.n1 != nil {
		text += fmt.Sprintf(" N1 %#x", m.n1[3])
	}
	if m.kind != "" {
		text += " " + m.kind
	}
	return text
}

// reach an idle UE: it is paged, and what is for it waits (TS 23.502 4.2.3.3 steps 3b to 5). A paging that goes on goes on.
func (a *AMF) reach(u *ue, s *Session, m message, failureURI string) {
	if u.waits == nil {
		u.waits = map[uint8]*waiting{}
	}
	before := len(u.waits)
	a.messages++
	u.waits[s.PSI] = &waiting{message: m, failureURI: failureURI, uri: fmt.Sprintf("%s/namf-comm/v1/ue-contexts/imsi-%s/n1-n2-messages/%d", a.root, u.supi, a.messages)}
	if before > 0 {
		return
	}
	a.page(u)
	u.paging++
	turn := u.paging
	time.AfterFunc(a.smf.T3513, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if u.paging == turn && len(u.waits) > 0 && !a.ended {
			a.notReached(u)
		}
	})
}

// notReached: T3513 has expired for the last time (TS 29.518 5.2.2.3.2).
func (a *AMF) notReached(u *ue) {
	a.note("UE not reached")
	for psi, w := range u.waits {
		delete(u.waits, psi)
		if w.failureURI == "" {
			continue
		}
		path := w.failureURI
		if n := strings.Index(path, "://"); n >= 0 {
			path = path[n+3:]
			path = path[strings.Index(path, "/"):]
		}
		data := map[string]any{"cause": "UE_NOT_RESPONDING", "n1n2MsgDataUri": w.uri}
		a.ask(u, func() string { return path }, update{data: data}, func(r smAnswer) { a.note("session %d: failure notified: %v", psi, r) })
	}
}

// reached: the UE has come. What waits for it, but set-ups of sessions that the UE wants anyway, is given to it.
func (a *AMF) reached(u *ue) map[uint8]*waiting {
	waits := u.waits
	u.waits = nil
	u.paging++
	return waits
}

// serveStatus is SmContextStatusNotify (TS 29.502 5.2.2.5).
func (a *AMF) serveStatus(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Info struct {
			Status string `json:"resourceStatus"`
			Cause  string `json:"cause"`
		} `json:"statusInfo"`
	}
	b, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(b)).Decode(&body)
	}
	if err != nil || body.Info.Status == "" {
		a.T.Errorf("fake AMF: a status notification that cannot be read: %s", b)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.bySUPI(r.PathValue("supi"))
	number := 0
	_, _ = fmt.Sscan(r.PathValue("context"), &number)
	if u == nil || u.contexts[number] == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s := u.contexts[number]
	if body.Info.Status == "RELEASED" {
		delete(u.contexts, number)
		if u.sessions[s.PSI] == s {
			delete(u.sessions, s.PSI)
		}
		delete(u.waits, s.PSI)
	}
	a.note("session %d: %s %s", s.PSI, body.Info.Status, body.Info.Cause)
	w.WriteHeader(http.StatusNoContent)
}
