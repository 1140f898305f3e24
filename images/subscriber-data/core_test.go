package subscriberdata

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/subscriber-data/aka/akatest"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

const (
	testK   = "8baf473f2f8fd09487cccbd7097c6862"
	testOPc = "8e27b6af0e692e750f32667a3b14605d"
	testSNN = "5G:mnc093.mcc208.3gppnetwork.org"
	// supiOne has both slices, supiTwo only the first, supiThree keys that cannot be read.
	supiOne   = "imsi-208930000000001"
	supiTwo   = "imsi-208930000000002"
	supiThree = "imsi-208930000000003"
	namespace = "core5g"
)

func makeSecret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func makeSlice(name, sd string, networks ...v1alpha1.DataNetwork) *v1alpha1.Slice {
	return &v1alpha1.Slice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       v1alpha1.SliceSpec{SNSSAI: v1alpha1.SNSSAI{SST: 1, SD: sd}, DataNetworks: networks},
	}
}

func makeSubscriber(supi string, slices ...v1alpha1.SubscribedSlice) *v1alpha1.Subscriber {
	name := strings.TrimPrefix(supi, "imsi-")
	return &v1alpha1.Subscriber{
		ObjectMeta: metav1.ObjectMeta{Name: "ue-" + name, Namespace: namespace},
		Spec: v1alpha1.SubscriberSpec{
			SUPI:           supi,
			Authentication: v1alpha1.Authentication{SecretRef: v1alpha1.SecretReference{Name: "keys-" + name}, AMF: "8000"},
			Slices:         slices,
		},
	}
}

// defaultObjects are a core with two slices in its catalogue and one outside, and three subscribers.
func defaultObjects() []client.Object {
	first := makeSubscriber(supiOne, v1alpha1.SubscribedSlice{Name: "internet"}, v1alpha1.SubscribedSlice{Name: "iot", DNNs: []v1alpha1.DNN{"meters", "internet"}})
	first.Spec.GPSI = "msisdn-33612345678"
	first.Spec.AMBR = v1alpha1.AMBR{Uplink: "100 Mbps", Downlink: "200 Mbps"}
	return []client.Object{
		&v1alpha1.Core5G{
			ObjectMeta: metav1.ObjectMeta{Name: "core5g", Namespace: namespace},
			Spec: v1alpha1.Core5GSpec{
				PLMNs:          []v1alpha1.PLMN{{MCC: "208", MNC: "93"}},
				TACs:           []v1alpha1.TAC{"000001"},
				SliceCatalogue: []v1alpha1.SNSSAI{{SST: 1, SD: "010203"}, {SST: 1, SD: "ABCDEF"}},
				HomeNetworkKeys: []v1alpha1.HomeNetworkKey{
					{ID: 1, Profile: "A", SecretRef: v1alpha1.SecretKeyReference{Name: "home-network"}},
					{ID: 2, Profile: "B", SecretRef: v1alpha1.SecretKeyReference{Name: "home-network", Key: "b"}},
				},
			},
		},
		makeSlice("internet", "010203", v1alpha1.DataNetwork{DNN: "internet", UEPools: []v1alpha1.CIDR{"10.45.0.0/16"}}),
		makeSlice("iot", "ABCDEF",
			v1alpha1.DataNetwork{
				DNN: "internet", UEPools: []v1alpha1.CIDR{"10.46.0.0/16"}, FiveQI: 7,
				AMBR: v1alpha1.AMBR{Uplink: "1 Mbps", Downlink: "2 Mbps"},
				ARP:  v1alpha1.ARP{PriorityLevel: 3, PreemptionCapability: v1alpha1.MayPreempt, PreemptionVulnerability: v1alpha1.Preemptable},
			},
			v1alpha1.DataNetwork{DNN: "meters", UEPools: []v1alpha1.CIDR{"10.47.0.0/16", "2001:db8::/48"}},
			v1alpha1.DataNetwork{DNN: "operators", UEPools: []v1alpha1.CIDR{"10.48.0.0/16"}},
		),
		makeSlice("private", "990099", v1alpha1.DataNetwork{DNN: "internet", UEPools: []v1alpha1.CIDR{"10.49.0.0/16"}}),
		first,
		makeSubscriber(supiTwo, v1alpha1.SubscribedSlice{Name: "internet"}, v1alpha1.SubscribedSlice{Name: "not-there-yet"}),
		makeSubscriber(supiThree, v1alpha1.SubscribedSlice{Name: "internet"}),
		makeSecret("keys-208930000000001", map[string]string{"k": testK, "opc": testOPc}),
		makeSecret("keys-208930000000002", map[string]string{"k": "465b5ce8b199b49faa5f0a2ee238a6bc", "op": "cdc202d5123e20f62b6d676ac72cb318"}),
		makeSecret("keys-208930000000003", map[string]string{"k": "0396eb317b6d1c36f19c1c84cd6ffd1", "opc": testOPc}),
		makeSecret("home-network", map[string]string{
			"privateKey": "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d",
			"b":          "F1AB1074477EBCC7F554EA1C5FC368B1616730155E0041AC447D6301975FECDA",
		}),
	}
}

