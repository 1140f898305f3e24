package ran_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/free5gc/ngap/ngapType"
	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
)

const (
	testSUPI = "208930000000001"
	testK    = "8baf473f2f8fd09487cccbd7097c6862"
	testOPc  = "8e27b6af0e692e750f32667a3b14605d"
)

var (
	slice1 = uenas.SNSSAI{SST: 1, SD: [3]byte{1, 2, 3}, HasSD: true}
	slice2 = uenas.SNSSAI{SST: 1, SD: [3]byte{0x11, 0x22, 0x33}, HasSD: true}
)

// memoryN3 is an N3 without sockets: it keeps the tunnels, and what was sent.
type memoryN3 struct {
	mu      sync.Mutex
	next    uint32
	tunnels map[uint32]*gtpu.Tunnel
	sent    chan sentPacket
}

type sentPacket struct {
	teid    uint32
	qfi     uint8
	payload string
}

func newMemoryN3() *memoryN3 {
	return &memoryN3{tunnels: map[uint32]*gtpu.Tunnel{}, sent: make(chan sentPacket, 1000)}
}

func (m *memoryN3) Open(t *gtpu.Tunnel) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	t.LocalTEID = m.next
	m.tunnels[m.next] = t
}

func (m *memoryN3) Replace(old, t *gtpu.Tunnel) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tunnels[old.LocalTEID] = t
}

func (m *memoryN3) Remove(t *gtpu.Tunnel) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tunnels, t.LocalTEID)
}

func (m *memoryN3) Send(t *gtpu.Tunnel, qfi uint8, b []byte) error {
	m.sent <- sentPacket{t.PeerTEID, qfi, string(b[gtpu.HeaderLen:])}
	return nil
}

func (m *memoryN3) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.tunnels)
}

// bench is a gNB with one UE in front of the fake AMF.
type bench struct {
	t   *testing.T
	amf *fakeamf.AMF
	gnb *gnb.GNB
	ue  *ue.UE
	n3  *memoryN3
	ctx context.Context
}

func testConfig(t *testing.T) ue.Config {
	t.Helper()
	k, err := usim.ParseKey128(testK)
	if err != nil {
		t.Fatal(err)
	}
	opc, err := usim.ParseKey128(testOPc)
	if err != nil {
		t.Fatal(err)
	}
	null, err := usim.ParseHomeNetworkKey(usim.NullScheme, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ue.Config{
		SUPI: "imsi-" + testSUPI, MCC: "208", MNC: "93", K: k, OPc: opc, IMEISV: "4370816125816151", HomeKey: null, Routing: "0",
		Sessions: []ue.SessionConfig{{PSI: 1, Slice: slice1, DNN: "internet"}}, Autostart: true, Recover: true,
		Timers: ue.Timers{MinRetry: 5 * time.Millisecond, MaxRetry: 20 * time.Millisecond},
	}
}

func logger() *slog.Logger {
	if os.Getenv("RAN_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(slog.DiscardHandler)
}

// start brings a bench up; knobs are set before the gNB dials.
func start(t *testing.T, knobs fakeamf.Knobs, change func(*ue.Config)) *bench {
	t.Helper()
	return startWith(t, knobs, change, func(*gnb.Config) {})
}

func startWith(t *testing.T, knobs fakeamf.Knobs, change func(*ue.Config), radio func(*gnb.Config)) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	b := &bench{t: t, ctx: ctx, n3: newMemoryN3()}
	b.amf = fakeamf.New(t, netip.MustParseAddr("172.30.3.16"), map[string]*fakeamf.Subscriber{testSUPI: {K: testK, OPc: testOPc, SQN: 1 << 20}})
	b.amf.Set(knobs)
	cfg := testConfig(t)
	if change != nil {
		change(&cfg)
	}
	c := gnb.Config{
		Name: "gnb", ID: 1, MCC: "208", MNC: "93", TAC: [3]byte{0, 0, 1}, Slices: []uenas.SNSSAI{slice1, slice2},
		AMF: []string{"amf:38412"}, MinBackoff: 5 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
	}
	radio(&c)
	b.gnb = gnb.New(c, b.amf.Dial, b.n3, [4]byte{172, 30, 3, 100}, logger())
	b.ue = ue.New(cfg, b.gnb, b.n3, logger())
	var wg sync.WaitGroup
	wg.Go(func() { b.gnb.Run(ctx) })
	wg.Go(func() { b.ue.Run(ctx) })
	b.gnb.Add(b.ue)
	t.Cleanup(func() { cancel(); wg.Wait() })
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%v\ntrace: %s\nstatus: %+v", err, strings.Join(b.amf.Trace(), "; "), b.ue.Status())
	}
}

