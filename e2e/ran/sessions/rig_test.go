package sessions

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/configuration/cluster"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/shard"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	upfmetrics "core5g.dev/core5g/upf/upfc/metrics"
)

// commandTime is T3591 and T3592 of these stories, in which UEs answer within milliseconds or not at all.
const commandTime = 400 * time.Millisecond

// patience bounds what is awaited: a session that the UPF made for a pod which died is found after half a minute.
const patience = 60 * time.Second

const (
	key = "8baf473f2f8fd09487cccbd7097c6862"
	opc = "8e27b6af0e692e750f32667a3b14605d"

	nodeID    = "upf.test"
	shardName = "smf-1"
)

var (
	slice1 = uenas.SNSSAI{SST: 1, SD: [3]byte{1, 2, 3}, HasSD: true}
	slice2 = uenas.SNSSAI{SST: 1, SD: [3]byte{0x11, 0x22, 0x33}, HasSD: true}
)

// story is everything that takes part. Stories go on side by side, each with a network 127.79.<number>.0 of its own.
type story struct {
	t      *testing.T
	number byte
	unit   netip.AddrPort // N4
	ctx    context.Context
	store  sessionstore.Store
	sealer *sessionstore.Sealer
	amf    *fakeamf.AMF
	root   string // of the AMF
	slices func() []configuration.Slice
	// objects that the configuration is made from in place of slices; nil: there are none.
	objects func() cluster.Objects
	good    cluster.Good
	// outside: units reach shards at an address of their own, and at no other. They do not follow to where requests come from.
	outside bool
	// byAddress: the unit's Node ID is its address, as the operator makes it.
	byAddress bool
	plane     plane

	gnbs []*gnb.GNB
	n3s  []*gtpu.Endpoint
	area *gnb.Area

	mu   sync.Mutex
	pods []*pod
	born int // pods so far
	wg   sync.WaitGroup
}

// plane is the user plane, and where GTP-U is.
type plane interface {
	// start gives upf-c's N4 address.
	start(s *story) netip.AddrPort
	// listen opens the GTP-U socket of the n-th gNB.
	listen(s *story, n int) (*gtpu.Endpoint, error)
}

var stories atomic.Uint32

func (s *story) loopback(host int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 79, s.number, byte(host)})
}

// begin a story with one pod and two gNBs. Its UEs come by attach.
func begin(t *testing.T, p plane) *story {
	t.Helper()
	if _, shown := p.(*shown); shown {
		t.Parallel() // upf-u has a core of its own, and there are few
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	s := &story{t: t, number: byte(stories.Add(1)), ctx: ctx, plane: p, store: memory.New(time.Now), slices: slices}
	var err error
	if s.sealer, err = sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)}); err != nil {
		t.Fatal(err)
	}
	subscribers := map[string]*fakeamf.Subscriber{}
	for n := range 9 {
		subscribers[supi(n+1)] = &fakeamf.Subscriber{K: key, OPc: opc, SQN: 1 << 20}
	}
	t.Cleanup(func() {
		cancel()
		for _, n3 := range s.n3s {
			_ = n3.Close()
		}
		s.wg.Wait()
	})
	s.unit = p.start(s)
	s.amf = fakeamf.New(t, netip.MustParseAddr("172.30.3.16"), subscribers)
	s.root = s.amf.UseSMF(fakeamf.SMF{Roots: s.roots, T3513: 300 * time.Millisecond})
	s.startPod()
	for n := range 2 {
		s.startGNB(n)
	}
	s.area = gnb.NewArea(s.gnbs...)
	for _, g := range s.gnbs {
		s.wg.Go(func() { g.Run(ctx) })
	}
	s.amf.WaitTrace("NG Setup Request", 2)
	s.until("gNBs and SMF", func() bool {
		return s.gnbs[0].Status().State == "connected" && s.gnbs[1].Status().State == "connected" && s.ready()
	})
	return s
}

func supi(n int) string { return fmt.Sprintf("20893000000000%d", n) }

