package ran_test

import (
	"strings"
	"testing"
	"time"

	"github.com/free5gc/ngap/ngapType"
	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

// addFlows asks for flows of a 5QI, with a guaranteed bit rate.
func addFlows(fiveQI int64, qfis ...int64) *ngapType.QosFlowAddOrModifyRequestList {
	l := &ngapType.QosFlowAddOrModifyRequestList{}
	for _, q := range qfis {
		l.List = append(l.List, ngapType.QosFlowAddOrModifyRequestItem{
			QosFlowIdentifier: ngapType.QosFlowIdentifier{Value: q},
			QosFlowLevelQosParameters: &ngapType.QosFlowLevelQosParameters{
				QosCharacteristics: ngapType.QosCharacteristics{
					Present: ngapType.QosCharacteristicsPresentNonDynamic5QI, NonDynamic5QI: &ngapType.NonDynamic5QIDescriptor{FiveQI: ngapType.FiveQI{Value: fiveQI}},
				},
				AllocationAndRetentionPriority: ngapType.AllocationAndRetentionPriority{PriorityLevelARP: ngapType.PriorityLevelARP{Value: 5}},
				GBRQosInformation: &ngapType.GBRQosInformation{
					MaximumFlowBitRateDL: ngapType.BitRate{Value: 2000}, MaximumFlowBitRateUL: ngapType.BitRate{Value: 1000},
					GuaranteedFlowBitRateDL: ngapType.BitRate{Value: 200}, GuaranteedFlowBitRateUL: ngapType.BitRate{Value: 100},
				},
			},
		})
	}
	return l
}

func releaseFlow(qfi int64) *ngapType.QosFlowListWithCause {
	return &ngapType.QosFlowListWithCause{List: []ngapType.QosFlowWithCauseItem{{
		QosFlowIdentifier: ngapType.QosFlowIdentifier{Value: qfi}, Cause: *n2.RadioNetworkCause(0),
	}}}
}

func TestResourcesModified(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.gnb.Behave(gnb.Behaviour{RefuseFlows: []uint8{6}})
	sm := (&n1.ModificationCommand{SessionID: 1, Rules: []n1.Rule{voiceRule}, Flows: []n1.Flow{voice}}).Encode()
	b.amf.ModifyResource(testSUPI, 1, sm, addFlows(1, 5, 6), &ngapType.PDUSessionAggregateMaximumBitRate{
		PDUSessionAggregateMaximumBitRateDL: ngapType.BitRate{Value: 7000}, PDUSessionAggregateMaximumBitRateUL: ngapType.BitRate{Value: 6000},
	})
	b.amf.WaitTrace("session 1: flows [5] modified, [6] refused", 1)
	b.amf.WaitTrace("PDU Session Modification Complete", 1)
	got := b.ue.Status().Radio.Sessions[0]
	want := []gnb.Flow{{QFI: 1, FiveQI: 9, ARP: 8}, {QFI: 5, FiveQI: 1, ARP: 5, GFBRUplink: 100, GFBRDownlink: 200, MFBRUplink: 1000, MFBRDownlink: 2000}}
	if diff := cmp.Diff(want, got.Flows); diff != "" || got.AMBRUplink != 6000 || got.AMBRDownlink != 7000 {
		t.Errorf("AMBR %d, %d; flows (-want +got):\n%s", got.AMBRUplink, got.AMBRDownlink, diff)
	}
	b.gnb.Behave(gnb.Behaviour{})
	b.amf.ModifyResource(testSUPI, 1, nil, addFlows(2, 5), releaseFlow(1))
	b.amf.WaitTrace("session 1: flows [5] modified, [] refused", 1)
	got = b.ue.Status().Radio.Sessions[0]
	if len(got.Flows) != 1 || got.Flows[0].FiveQI != 2 {
		t.Errorf("flows %+v", got.Flows)
	}
	// 8.2.3.2: a flow without parameters is one that is there.
	odd := addFlows(1, 9)
	odd.List[0].QosFlowLevelQosParameters = nil
	b.amf.ModifyResource(testSUPI, 1, nil, odd)
	b.amf.WaitTrace("session 1: flows [] modified, [9] refused", 1)
}

func TestResourcesRefused(t *testing.T) {
	tests := map[string]struct {
		behaviour gnb.Behaviour
		wantTrace string
		wantErr   string
	}{
		"a session":      {gnb.Behaviour{RefuseSessions: []uint8{2}}, "PDU Session Resource failed: radio network: radio resources not available", "no answer from the network in time"},
		"any session":    {gnb.Behaviour{RefuseAllSessions: true}, "PDU Session Resource failed: radio network: radio resources not available", "no answer from the network in time"},
		"its only flow":  {gnb.Behaviour{RefuseFlows: []uint8{1}}, "PDU Session Resource failed: radio network: radio resources not available", "no answer from the network in time"},
		"without a word": {gnb.Behaviour{SilentResources: true}, "PDU Session Establishment Request", "no answer from the network in time"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := start(t, fakeamf.Knobs{}, func(c *ue.Config) {
				c.Sessions, c.Requested = nil, []uenas.SNSSAI{slice1}
				c.Timers.T3580 = time.Second // in which a busy machine answers too
			})
			b.ready()
			b.gnb.Behave(tt.behaviour)
			cfg := ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "internet"}
			if err := b.ue.Establish(b.ctx, cfg); err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("Establish: %v", err)
			}
			b.amf.WaitTrace(tt.wantTrace, 1)
			b.gnb.Behave(gnb.Behaviour{})
			b.must(b.ue.Establish(b.ctx, cfg))
		})
	}
}

