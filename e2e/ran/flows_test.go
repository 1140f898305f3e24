package ran_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

var (
	voice     = n1.Flow{QFI: 5, Operation: n1.CreateFlow, FiveQI: 1, GFBRUplink: 64000, GFBRDownlink: 64000}
	voiceRule = n1.Rule{
		ID: 2, Operation: n1.CreateRule, Precedence: 10, QFI: 5,
		Filters: []n1.Filter{{ID: 1, Direction: n1.Bidirectional, Protocol: 17, RemotePorts: n1.PortRange{First: 8080, Last: 8080}}},
	}
)

// datagram is a UDP packet of the UE to a port.
func datagram(from string, port uint16) []byte {
	udp := []byte{0x13, 0x88, byte(port >> 8), byte(port), 0, 8, 0, 0}
	return measure.IPv4(netip.MustParseAddr(from), netip.MustParseAddr("172.30.6.1"), 17, udp)
}

// flowOf sends a datagram uplink and says which QoS flow it took.
func (b *bench) flowOf(port uint16) uint8 {
	b.t.Helper()
	b.must(b.ue.SendUplink(1, datagram(b.ue.Status().Sessions[0].Address, port)))
	select {
	case p := <-b.n3.sent:
		return p.qfi
	case <-b.ctx.Done():
		b.t.Fatal("nothing was sent")
	}
	return 0
}

func qfis(s ue.Status) (out []uint8) {
	for _, f := range s.Sessions[0].Flows {
		out = append(out, f.QFI)
	}
	return out
}

func TestUplinkTakesTheFlowOfItsRule(t *testing.T) {
	b := start(t, fakeamf.Knobs{Flows: []n1.Flow{voice}, Rules: []n1.Rule{voiceRule}}, nil)
	b.ready()
	if got := b.flowOf(8080); got != 5 {
		t.Errorf("port 8080 took flow %d, want 5", got)
	}
	if got := b.flowOf(80); got != 1 {
		t.Errorf("port 80 took flow %d, want 1", got)
	}
	b.ue.Tunnel(1).Deliver(datagram("10.0.0.1", 1), 5)
	s := b.ue.Status().Sessions[0]
	if len(s.Flows) != 2 || s.Flows[1].FiveQI != 1 || s.Flows[1].GFBRUplink != 64000 || s.Flows[1].UplinkPackets != 1 || s.Flows[1].DownlinkPackets != 1 || s.Flows[0].UplinkPackets != 1 {
		t.Errorf("flows %+v", s.Flows)
	}
	if s.AMBRUplink != 100e6 {
		t.Errorf("session AMBR %d bit/s uplink", s.AMBRUplink)
	}
}

func TestNetworkModifiesFlows(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	add := (&n1.ModificationCommand{SessionID: 1, AMBR: &n1.AMBR{Uplink: 1e6, Downlink: 2e6}, Rules: []n1.Rule{voiceRule}, Flows: []n1.Flow{voice}}).Encode()
	b.amf.SendSM(testSUPI, 1, add)
	b.amf.WaitTrace("PDU Session Modification Complete", 1)
	if got := b.flowOf(8080); got != 5 {
		t.Errorf("port 8080 took flow %d, want 5", got)
	}
	b.wait("the session AMBR", func(s ue.Status) bool { return s.Sessions[0].AMBRDownlink == 2e6 })
	// T3591 has expired: the same command again changes nothing and is answered alike.
	b.amf.SendSM(testSUPI, 1, add)
	b.amf.WaitTrace("PDU Session Modification Complete", 2)
	b.amf.SendSM(testSUPI, 1, (&n1.ModificationCommand{
		SessionID: 1, Rules: []n1.Rule{{ID: 2, Operation: n1.DeleteRule}}, Flows: []n1.Flow{{QFI: 5, Operation: n1.DeleteFlow}},
	}).Encode())
	b.amf.WaitTrace("PDU Session Modification Complete", 3)
	if got := b.flowOf(8080); got != 1 {
		t.Errorf("port 8080 took flow %d, want 1", got)
	}
	b.amf.SendSM(testSUPI, 1, (&n1.ModificationCommand{SessionID: 1, Rules: []n1.Rule{{ID: 1, Operation: n1.DeleteRule}}}).Encode())
	b.amf.WaitTrace("PDU Session Modification Command Reject (5GSM cause #83 (Semantic error in the QoS operation))", 1)
	b.amf.SendSM(testSUPI, 1, (&n1.ModificationCommand{SessionID: 1, PTI: 77}).Encode())
	b.amf.WaitTrace("5GSM Status (5GSM cause #47 (PTI mismatch))", 1)
}

