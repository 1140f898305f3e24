package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"core5g.dev/core5g/images/nf/sbitls"

	"github.com/free5gc/openapi/models"
)

// The SMF reads the status code of every answer to a release, and only of a success there is one.
func TestReleaseOutlivesAnAMFThatRefusesOrIsAway(t *testing.T) {
	app := newApp(t)
	amf := func(status int, body string) string {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, body)
		}))
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
		t.Cleanup(s.Close)
		return s.URL
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	callWith(t, sbitls.Unprotected())
	transfer := func(prefix string, skip bool) (models.N1N2MessageTransferCause, int) {
		data, status, _ := app.Consumer().N1N2MessageTransfer(t.Context(), "imsi-208930000000001", models.N1N2MessageTransferRequest{
			JsonData: &models.N1N2MessageTransferReqData{
				PduSessionId: 1, SkipInd: skip,
				N1MessageContainer: &models.N1MessageContainer{N1MessageClass: "SM", N1MessageContent: &models.RefToBinaryData{ContentId: "GSM_NAS"}},
			},
			BinaryDataN1Message: []byte{0x2e, 1, 0, 0xd3, 26},
		}, prefix)
		if status == nil {
			return "", 0
		}
		return data.Cause, *status
	}
	refuses := amf(http.StatusNotFound, `{"status": 404, "cause": "CONTEXT_NOT_FOUND"}`)
	for what, prefix := range map[string]string{"away": gone.URL, "refusing": refuses} {
		if _, status := transfer(prefix, true); status != 0 {
			t.Errorf("free5GC's client by itself has status %d of an AMF that is %s: release.go is not needed any more", status, what)
		}
	}
	callWith(t, repaired(sbitls.Unprotected(), nil, nil))
	for what, prefix := range map[string]string{"away": gone.URL, "refusing": refuses} {
		if cause, status := transfer(prefix, true); status != http.StatusOK || cause != models.N1N2MessageTransferCause_N1_MSG_NOT_TRANSFERRED {
			t.Errorf("a release to an AMF that is %s: status %d, cause %q", what, status, cause)
		}
		if cause, status := transfer(prefix, false); status != 0 {
			t.Errorf("another transfer to an AMF that is %s: status %d, cause %q", what, status, cause)
		}
	}
	if cause, status := transfer(amf(http.StatusOK, `{"cause": "N1_N2_TRANSFER_INITIATED"}`), true); status != http.StatusOK || cause != models.N1N2MessageTransferCause_N1_N2_TRANSFER_INITIATED {
		t.Errorf("a release that the AMF transfers: status %d, cause %q", status, cause)
	}
}
