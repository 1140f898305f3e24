package shard

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/procedure"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// one function that there is.
type one struct{ root string }

func (o one) Find(context.Context, sbi.Service) ([]sbi.Endpoint, error) {
	return []sbi.Endpoint{{Root: o.root}}, nil
}
func (one) Failed(sbi.Service, sbi.Endpoint) {}

// What is made of an AMF's refusal: one that says nothing of the UE ends no session, and is no reason to leave a UE alone for whom packets wait.
func TestOutcomesOfATransfer(t *testing.T) {
	for sentence, c := range map[string]struct {
		status int
		answer string
		want   procedure.Transferred
	}{
		"the AMF has not done it in time, and may have done it since": {
			http.StatusGatewayTimeout, `{"error":{"status":504,"cause":"TIMED_OUT_REQUEST"}}`, procedure.Transferred{Outcome: procedure.Unknown, Cause: "TIMED_OUT_REQUEST"},
		},
		"the AMF has too much to do": {
			http.StatusServiceUnavailable, `{"error":{"status":503,"cause":"NF_CONGESTION"}}`, procedure.Transferred{Outcome: procedure.Refused, Cause: "NF_CONGESTION", Later: true},
		},
		"the UE registers": {
			http.StatusConflict, `{"error":{"status":409,"cause":"TEMPORARY_REJECT_REGISTRATION_ONGOING"}}`,
			procedure.Transferred{Outcome: procedure.Refused, Cause: "TEMPORARY_REJECT_REGISTRATION_ONGOING", Later: true},
		},
		"the UE is not reached": {
			http.StatusGatewayTimeout, `{"error":{"status":504,"cause":"UE_NOT_REACHABLE"}}`, procedure.Transferred{Outcome: procedure.Refused, Cause: "UE_NOT_REACHABLE"},
		},
		"the AMF pages": {http.StatusAccepted, `{"cause":"ATTEMPTING_TO_REACH_UE"}`, procedure.Transferred{Outcome: procedure.Done, Paging: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			}))
			defer server.Close()
			s := &Shard{pod: &Pod{Options: Options{AMF: namf.NewClient(sbi.NewClient(&http.Transport{}, one{server.URL}, prometheus.NewRegistry()))}}, log: slog.New(slog.DiscardHandler)}
			s.closed.Store(true) // it asks once: a shard that is given up does not wait
			got := s.transfer(t.Context(), procedure.AskTransfer{SUPI: "imsi-208930000000001", ID: 1, N2: []byte{1}, N2Type: "PDU_RES_SETUP_REQ", SST: 1})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
