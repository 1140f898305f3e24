package agent_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// What real CP functions send that made other UPFs stumble.
func TestTraps(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	instances := map[string]*ie.IE{"label-encoded": ie.NewNetworkInstanceFQDN("internet.mnc001"), "plain": ie.NewNetworkInstance("internet.mnc001"), "absent": nil}
	types := map[string]*ie.IE{"absent": nil, "N6": ie.NewTGPPInterfaceType(ie.TGPPInterfaceTypeN6), "N3": ie.NewTGPPInterfaceType(ie.TGPPInterfaceTypeN33GPPAccess)}
	n := uint32(0)
	for instance, ni := range instances {
		for kind, it := range types {
			for _, action := range [][]byte{{0x02}, {0x02, 0x00}} { // Apply Action before and since Release 16
				for _, removal := range []uint8{0, 6} {
					t.Run(fmt.Sprintf("network instance %s, interface type %s, apply action %x, removal %d", instance, kind, action, removal), func(t *testing.T) {
						n++
						ue := fakesmf.UE{TEID: n, N3: "172.30.3.16", Addr: fmt.Sprintf("10.45.1.%d", n)}
						uplink := ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewOuterHeaderRemoval(removal, 0), ie.NewPDI(ie.NewSourceInterface(0), ue.FTEID(), ni, it))
						downlink := ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewPDI(ie.NewSourceInterface(1), ie.NewUEIPAddress(6, ue.Addr, "", 0, 0), ni, it))
						far := ie.NewCreateFAR(ie.NewFARID(1), ie.New(ie.ApplyAction, action), ie.NewForwardingParameters(ie.NewDestinationInterface(1), ni, it))
						seid := s.Established(uint64(n), uplink, downlink, far)
						_, got := l.only()
						if got.FARs[0].Action != abi.FarForw || got.PDRs[0].Flags&abi.PdrRemove == 0 || got.PDRs[0].Removal != removal {
							t.Errorf("FAR %+v, PDR %+v", got.FARs[0], got.PDRs[0])
						}
						fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseRequestAccepted)
					})
				}
			}
		}
	}
}

// A sequence number that comes back with another request is a new request: the peer began anew.
func TestSequenceNumberThatComesBack(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(1, fakesmf.Phone.Session()...)
	seq := s.NextSeq()
	gate := func(v uint8) *message.SessionModificationResponse {
		a, ok := s.Ask(message.NewSessionModificationRequest(0, 0, seid, seq, 0, ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(v, v)))).(*message.SessionModificationResponse)
		if !ok {
			t.Fatal("no Session Modification Response")
		}
		return a
	}
	for _, v := range []uint8{1, 0} {
		fakesmf.WantCause(t, gate(v).Cause, ie.CauseRequestAccepted)
		_, got := l.only()
		if closed := got.QERs[0].Flags&abi.QerGateDlClosed != 0; closed != (v == 1) {
			t.Errorf("gate status %d: closed %t", v, closed)
		}
	}
}

// An establishment of many PDRs does not fit 1,500 octets, nor the first fragment.
func TestEstablishmentAboveTheMTU(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	ies := fakesmf.Phone.Session()
	for id := uint16(10); id < 200; id++ {
		ies = append(ies, fakesmf.Phone.UplinkPDR(id, 100, ie.NewSDFFilter(fmt.Sprintf("permit out 17 from 10.9.%d.0/24 53,5000-5010 to assigned", id), "", "", "", 0)))
	}
	s.Established(1, ies...)
	if _, got := l.only(); len(got.PDRs) != 194 {
		t.Errorf("%d PDRs, want 194", len(got.PDRs))
	}
}

// A Recovery Time Stamp that goes back, or repeats, is no restart.
func TestRecoveryTimeStampThatDoesNotGrow(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	s.Established(1, fakesmf.Phone.Session()...)
	for _, d := range []time.Duration{0, -time.Hour} {
		s.Recovery = s.Recovery.Add(d)
		s.Heartbeat()
	}
	if diff := cmp.Diff(1, l.agent.Status().Associations[0].Sessions); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	s.Recovery = s.Recovery.Add(2 * time.Hour)
	s.Heartbeat()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 0 }); err != nil {
		t.Error("the restart was not seen")
	}
}
