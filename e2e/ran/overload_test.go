package ran_test

import (
	"errors"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/ue"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

func overloadStart(action aper.Enumerated, reduction int64) *ngapType.OverloadStart {
	m := &ngapType.OverloadStart{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Reject, &ngapType.OverloadResponse{
		Present: ngapType.OverloadResponsePresentOverloadAction, OverloadAction: &ngapType.OverloadAction{Value: action},
	})
	if reduction > 0 {
		n2.Add(ies, n2.Ignore, &ngapType.TrafficLoadReductionIndication{Value: reduction})
	}
	return m
}

func (b *bench) gnbIs(what string, is func(gnb.Status) bool) {
	b.t.Helper()
	for !is(b.gnb.Status()) {
		if b.ctx.Err() != nil {
			b.t.Fatalf("waiting for the gNB: %s: %+v", what, b.gnb.Status())
		}
		time.Sleep(time.Millisecond)
	}
}

// atRest waits until the UE has its session, and nothing is under way.
func (b *bench) atRest() {
	b.t.Helper()
	b.wait("rest", func(s ue.Status) bool { return s.State == "registered" && s.Ready && s.Procedure == "" })
}

// An AMF that has too much to do has the gNB refuse UEs (TS 38.413 8.7.7), as it says, until it says otherwise or N2 is set up anew.
func TestOverload(t *testing.T) {
	const (
		signalling = ngapType.OverloadActionPresentRejectRrcCrSignalling
		data       = ngapType.OverloadActionPresentRejectNonEmergencyMoDt
	)
	for name, tt := range map[string]struct {
		messages []any
		again    bool // N2 is set up anew
		want     []bool
	}{
		"nothing is said":             {nil, false, []bool{true, true, true, true}},
		"half of them":                {[]any{overloadStart(signalling, 50)}, false, []bool{true, false, true, false}},
		"three of four":               {[]any{overloadStart(signalling, 75)}, false, []bool{true, false, false, false}},
		"no share is named: all":      {[]any{overloadStart(signalling, 0)}, false, []bool{false, false, false, false}},
		"data alone: others are none": {[]any{overloadStart(data, 0)}, false, []bool{true, true, true, true}},
		"it is over":                  {[]any{overloadStart(signalling, 0), &ngapType.OverloadStop{}}, false, []bool{true, true, true, true}},
		"N2 is set up anew":           {[]any{overloadStart(signalling, 0)}, true, []bool{true, true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, fakeamf.Knobs{}, nil)
			b.ready()
			b.amf.WaitTrace("Configuration Update Complete", 1)
			b.amf.WaitTrace("session 1 up", 1)
			want, times := 0, 1
			for _, m := range tt.messages {
				b.amf.SendNGAP(m)
				if start, is := m.(*ngapType.OverloadStart); is {
					want = 100
					if r := n2.Find[ngapType.TrafficLoadReductionIndication](start.ProtocolIEs.List); r != nil {
						want = int(r.Value)
					}
				} else {
					want = 0
				}
				b.gnbIs("it has heard", func(s gnb.Status) bool { return s.Overload == want })
			}
			if tt.again {
				b.amf.Stop(false)
				b.gnbIs("N2 is lost", func(s gnb.Status) bool { return s.State == "connecting" })
				b.amf.Start()
				b.amf.WaitTrace("session 1 up", 2) // by the UE's Service Request
				b.atRest()
			}
			for n, passes := range tt.want {
				b.must(b.ue.Deregister(b.ctx, false))
				err := b.ue.Register(b.ctx)
				if passes != (err == nil) || !passes && !errors.Is(err, gnb.ErrOverload) {
					t.Fatalf("registration %d: %v", n+1, err)
				}
				if passes {
					times++
					b.atRest()
					b.amf.WaitTrace("Configuration Update Complete", times)
				}
			}
		})
	}
}
