package registrations

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// listener is somebody who wants to hear what UEs do.
type listener struct {
	server *httptest.Server
	mu     sync.Mutex
	heard  []string
}

func (s *story) listen() *listener {
	l := &listener{}
	l.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			NotifyCorrelationID string
			ReportList          []struct {
				Type       string
				CMInfoList []struct{ CMState string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, x := range body.ReportList {
			said := body.NotifyCorrelationID + " " + x.Type
			for _, c := range x.CMInfoList {
				said += " " + c.CMState
			}
			l.heard = append(l.heard, said)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	s.t.Cleanup(l.server.Close)
	return l
}

// heardLast waits until that was heard last, and so many reports in all.
func (s *story) heardLast(l *listener, count int, want string) {
	s.t.Helper()
	s.until("report "+want, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.heard) == count && l.heard[count-1] == want
	})
}

// ask a worker for something of its service based interface.
func (s *story) ask(w *amfWorker, method, path, body string, want int) (text, location string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.ctx, method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	octets, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		s.t.Fatalf("%s %s: %s %s %v, want %d", method, path, answer.Status, octets, err, want)
	}
	return string(octets), answer.Header.Get("Location")
}

// Whoever subscribes to what a UE does asks any worker, and hears of it when another has the UE.
func TestEventsOutliveAWorker(t *testing.T) {
	s := begin(t)
	other := s.startWorker()
	p := s.attach(1)
	l := s.listen()
	const path = "/namf-evts/v1/subscriptions"
	subscription := fmt.Sprintf(`{"subscription":{"eventList":[{"type":"CONNECTIVITY_STATE_REPORT","immediateFlag":true}],"eventNotifyUri":%q,"notifyCorrelationId":"c1","nfId":"nef","supi":%q,`+
		`"options":{"trigger":"CONTINUOUS"}}}`, l.server.URL, supi(1))
	for _, w := range s.living() { // one of them has the UE, and the other passes it on
		text, location := s.ask(w, http.MethodPost, path, subscription, http.StatusCreated)
		if !strings.Contains(text, `"cmState":"CONNECTED"`) {
			t.Errorf("reported at once: %s", text)
		}
		if w == other {
			break
		}
		s.ask(other, http.MethodDelete, location[strings.Index(location, path):], "", http.StatusNoContent)
	}
	p.idle()
	s.heardLast(l, 1, "c1 CONNECTIVITY_STATE_REPORT IDLE")
	s.holder(1).kill()
	s.until("another worker to have the UE", func() bool { return s.holder(1) != nil })
	s.packet()
	p.paged()
	s.heardLast(l, 2, "c1 CONNECTIVITY_STATE_REPORT CONNECTED")
	refused, _ := s.ask(s.living()[0], http.MethodPost, path, strings.Replace(subscription, `"supi":"`+supi(1)+`"`, `"anyUE":true`, 1), http.StatusForbidden)
	if !strings.Contains(refused, "write its supi") {
		t.Errorf("of any UE: %s", refused)
	}
}

// Where a UE is now its gNB says; one that is idle is not asked, and is paged for who wants it to come. Any worker may be asked.
func TestAUEThatIsWanted(t *testing.T) {
	s := begin(t)
	s.startWorker()
	p := s.attach(1)
	everywhere := func(method, path, body, want string) {
		t.Helper()
		for _, w := range s.living() {
			if text, _ := s.ask(w, method, path, body, http.StatusOK); !strings.Contains(text, want) {
				t.Errorf("%s %s: %s, want %s", method, path, text, want)
			}
		}
	}
	where := "/namf-loc/v1/" + supi(1) + "/provide-loc-info"
	everywhere(http.MethodPost, where, `{"req5gsLoc":true,"reqCurrentLoc":true}`, `"currentLoc":true,"location":{"nrLocation":`)
	everywhere(http.MethodPost, where, `{"req5gsLoc":true}`, `"currentLoc":false,"location":{"nrLocation":`)
	p.idle()
	everywhere(http.MethodPost, where, `{"req5gsLoc":true,"reqCurrentLoc":true}`, `"currentLoc":false,"location":{"nrLocation":`)
	everywhere(http.MethodPut, "/namf-mt/v1/ue-contexts/"+supi(1)+"/ue-reachind", `{"reachability":"REACHABLE"}`, `{"reachability":"REACHABLE"}`)
	p.paged()
}
