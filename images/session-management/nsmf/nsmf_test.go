package nsmf

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/nchf"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/nudm"
)

// scripted answers as a test wants, and keeps what it was asked.
type scripted struct {
	mu    sync.Mutex
	ref   string
	asked any

	created   *Created
	updated   *Updated
	retrieved *Retrieved
	report    npcf.Report
	err       error
	wait      bool // until the context ends
}

func (s *scripted) take(ctx context.Context, ref string, asked any) error {
	s.mu.Lock()
	s.ref, s.asked = ref, asked
	s.mu.Unlock()
	if s.wait {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.err
}

func (s *scripted) Create(ctx context.Context, c *Create) (*Created, error) {
	return s.created, s.take(ctx, "", c)
}

func (s *scripted) Update(ctx context.Context, ref string, u *Update) (*Updated, error) {
	return s.updated, s.take(ctx, ref, u)
}

func (s *scripted) Release(ctx context.Context, ref string, r *Release) error {
	return s.take(ctx, ref, r)
}

func (s *scripted) Retrieve(ctx context.Context, ref string, r *Retrieve) (*Retrieved, error) {
	return s.retrieved, s.take(ctx, ref, r)
}

func (s *scripted) TransferFailed(ctx context.Context, ref string, f namf.Failure) error {
	return s.take(ctx, ref, f)
}

func (s *scripted) SubscriptionChanged(ctx context.Context, ref string, c nudm.Change) error {
	return s.take(ctx, ref, c)
}

func (s *scripted) PolicyChanged(ctx context.Context, ref string, d npcf.Decision) (npcf.Report, error) {
	return s.report, s.take(ctx, ref, d)
}

func (s *scripted) PolicyEnded(ctx context.Context, ref string, cause string) error {
	return s.take(ctx, ref, cause)
}

func (s *scripted) ChargingChanged(ctx context.Context, ref string, n nchf.Notification) error {
	return s.take(ctx, ref, n)
}

func router(h *scripted, o Options) (*sbi.Router, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	r := sbi.NewRouter(slog.New(slog.DiscardHandler), registry)
	Register(r, h, o)
	RegisterCallbacks(r, h, o)
	return r, registry
}

// sample is the request of a file: its Content-Type in the first line, its content behind.
func sample(t *testing.T, name string) (contentType string, content []byte) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	head, content, _ := bytes.Cut(raw, []byte("\n"))
	return string(head), content
}

type reply struct {
	status  int
	header  http.Header
	message sbi.Message
}

func post(t *testing.T, uri, contentType string, content []byte, header ...string) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, uri, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	for n := 0; n+1 < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	transport := sbitls.Unprotected()
	transport.HTTP2 = nil // no pings: a peer that a busy machine holds up has not gone
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := reply{status: response.StatusCode, header: response.Header}
	if len(raw) > 0 {
		if out.message, err = sbi.Decode(response.Header.Get("Content-Type"), raw); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	return out
}

var (
	home   = ts29571.PLMN{MCC: "208", MNC: "93"}
	guami  = &ts29571.GUAMI{PLMN: home, AMFID: "cafe00"}
	here   = &ts29571.Location{TAI: ts29571.TAI{PLMN: home, TAC: "000001"}, Cell: 0x10, CellPLMN: home}
	amfID  = "4d4a2b1e-7b1c-4a5e-9d3f-0a1b2c3d4e5f"
	ignore = cmpopts.IgnoreFields(ts29571.Location{}, "Raw")
)

