package kubectlplugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilexec "k8s.io/client-go/util/exec"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// databaseCore is a core whose subscribers are in a database, with two pods of subscriber data of which the second is ready.
func databaseCore(layout api.Layout) []client.Object {
	core := &api.Core5G{ObjectMeta: named("core5g"), Spec: api.Core5GSpec{
		Layout: layout, ControlPlane: api.ControlPlaneCore5G, SubscriberData: api.SubscriberDataPostgreSQL,
		SubscriberDatabase: &api.SubscriberDatabaseSpec{SecretRef: api.SecretReference{Name: "subscribers"}},
	}}
	component := string(api.FunctionSubscriberData)
	if core.Fused() {
		component = string(api.FunctionControlPlane)
	}
	pod := func(name string, ready corev1.ConditionStatus) client.Object {
		meta := named(name)
		meta.Labels = map[string]string{api.LabelInstance: "core5g", api.LabelComponent: component}
		return &corev1.Pod{ObjectMeta: meta, Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
		}}
	}
	return []client.Object{core, pod("a", corev1.ConditionFalse), pod("b", corev1.ConditionTrue)}
}

func TestSubscribersAreAThingOfThePods(t *testing.T) {
	for line, want := range map[string]struct{ command, given string }{
		"subscribers import new.csv":                            {"core5g/b/subscriber-data: subscriber-data subscribers import", "content of new.csv"},
		"subscribers import - -check":                           {"core5g/b/subscriber-data: subscriber-data subscribers import -check=true", "k=1\n"},
		"subscribers export -format yaml -keys":                 {"core5g/b/subscriber-data: subscriber-data subscribers export -format=yaml -keys=true", ""},
		"subscribers get imsi-208930000000001 -core core5g":     {"core5g/b/subscriber-data: subscriber-data subscribers get imsi-208930000000001", ""},
		"subscribers set 208930000000001 -barred=true":          {"core5g/b/subscriber-data: subscriber-data subscribers set -barred=true 208930000000001", ""},
		"subscribers set -keys -slices internet 20893000000000": {"core5g/b/subscriber-data: subscriber-data subscribers set -keys=true -slices=internet 20893000000000", "k=1\n"},
		"subscribers delete 208930000000001 208930000000002":    {"core5g/b/subscriber-data: subscriber-data subscribers delete 208930000000001 208930000000002", ""},
	} {
		x := open(t, databaseCore(api.LayoutDistributed)...)
		if status := x.run(t, line); status != 0 {
			t.Errorf("%s: exit status %d: %s", line, status, x.err.String())
		}
		if diff := cmp.Diff([]string{want.command}, x.pods.streamed); diff != "" || x.pods.given != want.given {
			t.Errorf("%s: given %q, want %q; commands -want +got:\n%s", line, x.pods.given, want.given, diff)
		}
		x.says(t, "1 read", "line 3: left out")
	}
	x := open(t, databaseCore(api.LayoutFused)...)
	if x.run(t, "subscribers export"); len(x.pods.streamed) != 1 || x.pods.streamed[0] != "core5g/b/control-plane: control-plane subscribers export" {
		t.Errorf("layout Fused: %q", x.pods.streamed)
	}
}

func TestSubscribersThatCannotBeWorkedOn(t *testing.T) {
	objects := databaseCore(api.LayoutDistributed)
	inObjects := &api.Core5G{ObjectMeta: named("core5g")}
	other := &api.Core5G{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: inObjects.Namespace}}
	for name, c := range map[string]struct {
		line    string
		objects []client.Object
		status  int
		want    string
	}{
		"no action":              {"subscribers", objects, 2, "import, export, get, set, delete, reseal or schema is missing"},
		"an action that is none": {"subscribers list", objects, 2, "subscribers list: write import"},
		"an import of nothing":   {"subscribers import", objects, 2, "write a FILE, or - for standard input"},
		"Subscriber objects":     {"subscribers export", []client.Object{inObjects}, 1, "are Subscriber objects: use kubectl get, apply and delete, or write subscriberData: PostgreSQL"},
		"no core":                {"subscribers export", nil, 1, "there is no such Core5G"},
		"two cores":              {"subscribers export", append(objects, other), 2, "has 2 Core5Gs: write -core NAME"},
		"no pod":                 {"subscribers export", objects[:1], 1, "no pod of subscriber-data runs"},
	} {
		x := open(t, c.objects...)
		if got := x.run(t, c.line); got != c.status {
			t.Errorf("%s: exit status %d, want %d", name, got, c.status)
		}
		x.says(t, c.want)
	}
	x := open(t, objects...)
	x.pods.fails = utilexec.CodeExitError{Err: errNotWell, Code: 1}
	if got := x.run(t, "subscribers import x.csv"); got != 1 {
		t.Errorf("an import that leaves something out: exit status %d", got)
	}
}
