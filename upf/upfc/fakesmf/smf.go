// Package fakesmf is the other side of N4 in tests: a CP function over real UDP that asks what
// free5GC's SMF asks.
package fakesmf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Patience is how long anything is waited for, far above what it takes: a machine may have other work.
const Patience = time.Minute

// SMF is a CP function on a loopback address of its own.
type SMF struct {
	// To is where upf-c serves PFCP; Addr is ours, on PFCP's own port.
	To       netip.AddrPort
	Addr     netip.Addr
	Recovery time.Time // our Recovery Time Stamp
	// Successor, when it is set, is the Recovery Time Stamp in answers to heartbeats: another has taken this
	// one's address.
	Successor atomic.Pointer[time.Time]
	// Reports and Heartbeats are upf-c's requests, which are answered as Mute and Cause say.
	Reports    chan *message.SessionReportRequest
	Heartbeats chan *message.HeartbeatRequest
	// Others are upf-c's other requests: association setup and update, node reports.
	Others chan message.Message
	Mute   atomic.Bool
	Cause  atomic.Uint32
	More   atomic.Pointer[[]*ie.IE] // further IEs of the answer to the next report
	// Capture sees every datagram of upf-c's before it is answered or handed on.
	Capture atomic.Pointer[func([]byte)]

	t       testing.TB
	conn    *net.UDPConn
	seq     atomic.Uint32
	answers chan message.Message
}

var last atomic.Uint32

// New makes an SMF on a loopback address of its own.
func New(t testing.TB, to netip.AddrPort) *SMF {
	t.Helper()
	var addr netip.Addr
	var conn *net.UDPConn
	var err error
	for range 4096 { // tests of other packages run at the same time
		n := last.Add(1)
		addr = netip.AddrFrom4([4]byte{127, 77, byte(1 + n/200%200), byte(1 + n%200)})
		if conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 8805))); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return over(t, conn, addr, to)
}

// At makes an SMF on an address of the network namespace that the calling thread is in.
func At(t testing.TB, addr netip.Addr, to netip.AddrPort) *SMF {
	t.Helper()
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 8805)))
	if err != nil {
		t.Fatal(err)
	}
	return over(t, conn, addr, to)
}

func over(t testing.TB, conn *net.UDPConn, addr netip.Addr, to netip.AddrPort) *SMF {
	s := &SMF{
		To: to, Addr: addr, Recovery: time.Unix(1_700_000_000, 0),
		Reports: make(chan *message.SessionReportRequest, 1024), Heartbeats: make(chan *message.HeartbeatRequest, 64),
		Others: make(chan message.Message, 64),
		t:      t, conn: conn, answers: make(chan message.Message, 64),
	}
	s.Cause.Store(uint32(ie.CauseRequestAccepted))
	t.Cleanup(func() { _ = conn.Close() })
	go s.read()
	return s
}

func (s *SMF) read() {
	buf := make([]byte, 65536)
	for {
		n, from, err := s.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		if f := s.Capture.Load(); f != nil {
			(*f)(buf[:n])
		}
		m, err := message.Parse(append([]byte(nil), buf[:n]...))
		if err != nil {
			s.t.Errorf("upf-c sent what go-pfcp cannot parse: %v", err)
			continue
		}
		var answer message.Message
		switch m := m.(type) {
		case *message.SessionReportRequest:
			ies := []*ie.IE{ie.NewCause(uint8(s.Cause.Load()))}
			if more := s.More.Swap(nil); more != nil {
				ies = append(ies, *more...)
			}
			answer = message.NewSessionReportResponse(0, 0, 1, m.Sequence(), 0, ies...)
			select {
			case s.Reports <- m:
			default:
			}
		case *message.HeartbeatRequest:
			stamp := s.Successor.Load()
			if stamp == nil {
				stamp = &s.Recovery
			}
			answer = message.NewHeartbeatResponse(m.Sequence(), ie.NewRecoveryTimeStamp(*stamp))
			select {
			case s.Heartbeats <- m:
			default:
			}
		case *message.AssociationSetupRequest:
			answer = message.NewAssociationSetupResponse(m.Sequence(), s.Node(), ie.NewCause(uint8(s.Cause.Load())), ie.NewRecoveryTimeStamp(s.Recovery))
			s.note(m)
		case *message.AssociationUpdateRequest:
			answer = message.NewAssociationUpdateResponse(m.Sequence(), s.Node(), ie.NewCause(uint8(s.Cause.Load())))
			s.note(m)
		case *message.NodeReportRequest:
			answer = message.NewNodeReportResponse(m.Sequence(), s.Node(), ie.NewCause(uint8(s.Cause.Load())), nil)
			s.note(m)
		default:
			s.answers <- m
			continue
		}
		if s.Mute.Load() {
			continue
		}
		b := make([]byte, answer.MarshalLen())
		if err := answer.MarshalTo(b); err == nil {
			_, _ = s.conn.WriteToUDPAddrPort(b, from)
		}
	}
}

func (s *SMF) note(m message.Message) {
	select {
	case s.Others <- m:
	default:
	}
}

// Other is upf-c's next request that is no heartbeat and no session report.
func (s *SMF) Other() message.Message {
	s.t.Helper()
	select {
	case m := <-s.Others:
		return m
	case <-time.After(Patience):
		s.t.Fatal("no request from upf-c")
		return nil
	}
}

// NextSeq is a sequence number of its own.
func (s *SMF) NextSeq() uint32 { return s.seq.Add(1) }

// Write sends a message.
func (s *SMF) Write(m message.Message) {
	s.t.Helper()
	b := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(b); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.conn.WriteToUDPAddrPort(b, s.To); err != nil {
		s.t.Fatal(err)
	}
}

