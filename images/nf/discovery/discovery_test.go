package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/nf/ts29571"
)

// fakeNRF answers what a test wants.
type fakeNRF struct {
	mu            sync.Mutex
	answers       map[string]string // by target-nf-instance-id, target-nf-set-id, or target-nf-type, the first that is there
	queries       []url.Values
	down          bool
	hold          chan struct{} // not nil: discoveries wait for it
	subscriptions map[string]map[string]any
	made          int
}

func (n *fakeNRF) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	hold := n.hold
	n.mu.Unlock()
	if hold != nil && strings.HasPrefix(r.URL.Path, "/nnrf-disc/") {
		<-hold
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch id, isSubscription := strings.CutPrefix(r.URL.Path, "/nnrf-nfm/v1/subscriptions/"); {
	case r.URL.Path == "/nnrf-disc/v1/nf-instances":
		q := r.URL.Query()
		n.queries = append(n.queries, q)
		for _, name := range []string{"target-nf-instance-id", "target-nf-set-id", "target-nf-type"} {
			if answer, ok := n.answers[q.Get(name)]; ok && q.Has(name) {
				_, _ = io.WriteString(w, answer)
				return
			}
		}
		_, _ = io.WriteString(w, `{"validityPeriod":100,"nfInstances":null}`)
	case r.URL.Path == "/nnrf-nfm/v1/subscriptions":
		var s map[string]any
		_ = json.NewDecoder(r.Body).Decode(&s)
		n.made++
		id := string(rune('a' + n.made))
		n.subscriptions[id] = s
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"subscriptionId": id, "validityTime": s["validityTime"]})
	case isSubscription && r.Method == http.MethodDelete:
		delete(n.subscriptions, id)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (n *fakeNRF) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

func (n *fakeNRF) asked() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.queries)
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func start(t *testing.T, change func(*Options)) (*Cache, *fakeNRF, *clock) {
	t.Helper()
	n := &fakeNRF{answers: map[string]string{}, subscriptions: map[string]map[string]any{}}
	server := httptest.NewUnstartedServer(n)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	transport := sbitls.Unprotected()
	transport.HTTP2 = nil // no pings: a peer that a busy machine holds up has not gone
	t.Cleanup(transport.CloseIdleConnections)
	now := &clock{now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	o := Options{
		NRF: server.URL, Type: "SMF", InstanceID: "us", Transport: transport, Now: now.time, Random: func() float64 { return .5 },
		Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	}
	if change != nil {
		change(&o)
	}
	return New(o), n, now
}

var pcf = sbi.Service{Type: "PCF", Name: "npcf-smpolicycontrol"}

// registered is a SearchResult of functions as free5GC's register, each at http://<name>:8000.
func registered(service string, names ...string) string {
	var list []string
	for _, name := range names {
		list = append(list, `{"nfInstanceId":"`+name+`","nfStatus":"REGISTERED","ipv4Addresses":["`+name+`"],"nfServices":[{"serviceName":"`+service+
			`","nfServiceStatus":"REGISTERED","scheme":"http","apiPrefix":"http://`+name+`:8000","ipEndPoints":[{"ipv4Address":"`+name+`","port":8000}]}]}`)
	}
	return `{"validityPeriod":100,"nfInstances":[` + strings.Join(list, ",") + `]}`
}

func roots(endpoints []sbi.Endpoint) string {
	var out []string
	for _, e := range endpoints {
		out = append(out, e.Root)
	}
	return strings.Join(out, " ")
}

// find looks up and compares the API roots; "" is an error.
func find(t *testing.T, c *Cache, s sbi.Service, want string) {
	t.Helper()
	got, err := c.Find(t.Context(), s)
	if roots(got) != want || (err != nil) != (want == "") {
		t.Errorf("found %q, %v, want %q", roots(got), err, want)
	}
}

func TestWhatTheNRFIsAsked(t *testing.T) {
	c, n, _ := start(t, nil)
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "pcf") })
	s := pcf
	s.SNSSAI, s.DNN, s.GUAMI = &ts29571.SNSSAI{SST: 1, SD: "010203"}, "internet", &ts29571.GUAMI{PLMN: ts29571.PLMN{MCC: "208", MNC: "93"}, AMFID: "cafe00"}
	find(t, c, s, "http://pcf:8000")
	want := url.Values{
		"target-nf-type": {"PCF"}, "requester-nf-type": {"SMF"}, "requester-nf-instance-id": {"us"}, "service-names": {"npcf-smpolicycontrol"},
		"snssais": {`[{"sst":1,"sd":"010203"}]`}, "dnn": {"internet"}, "guami": {`{"amfId":"cafe00","plmnId":{"mcc":"208","mnc":"93"}}`},
	}
	if diff := cmp.Diff(want, n.queries[0]); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
}

