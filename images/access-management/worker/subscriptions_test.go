package worker

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
)

// A UDM that has nothing of a UE, and would tell of changes of that, is not left to it.
func TestASubscriptionThatIsOfNoUseEnds(t *testing.T) {
	ended := make(chan string, 9)
	var nothing atomic.Bool // is there of the UE
	at := sbitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"/1")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte("{}"))
		case http.MethodDelete:
			ended <- r.URL.Path
			w.WriteHeader(http.StatusNoContent)
		case http.MethodPut:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"status":403,"cause":"ROAMING_NOT_ALLOWED"}`))
		default:
			if !nothing.Load() {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"amData":{"nssai":{"defaultSingleNssais":[{"sst":1}]}},"smfSelData":{"subscribedSnssaiInfos":{}}}`))
				return
			}
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	p := podAt(t, func() []string { return nil })
	p.UDM = nudm.NewClient(sbitest.Client(t, "UDM", at))
	p.settings.Store(&procedure.Settings{PLMNs: []procedure.PLMN{{PLMN: "20893"}}})
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan struct{})
	go func() {
		p.keeper.Run(ctx, p.Store)
		close(kept)
	}()
	defer func() {
		cancel()
		<-kept
	}()
	for end := time.Now().Add(patience); p.shard(1) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the shard is not there")
		}
	}
	asked := procedure.AskSubscription{Number: 1, SUPI: "imsi-208930000000001", PLMN: "20893"}
	for who, ask := range map[string]func(){
		"asked for by itself": func() {
			if got := p.shard(1).subscription(t.Context(), asked); got.Outcome != procedure.Refused || got.Notified != "" {
				t.Errorf("the answer is %+v", got)
			}
		},
		"beside a registration that is refused": func() {
			nothing.Store(false)
			got := p.shard(1).recording(t.Context(), procedure.AskRecording{Number: 1, SUPI: asked.SUPI, Subscription: &asked}).(procedure.Recorded)
			if got.Outcome != procedure.Refused || got.Cause != "ROAMING_NOT_ALLOWED" || got.Subscription != nil {
				t.Errorf("the answer is %+v", got)
			}
		},
	} {
		t.Run(who, func(t *testing.T) {
			nothing.Store(true)
			ask()
			select {
			case path := <-ended:
				if want := "/nudm-sdm/v2/imsi-208930000000001/sdm-subscriptions/1"; path != want {
					t.Errorf("%s has ended, want %s", path, want)
				}
			case <-time.After(patience):
				t.Error("it goes on")
			}
			if len(ended) > 0 {
				t.Errorf("%s has ended, too", <-ended)
			}
		})
	}
}