func logger() *slog.Logger {
	if os.Getenv("RAN_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(slog.DiscardHandler)
}

func (s *story) startGNB(n int) {
	s.t.Helper()
	n3, err := s.plane.listen(s, n)
	if err != nil {
		s.t.Skip(err)
	}
	s.n3s = append(s.n3s, n3)
	s.wg.Go(func() { _ = n3.Serve() })
	s.gnbs = append(s.gnbs, gnb.New(gnb.Config{
		Name: []string{"one", "two"}[n], ID: uint32(n + 1), MCC: "208", MNC: "93", TAC: [3]byte{0, 0, byte(n + 1)}, Slices: []uenas.SNSSAI{slice1, slice2},
		AMF: []string{"amf:38412"}, MinBackoff: 5 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
		ReleaseAfter: 300 * time.Millisecond, HoldLimit: time.Second,
	}, s.amf.Dial, n3, n3.Address().As4(), logger()))
}

// slices that there are at first.
func slices() []configuration.Slice {
	number := 0
	network := func(dnn string, types ...n1.SessionType) configuration.DataNetwork {
		serving := []configuration.Serving{{NodeID: nodeID, Pools: []netip.Prefix{
			netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 45, byte(number * 64)}), 18),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0x0d, 0xb8, 0, 0x45, 0, byte(number * 64)}), 58),
		}}}
		number++
		return configuration.DataNetwork{
			DNN: dnn, Types: types, Core: "internet", AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9, ARP: configuration.ARP{Priority: 8},
			DNS: []netip.Addr{netip.MustParseAddr("8.8.8.8")}, MTU: 1400, Units: serving,
		}
	}
	return []configuration.Slice{
		{Name: "one", SST: 1, SD: &slice1.SD, DataNetworks: []configuration.DataNetwork{
			network("internet", n1.IPv4, n1.IPv6, n1.IPv4v6), network("only4", n1.IPv4), network("only6", n1.IPv6),
			{DNN: "lan", Types: []n1.SessionType{n1.Ethernet}, Core: "lan", AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9, ARP: configuration.ARP{Priority: 8}, Units: []configuration.Serving{{NodeID: nodeID}}},
			{DNN: "nowhere", Types: []n1.SessionType{n1.IPv4}, Core: "internet", AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9, ARP: configuration.ARP{Priority: 8}},
		}},
		{Name: "two", SST: 1, SD: &slice2.SD, DataNetworks: []configuration.DataNetwork{network("internet", n1.IPv4)}},
	}
}

// configure all pods by change of the slices.
func (s *story) configure(change func([]configuration.Slice)) {
	s.t.Helper()
	before := s.slices
	s.slices = func() []configuration.Slice { l := before(); change(l); return l }
	for _, p := range s.living() {
		p.Configure(s.snapshot())
	}
}

func (s *story) snapshot() *configuration.Snapshot {
	s.t.Helper()
	if s.objects != nil {
		c, refusals := cluster.Build(s.objects(), &s.good)
		if len(refusals) > 0 {
			s.t.Fatal(refusals)
		}
		return c
	}
	c, err := configuration.New(s.slices(), []configuration.Unit{{NodeID: nodeID, Address: s.unit}})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// pod of the SMF.
type pod struct {
	*shard.Pod
	server *httptest.Server
	dead   atomic.Bool
	kill   func()
	number int
}

// mortal is a store as a pod has it: one that has died asks nothing any more.
type mortal struct {
	sessionstore.Store
	dead *atomic.Bool
}

func (m mortal) Commit(ctx context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	if m.dead.Load() {
		return context.Canceled
	}
	return m.Store.Commit(ctx, l, c)
}

func (m mortal) Renew(ctx context.Context, l sessionstore.Lease, ttl time.Duration) (sessionstore.Lease, error) {
	if m.dead.Load() {
		return l, context.Canceled
	}
	return m.Store.Renew(ctx, l, ttl)
}

func (m mortal) Release(ctx context.Context, l sessionstore.Lease) error {
	if m.dead.Load() {
		return context.Canceled
	}
	return m.Store.Release(ctx, l)
}

func (s *story) living() []*pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*pod(nil), s.pods...)
}

func (s *story) roots() []string {
	var out []string
	for _, p := range s.living() {
		out = append(out, p.server.URL)
	}
	return out
}

func (s *story) ready() bool {
	for _, p := range s.living() {
		if p.Held(shardName) != nil {
			return true
		}
	}
	return false
}