func TestAnswersAreRememberedAndAskedForAnew(t *testing.T) {
	c, n, now := start(t, nil)
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "first") })
	find(t, c, pcf, "http://first:8000")
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "second") })
	now.advance(59 * time.Second)
	find(t, c, pcf, "http://first:8000")
	if n.asked() != 1 {
		t.Errorf("asked %d times", n.asked())
	}
	now.advance(time.Second) // no longer than a minute, whatever the NRF allows
	find(t, c, pcf, "http://second:8000")
	n.change(func() { n.answers["PCF"] = strings.Replace(registered(pcf.Name, "third"), "100", "7", 1) })
	c.Changed("AMF")
	find(t, c, pcf, "http://second:8000")
	c.Changed("PCF")
	find(t, c, pcf, "http://third:8000")
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "fourth") })
	now.advance(7 * time.Second)
	find(t, c, pcf, "http://fourth:8000")
}

func TestTheNRFIsAway(t *testing.T) {
	c, n, now := start(t, nil)
	n.change(func() { n.down = true })
	find(t, c, pcf, "")
	n.change(func() { n.down, n.answers["PCF"] = false, registered(pcf.Name, "pcf") })
	find(t, c, pcf, "") // it is left alone for a moment
	now.advance(pause)
	find(t, c, pcf, "http://pcf:8000")
	n.change(func() { n.down = true })
	now.advance(24 * time.Hour)
	find(t, c, pcf, "http://pcf:8000")
	// While it is known to be away, nobody waits for it.
	release := make(chan struct{})
	n.change(func() { n.hold = release })
	now.advance(pause)
	impatient, cancel := context.WithTimeout(t.Context(), askLimit/4)
	defer cancel()
	if got, err := c.Find(impatient, pcf); roots(got) != "http://pcf:8000" {
		t.Errorf("found %q, %v", roots(got), err)
	}
	n.change(func() { n.hold, n.down = nil, false })
	close(release)
}

// An NRF that dies before anybody has asked has named what is needed all the same.
func TestWhatIsNeededIsLookedUpAhead(t *testing.T) {
	udm := sbi.Service{Type: "UDM", Name: "nudm-sdm"}
	c, n, now := start(t, func(o *Options) { o.Ahead = []sbi.Service{pcf, udm} })
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "pcf") })
	done := make(chan struct{})
	go func() { c.Run(t.Context()); close(done) }()
	for n.asked() < 2 { // the UDM is not there yet
		time.Sleep(time.Millisecond)
	}
	n.change(func() { n.answers["UDM"] = registered(udm.Name, "udm") })
	for ended := false; !ended; {
		now.advance(pause)
		select {
		case <-done:
			ended = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	n.change(func() { n.down = true })
	now.advance(time.Hour)
	find(t, c, udm, "http://udm:8000")
	find(t, c, pcf, "http://pcf:8000")
}

func TestAnNRFThatHasForgotten(t *testing.T) {
	c, n, now := start(t, nil)
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "pcf") })
	find(t, c, pcf, "http://pcf:8000")
	n.change(func() { delete(n.answers, "PCF") })
	now.advance(maxValidity)
	find(t, c, pcf, "http://pcf:8000")
	now.advance(pause)
	find(t, c, pcf, "")
	if _, err := c.Find(t.Context(), pcf); !errors.Is(err, ErrNobody) {
		t.Errorf("%v", err)
	}
}

func TestQuestionsForTheSameAreOne(t *testing.T) {
	c, n, _ := start(t, nil)
	release := make(chan struct{})
	n.change(func() { n.hold, n.answers["PCF"] = release, registered(pcf.Name, "pcf") })
	impatient, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := c.Find(impatient, pcf)
		first <- err
	}()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { find(t, c, pcf, "http://pcf:8000") })
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	wg.Wait()
	if n.asked() != 1 {
		t.Errorf("asked %d times", n.asked())
	}
}

func TestAnEndpointThatWasNotReachedComesLast(t *testing.T) {
	c, n, now := start(t, nil)
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "a", "b") })
	find(t, c, pcf, "http://a:8000 http://b:8000")
	c.Failed(pcf, sbi.Endpoint{Root: "http://a:8000"})
	find(t, c, pcf, "http://b:8000 http://a:8000")
	if n.asked() != 2 {
		t.Errorf("asked %d times: the entry was not dropped", n.asked())
	}
	now.advance(shunned)
	find(t, c, pcf, "http://a:8000 http://b:8000")
}

