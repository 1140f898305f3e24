package storm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// SMF is a CP function with one UPF.
type SMF struct {
	conn     *net.UDPConn
	node, n3 netip.Addr
	recovery time.Time
	// AtOnce is how many requests are under way at a time where there are many to make, DefaultAtOnce if nobody says otherwise.
	AtOnce   int
	sequence atomic.Uint32

	mutex   sync.Mutex
	waiting map[uint32]chan message.Message
	seids   []uint64 // the UPF's, of sessions that were established
}

const (
	// t1 and n1 are the timer and the number of attempts of a request (TS 29.244 6.4).
	t1, n1 = time.Second, 5
	// first TEID and UE address are far from those that an SMF of the core gives out.
	firstTEID = 0x7000_0000
)

var firstUE = netip.MustParseAddr("10.200.0.1")

// DefaultAtOnce is what an SMF's AtOnce is at first.
const DefaultAtOnce = 16

// Port of PFCP (TS 29.244 4.2.2).
const Port = 8805

// Associate makes an SMF at own and its association with the UPF whose N4 is at to. The sessions get F-TEIDs
// at n3, an address of the UPF's.
func Associate(ctx context.Context, own, to netip.AddrPort, n3 netip.Addr) (*SMF, error) {
	conn, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(own), net.UDPAddrFromAddrPort(to))
	if err != nil {
		return nil, err
	}
	s := &SMF{conn: conn, n3: n3, recovery: time.Now(), AtOnce: DefaultAtOnce, waiting: map[uint32]chan message.Message{}}
	s.node = conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr()
	go s.read()
	answer, err := s.ask(ctx, message.NewAssociationSetupRequest(s.next(), s.nodeID(), ie.NewRecoveryTimeStamp(s.recovery), ie.NewCPFunctionFeatures(0)))
	if err == nil {
		err = accepted(answer)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("association with %s: %w", to, err), conn.Close())
	}
	return s, nil
}

// Release ends the association, and with it all sessions.
func (s *SMF) Release(ctx context.Context) error {
	answer, err := s.ask(ctx, message.NewAssociationReleaseRequest(s.next(), s.nodeID()))
	if err != nil {
		return err
	}
	return accepted(answer)
}

// Close leaves the UPF without a word.
func (s *SMF) Close() error { return s.conn.Close() }

// Node is its Node ID.
func (s *SMF) Node() netip.Addr { return s.node }

func (s *SMF) nodeID() *ie.IE { return ie.NewNodeID(s.node.String(), "", "") }

func (s *SMF) next() uint32 { return s.sequence.Add(1) & 0xffffff }

// read hands answers to who waits, and answers the UPF's heartbeats.
func (s *SMF) read() {
	buffer := make([]byte, 65536)
	for {
		n, err := s.conn.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP message to an earlier datagram
		}
		m, err := message.Parse(append([]byte(nil), buffer[:n]...))
		if err != nil {
			continue
		}
		if m.MessageType() == message.MsgTypeHeartbeatRequest {
			_ = s.write(message.NewHeartbeatResponse(m.Sequence(), ie.NewRecoveryTimeStamp(s.recovery)))
			continue
		}
		s.mutex.Lock()
		answer := s.waiting[m.Sequence()]
		s.mutex.Unlock()
		select {
		case answer <- m:
		default: // the second answer, or a request of the UPF's
		}
	}
}

func (s *SMF) write(m message.Message) error {
	b := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(b); err != nil {
		return err
	}
	_, err := s.conn.Write(b)
	return err
}

// ask sends a request until it is answered.
func (s *SMF) ask(ctx context.Context, m message.Message) (message.Message, error) {
	answer := make(chan message.Message, 1)
	s.mutex.Lock()
	s.waiting[m.Sequence()] = answer
	s.mutex.Unlock()
	defer func() {
		s.mutex.Lock()
		delete(s.waiting, m.Sequence())
		s.mutex.Unlock()
	}()
	for range n1 {
		if err := s.write(m); err != nil {
			return nil, err
		}
		select {
		case a := <-answer:
			return a, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(t1):
		}
	}
	return nil, fmt.Errorf("%s is not answered", m.MessageTypeName())
}

// accepted is the cause of an answer, as an error where it is another than "Request accepted".
func accepted(m message.Message) error {
	var cause *ie.IE
	switch m := m.(type) {
	case *message.AssociationSetupResponse:
		cause = m.Cause
	case *message.AssociationReleaseResponse:
		cause = m.Cause
	case *message.SessionEstablishmentResponse:
		cause = m.Cause
	case *message.SessionModificationResponse:
		cause = m.Cause
	case *message.SessionDeletionResponse:
		cause = m.Cause
	}
	if cause == nil {
		return fmt.Errorf("%s without a cause", m.MessageTypeName())
	}
	value, err := cause.Cause()
	if err != nil {
		return err
	}
	if value != ie.CauseRequestAccepted {
		return fmt.Errorf("%s: cause %d", m.MessageTypeName(), value)
	}
	return nil
}

// establish makes session n, which drops what it detects, and returns the UPF's SEID.
func (s *SMF) establish(ctx context.Context, n uint32) (uint64, error) {
	base := firstUE.As4()
	ue := net.IPv4(base[0], base[1]+byte(n>>16), base[2]+byte(n>>8), byte(n)).String()
	return s.establishWith(ctx, n, s.uplink(n, ue), ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x01)))
}

