package shard

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// bridge is a UPF by a script: it takes whatever it is asked for, and has PDU sessions of type Ethernet where features say so.
type bridge struct {
	t        *testing.T
	conn     *net.UDPConn
	features pfcp.Features

	mu       sync.Mutex
	met      bool
	smf      *net.UDPAddr
	cpSEID   uint64
	asked    []*ie.IE
	reported chan uint8 // causes of what was reported
}

func newBridge(t *testing.T, features pfcp.Features) (*bridge, netip.AddrPort) {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 77, 1, 3)})
	if err != nil {
		t.Fatal(err)
	}
	b := &bridge{t: t, conn: conn, features: features, reported: make(chan uint8, 8)}
	done := make(chan struct{})
	go func() { defer close(done); b.serve() }()
	t.Cleanup(func() { conn.Close(); <-done })
	return b, conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

func (b *bridge) serve() {
	octets := make([]byte, 1<<16)
	for {
		n, from, err := b.conn.ReadFromUDP(octets)
		if err != nil {
			return
		}
		m, err := message.Parse(slices.Clone(octets[:n]))
		if err != nil {
			continue
		}
		if answer := b.answer(m, from); answer != nil {
			b.send(answer, from)
		}
	}
}

func (b *bridge) send(m message.Message, to *net.UDPAddr) {
	out := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(out); err == nil {
		_, _ = b.conn.WriteToUDP(out, to) // one that is lost is asked for again
	}
}

const upSEID = 0x77

func (b *bridge) answer(m message.Message, from *net.UDPAddr) message.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.smf = from // the pod that has the shard now
	accepted := ie.NewCause(ie.CauseRequestAccepted)
	switch m := m.(type) {
	case *message.HeartbeatRequest:
		return message.NewHeartbeatResponse(m.SequenceNumber, ie.NewRecoveryTimeStamp(time.Unix(1_790_000_000, 0)))
	case *message.AssociationSetupRequest:
		b.met = true
		return message.NewAssociationSetupResponse(m.SequenceNumber, ie.NewNodeID("", "", "bridge.test"), accepted,
			ie.NewRecoveryTimeStamp(time.Unix(1_790_000_000, 0)), ie.New(ie.UPFunctionFeatures, b.features[:]))
	case *message.SessionEstablishmentRequest:
		id, err := m.CPFSEID.FSEID()
		if err != nil {
			b.t.Errorf("an establishment without a CP F-SEID: %v", err)
			return nil
		}
		b.cpSEID = id.SEID
		b.asked = append(append([]*ie.IE{m.PDNType}, m.CreatePDR...), m.CreateURR...)
		return message.NewSessionEstablishmentResponse(0, 0, id.SEID, m.SequenceNumber, 0, ie.NewNodeID("", "", "bridge.test"), accepted,
			ie.NewFSEID(upSEID, net.IPv4(127, 77, 1, 3), nil), ie.NewCreatedPDR(ie.NewPDRID(1), ie.NewFTEID(1, 0x10, net.IPv4(172, 30, 3, 16), nil, 0)))
	case *message.SessionModificationRequest:
		return message.NewSessionModificationResponse(0, 0, b.cpSEID, m.SequenceNumber, 0, accepted)
	case *message.SessionDeletionRequest:
		return message.NewSessionDeletionResponse(0, 0, b.cpSEID, m.SequenceNumber, 0, accepted)
	case *message.SessionReportResponse:
		cause, _ := m.Cause.Cause() // 0 where there is none
		b.reported <- cause
	}
	return nil
}