func TestUEModifies(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	ask := voiceRule
	ask.ID = 0 // of the network's choice
	b.must(b.ue.Modify(b.ctx, 1, uenas.ModificationRequest{AlwaysOn: true, Rules: []n1.Rule{ask}, Flows: []n1.Flow{voice}}))
	b.amf.WaitTrace("PDU Session Modification Request (always-on true, 1 rules, 1 flows)", 1)
	b.amf.WaitTrace("PDU Session Modification Complete", 1)
	s := b.ue.Status()
	if got := qfis(s); len(got) != 2 || s.Sessions[0].Flows[1].Rules[0].ID != 10 || s.Sessions[0].AlwaysOn == nil || !*s.Sessions[0].AlwaysOn {
		t.Errorf("flows %+v, always-on %v", s.Sessions[0].Flows, s.Sessions[0].AlwaysOn)
	}
	if got := b.flowOf(8080); got != 5 {
		t.Errorf("port 8080 took flow %d, want 5", got)
	}
	// The Complete was lost: the same command comes again. The first PTI of the UE was the establishment's.
	b.amf.SendSM(testSUPI, 1, (&n1.ModificationCommand{SessionID: 1, PTI: 2}).Encode())
	b.amf.WaitTrace("PDU Session Modification Complete", 2)

	b.amf.Set(fakeamf.Knobs{RejectModify: 26})
	if err := b.ue.Modify(b.ctx, 1, uenas.ModificationRequest{Flows: []n1.Flow{{QFI: 5, Operation: n1.DeleteFlow}}}); err == nil || !strings.Contains(err.Error(), "PDU Session Modification Reject: 5GSM cause #26") {
		t.Errorf("Modify: %v", err)
	}
	if got := qfis(b.ue.Status()); len(got) != 2 {
		t.Errorf("flows %v after a reject", got)
	}
}

func TestUEModifiesInVain(t *testing.T) {
	b := start(t, fakeamf.Knobs{SilentModify: true}, func(c *ue.Config) { c.Timers.T3581 = 50 * time.Millisecond })
	b.ready()
	if err := b.ue.Modify(b.ctx, 1, uenas.ModificationRequest{AlwaysOn: true}); err == nil || !strings.Contains(err.Error(), "no answer from the network in time") {
		t.Errorf("Modify: %v", err)
	}
	if err := b.ue.Modify(b.ctx, 9, uenas.ModificationRequest{}); err == nil || !strings.Contains(err.Error(), "no such PDU session") {
		t.Errorf("Modify: %v", err)
	}
}

func TestNetworkModifiesMeanwhile(t *testing.T) {
	b := start(t, fakeamf.Knobs{SilentModify: true}, nil)
	b.ready()
	done := make(chan error, 1)
	go func() { done <- b.ue.Modify(b.ctx, 1, uenas.ModificationRequest{AlwaysOn: true}) }()
	b.amf.WaitTrace("PDU Session Modification Request (always-on true, 0 rules, 0 flows)", 1)
	b.amf.SendSM(testSUPI, 1, (&n1.ModificationCommand{SessionID: 1, Rules: []n1.Rule{voiceRule}, Flows: []n1.Flow{voice}}).Encode())
	b.amf.WaitTrace("PDU Session Modification Complete", 1)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "given up for one that the network began") {
		t.Errorf("Modify: %v", err)
	}
	if got := qfis(b.ue.Status()); len(got) != 2 {
		t.Errorf("flows %v", got)
	}
}

func TestBackOffIsShown(t *testing.T) {
	b := start(t, fakeamf.Knobs{RejectSession: 26, BackOff: 3 * time.Minute}, func(c *ue.Config) {
		c.Sessions, c.Requested = nil, []uenas.SNSSAI{slice1}
	})
	b.ready()
	err := b.ue.Establish(b.ctx, ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "internet"})
	if err == nil || !strings.Contains(err.Error(), "5GSM cause #26 (Insufficient resources), back-off 3m0s") {
		t.Errorf("Establish: %v", err)
	}
	if s := b.ue.Status().Sessions[0]; s.BackOff != 180 {
		t.Errorf("back-off of %d s", s.BackOff)
	}
}

func TestEstablishAgain(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.must(b.ue.EstablishAgain(b.ctx, 1))
	b.amf.WaitTrace("PDU Session Establishment Request", 2)
	b.amf.WaitTrace("session 1 up", 2)
	b.ready()
	for _, x := range b.amf.Trace() {
		if strings.Contains(x, "Release") {
			t.Errorf("a release came between: %s", x)
		}
	}
	if n := b.n3.count(); n != 1 {
		t.Errorf("%d tunnels", n)
	}
	if err := b.ue.EstablishAgain(b.ctx, 9); err == nil || !strings.Contains(err.Error(), "no such PDU session") {
		t.Errorf("a session that is not there: %v", err)
	}
}
