package kubectlplugin

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/access-management/inspection"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// ownAMFCore is a core with core5g's AMF, of two workers.
func ownAMFCore() []client.Object {
	objects := ownCore()
	worker := func(name string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "core5g", Labels: map[string]string{api.LabelName: "core5g", api.LabelInstance: "core5g", api.LabelAccessManagement: "core"}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	return append(objects, worker("amf-a", corev1.ConditionFalse), worker("amf-b", corev1.ConditionTrue))
}

func seenUE(supi string) inspection.UE {
	return inspection.UE{
		SUPI: supi, RM: "registered", CM: "connected", GUTI: "2089301008302000001", GNB: "20893-00000001/24", GNBName: "north", PLMN: "20893", TAC: "000001", Cell: "000000010",
		Seen: noon, Slices: []string{"1-010203"}, Sessions: []inspection.Session{{ID: 1, SNSSAI: "1-010203", DNN: "internet", Up: true, SMF: "smf-1"}, {ID: 2, SNSSAI: "1-010203", DNN: "ims", SMF: "smf-2", Waits: true}},
		Shard: "amf/2", Holder: "amf-b/10.1.2.1", Since: noon,
	}
}

func TestUEs(t *testing.T) {
	x := open(t, ownAMFCore()...)
	idle := inspection.UE{SUPI: "imsi-208930000000001", RM: "registered", CM: "idle", GUTI: "2089301008301000001", TAC: "000001", Slices: []string{"1-010203", "2"}, Shard: "amf/1"}
	x.pods.exec = map[string]string{"amf-b/access-management": text(t, inspection.Page{
		UEs: []inspection.UE{seenUE("imsi-208930000000002"), idle, seenUE("imsi-208930000000002"), {SUPI: "imsi-9", Problem: "sealed with key 2, which is not here"}}, Next: "more",
	})}
	if got := x.run(t, "ues -slice 1-010203 -gnb north -tac 000001 -state connected -supi 2 -limit 3"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	want := `SUPI                  RM          CM         5G-GUTI              GNB    TAC     SLICES      SESSIONS           SHARD  WORKER
imsi-208930000000001  registered  idle       2089301008301000001  -      000001  1-010203 2  -                  amf/1  nobody
imsi-208930000000002  registered  connected  2089301008302000001  north  000001  1-010203    1/internet* 2/ims  amf/2  amf-b
3 UEs, and there are more: -limit, or -slice, -gnb, -tac, -state, -supi
cannot be read: imsi-9: sealed with key 2, which is not here
`
	if diff := cmp.Diff(want, x.out.String()); diff != "" {
		t.Error(diff)
	}
	if want := "core5g amf-b access-management access-management ues -limit 3 -slice 1-010203 -gnb north -tac 000001 -state connected -supi 2"; x.pods.commands[0] != want {
		t.Errorf("asked with %q, want %q", x.pods.commands[0], want)
	}
	if got := x.run(t, "ues -o json"); got != 0 {
		t.Errorf("exit status %d: %s", got, x.err.String())
	}
	var answer struct {
		UEs  []inspection.UE
		More bool
	}
	if err := json.Unmarshal(x.out.Bytes(), &answer); err != nil || len(answer.UEs) != 3 || !answer.More || answer.UEs[0].Sessions[1].DNN != "ims" {
		t.Errorf("%v, %+v", err, answer)
	}
	x.pods.exec = nil
	if got := x.run(t, "ues"); got != 1 {
		t.Errorf("exit status %d where nobody answers, want 1", got)
	}
	x.says(t, "not asked: amf-b", "amf-a")
	for line, want := range map[string]string{"ues -state asleep": "write connected or idle", "ues -limit 0": "write 1 or more", "ues -o yaml": "write json", "ue": "the SUPI, for example"} {
		if got := x.run(t, line); got != 2 {
			t.Errorf("%s: exit status %d, want 2", line, got)
		}
		x.says(t, want)
	}
	other := open(t, testCore()...)
	for _, line := range []string{"ues", "ue imsi-1"} {
		if got := other.run(t, line); got != 1 {
			t.Errorf("%s with free5GC's AMF: exit status %d, want 1", line, got)
		}
		other.says(t, "free5GC's AMF does not tell")
	}
}

func TestOneUE(t *testing.T) {
	x := open(t, ownAMFCore()...)
	s := inspection.Story{
		UE: seenUE("imsi-208930000000001"), PEI: "imeisv-4370816125816151", GPSI: "msisdn-1", OldTMSI: "00000007", Area: []string{"20893-000001"}, Asked: []string{"1-010203", "3"},
		Rejected: []string{"3 (cause 1)"}, Uplink: 1e9, Downlink: 2500000, Periodic: 3240, Recorded: true, Emergency: true, Unreachable: true, Going: true,
		Connection: &inspection.Connection{Terminator: "n2-0", Association: 7, GNB: "20893-00000001/24", RAN: 9, AMF: 8589934593, State: "lost"},
		Security:   &inspection.Security{KSI: 3, Integrity: "NIA2", Ciphering: "NEA1", Uplink: 5, Reserved: 16},
		Procedure:  &inspection.Action{Kind: "service_request", Step: 3, Began: noon}, Command: &inspection.Action{Kind: "configuration update command", Attempts: 2, Began: noon},
		History: []inspection.Past{{Kind: "registration", At: noon, Took: 12}, {Kind: "paging", Failed: true, At: noon, Took: 900}},
	}
	x.pods.exec = map[string]string{"amf-b/access-management": text(t, s)}
	if got := x.run(t, "ue imsi-208930000000001"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	want := `imsi-208930000000001: registered, connected since 2026-01-01 12:00:00

5G-GUTI            2089301008302000001, or 5G-TMSI 00000007
PEI, GPSI          imeisv-4370816125816151, msisdn-1
N2                 20893-00000001/24 by n2-0, association 7, RAN UE NGAP ID 9, AMF UE NGAP ID 8589934593: lost, its gNB is waited for (north)
last heard         PLMN 20893, TAC 000001, cell 000000010, 2026-01-01 12:00:00
registration area  20893-000001
slices             allowed 1-010203, requested 1-010203 3, rejected 3 (cause 1)
security           NIA2, NEA1, ngKSI 3, COUNT 5 up, 16 down reserved
AMBR               1 Gbit/s up, 2500 kbit/s down
T3512, RFSP        54m0s, 0
known to           UDM true, policy association none
shard              amf/2, held by amf-b/10.1.2.1

registered for emergency services alone
it has not said in time that it is there
another AMF takes it over
under way: service_request, step 3, since 2026-01-01 12:00:00
the UE has not answered a configuration update command, sent 2 times since 2026-01-01 12:00:00

SESSION  S-NSSAI   DNN       USER PLANE  SMF    WAITS
1        1-010203  internet  up          smf-1  -
2        1-010203  ims       down        smf-2  the SMF's message for the UE

PROCEDURE     RESULT  ENDED                TOOK
registration  done    2026-01-01 12:00:00  12ms
paging        failed  2026-01-01 12:00:00  900ms
`
	if diff := cmp.Diff(want, x.out.String()); diff != "" {
		t.Error(diff)
	}
	if got := x.run(t, "ue imsi-208930000000001 -o json"); got != 0 {
		t.Errorf("exit status %d: %s", got, x.err.String())
	}
	x.says(t, `"integrity": "NIA2"`)
	x.pods.exec, x.pods.failure = nil, "command terminated with exit code 1: access-management: there is no such UE"
	if got := x.run(t, "ue imsi-1"); got != 1 {
		t.Errorf("exit status %d for a UE that there is not, want 1", got)
	}
	x.says(t, "the AMF has no UE imsi-1 in namespace core5g")
}
