package kubectlplugin

import (
	"encoding/json"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/upf/upfc/fencing"
)

// redundant are a UPFInstance whose unit 0 has a standby, the two pods, and the Lease with a record.
func redundant(t *testing.T, record fencing.Record) []client.Object {
	t.Helper()
	upf := testUPF()
	upf.Status.UnitStatuses[0].Pod = "upf-0"
	upf.Status.UnitStatuses[0].Standby = &api.UnitStandby{Pod: "upf-0-b", State: api.UnitRunning, Node: "w2", Message: "it has not all sessions of the unit yet"}
	member := func(name, member, node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{
				api.LabelUPF: "upf", api.LabelUnit: "0", api.LabelMember: member,
			}},
			Spec: corev1.PodSpec{NodeName: node},
		}
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "upf-0"}}
	setRecord(t, lease, record)
	return []client.Object{upf, member("upf-0", "a", "w1"), member("upf-0-b", "b", "w2"), lease}
}

func setRecord(t *testing.T, lease *coordinationv1.Lease, record fencing.Record) {
	t.Helper()
	raw, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	lease.Annotations = map[string]string{fencing.RecordAnnotation: string(raw)}
}

func TestSwitch(t *testing.T) {
	inSync := fencing.Record{Epoch: 3, Holder: "uid-upf-0/1", Standby: "uid-upf-0-b/1"}
	for name, c := range map[string]struct {
		line     string
		record   fencing.Record
		stuck    bool
		want     int
		wantGone bool
		says     []string
	}{
		"the standby takes over": {line: "switch upf-0", record: inSync, wantGone: true, says: []string{
			"pod upf-0 on w1, which serves in epoch 3, is deleted; upf-0-b on w2 takes over",
			"upf-0-b serves in epoch 4", "upf-0-b is ready; upf-0 is made anew",
		}},
		"the other way round": {
			line: "switch upf-0", record: fencing.Record{Epoch: 4, Holder: "uid-upf-0-b/1", Standby: "uid-upf-0/2"},
			says: []string{"pod upf-0-b on w2, which serves in epoch 4, is deleted; upf-0 on w1 takes over", "upf-0 serves in epoch 5"},
		},
		"not waited for": {line: "switch upf-0 -wait=false", record: inSync, stuck: true, wantGone: true, says: []string{"takes over"}},
		"nobody takes over": {line: "switch upf-0 -timeout 2s", record: inSync, stuck: true, want: 1, wantGone: true,
			says: []string{"upf-0-b has not taken the unit over within 2s: kubectl -n core5g logs -c upf-c upf-0-b"}},
		"nobody is in sync": {line: "switch upf-0", record: fencing.Record{Epoch: 3, Holder: "uid-upf-0/1"}, want: 1,
			says: []string{"so they would be lost (upf-0-b: it has not all sessions of the unit yet)", "StandbyInSync"}},
		"nobody serves":            {line: "switch upf-0", record: fencing.Record{Epoch: 3}, want: 1, says: []string{"no pod serves unit upf-0 now"}},
		"a unit without a standby": {line: "switch upf-1", record: inSync, want: 1, says: []string{"write spec.redundancy: {standbys: 1} in UPFInstance upf"}},
		"no such unit":             {line: "switch upf-9", record: inSync, want: 1, says: []string{"no UPF unit upf-9"}},
		"no unit":                  {line: "switch", record: inSync, want: 2, says: []string{"the name of the unit, for example upf-0, is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t, redundant(t, c.record)...)
			if !c.stuck {
				x.onSleep = func() { takeOver(t, x, c.record) }
			}
			if got := x.run(t, c.line); got != c.want {
				t.Errorf("exit status %d, want %d: %s", got, c.want, x.err.String())
			}
			x.says(t, c.says...)
			err := x.client.Get(t.Context(), client.ObjectKey{Namespace: "core5g", Name: "upf-0"}, &corev1.Pod{})
			if gone := apierrors.IsNotFound(err); gone != c.wantGone {
				t.Errorf("pod upf-0 is gone: %t, want %t", gone, c.wantGone)
			}
		})
	}
}

// takeOver plays the standby.
func takeOver(t *testing.T, x *terminal, before fencing.Record) {
	t.Helper()
	var lease coordinationv1.Lease
	if err := x.client.Get(t.Context(), client.ObjectKey{Namespace: "core5g", Name: "upf-0"}, &lease); err != nil {
		t.Fatal(err)
	}
	setRecord(t, &lease, fencing.Record{Epoch: before.Epoch + 1, Holder: before.Standby})
	if err := x.client.Update(t.Context(), &lease); err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	name := fencing.Member(before.Standby)[len("uid-"):]
	if err := x.client.Get(t.Context(), client.ObjectKey{Namespace: "core5g", Name: name}, &pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := x.client.Status().Update(t.Context(), &pod); err != nil {
		t.Fatal(err)
	}
}

// Sessions are asked of the pods that serve, and shown with their units.
func TestSessionsOfAUnitThatWasTakenOver(t *testing.T) {
	objects := redundant(t, fencing.Record{Epoch: 4, Holder: "uid-upf-0-b/1"})
	objects[2].GetLabels()[api.LabelServing] = "true"
	x := open(t, objects...)
	if got := x.run(t, "sessions -unit upf-0"); got != 1 {
		t.Errorf("exit status %d, want 1", got)
	}
	x.says(t, "0 of 1 units", "upf-0: the pod is not started")
}