// reports MAC addresses of the session, and says what that is answered.
func (b *bridge) reports(sequence uint32, kind uint16, macs ...n1.MAC) uint8 {
	b.t.Helper()
	list := []byte{byte(len(macs))}
	for _, m := range macs {
		list = append(list, m[:]...)
	}
	b.mu.Lock()
	smf, cpSEID := b.smf, b.cpSEID
	b.mu.Unlock()
	b.send(message.NewSessionReportRequest(0, 0, cpSEID, sequence, 0, ie.NewReportType(0, 0, 1, 0), ie.NewUsageReport(ie.UsageReportWithinSessionReportRequest,
		ie.NewURRID(1<<30), ie.NewURSEQN(sequence), ie.NewUsageReportTrigger(0, 0x40, 0), ie.NewGroupedIE(ie.EthernetTrafficInformation, ie.New(kind, append(list, 0, 0))))), smf)
	select {
	case cause := <-b.reported:
		return cause
	case <-time.After(patience):
		b.t.Fatal("a report has no answer")
		return 0
	}
}

func (r *rig) lan(at netip.AddrPort) {
	r.t.Helper()
	r.dnn = "lan"
	var err error
	r.config, err = configuration.New([]configuration.Slice{{Name: "plant", SST: 1, SD: &[3]byte{1, 2, 3}, DataNetworks: []configuration.DataNetwork{{
		DNN: "lan", Core: "lan", Types: []n1.SessionType{n1.Ethernet}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9, ARP: configuration.ARP{Priority: 8},
		MTU: 1500, Units: []configuration.Serving{{NodeID: "bridge.test"}},
	}}}}, []configuration.Unit{{NodeID: "bridge.test", Address: at}})
	if err != nil {
		r.t.Fatal(err)
	}
}

// A session of type Ethernet on the wire: what the unit is asked for, what the UE is told, and what the unit reports, which the next pod knows, too.
func TestEthernet(t *testing.T) {
	r := newRig(t)
	b, at := newBridge(t, pfcp.Features{}.With(pfcp.FTUP, pfcp.UEIP))
	r.lan(at)
	pod, end := r.start("pod-1")
	ref := r.create(pod, "imsi-208930000000001", n1.Ethernet)
	x := r.amf.next(t)
	if x.n1[3] != byte(n1.EstablishmentAcceptType) || x.n1[4] != 0x15 {
		t.Fatalf("the AMF was given N1 %x, want an accept of type Ethernet", x.n1)
	}
	r.tunnel(pod, ref, 0x100)
	b.mu.Lock()
	if pdn, err := b.asked[0].PDNType(); err != nil || pdn != 5 {
		t.Errorf("PDN Type %d, %v", pdn, err)
	}
	if n := len(b.asked); n != 4 || b.asked[3].Type != ie.CreateURR {
		t.Errorf("the unit is asked for %d elements, want the type, two PDRs and a URR", n)
	}
	b.mu.Unlock()

	kept := func(pod string, want ...n1.MAC) {
		t.Helper()
		key := record.Key("imsi-208930000000001", 1)
		found, err := r.store.Read(context.Background(), key)
		if err != nil {
			t.Fatal(err)
		}
		octets, err := r.sealer.Open(key, found.Value)
		if err != nil {
			t.Fatal(err)
		}
		s, err := record.Decode(octets)
		if err != nil || s.Ethernet == nil || !slices.Equal(s.Ethernet.MACs, want) {
			t.Errorf("%s: the record has %+v, %v, want %v", pod, s.Ethernet, err, want)
		}
	}
	one, two := n1.MAC{2, 0, 0, 0, 0, 1}, n1.MAC{2, 0, 0, 0, 0, 2}
	if cause := b.reports(1, ie.MACAddressesDetected, one, two); cause != ie.CauseRequestAccepted {
		t.Errorf("a report is answered with cause %d", cause)
	}
	kept("pod-1", one, two)
	end()
	second, _ := r.start("pod-2")
	again(t, func(ctx context.Context) (*nsmf.Updated, error) {
		return second.Requests("smf-1").Update(ctx, ref, &nsmf.Update{UpCnxState: nsmf.Deactivated})
	})
	if cause := b.reports(2, ie.MACAddressesRemoved, one); cause != ie.CauseRequestAccepted {
		t.Errorf("a report to the next pod is answered with cause %d", cause)
	}
	kept("pod-2", two)
}
