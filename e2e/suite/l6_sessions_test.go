package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
)

// core5g's own AMF and SMF (controlPlane Core5G) keep UEs and their sessions in the session store: these outlive the pods of both, the store's, and
// what happens to other slices.
func TestUEsAndSessionsOutliveTheirPods(t *testing.T) {
	ctx := story(t, 15*time.Minute)
	check(t, k.Delete(ctx, secondFile))
	_ = k.RAN(ctx, nil, "release", "--ue", firstPhone, "--session", "2") // which a run that was broken off has left
	otherPlane(t, ctx, cluster.Core5G, func() {
		tellInTurn(t, slices.Concat([]chapter{
			{"a phone attaches", func(t *testing.T) {
				attached(t, ctx, firstPhone)
				check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 1) }))
			}},
			{"it is idle, and comes back", TestIdleAndServiceRequest},
			{"it is paged", TestIdlePhoneIsPaged},
			{"it deregisters", TestDeregisterAndRegister},
		}, deaths(ctx), []chapter{
			{"the plug-in tells of it", func(t *testing.T) { told(t, ctx) }},
			{"slices come, change and go", func(t *testing.T) { slicesChange(t, ctx) }},
			{"its session is released", func(t *testing.T) { released(t, ctx) }},
		}))
	})
	attached(t, ctx, firstPhone)
}

// chapter is a part of a story, which the next ones rely on.
type chapter struct {
	name string
	tell func(*testing.T)
}

func tellInTurn(t *testing.T, chapters []chapter) {
	for _, c := range chapters {
		if !t.Run(c.name, c.tell) {
			return
		}
	}
}

// deaths of what serves UEs and keeps them, in the core's layout.
func deaths(ctx context.Context) []chapter {
	if core.Layout == cluster.Fused {
		return []chapter{
			{"the session store's pod is killed", func(t *testing.T) { killed(t, ctx, "session-store", 1) }},
			{"the control plane's pod is killed", func(t *testing.T) { killed(t, ctx, "control-plane", 1) }},
			{"both are killed", func(t *testing.T) { killed(t, ctx, "session-store,control-plane", 2) }},
		}
	}
	return []chapter{
		{"both pods of the SMF are killed", func(t *testing.T) { killed(t, ctx, "smf", 2) }},
		{"the session store's pod is killed", func(t *testing.T) { killed(t, ctx, "session-store", 1) }},
		{"both workers of the AMF are killed", func(t *testing.T) { killed(t, ctx, "amf", cluster.AMFWorkers) }},
		{"the AMF's N2 terminator is killed", func(t *testing.T) { killed(t, ctx, withN2, 1) }},
		{"AMF, SMF and store are killed", func(t *testing.T) { killed(t, ctx, "session-store,smf,amf,"+withN2, 4+cluster.AMFWorkers) }},
	}
}

// A live core changes its layout (Core5G.spec.layout), there and back: no UE registers anew, no session ends, and what serves in the other layout may die, too.
func TestLayoutChangesUnderTraffic(t *testing.T) {
	if !ownPlane() {
		t.Skip("free5GC's functions are programs of their own: there is no other layout")
	}
	ctx := story(t, 12*time.Minute)
	check(t, k.Delete(ctx, secondFile)) // whose phone has a session, too
	_ = k.RAN(ctx, nil, "release", "--ue", firstPhone, "--session", "2")
	before := attached(t, ctx, firstPhone)
	check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 1) }))
	other := cluster.Serving{Plane: cluster.Core5G, Layout: cluster.Fused}
	if core.Layout == cluster.Fused {
		other.Layout = cluster.Distributed
	}
	servedBy(t, ctx, other, func() {
		tellInTurn(t, []chapter{
			{"what the other layout does without goes", TestNoOtherFunctionRuns},
			{"the UE is known", func(t *testing.T) { sameUE(t, before, attached(t, ctx, firstPhone)) }},
			{"AMF and SMF are killed", func(t *testing.T) {
				if core.Layout == cluster.Fused {
					killed(t, ctx, "control-plane", 1)
				} else {
					killed(t, ctx, "smf,amf,"+withN2, 3+cluster.AMFWorkers)
				}
			}},
		})
	})
	sameUE(t, before, attached(t, ctx, firstPhone))
}

