package registrations

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/free5gc/sctp"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	ran "core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/nausf"
	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/nsmf"
	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/access-management/procedure"
	amfrecord "core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/terminator"
	"core5g.dev/core5g/images/access-management/worker"
	controlplane "core5g.dev/core5g/images/control-plane"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	smfamf "core5g.dev/core5g/images/session-management/namf"
	smfapi "core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/shard"
	"core5g.dev/core5g/images/signalling"
	subscriberdata "core5g.dev/core5g/images/subscriber-data"
	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	upfmetrics "core5g.dev/core5g/upf/upfc/metrics"
)

// patience bounds what is awaited.
const patience = 60 * time.Second

// repeat is when UEs say again what nobody has answered: 15 s and more in life.
const repeat = 3 * time.Second

const (
	key = "8baf473f2f8fd09487cccbd7097c6862"
	opc = "8e27b6af0e692e750f32667a3b14605d"

	nodeID = "upf.test"
	// amfHost is the AMF's Service: whoever calls it comes to a worker that lives. dataHost is that of AUSF and UDM.
	amfHost    = "core5g-amf.core5g.svc"
	dataHost   = "core5g-udm.core5g.svc"
	shardCount = 4
)

// slice of most stories, and one without SD.
var (
	slice = uenas.SNSSAI{SST: 1, SD: [3]byte{1, 2, 3}, HasSD: true}
	bare  = uenas.SNSSAI{SST: 1}
	// emergency services have a slice that nobody has subscribed to.
	emergencies = uenas.SNSSAI{SST: 9}
)

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		pod.Main("control-plane", controlplane.ParseConfig, controlplane.Run)
	}
	if err := os.Setenv(sctp.TransportEnv, "udp"); err != nil {
		panic(err)
	}
	if err := flag.Set("test.parallel", "4"); err != nil { // stories wait more than they work
		panic(err)
	}
	os.Exit(m.Run())
}

// story is everything that takes part. Stories go on side by side, each with a network 127.x.<number>.0 of its own, where x is the process's.
type story struct {
	t      *testing.T
	number byte
	ctx    context.Context
	cancel func()
	stores stores
	loss   gnb.LossMode
	joins  bool               // gNBs do, at the addresses of terminators that they are told of
	store  sessionstore.Store // as who looks on has it
	sealer *sessionstore.Sealer
	upfu   *fakeupfu.UPFU
	data   *httptest.Server // AUSF and UDM
	smf    *httptest.Server
	// refuse answers a request in the place of the SMF, and says whether it has.
	refuse atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	// beforeAUSF is called before an AUSF is asked.
	beforeAUSF atomic.Pointer[func()]
	smfTracer  *signalling.Tracer
	upfc       *agent.Agent
	client     *http.Transport
	file       string // of the subscribers

	gnbs []*gnb.GNB
	n3s  []*gtpu.Endpoint
	area *gnb.Area

	mu          sync.Mutex
	workers     []*amfWorker // that the AMF's Service leads to
	listening   []*amfWorker // those, and the ones that are being drained
	terminators []*n2Terminator
	born        int
	settings    *procedure.Settings
	wg          sync.WaitGroup
}

var told atomic.Uint32

func (s *story) loopback(host int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(128 + os.Getpid()%120), s.number, byte(host)})
}

// root of a Service, as long as in a cluster.
func root(host string) string { return "http://" + host + ":8000" }

// stores are session stores: each gives a pod its own. Without data, that of subscriber data is its process's.
type stores struct{ amf, smf, data func() sessionstore.Store }

// inMemory is what lasts as long as the story.
func inMemory() stores {
	of := func(x sessionstore.Store) func() sessionstore.Store { return func() sessionstore.Store { return x } }
	return stores{amf: of(memory.New(time.Now)), smf: of(memory.New(time.Now))}
}

// begin a story with one worker, one terminator and two gNBs.
func begin(t *testing.T, step ...func(*amfWorker, string)) *story {
	t.Helper()
	t.Parallel()
	return beginOn(t, inMemory(), gnb.Keep, 2*time.Minute, step...)
}