// Answer is the next answer.
func (s *SMF) Answer() message.Message {
	s.t.Helper()
	select {
	case m := <-s.answers:
		return m
	case <-time.After(Patience):
		s.t.Fatal("no answer")
		return nil
	}
}

// Ask sends a request and waits for its answer. Without one it repeats the request (TS 29.244 6.4).
func (s *SMF) Ask(m message.Message) message.Message {
	s.t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		s.Write(m)
		for again := time.After(time.Second); again != nil; {
			select {
			case a := <-s.answers:
				if a.Sequence() == m.Sequence() {
					return a
				}
				if a.Sequence() > m.Sequence() { // else it is to a copy of an earlier request
					s.t.Fatalf("answer has sequence number %d, want %d", a.Sequence(), m.Sequence())
				}
			case <-again:
				again = nil
			}
		}
	}
	s.t.Fatal("no answer")
	return nil
}

// Node is its Node ID.
func (s *SMF) Node() *ie.IE { return ie.NewNodeID(s.Addr.String(), "", "") }

// Associate sets the association up.
func (s *SMF) Associate() *message.AssociationSetupResponse {
	s.t.Helper()
	a, ok := s.Ask(message.NewAssociationSetupRequest(s.NextSeq(), s.Node(), ie.NewRecoveryTimeStamp(s.Recovery), ie.NewCPFunctionFeatures(0))).(*message.AssociationSetupResponse)
	if !ok {
		s.t.Fatal("no Association Setup Response")
	}
	WantCause(s.t, a.Cause, ie.CauseRequestAccepted)
	return a
}

// Heartbeat asks for the Recovery Time Stamp.
func (s *SMF) Heartbeat() time.Time {
	s.t.Helper()
	a, ok := s.Ask(message.NewHeartbeatRequest(s.NextSeq(), ie.NewRecoveryTimeStamp(s.Recovery), nil)).(*message.HeartbeatResponse)
	if !ok {
		s.t.Fatal("no Heartbeat Response")
	}
	ts, err := a.RecoveryTimeStamp.RecoveryTimeStamp()
	if err != nil {
		s.t.Fatal(err)
	}
	return ts
}

// Establish asks for a session.
func (s *SMF) Establish(cpSEID uint64, ies ...*ie.IE) *message.SessionEstablishmentResponse {
	s.t.Helper()
	ies = append([]*ie.IE{s.Node(), ie.NewFSEID(cpSEID, net.IP(s.Addr.AsSlice()), nil)}, ies...)
	a, ok := s.Ask(message.NewSessionEstablishmentRequest(0, 0, 0, s.NextSeq(), 0, ies...)).(*message.SessionEstablishmentResponse)
	if !ok {
		s.t.Fatal("no Session Establishment Response")
	}
	if a.SEID() != cpSEID {
		s.t.Errorf("answer is for CP SEID %#x, want %#x", a.SEID(), cpSEID)
	}
	return a
}

// Established is Establish, accepted; it returns the UP SEID.
func (s *SMF) Established(cpSEID uint64, ies ...*ie.IE) uint64 {
	s.t.Helper()
	a := s.Establish(cpSEID, ies...)
	WantCause(s.t, a.Cause, ie.CauseRequestAccepted)
	f, err := a.UPFSEID.FSEID()
	if err != nil {
		s.t.Fatal(err)
	}
	return f.SEID
}

// Modify changes a session.
func (s *SMF) Modify(seid uint64, ies ...*ie.IE) *message.SessionModificationResponse {
	s.t.Helper()
	a, ok := s.Ask(message.NewSessionModificationRequest(0, 0, seid, s.NextSeq(), 0, ies...)).(*message.SessionModificationResponse)
	if !ok {
		s.t.Fatal("no Session Modification Response")
	}
	return a
}

// Delete deletes a session.
func (s *SMF) Delete(seid uint64) *message.SessionDeletionResponse {
	s.t.Helper()
	a, ok := s.Ask(message.NewSessionDeletionRequest(0, 0, seid, s.NextSeq(), 0)).(*message.SessionDeletionResponse)
	if !ok {
		s.t.Fatal("no Session Deletion Response")
	}
	return a
}

// Report is the next report.
func (s *SMF) Report() *message.SessionReportRequest {
	s.t.Helper()
	select {
	case r := <-s.Reports:
		return r
	case <-time.After(Patience):
		s.t.Fatal("no Session Report Request")
		return nil
	}
}

// WantCause fails the test unless the cause is the wanted one.
func WantCause(t testing.TB, e *ie.IE, want uint8) {
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

// WantOffending fails the test unless the offending IE is the wanted one.
func WantOffending(t testing.TB, e *ie.IE, want uint16) {
	t.Helper()
	if e == nil {
		t.Fatalf("answer without Offending IE, want %d", want)
	}
	if got, err := e.OffendingIE(); err != nil || got != want {
		t.Fatalf("offending IE %d (%v), want %d", got, err, want)
	}
}

// Volumes reads the Volume Measurement of a Usage Report.
func Volumes(t testing.TB, e *ie.IE) (total, ul, dl uint64) {
	t.Helper()
	v, err := e.VolumeMeasurement()
	if err != nil {
		t.Fatal(err)
	}
	return v.TotalVolume, v.UplinkVolume, v.DownlinkVolume
}

// Trigger is the Usage Report Trigger's three octets in hexadecimal.
func Trigger(t testing.TB, e *ie.IE) string {
	t.Helper()
	v, err := e.UsageReportTrigger()
	if err != nil || len(v) != 3 {
		t.Fatalf("usage report trigger %x: %v (free5GC needs three octets)", v, err)
	}
	return fmt.Sprintf("%x", v)
}