// sameUE: it has not registered anew, and has the session that it had.
func sameUE(t *testing.T, before, after cluster.UEStatus) {
	t.Helper()
	if after.Sessions[0] != before.Sessions[0] {
		t.Errorf("the session is %+v, was %+v", after.Sessions[0], before.Sessions[0])
	}
	if after.Counters.Registrations != before.Counters.Registrations {
		t.Errorf("the UE has registered %d times, %d of them before", after.Counters.Registrations, before.Counters.Registrations)
	}
}

// withN2 is the component of N2 terminators. With one the gNB loses its association, and connections of UEs end when it has another: they are idle
// for a moment.
const withN2 = "amf-n2"

// endsN2: gNBs are connected to one of the components, which is the last that is named.
func endsN2(components string) bool {
	return strings.HasSuffix(components, withN2) || strings.HasSuffix(components, "control-plane")
}

// killed: all pods of the components end without grace under traffic. No packet is lost but with N2, the UE does not register anew, its session stays the same, and
// new ones are made.
func killed(t *testing.T, ctx context.Context, components string, want int) {
	before := attached(t, ctx, firstPhone)
	tr := startTraffic(ctx, firstPhone)
	selector := "app.kubernetes.io/component in (" + components + ")"
	were := scene.Must[[]cluster.Object](t)(k.Pods(ctx, selector))
	if len(were) != want {
		t.Errorf("%d pods with %s, want %d", len(were), selector, want)
	}
	_, err := k.Run(ctx, "delete", "pods", "-l", selector, "--force", "--grace-period=0", "--wait=false")
	check(t, err)
	began := time.Now()
	check(t, cluster.Eventually(ctx, patience, func() error {
		return k.RAN(ctx, nil, "session", "--ue", firstPhone, "--id", "2", "--sst", "1", "--sd", "010203", "--dnn", "internet")
	}))
	t.Logf("a new session %.1f s after they were killed", time.Since(began).Seconds())
	check(t, cluster.Eventually(ctx, patience, func() error {
		pods, err := k.Pods(ctx, selector)
		if err != nil {
			return err
		}
		if len(pods) != want {
			return fmt.Errorf("%d pods with %s, want %d", len(pods), selector, want)
		}
		for _, pod := range pods {
			if !pod.Ready() {
				return fmt.Errorf("pod %s is not ready", pod.Metadata.Name)
			}
		}
		return nil
	}))
	if endsN2(components) {
		tr.Stop()
		t.Logf("%d of %d packets came back", tr.Received, tr.Sent)
		check(t, pingsAgain(ctx, firstPhone, patience))
	} else {
		lossless(t, tr)
	}
	check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 2) }))
	// A pod that ends without grace lives on for a moment, and the gNB may lose its association only now.
	check(t, cluster.Eventually(ctx, patience, func() error {
		if upfSessionsAre(ctx, 1) == nil {
			return nil
		}
		if err := k.RAN(ctx, nil, "release", "--ue", firstPhone, "--session", "2"); err != nil {
			// A UE whose request was not forwarded lets go of the session by itself (TS 24.501 6.4.3.6), and says so when it comes next.
			return errors.Join(err, k.RAN(ctx, nil, "idle", "--ue", firstPhone), k.RAN(ctx, nil, "service-request", "--ue", firstPhone))
		}
		return upfSessionsAre(ctx, 1)
	}))
	check(t, k.RAN(ctx, nil, "idle", "--ue", firstPhone))
	check(t, k.RAN(ctx, nil, "service-request", "--ue", firstPhone))
	sameUE(t, before, attached(t, ctx, firstPhone))
}