// beginOn those stores, with gNBs that do this when they lose N2, for so long at most.
func beginOn(t *testing.T, of stores, loss gnb.LossMode, most time.Duration, step ...func(*amfWorker, string)) *story {
	t.Helper()
	s := newStory(t, most)
	s.stores, s.store, s.loss = of, of.amf(), loss
	s.startData()
	s.startSMF()
	s.startTerminator()
	s.startWorker(step...)
	s.startAccess()
	return s
}

// newStory with nobody in it yet, for so long at most.
func newStory(t *testing.T, most time.Duration) *story {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	s := &story{t: t, number: byte(told.Add(1)), ctx: ctx, cancel: cancel, client: &http.Transport{}, smfTracer: signalling.New(time.Now)}
	s.client.DialContext = s.dial
	var err error
	if s.sealer, err = sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)}); err != nil {
		t.Fatal(err)
	}
	internet := amfrecord.Slice{SST: slice.SST, SD: &slice.SD}
	s.settings = &procedure.Settings{
		Name: "AMF", Region: 2, Set: 1, Pointer: 0, Capacity: 255, PLMNs: []procedure.PLMN{{PLMN: "20893", Slices: []amfrecord.Slice{internet, {SST: bare.SST}, {SST: emergencies.SST}}}},
		Emergency: &procedure.Emergency{Slice: amfrecord.Slice{SST: emergencies.SST}, DNN: "sos"},
		Integrity: []uint8{2, 1}, Ciphering: []uint8{2, 1}, Periodic: 54 * time.Minute, FullName: "core5g",
	}
	t.Cleanup(func() {
		cancel()
		for _, n3 := range s.n3s {
			_ = n3.Close()
		}
		s.wg.Wait()
		s.client.CloseIdleConnections()
	})
	return s
}

// startAccess has two gNBs connect to the AMF.
func (s *story) startAccess() {
	s.t.Helper()
	for n := range 2 {
		s.startGNB(n)
	}
	s.area = gnb.NewArea(s.gnbs...)
	for _, g := range s.gnbs {
		s.wg.Go(func() { g.Run(s.ctx) })
	}
	s.connects()
}

// connects waits until both gNBs are connected.
func (s *story) connects() {
	s.t.Helper()
	s.until("gNBs and AMF", func() bool {
		return s.gnbs[0].Status().State == "connected" && s.gnbs[1].Status().State == "connected"
	})
}

// dial by name.
func (s *story) dial(ctx context.Context, network, address string) (net.Conn, error) {
	switch host, _, _ := net.SplitHostPort(address); host {
	case dataHost:
		address = s.data.Listener.Addr().String()
	case amfHost:
		list := s.living()
		if len(list) == 0 {
			return nil, errors.New("no AMF lives")
		}
		address = list[0].server.Listener.Addr().String()
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func supi(n int) string { return fmt.Sprintf("imsi-20893000000000%d", n) }

func logger() *slog.Logger {
	if os.Getenv("RAN_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(slog.DiscardHandler)
}

// writer is the test's log until the test ends: the UDM goes on to notify for half a minute, and who logs behind the end of a test ends all of them.
type writer struct {
	mu sync.Mutex
	t  *testing.T // nil: it has ended
}

func newWriter(t *testing.T) *writer {
	w := &writer{t: t}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.t = nil
	})
	return w
}

func (w *writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Logf("%s %s", time.Now().Format("05.000"), strings.TrimSpace(string(b)))
	}
	return len(b), nil
}

func (s *story) log(pod string) *slog.Logger {
	return slog.New(slog.NewTextHandler(newWriter(s.t), &slog.HandlerOptions{Level: slog.LevelDebug})).With("pod", pod)
}

// says whether a request's body has that text in it, which is read nonetheless.
func says(r *http.Request, text string) bool {
	content, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(content))
	return err == nil && bytes.Contains(content, []byte(text))
}

