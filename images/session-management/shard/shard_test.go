package shard

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	upfmetrics "core5g.dev/core5g/upf/upfc/metrics"

	"github.com/prometheus/client_golang/prometheus"
)

// patience bounds what is awaited.
const patience = 2 * time.Minute

// rig is pods, a store, upf-c as it ships over a stand-in for upf-u, and an AMF.
type rig struct {
	t      *testing.T
	store  sessionstore.Store
	sealer *sessionstore.Sealer
	upfu   *fakeupfu.UPFU
	n4     netip.AddrPort
	amf    *amf
	config *configuration.Snapshot
	dnn    string // that sessions are created for
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, store: memory.New(time.Now), amf: newAMF(t), dnn: "internet"}
	var err error
	if r.sealer, err = sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)}); err != nil {
		t.Fatal(err)
	}
	r.unit()
	r.config, err = configuration.New([]configuration.Slice{{Name: "internet", SST: 1, SD: &[3]byte{1, 2, 3}, DataNetworks: []configuration.DataNetwork{{
		DNN: "internet", Core: "internet", Types: []n1.SessionType{n1.IPv4, n1.IPv6, n1.IPv4v6}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9,
		ARP: configuration.ARP{Priority: 8}, MTU: 1400,
		Units: []configuration.Serving{{NodeID: "upf.test", Pools: []netip.Prefix{netip.MustParsePrefix("10.45.0.0/24"), netip.MustParsePrefix("2001:db8:45::/56")}}},
	}}}}, []configuration.Unit{{NodeID: "upf.test", Address: r.n4}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) unit() { r.upfu, r.n4 = r.unitAt("upf.test", "127.77.1.1", "172.30.3.16/28") }

// unitAt an address is another UPF.
func (r *rig) unitAt(node, address, n3 string) (*fakeupfu.UPFU, netip.AddrPort) {
	return r.unitOf(node, address, n3, "namedPools: true")
}

// unitWithout pools of UE addresses: it does not choose any.
func (r *rig) unitWithout(node, address string) netip.AddrPort {
	_, at := r.unitOf(node, address, "172.30.5.16/28", "")
	return at
}

func (r *rig) unitOf(node, address, n3, pools string) (*fakeupfu.UPFU, netip.AddrPort) {
	r.t.Helper()
	socket := filepath.Join(r.t.TempDir(), "upf.sock")
	upfu, err := fakeupfu.Start(socket)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(upfu.Kill)
	c, err := config.Parse([]byte(`
nodeID: ` + node + `
pfcp: {listen: "` + address + `:0", advertise: ` + address + `, dataplaneWait: 10s, controlPlaneSubnets: [127.0.0.0/8]}
heartbeat: {interval: 0s}
n3: {endpoints: [` + n3 + `]}
` + pools + `
dataplane: {socket: ` + socket + `}
`))
	if err != nil {
		r.t.Fatal(err)
	}
	a := agent.New(c, logTo(r.t).With("pod", "upf-c"), upfmetrics.NewRecorder(prometheus.NewRegistry()))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("upf-c: %v", err)
		}
	})
	return upfu, a.Addr()
}

// start a pod, and have it killed with the test or by the function that is returned.
func (r *rig) start(holder string, with ...func(*Options)) (p *Pod, kill func()) {
	r.t.Helper()
	client := sbi.NewClient(http.DefaultTransport, r.amf, prometheus.NewRegistry())
	o := Options{
		Log: logTo(r.t).With("pod", holder), Holder: holder, Set: "smf", Store: r.store, Sealer: r.sealer, AMF: namf.NewClient(client),
		Registry: prometheus.NewRegistry(),
		Shards: []Identity{{
			Number: 1, Name: "smf-1", InstanceID: "7f5c3c4e-0000-4000-8000-000000000001", URI: "http://smf-1:8000", NodeID: "smf-1.test",
			Address: netip.MustParseAddr("127.77.1.9"), N4: netip.MustParseAddrPort("127.77.1.9:0"),
		}},
	}
	for _, f := range with {
		f(&o)
	}
	p, err := New(o)
	if err != nil {
		r.t.Fatal(err)
	}
	p.Configure(r.config)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	kill = sync.OnceFunc(func() { cancel(); <-ended })
	r.t.Cleanup(kill)
	return p, kill
}

// testWriter is the test's log until the test ends: the UDM goes on to notify for half a minute, and who logs behind the end of a test ends all of them.
type testWriter struct {
	mu sync.Mutex
	t  *testing.T // nil: it has ended
}

func logTo(t *testing.T) *slog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.t = nil
	})
	return slog.New(slog.NewTextHandler(w, nil))
}

func (w *testWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Logf("%s", strings.TrimSpace(string(b)))
	}
	return len(b), nil
}

// amf is the AMF's half of the SBI.
type amf struct {
	server *httptest.Server
	mu     sync.Mutex
	came   []transfer
	ended  int
	more   chan struct{}
}

type transfer struct {
	n1, n2 []byte
	kind   string
}

