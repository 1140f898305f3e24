package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf"
	"core5g.dev/core5g/images/nf/sbitls"

	"github.com/free5gc/openapi/models"
	"github.com/free5gc/smf/pkg/factory"
	"github.com/free5gc/smf/pkg/service"
)

// sendCharging calls free5GC's own SendConvergedChargingRequest of an SM context whose CHF is at prefix. Its
// types are of a package that cannot be imported.
func sendCharging(t *testing.T, app *service.SmfApp, prefix string, requestType int64) (problem *models.ProblemDetails, panicked any, err error) {
	t.Helper()
	send := reflect.ValueOf(app.Consumer().SendConvergedChargingRequest)
	smContext := reflect.New(send.Type().In(0).Elem())
	smContext.Elem().FieldByName("SmContextCreateData").Set(reflect.ValueOf(&models.SmContextCreateData{}))
	smContext.Elem().FieldByName("ChargingDataRef").SetString("1")
	smContext.Elem().FieldByName("SelectedCHFProfile").Set(reflect.ValueOf(models.NfProfile{
		NfServices: &[]models.NfService{{ServiceName: models.ServiceName_NCHF_CONVERGEDCHARGING, ApiPrefix: prefix}},
	}))
	kind := reflect.New(send.Type().In(1)).Elem()
	if kind.CanUint() {
		kind.SetUint(uint64(requestType))
	} else {
		kind.SetInt(requestType)
	}
	defer func() { panicked = recover() }()
	out := send.Call([]reflect.Value{smContext, kind, reflect.Zero(send.Type().In(2))})
	problem, _ = out[1].Interface().(*models.ProblemDetails)
	err, _ = out[2].Interface().(error)
	return problem, nil, err
}

func newApp(t *testing.T) *service.SmfApp {
	t.Helper()
	cfg := &factory.Config{
		Info:          &factory.Info{},
		Configuration: &factory.Configuration{Sbi: &factory.Sbi{Scheme: "http", BindingIPv4: "127.0.0.1", Port: 8000}},
		Logger:        &factory.Logger{Level: "error"},
	}
	before := factory.SmfConfig
	factory.SmfConfig = cfg
	t.Cleanup(func() { factory.SmfConfig = before })
	app, err := service.NewApp(t.Context(), cfg, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func callWith(t *testing.T, transport http.RoundTripper) {
	t.Helper()
	if err := nf.Call(transport, transport); err != nil {
		t.Fatal(err)
	}
}

// A CHF that is away, in either scheme, and one that has restarted with the other scheme.
func TestSMFOutlivesACHFThatDoesNotAnswer(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	secured := httptest.NewTLSServer(http.NotFoundHandler())
	defer secured.Close()
	app := newApp(t)
	callWith(t, sbitls.Unprotected())
	prefixes := map[string]string{
		"gone, http":          gone.URL,
		"gone, https":         strings.Replace(gone.URL, "http:", "https:", 1),
		"with TLS, like http": strings.Replace(secured.URL, "https:", "http:", 1),
	}
	// Initial, update, termination.
	for requestType := range int64(3) {
		for name, prefix := range prefixes {
			if _, panicked, _ := sendCharging(t, app, prefix, requestType); panicked == nil {
				t.Errorf("free5GC's SMF by itself outlives request %d to a CHF that is %s: charging.go is not needed any more", requestType, name)
			}
		}
	}
	callWith(t, repaired(sbitls.Unprotected()))
	for requestType := range int64(3) {
		for name, prefix := range prefixes {
			problem, panicked, err := sendCharging(t, app, prefix, requestType)
			if panicked != nil || err != nil || problem == nil || !strings.HasPrefix(problem.Detail, "the CHF does not answer: ") {
				t.Errorf("request %d to a CHF that is %s: problem %+v, error %v, panic %v", requestType, name, problem, err, panicked)
			}
		}
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOnlyChargingRequestsAreAnsweredForAnother(t *testing.T) {
	broken := fmt.Errorf("connection refused")
	c := charging{next: trip(func(*http.Request) (*http.Response, error) { return nil, broken }), patience: time.Minute}
	if _, err := c.RoundTrip(httptest.NewRequest(http.MethodGet, "http://core5g-nrf:8000/nnrf-disc/v1/nf-instances", nil)); err != broken {
		t.Errorf("error %v, want %v", err, broken)
	}
	if response, err := c.RoundTrip(httptest.NewRequest(http.MethodPost, "http://core5g-chf:8000"+chargingPath+"v3/chargingdata", nil)); err != nil || response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("response %v, error %v", response, err)
	}
	silent := charging{next: trip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}), patience: time.Millisecond}
	if response, err := silent.RoundTrip(httptest.NewRequest(http.MethodPost, "http://core5g-chf:8000"+chargingPath+"v3/chargingdata", nil)); err != nil || response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a CHF that is silent: response %v, error %v", response, err)
	}
}

func TestAnswersOfTheCHFPass(t *testing.T) {
	chf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://core5g-chf:8000"+chargingPath+"v3/chargingdata/7")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"invocationSequenceNumber": 5}`))
	}))
	defer chf.Close()
	client := http.Client{Transport: charging{next: http.DefaultTransport, patience: time.Minute}}
	response, err := client.Post(chf.URL+chargingPath+"v3/chargingdata", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body := new(strings.Builder)
	if err := response.Write(body); err != nil {
		t.Fatal(err)
	}
	if got := body.String(); !strings.Contains(got, "chargingdata/7") || !strings.Contains(got, `{"invocationSequenceNumber": 5}`) {
		t.Errorf("got %q", got)
	}
}
