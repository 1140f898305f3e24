package nrf

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/ts29571"
)

// fakeNRF stores profiles as free5GC's NRF does: a PATCH of an unknown instance is answered with 204.
type fakeNRF struct {
	mu       sync.Mutex
	profiles map[string]map[string]any
	puts     map[string]int
	beats    int // heart-beats of all
	down     bool
	strict   bool // a PATCH of an unknown instance is answered with 404, and of a known one with 204
}

func (n *fakeNRF) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := strings.CutPrefix(r.URL.Path, "/nnrf-nfm/v1/nf-instances/")
	switch {
	case r.ProtoMajor != 2 || !ok:
		w.WriteHeader(http.StatusBadRequest)
		return
	case n.down:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	profile, known := n.profiles[id]
	answer := func(status int) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(n.profiles[id])
	}
	switch {
	case r.Method == http.MethodPut:
		raw, _ := io.ReadAll(r.Body)
		profile = make(map[string]any)
		if json.Unmarshal(raw, &profile) != nil || profile["nfInstanceId"] != id {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		n.profiles[id] = profile
		n.puts[id]++
		answer(map[bool]int{true: http.StatusOK, false: http.StatusCreated}[known])
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") != "application/json-patch+json":
		w.WriteHeader(http.StatusUnsupportedMediaType)
	case r.Method == http.MethodPatch && known && !n.strict:
		answer(http.StatusOK)
	case r.Method == http.MethodPatch && (known || !n.strict):
		n.beats++
		w.WriteHeader(http.StatusNoContent)
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		answer(http.StatusOK)
	case r.Method == http.MethodDelete:
		delete(n.profiles, id)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (n *fakeNRF) get(f Function) (map[string]any, int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.profiles[f.InstanceID()], n.puts[f.InstanceID()]
}

func (n *fakeNRF) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

func newFakeNRF(t *testing.T) (*fakeNRF, string) {
	t.Helper()
	n := &fakeNRF{profiles: make(map[string]map[string]any), puts: make(map[string]int)}
	server := httptest.NewUnstartedServer(n)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return n, server.URL
}

var (
	ausf = Function{Type: "AUSF", URI: "http://core5g-ausf:8000", Services: map[string][]string{"nausf-auth": {"v1"}}}
	udm  = Function{Type: "UDM", URI: "http://core5g-udm:8000", Services: map[string][]string{"nudm-sdm": {"v2", "v1"}, "nudm-uecm": {"v1"}}}
)

// start runs a registrar with short intervals; stop ends it and waits.
func start(t *testing.T, nrf string) (stop func()) {
	t.Helper()
	r := NewRegistrar(nrf, []Function{ausf, udm}, func(context.Context) ([]ts29571.PLMN, error) {
		return []ts29571.PLMN{{MCC: "208", MNC: "93"}}, nil
	}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	r.HeartBeat, r.RetryMin, r.RetryMax = 5*time.Millisecond, time.Millisecond, 5*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRegistrarRegistersAndDeregisters(t *testing.T) {
	n, uri := newFakeNRF(t)
	stop := start(t, uri)
	eventually(t, "both profiles are there", func() bool {
		a, _ := n.get(ausf)
		u, _ := n.get(udm)
		return a != nil && u != nil
	})
	got, _ := n.get(udm)
	delete(got, "recoveryTime")
	service := func(name string, versions ...any) map[string]any {
		return map[string]any{
			"serviceInstanceId": name, "serviceName": name, "versions": versions, "scheme": "http",
			"nfServiceStatus": "REGISTERED", "apiPrefix": "http://core5g-udm:8000",
			"ipEndPoints": []any{map[string]any{"ipv4Address": "core5g-udm", "transport": "TCP", "port": 8000.0}},
		}
	}
	v := func(n string) any { return map[string]any{"apiVersionInUri": "v" + n, "apiFullVersion": n + ".0.0"} }
	want := map[string]any{
		"nfInstanceId": udm.InstanceID(), "nfType": "UDM", "nfStatus": "REGISTERED", "heartBeatTimer": 0.0,
		"plmnList": []any{map[string]any{"mcc": "208", "mnc": "93"}}, "ipv4Addresses": []any{"core5g-udm"}, "capacity": 100.0,
		"nfServices": []any{service("nudm-sdm", v("2"), v("1")), service("nudm-uecm", v("1"))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
	stop()
	if a, _ := n.get(ausf); a != nil {
		t.Error("the profile is still there")
	}
}

func TestRegistrarRegistersAgain(t *testing.T) {
	for name, strict := range map[string]bool{"an NRF that answers 204 to any heart-beat": false, "an NRF that answers as specified": true} {
		t.Run(name, func(t *testing.T) {
			n, uri := newFakeNRF(t)
			n.strict = strict
			n.down = true
			start(t, uri)
			n.change(func() { n.down = false })
			registered := func() bool { a, _ := n.get(ausf); return a != nil }
			eventually(t, "registered after the NRF came up", registered)
			n.change(func() { clear(n.profiles) })
			eventually(t, "registered after the NRF forgot", registered)
			n.change(func() { n.down = true })
			n.change(func() { clear(n.profiles) })
			n.change(func() { n.down = false })
			eventually(t, "registered after the NRF was away", registered)
		})
	}
}

func TestHeartBeatsDoNotRegisterAgain(t *testing.T) {
	n, uri := newFakeNRF(t)
	n.strict = true
	start(t, uri)
	eventually(t, "registered", func() bool { a, _ := n.get(ausf); return a != nil })
	eventually(t, "ten heart-beats", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.beats >= 10
	})
	if _, puts := n.get(ausf); puts != 1 {
		t.Errorf("%d registrations, want 1", puts)
	}
}

func TestRegistrarLeavesTheProfileOfItsSuccessor(t *testing.T) {
	n, uri := newFakeNRF(t)
	stop := start(t, uri)
	eventually(t, "registered", func() bool { a, _ := n.get(ausf); return a != nil })
	n.change(func() { n.profiles[ausf.InstanceID()]["recoveryTime"] = "2099-01-01T00:00:00Z" })
	stop()
	if a, _ := n.get(ausf); a == nil {
		t.Error("the successor's profile was removed")
	}
	if u, _ := n.get(udm); u != nil {
		t.Error("the own profile was not removed")
	}
}

func TestInstanceIDsAreStableAndDistinct(t *testing.T) {
	if ausf.InstanceID() != (Function{Type: "AUSF", URI: "http://core5g-ausf:8000"}).InstanceID() {
		t.Error("the identifier of one function changes")
	}
	seen := map[string]bool{}
	for _, f := range []Function{ausf, udm, {Type: "AUSF", URI: "http://second-ausf:8000"}, {Type: "UDR", URI: ausf.URI}} {
		if seen[f.InstanceID()] {
			t.Errorf("%+v has the identifier of another", f)
		}
		seen[f.InstanceID()] = true
	}
}

func TestRunRefusesAURIThatIsNone(t *testing.T) {
	for _, uri := range []string{"", "core5g-ausf:8000", "ftp://core5g-ausf", "http://core5g-ausf:port"} {
		r := NewRegistrar("http://nrf", []Function{{Type: "AUSF", URI: uri}}, func(context.Context) ([]ts29571.PLMN, error) {
			return nil, errors.New("not reached")
		}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "write http://host:port") {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

// A shard of the SMF: its slices change while it is registered, and pods hand it on.
func TestAnSMF(t *testing.T) {
	n, uri := newFakeNRF(t)
	var mu sync.Mutex
	offers := Offers{Load: 7, Slices: []Slice{
		{ts29571.SNSSAI{SST: 1, SD: "abcdef"}, []string{"meters", "internet"}}, {ts29571.SNSSAI{SST: 1, SD: "010203"}, []string{"internet"}},
	}}
	stays := false
	priority := 3
	recovery := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	smf := Function{
		Type: "SMF", URI: "http://core5g-smf-0:8000", Services: map[string][]string{"nsmf-pdusession": {"v1"}},
		ID: "4d4a2b1e-7b1c-4a5e-9d3f-0a1b2c3d4e5f", Sets: []string{"set1.smfset.5gc.mnc093.mcc208"}, Priority: &priority, Capacity: 50, Recovery: recovery,
		Offers: func() Offers { mu.Lock(); defer mu.Unlock(); return offers },
		Stays:  func() bool { mu.Lock(); defer mu.Unlock(); return stays },
	}
	keep := func() (r *Registrar, stop func()) {
		r = NewRegistrar(uri, nil, func(context.Context) ([]ts29571.PLMN, error) { return []ts29571.PLMN{{MCC: "208", MNC: "93"}}, nil },
			slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		r.HeartBeat, r.RetryMin = time.Hour, time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Keep(ctx, smf) }()
		return r, func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	r, stop := keep()
	eventually(t, "registered", func() bool { p, _ := n.get(smf); return p != nil })
	got, _ := n.get(smf)
	slice := func(sd string, dnns ...any) map[string]any {
		list := []any{}
		for _, d := range dnns {
			list = append(list, map[string]any{"dnn": d})
		}
		return map[string]any{"sNssai": map[string]any{"sst": 1.0, "sd": sd}, "dnnSmfInfoList": list}
	}
	want := map[string]any{
		"priority": 3.0, "capacity": 50.0, "load": 7.0, "recoveryTime": "2026-11-22T12:00:00Z", "nfSetIdList": []any{"set1.smfset.5gc.mnc093.mcc208"},
		"sNssais": []any{map[string]any{"sst": 1.0, "sd": "010203"}, map[string]any{"sst": 1.0, "sd": "abcdef"}},
		"smfInfo": map[string]any{
			"accessType": []any{"3GPP_ACCESS"}, "sNssaiSmfInfoList": []any{slice("010203", "internet"), slice("abcdef", "internet", "meters")},
		},
	}
	for name := range want {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	// Far from the next heart-beat: what has changed is registered at once, and nothing where nothing has.
	mu.Lock()
	offers.Slices = offers.Slices[:1]
	mu.Unlock()
	r.Changed()
	eventually(t, "registered anew", func() bool {
		p, _ := n.get(smf)
		return cmp.Equal(p["sNssais"], []any{map[string]any{"sst": 1.0, "sd": "abcdef"}})
	})
	n.change(func() { n.strict, n.beats = true, 0 })
	r.Changed()
	eventually(t, "a heart-beat", func() bool { n.mu.Lock(); defer n.mu.Unlock(); return n.beats > 0 })
	if _, puts := n.get(smf); puts != 2 {
		t.Errorf("%d registrations, want 2", puts)
	}

	// Another pod takes the shard, and the profile stays; the last takes it along.
	mu.Lock()
	stays = true
	mu.Unlock()
	stop()
	if p, _ := n.get(smf); p == nil {
		t.Fatal("the profile went with the pod that handed the shard on")
	}
	_, stop = keep()
	eventually(t, "registered by the other", func() bool { _, puts := n.get(smf); return puts == 3 })
	mu.Lock()
	stays = false
	mu.Unlock()
	stop()
	if p, _ := n.get(smf); p != nil {
		t.Error("the profile stays behind")
	}
}

func TestAnAMF(t *testing.T) {
	plmn := ts29571.PLMN{MCC: "208", MNC: "93"}
	guami := ts29571.GUAMI{PLMN: plmn, AMFID: "cafe01"}
	amf, err := MakeAMF([]ts29571.GUAMI{guami}, []ts29571.TAI{{PLMN: plmn, TAC: "000001"}})
	if err != nil {
		t.Fatal(err)
	}
	amf.ForFailed = []ts29571.GUAMI{{PLMN: plmn, AMFID: "cafe02"}}
	f := Function{
		Type: "AMF", URI: "http://core5g-amf:8000", Services: map[string][]string{"namf-comm": {"v1"}},
		Offers: func() Offers { return Offers{AMF: amf, Slices: []Slice{{SNSSAI: ts29571.SNSSAI{SST: 1}}}} },
	}
	p, err := f.profile([]ts29571.PLMN{plmn}, time.Now(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"amfRegionId":"ca","amfSetId":"3f8","guamiList":[{"amfId":"cafe01","plmnId":{"mcc":"208","mnc":"93"}}],` +
		`"taiList":[{"plmnId":{"mcc":"208","mnc":"93"},"tac":"000001"}],"backupInfoAmfFailure":[{"amfId":"cafe02","plmnId":{"mcc":"208","mnc":"93"}}]}`
	got, err := json.Marshal(p.AMFInfo)
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	if p.SMFInfo != nil || len(p.SNSSAIs) != 1 || len(p.NFSetIDs) != 1 || p.NFSetIDs[0] != "set3f8.regionca.amfset.5gc.mnc093.mcc208" {
		t.Errorf("%+v", p)
	}
	for _, bad := range [][]ts29571.GUAMI{nil, {{PLMN: plmn, AMFID: "cafe"}}} {
		if amf, err := MakeAMF(bad, nil); err == nil {
			t.Errorf("%+v of %v", amf, bad)
		}
	}
}
