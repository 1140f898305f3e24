package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/free5gc/openapi/models"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// multipartOf is content as TS 29.502 6.1.2.4 has it: JSON, then an N1 SM message.
func multipartOf(json string) (contentType, content string) {
	return `multipart/related; boundary="b"`, "--b\r\nContent-Type: application/json\r\n\r\n" + json +
		"\r\n--b\r\nContent-Id: n1\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\n\x2e\x01\r\n--b--\r\n"
}

const creation = `{"supi": "imsi-208930000000001", "dnn": "internet", "sNssai": {"sst": 1, "sd": "01020A"}}`

type smfDouble struct {
	t      *testing.T
	status int
	answer string
}

// ServeHTTP answers as the SMF does, and sees whether the content comes through whole.
func (d *smfDouble) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		d.t.Error(err)
	}
	if !strings.HasSuffix(string(content), "--b--\r\n") {
		d.t.Errorf("the SMF gets %q", content)
	}
	if d.status < 300 && r.URL.Path == smContexts {
		w.Header().Set("Location", "http://core5g-smf-internet:8000"+smContexts+"/6a7")
	}
	kind, body := "application/problem+json", d.answer
	if strings.Contains(d.answer, `"error"`) {
		kind, body = multipartOf(d.answer)
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(d.status)
	_, _ = io.WriteString(w, body)
}

func TestEstablishmentsAreCountedByTheirEnd(t *testing.T) {
	type call struct {
		path, json string
		status     int
		answer     string
		wait       time.Duration // before it
	}
	create := call{path: smContexts, json: creation, status: http.StatusCreated}
	setup := func(ref, kind string, status int) call {
		return call{path: smContexts + "/" + ref + "/modify", json: `{"n2SmInfoType": "` + kind + `"}`, status: status, wait: 30 * time.Millisecond}
	}
	refused := func(status int, answer string) call {
		return call{path: smContexts, json: creation, status: status, answer: answer}
	}
	tests := []struct {
		name                  string
		calls                 []call
		wantResult, wantCause string // of the last that ended; "" for none
		want                  int
	}{
		{"set up by the access network", []call{create, setup("6a7", "PDU_RES_SETUP_RSP", 204)}, "success", "", 1},
		{"the AMF puts urn:uuid: before the name", []call{create, setup("urn:uuid:6a7", "PDU_RES_SETUP_RSP", 204)}, "success", "", 1},
		{"not yet", []call{create}, "success", "", 0},
		{"another update comes before", []call{create, setup("6a7", "HANDOVER_REQUIRED", 200)}, "success", "", 0},
		{"a later set-up of its user plane is no second one", []call{create, setup("6a7", "PDU_RES_SETUP_RSP", 204), setup("6a7", "PDU_RES_SETUP_RSP", 204)}, "success", "", 1},
		{"an SM context that the front has not seen begin", []call{setup("b52", "PDU_RES_SETUP_RSP", 204)}, "success", "", 0},
		{"the gNB has no resources", []call{create, setup("6a7", "PDU_RES_SETUP_FAIL", 204)}, "failure", "an_resource_setup_failed", 1},
		{"the UE goes", []call{create, {path: smContexts + "/6a7/release", json: "{}", status: 204}}, "failure", "released", 1},
		{"refused with SmContextCreateError", []call{refused(403, `{"error": {"status": 403, "cause": "DNN_DENIED"}}`)}, "failure", "dnn_denied", 1},
		{"refused with problem details", []call{refused(503, `{"status": 503, "cause": "NF_CONGESTION"}`)}, "failure", "nf_congestion", 1},
		{"refused without a word", []call{refused(500, "oops")}, "failure", "http_500", 1},
		{"nobody says how it went", []call{create, {path: smContexts, json: creation, status: 201, wait: setupLimit + time.Second}}, "failure", "not_completed", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := newEstablishments(prometheus.NewPedanticRegistry())
			now := time.Unix(1700000000, 0)
			e.now = func() time.Time { return now }
			smf := &smfDouble{t: t}
			front := e.handler(smf)
			for _, c := range test.calls {
				now = now.Add(c.wait)
				smf.status, smf.answer = c.status, c.answer
				kind, content := multipartOf(c.json)
				r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(content))
				r.Header.Set("Content-Type", kind)
				w := httptest.NewRecorder()
				front.ServeHTTP(w, r)
				if w.Code != c.status || c.answer != "" && !strings.Contains(w.Body.String(), c.answer) {
					t.Errorf("the AMF gets %d %q, want %d with %q", w.Code, w.Body, c.status, c.answer)
				}
			}
			if got := testutil.ToFloat64(e.total.WithLabelValues("1-01020a", "internet", test.wantResult, test.wantCause)); got != float64(test.want) {
				t.Errorf("%v with result %s and cause %q, want %d", got, test.wantResult, test.wantCause, test.want)
			}
			if test.wantResult == "success" && test.want == 1 {
				e.expect(session{"1-01020a", "internet"})
				if got := testutil.CollectAndCount(e.duration); got != 1 {
					t.Errorf("%d durations", got)
				}
			}
		})
	}
}

func TestContentThatCannotBeReadGoesThrough(t *testing.T) {
	e := newEstablishments(prometheus.NewPedanticRegistry())
	content := strings.Repeat("x", maxContent+10)
	front := e.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, _ := io.ReadAll(r.Body); string(got) != content {
			t.Errorf("the SMF gets %d octets", len(got))
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	r := httptest.NewRequest(http.MethodPost, smContexts, strings.NewReader(content))
	r.Header.Set("Content-Type", "multipart/related")
	w := httptest.NewRecorder()
	front.ServeHTTP(w, r)
	if got := testutil.ToFloat64(e.total.WithLabelValues("0", "", "failure", "http_400")); w.Code != http.StatusBadRequest || got != 1 {
		t.Errorf("status %d, counted %v", w.Code, got)
	}
}

func TestSessionMetrics(t *testing.T) {
	type smContext struct{ *models.SmContextCreateData }
	contexts := []*smContext{
		{&models.SmContextCreateData{Dnn: "internet", SNssai: &models.Snssai{Sst: 1, Sd: "010203"}}},
		{&models.SmContextCreateData{Dnn: "internet", SNssai: &models.Snssai{Sst: 1, Sd: "010203"}}},
		{&models.SmContextCreateData{Dnn: "ims", SNssai: &models.Snssai{Sst: 2}}},
		{},
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(sessionMetrics{func() view {
		v := view{sessions: map[session]int{{"1-010203", "iot"}: 0}, upfs: map[string]bool{"upf-0": true, "upf-1": false}}
		tally(v.sessions, func(found func(*smContext)) {
			for _, c := range contexts {
				found(c)
			}
		})
		return v
	}})
	want := `
# HELP core5g_smf_pdu_sessions PDU sessions that this SMF has and that have a UPF.
# TYPE core5g_smf_pdu_sessions gauge
core5g_smf_pdu_sessions{dnn="ims",snssai="2"} 1
core5g_smf_pdu_sessions{dnn="internet",snssai="1-010203"} 2
core5g_smf_pdu_sessions{dnn="iot",snssai="1-010203"} 0
# HELP core5g_smf_upf_associated 1 where this SMF has a PFCP association with the UPF, else 0.
# TYPE core5g_smf_upf_associated gauge
core5g_smf_upf_associated{upf="upf-0"} 1
core5g_smf_upf_associated{upf="upf-1"} 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
