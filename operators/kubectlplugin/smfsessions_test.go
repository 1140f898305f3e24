package kubectlplugin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/session-management/inspection"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func smfPod(name, set string, ready corev1.ConditionStatus) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: named(name), Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
	p.Labels[api.LabelInstance], p.Labels[api.LabelSessionManagement] = "core5g", set
	return p
}

// ownCore is a core with core5g's SMF: two pods that share shards, and one of a Slice's own.
func ownCore() []client.Object {
	objects := testCore()
	objects[0].(*api.Core5G).Spec.ControlPlane = api.ControlPlaneCore5G
	return append(objects, smfPod("smf-a", "core", corev1.ConditionFalse), smfPod("smf-b", "core", corev1.ConditionTrue), smfPod("sm-games", "slice.games", corev1.ConditionTrue))
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func seen(supi, slice string) inspection.Session {
	return inspection.Session{
		SUPI: supi, ID: 1, Slice: slice, SNSSAI: "1-010203", DNN: slice, Type: "IPv4v6", Addresses: []string{"10.45.0.1", "2001:db8:45:1::/64"}, Phase: "active",
		Flows: []inspection.Flow{{QFI: 1, FiveQI: 9, Priority: 8}, {QFI: 2, FiveQI: 1, Name: "voice", Priority: 2}}, Unit: "upf-0", Shard: "smf/1", Since: noon,
	}
}

func TestSessionsOfTheOwnSMF(t *testing.T) {
	x := open(t, ownCore()...)
	x.pods.exec = map[string]string{
		"smf-b/session-management": text(t, inspection.Page{Sessions: []inspection.Session{
			seen("imsi-208930000000002", "internet"), seen("imsi-208930000000001", "internet"), {SUPI: "imsi-208930000000009", ID: 3, Problem: "sealed with key 2, which is not here"},
		}, Next: "more"}),
		"sm-games/session-management": text(t, inspection.Page{Sessions: []inspection.Session{seen("imsi-208930000000003", "games"), seen("imsi-208930000000001", "internet")}}),
	}
	if got := x.run(t, "sessions -slice internet -unit upf-0 -supi 208930000000001 -limit 3"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	want := `SUPI                  ID  SLICE     DNN       ADDRESSES                     PHASE   QFI/5QI  UNIT   SHARD  SINCE
imsi-208930000000001  1   internet  internet  10.45.0.1 2001:db8:45:1::/64  active  1/9 2/1  upf-0  smf/1  2026-01-01 12:00:00
imsi-208930000000002  1   internet  internet  10.45.0.1 2001:db8:45:1::/64  active  1/9 2/1  upf-0  smf/1  2026-01-01 12:00:00
imsi-208930000000003  1   games     games     10.45.0.1 2001:db8:45:1::/64  active  1/9 2/1  upf-0  smf/1  2026-01-01 12:00:00
4 PDU sessions, and there are more: -limit, or -slice, -unit, -supi
cannot be read: imsi-208930000000009/3: sealed with key 2, which is not here
`
	if diff := cmp.Diff(want, x.out.String()); diff != "" {
		t.Error(diff)
	}
	if want := "core5g smf-b session-management session-management sessions -limit 3 -slice internet -unit upf-0 -supi 208930000000001"; x.pods.commands[0] != want {
		t.Errorf("asked with %q, want %q", x.pods.commands[0], want)
	}
	if got := x.run(t, "sessions -o json"); got != 0 {
		t.Errorf("exit status %d: %s", got, x.err.String())
	}
	var answer struct {
		Sessions []inspection.Session
		More     bool
	}
	if err := json.Unmarshal(x.out.Bytes(), &answer); err != nil || len(answer.Sessions) != 4 || !answer.More || answer.Sessions[1].Flows[1].Name != "voice" {
		t.Errorf("%v, %+v", err, answer)
	}

	delete(x.pods.exec, "sm-games/session-management")
	if got := x.run(t, "sessions"); got != 1 {
		t.Errorf("exit status %d with a set that does not answer, want 1", got)
	}
	x.says(t, "imsi-208930000000001", "3 PDU sessions", "not asked: sm-games")
	x.pods.exec["smf-b/session-management"] = "SUPI ID"
	x.run(t, "sessions")
	x.says(t, "session management does not list sessions as JSON")

	// What units have is asked for as ever.
	x.pods.exec = map[string]string{"upf-0/upf-c": "[]", "upf-1/upf-c": "[]"}
	for _, line := range []string{"sessions upf", "sessions -ue 10.45.0.1"} {
		if got := x.run(t, line); got != 0 {
			t.Errorf("%s: exit status %d: %s", line, got, x.err.String())
		}
		x.says(t, "0 PDU sessions in 2 of 2 units")
	}
}

func TestSessionsWithoutAnSMFThatTells(t *testing.T) {
	x := open(t, testCore()...)
	x.pods.exec = map[string]string{"upf-0/upf-c": `[{"seid":"0x1","node":"smf.test","ueIPAddress":"10.45.0.1"}]`, "upf-1/upf-c": "[]"}
	for line, want := range map[string]string{
		"sessions -slice internet":       "units know neither Slice nor SUPI",
		"sessions -supi 1":               "free5GC's SMF does not tell",
		"session imsi-208930000000001/1": "free5GC's SMF does not tell",
		"sessions -unit upf-7":           "there is no UPF unit upf-7",
	} {
		if got := x.run(t, line); got != 1 {
			t.Errorf("%s: exit status %d, want 1", line, got)
		}
		x.says(t, want)
	}
	if got := x.run(t, "sessions -unit upf-0 -o json"); got != 0 {
		t.Errorf("exit status %d: %s", got, x.err.String())
	}
	x.says(t, `"unit": "upf-0"`, `"seid": "0x1"`)
	if strings.Contains(strings.Join(x.pods.commands, "\n"), "upf-1") {
		t.Errorf("unit upf-1 was asked: %v", x.pods.commands)
	}
	for line, want := range map[string]string{
		"sessions upf -supi 1": "write one or the other", "sessions -o yaml": "write json", "sessions -limit 0": "write 1 or more",
		"session imsi-1": "write SUPI/ID", "session": "SUPI/ID, for example", "session a/1 -o x": "write json",
	} {
		if got := x.run(t, line); got != 2 {
			t.Errorf("%s: exit status %d, want 2", line, got)
		}
		x.says(t, want)
	}
	own := open(t, ownCore()[:1]...)
	if got := own.run(t, "sessions"); got != 1 {
		t.Errorf("without pods: exit status %d, want 1", got)
	}
	own.says(t, "no pod of session management is in namespace core5g")
}

// Of a session of type Ethernet there are the devices behind it.
func TestEthernetSessions(t *testing.T) {
	s := inspection.Story{Session: seen("imsi-208930000000001", "lan"), Holder: "smf-b/10.1.2.3"}
	s.Type, s.Addresses, s.MACs, s.MoreMACs = "Ethernet", nil, []string{"02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"}, true
	s.Rules.PDRs = []n4.PDR{
		{ID: 5, Precedence: 10, SourceInterface: "access", NetworkInstance: "access", FTEID: "TEID 0x10 172.30.3.16", EthernetFilters: []string{"VLAN 7"}, MACs: true, FAR: 1},
		{ID: 2, Precedence: 255, SourceInterface: "core", NetworkInstance: "lan", EthernetSession: true, FAR: 2},
	}
	x := open(t, ownCore()...)
	x.pods.exec = map[string]string{"smf-b/session-management": text(t, s)}
	if got := x.run(t, "session imsi-208930000000001/1"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	for _, want := range []string{
		"DNN lan, Ethernet", "MACs      02:00:00:00:00:01 02:00:00:00:00:02 02:00:00:00:00:03, and others",
		"PDR 5  access access  TEID 0x10 172.30.3.16, VLAN 7, MAC addresses are reported; precedence 10, FAR 1", "PDR 2  core lan       frames of the session; precedence 255, FAR 2",
	} {
		if !strings.Contains(x.out.String(), want) {
			t.Errorf("%q is not in\n%s", want, x.out.String())
		}
	}
	if got, want := (&smfSession{Type: s.Type, MACs: s.MACs}).addresses(), "Ethernet 02:00:00:00:00:01 02:00:00:00:00:02 ..."; got != want {
		t.Errorf("in a list: %s, want %s", got, want)
	}
	if got := (&smfSession{Type: s.Type}).addresses(); got != "Ethernet" {
		t.Errorf("in a list, of nobody: %s", got)
	}
}

func TestOneSession(t *testing.T) {
	s := inspection.Story{
		Session: seen("imsi-208930000000001", "internet"), Ref: "1000000000001", CPSEID: "0x1000000000001", UPSEID: "0x7", Holder: "smf-b/10.1.2.3",
		AMF: inspection.AMF{InstanceID: "amf-1", TAC: "000001", Cell: "000000010"}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 2500000},
		Uplink: "TEID 0x10 172.30.3.16", Downlink: "TEID 0x100 172.30.3.100", UnitInDoubt: true,
		FramedRoutes: []string{"192.168.7.0/24", "2001:db8:7::/48"},
		Procedure:    &inspection.Procedure{Kind: "modification", Step: 2, Began: noon}, Command: &inspection.Command{Kind: "release", Attempts: 2, Began: noon},
		Handover: &inspection.Handover{Target: "TEID 0x5 172.30.3.101", Prepared: true}, Wanted: &inspection.Wanted{UEOpen: true},
		Rules: n4.Rules{
			PDRs: []n4.PDR{
				{ID: 1, Precedence: 255, SourceInterface: "access", NetworkInstance: "access", FTEID: "TEID 0x10 172.30.3.16", UEIPAddress: "10.45.0.1", FAR: 1, QERs: []uint32{1, 2}},
				{ID: 6, Precedence: 10, SourceInterface: "core", NetworkInstance: "internet", UEIPAddress: "10.45.0.1", SDFFilters: []string{"permit out 17 from any to assigned"}, FAR: 2},
			},
			FARs: []n4.FAR{{ID: 2, ApplyAction: "forward", DestinationInterface: "access", NetworkInstance: "access", OuterHeaderCreation: "TEID 0x100 172.30.3.100"}},
			QERs: []n4.QER{{ID: 1, MBRUplink: 1e9, MBRDownlink: 2500000}, {ID: 2, QFI: 1}},
		},
		Branch: &inspection.Branch{
			Unit: "edge-0", NodeID: "10.96.0.12", CPSEID: "0x1000000000002", UPSEID: "0x8", Access: "TEID 0x50 172.30.3.32", Core: "TEID 0x51 172.30.3.32", Breakouts: []string{"cache", "edge"},
			Rules: n4.Rules{
				PDRs: []n4.PDR{
					{ID: 1, Precedence: 255, SourceInterface: "access", NetworkInstance: "access", FTEID: "TEID 0x50 172.30.3.32", UEIPAddress: "10.45.0.1", FAR: 1},
					{ID: 101, Precedence: 200, SourceInterface: "access", NetworkInstance: "access", FTEID: "TEID 0x50 172.30.3.32", UEIPAddress: "10.45.0.1", QFI: 2, FAR: 1},
				},
				FARs: []n4.FAR{{ID: 1, ApplyAction: "forward", DestinationInterface: "core", NetworkInstance: "access", OuterHeaderCreation: "TEID 0x10 172.30.3.16"}},
			},
		},
		Left:    &inspection.Left{Unit: "edge-1", NodeID: "10.96.0.13", CPSEID: "0x1000000000003"},
		History: []inspection.Past{{Kind: "establishment", At: noon, Took: 12}, {Kind: "paging", Failed: true, At: noon, Took: 1500}},
	}
	x := open(t, ownCore()...)
	x.pods.exec = map[string]string{"smf-b/session-management": text(t, s)}
	if got := x.run(t, "session imsi-208930000000001/1"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	want := `imsi-208930000000001/1: active since 2026-01-01 12:00:00

slice      internet (1-010203), DNN internet, IPv4v6
addresses  10.45.0.1 2001:db8:45:1::/64
behind it  192.168.7.0/24 2001:db8:7::/48
AMBR       1 Gbit/s up, 2500 kbit/s down
UPF unit   upf-0, SEID 0x1000000000001 here, 0x7 there
branch     edge-0, SEID 0x1000000000002 here, 0x8 there, with the breakouts cache, edge
N9         uplink TEID 0x10 172.30.3.16, downlink TEID 0x51 172.30.3.32
left       edge-1, SEID 0x1000000000003 here, none there, which packets still go by
N3         uplink TEID 0x50 172.30.3.32, downlink TEID 0x100 172.30.3.100
AMF        amf-1, TAC 000001, cell 000000010, SM context 1000000000001
shard      smf/1, held by smf-b/10.1.2.3

under way: modification, step 2, since 2026-01-01 12:00:00
the UE has not answered a release command, sent 2 times since 2026-01-01 12:00:00
handover to TEID 0x5 172.30.3.101, prepared
a modification waits for UE or access network
the unit may still have other rules than these

FLOW   5QI  ARP  NAME   GUARANTEED
QFI 1  9    8    -      -
QFI 2  1    2    voice  -

RULE   OF             WHAT
PDR 1  access access  TEID 0x10 172.30.3.16, 10.45.0.1; precedence 255, FAR 1, QER 1, QER 2
PDR 6  core internet  10.45.0.1, permit out 17 from any to assigned; precedence 10, FAR 2
FAR 2  access access  forward TEID 0x100 172.30.3.100
QER 1  session        at most 1 Gbit/s up, 2500 kbit/s down
QER 2  QFI 1          no bound

RULE OF THE BRANCH  OF             WHAT
PDR 1               access access  TEID 0x50 172.30.3.32, 10.45.0.1; precedence 255, FAR 1
PDR 101             access access  TEID 0x50 172.30.3.32, 10.45.0.1, QFI 2; precedence 200, FAR 1
FAR 1               core access    forward TEID 0x10 172.30.3.16

PROCEDURE      RESULT  ENDED                TOOK
establishment  done    2026-01-01 12:00:00  12ms
paging         failed  2026-01-01 12:00:00  1.5s
`
	if diff := cmp.Diff(want, x.out.String()); diff != "" {
		t.Error(diff)
	}
	if got := x.run(t, "session imsi-208930000000001/1 -o json"); got != 0 {
		t.Errorf("exit status %d: %s", got, x.err.String())
	}
	var back inspection.Story
	if err := json.Unmarshal(x.out.Bytes(), &back); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Errorf("as JSON: %s", diff)
	}
	x.pods.exec = nil
	x.pods.failure = "there is no such session"
	if got := x.run(t, "session imsi-208930000000001/2"); got != 1 {
		t.Errorf("exit status %d for a session that is not there, want 1", got)
	}
	x.says(t, "there is no PDU session imsi-208930000000001/2", "sessions -supi imsi-208930000000001")
	x.run(t, "session nai-a/b@example.com/2")
	x.says(t, "there is no PDU session nai-a/b@example.com/2", "sessions -supi nai-a/b@example.com`")
}