func TestGNBNotifies(t *testing.T) {
	b := start(t, fakeamf.Knobs{Flows: []n1.Flow{voice}, Rules: []n1.Rule{voiceRule}}, nil)
	b.ready()
	c := b.ue.Connection()
	b.must(c.Notify(1, gnb.Notification{NotFulfilled: []uint8{5}}))
	b.amf.WaitTrace("session 1: flow 5 fulfilled false", 1)
	b.must(c.Notify(1, gnb.Notification{Fulfilled: []uint8{5}}))
	b.amf.WaitTrace("session 1: flow 5 fulfilled true", 1)
	b.must(c.Notify(1, gnb.Notification{Released: []uint8{5}}))
	b.amf.WaitTrace("session 1: flow 5 given up", 1)
	if err := c.Notify(1, gnb.Notification{Released: []uint8{5}}); err == nil || !strings.Contains(err.Error(), "no such QoS flow: 5") {
		t.Errorf("a flow that is gone: %v", err)
	}
	b.must(c.Notify(1, gnb.Notification{Session: true}))
	b.amf.WaitTrace("session 1: resources given up", 1)
	if err := c.Notify(1, gnb.Notification{}); err == nil {
		t.Error("a session that is gone was notified of")
	}
}

func TestGNBMovesTunnel(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	before := b.ue.Tunnel(1).LocalTEID
	b.must(b.ue.Connection().MoveTunnel(b.ctx, 1))
	s := b.wait("the new tunnel", func(ue.Status) bool { x := b.ue.Tunnel(1); return x != nil && x.LocalTEID != before })
	core, _ := b.amf.Session(testSUPI, 1)
	if core.GNBTEID != b.ue.Tunnel(1).LocalTEID || b.n3.count() != 1 || !s.Sessions[0].Up {
		t.Errorf("the core sends to %#x, the gNB has %#x, %d tunnels", core.GNBTEID, b.ue.Tunnel(1).LocalTEID, b.n3.count())
	}
	if err := b.ue.Connection().MoveTunnel(b.ctx, 9); err == nil {
		t.Error("a session that is not there was moved")
	}
}