// told: what the plug-in says of sessions is what the phone has.
func told(t *testing.T, ctx context.Context) {
	ue := attached(t, ctx, firstPhone)
	plugin := func(command string) string {
		said, err := k.Shell(ctx, "kubectl core5g "+command+" -n "+cluster.Namespace)
		if err != nil {
			t.Fatalf("kubectl core5g %s: %v\n%s", command, err, said)
		}
		return said
	}
	if said := plugin("sessions"); !strings.Contains(said, firstPhone) || !strings.Contains(said, ue.Sessions[0].Address) || !strings.Contains(said, "1 PDU session\n") {
		t.Errorf("sessions says\n%s", said)
	}
	if said := plugin("session " + firstPhone + "/1"); !strings.Contains(said, "addresses  "+ue.Sessions[0].Address+"\n") || !strings.Contains(said, "UPF unit   "+upfInstance+"-0") {
		t.Errorf("session says\n%s", said)
	}
	if said, err := k.Shell(ctx, "kubectl core5g session "+firstPhone+"/9 -n "+cluster.Namespace); err == nil {
		t.Errorf("of a session that there is not it says\n%s", said)
	}
}

// slicesChange: one is added, gets a QoS flow under a live session, which hears of it, and goes; the first phone's packets
// flow on, and nothing is restarted.
func slicesChange(t *testing.T, ctx context.Context) {
	before := attached(t, ctx, firstPhone)
	smf, upf := smfOf(t, ctx, firstSlice), incarnation(only(t, ctx, "upf", ""))
	tr := startTraffic(ctx, firstPhone)

	check(t, k.Apply(ctx, secondFile))
	check(t, k.WaitCondition(ctx, "slice/"+secondSlice, "Ready", patience))
	check(t, k.RAN(ctx, nil, "register", "--ue", secondPhone))
	second := attached(t, ctx, secondPhone)

	_, err := k.Run(ctx, "patch", "slice", secondSlice, "--type=json", "-p", `[{"op": "add", "path": "/spec/dataNetworks/0/flows", "value": [
		{"name": "video", "fiveQI": 7, "precedence": 100, "filters": [{"direction": "Bidirectional", "remote": "172.30.6.0/24", "protocol": 17}]}]}]`)
	check(t, err)
	check(t, cluster.Eventually(ctx, patience, func() error {
		out, err := k.Run(ctx, "exec", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "status", "--ue", secondPhone)
		if err != nil {
			return err
		}
		var status struct {
			UEs []struct {
				Sessions []struct {
					Address string `json:"address"`
					Flows   []struct {
						FiveQI int `json:"5qi"`
					} `json:"flows"`
				} `json:"sessions"`
			} `json:"ues"`
		}
		if err := json.Unmarshal([]byte(out), &status); err != nil {
			return err
		}
		for _, ue := range status.UEs {
			for _, s := range ue.Sessions {
				if s.Address == second.Sessions[0].Address && len(s.Flows) == 2 && s.Flows[1].FiveQI == 7 {
					return nil
				}
			}
		}
		return fmt.Errorf("%s has no flow with 5QI 7 in the session that it had: %s", secondPhone, out)
	}))
	check(t, pingsAgain(ctx, secondPhone, patience))

	check(t, k.Delete(ctx, secondFile))
	check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 1) }))
	lossless(t, tr)
	check(t, k.RAN(ctx, nil, "deregister", "--ue", secondPhone))
	if after := attached(t, ctx, firstPhone); after.Sessions[0] != before.Sessions[0] {
		t.Errorf("the session is %+v, was %+v", after.Sessions[0], before.Sessions[0])
	}
	if now := smfOf(t, ctx, firstSlice); now != smf {
		t.Errorf("the SMF was restarted: %s, was %s", now, smf)
	}
	if now := incarnation(only(t, ctx, "upf", "")); now != upf {
		t.Errorf("the UPF was restarted: %s, was %s", now, upf)
	}
}