func (b *bench) wait(what string, want func(ue.Status) bool) ue.Status {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := b.ue.Wait(ctx, want); err != nil {
		b.t.Fatalf("waiting for %s: %v\ntrace: %s\nstatus: %+v", what, err, strings.Join(b.amf.Trace(), "; "), b.ue.Status())
	}
	return b.ue.Status()
}

func (b *bench) ready() ue.Status {
	b.t.Helper()
	return b.wait("readiness", func(s ue.Status) bool { return s.State == "registered" && s.Ready })
}

func TestAttach(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	s := b.ready()
	b.amf.WaitTrace("Configuration Update Complete", 1)
	b.amf.WaitTrace("session 1 up", 1)
	got := b.amf.Trace()
	// Configuration update and session run side by side: the order of their ends is open.
	slices.Sort(got[6:])
	want := []string{
		"NG Setup Request", "Registration Request", "Authentication Response", "Security Mode Complete",
		"Initial Context Setup Response", "Registration Complete",
		"Configuration Update Complete", "PDU Session Establishment Request", "session 1 up",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages at the AMF (-want +got):\n%s", d)
	}
	core, _ := b.amf.Session(testSUPI, 1)
	if s.Address != core.Address.String() || s.Slice != "1-010203" || s.Sessions[0].MTU != 1360 || s.Sessions[0].QFI != 1 || !cmp.Equal(s.Sessions[0].DNS, []string{"8.8.8.8"}) {
		t.Errorf("session: %+v", s.Sessions[0])
	}
	if core.DNN != "internet" || core.GNB.String() != "172.30.3.100" || core.Slice != [4]byte{1, 1, 2, 3} {
		t.Errorf("the core's session: %+v", core)
	}
	if s.Integrity != "NIA2" || s.Ciphering != "NEA0" || !cmp.Equal(s.Allowed, []string{"1-010203"}) {
		t.Errorf("status: %+v", s)
	}
	if g := b.gnb.Status(); g.State != "connected" || g.AMFName != "fake" || !cmp.Equal(g.AMFSlices, []string{"1-010203", "1-112233"}) || g.Connected != 1 {
		t.Errorf("gNB: %+v", g)
	}

	b.must(b.ue.SendUplink(1, []byte("packet")))
	if p := <-b.n3.sent; p != (sentPacket{core.TEID, 1, "packet"}) {
		t.Errorf("uplink packet: %+v, want TEID %#x", p, core.TEID)
	}
}

func TestAlgorithms(t *testing.T) {
	for _, alg := range []struct {
		nia, nea uint8
		want     string
	}{{2, 2, "NIA2 NEA2"}, {1, 1, "NIA1 NEA1"}, {3, 3, "NIA3 NEA3"}, {2, 0, "NIA2 NEA0"}} {
		t.Run(alg.want, func(t *testing.T) {
			b := start(t, fakeamf.Knobs{Integrity: alg.nia, Ciphering: alg.nea}, nil)
			s := b.ready()
			if got := s.Integrity + " " + s.Ciphering; got != alg.want {
				t.Errorf("algorithms %s", got)
			}
			// Idle and back: the container of the service request is ciphered.
			b.must(b.ue.Idle(b.ctx))
			b.must(b.ue.ServiceRequest(b.ctx))
		})
	}
}