func newAMF(t *testing.T) *amf {
	a := &amf{more: make(chan struct{}, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /namf-comm/v1/ue-contexts/{supi}/n1-n2-messages", func(w http.ResponseWriter, r *http.Request) {
		x, err := readTransfer(r)
		if err != nil {
			t.Errorf("a transfer that cannot be read: %v", err)
		}
		a.mu.Lock()
		a.came = append(a.came, x)
		a.mu.Unlock()
		a.more <- struct{}{}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"cause":"N1_N2_TRANSFER_INITIATED"}`)
	})
	mux.HandleFunc("POST /status", func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		a.ended++
		a.mu.Unlock()
		a.more <- struct{}{}
		w.WriteHeader(http.StatusNoContent)
	})
	a.server = httptest.NewServer(mux)
	t.Cleanup(a.server.Close)
	return a
}

func readTransfer(r *http.Request) (transfer, error) {
	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return transfer{}, err
	}
	var x transfer
	parts := multipart.NewReader(r.Body, parameters["boundary"])
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return x, nil
		}
		if err != nil {
			return x, err
		}
		b, err := io.ReadAll(part)
		if err != nil {
			return x, err
		}
		switch kind := part.Header.Get("Content-Type"); {
		case strings.Contains(kind, "json"):
			var m struct {
				N2InfoContainer struct {
					SmInfo struct{ N2InfoContent struct{ NgapIeType string } }
				}
			}
			if err := json.Unmarshal(b, &m); err != nil {
				return x, err
			}
			x.kind = m.N2InfoContainer.SmInfo.N2InfoContent.NgapIeType
		case strings.Contains(kind, "5gnas"):
			x.n1 = b
		default:
			x.n2 = b
		}
	}
}

// Find and Failed: the AMF is the only function that there is.
func (a *amf) Find(context.Context, sbi.Service) ([]sbi.Endpoint, error) {
	return []sbi.Endpoint{{Root: a.server.URL}}, nil
}
func (a *amf) Failed(sbi.Service, sbi.Endpoint) {}

// next transfer.
func (a *amf) next(t *testing.T) transfer {
	t.Helper()
	deadline := time.After(patience)
	for {
		a.mu.Lock()
		if len(a.came) > 0 {
			x := a.came[0]
			a.came = a.came[1:]
			a.mu.Unlock()
			return x
		}
		a.mu.Unlock()
		select {
		case <-a.more:
		case <-deadline:
			t.Fatal("the AMF was given nothing")
		}
	}
}

// again asks until a pod holds the shard and answers.
func again[T any](t *testing.T, f func(context.Context) (T, error)) T {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		out, err := f(ctx)
		cancel()
		if err == nil {
			return out
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // as an AMF does
	}
}

func (r *rig) create(p *Pod, supi string, kind n1.SessionType) string {
	r.t.Helper()
	made := again(r.t, func(ctx context.Context) (*nsmf.Created, error) {
		return p.Requests("smf-1").Create(ctx, r.wanted(supi, kind))
	})
	return made.Ref
}

// wanted is the request for a session.
func (r *rig) wanted(supi string, kind n1.SessionType) *nsmf.Create {
	slice := ts29571.MakeSNSSAI(1, "010203")
	return &nsmf.Create{
		SUPI: supi, SessionID: 1, DNN: r.dnn, SNSSAI: &slice,
		AMF: nsmf.AMF{InstanceID: "amf", ServingNetwork: ts29571.PLMN{MCC: "208", MNC: "93"}, StatusURI: r.amf.server.URL + "/status"},
		N1:  []byte{0x2e, 1, 7, byte(n1.EstablishmentRequestType), 0xff, 0xff, 0x90 | byte(kind)},
	}
}

func (r *rig) tunnel(p *Pod, ref string, teid uint32) {
	r.t.Helper()
	b, err := (&n2.SetupResponse{Downlink: n2.FlowTunnel{
		Tunnel: record.Tunnel{TEID: teid, IPv4: netip.MustParseAddr("172.30.3.100")}, Flows: []n2.AssociatedFlow{{QFI: 1}},
	}}).Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	u := again(r.t, func(ctx context.Context) (*nsmf.Updated, error) {
		return p.Requests("smf-1").Update(ctx, ref, &nsmf.Update{N2: b, N2Type: nsmf.SetupResponse})
	})
	if u.UpCnxState != nsmf.Activated {
		r.t.Errorf("with a tunnel the connection is %q", u.UpCnxState)
	}
}

// downlink is where upf-u sends the session's packets.
func (r *rig) downlink() (action uint32, teid uint32) {
	for _, s := range r.upfu.Sessions() {
		for _, f := range s.FARs {
			if f.DestinationInterface == abi.IfAccess {
				return uint32(f.Action), f.Teid
			}
		}
	}
	return 0, 0
}

// A session is made, its pod ends, and the next one goes on with it: nobody hears of it.
func TestASessionOutlivesItsPod(t *testing.T) {
	r := newRig(t)
	first, end := r.start("pod-1")
	ref := r.create(first, "imsi-208930000000001", n1.IPv4v6)
	accept := r.amf.next(t)
	if accept.n1[3] != byte(n1.EstablishmentAcceptType) || accept.kind != string(n2.InfoSetupRequest) {
		t.Fatalf("the AMF was given N1 %x, N2 %s", accept.n1, accept.kind)
	}
	r.tunnel(first, ref, 0x100)
	if action, teid := r.downlink(); action != abi.FarForw || teid != 0x100 {
		t.Errorf("downlink packets: action %#x, TEID %#x", action, teid)
	}
	end()

	second, _ := r.start("pod-2")
	u := again(t, func(ctx context.Context) (*nsmf.Updated, error) {
		return second.Requests("smf-1").Update(ctx, ref, &nsmf.Update{UpCnxState: nsmf.Deactivated})
	})
	if u.UpCnxState != nsmf.Deactivated {
		t.Errorf("the connection is %q", u.UpCnxState)
	}
	if action, _ := r.downlink(); action != abi.FarBuff|abi.FarNocp {
		t.Errorf("downlink packets: action %#x, want the buffer and a word", action)
	}
	again(t, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, second.Requests("smf-1").Release(ctx, ref, &nsmf.Release{})
	})
	if n := len(r.upfu.Sessions()); n != 0 {
		t.Errorf("%d sessions are left in upf-u", n)
	}
}
