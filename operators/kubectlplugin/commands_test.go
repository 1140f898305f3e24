package kubectlplugin

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/upf/upfc/agent"
)

func TestCommandsThatCannotBeUnderstood(t *testing.T) {
	for line, want := range map[string]string{
		"":                          "which command?",
		"stauts":                    `there is no command "stauts"`,
		"status x":                  `unexpected argument "x"`,
		"drain":                     "the name of the UPFInstance is missing",
		"drain upf upf-1 now":       `unexpected argument "now"`,
		"status -wait=false":        "status has no flag -wait",
		"sessions --all":            "-all",
		"report -log-lines 0 -o -":  "-log-lines",
		"-n core5g drain -o x a":    "drain has no flag -o",
		"status -rows many":         "many",
		"preflight node-1 -ue 10.0": "preflight has no flag -ue",
	} {
		x := open(t)
		if got := x.run(t, line); got != 2 {
			t.Errorf("%q: exit status %d, want 2", line, got)
		}
		x.says(t, want, "kubectl core5g help")
	}
	x := open(t)
	if got := x.run(t, "help"); got != 0 {
		t.Errorf("help: exit status %d", got)
	}
	for name := range commands() {
		x.says(t, "kubectl core5g "+name)
	}
}

func TestStatusIsTheWholeCoreOnOneScreen(t *testing.T) {
	x := open(t, append(testCore(), testNode("w1", unwell("VFIOLoaded: the driver vfio-pci is not loaded"), time.Minute), testNode("w2", well(), time.Hour))...)
	if got := x.run(t, "status"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	want := `CORE    READY  FUNCTIONS      N2                   REASON
core5g  False  1/2 (not amf)  10.0.0.1:38412 SCTP  waits for the AMF

SLICE     READY  S-NSSAI   UPF  POOLS         REASON
internet  True   1-010203  upf  10.45.0.0/16

UPF  READY  UNIT   STATE    NODE  CELL  N4          REASON
upf  False  1/2                                     unit upf-1 is not ready
            upf-0  Ready    w1    0     10.96.0.10
            upf-1  Running  w2    -     10.96.0.11  upf-u starts

1 of 2 subscribers ready
SUBSCRIBER  READY  SUPI                  REASON
phone-2     False  imsi-208930000000002  Secret phone-2 is missing

NODE  READY    CELL  CPUS FREE  HUGEPAGES FREE   VFS FREE    REASON
w1    False    0     4/6        512Mi/1Gi (2Mi)  ens1f0 7/8  VFIOLoaded: the driver vfio-pci is not loaded
               1     8/8        -                -
w2    Unknown  0     4/6        512Mi/1Gi (2Mi)  ens1f0 7/8  the node agent is silent for 1h0m0s: look at its pod on the node
               1     8/8        -                -
`
	if diff := cmp.Diff(want, x.out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestStatusOfAnEmptyNamespaceAndWithoutAgents(t *testing.T) {
	x := open(t, testCore()...)
	if x.run(t, "status -n elsewhere") != 0 {
		t.Error("an empty namespace is an error")
	}
	x.says(t, "There is no core in namespace elsewhere")
	if x.run(t, "status") != 0 {
		t.Error("a cluster without node agents is an error")
	}
	x.says(t, "no node agent reports")
}

// A condition that speaks of the specification before the last change says nothing of this one.
func TestStatusSaysThatAChangeIsNotLookedAt(t *testing.T) {
	objects := testCore()
	slice := objects[1].(*api.Slice)
	slice.Generation = 4
	slice.Status.Conditions[0].ObservedGeneration = 3
	x := open(t, objects...)
	if got := x.run(t, "status"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	x.says(t, "internet  Unknown  1-010203  upf  10.45.0.0/16  the operator has not looked at the last change yet; before it: True, fine")
}

func TestStatusSaysThatNobodyKeepsItUpToDate(t *testing.T) {
	core := &api.Core5G{ObjectMeta: named("core5g"), Status: api.Core5GStatus{Conditions: well()}}
	for name, test := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"an operator that runs":     {[]client.Object{core, runningOperator(1)}, ""},
		"an operator that does not": {[]client.Object{core, runningOperator(0)}, "Operator: not ready: kubectl -n core5g describe pod -l app.kubernetes.io/component=operator"},
		"no operator":               {[]client.Object{core}, "Operator: there is none in namespace core5g"},
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t, test.objects...)
			if got := x.run(t, "status"); got != 0 {
				t.Errorf("exit status %d", got)
			}
			x.says(t, test.want)
			if said := strings.Contains(x.out.String(), "Operator:"); said != (test.want != "") {
				t.Errorf("of the operator:\n%s", x.out.String())
			}
		})
	}
}

func TestStatusOfManyShowsTroubleFirst(t *testing.T) {
	var objects []client.Object
	for i := range 100 {
		c := well()
		if i == 77 {
			c = unwell("the addresses of its pool are taken")
		}
		objects = append(objects, &api.Slice{ObjectMeta: named(fmt.Sprintf("s%03d", i)), Status: api.SliceStatus{Conditions: c}})
	}
	x := open(t, objects...)
	x.run(t, "status -rows 5")
	x.says(t, "s077", "the addresses of its pool are taken", "… and 95 more (-rows)")
	if n := strings.Count(x.out.String(), "\n"); n > 12 {
		t.Errorf("%d lines for one screen of five rows", n)
	}
}