func TestCreateOfFree5GCsAMF(t *testing.T) {
	for name, want := range map[string]*Create{
		"amf-1.4.5-create": {
			SUPI: "imsi-208930000000001", PEI: "imeisv-4370816125816151", SessionID: 1, DNN: "internet",
			SNSSAI: &ts29571.SNSSAI{SST: 1, SD: "010203"},
			AMF: AMF{
				InstanceID: amfID, GUAMI: guami, ServingNetwork: home,
				StatusURI: "http://core5g-amf:8000/namf-callback/v1/smContextStatus/imsi-208930000000001/1",
			},
			Where: Where{Access: "3GPP_ACCESS", RAT: "NR", Location: here, TimeZone: "+00:00"},
			N1:    []byte{0x2e, 1, 1, 0xc1, 0xff, 0xff, 0x91, 0xa1, 0x28, 1, 0, 0x7b, 0, 7, 0x80, 0, 0x0a, 0, 0, 0x0d, 0},
		},
		"amf-1.4.5-create-without-sd": {
			SUPI: "imsi-208930000000001", SessionID: 15, DNN: "meters", SNSSAI: &ts29571.SNSSAI{SST: 2},
			AMF: AMF{
				InstanceID: amfID, GUAMI: guami, ServingNetwork: home,
				StatusURI: "https://core5g-amf:8000/namf-callback/v1/smContextStatus/imsi-208930000000001/15",
			},
			Where: Where{Access: "3GPP_ACCESS", Location: &ts29571.Location{}},
			N1:    []byte{0x2e, 15, 1, 0xc1, 0xff, 0xff},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &scripted{created: &Created{Ref: "s0-1-77", SessionID: want.SessionID, SNSSAI: want.SNSSAI}}
			r, registry := router(h, Options{Binding: "bl=nf-set; nfset=set1.smfset.5gc.mnc093.mcc208"})
			base := sbitest.Serve(t, r)
			kind, content := sample(t, name)
			got := post(t, base+contexts, kind, content)
			if diff := cmp.Diff(want, h.asked, ignore); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if got.status != http.StatusCreated || got.header.Get("Location") != base+"/nsmf-pdusession/v1/sm-contexts/s0-1-77" {
				t.Errorf("%d, Location %q", got.status, got.header.Get("Location"))
			}
			if b := got.header.Get("3gpp-Sbi-Binding"); b != "bl=nf-set; nfset=set1.smfset.5gc.mnc093.mcc208" {
				t.Errorf("binding %q", b)
			}
			if got.header.Get("Content-Type") != "application/json" || !strings.Contains(string(got.message.JSON), `"sNssai":{"sst":`) {
				t.Errorf("%s: %s", got.header.Get("Content-Type"), got.message.JSON)
			}
			if n, err := testutil.GatherAndCount(registry, "core5g_sbi_requests_total"); err != nil || n != 1 {
				t.Errorf("%d requests counted, %v", n, err)
			}
		})
	}
	if got := guami.Set(); got != "set3f8.regionca.amfset.5gc.mnc093.mcc208" {
		t.Errorf("AMF set %q", got)
	}
}

