package fakeamf

// Session management by an SMF of its own. The AMF then says what TS 29.502 has an AMF say, from what gNBs and UEs tell
// it, and serves N1N2MessageTransfer (TS 29.518 5.2.2.3.1) and SM context status notifications. It decides nothing of a
// session: what the SMF answers goes to the UE and its gNB as it is.
//
// What is asked for a UE is asked one after the other, outside of the lock; the answer is taken with the lock held.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

// SMF says where session management is.
type SMF struct {
	// Roots gives the API roots of the pods that serve the SMF's instance. They are asked in turn until one answers.
	Roots func() []string
	// Insist is how long a request is repeated that no pod answers. Zero means 10 s.
	Insist time.Duration
	// T3513 is how long a UE that is paged may take. Zero means 2 s.
	T3513 time.Duration
}

const (
	smContexts   = "/nsmf-pdusession/v1/sm-contexts"
	transferPath = "/namf-comm/v1/ue-contexts/{supi}/n1-n2-messages"
	instanceID   = "0b1c2d3e-0000-4000-8000-000000000001"
	askAgain     = 20 * time.Millisecond
)

// UseSMF has an SMF do what this AMF does by itself otherwise. It is called before the first UE comes, and ends with the test.
func (a *AMF) UseSMF(s SMF) (root string) {
	if s.Insist == 0 {
		s.Insist = 10 * time.Second
	}
	if s.T3513 == 0 {
		s.T3513 = 2 * time.Second
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+transferPath, a.serveTransfer)
	mux.HandleFunc("POST /status/{supi}/{context}", a.serveStatus)
	server := httptest.NewServer(mux)
	transport := &http.Transport{}
	a.T.Cleanup(func() {
		a.mu.Lock()
		a.ended = true
		a.mu.Unlock()
		server.Close()
		transport.CloseIdleConnections()
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.smf, a.root = &s, server.URL
	a.client = &http.Client{Transport: transport, Timeout: 5 * time.Second}
	return server.URL
}

// smAnswer is what an SMF answers to a request about an SM context.
type smAnswer struct {
	status   int
	location string
	body     smBody
	n1, n2   []byte
}

type smBody struct {
	UpCnxState string         `json:"upCnxState"`
	HoState    string         `json:"hoState"`
	N1         *sbi.Reference `json:"n1SmMsg"`
	N2         *sbi.Reference `json:"n2SmInfo"`
	N2Type     string         `json:"n2SmInfoType"`
	Cause      string         `json:"cause"`
	Error      struct{ Cause, Detail string }
}

func (r smAnswer) ok() bool { return r.status >= 200 && r.status < 300 }

func (r smAnswer) String() string {
	text := fmt.Sprint(r.status)
	if r.body.Error.Cause != "" {
		text += " " + r.body.Error.Cause
	}
	return text
}

// update is what is said of an SM context.
type update struct {
	data   map[string]any
	n1, n2 []byte
	kind   string // of n2
}

// ask the SMF about a session of a UE, after what was asked before. then is called with the lock held, and messages go
// to the UE's gNB.
func (a *AMF) ask(u *ue, path func() string, m update, then func(smAnswer)) {
	u.asks = append(u.asks, func() {
		a.mu.Lock()
		to := path()
		a.mu.Unlock()
		answer := smAnswer{status: http.StatusNotFound}
		if to != "" {
			answer = a.call(to, m)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.ended {
			return
		}
		a.conn = u.conn
		then(answer)
	})
	if len(u.asks) == 1 {
		go a.work(u)
	}
}

// Asking is how much is asked of the SMF, and not answered.
func (a *AMF) Asking() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range a.ues {
		n += len(u.asks)
	}
	return n
}

func (a *AMF) work(u *ue) {
	for {
		a.mu.Lock()
		next := u.asks[0]
		a.mu.Unlock()
		next()
		a.mu.Lock()
		u.asks = u.asks[1:]
		left := len(u.asks)
		a.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// call the SMF, at one pod after the other, until there is an answer.
func (a *AMF) call(path string, m update) smAnswer {
	deadline := time.Now().Add(a.smf.Insist)
	for {
		for _, root := range a.smf.Roots() {
			answer, err := a.post(root+path, m)
			if err == nil && answer.status != http.StatusServiceUnavailable && answer.status != http.StatusGatewayTimeout {
				return answer
			}
		}
		a.mu.Lock()
		ended := a.ended
		a.mu.Unlock()
		if ended || time.Now().After(deadline) {
			return smAnswer{status: http.StatusGatewayTimeout}
		}
		time.Sleep(askAgain) // as an AMF does
	}
}

func (a *AMF) post(uri string, m update) (smAnswer, error) {
	data := map[string]any{}
	for k, v := range m.data {
		data[k] = v
	}
	var parts []sbi.Part
	if m.n1 != nil {
		data["n1SmMsg"] = sbi.Refer("n1")
		parts = append(parts, sbi.Part{ContentID: "n1", ContentType: sbi.NAS, Content: m.n1})
	}
	if m.n2 != nil {
		data["n2SmInfo"], data["n2SmInfoType"] = sbi.Refer("n2"), m.kind
		parts = append(parts, sbi.Part{ContentID: "n2", ContentType: sbi.NGAP, Content: m.n2})
	}
	kind := "application/json"
	text, err := json.Marshal(data)
	if err == nil && len(parts) > 0 {
		var raw sbi.Raw
		raw, err = sbi.Multipart(text, parts...)
		kind, text = raw.ContentType, raw.Content
	}
	if err != nil {
		a.T.Errorf("fake AMF: %v", err)
		return smAnswer{}, err
	}
	answer, err := a.client.Post(uri, kind, bytes.NewReader(text))
	if err != nil {
		return smAnswer{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	return readAnswer(answer)
}

func readAnswer(answer *http.Response) (smAnswer, error) {
	b, err := io.ReadAll(answer.Body)
	out := smAnswer{status: answer.StatusCode, location: answer.Header.Get("Location")}
	if err != nil || len(b) == 0 {
		return out, err
	}
	m, err := sbi.Decode(answer.Header.Get("Content-Type"), b)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(m.JSON, &out.body); err != nil {
		return out, err
	}
	part := func(r *sbi.Reference) []byte {
		if r == nil {
			return nil
		}
		return m.Binary(string(r.ContentID))
	}
	out.n1, out.n2 = part(out.body.N1), part(out.body.N2)
	return out, nil
}

// tell the SMF about a session. A session that it does not know is gone.
func (a *AMF) tell(u *ue, s *Session, m update, then func(smAnswer)) {
	a.ask(u, func() string {
		if s.context == "" {
			return ""
		}
		return s.context + "/modify"
	}, m, func(r smAnswer) {
		if r.status == http.StatusNotFound && u.sessions[s.PSI] == s && s.context != "" {
			a.note("session %d: the SMF does not know it", s.PSI)
			delete(u.sessions, s.PSI)
		}
		if then != nil {
			then(r)
		}
	})
}

// answered hands on what the SMF has for the UE and its gNB.
func (a *AMF) answered(u *ue, s *Session) func(smAnswer) {
	return func(r smAnswer) {
		if !r.ok() {
			a.note("session %d: the SMF refused: %v", s.PSI, r)
		}
		switch m := (message{n1: r.n1, n2: r.n2, kind: r.body.N2Type}); {
		case m.n1 == nil && m.n2 == nil:
		case u.amfID == 0:
			a.reach(u, s, m, "")
		default:
			a.deliver(u, s, m)
		}
	}
}

// path of a resource below the API root.
func resourcePath(location string) string {
	if n := strings.Index(location, smContexts); n >= 0 {
		return location[n:]
	}
	return ""
}