func TestPreflight(t *testing.T) {
	missing := []metav1.Condition{
		condition(api.ConditionReady, metav1.ConditionFalse, "sum"),
		condition(api.ConditionIOMMUEnabled, metav1.ConditionTrue, "the IOMMU isolates devices"),
		condition(api.ConditionVFIOLoaded, metav1.ConditionFalse, "modprobe vfio-pci"),
		condition(api.ConditionDevicePlugin, metav1.ConditionUnknown, "podresources does not answer"),
	}
	for name, c := range map[string]struct {
		nodes   []client.Object
		line    string
		want    int
		says    []string
		saysNot string
	}{
		"all is ready":         {nodes: []client.Object{testNode("w1", well(), 0)}, line: "preflight", want: 0, says: []string{"w1: ready", "no node agent on: control\n"}},
		"a setting is missing": {nodes: []client.Object{testNode("w1", well(), 0), testNode("w2", missing, 0)}, line: "preflight", want: 1, says: []string{"w1: ready", "w2: not ready", "VFIOLoaded=False: modprobe vfio-pci", "DevicePlugin=Unknown: podresources"}, saysNot: "IOMMUEnabled"},
		"one node is asked":    {nodes: []client.Object{testNode("w1", well(), 0), testNode("w2", missing, 0)}, line: "preflight w1", want: 0, says: []string{"w1: ready"}, saysNot: "w2"},
		"a silent agent":       {nodes: []client.Object{testNode("w1", well(), 4*time.Minute)}, line: "preflight", want: 1, says: []string{"w1: not known: the node agent is silent for 4m0s"}},
		"no agent at all":      {line: "preflight", want: 1, says: []string{"no node agent reports"}},
		"no such node":         {nodes: []client.Object{testNode("w1", well(), 0)}, line: "preflight w9", want: 1, says: []string{"no node agent reports on node w9"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t, append(testCore(), c.nodes...)...)
			if got := x.run(t, c.line); got != c.want {
				t.Errorf("exit status %d, want %d", got, c.want)
			}
			x.says(t, c.says...)
			if c.saysNot != "" && strings.Contains(x.out.String(), c.saysNot) {
				t.Errorf("%q is in:\n%s", c.saysNot, x.out.String())
			}
		})
	}
}

