package nsmf

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/free5gc/openapi"
	"github.com/free5gc/openapi/models"
)

// What free5GC's AMF makes of the answers, with the library that it reads them with.
func TestFree5GCsAMFReadsTheAnswers(t *testing.T) {
	n1, n2 := []byte{0x2e, 1, 2, 0xcb}, []byte{1, 2, 3}
	answer := func(h *scripted, path, name string) *httptest.ResponseRecorder {
		r, _ := router(h, Options{})
		kind, content := sample(t, name)
		req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(content))
		req.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		return w
	}
	read := func(w *httptest.ResponseRecorder, into any) {
		t.Helper()
		if err := openapi.Deserialize(into, w.Body.Bytes(), w.Header().Get("Content-Type")); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
	}

	var created models.PostSmContextsResponse201
	read(answer(&scripted{created: &Created{Ref: "7", SessionID: 1}}, contexts, "amf-1.4.5-create"), &created)

	var updated models.UpdateSmContextResponse200
	read(answer(&scripted{updated: &Updated{UpCnxState: Activating, N1: n1, N2: n2, N2Type: SetupRequest}}, contexts+"/7/modify", "amf-1.4.5-update-n1"), &updated)
	if updated.JsonData.UpCnxState != models.UpCnxState_ACTIVATING || updated.JsonData.N2SmInfoType != models.N2SmInfoType_PDU_RES_SETUP_REQ ||
		!bytes.Equal(updated.BinaryDataN1SmMessage, n1) || !bytes.Equal(updated.BinaryDataN2SmInformation, n2) {
		t.Errorf("updated %+v", updated)
	}

	// It takes jsonData of these without looking whether it is there.
	var refusedUpdate models.UpdateSmContextResponse400
	read(answer(&scripted{err: &Refused{Cause: N1SMError, N1: n1}}, contexts+"/7/modify", "amf-1.4.5-update-n1"), &refusedUpdate)
	if refusedUpdate.JsonData == nil || refusedUpdate.JsonData.Error.Cause != "N1_SM_ERROR" || !bytes.Equal(refusedUpdate.BinaryDataN1SmMessage, n1) {
		t.Errorf("refused update %+v", refusedUpdate)
	}
	var badUpdate models.UpdateSmContextResponse400
	read(answer(&scripted{err: &Refused{Cause: ContextNotFound}}, contexts+"/7/modify", "amf-1.4.5-update-n1"), &badUpdate)
	if badUpdate.JsonData == nil || badUpdate.JsonData.Error.Status != 404 {
		t.Errorf("unknown context %+v", badUpdate)
	}
	var refusedCreate models.PostSmContextsError
	read(answer(&scripted{err: &Refused{Cause: DNNDenied, N1: n1}}, contexts, "amf-1.4.5-create"), &refusedCreate)
	if refusedCreate.JsonData == nil || refusedCreate.JsonData.Error.Cause != "DNN_DENIED" || !bytes.Equal(refusedCreate.BinaryDataN1SmMessage, n1) {
		t.Errorf("refused creation %+v", refusedCreate)
	}

	// The same of requests that no handler has seen.
	for path, into := range map[string]any{contexts + "/7/modify": new(models.UpdateSmContextResponse400), contexts: new(models.PostSmContextsError)} {
		w := httptest.NewRecorder()
		Refuse(w, httptest.NewRequest(http.MethodPost, path, nil), &Refused{Cause: NFCongestion, RetryAfter: time.Second})
		read(w, into)
		if w.Code != 503 || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		switch v := into.(type) {
		case *models.UpdateSmContextResponse400:
			if v.JsonData == nil || v.JsonData.Error.Cause != "NF_CONGESTION" {
				t.Errorf("%+v", v)
			}
		case *models.PostSmContextsError:
			if v.JsonData == nil || v.JsonData.Error.Cause != "NF_CONGESTION" {
				t.Errorf("%+v", v)
			}
		}
	}
	w := httptest.NewRecorder()
	Refuse(w, httptest.NewRequest(http.MethodPost, contexts+"/7/release", nil), &Refused{Cause: NFCongestion})
	if w.Code != 503 || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