func TestResynchronisation(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, func(c *ue.Config) { c.SQN = 1 << 30 })
	if s := b.ready(); s.Counters.Resyncs != 1 {
		t.Errorf("resynchronisations = %d, want 1", s.Counters.Resyncs)
	}
	b.amf.WaitTrace("Authentication Failure (5GMM cause #21 (Synch failure))", 1)
}

func TestIdentityRequest(t *testing.T) {
	b := start(t, fakeamf.Knobs{AskIdentity: true}, nil)
	b.ready()
	b.amf.WaitTrace("Identity Response", 1)
}

func TestConcealedIdentity(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, func(c *ue.Config) {
		// The home network key of TS 33.501 C.4.4.
		key := []byte{0x02, 0x72, 0xda, 0x71, 0x97, 0x62, 0x34, 0xce, 0x83, 0x3a, 0x69, 0x07, 0x42, 0x58, 0x67, 0xb8, 0x2e, 0x07, 0x4d, 0x44, 0xef, 0x90, 0x7d, 0xfb, 0x4b, 0x3e, 0x21, 0xc1, 0xc2, 0x25, 0x6e, 0xbc, 0xd1}
		k, err := usim.ParseHomeNetworkKey(usim.ProfileB, 2, key)
		if err != nil {
			t.Fatal(err)
		}
		c.HomeKey = k
	})
	b.ready()
}

// Refusals: what Register reports, what the network sees, and that the UE is free again.
func TestRegistrationRefused(t *testing.T) {
	tests := map[string]struct {
		knobs     fakeamf.Knobs
		wantErr   string
		wantTrace string
	}{
		"Registration Reject carries its cause":           {fakeamf.Knobs{RejectReg: 3}, "Registration Reject: 5GMM cause #3 (Illegal UE)", "Registration Request"},
		"a network with another K":                        {fakeamf.Knobs{WrongKey: true}, "authentication rejected", "Authentication Failure (5GMM cause #20 (MAC failure))"},
		"a network that rejects RES*":                     {fakeamf.Knobs{RejectAuth: true}, "authentication rejected", "Authentication Response"},
		"replayed capabilities that differ: bidding down": {fakeamf.Knobs{BidDown: true}, "connection released", "Security Mode Reject (5GMM cause #23 (UE security capabilities mismatch))"},
		"null integrity":                                  {fakeamf.Knobs{NullIntegrity: true}, "connection released", "Security Mode Reject (5GMM cause #24 (Security mode rejected, unspecified))"},
		"no answer":                                       {fakeamf.Knobs{Silent: true}, "no answer from the network in time", "initial message swallowed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := start(t, tt.knobs, func(c *ue.Config) {
				c.Autostart = false
				if tt.knobs.Silent { // else a busy machine's answer would come too late
					c.Timers.T3510 = time.Second
				}
			})
			b.amf.WaitTrace("NG Setup Request", 1)
			b.wait("the cell", func(ue.Status) bool { return b.gnb.Status().State == "connected" })
			var err error
			for err = b.ue.Register(b.ctx); errors.Is(err, gnb.ErrNoN2); err = b.ue.Register(b.ctx) {
				time.Sleep(time.Millisecond) // CellUp is on its way
			}
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("Register: %v, want %q", err, tt.wantErr)
			}
			b.amf.WaitTrace(tt.wantTrace, 1)
			b.wait("the last error", func(s ue.Status) bool { return s.LastError != "" })
			// The same UE registers when the network allows it: it keeps trying.
			b.amf.Set(fakeamf.Knobs{})
			b.ready()
		})
	}
}