// uplink detects what comes by session n's tunnel.
func (s *SMF) uplink(n uint32, ue string) *ie.IE {
	return ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(255),
		ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x01, firstTEID+n, s.n3.AsSlice(), nil, 0),
			ie.NewNetworkInstance("internet"), ie.NewUEIPAddress(0x02, ue, "", 0, 0)),
		ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1))
}

// Tunnel establishes session n with a way to the data network and back to a tunnel of the caller's, and returns the TEID for
// uplink packets.
func (s *SMF) Tunnel(ctx context.Context, n uint32, ue, gnb netip.Addr, teid uint32) (uint32, error) {
	_, err := s.establishWith(ctx, n, s.uplink(n, ue.String()),
		ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(255),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("internet"), ie.NewUEIPAddress(0x06, ue.String(), "", 0, 0)),
			ie.NewFARID(2)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02), ie.NewForwardingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance("internet"))),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x02), ie.NewForwardingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceAccess), ie.NewOuterHeaderCreation(0x0100, teid, gnb.String(), "", 0, 0, 0))),
	)
	return firstTEID + n, err
}

// establishWith makes a session of rules, and returns the UPF's SEID.
func (s *SMF) establishWith(ctx context.Context, n uint32, rules ...*ie.IE) (uint64, error) {
	answer, err := s.ask(ctx, message.NewSessionEstablishmentRequest(0, 0, 0, s.next(), 0, append([]*ie.IE{
		s.nodeID(), ie.NewFSEID(uint64(n)+1, s.node.AsSlice(), nil), ie.NewPDNType(1)}, rules...)...))
	if err != nil {
		return 0, err
	}
	if err := accepted(answer); err != nil {
		return 0, err
	}
	f, err := answer.(*message.SessionEstablishmentResponse).UPFSEID.FSEID()
	if err != nil {
		return 0, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.seids = append(s.seids, f.SEID)
	return f.SEID, nil
}

// Lost asks for a change of each session that was established, one that changes nothing, and counts those that the UPF does not know
// any more. A session whose request is refused otherwise, or is not answered, is an error.
func (s *SMF) Lost(ctx context.Context) (sessions, lost int, err error) {
	s.mutex.Lock()
	seids := slices.Clone(s.seids)
	s.mutex.Unlock()
	var unknown atomic.Int64
	err = s.each(ctx, len(seids), func(ctx context.Context, i int) error {
		answer, err := s.ask(ctx, message.NewSessionModificationRequest(0, 0, seids[i], s.next(), 0, ie.NewUpdatePDR(ie.NewPDRID(1), ie.NewPrecedence(255))))
		if err != nil {
			return err
		}
		if m, is := answer.(*message.SessionModificationResponse); is && m.Cause != nil {
			if cause, err := m.Cause.Cause(); err == nil && cause == ie.CauseSessionContextNotFound {
				unknown.Add(1)
				return nil
			}
		}
		return accepted(answer)
	})
	return len(seids), int(unknown.Load()), err
}

// Recovery asks for the UPF's Recovery Time Stamp.
func (s *SMF) Recovery(ctx context.Context) (time.Time, error) {
	answer, err := s.ask(ctx, message.NewHeartbeatRequest(s.next(), ie.NewRecoveryTimeStamp(s.recovery), nil))
	if err != nil {
		return time.Time{}, err
	}
	m, is := answer.(*message.HeartbeatResponse)
	if !is || m.RecoveryTimeStamp == nil {
		return time.Time{}, fmt.Errorf("a heartbeat is answered with %s, without a Recovery Time Stamp", answer.MessageTypeName())
	}
	return m.RecoveryTimeStamp.RecoveryTimeStamp()
}

// insist establishes session n, and asks again where it is refused: a UPF whose two halves miss each other for
// a moment refuses too.
func (s *SMF) insist(ctx context.Context, n uint32) (err error) {
	for range n1 {
		if _, err = s.establish(ctx, n); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// Fill establishes sessions 0 to n-1, and leaves them there.
func (s *SMF) Fill(ctx context.Context, n int) error {
	return s.each(ctx, n, func(ctx context.Context, i int) error {
		if err := s.insist(ctx, uint32(i)); err != nil {
			return fmt.Errorf("session %d of %d: %w", i+1, n, err)
		}
		return nil
	})
}

// each does what for 0 to n-1, AtOnce at a time, until all are done or one fails.
func (s *SMF) each(ctx context.Context, n int, what func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range s.AtOnce {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := what(ctx, int(i)); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// Nonsense asks so often a second to change a session that there is not, until ctx ends.
func (s *SMF) Nonsense(ctx context.Context, rate int) error {
	return Pace(ctx, rate, s.absent)
}

// Crowd asks once a second for so many changes at a time of one session that there is not, until ctx ends. A UPF executes what is asked for one
// session one after the other, and refuses what finds no room to wait: it counts as overloaded with little work.
func (s *SMF) Crowd(ctx context.Context, n int) error {
	return Pace(ctx, 1, func() error {
		for range n {
			if err := s.absent(); err != nil {
				return err
			}
		}
		return nil
	})
}

// absent asks to change a session that there is not.
func (s *SMF) absent() error {
	return s.write(message.NewSessionModificationRequest(0, 0, 1<<62, s.next(), 0, ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02))))
}
