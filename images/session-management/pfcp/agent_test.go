package pfcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/metrics"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// upfUnit is upf-c, as it ships, over a stand-in for upf-u.
type upfUnit struct {
	t      testing.TB
	listen netip.AddrPort
	*agent.Agent
	upfu *fakeupfu.UPFU
	kill func() // both halves
}

func startUnit(t testing.TB, listen netip.AddrPort) *upfUnit {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "upf.sock")
	upfu, err := fakeupfu.Start(socket)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(fmt.Appendf(nil, `
nodeID: upf-0
pfcp: {listen: %q, advertise: %s, dataplaneWait: 10s, controlPlaneSubnets: [127.78.0.0/16], retransmit: {interval: 200ms}}
heartbeat: {interval: 0s}
gtpu: {echo: {interval: 300ms, timeout: 100ms, attempts: 2}}
n3: {endpoints: [172.30.3.16/28]}
uePools: [{networkInstance: internet, range: 10.45.0.0/24}]
dataplane: {socket: %s}
`, listen, listen.Addr(), socket))
	if err != nil {
		t.Fatal(err)
	}
	u := &upfUnit{t: t, Agent: agent.New(c, slog.New(slog.DiscardHandler), metrics.NewRecorder(prometheus.NewRegistry())), upfu: upfu}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- u.Run(ctx) }()
	u.kill = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("agent: %v", err)
		}
		upfu.Kill()
	})
	t.Cleanup(u.kill)
	u.listen = u.Addr()
	return u
}

// holder is a shard's Socket and what it tells.
type holder struct {
	*Socket
	t      testing.TB
	events chan Event
	stop   func()
}

var shardAddress struct {
	sync.Mutex
	last int
}

// own is a loopback address that nobody has on PFCP's port.
func own(t testing.TB) netip.Addr {
	t.Helper()
	shardAddress.Lock()
	defer shardAddress.Unlock()
	for range 4096 { // tests of other packages run at the same time
		shardAddress.last++
		a := netip.AddrFrom4([4]byte{127, 78, byte(1 + shardAddress.last/200), byte(1 + shardAddress.last%200)})
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 8805)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		return a
	}
	t.Fatal("no loopback address is free")
	return netip.Addr{}
}

// hold runs a shard: its Node ID and F-SEID have the service's address, its socket the pod's.
func hold(t testing.TB, service, pod netip.Addr) *holder {
	t.Helper()
	h := &holder{t: t, events: make(chan Event, 1024)}
	var err error
	h.Socket, err = Listen(netip.AddrPortFrom(pod, 8805), Config{
		Node: service.String(), IPv4: service, Recovery: StampOf(time.Unix(1_750_000_000, 0)), Random: rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano()))),
		Heartbeat: 50 * time.Millisecond, T1: 500 * time.Millisecond, BackOff: 50 * time.Millisecond, BackOffMax: 200 * time.Millisecond,
		Handle: func(ev Event) { h.events <- ev }, Metrics: NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(h.stop)
	return h
}

// wait takes events until one of a type comes.
func wait[E Event](h *holder) E {
	h.t.Helper()
	end := time.After(time.Minute)
	for {
		select {
		case ev := <-h.events:
			if e, ok := ev.(E); ok {
				return e
			}
		case <-end:
			var e E
			h.t.Fatalf("no %T", e)
			return e
		}
	}
}

func (h *holder) do(r Request) Outcome {
	h.t.Helper()
	r.Unit = "upf-0"
	out := make(chan Outcome, 1)
	h.Do(r, func(o Outcome) { out <- o })
	select {
	case o := <-out:
		return o
	case <-time.After(time.Minute):
		h.t.Fatal("no outcome")
		return Outcome{}
	}
}

var settings = n4.Settings{Access: "access", Core: "internet"}

func newSession(cpSEID uint64) *record.Session {
	return &record.Session{
		SUPI: "imsi-208930000000001", ID: 1, DNN: "internet", SST: 1, Type: n1.IPv4, Phase: record.Establishing, CPSEID: cpSEID,
		AMBR: record.AMBR{Uplink: 1_000_000, Downlink: 2_000_000}, Flows: []record.Flow{{QFI: 1, FiveQI: 9, Priority: 8}},
	}
}