func TestSessionRefused(t *testing.T) {
	tests := map[string]struct {
		knobs   fakeamf.Knobs
		wantErr string
	}{
		"5GSM reject":                      {fakeamf.Knobs{RejectSession: 70}, "PDU Session Establishment Reject: 5GSM cause #70 (Missing or unknown DNN in a slice)"},
		"not forwarded":                    {fakeamf.Knobs{NotForwarded: 90}, "DL NAS Transport: 5GMM cause #90 (Payload was not forwarded)"},
		"no answer":                        {fakeamf.Knobs{SilentSession: true}, "no answer from the network in time"},
		"a slice that the gNB has not got": {fakeamf.Knobs{OddSlice: true}, "no answer from the network in time"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := start(t, tt.knobs, func(c *ue.Config) {
				c.Sessions = nil
				c.Requested = []uenas.SNSSAI{slice1}
				if tt.knobs.SilentSession || tt.knobs.OddSlice {
					c.Timers.T3580 = time.Second
				}
			})
			b.ready()
			cfg := ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "ims"}
			err := b.ue.Establish(b.ctx, cfg)
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("Establish: %v, want %q", err, tt.wantErr)
			}
			if tt.knobs.OddSlice {
				b.amf.WaitTrace("PDU Session Resource failed: radio network: slice not supported", 1)
			}
			b.amf.Set(fakeamf.Knobs{})
			b.must(b.ue.Establish(b.ctx, cfg))
			b.ready()
		})
	}
}

func TestTwoSlicesAndRelease(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, func(c *ue.Config) {
		c.Sessions = append(c.Sessions, ue.SessionConfig{PSI: 5, Slice: slice2, DNN: "internet", QFI: 7})
	})
	s := b.ready()
	if len(s.Sessions) != 2 || s.Sessions[1].Slice != "1-112233" || s.Sessions[1].QFI != 7 || s.Sessions[0].Address == s.Sessions[1].Address {
		t.Errorf("sessions: %+v", s.Sessions)
	}
	b.must(b.ue.Release(b.ctx, 5))
	b.amf.WaitTrace("PDU Session Resource Release Response", 1)
	b.amf.WaitTrace("PDU Session Release Complete", 1)
	s = b.ready()
	if s.Sessions[1].State != "inactive" || s.Sessions[1].Up || s.Sessions[0].State != "active" || b.n3.count() != 1 {
		t.Errorf("after the release: %+v, %d tunnels", s.Sessions, b.n3.count())
	}
	if err := b.ue.Release(b.ctx, 5); !errors.Is(err, ue.ErrNoSession) {
		t.Errorf("releasing it again: %v", err)
	}
}

func TestIdleAndServiceRequest(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.must(b.ue.Idle(b.ctx))
	b.amf.WaitTrace("UE Context Release Request (radio network: user inactivity)", 1)
	b.amf.WaitTrace("UE Context Release Complete", 1)
	s := b.ue.Status()
	if s.CM != "idle" || s.State != "registered" || s.Sessions[0].State != "active" || s.Sessions[0].Up || b.n3.count() != 0 {
		t.Errorf("idle: %+v, %d tunnels", s, b.n3.count())
	}
	if err := b.ue.Idle(b.ctx); !errors.Is(err, ue.ErrIdle) {
		t.Errorf("idle again: %v", err)
	}
	b.must(b.ue.ServiceRequest(b.ctx))
	b.amf.WaitTrace("Service Request (type 1)", 1)
	if s := b.ue.Status(); s.CM != "connected" || !s.Sessions[0].Up {
		t.Errorf("after the service request: %+v", s)
	}
}

func TestUplinkDataWakesIdleUE(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.must(b.ue.Idle(b.ctx))
	b.must(b.ue.SendUplink(1, []byte("waiting")))
	core, _ := b.amf.Session(testSUPI, 1)
	if p := <-b.n3.sent; p.payload != "waiting" || p.teid != core.TEID {
		t.Errorf("the packet that woke the UE: %+v", p)
	}
	b.amf.WaitTrace("Service Request (type 1)", 1)
}

