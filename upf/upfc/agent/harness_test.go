package agent_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
)

// nowhere counts nothing.
type nowhere struct{}

func (nowhere) Message(string, string, string) {}
func (nowhere) Latency(string, time.Duration)  {}
func (nowhere) Restart(string)                 {}
func (nowhere) SessionsDropped(string, int)    {}
func (nowhere) Report(string)                  {}

// lab is an agent between an SMF over UDP and a stand-in for upf-u.
type lab struct {
	t      *testing.T
	socket string
	upfu   *fakeupfu.UPFU
	agent  *agent.Agent
	addr   netip.AddrPort
	stop   func()
	edit   func(*config.Config)
}

func newLab(t *testing.T, edit func(*config.Config)) *lab {
	t.Helper()
	l := &lab{t: t, socket: filepath.Join(t.TempDir(), "upf.sock"), edit: edit}
	l.startUPFU()
	l.startAgent()
	t.Cleanup(func() { l.stop(); l.upfu.Kill() })
	return l
}

func (l *lab) startUPFU() {
	l.t.Helper()
	u, err := fakeupfu.Start(l.socket)
	if err != nil {
		l.t.Fatal(err)
	}
	l.upfu = u
}

func (l *lab) config() *config.Config {
	c, err := config.Parse([]byte(`
nodeID: upf.test
pfcp: {listen: "127.77.0.1:0", advertise: 127.77.0.1, retransmit: {interval: 200ms, attempts: 3}, dataplaneWait: 300ms}
heartbeat: {interval: 0s}
n3: {endpoints: [172.30.3.16/28]}
dataplane: {socket: ` + l.socket + `}
`))
	if err != nil {
		l.t.Fatal(err)
	}
	if l.edit != nil {
		l.edit(c)
	}
	return c
}

func (l *lab) startAgent() {
	l.t.Helper()
	var out io.Writer = io.Discard
	if os.Getenv("UPFC_TEST_LOG") != "" {
		out = os.Stderr
	}
	l.agent = agent.New(l.config(), slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})), nowhere{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.agent.Run(ctx) }()
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Errorf("agent: %v", err)
		}
	})
	l.addr = l.agent.Addr()
}

// restartAgent is upf-c killed and started again: only upf-u's memory survives.
func (l *lab) restartAgent() {
	l.t.Helper()
	l.stop()
	l.startAgent()
}

// smf is a CP function on a loopback address of its own.
type smf struct {
	t        *testing.T
	conn     *net.UDPConn
	to       netip.AddrPort
	addr     netip.Addr
	seq      atomic.Uint32
	answers  chan message.Message
	reports  chan *message.SessionReportRequest
	hearts   chan *message.HeartbeatRequest
	recovery time.Time
	mute     atomic.Bool // leaves requests without answer
	cause    atomic.Uint32
}

var lastSMF atomic.Uint32

func newSMF(t *testing.T, to netip.AddrPort) *smf {
	t.Helper()
	n := lastSMF.Add(1)
	addr := netip.AddrFrom4([4]byte{127, 77, byte(1 + n/200), byte(1 + n%200)})
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 8805)))
	if err != nil {
		t.Fatal(err)
	}
	s := &smf{
		t: t, conn: conn, to: to, addr: addr, recovery: time.Unix(1_700_000_000, 0),
		answers: make(chan message.Message, 64), reports: make(chan *message.SessionReportRequest, 64),
		hearts: make(chan *message.HeartbeatRequest, 64),
	}
	s.cause.Store(uint32(ie.CauseRequestAccepted))
	t.Cleanup(func() { _ = conn.Close() })
	go s.read()
	return s
}

func (s *smf) read() {
	buf := make([]byte, 65536)
	for {
		n, from, err := s.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		m, err := message.Parse(append([]byte(nil), buf[:n]...))
		if err != nil {
			s.t.Errorf("upf-c sent what go-pfcp cannot parse: %v", err)
			continue
		}
		var answer message.Message
		switch m := m.(type) {
		case *message.SessionReportRequest:
			answer = message.NewSessionReportResponse(0, 0, 1, m.Sequence(), 0, ie.NewCause(uint8(s.cause.Load())))
			select {
			case s.reports <- m:
			default:
			}
		case *message.HeartbeatRequest:
			answer = message.NewHeartbeatResponse(m.Sequence(), ie.NewRecoveryTimeStamp(s.recovery))
			select {
			case s.hearts <- m:
			default:
			}
		default:
			s.answers <- m
			continue
		}
		if s.mute.Load() {
			continue
		}
		b := make([]byte, answer.MarshalLen())
		if err := answer.MarshalTo(b); err == nil {
			_, _ = s.conn.WriteToUDPAddrPort(b, from)
		}
	}
}