func (h *holder) establish(s *record.Session) {
	h.t.Helper()
	ies, err := n4.Establishment(s, settings)
	if err != nil {
		h.t.Fatal(err)
	}
	o := h.do(Request{Kind: Establishment, CPSEID: s.CPSEID, IEs: ies})
	if o.Err != nil {
		h.t.Fatal(o.Err)
	}
	if err := n4.Established(s, o.Answer.(*message.SessionEstablishmentResponse)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *holder) modify(s *record.Session, change func(*record.Session)) {
	h.t.Helper()
	before := *s
	change(s)
	ies, err := n4.Modification(&before, s, settings, false, false)
	if err != nil {
		h.t.Fatal(err)
	}
	o := h.do(Request{Kind: Modification, CPSEID: s.CPSEID, UPSEID: s.UPSEID, IEs: ies})
	if o.Err != nil {
		h.t.Fatal(o.Err)
	}
	if err := n4.Modified(o.Answer.(*message.SessionModificationResponse)); err != nil {
		h.t.Fatal(err)
	}
}

// A session of upf-c's from its beginning to its end, with reports between.
func TestWithUPF(t *testing.T) {
	unit := startUnit(t, netip.MustParseAddrPort("127.77.0.1:0"))
	address := own(t)
	h := hold(t, address, address)
	if err := h.AddUnit(Unit{NodeID: "upf-0", Address: unit.listen}); err != nil {
		t.Fatal(err)
	}
	a := wait[Associated](h)
	if a.Updated || !a.Features.Has(FTUP) || !a.Features.Has(UEIP) || !a.Features.Has(EMPU) || a.Features.Has(BUCP) || a.Recovery == 0 {
		t.Errorf("%+v", a)
	}
	s := newSession(7)
	h.establish(s)
	gnb := record.Tunnel{TEID: 0x100, IPv4: netip.MustParseAddr("172.30.3.100")}
	h.modify(s, func(s *record.Session) { s.Phase, s.Downlink = record.Active, gnb })

	var index uint32
	for i := range unit.upfu.Sessions() {
		index = i
	}
	if err := unit.upfu.ErrorIndication(gnb.IPv4, gnb.TEID); err != nil {
		t.Fatal(err)
	}
	r := wait[SessionReport](h)
	if r.CPSEID != 7 || r.Unit != "upf-0" || len(r.GoneTunnels) != 1 || r.GoneTunnels[0] != (FTEID{TEID: gnb.TEID, IPv4: gnb.IPv4}) {
		t.Errorf("%+v", r)
	}
	h.AnswerSessionReport(r.Token, SessionReportAnswer{Cause: ie.CauseRequestAccepted, UPSEID: s.UPSEID})

	h.modify(s, func(s *record.Session) { s.Phase, s.Downlink = record.Idle, record.Tunnel{} })
	if err := unit.upfu.DownlinkData(index, 2, 1); err != nil {
		t.Fatal(err)
	}
	r = wait[SessionReport](h)
	if len(r.DownlinkData) != 1 || r.DownlinkData[0].PDRs[0] != 2 || len(r.DownlinkData[0].Services) != 1 || r.DownlinkData[0].Services[0] != (Service{HasQFI: true, QFI: 1}) {
		t.Errorf("%+v", r)
	}
	// Silence makes upf-c ask again, the same request; it is handed on again, and acknowledged.
	h.Silent(r.Token)
	again := wait[SessionReport](h)
	h.AnswerSessionReport(again.Token, SessionReportAnswer{Cause: ie.CauseRequestAccepted, UPSEID: s.UPSEID, DropBuffered: true})
	if err := unit.upfu.Await(10*time.Second, func() bool { return len(unit.upfu.Dropped()) > 0 }); err != nil {
		t.Errorf("the answer was not obeyed: %v", err)
	}

	// Another gNB answers nothing, and then it does.
	gnb = record.Tunnel{TEID: 0x200, IPv4: netip.MustParseAddr("172.30.3.101")}
	h.modify(s, func(s *record.Session) { s.Phase, s.Downlink = record.Active, gnb })
	path := wait[NodeReport](h)
	for len(path.Failed) != 1 || path.Failed[0].IPv4 != gnb.IPv4 || path.Unit != "upf-0" { // the first one's may come late
		path = wait[NodeReport](h)
	}
	h.AnswerNodeReport(path.Token, ie.CauseRequestAccepted)
	for recovered := false; !recovered; {
		for _, echo := range unit.upfu.Echoes() {
			if err := unit.upfu.EchoResponse(echo); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case ev := <-h.events:
			path, recovered = ev.(NodeReport)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if len(path.Recovered) != 1 || path.Recovered[0].IPv4 != gnb.IPv4 {
		t.Errorf("%+v", path)
	}
	h.AnswerNodeReport(path.Token, ie.CauseRequestAccepted)

	var refused *RefusedError
	if o := h.do(Request{Kind: Deletion, CPSEID: 8, UPSEID: s.UPSEID + 1}); !errors.As(o.Err, &refused) || refused.Cause != ie.CauseSessionContextNotFound {
		t.Errorf("a session that there is not: %+v", o)
	}
	if o := h.do(Request{Kind: Deletion, CPSEID: s.CPSEID, UPSEID: s.UPSEID}); o.Err != nil {
		t.Error(o.Err)
	}
	if n := len(unit.upfu.Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	h.RemoveUnit("upf-0", true)
	if r := wait[Released](h); r.Err != nil {
		t.Error(r.Err)
	}
}

// Usage of a session, in a report and in the answer to its deletion.
func TestUsageWithUPF(t *testing.T) {
	unit := startUnit(t, netip.MustParseAddrPort("127.77.0.1:0"))
	address := own(t)
	h := hold(t, address, address)
	if err := h.AddUnit(Unit{NodeID: "upf-0", Address: unit.listen}); err != nil {
		t.Fatal(err)
	}
	s := newSession(7)
	ies, err := n4.Establishment(s, settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range ies { // the default flow's PDRs, counted
		if i.Type == ie.CreatePDR {
			i.Add(ie.NewURRID(1))
		}
	}
	ies = append(ies, ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(1, 1000, 0, 0)))
	o := h.do(Request{Kind: Establishment, CPSEID: 7, IEs: ies})
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	if err := n4.Established(s, o.Answer.(*message.SessionEstablishmentResponse)); err != nil {
		t.Fatal(err)
	}
	var slot uint32
	for _, u := range unit.upfu.Sessions() {
		slot = u.URRs[0].Slot
	}
	if !unit.upfu.Forward(slot, 0, 1500) {
		t.Fatal("the packet was not forwarded")
	}
	r := wait[SessionReport](h)
	if len(r.Usage) != 1 || r.Usage[0].URR != 1 || r.Usage[0].Volume == nil || r.Usage[0].Volume.Total != 1500 || !r.Usage[0].Trigger.Is(TriggerVolumeThreshold) {
		t.Errorf("%+v", r)
	}
	h.AnswerSessionReport(r.Token, SessionReportAnswer{Cause: ie.CauseRequestAccepted, UPSEID: s.UPSEID})
	unit.upfu.Forward(slot, 0, 200)
	o = h.do(Request{Kind: Deletion, CPSEID: s.CPSEID, UPSEID: s.UPSEID})
	if o.Err != nil || len(o.Usage) != 1 || o.Usage[0].Volume == nil || o.Usage[0].Volume.Total != 200 || !o.Usage[0].Trigger.Is(TriggerTermination) {
		t.Errorf("%+v", o)
	}
}

// A unit that dies with all it had is met again, and the restart is told once.
func TestUnitRestarts(t *testing.T) {
	unit := startUnit(t, netip.MustParseAddrPort("127.77.0.1:0"))
	address := own(t)
	h := hold(t, address, address)
	if err := h.AddUnit(Unit{NodeID: "upf-0", Address: unit.listen}); err != nil {
		t.Fatal(err)
	}
	was := wait[Associated](h).Recovery
	s := newSession(7)
	h.establish(s)
	lost := *s
	unit.kill()
	for StampOf(time.Now()) == was { // a stamp is of a second
		time.Sleep(10 * time.Millisecond)
	}
	successor := startUnit(t, unit.listen)
	if r := wait[UnitRestarted](h); r.Old != was || !newer(r.New, was) {
		t.Errorf("%+v, was %d", r, was)
	}
	if a := wait[Associated](h); a.Updated {
		t.Errorf("%+v", a)
	}
	h.establish(s)
	if s.Uplink != lost.Uplink || s.IPv4 != lost.IPv4 || len(successor.upfu.Sessions()) != 1 {
		t.Errorf("restored %+v, was %+v", s, lost)
	}
	for len(h.events) > 0 {
		if ev := <-h.events; ev != Event(LoadChanged{Unit: "upf-0"}) { // which it says when it has been there for a second
			t.Errorf("told %+v", ev)
		}
	}
}

// A shard has another holder, with another address: its sessions stay, its requests are taken, and reports, which still go
// to the shard's own address, reach it by way of who receives them there.
func TestNewHolder(t *testing.T) {
	unit := startUnit(t, netip.MustParseAddrPort("127.77.0.1:0"))
	service := own(t)
	first := hold(t, service, own(t))
	if err := first.AddUnit(Unit{NodeID: "upf-0", Address: unit.listen}); err != nil {
		t.Fatal(err)
	}
	a := wait[Associated](first)
	s := newSession(7)
	first.establish(s)
	first.stop()

	second := hold(t, service, own(t))
	if err := second.AddUnit(Unit{NodeID: "upf-0", Address: unit.listen, Associated: true, Recovery: a.Recovery}); err != nil {
		t.Fatal(err)
	}
	// The Service sends to any pod.
	pod, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(service, 8805)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pod.Close() })
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, from, err := pod.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			second.Receive(from, b[:n])
		}
	}()
	if b := wait[Associated](second); !b.Updated || b.Recovery != a.Recovery {
		t.Errorf("%+v", b)
	}
	second.modify(s, func(s *record.Session) { s.Phase = record.Idle })
	for i := range unit.upfu.Sessions() {
		if err := unit.upfu.DownlinkData(i, 2, 1); err != nil {
			t.Fatal(err)
		}
	}
	r := wait[SessionReport](second)
	if r.CPSEID != 7 || r.Unit != "upf-0" {
		t.Errorf("%+v", r)
	}
	second.AnswerSessionReport(r.Token, SessionReportAnswer{Cause: ie.CauseRequestAccepted, UPSEID: s.UPSEID})
	if o := second.do(Request{Kind: Deletion, CPSEID: s.CPSEID, UPSEID: s.UPSEID}); o.Err != nil {
		t.Error(o.Err)
	}
	if o := first.do(Request{Kind: Deletion, CPSEID: s.CPSEID, UPSEID: s.UPSEID}); !isNotSent(o.Err) {
		t.Errorf("the former holder: %+v", o)
	}
}