// testCore is the four functions on a fake cluster, reachable over HTTP/2.
type testCore struct {
	t       *testing.T
	objects client.Client
	// subscribers and slices tell of changes of objects, which a test has made before.
	subscribers, slices controllertest.FakeInformer
	functions           *Functions
	registry            *prometheus.Registry
	log                 *lockedBuffer
	uri                 string
	http                *http.Client

	mu  sync.Mutex
	now time.Time
}

// lockedBuffer collects a log that several goroutines write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func startCore(t *testing.T, objects ...client.Object) *testCore {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return startCoreOn(t, fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&v1alpha1.Subscriber{}, subscription.SUPIIndex, subscription.IndexSUPI).Build())
}

// startCoreOn is another process on the objects.
func startCoreOn(t *testing.T, objects client.Client) *testCore {
	t.Helper()
	return startReplica(t, objects, func(*Parts) {})
}

// startReplica is another process on the objects, made of other parts.
func startReplica(t *testing.T, objects client.Client, alter func(*Parts)) *testCore {
	t.Helper()
	c := &testCore{
		t: t, registry: prometheus.NewRegistry(), log: new(lockedBuffer),
		now: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC), objects: objects,
	}
	cluster := subscription.NewCluster(c.objects, c.objects, namespace, "core5g")
	if err := errors.Join(cluster.Follow(&c.subscribers), cluster.FollowShared(&c.slices)); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	reservation := &reservation{api: c.objects, core: cluster.Core5G, namespace: namespace, name: "core5g-sequence-numbers"}
	sequences, err := openSequences(t.Context(), reservation, false, c.time, log)
	if err != nil {
		t.Fatal(err)
	}
	parts := Parts{
		Directory: subscription.NewDirectory(cluster), NRF: "http://core5g-nrf:8000", Now: c.time, Sequences: sequences,
		Callbacks: sbitls.Unprotected(), Withdraw: true, Log: log, Registry: c.registry,
	}
	alter(&parts)
	c.functions = New(parts)
	handler := c.functions.Handler

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- sbi.Serve(ctx, listener, handler) }()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	c.http = &http.Client{Transport: transport}
	c.uri = "http://" + listener.Addr().String()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *testCore) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testCore) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type reply struct {
	status   int
	location string
	kind     string // content type
	body     []byte
}

func (r reply) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
}

// cause is the cause of problem details.
func (r reply) cause(t *testing.T) string {
	t.Helper()
	var p sbi.Problem
	r.into(t, &p)
	if p.Status != r.status || r.kind != "application/problem+json" {
		t.Errorf("status %d, content type %q, problem %+v", r.status, r.kind, p)
	}
	return p.Cause
}

func (c *testCore) do(method, path, body string) reply {
	c.t.Helper()
	req, err := http.NewRequest(method, c.uri+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.ProtoMajor != 2 {
		c.t.Errorf("HTTP/%d, want HTTP/2", resp.ProtoMajor)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header.Get("Location"), resp.Header.Get("Content-Type"), raw}
}

// expect sends a request and compares status and cause; no cause means that the answer is no problem.
func (c *testCore) expect(method, path, body string, wantStatus int, wantCause string) reply {
	c.t.Helper()
	r := c.do(method, path, body)
	if r.status != wantStatus {
		c.t.Errorf("%s %s %s: status %d, want %d: %s", method, path, body, r.status, wantStatus, r.body)
	} else if wantCause != "" {
		if got := r.cause(c.t); got != wantCause {
			c.t.Errorf("%s %s %s: cause %s, want %s: %s", method, path, body, got, wantCause, r.body)
		}
	}
	return r
}

// challenge is an answer to ue-authentications.
type challenge struct {
	rand, autn [16]byte
	confirm    string
}

func (c *testCore) authenticate(identity, extra string) (challenge, reply) {
	c.t.Helper()
	r := c.do("POST", "/nausf-auth/v1/ue-authentications",
		`{"supiOrSuci":"`+identity+`","servingNetworkName":"`+testSNN+`"`+extra+`}`)
	var ch challenge
	if r.status != http.StatusCreated {
		return ch, r
	}
	var wire struct {
		AuthType string `json:"authType"`
		AuthData struct {
			RAND, AUTN, HxresStar string
		} `json:"5gAuthData"`
		Links map[string][]struct{ Href string } `json:"_links"`
	}
	r.into(c.t, &wire)
	if wire.AuthType != "5G_AKA" || len(wire.Links["5g-aka"]) != 1 {
		c.t.Fatalf("unexpected answer: %s", r.body)
	}
	ch.rand = [16]byte(mustHex(c.t, wire.AuthData.RAND))
	ch.autn = [16]byte(mustHex(c.t, wire.AuthData.AUTN))
	link, err := url.Parse(wire.Links["5g-aka"][0].Href)
	if err != nil {
		c.t.Fatal(err)
	}
	ch.confirm = link.Path
	return ch, r
}

func mustHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func usimOf(t *testing.T, k, opc string) *akatest.USIM {
	t.Helper()
	u := &akatest.USIM{K: [16]byte(mustHex(t, k)), OPc: [16]byte(mustHex(t, opc))}
	// It was used a minute before the test's clock begins.
	for i := range u.SEQ {
		u.SEQ[i] = uint64(time.Date(2026, 11, 21, 5, 59, 0, 0, time.UTC).UnixNano()) / uint64(100*time.Millisecond)
	}
	return u
}

// until something holds.
func (c *testCore) until(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s: not in time", what)
		}
	}
}