func (s *smf) nextSeq() uint32 { return s.seq.Add(1) }

func (s *smf) write(m message.Message) {
	s.t.Helper()
	b := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(b); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.conn.WriteToUDPAddrPort(b, s.to); err != nil {
		s.t.Fatal(err)
	}
}

func (s *smf) answer() message.Message {
	s.t.Helper()
	select {
	case m := <-s.answers:
		return m
	case <-time.After(5 * time.Second):
		s.t.Fatal("no answer")
		return nil
	}
}

func (s *smf) ask(m message.Message) message.Message {
	s.t.Helper()
	s.write(m)
	a := s.answer()
	if a.Sequence() != m.Sequence() {
		s.t.Fatalf("answer has sequence number %d, want %d", a.Sequence(), m.Sequence())
	}
	return a
}

func (s *smf) node() *ie.IE { return ie.NewNodeID(s.addr.String(), "", "") }

func (s *smf) associate() *message.AssociationSetupResponse {
	s.t.Helper()
	a, ok := s.ask(message.NewAssociationSetupRequest(s.nextSeq(), s.node(), ie.NewRecoveryTimeStamp(s.recovery), ie.NewCPFunctionFeatures(0))).(*message.AssociationSetupResponse)
	if !ok {
		s.t.Fatal("no Association Setup Response")
	}
	wantCause(s.t, a.Cause, ie.CauseRequestAccepted)
	return a
}

func (s *smf) heartbeat() time.Time {
	s.t.Helper()
	a, ok := s.ask(message.NewHeartbeatRequest(s.nextSeq(), ie.NewRecoveryTimeStamp(s.recovery), nil)).(*message.HeartbeatResponse)
	if !ok {
		s.t.Fatal("no Heartbeat Response")
	}
	ts, err := a.RecoveryTimeStamp.RecoveryTimeStamp()
	if err != nil {
		s.t.Fatal(err)
	}
	return ts
}

func (s *smf) establish(cpSEID uint64, ies ...*ie.IE) *message.SessionEstablishmentResponse {
	s.t.Helper()
	ies = append([]*ie.IE{s.node(), ie.NewFSEID(cpSEID, net.IP(s.addr.AsSlice()), nil)}, ies...)
	a, ok := s.ask(message.NewSessionEstablishmentRequest(0, 0, 0, s.nextSeq(), 0, ies...)).(*message.SessionEstablishmentResponse)
	if !ok {
		s.t.Fatal("no Session Establishment Response")
	}
	if a.SEID() != cpSEID {
		s.t.Errorf("answer is for CP SEID %#x, want %#x", a.SEID(), cpSEID)
	}
	return a
}

// established is establish, accepted; it returns the UP SEID.
func (s *smf) established(cpSEID uint64, ies ...*ie.IE) uint64 {
	s.t.Helper()
	a := s.establish(cpSEID, ies...)
	wantCause(s.t, a.Cause, ie.CauseRequestAccepted)
	f, err := a.UPFSEID.FSEID()
	if err != nil {
		s.t.Fatal(err)
	}
	return f.SEID
}

func (s *smf) modify(seid uint64, ies ...*ie.IE) *message.SessionModificationResponse {
	s.t.Helper()
	a, ok := s.ask(message.NewSessionModificationRequest(0, 0, seid, s.nextSeq(), 0, ies...)).(*message.SessionModificationResponse)
	if !ok {
		s.t.Fatal("no Session Modification Response")
	}
	return a
}

func (s *smf) delete(seid uint64) *message.SessionDeletionResponse {
	s.t.Helper()
	a, ok := s.ask(message.NewSessionDeletionRequest(0, 0, seid, s.nextSeq(), 0)).(*message.SessionDeletionResponse)
	if !ok {
		s.t.Fatal("no Session Deletion Response")
	}
	return a
}

func (s *smf) report() *message.SessionReportRequest {
	s.t.Helper()
	select {
	case r := <-s.reports:
		return r
	case <-time.After(5 * time.Second):
		s.t.Fatal("no Session Report Request")
		return nil
	}
}

func wantCause(t *testing.T, e *ie.IE, want uint8) {
	t.Helper()
	if e == nil {
		t.Fatalf("answer without cause, want %d", want)
	}
	got, err := e.Cause()
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("cause %d, want %d", got, want)
	}
}