func TestInstanceAndSet(t *testing.T) {
	c, n, now := start(t, nil)
	amf := sbi.Service{Type: "AMF", Name: "namf-comm", Instance: "one", Set: "set1"}
	inSet := func(names ...string) string {
		return strings.ReplaceAll(registered(amf.Name, names...), `"nfStatus"`, `"nfSetIdList":["set1"],"nfStatus"`)
	}
	n.change(func() { n.answers["one"], n.answers["set1"] = inSet("one"), inSet("two", "one") })
	find(t, c, amf, "http://one:8000 http://two:8000")
	c.Failed(amf, sbi.Endpoint{Root: "http://one:8000"})
	find(t, c, amf, "http://two:8000 http://one:8000")
	// free5GC's NRF knows no such parameter, and names all.
	now.advance(time.Hour)
	n.change(func() { n.answers["set1"] = registered(amf.Name, "one", "stranger") })
	find(t, c, amf, "http://one:8000")
	before := n.asked()
	now.advance(pause)
	find(t, c, amf, "http://one:8000")
	if n.asked() != before {
		t.Errorf("asked %d times more", n.asked()-before)
	}
}

func TestFixedAddresses(t *testing.T) {
	c, n, _ := start(t, func(o *Options) { o.Fixed = map[string]string{"PCF": "http://policy:1"} })
	find(t, c, pcf, "http://policy:1")
	if n.asked() != 0 {
		t.Error("the NRF was asked")
	}
	c, _, _ = start(t, func(o *Options) { o.NRF = "" })
	if _, err := c.Find(t.Context(), pcf); err == nil || !strings.Contains(err.Error(), "no fixed address of a PCF") {
		t.Errorf("%v", err)
	}
}

func TestProfiles(t *testing.T) {
	service := func(more string) string {
		return `{"nfInstances":[{"nfInstanceId":"i","nfStatus":"REGISTERED","fqdn":"pcf.core","ipv4Addresses":["10.0.0.1","10.0.0.2"],"nfServices":[{"serviceName":"npcf-smpolicycontrol","nfServiceStatus":"REGISTERED"` + more + `}]}]}`
	}
	for sentence, c := range map[string]struct{ in, want string }{
		"addresses of the service":        {service(`,"scheme":"http","ipEndPoints":[{"ipv4Address":"10.0.0.9","port":8000},{"ipv6Address":"2001:db8::1"}]`), "http://10.0.0.9:8000 http://[2001:db8::1]:8000"},
		"a name with TLS":                 {service(`,"scheme":"https","ipEndPoints":[{"ipv4Address":"10.0.0.9","port":8443}]`), "https://pcf.core:8443"},
		"a name of the service":           {service(`,"scheme":"https","fqdn":"policy.core","apiPrefix":"/x/"`), "https://policy.core:443/x"},
		"a prefix":                        {service(`,"scheme":"http","apiPrefix":"x","ipEndPoints":[{"ipv4Address":"10.0.0.9","port":1}]`), "http://10.0.0.9:1/x"},
		"a name of the function":          {service(`,"scheme":"http","ipEndPoints":[{"port":8000}]`), "http://pcf.core:8000"},
		"addresses of the function":       {strings.Replace(service(`,"scheme":"http"`), `"fqdn":"pcf.core",`, "", 1), "http://10.0.0.1:80 http://10.0.0.2:80"},
		"a whole prefix, as free5GC's":    {service(`,"scheme":"http","apiPrefix":"http://core5g-pcf:8000"`), "http://core5g-pcf:8000"},
		"services by identifier":          {`{"nfInstances":[{"nfServiceList":{"1":{"serviceName":"npcf-smpolicycontrol","scheme":"http","fqdn":"a"}}}]}`, "http://a:80"},
		"a suspended function":            {strings.Replace(service(`,"scheme":"http"`), "REGISTERED", "SUSPENDED", 1), ""},
		"a suspended service":             {strings.Replace(service(`,"scheme":"http"`), `"nfServiceStatus":"REGISTERED"`, `"nfServiceStatus":"SUSPENDED"`, 1), ""},
		"another service":                 {strings.Replace(service(`,"scheme":"http"`), "smpolicycontrol", "am-policy-control", 1), ""},
		"no scheme":                       {service(``), ""},
		"a profile that is none, and one": {`{"nfInstances":[7,{"nfServices":[{"serviceName":"npcf-smpolicycontrol","scheme":"http","fqdn":"a"}]}]}`, "http://a:80"},
		"priority of service before that of function": {`{"nfInstances":[
			{"nfInstanceId":"1","priority":1,"nfServices":[{"serviceName":"npcf-smpolicycontrol","scheme":"http","fqdn":"last","priority":200}]},
			{"nfInstanceId":"2","priority":50,"nfServices":[{"serviceName":"npcf-smpolicycontrol","scheme":"http","fqdn":"first"}]},
			{"nfInstanceId":"3","nfServices":[{"serviceName":"npcf-smpolicycontrol","scheme":"http","fqdn":"middle"}]}]}`, "http://first:80 http://middle:80 http://last:80"},
		"room among equals": {`{"nfInstances":[
			{"nfInstanceId":"1","capacity":100,"load":90,"nfServices":[{"serviceName":"npcf-smpolicycontrol","scheme":"http","fqdn":"full"}]},
			{"nfInstanceId":"2","capacity":50,"nfServices":[{"serviceName":"npcf-smpolicycontrol","scheme":"http","fqdn":"half"}]},
			{"nfInstanceId":"3","capacity":0,"nfServices":[{"serviceName":"npcf-smpolicycontrol","scheme":"http","fqdn":"none"}]}]}`, "http://half:80 http://full:80 http://none:80"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, _, err := read([]byte(c.in), pcf, func() float64 { return .5 })
			if err != nil || roots(got) != c.want {
				t.Errorf("%q, %v, want %q", roots(got), err, c.want)
			}
		})
	}
	if _, _, err := read([]byte(`[]`), pcf, func() float64 { return 0 }); err == nil {
		t.Error("a list was read")
	}
}