// finder knows one AMF.
type finder struct{ root string }

func (f finder) Find(context.Context, sbi.Service) ([]sbi.Endpoint, error) {
	return []sbi.Endpoint{{Root: f.root}}, nil
}
func (finder) Failed(sbi.Service, sbi.Endpoint) {}

// startPod has another pod begin, which takes what nobody holds.
func (s *story) startPod() *pod {
	s.t.Helper()
	s.mu.Lock()
	s.born++
	number := s.born
	s.mu.Unlock()
	p := &pod{number: number}
	var handler atomic.Pointer[http.Handler]
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := handler.Load(); h != nil && !p.dead.Load() {
			(*h).ServeHTTP(w, r)
			return
		}
		panic(http.ErrAbortHandler) // as a dead one: the connection ends
	}))
	address := s.loopback(10 + number)
	holder := fmt.Sprint("smf-", number)
	id := shard.Identity{
		Number: 1, Name: shardName, InstanceID: "7f5c3c4e-0000-4000-8000-000000000001", URI: "http://smf-1:8000", NodeID: "smf-1.test",
		Address: address, N4: netip.AddrPortFrom(address, 8805),
	}
	if s.outside {
		id.Outside, id.Address = address, s.loopback(250)
		id.NodeID = id.Address.String()
	}
	log := slog.New(slog.NewTextHandler(newWriter(s.t), nil)).With("pod", holder)
	transport := &http.Transport{}
	var err error
	p.Pod, err = shard.New(shard.Options{
		Log: log, Holder: holder, Set: "smf", Store: mortal{s.store, &p.dead}, Sealer: s.sealer,
		AMF:      namf.NewClient(sbi.NewClient(transport, finder{s.root}, prometheus.NewRegistry())),
		Registry: prometheus.NewRegistry(), Shards: []shard.Identity{id}, CommandTime: commandTime,
		Passing: shard.Passing{Transport: transport, Root: func(holder string, _ shard.Identity) string {
			for _, other := range s.living() {
				if fmt.Sprint("smf-", other.number) == holder {
					return other.server.URL
				}
			}
			return "http://127.0.0.1:1" // nobody listens
		}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	h := p.Handler(id, log, prometheus.NewRegistry(), nsmf.Options{})
	handler.Store(&h)
	p.Configure(s.snapshot())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	p.kill = sync.OnceFunc(func() {
		p.dead.Store(true)
		s.mu.Lock()
		for i, other := range s.pods {
			if other == p {
				s.pods = append(append([]*pod(nil), s.pods[:i]...), s.pods[i+1:]...)
			}
		}
		s.mu.Unlock()
		_ = p.server.Listener.Close()
		p.server.CloseClientConnections()
		cancel()
		<-ended
		transport.CloseIdleConnections()
	})
	s.t.Cleanup(p.kill)
	s.mu.Lock()
	s.pods = append(s.pods, p)
	s.mu.Unlock()
	return p
}

// writer is the test's log until the test ends: who logs behind the end of a test ends all of them.
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
		w.t.Logf("%s", strings.TrimSpace(string(b)))
	}
	return len(b), nil
}

// phone is a UE.
type phone struct {
	*ue.UE
	s    *story
	supi string
}

// attach the n-th UE at the first gNB, with the sessions that it is to have.
func (s *story) attach(n int, sessions ...ue.SessionConfig) *phone {
	s.t.Helper()
	p := s.switchOn(n, nil, sessions...)
	p.ready()
	return p
}

func (s *story) switchOn(n int, change func(*ue.Config), sessions ...ue.SessionConfig) *phone {
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
		HomeKey: null,
		SUPI:    "imsi-" + supi(n), MCC: "208", MNC: "93", K: k, OPc: op, IMEISV: "4370816125816151", Routing: "0", Requested: []uenas.SNSSAI{slice1, slice2},
		Sessions: sessions, Autostart: true, Recover: true, Timers: ue.Timers{MinRetry: 5 * time.Millisecond, MaxRetry: 20 * time.Millisecond},
	}
	if change != nil {
		change(&c)
	}
	p := &phone{UE: ue.New(c, s.gnbs[0], s.n3s[0], logger()), s: s, supi: supi(n)}
	s.wg.Go(func() { p.Run(s.ctx) })
	s.gnbs[0].Add(p.UE)
	return p
}