// TS 24.501 5.6.1.1 d: the network has taken a connected UE's user plane away, and the UE has something to send.
func TestUplinkDataOfAConnectedUE(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.amf.ReleaseResource(testSUPI, 1)
	b.wait("the end of its tunnel", func(s ue.Status) bool { return !s.Sessions[0].Up })
	b.must(b.ue.SendUplink(1, []byte("waiting")))
	b.must(b.ue.SendUplink(1, []byte("too")))
	b.amf.WaitTrace("Service Request (type 1)", 1)
	for _, want := range []string{"waiting", "too"} {
		if p := <-b.n3.sent; p.payload != want {
			t.Errorf("sent %+v, want %s", p, want)
		}
	}
	if s := b.ue.Status(); s.CM != "connected" || s.Counters.ServiceRequests != 1 || s.Counters.Releases != 0 {
		t.Errorf("%d service requests, %d releases, %s", s.Counters.ServiceRequests, s.Counters.Releases, s.CM)
	}
}

func TestPaging(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.amf.WaitTrace("Configuration Update Complete", 1) // paging uses the new 5G-GUTI
	b.must(b.ue.Idle(b.ctx))
	b.amf.Page(testSUPI)
	b.amf.WaitTrace("Service Request (type 2)", 1)
	s := b.wait("the session", func(s ue.Status) bool { return s.Sessions[0].Up })
	if s.Counters.Pagings != 1 || s.CM != "connected" {
		t.Errorf("after paging: %+v", s)
	}
}

func TestServiceRequestRefused(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.must(b.ue.Idle(b.ctx))
	b.amf.Set(fakeamf.Knobs{RejectService: 9})
	if err := b.ue.ServiceRequest(b.ctx); err == nil || !strings.Contains(err.Error(), "5GMM cause #9") {
		t.Errorf("ServiceRequest: %v", err)
	}
	b.amf.WaitTrace("Registration Request", 2)
	b.ready()
}

func TestSessionsTheNetworkForgot(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.must(b.ue.Idle(b.ctx))
	b.amf.Set(fakeamf.Knobs{ForgetSessions: true})
	b.must(b.ue.ServiceRequest(b.ctx))
	b.amf.WaitTrace("PDU Session Establishment Request", 2)
	b.ready()
}

func TestDeregister(t *testing.T) {
	for name, idle := range map[string]bool{"connected": false, "idle": true} {
		t.Run(name, func(t *testing.T) {
			b := start(t, fakeamf.Knobs{}, nil)
			b.ready()
			b.amf.WaitTrace("Configuration Update Complete", 1)
			if idle {
				b.must(b.ue.Idle(b.ctx))
			}
			b.must(b.ue.Deregister(b.ctx, false))
			b.amf.WaitTrace("Deregistration Request", 1)
			s := b.wait("idle", func(s ue.Status) bool { return s.CM == "idle" })
			if s.State != "deregistered" || s.Sessions[0].State != "inactive" || !s.Ready || b.n3.count() != 0 {
				t.Errorf("after deregistration: %+v, %d tunnels", s, b.n3.count())
			}
			b.must(b.ue.Register(b.ctx))
			b.ready()
		})
	}
	t.Run("switch off", func(t *testing.T) {
		b := start(t, fakeamf.Knobs{}, nil)
		b.ready()
		b.must(b.ue.Deregister(b.ctx, true))
		b.amf.WaitTrace("Deregistration Request", 1)
		b.wait("idle", func(s ue.Status) bool { return s.CM == "idle" && s.State == "deregistered" })
	})
}

