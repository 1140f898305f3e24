package worker

import (
	"context"
	"net/http"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
)

// A UDM that has nothing of a UE, and would tell of changes of that, is not left to it.
func TestASubscriptionThatIsOfNoUseEnds(t *testing.T) {
	ended := make(chan string, 9)
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
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	p := podAt(t, func() []string { return nil })
	p.UDM = nudm.NewClient(sbitest.Client(t, "UDM", at))
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
	got := p.shard(1).subscription(t.Context(), procedure.AskSubscription{Number: 1, SUPI: "imsi-208930000000001", PLMN: "20893"}).(procedure.Subscription)
	if got.Outcome != procedure.Refused || got.Notified != "" {
		t.Errorf("the answer is %+v", got)
	}
	select {
	case path := <-ended:
		if want := "/nudm-sdm/v2/imsi-208930000000001/sdm-subscriptions/1"; path != want {
			t.Errorf("%s has ended, want %s", path, want)
		}
	case <-time.After(patience):
		t.Error("it goes on")
	}
}