func TestTheNRFTellsOfChanges(t *testing.T) {
	var router *sbi.Router
	callbacks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { router.ServeHTTP(w, r) }))
	t.Cleanup(callbacks.Close)
	c, n, _ := start(t, func(o *Options) { o.CallbackRoot = callbacks.URL; o.Now = time.Now })
	router = sbi.NewRouter(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	c.Register(router)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { c.Run(ctx); close(done) }()
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "first") })
	find(t, c, pcf, "http://first:8000")
	subscribed := func(made int) (s map[string]any) {
		eventually(t, "there is one subscription", func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			for _, s = range n.subscriptions {
			}
			return len(n.subscriptions) > 0 && n.made >= made
		})
		return s
	}
	s := subscribed(1)
	if s["reqNfType"] != "SMF" || !cmp.Equal(s["subscrCond"], map[string]any{"nfType": "PCF"}) {
		t.Errorf("subscription %v", s)
	}
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "second") })
	response, err := http.Post(s["nfStatusNotificationUri"].(string), "application/json", strings.NewReader(`{"event":"NF_REGISTERED","nfInstanceUri":"http://nrf/second"}`))
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
	find(t, c, pcf, "http://second:8000")

	// An NRF that was away may have forgotten whom it was to tell.
	n.change(func() { n.down = true; clear(n.subscriptions) })
	c.Changed("PCF")
	find(t, c, pcf, "http://second:8000")
	n.change(func() { n.down = false })
	eventually(t, "the NRF was asked again", func() bool {
		c.Changed("PCF")
		_, err := c.Find(t.Context(), pcf)
		c.mu.Lock()
		defer c.mu.Unlock()
		return err == nil && !c.away
	})
	subscribed(2)
	cancel()
	<-done
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.subscriptions) != 0 {
		t.Errorf("left behind: %v", n.subscriptions)
	}
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

func TestQuestionsAreBounded(t *testing.T) {
	c, n, now := start(t, nil)
	n.change(func() { n.answers["PCF"] = registered(pcf.Name, "pcf") })
	for n := range maxEntries {
		c.entries[fmt.Sprint(n)] = &entry{until: now.time().Add(time.Hour)}
	}
	find(t, c, pcf, "http://pcf:8000")
	if len(c.entries) > maxEntries {
		t.Errorf("%d entries", len(c.entries))
	}
}

func FuzzSearchResult(f *testing.F) {
	f.Add([]byte(registered(pcf.Name, "a", "b")), "")
	f.Add([]byte(`{"validityPeriod":-1,"nfInstances":[{"nfServiceList":{"1":{"serviceName":"npcf-smpolicycontrol","scheme":"https","fqdn":"a","apiPrefix":"x"}}}]}`), "i")
	f.Fuzz(func(t *testing.T, raw []byte, instance string) {
		s := pcf
		s.Instance = instance
		endpoints, validity, err := read(raw, s, func() float64 { return .5 })
		if err == nil && (validity < 0 || validity > maxValidity) {
			t.Errorf("valid for %v", validity)
		}
		for _, e := range endpoints {
			if !strings.HasPrefix(e.Root, "http") || strings.HasSuffix(e.Root, "/") {
				t.Errorf("root %q", e.Root)
			}
		}
	})
}