func TestNetworkDeregisters(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.amf.Deregister(testSUPI, true)
	b.amf.WaitTrace("Deregistration Accept", 1)
	b.amf.WaitTrace("Registration Request", 2)
	b.ready()
	b.amf.Deregister(testSUPI, false)
	b.amf.WaitTrace("Deregistration Accept", 2)
	s := b.wait("idle", func(s ue.Status) bool { return s.CM == "idle" && s.State == "deregistered" })
	if !s.Ready {
		t.Error("a UE told not to come back still wants to")
	}
}

func TestNetworkReleasesSession(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.amf.ReleaseSession(testSUPI, 1, 39)
	b.amf.WaitTrace("PDU Session Release Complete", 1)
	b.amf.WaitTrace("PDU Session Establishment Request", 2)
	b.ready()
}

func TestSessionModification(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.amf.ModifySession(testSUPI, 1, 0xFEED)
	b.amf.WaitTrace("PDU Session Resource modified", 1)
	b.wait("the new tunnel", func(s ue.Status) bool {
		return s.Sessions[0].TEIDUL == "0x00feed" || s.Sessions[0].TEIDUL == "0x0000feed"
	})
	b.must(b.ue.SendUplink(1, []byte("moved")))
	if p := <-b.n3.sent; p.teid != 0xFEED {
		t.Errorf("uplink goes to %#x", p.teid)
	}
	b.amf.ModifySession(testSUPI, 9, 1)
	b.amf.WaitTrace("PDU Session Resource not modified", 1)
	b.amf.SendSM(testSUPI, 1, []byte{0x2e, 1, 0, 0xcb})
	b.amf.WaitTrace("PDU Session Modification Complete", 1)
}

func TestAMFComesBack(t *testing.T) {
	tests := map[string]struct {
		forget             bool
		wantRegistrations  int
		wantServiceRequest string
	}{
		"the same AMF: a service request is enough":        {false, 1, "Service Request (type 1)"},
		"an AMF that forgot everything: registration anew": {true, 2, "Service Request refused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := start(t, fakeamf.Knobs{}, nil)
			b.ready()
			b.amf.WaitTrace("Configuration Update Complete", 1)
			b.amf.WaitTrace("session 1 up", 1)
			b.amf.Stop(tt.forget)
			b.wait("the loss of N2", func(ue.Status) bool { return b.gnb.Status().State == "connecting" })
			// The user plane goes on without the AMF.
			b.must(b.ue.SendUplink(1, []byte("meanwhile")))
			if p := <-b.n3.sent; p.payload != "meanwhile" || b.n3.count() != 1 {
				t.Errorf("uplink without an AMF: %+v, %d tunnels", p, b.n3.count())
			}
			if err := b.ue.Idle(b.ctx); !errors.Is(err, gnb.ErrNoN2) {
				t.Errorf("a procedure without an AMF: %v", err)
			}
			b.amf.Start()
			b.amf.WaitTrace("NG Setup Request", 2)
			b.amf.WaitTrace(tt.wantServiceRequest, 1)
			b.amf.WaitTrace("Registration Request", tt.wantRegistrations)
			b.amf.WaitTrace("session 1 up", 2)
			s := b.ready()
			if s.Counters.Registrations != uint64(tt.wantRegistrations) || b.n3.count() != 1 {
				t.Errorf("counters %+v, %d tunnels", s.Counters, b.n3.count())
			}
		})
	}
}

// What the AMF has sent behind its answer to NG Setup, on another stream, may come before it: the association stands, and it is done.
func TestAMessageOvertakesTheNGSetupResponse(t *testing.T) {
	b := start(t, fakeamf.Knobs{Early: true}, nil)
	b.amf.WaitTrace("AMF Configuration Update Acknowledge", 1)
	b.ready()
	if g := b.gnb.Status(); g.NGSetups != 1 || g.State != "connected" {
		t.Errorf("the gNB is %+v", g)
	}
}