func TestUpdateOfFree5GCsAMF(t *testing.T) {
	five := func(n uint8) *uint8 { return &n }
	for name, want := range map[string]any{
		"amf-1.4.5-update-n2": &Update{
			Where: Where{Location: here}, N2: []byte{0, 3, 0xe0, 10, 0, 0, 1, 0, 0, 0, 1, 0, 1}, N2Type: SetupResponse,
		},
		"amf-1.4.5-update-n1":         &Update{PEI: "imeisv-4370816125816151", N1: []byte{0x2e, 1, 1, 0xd1}},
		"amf-1.4.5-update-deactivate": &Update{UpCnxState: Deactivated, Where: Where{Location: here}, Why: Why{NGAP: &NGAPCause{0, 20}}},
		"amf-1.4.5-update-activate":   &Update{UpCnxState: Activating},
		"amf-1.4.5-update-path-switch": &Update{
			ToBeSwitched: true, Where: Where{Location: here}, N2: []byte{0, 1, 2}, N2Type: PathSwitchRequest,
		},
		"amf-1.4.5-update-handover": &Update{
			HoState: HandoverPreparing, N2: []byte{0x40}, N2Type: HandoverRequired,
			Target: &Target{PLMN: home, GNB: "000002", GNBBits: 24, TAI: ts29571.TAI{PLMN: home, TAC: "000001"}},
		},
		"amf-1.4.5-update-other-amf": &Update{AMF: AMF{InstanceID: amfID, GUAMI: guami, ServingNetwork: home}, UpCnxState: Activating},
		"amf-1.4.5-update-duplicate": &Update{
			Release: true, Why: Why{Cause: "REL_DUE_TO_DUPLICATE_SESSION_ID"},
			AMF: AMF{StatusURI: "http://core5g-amf:8000/namf-callback/v1/smContextStatus/20893cafe0000000001/1"},
		},
		"amf-1.4.5-release": &Release{
			Why:   Why{Cause: "PDU_SESSION_STATUS_MISMATCH", NGAP: &NGAPCause{0, 0}, FiveGMM: five(22)},
			Where: Where{Location: here},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &scripted{updated: &Updated{}}
			r, _ := router(h, Options{})
			operation := "/modify"
			if strings.Contains(name, "release") {
				operation = "/release"
			}
			kind, content := sample(t, name)
			got := post(t, sbitest.Serve(t, r)+contexts+"/urn:uuid:s0-1-77"+operation, kind, content)
			if got.status != http.StatusNoContent || h.ref != "s0-1-77" {
				t.Fatalf("%d %s, ref %q", got.status, got.message.JSON, h.ref)
			}
			if diff := cmp.Diff(want, h.asked, ignore); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersToUpdates(t *testing.T) {
	n1, n2 := []byte{0x2e, 1, 2, 0xcb}, []byte{1, 2, 3}
	for sentence, c := range map[string]struct {
		updated    *Updated
		err        error
		wantStatus int
		wantJSON   string
		wantN1     []byte
		wantN2     []byte
		wantHeader map[string]string
	}{
		"nothing to say": {updated: &Updated{}, wantStatus: 204},
		"a state alone is JSON": {
			updated: &Updated{UpCnxState: Deactivated}, wantStatus: 200, wantJSON: `{"upCnxState":"DEACTIVATED"}`,
		},
		"N1 and N2": {
			updated: &Updated{UpCnxState: Activating, HoState: HandoverPrepared, N1: n1, N2: n2, N2Type: SetupRequest, Cause: "HO_CANCEL", DataForwarding: true}, wantStatus: 200,
			wantJSON: `{"upCnxState":"ACTIVATING","hoState":"PREPARED","n1SmMsg":{"contentId":"n1SmMsg"},"n2SmInfo":{"contentId":"n2SmInfo"},` +
				`"n2SmInfoType":"PDU_RES_SETUP_REQ","cause":"HO_CANCEL","dataForwarding":true}`,
			wantN1: n1, wantN2: n2,
		},
		"a refusal with N1 and N2": {
			err: &Refused{Cause: N1SMError, Detail: "no such rule", N1: n1, N2: n2, N2Type: PathSwitchFail, UpCnxState: Activated}, wantStatus: 403,
			wantJSON: `{"error":{"title":"Forbidden","status":403,"detail":"no such rule","cause":"N1_SM_ERROR"},"n1SmMsg":{"contentId":"n1SmMsg"},` +
				`"n2SmInfo":{"contentId":"n2SmInfo"},"n2SmInfoType":"PATH_SWITCH_REQ_FAIL","upCnxState":"ACTIVATED"}`,
			wantN1: n1, wantN2: n2,
		},
		"no context": {
			err: &Refused{Cause: ContextNotFound}, wantStatus: 404,
			wantJSON: `{"error":{"title":"Not Found","status":404,"cause":"CONTEXT_NOT_FOUND"}}`,
		},
		"congestion says when to ask again, in whole seconds": {
			err: &Refused{Cause: NFCongestion, RetryAfter: 1500 * time.Millisecond}, wantStatus: 503,
			wantJSON:   `{"error":{"title":"Service Unavailable","status":503,"cause":"NF_CONGESTION"}}`,
			wantHeader: map[string]string{"Retry-After": "2"},
		},
		"a wrapped refusal": {
			err: errors.Join(errors.New("no answer of the UPF"), &Refused{Cause: PeerNotResponding}), wantStatus: 504,
			wantJSON: `{"error":{"title":"Gateway Timeout","status":504,"cause":"PEER_NOT_RESPONDING"}}`,
		},
		"our own failure keeps its text to itself": {
			err: errors.New("secret"), wantStatus: 500,
			wantJSON: `{"error":{"title":"Internal Server Error","status":500,"detail":"see the log of the SMF","cause":"SYSTEM_FAILURE"}}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, _ := router(&scripted{updated: c.updated, err: c.err}, Options{})
			kind, content := sample(t, "amf-1.4.5-update-n1")
			got := post(t, sbitest.Serve(t, r)+contexts+"/7/modify", kind, content)
			if got.status != c.wantStatus || string(got.message.JSON) != c.wantJSON {
				t.Errorf("%d %s, want %d %s", got.status, got.message.JSON, c.wantStatus, c.wantJSON)
			}
			if !bytes.Equal(got.message.Binary("n1SmMsg"), c.wantN1) || !bytes.Equal(got.message.Binary("n2SmInfo"), c.wantN2) {
				t.Errorf("parts %v", got.message.Parts)
			}
			// free5GC's AMF finds jsonData of an error only there.
			if c.err != nil && !strings.HasPrefix(got.header.Get("Content-Type"), "multipart/related; boundary=") {
				t.Errorf("Content-Type %q", got.header.Get("Content-Type"))
			}
			for name, want := range c.wantHeader {
				if got.header.Get(name) != want {
					t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
				}
			}
		})
	}
}

func TestBadCreates(t *testing.T) {
	_, content := sample(t, "amf-1.4.5-create")
	message, err := sbi.Decode(`multipart/related; boundary=af9dbbfb1e27cd1629f36ed70040ced9d7b1ed54775e1f71115c227a4099`, content)
	if err != nil {
		t.Fatal(err)
	}
	good := string(message.JSON)
	for sentence, c := range map[string]struct {
		old, new  string
		want      string
		wantCause string
	}{
		"no session":               {`"pduSessionId":1,`, ``, "pduSessionId is mandatory", "MANDATORY_IE_MISSING"},
		"session 16":               {`"pduSessionId":1,`, `"pduSessionId":16,`, "a number from 1 to 15", "MANDATORY_IE_INCORRECT"},
		"no SUPI":                  {`"supi":"imsi-208930000000001",`, ``, "supi is mandatory", "MANDATORY_IE_MISSING"},
		"a SUPI of a device":       {`"supi":"imsi-208930000000001",`, `"supi":"imei-353492100000007",`, "supi: write imsi- and 5 to 15 digits", "MANDATORY_IE_INCORRECT"},
		"a SUPI of two lines":      {`"supi":"imsi-208930000000001",`, `"supi":"nai-a\nb@example.com",`, "supi: write imsi- and 5 to 15 digits", "MANDATORY_IE_INCORRECT"},
		"a null DNN":               {`"dnn":"internet"`, `"dnn":null`, "dnn is mandatory", "MANDATORY_IE_MISSING"},
		"no slice":                 {`"sNssai":{"sst":1,"sd":"010203"},`, ``, "sNssai is mandatory", "MANDATORY_IE_MISSING"},
		"sst of text":              {`"sst":1`, `"sst":"1"`, "an S-NSSAI is an object", "OPTIONAL_IE_INCORRECT"},
		"no AMF":                   {`"servingNfId":"` + amfID + `",`, ``, "servingNfId is mandatory", "MANDATORY_IE_MISSING"},
		"no network":               {`"servingNetwork":{"mcc":"208","mnc":"93"},`, ``, "servingNetwork is mandatory", "MANDATORY_IE_MISSING"},
		"a network of nobody":      {`"servingNetwork":{"mcc":"208"`, `"servingNetwork":{"mcc":"2"`, "write three digits", "OPTIONAL_IE_INCORRECT"},
		"a callback of no host":    {`"http://core5g-amf:8000/`, `"/`, "write http://host:port/path", "OPTIONAL_IE_INCORRECT"},
		"an N1 that is not there":  {`"contentId":"n1SmMsg"`, `"contentId":"n1"`, "no part has the Content-Id", "OPTIONAL_IE_INCORRECT"},
		"N2 of no type":            {`"n1SmMsg":`, `"n2SmInfo":`, "n2SmInfoType is mandatory", "MANDATORY_IE_MISSING"},
		"a cell of five digits":    {`"000000010"`, `"00010"`, "write 9 hexadecimal digits", "OPTIONAL_IE_INCORRECT"},
		"a TAC of text":            {`"tac":"000001"`, `"tac":"one"`, "write six hexadecimal digits", "OPTIONAL_IE_INCORRECT"},
		"no JSON":                  {good, `{"supi":`, "it is not JSON", "INVALID_MSG_FORMAT"},
		"null":                     {good, `null`, "write an object", "INVALID_MSG_FORMAT"},
		"a list":                   {good, `[]`, "must not be a JSON array", "INVALID_MSG_FORMAT"},
		"a time zone that is none": {`"ueTimeZone":"+00:00"`, `"ueTimeZone":1`, "ueTimeZone", "OPTIONAL_IE_INCORRECT"},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := &scripted{}
			r, _ := router(h, Options{})
			if !strings.Contains(good, c.old) {
				t.Fatalf("%q is not in the sample", c.old)
			}
			raw, err := sbi.Multipart([]byte(strings.Replace(good, c.old, c.new, 1)), message.Parts...)
			if err != nil {
				t.Fatal(err)
			}
			got := post(t, sbitest.Serve(t, r)+contexts, raw.ContentType, raw.Content)
			if got.status != 400 || !strings.Contains(string(got.message.JSON), c.want) || !strings.Contains(string(got.message.JSON), `"cause":"`+c.wantCause+`"`) {
				t.Errorf("%d %s, want %q and %s", got.status, got.message.JSON, c.want, c.wantCause)
			}
			if h.asked != nil {
				t.Error("the handler was asked")
			}
		})
	}
	// What is not asked of an emergency session.
	h := &scripted{created: &Created{Ref: "1"}}
	r, _ := router(h, Options{})
	emergency := strings.NewReplacer(`"dnn":"internet",`, ``, `"supi":"imsi-208930000000001",`, ``, `"anType"`, `"requestType":"INITIAL_EMERGENCY_REQUEST","anType"`).Replace(good)
	raw, _ := sbi.Multipart([]byte(emergency), message.Parts...)
	if got := post(t, sbitest.Serve(t, r)+contexts, raw.ContentType, raw.Content); got.status != 201 {
		t.Errorf("emergency: %d %s", got.status, got.message.JSON)
	}
}

func TestContentsThatCannotBe(t *testing.T) {
	for sentence, c := range map[string]struct {
		kind, content string
		wantStatus    int
		want          string
	}{
		"text":             {"text/plain", "{}", 400, "write application/json or multipart/related"},
		"no boundary":      {"multipart/related", "{}", 400, "needs a boundary"},
		"another boundary": {"multipart/related; boundary=a", "--b\r\n\r\n--b--", 400, "no part is application/json"},
		"empty":            {"application/json", "", 400, "no content"},
		"too much":         {"application/json", `"` + strings.Repeat("x", 300<<10) + `"`, 413, "too large"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, _ := router(&scripted{}, Options{})
			got := post(t, sbitest.Serve(t, r)+contexts, c.kind, []byte(c.content))
			if got.status != c.wantStatus || !strings.Contains(string(got.message.JSON), c.want) {
				t.Errorf("%d %s", got.status, got.message.JSON)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	for ref, want := range map[string]string{
		"s0-1-77": "s0-1-77", "urn:uuid:a": "a", "urn:uuid:urn:uuid:a": "a",
		"urn:uuid:": "", "a%2Fb": "", "a%00": "", strings.Repeat("a", 129): "",
	} {
		h := &scripted{}
		r, _ := router(h, Options{})
		got := post(t, sbitest.Serve(t, r)+contexts+"/"+ref+"/release", "application/json", nil)
		if want == "" && (got.status != 404 || h.asked != nil) || want != "" && (got.status != 204 || h.ref != want) {
			t.Errorf("%s: %d %s, ref %q", ref, got.status, got.message.JSON, h.ref)
		}
	}
}

func TestTimeLimits(t *testing.T) {
	kind, content := sample(t, "amf-1.4.5-create")
	for sentence, c := range map[string]struct {
		limit  time.Duration
		header string
	}{
		"the server's":                       {time.Millisecond, "60000"},
		"the caller's, where it is shorter":  {time.Hour, "1"},
		"the server's, where the other is 0": {time.Millisecond, "0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, _ := router(&scripted{wait: true}, Options{Limit: c.limit})
			got := post(t, sbitest.Serve(t, r)+contexts, kind, content, "3gpp-Sbi-Max-Rsp-Time", c.header)
			if got.status != 504 || !strings.Contains(string(got.message.JSON), `{"error":{`) || !strings.Contains(string(got.message.JSON), "TIMED_OUT_REQUEST") {
				t.Errorf("%d %s", got.status, got.message.JSON)
			}
		})
	}
}

func TestRetrieve(t *testing.T) {
	h := &scripted{retrieved: &Retrieved{Context: &Context{
		SessionID: 1, DNN: "internet", SNSSAI: ts29571.SNSSAI{SST: 1}, Type: "IPV4", AMBR: ts29571.AMBR{Uplink: 1e9, Downlink: 2_500_000},
		Flows: []RetrievedFlow{{QFI: 1, Rules: []byte{1}, Profile: &RetrievedProfile{FiveQI: 9}}},
	}}}
	r, _ := router(h, Options{})
	base := sbitest.Serve(t, r)
	got := post(t, base+contexts+"/7/retrieve", "application/json", []byte(`{"smContextType":"SM_CONTEXT","servingNetwork":{"mcc":"208","mnc":"93"}}`))
	if diff := cmp.Diff(&Retrieve{Kind: "SM_CONTEXT", ServingNetwork: home}, h.asked); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	const want = `{"ueEpsPdnConnection":"","smContext":{"pduSessionId":1,"dnn":"internet","sNssai":{"sst":1},"pduSessionType":"IPV4",` +
		`"sessionAmbr":{"uplink":"1 Gbps","downlink":"2500 Kbps"},"qosFlowsList":[{"qfi":1,"qosRules":"AQ==","qosFlowProfile":{"5qi":9}}]}}`
	if got.status != 200 || string(got.message.JSON) != want {
		t.Errorf("%d %s", got.status, got.message.JSON)
	}
	h.err = &Refused{Cause: ContextNotFound}
	got = post(t, base+contexts+"/7/retrieve", "application/json", nil)
	if got.status != 404 || got.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s", got.status, got.header.Get("Content-Type"))
	}
}

func TestCallbacks(t *testing.T) {
	for sentence, c := range map[string]struct {
		uri     func(root, ref string) string
		suffix  string
		content string
		report  npcf.Report
		err     error
		want    any
		status  int
		answer  string
	}{
		"a UE that does not come": {
			uri: TransferFailureURI, content: `{"cause":"UE_NOT_RESPONDING","n1n2MsgDataUri":"http://amf:8000/1"}`,
			want: namf.Failure{Cause: "UE_NOT_RESPONDING", URI: "http://amf:8000/1"}, status: 204,
		},
		"a failure without a cause": {uri: TransferFailureURI, content: `{}`, status: 400, answer: "MANDATORY_IE_MISSING"},
		"an unknown context": {
			uri: TransferFailureURI, content: `{"cause":"X"}`, err: &Refused{Cause: ContextNotFound}, want: namf.Failure{Cause: "X"},
			status: 404, answer: "CONTEXT_NOT_FOUND",
		},
		"another subscription": {
			uri: SubscriptionURI, content: `{"notifyItems":[{"resourceId":"imsi-1/sm-data","changes":[{"op":"REPLACE","path":"/"}]}]}`,
			want: nudm.Change{Resources: []string{"imsi-1/sm-data"}}, status: 204,
		},
		"the end of a policy": {uri: PolicyURI, suffix: "/terminate", content: `{"resourceUri":"x","cause":"UE_SUBSCRIPTION"}`, want: "UE_SUBSCRIPTION", status: 204},
		"a quota to ask for": {
			uri: ChargingURI, content: `{"notificationType":"","reauthorizationDetails":[{"ratingGroup":3}]}`,
			want: nchf.Notification{RatingGroups: []uint32{3}}, status: 204,
		},
		"the end of charging": {uri: ChargingURI, content: `{"notificationType":"ABORT_CHARGING"}`, want: nchf.Notification{Abort: true}, status: 204},
		"all of a policy fails": {
			uri: PolicyURI, suffix: "/update", content: `{"smPolicyDecision":{"pccRules":{"a":{"pccRuleId":"a"}}}}`,
			report: npcf.Report{Rules: []npcf.RuleReport{{Rules: []string{"a"}, Status: "INACTIVE", Failure: "RES_ALLO_FAIL"}}},
			status: 400, answer: `"ruleReports":[{"pccRuleIds":["a"],"ruleStatus":"INACTIVE","failureCode":"RES_ALLO_FAIL"}]`,
		},
		"half of a policy fails": {
			uri: PolicyURI, suffix: "/update", content: `{"smPolicyDecision":{"pccRules":{"a":{"pccRuleId":"a"},"b":{"pccRuleId":"b"}}}}`,
			report: npcf.Report{Rules: []npcf.RuleReport{{Rules: []string{"a"}, Status: "INACTIVE", Failure: "RES_ALLO_FAIL"}}},
			status: 200, answer: `{"failureCause":"PCC_RULE_EVENT","ruleReports":[`,
		},
		"a policy that is none": {uri: PolicyURI, suffix: "/update", content: `{"smPolicyDecision":[]}`, status: 400, answer: "OPTIONAL_IE_INCORRECT"},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := &scripted{report: c.report, err: c.err}
			r, _ := router(h, Options{})
			got := post(t, c.uri(sbitest.Serve(t, r), "s0-1-77")+c.suffix, "application/json", []byte(c.content))
			if got.status != c.status || !strings.Contains(string(got.message.JSON), c.answer) {
				t.Errorf("%d %s", got.status, got.message.JSON)
			}
			if _, policy := h.asked.(npcf.Decision); !policy {
				if diff := cmp.Diff(c.want, h.asked); diff != "" {
					t.Errorf("notification (-want +got):\n%s", diff)
				}
			}
		})
	}
}
