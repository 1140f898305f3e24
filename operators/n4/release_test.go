package n4

import (
	"net"
	"strings"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// upf answers every Association Release Request by answer and reports the node IDs that it was asked
// about.
func upf(t *testing.T, answer func(nth int, m *message.AssociationReleaseRequest) []message.Message) (string, <-chan string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	nodes := make(chan string, 10)
	go func() {
		buffer := make([]byte, maxMessage)
		for nth := 0; ; nth++ {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			m, err := message.Parse(buffer[:n])
			if err != nil {
				t.Errorf("the UPF got what is no PFCP: %v", err)
				return
			}
			request, ok := m.(*message.AssociationReleaseRequest)
			if !ok {
				t.Errorf("the UPF got %s", m.MessageTypeName())
				return
			}
			id, err := request.NodeID.NodeID()
			if err != nil {
				t.Error(err)
			}
			nodes <- id
			for _, out := range answer(nth, request) {
				raw := make([]byte, out.MarshalLen())
				if err := out.MarshalTo(raw); err != nil {
					t.Error(err)
				}
				if _, err := conn.WriteTo(raw, from); err != nil {
					return
				}
			}
		}
	}()
	return conn.LocalAddr().String(), nodes
}

func response(sequence uint32, cause uint8) message.Message {
	return message.NewAssociationReleaseResponse(sequence, ie.NewNodeID("10.96.1.3", "", ""), ie.NewCause(cause))
}

func TestReleaseAssociation(t *testing.T) {
	for name, c := range map[string]struct {
		answer    func(nth int, m *message.AssociationReleaseRequest) []message.Message
		wantError string
	}{
		"accepted": {func(_ int, m *message.AssociationReleaseRequest) []message.Message {
			return []message.Message{response(m.Sequence(), ie.CauseRequestAccepted)}
		}, ""},
		"there was none": {func(_ int, m *message.AssociationReleaseRequest) []message.Message {
			return []message.Message{response(m.Sequence(), ie.CauseNoEstablishedPFCPAssociation)}
		}, ""},
		"the first request was lost": {func(nth int, m *message.AssociationReleaseRequest) []message.Message {
			if nth == 0 {
				return nil
			}
			return []message.Message{response(m.Sequence(), ie.CauseRequestAccepted)}
		}, ""},
		"another answer comes first": {func(_ int, m *message.AssociationReleaseRequest) []message.Message {
			return []message.Message{response(m.Sequence()+1, ie.CauseRequestRejected), response(m.Sequence(), ie.CauseRequestAccepted)}
		}, ""},
		"refused": {func(_ int, m *message.AssociationReleaseRequest) []message.Message {
			return []message.Message{response(m.Sequence(), ie.CauseRequestRejected)}
		}, "refused with cause 64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, nodes := upf(t, c.answer)
			err := ReleaseAssociation(t.Context(), address, "10.96.1.2")
			if (c.wantError == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.wantError)) {
				t.Errorf("error %v, want %q", err, c.wantError)
			}
			if got := <-nodes; got != "10.96.1.2" {
				t.Errorf("released the association of %s", got)
			}
		})
	}
}

func TestReleaseAssociationGivesUp(t *testing.T) {
	address, _ := upf(t, func(int, *message.AssociationReleaseRequest) []message.Message { return nil })
	if err := ReleaseAssociation(t.Context(), address, "10.96.1.2"); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error %v", err)
	}
	if err := ReleaseAssociation(t.Context(), address, "smf.example.org"); err == nil {
		t.Error("a node ID that is no address is taken")
	}
}