// operator plays what the operator does with units that are to end: it drains them for some looks, each of which ends
// a PDU session until so many are left.
func operator(t *testing.T, x *terminal, looks, left int) {
	x.onSleep = func() {
		var upf api.UPFInstance
		if err := x.client.Get(t.Context(), client.ObjectKey{Namespace: "core5g", Name: "upf"}, &upf); err != nil {
			t.Fatal(err)
		}
		looks--
		for i := range upf.Status.UnitStatuses {
			u := &upf.Status.UnitStatuses[i]
			if upf.Spec.AdministrativeState != api.StateLocked && i < int(*upf.Spec.Units) {
				continue
			}
			u.State, u.Message = api.UnitDraining, "waits for 3 PDU sessions"
			if upf.Spec.Drain != nil {
				u.Drain = &api.UnitDrain{Sessions: ptr.To(int64(max(left, looks-1)))}
			}
			if looks <= 0 {
				u.State, u.Message, u.Drain = api.UnitStopped, "", nil
			}
		}
		if err := x.client.Status().Update(t.Context(), &upf); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDrain(t *testing.T) {
	for name, c := range map[string]struct {
		line      string
		change    func(*api.UPFInstance)
		stuck     bool
		sessions  int
		want      int
		wantUnits int32
		wantState api.AdministrativeState
		says      []string
	}{
		"all units": {line: "drain upf", wantUnits: 2, wantState: api.StateLocked,
			says: []string{"upf-0 Draining: waits for 3 PDU sessions", "upf-1 Stopped", "drained", `"administrativeState":"Unlocked"`}},
		"the last unit": {line: "drain upf upf-1", wantUnits: 1, says: []string{"upf-1 Draining", "drained", "--replicas 2"}},
		"by its number": {line: "drain upf 1", wantUnits: 1, says: []string{"drained"}},
		"sessions that go on": {line: "drain upf", sessions: 2, wantUnits: 2, wantState: api.StateLocked,
			says: []string{"ended with 4 PDU sessions, which were not waited for any longer"}},
		"another unit": {line: "drain upf upf-0", want: 1, wantUnits: 2, says: []string{"only the last unit, upf-1,", "kubectl cordon w1"}},
		"no such unit": {line: "drain upf upf-2", want: 1, wantUnits: 2, says: []string{`no unit "upf-2"`, "it has 2"}},
		"no such UPF":  {line: "drain upg", want: 1, wantUnits: 2, says: []string{"no UPFInstance upg"}},
		"a locked UPF": {line: "drain upf upf-1", change: func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateLocked },
			want: 1, wantUnits: 2, wantState: api.StateLocked, says: []string{"is Locked"}},
		"without a wait":     {line: "drain upf -wait=false", stuck: true, wantUnits: 2, wantState: api.StateLocked},
		"units that stay":    {line: "drain upf -timeout 5s", stuck: true, want: 1, wantUnits: 2, wantState: api.StateLocked, says: []string{"2 units have not ended within 5s", "the drain goes on"}},
		"without spec.drain": {line: "drain upf", change: func(u *api.UPFInstance) { u.Spec.Drain = nil }, wantUnits: 2, wantState: api.StateLocked, says: []string{"warning: upf has no spec.drain", "ended; how many PDU sessions were left, nobody told"}},
	} {
		t.Run(name, func(t *testing.T) {
			upf := testUPF()
			if c.change != nil {
				c.change(upf)
			}
			x := open(t, upf)
			if !c.stuck {
				operator(t, x, 3, c.sessions)
			}
			if got := x.run(t, c.line); got != c.want {
				t.Errorf("exit status %d, want %d: %s", got, c.want, x.err.String())
			}
			x.says(t, c.says...)
			var after api.UPFInstance
			if err := x.client.Get(t.Context(), client.ObjectKeyFromObject(upf), &after); err != nil {
				t.Fatal(err)
			}
			if *after.Spec.Units != c.wantUnits || after.Spec.AdministrativeState != c.wantState {
				t.Errorf("units %d, administrativeState %q; want %d, %q", *after.Spec.Units, after.Spec.AdministrativeState, c.wantUnits, c.wantState)
			}
		})
	}
}

// A status from before the change says nothing about its end.
func TestDrainWaitsForAStatusOfItsChange(t *testing.T) {
	upf := testUPF()
	upf.Generation = 7
	upf.Status.ObservedGeneration = 6
	upf.Status.UnitStatuses[0].State, upf.Status.UnitStatuses[1].State = api.UnitStopped, api.UnitStopped
	x := open(t, upf)
	if got := x.run(t, "drain upf -timeout 2s"); got != 1 {
		t.Errorf("exit status %d, want 1: %s", got, x.out.String())
	}
}

func TestSessions(t *testing.T) {
	one, err := json.Marshal([]agent.SessionInfo{{SEID: "0x1f00000001", Node: "smf.test", UE: netip.MustParseAddr("10.45.0.1"), PDRs: 2, UL: 1000, DL: 2000, Created: noon}})
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, testCore()...)
	x.pods.exec = map[string]string{"upf-0/upf-c": string(one), "upf-1/upf-c": "[]"}
	if got := x.run(t, "sessions upf -ue 10.45.0.1"); got != 0 {
		t.Errorf("exit status %d: %s", got, x.err.String())
	}
	x.says(t, "upf-0  0x1f00000001  10.45.0.1      smf.test  2     1000       2000       2026-01-01 12:00:00", "1 PDU session in 2 of 2 units")
	if want := "core5g upf-0 upf-c upf-c ctl sessions -o json -ue 10.45.0.1"; x.pods.commands[0] != want {
		t.Errorf("asked with %q, want %q", x.pods.commands[0], want)
	}

	delete(x.pods.exec, "upf-1/upf-c")
	if got := x.run(t, "sessions"); got != 1 {
		t.Errorf("exit status %d with a unit that does not answer, want 1", got)
	}
	x.says(t, "0x1f00000001", "1 PDU session in 1 of 2 units", "not asked: upf-1: upf-c is not there")
	x.pods.exec["upf-1/upf-c"] = "SEID UE"
	x.run(t, "sessions")
	x.says(t, "not asked: upf-1: upf-c does not list sessions as JSON")
	if got := x.run(t, "sessions upg"); got != 1 {
		t.Errorf("exit status %d for a UPFInstance that is not there, want 1", got)
	}
}

// A UPF that runs elsewhere is on the screen as any unit, and what it has is not asked for in pods that there are not.
func TestAUPFElsewhere(t *testing.T) {
	edge := &api.UPFInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "edge"}, Spec: api.UPFInstanceSpec{External: &api.ExternalSpec{N4: api.ExternalN4Spec{Address: "203.0.113.7"}}}}
	edge.Status = api.UPFInstanceStatus{
		Units: 1, Conditions: unwell("no shard of the SMF has an association with the UPF at 203.0.113.7:8805"),
		UnitStatuses: []api.UnitStatus{{Name: "edge-0", State: api.UnitAway, N4Address: "203.0.113.7", Message: "no shard of the SMF has an association"}},
	}
	x := open(t, append(testCore(), edge)...)
	x.run(t, "status")
	x.says(t, "edge-0  Away     elsewhere  -     203.0.113.7", "no shard of the SMF has an association")
	x = open(t, append(testCore(), edge)...)
	if got := x.run(t, "sessions edge"); got != 1 {
		t.Errorf("exit status %d", got)
	}
	x.says(t, "UPFInstance edge runs elsewhere", "`kubectl core5g sessions -unit edge-0`")
}