func TestAMFLostDuringRegistration(t *testing.T) {
	b := start(t, fakeamf.Knobs{Silent: true}, nil)
	b.amf.WaitTrace("initial message swallowed", 1)
	b.amf.Stop(true)
	b.wait("deregistration", func(s ue.Status) bool { return s.State == "deregistered" && s.CM == "idle" })
	b.amf.Set(fakeamf.Knobs{})
	b.amf.Start()
	b.ready()
}

func TestServiceRequestWithoutAnswerEndsInRegistration(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, func(c *ue.Config) { c.Timers.T3517 = 50 * time.Millisecond })
	b.ready()
	b.must(b.ue.Idle(b.ctx))
	b.amf.Set(fakeamf.Knobs{SilentService: true})
	_ = b.ue.SendUplink(1, []byte("x"))
	b.amf.WaitTrace("Registration Request", 2)
	b.ready()
}

func TestNGReset(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.amf.WaitTrace("Configuration Update Complete", 1)
	b.amf.Reset()
	b.amf.WaitTrace("NG Reset Acknowledge", 1)
	b.wait("idle", func(s ue.Status) bool { return s.CM == "idle" })
	if b.n3.count() != 0 {
		t.Errorf("%d tunnels after NG Reset", b.n3.count())
	}
	b.must(b.ue.ServiceRequest(b.ctx))
}

func TestErrorIndicationReestablishes(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.ue.Tunnel(1).Lost()
	b.amf.WaitTrace("PDU Session Release Request", 1)
	b.amf.WaitTrace("PDU Session Establishment Request", 2)
	if s := b.ready(); s.Counters.ErrorIndications != 1 {
		t.Errorf("error indications = %d", s.Counters.ErrorIndications)
	}
}

func TestSetupRefusedIsRetried(t *testing.T) {
	b := start(t, fakeamf.Knobs{RefuseSetup: true}, nil)
	b.amf.WaitTrace("NG Setup Request", 3)
	if g := b.gnb.Status(); g.State != "connecting" || !strings.Contains(g.LastError, "unknown PLMN") {
		t.Errorf("gNB: %+v", g)
	}
	b.amf.Set(fakeamf.Knobs{})
	b.ready()
}

// What must not move the UE: forged, replayed, unprotected or senseless messages.
func TestForgedMessages(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	before := b.ready()
	for _, pdu := range [][]byte{
		{0x7e, 0, 0x54, 0xd1},                                        // plain configuration update command
		{0x7e, 2, 1, 2, 3, 4, 9, 0x7e, 0, 0x54, 0xd1},                // wrong MAC
		{0x7e, 0, 0x47, 1},                                           // plain network deregistration
		{0x7e, 3, 1, 2, 3, 4, 0, 0x7e, 0, 0x5d, 2, 1, 2, 0xF0, 0x70}, // forged security mode command
		{0x7e},
		{0x2e, 1, 1, 0xc2},
		{0x99, 0, 0},
	} {
		b.amf.SendRawNAS(testSUPI, pdu)
	}
	b.amf.SendNAS(testSUPI, []byte{0x7e, 0, 0x42, 1, 1})                                             // a second registration accept
	b.amf.SendSM(testSUPI, 9, []byte{0x2e, 9, 1, 0xc2, 0x11, 0, 4, 1, 0, 1, 0, 6, 6, 0, 1, 6, 0, 1}) // a session never asked for
	b.amf.WaitTrace("5GSM Status (5GSM cause #43 (Invalid PDU session identity))", 1)
	b.amf.SendOctets([]byte{0, 1, 2, 3})
	b.amf.SendNGAP(&ngapType.OverloadStop{})
	after := b.wait("the drops", func(s ue.Status) bool { return s.Counters.NASDropped-before.Counters.NASDropped == 9 })
	if after.State != "registered" || after.CM != "connected" || !after.Sessions[0].Up || after.Counters.Registrations != 1 {
		t.Errorf("a forged message moved the UE: %+v", after)
	}
	b.must(b.ue.Idle(b.ctx))
	b.must(b.ue.ServiceRequest(b.ctx))
}
