package smoke

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// playedUPF answers the SMF on N4 as a UPF that accepts everything.
type playedUPF struct {
	conn    *net.UDPConn
	address string
	started time.Time

	mu       sync.Mutex
	seen     map[uint8]int
	sessions map[uint64]bool
}

func startUPF(t *testing.T) *playedUPF {
	t.Helper()
	u := &playedUPF{
		address: addresses[upfName], started: time.Now(), seen: map[uint8]int{}, sessions: map[uint64]bool{},
	}
	var err error
	if u.conn, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(u.address), Port: 8805}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		u.serve()
	}()
	t.Cleanup(func() {
		_ = u.conn.Close()
		<-done
	})
	return u
}

func (u *playedUPF) serve() {
	buf := make([]byte, 4096)
	for {
		n, from, err := u.conn.ReadFromUDP(buf)
		if err != nil {
			return
		}
		request, err := message.Parse(buf[:n])
		if err != nil {
			continue
		}
		answer := u.answer(request)
		if answer == nil {
			continue
		}
		raw := make([]byte, answer.MarshalLen())
		if err := answer.MarshalTo(raw); err == nil {
			_, _ = u.conn.WriteToUDP(raw, from)
		}
	}
}

func (u *playedUPF) answer(request message.Message) message.Message {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seen[request.MessageType()]++
	nodeID := ie.NewNodeID(u.address, "", "")
	accepted := ie.NewCause(ie.CauseRequestAccepted)
	switch r := request.(type) {
	case *message.AssociationSetupRequest:
		return message.NewAssociationSetupResponse(r.Sequence(), nodeID, accepted, ie.NewRecoveryTimeStamp(u.started))
	case *message.HeartbeatRequest:
		return message.NewHeartbeatResponse(r.Sequence(), ie.NewRecoveryTimeStamp(u.started))
	case *message.SessionEstablishmentRequest:
		smf, err := r.CPFSEID.FSEID()
		if err != nil {
			return nil
		}
		u.sessions[smf.SEID] = true
		return message.NewSessionEstablishmentResponse(0, 0, smf.SEID, r.Sequence(), 0,
			nodeID, accepted, ie.NewFSEID(smf.SEID, net.ParseIP(u.address), nil))
	case *message.SessionModificationRequest:
		return message.NewSessionModificationResponse(0, 0, r.SEID(), r.Sequence(), 0, accepted)
	case *message.SessionDeletionRequest:
		delete(u.sessions, r.SEID())
		return message.NewSessionDeletionResponse(0, 0, r.SEID(), r.Sequence(), 0, accepted)
	}
	return nil
}

func (u *playedUPF) count(messageType uint8) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen[messageType]
}

func (u *playedUPF) sessionCount() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.sessions)
}
