package storm

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// upf answers on loopback as a UPF would, and notes what it is asked for.
type upf struct {
	conn                         *net.UDPConn
	established, deleted, absent atomic.Int32
	released                     atomic.Int32 // associations
	cause                        atomic.Uint32
	together                     atomic.Int32  // it answers establishments when so many wait
	present                      atomic.Bool   // it knows the sessions that it is asked to change
	asked                        chan net.Addr // where the association comes from
	alive                        chan uint32   // sequence numbers of Heartbeat Responses
}

var recovered = time.Unix(1_700_000_000, 0)

func newUPF(t *testing.T) *upf {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	u := &upf{conn: conn, asked: make(chan net.Addr, 1), alive: make(chan uint32, 64)}
	u.cause.Store(uint32(ie.CauseRequestAccepted))
	t.Cleanup(func() { _ = conn.Close() })
	go u.serve()
	return u
}

func (u *upf) address() netip.AddrPort { return u.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

func (u *upf) serve() {
	buffer := make([]byte, 65536)
	waiting := map[uint32]message.Message{} // answers by sequence number
	for {
		n, from, err := u.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		m, err := message.Parse(append([]byte(nil), buffer[:n]...))
		if err != nil {
			continue
		}
		cause := ie.NewCause(uint8(u.cause.Load()))
		var answer message.Message
		switch m := m.(type) {
		case *message.AssociationSetupRequest:
			u.asked <- from
			answer = message.NewAssociationSetupResponse(m.Sequence(), ie.NewNodeID("127.0.0.1", "", ""), cause, ie.NewRecoveryTimeStamp(time.Now()))
		case *message.SessionEstablishmentRequest:
			seid := uint64(u.established.Add(1))
			answer = message.NewSessionEstablishmentResponse(0, 0, 0, m.Sequence(), 0, cause, ie.NewFSEID(seid, net.IPv4(127, 0, 0, 1).To4(), nil))
		case *message.SessionModificationRequest:
			u.absent.Add(1)
			if !u.present.Load() {
				cause = ie.NewCause(ie.CauseSessionContextNotFound)
			}
			answer = message.NewSessionModificationResponse(0, 0, 0, m.Sequence(), 0, cause)
		case *message.AssociationReleaseRequest:
			u.released.Add(1)
			answer = message.NewAssociationReleaseResponse(m.Sequence(), ie.NewNodeID("127.0.0.1", "", ""), cause)
		case *message.HeartbeatRequest:
			answer = message.NewHeartbeatResponse(m.Sequence(), ie.NewRecoveryTimeStamp(recovered))
		case *message.SessionDeletionRequest:
			u.deleted.Add(1)
			answer = message.NewSessionDeletionResponse(0, 0, 0, m.Sequence(), 0, cause)
		case *message.HeartbeatResponse:
			u.alive <- m.Sequence()
			continue
		default:
			continue
		}
		waiting[answer.Sequence()] = answer
		if _, establishes := m.(*message.SessionEstablishmentRequest); establishes && len(waiting) < int(u.together.Load()) {
			continue
		}
		for _, answer := range waiting {
			b := make([]byte, answer.MarshalLen())
			if answer.MarshalTo(b) == nil {
				_, _ = u.conn.WriteTo(b, from)
			}
		}
		clear(waiting)
	}
}

func associate(t *testing.T, u *upf) *SMF {
	t.Helper()
	s, err := Associate(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"), u.address(), netip.MustParseAddr("172.30.3.16"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestFillLeavesItsSessions(t *testing.T) {
	u := newUPF(t)
	if err := associate(t, u).Fill(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	if n, gone := u.established.Load(), u.deleted.Load(); n < 1000 || gone != 0 {
		t.Errorf("%d sessions established, %d deleted, want 1000 and none", n, gone)
	}
}

// A UPF that answers only where 64 wait is filled by an SMF that has so many under way, and not by one with fewer.
func TestManyAreUnderWayAtOnce(t *testing.T) {
	u := newUPF(t)
	s := associate(t, u)
	u.together.Store(64)
	s.AtOnce = 64
	if err := s.Fill(t.Context(), 640); err != nil {
		t.Error(err)
	}
	s.AtOnce = 63
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.Fill(ctx, 640); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want no answer", err)
	}
}

// Sessions that the UPF does not know any more are counted; a session that is refused otherwise is an error.
func TestLostSessionsAreCounted(t *testing.T) {
	u := newUPF(t)
	s := associate(t, u)
	if err := s.Fill(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		sessions, lost, err := s.Lost(t.Context())
		if n := int(u.established.Load()); err != nil || sessions < 100 || sessions > n || lost != sessions {
			t.Errorf("%d of %d sessions are lost (%v), of %d that were established: this UPF knows none", lost, sessions, err, n)
		}
	}
	u.present.Store(true)
	if sessions, lost, err := s.Lost(t.Context()); err != nil || lost > 0 {
		t.Errorf("%d of %d sessions are lost (%v), want none", lost, sessions, err)
	}
	u.cause.Store(uint32(ie.CauseRequestRejected))
	if _, _, err := s.Lost(t.Context()); err == nil {
		t.Error("no error although the UPF refuses")
	}
}

func TestATunnelAndARecoveryTimeStamp(t *testing.T) {
	u := newUPF(t)
	s := associate(t, u)
	teid, err := s.Tunnel(t.Context(), 5, netip.MustParseAddr("10.46.200.1"), netip.MustParseAddr("172.30.3.121"), 9)
	if err != nil || teid != firstTEID+5 {
		t.Errorf("TEID %#x, %v", teid, err)
	}
	if got, err := s.Recovery(t.Context()); err != nil || !got.Equal(recovered) {
		t.Errorf("Recovery Time Stamp %s, %v; want %s", got, err, recovered)
	}
}

func TestAReleaseIsAnswered(t *testing.T) {
	u := newUPF(t)
	s := associate(t, u)
	if err := s.Release(t.Context()); err != nil || u.released.Load() == 0 {
		t.Errorf("%v, %d associations released", err, u.released.Load())
	}
	u.cause.Store(uint32(ie.CauseNoEstablishedPFCPAssociation))
	if err := s.Release(t.Context()); err == nil {
		t.Error("no error although the UPF knows no association")
	}
}

func TestFillEndsWithARefusal(t *testing.T) {
	u := newUPF(t)
	s := associate(t, u)
	u.cause.Store(uint32(ie.CauseNoResourcesAvailable))
	if err := s.Fill(t.Context(), 1000); err == nil {
		t.Error("no error although the UPF has no resources")
	}
}

func TestAssociationThatIsRefused(t *testing.T) {
	u := newUPF(t)
	u.cause.Store(uint32(ie.CauseRequestRejected))
	if s, err := Associate(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"), u.address(), netip.MustParseAddr("172.30.3.16")); err == nil {
		_ = s.Close()
		t.Error("associated with a UPF that refuses")
	}
}

func TestHeartbeatsAreAnswered(t *testing.T) {
	u := newUPF(t)
	associate(t, u)
	from := <-u.asked
	request := message.NewHeartbeatRequest(7, ie.NewRecoveryTimeStamp(time.Now()), nil)
	b := make([]byte, request.MarshalLen())
	if err := request.MarshalTo(b); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if _, err := u.conn.WriteTo(b, from); err != nil {
			t.Fatal(err)
		}
		select {
		case sequence := <-u.alive:
			if sequence != 7 {
				t.Errorf("Heartbeat Response %d, want 7", sequence)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Error("no Heartbeat Response")
}

func TestNonsenseGoesOnUntilItIsStopped(t *testing.T) {
	u := newUPF(t)
	s := associate(t, u)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Nonsense(ctx, 200) }()
	deadline := time.Now().Add(10 * time.Second)
	for u.absent.Load() < 20 {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests for what is not there", u.absent.Load())
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// room is upf-c's server, with an agent behind it that takes its time until its server has refused some.
type room struct {
	begun, refused atomic.Int32
	full           chan struct{}
}

func (r *room) Heartbeat(*pfcp.Message) *pfcp.Answer { return nil }

func (r *room) Handle(_ context.Context, m *pfcp.Message) *pfcp.Answer {
	if m.Type == message.MsgTypeSessionModificationRequest {
		r.begun.Add(1)
		<-r.full
		return answer(m, ie.NewCause(ie.CauseSessionContextNotFound))
	}
	return answer(m, ie.NewNodeID("127.0.0.1", "", ""), ie.NewCause(ie.CauseRequestAccepted), ie.NewRecoveryTimeStamp(recovered))
}

func (r *room) Congested(m *pfcp.Message) *pfcp.Answer {
	if r.refused.Add(1) == 1 {
		close(r.full)
	}
	return answer(m, ie.NewCause(ie.CausePFCPEntityInCongestion))
}

func answer(m *pfcp.Message, ies ...*ie.IE) *pfcp.Answer {
	a := m.Answer()
	a.Add(ies...)
	return a
}

type nobodyCounts struct{}

func (nobodyCounts) Message(string, string, string) {}
func (nobodyCounts) Retransmission(string, string)  {}
func (nobodyCounts) Latency(string, time.Duration)  {}

// A crowd finds less room in a UPF with the limits that it has by itself than it needs.
func TestACrowdFindsNoRoom(t *testing.T) {
	defaults, err := config.Parse([]byte("nodeID: 10.0.0.1\nn3: {endpoints: [172.30.3.16]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	limits := defaults.Limits
	server, err := pfcp.Listen(netip.MustParseAddrPort("127.0.0.1:0"), pfcp.Options{
		Interval: time.Second, Attempts: 3, Requests: limits.Requests, Answers: limits.Answers << 20,
		Log: slog.New(slog.DiscardHandler), Recorder: nobodyCounts{},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	crowding, disperse := context.WithCancel(ctx)
	r, served, crowded := &room{full: make(chan struct{})}, make(chan error, 1), make(chan error, 1)
	go func() { served <- server.Serve(ctx, r) }()
	s, err := Associate(ctx, netip.MustParseAddrPort("127.0.0.1:0"), server.Addr(), netip.MustParseAddr("172.30.3.16"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	go func() { crowded <- s.Crowd(crowding, 500) }()
	select {
	case <-r.full:
	case <-time.After(time.Minute):
		t.Errorf("%d requests were begun, and none found no room", r.begun.Load())
		close(r.full)
	}
	disperse()
	if err := <-crowded; err != nil {
		t.Error(err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestTunnelsAreGTPU(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 88, 0, 1), Port: gtpu.Port})
	if err != nil {
		t.Skipf("port of GTP-U: %v", err)
	}
	defer conn.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = Tunnels(ctx, netip.MustParseAddr("127.88.0.1"), 1000) }()
	seen := map[uint32]bool{}
	buffer := make([]byte, 2048)
	for range 10 {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		p, err := gtpu.Parse(buffer[:n])
		if err != nil || p.Type != gtpu.GPDU || !p.HasPSC || p.PDUType != 1 {
			t.Fatalf("%+v (%v), want an uplink G-PDU", p, err)
		}
		seen[p.TEID] = true
	}
	if len(seen) < 5 {
		t.Errorf("%d TEIDs in 10 packets", len(seen))
	}
}
