package agent_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// FuzzHandler runs any message against an agent with an association and a session. A panic fails;
// so does a session that upf-u and upf-c have differently afterwards, which the stand-in would
// refuse.
func FuzzHandler(f *testing.F) {
	marshal := func(m message.Message) []byte {
		b := make([]byte, m.MarshalLen())
		if err := m.MarshalTo(b); err != nil {
			f.Fatal(err)
		}
		return b
	}
	node := ie.NewNodeID("127.77.9.9", "", "")
	session := append([]*ie.IE{node, ie.NewFSEID(1, net.IP{127, 77, 9, 9}, nil)}, fakesmf.Phone.Session()...)
	setup := marshal(message.NewAssociationSetupRequest(1, node, ie.NewRecoveryTimeStamp(time.Unix(1_700_000_000, 0))))
	establish := marshal(message.NewSessionEstablishmentRequest(0, 0, 0, 2, 0, session...))
	f.Add(setup)
	f.Add(establish)
	f.Add(marshal(message.NewAssociationReleaseRequest(3, node)))
	f.Add(marshal(message.NewAssociationUpdateRequest(3, node)))
	f.Add(marshal(message.NewSessionModificationRequest(0, 0, 1, 4, 0, fakesmf.Phone.GNB(0x100, "172.30.3.100"), ie.NewQueryURR(ie.NewURRID(1)))))
	f.Add(marshal(message.NewSessionModificationRequest(0, 0, 1, 5, 0, ie.NewRemoveURR(ie.NewURRID(1)), ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(1, 1)))))
	f.Add(marshal(message.NewSessionDeletionRequest(0, 0, 1, 6, 0)))
	f.Add(marshal(message.NewPFDManagementRequest(8, node, application("video", "permit out 17 from 10.9.0.0/16 443 to assigned"))))
	f.Add(marshal(message.NewPFDManagementRequest(9, node)))
	f.Add(marshal(message.NewSessionSetDeletionRequest(10, node, ie.NewFQCSID("10.0.0.7", 1))))
	f.Add(marshal(message.NewSessionModificationRequest(0, 0, 1, 11, 0, ie.NewPFCPSMReqFlags(5), ie.NewFQCSID("10.0.0.7", 1),
		ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(1), ie.NewFTEID(5, 0, nil, nil, 0)), ie.NewCreateBAR(ie.NewBARID(1)),
		ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c), ie.NewBARID(1)))))
	f.Add(marshal(message.NewHeartbeatRequest(7, ie.NewRecoveryTimeStamp(time.Now()), nil)))

	socket := filepath.Join(f.TempDir(), "upf.sock")
	u, err := fakeupfu.Start(socket)
	if err != nil {
		f.Fatal(err)
	}
	cfg, err := config.Parse([]byte("nodeID: upf.test\npfcp: {listen: '127.77.0.1:0'}\nheartbeat: {interval: 0s}\nn3: {endpoints: [172.30.3.16/28]}\ndataplane: {socket: " + socket + "}\nstate: {file: ''}\n"))
	if err != nil {
		f.Fatal(err)
	}
	a := agent.New(cfg, slog.New(slog.NewTextHandler(io.Discard, nil)), nowhere{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = a.Run(ctx) }()
	f.Cleanup(func() { cancel(); <-ended; u.Kill() })
	a.Addr()

	f.Fuzz(func(t *testing.T, b []byte) {
		for _, first := range [][]byte{setup, establish} {
			m, err := pfcp.Parse(first)
			if err != nil {
				t.Fatal(err)
			}
			a.Handle(ctx, m)
		}
		m, err := pfcp.Parse(b)
		if err != nil {
			return
		}
		if list := a.Sessions(); m.SEID == 1 && len(list) > 0 { // stands for the session that is there
			s, ok := parseHex(list[0].SEID)
			if !ok {
				t.Fatalf("SEID %q", list[0].SEID)
			}
			m.SEID = s
		}
		if m.Type == message.MsgTypeHeartbeatRequest {
			a.Heartbeat(m)
		}
		if answer := a.Handle(ctx, m); answer == nil || len(answer.IEs) == 0 {
			t.Errorf("no answer to message type %d", m.Type)
		}
		// A Recovery Time Stamp that is newer drops the sessions behind the answer.
		if err := u.Await(fakesmf.Patience, func() bool { return len(u.Sessions()) == a.Status().Sessions }); err != nil {
			t.Errorf("upf-u has %d sessions, upf-c %d", len(u.Sessions()), a.Status().Sessions)
		}
	})
}
