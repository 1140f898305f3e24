package shard

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/pfcp"

	"github.com/prometheus/client_golang/prometheus"
)

// A unit has hardly anything to do for this SMF and says that it is nearly full of something else: new sessions go elsewhere. upf-c as it ships says it.
func TestSessionsGoToTheUnitThatHasRoom(t *testing.T) {
	r := newRig(t)
	other, at := r.unitAt("zz.test", "127.77.1.2", "172.30.4.16/28")
	r.config = r.pair(at, func(*configuration.DataNetwork, []configuration.Unit) {})
	r.upfu.Work(95, 5)
	reg := prometheus.NewRegistry()
	pod, _ := r.start("pod-1", func(o *Options) { o.Registry = reg })
	ues := 0
	create := func() {
		ues++
		r.create(pod, fmt.Sprintf("imsi-20893%010d", ues), n1.IPv4)
		r.amf.next(t)
	}
	await(t, "the unit says how full it is", func() bool {
		create() // it says so in answers
		return counted(t, reg, "core5g_pfcp_load_percent")["smf-1.test upf.test"] == 95
	})
	create() // the loop has heard of it since
	here, there := len(r.upfu.Sessions()), len(other.Sessions())
	for range 10 {
		create()
	}
	if n, m := len(r.upfu.Sessions())-here, len(other.Sessions())-there; n != 0 || m != 10 {
		t.Errorf("%d of the sessions are at the unit that is nearly full, %d at the other, want 0 and 10", n, m)
	}
}

// While the unit is overloaded new sessions are refused with a cause and a back-off timer, but one for emergencies is not; then all is as before.
func TestAnOverloadedUnitIsSpared(t *testing.T) {
	r := newRig(t)
	pod, _ := r.start("pod-1")
	ref := r.create(pod, "imsi-208930000000001", n1.IPv4)
	r.amf.next(t)
	r.tunnel(pod, ref, 0x100)
	says := func(percent uint8) {
		pod.Held("smf-1").fromUnit(pfcp.OverloadChanged{Unit: "upf.test", Percent: percent, Until: time.Now().Add(time.Minute)})
	}
	says(100)
	slice := ts29571.MakeSNSSAI(1, "010203")
	asked := &nsmf.Create{
		SUPI: "imsi-208930000000002", SessionID: 1, DNN: "internet", SNSSAI: &slice,
		AMF: nsmf.AMF{InstanceID: "amf", ServingNetwork: ts29571.PLMN{MCC: "208", MNC: "93"}, StatusURI: r.amf.server.URL + "/status"},
		N1:  []byte{0x2e, 1, 7, byte(n1.EstablishmentRequestType), 0xff, 0xff, 0x90 | byte(n1.IPv4)},
	}
	_, err := pod.Requests("smf-1").Create(context.Background(), asked)
	var refused *nsmf.Refused
	if !errors.As(err, &refused) || len(refused.N1) != 8 || n1.Cause(refused.N1[4]) != n1.CauseInsufficientResources || refused.N1[5] != 0x37 {
		t.Fatalf("a new session: %v, want a refusal with cause 26 and a back-off timer", err)
	}
	emergency := *asked
	emergency.Request = nsmf.InitialEmergency
	if _, err := pod.Requests("smf-1").Create(context.Background(), &emergency); err != nil {
		t.Errorf("one for emergencies: %v", err)
	}
	r.amf.next(t)
	if u, err := pod.Requests("smf-1").Update(context.Background(), ref, &nsmf.Update{UpCnxState: nsmf.Deactivated}); err != nil || u.UpCnxState != nsmf.Deactivated {
		t.Errorf("a UE goes idle: %+v, %v", u, err)
	}
	says(0)
	r.create(pod, "imsi-208930000000003", n1.IPv4)
	if x := r.amf.next(t); x.n1[3] != byte(n1.EstablishmentAcceptType) {
		t.Errorf("the AMF was given N1 %x, want an accept", x.n1)
	}
}

// What a unit says of itself is forgotten when it is away or met again, and nothing else of it.
func TestWhatIsKnownOfAUnit(t *testing.T) {
	until := time.Unix(1_800_000_000, 0)
	for name, tt := range map[string]struct {
		events []pfcp.Event
		want   configuration.Live
	}{
		"all of it": {
			[]pfcp.Event{pfcp.LoadChanged{Unit: "u", Percent: 40}, pfcp.OverloadChanged{Unit: "u", Percent: 30, Until: until}, pfcp.LoadChanged{Unit: "u", Percent: 45}},
			configuration.Live{Framed: true, Load: 45, Reduction: 30, Until: until},
		},
		"other features":    {[]pfcp.Event{pfcp.LoadChanged{Unit: "u", Percent: 40}, pfcp.FeaturesChanged{Unit: "u"}}, configuration.Live{Load: 40}},
		"an overload ended": {[]pfcp.Event{pfcp.OverloadChanged{Unit: "u", Percent: 30, Until: until}, pfcp.OverloadChanged{Unit: "u"}}, configuration.Live{Framed: true}},
		"it went away":      {[]pfcp.Event{pfcp.LoadChanged{Unit: "u", Percent: 40}, pfcp.PathDown{Unit: "u"}}, configuration.Live{Away: true}},
		"unknown ones":      {[]pfcp.Event{pfcp.LoadChanged{Unit: "v", Percent: 40}, pfcp.OverloadChanged{Unit: "v", Percent: 30}}, configuration.Live{Framed: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.config = r.pair(netip.MustParseAddrPort("127.77.1.2:8805"), func(*configuration.DataNetwork, []configuration.Unit) {})
			pod, _ := r.start("pod-1")
			var s *Shard
			await(t, "the shard is held", func() bool { s = pod.Held("smf-1"); return s != nil })
			got := make(chan map[string]configuration.Live, 1)
			s.loop.Post(func() {
				s.setLive("u", configuration.Live{Framed: true})
				for _, e := range tt.events {
					s.unitEvent(e)
				}
				got <- s.live
			})
			live := <-got
			if live["u"] != tt.want {
				t.Errorf("%+v, want %+v", live["u"], tt.want)
			}
			if _, known := live["v"]; known {
				t.Error("a unit that is not configured is known")
			}
		})
	}
}