// until a condition holds.
func (s *story) until(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not in time", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// ---- subscriber data ---------------------------------------------------------------------------

func (s *story) startData() {
	s.t.Helper()
	s.writeSubscribers()
	s.serveData(func(objects subscription.Objects) subscription.Objects { return objects })
}

// serveData of the file, with what there is beside it.
func (s *story) serveData(beside func(subscription.Objects) subscription.Objects) {
	s.t.Helper()
	objects, err := subscription.OpenFile(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wg.Go(func() { _ = objects.Watch(s.ctx, s.log("subscriber-data")) })
	kept := records.InMemory()
	if s.stores.data != nil {
		kept = records.New(s.stores.data(), s.sealer, "subscriber-data")
	}
	s.data = httptest.NewServer(subscriberdata.NewHandler(subscriberdata.Parts{
		Directory: subscription.NewDirectory(beside(objects)), Records: kept, Now: time.Now, Sequences: aka.NewSequences(time.Now, 0, nil), Callbacks: s.client, Withdraw: true,
		Log: s.log("subscriber-data"), Registry: prometheus.NewRegistry(),
	}))
	s.t.Cleanup(s.data.Close)
}

// writeSubscribers into the file that they are read from.
func (s *story) writeSubscribers() {
	s.t.Helper()
	var text strings.Builder
	text.WriteString(`
apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec: {plmns: [{mcc: "208", mnc: "93"}], tacs: ["000001", "000002"], sliceCatalogue: [{sst: 1, sd: "010203"}, {sst: 1}]}
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: internet}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks: [{dnn: internet, uePools: [10.45.0.0/16]}]
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: bare}
spec:
  snssai: {sst: 1}
  dataNetworks: [{dnn: internet, uePools: [10.46.0.0/16]}]
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {k: ` + key + `, opc: ` + opc + `}
`)
	for n := range 9 {
		text.WriteString(object(n + 1))
	}
	s.file = filepath.Join(s.t.TempDir(), "subscribers.yaml")
	if err := os.WriteFile(s.file, []byte(text.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// object is the Subscriber of the n-th UE.
func object(n int) string {
	return fmt.Sprintf("---\napiVersion: core5g.dev/v1alpha1\nkind: Subscriber\nmetadata: {name: ue%d}\n"+
		"spec: {supi: %s, authentication: {secretRef: {name: keys}}, slices: [{name: internet, default: true}, {name: bare}]}\n", n, supi(n))
}

// ---- SMF and UPF -------------------------------------------------------------------------------

// finder knows where functions are.
type finder struct{ s *story }

func (f finder) Find(_ context.Context, service sbi.Service) ([]sbi.Endpoint, error) {
	switch service.Type {
	case "AUSF", "UDM":
		if f := f.s.beforeAUSF.Load(); f != nil && service.Type == "AUSF" {
			(*f)()
		}
		return []sbi.Endpoint{{Root: root(dataHost)}}, nil
	case "SMF":
		return []sbi.Endpoint{{Root: f.s.smf.URL, Instance: smfInstance}}, nil
	case "AMF":
		return []sbi.Endpoint{{Root: root(amfHost)}}, nil
	}
	return nil, errors.New("nobody serves " + service.Type)
}
func (finder) Failed(sbi.Service, sbi.Endpoint) {}

const (
	smfInstance = "7f5c3c4e-0000-4000-8000-000000000001"
	amfInstance = "7f5c3c4e-0000-4000-8000-0000000000af"
)

// startUPF gives the address of its N4.
func (s *story) startUPF() netip.AddrPort {
	s.t.Helper()
	socket := filepath.Join(s.t.TempDir(), "upf.sock")
	var err error
	if s.upfu, err = fakeupfu.Start(socket); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.upfu.Kill)
	return s.startAgent(socket)
}

func (s *story) startSMF() {
	s.t.Helper()
	unit := s.startUPF()
	network := func(dnn, core, pool string) []configuration.DataNetwork {
		return []configuration.DataNetwork{{
			DNN: dnn, Core: core, Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9,
			ARP: configuration.ARP{Priority: 8}, MTU: 1400,
			Units: []configuration.Serving{{NodeID: nodeID, Pools: []netip.Prefix{netip.MustParsePrefix(pool)}}},
		}}
	}
	snapshot, err := configuration.New([]configuration.Slice{
		{Name: "internet", SST: 1, SD: &slice.SD, DataNetworks: network("internet", "internet", "10.45.0.0/24")},
		{Name: "bare", SST: 1, DataNetworks: network("internet", "bare", "10.46.0.0/24")},
		{Name: "emergencies", SST: emergencies.SST, DataNetworks: network("sos", "sos", "10.47.0.0/24")},
	}, []configuration.Unit{{NodeID: nodeID, Address: unit}})
	if err != nil {
		s.t.Fatal(err)
	}
	id := shard.Identity{
		Number: 1, Name: "smf/1", InstanceID: smfInstance, URI: "http://smf.test", NodeID: "smf.test", Address: s.loopback(9),
		N4: netip.AddrPortFrom(s.loopback(9), 8805),
	}
	pod, err := shard.New(shard.Options{
		Log: s.log("smf"), Holder: "smf", Set: "smf", Store: s.stores.smf(), Sealer: s.sealer, Registry: prometheus.NewRegistry(), Shards: []shard.Identity{id},
		AMF: smfamf.NewClient(sbi.NewClient(s.client, finder{s}, prometheus.NewRegistry())), Tracer: s.smfTracer,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	pod.Configure(snapshot)
	handler := pod.Handler(id, s.log("smf"), prometheus.NewRegistry(), smfapi.Options{})
	s.smf = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if refuse := s.refuse.Load(); refuse == nil || !(*refuse)(out, r) {
			handler.ServeHTTP(out, r)
		}
	}))
	s.t.Cleanup(s.smf.Close)
	s.wg.Go(func() { pod.Run(s.ctx) })
	s.until("the SMF, and its unit", func() bool { return pod.Ready() == nil && len(s.upfc.Status().Associations) > 0 })
}

func (s *story) startAgent(socket string) netip.AddrPort {
	s.t.Helper()
	address := s.loopback(1).String()
	c, err := config.Parse([]byte(`
nodeID: ` + nodeID + `
pfcp: {listen: "` + address + `:8805", advertise: ` + address + `, dataplaneWait: 10s, controlPlaneSubnets: [127.0.0.0/8]}
heartbeat: {interval: 500ms}
n3: {endpoints: [172.30.3.16/28]}
namedPools: true
dataplane: {socket: "` + socket + `"}
`))
	if err != nil {
		s.t.Fatal(err)
	}
	a := agent.New(c, slog.New(slog.DiscardHandler), upfmetrics.NewRecorder(prometheus.NewRegistry()))
	s.upfc = a
	served, failed := make(chan netip.AddrPort, 1), make(chan error, 1)
	s.wg.Go(func() { failed <- a.Run(s.ctx) })
	go func() { served <- a.Addr() }()
	select {
	case address := <-served:
		return address
	case err := <-failed:
		s.t.Fatalf("upf-c: %v", err)
		return netip.AddrPort{}
	}
}

// ---- N2 terminators ----------------------------------------------------------------------------

type n2Terminator struct {
	name    string
	n2      string // where gNBs come
	workers net.Listener
	linger  time.Duration // at its end
	kill    func()
}

// startTerminator as another one, or as the next life of a pod.
func (s *story) startTerminator() *n2Terminator {
	s.t.Helper()
	s.mu.Lock()
	s.born++
	x := &n2Terminator{name: fmt.Sprintf("n2-0/%d", s.born)}
	s.mu.Unlock()
	s.serveN2(x, &sctp.SCTPAddr{IPAddrs: []net.IPAddr{{IP: net.IPv4(127, 0, 0, 1)}}})
	return x
}

// portOfNGAP is the one that goes without saying.
const portOfNGAP = 38412

// startTerminatorAt an address of its own, as a pod of that name.
func (s *story) startTerminatorAt(pod string, host int) *n2Terminator {
	s.t.Helper()
	s.mu.Lock()
	s.born++
	x := &n2Terminator{name: fmt.Sprintf("%s/%d", pod, s.born), linger: patience}
	s.mu.Unlock()
	s.serveN2(x, &sctp.SCTPAddr{IPAddrs: []net.IPAddr{{IP: s.loopback(host).AsSlice()}}, Port: portOfNGAP})
	return x
}

// serveN2 at an address.
func (s *story) serveN2(x *n2Terminator, at *sctp.SCTPAddr) {
	s.t.Helper()
	listener, err := (&sctp.SocketConfig{}).Listen("sctp", at)
	if err != nil {
		s.t.Fatal(err)
	}
	x.n2 = net.JoinHostPort(at.IPAddrs[0].String(), fmt.Sprint(listener.Addr().(*sctp.SCTPAddr).Port))
	if x.workers, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server := &terminator.Server{
		N2: listener, Workers: x.workers, Config: terminator.Config{Name: x.name, Shards: shardCount, Set: s.settings.Set}, Log: s.log(x.name),
		Metrics: prometheus.NewRegistry(), Linger: x.linger,
	}
	go func() { ended <- server.Run(ctx) }()
	x.kill = sync.OnceFunc(func() {
		s.mu.Lock()
		s.terminators = slices.DeleteFunc(s.terminators, func(o *n2Terminator) bool { return o == x })
		s.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("%s: %v", x.name, err)
		}
	})
	s.t.Cleanup(func() {
		if x.linger > 0 {
			s.cancel() // its gNBs end
		}
		x.kill()
	})
	s.mu.Lock()
	s.terminators = append(s.terminators, x)
	s.mu.Unlock()
}

// dialN2 is how gNBs connect: to a terminator that lives, or at the address that they were told.
func (s *story) dialN2(ctx context.Context, address string) (ran.Conn, error) {
	if _, err := netip.ParseAddrPort(address); err == nil {
		return ran.DialSCTP(ctx, address)
	}
	s.mu.Lock()
	if len(s.terminators) == 0 {
		s.mu.Unlock()
		return nil, errors.New("no terminator lives")
	}
	at := s.terminators[len(s.terminators)-1].n2
	s.mu.Unlock()
	return ran.DialSCTP(ctx, at)
}

// ---- AMF workers -------------------------------------------------------------------------------

type amfWorker struct {
	*worker.Pod
	name     string
	server   *httptest.Server
	registry *prometheus.Registry
	dead     atomic.Bool
	// refuse answers a request in the place of the worker, and says whether it has.
	refuse atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	// kill it without a word; drain ends it as Kubernetes does.
	kill, drain func()

	mu    sync.Mutex
	cut   bool
	links map[net.Conn]bool // to terminators
}

// mortal is a store as a worker has it: one that has died asks nothing any more. step is told of each write of a UE, before and after.
type mortal struct {
	sessionstore.Store
	w    *amfWorker
	step func(*amfWorker, string)
}

// The moments of a write.
const (
	before = "before"
	after  = "after"
)

func (m mortal) Commit(ctx context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	at := func(moment string) {
		if m.step != nil && amfrecord.IsKey(c.Key) {
			m.step(m.w, moment)
		}
	}
	at(before)
	if m.w.dead.Load() {
		return context.Canceled
	}
	err := m.Store.Commit(ctx, l, c)
	at(after)
	if m.w.dead.Load() {
		return context.Canceled
	}
	return err
}

func (m mortal) Renew(ctx context.Context, l sessionstore.Lease, ttl time.Duration) (sessionstore.Lease, error) {
	if m.w.dead.Load() {
		return l, context.Canceled
	}
	return m.Store.Renew(ctx, l, ttl)
}

func (m mortal) Release(ctx context.Context, l sessionstore.Lease) error {
	if m.w.dead.Load() {
		return nil // as it believes
	}
	return m.Store.Release(ctx, l)
}

func (s *story) living() []*amfWorker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.workers)
}