func internet(psi uint8) ue.SessionConfig {
	return ue.SessionConfig{PSI: psi, Slice: slice1, DNN: "internet"}
}

func (p *phone) must(err error) {
	p.s.t.Helper()
	if err != nil {
		p.s.t.Fatalf("%v\ntrace: %s\nstatus: %+v", err, strings.Join(p.s.amf.Trace(), "; "), p.Status())
	}
}

func (p *phone) wait(what string, want func(ue.Status) bool) ue.Status {
	p.s.t.Helper()
	p.s.until(what, func() bool { return want(p.Status()) })
	return p.Status()
}

func (p *phone) ready() ue.Status {
	p.s.t.Helper()
	return p.wait("the UE's sessions", func(x ue.Status) bool { return x.State == "registered" && x.Ready })
}

// session of the UE as it sees it.
func (p *phone) session(psi uint8) ue.SessionStatus {
	for _, x := range p.Status().Sessions {
		if x.ID == psi {
			return x
		}
	}
	return ue.SessionStatus{}
}

// until a condition holds.
func (s *story) until(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not in time\ntrace: %s", what, strings.Join(s.amf.Trace(), "; "))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// count of what the AMF has noted.
func (s *story) count(what string) int {
	n := 0
	for _, x := range s.amf.Trace() {
		if strings.Contains(x, what) {
			n++
		}
	}
	return n
}

// shown is a user plane that takes rules and forwards nothing.
type shown struct {
	t    *testing.T
	upfu *fakeupfu.UPFU
}

func (p *shown) listen(s *story, n int) (*gtpu.Endpoint, error) {
	return gtpu.Listen(s.loopback(100+n), logger())
}

func (p *shown) start(s *story) netip.AddrPort {
	p.t = s.t
	socket := filepath.Join(s.t.TempDir(), "upf.sock")
	var err error
	if p.upfu, err = fakeupfu.Start(socket); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(p.upfu.Kill)
	address, _ := startAgent(s, socket, "", "172.30.3.16/28")
	return address
}

// startAgent is upf-c, as it ships, at the same address in each of its lives.
func startAgent(s *story, socket, state, endpoints string) (netip.AddrPort, func()) {
	t := s.t
	t.Helper()
	address := s.loopback(1).String()
	subnets := "[127.0.0.0/8]"
	if s.outside {
		subnets = "[]"
	}
	name := nodeID
	if s.byAddress {
		name = address
	}
	text := `
nodeID: ` + name + `
pfcp: {listen: "` + address + `:8805", advertise: ` + address + `, dataplaneWait: 10s, controlPlaneSubnets: ` + subnets + `}
heartbeat: {interval: 500ms}
n3: {endpoints: [` + endpoints + `]}
namedPools: true
dataplane: {socket: "` + socket + `"}
`
	if state != "" {
		text += "state: {file: \"" + state + "\"}\n"
	} else {
		text += "gtpu: {echo: {interval: 0s}}\n" // the stand-in of upf-u sends none, and gNBs would be taken for dead
	}
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("UPF_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(newWriter(t), nil))
	}
	registry := prometheus.NewRegistry()
	a := agent.New(c, log, upfmetrics.NewRecorder(registry))
	upfmetrics.Register(registry, a)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	kill := sync.OnceFunc(func() {
		if t.Failed() {
			logDrops(t, registry)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("upf-c: %v", err)
		}
	})
	t.Cleanup(kill)
	served := make(chan netip.AddrPort, 1)
	go func() { served <- a.Addr() }()
	select {
	case unit := <-served:
		return unit, kill
	case err := <-ended:
		ended <- nil
		t.Fatalf("upf-c: %v", err)
		return netip.AddrPort{}, nil
	}
}

// logDrops tells what upf-u has dropped, and why.
func logDrops(t *testing.T, registry *prometheus.Registry) {
	families, err := registry.Gather()
	if err != nil {
		t.Log(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if strings.Contains(f.GetName(), "drop") && m.GetCounter().GetValue() > 0 {
				t.Logf("%s%v", f.GetName(), m)
			}
		}
	}
}