func wantOffending(t *testing.T, e *ie.IE, want uint16) {
	t.Helper()
	if e == nil {
		t.Fatalf("answer without Offending IE, want %d", want)
	}
	if got, err := e.OffendingIE(); err != nil || got != want {
		t.Fatalf("offending IE %d (%v), want %d", got, err, want)
	}
}

// ue is one UE's session as free5GC's SMF asks for it.
type ue struct {
	teid  uint32
	n3    string
	addr  string
	urr   []*ie.IE // of Create URR; nil for the usual
	noURR bool
}

func ip(s string) net.IP { return net.ParseIP(s).To4() }

func (u ue) fteid() *ie.IE { return ie.NewFTEID(0x01, u.teid, ip(u.n3), nil, 0) }

func (u ue) pdrUL(id uint16, precedence uint32, more ...*ie.IE) *ie.IE {
	pdi := append([]*ie.IE{
		ie.NewSourceInterface(ie.SrcInterfaceAccess), u.fteid(),
		ie.NewNetworkInstance("internet"), ie.NewUEIPAddress(0x02, u.addr, "", 0, 0),
	}, more...)
	return ie.NewCreatePDR(u.tail(ie.NewPDRID(id), ie.NewPrecedence(precedence), ie.NewPDI(pdi...),
		ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1))...)
}

func (u ue) pdrDL(id uint16, precedence uint32, more ...*ie.IE) *ie.IE {
	pdi := append([]*ie.IE{
		ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("internet"), ie.NewUEIPAddress(0x06, u.addr, "", 0, 0),
	}, more...)
	return ie.NewCreatePDR(u.tail(ie.NewPDRID(id), ie.NewPrecedence(precedence), ie.NewPDI(pdi...), ie.NewFARID(2))...)
}

func (u ue) tail(ies ...*ie.IE) []*ie.IE {
	ies = append(ies, ie.NewQERID(1))
	if !u.noURR {
		ies = append(ies, ie.NewURRID(1))
	}
	return ies
}

// session is free5GC's establishment: two uplink PDRs on one F-TEID, a downlink FAR without a
// tunnel, a volume URR.
func (u ue) session() []*ie.IE {
	sdf := ie.NewSDFFilter("permit out ip from 8.8.8.8 to assigned", "", "", "", 0)
	ies := []*ie.IE{
		ie.NewPDNType(1),
		u.pdrUL(1, 255), u.pdrUL(3, 128, sdf),
		u.pdrDL(2, 255), u.pdrDL(4, 128, sdf),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance("internet"))),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x02),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess))),
		ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0), ie.NewMBR(100_000, 200_000), ie.NewQFI(1)),
	}
	if !u.noURR {
		urr := u.urr
		if urr == nil {
			urr = []*ie.IE{
				ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x03, 0),
				ie.NewMeasurementPeriod(30 * time.Second), ie.NewVolumeThreshold(0x07, 1<<40, 1<<40, 1<<40),
			}
		}
		ies = append(ies, ie.NewCreateURR(append([]*ie.IE{ie.NewURRID(1)}, urr...)...))
	}
	return ies
}

// gnb is the Update FAR that opens the downlink toward a gNB.
func (u ue) gnb(teid uint32, addr string, more ...*ie.IE) *ie.IE {
	fp := append([]*ie.IE{
		ie.NewDestinationInterface(ie.DstInterfaceAccess),
		ie.NewOuterHeaderCreation(0x0100, teid, addr, "", 0, 0, 0),
	}, more...)
	return ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x02), ie.NewUpdateForwardingParameters(fp...))
}

var phone = ue{teid: 1, n3: "172.30.3.16", addr: "10.45.0.1"}

// only is the stand-in's one session.
func (l *lab) only() (uint32, fakeupfu.Session) {
	l.t.Helper()
	all := l.upfu.Sessions()
	if len(all) != 1 {
		l.t.Fatalf("%d sessions in upf-u, want 1", len(all))
	}
	for index, s := range all {
		return index, s
	}
	panic("unreachable")
}

// volumes reads the Volume Measurement of a Usage Report.
func volumes(t *testing.T, e *ie.IE) (total, ul, dl uint64) {
	t.Helper()
	v, err := e.VolumeMeasurement()
	if err != nil {
		t.Fatal(err)
	}
	return v.TotalVolume, v.UplinkVolume, v.DownlinkVolume
}

func trigger(t *testing.T, e *ie.IE) string {
	t.Helper()
	v, err := e.UsageReportTrigger()
	if err != nil || len(v) != 3 {
		t.Fatalf("usage report trigger %x: %v (free5GC needs three octets)", v, err)
	}
	return fmt.Sprintf("%x", v)
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