func (s *story) addresses(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, x := range s.terminators {
		out = append(out, x.workers.Addr().String())
	}
	return out, nil
}

// dial a terminator, by a connection that can be cut.
func (w *amfWorker) dial(ctx context.Context, address string) (net.Conn, error) {
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut {
		return nil, errors.New("the network is cut")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[conn] = true
	return conn, nil
}

// cutLinks to terminators, until they are mended.
func (w *amfWorker) cutLinks(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for conn := range w.links {
		_ = conn.Close()
		delete(w.links, conn)
	}
}

// startWorker has another worker begin. step, where it is not nil, is told of each of its writes.
func (s *story) startWorker(step ...func(*amfWorker, string)) *amfWorker {
	s.t.Helper()
	s.mu.Lock()
	s.born++
	w := &amfWorker{name: fmt.Sprint("amf-", s.born), links: map[net.Conn]bool{}, registry: prometheus.NewRegistry()}
	s.mu.Unlock()
	var handler atomic.Pointer[http.Handler]
	w.server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if h := handler.Load(); h != nil && !w.dead.Load() {
			if refuse := w.refuse.Load(); refuse == nil || !(*refuse)(out, r) {
				(*h).ServeHTTP(out, r)
			}
			return
		}
		panic(http.ErrAbortHandler) // as a dead one: the connection ends
	}))
	store := mortal{Store: s.stores.amf(), w: w}
	if len(step) > 0 {
		store.step = step[0]
	}
	transport := &http.Transport{}
	client := sbi.NewClient(s.client, finder{s}, prometheus.NewRegistry())
	var err error
	w.Pod, err = worker.New(worker.Options{
		Log: s.log(w.name), Holder: w.name, Set: "amf", Shards: shardCount, Store: store, Sealer: s.sealer, InstanceID: amfInstance, URI: root(amfHost),
		AUSF: nausf.NewClient(client), UDM: nudm.NewClient(client), SMF: nsmf.NewClient(client), Callbacks: namf.NewClient(client), PCF: npcf.NewClient(client),
		Registry: w.registry, Terminators: s.addresses, Dial: w.dial, Tracer: signalling.New(time.Now),
		Passing: worker.Passing{Transport: transport, Root: func(holder string) string {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, other := range s.listening {
				if other.name == holder {
					return other.server.URL
				}
			}
			return "http://127.0.0.1:1" // nobody listens
		}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	h := w.Handler()
	handler.Store(&h)
	w.Configure(s.settings)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { w.Run(ctx); close(ended) }()
	leave := func(lists ...*[]*amfWorker) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, list := range lists {
			*list = slices.DeleteFunc(*list, func(o *amfWorker) bool { return o == w })
		}
	}
	w.kill = sync.OnceFunc(func() {
		w.dead.Store(true)
		leave(&s.workers, &s.listening)
		w.cutLinks(true)
		_ = w.server.Listener.Close()
		w.server.CloseClientConnections()
		cancel()
	})
	w.drain = sync.OnceFunc(func() {
		leave(&s.workers)
		cancel()
		<-ended
		leave(&s.listening)
		w.server.Close()
	})
	s.t.Cleanup(func() {
		w.kill()
		select {
		case <-ended:
		case <-time.After(patience):
			s.t.Errorf("%s does not end", w.name)
		}
		transport.CloseIdleConnections()
	})
	s.mu.Lock()
	s.workers, s.listening = append(s.workers, w), append(s.listening, w)
	s.mu.Unlock()
	s.until("the AMF worker", func() bool { return w.Ready() == nil })
	return w
}

// kept is the AMF's record of a UE; nil: there is none.
func (s *story) kept(n int) *amfrecord.UE {
	s.t.Helper()
	found, err := s.store.Read(s.ctx, amfrecord.Key(supi(n)))
	if errors.Is(err, sessionstore.ErrNotFound) {
		return nil
	}
	octets, openErr := s.sealer.Open(found.Key, found.Value)
	rec, decodeErr := amfrecord.Decode(octets)
	if err = errors.Join(err, openErr, decodeErr); err != nil {
		s.t.Fatal(err)
	}
	return rec
}

// holder of a UE's shard; nil: nobody for the moment.
func (s *story) holder(n int) *amfWorker {
	rec := s.kept(n)
	for _, w := range s.living() {
		if rec != nil && w.Holds(rec.Shard) {
			return w
		}
	}
	return nil
}

// connected says whether the packets of all sessions go to access networks.
func (s *story) connected() bool {
	for _, x := range s.upfu.Sessions() {
		if !slices.ContainsFunc(x.FARs, func(f abi.Far) bool { return f.DestinationInterface == abi.IfAccess && uint32(f.Action) == abi.FarForw }) {
			return false
		}
	}
	return true
}

// waiting PDRs of sessions whose UEs are idle, by session.
func (s *story) waiting() map[uint32]uint16 {
	out := map[uint32]uint16{}
	for index, x := range s.upfu.Sessions() {
		for _, p := range x.PDRs {
			if x.FARs[p.Far].Action&abi.FarNocp != 0 {
				out[index] = p.PdrId
			}
		}
	}
	return out
}

// buffers is how many sessions wait for their UEs.
func (s *story) buffers() int { return len(s.waiting()) }

// packet for each UE that is idle comes to the UPF.
func (s *story) packet() {
	for index, pdr := range s.waiting() {
		if err := s.upfu.DownlinkData(index, pdr, 1); err != nil {
			s.t.Error(err)
		}
	}
}

// subscribers are others from now on.
func (s *story) subscribers(change func(string) string) {
	s.t.Helper()
	text, err := os.ReadFile(s.file)
	if err == nil {
		err = os.WriteFile(s.file+".new", []byte(change(string(text))), 0o600)
	}
	if err == nil {
		err = os.Rename(s.file+".new", s.file)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// ---- gNBs and UEs ------------------------------------------------------------------------------

func (s *story) startGNB(n int) {
	s.t.Helper()
	s.startGNBAt(n, "amf:38412")
}

// startGNBAt an AMF of that address.
func (s *story) startGNBAt(n int, amf string) {
	s.t.Helper()
	n3, err := gtpu.Listen(s.loopback(100+n), logger())
	if err != nil {
		s.t.Skip(err)
	}
	s.n3s = append(s.n3s, n3)
	s.wg.Go(func() { _ = n3.Serve() })
	s.gnbs = append(s.gnbs, gnb.New(gnb.Config{
		Name: []string{"one", "two"}[n], ID: uint32(n + 1), MCC: "208", MNC: "93", TAC: [3]byte{0, 0, byte(n + 1)}, Slices: []uenas.SNSSAI{slice, bare, emergencies},
		AMF: []string{amf}, MinBackoff: 5 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
		ReleaseAfter: 300 * time.Millisecond, HoldLimit: time.Second, OnLoss: s.loss, Joins: s.joins, Strict: true,
	}, s.dialN2, n3, n3.Address().As4(), logger().With("gnb", n+1)))
}

// phone is a UE.
type phone struct {
	*ue.UE
	s *story
	n int
}

// switchOn the n-th UE at the first gNB. Once it is registered it has one session.
func (s *story) switchOn(n int, change ...func(*ue.Config)) *phone {
	s.t.Helper()
	k, err := usim.ParseKey128(key)
	if err != nil {
		s.t.Fatal(err)
	}
	op, err := usim.ParseKey128(opc)
	if err != nil {
		s.t.Fatal(err)
	}
	null, err := usim.ParseHomeNetworkKey(usim.NullScheme, 0, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	c := ue.Config{
		HomeKey: null, SUPI: supi(n), MCC: "208", MNC: "93", K: k, OPc: op, IMEISV: "4370816125816151", Routing: "0", Requested: []uenas.SNSSAI{slice},
		Sessions: []ue.SessionConfig{{PSI: 1, Slice: slice, DNN: "internet"}}, Autostart: true, Recover: true,
		Timers: ue.Timers{
			MinRetry: 5 * time.Millisecond, MaxRetry: 20 * time.Millisecond, T3510: repeat, T3517: repeat, T3580: repeat,
		},
	}
	for _, f := range change {
		f(&c)
	}
	p := &phone{UE: ue.New(c, s.gnbs[0], s.n3s[0], logger()), s: s, n: n}
	s.wg.Go(func() { p.Run(s.ctx) })
	s.gnbs[0].Add(p.UE)
	return p
}

// attach a UE, with its session.
func (s *story) attach(n int) *phone {
	s.t.Helper()
	p := s.switchOn(n)
	p.ready()
	s.until("the UPF to send to the access network", s.connected)
	return p
}

func (p *phone) must(err error) {
	p.s.t.Helper()
	if err != nil {
		p.s.t.Fatalf("%v\nstatus: %+v", err, p.Status())
	}
}

func (p *phone) wait(what string, want func(ue.Status) bool) ue.Status {
	p.s.t.Helper()
	ctx, cancel := context.WithTimeout(p.s.ctx, patience)
	defer cancel()
	if err := p.Wait(ctx, want); err != nil {
		p.s.t.Fatalf("%s: %v\nstatus: %+v", what, err, p.Status())
	}
	return p.Status()
}

func (p *phone) ready() ue.Status {
	p.s.t.Helper()
	return p.wait("the UE's session", func(x ue.Status) bool { return x.State == "registered" && x.Ready && x.Procedure == "" })
}

// paged is a UE that has come at its first paging, with all it wants.
func (p *phone) paged() ue.Status {
	p.s.t.Helper()
	return p.wait("paging", func(x ue.Status) bool {
		return x.Counters.Pagings == 1 && x.Ready && x.CM == "connected" && x.Procedure == ""
	})
}
